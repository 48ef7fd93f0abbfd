"""Passes over the rows of a clutter problem, and the steps that end them where they do not settle.

A row is signal, N(theta, s I), or with probability w clutter, N(0, a I); theta has a Gaussian
prior. The posterior of theta, a mixture of 2^n Gaussians, is approximated by one, N(m, v I). A
pass (`_visit_all`) takes the approximate factor of each row out of it, puts the exact factor in,
and matches mean and variance. Factors are kept as exp(b.theta - p |theta|^2 / 2) with shift b and
precision p, so that one that says nothing is zero and none is infinite.

Canonical factors have b = p m + g, where g is the gradient of the log normaliser; those of gamma-EP
(Fearn 2021, chapter 3) b = p m - gamma g. With gamma = -1 they are the same, and only then is the
posterior the product of prior and factors.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import check_positive, check_probability, finite_vector
from parsimon._compiled import compiled
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError

# Precision of a factor that a restriction has put out of action (Minka 2001).
RESTRICTED = 1e-8
# A posterior mean this large, in deviations of the prior or sizes of rows, goes to infinity.
DIVERGED = 1e6
# The change must fall to this share: in so many passes, or Newton's method is tried; in so many, or
# steps are halved, down to the shortest.
FALL, TRY_NEWTON, PATIENCE, SHORTEST = 0.7, 5, 10, 1.0 / 64.0
# Of Newton's method: most steps, shortest share of one, difference for derivatives, and by what
# factors that have no posterior are shrunk at the start.
MOST_STEPS, SHORTEST_STEP, DIFFERENCE, SHRINK = 30, 1e-4, 1e-6, 0.7


class Problem(NamedTuple):
    """Share and variance of clutter, variance of signal, prior of theta; prior_mean (d,)."""

    weight: float
    clutter_variance: float
    signal_variance: float
    prior_mean: Array
    prior_variance: float

    @property
    def log_shares(self) -> tuple[float, float]:
        """Logarithms of the shares of signal and of clutter."""
        with np.errstate(divide="ignore"):
            return float(np.log1p(-self.weight)), float(np.log(self.weight))

    def clutter_logs(self, X: Array) -> Array:
        """Return log w N(x | 0, a I), X (..., d), shape (...)."""
        return self.log_shares[1] + gaussian_logs(X, self.clutter_variance)

    def log_densities(self, X: Array, mean: Array, variance: float) -> tuple[Array, Array]:
        """Return log densities of being signal, and at all, if theta is N(mean, variance I)."""
        spread = variance + self.signal_variance
        signal = self.log_shares[0] + gaussian_logs(X - mean, spread)
        return signal, np.logaddexp(signal, self.clutter_logs(X))


def gaussian_logs(differences: Array, variance: float) -> Array:
    """Return log densities of spherical Gaussians, differences (..., d), shape (...)."""
    d = differences.shape[-1]
    squares = np.einsum("...k,...k->...", differences, differences)
    return -0.5 * (d * np.log(2.0 * np.pi * variance) + squares / variance)


def per_column(name: str, value: Any, d: int) -> Array:
    """Return a number, or d of them, as an array of shape (d,)."""
    given = finite_vector(np.atleast_1d(value), name)
    if len(given) not in (1, d):
        raise InvalidInputError(f"{name} must be a number or {d} of them, got {len(given)}.")
    return np.broadcast_to(given, d).copy()


def check_problem(
    d: int,
    weight: Any,
    clutter_variance: Any,
    signal_variance: Any,
    prior_mean: Any,
    prior_variance: Any,
) -> Problem:
    """Return the problem of d columns that options ask for, refused where they cannot be."""
    return Problem(
        check_probability("weight", weight),
        check_positive("clutter_variance", clutter_variance),
        check_positive("signal_variance", signal_variance),
        per_column("prior_mean", prior_mean, d),
        check_positive("prior_variance", prior_variance),
    )


class Passing(NamedTuple):
    """How passes are made: order of rows (n,), what is restricted, shares of steps, stops.

    `share` is None if passes that do not settle get help.
    """

    order: Indices
    restrict: bool
    share: float | None
    tol: float
    max_iter: int


@compiled
def _visit_all(
    X: Array,
    clutter_logs: Array,
    order: Indices,
    posterior: Array,
    sites: Array,
    seen: Array,
    gamma: Array,
    model: tuple[float, float],
    restrict: bool,
    share: float,
) -> float:
    """Visit every row once and return the largest change of a factor, as it would be undamped.

    `posterior`, `sites` and `seen` are those of `Passes`, and are changed; `gamma` (d,); `model`
    is the log share of signal and its variance. Rows without which the posterior has no variance
    are passed over, and count as an infinite change.
    """
    d = X.shape[1]
    log_share, signal_variance = model
    change = 0.0
    for i in order:
        hole = posterior[0] - sites[i, 0]
        if not hole > 0.0:
            change = np.inf
            continue
        spread = 1.0 / hole + signal_variance
        distance = 0.0
        for k in range(d):
            seen[i, 3 + k] = (posterior[1 + k] - sites[i, 1 + k]) / hole
            distance += (X[i, k] - seen[i, 3 + k]) ** 2
        log_signal = log_share - 0.5 * (d * np.log(2.0 * np.pi * spread) + distance / spread)
        top = max(log_signal, clutter_logs[i])
        log_z = top + np.log(np.exp(log_signal - top) + np.exp(clutter_logs[i] - top))
        signal, clutter = np.exp(log_signal - log_z), np.exp(clutter_logs[i] - log_z)
        # 1 / v - 1 / v' in a form that no rounding cancels, however wide the prior is.
        excess = clutter * distance / (d * spread)
        rest = clutter * spread + signal * (excess / hole + signal_variance)
        precision = signal * (1.0 - excess) / rest
        if restrict and precision < 0.0:
            precision = RESTRICTED
        seen[i, 0], seen[i, 1], seen[i, 2] = log_z, signal, hole
        unit = posterior[0]
        change = max(change, abs(precision - sites[i, 0]) / unit)
        sites[i, 0] += share * (precision - sites[i, 0])
        posterior[0] += share * (hole + precision - posterior[0])
        for k in range(d):
            slope = signal * (X[i, k] - seen[i, 3 + k]) / spread
            mean = seen[i, 3 + k] + slope / hole
            shift = precision * mean - gamma[k] * slope
            change = max(change, abs(shift - sites[i, 1 + k]) / np.sqrt(unit))
            sites[i, 1 + k] += share * (shift - sites[i, 1 + k])
            posterior[1 + k] += share * ((hole + precision) * mean - posterior[1 + k])
            seen[i, 3 + d + k] = slope
            seen[i, 3 + 2 * d + k] = mean
    return change


def pass_over(X: Array, problem: Problem, gamma: Array, how: Passing) -> "Passes":
    """Make passes over rows X (n, d) until factors settle, with gamma (d,)."""
    run = Passes(X, problem, gamma, how)
    best, waited = np.inf, 0
    while run.n_iter < how.max_iter and run.change > how.tol:
        run.visit()
        if not run.is_finite():
            run.change = np.inf
            break
        if run.change < FALL * best:
            best, waited = run.change, 0
        elif how.share is None:
            waited += 1
        if waited and waited % TRY_NEWTON == 0 and run.leap():
            best, waited = np.inf, 0
        elif waited == PATIENCE:
            best, waited = run.change, 0
            run.share = max(run.share / 2, SHORTEST)
    return run


class Passes:
    """Passes over rows X (n, d), and what they leave behind.

    posterior (1 + d,), sites (n, 1 + d): Precision and shift.
    seen (n, 3 + 3 d): For each row as it was visited last: log Z, probability of signal, precision
    and then mean of the posterior without its factor, gradient of log Z, posterior mean.
    change: Largest in the last pass, in units of the posterior's precision and of its root.
    n_iter, n_steps: Passes, and steps of Newton's method.
    share: Of a step.
    """

    def __init__(self, X: Array, problem: Problem, gamma: Array, how: Passing) -> None:
        n, d = X.shape
        precision = 1.0 / problem.prior_variance
        self.X, self.problem, self.gamma, self.how = X, problem, gamma, how
        self.prior = np.concatenate([[precision], precision * problem.prior_mean])
        self.posterior = self.prior.copy()
        self.sites, self.seen = np.zeros((n, 1 + d)), np.zeros((n, 3 + 3 * d))
        self.clutter_logs = problem.clutter_logs(X)
        self.share = 1.0 if how.share is None else how.share
        self.change, self.n_iter, self.n_steps = np.inf, 0, 0

    @property
    def mean(self) -> Array:
        """Posterior mean, shape (d,)."""
        return self.posterior[1:] / self.posterior[0]

    @property
    def converged(self) -> bool:
        """Whether no factor changed by more than the tolerance in the last pass."""
        return bool(self.change <= self.how.tol)

    def visit(self) -> None:
        """Make a pass."""
        with np.errstate(all="ignore"):
            self.change = _visit_all(
                self.X,
                self.clutter_logs,
                self.how.order,
                self.posterior,
                self.sites,
                self.seen,
                self.gamma,
                (self.problem.log_shares[0], self.problem.signal_variance),
                self.how.restrict,
                self.share,
            )
        self.n_iter += 1

    def is_finite(self) -> bool:
        """Return whether the posterior mean is not on its way to infinity."""
        unit = max(np.sqrt(self.problem.prior_variance), float(np.abs(self.X).max()), 1.0)
        return bool(float(np.abs(self.mean).max()) < DIVERGED * unit)

    def leap(self) -> bool:
        """Go to a fixed point by Newton's method, if the factors are canonical and it finds one."""
        if self.how.restrict or (self.gamma != -1.0).any():
            return False
        sites, n_steps = fixed_point(
            self.X, self.problem, self.prior, self.sites, 0.01 * self.how.tol
        )
        self.n_steps += n_steps
        if sites is None:
            return False
        self.sites[:] = sites
        self.posterior[:] = self.prior + sites.sum(axis=0)
        return True


def fixed_point(
    X: Array, problem: Problem, prior: Array, sites: Array, tol: float
) -> tuple[Array | None, int]:
    """Return factors that their own update leaves as they are, or None, and the steps taken.

    Passes go round a fixed point that repels them however short their steps are; Newton's method
    does not mind. A factor's update depends on the posterior Q without it alone, so that the
    equations of n factors reduce to those of Q, in time n d^3. Shapes: prior (1 + d,), sites
    (n, 1 + d), precision first.
    """
    if not np.isfinite(sites).all():
        return None, 0
    identity = np.eye(X.shape[1] + 1)
    residual = partial(_residual, X, problem, prior)
    found = residual(sites)
    while found is None:
        # Without factors there is the prior, which is one.
        sites = SHRINK * sites
        found = residual(sites)
    for n_steps in range(MOST_STEPS):
        if found is None or found[1].max() <= tol:
            return (None if found is None else sites), n_steps
        holes = prior + sites.sum(axis=0) - sites
        slopes = _update_slopes(X, problem, holes)
        try:
            solved = np.linalg.solve(
                identity + slopes, np.concatenate([found[0][:, :, None], slopes], axis=2)
            )
            first, rest = solved[:, :, 0], solved[:, :, 1:]
            whole = np.linalg.solve(identity - rest.sum(axis=0), first.sum(axis=0))
        except np.linalg.LinAlgError:
            return None, n_steps
        step = first + rest @ whole
        share = _share_that_helps(residual, sites, step)
        sites = sites + share * step
        found = residual(sites) if share else None
    return None, MOST_STEPS


def _share_that_helps(
    residual: Callable[[Array], tuple[Array, Array] | None], sites: Array, step: Array
) -> float:
    """Return the greatest of 1, 1/2, 1/4, ... of a step that lowers the residual, 0 if none."""
    before = residual(sites)
    share = 1.0
    while before is not None and share > SHORTEST_STEP:
        after = residual(sites + share * step)
        if after is not None and np.linalg.norm(after[1]) < np.linalg.norm(before[1]):
            return share
        share /= 2
    return 0.0


def _residual(X: Array, problem: Problem, prior: Array, sites: Array) -> tuple[Array, Array] | None:
    """Return how far updates move the factors, raw and in posterior units; None if invalid."""
    posterior = prior + sites.sum(axis=0)
    holes = posterior - sites
    if not (posterior[0] > 0 and (holes[:, 0] > 0).all()):
        return None
    residual = update_sites(X, problem, holes) - sites
    units = np.full(len(prior), np.sqrt(posterior[0]))
    units[0] = posterior[0]
    return residual, np.abs(residual) / units


def update_sites(X: Array, problem: Problem, holes: Array) -> Array:
    """Return the canonical factors (n, 1 + d) given the posterior without each, (n, 1 + d)."""
    d = X.shape[1]
    variance = 1.0 / holes[:, :1]
    spread = variance + problem.signal_variance
    away = X - holes[:, 1:] * variance
    distance = np.sum(away**2, axis=1, keepdims=True)
    signal_log = problem.log_shares[0] - 0.5 * (
        d * np.log(2.0 * np.pi * spread) + distance / spread
    )
    clutter_log = problem.clutter_logs(X)[:, None]
    whole = np.logaddexp(signal_log, clutter_log)
    signal, clutter = np.exp(signal_log - whole), np.exp(clutter_log - whole)
    excess = clutter * distance / (d * spread)
    rest = clutter * spread + signal * (excess * variance + problem.signal_variance)
    precision = signal * (1.0 - excess) / rest
    slope = signal * away / spread
    mean = X - away + variance * slope
    return np.hstack([precision, precision * mean + slope])


def _update_slopes(X: Array, problem: Problem, holes: Array) -> Array:
    """Return derivatives of updates by holes, shape (n, 1 + d, 1 + d), by central differences."""
    slopes = np.empty((*holes.shape, holes.shape[1]))
    for k in range(holes.shape[1]):
        width = holes[:, 0] if k == 0 else np.abs(holes[:, k]) + np.sqrt(holes[:, 0])
        moved = np.zeros_like(holes)
        moved[:, k] = DIFFERENCE * width
        rise = update_sites(X, problem, holes + moved) - update_sites(X, problem, holes - moved)
        slopes[:, :, k] = rise / (2.0 * DIFFERENCE * width)[:, None]
    return slopes


def _log_partition(precision: Array, shift: Array) -> Array:
    """Return the log integral of exp(b.theta - p |theta|^2 / 2), p (...), b (..., d)."""
    squares = np.einsum("...k,...k->...", shift, shift) / precision
    return 0.5 * (squares - shift.shape[-1] * np.log(precision / (2.0 * np.pi)))


def corrected_evidence(passed: Passes, problem: Problem) -> float:
    """Return the log evidence: each factor scaled to have the normaliser of the exact one."""
    d = len(passed.posterior) - 1
    holes = passed.seen[:, 2]
    shifts = holes[:, None] * passed.seen[:, 3 : 3 + d]
    before = _log_partition(holes, shifts)
    after = _log_partition(holes + passed.sites[:, 0], shifts + passed.sites[:, 1:])
    whole = _log_partition(passed.posterior[0], passed.posterior[1:])
    precision = np.asarray(1.0 / problem.prior_variance)
    prior = _log_partition(precision, precision * problem.prior_mean)
    return float(whole - prior + np.sum(passed.seen[:, 0] + before - after))
