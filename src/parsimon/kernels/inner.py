"""Functions of an inner product: linear, polynomial and sigmoid kernels; and the constant."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from parsimon._checks import check_count
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels._scales import DataScale
from parsimon.kernels.leaf import Leaf, LeafValues, Range


class Inner(Leaf):
    """A leaf that sees s = the inner product of two rows.

    `_slope` returns variance * f'(s) from s and value = variance * f(s).
    """

    def _slope(self, at: LeafValues) -> Array:
        raise NotImplementedError

    def _shifted(self, X: Array) -> Array:
        return self._taken(X)

    def _similarity(self, X: Array, Y: Array) -> Array:
        left = self._shifted(X)
        return left @ (left if Y is X else self._shifted(Y)).T

    def _self_similarity(self, X: Array) -> Array:
        shifted = self._shifted(X)
        return np.einsum("ij,ij->i", shifted, shifted)

    def _input_gradient(self, X: Array, Y: Array) -> tuple[Array, Array]:
        s = self._similarity(X, Y)
        gram = self._times_variance(self._value(s))
        slopes = self._slope(LeafValues(s, gram))[:, :, None] * self._shifted(Y)[None, :, :]
        return gram, self._placed(slopes, X.shape[1])

    def _fill_scale(self, rows: Array, at: LeafValues) -> None:
        np.multiply(self._slope(at), at.s, out=rows[0])

    def _range_scale(self, scale: DataScale) -> list[Range]:
        guess = 1 / float(self._self_similarity(scale.X).mean())
        return [(guess / 100, guess, guess * 100)]


@dataclass(frozen=True)
class Linear(Inner):
    r"""Straight lines: :math:`v \sum_i (x_i - c_i)(x_i' - c_i)`.

    Parameters
    ----------
    columns : int, sequence of int or None
        Columns of X that it sees, counted from 0; None means all.
    variance : float
        Variance of the slope.
    centre : float or sequence of float
        Where the line is sure to be zero; one for each column if need be. It may be negative
        and is no part of `theta`; add a `Constant` to let the data move the line.
    fixed : sequence of str
        Hyperparameters left out of `theta`.

    References
    ----------
    Rasmussen and Williams (2006), section 4.2.2.

    Examples
    --------
    >>> Linear(0, centre=1.0).gram([[3.0]], [[4.0]])
    array([[6.]])
    """

    symbol: ClassVar[str] = "LIN"
    kind: ClassVar[str] = "linear"
    hyperparameters: ClassVar[tuple[str, ...]] = ("variance",)
    per_column: ClassVar[tuple[str, ...]] = ("centre",)

    columns: Any = None
    variance: float = 1.0
    centre: float | tuple[float, ...] = 0.0
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        centre = np.asarray(self.centre, dtype=np.float64)
        if centre.ndim > 1 or not np.isfinite(centre).all():
            raise InvalidInputError(f"centre must be finite, got {self.centre!r}.")
        self._store("centre", tuple(centre.tolist()) if centre.ndim else float(centre))

    def _shifted(self, X: Array) -> Array:
        return np.subtract(self._taken(X), self.centre)

    def _value(self, s: Array, out: Array | None = None) -> Array:
        return np.positive(s, out=out)

    def _slope(self, at: LeafValues) -> Array:
        return np.full_like(at.s, self.variance)


@dataclass(frozen=True)
class Polynomial(Inner):
    r"""Polynomials: :math:`v (\kappa \langle x, x' \rangle + \delta)^d`.

    Parameters
    ----------
    columns : int, sequence of int or None
        Columns of X that it sees, counted from 0; None means all.
    scale : float
        kappa, scikit-learn's ``gamma``.
    offset : float
        delta, scikit-learn's ``coef0``; below zero the kernel is indefinite. It is no part of
        `theta`, since scale and variance together reach every ratio of terms.
    degree : int
        d, one or more.
    variance : float
        Factor in front.
    fixed : sequence of str
        Hyperparameters left out of `theta`.

    References
    ----------
    Mierswa (2009), definition 2.10.

    Examples
    --------
    >>> Polynomial(degree=2).gram([[1.0, 1.0]], [[2.0, 0.0]])
    array([[9.]])
    """

    symbol: ClassVar[str] = "POLY"
    kind: ClassVar[str] = "polynomial"
    hyperparameters: ClassVar[tuple[str, ...]] = ("scale", "variance")
    settings: ClassVar[tuple[str, ...]] = ("degree",)

    columns: Any = None
    scale: float = 1.0
    offset: float = 1.0
    degree: int = 2
    variance: float = 1.0
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        # A fractional power of a negative inner product is not a real number.
        self._store("degree", check_count("degree", self.degree))
        self._store("offset", finite_number("offset", self.offset))

    @property
    def is_psd(self) -> bool:
        return self.offset >= 0

    def _value(self, s: Array, out: Array | None = None) -> Array:
        value = np.multiply(s, self.scale, out=out)
        value += self.offset
        return np.power(value, self.degree, out=value)

    def _slope(self, at: LeafValues) -> Array:
        # Not value / base: the base may be zero.
        power = np.power(self.scale * at.s + self.offset, self.degree - 1)
        return self.variance * self.degree * self.scale * power


@dataclass(frozen=True)
class Sigmoid(Inner):
    r"""A neural unit: :math:`v \tanh(\kappa \langle x, x' \rangle - \delta)`.

    Parameters
    ----------
    columns : int, sequence of int or None
        Columns of X that it sees, counted from 0; None means all.
    scale : float
        kappa, scikit-learn's ``gamma``.
    offset : float
        delta, any number: minus scikit-learn's ``coef0``. It is no part of `theta`.
    variance : float
        Factor in front.
    fixed : sequence of str
        Hyperparameters left out of `theta`.

    References
    ----------
    Mierswa (2009), definition 2.12.

    Examples
    --------
    >>> Sigmoid(offset=1.0).gram([[1.0]], [[1.0]])
    array([[0.]])
    """

    symbol: ClassVar[str] = "SIG"
    kind: ClassVar[str] = "sigmoid"
    hyperparameters: ClassVar[tuple[str, ...]] = ("scale", "variance")
    definite: ClassVar[bool] = False

    columns: Any = None
    scale: float = 1.0
    offset: float = 0.0
    variance: float = 1.0
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store("offset", finite_number("offset", self.offset))

    def _value(self, s: Array, out: Array | None = None) -> Array:
        value = np.multiply(s, self.scale, out=out)
        value -= self.offset
        return np.tanh(value, out=value)

    def _slope(self, at: LeafValues) -> Array:
        return self.variance * self.scale * (1 - (at.value / self.variance) ** 2)

    def _typical(self, scale: DataScale) -> float:
        # The hyperbolic tangent may be zero on the whole diagonal.
        return max(0.1, super()._typical(scale))


@dataclass(frozen=True)
class Constant(Leaf):
    """The same value everywhere: functions that are flat lines.

    Parameters
    ----------
    variance : float
        The value.
    fixed : sequence of str
        ``("variance",)`` leaves it out of `theta`.

    Examples
    --------
    >>> Constant(2.0).gram([[0.0], [1.0]])
    array([[2., 2.],
           [2., 2.]])
    """

    symbol: ClassVar[str] = "C"
    kind: ClassVar[str] = "constant"
    hyperparameters: ClassVar[tuple[str, ...]] = ("variance",)
    columns: ClassVar[tuple[int, ...]] = ()

    variance: float = 1.0
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def _store_columns(self) -> None:
        """Leave the class attribute: no columns."""

    def _similarity(self, X: Array, Y: Array) -> Array:
        return np.ones((len(X), len(Y)))

    def _self_similarity(self, X: Array) -> Array:
        return np.ones(len(X))

    def _value(self, s: Array, out: Array | None = None) -> Array:
        return np.positive(s, out=out)

    def _input_gradient(self, X: Array, Y: Array) -> tuple[Array, Array]:
        return self._gram(X, Y), np.zeros((len(X), len(Y), X.shape[1]))


def finite_number(name: str, value: Any) -> float:
    """Return `value` as a float, refusing NaN, infinities and what is no number."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be a number, got {value!r}.") from error
    if not np.isfinite(number):
        raise InvalidInputError(f"{name} must be finite, got {value!r}.")
    return number
