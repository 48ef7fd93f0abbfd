r"""From a first fit to the (class, column) pairs that the evidence wants.

Looking at all pairs is what costs, so the most useful ones of one sweep form a pool from which
pairs are added one by one, with all precisions re-estimated in between; then comes the next sweep.
When nothing is left to add, one active pair is exchanged for another where that is a gain.

With the residuals :math:`v (t_k - p_k)` of its class and the curvature B of the softmax, a pair has
the quality :math:`Q = \phi^T v (t_k - p_k)` and the sparsity
:math:`S = \phi^T B_{kk} \phi - c^T \Sigma c`, where c are the products
:math:`\phi^T B_{kl} \phi_j` with the active pairs of all classes; what follows from Q and S is
the same as for two classes.
"""

import time
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes._moves import (
    ColumnSweep,
    SparseFit,
    add_column,
    climb_together,
    exchange,
    make_sweep,
    move,
    precision_bounds,
    prune,
)
from parsimon.inference.sparse_bayes.design import ScaledColumns
from parsimon.inference.sparse_bayes.fast import BestFit, Budget
from parsimon.inference.sparse_bayes.gradients import evidence_gradient, evidence_hessian
from parsimon.inference.sparse_bayes.multinomial import (
    OneHotLabels,
    complement,
    determinant_slope,
    pair_mode,
)
from parsimon.optimise import minimise


@dataclass(frozen=True)
class SoftmaxProblem:
    """Several classes, for the fast sequential algorithm; pair k * M + j is column j in class k.

    smoothness: There is no smoothness prior here.
    precisions: Of a scaled weight, where a weight of one moves a score by one: a prior standard
        deviation of 30 is no prior, since scores that differ by 30 are certain. Much less makes
        Laplace's method fail on separable classes, where the evidence still rises as the posterior
        becomes wider than its mode is far from zero: on ten classes of digits 1e-8 cost a third of
        the held-out log likelihood.
    """

    columns: ScaledColumns
    labels: OneHotLabels
    smoothness: ClassVar[float] = 0.0
    precisions: ClassVar[tuple[float, float]] = (1e-3, 1e10)

    def evaluate(self, active: Indices, theta: Array, columns: Array, guess: Array) -> SparseFit:
        classes, row_weights = self.classes(active), self.labels.row_weights[:, None]
        X = columns * np.exp(-0.5 * theta)
        mode = pair_mode(X, classes, self.labels, guess)
        p = mode.probability
        lever = 0.5 * row_weights * determinant_slope(X, classes, mode)
        pull = mode.weights * (mode.covariance @ np.einsum("ij,ij->j", X, lever[:, classes]))
        return SparseFit(
            active=active,
            theta=theta,
            weights=mode.weights,
            covariance=mode.covariance,
            columns=columns,
            residual=row_weights * (self.labels.targets - p),
            precision=row_weights * p * complement(p),
            log_evidence=mode.log_evidence,
            objective=mode.log_evidence,
            gradient=evidence_gradient(mode.covariance, mode.weights, 0.0) + pull,
            make_hessian=partial(evidence_hessian, mode.covariance, mode.weights, 0.0),
        )

    def sweep(self, fit: SparseFit, pool: Indices | None = None) -> ColumnSweep:
        pairs = np.arange(self.n_pairs) if pool is None else pool
        classes = self.classes(pairs)
        squares, products = np.empty(len(pairs)), np.empty((len(pairs), len(fit.active) + 1))
        for k in np.unique(classes):
            own, right, precision = classes == k, self._partners(fit, k), fit.precision[:, k]
            if pool is None:
                products[own] = self.columns.project(right)
                squares[own] = self.columns.squares(precision)
            else:
                chosen = self.take(pairs[own])
                products[own], squares[own] = chosen.T @ right, precision @ chosen**2
        usable = self.columns.usable[pairs % self.n_columns]
        projections = (squares, products[:, :-1], products[:, -1])
        return make_sweep(fit, pairs, projections, usable, self.smoothness)

    def take(self, indices: Indices) -> Array:
        return self.columns.take(indices % self.n_columns)

    def bounds(self, theta: Array) -> tuple[Array, Array]:
        return precision_bounds(self, theta)

    @property
    def n_columns(self) -> int:
        """Columns of the design."""
        return int(self.columns.usable.shape[0])

    @property
    def n_pairs(self) -> int:
        """Columns times classes."""
        return int(self.labels.targets.shape[1]) * self.n_columns

    def classes(self, pairs: Indices) -> Indices:
        """Return the class of each pair."""
        return pairs // self.n_columns

    def _partners(self, fit: SparseFit, k: int) -> Array:
        """Return what a column of class k is multiplied with, shape (n, m + 1).

        The active columns times the curvature in which they meet class k, and the residual.
        """
        row_weights, classes = self.labels.row_weights, self.classes(fit.active)
        probability = self.labels.targets - fit.residual / row_weights[:, None]
        curvature = -(row_weights * probability[:, k])[:, None] * probability[:, classes]
        curvature[:, classes == k] = fit.precision[:, k, None]
        return np.column_stack([fit.columns * curvature, fit.residual[:, k]])


CONVERGED = "No pair can be added, dropped, exchanged or re-estimated with a gain."

_POOL = 100
# Candidates that fail in a row before a sweep is given up.
_ATTEMPTS = 8
# The rise by re-estimation that ends it while there are pairs to add.
_ROUGH = 0.1
# The rise that does not matter in the end, in units of the tolerance: at a maximum the error of a
# log precision goes with the root of it.
_LEAST_RISE = 1e-3
_MOST_GRADIENTS = 200
# An exchange is tried for a promise of so many tolerances: it undoes what was re-estimated.
_WORTH_AN_EXCHANGE = 50.0


class PairSearch(BestFit):
    """A run in progress: the best fit so far, how it came about, and what ends it."""

    def __init__(self, problem: SoftmaxProblem, fit: SparseFit, budget: Budget) -> None:
        super().__init__(fit)
        self.problem, self.budget = problem, budget

    def consider(self, fit: SparseFit | None, least: float = 0.0) -> bool:
        """Take a fit if it is better, which is a step; return whether it was."""
        taken = super().consider(fit, least)
        self.budget.n_iter += taken
        return taken


def search_pairs(search: PairSearch) -> bool:
    """Take steps until none raises the evidence; return whether the budget was enough."""
    while not search.budget.spent:
        reestimate_pairs(search)
        if grow_pairs(search, search.problem.sweep(search.fit)):
            continue
        polish_pairs(search)
        sweep = search.problem.sweep(search.fit)
        if not grow_pairs(search, sweep) and not exchange_pairs(search, sweep):
            return not search.budget.spent
    return False


def reestimate_pairs(search: PairSearch) -> None:
    """Raise the evidence by the precisions of the active pairs, dropping those not needed."""
    while len(search.fit.active) and not search.budget.spent:
        before = search.fit.objective
        search.consider(prune(search.problem, search.fit))
        moved, foreseen = climb_together(search.problem, search.fit)
        search.consider(moved)
        if foreseen < _ROUGH or search.fit.objective - before < _ROUGH:
            break


def polish_pairs(search: PairSearch) -> None:
    """Bring the precisions of the active pairs to a maximum, dropping those not needed.

    By quasi-Newton steps from exact gradients: those of `climb_together` neglect that the curvature
    of the likelihood moves, and where classes are nearly separable take hundreds of steps.
    """
    while len(search.fit.active) and not search.budget.spent:
        before = search.fit.objective
        search.consider(_maximum(search))
        search.consider(prune(search.problem, search.fit))
        if search.fit.objective - before < _LEAST_RISE * search.budget.tol:
            break


def _maximum(search: PairSearch) -> SparseFit | None:
    """Return the fit with the best precisions near those at hand."""
    problem, fit = search.problem, search.fit
    latest = fit

    def objective(theta: Array) -> tuple[float, Array]:
        nonlocal latest
        latest = move(problem, latest, theta) or latest
        return -latest.objective, -latest.gradient

    left = (
        None
        if np.isinf(search.budget.deadline)
        else max(search.budget.deadline - time.monotonic(), 1e-3)
    )
    found = minimise(
        objective,
        fit.theta,
        np.column_stack(problem.bounds(fit.theta)),
        max_iterations=_MOST_GRADIENTS,
        value_tolerance=_LEAST_RISE * search.budget.tol / max(1.0, abs(fit.objective)),
        gradient_tolerance=0.1 * search.budget.tol,
        time_limit=left,
    )
    return move(problem, fit, found.x)


def grow_pairs(search: PairSearch, sweep: ColumnSweep) -> bool:
    """Add the pool's best pair again and again; return whether any was added."""
    gains, _ = sweep.additions()
    pool = sweep.columns[np.argsort(-gains, kind="stable")[:_POOL]]
    grown = False
    while not search.budget.spent and _add_best(search, search.problem.sweep(search.fit, pool)):
        grown = True
        search.consider(prune(search.problem, search.fit))
        search.consider(climb_together(search.problem, search.fit)[0])
    return grown


def _add_best(search: PairSearch, sweep: ColumnSweep) -> bool:
    """Add the first of the most useful pairs that raises the evidence; return whether one did."""
    gains, alphas = sweep.additions()
    for place in np.argsort(-gains, kind="stable")[:_ATTEMPTS]:
        if gains[place] <= search.budget.tol:
            break
        # The gain is for a fixed curvature; a firmer prior stays closer to where that holds.
        for firmness in (1.0, 10.0, 100.0):
            alpha = float(np.clip(firmness * alphas[place], *search.problem.precisions))
            if search.consider(add_column(search.problem, search.fit, sweep, int(place), alpha)):
                return True
    return False


def exchange_pairs(search: PairSearch, sweep: ColumnSweep) -> bool:
    """Try the most promising exchanges; return whether one was a gain.

    After the first that is, the sweep no longer tells the truth, so there is one at a time.
    """
    if not len(search.fit.active):
        return False
    gains = sweep.exchanges(search.fit)
    places = np.argmax(gains, axis=0)
    best = gains[places, np.arange(len(places))]
    for leaving in np.argsort(-best, kind="stable")[:_ATTEMPTS]:
        if best[leaving] <= _WORTH_AN_EXCHANGE * search.budget.tol or search.budget.spent:
            break
        place = int(places[leaving])
        if search.consider(exchange(search.problem, search.fit, sweep, place, int(leaving))):
            return True
    return False
