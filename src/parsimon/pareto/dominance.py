"""Who dominates whom, who survives, and how good a set of points is; every value is minimised.

One row dominates another if it is no worse in every objective and better in at least one. Rows
with equal values do not dominate each other: this is the rule for ties everywhere.

Survival goes by non-domination level, then by room around a solution or a user's wish. Room is
measured by gaps along each objective, quick and right for two, or by distances from those already
taken, which also see crowds among three or more. Rows whose violation is infinite are those whose
evaluation failed; they rank last. Hypervolume, IGD+, additive epsilon and attainment are computed
by moocore.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import moocore
import numpy as np

from parsimon._checks import check_choice, finite_matrix, finite_vector
from parsimon._compiled import compiled
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.desirability import Guide


def dominates(first: Any, second: Any) -> bool:
    """Tell whether `first` dominates `second`, both of shape (m,) and minimised.

    Examples
    --------
    >>> dominates([1, 2], [1, 3]), dominates([1, 2], [1, 2])
    (True, False)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return bool(np.all(a <= b) and np.any(a < b))


def nondominated(values: Any, *, ties: str = "keep") -> Mask:
    """Return which rows no other row dominates.

    Parameters
    ----------
    values : array-like of shape (n, m)
        Objective values, all to be minimised; negate what is to be maximised.
    ties : {"keep", "first"}
        Whether rows with equal values all stay, or only the first of them.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> nondominated([[1, 3], [2, 2], [2, 2], [3, 3]])
    array([ True,  True,  True, False])
    >>> nondominated([[1, 3], [2, 2], [2, 2], [3, 3]], ties="first")
    array([ True,  True, False, False])
    """
    matrix = finite_matrix(values)
    if matrix.size == 0:
        return np.zeros(len(matrix), dtype=np.bool_)
    return nondominated_rows(matrix, keep_ties=check_ties(ties))


def nondominated_rows(matrix: Array, *, keep_ties: bool = True) -> Mask:
    """Do what `nondominated` does for a matrix that has been checked already."""
    if matrix.shape[1] == 1:
        best: Mask = matrix[:, 0] == matrix[:, 0].min()
        return best if keep_ties else best & (np.arange(len(best)) == best.argmax())
    return moocore.is_nondominated(matrix, keep_weakly=keep_ties).astype(np.bool_)


def check_ties(ties: str) -> bool:
    """Return whether equal rows are kept, refusing other words."""
    return bool(check_choice("ties", ties, ("keep", "first")) == "keep")


def dominance_ranks(values: Array, violation: Array | None = None) -> Indices:
    """Return the non-domination level of each row, 0 for the front.

    Shapes: values (n, m), violation (n,).

    [1] Deb, Pratap, Agarwal and Meyarivan (2002), IEEE Trans. Evol. Comput. 6:182-197.
    """
    if violation is None or not violation.any():
        return _levels(values)
    feasible = violation <= 0
    ranks = np.empty(len(values), dtype=np.intp)
    ranks[feasible] = _levels(values[feasible])
    after = ranks[feasible].max() + 1 if feasible.any() else 0
    ranks[~feasible] = after + np.unique(violation[~feasible], return_inverse=True)[1]
    return ranks


def _levels(values: Array) -> Indices:
    if values.shape[1] == 1:  # moocore wants two objectives or more
        return np.unique(values[:, 0], return_inverse=True)[1].astype(np.intp)
    return moocore.pareto_rank(values).astype(np.intp)


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
    if levels is None or (levels == levels[0]).all():
        return np.sqrt(farthest_first(scaled, values.argmin(axis=0), min(n, n_keep)))
    distance = np.empty(n)
    for level in np.unique(levels):
        rows = (levels == level).nonzero()[0]
        wanted = max(0, min(len(rows), n_keep))
        distance[rows] = farthest_first(scaled[rows], values[rows].argmin(axis=0), wanted)
        n_keep -= len(rows)
    return np.sqrt(distance)


def farthest_first_in_table(points: Array, first: Indices, n_keep: int) -> Array:
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


@compiled(plain=farthest_first_in_table)
def farthest_first(points: Array, first: Indices, n_keep: int) -> Array:
    """Do what `farthest_first_in_table` does, to the same bits in a tenth of the time."""
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


@compiled
def _take(columns: Array, taken: int | np.intp, open_distance: Array, square: Array) -> None:
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
    return (mixed * _weights(population.shape[1])).sum(axis=1)


@lru_cache(maxsize=16)
def _weights(n: int) -> AnyArray:
    return np.random.default_rng(n).integers(2**64, size=n, dtype=np.uint64) | np.uint64(1)


def hypervolume(values: Any, reference: Any) -> float:
    """Return the volume that the points dominate, up to a reference point.

    Parameters
    ----------
    values : array-like of shape (n, m)
        Minimised.
    reference : array-like of shape (m,)
        A point that is worse than those of interest; points beyond it add nothing.

    Examples
    --------
    >>> hypervolume([[1, 2], [2, 1]], reference=[3, 3])
    3.0
    """
    matrix, corner = _pair(values, reference)
    inside = matrix[(matrix < corner).all(axis=1)]
    if not len(inside):
        return 0.0
    if inside.shape[1] == 1:
        return float(corner[0] - inside.min())
    return float(moocore.hypervolume(inside, ref=corner))


def igd_plus(values: Any, reference_front: Any) -> float:
    """Return how far, on average, the reference front is from being covered by the points.

    The modified inverted generational distance counts only the objectives in which a point is
    worse [1]_, so a better set never scores worse.

    References
    ----------
    .. [1] Ishibuchi, Masuda, Tanigaki and Nojima (2015), EMO, LNCS 9019:110-125.

    Examples
    --------
    >>> igd_plus([[1, 1]], reference_front=[[0, 1], [1, 0]])
    1.0
    """
    matrix, target = _sets(values, reference_front)
    return float(moocore.igd_plus(matrix, ref=target))


def additive_epsilon(values: Any, reference_front: Any) -> float:
    """Return the least shift of the points that covers the whole reference front.

    Examples
    --------
    >>> additive_epsilon([[1, 1]], reference_front=[[0, 1], [1, 0]])
    1.0
    """
    matrix, target = _sets(values, reference_front)
    return float(moocore.epsilon_additive(matrix, ref=target))


def spread(values: Any) -> float:
    """Return how unevenly the points lie, 0 for even gaps.

    For each point the distance to its nearest neighbour is taken in objectives scaled to [0, 1];
    the spread is the standard deviation of these distances over their mean (Schott's spacing made
    free of units).

    Examples
    --------
    >>> spread([[0, 2], [1, 1], [2, 0]])
    0.0
    """
    from scipy.spatial import cKDTree

    from parsimon.pareto.criteria import unit_scaled

    matrix = finite_matrix(values)
    if len(matrix) < 3:
        return 0.0
    scaled = unit_scaled(matrix)
    gaps = np.asarray(cKDTree(scaled).query(scaled, k=2)[0])[:, 1]
    return float(gaps.std() / gaps.mean()) if gaps.mean() > 0 else 0.0


def attainment(sets: Sequence[Any], *, percentile: float = 50) -> Array:
    """Return the surface that a given share of runs attains.

    Parameters
    ----------
    sets : sequence of array-likes of shape (n_i, m), m = 2 or 3
        The points of each run.
    percentile : float
        50 for the median front of the runs, 100 for what all of them attain.

    Returns
    -------
    ndarray of shape (n, m)

    References
    ----------
    Grunert da Fonseca, Fonseca and Hall (2001), EMO, LNCS 1993:213-225.

    Examples
    --------
    >>> attainment([[[1, 3]], [[2, 2]], [[3, 1]]], percentile=100)
    array([[3., 3.]])
    """
    runs = [finite_matrix(points) for points in sets]
    if not runs:
        raise InvalidInputError("Attainment needs the points of at least one run, got none.")
    if runs[0].shape[1] not in {2, 3}:
        raise InvalidInputError(
            f"Attainment surfaces exist here for 2 or 3 objectives, got {runs[0].shape[1]}."
        )
    labels = np.repeat(np.arange(1, len(runs) + 1), [len(run) for run in runs])
    surface: Array = moocore.eaf(np.concatenate(runs), sets=labels, percentiles=[percentile])
    return np.asarray(surface[:, :-1])


def _pair(values: Any, reference: Any) -> tuple[Array, Array]:
    matrix, corner = finite_matrix(values), finite_vector(reference, "reference")
    if matrix.shape[1] != len(corner):
        raise InvalidInputError(
            f"The reference point needs {matrix.shape[1]} values, got {len(corner)}."
        )
    return matrix, corner


def _sets(values: Any, reference_front: Any) -> tuple[Array, Array]:
    matrix, target = finite_matrix(values), finite_matrix(reference_front, "reference_front")
    if matrix.shape[1] != target.shape[1] or not len(matrix) or not len(target):
        raise InvalidInputError(
            f"Both sets need points with equally many objectives, got shapes {matrix.shape} "
            f"and {target.shape}."
        )
    return matrix, target
