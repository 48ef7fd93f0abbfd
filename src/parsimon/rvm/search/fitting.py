"""One candidate fitted and measured: weights, scores, complexity, corners."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices, Mask
from parsimon.inference.irls import logistic_modes
from parsimon.rvm.search.complexity import (
    active_count,
    degrees_of_freedom,
    smoothing_trace,
    sum_of_gammas,
)
from parsimon.rvm.search.problem import Problem, Rows

# Twice the gain in log posterior that is still to be had where a fit in the search stops. The
# order of the rows is settled long before; whatever is returned is fitted anew.
SEARCH_TOLERANCE = 1e-3
# Beyond this score a row is certain; on separable classes with hardly any prior it is reached.
LARGEST_SCORE = 30.0
MAX_ITER = 50


class Training(NamedTuple):
    """The rows on which k fits are made.

    labels (k, n_distinct): Share of ones among the rows that a distinct row stands for.
    weights (k, n_distinct): How many rows it stands for; zero where a fit leaves it out.
    """

    labels: Array
    weights: Array


def training_on(problem: Problem, chosen: Mask) -> Training:
    """Return the training rows of k fits from which rows are chosen, shape (k, n)."""
    positive, negative = problem.counts(chosen)
    total = positive + negative
    return Training(np.divide(positive, total, out=np.zeros_like(total), where=total > 0), total)


class Fit(NamedTuple):
    """The k fits of one genome.

    Shapes: weights (k, m), scores (k, n_distinct).
    """

    weights: Array
    scores: Array


@dataclass(frozen=True, eq=False)
class Fitter:
    """Fits genomes to a problem's rows.

    tolerance: Newton decrement at which a fit stops.
    """

    rows: Rows
    complexity: str
    has_bias: bool
    tolerance: float = SEARCH_TOLERANCE

    def fit(self, active: list[int], alpha: Array, training: Training, start: Array | None) -> Fit:
        """Return the modes given precisions alpha, shape (m,)."""
        modes = logistic_modes(
            self.rows.columns.take(active, axis=0).T,
            training.labels,
            alpha,
            training.weights,
            start=start,
            max_iter=MAX_ITER,
            tolerance=self.tolerance,
            largest_score=LARGEST_SCORE,
        )
        return Fit(modes.weights, modes.scores)

    def complexity_of(self, active: list[int], alpha: Array, training: Training, fit: Fit) -> float:
        """Return the complexity of a fitted genome; a mean over its fits if it depends on them."""
        if self.complexity == "active":
            return float(active_count(active, has_bias=self.has_bias))
        if self.complexity == "degrees_of_freedom":
            return degrees_of_freedom(alpha)
        measure = smoothing_trace if self.complexity == "trace" else sum_of_gammas
        columns = self.rows.columns[active]
        decay = np.exp(-np.abs(fit.scores))
        curvatures = training.weights * decay / (1.0 + decay) ** 2
        return float(np.mean([measure(columns, curvature, alpha) for curvature in curvatures]))


def row_entries(which: Indices, folds: Indices, n_distinct: int) -> Indices:
    """Return where in the flattened scores the held-out score of each row is, shape (n,)."""
    entries: Indices = folds * n_distinct + which
    return entries
