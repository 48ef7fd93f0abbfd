"""How much room a solution has around it in objective space; more is better.

Two measures: gaps along each objective, which are quick and right for two objectives, and
distances from those already taken, which also see crowds among three or more.
"""

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec

import numpy as np

from parsimon._typing import Array, Indices


def crowding_distance(
    values: Array, levels: Indices | None = None, *, normalise: bool = True
) -> Array:
    """Return how much room each row has around it in objective space.

    The distance is the sum over objectives of the gap between the row's two neighbours on the
    same level; the ends of a level are infinitely far.

    Shapes: values (n, m), levels (n,) -> (n,).

    [1] Deb, Pratap, Agarwal and Meyarivan (2002), IEEE Trans. Evol. Comput. 6:182-197.
    """
    n = len(values)
    distance = np.zeros(n)
    if n == 0:
        return distance
    if levels is None or (levels == levels[0]).all():
        for column in values.T:
            _add_gaps(distance, column, column.argsort(kind="stable"), normalise=normalise)
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


def maximin_distance(
    values: Array,
    levels: Indices | None = None,
    *,
    normalise: bool = True,
    n_keep: int | None = None,
) -> Array:
    """Return how far each row is from the rows of its level that are taken before it.

    On each level the rows are taken one by one, always the one farthest from those already taken
    [1]; the first are the best of each objective, which are infinitely far. The `n_keep` rows
    with the largest distances are hence spread over the whole level.

    Shapes: values (n, m), levels (n,) -> (n,).

    [1] Gonzalez (1985), Theor. Comput. Sci. 38:293-306.
    """
    n = len(values)
    if n == 0:
        return np.zeros(0)
    low, high = values.min(axis=0), values.max(axis=0)
    scaled = values / np.where(high > low, high - low, 1.0) if normalise else values
    n_keep = n if n_keep is None else n_keep
    take = _farthest_first()
    if levels is None or (levels == levels[0]).all():
        return np.sqrt(take(scaled, values.argmin(axis=0), min(n, n_keep)))
    distance = np.empty(n)
    for level in np.unique(levels):
        rows = (levels == level).nonzero()[0]
        wanted = max(0, min(len(rows), n_keep))
        distance[rows] = take(scaled[rows], values[rows].argmin(axis=0), wanted)
        n_keep -= len(rows)
    return np.sqrt(distance)


def farthest_first(points: Array, first: Indices, n_keep: int) -> Array:
    """Return the squared distance of each point from the points taken before it.

    Shapes: points (n, m), first (k,).
    """
    n = len(points)
    table = np.zeros((n, n))
    for column in points.T:
        difference = column[:, None] - column
        table += difference * difference
    first = np.unique(first)
    distance: Array = table[first].min(axis=0)
    open_distance = distance.copy()
    distance[first], open_distance[first] = np.inf, -1.0
    for _ in range(n_keep - len(first)):
        row = open_distance.argmax()
        distance[row] = open_distance[row]
        np.minimum(open_distance, table[row], out=open_distance)
        open_distance[row] = -1.0
    still_open = open_distance >= 0
    distance[still_open] = open_distance[still_open]
    return distance


@lru_cache(maxsize=1)
def _farthest_first() -> Callable[[Array, Indices, int], Array]:
    """Return the compiled form if the extra `fast` is installed; both give the same bits."""
    if find_spec("numba") is None:
        return farthest_first
    from parsimon.pareto.compiled import farthest_first as compiled

    return compiled  # type: ignore[no-any-return]
