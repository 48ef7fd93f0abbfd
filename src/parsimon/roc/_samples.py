"""The scores of the two classes, checked once, and who ranks above whom.

Every quantity of this package is a statement about two samples: the scores of the positive rows
and the scores of the negative rows.
"""

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from parsimon._checks import binary_labels, finite_vector, shorten
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError

Ties: TypeAlias = Literal["mid", "strict"]


class ClassScores(NamedTuple):
    """Scores and weights of the two classes, each in the order of the rows."""

    positive: Array
    negative: Array
    positive_weight: Array
    negative_weight: Array
    pos_label: Any


def class_scores(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> ClassScores:
    """Split scores by class, refusing what cannot be ranked."""
    codes, label = binary_labels(label_vector(y_true, "y_true"), pos_label)
    scores = finite_vector(y_score, "y_score")
    if len(scores) != len(codes):
        raise InvalidInputError(
            f"y_true has {len(codes)} rows and y_score has {len(scores)}; they must be the same."
        )
    weight = checked_weight(sample_weight, len(codes))
    is_positive = codes == 1
    sample = ClassScores(
        scores[is_positive],
        scores[~is_positive],
        weight[is_positive],
        weight[~is_positive],
        label,
    )
    if min(sample.positive_weight.sum(), sample.negative_weight.sum()) <= 0:
        raise InvalidInputError("All rows of one class have weight 0; each class needs some.")
    return sample


def checked_weight(sample_weight: Any, n: int) -> Array:
    """Return weights of `n` rows, ones without any, refusing negative ones."""
    if sample_weight is None:
        return np.ones(n)
    weight = finite_vector(sample_weight, "sample_weight")
    if len(weight) != n:
        raise InvalidInputError(f"sample_weight has {len(weight)} entries for {n} rows.")
    if (weight < 0).any():
        raise InvalidInputError(
            f"sample_weight must not be negative, but {(weight < 0).sum()} entries are."
        )
    return weight


def label_vector(values: Any, name: str) -> AnyArray:
    """Return labels as a vector, refusing missing ones and kinds that have no common order."""
    labels = np.asarray(values)
    if labels.ndim != 1 or len(labels) == 0:
        raise InvalidInputError(f"{name} must be one list of labels, got shape {labels.shape}.")
    if labels.dtype.kind in "fO" and any(map(_is_missing, labels.tolist())):
        raise InvalidInputError(f"{name} holds missing labels. Remove those rows.")
    if labels.dtype.kind == "O":
        sorted_labels(set(labels.tolist()))
    return labels


def sorted_labels(seen: set[Any]) -> AnyArray:
    """Return distinct labels in order."""
    try:
        return np.array(sorted(seen))
    except TypeError as error:
        raise InvalidInputError(
            f"Labels mix kinds that have no order: {shorten(sorted(seen, key=str))}."
        ) from error


def as_numbers(values: Any, name: str) -> Array:
    """Return an array of floats of any shape, which may hold infinities but not NaN."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be numbers, got {error}.") from error
    if np.isnan(numbers).any():
        raise InvalidInputError(f"{name} must not hold NaN.")
    return numbers


def weight_below(values: Array, sample: Array, weight: Array, ties: Ties = "mid") -> Array:
    """Return, for each value, the weight of `sample` below it, in O(n log n).

    A tie counts half with ``ties="mid"`` and nothing with ``ties="strict"``.
    """
    if ties not in ("mid", "strict"):
        raise InvalidInputError(f'ties must be "mid" or "strict", got {ties!r}.')
    order = np.argsort(sample)
    cumulative = np.concatenate(([0.0], np.cumsum(weight[order])))
    below: Array = cumulative[np.searchsorted(sample[order], values, side="left")]
    if ties == "strict":
        return below
    return (below + cumulative[np.searchsorted(sample[order], values, side="right")]) / 2


def placements(positive: Array, negative: Array, ties: Ties = "mid") -> tuple[Array, Array]:
    """Return the share of the other class that each row outranks (is outranked by).

    The first array has, for each positive, the share of negatives below it; the second, for each
    negative, the share of positives above it. Both average to the AUC; they are DeLong's
    structural components, by ranks in O(n log n) as in Sun and Xu (2014).
    """
    above = weight_below(-negative, -positive, np.ones(len(positive)), ties) / len(positive)
    return weight_below(positive, negative, np.ones(len(negative)), ties) / len(negative), above


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA has no truth value
        return True
