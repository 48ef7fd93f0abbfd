r"""A genome fitted and measured: its weights, scores, complexity and operating points.

`TwoClassEvaluator` and `ManyClassEvaluator` take a genome and return all of its operating points,
with rates on the rows it is fitted to or means over folds in which rows are held out;
`GenomeFitter` is the part of the first that a search with two halves of the rows uses as well.

How complex a model is, the last objective of the search:

- "active": how many columns are on, the bias not counted. The default: it does not depend on the
  scale of the weights, so that it cannot be gamed.
- "degrees_of_freedom": :math:`\sum_m 1 / (1 + \alpha_m)` as Clark (2011, eq 3.18) printed it, the
  bias included. It measures shrinkage only: all columns on at a huge precision have almost no
  complexity, while their scores, tiny as they are, still rank the rows as well as a large model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from parsimon._checks import check_choice
from parsimon._typing import Array, Indices, Mask
from parsimon.inference.irls import logistic_modes
from parsimon.inference.sparse_bayes.multinomial import softmax_mode
from parsimon.rvm._genome import OBJECTIVES, Genome, alpha_of
from parsimon.rvm._machine import printed_complexity
from parsimon.rvm._problem import RelevanceProblem
from parsimon.rvm._sweep import (
    ClassSweep,
    RateRows,
    Sweep,
    rate_gains,
    rate_rows,
    rates_at,
)

# Twice the gain in log posterior that is still to be had where a fit in the search stops. The
# order of the rows is settled long before; whatever is returned is fitted anew.
SEARCH_TOL = 1e-3
# Beyond this score a row is certain; on separable classes with hardly any prior it is reached.
LARGEST_SCORE = 30.0
MAX_ITER = 50

COMPLEXITIES = ("active", "degrees_of_freedom")


def check_complexity(name: str) -> str:
    """Return the name of a complexity, refusing others."""
    return str(check_choice("complexity", name, COMPLEXITIES))


def active_count(active: list[int], *, has_bias: bool) -> int:
    """Return how many columns are on, the bias not counted."""
    return len(active) - (has_bias and active[0] == 0)


def measure_complexity(name: str, active: list[int], alpha: Array, *, has_bias: bool) -> float:
    """Return the complexity of columns that are on; shapes: alpha (m,)."""
    if name == "active":
        return float(active_count(active, has_bias=has_bias))
    return printed_complexity(alpha)


class SweptGenome(NamedTuple):
    """A fitted genome with its operating points.

    Shapes: values (c, m), cutoffs (c,).

    genome: Returns what is kept of it; most are refused.
    """

    genome: Callable[[], Genome]
    values: Array
    cutoffs: Array


class FitRows(NamedTuple):
    """The rows on which k fits are made.

    labels (k, n_distinct): Share of ones among the rows that a distinct row stands for.
    weights (k, n_distinct): How many rows it stands for; zero where a fit leaves it out.
    """

    labels: Array
    weights: Array


def fit_rows(problem: RelevanceProblem, chosen: Mask) -> FitRows:
    """Return the rows of k fits from which rows are chosen, shape (k, n)."""
    positive, negative = problem.counts(chosen)
    total = positive + negative
    return FitRows(np.divide(positive, total, out=np.zeros_like(total), where=total > 0), total)


class FittedGenome(NamedTuple):
    """A genome of two classes that was fitted, not yet an object of its own.

    Shapes: weights (k, m), scores (k * n_distinct,).
    """

    active: list[int]
    levels: list[float]
    weights: Array
    scores: Array
    complexity: float

    def genome(self) -> Genome:
        """Return what is kept of it."""
        weights = np.zeros((self.weights.shape[0], self.weights.shape[1] + 1))
        weights[:, :-1] = self.weights
        return Genome(self.active, self.levels, weights)


@dataclass(frozen=True, eq=False)
class GenomeFitter:
    """Fits genomes to some rows of two classes, and sweeps their thresholds on others.

    tol: Newton decrement at which a fit stops.
    """

    problem: RelevanceProblem
    sweep: Sweep
    complexity: str = "active"
    tol: float = SEARCH_TOL

    def fit(self, genes: dict[int, float], parent: Genome | None, rows: FitRows) -> FittedGenome:
        """Return the genome fitted, beginning at its parent's weights."""
        active = sorted(genes)
        levels = [genes[column] for column in active]
        alpha = alpha_of(levels)
        modes = logistic_modes(
            self.problem.rows.columns.take(active, axis=0).T,
            rows.labels,
            alpha,
            rows.weights,
            start=None if parent is None else parent.weights_for(active),
            max_iter=MAX_ITER,
            tol=self.tol,
            largest_score=LARGEST_SCORE,
        )
        complexity = measure_complexity(
            self.complexity, active, alpha, has_bias=self.problem.has_bias
        )
        return FittedGenome(active, levels, modes.weights, modes.scores.ravel(), complexity)

    def corners(self, fitted: FittedGenome, rows: RateRows) -> tuple[Array, Array]:
        """Return the objectives of all corners, shape (c, 3), and their cutoffs, shape (c,)."""
        points = self.sweep(fitted.scores[rows.entries], rows)
        values = np.empty((points.shape[1], 3))
        values[:, :2], values[:, 2] = points[1:].T, fitted.complexity
        return values, points[0]

    def at(self, fitted: FittedGenome, rows: RateRows, cutoffs: Array) -> Array:
        """Return the objectives at given cutoffs, shape (c, 3)."""
        values = np.empty((len(cutoffs), 3))
        values[:, :2] = rates_at(fitted.scores[rows.entries], rows, cutoffs).T
        values[:, 2] = fitted.complexity
        return values


def fold_rows(folds: Indices | None, n_rows: int) -> tuple[Mask, Mask]:
    """Return the rows that each fold holds out and is fitted to, (k, n); without folds, all."""
    if folds is None:
        every = np.ones((1, n_rows), dtype=np.bool_)
        return every, every
    held = folds == np.arange(folds.max() + 1)[:, None]
    return held, ~held


class TwoClassEvaluator:
    """Rates of two classes on all rows, or means over the folds in which rows are held out.

    names, maximise: The objectives, rates and then complexity; those of which more is better.
    """

    names: tuple[str, ...] = OBJECTIVES
    maximise: tuple[str, ...] = OBJECTIVES[:1]

    def __init__(self, fitter: GenomeFitter, folds: Indices | None = None) -> None:
        problem = fitter.problem
        held, trained = fold_rows(folds, problem.n_rows)
        self._fitter = fitter
        self._fit_rows = fit_rows(problem, trained)
        self._rate_rows = rate_rows(*problem.counts(held))

    def evaluate(self, genes: dict[int, float], parent: Genome | None) -> SweptGenome:
        """Fit a genome, beginning at its parent's weights, and sweep its thresholds."""
        fitted = self._fitter.fit(genes, parent, self._fit_rows)
        values, cutoffs = self._fitter.corners(fitted, self._rate_rows)
        return SweptGenome(fitted.genome, values, cutoffs)

    def offsets(self, cutoffs: Array) -> Array:
        """Return what is subtracted from scores at the cutoffs of points."""
        return cutoffs


class ManyClassEvaluator:
    """Rates of several classes, from one softmax model whose classes share their precisions.

    Operating points are the offsets of `ClassSweep`, by their numbers.
    """

    def __init__(
        self,
        problem: RelevanceProblem,
        sweep: ClassSweep,
        complexity: str,
        folds: Indices | None = None,
    ) -> None:
        self._problem, self._sweep, self._complexity = problem, sweep, complexity
        self.maximise = tuple(f"rate {k}" for k in range(problem.n_classes))
        self.names = (*self.maximise, "complexity")
        self._gains = rate_gains(problem.codes, problem.weights, folds, problem.n_classes)
        self._held, trained = fold_rows(folds, problem.n_rows)
        self._fit_weights = problem.weights * trained

    def evaluate(self, genes: dict[int, float], parent: Genome | None) -> SweptGenome:
        genome, scores, complexity = self._fitted(genes, parent)
        numbers, rates = self._sweep(scores, self._problem.codes, self._gains)
        values = np.column_stack([rates, np.full(len(rates), complexity)])
        return SweptGenome(lambda: genome, values, numbers)

    def offsets(self, cutoffs: Array) -> Array:
        return -self._sweep.offsets(cutoffs)

    def _fitted(
        self, genes: dict[int, float], parent: Genome | None
    ) -> tuple[Genome, Array, float]:
        """Return a fitted genome, the held-out score of each row and class, and complexity."""
        problem, n_classes = self._problem, self._problem.n_classes
        active = sorted(genes)
        levels = [genes[column] for column in active]
        alpha, design = alpha_of(levels), problem.design[:, active]
        scores = np.empty((len(design), n_classes))
        # A block of n_classes rows for each fold; the last column is a zero for new columns.
        weights = np.zeros((len(self._held) * n_classes, len(active) + 1))
        begin = None if parent is None else parent.weights_for(active)
        for fold, (held, row_weights) in enumerate(zip(self._held, self._fit_weights, strict=True)):
            block = slice(fold * n_classes, (fold + 1) * n_classes)
            mode = softmax_mode(
                design,
                problem.codes,
                n_classes,
                alpha,
                row_weights=row_weights,
                start=None if begin is None else begin[block],
                tol=SEARCH_TOL,
                largest_score=LARGEST_SCORE,
            )
            weights[block, :-1], scores[held] = mode.weights, mode.scores[held]
        complexity = measure_complexity(self._complexity, active, alpha, has_bias=problem.has_bias)
        return Genome(active, levels, weights), scores, complexity


GenomeEvaluator: TypeAlias = TwoClassEvaluator | ManyClassEvaluator
