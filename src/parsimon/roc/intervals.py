"""How sure an AUC is: DeLong, its logit form, Newcombe's score interval, the bootstrap.

A sample in which all pairs agree (AUC 0 or 1), or a class of one row, has no DeLong variance and
no bootstrap spread; every method then gives Newcombe's interval and says so in `method`.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.polynomial import Polynomial
from scipy.special import expit, logit, ndtri

from parsimon._random import Seed, generator
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.roc.bootstrap import bca_bounds, percentile_bounds, resampled_aucs
from parsimon.roc.samples import Ties, class_scores, placements

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
    total: Array = _covariance(above) / above.shape[1] + _covariance(below) / below.shape[1]
    return total


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
    covariance: Array = centred @ centred.T / (rows.shape[1] - 1)
    return covariance
