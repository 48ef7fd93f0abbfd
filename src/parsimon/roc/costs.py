"""What errors cost: the price of an operating point, and the threshold that is cheapest."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.roc.curve import RocPoints, roc_points
from parsimon.roc.samples import as_numbers


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
