"""Is an AUC better than another, or than chance? DeLong's test, and the rank-sum test."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from parsimon._checks import finite_vector
from parsimon._random import Seed, generator
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.roc._samples import Ties, class_scores, placements, weight_below
from parsimon.roc.intervals import (
    check_confidence,
    delong_covariance,
    model_variance,
    newcombe_bounds,
)

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
    _check_alternative(alternative)
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


def _check_alternative(alternative: Alternative) -> None:
    if alternative not in ("two-sided", "greater", "less"):
        raise InvalidInputError(
            f'alternative must be "two-sided", "greater" or "less", got {alternative!r}.'
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


# Counting takes (n+ n-)^2 / 4 additions; beyond this the normal law is within 0.0005.
_EXACT_PAIRS = 10_000
_CELLS = 1_000_000


@dataclass(frozen=True)
class AucNull:
    """The distribution of the AUC of a random classifier, for scores without ties.

    Parameters
    ----------
    n_positive, n_negative : int
        Rows of each class.

    References
    ----------
    Mann and Whitney (1947), Ann. Math. Stat. 18:50-60; Clark (2011), section 4.9.

    Examples
    --------
    >>> null = AucNull(49, 18)
    >>> null.mean, round(null.sd, 3)
    (0.5, 0.08)
    >>> round(null.p_value(0.65), 3)
    0.06
    """

    n_positive: int
    n_negative: int

    def __post_init__(self) -> None:
        if min(self.n_positive, self.n_negative) < 1:
            raise InvalidInputError(
                f"Each class needs a row, got {self.n_positive} and {self.n_negative}."
            )

    @property
    def n_pairs(self) -> int:
        """Pairs of a positive and a negative."""
        return self.n_positive * self.n_negative

    @property
    def mean(self) -> float:
        """One half."""
        return 0.5

    @property
    def sd(self) -> float:
        """Standard deviation, sqrt((n+ + n- + 1) / (12 n+ n-))."""
        return float(np.sqrt((self.n_positive + self.n_negative + 1) / (12 * self.n_pairs)))

    @property
    def exact(self) -> bool:
        """Whether tails are counted (at most 10,000 pairs) or normal."""
        return self.n_pairs <= _EXACT_PAIRS

    def probabilities(self) -> Array:
        """Return the chance of each AUC 0, 1 / n_pairs, ..., 1, counted exactly."""
        if not self.exact:
            raise InvalidInputError(
                f"{self.n_pairs} pairs are too many to count (at most {_EXACT_PAIRS}). "
                f"Use cdf, which is normal from there on."
            )
        return _rank_sum_probabilities(self.n_positive, self.n_negative)

    def cdf(self, auc: float) -> float:
        """Return the chance of an AUC of at most `auc`."""
        pairs = np.floor(auc * self.n_pairs + 1e-9)
        if not 0 <= pairs <= self.n_pairs:
            return float(pairs > 0)
        if self.exact:
            return float(min(1.0, self.probabilities()[: int(pairs) + 1].sum()))
        return float(ndtr((pairs + 0.5 - self.n_pairs / 2) / (self.sd * self.n_pairs)))

    def p_value(self, auc: float, alternative: Alternative = "two-sided") -> float:
        """Return how often chance does as well as `auc` (or as badly, or either)."""
        _check_alternative(alternative)
        # The law is symmetric about one half, so that an upper tail is a lower one.
        less, greater = self.cdf(auc), self.cdf(1 - auc)
        tails = {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}
        return tails[alternative]

    def simulate(self, n_draws: int = 100_000, random_state: Seed = None) -> Array:
        """Return the AUC of `n_draws` classifiers whose scores are uniform random numbers."""
        rng = generator(random_state)
        n_rows = self.n_positive + self.n_negative
        chunk = max(1, _CELLS // n_rows)
        sizes = [min(chunk, n_draws - start) for start in range(0, n_draws, chunk)]
        rank_sums = []
        for size in sizes:
            order = np.argsort(rng.random((size, n_rows)), axis=1)
            rank_sums.append((order < self.n_positive) @ np.arange(1.0, n_rows + 1))
        least = self.n_positive * (self.n_positive + 1) / 2
        return (np.concatenate(rank_sums) - least) / self.n_pairs


class RankSumTest(NamedTuple):
    """The Mann-Whitney-Wilcoxon test: effect first, then how surprising it is.

    auc: Chance that a value of the first sample exceeds one of the second, ties counting half.
    p_value: For the alternative asked for.
    exact: Counted exactly (no ties, few values) or normal with a correction for ties.
    """

    auc: float
    p_value: float
    exact: bool


def rank_sum_test(
    first: Any, second: Any, *, alternative: Alternative = "two-sided"
) -> RankSumTest:
    """Test whether one sample tends to exceed another, such as accuracies of two methods.

    Parameters
    ----------
    first, second : array-like of shape (n,) and (m,)
        Two independent samples.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        ``"greater"`` asks whether the first tends to be greater.

    Returns
    -------
    RankSumTest

    References
    ----------
    Mann and Whitney (1947); used by Clark (2011), section 3.6, at the 5% level on ten folds.
    Folds share training rows, so that such a p-value is too small; prefer a test that knows it.

    Examples
    --------
    >>> test = rank_sum_test([0.91, 0.89, 0.94, 0.92], [0.88, 0.87, 0.90, 0.86])
    >>> test.auc, round(test.p_value, 3), test.exact
    (0.9375, 0.057, True)
    """
    x, y = finite_vector(first, "first"), finite_vector(second, "second")
    null = AucNull(len(x), len(y))
    area = float(weight_below(x, y, np.ones(len(y))).sum() / null.n_pairs)
    _, counts = np.unique(np.concatenate((x, y)), return_counts=True)
    if null.exact and counts.max() == 1:
        return RankSumTest(area, null.p_value(area, alternative), True)
    return RankSumTest(area, _tied_p_value(area, null, counts, alternative), False)


def _tied_p_value(area: float, null: AucNull, counts: Any, alternative: Alternative) -> float:
    _check_alternative(alternative)
    n = int(counts.sum())
    shrink = 1 - float(((counts**3.0) - counts).sum()) / (n**3 - n)
    if shrink <= 0:
        return 1.0
    above = {"greater": area, "less": 1 - area, "two-sided": max(area, 1 - area)}[alternative]
    z = (above - 0.5 - 0.5 / null.n_pairs) / (null.sd * np.sqrt(shrink))
    tail = float(ndtr(-z))
    return min(1.0, 2 * tail) if alternative == "two-sided" else tail


@lru_cache(maxsize=16)
def _rank_sum_probabilities(n_positive: int, n_negative: int) -> Array:
    """Recursion on the greatest score: with chance m / (m + n) it is positive and beats all n.

    In probabilities instead of counts nothing overflows and nothing cancels.
    """
    row = [np.ones(1) for _ in range(n_negative + 1)]
    for m in range(1, n_positive + 1):
        left = np.ones(1)
        new = [left]
        for n in range(1, n_negative + 1):
            table = np.zeros(m * n + 1)
            table[n:] = row[n] * (m / (m + n))
            table[: len(left)] += left * (n / (m + n))
            new.append(table)
            left = table
        row = new
    result = row[-1]
    result.flags.writeable = False
    return result
