"""Splits of a table's rows: in two halves, or in parts that look alike.

Rows that are close together follow each other on a walk through nearest neighbours, so dealing them
out in turn gives each part its share of every region. `parsimon.evaluation.HomogeneousKFold`
offers it to scikit-learn.
"""

from typing import Any, Literal, get_args

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.multiclass import type_of_target

from parsimon._checks import check_choice, check_count, finite_matrix
from parsimon._random import Seed, generator
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError


def complete_vector(y: Any, n_rows: int, name: str = "y") -> AnyArray:
    """Return numbers or text as a vector of n_rows values, none of them missing."""
    values = np.asarray(y)
    if values.ndim != 1:
        raise InvalidInputError(f"{name} must be one-dimensional, got shape {values.shape}.")
    if len(values) != n_rows:
        raise InvalidInputError(f"X has {n_rows} rows, but {name} has {len(values)}.")
    if values.dtype.kind == "O":
        missing = np.array([value is None or value != value for value in values], dtype=np.bool_)
    else:
        missing = values != values
    if values.dtype.kind == "f":
        missing |= np.isinf(values)
    if missing.any():
        raise InvalidInputError(
            f"{missing.sum()} of {len(values)} values of {name} are missing or infinite "
            f"(first: row {np.argmax(missing)}). Remove those rows."
        )
    return values


def class_rows(y: Any, *, n_rows: int, at_least: int) -> list[Indices]:
    """Return the rows of each class, classes in sorted order."""
    labels = complete_vector(y, n_rows)
    if type_of_target(labels) not in {"binary", "multiclass"}:
        raise InvalidInputError("y must hold classes to stratify by, but it holds real numbers.")
    classes, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if sizes.min() < at_least:
        raise InvalidInputError(
            f"Class {classes[sizes.argmin()]!s} has {sizes.min()} of the {at_least} rows that it "
            "needs, one for each part. Ask for fewer parts, or merge or drop that class."
        )
    return [np.flatnonzero(codes == code) for code in range(len(classes))]


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
    check_choice("metric", metric, METRICS)
    if np.ndim(X) != 2:
        raise InvalidInputError(f"X must have two dimensions, got {np.ndim(X)}.")
    points = finite_matrix(X, "X")
    if check_count("The number of parts", n_parts, least=2) > len(points):
        raise InvalidInputError(
            f"{len(points)} rows cannot be dealt into {n_parts} parts: ask for at most one for "
            "each row."
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


def random_halves(groups: list[Indices], rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Split each group of rows in half at random, and return the two halves, sorted.

    A group of odd size gives its extra row to the first half. The rows of each class as groups
    make the split stratified, all rows as one group leave the classes to chance.
    """
    shuffled = [rng.permutation(rows) for rows in groups]
    first = [rows[: (len(rows) + 1) // 2] for rows in shuffled]
    second = [rows[(len(rows) + 1) // 2 :] for rows in shuffled]
    return np.sort(np.concatenate(first)), np.sort(np.concatenate(second))
