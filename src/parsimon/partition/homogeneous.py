"""Parts of a table that look alike: deal the rows out along a walk through nearest neighbours.

Rows that are close together follow each other on the walk, so dealing them out in turn gives each
part its share of every region. `parsimon.evaluation.HomogeneousKFold` offers it to scikit-learn.
"""

from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
from scipy.spatial.distance import cdist

from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices
from parsimon._validation import finite_matrix
from parsimon.exceptions import InvalidInputError
from parsimon.partition.labels import class_rows

# Only metrics that need nothing but the two points, and that no finite point makes undefined.
MetricName = Literal["euclidean", "cityblock", "chebyshev", "hamming"]
METRICS = get_args(MetricName)


def nearest_neighbour_walk(X: Array, *, start: int, metric: MetricName = "euclidean") -> Indices:
    """Return the rows in the order of a walk that always goes on to the nearest unvisited row.

    Of rows that are equally near, the first in the table is taken. Time is O(n^2), memory O(n)
    for each step: no n x n matrix is built.

    Shapes: X (n, m) -> (n,).
    """
    walk = np.empty(len(X), dtype=np.intp)
    walk[0] = start
    # `rows` names the rows of `pool`, always in table order, so that argmin settles ties.
    pool, rows = np.delete(X, start, axis=0), np.delete(np.arange(len(X)), start)
    unvisited = np.ones(len(pool), dtype=np.bool_)
    for step in range(1, len(X)):
        distances = cdist(X[walk[step - 1]][None], pool, metric=metric)[0]
        left = np.flatnonzero(unvisited)
        nearest = left[np.argmin(distances[left])]
        walk[step] = rows[nearest]
        unvisited[nearest] = False
        # Copying only when half is gone keeps the total near n^2 / 2 distances.
        if 2 * len(left) < len(pool):
            pool, rows = pool[unvisited], rows[unvisited]
            unvisited = np.ones(len(pool), dtype=np.bool_)
    return walk


def homogeneous_partition(
    X: Any,
    n_parts: int = 2,
    *,
    labels: Any = None,
    metric: MetricName = "euclidean",
    random_state: Seed = None,
) -> Indices:
    """Return the part, 0 to n_parts - 1, of each row in a nearly homogeneous partition.

    Take a random row; the row furthest from it is the start, which is at the border of the table
    rather than between two classes. Walk from there through nearest neighbours and deal the rows
    into the parts in turn [1]. Part sizes differ by at most one.

    Shapes: X (n, m), labels (n,) -> (n,).

    [1] Aupetit (2009), Nearly homogeneous multi-partitioning with a deterministic generator,
    Neurocomputing 72:1379-1389.
    """
    if metric not in METRICS:
        raise InvalidInputError(f"metric must be one of {', '.join(METRICS)}; got {metric!r}.")
    if np.ndim(X) != 2:
        raise InvalidInputError(f"X must have two dimensions, got {np.ndim(X)}.")
    points = finite_matrix(X, "X")
    if not isinstance(n_parts, Integral) or not 2 <= n_parts <= len(points):
        raise InvalidInputError(
            f"{len(points)} rows cannot be dealt into {n_parts!r} parts: "
            "ask for at least 2 and at most one for each row."
        )
    groups = (
        [np.arange(len(points))]
        if labels is None
        else class_rows(labels, n_rows=len(points), at_least=n_parts)
    )
    rng = generator(random_state)
    walk = np.concatenate([rows[_walk_from_border(points[rows], metric, rng)] for rows in groups])
    parts = np.empty(len(points), dtype=np.intp)
    parts[walk] = np.arange(len(points)) % n_parts
    return parts


def _walk_from_border(points: Array, metric: MetricName, rng: np.random.Generator) -> Indices:
    chosen = points[rng.integers(len(points))]
    start = int(np.argmax(cdist(chosen[None], points, metric=metric)[0]))
    return nearest_neighbour_walk(points, start=start, metric=metric)
