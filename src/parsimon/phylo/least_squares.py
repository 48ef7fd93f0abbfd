"""Generalised least squares on whitened columns, and its likelihoods."""

from typing import NamedTuple

import numpy as np

from parsimon._typing import Array
from parsimon.phylo.gaussian import TreeGaussian

# Columns, scaled to unit norm, whose singular values are below this share are dependent.
_DEPENDENT = 1e-10
# Residuals below this share of y are rounding.
_ROUNDING = 1e-28


class LeastSquares(NamedTuple):
    """The best weights of the columns of a design, given the covariance up to its scale.

    coef (p,): The shortest, in units of column norms, if columns depend on each other.
    inverse_gram (p, p): Of whitened columns: the covariance of `coef` for unit variance.
    residual: Sum of squares of whitened residuals; zero if it is rounding.
    n, rank: Rows, and columns that are independent.
    log_determinant: Of the covariance of the rows.
    log_gram: Log determinant of the whitened columns' products, of independent combinations if
        columns depend on each other.
    """

    coef: Array
    inverse_gram: Array
    residual: float
    n: int
    rank: int
    log_determinant: float
    log_gram: float

    @property
    def variance(self) -> float:
        """Unbiased estimate of the rate; NaN without degrees of freedom."""
        return self.residual / (self.n - self.rank) if self.n > self.rank else float("nan")

    def log_likelihood(self, method: str) -> float:
        """Return the log likelihood at its best variance, of y ("ML") or of contrasts ("REML")."""
        reml = method == "REML"
        n = self.n - self.rank if reml else self.n
        if n < 1:
            return float("nan")
        if self.residual == 0:
            return float("inf")
        extra = self.log_gram if reml else 0.0
        spread = float(np.log(2.0 * np.pi * self.residual / n))
        return -0.5 * (n * (spread + 1.0) + self.log_determinant + extra)


def least_squares(gaussian: TreeGaussian | None, design: Array, y: Array) -> LeastSquares:
    """Fit y by the columns of a design, with the covariance of a tree or with unit covariance."""
    both = np.column_stack([design, y])
    white, log_determinant = (both, 0.0) if gaussian is None else gaussian.whitened_columns(both)
    n, p = design.shape
    # The factor alone: as accurate as the whole table, and small.
    upper = np.asarray(np.linalg.qr(white, mode="r"))
    columns, target = upper[:, :p], upper[:, p]
    norms = np.linalg.norm(columns, axis=0)
    norms[norms == 0] = 1.0
    U, singular, Vt = np.linalg.svd(columns / norms, full_matrices=False)
    rank = int(np.sum(singular > _DEPENDENT * max(singular.max(initial=0.0), _DEPENDENT)))
    back = Vt[:rank].T / singular[:rank] / norms[:, None]
    coef = back @ (U[:, :rank].T @ target)
    residual = float(np.sum((target - columns @ coef) ** 2))
    if residual <= _ROUNDING * n * float(target @ target):
        residual = 0.0
    if rank == p:
        log_gram = 2.0 * float(np.sum(np.log(singular)) + np.sum(np.log(norms)))
    else:
        log_gram = _log_gram(columns @ _independent(design, rank))
    return LeastSquares(coef, back @ back.T, residual, n, rank, log_determinant, log_gram)


def _independent(design: Array, rank: int) -> Array:
    """Return weights, shape (p, rank), that make independent columns, whatever the covariance."""
    norms = np.linalg.norm(design, axis=0)
    norms[norms == 0] = 1.0
    Vt = np.linalg.svd(design / norms, full_matrices=False)[2]
    weights: Array = Vt[:rank].T / norms[:, None]
    return weights


def _log_gram(columns: Array) -> float:
    return float(np.linalg.slogdet(columns.T @ columns)[1])
