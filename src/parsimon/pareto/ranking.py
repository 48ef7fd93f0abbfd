"""Who survives: non-domination levels first, then room around a solution or a user's wish.

All values are minimised here. Rows whose violation is infinite are those whose evaluation
failed; they rank last and their values are never looked at.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.pareto.dominance import dominance_ranks
from parsimon.pareto.guidance import Guide


class Survivors(NamedTuple):
    """The chosen rows, best first, with their level and their preference within it."""

    rows: Indices
    levels: Indices
    preference: Array


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


def select_survivors(
    values: Array,
    violation: Array,
    n_keep: int,
    *,
    duplicates: Mask | None = None,
    normalise: bool = True,
    guide: Guide | None = None,
    signs: Array | float = 1.0,
) -> Survivors:
    """Return the best `n_keep` rows: by level, then by the guide if any, then by crowding.

    Parameters
    ----------
    values : ndarray of shape (n, m)
    violation : ndarray of shape (n,)
        Rows with a smaller one come first; 0 keeps all constraints.
    n_keep : int
    duplicates : ndarray of bool, shape (n,), optional
        Rows that repeat another one; they come after all others.
    normalise : bool
        As in `crowding_distance`.
    guide : Guide, optional
    signs : float or ndarray of shape (m,)
        Turns minimised values into those the guide's user knows.

    Examples
    --------
    >>> values = np.array([[0.0, 4], [1, 2], [3, 1], [4, 0], [4, 4]])
    >>> select_survivors(values, np.zeros(5), 3).rows
    array([0, 3, 1])
    """
    levels = dominance_ranks(values, violation)
    if duplicates is not None and duplicates.any():
        levels[duplicates] += len(values)
    cut = np.partition(levels, n_keep - 1)[n_keep - 1]
    rows = (levels <= cut).nonzero()[0]
    levels, kept = levels[rows], values[rows]
    if violation.any():
        kept[np.isinf(violation[rows])] = 0.0
    preference = crowding_distance(kept, levels, normalise=normalise)
    keys = [-preference, levels]
    if guide is not None:
        keys.insert(1, -guide(kept * signs, levels))
    order = np.lexsort(keys)
    if guide is not None:
        preference[order] = -np.arange(len(order), dtype=np.float64)
    order = order[:n_keep]
    return Survivors(rows[order], levels[order], preference[order])


def repeated_rows(population: AnyArray) -> Mask:
    """Return which rows are equal, bit by bit, to an earlier row.

    Rows are compared through a 64-bit key each.

    Examples
    --------
    >>> repeated_rows(np.array([[1.0, 2], [3, 4], [1, 2]]))
    array([False, False,  True])
    """
    return repeated_keys(row_keys(population))


def repeated_keys(keys: AnyArray) -> Mask:
    """Return which keys are equal to an earlier one."""
    repeated = np.zeros(len(keys), dtype=np.bool_)
    order = keys.argsort(kind="stable")
    ordered = keys[order]
    repeated[order[1:]] = ordered[1:] == ordered[:-1]
    return repeated


def row_keys(population: AnyArray) -> AnyArray:
    """Return a 64-bit key for each row; equal rows have equal keys.

    Two different rows share a key with a chance of about 1e-13, and then one of them only counts
    as a repetition.
    """
    words = (
        population.view(np.uint64)
        if population.dtype.itemsize == 8
        else population.astype(np.uint64)
    )
    # Round numbers differ in their high bits only, which a product modulo 2**64 would lose.
    mixed = words ^ (words >> np.uint64(32))
    keys: AnyArray = (mixed * _weights(population.shape[1])).sum(axis=1)
    return keys


@lru_cache(maxsize=16)
def _weights(n: int) -> AnyArray:
    return np.random.default_rng(n).integers(2**64, size=n, dtype=np.uint64) | np.uint64(1)
