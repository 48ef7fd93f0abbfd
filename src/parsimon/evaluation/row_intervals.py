"""How sure an honest figure is: intervals from rows that no search has seen.

Each tested row has a loss of its own, so that n rows say as much as n rows can, however few folds
there are; the spread of k fold scores, by contrast, is an estimate with k - 1 degrees of freedom.
Read `share_bounds` first (a share of rows), then `mean_bounds` (a mean loss), `ratio_bounds` (as a
part of a baseline's), `difference_bounds` (paired gains) and `area_bounds` (an AUC).

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

Where chance is a known place, as 1/2 for an AUC and 0 for a slope, one need not settle for a number
between: a value that is near chance, in standard errors, is judged as if there were no signal, one
that is far as if folds were independent (`dependence_near`).

[1] Bates, Hastie and Tibshirani (2023), J. Am. Stat. Assoc. 119:1434-1445.
[2] Bayle, Bayle, Janson and Mackey (2020), NeurIPS 33:16339-16350.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri
from scipy.stats import binom
from scipy.stats import t as t_distribution

from parsimon._typing import AnyArray, Array, Mask
from parsimon.roc.intervals import newcombe_bounds, wilson_bounds

# By how much the variance of a loss beside a baseline's, of a share of rows, and of a gain in such
# shares grows; that of a mean loss alone less, as most of it is noise that no fit can follow.
DEPENDENCE = 0.5
MEAN_DEPENDENCE = 0.35
SHARE_DEPENDENCE = 2 / math.pi * DEPENDENCE
SHARE_GAIN_DEPENDENCE = SHARE_DEPENDENCE / 2
# The same of an AUC where nothing can be learnt: ranks correlate by 3 / pi of their scores.
AREA_DEPENDENCE = 3 / math.pi
# So many standard errors from chance half of the dependence is left.
FADES_AT = 3.0
# A skewness over the root of n from which the correction for it is a guess.
TOO_SKEW = 0.5


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


def wilson(
    share: float, n: float, *, confidence: float = 0.95, dependence: float = SHARE_DEPENDENCE
) -> Bounds:
    """Return Wilson's interval for a share of n tested rows, which depend a little.

    Rows of one class alone, such as those that are found of it, hardly depend: there 0 covers.
    """
    low, high = wilson_bounds(np.array([share]), n / (1 + dependence), confidence)
    return Bounds(share, float(low[0]), float(high[0]))


def balanced_bounds(missed: Bounds, alarmed: Bounds) -> Bounds:
    """Return the interval of the mean of two shares of different rows, from theirs.

    The squares of the distances to the ends are added up, as variances are (Newcombe's method).
    """
    centre = (missed.estimate + alarmed.estimate) / 2
    below = math.hypot(missed.estimate - missed.low, alarmed.estimate - alarmed.low) / 2
    above = math.hypot(missed.high - missed.estimate, alarmed.high - alarmed.estimate) / 2
    return Bounds(centre, max(0.0, centre - below), min(1.0, centre + above))


def dependence_near(errors: float) -> float:
    """Return what part of the dependence of folds is left so many standard errors from chance."""
    return 1 / (1 + (errors / FADES_AT) ** 2)


def mean_bounds(
    losses: Array, units: AnyArray | None = None, *, confidence: float = 0.95
) -> Bounds:
    """Return the interval of a mean loss, such as that of squared misses, which are skew.

    Hall's cubic makes the studentised mean symmetric up to terms of 1 / n [3]: where a few rows
    carry most of the loss the upper end is far out, and the lower end stays above zero.

    Shapes: losses (n,) from 0, units (n,).

    [3] Hall (1992), J. R. Stat. Soc. B 54:221-228.
    """
    totals, counts = _by_unit(np.asarray(losses, dtype=np.float64), units)
    mean = float(totals.sum() / counts.sum())
    residuals = totals - mean * counts
    error = math.sqrt((1 + MEAN_DEPENDENCE) * _variance(residuals, counts.sum()))
    reach, skew = _quantile(len(totals), confidence), _skewness(residuals)
    low, high = (mean - error * _as_skew(sign * reach, skew) for sign in (1, -1))
    return Bounds(mean, max(0.0, min(low, mean)), max(high, mean))


def is_too_skew(losses: Array) -> bool:
    """Return whether so few rows carry so much of a loss that no interval of its mean is sure.

    Shapes: losses (n,).
    """
    return _skewness(losses - np.mean(losses)) > TOO_SKEW


def _skewness(residuals: Array) -> float:
    """Return the skewness of residuals of mean zero, over the root of their number."""
    spread = float(np.mean(residuals**2))
    if spread <= 0:
        return 0.0
    return float(np.mean((residuals / math.sqrt(spread)) ** 3)) / math.sqrt(len(residuals))


def _as_skew(deviate: float, skew: float) -> float:
    """Return the studentised mean of which Hall's cubic makes a symmetric deviate."""
    if abs(skew) < 1e-6:
        return deviate
    return 3 / skew * (float(np.cbrt(1 + skew * (deviate - skew / 6))) - 1)


def median_bounds(values: Array, *, confidence: float = 0.95) -> Bounds:
    """Return the median and the values of two rows that hold it, however heavy the tails.

    A row lies below the median with chance 1/2, so that the number that do is binomial. With too
    few rows the ends are the least and the greatest.

    Shapes: values (n,).
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    # The greatest k with P(B < k) <= (1 - confidence) / 2 of a binomial B.
    k = max(1, int(binom.ppf((1 - confidence) / 2, n, 0.5)))
    return Bounds(float(np.median(ordered)), float(ordered[k - 1]), float(ordered[n - k]))


def ratio_bounds(
    losses: Array,
    reference: Array | None = None,
    units: AnyArray | None = None,
    *,
    confidence: float = 0.95,
) -> Bounds:
    """Return the interval of the ratio of a mean loss to that of a reference.

    Without a reference it is that of `mean_bounds`; with one Student's t on the
    logarithm, which keeps it above zero. Losses that are all zero get the bound of a share: rows
    as bad as the reference may be so rare that none was seen.

    Shapes: losses (n,) from 0, reference (n,), units (n,).
    """
    if reference is None:
        return mean_bounds(losses, units, confidence=confidence)
    totals = _by_unit(np.asarray(losses, dtype=np.float64), units)[0]
    against = _by_unit(np.asarray(reference, dtype=np.float64), units)[0]
    if against.sum() <= 0:
        # The reference makes no error: nothing can be better, and worse has no yardstick.
        return Bounds(1.0, 0.0, 2.0)
    ratio = float(totals.sum() / against.sum())
    if ratio <= 0:
        return Bounds(0.0, 0.0, wilson(0.0, len(totals), confidence=confidence).high)
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

    Two more rows join, a gain and a loss of `scale` each (Bonett and Price [4]): without them a
    few differences of equal sign, or none at all, would leave an interval of no width. Without a
    scale the differences are those of errors that a row has or has not.

    Shapes: gains (n,), units (n,).

    [4] Bonett and Price (2012), J. Educ. Behav. Stat. 37:479-488.
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

    The variance is DeLong's, raised for areas near 1/2 as if nothing could be learnt: the interval
    holds the areas that these rows do not reject, each by its own variance. Where it is zero, as
    for classes that separate, Newcombe's interval stands in.

    Shapes: placements (n,) of `placement_shares`, positive (n,), units (n,).
    """
    areas, variances, sizes = _sides(placements, positive, units)
    area, error = areas[0], math.sqrt(sum(variances))
    if error == 0 or not 0 < area < 1 or min(sizes) < 2:
        fewer = [max(1, round(size / (1 + SHARE_DEPENDENCE))) for size in sizes]
        return Bounds(area, *newcombe_bounds(area, fewer[0], fewer[1], confidence))
    middle, reach = float(logit(area)), error / (area * (1 - area))
    reach *= _quantile(_freedom(variances, sizes), confidence)
    widest = 1.01 * reach * math.sqrt(1 + AREA_DEPENDENCE)

    def beyond(away: float, sign: float) -> float:
        errors = (expit(middle + sign * away) - 0.5) / error
        return away - reach * math.sqrt(1 + AREA_DEPENDENCE * dependence_near(errors))

    below, above = (brentq(beyond, 0.0, widest, args=(sign,)) for sign in (-1.0, 1.0))
    return Bounds(area, float(expit(middle - below)), float(expit(middle + above)))


def area_difference_bounds(
    more: Array,
    positive: Mask,
    units: AnyArray | None = None,
    *,
    confidence: float = 0.95,
) -> Bounds:
    """Return the interval of the difference of two AUCs of the same rows, by DeLong's variance.

    As in `difference_bounds` two more rows join, here to each class. The less the areas differ,
    the more of the difference is what the fits owe to chance, which rows of all folds share.

    Shapes: more (n,), differences of placements; positive (n,), units (n,).
    """
    areas, _, _ = _sides(more, positive, units)
    more, positive = np.append(more, [1.0, -1.0] * 2), np.append(positive, [True] * 2 + [False] * 2)
    if units is not None:
        _, codes = np.unique(units, return_inverse=True)
        units = np.append(codes, codes.max() + np.arange(1, 5))
    middles, variances, _ = _sides(more, positive, units)
    error = math.sqrt(sum(variances))
    error *= math.sqrt(1 + AREA_DEPENDENCE * dependence_near(areas[0] / error))
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


def _freedom(variances: list[float], sizes: list[int]) -> float:
    """Return how many units would know a sum of variances as well as these, by Welch's rule."""
    shares = [own**2 / (size - 1) for own, size in zip(variances, sizes, strict=True)]
    return 1 + sum(variances) ** 2 / sum(shares)


def _quantile(n_units: float, confidence: float) -> float:
    return float(t_distribution.isf((1 - confidence) / 2, max(n_units - 1, 1)))
