"""Gaussian-process regression: the exact posterior under Gaussian noise."""

from dataclasses import dataclass

import numpy as np

from parsimon._checks import finite_vector
from parsimon._data import checked_weights
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.posterior import Latent, LatentPosterior, Sites
from parsimon.inference.prior import LatentPrior


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionPosterior(LatentPosterior):
    """The posterior of a regression function, and the noise around it.

    Attributes
    ----------
    noise_variance : float
        Variance of one observation around the function.
    row_weights : ndarray of shape (n,)
        How many observations each row stands for.

    Examples
    --------
    >>> from parsimon.inference import latent_prior
    >>> from parsimon.kernels import SquaredExponential
    >>> prior = latent_prior(SquaredExponential(0), np.array([[0.0], [1.0]]))
    >>> posterior = gaussian_regression(prior, np.array([1.0, -1.0]), 0.1)
    >>> posterior.leave_one_out_target().mean.round(3)
    array([-0.551,  0.551])
    """

    noise_variance: float
    row_weights: Array

    @property
    def weights(self) -> Array:
        """The vector b with latent mean ``K(X_star, X) @ b``, shape (n,)."""
        return self.slope

    def evidence_gradient(self) -> Array:
        """Return the derivative of `log_evidence` for ``[*theta, log noise_variance]``."""
        T = self.sites.precision
        used = T > 0
        own = self.weights**2 - T * (1.0 - T * self.variance)
        noise = np.sum(own[used] / T[used]) - np.sum(self.row_weights[used] - 1.0)
        return np.append(super().evidence_gradient(), 0.5 * noise)

    def leave_one_out_target(self) -> Latent:
        """Return the prediction of each target without its row, noise included; exact.

        Rasmussen and Williams (2006), equation 5.12.

        Returns
        -------
        Latent
            Means and variances of shape (n,).
        """
        mean, variance = self.leave_one_out()
        return Latent(mean, variance + self.noise_variance)


def gaussian_regression(
    prior: LatentPrior, y: Array, noise_variance: float, *, weights: Array | None = None
) -> RegressionPosterior:
    """Return the posterior of a function observed with Gaussian noise.

    Rasmussen and Williams (2006), algorithm 2.1. A low-rank prior should have been built with a
    tolerance in units of the noise variance, as `regression_evidence` does.

    Parameters
    ----------
    prior : LatentPrior
        From `latent_prior`.
    y : ndarray of shape (n,)
        Targets, centred: the prior's mean is zero.
    noise_variance : float
        Variance of one observation around the function.
    weights : ndarray of shape (n,), optional
        How many equal observations each row stands for; zero leaves a row out.

    Returns
    -------
    RegressionPosterior

    Examples
    --------
    >>> from parsimon.inference import latent_prior
    >>> from parsimon.kernels import SquaredExponential
    >>> X = np.array([[0.0], [1.0]])
    >>> prior = latent_prior(SquaredExponential(0), X)
    >>> posterior = gaussian_regression(prior, np.array([1.0, -1.0]), 0.1)
    >>> posterior.mean.round(3), round(posterior.log_evidence, 4)
    (array([ 0.797, -0.797]), -3.7784)
    """
    if not noise_variance > 0:
        raise InvalidInputError(f"The noise variance must be positive, got {noise_variance:g}.")
    y = finite_vector(y, "y")
    return regressed(prior, y, noise_variance, checked_weights(weights, len(y)))


def regressed(
    prior: LatentPrior, y: Array, noise_variance: float, weights: Array
) -> RegressionPosterior:
    """Do what `gaussian_regression` does, with targets and weights that have been checked."""
    precision = weights / noise_variance
    conditioned = prior.condition(precision)
    shift = precision * y
    # Solving for the weights keeps their digits where the noise is small; shift - precision * mean
    # would lose them.
    b = conditioned.solve(y)
    seen = precision > 0
    mean = y - b / np.where(seen, precision, 1.0)
    if not seen.all():
        mean[~seen] = conditioned.mean(shift)[~seen]
    constant = float(weights.sum() * np.log(2 * np.pi * noise_variance))
    log_evidence = -0.5 * (float(y @ b) + conditioned.log_determinant + constant)
    if not np.isfinite(log_evidence):
        raise np.linalg.LinAlgError("The evidence of a regression left the range of numbers.")
    return RegressionPosterior(
        prior=prior,
        sites=Sites(precision, shift),
        conditioned=conditioned,
        mean=mean,
        variance=conditioned.variance,
        log_evidence=log_evidence,
        slope=b,
        converged=True,
        n_iterations=1,
        noise_variance=noise_variance,
        row_weights=weights,
    )
