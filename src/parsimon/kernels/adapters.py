"""To and from scikit-learn: its kernel objects, and the names that SVC takes; and any function.

scikit-learn is imported inside the functions, so that ``import parsimon.kernels`` stays light.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels._scales import DataScale, checked_matrix
from parsimon.kernels.base import Kernel
from parsimon.kernels.combination import Product, Sum
from parsimon.kernels.form import simplify
from parsimon.kernels.inner import Constant, Linear, Polynomial, Sigmoid
from parsimon.kernels.leaf import Leaf, LeafValues, Range
from parsimon.kernels.radial import (
    Laplacian,
    Matern,
    Periodic,
    RationalQuadratic,
    SquaredExponential,
)

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel as ScikitKernel

_NAMES = ("rbf", "linear", "poly", "sigmoid", "laplacian")


# Of the logarithm of a parameter, for central differences; and how far one may move, as a factor.
_STEP, _REACH = 1e-5, 1000.0


@dataclass(frozen=True)
class FunctionKernel(Leaf):
    """A kernel of one's own: any function of two tables of rows, times a variance.

    It adds, multiplies and is fitted as any other kernel. Derivatives for its parameters are taken
    by central differences.

    Parameters
    ----------
    function : callable
        ``function(X, Y, *parameters)`` returns the similarities of all rows of X with all rows of
        Y, shape (n, m), for X of shape (n, d) and Y of shape (m, d). It must be positive
        semi-definite. A function of a module can be saved with the model; a lambda cannot.
    columns : int, sequence of int or None
        Columns of X that it sees, counted from 0; None means all.
    parameters : sequence of float
        Where the fit of its parameters begins; all positive. The fit stays within a factor of
        1000 of them.
    variance : float
        Factor in front.
    fixed : sequence of str
        "variance" or "parameters", to be left as they are.

    Examples
    --------
    >>> def overlap(X, Y, width):
    ...     return np.exp(-np.abs(X[:, None] - Y).sum(axis=2) / width)
    >>> kernel = FunctionKernel(overlap, 0, parameters=(2.0,))
    >>> kernel.gram([[0.0], [2.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    >>> print(kernel + SquaredExponential(1))
    OWN_1 + SE_2
    """

    symbol: ClassVar[str] = "OWN"
    kind: ClassVar[str] = "of one's own"
    several: ClassVar[tuple[str, ...]] = ("parameters",)
    settings: ClassVar[tuple[str, ...]] = ("function",)

    function: Callable[..., Any]
    columns: Any = None
    parameters: tuple[float, ...] = ()
    variance: float = 1.0
    fixed: tuple[str, ...] = ()

    @property
    def hyperparameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """The variance, and the parameters if the function has any."""
        return ("variance", "parameters") if len(self.parameters) else ("variance",)

    def _similarity(self, X: Array, Y: Array) -> Array:
        return self._call(self._taken(X), self._taken(Y), self.parameters)

    def _self_similarity(self, X: Array) -> Array:
        rows = self._taken(X)
        pairs = [self._call(row, row, self.parameters)[0, 0] for row in rows[:, None]]
        return np.array(pairs, dtype=np.float64)

    def _value(self, s: Array, out: Array | None = None) -> Array:
        return s.copy() if out is None else out

    def _fill_parameters(self, rows: Array, at: LeafValues) -> None:
        assert at.pair is not None
        X, Y = map(self._taken, at.pair)
        logarithms = np.log(self.parameters)
        for place in range(len(self.parameters)):
            step = _STEP * (np.arange(len(logarithms)) == place)
            above, below = (tuple(np.exp(logarithms + sign * step)) for sign in (1, -1))
            change = self._call(X, Y, above) - self._call(X, Y, below)
            rows[place] = self.variance * change / (2 * _STEP)

    def _fill_diagonal(self, X: Array, out: Array) -> Array:
        each = np.empty((len(out), 1, 1))
        diagonal = np.empty(len(X))
        for place in range(len(X)):
            row = X[place : place + 1]
            diagonal[place] = self._fill_gradients(row, row, each)[0, 0]
            out[:, place] = each[:, 0, 0]
        return diagonal

    def _range_parameters(self, scale: DataScale) -> list[Range]:
        del scale
        return [(value / _REACH, value, value * _REACH) for value in self.parameters]

    def _input_gradient(self, X: Array, Y: Array) -> tuple[Array, Array]:
        gram = self._gram(X, Y)
        slopes = np.zeros((*gram.shape, X.shape[1]))
        for column in range(X.shape[1]) if self.columns is None else self.columns:
            step = _STEP * max(float(np.abs(X[:, column]).max(initial=0.0)), 1.0)
            moved = np.array(X)
            moved[:, column] += step
            above = self._gram(moved, Y)
            moved[:, column] -= 2 * step
            slopes[:, :, column] = (above - self._gram(moved, Y)) / (2 * step)
        return gram, slopes

    def _call(self, X: Array, Y: Array, parameters: tuple[float, ...]) -> Array:
        found = np.array(self.function(X, Y, *parameters), dtype=np.float64)
        if found.shape != (len(X), len(Y)):
            raise InvalidInputError(
                f"The kernel's function must return similarities of shape {(len(X), len(Y))} for "
                f"{len(X)} and {len(Y)} rows, got shape {found.shape}."
            )
        return found


def as_kernel(
    spec: Kernel | str,
    *,
    gamma: float | str = 1.0,
    degree: int = 3,
    coef0: float = 0.0,
    X: Any = None,
) -> Kernel:
    """Return a kernel from scikit-learn's name for it, with the meaning it has in SVC.

    Parameters
    ----------
    spec : Kernel or {"rbf", "linear", "poly", "sigmoid", "laplacian"}
        A kernel is returned as it is.
    gamma : float, "scale" or "auto"
        Factor of the squared distance ("rbf"), of the sum of absolute differences
        ("laplacian") or of the inner product ("poly", "sigmoid"); "linear" has none. "scale"
        is one over the number of columns times the variance of X, "auto" one over the number
        of columns.
    degree : int, default 3
        Degree of "poly".
    coef0 : float, default 0
        Added to the inner product in "poly" and "sigmoid".
    X : array-like of shape (n, d), optional
        Needed when gamma is "scale" or "auto".

    Examples
    --------
    >>> as_kernel("rbf", gamma=0.5)
    SquaredExponential(columns=None, lengthscale=1.0, variance=1.0, fixed=())
    """
    if isinstance(spec, Kernel):
        return spec
    if spec not in _NAMES:
        raise InvalidInputError(
            f"kernel must be a parsimon kernel or one of {', '.join(_NAMES)}; got {spec!r}."
        )
    if spec == "linear":
        return Linear()
    factor = _gamma(gamma, X)
    if spec == "rbf":
        return SquaredExponential(lengthscale=(2 * factor) ** -0.5)
    if spec == "laplacian":
        return Laplacian(lengthscale=1 / factor)
    if spec == "poly":
        return Polynomial(scale=factor, offset=coef0, degree=degree)
    return Sigmoid(scale=factor, offset=-coef0)


def _gamma(gamma: float | str, X: Any) -> float:
    if isinstance(gamma, str):
        if gamma not in {"scale", "auto"}:
            raise InvalidInputError(f'gamma must be a number, "scale" or "auto"; got {gamma!r}.')
        if X is None:
            raise InvalidInputError(f"gamma={gamma!r} is computed from data: give X as well.")
        matrix = checked_matrix(X)
        spread = float(np.var(matrix)) if gamma == "scale" else 1.0
        # As scikit-learn: a table of equal numbers has no scale.
        return 1.0 if spread == 0 else float(1 / (matrix.shape[1] * spread))
    if not 0 < gamma < np.inf:
        raise InvalidInputError(f"gamma must be positive and finite, got {gamma!r}.")
    return float(gamma)


def to_sklearn(kernel: Kernel, X: Any = None, **options: Any) -> "ScikitKernel":
    """Return a scikit-learn kernel with the same values, for its Gaussian processes.

    Where every leaf sees all columns and scikit-learn has the same formula, the result is an
    expression of its own kernels. Anything else, such as a leaf on chosen columns, is one
    object that calls this kernel; theta, bounds and gradients work as usual.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite.
    X : array-like of shape (n, d), optional
        Training inputs, to have the bounds of `Kernel.bounds`; without it they are
        scikit-learn's, 1e-5 to 1e5.
    **options
        Passed to `Kernel.bounds`.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> to_sklearn(SquaredExponential(lengthscale=2.0, variance=3.0))
    1.73**2 * RBF(length_scale=2)
    >>> to_sklearn(SquaredExponential(0) + SquaredExponential(1))
    KernelAdapter(SE_1 + SE_2)
    """
    if not kernel.is_psd:
        raise InvalidInputError(
            f"{kernel} is not positive semi-definite, which scikit-learn's Gaussian processes "
            "need. In SVC give the kernel itself: SVC(kernel=kernel)."
        )
    native = _native(kernel) if X is None else None
    if native is not None:
        return native
    from parsimon.kernels._sklearn_kernel import KernelAdapter

    bounds = None if X is None else kernel.bounds(X, **options)
    return KernelAdapter(kernel, bounds)


def _native(kernel: Kernel) -> "ScikitKernel | None":
    """Return scikit-learn's own expression, or None where it has no counterpart."""
    from sklearn.gaussian_process import kernels as scikit

    if isinstance(kernel, Sum | Product):
        parts = [_native(term) for term in kernel.terms]
        if any(part is None for part in parts):
            return None
        return reduce(scikit.Sum if isinstance(kernel, Sum) else scikit.Product, parts)
    if not isinstance(kernel, Leaf) or kernel.columns not in (None, ()):
        return None
    own = _native_leaf(kernel)
    if own is None or (kernel.variance == 1.0 and "variance" in kernel.fixed):
        return own
    constant = scikit.ConstantKernel(kernel.variance, **_held(kernel, variance="constant_value"))
    return constant if isinstance(kernel, Constant) else constant * own


def _native_leaf(leaf: Leaf) -> "ScikitKernel | None":
    """Return scikit-learn's kernel at unit variance."""
    from sklearn.gaussian_process import kernels as scikit

    if isinstance(leaf, Constant):
        return scikit.ConstantKernel(1.0, "fixed")
    if isinstance(leaf, SquaredExponential):
        return scikit.RBF(leaf.lengthscale, **_held(leaf, lengthscale="length_scale"))
    if isinstance(leaf, Matern):
        held = _held(leaf, lengthscale="length_scale")
        return scikit.Matern(leaf.lengthscale, nu=leaf.nu, **held)
    if isinstance(leaf, RationalQuadratic) and isinstance(leaf.lengthscale, float):
        held = _held(leaf, lengthscale="length_scale", mixture="alpha")
        return scikit.RationalQuadratic(leaf.lengthscale, alpha=leaf.mixture, **held)
    return None


def _held(leaf: Leaf, **names: str) -> dict[str, str]:
    """Return scikit-learn's mark for each hyperparameter that is fixed here."""
    return {f"{theirs}_bounds": "fixed" for ours, theirs in names.items() if ours in leaf.fixed}


def from_sklearn(kernel: "ScikitKernel", columns: Any = None) -> Kernel:
    """Return the kernel with the same Gram matrices as one of scikit-learn's.

    Understood are RBF, Matern (nu 0.5, 1.5, 2.5 or infinite), ConstantKernel,
    RationalQuadratic, DotProduct, their sums and products, ExpSineSquared on one column, and
    what `to_sklearn` made. Fixed hyperparameters stay fixed; the others are free.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        To translate.
    columns : int, sequence of int or None
        Columns that every leaf shall see; None means all.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from_sklearn(2.0 * RBF(3.0))
    SquaredExponential(columns=None, lengthscale=3.0, variance=2.0, fixed=())
    """
    return simplify(_translate(kernel, columns))


def _translate(kernel: "ScikitKernel", columns: Any) -> Kernel:
    from sklearn.gaussian_process import kernels as scikit

    if isinstance(kernel, scikit.Sum | scikit.Product):
        left, right = _translate(kernel.k1, columns), _translate(kernel.k2, columns)
        return left + right if isinstance(kernel, scikit.Sum) else left * right
    if isinstance(kernel, scikit.ConstantKernel):
        return Constant(kernel.constant_value, fixed=_fixed(kernel, constant_value="variance"))
    if isinstance(kernel, scikit.DotProduct):
        return _dot_product(kernel, columns)
    if isinstance(kernel, scikit.ExpSineSquared):
        return _sine(kernel, columns)
    if isinstance(kernel, scikit.RationalQuadratic):
        fixed = _fixed(kernel, length_scale="lengthscale", alpha="mixture")
        return RationalQuadratic(
            columns, kernel.length_scale, mixture=kernel.alpha, fixed=("variance", *fixed)
        )
    if isinstance(kernel, scikit.RBF):  # Matern is a subclass of it.
        return _radial(kernel, columns)
    if isinstance(getattr(kernel, "kernel", None), Kernel):
        return kernel.kernel
    raise InvalidInputError(_refusal(kernel))


def _radial(kernel: Any, columns: Any) -> Kernel:
    fixed = ("variance", *_fixed(kernel, length_scale="lengthscale"))
    nu = getattr(kernel, "nu", np.inf)
    if nu == np.inf:
        return SquaredExponential(columns, kernel.length_scale, fixed=fixed)
    if nu in (0.5, 1.5, 2.5):
        return Matern(columns, kernel.length_scale, nu=nu, fixed=fixed)
    raise InvalidInputError(f"Matern with nu={nu} has no counterpart; use 0.5, 1.5 or 2.5.")


def _dot_product(kernel: Any, columns: Any) -> Kernel:
    linear = Linear(columns, fixed=("variance",))
    if kernel.sigma_0 == 0:
        return linear
    return Constant(kernel.sigma_0**2, fixed=_fixed(kernel, sigma_0="variance")) + linear


def _sine(kernel: Any, columns: Any) -> Kernel:
    if columns is None or np.size(columns) != 1:
        raise InvalidInputError(
            "ExpSineSquared takes a sine of the Euclidean distance, which on several columns is "
            "not positive semi-definite. Name the one column it is for: columns=0."
        )
    fixed = _fixed(kernel, length_scale="lengthscale", periodicity="period")
    return Periodic(columns, kernel.periodicity, kernel.length_scale, fixed=("variance", *fixed))


def _fixed(kernel: Any, **names: str) -> tuple[str, ...]:
    return tuple(
        ours for theirs, ours in names.items() if getattr(kernel, f"hyperparameter_{theirs}").fixed
    )


def _refusal(kernel: Any) -> str:
    name = type(kernel).__name__
    if name == "WhiteKernel":
        return (
            "WhiteKernel is noise, not a similarity of inputs. Leave it out; the noise is a "
            "parameter of the model."
        )
    return f"{name} has no counterpart in parsimon.kernels."
