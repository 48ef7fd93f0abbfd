"""Rows as learners want them: equal ones merged, those without weight left out, in one order.

A table with repeated rows, the same table with integer weights, and either of them shuffled are
the same data; after `merged_rows` they are the same arrays, and so is every number computed from
them.
"""

from typing import NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array, Indices


class Rows(NamedTuple):
    """The rows to learn from.

    places (n,): Which of the given rows they are: the first of equal ones.
    weights (n,): How many times each counts, positive.
    """

    places: Indices
    weights: Array


def merged_rows(X: Array, y: AnyArray, weights: Array, *, merge: bool = True) -> Rows:
    """Merge rows that are equal in X and y, leave out those without weight, and sort.

    Shapes: X (n_given, d), y (n_given,), weights (n_given,).
    """
    used = np.flatnonzero(weights > 0)
    if not merge:
        return Rows(used, weights[used])
    # Keys from the last to the first; the sort is stable, so the first of equal rows leads.
    order = used[np.lexsort((y[used], *X[used].T[::-1]))]
    same = (X[order[1:]] == X[order[:-1]]).all(axis=1) & (y[order[1:]] == y[order[:-1]])
    begins = np.flatnonzero(np.append(True, ~same))
    return Rows(order[begins], np.add.reduceat(weights[order], begins))
