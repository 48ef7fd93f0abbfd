"""The latent function's prior at the training rows, dense or of low rank.

`latent_prior` looks at the kernel matrix and picks the cheaper of two exact forms. Both offer
the same two things: products with the covariance, and `condition`, the algebra of a Gaussian
posterior under Gaussian sites, on which expectation propagation, Laplace and regression rest.
"""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from scipy.linalg import blas, lapack

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.covariance import CHUNK, Covariance
from parsimon.inference.dense import DenseConditioned
from parsimon.inference.low_rank import Derivatives, LowRankConditioned
from parsimon.linalg import pivoted_cholesky

Form: TypeAlias = Literal["auto", "dense", "low_rank"]

# Mean of the diagonal that pivoted Cholesky may leave out, in units of a site's variance (one for
# probit). The evidence's derivative for that diagonal is at most a half in size unless a label
# contradicts its neighbours, so the log evidence changes by less than 1e-6 for each row;
# measured, it is a hundredth of that.
TOLERANCE = 1e-6
# Low rank does 2 n r^2 operations a step, dense 2/3 n^3, at half of low rank's speed on small n.
RANK_SHARE = 0.5
# Below this the dense form is faster whatever the rank.
SMALL = 48


class Conditioned(Protocol):
    """The Gaussian posterior of f under sites ``exp(-precision f^2 / 2 + shift f)``.

    With T = diag(precision): Sigma = inv(inv(K) + T), R = inv(K + inv(T)) = T - T Sigma T.
    """

    @property
    def variance(self) -> Array:
        """Diagonal of Sigma, shape (n,)."""

    @property
    def log_determinant(self) -> float:
        """Log determinant of I + T^1/2 K T^1/2."""

    def mean(self, shift: Array) -> Array:
        """Return ``Sigma @ shift``."""

    def solve(self, right: Array) -> Array:
        """Return ``R @ right``."""

    def whiten(self, cross: Array) -> tuple[Array, Array]:
        """Return P (n, m) and Q (r, m) with ``cross.T @ R @ cross == P.T @ P - Q.T @ Q``."""

    def basis(self) -> tuple[Array, Array]:
        """Return F (n, k) and a fresh Q (k, k) with ``Sigma == F @ Q @ F.T``."""

    def gradient(self, left: Array, right: Array) -> Array:
        """Return ``tr((left @ right.T - R) dK / dtheta) / 2`` for each hyperparameter."""


class LatentPrior(Protocol):
    """A zero-mean Gaussian prior over the latent values at the training rows."""

    @property
    def kernel(self) -> Covariance:
        """The covariance function."""

    @property
    def X(self) -> Array:
        """The training inputs, shape (n, d)."""

    @property
    def pivots(self) -> Indices | None:
        """The rows that a low-rank prior is built on; None for a dense one."""

    def multiply(self, vector: Array) -> Array:
        """Return ``K @ vector``."""

    def condition(self, precision: Array) -> Conditioned:
        """Return the posterior under Gaussian sites of these precisions, shape (n,)."""


@dataclass(frozen=True, eq=False)
class DensePrior:
    """The whole kernel matrix.

    Shapes: X (n, d), gram (n, n).
    """

    kernel: Covariance
    X: Array
    gram: Array
    pivots: None = None

    def multiply(self, vector: Array) -> Array:
        product: Array = self.gram @ vector
        return product

    def condition(self, precision: Array) -> DenseConditioned:
        return DenseConditioned(self.kernel, self.X, self.gram, precision)


@dataclass(frozen=True, eq=False)
class LowRankPrior:
    """The kernel matrix as ``factor @ factor.T``, built on the columns of some rows, the pivots.

    Shapes: X (n, d), factor (n, r).

    pivots (r,): ``factor[pivots]`` is lower triangular.
    derivatives: dK / dtheta at the pivots' columns, when they were computed along with the
        factor.
    """

    kernel: Covariance
    X: Array
    factor: Array
    pivots: Indices
    derivatives: tuple[Derivatives, ...] | None = None

    def multiply(self, vector: Array) -> Array:
        product: Array = self.factor @ (self.factor.T @ vector)
        return product

    def condition(self, precision: Array) -> LowRankConditioned:
        return LowRankConditioned(
            self.kernel, self.X, self.factor, self.pivots, self.derivatives, precision
        )


def latent_prior(
    kernel: Covariance,
    X: Array,
    *,
    form: Form = "auto",
    tolerance: float = TOLERANCE,
    pivots: Indices | None = None,
) -> DensePrior | LowRankPrior:
    """Return the prior of the latent values at the rows of X, in the cheaper exact form.

    Parameters
    ----------
    kernel : Covariance
        The covariance function.
    X : ndarray of shape (n, d)
        Training inputs.
    form : {"auto", "dense", "low_rank"}
        "auto" takes low rank if pivoted Cholesky reaches the tolerance within n / 2 columns.
    tolerance : float
        What low rank may leave out of the kernel matrix's diagonal, on average.
    pivots : ndarray of shape (r,), optional
        Rows to begin with, from a prior with nearby hyperparameters: only the columns of these
        rows are computed if they suffice, and the evidence stays a smooth function of the
        hyperparameters.

    Returns
    -------
    DensePrior or LowRankPrior

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> type(latent_prior(SquaredExponential(0), X)).__name__
    'DensePrior'
    """
    if form not in ("auto", "dense", "low_rank"):
        raise InvalidInputError(f"form must be 'auto', 'dense' or 'low_rank', got {form!r}.")
    if form == "low_rank" or (form == "auto" and len(X) > SMALL):
        most = len(X) if form == "low_rank" else int(RANK_SHARE * len(X))
        low = _low_rank_prior(kernel, X, pivots, tolerance=tolerance, most=most)
        if low is not None:
            return low
    # Symmetric, so that the transpose is the same matrix in the order that LAPACK wants.
    return DensePrior(kernel, X, np.asfortranarray(kernel.gram(X).T))


def _low_rank_prior(
    kernel: Covariance, X: Array, pivots: Indices | None, *, tolerance: float, most: int
) -> LowRankPrior | None:
    """Return the low-rank prior, or None if it needs more than `most` columns."""
    diagonal = kernel.diagonal(X)
    start = _Columns.of(kernel, X, pivots if pivots is not None else np.empty(0, np.intp))
    factor, kept = start.factorise(diagonal, tolerance)
    low = pivoted_cholesky(
        lambda rows, columns: kernel.gram(X[rows], X[columns]),
        diagonal,
        # Some margin when columns are computed anyway: the same pivots will do for longer.
        tolerance=tolerance if _suffices(diagonal, factor, tolerance) else tolerance / 10,
        max_rank=most,
        known=(factor, start.pivots[kept]),
    )
    if not low.residual.sum() <= tolerance * len(X):
        return None
    derivatives = start.extended(kernel, X, kept, low.pivots)
    return LowRankPrior(kernel, X, low.factor, low.pivots, derivatives)


def _suffices(diagonal: Array, factor: Array, tolerance: float) -> bool:
    missing = float(np.sum(diagonal)) - float(np.vdot(factor, factor))
    return missing <= tolerance * len(diagonal)


@dataclass(frozen=True, eq=False)
class _Columns:
    """Columns of the kernel matrix, with derivatives if they fit into memory."""

    pivots: Indices
    gram: Array
    derivatives: Array | None

    @classmethod
    def of(cls, kernel: Covariance, X: Array, pivots: Indices) -> "_Columns":
        if len(kernel.theta) * len(X) * len(pivots) > CHUNK:
            return cls(pivots, kernel.gram(X, X[pivots]), None)
        if not len(pivots):
            return cls(pivots, np.empty((len(X), 0)), np.empty((len(kernel.theta), len(X), 0)))
        return cls(pivots, *kernel.gradients(X, X[pivots]))

    def factorise(self, diagonal: Array, tolerance: float) -> tuple[Array, Indices]:
        """Return the Cholesky factor (n, r) on as few of the columns as suffice, and which."""
        if not len(self.pivots):
            return np.zeros((len(diagonal), 0), order="F"), self.pivots
        floor = np.finfo(np.float64).eps * len(diagonal) * float(diagonal.max())
        block = np.asfortranarray(self.gram[self.pivots])
        root, order, rank, _ = lapack.dpstrf(block, tol=floor, lower=1)
        kept = order[:rank].astype(np.intp) - 1
        factor = np.asfortranarray(self.gram[:, kept])
        factor = blas.dtrsm(
            1.0, root[:rank, :rank], factor, side=1, lower=1, trans_a=1, overwrite_b=1
        )
        missing = diagonal.sum() - np.cumsum(np.einsum("ij,ij->j", factor, factor))
        enough = int(np.searchsorted(-missing, -tolerance / 10 * len(diagonal))) + 1
        # Few spare columns are kept: changing the set at every step would make the evidence rough.
        if enough < 0.9 * rank:
            factor, kept = np.asfortranarray(factor[:, :enough]), kept[:enough]
        return factor, kept

    def extended(
        self, kernel: Covariance, X: Array, kept: Indices, pivots: Indices
    ) -> tuple[Derivatives, ...] | None:
        """Return the derivatives at the columns `pivots`, the first of which are `kept`."""
        size = len(kernel.theta) * len(X) * len(pivots)
        if self.derivatives is None or size > CHUNK:
            return None
        places = np.full(len(self.pivots), -1, dtype=np.intp)
        places[kept] = np.arange(len(kept))
        known = Derivatives(self.derivatives, places)
        if len(pivots) == len(kept):
            return (known,)
        fresh = kernel.gradients(X, X[pivots[len(kept) :]])[1]
        return known, Derivatives(fresh, np.arange(len(kept), len(pivots)))
