r"""Laplace's approximation for weights of (class, column) pairs.

The score of class k at a row is the sum over the pairs of that class, each column in units of the
pair's prior. The curvature of the log likelihood at a row is
:math:`v (\mathrm{diag}(p) - p p^T)` over the classes, so that pairs of one class meet in
:math:`v p_k (1 - p_k)` and pairs of two classes in :math:`-v p_k p_l`.
"""

from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference.irls import newton_step
from parsimon.inference.sparse_bayes.em_spread import inverse_plus_identity
from parsimon.inference.sparse_bayes.softmax_mode import class_log_likelihood

# Newton decrement; the determinant is of first order in the error of the mode.
_TOLERANCE = 1e-14
_MOST_STEPS = 100
_SMALLEST_STEP = 2.0**-30


class Labels(NamedTuple):
    """Classes of the rows and how often each row counts.

    Shapes: codes (n,).

    targets (n, n_classes): One-hot.
    row_weights (n,): Positive.
    """

    codes: Indices
    targets: Array
    row_weights: Array


class PairMode(NamedTuple):
    """The mode for weights with a standard normal prior.

    Shapes: weights (m,), covariance (m, m), probability (n, n_classes).
    """

    weights: Array
    covariance: Array
    probability: Array
    log_evidence: float


def pair_mode(X: Array, classes: Indices, labels: Labels, guess: Array) -> PairMode:
    r"""Find the mode for weights with a standard normal prior by Newton's method.

    Shapes: X (n, m), classes (m,), guess (m,).
    """
    spread = (classes[:, None] == np.arange(labels.targets.shape[1])).astype(np.float64)

    def at(weights: Array) -> tuple[float, Array]:
        scores = X @ (weights[:, None] * spread)
        value, p = class_log_likelihood(scores, labels.codes, labels.row_weights)
        return value - 0.5 * float(weights @ weights), p

    weights = np.zeros(len(classes))
    value, p = at(weights)
    if guess.any():
        given = at(guess)
        if given[0] > value:
            weights, (value, p) = guess, given
    for _ in range(_MOST_STEPS):
        residual = labels.row_weights[:, None] * (labels.targets - p)
        gradient = np.einsum("ij,ij->j", X, residual[:, classes]) - weights
        curvature = pair_curvature(X, classes, labels.row_weights, p)
        hessian = curvature.copy()
        hessian.flat[:: len(classes) + 1] += 1.0
        step = newton_step(hessian, gradient) if len(classes) else gradient
        if gradient @ step < _TOLERANCE:
            break
        size, found = 1.0, at(weights + step)
        while found[0] < value and size > _SMALLEST_STEP:
            size *= 0.5
            found = at(weights + size * step)
        if found[0] < value:
            break  # The rise is below rounding: this is the mode.
        weights, (value, p) = weights + size * step, found
    covariance, log_determinant = inverse_plus_identity(curvature)
    return PairMode(weights, covariance, p, value - 0.5 * log_determinant)


def pair_curvature(X: Array, classes: Indices, row_weights: Array, probability: Array) -> Array:
    """Return minus the second derivatives of the log likelihood, shape (m, m)."""
    weighted = X * np.sqrt(row_weights)[:, None]
    p = probability[:, classes]
    # One minus p is the sum of the others: no digits are lost near certainty.
    bent = weighted * np.sqrt(p * complement(probability)[:, classes])
    crossed = weighted * p
    same = classes[:, None] == classes
    return np.where(same, bent.T @ bent, -(crossed.T @ crossed))


def determinant_slope(X: Array, classes: Indices, mode: PairMode) -> Array:
    """Return the derivative of log|H| for each score without the row's weight, as probability.

    Rasmussen and Williams (2006), section 3.5, in the space of weights.
    """
    p, covariance = mode.probability, mode.covariance
    same = classes[:, None] == classes
    total = (classes[:, None] == np.arange(p.shape[1])).astype(np.float64)
    own = ((X @ (covariance * same)) * X) @ total
    pull = own - 2.0 * (((X * p[:, classes]) @ covariance) * X) @ total
    slope: Array = p * (pull - np.sum(p * pull, axis=1, keepdims=True))
    return slope


def complement(probability: Array) -> Array:
    """Return one minus each probability as the sum of the others."""
    others: Array = probability @ (1.0 - np.eye(probability.shape[1]))
    return others
