"""Laplace's approximation: a Gaussian at the posterior's mode.

`laplace` is for binary labels. `laplace_mode` takes any likelihood of one latent value for each
row, as a function that returns its logarithm and three derivatives; see `likelihoods`.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from parsimon._data import checked_weights
from parsimon._typing import Array
from parsimon.inference.likelihoods import (
    LikelihoodDerivatives,
    Link,
    checked_signs,
    log_likelihood,
)
from parsimon.inference.posterior import LatentPosterior, Sites
from parsimon.inference.prior import Conditioned, DensePrior, LatentPrior

# Rows from which a factorisation is dearer than steps with that of another point; how many of
# these at most; and how long a Newton step may be, relative to the latent values, before them.
CHORDS_FROM = 400
MOST_CHORDS = 20
CHORDS_BELOW = 0.3


class Anderson:
    """Proposes the next point of a fixed-point iteration from the last few.

    The proposal is the combination of the last points whose residual, target minus point, is
    smallest in the given scale [1]. The first step is a plain one.

    memory: How many differences are kept.

    [1] Walker and Ni (2011), SIAM J. Numer. Anal. 49:1715-1735.
    """

    def __init__(self, memory: int = 5) -> None:
        self.memory = memory
        self._points: list[Array] = []
        self._residuals: list[Array] = []

    def step(self, point: Array, target: Array, scale: Array) -> Array:
        """Return the next point; `target` is where a plain step from `point` would go."""
        residual = target - point
        self._points = [*self._points[-self.memory :], point]
        self._residuals = [*self._residuals[-self.memory :], residual]
        if len(self._points) == 1:
            return target
        moves = np.diff(np.stack(self._points, axis=1), axis=1)
        changes = np.diff(np.stack(self._residuals, axis=1), axis=1)
        scaled = changes * scale[:, None]
        mixing = np.linalg.lstsq(scaled, residual * scale, rcond=1e-10)[0]
        return target - (moves + changes) @ mixing


# From the latent values of all rows to what their targets say of them.
Likelihood: TypeAlias = Callable[[Array], LikelihoodDerivatives]


def laplace(
    prior: LatentPrior,
    y: Array,
    *,
    link: Link = "probit",
    weights: Array | None = None,
    start: Sites | LatentPosterior | None = None,
    tol: float = 1e-6,
    max_iterations: int = 100,
) -> LatentPosterior:
    """Approximate the posterior of a Gaussian-process classifier by Laplace's method.

    Newton's method finds the mode, with halved steps where a whole one would lead down
    (Rasmussen and Williams 2006, algorithm 3.1; gradient: algorithm 5.1).

    Parameters
    ----------
    prior : LatentPrior
        From `latent_prior`.
    y : ndarray of shape (n,)
        Labels -1 and 1.
    link : {"probit", "logit"}
        The likelihood.
    weights : ndarray of shape (n,), optional
        Powers of the likelihood terms; integers equal duplicated rows exactly.
    start : Sites or LatentPosterior, optional
        From a posterior with nearby hyperparameters. A whole posterior of the same rows also
        lends its factorisation, with which the first steps need none of their own.
    tol : float
        Stop when a Newton step changes no latent value by more than this. Steps converge
        quadratically, so that the error left is of the square's order.
    max_iterations : int
        At most this many Newton steps.

    Returns
    -------
    LatentPosterior

    Examples
    --------
    >>> from parsimon.inference import latent_prior
    >>> from parsimon.kernels import SquaredExponential
    >>> X = np.array([[-1.0], [0.0], [2.0]])
    >>> prior = latent_prior(SquaredExponential(0), X)
    >>> posterior = laplace(prior, np.array([-1.0, -1.0, 1.0]), link="logit")
    >>> posterior.mean.round(3), round(posterior.log_evidence, 4)
    (array([-0.579, -0.532,  0.357]), -2.0232)
    """
    return laplace_mode(
        prior,
        partial(log_likelihood, y=checked_signs(y), link=link),
        checked_weights(weights, len(y)),
        start=start,
        tol=tol,
        max_iterations=max_iterations,
    )


def laplace_mode(
    prior: LatentPrior,
    likelihood: Likelihood,
    weights: Array,
    *,
    start: Sites | LatentPosterior | None = None,
    tol: float = 1e-6,
    max_iterations: int = 100,
) -> LatentPosterior:
    """Do what `laplace` does for any likelihood, with weights that have been checked."""

    def derivatives(f: Array) -> LikelihoodDerivatives:
        return LikelihoodDerivatives(*(weights * part for part in likelihood(f)))

    def density(a: Array, f: Array) -> float:
        return float(weights @ likelihood(f).value - 0.5 * a @ f)

    by_chords = isinstance(prior, DensePrior) and len(weights) >= CHORDS_FROM
    if isinstance(start, LatentPosterior) and not by_chords:
        start = start.sites
    point, converged = _first_point(prior, start, len(weights)), False
    if isinstance(start, LatentPosterior):
        point, converged = _chords(derivatives, prior, point, start.prior, start.conditioned, tol)
    here = derivatives(point[1])
    n_iterations = 0
    while not converged and n_iterations < max_iterations:
        n_iterations += 1
        conditioned = prior.condition(here.curvature)
        shift = here.curvature * point[1] + here.slope
        f = conditioned.mean(shift)
        move = np.stack([shift - here.curvature * f, f]) - point
        point = point + step_share(density, point, move) * move
        length = float(np.max(np.abs(move[1]))) / (1 + float(np.max(np.abs(f))))
        converged = length <= tol
        if by_chords and not converged and length < CHORDS_BELOW:
            point, converged = _chords(derivatives, prior, point, prior, conditioned, tol)
        here = derivatives(point[1])
    return _posterior_at(prior, point, here, converged=converged, n_iterations=n_iterations)


def _first_point(prior: LatentPrior, start: Sites | LatentPosterior | None, size: int) -> Array:
    """Return a and f = K a, shape (2, n)."""
    if start is None:
        return np.zeros((2, size))
    if isinstance(start, LatentPosterior):
        return np.stack([start.weights, prior.multiply(start.weights)])
    conditioned = prior.condition(start.precision)
    f = conditioned.mean(start.shift)
    return np.stack([start.shift - start.precision * f, f])


def _chords(
    derivatives: Likelihood,
    prior: LatentPrior,
    point: Array,
    near: LatentPrior,
    known: Conditioned,
    tol: float,
) -> tuple[Array, bool]:
    """Go towards the mode with the factorisation of a posterior near it, while that is fast.

    With r = slope - a, Newton's step is ``(I + W K)^-1 r``; here the inverse is that of the other
    posterior, ``r - R K r``, and Anderson's acceleration makes up for the difference. The error
    shrinks linearly, so that the tolerance is squared to leave what Newton's steps leave.
    """
    accelerator, before = Anderson(), np.inf
    goal = max(tol**2, 1e-10) * (1 + float(np.max(np.abs(point[1]))))
    for _ in range(MOST_CHORDS):
        a, f = point
        rest = derivatives(f).slope - a
        move = rest - known.solve(near.multiply(rest))
        a = accelerator.step(a, a + move, np.ones(len(a)))
        point = np.stack([a, prior.multiply(a)])
        change = float(np.max(np.abs(point[1] - f)))
        if change <= goal:
            return point, True
        if not change < 0.7 * before:
            break
        before = change
    return point, False


def step_share(density: Callable[[Array, Array], float], point: Array, move: Array) -> float:
    """Return the share of a Newton step of a and f = K a that raises the log posterior density."""
    before = density(*point)
    share = 1.0
    # The slack is rounding: at the mode no step can raise the density any more.
    least = before - 1e-10 * abs(before)
    while share > 1e-6 and not density(*(point + share * move)) >= least:
        share /= 2
    return share


def _posterior_at(
    prior: LatentPrior,
    point: Array,
    here: LikelihoodDerivatives,
    *,
    converged: bool,
    n_iterations: int,
) -> LatentPosterior:
    """Return the Gaussian at the mode, with evidence and what its gradient needs."""
    a, f = point
    conditioned = prior.condition(here.curvature)
    log_evidence = float(here.value.sum() - 0.5 * a @ f) - 0.5 * conditioned.log_determinant
    if not np.isfinite(log_evidence):
        raise np.linalg.LinAlgError("Laplace's approximation left the range of numbers.")
    shift = here.curvature * f + here.slope
    # The mode moves with the hyperparameters, and the curvature with the mode.
    moving = 0.5 * conditioned.variance * here.third
    moving = moving - conditioned.solve(prior.multiply(moving))
    return LatentPosterior(
        prior=prior,
        sites=Sites(here.curvature, shift),
        conditioned=conditioned,
        mean=f,
        variance=conditioned.variance,
        log_evidence=log_evidence,
        slope=here.slope + 2 * moving,
        converged=converged,
        n_iterations=n_iterations,
    )
