"""The posterior under Gaussian sites when the kernel matrix has low numerical rank."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from parsimon._typing import Array, Indices
from parsimon.inference.covariance import Covariance, contract, weighted_gradient
from parsimon.linalg import LowRankPrecision


class Derivatives(NamedTuple):
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
    derivatives: tuple[Derivatives, ...] | None
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
        variance: Array = np.einsum("ij,ij->i", U, U)
        return variance

    def mean(self, shift: Array) -> Array:
        U = self.inverse.whitened
        mean: Array = U @ (U.T @ shift)
        return mean

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
