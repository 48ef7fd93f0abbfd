"""The evidence of a structure: rows explained by blocks of columns with unknown variances.

The latent function is f = b + sum_t B_t w_t with w_t ~ N(0, v_t I) and b ~ N(0, 100). For classes
p(y = 1) = 1 / (1 + exp(-f)); for numbers the noise has Student's distribution with five degrees of
freedom, so that one row far from all others does not make a structure. The weights are integrated
out by Laplace's method. The variances have log-normal priors and are integrated
out by Laplace's method too, so that a term without effect costs what it should: a maximum over
them would never be less than the evidence without the term.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dpotri, dpotrs

from parsimon._typing import Array, Indices

Task: TypeAlias = Literal["classification", "regression"]

_INTERCEPT_VARIANCE = 100.0
# The prior of the log of a variance: for classes in squared logits, for numbers as a share of the
# variance of the target.
_LOG_VARIANCE = {"classification": math.log(0.7), "regression": math.log(0.15)}
_LOG_VARIANCE_SD = 1.3
# Places and weights of a quadrature over a normal distribution.
_PLACES, _CHANCES = np.polynomial.hermite_e.hermegauss(7)
# A fit ends with one more of Newton's steps, which squares what is left.
_MOST_STEPS, _CLOSE = 40, 1e-2
# Of a row that the fit follows wherever it is, so much is still its own.
_LEAST_KEPT = 0.05
# Most that a latent value may move in one step.
_FARTHEST = 8.0


@dataclass(frozen=True, eq=False)
class StructureFit:
    """A structure fitted to rows.

    log_evidence: With variances integrated out.
    covariance (m, m): Of the weights of `design_of` its blocks, which is too large to keep.
    slack (n,): Derivative of the log likelihood by the latent function.
    curvature (n,): Minus the second derivative.
    end: Where the steps ended; the fit of a neighbour may begin there.
    """

    log_evidence: float
    covariance: Array
    slack: Array
    curvature: Array
    end: "Place"


class Place(NamedTuple):
    """Where the steps of a fit end; log variances and weights by the name of their block."""

    log_variances: dict[Hashable, float]
    weights: dict[Hashable, Array]
    intercept: float
    noise: float


def design_of(blocks: Mapping[Any, Array], n: int) -> Array:
    """Return the intercept and all blocks side by side, shape (n, m)."""
    return np.hstack([np.ones((n, 1)), *blocks.values()])


def fit_structure(
    blocks: Mapping[Any, Array], y: Array, task: Task, near: StructureFit | None = None
) -> StructureFit:
    """Return the evidence of blocks with unknown variances, and what neighbours are judged by.

    Newton's steps for the weights alternate with steps for the log variances, and for numbers with
    noise = r.r / (n - gamma). They begin where the fit of a neighbour ended, if one is known.

    Shapes: blocks (n, m_t) each, y (n,) 0 and 1 or standardised numbers.
    """
    design = design_of(blocks, len(y))
    sizes = np.array([block.shape[1] for block in blocks.values()], dtype=int)
    likelihood = _Bernoulli(y) if task == "classification" else _Noisy(y)
    known = Place({}, {}, likelihood.first_intercept, 1.0) if near is None else near.end
    likelihood.noise = known.noise
    log_variances = np.array(
        [known.log_variances.get(name, _LOG_VARIANCE[task]) for name in blocks]
    )
    own = [known.weights.get(name, np.zeros(block.shape[1])) for name, block in blocks.items()]
    weights = np.concatenate([[known.intercept], *own])
    latent = design @ weights
    for _ in range(_MOST_STEPS):
        tangent = _tangent(design, weights, latent, likelihood)
        mode = _mode(tangent, _precisions(log_variances, sizes))
        # Far steps overshoot where classes are nearly separated.
        farthest = float(np.abs(design @ (mode.weights - weights)).max())
        length = min(1.0, _FARTHEST / max(1e-12, farthest))
        n_steps = 1 if length < 1 else _MOST_STEPS
        ends, adapted, degrees = _with_variances(tangent, mode, log_variances, sizes, task, n_steps)
        moved = length * (ends - weights)
        weights, latent = weights + moved, latent + design @ moved
        noise_change = likelihood.adapt(latent, float(degrees.sum()) + 1)
        change = np.abs(adapted - log_variances).max(initial=0.0)
        log_variances = adapted
        # The noise has no step of Newton's at the end.
        if max(change, np.abs(moved).max(), 10 * noise_change) < _CLOSE:
            break
    precision = _precisions(log_variances, sizes)
    last = _mode(_tangent(design, weights, latent, likelihood), precision)
    latent = design @ last.weights
    slack, curvature = likelihood.derivatives(latent)
    _, curved, _ = _variance_slopes(last, log_variances, sizes, _LOG_VARIANCE[task])
    # Integral over each log variance: prior density at the mode times the width of the peak.
    distance = (log_variances - _LOG_VARIANCE[task]) / _LOG_VARIANCE_SD
    spread = _LOG_VARIANCE_SD**2 * curved
    log_evidence = _log_evidence(last, latent, precision, likelihood)
    log_evidence -= 0.5 * float((distance**2 + np.log(spread)).sum())
    parts = np.split(last.weights[1:], np.cumsum(sizes)[:-1]) if len(sizes) else []
    end = Place(
        dict(zip(blocks, log_variances.tolist(), strict=True)),
        dict(zip(blocks, parts, strict=True)),
        float(last.weights[0]),
        likelihood.noise,
    )
    return StructureFit(log_evidence, last.full_covariance, slack, curvature, end)


def predicted_densities(
    fit: StructureFit, blocks: Mapping[Any, Array], y: Array, task: Task
) -> Array:
    """Return the log density of each row under a fit to all others, to second order.

    Without row i the latent value is f_i - v_i s_i / (1 - v_i W_i) with slack s, curvature W and
    v_i = x_i.S x_i, which is exact where the likelihood is normal (Rasmussen and Williams 2006,
    Gaussian Processes for Machine Learning, equation 5.12).

    Shapes: blocks (n, m_t) each of the fit, y (n,); result (n,).
    """
    design = design_of(blocks, len(y))
    weights = np.concatenate([[fit.end.intercept], *(fit.end.weights[name] for name in blocks)])
    variance = np.einsum("nk,nk->n", design @ fit.covariance, design)
    kept = np.maximum(1 - variance * fit.curvature, _LEAST_KEPT)
    latent = design @ weights - variance * fit.slack / kept
    likelihood = _Bernoulli(y) if task == "classification" else _Noisy(y)
    likelihood.noise = fit.end.noise
    return likelihood.log_densities(latent)


class _Tangent(NamedTuple):
    """The log likelihood of the weights to second order around some of them.

    hessian (m, m): Minus its second derivative; pull (m,): its first, plus hessian @ weights.
    """

    hessian: Array
    pull: Array


def _tangent(
    design: Array, weights: Array, latent: Array, likelihood: "_Bernoulli | _Noisy"
) -> _Tangent:
    slack, curvature = likelihood.derivatives(latent)
    scaled = design * np.sqrt(curvature)[:, None]
    hessian = scaled.T @ scaled
    return _Tangent(hessian, hessian @ weights + design.T @ slack)


class _Mode(NamedTuple):
    """The weights at which a second-order log posterior is highest.

    covariance (m, m), root (m, m): Of the weights, its lower half, and the lower root of its
    inverse.
    """

    weights: Array
    covariance: Array
    root: Array

    @property
    def full_covariance(self) -> Array:
        lower = np.tril(self.covariance)
        return lower + np.tril(lower, -1).T


def _mode(tangent: _Tangent, precision: Array) -> _Mode:
    inverse = np.array(tangent.hessian, order="F")
    inverse[np.diag_indices_from(inverse)] += precision
    # Small matrices by the thousand: scipy's checks would take longer than the algebra.
    root, failed = dpotrf(inverse, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("The curvature of a structure is not positive definite.")
    weights = dpotrs(root, tangent.pull, lower=1)[0]
    return _Mode(weights, dpotri(root, lower=1)[0], root)


def _log_evidence(
    mode: _Mode, latent: Array, precision: Array, likelihood: "_Bernoulli | _Noisy"
) -> float:
    """Return the log evidence at given variances by Laplace's method; exact at the mode."""
    return (
        float(likelihood.log_densities(latent).sum())
        - 0.5 * float(precision @ mode.weights**2 - np.log(precision).sum())
        - float(np.log(np.diag(mode.root)).sum())
    )


def _with_variances(
    tangent: _Tangent,
    mode: _Mode,
    log_variances: Array,
    sizes: Indices,
    task: Task,
    n_steps: int,
) -> tuple[Array, Array, Array]:
    """Return the mode with steps for the log variances, which need no look at the rows.

    mode: With the log variances as they are.
    """
    for n_done in range(n_steps):
        if n_done:
            mode = _mode(tangent, _precisions(log_variances, sizes))
        slope, curved, degrees = _variance_slopes(mode, log_variances, sizes, _LOG_VARIANCE[task])
        change = _variance_step(mode, log_variances, sizes, slope, curved)
        log_variances = log_variances + change
        if np.abs(change).max(initial=0.0) < _CLOSE:
            break
    return mode.weights, log_variances, degrees


def _variance_slopes(
    mode: _Mode, log_variances: Array, sizes: Indices, centre: float
) -> tuple[Array, Array, Array]:
    """Return first derivatives by the log variances, minus the second ones, and degrees of freedom.

    d log p(y) / d log v_t = (w_t.w_t / v_t - gamma_t) / 2 with gamma_t = m_t - tr S_tt / v_t
    (MacKay 1992, Neural Computation 4:415-447); the second derivative is about -gamma_t^2 / 2 m_t.
    """
    if not len(sizes):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    starts = 1 + np.cumsum(sizes) - sizes
    squares = np.add.reduceat(mode.weights**2, starts)
    traces = np.add.reduceat(np.diag(mode.covariance), starts)
    inverse = np.exp(-log_variances)
    degrees = np.maximum(sizes - traces * inverse, 0.0)
    slope = 0.5 * (squares * inverse - degrees) - (log_variances - centre) / _LOG_VARIANCE_SD**2
    return slope, 1 / _LOG_VARIANCE_SD**2 + 0.5 * degrees**2 / sizes, degrees


def _variance_step(
    mode: _Mode, log_variances: Array, sizes: Indices, slope: Array, curved: Array
) -> Array:
    """Return Newton's step for the log variances where the curvature is a peak's, or a safe one.

    With P_t = I / v_t on block t and S the covariance of the weights, the second derivative by
    log v_t and log v_s is w.P_t S P_s.w + tr(S P_s S P_t) / 2, on the diagonal less
    (w.P_t.w + tr(S P_t)) / 2.
    """
    if not len(sizes):
        return slope
    starts = np.cumsum(sizes) - sizes
    covariance = mode.full_covariance[1:, 1:]
    weights = mode.weights[1:]
    inverse = np.exp(-log_variances)
    pulled = covariance * weights * weights[:, None] + 0.5 * covariance**2
    crossed = np.add.reduceat(np.add.reduceat(pulled, starts, axis=0), starts, axis=1)
    own = np.add.reduceat(weights**2 + np.diag(covariance), starts) * inverse
    curvature = np.diag(0.5 * own + 1 / _LOG_VARIANCE_SD**2) - crossed * inverse * inverse[:, None]
    step, failed = dposv(curvature, slope, lower=1)[1:]
    return np.clip(slope / curved if failed else step, -1.0, 1.0)


def gains(fit: StructureFit, design: Array, blocks: Array, task: Task) -> Array:
    """Return by how much the log evidence would rise if each block were added.

    To second order around the fit: with g = B^T s and A = B^T W B - B^T W F S F^T W B, the gain at
    variance v is (g^T inv(A + I / v) g - log det(I + v A)) / 2, averaged over the prior of v.

    Shapes: design (n, m_0) of the fit, blocks (n_blocks, n, m); result (n_blocks,).
    """
    weighted = blocks * fit.curvature[:, None]
    shared = np.matmul(design.T, weighted)
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
    return most + np.log(np.einsum("v,vb->b", _CHANCES / _CHANCES.sum(), np.exp(gain - most)))


def _precisions(log_variances: Array, sizes: Indices) -> Array:
    return np.concatenate([[1 / _INTERCEPT_VARIANCE], np.repeat(np.exp(-log_variances), sizes)])


class _Bernoulli:
    """Classes 0 and 1 with a logistic link."""

    noise = 1.0

    def __init__(self, y: Array) -> None:
        self.y = y
        share = (y.sum() + 0.5) / (len(y) + 1)
        self.first_intercept = math.log(share / (1 - share))

    def derivatives(self, latent: Array) -> tuple[Array, Array]:
        chance = 1 / (1 + np.exp(-np.clip(latent, -30, 30)))
        return self.y - chance, np.maximum(chance * (1 - chance), 1e-10)

    def log_densities(self, latent: Array) -> Array:
        return self.y * latent - np.logaddexp(0, latent)

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

    def log_densities(self, latent: Array) -> Array:
        scaled = (self.y - latent) ** 2 / (self.tails * self.noise)
        return -0.5 * ((self.tails + 1) * np.log1p(scaled) + math.log(self.noise))

    def _weights(self, latent: Array) -> Array:
        return (self.tails + 1) / (self.tails + (self.y - latent) ** 2 / self.noise)

    def adapt(self, latent: Array, degrees: float) -> float:
        squares = float(self._weights(latent) @ (self.y - latent) ** 2)
        noise = squares / max(len(self.y) - degrees, 0.1 * len(self.y))
        noise = max(noise, 1e-6)
        moved = abs(math.log(noise / self.noise))
        self.noise = noise
        return moved
