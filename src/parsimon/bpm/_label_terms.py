"""What a label says of the latent value: mixtures of probits, with a share of wrong labels.

A row's label is the sign of its latent value plus noise. Gaussian noise gives Phi(y f); noise that
is twice as wide in every fifth row gives a mixture of two such terms, whose tails are nearly those
of the logistic. A label that is wrong with probability `flip` gives flip + (1 - 2 flip) times
that. All of these have closed moments under a Gaussian.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri_exp

from parsimon._typing import Array, Indices, Mask
from parsimon.inference.likelihoods import (
    LikelihoodDerivatives,
    Tilted,
    log_likelihood,
    mills_ratio,
    power_tilted,
)
from parsimon.inference.posterior import Latent, Sites, cavity

_ROOT_2_PI = np.sqrt(2.0 * np.pi)


class Noise(NamedTuple):
    """Noise of a label as a mixture of Gaussians around zero.

    Shapes: share, sd (k,).
    """

    share: tuple[float, ...]
    sd: tuple[float, ...]


GAUSSIAN = Noise((1.0,), (1.0,))
# Chosen on Sonar, WDBC, Heart and Pima: the logistic itself predicts as well, and takes five terms.
HEAVY_TAILED = Noise((0.8, 0.2), (1.0, 2.0))
NOISES = {"gaussian": GAUSSIAN, "heavy": HEAVY_TAILED}


def positive_share(latent: Latent, noise: Noise) -> Array:
    """Return the probability of a positive label, averaged over the latent value; shape (m,)."""
    terms = [
        share * ndtr(latent.mean / np.sqrt(sd**2 + latent.variance))
        for share, sd in zip(*noise, strict=True)
    ]
    return np.asarray(np.sum(terms, axis=0))


def probit_of_share(latent: Latent, noise: Noise) -> Array:
    """Return the normal quantile of `positive_share`, exact where that is nearly 0 or 1."""
    logs = [
        np.log(share) + log_ndtr(-np.abs(latent.mean) / np.sqrt(sd**2 + latent.variance))
        for share, sd in zip(*noise, strict=True)
    ]
    size: Array = -ndtri_exp(np.minimum(logsumexp(logs, axis=0), np.log(0.5)))
    return np.copysign(size, latent.mean)


@dataclass(frozen=True, eq=False)
class LabelTerms:
    """The terms of all rows, in the form that `parsimon.inference.ep.propagated` asks for.

    y (n,): -1 and 1.
    copies, power (n,): How many copies a term has, and to what power each stands; their product
        is the row's weight.
    partial, used (n,): Whether that power is below one; whether the row has any weight.
    extra (n,): Variance of the latent value that no weight carries.
    flip (n,): Probability that the label is wrong.
    noise: Of the label.
    """

    y: Array
    copies: Array
    power: Array
    partial: Mask
    used: Mask
    extra: Array
    flip: Array
    noise: Noise

    @classmethod
    def of(
        cls,
        y: Array,
        weights: Array,
        *,
        fraction: float = 1.0,
        extra: Array | None = None,
        flip: float = 0.0,
        noise: Noise = GAUSSIAN,
    ) -> "LabelTerms":
        """Return terms of rows that count `weights` times; `fraction` below one is power EP."""
        used = weights > 0
        power = fraction * np.minimum(weights, 1.0)
        copies = np.where(used, np.maximum(weights, 1.0), 0.0) / fraction
        none = np.zeros(len(y))
        return cls(
            y, copies, power, used & (power < 1), used, none if extra is None else extra,
            np.full(len(y), flip), noise,
        )  # fmt: skip

    @property
    def weights(self) -> Array:
        """How many times each row counts, shape (n,)."""
        return self.copies * self.power

    def flipped(self, flip: float) -> "LabelTerms":
        """Return the same terms with another share of wrong labels."""
        return LabelTerms(**vars(self) | {"flip": np.full(len(self.y), flip)})

    def only(self, kept: Mask) -> "LabelTerms":
        """Return the same terms with no weight on the other rows; kept (n,)."""
        less = {"used": self.used & kept, "partial": self.partial & kept}
        return LabelTerms(**vars(self) | less | {"copies": np.where(kept, self.copies, 0.0)})

    def of_rows(self, rows: slice | Indices) -> "LabelTerms":
        """Return the terms of some rows."""
        each = {name: part[rows] for name, part in vars(self).items() if name != "noise"}
        return LabelTerms(**each, noise=self.noise)

    def cavity(self, marginal: Latent, sites: Sites) -> Latent:
        """Take one copy's site out of each marginal."""
        share = np.maximum(self.copies, 1.0)
        return cavity(marginal, Sites(sites.precision / share, sites.shift / share))

    def match(self, hole: Latent) -> Sites:
        """Return the sites that give the cavity the tilted mean and variance.

        A contradicted label may ask for more variance than the cavity has. Then the site keeps
        the variance and moves the mean only: sites of negative precision make iterations fail.
        """
        slope, curvature = self._tilted(hole)[1]
        curvature = np.maximum(curvature, 0.0)
        scale = self.copies / np.maximum(1.0 - hole.variance * curvature, 1e-10)
        return Sites(scale * curvature, scale * (slope + hole.mean * curvature))

    def derivatives(self, f: Array) -> LikelihoodDerivatives:
        """Return those of the probit of right labels, near which sites of heavy rows begin."""
        return log_likelihood(f, self.y)

    def log_normaliser(self, hole: Latent) -> Array:
        """Return the log probability of the labels under their cavities, shape (n,)."""
        return self._tilted(hole)[0]

    def _tilted(self, hole: Latent) -> tuple[Array, Tilted]:
        whole = mixture_tilted(Latent(hole.mean, hole.variance + self.extra), self)
        if not self.partial.any():
            return whole
        chosen = np.flatnonzero(self.partial)
        some = Latent(hole.mean[chosen], hole.variance[chosen] + self.extra[chosen])
        logs, tilted = _power(some, self, chosen)
        whole[0][chosen] = logs
        whole[1].slope[chosen], whole[1].curvature[chosen] = tilted
        return whole

    def own_probability(self, hole: Latent) -> Array:
        """Return the probability of each row's label, were it right; shape (n,)."""
        signed = Latent(self.y * hole.mean, hole.variance + self.extra)
        return positive_share(signed, self.noise)


def divide_by_sum(chances: list[Array]) -> Array:
    """Return class probabilities from those of each class against the rest, shape (m, k)."""
    if len(chances) == 1:
        return np.column_stack([1.0 - chances[0], chances[0]])
    every = np.column_stack(chances)
    total = every.sum(axis=1, keepdims=True)
    return np.where(total > 0, every / np.maximum(total, 1e-300), 1 / len(chances))


def mixture_tilted(hole: Latent, terms: LabelTerms) -> tuple[Array, Tilted]:
    """Return log normaliser, slope and minus curvature of terms under Gaussians.

    Shapes: hole (n,) -> (n,).
    """
    y, flip = terms.y, terms.flip
    if len(terms.noise.share) == 1 and not flip.any():
        scale = 1.0 / np.sqrt(terms.noise.sd[0] ** 2 + hole.variance)
        z = y * hole.mean * scale
        ratio = mills_ratio(z)
        return log_ndtr(z), Tilted(y * ratio * scale, ratio * (z + ratio) * scale**2)
    scale = 1.0 / np.sqrt(np.square(terms.noise.sd)[:, None] + hole.variance)
    z = y * hole.mean * scale
    # Relative to the greatest of them, which may be nearly zero itself.
    log_share = np.log(terms.noise.share)[:, None] + log_ndtr(z)
    log_flip = np.log(flip, out=np.full(len(flip), -np.inf), where=flip > 0)
    top = np.maximum(np.max(log_share, axis=0), log_flip)
    right = (1.0 - 2.0 * flip) * np.exp(log_share - top)
    wrong = np.exp(log_flip - top)
    mass = wrong + right.sum(axis=0)
    first = right * mills_ratio(z) * scale
    slope = first.sum(axis=0) / mass
    bend = (first * z * scale).sum(axis=0) / mass
    return top + np.log(mass), Tilted(y * slope, slope**2 + bend)


def _power(hole: Latent, terms: LabelTerms, chosen: Indices) -> tuple[Array, Tilted]:
    """Return what `mixture_tilted` does for powers of terms, by quadrature."""
    y, power, flip = terms.y[chosen], terms.power[chosen], terms.flip[chosen]
    if terms.noise == GAUSSIAN and not flip.any():
        return power_tilted(hole, y, power)
    m, v = y * hole.mean, np.maximum(hole.variance, 1e-8)
    sd = np.sqrt(v)
    # The mass lies between the cavity and the side that the label asks for.
    low, high = m - 9 * sd, np.maximum(m, 0.0) + 9 * sd
    edges = np.clip(np.stack([low, np.full_like(m, -8.0), np.full_like(m, 8.0), high]), low, high)
    nodes, weights = _legendre(80)
    half = np.diff(edges, axis=0) / 2
    f = edges[:-1, :, None] + half[..., None] * (1.0 + nodes)
    probability = sum(share * ndtr(f / s) for share, s in zip(*terms.noise, strict=True))
    probability = flip[:, None] + (1.0 - 2.0 * flip[:, None]) * probability
    log_density = power[:, None] * np.log(np.maximum(probability, np.finfo(float).tiny))
    log_density -= 0.5 * ((f - m[:, None]) / sd[:, None]) ** 2
    peak = log_density.max(axis=(0, 2))
    density = np.exp(log_density - peak[:, None]) * weights * half[..., None] / sd[:, None]
    mass = density.sum(axis=(0, 2))
    u = (f - m[:, None]) / sd[:, None]
    first = (density * u).sum(axis=(0, 2)) / mass
    second = (density * (u - first[:, None]) ** 2).sum(axis=(0, 2)) / mass
    logs = peak + np.log(mass / _ROOT_2_PI)
    return logs, Tilted(y * first / sd, (1.0 - second) / v)


@cache
def _legendre(n_nodes: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(n_nodes)
