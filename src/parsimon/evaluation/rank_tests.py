"""Tests by ranks: no normal distribution assumed, exact for small samples, ties included."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata

from parsimon.evaluation.comparison import FOLDS, Comparison, merge_ties, paired_scores, scores_of
from parsimon.evaluation.permutation import rank_sum_tail, signed_rank_tail
from parsimon.exceptions import InvalidInputError


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
    tail = signed_rank_tail(ranks[ranked != 0], positive)
    return replace(
        blank,
        method=f"{blank.method} ({tail.how})",
        p_value=tail.p_value,
        smallest_p=tail.smallest,
    )


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
    tail = rank_sum_tail(ranks, len(a), rank_sum)
    return replace(
        blank,
        method=f"{blank.method} ({tail.how})",
        p_value=tail.p_value,
        smallest_p=tail.smallest,
    )
