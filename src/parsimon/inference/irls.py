r"""Iteratively reweighted least squares: the mode of a penalised logistic regression.

Newton's method on :math:`\sum_i v_i \log p(t_i | w) - \frac12 \sum_m \alpha_m w_m^2`, which is
concave in w, so that every start leads to the one mode. `logistic_mode` solves one problem;
`logistic_modes` solves several that differ in the weights of the rows alone, such as the folds of
a cross-validation, with one matrix product for all of them.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.special import expit

from parsimon._typing import Array, Mask

# Newton decrement (twice the expected gain in log posterior) at which a mode is found.
TOLERANCE = 1e-8
_SMALLEST_STEP = 2.0**-12


class LogisticMode(NamedTuple):
    """The most probable weights and what was computed on the way.

    Attributes
    ----------
    weights : ndarray of shape (m,)
    scores : ndarray of shape (n,)
        Linear predictor of every row.
    log_posterior : float
        Weighted log likelihood minus half of the penalty.
    n_iter : int
        Newton steps.
    converged : bool
        False where the steps ran out or the scores grew beyond `largest_score`.
    """

    weights: Array
    scores: Array
    log_posterior: float
    n_iter: int
    converged: bool


class LogisticModes(NamedTuple):
    """The modes of k problems that differ in the weights of their rows.

    Attributes
    ----------
    weights : ndarray of shape (k, m)
    scores : ndarray of shape (k, n)
        Of every row, also of those with weight zero.
    n_iter : int
        Newton steps, the same for all.
    converged : ndarray of shape (k,)
    """

    weights: Array
    scores: Array
    n_iter: int
    converged: Mask


def logistic_mode(
    design: Array,
    labels: Array,
    alpha: Array,
    *,
    row_weights: Array | None = None,
    start: Array | None = None,
    max_iter: int = 50,
    tolerance: float = TOLERANCE,
    largest_score: float = np.inf,
) -> LogisticMode:
    r"""Return the mode of a logistic regression with a Gaussian prior on each weight.

    Parameters
    ----------
    design : ndarray of shape (n, m)
        Columns in the model.
    labels : ndarray of shape (n,)
        0 or 1.
    alpha : ndarray of shape (m,)
        Prior precisions, positive or zero.
    row_weights : ndarray of shape (n,), optional
        How many times each row counts.
    start : ndarray of shape (m,), optional
        Where to begin; zero if left out or if zero is better.
    max_iter : int
    tolerance : float
        Newton decrement at which to stop.
    largest_score : float
        Stop when a score is beyond it: 30 is certainty, and on separable rows with hardly any
        prior the scores would grow for ever.

    Returns
    -------
    LogisticMode

    References
    ----------
    Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", section 3.

    Examples
    --------
    >>> design = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    >>> mode = logistic_mode(design, np.array([0.0, 1.0, 0.0, 1.0]), np.ones(2))
    >>> mode.weights.round(4), mode.converged
    (array([-0.2221,  0.3009]), True)
    """
    n_columns = design.shape[1]
    signs = 2.0 * labels - 1.0
    weights, scores = np.zeros(n_columns), np.zeros(len(labels))
    value = _log_posterior(scores, signs, weights, alpha, row_weights)
    if start is not None:
        given = design @ start
        better = _log_posterior(given, signs, start, alpha, row_weights)
        if better > value:
            weights, scores, value = np.array(start, dtype=np.float64), given, better
    for n_iter in range(1, max_iter + 1):
        probability = expit(scores)
        residual, curvature = labels - probability, probability * (1.0 - probability)
        if row_weights is not None:
            residual, curvature = residual * row_weights, curvature * row_weights
        gradient = residual @ design - alpha * weights
        hessian = (design * curvature[:, None]).T @ design
        hessian.flat[:: n_columns + 1] += alpha
        step = newton_step(hessian, gradient)
        if gradient @ step < tolerance:
            return LogisticMode(weights, scores, value, n_iter, converged=True)
        moved, size = design @ step, 1.0
        while True:
            new_weights, new_scores = weights + size * step, scores + size * moved
            new_value = _log_posterior(new_scores, signs, new_weights, alpha, row_weights)
            if new_value >= value or size < _SMALLEST_STEP:
                break
            size *= 0.5
        if new_value < value:
            # The gain is below what rounding shows: this is the mode.
            return LogisticMode(weights, scores, value, n_iter, converged=True)
        weights, scores, value = new_weights, new_scores, new_value
        if np.abs(scores).max(initial=0.0) > largest_score:
            break
    return LogisticMode(weights, scores, value, n_iter, converged=False)


def logistic_modes(
    design: Array,
    labels: Array,
    alpha: Array,
    row_weights: Array,
    *,
    start: Array | None = None,
    max_iter: int = 50,
    tolerance: float = TOLERANCE,
    largest_score: float = np.inf,
) -> LogisticModes:
    """Return the modes of k problems with the same columns, labels and prior.

    Parameters
    ----------
    design : ndarray of shape (n, m)
    labels : ndarray of shape (n,)
        0 or 1.
    alpha : ndarray of shape (m,)
    row_weights : ndarray of shape (k, n)
        Zero where a problem leaves a row out.
    start : ndarray of shape (m,) or (k, m), optional
    max_iter, tolerance, largest_score
        As in `logistic_mode`.

    Returns
    -------
    LogisticModes

    Examples
    --------
    >>> design = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    >>> labels, folds = np.array([0.0, 1.0, 0.0, 1.0]), np.array([[1.0, 1, 1, 0], [0, 1, 1, 1]])
    >>> logistic_modes(design, labels, np.ones(2), folds).weights.shape
    (2, 2)
    """
    n_problems, n_columns = len(row_weights), design.shape[1]
    signs = 2.0 * labels - 1.0
    zero = np.zeros((n_problems, n_columns))
    weights = zero if start is None else np.broadcast_to(start, zero.shape).copy()
    scores = weights @ design.T
    values = _log_posteriors(scores, signs, weights, alpha, row_weights)
    at_zero = -np.log(2.0) * row_weights.sum(axis=1)
    worse = values < at_zero
    weights[worse], scores[worse], values[worse] = 0.0, 0.0, at_zero[worse]
    converged = np.zeros(n_problems, dtype=np.bool_)
    for n_iter in range(1, max_iter + 1):
        probability = expit(scores)
        gradients = ((labels - probability) * row_weights) @ design - alpha * weights
        curvatures = probability * (1.0 - probability) * row_weights
        stacked = (design.T[None] * curvatures[:, None]).reshape(-1, len(labels)) @ design
        hessians = stacked.reshape(n_problems, n_columns, n_columns)
        hessians[:, range(n_columns), range(n_columns)] += alpha
        steps = np.array([newton_step(*pair) for pair in zip(hessians, gradients, strict=True)])
        converged = np.einsum("km,km->k", gradients, steps) < tolerance
        if converged.all():
            return LogisticModes(weights, scores, n_iter, converged)
        moved, sizes = steps @ design.T, np.where(converged, 0.0, 1.0)
        while True:
            new_weights = weights + sizes[:, None] * steps
            new_scores = scores + sizes[:, None] * moved
            new_values = _log_posteriors(new_scores, signs, new_weights, alpha, row_weights)
            falling = (new_values < values) & (sizes > 0)
            if not falling.any():
                break
            sizes[falling] *= 0.5
            sizes[sizes < _SMALLEST_STEP] = 0.0
        weights, scores, values = new_weights, new_scores, new_values
        beyond = np.abs(scores * (row_weights > 0)).max(axis=1) > largest_score
        if (converged | (sizes == 0.0) | beyond).all():
            converged = converged | (sizes == 0.0)
            break
    return LogisticModes(weights, scores, n_iter, converged)


def newton_step(hessian: Array, gradient: Array) -> Array:
    """Solve ``hessian @ step = gradient`` for a matrix that is positive definite up to rounding.

    Examples
    --------
    >>> newton_step(np.diag([2.0, 4.0]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    step: Array
    _, step, failed = dposv(hessian, gradient)
    if failed:
        # Identical columns with hardly any prior: any of the least-squares solutions will do.
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
    return step


def _log_posterior(
    scores: Array, signs: Array, weights: Array, alpha: Array, row_weights: Array | None
) -> float:
    losses = np.logaddexp(0.0, -signs * scores)
    likelihood = losses.sum() if row_weights is None else row_weights @ losses
    return float(-likelihood - 0.5 * (alpha @ weights**2))


def _log_posteriors(
    scores: Array, signs: Array, weights: Array, alpha: Array, row_weights: Array
) -> Array:
    losses = np.logaddexp(0.0, -signs * scores)
    values: Array = -(losses * row_weights).sum(axis=1) - 0.5 * (weights**2 @ alpha)
    return values
