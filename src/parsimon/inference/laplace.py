"""Laplace's approximation for binary labels: a Gaussian at the posterior's mode."""

import numpy as np

from parsimon._typing import Array
from parsimon.inference.labels import checked_signs, checked_weights
from parsimon.inference.likelihoods import Derivatives, Link, log_likelihood
from parsimon.inference.posterior import LatentPosterior, Sites
from parsimon.inference.prior import LatentPrior


def laplace(
    prior: LatentPrior,
    y: Array,
    *,
    link: Link = "probit",
    weights: Array | None = None,
    start: Sites | None = None,
    tolerance: float = 1e-6,
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
    start : Sites, optional
        From a posterior with nearby hyperparameters.
    tolerance : float
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
    y, weights = checked_signs(y), checked_weights(weights, len(y))
    point = _first_point(prior, start, len(y))
    here = _weighted(log_likelihood(point[1], y, link), weights)
    converged = False
    n_iterations = 0
    while not converged and n_iterations < max_iterations:
        n_iterations += 1
        conditioned = prior.condition(here.curvature)
        shift = here.curvature * point[1] + here.slope
        f = conditioned.mean(shift)
        move = np.stack([shift - here.curvature * f, f]) - point
        share = _step_share(point, move, y, weights, link)
        point = point + share * move
        here = _weighted(log_likelihood(point[1], y, link), weights)
        converged = bool(np.max(np.abs(move[1])) <= tolerance * (1 + np.max(np.abs(f))))
    return _posterior_at(prior, point, here, converged=converged, n_iterations=n_iterations)


def _first_point(prior: LatentPrior, start: Sites | None, size: int) -> Array:
    """Return a and f = K a, shape (2, n)."""
    if start is None:
        return np.zeros((2, size))
    conditioned = prior.condition(start.precision)
    f = conditioned.mean(start.shift)
    return np.stack([start.shift - start.precision * f, f])


def _weighted(derivatives: Derivatives, weights: Array) -> Derivatives:
    return Derivatives(*(weights * part for part in derivatives))


def _step_share(point: Array, move: Array, y: Array, weights: Array, link: Link) -> float:
    """Return the share of a Newton step that raises the log posterior density."""

    def density(a: Array, f: Array) -> float:
        return float(weights @ log_likelihood(f, y, link).value - 0.5 * a @ f)

    before = density(*point)
    share = 1.0
    # The slack is rounding: at the mode no step can raise the density any more.
    while share > 1e-6 and not density(*(point + share * move)) >= before - 1e-10 * abs(before):
        share /= 2
    return share


def _posterior_at(
    prior: LatentPrior, point: Array, here: Derivatives, *, converged: bool, n_iterations: int
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
