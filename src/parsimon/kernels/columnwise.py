"""Exponentials of a sum over columns: periodic and Laplacian kernels.

Each is a product of one-dimensional kernels, and that is what makes it positive semi-definite.
A sine of the Euclidean distance, which other packages use on several columns, is not.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from parsimon._typing import Array
from parsimon.kernels._leaf import Leaf, LeafValues, Range
from parsimon.kernels._scales import DataScale


class Columnwise(Leaf):
    """A leaf ``variance * exp(-s)`` with s the sum over columns of g(rate * difference)."""

    def _rate(self) -> float | Array:
        """Return what differences are multiplied with, for all columns or for each."""
        raise NotImplementedError

    def _term(self, z: Array) -> Array:
        """Return g(z); may overwrite z."""
        raise NotImplementedError

    def _term_slope(self, z: Array) -> Array:
        """Return g'(z)."""
        raise NotImplementedError

    def _value(self, s: Array, out: Array | None = None) -> Array:
        value = np.negative(s, out=out)
        return np.exp(value, out=value)

    def _self_similarity(self, X: Array) -> Array:
        return np.zeros(len(X))

    def _similarity(self, X: Array, Y: Array) -> Array:
        differences = self._differences(X, Y)
        total = self._term(next(differences))
        for z in differences:
            total += self._term(z)
        return total

    def _differences(self, X: Array, Y: Array) -> Iterator[Array]:
        left, right = self._taken(X) * self._rate(), self._taken(Y) * self._rate()
        for column in range(left.shape[1]):
            yield left[:, column, None] - right[None, :, column]

    def _fill_inverse_rate(self, rows: Array, at: LeafValues) -> None:
        """Write the derivatives for the logarithm of one over the rate."""
        rows[:] = 0
        if at.pair is not None:
            for column, z in enumerate(self._differences(*at.pair)):
                rows[column if len(rows) > 1 else 0] += z * self._term_slope(z)
            rows *= at.value

    def _input_gradient(self, X: Array, Y: Array) -> tuple[Array, Array]:
        gram = self._gram(X, Y)
        slopes = np.stack([self._term_slope(z) for z in self._differences(X, Y)], axis=-1)
        slopes *= self._rate()
        slopes *= -gram[:, :, None]
        return gram, self._placed(slopes, X.shape[1])


@dataclass(frozen=True)
class Periodic(Columnwise):
    r"""A pattern that repeats: :math:`v \exp(-\frac{2}{\ell^2} \sum_i \sin^2(\pi d_i / \lambda))`.

    Here d is the difference in a column, and all columns share the period.

    Parameters
    ----------
    columns : int, sequence of int or None
        Columns of X that it sees, counted from 0; None means all.
    period : float
        Distance after which the pattern repeats, in the unit of the columns.
    lengthscale : float
        Smoothness within a period, without a unit; small for a wiggly pattern.
    variance : float
        Height of the function, squared.
    fixed : sequence of str
        Hyperparameters left out of `theta`.

    References
    ----------
    He (2016), eq 2.5; Rasmussen and Williams (2006), eq 4.31.

    Examples
    --------
    >>> Periodic(0, period=7.0).gram([[0.0]], [[7.0], [3.5]]).round(4)
    array([[1.    , 0.1353]])
    """

    symbol: ClassVar[str] = "PER"
    kind: ClassVar[str] = "periodic"
    hyperparameters: ClassVar[tuple[str, ...]] = ("period", "lengthscale", "variance")

    columns: Any = None
    period: float = 1.0
    lengthscale: float = 1.0
    variance: float = 1.0
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def _rate(self) -> float:
        return np.pi / self.period

    def _term(self, z: Array) -> Array:
        np.sin(z, out=z)
        z *= z
        z *= 2 / self.lengthscale**2
        return z

    def _term_slope(self, z: Array) -> Array:
        return 2 / self.lengthscale**2 * np.sin(2 * z)

    def _fill_period(self, rows: Array, at: LeafValues) -> None:
        self._fill_inverse_rate(rows, at)

    def _fill_lengthscale(self, rows: Array, at: LeafValues) -> None:
        np.multiply(at.value, at.s, out=rows[0])
        rows[0] *= 2

    def _range_period(self, scale: DataScale) -> list[Range]:
        gap, extent = self._grain(scale)
        # With two distinct values twice the gap exceeds the range.
        low, high = sorted((2 * gap, extent))
        return [(low, math.sqrt(low * high), high)]

    def _range_lengthscale(self, scale: DataScale) -> list[Range]:
        gap, extent = self._grain(scale)
        literal = scale.periodic_lengthscale == "literal"
        return [(gap, 1.0, 2 * extent) if literal else (0.1, 1.0, 10.0)]

    def _grain(self, scale: DataScale) -> tuple[float, float]:
        """Return the smallest gap and the largest range of the columns."""
        columns = scale.chosen(self.columns)
        return min(map(scale.gap, columns)), max(map(scale.extent, columns))


@dataclass(frozen=True)
class Laplacian(Columnwise):
    r"""Continuous, rough functions: :math:`v \exp(-\sum_i |x_i - x_i'| / \ell_i)`.

    In one column it is `Matern` with nu = 1/2; with ``lengthscale = 1 / gamma`` it is
    scikit-learn's ``laplacian_kernel``.

    Parameters
    ----------
    columns, lengthscale, variance, fixed
        As in `SquaredExponential`.

    Examples
    --------
    >>> Laplacian(lengthscale=2.0).gram([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    symbol: ClassVar[str] = "LAP"
    kind: ClassVar[str] = "rough"
    hyperparameters: ClassVar[tuple[str, ...]] = ("lengthscale", "variance")
    several: ClassVar[tuple[str, ...]] = ("lengthscale",)
    per_column: ClassVar[tuple[str, ...]] = ("lengthscale",)

    columns: Any = None
    lengthscale: float | tuple[float, ...] = 1.0
    variance: float = 1.0
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def _rate(self) -> float | Array:
        lengthscale = self.numbers("lengthscale")
        return 1 / lengthscale[0] if len(lengthscale) == 1 else 1 / np.array(lengthscale)

    def _term(self, z: Array) -> Array:
        return np.abs(z, out=z)

    def _term_slope(self, z: Array) -> Array:
        return np.sign(z)

    def _fill_lengthscale(self, rows: Array, at: LeafValues) -> None:
        self._fill_inverse_rate(rows, at)

    def _range_lengthscale(self, scale: DataScale) -> list[Range]:
        if len(self.numbers("lengthscale")) == 1:
            return [scale.lengths(self.columns)]
        return [scale.lengths((column,)) for column in scale.chosen(self.columns)]
