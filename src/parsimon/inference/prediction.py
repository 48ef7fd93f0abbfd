"""From a Gaussian latent value to the probability of the positive class, and leave-one-out loss."""

from functools import cache

import numpy as np
from scipy.special import expit, ndtr

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.likelihoods import Link
from parsimon.inference.posterior import Latent


def positive_probability(latent: Latent, *, link: Link = "probit", plug_in: bool = False) -> Array:
    """Return the probability of the positive class.

    Shape: (m,).

    The probit's integral is Phi(m / sqrt(1 + v)) (Rasmussen and Williams 2006, equation 3.25).
    The logit's has no closed form and is integrated to about 1e-12.
    """
    if link not in ("probit", "logit"):
        raise InvalidInputError(f"link must be 'probit' or 'logit', got {link!r}.")
    mean, variance = latent
    if link == "probit":
        probit: Array = ndtr(mean if plug_in else mean / np.sqrt(1.0 + variance))
        return probit
    logit: Array = expit(mean) if plug_in else _average_logit(mean, variance)
    return logit


def leave_one_out_log_loss(latent: Latent, y: Array, *, link: Link = "probit") -> Array:
    """Return minus the log probability of each row's own label, from its cavity.

    Shapes: y (n,) -> (n,).
    """
    own = positive_probability(Latent(y * latent.mean, latent.variance), link=link)
    return -np.log(np.maximum(own, np.finfo(np.float64).tiny))


def _average_logit(mean: Array, variance: Array) -> Array:
    """Return E[1 / (1 + exp(-f))] for Gaussian f.

    A narrow Gaussian is integrated by Gauss and Hermite's rule. For a wide one parts are
    exchanged, E = integral of logistic density(t) Phi((m - t) / sd) dt, and the trapezoidal rule
    converges exponentially, since the integrand is analytic in a strip.
    """
    sd = np.sqrt(variance)
    answer = np.zeros_like(mean)
    narrow = variance < 1.0
    for node, weight in zip(*_hermite(60), strict=True):
        answer[narrow] += weight * expit(mean[narrow] + sd[narrow] * node)
    step = 0.25
    for t in np.arange(-40.0, 40.0 + step, step):
        density = step * expit(t) * expit(-t)
        answer[~narrow] += density * ndtr((mean[~narrow] - t) / sd[~narrow])
    return answer


@cache
def _hermite(n_nodes: int) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, weights / np.sqrt(2 * np.pi)
