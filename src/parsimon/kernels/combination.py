"""Sums and products of kernels, and the rule that a product has one variance.

`Sum` and `Product` are types, and only a kernel of the very same type is flattened: joining any
combination into any other silently turned ``a * b + c`` into ``a + b + c`` in another package.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels._scales import DataScale
from parsimon.kernels.base import Kernel


def add(left: Kernel, right: Kernel) -> "Sum":
    """Return ``left + right``, flat."""
    return Sum(parts(Sum, left) + parts(Sum, right))


def multiply(left: Kernel, right: Kernel) -> "Product":
    """Return ``left * right``, flat and with one free variance."""
    return Product(parts(Product, left) + parts(Product, right)).tied()


def parts(operator: "type[Combination]", kernel: Kernel) -> tuple[Kernel, ...]:
    """Return the terms of a kernel of this very operator, or the kernel itself."""
    return kernel.terms if isinstance(kernel, operator) else (kernel,)


@dataclass(frozen=True)
class Combination(Kernel):
    """Two or more kernels under one operator."""

    terms: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", tuple(self.terms))
        if len(self.terms) < 2 or not all(isinstance(term, Kernel) for term in self.terms):
            raise InvalidInputError(
                f"A {type(self).__name__} needs two or more kernels, got {self.terms!r}."
            )

    @property
    def columns(self) -> tuple[int, ...] | None:
        found: set[int] = set()
        for term in self.terms:
            if term.columns is None:
                return None
            found.update(term.columns)
        return tuple(sorted(found))

    @property
    def is_psd(self) -> bool:
        return all(term.is_psd for term in self.terms)

    @property
    def theta(self) -> Array:
        return np.concatenate([term.theta for term in self.terms])

    @property
    def n_theta(self) -> int:
        return sum(term.n_theta for term in self.terms)

    def with_theta(self, theta: Array) -> Self:
        values = np.asarray(theta, dtype=np.float64)
        if values.shape != (self.n_theta,):
            raise InvalidInputError(
                f"theta must have shape ({self.n_theta},) for {self}, got {values.shape}."
            )
        return type(self)(tuple(term.with_theta(values[part]) for term, part in self._parts()))

    def _parts(self) -> Iterator[tuple[Kernel, slice]]:
        """Yield each term with its place in theta."""
        begin = 0
        for term in self.terms:
            yield term, slice(begin, begin + term.n_theta)
            begin += term.n_theta


class Sum(Combination):
    """A sum of kernels: the function is a sum of independent parts (He 2016, eq 3.1).

    Examples
    --------
    >>> from parsimon.kernels import Constant, Sum
    >>> Sum((Constant(1.0), Constant(2.0))).gram([[0.0]])
    array([[3.]])
    """

    def _gram(self, X: Array, Y: Array) -> Array:
        total = self.terms[0]._gram(X, Y)
        for term in self.terms[1:]:
            total += term._gram(X, Y)
        return total

    def _diagonal(self, X: Array) -> Array:
        return reduce(np.add, [term._diagonal(X) for term in self.terms])

    def _fill_gradients(self, X: Array, Y: Array, out: Array) -> Array:
        return reduce(
            np.add, [term._fill_gradients(X, Y, out[part]) for term, part in self._parts()]
        )

    def _fill_diagonal(self, X: Array, out: Array) -> Array:
        return reduce(np.add, [term._fill_diagonal(X, out[part]) for term, part in self._parts()])

    def _input_gradient(self, X: Array, Y: Array) -> tuple[Array, Array]:
        grams, slopes = zip(*(term._input_gradient(X, Y) for term in self.terms), strict=True)
        return reduce(np.add, grams), reduce(np.add, slopes)

    def _bounds(self, scale: DataScale, weight: float) -> Array:
        return np.concatenate([term._bounds(scale, weight) for term in self.terms])

    def _start(self, scale: DataScale, weight: float) -> Array:
        return np.concatenate([term._start(scale, weight) for term in self.terms])

    def _typical(self, scale: DataScale) -> float:
        return self.terms[0]._typical(scale)

    @property
    def own_scale(self) -> float:
        return self.terms[0].own_scale

    @property
    def scale_is_free(self) -> bool:
        return all(term.scale_is_free for term in self.terms)

    def rescaled(self, factor: float, divisor: float = 1.0) -> Self:
        return type(self)(tuple(term.rescaled(factor, divisor) for term in self.terms))

    @property
    def can_carry_scale(self) -> bool:
        held = [term for term in self.terms if not term.scale_is_free]
        return len(held) < 2 and all(term.can_carry_scale for term in held)

    def with_scale(self, *, free: bool) -> Self:
        if free:
            return type(self)(tuple(term.with_scale(free=True) for term in self.terms))
        return type(self)((self.terms[0].with_scale(free=False), *self.terms[1:]))


class Product(Combination):
    """A product of kernels: an interaction that is no sum (He 2016, eq 3.3).

    Only the product of the factors' variances can be seen in data. `tied` keeps it in the first
    factor and fixes the others at one; ``a * b`` does so, this constructor does not.

    Examples
    --------
    >>> from parsimon.kernels import Product, SquaredExponential
    >>> left, right = SquaredExponential(0, variance=2.0), SquaredExponential(1, variance=3.0)
    >>> Product((left, right)).n_theta, (left * right).n_theta
    (4, 3)
    >>> (left * right).diagonal([[0.0, 0.0]])
    array([6.])
    """

    def tied(self) -> Self:
        """Return an equal product in which one scale at most is free, in the first factor.

        The others have it fixed at one. What the free hyperparameters can express does not
        change: a product of fixed scales stays as it is, and so does a sum in which more than
        one variance is fixed, since no factor can be taken out of it.
        """
        if not self.scale_is_free:
            return self
        carriers = [place for place, term in enumerate(self.terms) if term.can_carry_scale]
        terms = list(self.terms)
        for place in carriers[1:]:
            factor = terms[place].with_scale(free=True)
            terms[place] = factor.rescaled(1.0, factor.own_scale).with_scale(free=False)
            terms[carriers[0]] = terms[carriers[0]].rescaled(factor.own_scale)
        terms[carriers[0]] = terms[carriers[0]].with_scale(free=True)
        return type(self)(tuple(terms))

    def _gram(self, X: Array, Y: Array) -> Array:
        total = self.terms[0]._gram(X, Y)
        for term in self.terms[1:]:
            total *= term._gram(X, Y)
        return total

    def _diagonal(self, X: Array) -> Array:
        return _product([term._diagonal(X) for term in self.terms])

    def _fill_gradients(self, X: Array, Y: Array, out: Array) -> Array:
        grams = [term._fill_gradients(X, Y, out[part]) for term, part in self._parts()]
        self._multiply_by_others(grams, out)
        return _product(grams)

    def _fill_diagonal(self, X: Array, out: Array) -> Array:
        diagonals = [term._fill_diagonal(X, out[part]) for term, part in self._parts()]
        self._multiply_by_others(diagonals, out)
        return _product(diagonals)

    def _multiply_by_others(self, factors: list[Array], out: Array) -> None:
        for place, (_, part) in enumerate(self._parts()):
            if part.start < part.stop:
                out[part] *= _product_of_others(factors, place)

    def _input_gradient(self, X: Array, Y: Array) -> tuple[Array, Array]:
        pairs = [term._input_gradient(X, Y) for term in self.terms]
        grams = [gram for gram, _ in pairs]
        total = np.zeros((len(X), len(Y), X.shape[1]))
        for place, (_, slope) in enumerate(pairs):
            total += slope * _product_of_others(grams, place)[:, :, None]
        return _product(grams), total

    def _bounds(self, scale: DataScale, weight: float) -> Array:
        weights = self._weights(scale, weight)
        return np.concatenate(
            [term._bounds(scale, own) for term, own in zip(self.terms, weights, strict=True)]
        )

    def _start(self, scale: DataScale, weight: float) -> Array:
        weights = self._weights(scale, weight)
        return np.concatenate(
            [term._start(scale, own) for term, own in zip(self.terms, weights, strict=True)]
        )

    def _weights(self, scale: DataScale, weight: float) -> list[float]:
        """Return a weight for each factor: one carries the scale of those that have none free.

        A sum whose leading variance is fixed has free variances relative to it.
        """
        held = [
            None if term.scale_is_free else term.own_scale * term._typical(scale)
            for term in self.terms
        ]
        weights = [1.0 if own is None else 1 / own for own in held]
        if None in held:
            weights[held.index(None)] = weight * float(np.prod([own for own in held if own]))
        return weights

    def _typical(self, scale: DataScale) -> float:
        return float(np.prod([term._typical(scale) for term in self.terms]))

    @property
    def own_scale(self) -> float:
        return float(np.prod([term.own_scale for term in self.terms]))

    @property
    def scale_is_free(self) -> bool:
        return any(term.scale_is_free for term in self.terms)

    @property
    def can_carry_scale(self) -> bool:
        return any(term.can_carry_scale for term in self.terms)

    def rescaled(self, factor: float, divisor: float = 1.0) -> Self:
        place = self._carrier()
        return self.replaced(place, self.terms[place].rescaled(factor, divisor))

    def with_scale(self, *, free: bool) -> Self:
        if free:
            place = self._carrier()
            return self.replaced(place, self.terms[place].with_scale(free=True))
        return type(self)(
            tuple(
                term.with_scale(free=False) if term.scale_is_free else term for term in self.terms
            )
        )

    def _carrier(self) -> int:
        """Return the place of the factor with a free scale, or of one that could have it."""
        places = range(len(self.terms))
        free = [place for place in places if self.terms[place].scale_is_free]
        able = [place for place in places if self.terms[place].can_carry_scale]
        return (free + able + [0])[0]

    def replaced(self, place: int, term: Kernel) -> Self:
        return type(self)((*self.terms[:place], term, *self.terms[place + 1 :]))


def _product(factors: Sequence[Array]) -> Array:
    return reduce(np.multiply, factors)


def _product_of_others(factors: list[Array], place: int) -> Array:
    return _product(factors[:place] + factors[place + 1 :])
