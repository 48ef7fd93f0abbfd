"""The transductive problem as data: rows, similarities, labels known so far, prices, a class ratio.

Read from the end: `read_rows` makes `TransductiveRows` of a table and an estimator's options, and
`problem_of` a `TransductiveProblem` of one class against the others. For given labels of the
unlabelled rows that is an ordinary support vector machine, which `fit` solves; for given scores the
best labels are a matter of sorting, which `relabelled` does. Every search over labellings
alternates between the two.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from parsimon._checks import check_positive, is_precomputed
from parsimon._data import class_weights, merged_rows, row_weights
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.svm._dual import Dual, Solution, solve
from parsimon.svm._gram import Gram

# Labellings are compared by objectives: these must be exact to more digits than the gaps.
TOLERANCE = 1e-4


class LabellingFit(NamedTuple):
    """The support vector machine of one labelling.

    labels (n_unlabelled,): Of -1.0 and 1.0.
    scores (n,): The decision function at all rows.
    """

    labels: Array
    solution: Solution
    scores: Array

    @property
    def objective(self) -> float:
        """The inner maximum, which a good labelling makes small."""
        return self.solution.objective


@dataclass(frozen=True, eq=False)
class TransductiveProblem:
    r"""Minimise over labels of the unlabelled rows what the support vector machine maximises.

    .. math::

       \min_{y^*} \max_{0 \le \alpha \le u,\ \alpha^\top y = 0}
       \sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k_{ij}

    which is the dual form of Vapnik's transductive machine (Joachims 1999; Mierswa 2009, problem
    5.1). The inner maximum equals the primal :math:`\frac12\|w\|^2 + \sum u_i \xi_i`.

    Shapes: kernel (n, n).

    known (n,): -1.0 or 1.0, and 0.0 for rows without a label.
    upper (n,): Cost of each row: C times its weight, or C* for rows without a label.
    fewest, most: How many unlabelled rows may be positive.
    share: Of positives among the labelled rows where these have weights; None counts rows.
    """

    kernel: Array
    known: Array
    upper: Array
    fewest: int
    most: int
    share: float | None = None

    @cached_property
    def unlabelled(self) -> Indices:
        """The rows without a label."""
        return np.flatnonzero(self.known == 0)

    @cached_property
    def labelled(self) -> Indices:
        """The rows with a label."""
        return np.flatnonzero(self.known)

    @property
    def n_unlabelled(self) -> int:
        """How many labels are to be found."""
        return len(self.unlabelled)

    @property
    def labelled_share(self) -> float:
        """The share of positives among the labelled rows, by weight."""
        if self.share is not None:
            return self.share
        return float(np.count_nonzero(self.known > 0) / len(self.labelled))

    def signs(self, labels: Array) -> Array:
        """Return the labels of all rows."""
        signs = self.known.copy()
        signs[self.unlabelled] = labels
        return signs

    def fit(
        self, labels: Array, *, start: Array | None = None, tol: float = TOLERANCE
    ) -> LabellingFit:
        """Return the support vector machine of these labels."""
        signs = self.signs(labels)
        solution = machine(self.kernel, signs, self.upper, start=start, tol=tol)
        scores = self.kernel @ (solution.alpha * signs) + solution.bias
        return LabellingFit(labels, solution, scores)

    def relabelled(self, scores: Array) -> Array:
        """Return the labels of least total cost under these scores, shape (n,), of all rows.

        A row gains ``max(0, 1 + f) - max(0, 1 - f)`` times its cost when it is called positive;
        those that gain most are, as many as want to be and the class ratio allows.
        """
        return self.ranked(self.gains(scores))

    def gains(self, scores: Array) -> Array:
        """Return what each unlabelled row gains when it is called positive."""
        own, costs = scores[self.unlabelled], self.upper[self.unlabelled]
        return (np.maximum(0.0, 1.0 + own) - np.maximum(0.0, 1.0 - own)) * costs

    def ranked(self, gains: Array, count: int | None = None) -> Array:
        """Return labels with the greatest gains positive: `count` of them, or those above zero."""
        wanted = int(np.count_nonzero(gains > 0)) if count is None else count
        count = min(max(wanted, self.fewest), self.most)
        labels = np.full(len(gains), -1.0)
        labels[np.argsort(-gains, kind="stable")[:count]] = 1.0
        return labels

    def random_labels(self, rng: np.random.Generator) -> Array:
        """Return labels drawn from those that the class ratio allows."""
        gains = rng.random(self.n_unlabelled)
        return self.ranked(gains, self.fewest + int(rng.random() * (self.most - self.fewest + 1)))

    def repaired(self, labels: Array, scores: Array) -> Array:
        """Return labels that keep the class ratio; the rows nearest to a change of mind give in."""
        n_positive = int(np.count_nonzero(labels > 0))
        if self.fewest <= n_positive <= self.most:
            return labels
        # Within each label the order of the scores decides who changes first.
        order = np.argsort(np.argsort(scores[self.unlabelled], kind="stable"), kind="stable")
        n = len(labels)
        return self.ranked(np.where(labels > 0, float(n), 0.0) + order, n_positive)


def machine(
    kernel: Array,
    signs: Array,
    upper: Array,
    *,
    start: Array | None = None,
    tol: float = TOLERANCE,
) -> Solution:
    """Return the support vector machine; of one class alone it is the constant of that class."""
    if (signs == signs[0]).all():
        # The equality constraint leaves alpha = 0 alone; any bias beyond the margin is optimal.
        return Solution(np.zeros(len(signs)), float(signs[0]), 0.0, 0.0, 0, True)
    # Always from a start: these machines are small, and libsvm checks its input anew each time.
    begin = np.zeros(len(signs)) if start is None else start
    return solve(Dual(kernel, signs, upper), start=begin, tol=tol)


# 95 per cent, two-sided.
_Z = 1.959963984540054


class PartialLabels(NamedTuple):
    """What a partly labelled target says.

    classes (n_classes,): Sorted; empty if no row has a label.
    codes (n,): Index of the class, -1 without a label.
    """

    classes: AnyArray
    codes: Indices

    @property
    def known(self) -> Mask:
        """Which rows have a label."""
        return self.codes >= 0


def read_labels(y: Any) -> PartialLabels:
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
        return PartialLabels(np.array([], dtype=labels.dtype), codes)
    given = np.array(labels[known].tolist()) if labels.dtype == object else labels[known]
    check_classification_targets(given)
    classes, codes[known] = np.unique(given, return_inverse=True)
    return PartialLabels(classes, codes)


def _is_unlabelled(label: Any) -> bool:
    return label is None or (not isinstance(label, str) and bool(label == -1))


def check_labelled(labels: PartialLabels) -> None:
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
    ratio: Any, n_unlabelled: int, *, n_positive: float, n_labelled: float
) -> tuple[int, int]:
    """Return the fewest and the most positives among the unlabelled rows.

    Labelled rows count as often as their weights say, so that a weight of two is a row twice.

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


def _shares(ratio: Any, n_positive: float, n_labelled: float) -> tuple[float, float]:
    if isinstance(ratio, str) and ratio == "labelled":
        return wilson_interval(n_positive, n_labelled) if n_labelled else (0.25, 0.75)
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


def wilson_interval(n_positive: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share; counts may be sums of weights."""
    share, z2 = n_positive / n, _Z**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)


class TransductiveRows(NamedTuple):
    """The rows with weight, their similarities and what they cost.

    Equal labelled rows are one row with the sum of their weights.

    Shapes: kernel (n, n), upper (n,).

    rows (n,): Where they are among the rows given.
    labels: Of these rows.
    weights (n,): How often each row counts.
    factors (n,): The weights of the classes; 1.0 for rows without a label.
    every_code (n_given,): Index of the class of every row given, -1 without a label.
    """

    rows: Indices
    gram: Gram
    kernel: Array
    labels: PartialLabels
    weights: Array
    factors: Array
    upper: Array
    every_code: Indices

    def priced(self, C: float, C_unlabelled: float) -> "TransductiveRows":
        """Return the same rows at other prices of slack."""
        prices = np.where(self.labels.known, C * self.factors, C_unlabelled)
        return self._replace(upper=self.weights * prices)


def read_rows(
    estimator: Any, X: Array, labels: PartialLabels, sample_weight: Any
) -> TransductiveRows:
    """Return rows and costs; rows of weight zero are left out.

    Shapes: X (n_given, d), sample_weight (n_given,).
    """
    weights = row_weights(sample_weight, len(X))
    rows, counts = _distinct(X, labels, weights, merge=not is_precomputed(estimator))
    gram = Gram.of(
        estimator.kernel,
        estimator.gamma,
        X,
        weights=None if sample_weight is None else weights,
    )
    if len(rows) < len(X):
        gram = gram.subset(rows)
    kernel, codes = gram.train, labels.codes[rows]
    known = codes >= 0
    factors = np.ones(len(rows))
    factors[known] = class_weights(
        estimator.class_weight, labels.classes, codes[known], counts[known]
    )
    own = PartialLabels(labels.classes, codes)
    given = TransductiveRows(rows, gram, kernel, own, counts, factors, counts, labels.codes)
    return given.priced(*costs(estimator, kernel))


def _distinct(
    X: Array, labels: PartialLabels, weights: Array, *, merge: bool
) -> tuple[Indices, Array]:
    """Return rows with weight in the order given, equal labelled ones once, and their weights."""
    labelled = np.flatnonzero(labels.known & (weights > 0))
    # Without rows to label it is the plain machine, to the last digit that SVC has.
    if not merge or labels.known.all() or not len(labelled):
        rows = np.flatnonzero(weights > 0)
        return rows, weights[rows]
    merged = merged_rows(X[labelled], labels.codes[labelled], weights[labelled])
    counts = np.where(labels.known, 0.0, weights)
    counts[labelled[merged.places]] = merged.weights
    rows = np.flatnonzero(counts > 0)
    return rows, counts[rows]


def costs(estimator: Any, kernel: Array) -> tuple[float, float]:
    """Return C of labelled and of unlabelled rows; "heuristic" is n over the trace of K.

    Where they are to be chosen from the data, 1 stands for them.
    """
    if isinstance(estimator.C, str) and estimator.C == "heuristic":
        trace = float(np.trace(kernel))
        C = len(kernel) / trace if trace > 0 else 1.0
    else:
        C = 1.0 if is_chosen(estimator.C) else check_positive("C", estimator.C)
    if estimator.C_unlabelled is None or is_chosen(estimator.C_unlabelled):
        return C, C
    return C, check_positive("C_unlabelled", estimator.C_unlabelled)


def is_chosen(option: Any) -> bool:
    """Return whether an option is to be chosen from the data."""
    return isinstance(option, str) and option == "choose"


def problem_of(given: TransductiveRows, positive: int, ratio: Any) -> TransductiveProblem:
    """Return the problem of one class against the others."""
    codes = given.labels.codes
    known = np.where(codes < 0, 0.0, np.where(codes == positive, 1.0, -1.0))
    n_positive = float(given.weights[known > 0].sum())
    n_labelled = float(given.weights[known != 0].sum())
    fewest, most = positive_counts(
        ratio,
        int(np.count_nonzero(known == 0)),
        n_positive=n_positive,
        n_labelled=n_labelled,
    )
    share = n_positive / n_labelled if n_labelled else None
    return TransductiveProblem(given.kernel, known, given.upper, fewest, most, share)


def present_classes(given: TransductiveRows) -> TransductiveRows:
    """Return the same with the classes alone that have a row with weight."""
    codes = given.labels.codes
    present = np.unique(codes[codes >= 0])
    places = np.full(len(given.labels.classes) + 1, -1, dtype=np.intp)
    # The last place is that of -1, rows without a label.
    places[present] = np.arange(len(present))
    own = PartialLabels(given.labels.classes[present], places[codes])
    return given._replace(labels=own, every_code=places[given.every_code])
