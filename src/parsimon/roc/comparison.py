"""Is one classifier's AUC better than another's? DeLong's test, paired and unpaired."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.roc.intervals import (
    check_confidence,
    delong_covariance,
    model_variance,
    newcombe_bounds,
)
from parsimon.roc.samples import Ties, class_scores, placements

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]


@dataclass(frozen=True)
class AucComparison:
    """Two AUCs, their difference, and how surprising it is if they were equal.

    first, second, difference: The AUCs and first - second.
    lower, upper: Confidence interval of the difference.
    standard_error, statistic: Of the difference; the statistic is their ratio.
    degrees_of_freedom: Infinite (a normal statistic) for a paired test.
    p_value: For the alternative asked for.
    method: ``"paired DeLong"``, ``"unpaired DeLong"`` or, where the data leave the difference
        no variance, ``"newcombe"``.
    """

    first: float
    second: float
    difference: float
    lower: float
    upper: float
    standard_error: float
    statistic: float
    degrees_of_freedom: float
    p_value: float
    method: str


def delong_test(
    y_true: Any,
    first: Any,
    second: Any,
    *,
    y_second: Any = None,
    alternative: Alternative = "two-sided",
    confidence: float = 0.95,
    ties: Ties = "mid",
    pos_label: Any = None,
) -> AucComparison:
    """Test whether two classifiers have the same AUC.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes, as numbers or text.
    first, second : array-like of shape (n,)
        Scores of the two classifiers on the same rows.
    y_second : array-like of shape (m,), optional
        Give it if `second` was measured on other rows, whose classes these are: the test is then
        unpaired, with Welch's degrees of freedom (as R's pROC).
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        ``"greater"`` asks whether the first AUC is greater.
    confidence : float, default=0.95
        Coverage of the interval of the difference.
    ties : {"mid", "strict"}, default="mid"
        What equal scores count, as in `auc`.
    pos_label : label, optional
        The positive class; without it, the greater of the two in sorted order.

    Returns
    -------
    AucComparison
        Identical classifiers give a p-value of 1. Where the data leave the difference no
        variance (a perfect classifier against a constant one, or one row in a class), the
        variances are those of `newcombe_bounds` at the mean AUC, taken as independent, and
        `method` says ``"newcombe"``.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44:837-845; Newcombe (2006), Stat. Med.
    25:559-573 and (1998) 17:873-890 (square-and-add).

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> better = [1, 2, 3, 5, 4, 6, 7, 8]
    >>> worse = [1, 6, 3, 8, 4, 2, 7, 5]
    >>> test = delong_test(y, better, worse)
    >>> round(test.difference, 3), round(test.p_value, 3)
    (0.438, 0.049)
    """
    check_confidence(confidence)
    if alternative not in ("two-sided", "greater", "less"):
        raise InvalidInputError(
            f'alternative must be "two-sided", "greater" or "less", got {alternative!r}.'
        )
    samples = (
        class_scores(y_true, first, pos_label=pos_label),
        class_scores(y_true if y_second is None else y_second, second, pos_label=pos_label),
    )
    shares = [placements(sample.positive, sample.negative, ties) for sample in samples]
    variance, freedom = _paired(shares) if y_second is None else _unpaired(shares)
    if not variance > 0:
        return _without_variance(shares, alternative, confidence)
    areas = [float(above.mean()) for above, _ in shares]
    difference, error = areas[0] - areas[1], float(np.sqrt(variance))
    level = (1 + confidence) / 2
    margin = error * float(ndtri(level) if np.isinf(freedom) else stdtrit(freedom, level))
    return AucComparison(
        first=areas[0],
        second=areas[1],
        difference=difference,
        lower=max(-1.0, difference - margin),
        upper=min(1.0, difference + margin),
        standard_error=error,
        statistic=difference / error,
        degrees_of_freedom=freedom,
        p_value=_p_value(difference / error, freedom, alternative),
        method="paired DeLong" if y_second is None else "unpaired DeLong",
    )


def _paired(shares: list[tuple[Array, Array]]) -> tuple[float, float]:
    above, below = (np.stack([share[side] for share in shares]) for side in (0, 1))
    # The variance of the difference is that of the differences: exact zero for equal ranks.
    contrast = np.array([[1.0, -1.0]])
    return float(delong_covariance(contrast @ above, contrast @ below)[0, 0]), np.inf


def _unpaired(shares: list[tuple[Array, Array]]) -> tuple[float, float]:
    variances = [float(delong_covariance(a[None], b[None])[0, 0]) for a, b in shares]
    total = sum(variances)
    if not total > 0:
        return total, np.inf
    sizes = [len(above) + len(below) for above, below in shares]
    squares = (v**2 / (n - 1) for v, n in zip(variances, sizes, strict=True))
    return total, total**2 / sum(squares)


def _p_value(statistic: float, freedom: float, alternative: Alternative) -> float:
    lower = {"two-sided": -abs(statistic), "greater": -statistic, "less": statistic}[alternative]
    tail = float(ndtr(lower) if np.isinf(freedom) else stdtr(freedom, lower))
    return 2 * tail if alternative == "two-sided" else tail


def _without_variance(
    shares: list[tuple[Array, Array]], alternative: Alternative, confidence: float
) -> AucComparison:
    areas = [float(above.mean()) for above, _ in shares]
    sizes = [(len(above), len(below)) for above, below in shares]
    difference, pooled = areas[0] - areas[1], sum(areas) / 2
    error = float(np.sqrt(sum(model_variance(pooled, *size) for size in sizes)))
    statistic = difference / error if difference else 0.0
    bounds = [newcombe_bounds(a, *n, confidence) for a, n in zip(areas, sizes, strict=True)]
    # Distances from each AUC to its own bounds, added in squares.
    down = np.hypot(areas[0] - bounds[0][0], bounds[1][1] - areas[1])
    up = np.hypot(bounds[0][1] - areas[0], areas[1] - bounds[1][0])
    return AucComparison(
        first=areas[0],
        second=areas[1],
        difference=difference,
        lower=max(-1.0, difference - float(down)),
        upper=min(1.0, difference + float(up)),
        standard_error=error,
        statistic=statistic,
        degrees_of_freedom=np.inf,
        p_value=_p_value(statistic, np.inf, alternative),
        method="newcombe",
    )
