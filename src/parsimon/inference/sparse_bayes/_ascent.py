r"""All precisions at once, uphill: the loop that thins a model which began with all columns.

MacKay's update multiplies each precision by a ratio of two terms that are not negative, half of
whose difference is the gradient of the objective for its logarithm: so it is a step uphill whose
length `ascend` adapts, and no step lowers the objective. A column leaves when its best precision
is infinite and the objective does not fall without it.
"""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from parsimon._typing import Array, Indices, Mask

CONVERGED = "No log precision would change by more than the tolerance."
IDLE = "An update no longer raises the objective."

# Greatest change of a log precision in one step, and the least share of a step that is tried.
_LONGEST = 10.0
_SHORTEST = 2.0**-10
# By how much an update that succeeded is lengthened next time, and at most in all.
_STRETCH, _LARGEST = 1.5, 20.0
# The precision at which a column is tried without, in units of what the data say about its weight
# if it were alone. Among columns that do nearly the same, each by itself looks needless early on.
_LARGEST_PRECISION = 1e3
# When no log precision would change by more, columns that are futile are tried without.
_SETTLED = 0.1
# In units of the tolerance; a rise that the last digit of log alpha would make.
_LEAST_RISE = 1e-4


@dataclass(frozen=True)
class EMPoint:
    r"""The objective for one set of precisions, and what the next step needs.

    theta (m,): Log precisions; the log noise variance last where it is estimated.
    rise, fall: The gradient is half of their difference.
    information (m,): What the data say about each weight if it were alone, in units of the
        prior precision.
    futile (m,): Columns whose best precision is infinite as long as the others stay.
    weights (m,): Posterior mean in units of the prior.
    """

    theta: Array
    objective: float
    log_evidence: float
    rise: Array
    fall: Array
    information: Array
    futile: Mask
    weights: Array


@dataclass(frozen=True)
class EMProblem(ABC):
    """A likelihood with the columns that are still in the model.

    columns (n, m): In scaled units.
    smoothness: Weight of the degrees of freedom in the objective.
    second_start: Whether columns that pay only together are looked for without that weight.
    """

    columns: Array
    smoothness: float = field(default=0.0, kw_only=True)
    second_start: ClassVar[bool]

    @abstractmethod
    def evaluate(self, theta: Array, guess: Array | None) -> EMPoint:
        """Return the point; `guess` are weights in units of the prior, next to the mode."""

    @abstractmethod
    def bounds(self, n_theta: int) -> tuple[Array, Array]:
        """Return the least and the greatest value of each entry of theta."""

    @abstractmethod
    def covariance(self, point: EMPoint) -> Array:
        """Return the posterior covariance of the weights in units of the prior."""

    def noise(self, theta: Array) -> float | None:  # noqa: ARG002 - of classes there is none
        """Return the noise variance at theta, if there is noise."""
        return None

    def keep(self, staying: Indices) -> Self:
        """Return the problem with some of its columns."""
        return replace(self, columns=self.columns[:, staying])


@dataclass(frozen=True)
class EMResult:
    """Where a run ended.

    Shapes: history (n_steps,).

    kept (m,): Which of the columns at the start are still there.
    """

    problem: EMProblem
    point: EMPoint
    kept: Indices
    history: Array
    n_iter: int
    converged: bool
    reason: str


def ascend(problem: EMProblem, theta: Array, budget: tuple[float, int, float | None]) -> EMResult:
    """Update all precisions until they no longer change, dropping columns on the way."""
    tol, max_iter, time_limit = budget
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    point = problem.evaluate(np.clip(theta, *problem.bounds(len(theta))), None)
    kept = np.arange(len(point.weights))
    history, reason, n_iter, stretch, idle = [point.objective], "", 0, 1.0, False
    while not reason:
        wanted = _wanted(problem, point)
        largest = np.abs(wanted).max(initial=0.0)
        settled = idle or largest < _SETTLED
        problem, point, staying = _prune(problem, point, every=settled)
        if len(staying) < len(kept):
            kept, idle = kept[staying], False
            history.append(point.objective)
        elif largest < tol:
            reason = CONVERGED
        elif idle:
            reason = IDLE
        elif n_iter >= max_iter:
            reason = f"Stopped after max_iter={max_iter} updates."
        elif time.monotonic() > deadline:
            reason = "Stopped at the time limit."
        else:
            n_iter += 1
            point, stretch = _step(problem, point, wanted, stretch)
            idle = point.objective - history[-1] < _LEAST_RISE * tol
            history.append(point.objective)
    converged = reason in (CONVERGED, IDLE)
    return EMResult(problem, point, kept, np.array(history), n_iter, converged, reason)


def _wanted(problem: EMProblem, point: EMPoint) -> Array:
    """Return the change of theta that MacKay's update makes, inside the bounds."""
    tiny = np.finfo(np.float64).tiny
    change = np.log(np.maximum(point.rise, tiny)) - np.log(np.maximum(point.fall, tiny))
    low, high = problem.bounds(len(point.theta))
    moved = np.clip(point.theta + np.clip(change, -_LONGEST, _LONGEST), low, high)
    return moved - point.theta


def _step(problem: EMProblem, point: EMPoint, wanted: Array, size: float) -> tuple[EMPoint, float]:
    """Return the point after a share or a multiple of the update, and the next one to try.

    Updates of columns that do nearly the same are much too short, so they are lengthened as long
    as that succeeds; one that would lower the objective is shortened.
    """
    low, high = problem.bounds(len(point.theta))
    n_columns = len(point.weights)
    while size >= _SHORTEST:
        theta = np.clip(point.theta + np.clip(size * wanted, -_LONGEST, _LONGEST), low, high)
        # The scores of the last mode: weights in units of the prior grow with its precision.
        guess = point.weights * np.exp(0.5 * (theta - point.theta)[:n_columns])
        found = problem.evaluate(theta, guess)
        if found.objective >= point.objective:
            return found, min(max(_STRETCH * size, 1.0), _LARGEST)
        size = min(1.0, 0.5 * size)
    return point, 1.0


def _prune(
    problem: EMProblem, point: EMPoint, *, every: bool
) -> tuple[EMProblem, EMPoint, Indices]:
    """Drop futile columns unless the objective would fall.

    Those of a large precision go all at once; of `every` futile one no more than half goes before
    the rest has settled again, because columns that do the same may be futile only together.
    """
    everything = np.arange(len(point.weights))
    leaving = np.flatnonzero(point.futile & (_LARGEST_PRECISION * point.information < 1.0))
    if every and not len(leaving):
        leaving = np.flatnonzero(point.futile)
        leaving = leaving[np.argsort(point.information[leaving], kind="stable")]
        leaving = leaving[: (len(leaving) + 1) // 2]
    while len(leaving):
        staying = np.setdiff1d(everything, leaving)
        theta = np.append(point.theta[staying], point.theta[len(everything) :])
        smaller = problem.keep(staying)
        found = smaller.evaluate(theta, point.weights[staying])
        if found.objective >= point.objective:
            return smaller, found, staying
        leaving = leaving[: len(leaving) // 2]
    return problem, point, everything


# Changes of the first log precision that are tried for all columns together.
_COMMON = tuple(-np.log(10.0) * np.arange(0, 12, 2))


def best_common_precision(problem: EMProblem, theta: Array, n_columns: int) -> Array:
    """Return theta with the best of a few precisions that all columns share.

    With a wide kernel all columns are nearly the same, and what they differ in matters only for
    weights much larger than those of columns that share nothing.
    """
    low, high = problem.bounds(len(theta))
    trials = []
    for shift in _COMMON:
        trial = theta.copy()
        trial[:n_columns] += shift
        trials.append(problem.evaluate(np.clip(trial, low, high), None))
    best = max(trials, key=lambda point: point.objective)
    return best.theta


def best_ascent(
    problem: EMProblem, theta: Array, budget: tuple[float, int, float | None], n_columns: int
) -> EMResult:
    """Ascend from one precision for all columns.

    Under a smoothness prior columns that pay only together would all leave at once: for classes a
    second ascent begins at the top that there is without the prior. Of numbers that top may explain
    the noise, where evidence has no bound.
    """
    first = ascend(problem, best_common_precision(problem, theta, n_columns), budget)
    if not problem.smoothness or not problem.second_start:
        return first
    free = replace(problem, smoothness=0.0)
    top = best_ascent(free, theta, budget, n_columns)
    second = ascend(problem.keep(top.kept), top.point.theta, budget)
    second = replace(second, kept=top.kept[second.kept])
    return max(first, second, key=lambda ascent: ascent.point.objective)
