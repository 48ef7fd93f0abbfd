"""The posterior under Gaussian sites when the whole kernel matrix is kept."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from parsimon._typing import Array
from parsimon.inference.covariance import Covariance, symmetric_gradient


@dataclass(frozen=True, eq=False)
class DenseConditioned:
    """Posterior algebra by one Cholesky factorisation of B = I + T^1/2 K T^1/2.

    The notation is that of Rasmussen and Williams (2006), section 3.6.3.

    Parameters
    ----------
    kernel : Covariance
    X : ndarray of shape (n, d)
    gram : ndarray of shape (n, n)
    precision : ndarray of shape (n,)
        T's diagonal, not negative.

    Examples
    --------
    >>> from parsimon.kernels import Constant
    >>> both = DenseConditioned(Constant(1.0), np.zeros((2, 1)), np.ones((2, 2)), np.ones(2))
    >>> both.mean(np.array([1.0, 0.0])).round(4), round(both.log_determinant, 4)
    (array([0.3333, 0.3333]), 1.0986)
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
        """Cholesky factor of B."""
        root = self.root_precision
        B = np.asfortranarray(self.gram * root)
        B *= root[:, None]
        B[np.diag_indices_from(B)] += 1.0
        lower, failure = lapack.dpotrf(B, lower=1, clean=1, overwrite_a=1)
        if failure:
            raise np.linalg.LinAlgError(
                "The kernel matrix is not positive semi-definite; a Gaussian process needs a "
                "kernel that is."
            )
        return np.asarray(lower)

    @cached_property
    def inverse_lower(self) -> Array:
        return np.asarray(lapack.dtrtri(self.lower, lower=1)[0])

    @cached_property
    def log_determinant(self) -> float:
        return 2.0 * float(np.sum(np.log(np.diagonal(self.lower))))

    @cached_property
    def variance(self) -> Array:
        # Sigma_ii = (1 - inv(B)_ii) / T_ii halves the work of K - K R K, but loses digits where
        # a site says almost nothing; those few rows are computed the long way.
        diagonal = np.diagonal(self.gram)
        share = 1.0 - np.einsum("ij,ij->j", self.inverse_lower, self.inverse_lower)
        weak = share < 1e-3
        variance: Array = share / np.where(weak, 1.0, self.precision)
        if weak.any():
            Q = self.inverse_lower @ (self.root_precision[:, None] * self.gram[:, weak])
            variance[weak] = diagonal[weak] - np.einsum("ij,ij->j", Q, Q)
        return np.asarray(np.maximum(variance, 0.0))

    def solve(self, right: Array) -> Array:
        scaled = (self.root_precision * right.T).T
        solution = lapack.dpotrs(self.lower, scaled, lower=1)[0]
        answer: Array = (self.root_precision * solution.reshape(right.shape).T).T
        return answer

    def mean(self, shift: Array) -> Array:
        mean: Array = self.gram @ (shift - self.solve(self.gram @ shift))
        return mean

    def whiten(self, cross: Array) -> tuple[Array, Array]:
        scaled = np.asfortranarray(self.root_precision[:, None] * cross)
        P = blas.dtrsm(1.0, self.lower, scaled, lower=1, overwrite_b=1)
        return np.asarray(P), np.zeros((0, cross.shape[1]))

    def basis(self) -> tuple[Array, Array]:
        return np.eye(len(self.precision)), self.gram - self.gram @ self.solve(self.gram)

    def gradient(self, left: Array, right: Array) -> Array:
        lower_half = lapack.dlauum(self.inverse_lower, lower=1)[0]
        R = np.tril(lower_half, -1)
        R += R.T
        R[np.diag_indices_from(R)] = np.diagonal(lower_half)
        R *= self.root_precision
        R *= self.root_precision[:, None]
        R *= -0.5
        R += np.outer(left / 2, right)
        return symmetric_gradient(self.kernel, self.X, R)
