"""Likelihoods: what a target says of a latent value, and what a new likelihood must bring.

Inference sees a likelihood as terms of one latent value for each row, times the row's weight. A new
one, such as that of counts or durations, brings one or both of these; priors, inference, the
learning of hyperparameters and predictions of the latent value then work as they are:

- For Laplace's method (`laplace.laplace_mode`) a function from the latent values of all rows, (n,),
  to `LikelihoodDerivatives`: the log likelihood, its first derivative and minus the second, which
  must not be negative; with the third, hyperparameters are learnt by the gradient of the evidence.
  `log_likelihood` is an example: bind its targets with `functools.partial`.
- For expectation propagation (`ep.propagated`) a value like `Terms`, with all that `SiteTerms` asks
  for: `log_normaliser`, the logarithm of the mean of a term under a Gaussian, and `match`, the site
  that gives the Gaussian the mean and variance of the two together; `Tilted` has both as
  derivatives of that logarithm. Where no moments are known in closed form, `legendre_rule` and
  `hermite_rule` integrate, as in `power_tilted`.

For predictions it also brings its own `positive_probability`: what is expected of a target whose
latent value is Gaussian. Sparse Bayesian learning asks for the fit of given columns and its
gradient instead; see `sparse_bayes.sequential`.

Here are labels -1 or 1, with probit or logit. For a weight w of at least one, the row stands for w
copies of its term, each with a site of its own: integer weights equal duplicated rows exactly. For
a weight below one, the site replaces the term's w-th power, whose moments are integrated
numerically; both agree at w = 1.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy.special import erfcx, expit, log_ndtr, ndtr

from parsimon._checks import finite_vector
from parsimon._typing import Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.inference.posterior import Latent, Sites, cavity

ROOT_2 = np.sqrt(2.0)
ROOT_2_OVER_PI = np.sqrt(2.0 / np.pi)


class Tilted(NamedTuple):
    """The log normaliser of term times cavity, with derivatives for the cavity's mean.

    slope, curvature (n,): First derivative, and minus the second; the curvature is not
        negative.
    """

    slope: Array
    curvature: Array


def mills_ratio(z: Array) -> Array:
    """Return the normal density over the normal distribution function, without overflow."""
    return ROOT_2_OVER_PI / erfcx(-z / ROOT_2)


def probit_tilted(cavity: Latent, y: Array) -> Tilted:
    """Return derivatives of ``log Phi(y m / sqrt(1 + v))`` for the cavity mean m.

    Rasmussen and Williams (2006), equations 3.58 and 3.82.

    Shapes: y (n,).
    """
    scale = 1.0 / np.sqrt(1.0 + cavity.variance)
    z = y * cavity.mean * scale
    ratio = mills_ratio(z)
    return Tilted(y * ratio * scale, ratio * (z + ratio) * scale**2)


def probit_log_normaliser(cavity: Latent, y: Array) -> Array:
    """Return ``log Phi(y m / sqrt(1 + v))``, shape (n,)."""
    return log_ndtr(y * cavity.mean / np.sqrt(1.0 + cavity.variance))


def power_tilted(cavity: Latent, y: Array, power: Array) -> tuple[Array, Tilted]:
    """Return log normaliser and derivatives for the term ``Phi(y f) ** power``.

    The tilted density is log-concave: it is integrated by Gauss-Legendre rules on the part where
    the probit bends and on both sides of it, out to where the density falls below 1e-16 of its
    greatest value.

    Shapes: y (n,), power (n,) -> (n,).
    """
    # Below the floor the curvature, a difference over v, would be rounding; the moments of a
    # Gaussian that narrow no longer depend on v.
    m, v = y * cavity.mean, np.maximum(cavity.variance, 1e-8)
    mode = _tilted_mode(m, v, power)
    sd = np.sqrt(v)
    # To the left the power itself adds curvature, so the density falls off at least this fast.
    edges = np.stack([mode - 9 * sd, np.full_like(m, -8.0), np.full_like(m, 8.0), mode + 9 * sd])
    edges = np.clip(edges, edges[0], edges[-1])
    nodes, weights = legendre_rule(40)
    half = np.diff(edges, axis=0) / 2
    middle = edges[:-1] + half
    # Standardised around the mode: moments are then differences of numbers of order one.
    u = (middle[..., None] + half[..., None] * nodes - mode[:, None]) / sd[:, None]
    f = mode[:, None] + sd[:, None] * u
    offset = (mode - m) / sd
    log_density = power[:, None] * log_ndtr(f) - 0.5 * (u + offset[:, None]) ** 2
    peak = power * log_ndtr(mode) - 0.5 * offset**2
    density = np.exp(log_density - peak[:, None]) * weights * half[..., None] / sd[:, None]
    mass = density.sum(axis=(0, 2))
    first = (density * u).sum(axis=(0, 2)) / mass
    second = (density * (u - first[:, None]) ** 2).sum(axis=(0, 2)) / mass
    log_normaliser = peak + np.log(mass) - 0.5 * np.log(2 * np.pi)
    # Tilted mean m + v slope, tilted variance v - v^2 curvature.
    slope = (first + offset) / sd
    return log_normaliser, Tilted(y * slope, np.maximum(1.0 - second, 0.0) / v)


def _tilted_mode(m: Array, v: Array, power: Array) -> Array:
    """Return the mode of ``Phi(f)^power N(f; m, v)`` by Newton's method.

    The derivative is convex and decreasing, and positive at m: steps from there never overshoot.
    """
    mode = m.copy()
    for _ in range(100):
        ratio = mills_ratio(mode)
        step = (power * ratio - (mode - m) / v) / (power * ratio * (mode + ratio) + 1 / v)
        mode += step
        if np.max(np.abs(step) / (1.0 + np.abs(mode)), initial=0.0) < 1e-6:
            break
    return mode


@cache
def legendre_rule(n_nodes: int) -> tuple[Array, Array]:
    """Return nodes and weights for an integral from -1 to 1."""
    return np.polynomial.legendre.leggauss(n_nodes)


class SiteTerms(Protocol):
    """The terms of a likelihood that sites replace; `Terms` are those of the probit.

    Shapes: copies, power, used (n,).
    """

    @property
    def copies(self) -> Array:
        """How many copies each row's term has."""

    @property
    def power(self) -> Array:
        """The power of each copy."""

    @property
    def used(self) -> Mask:
        """Whether the row has any weight."""

    def cavity(self, marginal: Latent, sites: Sites) -> Latent:
        """Take one copy's site out of each marginal."""

    def match(self, hole: Latent) -> Sites:
        """Return the sites whose product with the cavity has the tilted mean and variance."""

    def log_normaliser(self, hole: Latent) -> Array:
        """Return the log probability of each label under its cavity, shape (n,)."""

    def derivatives(self, f: Array) -> "LikelihoodDerivatives":
        """Return those of single copies, or nearly: at their mode sites of heavy rows begin."""

    def of_rows(self, rows: slice) -> "SiteTerms":
        """Return the terms of some rows."""


@dataclass(frozen=True, eq=False)
class Terms:
    """Labels, how many copies each row's term has, and the power of each copy."""

    y: Array
    copies: Array
    power: Array
    partial: Mask
    used: Mask

    @classmethod
    def of(cls, y: Array, weights: Array) -> "Terms":
        used = weights > 0
        partial = used & (weights < 1)
        copies = np.where(used, np.maximum(weights, 1.0), 0.0)
        return cls(y, copies, np.minimum(weights, 1.0), partial, used)

    def cavity(self, marginal: Latent, sites: Sites) -> Latent:
        """Take one copy's site out of each marginal."""
        share = np.maximum(self.copies, 1.0)
        return cavity(marginal, Sites(sites.precision / share, sites.shift / share))

    def match(self, hole: Latent) -> Sites:
        """Return the sites whose product with the cavity has the tilted mean and variance."""
        slope, curvature = probit_tilted(hole, self.y)
        if self.partial.any():
            chosen = self.partial
            some = power_tilted(
                Latent(hole.mean[chosen], hole.variance[chosen]), self.y[chosen], self.power[chosen]
            )[1]
            slope[chosen], curvature[chosen] = some
        scale = self.copies / (1.0 - hole.variance * curvature)
        return Sites(scale * curvature, scale * (slope + hole.mean * curvature))

    def of_rows(self, rows: slice) -> "Terms":
        """Return the terms of some rows."""
        return Terms(*(part[rows] for part in vars(self).values()))

    def derivatives(self, f: Array) -> "LikelihoodDerivatives":
        return log_likelihood(f, self.y)

    def log_normaliser(self, hole: Latent) -> Array:
        logs = probit_log_normaliser(hole, self.y)
        if self.partial.any():
            chosen = self.partial
            logs[chosen] = power_tilted(
                Latent(hole.mean[chosen], hole.variance[chosen]), self.y[chosen], self.power[chosen]
            )[0]
        return logs


Link: TypeAlias = Literal["probit", "logit"]


class LikelihoodDerivatives(NamedTuple):
    """The log likelihood of each row, and its derivatives for the latent value.

    value, slope, curvature, third (n,): log p(y | f), its first derivative, minus its second,
        and its third.
    """

    value: Array
    slope: Array
    curvature: Array
    third: Array


def log_likelihood(f: Array, y: Array, link: Link = "probit") -> LikelihoodDerivatives:
    """Return log p(y | f) and its derivatives for f.

    Rasmussen and Williams (2006), equations 3.15 and 3.16.

    Shapes: f, y (n,).
    """
    z = y * f
    if link == "probit":
        ratio = mills_ratio(z)
        curvature = ratio * (z + ratio)
        third = y * (2 * ratio**3 + 3 * z * ratio**2 + (z**2 - 1) * ratio)
        return LikelihoodDerivatives(log_ndtr(z), y * ratio, curvature, third)
    if link == "logit":
        above, below = expit(z), expit(-z)
        curvature = above * below
        third = y * curvature * (above - below)
        return LikelihoodDerivatives(-np.logaddexp(0.0, -z), y * below, curvature, third)
    raise InvalidInputError(f"link must be 'probit' or 'logit', got {link!r}.")


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
        return ndtr(mean if plug_in else mean / np.sqrt(1.0 + variance))
    return expit(mean) if plug_in else _average_logit(mean, variance)


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
    for node, weight in zip(*hermite_rule(60), strict=True):
        answer[narrow] += weight * expit(mean[narrow] + sd[narrow] * node)
    step = 0.25
    for t in np.arange(-40.0, 40.0 + step, step):
        density = step * expit(t) * expit(-t)
        answer[~narrow] += density * ndtr((mean[~narrow] - t) / sd[~narrow])
    return answer


@cache
def hermite_rule(n_nodes: int) -> tuple[Array, Array]:
    """Return nodes and weights for the average over a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, weights / np.sqrt(2 * np.pi)


def checked_signs(y: Any) -> Array:
    """Return labels as floats, refusing anything but -1 and 1."""
    labels = finite_vector(y, "y")
    if not np.isin(labels, (-1.0, 1.0)).all():
        seen = labels[~np.isin(labels, (-1.0, 1.0))][0]
        raise InvalidInputError(f"Labels must be -1 and 1 here, got {seen:g}.")
    return labels
