"""From rows to a design whose weights are independent: columns in units of their own, or a kernel.

A kernel matrix of low rank is a design itself: pivoted Cholesky factorises it as ``F @ F.T`` from
the columns of some rows, the centres, and F at new rows needs similarities with the centres only.
What the centres leave out of a row's prior variance is kept, and counts as noise of that row.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize_scalar

from parsimon._typing import Array, Indices
from parsimon.bpm._label_terms import LabelTerms
from parsimon.bpm._weights import WeightPrior, fit_weights, leave_one_out, spaced_rows
from parsimon.exceptions import InvalidInputError
from parsimon.inference import classification_evidence, maximise_evidence
from parsimon.kernels import (
    FunctionKernel,
    Kernel,
    Laplacian,
    Polynomial,
    SquaredExponential,
    from_sklearn,
)
from parsimon.linalg import pivoted_cholesky

# Widths are compared on so many rows.
COMPARED_ROWS = 400
# A width lies between these, in units of the root of the number of columns, which is the typical
# distance of two standard rows.
NARROW, WIDE = 0.1, 8.0
# Of the mean prior variance, that the centres may leave out; and how many centres there may be.
LEFT_OUT = 1e-6
MOST_CENTRES = 500
# Of the greatest eigenvalue, that the least may be below zero by rounding of similarities.
ROUNDED = 0.05


class Standard(NamedTuple):
    """Columns less their centres, in their units.

    Shapes: centre, unit (d,).
    """

    centre: Array
    unit: Array

    @classmethod
    def of(cls, X: Array, weights: Array) -> "Standard":
        """Return means and standard deviations, or one for a column that does not vary."""
        centre = np.average(X, axis=0, weights=weights)
        variance = np.average(np.square(X - centre), axis=0, weights=weights)
        return cls(centre, units(variance, centre))

    @classmethod
    def none(cls, n_columns: int) -> "Standard":
        """Return what leaves columns as they are."""
        return cls(np.zeros(n_columns), np.ones(n_columns))

    def rows(self, X: Array) -> Array:
        """Return rows in these units, shape (m, d)."""
        return (X - self.centre) / self.unit

    def columns(self, X: Array) -> Array:
        """Return rows in these units with a constant behind them, shape (m, d + 1)."""
        return np.column_stack([self.rows(X), np.ones(len(X))])


def units(variance: Array, centre: Array) -> Array:
    """Return standard deviations; one where they are nothing but rounding of the centre."""
    unit = np.sqrt(np.maximum(variance, 0.0))
    varies = unit > 64 * np.finfo(np.float64).eps * np.abs(centre)
    return np.where(varies & (unit > 0), unit, 1.0)


class DesignAt(NamedTuple):
    """A design, and prior variance of the latent values that its weights do not carry.

    Shapes: design (m, p), extra (m,).
    """

    design: Array
    extra: Array


@dataclass(frozen=True, eq=False)
class LinearFeatures:
    """The columns and a constant."""

    standard: Standard

    def at(self, X: Array) -> DesignAt:
        """Return the design at rows of the user's table."""
        return DesignAt(self.standard.columns(X), np.zeros(len(X)))


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """Features of a kernel at some centres, and a constant.

    centres (r, k): Rows in standard units.
    root (r, r): Cholesky factor of the kernel matrix of the centres.
    """

    standard: Standard
    kernel: Kernel
    centres: Array
    root: Array

    @classmethod
    def of(cls, kernel: Kernel, standard: Standard, X: Array) -> tuple["KernelFeatures", DesignAt]:
        """Return the features of a kernel in standard units, and their design at the rows."""
        rows = standard.rows(X)
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = kernel.diagonal(rows)
        if not np.isfinite(diagonal).all():
            raise InvalidInputError(
                f"The kernel of row {int(np.argmin(np.isfinite(diagonal)))} with itself is not "
                "finite; give columns in larger units, or standardise=True."
            )
        pivots, root, design = _factorise(
            lambda some, columns: kernel.gram(rows[some], rows[columns]), diagonal
        )
        return cls(standard, kernel, rows[pivots], root), design

    def at(self, X: Array) -> DesignAt:
        """Return the design at rows of the user's table."""
        rows = self.standard.rows(X)
        return _at_centres(
            self.kernel.gram(rows, self.centres), self.root, self.kernel.diagonal(rows)
        )


@dataclass(frozen=True, eq=False)
class GramFeatures:
    """Features of a kernel that is known by its matrix.

    pivots (r,): Training rows that are centres.
    root (r, r): Cholesky factor of their part of the matrix.
    own: Prior variance of a new row: the mean of the training rows'.
    """

    pivots: Indices
    root: Array
    own: float
    standard: Standard = field(default_factory=lambda: Standard.none(0))

    @classmethod
    def of(cls, gram: Array, used: Indices) -> tuple["GramFeatures", DesignAt]:
        """Return features from similarities of all training rows, and the design at some."""
        size = float(np.abs(gram).max(initial=0.0))
        if gram.shape[0] != gram.shape[1] or not np.allclose(
            gram, gram.T, rtol=0, atol=1e-8 * size
        ):
            raise InvalidInputError(
                'kernel="precomputed" takes the square, symmetric matrix of the similarities of '
                f"the training rows, got shape {gram.shape} and rows that differ from columns."
            )
        _refuse_indefinite(gram)
        diagonal = np.diagonal(gram)[used]
        pivots, root, design = _factorise(
            lambda some, columns: gram[np.ix_(used[some], used[columns])], diagonal
        )
        return cls(used[pivots], root, float(np.mean(diagonal))), design

    def at(self, X: Array) -> DesignAt:
        """Return the design from similarities with all training rows, shape (m, n)."""
        return _at_centres(X[:, self.pivots], self.root, np.full(len(X), self.own))


def _refuse_indefinite(gram: Array) -> None:
    """Refuse similarities that are no covariance, by those of at most `COMPARED_ROWS` rows."""
    n = len(gram)
    some = np.linspace(0, n - 1, min(n, COMPARED_ROWS)).round().astype(np.intp)
    values = np.linalg.eigvalsh(gram[np.ix_(some, some)])
    if values[0] < -ROUNDED * max(float(values[-1]), 0.0):
        raise InvalidInputError(
            f"The matrix of similarities has an eigenvalue of {values[0]:.3g} beside "
            f"{values[-1]:.3g}; a Bayes point machine needs one that is positive semi-definite."
        )


Features: TypeAlias = LinearFeatures | KernelFeatures | GramFeatures


def _factorise(
    block: Callable[[Any, Any], Array], diagonal: Array
) -> tuple[Indices, Array, DesignAt]:
    """Return the centres of a kernel matrix, the root of their part of it, and the design."""
    low = pivoted_cholesky(
        block, diagonal, tol=LEFT_OUT * float(np.mean(diagonal)), max_rank=MOST_CENTRES
    )
    design = np.column_stack([low.factor, np.ones(len(low.factor))])
    root = np.ascontiguousarray(low.factor[low.pivots])
    return low.pivots, root, DesignAt(design, low.residual)


def _at_centres(cross: Array, root: Array, own: Array) -> DesignAt:
    """Return the design from similarities with the centres, shape (m, r)."""
    factor = solve_triangular(root, cross.T, lower=True).T if len(root) else cross
    extra = np.maximum(own - np.einsum("ij,ij->i", factor, factor), 0.0)
    return DesignAt(np.column_stack([factor, np.ones(len(cross))]), extra)


def make_features(
    options: Any, X: Array, terms: LabelTerms, weights: Array
) -> tuple[KernelFeatures, Any]:
    """Return features of the kernel that an estimator names, and their design at the rows.

    Shapes: X (n, d), weights (n,).
    """
    if isinstance(options.kernel, str):
        is_raw = not options.standardise
        standard = Standard.none(X.shape[1]) if is_raw else Standard.of(X, weights)
        kernel = _choose_kernel(options, standard.rows(X), terms, weights)
    else:
        standard = Standard.none(X.shape[1])
        kernel = _read_kernel(options.kernel)
        if options.width is not None:
            kernel = _climb_evidence(kernel, X, terms, weights)
    return KernelFeatures.of(kernel, standard, X)


def _read_kernel(spec: Any) -> Kernel:
    from sklearn.gaussian_process.kernels import Kernel as ScikitKernel

    if isinstance(spec, Kernel):
        return spec
    if isinstance(spec, ScikitKernel):
        return from_sklearn(spec)
    if callable(spec):
        return FunctionKernel(spec)
    raise InvalidInputError(
        "kernel must be a name, a kernel of parsimon or of scikit-learn, or a function; got "
        f"{type(spec).__name__}."
    )


def _choose_kernel(options: Any, rows: Array, terms: LabelTerms, weights: Array) -> Kernel:
    """Return a kernel of standard rows by its name, its width as asked."""
    name, k = options.kernel, rows.shape[1]
    if name == "poly":
        return Polynomial(scale=1.0 / k, offset=1.0, degree=3)
    if name not in ("rbf", "laplacian"):
        raise InvalidInputError(
            'kernel must be "linear", "rbf", "laplacian", "poly", "precomputed" or a kernel; got '
            f"{name!r}."
        )
    usual = np.sqrt(k) if name == "rbf" else float(k)
    if options.prior == "ard" and name == "rbf":
        return _climb_evidence(SquaredExponential(range(k), (usual,) * k), rows, terms, weights)
    make = SquaredExponential if name == "rbf" else Laplacian
    if isinstance(options.width, int | float):
        return make(lengthscale=float(options.width))
    some = spaced_rows(terms.y, COMPARED_ROWS)
    few = terms.of_rows(some)
    is_priced = options.noise_sd == "probable"
    prior = WeightPrior("probable" if is_priced else "evidence", False, 0.0)

    def badness(log_width: float) -> float:
        kernel = make(lengthscale=usual * float(np.exp(log_width)))
        _, made = KernelFeatures.of(kernel, Standard.none(k), rows[some])
        own = replace(few, extra=made.extra)
        found = fit_weights(made.design, own, prior)
        if options.width == "evidence":
            return -found.log_evidence
        return -float(own.weights @ leave_one_out(own, found))

    limits: Any = {"xatol": 0.1, "maxiter": 12}
    best = minimize_scalar(
        badness, bounds=(np.log(NARROW), np.log(WIDE)), method="bounded", options=limits
    )
    return make(lengthscale=usual * float(np.exp(best.x)))


def _climb_evidence(kernel: Kernel, X: Array, terms: LabelTerms, weights: Array) -> Kernel:
    """Return a kernel with hyperparameters of greatest evidence under the probit."""
    if not len(kernel.theta):
        return kernel
    some = spaced_rows(terms.y, COMPARED_ROWS)
    evaluate = classification_evidence(kernel, X[some], terms.y[some], weights=weights[some])
    found = maximise_evidence(evaluate, kernel.theta, kernel.bounds(X[some]), max_iterations=30)
    return kernel.with_theta(found.theta)
