r"""Iteratively reweighted least squares: the mode of a penalised logistic regression.

Newton's method on :math:`\sum_i v_i \log p(t_i | w) - \frac12 \sum_m \alpha_m w_m^2`, which is
concave in w, so that every start leads to the one mode. `logistic_mode` solves one problem;
`logistic_modes` solves several that differ in the weights of the rows alone, such as the folds of
a cross-validation, with one matrix product for all of them.
"""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
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

    Shapes: weights (m,).

    scores (n,): Linear predictor of every row.
    log_posterior: Weighted log likelihood minus half of the penalty.
    n_iter: Newton steps.
    converged: False where the steps ran out or the scores grew beyond `largest_score`.
    """

    weights: Array
    scores: Array
    log_posterior: float
    n_iter: int
    converged: bool


class LogisticModes(NamedTuple):
    """The modes of k problems that differ in the weights of their rows.

    Shapes: weights (k, m), converged (k,).

    scores (k, n): Of every row, also of those with weight zero.
    n_iter: Newton steps, the same for all.
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

    Shapes: design (n, m), labels (n,), alpha (m,), row_weights (n,), start (m,).

    Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", section 3.
    """
    n_columns = design.shape[1]
    weights, scores = np.zeros(n_columns), np.zeros(len(labels))
    value = float(_log_posteriors(scores, labels, weights, alpha, row_weights))
    if start is not None:
        given = design @ start
        better = float(_log_posteriors(given, labels, start, alpha, row_weights))
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
            new_value = float(_log_posteriors(new_scores, labels, new_weights, alpha, row_weights))
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

    Shapes: design (n, m), labels (n,), alpha (m,), row_weights (k, n), start (m,).

    With the extra `fast` (numba) up to 128 columns are handled by a compiled loop, four times as
    fast for 20 columns and 400 rows; the outcome agrees within the tolerance.
    """
    n_problems, n_columns = len(row_weights), design.shape[1]
    weights = np.zeros((n_problems, n_columns))
    if start is not None:
        weights[:] = start
    if labels.ndim == 1:
        labels = np.repeat(labels[None], n_problems, axis=0)
    loop = _newton_modes() if n_columns <= _MOST_COMPILED else newton_modes
    scores, converged = np.empty(row_weights.shape), np.zeros(n_problems, dtype=np.bool_)
    n_iter = loop(
        np.ascontiguousarray(design.T),
        labels,
        alpha,
        row_weights,
        weights,
        scores,
        converged,
        max_iter,
        tolerance,
        largest_score,
    )
    return LogisticModes(weights, scores, n_iter, converged)


# Beyond this a matrix product of many columns is faster than a plain loop.
_MOST_COMPILED = 128


@cache
def _newton_modes() -> Callable[..., int]:
    """Return the compiled loop if the extra `fast` is installed."""
    if find_spec("numba") is None:
        return newton_modes
    from parsimon.inference._irls_compiled import newton_modes as compiled

    return compiled  # type: ignore[no-any-return]


def newton_modes(
    columns: Array,
    labels: Array,
    alpha: Array,
    row_weights: Array,
    weights: Array,
    scores: Array,
    converged: Mask,
    max_iter: int,
    tolerance: float,
    largest_score: float,
) -> int:
    """Do what `irls_compiled.newton_modes` does, for all problems in one matrix product."""
    n_problems, (n_columns, n_rows) = len(row_weights), columns.shape
    diagonal = np.arange(n_columns)
    scores[:] = weights @ columns
    values = _log_posteriors(scores, labels, weights, alpha, row_weights)
    at_zero = -np.log(2.0) * row_weights.sum(axis=1)
    worse = values < at_zero
    weights[worse], scores[worse], values[worse] = 0.0, 0.0, at_zero[worse]
    n_iter, running = 0, np.ones(n_problems, dtype=np.bool_)
    while running.any() and n_iter < max_iter:
        n_iter += 1
        probability = expit(scores)
        gradients = ((labels - probability) * row_weights) @ columns.T - alpha * weights
        curvatures = probability * (1.0 - probability) * row_weights
        stacked = (columns * curvatures[:, None]).reshape(-1, n_rows) @ columns.T
        hessians = stacked.reshape(n_problems, n_columns, n_columns)
        hessians[:, diagonal, diagonal] += alpha
        steps = np.array([newton_step(*pair) for pair in zip(hessians, gradients, strict=True)])
        decrements = np.einsum("km,km->k", gradients, steps)
        moved, sizes = steps @ columns, running.astype(np.float64)
        while True:
            new_weights = weights + sizes[:, None] * steps
            new_scores = scores + sizes[:, None] * moved
            new_values = _log_posteriors(new_scores, labels, new_weights, alpha, row_weights)
            falling = (new_values < values) & (sizes > 0)
            if not falling.any():
                break
            sizes[falling] *= 0.5
            # Then the gain is below what rounding shows: this is the mode.
            sizes[sizes < _SMALLEST_STEP] = 0.0
        weights[:], scores[:], values = new_weights, new_scores, new_values
        converged |= running & ((decrements < tolerance) | (sizes == 0.0))
        beyond = np.abs(scores * (row_weights > 0)).max(axis=1) > largest_score
        running &= ~(converged | beyond)
    # Added up column by column: a matrix product treats the last rows in another way, and equal
    # rows must have equal scores.
    scores[:] = np.add.reduce(weights[:, :, None] * columns, axis=1)
    return n_iter


def newton_step(hessian: Array, gradient: Array) -> Array:
    """Solve ``hessian @ step = gradient`` for a matrix that is positive definite up to rounding."""
    step: Array
    _, step, failed = dposv(hessian, gradient)
    if failed:
        # Identical columns with hardly any prior: any of the least-squares solutions will do.
        step = np.asarray(np.linalg.lstsq(hessian, gradient, rcond=None)[0], dtype=np.float64)
    return step


def _log_posteriors(
    scores: Array, labels: Array, weights: Array, alpha: Array, row_weights: Array | None
) -> Array:
    """Return log posteriors, shape (...,), of scores (..., n) and weights (..., m)."""
    # In this order a row that is told well adds no rounding: the bracket is exactly zero.
    losses = np.log1p(np.exp(-np.abs(scores))) + (np.maximum(scores, 0.0) - labels * scores)
    if row_weights is not None:
        losses *= row_weights
    values: Array = -losses.sum(axis=-1) - 0.5 * (weights**2 @ alpha)
    return values
