"""Do methods differ? Tests of means and of ranks, for a pair of methods or many at once.

Read `Comparison` first: what a test found and what it assumes, as one value. `corrected_t` allows
for overlapping folds. Tests by ranks assume no normal distribution and are exact for small
samples, ties included: their null distributions count subsets by their sum, so that one small
dynamic programme gives every tail probability. Ranks are doubled first, since midranks are
multiples of one half. `pairwise` adjusts the p-values for their number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import comb
from scipy.stats import f as f_distribution
from scipy.stats import norm, rankdata
from scipy.stats import t as t_distribution

from parsimon._checks import finite_vector
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError

FOLDS = (
    "Scores from folds of one cross-validation share training rows and are not independent: "
    "p then comes out too small, and corrected_t is the better choice."
)


@dataclass(frozen=True)
class Comparison:
    """The outcome of a test, with what it assumes.

    Attributes
    ----------
    method : str
        The test, and whether its p-value is exact.
    statistic, p_value : float
        The p-value is two-sided. After `pairwise` it is adjusted, and `raw_p_value` is not.
    effect : float
        How large the difference is, on the scale that `effect_name` says.
    n : tuple of int
        Sample sizes; for paired tests the number of pairs.
    assumes : str
        What must hold for the p-value to mean what it says.
    smallest_p : float
        No outcome with these sample sizes and ties can give a smaller p-value.
    note : str
        Why the test could not tell anything, if so; then `p_value` is 1.
    """

    method: str
    statistic: float
    p_value: float
    effect: float
    effect_name: str
    n: tuple[int, ...]
    assumes: str
    smallest_p: float = 0.0
    note: str = ""
    raw_p_value: float | None = None

    def significant(self, alpha: float = 0.05) -> bool:
        """Whether the p-value is at most `alpha`."""
        return self.p_value <= _level(alpha)

    def describe(self, alpha: float = 0.05) -> str:
        """Return the outcome at level `alpha` and the assumption, in plain words."""
        if self.note:
            finding = self.note
        elif self.smallest_p > _level(alpha):
            finding = (
                f"No outcome could be significant at {alpha:g}: with n = "
                f"{' and '.join(map(str, self.n))} the smallest possible p is "
                f"{self.smallest_p:.3g}. More data are needed."
            )
        elif self.significant(alpha):
            finding = f"The difference is significant at {alpha:g}."
        else:
            finding = f"No significant difference at {alpha:g}; that is not proof of equality."
        return (
            f"{self.method}: p = {self.p_value:.3g}, {self.effect_name} {self.effect:.3g}. "
            f"{finding} {self.assumes}"
        )


def paired_scores(a: Any, b: Any) -> tuple[Array, Array]:
    """Return two samples of one length."""
    a, b = scores_of(a, "a"), scores_of(b, "b")
    if len(a) != len(b):
        raise InvalidInputError(f"Paired scores need equal lengths; got {len(a)} and {len(b)}.")
    return a, b


def scores_of(values: Any, name: str) -> Array:
    """Return the scores as a vector of finite numbers, at least one."""
    sample = finite_vector(values, name)
    if len(sample) == 0:
        raise InvalidInputError(f"{name} is empty: give at least one score.")
    return sample


def merge_ties(a: Array, b: Array | float = 0.0) -> Array:
    """Return a - b with rounding noise removed: 0.8 - 0.7 and 0.9 - 0.8 are one difference.

    The result is in units of the largest value.
    """
    scale = max(float(np.abs(a).max()), float(np.abs(b).max()))
    return np.round((a - b) / scale, 12) if scale > 0 else a - b


def _level(alpha: float) -> float:
    if not 0 < alpha < 1:
        raise InvalidInputError(f"alpha must lie between 0 and 1; got {alpha!r}.")
    return alpha


def corrected_t(a: Any, b: Any, *, n_train: float, n_test: float) -> Comparison:
    """Compare two methods over the same resampled folds, allowing for shared training rows.

    The variance of the mean difference over k folds is taken as (1/k + n_test/n_train) s^2
    instead of s^2/k [1]_; for repeated cross-validation k counts all folds [2]_.

    Parameters
    ----------
    a, b : array-like of shape (k,)
        Scores of two methods on the same k folds, in the same order.
    n_train, n_test : float
        Rows in a training and in a test part (their means, if folds differ).

    Returns
    -------
    Comparison
        `statistic` is t with k - 1 degrees of freedom, `effect` the mean of a - b.

    References
    ----------
    .. [1] Nadeau and Bengio (2003), Inference for the generalization error,
       Machine Learning 52:239-281.
    .. [2] Bouckaert and Frank (2004), PAKDD, LNCS 3056:3-12.

    Examples
    --------
    >>> a, b = [0.90, 0.85, 0.80, 0.95, 0.90], [0.80, 0.80, 0.78, 0.85, 0.88]
    >>> round(corrected_t(a, b, n_train=80, n_test=20).p_value, 3)
    0.098
    """
    a, b = paired_scores(a, b)
    if n_train <= 0 or n_test <= 0:
        raise InvalidInputError(
            f"n_train and n_test must be positive; got {n_train!r} and {n_test!r}."
        )
    k = len(a)
    if k < 2:
        raise InvalidInputError("corrected_t needs at least two folds; got 1.")
    differences = merge_ties(a, b)
    blank = Comparison(
        method="Corrected resampled t test",
        statistic=0.0,
        p_value=1.0,
        effect=float(np.mean(a - b)),
        effect_name="mean difference",
        n=(k,),
        assumes="Assumes roughly normal differences, and that training sets overlap as much as "
        f"the factor 1/{k} + {n_test / n_train:.3g} allows for: a good rule, not a theorem.",
    )
    if np.ptp(differences) == 0:
        return replace(blank, note=_no_spread(differences[0] == 0, "difference"))
    variance = (1 / k + n_test / n_train) * np.var(a - b, ddof=1)
    t = blank.effect / float(np.sqrt(variance))
    return replace(blank, statistic=t, p_value=float(2 * t_distribution.sf(abs(t), k - 1)))


def anova(*groups: Any, paired: bool = False) -> Comparison:
    """Compare the means of several methods at once with an F test.

    Parameters
    ----------
    *groups : array-like of shape (n_i,)
        Scores of each method.
    paired : bool, default=False
        Scores stand in the same order of folds or data sets in every group: what a fold does to
        all methods alike is then taken out (one-way repeated measures).

    Returns
    -------
    Comparison
        `effect` is eta squared, the share of the variance that the methods explain (with
        `paired`, of what the folds leave: partial eta squared).

    Examples
    --------
    >>> test = anova([6.0, 8, 4, 5, 3, 4], [8, 12, 9, 11, 6, 8], [13, 9, 11, 8, 7, 12])
    >>> round(test.statistic, 4), round(test.p_value, 4), round(test.effect, 3)
    (9.2647, 0.0024, 0.553)
    """
    samples = [scores_of(group, f"group {number}") for number, group in enumerate(groups, 1)]
    sizes = tuple(map(len, samples))
    if len(samples) < 2 or sum(sizes) <= len(samples):
        raise InvalidInputError(
            "anova needs at least two groups, and more values than groups; "
            f"got group sizes {list(sizes)}."
        )
    if paired and len(set(sizes)) > 1:
        raise InvalidInputError(f"paired=True needs groups of one size; got {list(sizes)}.")
    between, within, degrees = _sums_of_squares(samples, paired=paired)
    blank = Comparison(
        method=("Repeated-measures" if paired else "One-way") + " analysis of variance",
        statistic=0.0,
        p_value=1.0,
        effect=between / (between + within) if between > 0 else 0.0,
        effect_name="eta squared",
        n=sizes,
        assumes="Assumes independent, roughly normal scores with one variance"
        + (", and equal correlations between methods. " if paired else " in all groups. ")
        + FOLDS,
    )
    if within == 0:
        return replace(blank, note=_no_spread(between == 0, "score within a group"))
    ratio = (between / degrees[0]) / (within / degrees[1])
    return replace(blank, statistic=ratio, p_value=float(f_distribution.sf(ratio, *degrees)))


def _sums_of_squares(samples: list[Array], *, paired: bool) -> tuple[float, float, tuple[int, int]]:
    """Return the sums of squares between and within, without rounding noise, and their degrees."""
    values = np.concatenate(samples)
    grand = values.mean()
    between = sum(len(sample) * (sample.mean() - grand) ** 2 for sample in samples)
    residuals = [sample - sample.mean() for sample in samples]
    degrees = (len(samples) - 1, len(values) - len(samples))
    if paired:
        folds = np.mean(residuals, axis=0)
        residuals = [residual - folds for residual in residuals]
        degrees = (degrees[0], degrees[0] * (len(folds) - 1))
    within = sum(float(residual @ residual) for residual in residuals)
    noise = len(values) * (1e-12 * float(np.abs(values).max())) ** 2
    return (
        float(between) if between > noise else 0.0,
        within if within > noise else 0.0,
        degrees,
    )


def _no_spread(equal: bool, what: str) -> str:
    if equal:
        return "The scores are all equal: there is nothing to test."
    return f"No {what} varies, so there is no spread to judge by; look at the effect itself."


# Largest sizes for the exact counts; both take well under a second.
MOST_PAIRS = 500
MOST_VALUES = 100


class Tail(NamedTuple):
    """A two-sided p-value, the smallest that these sizes and ties allow, and how it was found."""

    p_value: float
    smallest: float
    how: str


def signed_rank_tail(ranks: Array, statistic: float) -> Tail:
    """Return how extreme a sum of positive ranks is when each sign is a fair coin.

    Shapes: ranks (n,).
    """
    if len(ranks) > MOST_PAIRS:
        spread = np.sqrt(np.sum(ranks**2) / 4)
        return _normal_tail(abs(statistic - ranks.sum() / 2) / spread, 0.5 / spread, 0.0)
    doubled = np.rint(2 * ranks).astype(np.intp)
    counts = np.zeros(doubled.sum() + 1)
    counts[0] = 1
    for rank in doubled:
        counts[rank:] = counts[rank:] + counts[: len(counts) - rank]
    return _exact_tail(counts / counts.sum(), round(2 * statistic))


def rank_sum_tail(ranks: Array, n_first: int, statistic: float) -> Tail:
    """Return how extreme a rank sum is when every choice of `n_first` values is as likely.

    Shapes: ranks (n,).
    """
    n = len(ranks)
    if n > MOST_VALUES:
        # Variance of a sum drawn without replacement: the tie correction is already in it.
        spread = np.sqrt(n_first * (n - n_first) / n * np.var(ranks, ddof=1))
        distance = abs(statistic - n_first * ranks.mean())
        return _normal_tail(distance / spread, 0.5 / spread, 2 / float(comb(n, n_first)))
    doubled = np.rint(2 * ranks).astype(np.intp)
    counts = np.zeros((n_first + 1, doubled.sum() + 1))
    counts[0, 0] = 1
    for rank in doubled:
        counts[1:, rank:] = counts[1:, rank:] + counts[:-1, : counts.shape[1] - rank]
    return _exact_tail(counts[-1] / counts[-1].sum(), round(2 * statistic))


def _exact_tail(probabilities: Array, observed: int) -> Tail:
    possible = probabilities[probabilities > 0]
    tail = min(probabilities[: observed + 1].sum(), probabilities[observed:].sum())
    smallest = 2 * min(possible[0], possible[-1])
    return Tail(min(1.0, float(2 * tail)), min(1.0, float(smallest)), "exact")


def _normal_tail(z: float, continuity: float, smallest: float) -> Tail:
    p_value = 2 * norm.sf(max(z - continuity, 0.0))
    return Tail(float(p_value), smallest, "normal approximation")


def _with_tail(blank: Comparison, tail: Tail) -> Comparison:
    method = f"{blank.method} ({tail.how})"
    return replace(blank, method=method, p_value=tail.p_value, smallest_p=tail.smallest)


def wilcoxon_signed_rank(a: Any, b: Any, *, zeros: Literal["drop", "split"] = "drop") -> Comparison:
    """Compare paired scores by the signs and ranks of their differences.

    The p-value is exact up to 500 pairs, with midranks for ties, and a normal approximation with
    continuity correction above. Differences that agree to 12 digits are ties.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Scores of two methods on the same data sets or folds, in the same order.
    zeros : {"drop", "split"}
        What becomes of pairs that do not differ: "drop" leaves them out (Wilcoxon's rule);
        "split" ranks them too and gives half of their ranks to each side [1]_.

    Returns
    -------
    Comparison
        `statistic` is the smaller of the two rank sums, `effect` the median of a - b.

    References
    ----------
    .. [1] Demsar (2006), Statistical comparisons of classifiers over multiple data sets,
       JMLR 7:1-30, section 3.1.3.

    Examples
    --------
    >>> test = wilcoxon_signed_rank([0.9, 0.8, 0.7, 0.9, 0.8, 0.9], [0.8, 0.6, 0.4, 0.5, 0.3, 0.3])
    >>> test.statistic, test.p_value
    (0.0, 0.03125)
    >>> print(test.describe(alpha=0.01))
    Wilcoxon signed-rank test (exact): p = 0.0312, median difference 0.35. No outcome could be
    significant at 0.01: with n = 6 the smallest possible p is 0.0312. More data are needed.
    Assumes independent pairs whose differences are symmetric about one centre...
    """
    if zeros not in ("drop", "split"):
        raise InvalidInputError(f"zeros must be 'drop' or 'split'; got {zeros!r}.")
    a, b = paired_scores(a, b)
    differences = merge_ties(a, b)
    moved = differences != 0
    ranked = differences if zeros == "split" else differences[moved]
    ranks = rankdata(np.abs(ranked))
    positive = float(ranks[ranked > 0].sum())
    shared = float(ranks[ranked == 0].sum()) / 2
    assumes = "Assumes independent pairs whose differences are symmetric about one centre. " + FOLDS
    if zeros == "drop" and not moved.all():
        assumes = f"{np.sum(~moved)} of {len(a)} pairs do not differ and were left out. " + assumes
    blank = Comparison(
        method="Wilcoxon signed-rank test",
        statistic=min(positive, float(ranks.sum()) - 2 * shared - positive) + shared,
        p_value=1.0,
        effect=float(np.median(a - b)),
        effect_name="median difference",
        n=(len(ranked),),
        assumes=assumes,
    )
    if not moved.any():
        return replace(
            blank, n=(len(a),), note="All differences are zero: there is nothing to test."
        )
    return _with_tail(blank, signed_rank_tail(ranks[ranked != 0], positive))


def mann_whitney(a: Any, b: Any) -> Comparison:
    """Compare two unpaired samples by ranks (Mann and Whitney's U, Wilcoxon's rank sum).

    The p-value is exact given the ties up to 100 values in all, and a normal approximation with
    tie and continuity corrections above; it doubles the smaller tail. Values that agree to 12
    digits are ties.

    Parameters
    ----------
    a : array-like of shape (n_a,)
    b : array-like of shape (n_b,)

    Returns
    -------
    Comparison
        `statistic` is U of `a`; `effect` is A12, the chance that a value of `a` exceeds one of
        `b`, ties counted half [1]_.

    References
    ----------
    .. [1] Vargha and Delaney (2000), J. Educ. Behav. Stat. 25:101-132.

    Examples
    --------
    >>> test = mann_whitney([1, 2, 3, 4], [5, 6, 7, 8])
    >>> test.statistic, test.effect, round(test.p_value, 4)
    (0.0, 0.0, 0.0286)
    """
    a, b = scores_of(a, "a"), scores_of(b, "b")
    together = np.concatenate([a, b])
    ranks = rankdata(merge_ties(together))
    rank_sum = float(ranks[: len(a)].sum())
    u = rank_sum - len(a) * (len(a) + 1) / 2
    blank = Comparison(
        method="Mann-Whitney test",
        statistic=u,
        p_value=1.0,
        effect=u / (len(a) * len(b)),
        effect_name="chance that the first exceeds the second",
        n=(len(a), len(b)),
        assumes="Assumes that all values are independent, between and within the two samples. "
        "Scores on the same folds or data sets are paired: wilcoxon_signed_rank uses that. "
        + FOLDS,
    )
    if np.ptp(ranks) == 0:
        return replace(blank, note="All values are equal: there is nothing to test.")
    return _with_tail(blank, rank_sum_tail(ranks, len(a), rank_sum))


def pairwise(
    groups: Mapping[str, Any],
    test: Callable[..., Comparison] = wilcoxon_signed_rank,
    **options: Any,
) -> dict[tuple[str, str], Comparison]:
    """Compare every two of several methods, with p-values adjusted by Holm's rule.

    Parameters
    ----------
    groups : mapping of str to array-like
        Scores by the name of the method.
    test : callable, default=wilcoxon_signed_rank
        Takes two samples and `options`, returns a `Comparison`.

    Returns
    -------
    dict
        For each pair of names a `Comparison` whose `p_value` is adjusted.

    Examples
    --------
    >>> from parsimon.evaluation import mann_whitney
    >>> scores = {"svm": [1, 2, 3, 4], "rvm": [2, 3, 4, 5], "tree": [9, 8, 7, 6]}
    >>> found = pairwise(scores, mann_whitney)
    >>> round(found["svm", "tree"].raw_p_value, 4), round(found["svm", "tree"].p_value, 4)
    (0.0286, 0.0857)
    """
    found = {(a, b): test(groups[a], groups[b], **options) for a, b in combinations(groups, 2)}
    if not found:
        raise InvalidInputError(f"pairwise needs at least two groups; got {len(groups)}.")
    adjusted = holm([outcome.p_value for outcome in found.values()])
    return {
        names: replace(
            outcome,
            method=f"{outcome.method}, Holm-adjusted over {len(found)}",
            p_value=float(p_value),
            raw_p_value=outcome.p_value,
            smallest_p=min(1.0, outcome.smallest_p * len(found)),
        )
        for (names, outcome), p_value in zip(found.items(), adjusted, strict=True)
    }


def holm(p_values: Sequence[float]) -> Array:
    """Return p-values adjusted for their number by Holm's step-down rule.

    Valid whatever the dependence between the tests [1].

    [1] Holm (1979), Scand. J. Statist. 6:65-70.
    """
    raw = finite_vector(p_values, "p_values")
    if len(raw) == 0 or raw.min() < 0 or raw.max() > 1:
        raise InvalidInputError("p_values must be one or more numbers from 0 to 1.")
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
