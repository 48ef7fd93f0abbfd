"""The loops of `smo`, compiled: a step costs as much as reading two rows of the kernel matrix."""

import numpy as np
from numba import njit

from parsimon._typing import Array

_TINY_CURVATURE = 1e-12


@njit(cache=True)
def climb_on_plane(
    kernel: Array,
    low: Array,
    high: Array,
    beta: Array,
    residual: Array,
    tolerance: float,
    max_steps: int,
) -> int:
    """Change pairs of variables in place until the gap is below `tolerance`; return the steps."""
    n = len(beta)
    diagonal = np.empty(n)
    for k in range(n):
        diagonal[k] = kernel[k, k]
    for step in range(max_steps):
        i = _highest(beta, high, residual)
        if i < 0:
            return step
        row = kernel[i]
        j, lowest = _partner(i, row, diagonal, beta, low, residual)
        if j < 0 or residual[i] - lowest < tolerance:
            return step
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * row[j], _TINY_CURVATURE)
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        length = min((residual[i] - residual[j]) / curvature, room_i, room_j)
        beta[i] = high[i] if length == room_i else beta[i] + length
        beta[j] = low[j] if length == room_j else beta[j] - length
        other = kernel[j]
        for k in range(n):
            residual[k] -= length * (row[k] - other[k])
    return max_steps


@njit(cache=True)
def _highest(beta: Array, high: Array, residual: Array) -> int:
    """Return the variable that can rise with the most slope, -1 if none can."""
    i, highest = -1, -np.inf
    for k in range(len(beta)):
        if residual[k] > highest and beta[k] < high[k]:
            i, highest = k, residual[k]
    return i


@njit(cache=True)
def _partner(
    i: int, row: Array, diagonal: Array, beta: Array, low: Array, residual: Array
) -> tuple[int, float]:
    """Return the variable to lower that promises the most gain, and the lowest residual."""
    j, lowest, most = -1, np.inf, -1.0
    highest, own = residual[i], diagonal[i]
    for k in range(len(beta)):
        if beta[k] > low[k]:
            lowest = min(lowest, residual[k])
            slope = highest - residual[k]
            if slope > 0.0:
                curvature = max(own + diagonal[k] - 2.0 * row[k], _TINY_CURVATURE)
                gain = slope * slope / curvature
                if gain > most:
                    j, most = k, gain
    return j, lowest


@njit(cache=True)
def climb_in_box(
    kernel: Array,
    low: Array,
    high: Array,
    beta: Array,
    residual: Array,
    tolerance: float,
    max_steps: int,
) -> int:
    """Change single variables in place until the gap is below `tolerance`; return the steps."""
    n = len(beta)
    for step in range(max_steps):
        i, most, worst, chosen = -1, 0.0, 0.0, 0.0
        for k in range(n):
            slope = residual[k]
            room = high[k] - beta[k] if slope > 0.0 else beta[k] - low[k]
            if room <= 0.0 or slope == 0.0:
                continue
            size = abs(slope)
            worst = max(worst, size)
            curvature = max(kernel[k, k], _TINY_CURVATURE)
            length = min(size / curvature, room)
            gain = length * (size - 0.5 * length * kernel[k, k])
            if gain > most:
                i, most, chosen = k, gain, length
        if i < 0 or worst < tolerance:
            return step
        if residual[i] > 0.0:
            beta[i] = high[i] if chosen == high[i] - beta[i] else beta[i] + chosen
        else:
            beta[i] = low[i] if chosen == beta[i] - low[i] else beta[i] - chosen
            chosen = -chosen
        row = kernel[i]
        for k in range(n):
            residual[k] -= chosen * row[k]
    return max_steps
