"""Learning a variational classifier from all rows at once.

`climb` finds q(v) for given hyperparameters, and `maximise_bound` climbs inside a bounded
quasi-Newton search over them. For many rows see `variational_batches.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from parsimon._typing import Array
from parsimon.inference.variational import (
    InducingPrior,
    LabelledRows,
    VariationalPosterior,
    WhitenedGaussian,
    bound_gradient,
    bound_statistics,
)
from parsimon.optimise import minimise

Reason: TypeAlias = Literal["converged", "max_iter", "time_limit", "interrupted"]
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


class Climb(NamedTuple):
    """The best q(v) that a climb found."""

    gaussians: tuple[WhitenedGaussian, ...]
    bound: float
    converged: bool
    n_passes: int


def climb(
    prior: InducingPrior,
    gaussians: Sequence[WhitenedGaussian],
    rows: LabelledRows,
    *,
    tolerance: float = 1e-9,
    max_passes: int = 200,
    deadline: float | None = None,
) -> Climb:
    """Find the q(v) of greatest bound, with the hyperparameters held fixed.

    Full natural-gradient steps over all rows, halved whenever the bound would fall.
    """
    gaussians = tuple(gaussians)
    bound, targets = bound_statistics(prior, gaussians, rows)
    step, n_passes = 1.0, 1
    while n_passes < max_passes and not is_past(deadline):
        trial = tuple(q.moved(target, step) for q, target in zip(gaussians, targets, strict=True))
        statistics = bound_statistics(prior, trial, rows)
        n_passes += 1
        gain = statistics.bound - bound
        allowed = tolerance * max(abs(bound), 1.0)
        if gain < 0:
            step /= 2
            if step < LEAST_STEP or (gain > -allowed and step < 1 / 4):
                return Climb(gaussians, bound, True, n_passes)
            continue
        gaussians, (bound, targets) = trial, statistics
        if gain <= allowed:
            return Climb(gaussians, bound, True, n_passes)
        step = min(1.0, GROWTH * step)
    return Climb(gaussians, bound, False, n_passes)


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
            if not found.converged:
                timed_out = "time limit" in found.message
                # L-BFGS also gives up when rounding hides any further gain: nothing is left to do.
                stuck = "nothing lower" in found.message
                reason = "time_limit" if timed_out else "converged" if stuck else "max_iter"
        else:
            search(prior.kernel.theta)
    except KeyboardInterrupt:
        reason = "interrupted"
    history = np.array(search.history)
    return BoundFit(search.best, search.bound, history, max(1, len(history)), reason)


class _Search:
    """The climbed bound as a function to minimise, remembering the best and where it ended last."""

    def __init__(
        self, prior: InducingPrior, rows: LabelledRows, tol: float, report: Report | None
    ) -> None:
        self.rows, self.report = rows, report
        # Finer than the search's own, so that its line search sees a smooth function.
        self.tolerance = min(1e-7, tol / 100)
        self.gaussians = standard_gaussians(prior, rows)
        self.best = VariationalPosterior(prior, self.gaussians)
        self.bound = -np.inf
        self.history: list[float] = []

    def __call__(self, theta: Array) -> tuple[float, Array]:
        first = self.best.prior
        prior = replace(first, kernel=first.kernel.with_theta(theta))
        top = climb(prior, self.gaussians, self.rows, tolerance=self.tolerance)
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
