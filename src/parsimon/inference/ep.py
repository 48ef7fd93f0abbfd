"""Expectation propagation for binary labels with a probit, or for any other `SiteTerms`.

Sites are updated all at once: by whole steps at first, shorter ones where those swing, and near
the solution by an expansion of the posterior or with Anderson's acceleration. If all that stalls,
they are updated one after another. Each step needs one factorisation of the prior's size, dense
or low rank.

The expansion (`expanded_sites`) makes more of a dense factorisation: sites near convergence move
the marginals little, so their change is expanded around the last round and iterated until nothing
moves. What is left after the next factorisation is of the square of what was there before, as in
Newton's method.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.linalg import blas

from parsimon._data import checked_weights
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.laplace import Anderson, laplace_mode
from parsimon.inference.likelihoods import SiteTerms, Terms, checked_signs
from parsimon.inference.posterior import Latent, LatentPosterior, Sites
from parsimon.inference.prior import Conditioned, DenseConditioned, LatentPrior

Match: TypeAlias = Callable[[Latent, Sites], Sites]

MOST_STEPS = 30
# Rows whose site says less have no part in the expansion: dividing by their precision would
# leave rounding only.
LEAST_PRECISION = 1e-6
# Of a marginal's precision that a site may have.
MOST_SHARE = 0.999


def expanded_sites(
    conditioned: DenseConditioned,
    marginal: Latent,
    target: Sites,
    match: Match,
    *,
    tol: float,
) -> Sites:
    """Return the fixed point of the sites, with marginals expanded around a posterior.

    With D the change of the precisions, the marginals are ``v - (Sigma * Sigma) @ D``, to first
    order, and ``m = Sigma @ (shift - D * m)``, exactly.
    """
    sd = np.maximum(np.sqrt(marginal.variance), np.finfo(np.float64).tiny ** 0.25)
    scale = np.stack([sd**2, sd, 1 / sd])
    expansion = _Expansion(conditioned, marginal)
    accelerator = Anderson()
    point = np.stack([*target, marginal.mean])
    for _ in range(MOST_STEPS):
        precision, shift, mean = point
        here = expansion.marginal(precision, shift, mean)
        goal = np.stack([*match(here, Sites(precision, shift)), here.mean])
        change = float(np.max(np.abs(goal - point) * scale))
        if not change > tol:
            break
        moved = accelerator.step(point.ravel(), goal.ravel(), scale.ravel())
        point = moved.reshape(point.shape)
        np.maximum(point[0], 0.0, out=point[0])
    return Sites(np.maximum(goal[0], 0.0), goal[1])


class _Expansion:
    """Marginals of a dense posterior as functions of a change of its sites."""

    def __init__(self, conditioned: DenseConditioned, marginal: Latent) -> None:
        self.conditioned, self.variance = conditioned, marginal.variance
        T = conditioned.precision
        used = T > LEAST_PRECISION
        self.divisor = np.divide(1.0, T, out=np.zeros_like(T), where=used)
        # Off its diagonal, Sigma * Sigma is the square of inv(B) over the precisions.
        self.squares = np.square(conditioned.inverse)
        self.squares[np.diag_indices_from(self.squares)] = np.square(T * marginal.variance)

    def marginal(self, precision: Array, shift: Array, mean: Array) -> Latent:
        """Return the marginals under other sites; `mean` is a guess of theirs."""
        more = precision - self.conditioned.precision
        less = self.divisor * blas.dsymv(1.0, self.squares, self.divisor * more, lower=1)
        # Beyond these limits no expansion holds, and beyond the last no cavity exists.
        variance = np.clip(self.variance - less, 0.5 * self.variance, 2.0 * self.variance)
        variance = np.minimum(variance, MOST_SHARE / np.maximum(precision, LEAST_PRECISION))
        return Latent(self.conditioned.product(shift - more * mean), variance)


# Changes of a site, in standard deviations of its marginal: steps are accelerated below the
# first, below the second if a plain step did not halve the change, and no longer once the change
# has grown by the third.
ACCELERATE_BELOW = 0.3
SWINGS_BELOW = 2.0
DIVERGES_ABOVE = 10.0
# From the zero start the change grows before it falls; later, a step that does not halve it is
# taken half-way only.
PLAIN_STEPS = 4
# Steps are halved as long as they make the change grow, down to this share. Rows of weight w
# stand for w sites that are updated at once: measured on weights of 5 to 1000 and prior variances
# up to 400, whole steps diverge from weight 5 on, half steps from about 100 on, and quarter steps
# never did.
LEAST_SHARE = 1 / 16
# Many copies of a row make its posterior so narrow that Laplace's sites are nearly right.
HEAVY = 10.0
# Rows from which an expansion of a dense posterior is cheaper than more factorisations, and the
# change below which it holds well enough.
EXPAND_FROM = 400
EXPAND_BELOW = 1.0


def expectation_propagation(
    prior: LatentPrior,
    y: Array,
    *,
    weights: Array | None = None,
    start: Sites | None = None,
    updates: Literal["auto", "parallel", "sequential"] = "auto",
    tol: float = 1e-5,
    max_iterations: int = 200,
) -> LatentPosterior:
    """Approximate the posterior of a probit Gaussian-process classifier.

    Every likelihood term Phi(y_i f_i) is replaced by a Gaussian site that gives its row the mean
    and variance of the term itself times the other sites [1]_.

    Parameters
    ----------
    prior : LatentPrior
        From `latent_prior`.
    y : ndarray of shape (n,)
        Labels -1 and 1.
    weights : ndarray of shape (n,), optional
        Powers of the likelihood terms. A weight of at least one is that many copies of the row,
        each with its own site: integers equal duplicated rows exactly. A weight below one is one
        site for the term's power, with moments by quadrature. Zero leaves a row out.
    start : Sites, optional
        From a posterior with nearby hyperparameters.
    updates : {"auto", "parallel", "sequential"}
        "auto" is parallel, with sequential sweeps if that does not converge.
    tol : float
        Stop when no site's change moves its marginal by more than this many standard deviations.
        The evidence is stationary in the sites, so that its error is of the square's order.
    max_iterations : int
        At most this many parallel updates, and as many sequential sweeps.

    Returns
    -------
    LatentPosterior

    References
    ----------
    .. [1] Minka (2001), PhD thesis, MIT; Rasmussen and Williams (2006), section 3.6.

    Examples
    --------
    >>> from parsimon.inference import latent_prior
    >>> from parsimon.kernels import SquaredExponential
    >>> X = np.array([[-1.0], [0.0], [2.0]])
    >>> prior = latent_prior(SquaredExponential(0), X)
    >>> posterior = expectation_propagation(prior, np.array([-1.0, -1.0, 1.0]))
    >>> posterior.mean.round(3), round(posterior.log_evidence, 4)
    (array([-0.763, -0.701,  0.515]), -1.9404)
    """
    if updates not in ("auto", "parallel", "sequential"):
        raise InvalidInputError(f"updates must be auto, parallel or sequential, got {updates!r}.")
    terms = Terms.of(checked_signs(y), checked_weights(weights, len(y)))
    return propagated(
        prior,
        terms,
        start=start,
        updates=updates,
        tol=tol,
        max_iterations=max_iterations,
    )


def propagated(
    prior: LatentPrior,
    terms: SiteTerms,
    *,
    start: Sites | None = None,
    updates: Literal["auto", "parallel", "sequential"] = "auto",
    tol: float = 1e-5,
    max_iterations: int = 200,
) -> LatentPosterior:
    """Do what `expectation_propagation` does, with labels and weights that have been checked."""
    nothing = Sites(np.zeros(len(terms.used)), np.zeros(len(terms.used)))
    if start is None and updates != "sequential" and float(np.max(terms.copies)) > HEAVY:
        start = laplace_mode(prior, terms.derivatives, terms.copies * terms.power).sites
    # A row that has lost its weight must not keep the site that it had.
    first = nothing if start is None else Sites(*(np.where(terms.used, s, 0.0) for s in start))
    state = _SitesAt.of(prior, first, terms)
    n_iterations = 0
    if updates != "sequential":
        state, n_iterations = _parallel(prior, state, terms, tol, max_iterations)
        if not np.isfinite(state.change):
            state = _SitesAt.of(prior, nothing, terms)
    if not np.isfinite(state.change):
        raise np.linalg.LinAlgError("Expectation propagation left the range of numbers.")
    if updates != "parallel" and state.change > tol:
        state, n_sweeps = _sequential(prior, state, terms, tol, max_iterations)
        n_iterations += n_sweeps
    mean, variance = state.marginal
    return LatentPosterior(
        prior=prior,
        sites=state.sites,
        conditioned=state.conditioned,
        mean=mean,
        variance=variance,
        log_evidence=_log_evidence(state, terms),
        slope=state.sites.shift - state.sites.precision * mean,
        converged=state.change <= tol,
        n_iterations=n_iterations,
        inaccuracy=state.change,
    )


@dataclass(frozen=True, eq=False)
class _SitesAt:
    """Sites, the posterior that follows from them, and the sites that would follow from it."""

    sites: Sites
    conditioned: Conditioned
    marginal: Latent
    target: Sites
    change: float

    @classmethod
    def of(cls, prior: LatentPrior, sites: Sites, terms: SiteTerms) -> "_SitesAt":
        conditioned = prior.condition(sites.precision)
        marginal = Latent(conditioned.mean(sites.shift), conditioned.variance)
        target = terms.match(terms.cavity(marginal, sites))
        # In units of the marginal, so that the prior's variance does not matter.
        change = np.maximum(
            np.abs(target.precision - sites.precision) * marginal.variance,
            np.abs(target.shift - sites.shift) * np.sqrt(marginal.variance),
        )
        return cls(sites, conditioned, marginal, target, float(np.max(change)))

    @property
    def pairs(self) -> Iterator[tuple[Array, Array]]:
        """Old and new precisions, then old and new shifts."""
        return zip(self.sites, self.target, strict=True)


def _parallel(
    prior: LatentPrior, state: _SitesAt, terms: SiteTerms, tol: float, max_iterations: int
) -> tuple[_SitesAt, int]:
    """Update all sites at once until they agree with their targets."""
    stepper = _Stepper(terms)
    for iteration in range(max_iterations):
        if state.change <= tol or not np.isfinite(state.change):
            return state, iteration
        state = _SitesAt.of(prior, stepper.step(state, iteration), terms)
    return state, max_iterations


class _Stepper:
    """Chooses the next sites from the last state, and learns from how the change develops.

    Far from the solution plain steps are best; near it they often swing round it, at worst
    losing a tenth of the distance in each step, and acceleration saves most of them (measured:
    122 steps became 21 on a prior of variance 800).
    """

    def __init__(self, terms: SiteTerms) -> None:
        self.terms = terms
        self.accelerator: Anderson | None = None
        self.before = self.least = np.inf
        self.near, self.swings = ACCELERATE_BELOW, SWINGS_BELOW
        self.share = 1.0
        self.may_expand = len(terms.used) >= EXPAND_FROM
        self.expanded = False

    def step(self, state: _SitesAt, iteration: int) -> Sites:
        change, before = state.change, self.before
        slow = change > before / 2
        self.before = change
        self.may_expand &= not (self.expanded and slow)
        # Around sites that say nothing yet there is nothing to expand.
        begun = bool(state.sites.precision.any())
        self.expanded = self.may_expand and begun and change < EXPAND_BELOW
        if self.expanded and isinstance(state.conditioned, DenseConditioned):
            return self._expand(state.conditioned, state)
        if change > DIVERGES_ABOVE * self.least:
            # Acceleration came too early: go nearer with shorter steps first.
            self.accelerator, self.least = None, np.inf
            self.near, self.swings = self.near / 6, 0.0
            self.share = max(self.share / 2, LEAST_SHARE)
        elif self.accelerator is None and (change < self.near or (slow and change < self.swings)):
            self.accelerator = Anderson()
        if self.accelerator is not None:
            return self._accelerate(self.accelerator, state)
        if iteration >= PLAIN_STEPS:
            shorter = max(self.share / 2, LEAST_SHARE)
            self.share = shorter if change > before else min(1.2 * self.share, 1.0)
        share = min(self.share, 0.5) if slow and iteration >= PLAIN_STEPS else self.share
        return Sites(*(old + share * (new - old) for old, new in state.pairs))

    def _accelerate(self, accelerator: Anderson, state: _SitesAt) -> Sites:
        self.least = min(self.least, state.change)
        scale = np.sqrt(state.marginal.variance)
        sites, target = np.concatenate(state.sites), np.concatenate(state.target)
        proposal = accelerator.step(sites, target, np.concatenate([scale**2, scale]))
        precision, shift = np.split(proposal, 2)
        return Sites(np.maximum(precision, 0.0), shift)

    def _expand(self, conditioned: DenseConditioned, state: _SitesAt) -> Sites:
        terms = self.terms
        found = expanded_sites(
            conditioned,
            state.marginal,
            state.target,
            lambda marginal, sites: terms.match(terms.cavity(marginal, sites)),
            tol=0.1 * state.change**2,
        )
        return found if np.isfinite(found).all() else state.target


def _sequential(
    prior: LatentPrior, state: _SitesAt, terms: SiteTerms, tol: float, max_iterations: int
) -> tuple[_SitesAt, int]:
    """Update one site after another, with a rank-one change of the covariance for each."""
    for sweep in range(max_iterations):
        basis, core = state.conditioned.basis()
        precision, shift = (site.copy() for site in state.sites)
        coefficients = core @ (basis.T @ shift)
        for row in np.flatnonzero(terms.used):
            one = slice(row, row + 1)
            here = Sites(precision[one], shift[one])
            column = core @ basis[row]
            marginal = Latent(basis[one] @ coefficients, basis[one] @ column)
            single = terms.of_rows(one)
            target = single.match(single.cavity(marginal, here))
            more = target.precision - here.precision
            scale = 1.0 + more * marginal.variance
            coefficients += column * (target.shift - here.shift - more * marginal.mean) / scale
            core -= np.outer(column * (more / scale), column)
            precision[row], shift[row] = target.precision[0], target.shift[0]
        state = _SitesAt.of(prior, Sites(precision, shift), terms)
        if state.change <= tol:
            return state, sweep + 1
    return state, max_iterations


def _log_evidence(state: _SitesAt, terms: SiteTerms) -> float:
    """Return log Z_EP: Rasmussen and Williams (2006), equation 3.65, with copies.

    Each copy contributes its log normaliser and the log ratio of the normalisers of cavity and
    marginal; no term divides by the marginal variance, which may be zero.
    """
    mean, variance = state.marginal
    share = np.maximum(terms.copies, 1.0)
    precision, shift = state.sites.precision / share, state.sites.shift / share
    remaining = 1.0 - variance * precision
    ratio = (mean**2 * precision - 2 * mean * shift + variance * shift**2) / remaining
    logs = terms.log_normaliser(terms.cavity(state.marginal, state.sites))
    each = logs + 0.5 * (ratio - np.log(remaining))
    whole = 0.5 * float(state.sites.shift @ mean) - 0.5 * state.conditioned.log_determinant
    return whole + float(terms.copies @ each)
