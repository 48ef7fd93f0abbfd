"""The posterior under Gaussian sites when the whole kernel matrix is kept."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from parsimon._typing import Array
from parsimon.inference.covariance import CHUNK, Covariance, contract

# Entries of all derivatives at once that still fit into a core's cache, and rows of them below
# which calls cost more than arithmetic.
CACHED = 2**17
FEWEST_ROWS = 64
# Columns of a triangle whose squares are summed at once.
SQUARES_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class DenseConditioned:
    """Posterior algebra by one Cholesky factorisation of B = I + T^1/2 K T^1/2.

    The notation is that of Rasmussen and Williams (2006), section 3.6.3.

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
        return 2.0 * float(np.sum(np.log(np.diagonal(self.lower))))

    @cached_property
    def variance(self) -> Array:
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
        if right.ndim == 1 and "inverse" in vars(self):
            # A product is faster than two triangular solutions, if the inverse is there anyway.
            inner = blas.dsymv(1.0, self.inverse, self.root_precision * right, lower=1)
            return np.asarray(self.root_precision * inner)
        scaled = (self.root_precision * right.T).T
        solution = lapack.dpotrs(self.lower, scaled, lower=1)[0]
        answer: Array = (self.root_precision * solution.reshape(right.shape).T).T
        return answer

    def mean(self, shift: Array) -> Array:
        mean: Array = self.gram @ (shift - self.solve(self.gram @ shift))
        return mean

    def product(self, vector: Array) -> Array:
        """Return ``Sigma @ vector`` by products alone, once the inverse of B is known."""
        known, root = self.gram @ vector, self.root_precision
        inner = blas.dsymv(1.0, self.inverse, root * known, lower=1)
        product: Array = known - self.gram @ (root * inner)
        return product

    def whiten(self, cross: Array) -> tuple[Array, Array]:
        scaled = np.asfortranarray(self.root_precision[:, None] * cross)
        P = blas.dtrsm(1.0, self.lower, scaled, lower=1, overwrite_b=1)
        return np.asarray(P), np.zeros((0, cross.shape[1]))

    def basis(self) -> tuple[Array, Array]:
        return np.eye(len(self.precision)), self.gram - self.gram @ self.solve(self.gram)

    def gradient(self, left: Array, right: Array) -> Array:
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
