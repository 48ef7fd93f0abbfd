"""Moments of a probit term times a Gaussian, for one term, many copies, or a fraction of one.

For a weight w of at least one, the row stands for w copies of its term, each with a site of its
own: integer weights equal duplicated rows exactly. For a weight below one, the site replaces the
term's w-th power, whose moments are integrated numerically; both agree at w = 1.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr

from parsimon._typing import Array
from parsimon.inference.posterior import Latent

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
    ratio: Array = ROOT_2_OVER_PI / erfcx(-z / ROOT_2)
    return ratio


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
    logs: Array = log_ndtr(y * cavity.mean / np.sqrt(1.0 + cavity.variance))
    return logs


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
    nodes, weights = _legendre(40)
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
def _legendre(n_nodes: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(n_nodes)
