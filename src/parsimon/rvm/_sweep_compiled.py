"""The loops of `sweep`, compiled: same arithmetic, same bits, a tenth of the time."""

import numpy as np
from numba import njit

from parsimon._typing import Array, Indices


@njit(cache=True)
def staircase(scores: Array, order: Indices, positive: Array, negative: Array) -> Array:
    """Do what `sweep.staircase` does."""
    n = len(order)
    points = np.empty((3, n + 2))
    points[0, 0], points[1, 0], points[2, 0] = np.inf, 0.0, 0.0
    tpr, fpr, count = 0.0, 0.0, 1
    for i in range(n - 1, -1, -1):
        tpr += positive[order[i]]
        fpr += negative[order[i]]
        upper = scores[order[i]]
        lower = scores[order[i - 1]] if i else -np.inf
        if upper > lower:
            middle = lower + 0.5 * (upper - lower) if i else lower
            points[0, count] = middle if middle < upper else lower
            points[1, count], points[2, count] = _rounded(tpr), _rounded(fpr)
            count += 1
    return _corners(points, count)  # type: ignore[no-any-return]


@njit(cache=True)
def grid(scores: Array, order: Indices, positive: Array, negative: Array, cutoffs: Array) -> Array:
    """Do what `sweep.grid` does."""
    points = np.empty((3, len(cutoffs)))
    tpr, fpr, count, i = 0.0, 0.0, 0, len(order) - 1
    for j in range(len(cutoffs)):
        before = i
        while i >= 0 and scores[order[i]] > cutoffs[j]:
            tpr += positive[order[i]]
            fpr += negative[order[i]]
            i -= 1
        if j == 0 or i < before:
            count += 1
        # Of thresholds that say the same of every row the smallest is kept.
        points[0, count - 1] = cutoffs[j]
        points[1, count - 1], points[2, count - 1] = _rounded(tpr), _rounded(fpr)
    return _corners(points, count)  # type: ignore[no-any-return]


@njit(cache=True)
def rates(scores: Array, order: Indices, positive: Array, negative: Array, cutoffs: Array) -> Array:
    """Do what `sweep.rates` does."""
    n = len(order)
    sums = np.zeros((2, n + 1))
    for i in range(n):
        entry = order[n - 1 - i]
        sums[0, i + 1] = sums[0, i] + positive[entry]
        sums[1, i + 1] = sums[1, i] + negative[entry]
    found = np.empty((2, len(cutoffs)))
    for j in range(len(cutoffs)):
        low, high = 0, n  # how many are above: the scores fall along the reversed order
        while low < high:
            middle = (low + high) // 2
            if scores[order[n - 1 - middle]] > cutoffs[j]:
                low = middle + 1
            else:
                high = middle
        found[0, j], found[1, j] = _rounded(sums[0, low]), _rounded(sums[1, low])
    return found


@njit(cache=True)
def _rounded(rate: float) -> float:
    return float(np.rint(rate * 1e12) / 1e12)


@njit(cache=True)
def _corners(points: Array, count: int) -> Array:
    kept = 0
    for j in range(count):
        raises = j == 0 or points[1, j] > points[1, j - 1]
        costs_next = j == count - 1 or points[2, j + 1] > points[2, j]
        if raises and costs_next:
            for row in range(3):
                points[row, kept] = points[row, j]
            kept += 1
    return points[:, :kept].copy()
