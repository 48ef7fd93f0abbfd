"""Fast sequential sparse Bayesian learning: from nothing to the columns that the evidence wants.

Tipping and Faul (2003) change one precision at a time and look at every column after every
change. Looking at all columns is what costs, so here it is done rarely: between two sweeps
batches of columns are added, all precisions are re-estimated together, and columns are dropped
(`growth.climb`). The evidence has many local maxima, and in which of them a climb ends is chance;
therefore a few columns are taken out at random and the model grows again, as long as that helps.
"""

import time
from dataclasses import dataclass

import numpy as np

from parsimon._typing import Array
from parsimon.inference.sparse_bayes.broad import Spanned, broad_start
from parsimon.inference.sparse_bayes.growth import Budget, Climber, climb, reestimate, tidy
from parsimon.inference.sparse_bayes.moves import drop, exchange
from parsimon.inference.sparse_bayes.relevance import Fit, Sweep

# How often a model is shaken: so many times at 1000 rows and in proportion to n^1.5, within limits,
# since on few rows there is less to find; and no more than so many products of rows and cubed
# columns (a step costs rows by squared columns, and a shake so many steps as there are columns).
_SHAKES_AT_1000 = 12
_SHAKES = (2, 40)
_WORK = 4e9
# Columns that a shake takes out, the greater of a number and a share: enough for others to take
# their place together, few enough to keep what is good. Measured: 2 find less, a third costs more.
_SHAKEN, _SHARE_SHAKEN = 5, 0.22
_ATTEMPTS = 8
_CONVERGED = "No column that is worth its place can be added, and none dropped or exchanged."


@dataclass(frozen=True)
class Climb:
    """Where a run ended.

    history (n_steps,): Objective of the start and after each round that raised it.
    """

    fit: Fit
    history: Array
    n_iter: int
    converged: bool
    reason: str


def maximise(
    problem: Spanned,
    nothing: Fit,
    *,
    start: Fit | None = None,
    tolerance: float,
    max_iter: int,
    time_limit: float | None,
) -> Climb:
    """Add, re-estimate, drop and exchange columns until no step raises the objective."""
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    budget = Budget(tolerance, max_iter, deadline)
    climber = Climber(problem, budget, nothing.objective)
    best = Best(nothing if start is None else start)
    best.consider(tidy(climber, climb(climber, best.fit)))
    if start is None and not budget.spent:
        broad = broad_start(problem, nothing)
        best.consider(broad and tidy(climber, climb(climber, broad)))
        explore(climber, best)
    converged = finish(climber, best)
    reason = _CONVERGED if converged else budget.reason
    return Climb(best.fit, np.array(best.history), budget.n_iter, converged, reason)


class Best:
    """The best fit so far and the objectives of those before it."""

    def __init__(self, fit: Fit) -> None:
        self.fit = fit
        self.history = [fit.objective]

    def consider(self, fit: Fit | None, least: float = 0.0) -> bool:
        """Take a fit if it is better; return whether it was."""
        if fit is None or not fit.objective > self.fit.objective + least:
            return False
        self.fit = fit
        self.history.append(fit.objective)
        return True


def explore(climber: Climber, best: Best) -> None:
    """Take a few columns out and let the model grow again, as long as that finds better maxima."""
    if climber.budget.spent or not len(best.fit.active):
        return
    rng = np.random.default_rng(0)
    sweep = climber.problem.sweep(best.fit)
    failures = 0
    for _ in range(n_shakes(best.fit)):
        n_active = len(best.fit.active)
        n_leaving = min(n_active - 1, max(_SHAKEN, int(_SHARE_SHAKEN * n_active)))
        # As many in vain as there are columns, and it is time to stop.
        if climber.budget.spent or failures > n_active or n_leaving < 1:
            break
        leaving = np.zeros(n_active, dtype=np.bool_)
        leaving[rng.choice(n_active, n_leaving, replace=False)] = True
        part = drop(climber.problem, best.fit, leaving)
        if part is None:
            break
        before = best.fit.objective
        best.consider(tidy(climber, climb(climber, part, sweep)))
        helped = best.fit.objective > before + climber.worth(best.fit)
        failures = 0 if helped else failures + 1


def n_shakes(fit: Fit) -> int:
    """Return how often a model of this size is shaken at most."""
    n_rows, n_active = fit.columns.shape
    wanted = int(np.clip(_SHAKES_AT_1000 * (n_rows / 1000) ** 1.5, *_SHAKES))
    return min(wanted, int(_WORK / (n_rows * n_active**3)))


def finish(climber: Climber, best: Best) -> bool:
    """Go to the top of the best maximum found; return whether it was reached."""
    enough = 0.1 * climber.budget.tolerance**2
    while not climber.budget.spent:
        best.consider(reestimate(climber, best.fit, enough))
        sweep = climber.problem.sweep(best.fit)
        gains, _ = sweep.additions()
        if gains.max(initial=0.0) > climber.worth(best.fit):
            larger = tidy(climber, climb(climber, best.fit))
            if best.consider(larger, climber.budget.tolerance):
                continue
        if not exchange_columns(climber, best, sweep):
            return not climber.budget.spent
    return False


def exchange_columns(climber: Climber, best: Best, sweep: Sweep) -> bool:
    """Try the most promising exchanges of the sweep; return whether one was a gain."""
    if not len(best.fit.active):
        return False
    gains = sweep.exchanges(best.fit)
    places = np.argmax(gains, axis=0)
    gains = gains[places, np.arange(len(places))]
    least, exchanged, failures = climber.worth(best.fit), False, 0
    for leaving in np.argsort(-gains):
        if gains[leaving] <= least or failures >= _ATTEMPTS or climber.budget.spent:
            break
        other = exchange(climber.problem, best.fit, sweep, int(places[leaving]), int(leaving))
        if best.consider(other, climber.budget.tolerance):
            climber.budget.n_iter += 1
            exchanged, failures = True, 0
        else:
            failures += 1
    return exchanged
