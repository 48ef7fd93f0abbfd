"""Which rows have labels, which classes there are, and how many positives may be expected."""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from parsimon._typing import AnyArray, Indices, Mask
from parsimon.exceptions import InvalidInputError

# 95 per cent, two-sided.
_Z = 1.959963984540054


class Labels(NamedTuple):
    """What a partly labelled target says.

    classes (n_classes,): Sorted; empty if no row has a label.
    codes (n,): Index of the class, -1 without a label.
    """

    classes: AnyArray
    codes: Indices

    @property
    def known(self) -> Mask:
        """Which rows have a label."""
        mask: Mask = self.codes >= 0
        return mask


def read_labels(y: Any) -> Labels:
    """Return classes and codes; -1 marks a row without a label, as in scikit-learn.

    In an array of objects -1 and None do, so that classes may be texts. An array of texts has no
    room for either, so all of its rows have labels; the text "-1" in one is refused, since NumPy
    makes it of a list such as ``["yes", "no", -1]``.
    """
    labels = column_or_1d(y)
    if labels.dtype.kind in "US":
        if (labels == "-1").any():
            raise InvalidInputError(
                "y is an array of texts in which some are '-1'. Give an array of objects "
                "(dtype=object) with -1 or None for rows without a label."
            )
        known = np.ones(len(labels), dtype=np.bool_)
    elif labels.dtype == object:
        known = np.array([not _is_unlabelled(label) for label in labels], dtype=np.bool_)
    else:
        known = np.asarray(labels != -1)
    codes = np.full(len(labels), -1, dtype=np.intp)
    if not known.any():
        return Labels(np.array([], dtype=labels.dtype), codes)
    given = np.array(labels[known].tolist()) if labels.dtype == object else labels[known]
    check_classification_targets(given)
    classes, codes[known] = np.unique(given, return_inverse=True)
    return Labels(classes, codes)


def _is_unlabelled(label: Any) -> bool:
    return label is None or (not isinstance(label, str) and bool(label == -1))


def check_labelled(labels: Labels) -> None:
    """Refuse targets without two labelled classes."""
    if not labels.known.any():
        raise InvalidInputError(
            f"None of the {len(labels.codes)} rows has a label (all are -1). Label two classes, "
            "or use ParetoTransductiveSVC, which then finds two clusters."
        )
    if len(labels.classes) < 2:
        raise InvalidInputError(
            f"Two classes or more must have labelled rows, got one class: {labels.classes[0]}. "
            "Label at least one row of each class."
        )


def positive_counts(
    ratio: Any, n_unlabelled: int, *, n_positive: int, n_labelled: int
) -> tuple[int, int]:
    """Return the fewest and the most positives among the unlabelled rows.

    Wilson (1927), Journal of the American Statistical Association 22:209-212.
    """
    if ratio is None:
        return 0, n_unlabelled
    low, high = _shares(ratio, n_positive, n_labelled)
    fewest, most = math.ceil(low * n_unlabelled - 1e-9), math.floor(high * n_unlabelled + 1e-9)
    if fewest > most:
        # Too few rows for a whole number in between: the nearest one to the middle.
        fewest = most = math.floor((low + high) / 2.0 * n_unlabelled + 0.5)
    return fewest, most


def _shares(ratio: Any, n_positive: int, n_labelled: int) -> tuple[float, float]:
    if isinstance(ratio, str) and ratio == "labelled":
        return wilson(n_positive, n_labelled) if n_labelled else (0.25, 0.75)
    try:
        shares = np.atleast_1d(np.asarray(ratio, dtype=np.float64))
    except (TypeError, ValueError):
        shares = np.array([math.nan])
    if shares.shape not in {(1,), (2,)} or not ((shares >= 0) & (shares <= 1)).all():
        raise InvalidInputError(
            'positive_ratio must be "labelled", a share between 0 and 1, a pair of such shares '
            f"or None, got {ratio!r}."
        )
    low, high = float(shares[0]), float(shares[-1])
    if low > high:
        raise InvalidInputError(
            f"positive_ratio is a pair (fewest, most), but {low:g} is more than {high:g}."
        )
    return low, high


def wilson(n_positive: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    share, z2 = n_positive / n, _Z**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)
