"""Factorisations of covariance matrices: with jitter, with pivots, and of low rank plus diagonal.

A smooth kernel matrix has a small numerical rank, so `pivoted_cholesky` writes it as ``L @ L.T``
with few columns after looking at only those columns; `LowRankPrecision` then solves and takes
determinants in time linear in the number of rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import blas, lapack

from parsimon._typing import Array, Indices

Entries: TypeAlias = Callable[[Indices | slice, Indices], Array]

# Candidates weighed against each other before any full column is computed; measured on n from
# 500 to 5000, where 32 to 128 differ by less than a tenth.
BLOCK = 64


class JitteredCholesky(NamedTuple):
    """A lower Cholesky factor, and what was added to the diagonal to obtain it.

    lower (n, n): Lower triangular, Fortran order, with ``lower @ lower.T == matrix + jitter *
        I``.
    jitter: Zero when the matrix was positive definite as it was given.
    """

    lower: Array
    jitter: float


def jittered_cholesky(matrix: Array, *, max_jitter: float = 1e-6) -> JitteredCholesky:
    """Factorise a matrix that is positive definite up to rounding.

    Nothing is added unless the factorisation fails; then a jitter grows tenfold from 1e-13 of the
    mean diagonal until it succeeds.

    Shapes: matrix (n, n).
    """
    scale = float(np.mean(np.diagonal(matrix))) if len(matrix) else 1.0
    if not np.isfinite(scale):
        raise np.linalg.LinAlgError("The matrix holds NaN or infinity and has no Cholesky factor.")
    jitter = 0.0
    relative = 1e-13
    while True:
        shifted = np.array(matrix, order="F")
        shifted[np.diag_indices_from(shifted)] += jitter
        lower, failure = lapack.dpotrf(shifted, lower=1, clean=1, overwrite_a=1)
        if not failure and np.isfinite(lower[-1:, -1:]).all():
            return JitteredCholesky(lower, jitter)
        if relative > max_jitter:
            raise np.linalg.LinAlgError(
                f"The matrix is not positive definite: a jitter of {jitter:.1e} on a diagonal of "
                f"mean {scale:.3g} did not help."
            )
        jitter = relative * scale
        relative *= 10


class PivotedCholesky(NamedTuple):
    """A matrix as ``factor @ factor.T`` plus a small residual.

    factor (n, rank): Fortran order; ``factor[pivots]`` is lower triangular.
    pivots (rank,): The rows and columns that were looked at, in the order in which they were
        taken.
    residual (n,): The diagonal of what is missing, not negative.
    converged: Whether the mean of `residual` came below the tolerance.
    """

    factor: Array
    pivots: Indices
    residual: Array
    converged: bool


def pivoted_cholesky(
    entries: Entries,
    diagonal: Array,
    *,
    tol: float = 1e-8,
    max_rank: int | None = None,
    known: tuple[Array, Indices] | None = None,
) -> PivotedCholesky:
    """Factorise a positive semi-definite matrix from a few of its columns.

    The column with the largest remaining diagonal is taken next [1]. Candidates are weighed
    against each other in blocks, so that the function behind the matrix is called a few times
    with many columns instead of many times with one. The chosen columns' remaining diagonals are
    within a factor two of the largest.

    Shapes: diagonal (n,).

    [1] Harbrecht, Peters and Schneider (2012), Appl. Numer. Math. 62:428-440.
    """
    size = len(diagonal)
    most = size if max_rank is None else min(max_rank, size)
    blocks, pivots = ([], np.empty(0, np.intp)) if known is None else ([known[0]], known[1])
    residual = _residual(diagonal, blocks, pivots)
    floor = np.finfo(np.float64).eps * float(np.max(diagonal, initial=0.0))
    while residual.sum() > tol * size and len(pivots) < most and residual.max() > floor:
        chosen, root = _next_pivots(entries, residual, blocks, most=most - len(pivots), floor=floor)
        if not len(chosen):
            break
        columns = entries(slice(None), chosen) - _product(blocks, chosen)
        fresh = blas.dtrsm(1.0, root, columns, side=1, lower=1, trans_a=1)
        left = residual.sum() - np.cumsum(np.einsum("ij,ij->j", fresh, fresh))
        enough = int(np.count_nonzero(left > tol * size)) + 1
        fresh, chosen = fresh[:, :enough], chosen[:enough]
        blocks.append(fresh)
        pivots = np.concatenate([pivots, chosen])
        residual = np.maximum(residual - np.einsum("ij,ij->i", fresh, fresh), 0.0)
        residual[pivots] = 0.0
    factor = np.asfortranarray(np.hstack(blocks)) if blocks else np.zeros((size, 0), order="F")
    return PivotedCholesky(factor, pivots, residual, bool(residual.sum() <= tol * size))


def _next_pivots(
    entries: Entries, residual: Array, blocks: list[Array], *, most: int, floor: float
) -> tuple[Indices, Array]:
    """Return rows to take next, best first, and the Cholesky factor of their residual block."""
    n_candidates = min(BLOCK, len(residual))
    # A stable order makes ties (duplicated rows) fall the same way on every machine.
    order = np.argsort(-residual, kind="stable")[: n_candidates + 1]
    candidates = order[:n_candidates]
    outside = residual[order[-1]] if len(order) > n_candidates else 0.0
    block = entries(candidates, candidates) - _product(blocks, candidates, candidates)
    # Half the largest residual elsewhere: any pivot above it is near what greedy choice takes.
    threshold = max(outside / 2, floor)
    root, order_inside, rank, _ = lapack.dpstrf(np.asfortranarray(block), tol=threshold, lower=1)
    rank = min(int(rank), most)
    return candidates[order_inside[:rank] - 1], np.asfortranarray(np.tril(root[:rank, :rank]))


def _product(blocks: list[Array], columns: Indices, rows: Indices | slice = slice(None)) -> Array:
    """Return the known part's entries; zero when nothing is known."""
    if not blocks:
        return np.zeros(())
    if len(blocks) > 1:
        blocks[:] = [np.asfortranarray(np.hstack(blocks))]
    return blocks[0][rows] @ blocks[0][columns].T


def _residual(diagonal: Array, blocks: list[Array], pivots: Indices) -> Array:
    known = np.einsum("ij,ij->i", blocks[0], blocks[0]) if blocks else 0.0
    residual = np.maximum(np.asarray(diagonal, dtype=np.float64) - known, 0.0)
    residual[pivots] = 0.0
    return residual


@dataclass(frozen=True, eq=False)
class LowRankPrecision:
    """The inverse of ``diag(1 / precision) + L @ L.T``, by Woodbury's identity.

    Precisions of zero are allowed: such a row says nothing, and its part of the inverse is zero.

    factor (n, r): L, in Fortran order for speed.
    precision (n,): Not negative.
    """

    factor: Array
    precision: Array

    @cached_property
    def root(self) -> Array:
        """Lower Cholesky factor of ``I + L.T @ diag(precision) @ L``, shape (r, r)."""
        if not self.factor.shape[1]:
            # BLAS would complain on standard output.
            return np.empty((0, 0))
        scaled = np.sqrt(self.precision)[:, None] * self.factor
        inner = blas.dsyrk(1.0, scaled, trans=1, lower=1)
        inner[np.diag_indices_from(inner)] += 1.0
        lower, failure = lapack.dpotrf(inner, lower=1, clean=1, overwrite_a=1)
        if failure or not np.isfinite(np.diagonal(lower)).all():
            raise np.linalg.LinAlgError("A low-rank system is not finite.")
        return np.asarray(lower)

    @cached_property
    def whitened(self) -> Array:
        """``L @ inv(root).T``, shape (n, r): times its transpose it is the posterior covariance."""
        if not self.factor.shape[1]:
            return self.factor
        return np.asarray(blas.dtrsm(1.0, self.root, self.factor, side=1, lower=1, trans_a=1))

    @cached_property
    def log_determinant(self) -> float:
        """Log determinant of ``I + diag(precision) @ L @ L.T``."""
        return 2.0 * float(np.sum(np.log(np.diagonal(self.root))))

    def solve(self, right: Array) -> Array:
        """Return ``inv(diag(1 / precision) + L @ L.T) @ right``; right has shape (n,) or (n, m)."""
        weighted = (self.precision * right.T).T
        correction = self.whitened @ (self.whitened.T @ weighted)
        return weighted - (self.precision * correction.T).T


def standardise_columns(columns: Array) -> Array:
    """Return columns with mean 0 and standard deviation 1, or 0 where they do not vary."""
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    return centred / np.where(spread > 0, spread, 1.0)
