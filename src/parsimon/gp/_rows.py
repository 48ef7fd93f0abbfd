"""Equal rows as one row of their summed weight: less work, and the same result in any order.

A table with repeated rows, the same table with integer weights, and either of them shuffled are
the same data; after `distinct_rows` they are the same arrays.
"""

from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices


class DistinctRows(NamedTuple):
    """The different rows of a table, sorted, and where each given row went.

    Shapes: X (n, d), y (n,).

    weights (n,): Summed over equal rows, all positive.
    place (n_given,): Index into the distinct rows; -1 for a given row without weight.
    share (n_given,): A given row's part of its distinct row's weight.
    unused (n_unused, d): Inputs of the given rows without weight, in order.
    """

    X: Array
    y: Array
    weights: Array
    place: Indices
    share: Array
    unused: Array


def distinct_rows(X: Array, y: Array, weights: Array) -> DistinctRows:
    """Merge rows that are equal in X and y, and leave out those without weight.

    Shapes: X (n_given, d), y (n_given,), weights (n_given,).
    """
    used = weights > 0
    table = np.column_stack([X[used], y[used]])
    distinct, inverse = np.unique(table, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    summed = np.zeros(len(distinct))
    np.add.at(summed, inverse, weights[used])
    place = np.full(len(X), -1, dtype=np.intp)
    place[used] = inverse
    share = np.zeros(len(X))
    share[used] = weights[used] / summed[inverse]
    return DistinctRows(
        np.ascontiguousarray(distinct[:, :-1]), distinct[:, -1], summed, place, share, X[~used]
    )
