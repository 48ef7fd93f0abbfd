"""The evidence of a structure: rows explained by blocks of columns with unknown variances.

The latent function is f = b + sum_t B_t w_t with w_t ~ N(0, v_t I) and b ~ N(0, 100). For classes
p(y = 1) = 1 / (1 + exp(-f)); for numbers the noise has Student's distribution with five degrees of
freedom, so that one row far from all others does not make a structure. The weights are integrated
out by Laplace's method. The variances have log-normal priors and are integrated
out by Laplace's method too, so that a term without effect costs what it should: a maximum over
them would never be less than the evidence without the term.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from parsimon._typing import Array, Indices

Task: TypeAlias = Literal["classification", "regression"]

_INTERCEPT_VARIANCE = 100.0
# The prior of the log of a variance: for classes in squared logits, for numbers as a share of the
# variance of the target.
_LOG_VARIANCE = {"classification": math.log(0.7), "regression": math.log(0.15)}
_LOG_VARIANCE_SD = 1.3
# Places and weights of a quadrature over a normal distribution.
_PLACES, _CHANCES = np.polynomial.hermite_e.hermegauss(7)
_MOST_STEPS, _CLOSE = 40, 1e-3
# Most that a latent value may move in one step.
_FARTHEST = 8.0


@dataclass(frozen=True, eq=False)
class StructureFit:
    """A structure fitted to rows.

    log_evidence: With variances integrated out.
    design (n, m): The intercept and all blocks; covariance (m, m): of the weights.
    slack (n,): Derivative of the log likelihood by the latent function.
    curvature (n,): Minus the second derivative.
    """

    log_evidence: float
    design: Array
    covariance: Array
    slack: Array
    curvature: Array


def fit_structure(blocks: Sequence[Array], y: Array, task: Task) -> StructureFit:
    """Return the evidence of blocks with unknown variances, and what neighbours are judged by.

    Newton's steps for the weights alternate with steps for the log variances, and for numbers with
    noise = r.r / (n - gamma).

    Shapes: blocks (n, m_t) each, y (n,) 0 and 1 or standardised numbers.
    """
    design = np.hstack([np.ones((len(y), 1)), *blocks])
    sizes = np.array([block.shape[1] for block in blocks], dtype=int)
    log_variances = np.full(len(blocks), _LOG_VARIANCE[task])
    likelihood = _Bernoulli(y) if task == "classification" else _Noisy(y)
    weights = np.zeros(design.shape[1])
    weights[0] = likelihood.first_intercept
    latent = design @ weights
    for _ in range(_MOST_STEPS):
        mode = _step(design, weights, latent, _precisions(log_variances, sizes), likelihood)
        slope, curved, degrees = _variance_slopes(mode, log_variances, sizes, _LOG_VARIANCE[task])
        change = np.clip(slope / curved, -1.0, 1.0)
        noise_change = likelihood.adapt(mode.latent, float(degrees.sum()) + 1)
        moved = np.abs(mode.weights - weights).max()
        weights, latent = mode.weights, mode.latent
        if max(np.abs(change).max(initial=0.0), moved, noise_change) < _CLOSE:
            break
        log_variances = log_variances + change
    precision = _precisions(log_variances, sizes)
    last = _step(design, weights, latent, precision, likelihood)
    slack, curvature = likelihood.derivatives(last.latent)
    # Integral over each log variance: prior density at the mode times the width of the peak.
    distance = (log_variances - _LOG_VARIANCE[task]) / _LOG_VARIANCE_SD
    spread = _LOG_VARIANCE_SD**2 * curved
    log_evidence = _log_evidence(last, precision, likelihood)
    log_evidence -= 0.5 * float((distance**2 + np.log(spread)).sum())
    return StructureFit(log_evidence, design, last.covariance, slack, curvature)


class _Mode(NamedTuple):
    """Where a step of Newton's method ends.

    covariance (m, m), root (m, m): Of the weights, and the lower root of its inverse.
    """

    weights: Array
    latent: Array
    covariance: Array
    root: Array


def _step(
    design: Array,
    weights: Array,
    latent: Array,
    precision: Array,
    likelihood: "_Bernoulli | _Noisy",
) -> _Mode:
    slack, curvature = likelihood.derivatives(latent)
    hessian = (design.T * curvature) @ design
    hessian[np.diag_indices_from(hessian)] += precision
    # Small matrices by the thousand: scipy's checks would take longer than the algebra.
    root, failed = dpotrf(hessian, lower=1, clean=0)
    if failed:
        raise np.linalg.LinAlgError("The curvature of a structure is not positive definite.")
    step = dpotrs(root, design.T @ slack - precision * weights, lower=1)[0]
    # Far steps overshoot where classes are nearly separated.
    length = min(1.0, _FARTHEST / max(1e-12, float(np.abs(design @ step).max())))
    weights = weights + length * step
    covariance = dpotrs(root, np.eye(len(weights)), lower=1)[0]
    return _Mode(weights, design @ weights, covariance, root)


def _log_evidence(mode: _Mode, precision: Array, likelihood: "_Bernoulli | _Noisy") -> float:
    """Return the log evidence at given variances by Laplace's method; exact at the mode."""
    return (
        likelihood.log_likelihood(mode.latent)
        - 0.5 * float(precision @ mode.weights**2 - np.log(precision).sum())
        - float(np.log(np.diag(mode.root)).sum())
    )


def _variance_slopes(
    mode: _Mode, log_variances: Array, sizes: Indices, centre: float
) -> tuple[Array, Array, Array]:
    """Return first derivatives by the log variances, minus the second ones, and degrees of freedom.

    d log p(y) / d log v_t = (w_t.w_t / v_t - gamma_t) / 2 with gamma_t = m_t - tr S_tt / v_t
    (MacKay 1992, Neural Computation 4:415-447); the second derivative is about -gamma_t^2 / 2 m_t.
    """
    starts = 1 + np.cumsum(sizes) - sizes
    if not len(sizes):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    squares = np.add.reduceat(mode.weights**2, starts)
    traces = np.add.reduceat(np.diag(mode.covariance), starts)
    inverse = np.exp(-log_variances)
    degrees = np.maximum(sizes - traces * inverse, 0.0)
    slope = 0.5 * (squares * inverse - degrees) - (log_variances - centre) / _LOG_VARIANCE_SD**2
    return slope, 1 / _LOG_VARIANCE_SD**2 + 0.5 * degrees**2 / sizes, degrees


def gains(fit: StructureFit, blocks: Array, task: Task) -> Array:
    """Return by how much the log evidence would rise if each block were added.

    To second order around the fit: with g = B^T s and A = B^T W B - B^T W F S F^T W B, the gain at
    variance v is (g^T inv(A + I / v) g - log det(I + v A)) / 2, averaged over the prior of v.

    Shapes: blocks (n_blocks, n, m); result (n_blocks,).
    """
    weighted = blocks * fit.curvature[:, None]
    shared = np.matmul(fit.design.T, weighted)
    inner = np.matmul(blocks.transpose(0, 2, 1), weighted)
    inner -= np.matmul(shared.transpose(0, 2, 1), np.matmul(fit.covariance, shared))
    score = np.matmul(blocks.transpose(0, 2, 1), fit.slack)
    values, vectors = np.linalg.eigh(inner)
    values = np.maximum(values, 0.0)
    rotated = np.matmul(vectors.transpose(0, 2, 1), score[:, :, None])[:, :, 0] ** 2
    variances = np.exp(_LOG_VARIANCE[task] + _LOG_VARIANCE_SD * _PLACES)
    grown = 1 + variances[:, None, None] * values
    gain = 0.5 * (rotated * variances[:, None, None] / grown - np.log(grown)).sum(axis=2)
    most = gain.max(axis=0)
    averaged: Array = most + np.log(
        np.einsum("v,vb->b", _CHANCES / _CHANCES.sum(), np.exp(gain - most))
    )
    return averaged


def _precisions(log_variances: Array, sizes: Indices) -> Array:
    return np.concatenate([[1 / _INTERCEPT_VARIANCE], np.repeat(np.exp(-log_variances), sizes)])


class _Bernoulli:
    """Classes 0 and 1 with a logistic link."""

    def __init__(self, y: Array) -> None:
        self.y = y
        share = (y.sum() + 0.5) / (len(y) + 1)
        self.first_intercept = math.log(share / (1 - share))

    def derivatives(self, latent: Array) -> tuple[Array, Array]:
        chance = 1 / (1 + np.exp(-np.clip(latent, -30, 30)))
        return self.y - chance, np.maximum(chance * (1 - chance), 1e-10)

    def log_likelihood(self, latent: Array) -> float:
        return float((self.y * latent - np.logaddexp(0, latent)).sum())

    def adapt(self, latent: Array, degrees: float) -> float:  # noqa: ARG002 - nothing to adapt
        return 0.0


class _Noisy:
    """Standardised numbers with Student's noise of unknown scale.

    A row with residual r has the weight (nu + 1) / (nu + r^2 / noise); the curvature is its
    expectation, (nu + 1) / (nu + 3) / noise (Lange, Little and Taylor 1989, Journal of the American
    Statistical Association 84:881-896, section 3).
    """

    first_intercept = 0.0

    def __init__(self, y: Array, tails: float = 5.0) -> None:
        self.y = y
        self.tails = tails
        self.noise = 1.0

    def derivatives(self, latent: Array) -> tuple[Array, Array]:
        slack = self._weights(latent) * (self.y - latent) / self.noise
        expected = (self.tails + 1) / (self.tails + 3) / self.noise
        return slack, np.full(len(self.y), expected)

    def log_likelihood(self, latent: Array) -> float:
        scaled = (self.y - latent) ** 2 / (self.tails * self.noise)
        spread = 0.5 * len(self.y) * math.log(self.noise)
        return -0.5 * (self.tails + 1) * float(np.log1p(scaled).sum()) - spread

    def _weights(self, latent: Array) -> Array:
        weights: Array = (self.tails + 1) / (self.tails + (self.y - latent) ** 2 / self.noise)
        return weights

    def adapt(self, latent: Array, degrees: float) -> float:
        squares = float(self._weights(latent) @ (self.y - latent) ** 2)
        noise = squares / max(len(self.y) - degrees, 0.1 * len(self.y))
        noise = max(noise, 1e-6)
        moved = abs(math.log(noise / self.noise))
        self.noise = noise
        return moved
