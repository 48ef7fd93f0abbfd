"""Exact null distributions of rank sums, ties included.

Both are counts of subsets by their sum, so one small dynamic programme each gives every tail
probability exactly. Ranks are doubled first: midranks are multiples of one half.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import comb
from scipy.stats import norm

from parsimon._typing import Array

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
