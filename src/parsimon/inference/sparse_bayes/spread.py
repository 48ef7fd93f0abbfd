r"""The posterior of many weights, from a matrix over rows or over columns, whichever is smaller.

Weights are in units of their prior, :math:`\omega = A^{1/2} w`, and columns are divided to match,
:math:`X = \Phi A^{-1/2}`, so that the posterior covariance is
:math:`P = (I + X^T B X)^{-1}` for a diagonal B. With more columns than rows everything follows from
:math:`W = (B^{-1} + X X^T)^{-1}` instead, since :math:`P = I - X^T W X`. No scale of columns and no
repetition of them may break this algebra.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from parsimon._typing import Array, Indices
from parsimon.linalg import jittered_cholesky

# Largest difference of two columns of mean square one that are the same up to rounding.
_EQUAL = 1e-12


def inverse_precision(precision: Array) -> tuple[Array, float]:
    """Return the inverse and the log determinant of a matrix that is positive definite.

    Rows and columns are scaled to a unit diagonal first, so that precisions of 1e-12 and 1e12 may
    stand side by side; identical columns with hardly any prior get a jitter relative to that
    diagonal.

    Shapes: precision (m, m) -> (m, m).
    """
    if not len(precision):
        return np.empty((0, 0)), 0.0
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(precision), np.finfo(np.float64).tiny))
    lower = jittered_cholesky(precision * scale * scale[:, None]).lower
    log_determinant = 2.0 * float(np.sum(np.log(np.diagonal(lower)) - np.log(scale)))
    half = np.tril(lapack.dpotri(lower, lower=1)[0])
    inverse = (half + np.tril(half, -1).T) * scale * scale[:, None]
    return inverse, log_determinant


def distinct_columns(columns: Array) -> Indices:
    """Return the first of each set of columns that are equal up to sign and rounding.

    The evidence of equal columns depends on the sum of their prior variances alone: one of them
    does what all would.

    Shapes: columns (n, m) -> (k,).
    """
    n_rows, n_columns = columns.shape
    probe = np.random.default_rng(0).standard_normal(n_rows)
    prints = np.abs(probe @ columns)
    order = np.argsort(prints, kind="stable")
    kept = np.ones(n_columns, dtype=np.bool_)
    leader = order[0] if n_columns else 0
    for column in order[1:]:
        same = prints[column] - prints[leader] <= _EQUAL * np.sqrt(n_rows)
        if same and _equal(columns[:, leader], columns[:, column]):
            kept[max(leader, column)] = False
            leader = min(leader, column)
        else:
            leader = column
    return np.flatnonzero(kept)


def _equal(first: Array, second: Array) -> bool:
    return bool(min(np.abs(first - second).max(), np.abs(first + second).max()) <= _EQUAL)


# A matrix over columns is factorised and inverted; one over rows is also multiplied with all
# columns: the two cost the same when there are a quarter more columns than rows.
_WIDE = 1.25


class Spread(NamedTuple):
    r"""What the posterior covariance P does to columns and rows.

    Shapes: X (n, m).

    log_determinant: Of :math:`I + X^T B X`.
    determined (m,): :math:`\gamma_j = 1 - P_{jj}`.
    elastic (m,): :math:`(P - P^2)_{jj}`: by how much the degrees of freedom fall for a unit
        rise of the log precision of a column.
    inner (m, m): P if `wide` is false, else W.
    """

    log_determinant: float
    determined: Array
    elastic: Array
    X: Array
    inner: Array
    wide: bool

    def mean(self, precision: Array, targets: Array) -> Array:
        r"""Return :math:`P X^T B t`, shape (m,)."""
        if self.wide:
            return np.asarray(self.X.T @ (self.inner @ targets))
        return np.asarray(self.inner @ (self.X.T @ (precision * targets)))

    def shrink(self, right: Array) -> Array:
        r"""Return :math:`P X^T u` for u of shape (n,)."""
        if self.wide:
            return np.asarray(self.X.T @ (right - self.inner @ (self.X @ (self.X.T @ right))))
        return np.asarray(self.inner @ (self.X.T @ right))

    def row_variances(self) -> tuple[Array, Array]:
        r"""Return the diagonals of :math:`X P X^T` and :math:`X P^2 X^T`, each of shape (n,)."""
        if not self.wide:
            shrunk = self.X @ self.inner
            return np.einsum("ij,ij->i", shrunk, self.X), np.einsum("ij,ij->i", shrunk, shrunk)
        outer = self.X @ self.X.T
        smoothed = outer @ self.inner
        left = outer - smoothed @ outer
        return np.diagonal(left).copy(), np.diagonal(left - left @ smoothed.T).copy()

    def covariance(self) -> Array:
        """Return P, shape (m, m)."""
        if self.wide:
            return np.eye(self.X.shape[1]) - self.X.T @ self.inner @ self.X
        return self.inner


def posterior_spread(X: Array, precision: Array, gram: Array | None = None) -> Spread:
    r"""Return the posterior covariance of weights with a standard normal prior.

    Shapes: X (n, m), precision (n,), gram (m, m).
    """
    if not has_more_columns(X):
        matrix = (X * precision[:, None]).T @ X if gram is None else gram
        P, log_determinant = inverse_plus_identity(matrix)
        undetermined = np.diagonal(P)
        elastic = undetermined - np.einsum("ij,ij->i", P, P)
        return Spread(log_determinant, 1.0 - undetermined, elastic, X, P, wide=False)
    root = np.sqrt(precision)
    scaled = X * root[:, None]
    inverse, log_determinant = inverse_plus_identity(scaled @ scaled.T)
    half = inverse @ scaled
    determined = np.einsum("ij,ij->j", scaled, half)
    elastic = np.einsum("ij,ij->j", half, half)
    W = inverse * root * root[:, None]
    return Spread(log_determinant, determined, elastic, X, W, wide=True)


def has_more_columns(X: Array) -> bool:
    """Return whether a matrix over rows is cheaper than one over columns."""
    return bool(X.shape[1] > _WIDE * X.shape[0])


def inverse_plus_identity(matrix: Array) -> tuple[Array, float]:
    """Return the inverse and log determinant of I + matrix; matrix is positive semi-definite."""
    if not len(matrix):
        return np.empty((0, 0)), 0.0
    shifted = np.array(matrix, order="F")
    shifted[np.diag_indices_from(shifted)] += 1.0
    lower, failure = lapack.dpotrf(shifted, lower=1, clean=1, overwrite_a=1)
    if failure:
        # Columns that depend on each other, with hardly any prior and hardly any noise.
        matrix = np.array(matrix)
        matrix[np.diag_indices_from(matrix)] += 1.0
        return inverse_precision(matrix)
    log_determinant = 2.0 * float(np.sum(np.log(np.diagonal(lower))))
    half = np.tril(lapack.dpotri(lower, lower=1)[0])
    return half + np.tril(half, -1).T, log_determinant
