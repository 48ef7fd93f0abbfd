"""Probabilities averaged over a latent value that is known up to a Gaussian.

`moderated_probability` is exact; `less_probable` and `averaged_log_odds` are what predictions use,
many times faster and as good to the digits that matter.
"""

from functools import cache

import numpy as np
from scipy.special import expit, ndtr

from parsimon._typing import Array
from parsimon.inference.likelihoods import positive_probability
from parsimon.inference.posterior import Latent

# The largest number below one half whose difference from one is not one half.
_BELOW_HALF = 0.5 - np.finfo(np.float64).epsneg
# Weights and slopes of eight normal distribution functions whose sum is the logistic function, to
# 2e-9 [1]; below `_RARE` the error would no longer be small beside the probability.
# [1] Monahan and Stefanski (1992), "Normal scale mixture approximations to F*(z) and computation
# of the logistic-normal integral", table 1.
_PROBIT_WEIGHTS = np.array(
    [
        0.003246343272134,
        0.051517477033972,
        0.195077912673858,
        0.315569823632818,
        0.274149576158423,
        0.131076880695470,
        0.027912418727972,
        0.001449567805354,
    ]
)
_PROBIT_SLOPES = np.array(
    [
        1.365340806296348,
        1.059523971016916,
        0.830791313765644,
        0.650732166639391,
        0.508135425366489,
        0.396313345166341,
        0.308904252267995,
        0.238212616409306,
    ]
)
_RARE = 1e-5
# Nodes of the trapezoidal rule, and rows at a time.
_STEP = 0.25
_POINTS = np.arange(-40.0, 40.0 + _STEP, _STEP)
_BLOCK = 4000


def moderated_probability(mean: Array, variance: Array) -> Array:
    r"""Return the logistic function averaged over a Gaussian latent value.

    :math:`\int (1 + e^{-f})^{-1} N(f | m, v) df` by quadrature, to about 1e-12; MacKay's
    :math:`(1 + e^{-m / \sqrt{1 + \pi v / 8}})^{-1}` [1] is wrong by up to 0.02. The answer is
    one half where the mean is zero, exactly, and on the mean's side of one half everywhere else,
    so that it never contradicts a prediction from the mean.

    Shapes: mean, variance (n,).

    [1] MacKay (1992), "The evidence framework applied to classification networks", Neural
    Computation 4:720-736.
    """
    mean = np.asarray(mean, dtype=np.float64)
    spread = np.broadcast_to(np.asarray(variance, dtype=np.float64), mean.shape)
    # The smaller of the two probabilities keeps its digits; the other is one minus it.
    smaller = positive_probability(Latent(-np.abs(mean), spread), link="logit")
    smaller = np.minimum(smaller, _BELOW_HALF)
    return np.where(mean == 0.0, 0.5, np.where(mean > 0.0, 1.0 - smaller, smaller))


def less_probable(mean: Array, variance: Array) -> Array:
    """Return the averaged probability of the less probable class, fast.

    It is that of `moderated_probability` to 2e-9 and, relatively, to 2e-4: greater than zero, and
    below one half unless the mean is zero.

    Shapes: mean, variance (...,).
    """
    below = -np.abs(mean)
    slopes = _PROBIT_SLOPES[:, None]
    scaled = slopes * below.ravel() / np.sqrt(1.0 + slopes**2 * variance.ravel())
    less: Array = (_PROBIT_WEIGHTS @ ndtr(scaled)).reshape(mean.shape)
    rare = less < _RARE
    if rare.any():
        less[rare] = _rare_probability(below[rare], variance[rare])
    less = np.clip(less, np.finfo(np.float64).tiny, _BELOW_HALF)
    less[mean == 0.0] = 0.5
    return less


def _rare_probability(mean: Array, variance: Array) -> Array:
    """Return the probability of the positive class where it is small, all rows at once.

    The rules are those of `positive_probability`, which takes a step for each of their nodes: Gauss
    and Hermite's for a narrow Gaussian, the trapezoidal rule after an integration by parts else.

    Shapes: mean, variance (n,).
    """
    narrow, sd = variance < 1.0, np.sqrt(variance)
    probability = np.empty(len(mean))
    nodes, weights = _hermite()
    for rows in np.array_split(np.flatnonzero(narrow), 1 + len(mean) // _BLOCK):
        probability[rows] = expit(mean[rows, None] + sd[rows, None] * nodes) @ weights
    density = _STEP * expit(_POINTS) * expit(-_POINTS)
    for rows in np.array_split(np.flatnonzero(~narrow), 1 + len(mean) // _BLOCK):
        probability[rows] = ndtr((mean[rows, None] - _POINTS) / sd[rows, None]) @ density
    return probability


@cache
def _hermite() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    return nodes, weights / np.sqrt(2 * np.pi)


def averaged_log_odds(mean: Array, variance: Array) -> Array:
    """Return the log odds of the averaged probability, to about 2e-4.

    Shapes: mean, variance (...,).
    """
    # From the less probable side, which keeps its digits: 1 - p does not.
    less = less_probable(mean, variance)
    log_odds: Array = np.copysign(np.log1p(-less) - np.log(less), mean)
    return log_odds
