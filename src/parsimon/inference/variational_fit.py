"""Learning a variational classifier: from all rows at once, or by mini-batches.

`climb_bound` finds q(v) for given hyperparameters, and `maximise_bound` climbs inside a bounded
quasi-Newton search over them. `stochastic_bound` is for many rows: each mini-batch gives q(v) one
natural-gradient step and the hyperparameters one step of Adam.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from parsimon._interrupts import as_one_piece
from parsimon._typing import Array
from parsimon.inference.variational import (
    InducingPrior,
    LabelledRows,
    VariationalPosterior,
    WhitenedGaussian,
    bound_gradient,
    bound_statistics,
)
from parsimon.optimise import Minimum, minimise

Reason: TypeAlias = Literal["converged", "max_iter", "time_limit", "interrupt"]
Report: TypeAlias = Callable[[int, float], Any]

# A step of q(v) that is halved this often without a gain ends a climb.
LEAST_STEP = 2.0**-10
# After a gain a shortened step grows by this; doubling it would fail every second time and took
# three times as many passes under a prior of variance 400.
GROWTH = 1.2


class BoundFit(NamedTuple):
    """A variational classifier and how it was found.

    bound: Evidence lower bound over all rows.
    history (n_iterations,): The bound after each iteration; by mini-batches, its mean over a
        pass.
    n_iterations: Iterations of the quasi-Newton search, or passes over the rows.
    reason: Why the search stopped.
    """

    posterior: VariationalPosterior
    bound: float
    history: Array
    n_iterations: int
    reason: Reason


class BoundClimb(NamedTuple):
    """The best q(v) that a climb found."""

    gaussians: tuple[WhitenedGaussian, ...]
    bound: float
    converged: bool
    n_passes: int


def climb_bound(
    prior: InducingPrior,
    gaussians: Sequence[WhitenedGaussian],
    rows: LabelledRows,
    *,
    tol: float = 1e-9,
    max_passes: int = 200,
    deadline: float | None = None,
) -> BoundClimb:
    """Find the q(v) of greatest bound, with the hyperparameters held fixed.

    Full natural-gradient steps over all rows, halved whenever the bound would fall.
    """
    gaussians = tuple(gaussians)
    bound, targets = bound_statistics(prior, gaussians, rows)
    step, n_passes = 1.0, 1
    while n_passes < max_passes and not is_past(deadline):
        trial = tuple(q.move(target, step) for q, target in zip(gaussians, targets, strict=True))
        statistics = bound_statistics(prior, trial, rows)
        n_passes += 1
        gain = statistics.bound - bound
        allowed = tol * max(abs(bound), 1.0)
        if gain < 0:
            step /= 2
            if step < LEAST_STEP or (gain > -allowed and step < 1 / 4):
                return BoundClimb(gaussians, bound, True, n_passes)
            continue
        gaussians, (bound, targets) = trial, statistics
        if gain <= allowed:
            return BoundClimb(gaussians, bound, True, n_passes)
        step = min(1.0, GROWTH * step)
    return BoundClimb(gaussians, bound, False, n_passes)


def maximise_bound(
    prior: InducingPrior,
    rows: LabelledRows,
    bounds: Array,
    *,
    max_iter: int = 100,
    tol: float = 1e-6,
    time_limit: float | None = None,
    report: Report | None = None,
) -> BoundFit:
    """Learn q(v) and hyperparameters from all rows at once, for small tables.

    At the best q(v) the bound's derivative for the hyperparameters is the partial one, so a
    quasi-Newton search over them needs nothing else.

    Parameters
    ----------
    prior : InducingPrior
        The kernel to begin with, and the inducing points, which stay where they are.
    rows : LabelledRows
    bounds : ndarray of shape (p, 2)
        Of the log hyperparameters.
    max_iter : int
        Iterations of the search.
    tol : float
        Stop when an iteration gains less than this, relative to ``max(|bound|, 1)``.
    time_limit : float, optional
        Seconds.
    report : callable, optional
        Called with the number of evaluations and the bound after each one.

    Returns
    -------
    BoundFit
        After Ctrl-C, the best so far.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> rows = LabelledRows(X, np.where(np.sin(X) > 0, 1.0, -1.0), np.ones(30))
    >>> kernel = SquaredExponential().start(X)
    >>> fit = maximise_bound(InducingPrior(kernel, X[::3]), rows, kernel.bounds(X))
    >>> fit.reason, bool(fit.bound > fit.history[0])
    ('converged', True)
    """
    search = _Search(prior, rows, tol, report)
    reason: Reason = "converged"
    with as_one_piece() as interrupt:
        try:
            if len(bounds):
                found = minimise(
                    search,
                    prior.kernel.theta,
                    bounds,
                    max_iterations=max_iter,
                    value_tolerance=tol,
                    time_limit=time_limit,
                )
                reason = _reason(found)
            else:
                search(prior.kernel.theta)
        except KeyboardInterrupt as error:
            if not search.history:
                raise
            interrupt.answer(error)
            reason = "interrupt"
    history = np.array(search.history)
    return BoundFit(search.best, search.bound, history, max(1, len(history)), reason)


def _reason(found: Minimum) -> Reason:
    """Return why a descent ended."""
    # L-BFGS also gives up when rounding hides any further gain: nothing is left to do.
    if found.converged or "nothing lower" in found.message:
        return "converged"
    return "time_limit" if "time limit" in found.message else "max_iter"


class _Search:
    """The climbed bound as a function to minimise, remembering the best and where it ended last."""

    def __init__(
        self, prior: InducingPrior, rows: LabelledRows, tol: float, report: Report | None
    ) -> None:
        self.rows, self.report = rows, report
        # Finer than the search's own, so that its line search sees a smooth function.
        self.tol = min(1e-7, tol / 100)
        self.gaussians = standard_gaussians(prior, rows)
        self.best = VariationalPosterior(prior, self.gaussians)
        self.bound = -np.inf
        self.history: list[float] = []

    def __call__(self, theta: Array) -> tuple[float, Array]:
        first = self.best.prior
        prior = replace(first, kernel=first.kernel.with_theta(theta))
        top = climb_bound(prior, self.gaussians, self.rows, tol=self.tol)
        gradient = bound_gradient(prior, top.gaussians, self.rows)
        self.gaussians = top.gaussians
        if top.bound > self.bound:
            self.best, self.bound = VariationalPosterior(prior, top.gaussians), top.bound
        self.history.append(top.bound)
        if self.report is not None:
            self.report(len(self.history), top.bound)
        return -top.bound, -gradient


def standard_gaussians(prior: InducingPrior, rows: LabelledRows) -> tuple[WhitenedGaussian, ...]:
    """Return the prior N(0, I) for each binary problem."""
    return tuple(WhitenedGaussian.standard(len(prior.Z)) for _ in rows.signs.T)


def is_past(deadline: float | None) -> bool:
    """Tell whether `time.monotonic` has reached the deadline, if there is one."""
    return deadline is not None and monotonic() >= deadline


# Passes that together gain less than the tolerance end the search.
PATIENCE = 2
# The polish of q(v) on all rows: relative gain that ends it, and passes at most.
POLISHED = 1e-5
MOST_POLISH = 20


def stochastic_bound(
    prior: InducingPrior,
    rows: LabelledRows,
    bounds: Array,
    *,
    rng: np.random.Generator,
    batch_size: int = 1000,
    learning_rate: float = 0.03,
    natural_step: float = 0.1,
    max_iter: int = 50,
    tol: float = 1e-3,
    time_limit: float | None = None,
    report: Report | None = None,
) -> BoundFit:
    """Learn q(v) and hyperparameters by mini-batches, and polish q(v) on all rows at the end.

    Each pass goes through all rows once in random order, so that the bound averaged over a pass
    does not depend on which rows were drawn. The polish holds the hyperparameters fixed.

    Shapes: bounds (p, 2).
    """
    deadline = None if time_limit is None else monotonic() + time_limit
    state = _BatchState(prior, standard_gaussians(prior, rows), Adam.begin(prior.kernel.theta))
    history: list[float] = []
    reason: Reason = "max_iter"
    n_rows = len(rows.X)
    with as_one_piece() as interrupt:
        try:
            while reason == "max_iter" and len(history) < max_iter:
                values = []
                for which in np.array_split(rng.permutation(n_rows), -(-n_rows // batch_size)):
                    batch = rows.take(which, n_rows / len(which))
                    state, value = state.step(batch, bounds, natural_step, learning_rate)
                    values.append(value)
                    if is_past(deadline):
                        reason = "time_limit"
                        break
                history.append(float(np.mean(values)))
                if report is not None:
                    report(len(history), history[-1])
                if reason == "max_iter" and _has_settled(history, tol):
                    reason = "converged"
            top = climb_bound(
                state.prior,
                state.gaussians,
                rows,
                tol=POLISHED,
                max_passes=MOST_POLISH,
                deadline=deadline,
            )
        except KeyboardInterrupt as error:
            interrupt.answer(error)
            reason = "interrupt"
            top = BoundClimb(state.gaussians, history[-1] if history else -np.inf, False, 0)
    posterior = VariationalPosterior(state.prior, top.gaussians)
    return BoundFit(posterior, top.bound, np.array(history), max(1, len(history)), reason)


@dataclass(frozen=True, eq=False)
class _BatchState:
    """Everything that a mini-batch changes."""

    prior: InducingPrior
    gaussians: tuple[WhitenedGaussian, ...]
    adam: "Adam"

    def step(
        self, batch: LabelledRows, bounds: Array, natural_step: float, learning_rate: float
    ) -> tuple[Self, float]:
        """Return the next state, and the bound that the batch estimated for this one."""
        statistics = bound_statistics(self.prior, self.gaussians, batch)
        gaussians = tuple(
            q.move(target, natural_step)
            for q, target in zip(self.gaussians, statistics.targets, strict=True)
        )
        if not len(bounds):
            return replace(self, gaussians=gaussians), statistics.bound
        gradient = bound_gradient(self.prior, gaussians, batch)
        adam = self.adam.step(gradient, bounds, learning_rate)
        prior = replace(self.prior, kernel=self.prior.kernel.with_theta(adam.point))
        return type(self)(prior, gaussians, adam), statistics.bound


@dataclass(frozen=True, eq=False)
class Adam:
    """Adam's moving averages, climbing (Kingma and Ba 2015, ICLR, algorithm 1).

    point, first, second (p,): Where it is; averages of the gradient and of its square.
    """

    point: Array
    first: Array
    second: Array
    n_steps: int

    @classmethod
    def begin(cls, point: Array) -> Self:
        """Return the state before any step."""
        return cls(point, np.zeros_like(point), np.zeros_like(point), 0)

    def step(self, gradient: Array, bounds: Array, learning_rate: float) -> Self:
        """Return the state after one step up the gradient, moved inside the bounds, (p, 2)."""
        n_steps = self.n_steps + 1
        first = 0.9 * self.first + 0.1 * gradient
        second = 0.999 * self.second + 0.001 * gradient**2
        size = np.sqrt(second / (1 - 0.999**n_steps)) + 1e-8
        point = self.point + learning_rate * first / (1 - 0.9**n_steps) / size
        return type(self)(np.clip(point, *bounds.T), first, second, n_steps)


def _has_settled(history: list[float], tol: float) -> bool:
    """Tell whether the best of the last passes is hardly better than the best before them."""
    if len(history) <= PATIENCE:
        return False
    before, recent = max(history[:-PATIENCE]), max(history[-PATIENCE:])
    return recent - before < tol * abs(before)
