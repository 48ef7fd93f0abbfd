"""What errors cost: of an operating point, of hard predictions, and the cheapest threshold."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parsimon._checks import finite_matrix, finite_vector, shorten
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.roc._samples import as_numbers, checked_weight, label_vector, sorted_labels
from parsimon.roc.curve import RocPoints, roc_points


class OperatingPoint(NamedTuple):
    """One threshold of a classifier: call positive what scores above it.

    threshold, fpr, tpr, cost: The threshold, its rates and their expected cost.
    row: Its place among the points it was chosen from.
    """

    threshold: float
    fpr: float
    tpr: float
    cost: float
    row: int


def expected_cost(
    tpr: ArrayLike,
    fpr: ArrayLike,
    *,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    prevalence: float | None = None,
) -> Any:
    """Return what errors cost at these rates; right answers cost nothing.

    Parameters
    ----------
    tpr, fpr : float or array-like
        True and false positive rates, of any shapes that broadcast.
    cost_fp, cost_fn : float, default=1
        Price of one false positive and of one false negative.
    prevalence : float, optional
        Share of positives where the classifier will be used: the cost per row,
        p1 (1 - T) c_fn + p0 F c_fp (2.40). Without it, F c_fp + (1 - T) c_fn (2.39).

    Returns
    -------
    float or ndarray
        Of the broadcast shape.

    References
    ----------
    Clark (2011), equations 2.39 and 2.40.

    Examples
    --------
    >>> float(expected_cost(0.75, 0.5, cost_fp=1, cost_fn=10))
    3.0
    >>> expected_cost([0.5, 1.0], [0.0, 0.25], cost_fp=2, cost_fn=4, prevalence=0.5)
    array([1.  , 0.25])
    """
    weight_fp, weight_fn = _error_weights(cost_fp, cost_fn, prevalence)
    true_rate, false_rate = _rate(tpr, "tpr"), _rate(fpr, "fpr")
    return weight_fn * (1 - true_rate) + weight_fp * false_rate


def iso_performance_slope(
    *, cost_fp: float = 1.0, cost_fn: float = 1.0, prevalence: float | None = None
) -> float:
    """Return the slope, in the ROC plane, of the lines along which the cost stays the same.

    Parameters
    ----------
    cost_fp, cost_fn, prevalence : float
        As in `expected_cost`.

    Returns
    -------
    float
        (p0 c_fp) / (p1 c_fn); infinite if false negatives cost nothing.

    References
    ----------
    Clark (2011), equation 2.41; Provost and Fawcett (1997).

    Examples
    --------
    >>> round(iso_performance_slope(cost_fp=1, cost_fn=5, prevalence=0.1), 6)
    1.8
    """
    weight_fp, weight_fn = _error_weights(cost_fp, cost_fn, prevalence)
    return weight_fp / weight_fn if weight_fn > 0 else float("inf")


def cheapest_point(
    points: RocPoints,
    *,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    prevalence: float | None = None,
) -> OperatingPoint:
    """Return the point of a ROC curve whose errors cost least."""
    if len(points.fpr) == 0:
        raise InvalidInputError("There are no points to choose from.")
    costs = expected_cost(
        points.tpr, points.fpr, cost_fp=cost_fp, cost_fn=cost_fn, prevalence=prevalence
    )
    # Equal costs differ by rounding; a thousand roundings apart is equal.
    equal = np.flatnonzero(costs <= costs.min() + 1e-13 * (cost_fp + cost_fn))
    row = int(equal[np.lexsort((-points.tpr[equal], points.fpr[equal]))[0]])
    return OperatingPoint(
        threshold=float(points.thresholds[row]),
        fpr=float(points.fpr[row]),
        tpr=float(points.tpr[row]),
        cost=float(costs[row]),
        row=row,
    )


def cheapest_threshold(
    y_true: Any,
    y_score: Any,
    *,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    prevalence: float | None = None,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> OperatingPoint:
    """Return the threshold at which a classifier's errors cost least on these rows.

    Parameters
    ----------
    y_true, y_score, pos_label, sample_weight
        As in `roc_points`.
    cost_fp, cost_fn, prevalence : float
        As in `expected_cost`; without a prevalence the classes count alike. For the prevalence
        of these rows give ``prevalence=np.mean(y_true == pos_label)``.

    Returns
    -------
    OperatingPoint
        With `threshold`, `fpr`, `tpr` and `cost`; call positive what scores above the threshold.

    Examples
    --------
    >>> chosen = cheapest_threshold([0, 0, 1, 1], [0.125, 0.5, 0.25, 0.75], cost_fn=3)
    >>> chosen.threshold, chosen.cost
    (0.1875, 0.5)
    """
    points = roc_points(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    return cheapest_point(points, cost_fp=cost_fp, cost_fn=cost_fn, prevalence=prevalence)


def _error_weights(cost_fp: float, cost_fn: float, prevalence: float | None) -> tuple[float, float]:
    for name, cost in (("cost_fp", cost_fp), ("cost_fn", cost_fn)):
        if not (np.isfinite(cost) and cost >= 0):
            raise InvalidInputError(f"{name} must be zero or more and finite, got {cost}.")
    if prevalence is not None and not 0 <= prevalence <= 1:
        raise InvalidInputError(f"prevalence must lie between 0 and 1, got {prevalence}.")
    share = (1.0, 1.0) if prevalence is None else (1.0 - prevalence, float(prevalence))
    weights = share[0] * cost_fp, share[1] * cost_fn
    if weights == (0, 0):
        raise InvalidInputError("Neither error costs anything, so that no threshold is cheapest.")
    return weights


def _rate(values: ArrayLike, name: str) -> Array:
    rate = as_numbers(values, name)
    if not ((rate >= 0) & (rate <= 1)).all():
        raise InvalidInputError(f"{name} must lie between 0 and 1, as a rate does.")
    return rate


@dataclass(frozen=True, eq=False)
class ConfusionRates:
    """A confusion table of any number of classes and the rates read off it.

    counts (n_classes, n_classes): ``counts[i, j]`` is the weight of rows of class i that were
        predicted as class j: rows are true, columns predicted, as in scikit-learn. `table`
        turns it round.
    labels (n_classes,): The class of each row and column.
    """

    counts: Array
    labels: AnyArray

    def table(self, rows: Literal["true", "predicted"] = "true") -> Array:
        """Return the counts with true classes in rows, or (as Clark prints it) in columns."""
        if rows not in ("true", "predicted"):
            raise InvalidInputError(f'rows must be "true" or "predicted", got {rows!r}.')
        return self.counts if rows == "true" else self.counts.T

    @property
    def accuracy(self) -> float:
        """Share of rows predicted right (2.34)."""
        return float(np.trace(self.counts) / self.counts.sum())

    @property
    def error(self) -> float:
        """Share of rows predicted wrong (2.35)."""
        return 1.0 - self.accuracy

    @property
    def tpr(self) -> Array:
        """Per class, the share of its rows that were found (2.37); NaN for a class without rows."""
        return _ratio(np.diag(self.counts), self.counts.sum(axis=1))

    @property
    def fpr(self) -> Array:
        """Per class, the share of all other rows that were taken for it (2.38)."""
        wrong = self.counts.sum(axis=0) - np.diag(self.counts)
        return _ratio(wrong, self.counts.sum() - self.counts.sum(axis=1))

    @property
    def precision(self) -> Array:
        """Per class, the share of its predictions that were right; NaN if never predicted."""
        return _ratio(np.diag(self.counts), self.counts.sum(axis=0))

    def cost(self, costs: Any, *, priors: Any = None) -> float:
        """Return what the predictions cost.

        Shapes: costs (n_classes, n_classes), priors (n_classes,).
        """
        matrix = cost_matrix(costs, len(self.labels))
        if (self.counts.sum(axis=1) == 0).any():
            raise InvalidInputError("A class without rows has no rates, so no cost either.")
        per_class = (matrix * self.counts).sum(axis=1) / self.counts.sum(axis=1)
        return float(per_class @ _checked_priors(priors, len(self.labels)))


def confusion_rates(
    y_true: Any, y_pred: Any, *, labels: Any = None, sample_weight: Any = None
) -> ConfusionRates:
    """Return the confusion table of hard predictions, for two classes or more.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted classes: numbers or text.
    labels : array-like of shape (n_classes,), optional
        The classes in the wanted order; without it, all that occur, sorted.
    sample_weight : array-like of shape (n,), optional
        How much each row counts.

    Returns
    -------
    ConfusionRates
        With `counts`, `accuracy`, `error`, and per class `tpr`, `fpr`, `precision`.

    References
    ----------
    Clark (2011), Multi-Objective ROC learning for classification, section 2.2.1.

    Examples
    --------
    >>> rates = confusion_rates(["cat", "cat", "dog", "emu"], ["cat", "dog", "dog", "emu"])
    >>> rates.counts
    array([[1., 1., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    >>> rates.accuracy, rates.tpr.tolist()
    (0.75, [0.5, 1.0, 1.0])
    >>> rates.cost([[0, 1, 1], [5, 0, 1], [1, 1, 0]], priors=[0.8, 0.1, 0.1])
    0.4
    """
    true, predicted = label_vector(y_true, "y_true"), label_vector(y_pred, "y_pred")
    if len(true) != len(predicted):
        raise InvalidInputError(f"y_true has {len(true)} rows and y_pred has {len(predicted)}.")
    weight = checked_weight(sample_weight, len(true))
    # Joined as a list, so that NumPy does not turn the number 1 into the text "1" unnoticed.
    seen = set(true.tolist()) | set(predicted.tolist())
    classes = sorted_labels(seen) if labels is None else label_vector(labels, "labels")
    position = {label: i for i, label in enumerate(classes.tolist())}
    if missing := [label for label in seen if label not in position]:
        raise InvalidInputError(f"labels lacks classes that occur: {shorten(missing)}.")
    counts = np.zeros((len(classes), len(classes)))
    rows = [position[label] for label in true.tolist()]
    columns = [position[label] for label in predicted.tolist()]
    np.add.at(counts, (rows, columns), weight)
    counts.flags.writeable = False
    return ConfusionRates(counts, classes)


def cost_matrix(costs: Any, n_classes: int) -> Array:
    """Return `costs` as a matrix of one row and one column per class."""
    matrix = finite_matrix(costs, "costs")
    if matrix.shape != (n_classes, n_classes):
        raise InvalidInputError(
            f"costs must have shape ({n_classes}, {n_classes}), one row per true class, "
            f"got {matrix.shape}."
        )
    return matrix


def _checked_priors(priors: Any, n_classes: int) -> Array:
    if priors is None:
        return np.ones(n_classes)
    vector = finite_vector(priors, "priors")
    if len(vector) != n_classes or (vector < 0).any() or not np.isclose(vector.sum(), 1):
        raise InvalidInputError(
            f"priors must be {n_classes} shares that add up to 1, got {vector.tolist()}."
        )
    return vector


def _ratio(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
