"""Algebra that any scale of columns and any repetition of them must not break."""

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
