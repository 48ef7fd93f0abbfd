"""Kernels of a distance that are not positive semi-definite, for learners that do without it.

Mierswa (2009), chapter 4, learns with them, and with `Sigmoid`, by evolution. Each has `is_psd`
False: its Gram matrix may have negative eigenvalues, so it is no covariance and no prior can be
drawn from it.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels._scales import DataScale
from parsimon.kernels.leaf import LeafValues, Range
from parsimon.kernels.radial import Radial


class Width(Radial):
    """A radial leaf whose `width` divides the squared distance, as in the source."""

    several: ClassVar[tuple[str, ...]] = ()
    per_column: ClassVar[tuple[str, ...]] = ()
    definite: ClassVar[bool] = False

    def _inverse_scale(self) -> float:
        return math.sqrt(1 / self.numbers("width")[0])

    def _fill_width(self, rows: Array, at: LeafValues) -> None:
        np.multiply(self._slope(at), at.s, out=rows[0])
        rows *= -1

    def _range_width(self, scale: DataScale) -> list[Range]:
        low, guess, high = scale.lengths(self.columns)
        return [(low**2, guess**2, high**2)]


@dataclass(frozen=True)
class Epanechnikov(Width):
    r"""A bump that ends: :math:`v (1 - \|x - x'\|^2/\sigma)^d` up to the width, then zero.

    Parameters
    ----------
    columns : int, sequence of int or None
        Columns of X that it sees, counted from 0; None means all.
    width : float
        sigma, in squared units of the columns.
    degree : float
        d, any positive number.
    variance : float
        Factor in front.
    fixed : sequence of str
        Hyperparameters left out of `theta`.

    References
    ----------
    Mierswa (2009), definition 4.2.

    Examples
    --------
    >>> Epanechnikov(width=4.0, degree=2.0).gram([[0.0]], [[1.0], [3.0]])
    array([[0.5625, 0.    ]])
    """

    symbol: ClassVar[str] = "EPA"
    kind: ClassVar[str] = "local"
    hyperparameters: ClassVar[tuple[str, ...]] = ("width", "degree", "variance")

    columns: Any = None
    width: float = 1.0
    degree: float = 1.0
    variance: float = 1.0
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def _value(self, s: Array, out: Array | None = None) -> Array:
        value = np.subtract(1, s, out=out)
        np.maximum(value, 0, out=value)
        return np.power(value, self.degree, out=value)

    def _slope(self, at: LeafValues) -> Array:
        inside = at.s < 1
        return np.where(inside, -self.degree * at.value / np.where(inside, 1 - at.s, 1), 0)

    def _fill_degree(self, rows: Array, at: LeafValues) -> None:
        rows[0] = self.degree * at.value * np.log1p(-np.where(at.s < 1, at.s, 0))

    def _range_degree(self, _: DataScale) -> list[Range]:
        return [(1.0, 1.0, 10.0)]


@dataclass(frozen=True)
class Multiquadric(Width):
    r"""Grows with distance: :math:`v \sqrt{\|x - x'\|^2/\sigma + c^2}`.

    Parameters
    ----------
    columns, width, variance, fixed
        As in `Epanechnikov`.
    offset : float
        c, positive.

    References
    ----------
    Mierswa (2009), definition 4.4.

    Examples
    --------
    >>> Multiquadric(offset=3.0).gram([[0.0]], [[4.0]])
    array([[5.]])
    """

    symbol: ClassVar[str] = "MQ"
    kind: ClassVar[str] = "multiquadric"
    hyperparameters: ClassVar[tuple[str, ...]] = ("width", "offset", "variance")

    columns: Any = None
    width: float = 1.0
    offset: float = 1.0
    variance: float = 1.0
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def _value(self, s: Array, out: Array | None = None) -> Array:
        value = np.add(s, self.offset**2, out=out)
        return np.sqrt(value, out=value)

    def _slope(self, at: LeafValues) -> Array:
        return self.variance**2 / (2 * at.value)

    def _fill_offset(self, rows: Array, at: LeafValues) -> None:
        rows[0] = (self.variance * self.offset) ** 2 / at.value

    def _range_offset(self, _: DataScale) -> list[Range]:
        return [(0.01, 1.0, 100.0)]


@dataclass(frozen=True)
class GaussianCombination(Radial):
    r"""Two bumps less a third: :math:`v (e^{-D/\sigma_1} + e^{-D/\sigma_2} - e^{-D/\sigma_3})`.

    D is the squared distance.

    Parameters
    ----------
    columns, variance, fixed
        As in `Epanechnikov`.
    widths : three floats
        sigma_1, sigma_2 (added) and sigma_3 (subtracted), in squared units of the columns.

    References
    ----------
    Mierswa (2009), definition 4.3.

    Examples
    --------
    >>> GaussianCombination(widths=(1.0, 1.0, 1.0)).gram([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    symbol: ClassVar[str] = "GC"
    kind: ClassVar[str] = "combined"
    hyperparameters: ClassVar[tuple[str, ...]] = ("widths", "variance")
    several: ClassVar[tuple[str, ...]] = ("widths",)
    per_column: ClassVar[tuple[str, ...]] = ()
    definite: ClassVar[bool] = False

    columns: Any = None
    widths: tuple[float, ...] = (1.0, 2.0, 0.5)
    variance: float = 1.0
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.shape(self.widths) != (3,):
            raise InvalidInputError(f"widths must be three numbers, got {self.widths!r}.")

    def _inverse_scale(self) -> float | Array:
        return 1.0

    def _bumps(self, s: Array) -> list[Array]:
        signs = (1, 1, -1)
        return [sign * np.exp(s / -w) for sign, w in zip(signs, self.widths, strict=True)]

    def _value(self, s: Array, out: Array | None = None) -> Array:
        first, second, third = self._bumps(s)
        first += second
        return np.add(first, third, out=out)

    def _slope(self, at: LeafValues) -> Array:
        bumps = zip(self._bumps(at.s), self.widths, strict=True)
        return -self.variance * np.add.reduce([bump / width for bump, width in bumps])

    def _fill_widths(self, rows: Array, at: LeafValues) -> None:
        for row, bump, width in zip(rows, self._bumps(at.s), self.widths, strict=True):
            np.multiply(bump, at.s, out=row)
            row *= self.variance / width

    def _range_widths(self, scale: DataScale) -> list[Range]:
        low, guess, high = scale.lengths(self.columns)
        # Three different first guesses: at equal widths two derivatives are the same.
        return [(low**2, factor * guess**2, high**2) for factor in (1.0, 2.0, 0.5)]
