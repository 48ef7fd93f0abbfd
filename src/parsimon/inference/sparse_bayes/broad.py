"""A broad start: a few columns that span the dictionary, all in the model with equal precisions.

Growing a model from nothing cannot begin where every column alone is of no use, as with wide
kernels, whose columns are all nearly constant: each is worth nothing without another to be
subtracted from it. Beginning with many and dropping most finds such models.
"""

from typing import Protocol

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes.columns import Columns
from parsimon.inference.sparse_bayes.moves import Problem
from parsimon.inference.sparse_bayes.relevance import Fit

# Enough for the numerical rank of wide kernels; narrow ones can begin from nothing.
_MOST_COLUMNS = 40
# Share of a column's square that must not lie in the span of those chosen before.
_NEW_SHARE = 1e-12
# With columns of mean square one: from weights that are hardly held back to small ones.
_PRECISIONS = (1e-8, 1e-6, 1e-4, 1e-2, 1.0, 1e2)


def spanning_columns(columns: Columns, row_weights: Array, most: int = _MOST_COLUMNS) -> Indices:
    """Return columns, each farthest from the span of those before it: pivoted Cholesky.

    Shapes: row_weights (n,) -> (m,).
    """
    total = float(row_weights.sum())
    left = np.where(columns.usable, total, 0.0)
    factor = np.empty((len(left), 0))
    chosen: list[int] = []
    while len(chosen) < min(most, len(left)):
        pivot = int(np.argmax(left))
        if left[pivot] <= _NEW_SHARE * total:
            break
        column = columns.take(np.array([pivot])) * row_weights[:, None]
        products = columns.project(column)[:, 0] - factor @ factor[pivot]
        step = products / np.sqrt(left[pivot])
        factor = np.column_stack([factor, step])
        left = np.where(columns.usable, left - step**2, 0.0)
        left[pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, dtype=np.intp)


class Spanned(Problem, Protocol):
    """A problem that shows its columns and the weights of its rows."""

    @property
    def columns(self) -> Columns:
        """All columns, scaled."""

    @property
    def row_weights(self) -> Array:
        """How many times each row counts, shape (n,)."""


def broad_start(problem: Spanned, start: Fit) -> Fit | None:
    """Return the best fit with spanning columns at one precision; None if none can be had."""
    chosen = spanning_columns(problem.columns, problem.row_weights)
    columns = problem.take(chosen)
    low, high = np.log(problem.precision_bounds())
    best: Fit | None = None
    for noise in (start.theta, start.theta + 2.0, start.theta + 4.0)[: 1 + 2 * len(start.theta)]:
        for precision in np.clip(np.log(_PRECISIONS), low, high):
            theta = np.append(np.full(len(chosen), precision), noise)
            bottom, top = problem.bounds(theta)
            theta = np.clip(theta, bottom, top)
            fit = problem.evaluate(chosen, theta, columns, np.zeros(len(chosen)))
            if fit is not None and (best is None or fit.objective > best.objective):
                best = fit
    return best
