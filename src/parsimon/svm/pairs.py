"""Several classes by one machine for each pair, as in SVC: votes, and what the votes hide."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices


class Pair(NamedTuple):
    """Two classes, told apart by one machine.

    positive, negative: Codes of the classes for which the decision is above and below zero.
    """

    positive: int
    negative: int

    def rows(self, codes: Indices) -> Indices:
        """Return the rows of both classes."""
        return np.flatnonzero((codes == self.positive) | (codes == self.negative))

    def signs(self, codes: Indices) -> Array:
        """Return the labels, 1.0 and -1.0, of rows of both classes."""
        return np.where(codes == self.positive, 1.0, -1.0)


def pairs_of(n_classes: int) -> list[Pair]:
    """Return all pairs, with the signs and in the order of SVC.

    Of two classes the second is positive, of more the first of each pair.
    """
    if n_classes == 2:
        return [Pair(1, 0)]
    return [Pair(first, second) for first, second in combinations(range(n_classes), 2)]


def votes_and_margins(decisions: Array, n_classes: int) -> Array:
    """Return a number for each class that grows with its votes and, among equals, its margins.

    Shapes: decisions (m, n_pairs) -> (m, n_classes).
    """
    votes = np.zeros((len(decisions), n_classes))
    margins = np.zeros_like(votes)
    for column, (first, second) in enumerate(pairs_of(n_classes)):
        decision = decisions[:, column]
        votes[:, first] += decision >= 0
        votes[:, second] += decision < 0
        margins[:, first] += decision
        margins[:, second] -= decision
    summed: Array = votes + margins / (3.0 * (np.abs(margins) + 1.0))
    return summed


def shown_coefficients(
    coefficients: Array, codes: Indices, places: Indices, n_classes: int
) -> tuple[Indices, Array, Indices]:
    """Return support vectors and their coefficients in the layout of SVC.

    Shapes: coefficients (n, n_pairs), codes, places (n,) -> (n_support,), (n_classes - 1,
        n_support), (n_classes,).
    """
    used = np.flatnonzero(coefficients.any(axis=1))
    chosen = used[np.lexsort((places[used], codes[used]))]
    dual_coef = np.zeros((n_classes - 1, len(chosen)))
    for column, pair in enumerate(pairs_of(n_classes)):
        for own, other in (pair, pair[::-1]):
            of_class = np.flatnonzero(codes[chosen] == own)
            dual_coef[other - (other > own), of_class] = coefficients[chosen[of_class], column]
    return chosen, dual_coef, np.bincount(codes[chosen], minlength=n_classes)
