r"""Several traits that evolved along one tree: the matrix normal distribution.

A table X of n tips and d traits has the density of a matrix normal distribution with rows'
covariance :math:`V` from the tree and columns' covariance :math:`C`:
:math:`\log p = -\frac d2 \log|V| - \frac n2 (d \log 2\pi + \log|C| + \mathrm{tr}\, C^{-1} S)` with
:math:`S = (X - 1a^T)^T V^{-1} (X - 1a^T) / n`.
"""

from typing import Literal, NamedTuple

import numpy as np

from parsimon._typing import Array
from parsimon.phylo.tree_gaussian import TreeGaussian

Centre = Literal["phylogenetic", "sample"]
# Eigenvalues below this share of the greatest are rounding.
_ROUNDING = 1e-13


class Moments(NamedTuple):
    """What a table says about its columns, given how its rows are related.

    Shapes: mean (d,).

    scatter (d, d): Products of whitened columns around the mean.
    log_determinant: Of the rows' covariance.
    n: Rows.
    """

    mean: Array
    scatter: Array
    log_determinant: float
    n: int


class LowRank(NamedTuple):
    """A columns' covariance of a few directions and equal noise in all others.

    directions (d, m): Orthonormal, the greatest first.
    variances (m,): Along them, noise included.
    noise: Variance along every other direction.
    """

    directions: Array
    variances: Array
    noise: float
    n_columns: int

    @property
    def loadings(self) -> Array:
        """W of the covariance W W' + noise I, shape (d, m)."""
        return self.directions * np.sqrt(np.maximum(self.variances - self.noise, 0.0))

    @property
    def covariance(self) -> Array:
        """W W' + noise I, shape (d, d)."""
        noise: Array = self.noise * np.eye(self.n_columns)
        return self.loadings @ self.loadings.T + noise

    @property
    def log_determinant(self) -> float:
        """Of the covariance; minus infinity if it is singular."""
        rest = self.n_columns - len(self.variances)
        spread = np.append(self.variances, [self.noise] * (rest > 0))
        if not (spread > 0).all():
            return -np.inf
        counts = np.append(np.ones(len(self.variances)), [rest] * (rest > 0))
        return float(counts @ np.log(spread))


def moments(gaussian: TreeGaussian | None, X: Array, centre: Centre = "phylogenetic") -> Moments:
    """Return mean, scatter and log determinant of a table, shape (n, d), in linear time.

    Shapes: X (n, d).
    """
    both = np.column_stack([np.ones(len(X)), X])
    white, log_determinant = (both, 0.0) if gaussian is None else gaussian.whitened_columns(both)
    ones, columns = white[:, 0], white[:, 1:]
    # Around the rows' mean first, so that a distant origin costs no digits.
    shift = np.mean(X, axis=0)
    columns = columns - np.outer(ones, shift)
    move = ones @ columns / (ones @ ones) if centre == "phylogenetic" else np.zeros(len(shift))
    left = columns - np.outer(ones, move)
    return Moments(shift + move, left.T @ left, log_determinant, len(X))


def principal_directions(matrix: Array) -> tuple[Array, Array]:
    """Return eigenvalues, greatest first, and eigenvectors with their largest entry positive."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    values = np.where(values > _ROUNDING * values[0], values, 0.0)
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.where(vectors[largest, np.arange(len(values))] < 0, -1.0, 1.0)
    return values, vectors * signs


def low_rank(covariance: Array, n_components: int) -> LowRank:
    """Return the most likely covariance of this form (Tipping and Bishop 1999, eq 7 and 8)."""
    values, vectors = principal_directions(covariance)
    rest = values[n_components:]
    return LowRank(
        vectors[:, :n_components],
        values[:n_components],
        float(rest.mean()) if len(rest) else 0.0,
        len(values),
    )


def matrix_log_likelihood(found: Moments, column_log_determinant: float, trace: float) -> float:
    """Return the log density of a table."""
    d = len(found.mean)
    inside = d * float(np.log(2.0 * np.pi)) + column_log_determinant + trace
    return -0.5 * (d * found.log_determinant + found.n * inside)
