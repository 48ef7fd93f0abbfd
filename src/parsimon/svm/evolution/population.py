"""Points of a dual with their kernel products, so that a change of few variables costs little."""

from dataclasses import dataclass

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.svm.dual import Dual

# Share of changed variables up to which their rows are added one by one.
_FEW = 0.25


@dataclass(frozen=True, eq=False)
class Population:
    """k points, what the kernel makes of them, and their objectives.

    Shapes: alpha (k, n).

    products (k, n): ``(alpha * signs) @ kernel``.
    values (k,): D(alpha).
    """

    alpha: Array
    products: Array
    values: Array

    def __len__(self) -> int:
        return len(self.alpha)

    @classmethod
    def of(cls, dual: Dual, alpha: Array) -> "Population":
        """Evaluate points, shape (k, n), as one matrix product."""
        return cls.known(dual, alpha, (alpha * dual.signs) @ dual.kernel)

    @classmethod
    def known(cls, dual: Dual, alpha: Array, products: Array) -> "Population":
        """Make a population of points whose products are known."""
        return cls(alpha, products, dual.value(alpha, products))

    def changed(self, dual: Dual, parents: Indices, alpha: Array) -> "Population":
        """Evaluate children, shape (m, n), of these parents, in O(n) for each changed variable."""
        steps = (alpha - self.alpha[parents]) * dual.signs
        products = self.products[parents]
        for child, step in enumerate(steps):
            moved = np.flatnonzero(step)
            if len(moved) <= _FEW * len(step):
                products[child] += step[moved] @ dual.kernel[moved]
            else:
                products[child] = (alpha[child] * dual.signs) @ dual.kernel
        return Population.known(dual, alpha, products)

    def chosen(self, places: Indices) -> "Population":
        """Return some of the points."""
        return Population(self.alpha[places], self.products[places], self.values[places])

    def joined(self, other: "Population") -> "Population":
        """Return the points of both."""
        return Population(
            np.concatenate((self.alpha, other.alpha)),
            np.concatenate((self.products, other.products)),
            np.concatenate((self.values, other.values)),
        )
