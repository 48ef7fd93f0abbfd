"""The Laplace approximation of a logistic regression, with all that its derivatives need."""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.special import expit

from parsimon._typing import Array

# Newton decrement. The determinant is of first order in the error of the mode, whose square this
# is, and differences of evidences are compared.
_TOLERANCE = 1e-14
# Below this decrement Newton's method doubles the digits with every step, and the rise may be
# below rounding: no need to watch it.
_CERTAIN = 1e-7
_MOST_STEPS = 100
_SMALLEST_STEP = 2.0**-30


class LaplaceMode(NamedTuple):
    r"""The mode for weights with a standard normal prior.

    Shapes: weights (m,).

    covariance (m, m): :math:`P = (I + \Psi^T B \Psi)^{-1}`.
    probability, residual, precision (n,): p, :math:`v (t - p)` and :math:`v p (1 - p)`.
    """

    weights: Array
    covariance: Array
    probability: Array
    residual: Array
    precision: Array
    log_evidence: float


def laplace_mode(design: Array, labels: Array, row_weights: Array, guess: Array) -> LaplaceMode:
    r"""Find the mode for weights with a standard normal prior by Newton's method.

    Any Gaussian prior becomes standard by scaling the columns.

    Shapes: design (n, m), labels (n,), row_weights (n,), guess (m,).
    """
    signs = 1.0 - 2.0 * labels
    weights, scores = guess, design @ guess
    value = _log_posterior(scores, signs, weights, row_weights)
    at_zero = -np.log(2.0) * float(row_weights.sum())
    if not value >= at_zero:
        weights, scores, value = np.zeros_like(guess), np.zeros(len(labels)), at_zero
    for _ in range(_MOST_STEPS):
        probability = expit(scores)
        residual = row_weights * (labels - probability)
        precision = row_weights * probability * (1.0 - probability)
        factor = cholesky(curvature(design, precision))
        gradient = residual @ design - weights
        step = solve(factor, gradient)
        decrement = gradient @ step
        if decrement < _TOLERANCE:
            break
        moved, size = design @ step, 1.0
        new_value = _log_posterior(scores + moved, signs, weights + step, row_weights)
        while new_value < value and decrement > _CERTAIN and size > _SMALLEST_STEP:
            size *= 0.5
            new_weights, new_scores = weights + size * step, scores + size * moved
            new_value = _log_posterior(new_scores, signs, new_weights, row_weights)
        weights, scores, value = weights + size * step, scores + size * moved, new_value
    log_evidence = value - float(np.log(factor.diagonal()).sum())
    return LaplaceMode(weights, inverse(factor), probability, residual, precision, log_evidence)


def curvature(design: Array, precision: Array) -> Array:
    """Return the identity plus the Gram matrix weighted by `precision`."""
    root = design * np.sqrt(precision)[:, None]
    matrix: Array = root.T @ root
    matrix.flat[:: len(matrix) + 1] += 1.0
    return matrix


def cholesky(matrix: Array) -> Array:
    """Return the lower Cholesky factor; the matrix is overwritten."""
    if not len(matrix):
        return matrix
    factor: Array
    factor, failed = dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("The curvature of the posterior has no Cholesky factor.")
    return factor


def solve(factor: Array, right: Array) -> Array:
    """Solve with the matrix of which `factor` is the lower Cholesky factor."""
    if not len(factor):
        return right
    solution: Array
    solution, _ = dpotrs(factor, right, lower=1)
    return solution


def inverse(factor: Array) -> Array:
    """Return the inverse of the matrix of which `factor` is the lower Cholesky factor."""
    if not len(factor):
        return factor
    matrix: Array
    matrix, _ = dpotri(factor, lower=1)
    matrix += matrix.T
    matrix.flat[:: len(matrix) + 1] *= 0.5
    return matrix


def _log_posterior(scores: Array, signs: Array, weights: Array, row_weights: Array) -> float:
    losses = np.logaddexp(0.0, signs * scores)
    return float(-(row_weights @ losses) - 0.5 * (weights @ weights))
