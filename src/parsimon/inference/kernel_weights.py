"""The mathematics of `DivergenceMKL`: two divergences of kernels from labels, and their least.

The weights come with what certifies them: the conditions of Karush, Kuhn and Tucker on the simplex.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import nnls

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError

Divergence: TypeAlias = Literal["labels_to_kernel", "kernel_to_labels"]
Curvature: TypeAlias = Literal["none", "average", "exact"]

# A weight below this is zero.
_NO_WEIGHT = 1e-9
# Of single kernels, those near which a search begins; and the share of the others there.
_BEST_SINGLE, _SHARED = 2, 0.2
# Of the expected descent that a step must keep, and how often it is halved.
_DESCENT, _MOST_HALVINGS = 1e-4, 40
# Rows up to which the exact curvature is cheap; of more rows so many go first, from all starts, and
# the average information, one product instead of one for each kernel, is the curvature for as many
# steps on all rows.
_FEW_ROWS, _QUICK_STEPS = 300, 20
# Least curvature that a step reckons with, as a share of the greatest.
_LEAST_CURVATURE = 1e-10


class KernelWeights(NamedTuple):
    """Weights on the simplex, with what shows that no others nearby are better.

    weights (p,): Not negative, of sum one.
    objective: Divergence for each row, less a constant.
    gradient (p,): Of the objective. At the optimum it is the same, and least, for all kernels with
        weight (the Karush-Kuhn-Tucker conditions).
    gap: ``weights @ gradient - gradient.min()``: zero at a stationary point. For
        "kernel_to_labels", which is convex, no weights have an objective lower by more than this.
    n_iterations: Of the optimiser, from all starts.
    """

    weights: Array
    objective: float
    gradient: Array
    gap: float
    n_iterations: int


class LocalForm(NamedTuple):
    """A divergence near some weights.

    Shapes: gradient (p,), curvature (p, p), None if it was not asked for.
    """

    value: float
    gradient: Array
    curvature: Array | None


def local_divergence(
    weights: Array,
    grams: Array,
    targets: Array,
    ridge: float,
    divergence: Divergence,
    *,
    curvature: Curvature = "none",
) -> LocalForm:
    r"""Return the divergence for each row and its derivatives for the weights.

    With :math:`K = \sum_l \lambda_l K_l + \beta I`, Q its inverse and :math:`K_y = YY^T / c`:
    "labels_to_kernel" is :math:`\mathrm{tr}(K_y Q) + \log|K|`, "kernel_to_labels" is
    :math:`\mathrm{tr}(K (K_y + \beta I)^{-1}) - \log|K|`, both over the number of rows.
    The "average" curvature of the first is the mean of the exact and the expected one, for which
    :math:`u^T K_l Q K_m u` with :math:`u = Qy` does; the second has no cheap one.

    Shapes: weights (p,), grams (p, n, n), targets (n, c).
    """
    n_rows, n_targets = targets.shape
    inverse, log_determinant = _inverse(weights, grams, ridge)
    traces = np.tensordot(grams, inverse, axes=2)
    is_cheap = divergence == "labels_to_kernel" and curvature == "average"
    second = None if curvature == "none" or is_cheap else _trace_products(grams, inverse)
    if divergence == "kernel_to_labels":
        costs = _costs(grams, targets, ridge)
        value, gradient = float(costs @ weights) - log_determinant, costs - traces
    else:
        solved = inverse @ targets
        pulls = grams @ solved
        value = float(np.sum(targets * solved)) / n_targets + log_determinant
        gradient = traces - np.sum(solved * pulls, axis=(1, 2)) / n_targets
        if curvature != "none":
            average = _average_information(pulls, inverse)
            second = average if second is None else 2 * average - second
    return LocalForm(value / n_rows, gradient / n_rows, None if second is None else second / n_rows)


def _inverse(weights: Array, grams: Array, ridge: float) -> tuple[Array, float]:
    """Return the inverse of the mixture with its ridge, shape (n, n), and its log determinant."""
    mixed = np.tensordot(weights, grams, axes=1)
    mixed[np.diag_indices(len(mixed))] += ridge
    lower, failure = lapack.dpotrf(mixed, lower=1)
    if failure:
        raise InvalidInputError(
            "A mixture of the kernels is not positive definite; give kernels that are positive "
            "semi-definite, or a larger ridge."
        )
    inverse = lapack.dpotri(lower, lower=1)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return inverse, 2.0 * float(np.sum(np.log(np.diagonal(lower))))


def _trace_products(grams: Array, inverse: Array) -> Array:
    """Return tr(Q K_l Q K_m), shape (p, p)."""
    products = inverse @ grams
    turned = products.transpose(0, 2, 1).reshape(len(grams), -1)
    return products.reshape(len(grams), -1) @ turned.T


def _average_information(pulls: Array, inverse: Array) -> Array:
    """Return u^T K_l Q K_m u, the mean over the targets, from K_l u; pulls (p, n, c) -> (p, p)."""
    n_kernels, n_rows, n_targets = pulls.shape
    flat = np.moveaxis(pulls, 1, 0).reshape(n_rows, -1)
    products = (flat.T @ inverse @ flat).reshape(n_kernels, n_targets, n_kernels, n_targets)
    return np.einsum("lcmc->lm", products) / n_targets


def _costs(grams: Array, targets: Array, ridge: float) -> Array:
    """Return tr(K_l inv(K_y + ridge I)) of each kernel, shape (p,), by Woodbury's identity."""
    n_targets = targets.shape[1]
    scaled = targets / np.sqrt(n_targets)
    middle = np.linalg.inv(ridge * np.eye(n_targets) + scaled.T @ scaled)
    return np.array(
        [(np.trace(gram) - np.sum((scaled.T @ gram @ scaled) * middle)) / ridge for gram in grams]
    )


Local: TypeAlias = Callable[..., LocalForm]


def least_divergence(
    grams: Array,
    targets: Array,
    *,
    ridge: float,
    divergence: Divergence = "labels_to_kernel",
    max_iterations: int = 300,
    tolerance: float = 1e-5,
) -> KernelWeights:
    """Return the weights of kernel matrices whose mixture is nearest to the labels.

    Newton's steps on the simplex from equal weights and, since "labels_to_kernel" is not convex,
    from near the two best single kernels; the lowest end is kept.

    Parameters
    ----------
    grams : ndarray of shape (p, n, n)
        Positive semi-definite matrices; bring them to one scale first.
    targets : ndarray of shape (n, c)
        Columns of -1 and 1, one for two classes; the labels' kernel is the mean of their outer
        products.
    ridge : float
        Added to the diagonal of the mixture, and of the labels' kernel where that is inverted.
    divergence : {"labels_to_kernel", "kernel_to_labels"}
        See `DivergenceMKL`.
    max_iterations : int
        Of the optimiser, for each start.
    tolerance : float
        The gap to reach, as a share of the objective, or of one if that is larger.

    Returns
    -------
    KernelWeights

    Examples
    --------
    >>> y = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    >>> like_the_labels, unlike = y @ y.T, np.eye(4)
    >>> found = least_divergence(np.stack([like_the_labels, unlike]), y, ridge=0.1)
    >>> found.weights.round(3), found.gap < 1e-5
    (array([1., 0.]), True)
    """
    n_rows = len(targets)
    local = partial(local_divergence, ridge=ridge, divergence=divergence)
    whole, limits = partial(local, grams=grams, targets=targets), (max_iterations, tolerance)
    if n_rows <= _FEW_ROWS:
        return _descend_from_all(whole, len(grams), n_rows, divergence, *limits)
    # Rows of all values of the targets in their proportions.
    order = np.lexsort(targets.T)
    some = np.sort(order[np.linspace(0, n_rows - 1, _FEW_ROWS).astype(np.intp)])
    fewer = grams[:, some[:, None], some]
    near = partial(local, grams=fewer, targets=targets[some])
    first = _descend_from_all(near, len(grams), len(some), divergence, *limits)
    # A weight of zero may come back on all rows, but is left sooner than it is entered.
    start = 0.99 * first.weights + 0.01 / len(grams)
    found = _descend(whole, start, n_rows, *limits)
    return found._replace(n_iterations=first.n_iterations + found.n_iterations)


def _descend_from_all(
    local: Local,
    n_kernels: int,
    n_rows: int,
    divergence: Divergence,
    max_iterations: int,
    tolerance: float,
) -> KernelWeights:
    """Return the lowest of the ends of all starts."""
    starts = [np.full(n_kernels, 1.0 / n_kernels)]
    if divergence == "labels_to_kernel" and n_kernels > 1:
        vertices = np.eye(n_kernels)
        order = np.argsort([local(vertex).value for vertex in vertices])
        starts += [
            (1 - _SHARED) * vertices[place] + _SHARED * starts[0] for place in order[:_BEST_SINGLE]
        ]
    ends = [_descend(local, start, n_rows, max_iterations, tolerance) for start in starts]
    best = min(ends, key=lambda end: end.objective)
    return best._replace(n_iterations=sum(end.n_iterations for end in ends))


def _descend(
    local: Local, weights: Array, n_rows: int, max_iterations: int, tolerance: float
) -> KernelWeights:
    """Return where Newton's steps on the simplex end from one start."""
    is_quick = n_rows > _FEW_ROWS
    for n_iterations in range(max_iterations + 1):
        here = local(weights, curvature="average" if is_quick else "exact")
        gap = float(max(0.0, weights @ here.gradient - here.gradient.min()))
        if gap <= tolerance * max(1.0, abs(here.value)) or n_iterations == max_iterations:
            break
        further = _step(local, weights, here)
        if not is_quick and np.array_equal(further, weights):
            break
        is_quick &= n_iterations < _QUICK_STEPS and not np.array_equal(further, weights)
        weights = further
    return KernelWeights(weights, here.value, here.gradient, gap, n_iterations)


def _step(local: Local, weights: Array, here: LocalForm) -> Array:
    """Return better weights on the simplex, or the same if rounding allows none, shape (p,)."""
    target = _newton_target(weights, here)
    vertex = np.eye(len(weights))[int(np.argmin(here.gradient))]
    for direction in (target - weights, vertex - weights):
        slope = float(direction @ here.gradient)
        for halving in range(_MOST_HALVINGS if slope < 0 else 0):
            share = 0.5**halving
            further = weights + share * direction
            further = np.where(further < _NO_WEIGHT, 0.0, further)
            further /= further.sum()
            if local(further).value <= here.value + _DESCENT * share * slope:
                return further
    return weights


def _newton_target(weights: Array, here: LocalForm) -> Array:
    """Return where the local quadratic form is least on the simplex, shape (p,).

    Negative curvature counts as positive. Least squares that are not negative solve it, the sum of
    one being an equation of great weight.
    """
    assert here.curvature is not None
    values, vectors = np.linalg.eigh(here.curvature)
    values = np.maximum(np.abs(values), max(np.abs(values).max(), 1e-300) * _LEAST_CURVATURE)
    root = np.sqrt(values)[:, None] * vectors.T
    right = root @ weights - (vectors.T @ here.gradient) / np.sqrt(values)
    heavy = 1e3 * (np.abs(root).max() + np.abs(right).max())
    solution, _ = nnls(
        np.vstack([root, np.full(len(weights), heavy)]),
        np.append(right, heavy),
        maxiter=100 * len(weights),
    )
    total = float(solution.sum())
    return solution / total if total > 0 else weights
