"""How sure an honest figure is: intervals from rows that no search has seen.

Each tested row has a loss of its own, so that n rows say as much as n rows can, however few folds
there are; the spread of k fold scores, by contrast, is an estimate with k - 1 degrees of freedom.
Read `share_bounds` first (a share of rows), then `ratio_bounds` (mean losses, as they are or as
parts of a baseline's), `difference_bounds` (paired gains) and `area_bounds` (an AUC).

What they hold, as often as they say, is the mean performance on new rows of the models that the
outer folds fitted: of the procedure, trained on this table less one fold.

Losses of rows from different folds are not quite independent. Row i helped to fit the model that
judges row j, and j the one that judges i; if the two agree, both gain. That raises the variance of
a mean loss by a part that is near 0 where the signal is strong and 1 where a linear regression
gains nothing: the scores of rows i and j, each a sum over the n' rows of other folds, share one
term and correlate by 1 / n', and each row has n' partners. Errors of a classifier there are signs
of such scores and correlate by 2 / (pi n'); a gain in errors has half of that, since it varies
twice as much. `DEPENDENCE` is the one number between these extremes. It was chosen on simulated
tables, and `python -m benchmarks.peers coverage` checks it on others.

[1] Bates, Hastie and Tibshirani (2023), J. Am. Stat. Assoc. 119:1434-1445.
[2] Bayle, Bayle, Janson and Mackey (2020), NeurIPS 33:16339-16350.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri
from scipy.stats import t as t_distribution

from parsimon._typing import AnyArray, Array, Mask
from parsimon.roc.intervals import newcombe_bounds, wilson_bounds

# By how much the variance of a mean loss, share of rows, and gain in such shares grows.
DEPENDENCE = 0.5
SHARE_DEPENDENCE = 2 / math.pi * DEPENDENCE
SHARE_GAIN_DEPENDENCE = SHARE_DEPENDENCE / 2


class Bounds(NamedTuple):
    """An estimate and the interval it may lie in."""

    estimate: float
    low: float
    high: float


def share_bounds(
    wrong: Array, units: AnyArray | None = None, *, confidence: float = 0.95
) -> Bounds:
    """Return the interval of a share of rows, by Wilson's score: inside [0, 1], never of no width.

    Where units of several rows agree within, they count for fewer rows.

    Shapes: wrong (n,) from 0 to 1, units (n,): rows of one unit stand or fall together, and a row
    that was tested again is one unit.
    """
    totals, counts = _by_unit(np.asarray(wrong, dtype=np.float64), units)
    share = float(totals.sum() / counts.sum())
    n = float(len(totals))
    if units is not None and 0 < share < 1:
        variance = _variance(totals - share * counts, counts.sum())
        n = min(n, share * (1 - share) / variance)
    return wilson(share, n, confidence=confidence)


def wilson(share: float, n: float, *, confidence: float = 0.95) -> Bounds:
    """Return Wilson's interval for a share of n tested rows, which depend a little."""
    low, high = wilson_bounds(np.array([share]), n / (1 + SHARE_DEPENDENCE), confidence)
    return Bounds(share, float(low[0]), float(high[0]))


def balanced_bounds(missed: Bounds, alarmed: Bounds) -> Bounds:
    """Return the interval of the mean of two shares of different rows, from theirs.

    The squares of the distances to the ends are added up, as variances are (Newcombe's method).
    """
    centre = (missed.estimate + alarmed.estimate) / 2
    below = math.hypot(missed.estimate - missed.low, alarmed.estimate - alarmed.low) / 2
    above = math.hypot(missed.high - missed.estimate, alarmed.high - alarmed.estimate) / 2
    return Bounds(centre, max(0.0, centre - below), min(1.0, centre + above))


def ratio_bounds(
    losses: Array,
    reference: Array | None = None,
    units: AnyArray | None = None,
    *,
    confidence: float = 0.95,
) -> Bounds:
    """Return the interval of a mean loss, or of its ratio to the mean loss of a reference.

    Student's t on the logarithm, which keeps it above zero and its upper end far out where a few
    rows carry most of the loss. Losses that are all zero get the bound of a share: rows as bad as
    the reference may be so rare that none was seen.

    Shapes: losses (n,) from 0, reference (n,), units (n,).
    """
    known = np.ones(len(losses)) if reference is None else np.asarray(reference, dtype=np.float64)
    totals = _by_unit(np.asarray(losses, dtype=np.float64), units)[0]
    against = _by_unit(known, units)[0]
    if against.sum() <= 0:
        # The reference makes no error: nothing can be better, and worse has no yardstick.
        return Bounds(1.0, 0.0, 2.0)
    ratio = float(totals.sum() / against.sum())
    if ratio <= 0:
        return Bounds(0.0, 0.0, 0.0 if reference is None else wilson(0.0, len(totals)).high)
    error = math.sqrt((1 + DEPENDENCE) * _variance(totals - ratio * against, against.sum()))
    reach = _quantile(len(totals), confidence) * error / ratio
    # Beyond a factor of e^5 the rows say nothing, and more would overflow.
    return Bounds(ratio, ratio * math.exp(-reach), ratio * math.exp(min(reach, 5.0)))


def difference_bounds(
    gains: Array,
    units: AnyArray | None = None,
    *,
    scale: float | None = None,
    confidence: float = 0.95,
) -> Bounds:
    """Return the interval of the mean of paired differences, such as what a model gains.

    Two more rows join, a gain and a loss of `scale` each (Bonett and Price [3]): without them a
    few differences of equal sign, or none at all, would leave an interval of no width. Without a
    scale the differences are those of errors that a row has or has not.

    Shapes: gains (n,), units (n,).

    [3] Bonett and Price (2012), J. Educ. Behav. Stat. 37:479-488.
    """
    dependence, most = SHARE_GAIN_DEPENDENCE, 1.0
    if scale is not None:
        dependence, most = DEPENDENCE, math.inf
    else:
        scale = 1.0
    totals, counts = _by_unit(np.asarray(gains, dtype=np.float64), units)
    mean = float(totals.sum() / counts.sum())
    totals, counts = np.append(totals, [scale, -scale]), np.append(counts, [1.0, 1.0])
    centre = float(totals.sum() / counts.sum())
    error = math.sqrt((1 + dependence) * _variance(totals - centre * counts, counts.sum()))
    reach = _quantile(len(totals), confidence) * error
    low, high = min(mean, centre - reach), max(mean, centre + reach)
    return Bounds(mean, max(low, -most), min(high, most))


def placement_shares(positive: Mask, scores: Array) -> Array:
    """Return the share of the other class's rows that each row is on the right side of.

    Ties count half. Shapes: positive (n,), scores (n,) -> (n,).
    """
    shares = np.empty(len(scores))
    for mask, sign in ((positive, 1.0), (~positive, -1.0)):
        others = np.sort(sign * scores[~mask])
        own = sign * scores[mask]
        below = np.searchsorted(others, own, "left") + np.searchsorted(others, own, "right")
        shares[mask] = below / (2 * max(len(others), 1))
    return shares


def area_bounds(
    placements: Array,
    positive: Mask,
    units: AnyArray | None = None,
    *,
    confidence: float = 0.95,
) -> Bounds:
    """Return the interval of an AUC from the placements of its rows, on the logit scale.

    The variance is DeLong's. Where it is zero, as for classes that separate, Newcombe's interval
    stands in.

    Shapes: placements (n,) of `placement_shares`, positive (n,), units (n,).
    """
    areas, variances, sizes = _sides(placements, positive, units)
    area, error = areas[0], math.sqrt((1 + SHARE_DEPENDENCE) * sum(variances))
    if error == 0 or not 0 < area < 1 or min(sizes) < 2:
        fewer = [max(1, round(size / (1 + SHARE_DEPENDENCE))) for size in sizes]
        return Bounds(area, *newcombe_bounds(area, fewer[0], fewer[1], confidence))
    reach = float(ndtri((1 + confidence) / 2)) * error / (area * (1 - area))
    middle = float(logit(area))
    return Bounds(area, float(expit(middle - reach)), float(expit(middle + reach)))


def area_difference_bounds(
    more: Array,
    positive: Mask,
    units: AnyArray | None = None,
    *,
    confidence: float = 0.95,
) -> Bounds:
    """Return the interval of the difference of two AUCs of the same rows, by DeLong's variance.

    As in `difference_bounds` two more rows join, here to each class.

    Shapes: more (n,), differences of placements; positive (n,), units (n,).
    """
    areas, _, _ = _sides(more, positive, units)
    more, positive = np.append(more, [1.0, -1.0] * 2), np.append(positive, [True] * 2 + [False] * 2)
    if units is not None:
        _, codes = np.unique(units, return_inverse=True)
        units = np.append(codes, codes.max() + np.arange(1, 5))
    middles, variances, _ = _sides(more, positive, units)
    error = math.sqrt((1 + SHARE_GAIN_DEPENDENCE) * sum(variances))
    reach = float(ndtri((1 + confidence) / 2)) * error
    low, high = middles[0] - reach, middles[0] + reach
    return Bounds(areas[0], max(-1.0, min(low, areas[0])), min(1.0, max(high, areas[0])))


def _sides(
    values: Array, positive: Mask, units: AnyArray | None
) -> tuple[list[float], list[float], list[int]]:
    """Return mean, variance of the mean and number of units, of positive and of negative rows."""
    means, variances, sizes = [], [], []
    for mask in (positive, ~positive):
        totals, counts = _by_unit(values[mask], None if units is None else units[mask])
        mean = float(totals.sum() / counts.sum())
        means.append(mean)
        variances.append(_variance(totals - mean * counts, counts.sum()))
        sizes.append(len(totals))
    return means, variances, sizes


def unit_sums(values: Array, units: AnyArray | None = None) -> Array:
    """Return the sum of the values (n,) of each unit, (n_units,); the values if there are none."""
    return _by_unit(values, units)[0]


def _by_unit(values: Array, units: AnyArray | None) -> tuple[Array, Array]:
    """Return the sum of the values of each unit and its number of rows, both (n_units,)."""
    if units is None:
        return values, np.ones(len(values))
    _, codes = np.unique(units, return_inverse=True)
    totals: Array = np.bincount(codes, weights=values).astype(np.float64)
    return totals, np.bincount(codes).astype(np.float64)


def _variance(residuals: Array, size: float) -> float:
    """Return the variance of a ratio of sums over units, given its residuals (n_units,)."""
    n = len(residuals)
    spread = float(residuals @ residuals) * n / max(n - 1, 1)
    return spread / size**2


def _quantile(n_units: int, confidence: float) -> float:
    return float(t_distribution.isf((1 - confidence) / 2, max(n_units - 1, 1)))
