"""Which rows a search sees, and which of them are held out when.

Equal rows are merged before a fit, since to a model they are one row with a weight; to a split
they are several rows, of which one may be held out and another not.
"""

from typing import Any, NamedTuple

import numpy as np

from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.partition import homogeneous_partition

# Rows beyond which weights are not written out as repeated rows.
MOST_SINGLE_ROWS = 100_000


class Split(NamedTuple):
    """The rows of a search, in terms of the merged rows.

    each (n_rows,): Which merged row each row is.
    weights (n_rows,): How many times it counts.
    folds (n_rows,): In which fold it is held out.
    """

    each: Indices
    weights: Array
    folds: Indices | None = None

    def held(self, n_merged: int) -> Array | None:
        """Return how much of each merged row is held out in each fold, if there are folds."""
        if self.folds is None:
            return None
        table = np.zeros((int(self.folds.max()) + 1, n_merged))
        np.add.at(table, (self.folds, self.each), self.weights)
        return table


def single_rows(weights: Array) -> Split:
    """Return merged rows as single ones.

    Weights that are no whole numbers, or that stand for very many rows, stay weights.

    Shapes: weights (n_merged,).
    """
    if (weights != weights.round()).any() or weights.sum() > max(MOST_SINGLE_ROWS, len(weights)):
        return Split(np.arange(len(weights)), weights)
    each = np.repeat(np.arange(len(weights)), weights.astype(np.intp))
    return Split(each, np.ones(len(each)))


def homogeneous_split(
    inputs: Array, weights: Array, n_folds: int, random_state: Seed = None
) -> Split:
    """Return single rows in folds that look alike.

    Shapes: inputs (n_merged, d), weights (n_merged,).
    """
    rows = single_rows(weights)
    n_folds = min(n_folds, len(rows.each))
    folds = homogeneous_partition(inputs[rows.each], n_folds, random_state=random_state)
    return rows._replace(folds=folds)


def given_split(cv: Any, X: Array, y: AnyArray, weights: Array, merged: Indices) -> Split:
    """Return the rows in the folds of a splitter.

    Shapes: X (n_given, d), y (n_given,), weights (n_given,), merged (n_given,).
    """
    from sklearn.model_selection import check_cv

    try:
        parts = list(check_cv(cv, y, classifier=True).split(X, y))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            "cv must be None, a number of folds, a splitter, an iterable of (train, test), or one "
            f'of "swap", "shuffle", "stratified", "homogeneous"; {error}'
        ) from error
    times = np.bincount(np.concatenate([test for _, test in parts]), minlength=len(X))
    if len(parts) < 2 or (times != 1).any():
        raise InvalidInputError(
            f"cv must have two folds or more and hold every row out once, but it has "
            f"{len(parts)} and holds rows out {times.min()} to {times.max()} times."
        )
    folds = np.empty(len(X), dtype=np.intp)
    for number, (_, test) in enumerate(parts):
        folds[test] = number
    used = merged >= 0
    table = np.zeros((len(parts), int(merged.max()) + 1))
    np.add.at(table, (folds[used], merged[used]), weights[used])
    occupied, each = np.nonzero(table)
    # Folds of rows without weight are none.
    return Split(
        each, table[occupied, each], np.unique(occupied, return_inverse=True)[1].astype(np.intp)
    )


def merged_places(X: Array, codes: Indices, weights: Array, *, merge: bool) -> Indices:
    """Return which of the merged rows each given row went to; -1 for one without weight.

    Shapes: X (n_given, d), codes (n_given,), weights (n_given,).
    """
    used = weights > 0
    places = np.full(len(X), -1, dtype=np.intp)
    if merge:
        table = np.column_stack([X[used], codes[used]])
        places[used] = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    else:
        places[used] = np.arange(np.count_nonzero(used))
    return places
