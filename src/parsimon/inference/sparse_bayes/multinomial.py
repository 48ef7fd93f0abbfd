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
from parsimon.inference.irls import TOLERANCE, Mode, ModePoint, Ray, find_mode, newton_step
from parsimon.inference.sparse_bayes.spread import inverse_plus_identity


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
) -> Mode:
    r"""Return the mode of a multinomial logistic regression with a Gaussian prior on each weight.

    Shapes: design (n, m), codes (n,), alpha (m,), row_weights (n,), start (n_classes, m).

    Boehning (1992), "Multinomial logistic regression algorithm", Ann. Inst. Stat. Math.
    44:197-200.
    """
    contrasts = class_contrasts(n_classes).matrix

    def at(weights: Array, scores: Array) -> ModePoint:
        value, probability = class_log_likelihood(scores, codes, row_weights)
        value -= 0.5 * float(np.sum(weights**2 @ alpha))
        return ModePoint(weights, scores, value, probability)

    def newton(point: ModePoint) -> tuple[Array, Array]:
        residual = contrasts[codes] - point.probability @ contrasts
        if row_weights is not None:
            residual *= row_weights[:, None]
        gradient = residual.T @ design - alpha * point.weights
        hessian = contrast_hessian(design, point.probability, alpha, row_weights)
        return gradient, newton_step(hessian, gradient.ravel()).reshape(gradient.shape)

    def along(point: ModePoint, step: Array) -> Ray:
        moved = (design @ step.T) @ contrasts.T
        return lambda size: at(point.weights + size * step, point.scores + size * moved)

    point = at(np.zeros((n_classes - 1, design.shape[1])), np.zeros((len(codes), n_classes)))
    if not design.shape[1]:
        return Mode(*point._replace(weights=np.zeros((n_classes, 0))), 0, converged=True)
    if start is not None:
        given = contrasts.T @ start
        point = max(
            point,
            at(given, (design @ given.T) @ contrasts.T),
            key=lambda point: point.log_posterior,
        )
    mode = find_mode(point, newton, along, max_iter=max_iter, tol=tol, largest_score=largest_score)
    return mode._replace(weights=contrasts @ mode.weights)


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
    codes, targets, row_weights = labels
    spread = (classes[:, None] == np.arange(targets.shape[1])).astype(np.float64)
    curvature = np.empty((0, 0))

    def at(weights: Array) -> ModePoint:
        scores = X @ (weights[:, None] * spread)
        value, probability = class_log_likelihood(scores, codes, row_weights)
        value -= 0.5 * float(weights @ weights)
        return ModePoint(weights, scores, value, probability)

    def newton(point: ModePoint) -> tuple[Array, Array]:
        nonlocal curvature
        residual = row_weights[:, None] * (targets - point.probability)
        gradient = np.einsum("ij,ij->j", X, residual[:, classes]) - point.weights
        curvature = pair_curvature(X, classes, row_weights, point.probability)
        hessian = curvature.copy()
        hessian.flat[:: len(classes) + 1] += 1.0
        return gradient, newton_step(hessian, gradient) if len(classes) else gradient

    def along(point: ModePoint, step: Array) -> Ray:
        return lambda size: at(point.weights + size * step)

    point = at(np.zeros(len(classes)))
    if guess.any():
        given = at(guess)
        point = given if given.log_posterior > point.log_posterior else point
    mode = find_mode(
        point, newton, along, max_iter=_MOST_STEPS, tol=_TOLERANCE, smallest=_SMALLEST_PAIR_STEP
    )
    # The curvature is that of the last step, which was computed at the mode.
    covariance, log_determinant = inverse_plus_identity(curvature)
    log_evidence = mode.log_posterior - 0.5 * log_determinant
    return PairMode(mode.weights, covariance, mode.probability, log_evidence)


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
    return p * (pull - np.sum(p * pull, axis=1, keepdims=True))


def complement(probability: Array) -> Array:
    """Return one minus each probability as the sum of the others."""
    return probability @ (1.0 - np.eye(probability.shape[1]))
