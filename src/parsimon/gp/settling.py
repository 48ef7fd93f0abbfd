"""Expectation propagation for rows of great weight, where plain parallel updates swing."""

from functools import partial

import numpy as np

from parsimon._typing import Array
from parsimon.inference import LatentPosterior, LatentPrior, Sites, expectation_propagation, laplace

# Shares of a step, tried in turn. Measured on weights of 5 to 1000 and prior variances up to 400:
# whole steps diverge from weight 5 on, half steps from about 100 on, quarter steps never did.
SHARES = (0.5, 0.25, 0.1)
# Greater weights skip what would not help them.
HEAVY = 50.0
# From this change on, in standard deviations of the marginals, acceleration does the rest.
NEAR = 0.05
# Whole steps' worth of damped ones, at most.
MOST_WAY = 50


def settled_propagation(
    prior: LatentPrior, y: Array, *, weights: Array | None = None, start: Sites | None = None
) -> LatentPosterior:
    """Run expectation propagation by parallel updates, with damped steps where they are needed.

    A row of weight w stands for w copies whose sites are updated at once, and the step is then
    too long. Sequential updates would converge, but take one rank-one update for each row.

    Parameters
    ----------
    prior : LatentPrior
    y : ndarray of shape (n,)
        Labels -1 and 1.
    weights : ndarray of shape (n,), optional
        Powers of the likelihood terms.
    start : Sites, optional
        From a posterior with nearby hyperparameters.

    Returns
    -------
    LatentPosterior

    Examples
    --------
    >>> from parsimon.inference import latent_prior
    >>> from parsimon.kernels import SquaredExponential
    >>> X, y = np.arange(6.0)[:, None], np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
    >>> prior = latent_prior(SquaredExponential(0, variance=400.0), X)
    >>> weights = np.where(y > 0, 1000.0, 1.0)
    >>> settled_propagation(prior, y, weights=weights).converged
    True
    """
    update = partial(expectation_propagation, prior, y, weights=weights, updates="parallel")
    heavy = weights is not None and float(np.max(weights)) > HEAVY
    posterior = update(start=start, max_iterations=10 if heavy else 100)
    if posterior.converged:
        return posterior
    # Laplace's sites are nearly the right ones for great weights, but not for very uneven ones.
    nothing = Sites(np.zeros(len(y)), np.zeros(len(y)))
    guess = laplace(prior, y, weights=weights).sites if start is None else start
    attempts = zip(SHARES, (guess, nothing, nothing), strict=True)
    for share, here in list(attempts)[heavy:]:
        near = NEAR
        for _ in range(int(MOST_WAY / share)):
            here, change = _mixed(here, update(start=here, max_iterations=1), share)
            if change < near:
                posterior = update(start=here, max_iterations=30)
                if posterior.converged:
                    return posterior
                near = change / 10
    raise np.linalg.LinAlgError(
        "Expectation propagation did not converge, as may happen with very uneven weights; "
        "inference='laplace' always does."
    )


def _mixed(sites: Sites, there: LatentPosterior, share: float) -> tuple[Sites, float]:
    """Go a share of the way to the proposed sites; return how far away they were."""
    precision, shift = (new - old for new, old in zip(there.sites, sites, strict=True))
    change = max(
        float(np.max(np.abs(precision) * there.variance)),
        float(np.max(np.abs(shift) * np.sqrt(there.variance))),
    )
    return Sites(sites.precision + share * precision, sites.shift + share * shift), change
