r"""Modes of multinomial logistic regressions: classes that share their prior, and single pairs.

`softmax_mode` maximises
:math:`\sum_i v_i \log p_{i t_i}(W) - \frac12 \sum_{k m} \alpha_m w_{km}^2` with
:math:`p_i = \mathrm{softmax}(W \phi_i)`, by Newton's method. Adding one vector to the weights of
all classes changes no probability, so at the mode the weights of the classes sum to zero; the
search therefore runs over K - 1 orthonormal contrasts of the classes instead of K weights, where
the curvature is a proper matrix even without a prior.

`pair_mode` is Laplace's approximation for weights of (class, column) pairs, each column in units of
the pair's prior. The curvature of the log likelihood at a row is
:math:`v (\mathrm{diag}(p) - p p^T)` over the classes, so that pairs of one class meet in
:math:`v p_k (1 - p_k)` and pairs of two classes in :math:`-v p_k p_l`.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference.irls import TOLERANCE, newton_step
from parsimon.inference.sparse_bayes.spread import inverse_plus_identity

_SMALLEST_STEP = 2.0**-12


class SoftmaxMode(NamedTuple):
    """The most probable weights of all classes, and what was computed on the way.

    weights (n_classes, m): They sum to zero over the classes.
    scores (n, n_classes): Linear predictors; their softmax is the probability of each class.
    log_posterior: Weighted log likelihood minus half of the penalty.
    n_iter: Newton steps.
    converged: False where the steps ran out or the scores grew beyond `largest_score`.
    """

    weights: Array
    scores: Array
    log_posterior: float
    n_iter: int
    converged: bool


class Contrasts(NamedTuple):
    """Orthonormal contrasts of K classes and what the curvature needs of them.

    matrix (K, K - 1): Orthonormal columns that sum to zero.
    first, second (K * (K - 1) / 2,): The two classes of each pair.
    products (K * (K - 1) / 2, K * (K - 1) / 2): For each pair of classes and each entry (a, b)
        of the upper triangle, the product of the pair's differences in contrasts a and b.
    entries (K - 1, K - 1): Where entry (a, b) stands in the upper triangle.
    """

    matrix: Array
    first: Indices
    second: Indices
    products: Array
    entries: Indices


def softmax_mode(
    design: Array,
    codes: Indices,
    n_classes: int,
    alpha: Array,
    *,
    row_weights: Array | None = None,
    start: Array | None = None,
    max_iter: int = 50,
    tol: float = TOLERANCE,
    largest_score: float = np.inf,
) -> SoftmaxMode:
    r"""Return the mode of a multinomial logistic regression with a Gaussian prior on each weight.

    Shapes: design (n, m), codes (n,), alpha (m,), row_weights (n,), start (n_classes, m).

    Boehning (1992), "Multinomial logistic regression algorithm", Ann. Inst. Stat. Math.
    44:197-200.
    """
    contrasts = class_contrasts(n_classes).matrix
    problem = _Problem(design, codes, alpha, row_weights, contrasts)
    point = problem.at(
        np.zeros((n_classes - 1, design.shape[1])), np.zeros((len(codes), n_classes))
    )
    if start is not None:
        given = contrasts.T @ start
        point = max(point, problem.at(given, (design @ given.T) @ contrasts.T), key=_value)
    n_iter, converged = 0, not design.shape[1]
    while not converged and n_iter < max_iter:
        n_iter += 1
        gradient, step = problem.newton(point)
        if np.vdot(gradient, step) < tol:
            converged = True
            break
        found = problem.along(point, step)
        # Where no share of the step helps, the gain is below what rounding shows.
        converged = found.value < point.value
        point = point if converged else found
        if np.abs(point.scores).max(initial=0.0) > largest_score:
            break
    return SoftmaxMode(contrasts @ point.weights, point.scores, point.value, n_iter, converged)


class _Point(NamedTuple):
    """Weights of the contrasts (K - 1, m), scores (n, K), log posterior, probabilities (n, K)."""

    weights: Array
    scores: Array
    value: float
    probability: Array


def _value(point: _Point) -> float:
    return point.value


class _Problem(NamedTuple):
    design: Array
    codes: Indices
    alpha: Array
    row_weights: Array | None
    contrasts: Array

    def at(self, weights: Array, scores: Array) -> _Point:
        value, probability = class_log_likelihood(scores, self.codes, self.row_weights)
        value -= 0.5 * float(np.sum(weights**2 @ self.alpha))
        return _Point(weights, scores, value, probability)

    def newton(self, point: _Point) -> tuple[Array, Array]:
        """Return the gradient and Newton's step, both of shape (K - 1, m)."""
        residual = self.contrasts[self.codes] - point.probability @ self.contrasts
        if self.row_weights is not None:
            residual *= self.row_weights[:, None]
        gradient = residual.T @ self.design - self.alpha * point.weights
        hessian = contrast_hessian(self.design, point.probability, self.alpha, self.row_weights)
        return gradient, newton_step(hessian, gradient.ravel()).reshape(gradient.shape)

    def along(self, point: _Point, step: Array) -> _Point:
        """Return the first of the step's halves that is no worse, or the last that was tried."""
        moved, size = (self.design @ step.T) @ self.contrasts.T, 1.0
        while True:
            found = self.at(point.weights + size * step, point.scores + size * moved)
            if found.value >= point.value or size < _SMALLEST_STEP:
                return found
            size *= 0.5


def contrast_hessian(
    design: Array, probability: Array, alpha: Array, row_weights: Array | None = None
) -> Array:
    r"""Return the negative Hessian over the contrasts of the classes.

    The covariance of a one-hot draw from p is :math:`\sum_{k<l} p_k p_l (e_k - e_l)(e_k - e_l)^T`;
    unlike diag(p) - p p^T this loses no digits where one class is almost certain.

    Shapes: design (n, m), probability (n, n_classes), alpha (m,), row_weights (n,) ->
        ((n_classes - 1) * m, (n_classes - 1) * m).
    """
    n_rows, n_columns = design.shape
    contrasts = class_contrasts(probability.shape[1])
    pairs = probability[:, contrasts.first] * probability[:, contrasts.second]
    if row_weights is not None:
        pairs *= row_weights[:, None]
    curvature = (pairs @ contrasts.products).T
    blocks = (design.T[None] * curvature[:, None]).reshape(-1, n_rows) @ design
    blocks = blocks.reshape(len(curvature), n_columns, n_columns)[contrasts.entries]
    size = len(contrasts.entries) * n_columns
    hessian = np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)).reshape(size, size)
    hessian.flat[:: size + 1] += np.tile(alpha, len(contrasts.entries))
    return hessian


@lru_cache(maxsize=32)
def class_contrasts(n_classes: int) -> Contrasts:
    """Return Helmert's contrasts of so many classes."""
    matrix = np.zeros((n_classes, n_classes - 1))
    for k in range(1, n_classes):
        matrix[:k, k - 1] = 1.0 / np.sqrt(k * (k + 1))
        matrix[k, k - 1] = -k / np.sqrt(k * (k + 1))
    first, second = np.triu_indices(n_classes, 1)
    above, beside = np.triu_indices(n_classes - 1)
    differences = matrix[first] - matrix[second]
    products = differences[:, above] * differences[:, beside]
    entries = np.zeros((n_classes - 1, n_classes - 1), dtype=np.intp)
    entries[above, beside] = entries[beside, above] = np.arange(len(above))
    for shared in (matrix, products, entries):
        shared.flags.writeable = False
    return Contrasts(matrix, first, second, products, entries)


def class_log_likelihood(
    scores: Array, codes: Indices, row_weights: Array | None
) -> tuple[float, Array]:
    """Return the weighted log likelihood and the class probabilities, shape (n, n_classes)."""
    if not len(scores):
        return 0.0, np.empty_like(scores)
    shifted = scores - scores.max(axis=1, keepdims=True)
    probability = np.exp(shifted)
    total = probability.sum(axis=1)
    probability /= total[:, None]
    losses = np.log(total) - shifted[np.arange(len(codes)), codes]
    return -float(losses.sum() if row_weights is None else row_weights @ losses), probability


# Newton decrement; the determinant is of first order in the error of the mode.
_TOLERANCE = 1e-14
_MOST_STEPS = 100
_SMALLEST_PAIR_STEP = 2.0**-30


class OneHotLabels(NamedTuple):
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


def pair_mode(X: Array, classes: Indices, labels: OneHotLabels, guess: Array) -> PairMode:
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
        while found[0] < value and size > _SMALLEST_PAIR_STEP:
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
