"""The rows of a front: equal ones merged, in an order of their own, and some of them held out.

A row that is there twice is never on both sides of a split.
"""

from typing import Any, NamedTuple

import numpy as np

from parsimon._rows import merged_rows
from parsimon._typing import AnyArray, Array, Indices
from parsimon._weights import class_weights


class FrontRows(NamedTuple):
    """Rows with weight.

    places (n,): The first given row that is equal.
    codes (n,): Class of each, 0 or 1.
    counts (n,): Total weight of the equal rows; positive.
    """

    places: Indices
    codes: Indices
    counts: Array

    def of(self, chosen: Indices) -> "FrontRows":
        """Return some of the rows."""
        return FrontRows(self.places[chosen], self.codes[chosen], self.counts[chosen])


def front_rows(X: Array, codes: Indices, weights: Array, *, merge: bool = True) -> FrontRows:
    """Merge rows that are equal in X and class, leave out those without weight, and sort.

    Shapes: X (n_given, d), codes (n_given,), weights (n_given,).
    """
    places, counts = merged_rows(X, codes, weights, merge=merge)
    return FrontRows(places, codes[places], counts)


def loss_weights(rows: FrontRows, class_weight: Any, classes: AnyArray) -> Array:
    """Return what one unit of slack of each row costs: its count times the weight of its class."""
    share = class_weights(class_weight, classes, rows.codes, rows.counts)
    return np.multiply(rows.counts, share)


def stratified_holdout(
    codes: Indices, fraction: float, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Return the rows to train on and those to hold out, both increasing.

    Of each class the same share is held out, at least one row and never all. If a class has only
    one row, nothing is held out.

    Shapes: codes (n,).
    """
    every = np.arange(len(codes))
    sizes = np.bincount(codes)
    if fraction == 0 or sizes[sizes > 0].min() < 2:
        return every, every[:0]
    held = []
    for code in np.flatnonzero(sizes):
        rows = np.flatnonzero(codes == code)
        n_held = min(max(round(fraction * len(rows)), 1), len(rows) - 1)
        held.append(rng.permutation(rows)[:n_held])
    chosen = np.sort(np.concatenate(held))
    return np.setdiff1d(every, chosen), chosen
