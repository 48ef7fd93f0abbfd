"""The rows that a machine is trained on: equal ones merged, in an order of their own.

A table with repeated rows, the same table with integer weights, and either of them shuffled are
the same data; after `training_rows` they are the same arrays, and so is every number computed
from them.
"""

from typing import NamedTuple

import numpy as np

from parsimon._rows import merged_rows
from parsimon._typing import Array, Indices, Mask


class TrainingRows(NamedTuple):
    """Rows with weight.

    Shapes: X (n, d).

    y (n,): Class codes or targets.
    weights (n,): All positive.
    places (n,): The first given row that is equal.
    is_new (n,): False where the row before has the same inputs and only another target, so that
        a basis function there would be the same again.
    """

    X: Array
    y: Array
    weights: Array
    places: Indices
    is_new: Mask


def training_rows(X: Array, y: Array, weights: Array) -> TrainingRows:
    """Merge rows that are equal in X and y, leave out those without weight, and sort.

    Shapes: X (n_given, d), y (n_given,), weights (n_given,).
    """
    places, totals = merged_rows(X, y, weights)
    X = np.ascontiguousarray(X[places])
    is_new = np.append(True, (X[1:] != X[:-1]).any(axis=1))
    return TrainingRows(X, y[places], totals, places, is_new)


def weighted_rows(X: Array, y: Array, weights: Array) -> TrainingRows:
    """Leave out the rows without weight of a table of similarities, and their columns.

    Nothing is merged or sorted: the table is as large as the design itself and not copied
    without need.

    Shapes: X (n, n), y, weights (n,).
    """
    used = np.flatnonzero(weights > 0)
    every = np.ones(len(used), dtype=np.bool_)
    if len(used) == len(X):
        return TrainingRows(X, y, weights, used, every)
    return TrainingRows(X[used], y[used], weights[used], used, every)
