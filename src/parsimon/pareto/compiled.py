"""Compiled forms of loops that survival needs; same arithmetic, same bits, a tenth of the time."""

import numpy as np
from numba import njit

from parsimon._typing import Array, Indices


@njit(cache=True)
def farthest_first(points: Array, first: Indices, n_keep: int) -> Array:
    """Do what `crowding.farthest_first` does."""
    columns = np.ascontiguousarray(points.T)
    n = points.shape[0]
    distance = np.full(n, np.inf)
    open_distance = np.full(n, np.inf)
    square = np.empty(n)
    n_taken = 0
    for row in first:
        if open_distance[row] >= 0:
            _take(columns, row, open_distance, square)
            n_taken += 1
    while n_taken < n_keep:
        row = np.argmax(open_distance)
        distance[row] = open_distance[row]
        _take(columns, row, open_distance, square)
        n_taken += 1
    for row in range(n):
        if open_distance[row] >= 0:
            distance[row] = open_distance[row]
    return distance


@njit(cache=True)
def _take(columns: Array, taken: int, open_distance: Array, square: Array) -> None:
    """Close a point, and shorten the distances of the open ones to it.

    Plain loops over whole columns, so that the compiler uses vector instructions; a closed point
    has the distance -1, which no square undercuts.
    """
    square[:] = 0.0
    for j in range(columns.shape[0]):
        here = columns[j, taken]
        for row in range(columns.shape[1]):
            difference = here - columns[j, row]
            square[row] += difference * difference
    for row in range(columns.shape[1]):
        open_distance[row] = min(open_distance[row], square[row])
    open_distance[taken] = -1.0
