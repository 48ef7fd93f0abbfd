"""How sure an AUC is, and a ROC curve at each point.

The interval of an AUC is DeLong's, its logit form, Newcombe's score interval or the bootstrap. A
sample in which all pairs agree (AUC 0 or 1), or a class of one row, has no DeLong variance and no
bootstrap spread; every method then gives Newcombe's interval and says so in `method`.

The bootstrap draws rows within each class. Sorting them again costs O(n log n) a time; counting how
often each distinct score was drawn gives the same resamples by a cumulative sum, many at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.polynomial import Polynomial
from scipy.special import expit, logit, ndtr, ndtri

from parsimon._random import Seed, generator
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.roc._samples import Ties, class_scores, placements
from parsimon.roc.curve import roc_points

_CELLS = 2_000_000


def resampled_aucs(
    positive: Array,
    negative: Array,
    n_resamples: int,
    rng: np.random.Generator,
    ties: Ties = "mid",
) -> Array:
    """Return the AUC of `n_resamples` bootstrap samples drawn within each class."""
    if n_resamples < 1:
        raise InvalidInputError(f"n_resamples must be at least 1, got {n_resamples}.")
    tie = 0.5 if ties == "mid" else 0.0
    areas = [
        (drawn * (np.cumsum(against, axis=1) - against + tie * against)).sum(axis=1)
        for drawn, against in _resampled_counts(positive, negative, n_resamples, rng)
    ]
    return np.concatenate(areas) / (len(positive) * len(negative))


def percentile_bounds(draws: Array, confidence: float) -> tuple[float, float]:
    """Return the central quantiles of the bootstrap draws."""
    lower, upper = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(lower), float(upper)


def bca_bounds(
    draws: Array, estimate: float, influence: Array, confidence: float
) -> tuple[float, float]:
    """Return bias-corrected and accelerated bounds.

    Shapes: draws (n_resamples,), influence (n,).

    Efron (1987), J. Am. Stat. Assoc. 82:171-185; Davison and Hinkley (1997), section 5.3.2.
    """
    below = np.mean(draws < estimate) + np.mean(draws == estimate) / 2
    # A share of 0 or 1 would send the correction to infinity; half a draw keeps it finite.
    half = 0.5 / len(draws)
    bias = ndtri(np.clip(below, half, 1 - half))
    acceleration = np.sum(influence**3) / (6 * np.sum(influence**2) ** 1.5)
    z = bias + ndtri([(1 - confidence) / 2, (1 + confidence) / 2])
    levels = ndtr(bias + z / (1 - acceleration * z))
    lower, upper = np.quantile(draws, levels)
    return float(lower), float(upper)


def _resampled_counts(
    positive: Array, negative: Array, n_resamples: int, rng: np.random.Generator
) -> Iterator[tuple[AnyArray, AnyArray]]:
    scores, place = np.unique(np.concatenate((positive, negative)), return_inverse=True)
    widest = max(len(positive), len(negative), len(scores))
    remaining = n_resamples
    while remaining > 0:
        n = min(remaining, max(1, _CELLS // widest))
        remaining -= n
        yield (
            _counts(place[: len(positive)], len(scores), n, rng),
            _counts(place[len(positive) :], len(scores), n, rng),
        )


def _counts(place: Indices, n_scores: int, n: int, rng: np.random.Generator) -> AnyArray:
    drawn = place[rng.integers(len(place), size=(n, len(place)))]
    flat = drawn + n_scores * np.arange(n)[:, None]
    return np.bincount(flat.ravel(), minlength=n * n_scores).reshape(n, n_scores)


Method: TypeAlias = Literal["logit", "delong", "newcombe", "percentile", "bca"]


@dataclass(frozen=True)
class AucInterval:
    """An AUC and the interval it may lie in.

    Attributes
    ----------
    auc, lower, upper : float
        Estimate and bounds; always 0 <= lower <= upper <= 1.
    standard_error : float
        DeLong's; NaN if a class has one row.
    confidence : float
        Nominal coverage.
    method : str
        How the bounds were found: what was asked for, or ``"newcombe"`` where that fails.
    """

    auc: float
    lower: float
    upper: float
    standard_error: float
    confidence: float
    method: str

    def __str__(self) -> str:
        return f"{self.auc:.3f} ({self.confidence:.0%} {self.lower:.3f} to {self.upper:.3f})"


def auc_interval(
    y_true: Any,
    y_score: Any,
    *,
    method: Method = "logit",
    confidence: float = 0.95,
    ties: Ties = "mid",
    pos_label: Any = None,
    n_resamples: int = 2000,
    random_state: Seed = None,
) -> AucInterval:
    """Return the AUC with a confidence interval that stays within [0, 1].

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes, as numbers or text.
    y_score : array-like of shape (n,)
        Greater means more positive.
    method : {"logit", "delong", "newcombe", "percentile", "bca"}, default="logit"
        ``"delong"``: normal, with DeLong's variance, cut off at 0 and 1 (as R's pROC).
        ``"logit"``: the same on the scale log(A / (1 - A)), which covers better near 1.
        ``"newcombe"``: score interval under an exponential model; also for tiny samples.
        ``"percentile"``, ``"bca"``: bootstrap within each class.
    confidence : float, default=0.95
        Nominal coverage.
    ties : {"mid", "strict"}, default="mid"
        What equal scores count, as in `auc`.
    pos_label : label, optional
        The positive class; without it, the greater of the two in sorted order.
    n_resamples : int, default=2000
        Bootstrap samples.
    random_state : int, Generator, SeedSequence, RandomState or None
        Seed of the bootstrap.

    Returns
    -------
    AucInterval
        If the data leave no spread (AUC 0 or 1, one row in a class) the bounds are Newcombe's
        and `method` is ``"newcombe"``: never an interval of width zero, never one beyond 1.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44:837-845; Sun and Xu (2014), IEEE
    Signal Proc. Lett. 21:1389-1393; Newcombe (2006), Stat. Med. 25:559-573, method 5;
    Davison and Hinkley (1997), Bootstrap Methods, section 5.3.

    Examples
    --------
    >>> interval = auc_interval([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.5, 0.8, 0.9])
    >>> print(interval)
    0.889 (95% 0.261 to 0.995)
    >>> print(auc_interval([0, 0, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6]))
    1.000 (95% 0.501 to 1.000)
    """
    check_confidence(confidence)
    if method not in ("logit", "delong", "newcombe", "percentile", "bca"):
        raise InvalidInputError(
            f'method must be "logit", "delong", "newcombe", "percentile" or "bca", got {method!r}.'
        )
    sample = class_scores(y_true, y_score, pos_label=pos_label)
    above, below = placements(sample.positive, sample.negative, ties)
    area = float(above.mean())
    error = float(np.sqrt(delong_covariance(above[None], below[None])[0, 0]))
    used = method if error > 0 else "newcombe"
    if used == "newcombe":
        bounds = newcombe_bounds(area, len(above), len(below), confidence)
    elif used in ("percentile", "bca"):
        rng = generator(random_state)
        draws = resampled_aucs(sample.positive, sample.negative, n_resamples, rng, ties)
        influence = (above - area) / len(above), (below - area) / len(below)
        bounds = (
            percentile_bounds(draws, confidence)
            if used == "percentile"
            else bca_bounds(draws, area, np.concatenate(influence), confidence)
        )
    else:
        bounds = _normal_bounds(area, error, confidence, on_logit=used == "logit")
    return AucInterval(area, *bounds, error, confidence, used)


def delong_covariance(above: Array, below: Array) -> Array:
    """Return DeLong's covariance matrix of the AUCs of several classifiers on the same rows.

    Shapes: above (n_classifiers, n_positive), below (n_classifiers, n_negative) ->
        (n_classifiers, n_classifiers).
    """
    if min(above.shape[1], below.shape[1]) < 2:
        return np.full((len(above),) * 2, np.nan)
    return _covariance(above) / above.shape[1] + _covariance(below) / below.shape[1]


def newcombe_bounds(
    area: float, n_positive: int, n_negative: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the values of the AUC that are not rejected by its own standard error.

    The bounds solve (A - a)^2 = z^2 V(a), where V is Hanley and McNeil's variance with both
    class sizes in its numerator replaced by their mean (Newcombe's method 5): a quartic with
    one root on each side of A.
    """
    quantile = ndtri((1 + confidence) / 2)
    a = Polynomial([0.0, 1.0])
    numerator, denominator = _variance_ratio(a, n_positive, n_negative)
    roots = ((area - a) ** 2 * denominator - quantile**2 * numerator).roots()
    real = roots.real[(abs(roots.imag) < 1e-9) & (abs(roots.real - 0.5) < 0.5 + 1e-9)]
    lower = 0.0 if area == 0 else float(real.min())
    upper = 1.0 if area == 1 else float(real.max())
    return max(0.0, lower), min(1.0, upper)


def model_variance(area: float, n_positive: int, n_negative: int) -> float:
    """Return the variance of an AUC under the model of `newcombe_bounds`."""
    numerator, denominator = _variance_ratio(area, n_positive, n_negative)
    return float(numerator / denominator)


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not a share strictly between 0 and 1."""
    if not 0 < confidence < 1:
        raise InvalidInputError(f"confidence must lie between 0 and 1, got {confidence}.")


def _variance_ratio(area: Any, n_positive: int, n_negative: int) -> tuple[Any, Any]:
    """Return numerator and denominator of V, of a number or of a polynomial."""
    spread = (n_positive + n_negative) / 2 - 1
    common = (2 - area) * (1 + area)
    inner = common + spread * (1 - area**2) + spread * area * (2 - area)
    return area * (1 - area) * inner, n_positive * n_negative * common


def _normal_bounds(
    area: float, error: float, confidence: float, *, on_logit: bool
) -> tuple[float, float]:
    quantile = ndtri((1 + confidence) / 2)
    if not on_logit:
        return max(0.0, area - quantile * error), min(1.0, area + quantile * error)
    width = quantile * error / (area * (1 - area))
    return float(expit(logit(area) - width)), float(expit(logit(area) + width))


def _covariance(rows: Array) -> Array:
    centred = rows - rows.mean(axis=1, keepdims=True)
    return centred @ centred.T / (rows.shape[1] - 1)


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


def wilson_bounds(share: Array, n: float, confidence: float = 0.95) -> tuple[Array, Array]:
    """Return Wilson's score interval of binomial shares out of `n`."""
    square = float(ndtri((1 + confidence) / 2)) ** 2
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = np.sqrt(square * (share * (1 - share) / n + square / (4 * n**2))) / (1 + square / n)
    # The bounds at shares of 0 and 1 are exact; rounding must not move the curve out of its band.
    return np.where(share > 0, centre - half, 0.0), np.where(share < 1, centre + half, 1.0)
