"""The evidence of a structure: rows explained by blocks of columns with unknown variances.

The latent function is f = b + sum_t B_t w_t with w_t ~ N(0, v_t I) and b ~ N(0, 100). For classes
p(y = 1) = 1 / (1 + exp(-f)) and the weights are integrated out by Laplace's method; for numbers
the noise is Gaussian and that is exact. The variances have log-normal priors and are integrated
out by Laplace's method too, so that a term without effect costs what it should: a maximum over
them would never be less than the evidence without the term.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from parsimon._typing import Array

Task: TypeAlias = Literal["classification", "regression"]

_INTERCEPT_VARIANCE = 100.0
# The prior of the log of a variance: for classes in squared logits, for numbers as a share of the
# variance of the target.
_LOG_VARIANCE = {"classification": math.log(0.7), "regression": math.log(0.15)}
_LOG_VARIANCE_SD = 1.3
_MOST_STEPS, _CLOSE = 40, 1e-3


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
    weights: Array
    log_variances: Array
    slack: Array
    curvature: Array


def fit_structure(
    blocks: Sequence[Array], y: Array, task: Task, start: Array | None = None
) -> StructureFit:
    """Return the evidence of blocks with unknown variances, and what neighbours are judged by.

    Newton's steps for the weights alternate with steps for the log variances,

        d log p(y) / d log v_t = (w_t.w_t / v_t - gamma_t) / 2,   gamma_t = m_t - tr S_tt / v_t

    (MacKay 1992, Neural Computation 4:415-447), and for numbers with noise = r.r / (n - gamma).

    Shapes: blocks (n, m_t) each, y (n,) 0 and 1 or standardised numbers, start (n_blocks,).
    """
    centre, deviation = _LOG_VARIANCE[task], _LOG_VARIANCE_SD
    design = np.hstack([np.ones((len(y), 1)), *blocks])
    sizes = [block.shape[1] for block in blocks]
    ends = 1 + np.cumsum([0, *sizes])
    parts = [slice(first, last) for first, last in pairwise(ends.tolist())]
    log_variances = np.full(len(blocks), centre) if start is None else start.copy()
    weights = np.zeros(design.shape[1])
    likelihood = _Bernoulli(y) if task == "classification" else _Noisy(y)
    weights[0] = likelihood.first_intercept
    latent = design @ weights
    for _ in range(_MOST_STEPS):
        precision = _precisions(log_variances, sizes)
        slack, curvature = likelihood.derivatives(latent)
        hessian = (design.T * curvature) @ design
        hessian[np.diag_indices_from(hessian)] += precision
        factor = cho_factor(hessian, lower=True)
        step = cho_solve(factor, design.T @ slack - precision * weights)
        # Far steps overshoot where classes are nearly separated.
        length = min(1.0, 8.0 / max(1e-12, float(np.abs(design @ step).max())))
        weights = weights + length * step
        latent = design @ weights
        covariance = cho_solve(factor, np.eye(len(weights)))
        degrees = np.array(
            [
                size - np.trace(covariance[part, part]) * math.exp(-log_variance)
                for size, part, log_variance in zip(sizes, parts, log_variances, strict=True)
            ]
        )
        squares = np.array([float(weights[part] @ weights[part]) for part in parts])
        slope = 0.5 * (squares * np.exp(-log_variances) - degrees)
        slope -= (log_variances - centre) / deviation**2
        curved = 1 / deviation**2 + 0.5 * degrees**2 / np.maximum(sizes, 1)
        change = np.clip(slope / curved, -1.0, 1.0)
        moved = likelihood.adapt(latent, float(degrees.sum()) + 1)
        if max(np.abs(change).max(initial=0.0), np.abs(length * step).max(), moved) < _CLOSE:
            break
        log_variances = log_variances + change
    precision = _precisions(log_variances, sizes)
    slack, curvature = likelihood.derivatives(latent)
    hessian = (design.T * curvature) @ design
    hessian[np.diag_indices_from(hessian)] += precision
    factor = cho_factor(hessian, lower=True)
    log_evidence = (
        likelihood.log_likelihood(latent)
        - 0.5 * float(precision @ weights**2)
        + 0.5 * float(np.log(precision).sum())
        - float(np.log(np.diag(factor[0])).sum())
    )
    # Integral over each log variance: prior density at the mode times the width of the peak.
    log_evidence -= 0.5 * float(((log_variances - centre) ** 2).sum()) / deviation**2
    log_evidence -= 0.5 * float(np.log(deviation**2 * curved).sum())
    return StructureFit(
        log_evidence,
        design,
        cho_solve(factor, np.eye(len(weights))),
        weights,
        log_variances,
        slack,
        curvature,
    )


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
    places, chances = np.polynomial.hermite_e.hermegauss(7)
    variances = np.exp(_LOG_VARIANCE[task] + _LOG_VARIANCE_SD * places)
    grown = 1 + variances[:, None, None] * values
    gain = 0.5 * (rotated * variances[:, None, None] / grown - np.log(grown)).sum(axis=2)
    most = gain.max(axis=0)
    averaged: Array = most + np.log(
        np.einsum("v,vb->b", chances / chances.sum(), np.exp(gain - most))
    )
    return averaged


def _precisions(log_variances: Array, sizes: Sequence[int]) -> Array:
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
    """Standardised numbers with Gaussian noise of unknown variance."""

    first_intercept = 0.0

    def __init__(self, y: Array) -> None:
        self.y = y
        self.noise = 1.0

    def derivatives(self, latent: Array) -> tuple[Array, Array]:
        return (self.y - latent) / self.noise, np.full(len(self.y), 1 / self.noise)

    def log_likelihood(self, latent: Array) -> float:
        residual = self.y - latent
        return -0.5 * float(residual @ residual / self.noise + len(self.y) * math.log(self.noise))

    def adapt(self, latent: Array, degrees: float) -> float:
        residual = self.y - latent
        noise = float(residual @ residual) / max(len(self.y) - degrees, 0.1 * len(self.y))
        noise = max(noise, 1e-6)
        moved = abs(math.log(noise / self.noise))
        self.noise = noise
        return moved
