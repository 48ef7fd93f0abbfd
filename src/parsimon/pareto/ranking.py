"""Who survives: non-domination levels first, then room around a solution or a user's wish.

All values are minimised here. Rows whose violation is infinite are those whose evaluation
failed; they rank last and their values are never looked at.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.pareto.crowding import crowding_distance, maximin_distance
from parsimon.pareto.dominance import dominance_ranks
from parsimon.pareto.guidance import Guide


class Survivors(NamedTuple):
    """The chosen rows, best first, with their level and their preference within it."""

    rows: Indices
    levels: Indices
    preference: Array


def select_survivors(
    values: Array,
    violation: Array,
    n_keep: int,
    *,
    duplicates: Mask | None = None,
    crowding: str = "gaps",
    normalise: bool = True,
    guide: Guide | None = None,
    signs: Array | float = 1.0,
) -> Survivors:
    """Return the best `n_keep` rows: by level, then by the guide if any, then by crowding.

    Shapes: values (n, m), violation (n,), duplicates (n,), signs (m,).
    """
    levels = dominance_ranks(values, violation)
    if duplicates is not None and duplicates.any():
        levels[duplicates] += len(values)
    cut = np.partition(levels, n_keep - 1)[n_keep - 1]
    rows = (levels <= cut).nonzero()[0]
    levels, kept = levels[rows], values[rows]
    if violation.any():
        kept[np.isinf(violation[rows])] = 0.0
    if crowding == "gaps":
        preference = crowding_distance(kept, levels, normalise=normalise)
    else:
        preference = maximin_distance(kept, levels, normalise=normalise, n_keep=n_keep)
    if guide is not None:
        order = np.lexsort((-preference, -guide(kept * signs, levels), levels))
        preference[order] = -np.arange(len(order), dtype=np.float64)
    elif cut == 0:
        order = (-preference).argsort(kind="stable")
    else:
        order = np.lexsort((-preference, levels))
    order = order[:n_keep]
    return Survivors(rows[order], levels[order], preference[order])


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
