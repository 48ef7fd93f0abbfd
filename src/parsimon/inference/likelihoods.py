"""Likelihoods of a label -1 or 1 given the latent value: logarithm and three derivatives."""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, log_ndtr

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.tilted import mills_ratio

Link: TypeAlias = Literal["probit", "logit"]


class Derivatives(NamedTuple):
    """The log likelihood of each row, and its derivatives for the latent value.

    value, slope, curvature, third (n,): log p(y | f), its first derivative, minus its second,
        and its third.
    """

    value: Array
    slope: Array
    curvature: Array
    third: Array


def log_likelihood(f: Array, y: Array, link: Link = "probit") -> Derivatives:
    """Return log p(y | f) and its derivatives for f.

    Rasmussen and Williams (2006), equations 3.15 and 3.16.

    Shapes: f, y (n,).
    """
    z = y * f
    if link == "probit":
        ratio = mills_ratio(z)
        curvature = ratio * (z + ratio)
        third = y * (2 * ratio**3 + 3 * z * ratio**2 + (z**2 - 1) * ratio)
        return Derivatives(log_ndtr(z), y * ratio, curvature, third)
    if link == "logit":
        above, below = expit(z), expit(-z)
        curvature = above * below
        third = y * curvature * (above - below)
        return Derivatives(-np.logaddexp(0.0, -z), y * below, curvature, third)
    raise InvalidInputError(f"link must be 'probit' or 'logit', got {link!r}.")
