"""From a start to a local maximum: add columns, re-estimate all precisions, drop columns."""

import time
from dataclasses import dataclass

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes.moves import Problem, add, drop, newton_step, prune
from parsimon.inference.sparse_bayes.relevance import Fit, Sweep, deletion_gains
from parsimon.inference.sparse_bayes.surrogate import Surrogate, greedy_picks, make_surrogate

# Gains in log evidence at which a re-estimation is good enough: before a sweep, and before more
# columns are added to a Gaussian model.
_COARSE = 1e-2
_BETWEEN = 0.2
# What a step leaves to be gained is less than this share of what it gained itself.
_QUADRATIC = 3.0
# Greatest change of a log precision that a model with the old B is believed.
_TRUST = 4.0
_MOST_STEPS = 50
_ATTEMPTS = 8
# Columns that are looked at together: a quarter of all between these numbers, but no more than
# memory should hold of them. How many of them may be added at once, and how often a model of them
# is enlarged before the truth is looked at.
# Measured on n = 500 to 2000: more columns at once find higher maxima than one after the other.
_POOL = (64, 256)
_POOL_NUMBERS = 4e6
_BATCH = 64
_ROUNDS = 4
# A column must be worth a hundredth of all that the model gained or a tenth of a nat, whichever
# is less, to stay in the end. Much less is enough to be tried: columns of little use open the way
# for others, and demanding a third of a nat of them cost ten nats in the end.
_WORTH_SHARE = 0.01
_WORTH_MOST = 0.1
_TRIED = 0.02


@dataclass
class Budget:
    """What may still be spent, and what a gain must be to matter."""

    tolerance: float
    max_iter: int
    deadline: float
    n_iter: int = 0
    reason: str = ""

    @property
    def spent(self) -> bool:
        """Whether steps or time ran out; `reason` says which."""
        if self.n_iter >= self.max_iter:
            self.reason = f"Stopped after max_iter={self.max_iter} steps."
        elif time.monotonic() > self.deadline:
            self.reason = "Stopped at the time limit."
        return bool(self.reason)


@dataclass(frozen=True)
class Climber:
    """A problem, the budget for it and the objective without any column."""

    problem: Problem
    budget: Budget
    nothing: float

    def worth(self, fit: Fit) -> float:
        """Return the gain that a column must bring to stay."""
        share = _WORTH_SHARE * (fit.objective - self.nothing)
        return float(max(self.budget.tolerance, min(share, _WORTH_MOST)))

    def least(self, fit: Fit) -> float:
        """Return the gain that a column must promise to be tried."""
        return float(max(self.budget.tolerance, min(_TRIED, self.worth(fit))))

    def candidates(self, fit: Fit, sweep: Sweep) -> Indices:
        """Return the places in a sweep of the columns with the greatest gains."""
        gains, _ = sweep.additions()
        most = max(_POOL[0], min(_POOL[1], int(_POOL_NUMBERS / len(fit.residual))))
        size = min(len(gains), max(_POOL[0], min(most, len(gains) // 4)))
        places = np.argpartition(-gains, size - 1)[:size] if size else np.arange(0)
        return places[gains[places] > self.least(fit)]


def climb(climber: Climber, fit: Fit, sweep: Sweep | None = None) -> Fit:
    """Add, re-estimate and drop until a sweep over all columns offers no gain.

    A `sweep` at hand is brought up to date where that is cheap, and then trusted; without one the
    last word has a sweep of the final fit.
    """
    trusted = sweep is not None
    while not climber.budget.spent:
        fresh = sweep is None
        problem = climber.problem
        sweep = problem.sweep(fit) if sweep is None else problem.refresh(fit, sweep)
        before = fit.objective
        fit = reestimate(climber, grow(climber, fit, sweep), _COARSE)
        if fit.objective > before + climber.budget.tolerance:
            continue
        if fresh or trusted:
            break
        sweep = None
    return fit


def reestimate(climber: Climber, fit: Fit, enough: float, most: int = _MOST_STEPS) -> Fit:
    """Bring the precisions of the active columns to a maximum, dropping those not needed."""
    doubtful = False
    for _ in range(most):
        if climber.budget.spent or not len(fit.theta):
            break
        if doubtful:
            better, foreseen = newton_step(climber.problem, fit)
        else:
            better, foreseen, doubtful = settle(climber.problem, fit, enough)
        if better is fit:
            break
        climber.budget.n_iter += 1
        fit = better
        if foreseen < _QUADRATIC * enough:
            break
    return fit


def settle(problem: Problem, fit: Fit, enough: float) -> tuple[Fit, float, bool]:
    """Return a better fit of the same or fewer columns, and the gain that was foreseen.

    The last value tells whether a step that was foreseen with B held was none in truth: then it
    would be foreseen again, and in vain. A Gaussian model knows nothing of the noise, so that it
    helps only where none is estimated.
    """
    failed = False
    if len(fit.theta) == len(fit.active):
        proposal, foreseen = propose(problem, fit, enough)
        if foreseen < enough:
            return fit, foreseen, False
        if proposal is not None and proposal.objective > fit.objective:
            return proposal, foreseen, False
        failed = True
    fewer = prune(problem, fit)
    failed |= fewer is fit and bool((deletion_gains(fit, problem.smoothness) > 0).any())
    return *newton_step(problem, fewer), failed


def propose(problem: Problem, fit: Fit, enough: float) -> tuple[Fit | None, float]:
    """Maximise over the precisions with B held; return the fit there and the gain foreseen."""
    modelled = make_surrogate(fit, fit.columns, problem.precision_bounds(), problem.smoothness)
    if modelled is None:
        return None, np.inf
    model, here = modelled
    there = settle_model(model, here, 0.1 * enough)
    fewer = len(there.active) < len(fit.active)
    gain = np.inf if fewer else there.objective - here.objective
    if gain < enough:
        return None, gain
    return realise(problem, fit, there, (fit.active, fit.columns)), gain


def settle_model(model: Surrogate, fit: Fit, enough: float) -> Fit:
    """Maximise over the precisions in a Gaussian model, dropping columns."""
    for _ in range(_MOST_STEPS):
        before = fit
        fit, foreseen = newton_step(model, prune(model, fit))
        if fit is before or foreseen < _QUADRATIC * enough:
            break
    return fit


def realise(problem: Problem, fit: Fit, there: Fit, columns: tuple[Indices, Array]) -> Fit | None:
    """Return the fit where a Gaussian model of `columns` went, not too far from `fit`."""
    n_active = len(fit.active)
    old = there.active < n_active
    theta = np.append(there.theta, fit.theta[n_active:])
    here = fit.theta[there.active[old]]
    theta[: len(old)][old] = np.clip(there.theta[old], here - _TRUST, here + _TRUST)
    indices, values = columns
    return problem.evaluate(indices[there.active], theta, values[:, there.active], there.weights)


def grow(climber: Climber, fit: Fit, sweep: Sweep) -> Fit:
    """Add the most useful columns, a batch at a time, while there is a gain."""
    while not climber.budget.spent:
        larger = add_batch(climber, fit, sweep)
        if larger is None:
            break
        climber.budget.n_iter += 1
        fit = larger
        sweep = climber.problem.refresh(fit, sweep)
    return fit


def add_batch(climber: Climber, fit: Fit, sweep: Sweep) -> Fit | None:
    """Return a better fit with several columns more, as a Gaussian model proposes them, or None.

    Where B would change so much that the objective falls, a quarter of them is tried, and so on
    down to one by one.
    """
    problem, least = climber.problem, climber.least(fit)
    columns = sweep.columns[climber.candidates(fit, sweep)]
    if not len(columns):
        return None
    together = np.hstack([fit.columns, problem.take(columns)])
    modelled = make_surrogate(fit, together, problem.precision_bounds(), problem.smoothness)
    if modelled is None:
        return add_one(climber, fit, sweep)
    model, here = modelled
    both = (np.append(fit.active, columns), together)
    most = _BATCH
    while most:
        there = enlarge_model(model, here, least, most)
        if there is here:
            return None
        larger = realise(problem, fit, there, both)
        if larger is not None and larger.objective > fit.objective + climber.budget.tolerance:
            return larger
        most = min(most, len(there.active)) // 4
    return add_one(climber, fit, sweep)


def enlarge_model(model: Surrogate, fit: Fit, least: float, most: int) -> Fit:
    """Add columns to a Gaussian model and re-estimate its precisions, until nothing is gained."""
    for _ in range(_ROUNDS):
        picks, alpha = greedy_picks(model, fit, least, most)
        theta = np.append(fit.theta, np.log(alpha))
        larger = model.evaluate(np.append(fit.active, picks), theta, np.empty((0, len(theta))))
        if larger is None or not len(picks):
            break
        larger = settle_model(model, larger, _BETWEEN)
        if larger.objective <= fit.objective + least:
            break
        fit = larger
    return fit


def add_one(climber: Climber, fit: Fit, sweep: Sweep) -> Fit | None:
    """Return the better fit that one of the most useful columns gives, or None."""
    problem, places = climber.problem, climber.candidates(fit, sweep)
    if not len(places):
        return None
    exact = problem.sweep(fit, sweep.columns[places])
    gains, alphas = exact.additions()
    low, high = problem.precision_bounds()
    for place in np.argsort(-gains)[:_ATTEMPTS]:
        if gains[place] <= climber.least(fit):
            break
        # Where B moves much, the best precision for the B at hand may be too weak a prior.
        for firmness in (1.0, 10.0):
            alpha = min(max(firmness * float(alphas[place]), low), high)
            larger = add(problem, fit, exact, int(place), alpha)
            if larger is not None and larger.objective > fit.objective + climber.budget.tolerance:
                return larger
    return None


def tidy(climber: Climber, fit: Fit) -> Fit:
    """Drop the columns that are not worth their place, the least useful first."""
    while len(fit.active) > 1 and not climber.budget.spent:
        gains = deletion_gains(fit, climber.problem.smoothness)
        least = climber.worth(fit)
        if -gains.max() >= least:
            break
        fewer = drop(climber.problem, fit, np.arange(len(gains)) == np.argmax(gains))
        if fewer is None or fit.objective - fewer.objective >= least:
            break
        climber.budget.n_iter += 1
        fit = reestimate(climber, fewer, _BETWEEN, most=2)
    return fit
