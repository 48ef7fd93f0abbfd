"""Steps from one fit to the next: other precisions, one column more, some less, one for another.

Each gives the new weights that would be right if B stayed, so that the search for the mode starts
next to it; what a step is worth is only ever judged by the objective of the new fit.
"""

from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dposv

from parsimon._typing import Array, Indices, Mask
from parsimon.inference.sparse_bayes.relevance import Fit, Sweep, deletion_gains

# Greatest change of a log precision in one step.
_LONGEST = 3.0
_SHORTEST = 2.0**-6
_FLAT = 1e-4


class Problem(Protocol):
    """A likelihood, its columns and its prior: what the steps ask of it."""

    @property
    def smoothness(self) -> float:
        """Weight of the degrees of freedom in the objective."""

    def evaluate(self, active: Indices, theta: Array, columns: Array, guess: Array) -> Fit | None:
        """Return the fit with these columns and precisions; None if it cannot be computed."""

    def sweep(self, fit: Fit, pool: Indices | None = None) -> Sweep:
        """Return how the columns of `pool`, or all, would serve the fit."""

    def refresh(self, fit: Fit, sweep: Sweep) -> Sweep:
        """Return the sweep over all columns brought up to date as far as that is cheap."""

    def take(self, indices: Indices) -> Array:
        """Return some scaled columns, shape (n, m)."""

    def bounds(self, theta: Array) -> tuple[Array, Array]:
        """Return the least and the greatest value of each entry of theta."""

    def precision_bounds(self) -> tuple[float, float]:
        """Return the limits on a precision."""


def newton_step(problem: Problem, fit: Fit) -> tuple[Fit, float]:
    """Move all precisions at once; return the better fit and the gain that was foreseen.

    A Newton step with the absolute values of the curvatures, so that it goes uphill also where
    the objective is not concave; it is halved until the objective rises.
    """
    low, high = problem.bounds(fit.theta)
    pinned = ((fit.theta <= low) & (fit.gradient < 0)) | ((fit.theta >= high) & (fit.gradient > 0))
    free = ~pinned
    if not free.any():
        return fit, 0.0
    gradient = fit.gradient[free]
    direction = ascent_direction(fit.hessian[free][:, free], gradient)
    direction *= min(1.0, _LONGEST / max(np.abs(direction).max(), 1e-300))
    foreseen = 0.5 * float(gradient @ direction)
    step = np.zeros_like(fit.theta)
    size = 1.0
    while size >= _SHORTEST:
        step[free] = size * direction
        moved = move(problem, fit, np.clip(fit.theta + step, low, high))
        if moved is not None and moved.objective > fit.objective:
            return moved, foreseen
        size *= 0.25
    return fit, foreseen


def ascent_direction(hessian: Array, gradient: Array) -> Array:
    """Return Newton's direction to a maximum, uphill also where there is no maximum."""
    downward = -hessian
    downward.flat[:: len(downward) + 1] += _FLAT
    direction: Array
    _, direction, failed = dposv(downward, gradient)
    if failed:
        values, vectors = np.linalg.eigh(hessian)
        direction = vectors @ ((gradient @ vectors) / np.maximum(np.abs(values), _FLAT))
    return direction


def move(problem: Problem, fit: Fit, theta: Array) -> Fit | None:
    """Return the fit with other precisions."""
    n_active = len(fit.active)
    if not len(fit.columns):
        return problem.evaluate(fit.active, theta, fit.columns, fit.weights)
    change = np.expm1(theta[:n_active] - fit.theta[:n_active])
    response = fit.covariance * change
    system = response.copy()
    system.flat[:: n_active + 1] += 1.0
    shift = np.linalg.solve(system, -(response @ fit.weights))
    guess = (fit.weights + shift) * np.sqrt(1.0 + change)
    return problem.evaluate(fit.active, theta, fit.columns, guess)


def add(problem: Problem, fit: Fit, sweep: Sweep, place: int, alpha: float) -> Fit | None:
    """Return the fit with one column more: that at `place` in the sweep."""
    column = sweep.columns[place : place + 1]
    n_active = len(fit.active)
    weight = sweep.quality[place] / (alpha + sweep.sparsity[place])
    guess = np.append(fit.weights - weight * sweep.overlap[place], np.sqrt(alpha) * weight)
    theta = np.insert(fit.theta, n_active, np.log(alpha))
    columns = np.hstack([fit.columns, problem.take(column)])
    return problem.evaluate(np.append(fit.active, column), theta, columns, guess)


def drop(problem: Problem, fit: Fit, leaving: Mask) -> Fit | None:
    """Return the fit without some of its columns."""
    staying = ~leaving
    P = fit.covariance
    guess = fit.weights[staying]
    if len(fit.columns):
        pull = np.linalg.solve(P[leaving][:, leaving], fit.weights[leaving])
        guess = guess - P[staying][:, leaving] @ pull
    theta = np.append(fit.theta[: len(staying)][staying], fit.theta[len(staying) :])
    return problem.evaluate(fit.active[staying], theta, fit.columns[:, staying], guess)


def prune(problem: Problem, fit: Fit) -> Fit:
    """Drop the columns whose absence raises the objective: all of them, or as many as go."""
    gains = deletion_gains(fit, problem.smoothness)
    n_leaving = int((gains > 0).sum())
    while n_leaving:
        leaving = np.zeros(len(gains), dtype=np.bool_)
        leaving[np.argsort(-gains)[:n_leaving]] = True
        fewer = drop(problem, fit, leaving)
        if fewer is None or fewer.objective < fit.objective:
            n_leaving //= 2
            continue
        fit = fewer
        gains = deletion_gains(fit, problem.smoothness)
        n_leaving = int((gains > 0).sum())
    return fit


def exchange(problem: Problem, fit: Fit, sweep: Sweep, place: int, leaving: int) -> Fit | None:
    """Return the fit with the column at `place` of the sweep instead of the active `leaving`."""
    share = sweep.overlap[place, leaving] / fit.covariance[leaving, leaving]
    sparsity = sweep.sparsity[place] + sweep.overlap[place, leaving] * share
    quality = sweep.quality[place] + fit.weights[leaving] * share
    excess = quality**2 - sparsity
    if excess <= 0:
        return None
    low, high = problem.precision_bounds()
    alpha = min(max(sparsity**2 / excess, low), high)
    column = sweep.columns[place : place + 1]
    active, theta, columns = fit.active.copy(), fit.theta.copy(), fit.columns.copy(order="F")
    active[leaving], theta[leaving] = column[0], np.log(alpha)
    columns[:, leaving] = problem.take(column)[:, 0]
    pull = fit.weights[leaving] / fit.covariance[leaving, leaving]
    weight = quality / (alpha + sparsity)
    overlap = sweep.overlap[place] - share * fit.covariance[:, leaving]
    guess = fit.weights - pull * fit.covariance[:, leaving] - weight * overlap
    guess[leaving] = np.sqrt(alpha) * weight
    return problem.evaluate(active, theta, columns, guess)
