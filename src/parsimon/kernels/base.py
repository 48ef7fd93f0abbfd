"""The kernel algebra: values that combine with ``+`` and ``*``, never objects that change.

Read `Kernel` first, then `Sum` and `Product` in `combination.py`; the leaves in `radial.py`,
`inner.py` and `indefinite_kernels.py` are one formula each. A public method checks its
arrays once and hands them to the method of the same name with an underscore, so that a deep
expression does not check the same array at every leaf.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels._scales import DataScale, checked_matrix


class Kernel(ABC):
    """A similarity of two rows, with hyperparameters that are seen in logarithms.

    Kernels are frozen dataclasses: hashable, and equal when type, columns and every number are
    equal. ``a + b`` and ``a * b`` are kernels whose Gram matrices are the sum and the product
    of the parts'. A number stands for a `Constant`. A kernel is also a callable, so it can be
    given to scikit-learn as ``SVC(kernel=k)``.

    ``a * b`` has one free variance, not one for each factor, since only their product matters;
    ``Product((a, b))`` keeps both.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> kernel = SquaredExponential(0) + SquaredExponential(2) * SquaredExponential(3)
    >>> print(kernel)
    SE_1 + SE_3 × SE_4
    >>> kernel.theta_names[-3:]
    ('lengthscale of x3', 'variance of x3 × x4', 'lengthscale of x4')
    """

    # NumPy scalars would otherwise turn 2.0 * kernel into an array of objects.
    __array_ufunc__ = None

    @property
    @abstractmethod
    def columns(self) -> Any:
        """Active columns of X in increasing order, a tuple; None means all of them."""

    @property
    @abstractmethod
    def is_psd(self) -> bool:
        """Whether every Gram matrix is positive semi-definite."""

    @property
    @abstractmethod
    def theta(self) -> Array:
        """Logarithms of the free hyperparameters, shape (p,)."""

    @property
    @abstractmethod
    def n_theta(self) -> int:
        """Number of free hyperparameters, p."""

    @property
    def theta_names(self) -> tuple[str, ...]:
        """What each entry of `theta` is; `name_theta` writes column names instead of x1."""
        from parsimon.kernels.words import name_theta

        return name_theta(self)

    @abstractmethod
    def with_theta(self, theta: Array) -> Self:
        """Return a copy with these log hyperparameters; `self` is untouched."""

    def gram(self, X: Any, Y: Any = None) -> Array:
        """Return k(x_i, y_j), shape (n, m); with no Y, k(x_i, x_j)."""
        return self._gram(*self._checked_pair(X, Y))

    __call__ = gram

    def diagonal(self, X: Any) -> Array:
        """Return k(x_i, x_i), shape (n,)."""
        return self._diagonal(self._checked(X))

    def column(self, X: Array, index: int) -> Array:
        """Return column `index` of ``gram(X)``, shape (n,), at the cost of n entries.

        Made for pivoted Cholesky, which calls it once for each pivot: X is a float matrix that
        was checked before.
        """
        return self._gram(X, X[index : index + 1])[:, 0]

    def gradients(self, X: Any, Y: Any = None) -> tuple[Array, Array]:
        """Return the Gram matrix (n, m) and its derivatives for `theta`, shape (p, n, m)."""
        X, Y = self._checked_pair(X, Y)
        derivatives = np.empty((self.n_theta, len(X), len(Y)))
        return self._fill_gradients(X, Y, derivatives), derivatives

    def diagonal_gradients(self, X: Any) -> Array:
        """Return the derivatives of the diagonal for `theta`, shape (p, n)."""
        X = self._checked(X)
        derivatives = np.empty((self.n_theta, len(X)))
        self._fill_diagonal(X, derivatives)
        return derivatives

    def input_gradient(self, X: Any, Y: Any) -> Array:
        """Return d k(x_i, y_j) / d x_i, shape (n, m, d); zero where there is a kink."""
        return self._input_gradient(*self._checked_pair(X, Y))[1]

    def bounds(
        self,
        X: Any,
        *,
        names: Sequence[str] | None = None,
        gap_floor: float = 0.0,
        periodic_lengthscale: str = "dimensionless",
        variance: tuple[float, float] = (0.04, 400.0),
    ) -> Array:
        """Return bounds of `theta` that keep a fit between the grain and the extent of the data.

        A lengthscale lies between the smallest gap of its column and twice the range (He 2016,
        eq 3.5); one lengthscale shared by several columns lies between the smallest distance of
        two distinct rows and twice the largest (of 2,000 rows spread evenly over the table when
        there are more). A period lies between twice the gap and the range. A `variance` is
        bounded so that the prior variance of the term, averaged over the rows, lies within the
        given limits: for stationary kernels these are the limits themselves.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training inputs, without constant columns among those that the kernel uses.
        names : sequence of str, optional
            Column names for error messages; taken from a data frame when there is one.
        gap_floor : float, default 0
            Least gap, as a share of the column's range. A column measured finely has so small
            a gap that the bound of eq 3.5 does not bind; 0.01 makes it.
        periodic_lengthscale : {"dimensionless", "literal"}
            The lengthscale of `Periodic` multiplies a sine and has no unit: [0.1, 10].
            "literal" applies eq 3.5 to it, as the source does.
        variance : pair of float, default (0.04, 400)
            Limits of the prior variance of each free term.

        Returns
        -------
        ndarray of shape (p, 2)
            Lower and upper bounds of the logarithms.

        References
        ----------
        He, "The Automatic Statistician for Classification" (2016), eq 3.5.

        Examples
        --------
        >>> import numpy as np
        >>> from parsimon.kernels import SquaredExponential
        >>> np.exp(SquaredExponential(0).bounds([[0.0], [1.0], [3.0]])).round(2).tolist()
        [[1.0, 6.0], [0.04, 400.0]]
        """
        scale = DataScale.measure(
            X,
            names=names,
            gap_floor=gap_floor,
            periodic_lengthscale=periodic_lengthscale,
            variance=variance,
        )
        self._checked(scale.X)
        return self._bounds(scale, 1.0)

    def start(self, X: Any, **options: Any) -> Self:
        """Return a copy with values from the data, inside ``bounds(X, **options)``.

        Lengthscales are standard deviations, variances one; fixed values stay as they are.
        """
        scale = DataScale.measure(X, **options)
        self._checked(scale.X)
        low, high = self._bounds(scale, 1.0).T
        return self.with_theta(np.clip(self._start(scale, 1.0), low, high))

    def __add__(self, other: Any) -> "Kernel":
        from parsimon.kernels.combination import add

        right = _as_value(other)
        return NotImplemented if right is None else add(self, right)

    def __radd__(self, other: Any) -> "Kernel":
        # The built-in sum() begins with 0.
        if isinstance(other, Real) and other == 0:
            return self
        left = _as_value(other)
        return NotImplemented if left is None else left + self

    def __mul__(self, other: Any) -> "Kernel":
        from parsimon.kernels.combination import multiply

        right = _as_value(other)
        return NotImplemented if right is None else multiply(self, right)

    def __rmul__(self, other: Any) -> "Kernel":
        left = _as_value(other)
        return NotImplemented if left is None else left * self

    def __str__(self) -> str:
        from parsimon.kernels.words import plain

        return plain(self)

    def _checked(self, X: Any, name: str = "X") -> Array:
        matrix = checked_matrix(X, name)
        if self.columns and self.columns[-1] >= matrix.shape[1]:
            raise InvalidInputError(
                f"The kernel uses column {self.columns[-1]} (counted from 0), but {name} has only "
                f"{matrix.shape[1]} columns."
            )
        return matrix

    def _checked_pair(self, X: Any, Y: Any) -> tuple[Array, Array]:
        X = self._checked(X)
        if Y is None:
            return X, X
        Y = self._checked(Y, "Y")
        if X.shape[1] != Y.shape[1]:
            raise InvalidInputError(
                f"X has {X.shape[1]} columns and Y has {Y.shape[1]}; they must have the same."
            )
        return X, Y

    @abstractmethod
    def _gram(self, X: Array, Y: Array) -> Array: ...

    @abstractmethod
    def _diagonal(self, X: Array) -> Array: ...

    @abstractmethod
    def _fill_gradients(self, X: Array, Y: Array, out: Array) -> Array:
        """Write the derivatives into `out`, shape (p, n, m), and return the Gram matrix."""

    @abstractmethod
    def _fill_diagonal(self, X: Array, out: Array) -> Array:
        """Write the derivatives into `out`, shape (p, n), and return the diagonal."""

    @abstractmethod
    def _input_gradient(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """Return the Gram matrix and its derivatives for X."""

    @abstractmethod
    def _bounds(self, scale: DataScale, weight: float) -> Array:
        """Return bounds; `weight` is what the kernel is multiplied with, on average."""

    @abstractmethod
    def _start(self, scale: DataScale, weight: float) -> Array: ...

    @abstractmethod
    def _typical(self, scale: DataScale) -> float:
        """Return the diagonal over the leading variance, averaged over the data."""

    @property
    @abstractmethod
    def own_scale(self) -> float:
        """The variance that stands in front: the first one of a sum."""

    @property
    @abstractmethod
    def scale_is_free(self) -> bool:
        """Whether some free hyperparameters multiply the whole kernel by any number."""

    @property
    @abstractmethod
    def can_carry_scale(self) -> bool:
        """Whether freeing its leading variance would only free the scale of the whole."""

    @abstractmethod
    def rescaled(self, factor: float, divisor: float = 1.0) -> Self:
        """Return `factor` times this kernel over `divisor`; v * 1 / v is exactly one."""

    @abstractmethod
    def with_scale(self, *, free: bool) -> Self:
        """Return a copy whose scale is free, or whose leading variance is fixed."""


def _as_value(other: Any) -> Kernel | None:
    """Return a kernel as it is and a number as a constant; nothing else combines."""
    if isinstance(other, Kernel):
        return other
    if isinstance(other, Real):
        from parsimon.kernels.inner import Constant

        return Constant(float(other))
    return None
