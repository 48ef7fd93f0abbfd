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

    Attributes
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        Class codes or targets.
    weights : ndarray of shape (n,)
        All positive.
    places : ndarray of shape (n,)
        The first given row that is equal.
    is_new : ndarray of shape (n,)
        False where the row before has the same inputs and only another target, so that a basis
        function there would be the same again.
    """

    X: Array
    y: Array
    weights: Array
    places: Indices
    is_new: Mask


def training_rows(X: Array, y: Array, weights: Array) -> TrainingRows:
    """Merge rows that are equal in X and y, leave out those without weight, and sort.

    Parameters
    ----------
    X : ndarray of shape (n_given, d)
    y : ndarray of shape (n_given,)
    weights : ndarray of shape (n_given,)
        Not negative.

    Returns
    -------
    TrainingRows

    Examples
    --------
    >>> X, y = np.array([[2.0], [1.0], [2.0], [3.0]]), np.array([1.0, 0.0, 1.0, 0.0])
    >>> rows = training_rows(X, y, np.array([1.0, 1.0, 3.0, 0.0]))
    >>> rows.X.tolist(), rows.weights.tolist(), rows.places.tolist()
    ([[1.0], [2.0]], [1.0, 4.0], [1, 0])
    """
    places, totals = merged_rows(X, y, weights)
    X = np.ascontiguousarray(X[places])
    is_new = np.append(True, (X[1:] != X[:-1]).any(axis=1))
    return TrainingRows(X, y[places], totals, places, is_new)


def weighted_rows(X: Array, y: Array, weights: Array) -> TrainingRows:
    """Leave out the rows without weight of a table of similarities, and their columns.

    Nothing is merged or sorted: the table is as large as the design itself and not copied
    without need.

    Parameters
    ----------
    X : ndarray of shape (n, n)
        Similarities of the training rows.
    y, weights : ndarray of shape (n,)

    Returns
    -------
    TrainingRows
        X still has all n columns; `places` are the rows with weight.

    Examples
    --------
    >>> rows = weighted_rows(np.eye(3), np.zeros(3), np.array([1.0, 0.0, 2.0]))
    >>> rows.X.shape, rows.places.tolist()
    ((2, 3), [0, 2])
    """
    used = np.flatnonzero(weights > 0)
    every = np.ones(len(used), dtype=np.bool_)
    if len(used) == len(X):
        return TrainingRows(X, y, weights, used, every)
    return TrainingRows(X[used], y[used], weights[used], used, every)
