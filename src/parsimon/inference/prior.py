"""The latent function's prior at the training rows, dense or of low rank.

`latent_prior` looks at the kernel matrix and picks the cheaper of two exact forms, `DensePrior` and
`LowRankPrior`. Both offer the same two things: products with the covariance, and `condition`, the
algebra of a Gaussian posterior under Gaussian sites, on which expectation propagation, Laplace and
regression rest.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import blas, lapack

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference._covariance import CHUNK, Covariance, contract, weighted_gradient
from parsimon.linalg import LowRankPrecision, pivoted_cholesky

# Entries of all derivatives at once that still fit into a core's cache, and rows of them below
# which calls cost more than arithmetic.
CACHED = 2**17
FEWEST_ROWS = 64
# Columns of a triangle whose squares are summed at once.
SQUARES_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class DenseConditioned:
    """Posterior algebra by one Cholesky factorisation of B = I + T^1/2 K T^1/2.

    The notation is that of Rasmussen and Williams (2006), section 3.6.3. With T = diag(precision):
    Sigma = inv(inv(K) + T), R = inv(K + inv(T)) = T - T Sigma T.

    Shapes: X (n, d), gram (n, n).

    precision (n,): T's diagonal, not negative.
    """

    kernel: Covariance
    X: Array
    gram: Array
    precision: Array

    @cached_property
    def root_precision(self) -> Array:
        return np.sqrt(self.precision)

    @cached_property
    def lower(self) -> Array:
        """Cholesky factor of B; what stands above its diagonal is not used."""
        root = self.root_precision
        B = np.multiply(self.gram, root, order="F")
        B *= root[:, None]
        B[np.diag_indices_from(B)] += 1.0
        lower, failure = lapack.dpotrf(B, lower=1, clean=0, overwrite_a=1)
        if failure:
            raise np.linalg.LinAlgError(
                "The kernel matrix is not positive semi-definite; a Gaussian process needs a "
                "kernel that is."
            )
        return np.asarray(lower)

    @cached_property
    def inverse_lower(self) -> Array:
        """Inverse of `lower`, and as that in its lower triangle only."""
        return np.asarray(lapack.dtrtri(self.lower, lower=1)[0])

    @cached_property
    def inverse(self) -> Array:
        """Inverse of B, in the lower triangle only."""
        # It takes the place of the triangle that it is computed from, whose one other use is the
        # variance: a matrix less in memory.
        self.variance  # noqa: B018
        inverse_lower = self.inverse_lower
        vars(self).pop("inverse_lower")
        return np.asarray(lapack.dlauum(inverse_lower, lower=1, overwrite_c=1)[0])

    @cached_property
    def log_determinant(self) -> float:
        """Log determinant of I + T^1/2 K T^1/2."""
        return 2.0 * float(np.sum(np.log(np.diagonal(self.lower))))

    @cached_property
    def variance(self) -> Array:
        """Diagonal of Sigma, shape (n,)."""
        # Sigma_ii = (1 - inv(B)_ii) / T_ii halves the work of K - K R K, but loses digits where
        # a site says almost nothing; those few rows are computed the long way.
        diagonal = np.diagonal(self.gram)
        share = 1.0 - _column_squares(self.inverse_lower)
        weak = share < 1e-3
        variance: Array = share / np.where(weak, 1.0, self.precision)
        if weak.any():
            Q = self.whiten(self.gram[:, weak])[0]
            variance[weak] = diagonal[weak] - np.einsum("ij,ij->j", Q, Q)
        return np.asarray(np.maximum(variance, 0.0))

    def solve(self, right: Array) -> Array:
        """Return ``R @ right``."""
        if right.ndim == 1 and "inverse" in vars(self):
            # A product is faster than two triangular solutions, if the inverse is there anyway.
            inner = blas.dsymv(1.0, self.inverse, self.root_precision * right, lower=1)
            return np.asarray(self.root_precision * inner)
        scaled = (self.root_precision * right.T).T
        solution = lapack.dpotrs(self.lower, scaled, lower=1)[0]
        return (self.root_precision * solution.reshape(right.shape).T).T

    def mean(self, shift: Array) -> Array:
        """Return ``Sigma @ shift``."""
        return self.gram @ (shift - self.solve(self.gram @ shift))

    def product(self, vector: Array) -> Array:
        """Return ``Sigma @ vector`` by products alone, once the inverse of B is known."""
        known, root = self.gram @ vector, self.root_precision
        inner = blas.dsymv(1.0, self.inverse, root * known, lower=1)
        return known - self.gram @ (root * inner)

    def whiten(self, cross: Array) -> tuple[Array, Array]:
        """Return P (n, m) and Q (r, m) with ``cross.T @ R @ cross == P.T @ P - Q.T @ Q``."""
        scaled = np.asfortranarray(self.root_precision[:, None] * cross)
        P = blas.dtrsm(1.0, self.lower, scaled, lower=1, overwrite_b=1)
        return np.asarray(P), np.zeros((0, cross.shape[1]))

    def basis(self) -> tuple[Array, Array]:
        """Return F (n, k) and a fresh Q (k, k) with ``Sigma == F @ Q @ F.T``."""
        return np.eye(len(self.precision)), self.gram - self.gram @ self.solve(self.gram)

    def gradient(self, left: Array, right: Array) -> Array:
        """Return ``tr((left @ right.T - R) dK / dtheta) / 2`` for each hyperparameter."""
        root, own = self.root_precision, np.diagonal(self.inverse) * self.precision
        total = self.kernel.diagonal_gradients(self.X) @ (left * right - own) / 2
        # Each pair once, in pieces that stay in the processor's cache.
        step = self._piece
        for begin in range(0, len(self.X), step):
            here, rest = slice(begin, begin + step), slice(begin, None)
            weights = self.inverse[rest, here].T * -root[rest]
            weights *= root[here, None]
            weights += np.outer(left[here] / 2, right[rest])
            weights += np.outer(right[here] / 2, left[rest])
            n_here = len(weights)
            weights[:, :n_here] = np.triu(weights[:, :n_here], 1)
            total += contract(self.kernel.gradients(self.X[here], self.X[rest])[1], weights)
        return total

    @property
    def _piece(self) -> int:
        per_row = max(1, len(self.kernel.theta)) * len(self.X)
        return max(1, min(CHUNK // per_row, max(FEWEST_ROWS, CACHED // per_row)))


def _column_squares(lower: Array) -> Array:
    """Return the sum of squares of each column of a lower triangle; shape (n,)."""
    squares = np.empty(len(lower))
    for begin in range(0, len(lower), SQUARES_AT_ONCE):
        end = begin + SQUARES_AT_ONCE
        corner = np.tril(lower[begin:end, begin:end])
        below = lower[end:, begin:end]
        squares[begin:end] = np.einsum("ij,ij->j", corner, corner)
        squares[begin:end] += np.einsum("ij,ij->j", below, below)
    return squares


class ColumnDerivatives(NamedTuple):
    """dK / dtheta at some of the pivots' columns.

    Shapes: values (p, n, m).

    places (m,): Where these columns stand among the pivots; -1 for one that is no pivot any
        more.
    """

    values: Array
    places: Indices

    def contract(self, weights: Array) -> Array:
        """Return the sum of derivatives times weights of shape (n, r), shape (p,)."""
        # Weights are put in the derivatives' order, since those are p times as many.
        own = np.where(self.places >= 0, weights[:, self.places], 0.0)
        return contract(self.values, own)


@dataclass(frozen=True, eq=False)
class LowRankConditioned:
    """Posterior algebra by one Cholesky factorisation of A = I + L^T T L, of size r.

    Shapes: X (n, d).

    factor (n, r): L, with K = L L^T.
    pivots (r,): L[pivots] is lower triangular.
    derivatives: dK / dtheta at the pivots' columns, if known.
    precision (n,): T's diagonal, not negative.
    """

    kernel: Covariance
    X: Array
    factor: Array
    pivots: Indices
    derivatives: tuple[ColumnDerivatives, ...] | None
    precision: Array

    @cached_property
    def inverse(self) -> LowRankPrecision:
        return LowRankPrecision(self.factor, self.precision)

    @cached_property
    def log_determinant(self) -> float:
        return self.inverse.log_determinant

    @cached_property
    def variance(self) -> Array:
        U = self.inverse.whitened
        return np.einsum("ij,ij->i", U, U)

    def mean(self, shift: Array) -> Array:
        U = self.inverse.whitened
        return U @ (U.T @ shift)

    def solve(self, right: Array) -> Array:
        return self.inverse.solve(right)

    def whiten(self, cross: Array) -> tuple[Array, Array]:
        P = np.sqrt(self.precision)[:, None] * cross
        Q = self.inverse.whitened.T @ (self.precision[:, None] * cross)
        return P, Q

    def basis(self) -> tuple[Array, Array]:
        return self.inverse.whitened, np.eye(self.factor.shape[1])

    def gradient(self, left: Array, right: Array) -> Array:
        """Return the gradient of the low-rank form itself, its pivots held fixed.

        K = K_nP inv(K_PP) K_Pn, so tr(M dK) = 2 tr(inv(K_PP) K_Pn M dK_nP) -
        tr(inv(K_PP) K_Pn M K_nP inv(K_PP) dK_PP), and R L = T L inv(A) leaves nothing larger
        than n by r.
        """
        if not len(self.pivots) or not len(self.kernel.theta):
            return np.zeros(len(self.kernel.theta))
        inverse_A = np.asarray(lapack.dpotri(self.inverse.root, lower=1)[0])
        inverse_A = np.tril(inverse_A) + np.tril(inverse_A, -1).T
        left_L, right_L = left @ self.factor, right @ self.factor
        within = (np.outer(left_L, right_L) + np.outer(right_L, left_L)) / 2 + inverse_A
        within[np.diag_indices_from(within)] -= 1.0
        root = np.asfortranarray(self.factor[self.pivots])
        small = np.vstack([right_L / 2, left_L / 2, inverse_A, within])
        small = blas.dtrsm(1.0, root, np.asfortranarray(small), side=1, lower=1, overwrite_b=1)
        within = blas.dtrsm(1.0, root, small[-len(root) :], lower=1, trans_a=1)
        across = self.factor @ small[2 : -len(root)]
        across *= -self.precision[:, None]
        across += np.stack([left, right], axis=1) @ small[:2]
        # dK_PP are rows of dK_nP: their weight is taken off there, in one contraction.
        across[self.pivots] -= within / 2
        if self.derivatives is not None:
            total = np.zeros(len(self.kernel.theta))
            for piece in self.derivatives:
                total += piece.contract(across)
            return total
        return weighted_gradient(self.kernel, self.X, self.X[self.pivots], across)


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


# The Gaussian posterior of f under sites ``exp(-precision f^2 / 2 + shift f)``.
Conditioned: TypeAlias = DenseConditioned | LowRankConditioned


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
        """Return ``K @ vector``."""
        return self.gram @ vector

    def condition(self, precision: Array) -> DenseConditioned:
        """Return the posterior under Gaussian sites of these precisions, shape (n,)."""
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
    derivatives: tuple[ColumnDerivatives, ...] | None = None

    def multiply(self, vector: Array) -> Array:
        return self.factor @ (self.factor.T @ vector)

    def condition(self, precision: Array) -> LowRankConditioned:
        return LowRankConditioned(
            self.kernel, self.X, self.factor, self.pivots, self.derivatives, precision
        )


# A zero-mean Gaussian prior over the latent values at the training rows.
LatentPrior: TypeAlias = DensePrior | LowRankPrior


def latent_prior(
    kernel: Covariance,
    X: Array,
    *,
    form: Form = "auto",
    tol: float = TOLERANCE,
    pivots: Indices | None = None,
) -> LatentPrior:
    """Return the prior of the latent values at the rows of X, in the cheaper exact form.

    Parameters
    ----------
    kernel : Covariance
        The covariance function.
    X : ndarray of shape (n, d)
        Training inputs.
    form : {"auto", "dense", "low_rank"}
        "auto" takes low rank if pivoted Cholesky reaches the tolerance within n / 2 columns.
    tol : float
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
        low = _low_rank_prior(kernel, X, pivots, tol=tol, most=most)
        if low is not None:
            return low
    # Symmetric, so that the transpose is the same matrix in the order that LAPACK wants.
    return DensePrior(kernel, X, np.asfortranarray(kernel.gram(X).T))


def _low_rank_prior(
    kernel: Covariance, X: Array, pivots: Indices | None, *, tol: float, most: int
) -> LowRankPrior | None:
    """Return the low-rank prior, or None if it needs more than `most` columns."""
    diagonal = kernel.diagonal(X)
    start = _Columns.of(kernel, X, pivots if pivots is not None else np.empty(0, np.intp))
    factor, kept = start.factorise(diagonal, tol)
    low = pivoted_cholesky(
        lambda rows, columns: kernel.gram(X[rows], X[columns]),
        diagonal,
        # Some margin when columns are computed anyway: the same pivots will do for longer.
        tol=tol if _suffices(diagonal, factor, tol) else tol / 10,
        max_rank=most,
        known=(factor, start.pivots[kept]),
    )
    if not low.residual.sum() <= tol * len(X):
        return None
    derivatives = start.extended(kernel, X, kept, low.pivots)
    return LowRankPrior(kernel, X, low.factor, low.pivots, derivatives)


def _suffices(diagonal: Array, factor: Array, tol: float) -> bool:
    missing = float(np.sum(diagonal)) - float(np.vdot(factor, factor))
    return missing <= tol * len(diagonal)


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

    def factorise(self, diagonal: Array, tol: float) -> tuple[Array, Indices]:
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
        enough = int(np.searchsorted(-missing, -tol / 10 * len(diagonal))) + 1
        # Few spare columns are kept: changing the set at every step would make the evidence rough.
        if enough < 0.9 * rank:
            factor, kept = np.asfortranarray(factor[:, :enough]), kept[:enough]
        return factor, kept

    def extended(
        self, kernel: Covariance, X: Array, kept: Indices, pivots: Indices
    ) -> tuple[ColumnDerivatives, ...] | None:
        """Return the derivatives at the columns `pivots`, the first of which are `kept`."""
        size = len(kernel.theta) * len(X) * len(pivots)
        if self.derivatives is None or size > CHUNK:
            return None
        places = np.full(len(self.pivots), -1, dtype=np.intp)
        places[kept] = np.arange(len(kept))
        known = ColumnDerivatives(self.derivatives, places)
        if len(pivots) == len(kept):
            return (known,)
        fresh = kernel.gradients(X, X[pivots[len(kept) :]])[1]
        return known, ColumnDerivatives(fresh, np.arange(len(kept), len(pivots)))
