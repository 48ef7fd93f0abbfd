"""How sure a ROC curve is at each point."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.roc.curve import roc_points
from parsimon.roc.intervals import check_confidence
from parsimon.roc.samples import class_scores


class RocBand(NamedTuple):
    """Bounds of the true positive rate at each false positive rate.

    fpr, lower, upper (n,): Staircases: between two false positive rates each bound keeps its
        worse value.
    confidence: Coverage at each false positive rate.
    """

    fpr: Array
    lower: Array
    upper: Array
    confidence: float


def roc_band(
    y_true: Any,
    y_score: Any,
    *,
    confidence: float = 0.95,
    pos_label: Any = None,
    n_points: int = 201,
) -> RocBand:
    """Return a point-wise confidence band of the ROC curve.

    At each threshold both rates are binomial shares of independent samples: Wilson intervals of
    the square root of the confidence make a rectangle that holds the true point. What the
    rectangles' corners leave possible at a given false positive rate is the band. It has width
    even where the classes separate perfectly, and needs no resampling.

    Parameters
    ----------
    y_true, y_score, pos_label
        As in `roc_points`.
    confidence : float, default=0.95
        Coverage at each false positive rate, not of the whole curve at once.
    n_points : int, default=201
        Number of false positive rates, evenly spaced from 0 to 1.

    Returns
    -------
    RocBand

    References
    ----------
    Wilson (1927), J. Am. Stat. Assoc. 22:209-212; Fawcett (2006), section 7.

    Examples
    --------
    >>> band = roc_band([0] * 20 + [1] * 20, range(40), n_points=3)
    >>> band.fpr, band.lower.round(2), band.upper.round(2)
    (array([0. , 0.5, 1. ]), array([0. , 0.8, 1. ]), array([1., 1., 1.]))
    """
    check_confidence(confidence)
    if n_points < 2:
        raise InvalidInputError(f"n_points must be at least 2, got {n_points}.")
    sample = class_scores(y_true, y_score, pos_label=pos_label)
    curve = roc_points(y_true, y_score, pos_label=pos_label)
    level = np.sqrt(confidence)
    fpr_low, fpr_high = wilson_bounds(curve.fpr, len(sample.negative), level)
    tpr_low, tpr_high = wilson_bounds(curve.tpr, len(sample.positive), level)
    # The two trivial classifiers are known without data.
    fpr_high[0], tpr_low[-1] = 0.0, 1.0
    grid = np.linspace(0, 1, n_points)
    lower = tpr_low[np.searchsorted(fpr_high, grid, side="right") - 1]
    upper = np.append(tpr_high, 1.0)[np.searchsorted(fpr_low, grid, side="right")]
    return RocBand(grid, lower, upper, confidence)


def wilson_bounds(share: Array, n: int, confidence: float = 0.95) -> tuple[Array, Array]:
    """Return Wilson's score interval of binomial shares out of `n`."""
    square = float(ndtri((1 + confidence) / 2)) ** 2
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = np.sqrt(square * (share * (1 - share) / n + square / (4 * n**2))) / (1 + square / n)
    # The bounds at shares of 0 and 1 are exact; rounding must not move the curve out of its band.
    return np.where(share > 0, centre - half, 0.0), np.where(share < 1, centre + half, 1.0)
