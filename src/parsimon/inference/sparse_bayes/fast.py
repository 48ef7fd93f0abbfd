"""Fast sequential sparse Bayesian learning: from nothing to the columns that the evidence wants.

Tipping and Faul (2003) change one precision at a time and look at every column after every
change. Looking at all columns is what costs, so here it is done rarely: between two sweeps
batches of columns are added, all precisions are re-estimated together, and columns are dropped
(`climb`). The evidence has many local maxima, and in which of them a climb ends is chance;
therefore a few columns are taken out at random and the model grows again, as long as that helps.

Growing from nothing cannot begin where every column alone is of no use, as with wide kernels,
whose columns are all nearly constant. `broad_start` therefore begins a second climb with a few
columns that span the dictionary, and drops most. Nor can it begin where every column alone costs
more than it brings, as narrow ones do under a smoothness prior: of classes a third climb begins at
the top that there is without the prior. Of numbers that top may explain the noise, where evidence
has no bound. Read `maximise_by_columns` first.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes._moves import (
    ColumnProblem,
    ColumnSweep,
    SparseFit,
    Surrogate,
    add_column,
    climb_together,
    deletion_gains,
    drop,
    exchange,
    greedy_picks,
    make_surrogate,
    prune,
)
from parsimon.inference.sparse_bayes.design import ScaledColumns, SparseBayes

# Gains in log evidence at which a re-estimation is good enough: before a sweep, and before more
# columns are added to a Gaussian model.
_COARSE = 1e-2
_BETWEEN = 0.2
# What a step leaves to be gained is less than this share of what it gained itself.
_QUADRATIC = 3.0
# Greatest change of a log precision that a model with the old B is believed.
_TRUST = 4.0
_MOST_STEPS = 50
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

    tol: float
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

    problem: ColumnProblem
    budget: Budget
    nothing: float

    def worth(self, fit: SparseFit) -> float:
        """Return the gain that a column must bring to stay."""
        share = _WORTH_SHARE * (fit.objective - self.nothing)
        return float(max(self.budget.tol, min(share, _WORTH_MOST)))

    def least(self, fit: SparseFit) -> float:
        """Return the gain that a column must promise to be tried."""
        return float(max(self.budget.tol, min(_TRIED, self.worth(fit))))

    def candidates(self, fit: SparseFit, sweep: ColumnSweep) -> Indices:
        """Return the places in a sweep of the columns with the greatest gains."""
        gains, _ = sweep.additions()
        most = max(_POOL[0], min(_POOL[1], int(_POOL_NUMBERS / len(fit.residual))))
        size = min(len(gains), max(_POOL[0], min(most, len(gains) // 4)))
        places = np.argpartition(-gains, size - 1)[:size] if size else np.arange(0)
        return places[gains[places] > self.least(fit)]


def climb(climber: Climber, fit: SparseFit, sweep: ColumnSweep | None = None) -> SparseFit:
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
        if fit.objective > before + climber.budget.tol:
            continue
        if fresh or trusted:
            break
        sweep = None
    return fit


def reestimate(
    climber: Climber, fit: SparseFit, enough: float, most: int = _MOST_STEPS
) -> SparseFit:
    """Bring the precisions of the active columns to a maximum, dropping those not needed."""
    doubtful = False
    for _ in range(most):
        if climber.budget.spent or not len(fit.theta):
            break
        if doubtful:
            better, foreseen = climb_together(climber.problem, fit)
        else:
            better, foreseen, doubtful = settle_fit(climber.problem, fit, enough)
        if better is fit:
            break
        climber.budget.n_iter += 1
        fit = better
        if foreseen < _QUADRATIC * enough:
            break
    return fit


def settle_fit(
    problem: ColumnProblem, fit: SparseFit, enough: float
) -> tuple[SparseFit, float, bool]:
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
    return *climb_together(problem, fewer), failed


def propose(
    problem: ColumnProblem, fit: SparseFit, enough: float
) -> tuple[SparseFit | None, float]:
    """Maximise over the precisions with B held; return the fit there and the gain foreseen."""
    modelled = make_surrogate(fit, fit.columns, problem.precisions, problem.smoothness)
    if modelled is None:
        return None, np.inf
    model, here = modelled
    there = settle_model(model, here, 0.1 * enough)
    fewer = len(there.active) < len(fit.active)
    gain = np.inf if fewer else there.objective - here.objective
    if gain < enough:
        return None, gain
    return realise(problem, fit, there, (fit.active, fit.columns)), gain


def settle_model(model: Surrogate, fit: SparseFit, enough: float) -> SparseFit:
    """Maximise over the precisions in a Gaussian model, dropping columns."""
    for _ in range(_MOST_STEPS):
        before = fit
        fit, foreseen = climb_together(model, prune(model, fit))
        if fit is before or foreseen < _QUADRATIC * enough:
            break
    return fit


def realise(
    problem: ColumnProblem, fit: SparseFit, there: SparseFit, columns: tuple[Indices, Array]
) -> SparseFit | None:
    """Return the fit where a Gaussian model of `columns` went, not too far from `fit`."""
    n_active = len(fit.active)
    old = there.active < n_active
    theta = np.append(there.theta, fit.theta[n_active:])
    here = fit.theta[there.active[old]]
    theta[: len(old)][old] = np.clip(there.theta[old], here - _TRUST, here + _TRUST)
    indices, values = columns
    return problem.evaluate(indices[there.active], theta, values[:, there.active], there.weights)


def grow(climber: Climber, fit: SparseFit, sweep: ColumnSweep) -> SparseFit:
    """Add the most useful columns, a batch at a time, while there is a gain."""
    while not climber.budget.spent:
        larger = add_batch(climber, fit, sweep)
        if larger is None:
            break
        climber.budget.n_iter += 1
        fit = larger
        sweep = climber.problem.refresh(fit, sweep)
    return fit


def add_batch(climber: Climber, fit: SparseFit, sweep: ColumnSweep) -> SparseFit | None:
    """Return a better fit with several columns more, as a Gaussian model proposes them, or None.

    Where B would change so much that the objective falls, a quarter of them is tried, and so on
    down to one by one.
    """
    problem, least = climber.problem, climber.least(fit)
    columns = sweep.columns[climber.candidates(fit, sweep)]
    if not len(columns):
        return None
    together = np.hstack([fit.columns, problem.take(columns)])
    modelled = make_surrogate(fit, together, problem.precisions, problem.smoothness)
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
        if larger is not None and larger.objective > fit.objective + climber.budget.tol:
            return larger
        most = min(most, len(there.active)) // 4
    return add_one(climber, fit, sweep)


def enlarge_model(model: Surrogate, fit: SparseFit, least: float, most: int) -> SparseFit:
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


def add_one(climber: Climber, fit: SparseFit, sweep: ColumnSweep) -> SparseFit | None:
    """Return the better fit that one of the most useful columns gives, or None."""
    problem, places = climber.problem, climber.candidates(fit, sweep)
    if not len(places):
        return None
    exact = problem.sweep(fit, sweep.columns[places])
    gains, alphas = exact.additions()
    low, high = problem.precisions
    for place in np.argsort(-gains)[:_ATTEMPTS]:
        if gains[place] <= climber.least(fit):
            break
        # Where B moves much, the best precision for the B at hand may be too weak a prior.
        for firmness in (1.0, 10.0):
            alpha = min(max(firmness * float(alphas[place]), low), high)
            larger = add_column(problem, fit, exact, int(place), alpha)
            if larger is not None and larger.objective > fit.objective + climber.budget.tol:
                return larger
    return None


def tidy(climber: Climber, fit: SparseFit) -> SparseFit:
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


# Enough for the numerical rank of wide kernels; narrow ones can begin from nothing.
_MOST_COLUMNS = 40
# Share of a column's square that must not lie in the span of those chosen before.
_NEW_SHARE = 1e-12
# With columns of mean square one: from weights that are hardly held back to small ones.
_PRECISIONS = (1e-8, 1e-6, 1e-4, 1e-2, 1.0, 1e2)


def spanning_columns(columns: ScaledColumns, row_weights: Array) -> Indices:
    """Return columns, each farthest from the span of those before it: pivoted Cholesky.

    Shapes: row_weights (n,) -> (m,).
    """
    total = float(row_weights.sum())
    left = np.where(columns.usable, total, 0.0)
    factor = np.empty((len(left), 0))
    chosen: list[int] = []
    while len(chosen) < min(_MOST_COLUMNS, len(left)):
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


def broad_start(problem: ColumnProblem, start: SparseFit) -> SparseFit | None:
    """Return the best fit with spanning columns at one precision; None if none can be had."""
    chosen = spanning_columns(problem.columns, problem.row_weights)
    columns = problem.take(chosen)
    low, high = np.log(problem.precisions)
    best: SparseFit | None = None
    for noise in (start.theta, start.theta + 2.0, start.theta + 4.0)[: 1 + 2 * len(start.theta)]:
        for precision in np.clip(np.log(_PRECISIONS), low, high):
            theta = np.append(np.full(len(chosen), precision), noise)
            bottom, top = problem.bounds(theta)
            theta = np.clip(theta, bottom, top)
            fit = problem.evaluate(chosen, theta, columns, np.zeros(len(chosen)))
            if fit is not None and (best is None or fit.objective > best.objective):
                best = fit
    return best


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
# Columns for each row up to which a climb without the smoothness prior is worth its time: where
# there are more, its top explains the noise, and takes many columns.
_MOST_A_ROW = 10
_CONVERGED = "No column that is worth its place can be added, and none dropped or exchanged."


def maximise_by_columns(
    problem: ColumnProblem,
    start: SparseBayes | None,
    unit: float,
    tol: float,
    max_iter: int,
    time_limit: float | None,
) -> SparseBayes:
    """Add, re-estimate, drop and exchange columns until no step raises the objective.

    Targets were divided by `unit`; the result is in the caller's.
    """
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    nothing, warm = problem.empty(), None if start is None else problem.warm(start, unit)
    climber = Climber(problem, Budget(tol, max_iter, deadline), nothing.objective)
    best = BestFit(warm or nothing)
    if warm is not None:
        best.consider(tidy(climber, climb(climber, warm)))
    else:
        best.consider(first_climbs(climber, nothing))
        n_rows, n_columns = problem.columns.design.shape
        may_explain_noise = not problem.second_start or n_columns > _MOST_A_ROW * n_rows
        if problem.smoothness and not may_explain_noise:
            unpriced = replace(problem, smoothness=0.0)
            top = first_climbs(replace(climber, problem=unpriced), nothing)
            priced = problem.evaluate(top.active, top.theta, top.columns, top.weights)
            best.consider(priced and tidy(climber, climb(climber, priced)))
        explore(climber, best)
    converged = finish(climber, best)
    return to_result(climber, best, unit, _CONVERGED if converged else climber.budget.reason)


def first_climbs(climber: Climber, nothing: SparseFit) -> SparseFit:
    """Return the better of a climb from nothing and one from a broad start."""
    best = BestFit(nothing)
    best.consider(tidy(climber, climb(climber, nothing)))
    if not climber.budget.spent:
        broad = broad_start(climber.problem, nothing)
        best.consider(broad and tidy(climber, climb(climber, broad)))
    return best.fit


class BestFit:
    """The best fit so far and the objectives of those before it."""

    def __init__(self, fit: SparseFit) -> None:
        self.fit = fit
        self.history = [fit.objective]

    def consider(self, fit: SparseFit | None, least: float = 0.0) -> bool:
        """Take a fit if it is better; return whether it was."""
        if fit is None or not fit.objective > self.fit.objective + least:
            return False
        self.fit = fit
        self.history.append(fit.objective)
        return True


def explore(climber: Climber, best: BestFit) -> None:
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


def n_shakes(fit: SparseFit) -> int:
    """Return how often a model of this size is shaken at most."""
    n_rows, n_active = fit.columns.shape
    wanted = int(np.clip(_SHAKES_AT_1000 * (n_rows / 1000) ** 1.5, *_SHAKES))
    return min(wanted, int(_WORK / (n_rows * n_active**3)))


def finish(climber: Climber, best: BestFit) -> bool:
    """Go to the top of the best maximum found; return whether it was reached."""
    enough = 0.1 * climber.budget.tol**2
    while not climber.budget.spent:
        best.consider(reestimate(climber, best.fit, enough))
        sweep = climber.problem.sweep(best.fit)
        gains, _ = sweep.additions()
        if gains.max(initial=0.0) > climber.worth(best.fit):
            larger = tidy(climber, climb(climber, best.fit))
            if best.consider(larger, climber.budget.tol):
                continue
        if not exchange_columns(climber, best, sweep):
            return not climber.budget.spent
    return False


def exchange_columns(climber: Climber, best: BestFit, sweep: ColumnSweep) -> bool:
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
        if best.consider(other, climber.budget.tol):
            climber.budget.n_iter += 1
            exchanged, failures = True, 0
        else:
            failures += 1
    return exchanged


def to_result(climber: Climber, best: BestFit, unit: float, reason: str) -> SparseBayes:
    """Return where a climb ended in the caller's units, columns ascending."""
    fit, problem = best.fit, climber.problem
    order = np.argsort(fit.active)
    scale = problem.columns.scale[fit.active] / unit
    spread = 1.0 / (np.sqrt(fit.alpha) * scale)
    shift = -problem.n_rows * float(np.log(unit))
    noise = problem.noise(fit.theta, len(fit.active))
    return SparseBayes(
        active=fit.active[order],
        alpha=(fit.alpha * scale**2)[order],
        mean=(fit.weights * spread)[order],
        covariance=(fit.covariance * spread * spread[:, None])[np.ix_(order, order)],
        noise_variance=None if noise is None else noise * unit**2,
        log_evidence=fit.log_evidence + shift,
        objective=fit.objective + shift,
        n_iter=climber.budget.n_iter,
        converged=reason == _CONVERGED,
        reason=reason,
        history=np.array(best.history) + shift,
    )
