"""The loop of `irls.logistic_modes`, compiled: for a few columns, calls cost more than sums."""

import numpy as np
from numba import njit

from parsimon._typing import Array, Mask

_SMALLEST_STEP = 2.0**-12
_REASSOCIATE = {"reassoc", "contract", "nsz"}  # so that sums run on vectors


@njit(cache=True)
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
    """Climb to the modes of k problems from `weights`; fill `weights`, `scores`, `converged`.

    Shapes: columns (m, n), labels, row_weights, scores (k, n), alpha (m,), weights (k, m),
        converged (k,).
    """
    most = 0
    for k in range(len(labels)):
        n_iter, converged[k] = _climb(
            columns,
            labels[k],
            alpha,
            row_weights[k],
            weights[k],
            scores[k],
            max_iter,
            tolerance,
            largest_score,
        )
        most = max(most, n_iter)
    return most


@njit(cache=True)
def _climb(
    columns: Array,
    labels: Array,
    alpha: Array,
    row_weights: Array,
    weights: Array,
    scores: Array,
    max_iter: int,
    tolerance: float,
    largest_score: float,
) -> tuple[int, bool]:
    """Climb to one mode; return the number of steps and whether it was reached."""
    m, n = columns.shape
    gradient, step, moved = np.empty(m), np.empty(m), np.empty(n)
    old_weights, old_scores = np.empty(m), np.empty(n)
    hessian, factor = np.empty((m, m)), np.empty((m, m))
    residual, curvature, scaled = np.empty(n), np.empty(n), np.empty(n)
    _combine(columns, weights, scores)
    value = _log_posterior(scores, labels, row_weights, weights, alpha, residual, curvature)
    if value < _at_zero(row_weights):
        _clear(weights)
        _clear(scores)
        value = _log_posterior(scores, labels, row_weights, weights, alpha, residual, curvature)
    for n_iter in range(1, max_iter + 1):
        _derivatives(columns, residual, curvature, weights, alpha, gradient, hessian, scaled)
        _solve(hessian, gradient, factor, step)
        _combine(columns, step, moved)
        _copy(weights, old_weights)
        _copy(scores, old_scores)
        size = 1.0
        while True:
            _move(old_weights, step, size, weights)
            _move(old_scores, moved, size, scores)
            found = _log_posterior(scores, labels, row_weights, weights, alpha, residual, curvature)
            if found >= value:
                break
            if size < _SMALLEST_STEP:  # the gain is below what rounding shows
                _copy(old_weights, weights)
                _copy(old_scores, scores)
                return n_iter, True
            size *= 0.5
        value = found
        if _product(gradient, step) < tolerance:
            return n_iter, True
        if _largest(scores, row_weights) > largest_score:
            return n_iter, False
    return max_iter, False


# Plain loops instead of slices: they take numba half the time to compile.
@njit(cache=True)
def _clear(target: Array) -> None:
    for i in range(len(target)):
        target[i] = 0.0


@njit(cache=True)
def _copy(source: Array, target: Array) -> None:
    for i in range(len(source)):
        target[i] = source[i]


@njit(cache=True)
def _move(place: Array, direction: Array, size: float, moved: Array) -> None:
    for i in range(len(place)):
        moved[i] = place[i] + size * direction[i]


@njit(cache=True, fastmath=_REASSOCIATE)
def _product(first: Array, second: Array) -> float:
    total = 0.0
    for i in range(len(first)):
        total += first[i] * second[i]
    return total


@njit(cache=True)
def _combine(columns: Array, weights: Array, total: Array) -> None:
    """Write the weighted sum of the columns, the same operations for every row."""
    _clear(total)
    for j in range(len(weights)):
        weight = weights[j]
        if weight != 0.0:
            for i in range(len(total)):
                total[i] += weight * columns[j, i]


@njit(cache=True, fastmath=_REASSOCIATE)
def _log_posterior(
    scores: Array,
    labels: Array,
    row_weights: Array,
    weights: Array,
    alpha: Array,
    residual: Array,
    curvature: Array,
) -> float:
    """Return the log posterior; fill the weighted residuals and curvatures on the way."""
    value, product, n_factors = 0.0, 1.0, 0
    for i in range(len(scores)):
        score, weight = scores[i], row_weights[i]
        decay = np.exp(-abs(score))
        share = 1.0 / (1.0 + decay)
        probability = share if score >= 0 else decay * share
        value -= weight * (max(score, 0.0) - labels[i] * score)
        if weight == 1.0:  # factors of at most 2: one logarithm for many of them
            product *= 1.0 + decay
            n_factors += 1
            if n_factors == 512:
                value -= np.log(product)
                product, n_factors = 1.0, 0
        else:
            value -= weight * np.log1p(decay)
        residual[i] = weight * (labels[i] - probability)
        curvature[i] = weight * decay * share * share
    value -= np.log(product)
    for j in range(len(weights)):
        value -= 0.5 * alpha[j] * weights[j] * weights[j]
    return float(value)


@njit(cache=True, fastmath=_REASSOCIATE)
def _derivatives(
    columns: Array,
    residual: Array,
    curvature: Array,
    weights: Array,
    alpha: Array,
    gradient: Array,
    hessian: Array,
    scaled: Array,
) -> None:
    """Fill the gradient and the lower triangle of the negative Hessian."""
    m, n = columns.shape
    for a in range(m):
        slope = 0.0
        for i in range(n):
            slope += residual[i] * columns[a, i]
            scaled[i] = curvature[i] * columns[a, i]
        gradient[a] = slope - alpha[a] * weights[a]
        b = 0
        while b + 3 <= a:  # four at a time, so that `scaled` is read once for all of them
            p, q, r, u = 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                p += scaled[i] * columns[b, i]
                q += scaled[i] * columns[b + 1, i]
                r += scaled[i] * columns[b + 2, i]
                u += scaled[i] * columns[b + 3, i]
            hessian[a, b], hessian[a, b + 1] = p, q
            hessian[a, b + 2], hessian[a, b + 3] = r, u
            b += 4
        while b <= a:
            p = 0.0
            for i in range(n):
                p += scaled[i] * columns[b, i]
            hessian[a, b] = p
            b += 1
        hessian[a, a] += alpha[a]


@njit(cache=True)
def _solve(hessian: Array, gradient: Array, factor: Array, step: Array) -> None:
    """Solve for the step by Cholesky; where the matrix is singular by rounding, with a ridge."""
    m = len(gradient)
    ridge = 0.0
    while not _cholesky(hessian, ridge, factor):
        ridge = max(1e-14, 100.0 * ridge)
        if ridge > 1.0:  # entries so large that their products overflow: no direction is known
            _clear(step)
            return
    for a in range(m):
        total = gradient[a]
        for c in range(a):
            total -= factor[a, c] * step[c]
        step[a] = total / factor[a, a]
    for a in range(m - 1, -1, -1):
        total = step[a]
        for c in range(a + 1, m):
            total -= factor[c, a] * step[c]
        step[a] = total / factor[a, a]


@njit(cache=True, fastmath=_REASSOCIATE)
def _cholesky(hessian: Array, ridge: float, factor: Array) -> bool:
    """Fill the lower factor with the diagonal raised by a share; tell whether it was possible."""
    for a in range(len(hessian)):
        for b in range(a + 1):
            total = hessian[a, b]
            if a == b:
                total += ridge * (hessian[a, a] if hessian[a, a] > 0.0 else 1.0)
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            if a > b:
                factor[a, b] = total / factor[b, b]
            elif total > 1e-15 * hessian[a, a] and total > 0.0:
                factor[a, a] = np.sqrt(total)
            else:
                return False
    return True


@njit(cache=True)
def _at_zero(row_weights: Array) -> float:
    """Return the log posterior of zero weights."""
    total = 0.0
    for weight in row_weights:
        total -= weight
    return float(total * np.log(2.0))


@njit(cache=True)
def _largest(scores: Array, row_weights: Array) -> float:
    largest = 0.0
    for i in range(len(scores)):
        if row_weights[i] > 0.0:
            largest = max(largest, abs(scores[i]))
    return largest
