"""Functions of a distance: squared exponential, Matérn, rational quadratic; periodic, Laplacian.

The first three see one scaled distance (`Radial`), the other two a sum over columns
(`Columnwise`): each of these is a product of one-dimensional kernels, and that is what makes it
positive semi-definite. A sine of the Euclidean distance, which other packages use on several
columns, is not.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels._scales import DataScale
from parsimon.kernels.leaf import Leaf, LeafValues, Range

# From here on a matrix product beats one pass per column, and rounding stays below 1e-12.
_MANY_COLUMNS = 16
# From here on one pass over all columns beats a pass for each by far; the sum is the same but for
# rounding.
_WIDE = 1000


def inverse_lengthscale(leaf: Leaf) -> float | Array:
    """Return one over the lengthscale of all columns, or of each."""
    lengthscale = leaf.numbers("lengthscale")
    return 1 / lengthscale[0] if len(lengthscale) == 1 else 1 / np.array(lengthscale)


def lengthscale_ranges(leaf: Leaf, scale: DataScale) -> list[Range]:
    """Return the range of the lengthscale of all columns, or of each."""
    if len(leaf.numbers("lengthscale")) == 1:
        return [scale.lengths(leaf.columns)]
    return [scale.lengths((column,)) for column in scale.chosen(leaf.columns)]


class Radial(Leaf):
    """A leaf that sees s = sum over columns of squared differences over squared lengthscales.

    `_slope` returns variance * f'(s), of the shape of s.
    """

    several: ClassVar[tuple[str, ...]] = ("lengthscale",)
    per_column: ClassVar[tuple[str, ...]] = ("lengthscale",)

    def _inverse_scale(self) -> float | Array:
        return inverse_lengthscale(self)

    def _slope(self, at: LeafValues) -> Array:
        raise NotImplementedError

    def _similarity(self, X: Array, Y: Array) -> Array:
        inverse = self._inverse_scale()
        left = self._taken(X) * inverse
        return squared_distances(left, left if Y is X else self._taken(Y) * inverse)

    def _self_similarity(self, X: Array) -> Array:
        return np.zeros(len(X))

    def _gram(self, X: Array, Y: Array) -> Array:
        n_columns = X.shape[1] if self.columns is None else len(self.columns)
        if Y is not X or len(X) < 2 or n_columns >= _MANY_COLUMNS:
            return super()._gram(X, Y)
        scaled = self._taken(X) * self._inverse_scale()
        # Half of a symmetric matrix needs half of the exponentials: twice as fast in all.
        half = pdist(scaled, "sqeuclidean")
        gram = squareform(self._times_variance(self._value(half, half)), checks=False)
        np.fill_diagonal(gram, self._diagonal(X[:1]))
        return gram

    def _fill_lengthscale(self, rows: Array, at: LeafValues) -> None:
        slope = self._slope(at)
        if len(rows) == 1 or at.pair is None:
            rows[:] = at.s
        else:
            left, right = (self._taken(Z) * self._inverse_scale() for Z in at.pair)
            for column, row in enumerate(rows):
                np.subtract(left[:, column, None], right[None, :, column], out=row)
                row *= row
        rows *= slope
        rows *= -2

    def _range_lengthscale(self, scale: DataScale) -> list[Range]:
        return lengthscale_ranges(self, scale)

    def _input_gradient(self, X: Array, Y: Array) -> tuple[Array, Array]:
        s = self._similarity(X, Y)
        gram = self._times_variance(self._value(s))
        slopes = self._taken(X)[:, None, :] - self._taken(Y)[None, :, :]
        slopes *= 2 * np.square(self._inverse_scale())
        slopes *= self._slope(LeafValues(s, gram))[:, :, None]
        return gram, self._placed(slopes, X.shape[1])


@dataclass(frozen=True)
class SquaredExponential(Radial):
    r"""Smooth functions: :math:`v \exp(-\sum_i (x_i - x_i')^2 / 2 \ell_i^2)`.

    Parameters
    ----------
    columns : int, sequence of int or None
        Columns of X that it sees, counted from 0; None means all.
    lengthscale : float or sequence of float
        How far the function stays similar; one for each column to let each have its own
        (automatic relevance determination).
    variance : float
        Height of the function, squared.
    fixed : sequence of str
        Hyperparameters left out of `theta`, for instance ``("variance",)``.

    References
    ----------
    Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), eq 4.9.

    Examples
    --------
    >>> SquaredExponential(0, lengthscale=2.0).gram([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    symbol: ClassVar[str] = "SE"
    kind: ClassVar[str] = "smooth"
    hyperparameters: ClassVar[tuple[str, ...]] = ("lengthscale", "variance")

    columns: Any = None
    lengthscale: float | tuple[float, ...] = 1.0
    variance: float = 1.0
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def _value(self, s: Array, out: Array | None = None) -> Array:
        value = np.multiply(s, -0.5, out=out)
        return np.exp(value, out=value)

    def _slope(self, at: LeafValues) -> Array:
        return -0.5 * at.value


@dataclass(frozen=True)
class Matern(Radial):
    r"""Rougher functions: with :math:`r = \sqrt{2\nu s}`, s the scaled squared distance.

    nu = 1/2: :math:`v e^{-r}`, continuous; nu = 3/2: :math:`v (1 + r) e^{-r}`, once
    differentiable; nu = 5/2: :math:`v (1 + r + r^2/3) e^{-r}`, twice.

    Parameters
    ----------
    columns, lengthscale, variance, fixed
        As in `SquaredExponential`.
    nu : {0.5, 1.5, 2.5}
        Smoothness; the limit of large nu is the squared exponential.

    References
    ----------
    Rasmussen and Williams (2006), eq 4.17.

    Examples
    --------
    >>> Matern(0, nu=0.5).gram([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    kind: ClassVar[str] = "rough"
    hyperparameters: ClassVar[tuple[str, ...]] = ("lengthscale", "variance")
    settings: ClassVar[tuple[str, ...]] = ("nu",)

    columns: Any = None
    lengthscale: float | tuple[float, ...] = 1.0
    variance: float = 1.0
    nu: float = 1.5
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise InvalidInputError(f"nu must be 0.5, 1.5 or 2.5, got {self.nu!r}.")
        self._store("nu", float(self.nu))

    @property
    def symbol(self) -> str:  # type: ignore[override]
        """MAT12, MAT32 or MAT52."""
        return f"MAT{round(2 * self.nu)}2"

    def _value(self, s: Array, out: Array | None = None) -> Array:
        r = np.multiply(s, 2 * self.nu, out=out)
        np.sqrt(r, out=r)
        decay = np.exp(-r)
        if self.nu == 0.5:
            return decay
        if self.nu == 2.5:
            r *= 1 + r / 3
        r += 1
        r *= decay
        return r

    def _slope(self, at: LeafValues) -> Array:
        r: Array = np.sqrt(2 * self.nu * at.s)
        if self.nu == 0.5:
            # The kink at distance zero: what multiplies the slope is zero there, so any finite
            # number gives the derivative zero.
            return -0.5 * at.value / np.maximum(r, 1e-150)
        if self.nu == 1.5:
            return -1.5 * at.value / (1 + r)
        return -5 / 6 * at.value * (1 + r) / (1 + r * (1 + r / 3))


@dataclass(frozen=True)
class RationalQuadratic(Radial):
    r"""A mixture of squared exponentials of many lengthscales: :math:`v (1 + s/2m)^{-m}`.

    Parameters
    ----------
    columns, lengthscale, variance, fixed
        As in `SquaredExponential`.
    mixture : float
        m above (scikit-learn's ``alpha``): small for many lengthscales at once; the limit of
        large m is the squared exponential.

    References
    ----------
    Rasmussen and Williams (2006), eq 4.19.

    Examples
    --------
    >>> RationalQuadratic(0, mixture=1.0).gram([[0.0]], [[2.0]]).round(4)
    array([[0.3333]])
    """

    symbol: ClassVar[str] = "RQ"
    kind: ClassVar[str] = "multi-scale"
    hyperparameters: ClassVar[tuple[str, ...]] = ("lengthscale", "mixture", "variance")

    columns: Any = None
    lengthscale: float | tuple[float, ...] = 1.0
    variance: float = 1.0
    mixture: float = 1.0
    fixed: tuple[str, ...] = field(default=(), kw_only=True)

    def _value(self, s: Array, out: Array | None = None) -> Array:
        value = np.divide(s, 2 * self.mixture, out=out)
        # Not a logarithm of 1 + value, which would lose s when the mixture is large.
        np.log1p(value, out=value)
        value *= -self.mixture
        return np.exp(value, out=value)

    def _slope(self, at: LeafValues) -> Array:
        return -0.5 * at.value / (1 + at.s / (2 * self.mixture))

    def _fill_mixture(self, rows: Array, at: LeafValues) -> None:
        part = at.s / (2 * self.mixture)
        rows[0] = at.value * self.mixture * (part / (1 + part) - np.log1p(part))

    def _range_mixture(self, _: DataScale) -> list[Range]:
        return [(0.1, 1.0, 100.0)]


def squared_distances(left: Array, right: Array) -> Array:
    """Return squared Euclidean distances of all pairs of rows, shape (n, m)."""
    if left.shape[1] == 1:
        distances: Array = left - right.T
        distances *= distances
        return distances
    if left.shape[1] < _MANY_COLUMNS:
        return cdist(left, right, "sqeuclidean")
    # Centred, so that the expansion of the square does not cancel large means.
    centre = right.mean(axis=0)
    same = left is right
    left, right = left - centre, right - centre
    distances = -2 * left @ right.T
    distances += np.einsum("ij,ij->i", left, left)[:, None]
    distances += np.einsum("ij,ij->i", right, right)
    np.maximum(distances, 0, out=distances)
    if same:
        np.fill_diagonal(distances, 0)
    return distances


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
        return inverse_lengthscale(self)

    def _similarity(self, X: Array, Y: Array) -> Array:
        left, right = self._taken(X), self._taken(Y)
        if left.shape[1] < _WIDE:
            return super()._similarity(X, Y)
        return cdist(left * self._rate(), right * self._rate(), "cityblock")

    def _term(self, z: Array) -> Array:
        return np.abs(z, out=z)

    def _term_slope(self, z: Array) -> Array:
        return np.sign(z)

    def _fill_lengthscale(self, rows: Array, at: LeafValues) -> None:
        self._fill_inverse_rate(rows, at)

    def _range_lengthscale(self, scale: DataScale) -> list[Range]:
        return lengthscale_ranges(self, scale)
