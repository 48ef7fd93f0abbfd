r"""Iteratively reweighted least squares: the mode of a penalised logistic regression.

Newton's method on :math:`\sum_i v_i \log p(t_i | w) - \frac12 \sum_m \alpha_m w_m^2`, which is
concave in w, so that every start leads to the one mode. `logistic_mode` solves one problem;
`logistic_modes` solves several that differ in the weights of the rows alone, such as the folds of
a cross-validation, with one matrix product for all of them. `find_mode` is Newton's method itself,
for the modes of several classes as well.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv
from scipy.special import expit

from parsimon._compiled import compiled
from parsimon._typing import Array, Mask

# Newton decrement (twice the expected gain in log posterior) at which a mode is found.
TOLERANCE = 1e-8
_SMALLEST_STEP = 2.0**-13


class ModePoint(NamedTuple):
    """Weights, and what follows from them: see `Mode`."""

    weights: Array
    scores: Array
    log_posterior: float
    probability: Array


class Mode(NamedTuple):
    """The most probable weights and what was computed on the way.

    Shapes: weights (m,), or (n_classes, m), where they sum to zero over the classes.

    scores (n,), or (n, n_classes): Linear predictor of every row.
    log_posterior: Weighted log likelihood minus half of the penalty.
    probability (n,), or (n, n_classes): Of label 1, or of each class.
    n_iter: Newton steps.
    converged: False where the steps ran out or the scores grew beyond `largest_score`.
    """

    weights: Array
    scores: Array
    log_posterior: float
    probability: Array
    n_iter: int
    converged: bool


# From the share of a step to where it leads.
Ray = Callable[[float], ModePoint]


def find_mode(
    point: ModePoint,
    newton: Callable[[ModePoint], tuple[Array, Array]],
    along: Callable[[ModePoint, Array], Ray],
    *,
    max_iter: int,
    tol: float,
    smallest: float = _SMALLEST_STEP,
    largest_score: float = np.inf,
) -> Mode:
    """Climb to the mode of a concave log posterior by Newton's method with halved steps.

    newton: Returns the gradient at a point and Newton's step.
    along: Returns where shares of a step lead.
    smallest: Share of a step at which halving ends.
    """
    for n_iter in range(1, max_iter + 1):
        gradient, step = newton(point)
        if np.vdot(gradient, step) < tol:
            return Mode(*point, n_iter, converged=True)
        ray, size = along(point, step), 1.0
        found = ray(size)
        while not found.log_posterior >= point.log_posterior and size > smallest:
            size *= 0.5
            found = ray(size)
        if found.log_posterior < point.log_posterior:
            # The gain is below what rounding shows: this is the mode.
            return Mode(*point, n_iter, converged=True)
        point = found
        if np.abs(point.scores).max(initial=0.0) > largest_score:
            return Mode(*point, n_iter, converged=False)
    return Mode(*point, max_iter, converged=False)


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
    tol: float = TOLERANCE,
    largest_score: float = np.inf,
) -> Mode:
    r"""Return the mode of a logistic regression with a Gaussian prior on each weight.

    Shapes: design (n, m), labels (n,), alpha (m,), row_weights (n,), start (m,).

    Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", section 3.
    """

    def at(weights: Array, scores: Array) -> ModePoint:
        value = float(_log_posteriors(scores, labels, weights, alpha, row_weights))
        return ModePoint(weights, scores, value, expit(scores))

    def newton(point: ModePoint) -> tuple[Array, Array]:
        p = point.probability
        residual, curvature = labels - p, p * (1.0 - p)
        if row_weights is not None:
            residual, curvature = residual * row_weights, curvature * row_weights
        gradient = residual @ design - alpha * point.weights
        hessian = (design * curvature[:, None]).T @ design
        hessian.flat[:: len(gradient) + 1] += alpha
        return gradient, newton_step(hessian, gradient)

    def along(point: ModePoint, step: Array) -> Ray:
        moved = design @ step
        return lambda size: at(point.weights + size * step, point.scores + size * moved)

    point = at(np.zeros(design.shape[1]), np.zeros(len(labels)))
    if start is not None:
        given = at(np.array(start, dtype=np.float64), design @ start)
        point = given if given.log_posterior > point.log_posterior else point
    return find_mode(point, newton, along, max_iter=max_iter, tol=tol, largest_score=largest_score)


def logistic_modes(
    design: Array,
    labels: Array,
    alpha: Array,
    row_weights: Array,
    *,
    start: Array | None = None,
    max_iter: int = 50,
    tol: float = TOLERANCE,
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
    loop = newton_modes if n_columns <= _MOST_COMPILED else modes_together
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
        tol,
        largest_score,
    )
    return LogisticModes(weights, scores, n_iter, converged)


# Beyond this a matrix product of many columns is faster than a plain loop.
_MOST_COMPILED = 128


def modes_together(
    columns: Array,
    labels: Array,
    alpha: Array,
    row_weights: Array,
    weights: Array,
    scores: Array,
    converged: Mask,
    max_iter: int,
    tol: float,
    largest_score: float,
) -> int:
    """Do what `newton_modes` does, for all problems in one matrix product."""
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
            sizes[sizes <= _SMALLEST_STEP] = 0.0
        weights[:], scores[:], values = new_weights, new_scores, new_values
        converged |= running & ((decrements < tol) | (sizes == 0.0))
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
    return -losses.sum(axis=-1) - 0.5 * (weights**2 @ alpha)


# For a few columns calls cost more than sums: the rest of this file is loops for the compiler.
_REASSOCIATE = {"reassoc", "contract", "nsz"}  # so that sums run on vectors


@compiled(plain=modes_together)
def newton_modes(
    columns: Array,
    labels: Array,
    alpha: Array,
    row_weights: Array,
    weights: Array,
    scores: Array,
    converged: Mask,
    max_iter: int,
    tol: float,
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
            tol,
            largest_score,
        )
        most = max(most, n_iter)
    return most


@compiled
def _climb(
    columns: Array,
    labels: Array,
    alpha: Array,
    row_weights: Array,
    weights: Array,
    scores: Array,
    max_iter: int,
    tol: float,
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
            if size <= _SMALLEST_STEP:  # the gain is below what rounding shows
                _copy(old_weights, weights)
                _copy(old_scores, scores)
                return n_iter, True
            size *= 0.5
        value = found
        if _product(gradient, step) < tol:
            return n_iter, True
        if _largest(scores, row_weights) > largest_score:
            return n_iter, False
    return max_iter, False


# Plain loops instead of slices: they take numba half the time to compile.
@compiled
def _clear(target: Array) -> None:
    for i in range(len(target)):
        target[i] = 0.0


@compiled
def _copy(source: Array, target: Array) -> None:
    for i in range(len(source)):
        target[i] = source[i]


@compiled
def _move(place: Array, direction: Array, size: float, moved: Array) -> None:
    for i in range(len(place)):
        moved[i] = place[i] + size * direction[i]


@compiled(fastmath=_REASSOCIATE)
def _product(first: Array, second: Array) -> float:
    total = 0.0
    for i in range(len(first)):
        total += first[i] * second[i]
    return total


@compiled
def _combine(columns: Array, weights: Array, total: Array) -> None:
    """Write the weighted sum of the columns, the same operations for every row."""
    _clear(total)
    for j in range(len(weights)):
        weight = weights[j]
        if weight != 0.0:
            for i in range(len(total)):
                total[i] += weight * columns[j, i]


@compiled(fastmath=_REASSOCIATE)
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


@compiled(fastmath=_REASSOCIATE)
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


@compiled
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


@compiled(fastmath=_REASSOCIATE)
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


@compiled
def _at_zero(row_weights: Array) -> float:
    """Return the log posterior of zero weights."""
    total = 0.0
    for weight in row_weights:
        total -= weight
    return float(total * np.log(2.0))


@compiled
def _largest(scores: Array, row_weights: Array) -> float:
    largest = 0.0
    for i in range(len(scores)):
        if row_weights[i] > 0.0:
            largest = max(largest, abs(scores[i]))
    return largest
