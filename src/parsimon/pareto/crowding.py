"""How much room a solution has around it in objective space; more is better.

Two measures: gaps along each objective, which are quick and right for two objectives, and
distances to neighbours, which also see crowds among three or more.
"""

from typing import Any

import numpy as np

from parsimon._typing import AnyArray, Array, Indices

# Beyond this many rows a table of all distances costs more than a tree.
MOST_ROWS_IN_TABLE = 800


def crowding_distance(
    values: Array, levels: Indices | None = None, *, normalise: bool = True
) -> Array:
    """Return how much room each row has around it in objective space [1]_.

    The distance is the sum over objectives of the gap between the row's two neighbours on the
    same level; the ends of a level are infinitely far.

    Parameters
    ----------
    values : ndarray of shape (n, m)
    levels : ndarray of shape (n,), optional
        Non-domination levels; one for all rows if left out.
    normalise : bool
        Divide each gap by the width of its objective on the level. Without this an objective with
        large numbers decides alone.

    Returns
    -------
    ndarray of shape (n,)

    References
    ----------
    .. [1] Deb, Pratap, Agarwal and Meyarivan (2002), IEEE Trans. Evol. Comput. 6:182-197.

    Examples
    --------
    >>> values = np.array([[0.0, 4], [1, 2], [3, 1], [4, 0]])
    >>> crowding_distance(values)
    array([ inf, 1.5 , 1.25,  inf])
    >>> crowding_distance(values, normalise=False)
    array([inf,  6.,  5., inf])
    """
    n = len(values)
    distance = np.zeros(n)
    if n == 0:
        return distance
    if levels is None or (levels == levels[0]).all():
        for column in values.T:
            _add_gaps(distance, column, column.argsort(), normalise=normalise)
        return distance
    sizes = np.bincount(levels)
    sizes = sizes[sizes > 0]
    ends = sizes.cumsum()
    for column in values.T:
        order = np.lexsort((column, levels))
        _add_level_gaps(distance, column, order, sizes, ends, normalise=normalise)
    return distance


def _add_gaps(distance: Array, column: Array, order: Indices, *, normalise: bool) -> None:
    ordered = column[order]
    gap = np.empty(len(column))
    gap[1:-1] = ordered[2:] - ordered[:-2]
    width = ordered[-1] - ordered[0]
    if normalise and width > 0:
        gap[1:-1] /= width
    gap[0] = gap[-1] = np.inf
    distance[order] += gap


def _add_level_gaps(
    distance: Array,
    column: Array,
    order: Indices,
    sizes: Indices,
    ends: Indices,
    *,
    normalise: bool,
) -> None:
    ordered = column[order]
    gap = np.zeros(len(column))
    gap[1:-1] = ordered[2:] - ordered[:-2]
    first, last = ends - sizes, ends - 1
    if normalise:
        width = ordered[last] - ordered[first]
        width[width == 0] = 1.0
        gap /= width.repeat(sizes)
    gap[first] = gap[last] = np.inf
    distance[order] += gap


def neighbour_distance(
    values: Array, levels: Indices | None = None, *, normalise: bool = True
) -> Array:
    """Return how far each row is from its m nearest neighbours on the same level [1]_.

    The geometric mean of the distances to as many neighbours as there are objectives. The best
    row of each objective on a level is infinitely far, and so is one with too few neighbours.

    Parameters
    ----------
    values : ndarray of shape (n, m)
    levels : ndarray of shape (n,), optional
        Non-domination levels; one for all rows if left out.
    normalise : bool
        Measure each objective in widths of the values.

    Returns
    -------
    ndarray of shape (n,)

    References
    ----------
    .. [1] Kukkonen and Deb (2006), PPSN IX, LNCS 4193:553-562.

    Examples
    --------
    >>> values = np.array([[0.0, 8], [1, 7], [2, 6], [4, 4], [8, 0]])
    >>> neighbour_distance(values, normalise=False).round(3)
    array([  inf, 1.414, 2.   , 3.464,   inf])
    """
    n, m = values.shape
    if n == 0:
        return np.zeros(0)
    width = np.ptp(values, axis=0) if normalise else np.ones(m)
    # Single precision: the distances are only ranked, and it halves the time.
    scaled = (values / np.where(width > 0, width, 1.0)).astype(np.float32)
    groups: list[Any] = [slice(None)]
    if levels is not None and not (levels == levels[0]).all():
        groups = [levels == level for level in np.unique(levels)]
    distance = np.empty(n)
    for rows in groups:
        points = scaled[rows]
        logs = _log_squares(points, m)
        logs[values[rows].argmin(axis=0)] = np.inf
        distance[rows] = np.exp(0.5 / m * logs)
    return distance


def _log_squares(points: AnyArray, k: int) -> Array:
    """Return the sum of logarithms of the squared distances to the k nearest neighbours."""
    n = len(points)
    if n <= k:
        return np.full(n, np.inf)
    if n > MOST_ROWS_IN_TABLE:
        from scipy.spatial import cKDTree

        distances: Array = np.asarray(cKDTree(points).query(points, k=k + 1)[0])
        nearest = distances[:, 1:] ** 2
    else:
        nearest = _nearest_in_table(points, k)
    logs: Array = np.log(np.maximum(nearest, 1e-30)).sum(axis=1)
    return logs


def _nearest_in_table(points: AnyArray, k: int) -> Array:
    n = len(points)
    table = np.zeros((n, n), dtype=points.dtype)
    for column in points.T:
        difference = column[:, None] - column
        difference *= difference
        table += difference
    rows = np.arange(n)
    table[rows, rows] = np.inf
    nearest = np.empty((n, k))
    for neighbour in range(k):
        columns = table.argmin(axis=1)
        nearest[:, neighbour] = table[rows, columns]
        table[rows, columns] = np.inf
    return nearest
