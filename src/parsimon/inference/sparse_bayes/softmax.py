"""Sparse Bayesian learning of several classes with the softmax likelihood.

`softmax_sparse` gives each (class, column) pair a prior precision of its own and finds the few
pairs that the evidence wants, by the fast sequential algorithm with Laplace's method over all
classes together [1]. The score of class k at a row is the sum over the pairs of that class; the
scores at a row are jointly Gaussian under the posterior, and a probability is the average of their
softmax. `softmax_given` is for searches that choose the precisions themselves.

[1] Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", section 3.3;
   Tipping and Faul (2003), "Fast marginal likelihood maximisation for sparse Bayesian models".
"""

import time
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri, softmax

from parsimon._checks import check_count
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.posterior import Latent
from parsimon.inference.sparse_bayes._moves import SparseFit, add_column
from parsimon.inference.sparse_bayes._softmax_search import (
    CONVERGED,
    PairSearch,
    SoftmaxProblem,
    search_pairs,
)
from parsimon.inference.sparse_bayes.design import (
    ScaledColumns,
    SparsePosterior,
    check_budget,
    scaled_columns,
    weights_of_rows,
)
from parsimon.inference.sparse_bayes.fast import Budget
from parsimon.inference.sparse_bayes.multinomial import (
    OneHotLabels,
    class_contrasts,
    class_log_likelihood,
    contrast_hessian,
    softmax_mode,
)
from parsimon.inference.sparse_bayes.spread import distinct_columns, inverse_precision

# Scores averaged at a time: bounds the memory of the average to some tens of megabytes.
_BLOCK = 2_000_000


@dataclass(frozen=True, kw_only=True)
class SparseSoftmax(SparsePosterior):
    r"""A Gaussian posterior over the weights of the (class, column) pairs that are in the model.

    pairs (m, 2): Class and column of each weight, ascending.
    """

    pairs: Indices

    @property
    def active(self) -> Indices:
        """Columns of the design that are in the model of at least one class, ascending."""
        return np.unique(self.pairs[:, 1])

    def weights(self, n_classes: int, n_columns: int) -> Array:
        """Return the weights as a matrix of shape (n_classes, n_columns), zero where not active."""
        matrix = np.zeros((n_classes, n_columns))
        matrix[self.pairs[:, 0], self.pairs[:, 1]] = self.mean
        return matrix


def softmax_scores(result: SparseSoftmax, design: Array, n_classes: int) -> Array:
    """Return the posterior means of the scores.

    Shapes: design (n, n_columns) -> (n, n_classes).
    """
    used = result.active
    return design[:, used] @ result.weights(n_classes, design.shape[1])[:, used].T


def softmax_latent(result: SparseSoftmax, design: Array, n_classes: int) -> Latent:
    """Return means (n, n_classes) and covariances (n, n_classes, n_classes) of the scores.

    Parameters are those of `softmax_scores`.
    """
    classes, columns = result.pairs.T
    values = design[:, columns]
    members = [np.flatnonzero(classes == k) for k in range(n_classes)]
    covariance = np.zeros((len(design), n_classes, n_classes))
    for k, own in enumerate(members):
        spread = values[:, own] @ result.covariance[own]
        for other in range(k, n_classes):
            theirs = members[other]
            entry = np.einsum("nm,nm->n", spread[:, theirs], values[:, theirs])
            covariance[:, k, other] = covariance[:, other, k] = entry
    return Latent(softmax_scores(result, design, n_classes), covariance)


def softmax_average(latent: Latent, *, n_points: int = 512) -> Array:
    r"""Return the average of the softmax over Gaussian scores, by a fixed set of points.

    Only differences of scores matter, so the average is over K - 1 dimensions. Its points are a
    lattice: midpoints in the first dimension, multiples of powers of the generalised golden ratio
    in the others, made normal by the quantile function and mirrored. The same points serve every
    row, through the symmetric root of the row's covariance, so that probabilities are a
    continuous function of the row and the same on every call. With the default the error is
    about 0.001 for moderate scores.

    Shape: (n, n_classes).
    """
    mean, covariance = latent
    n_rows, n_classes = mean.shape
    contrasts = class_contrasts(n_classes).matrix
    values, vectors = np.linalg.eigh(contrasts.T @ covariance @ contrasts)
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    roots = contrasts @ (scaled @ vectors.transpose(0, 2, 1))
    points = _normal_points(n_points, n_classes - 1)
    probability = np.empty_like(mean)
    step = max(1, _BLOCK // (len(points) * n_classes))
    for begin in range(0, n_rows, step):
        rows = slice(begin, begin + step)
        scores = mean[rows, :, None] + roots[rows] @ points.T
        probability[rows] = softmax(scores, axis=1).mean(axis=2)
    return probability


@lru_cache(maxsize=16)
def _normal_points(n_points: int, n_dimensions: int) -> Array:
    """Return points that stand for a standard normal, shape (2 * n_points, n_dimensions)."""
    count = np.arange(n_points)
    uniform = np.empty((n_points, n_dimensions))
    uniform[:, 0] = (count + 0.5) / n_points
    # Roberts (2018): the root of x^(d+1) = x + 1 spreads multiples evenly in d dimensions.
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / n_dimensions)
    for d in range(1, n_dimensions):
        uniform[:, d] = (0.5 + count * root**-d) % 1.0
    points = ndtri(np.clip(uniform, 1e-12, 1.0 - 1e-12))
    mirrored: Array = np.vstack([points, -points])
    mirrored.flags.writeable = False
    return mirrored


# How many pairs are added before any is dropped, and the precision of the levels they are added to.
_FIRST_PAIRS = 20
_LEVEL_PRECISION = 0.01


def softmax_sparse(
    design: Any,
    codes: Any,
    n_classes: int,
    *,
    row_weights: Any = None,
    max_iter: int = 1000,
    tol: float = 1e-3,
    time_limit: float | None = None,
    start: SparseSoftmax | None = None,
) -> SparseSoftmax:
    r"""Sparse Bayesian classification of several classes with one precision a class and column.

    With two classes this is the model of `sparse_classification`: only the difference of the two
    classes' weights matters, whose prior variance is :math:`1/\alpha_{0m} + 1/\alpha_{1m}`, and the
    evidence depends on that sum alone. So one pair for each column is enough, which of the two is
    arbitrary, and the predictions are the same.

    Parameters
    ----------
    design : ndarray of shape (n, M)
        Any numbers: columns may be equal, constant or zero, many or few, of any scale.
    codes : ndarray of shape (n,)
        Class of each row, 0 to n_classes - 1; a class may have no rows.
    n_classes : int
    row_weights : ndarray of shape (n,), optional
        Powers of the likelihood terms; integers equal repeated rows, zero leaves a row out.
    max_iter : int
        Most steps.
    tol : float
        Gains in log evidence by a new pair, and changes in log precisions, that do not matter.
    time_limit : float, optional
        Seconds.
    start : SparseSoftmax, optional
        Begin with its pairs and precisions instead of none.

    Returns
    -------
    SparseSoftmax

    Examples
    --------
    >>> x = np.linspace(-2, 2, 15)
    >>> codes = np.digitize(x + 0.3 * np.cos(20 * x), [-0.7, 0.7])
    >>> design = np.column_stack([np.ones(15), x, x**2, x**3])
    >>> result = softmax_sparse(design, codes, 3)
    >>> result.pairs.shape, result.active, result.converged
    ((4, 2), array([0, 1, 2]), True)
    """
    tol, max_iter, time_limit = check_budget(tol, max_iter, time_limit)
    n_classes = check_count("n_classes", n_classes, least=2)
    classes = class_codes(codes, n_classes)
    weights = weights_of_rows(row_weights, len(classes))
    columns = scaled_columns(design, weights)
    used = weights > 0
    if not used.all():
        columns = replace(columns, design=columns.design[used])
        classes, weights = classes[used], weights[used]
    columns = without_copies(columns)
    problem = SoftmaxProblem(columns, OneHotLabels(classes, np.eye(n_classes)[classes], weights))
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    first = _first_fit(problem, start, deadline)
    search = PairSearch(problem, first, Budget(tol, max_iter, deadline))
    return _result(search, CONVERGED if search_pairs(search) else search.budget.reason)


def class_codes(codes: Any, n_classes: int) -> Indices:
    """Return class codes as integers from 0 to n_classes - 1."""
    given = np.asarray(codes)
    if given.ndim != 1 or given.dtype.kind not in "iufb":
        raise InvalidInputError(
            f"codes must be a vector of integers, got shape {given.shape} of {given.dtype}."
        )
    bad = ~np.isin(given, np.arange(n_classes))
    if bad.any():
        raise InvalidInputError(
            f"codes must be integers from 0 to {n_classes - 1}, got {given[bad][0]}."
        )
    return given.astype(np.intp)


def without_copies(columns: ScaledColumns) -> ScaledColumns:
    """Return the columns with all but the first of equal ones marked as not usable."""
    candidates = np.flatnonzero(columns.usable)
    usable = np.zeros_like(columns.usable)
    usable[candidates[distinct_columns(columns.take(candidates))]] = True
    return replace(columns, usable=usable)


def _first_fit(problem: SoftmaxProblem, start: SparseSoftmax | None, deadline: float) -> SparseFit:
    """Return the fit of a result at hand, or that of a few pairs that come first.

    From nothing, a wide kernel offers only columns that are nearly constant and each alone is
    useless. With the level of each class already in the model, what counts of a column is its
    shape, so the first pairs are added to that; the level goes again if it is not needed.
    """
    if start is not None:
        pairs = start.pairs[:, 0] * problem.n_columns + start.pairs[:, 1]
        scale = problem.columns.scale[start.pairs[:, 1]]
        theta = np.log(start.alpha) - 2.0 * np.log(scale)
        theta = np.clip(theta, *problem.bounds(theta))
        guess = start.mean * scale * np.exp(0.5 * theta)
        return problem.evaluate(pairs, theta, problem.take(pairs), guess)
    level = np.abs(problem.columns.project(problem.labels.row_weights[:, None])[:, 0])
    level[~problem.columns.usable] = 0.0
    if not level.any():
        nothing = np.empty(0, dtype=np.intp)
        return problem.evaluate(nothing, np.empty(0), problem.take(nothing), np.empty(0))
    pairs = np.arange(problem.n_pairs, step=problem.n_columns)[:-1] + int(np.argmax(level))
    theta = np.full(len(pairs), np.log(_LEVEL_PRECISION))
    fit = problem.evaluate(pairs, theta, problem.take(pairs), np.zeros(len(pairs)))
    for _ in range(_FIRST_PAIRS):
        if time.monotonic() > deadline:
            break
        larger = _with_best_pair(problem, fit)
        if larger is None or larger.objective <= fit.objective:
            break
        fit = larger
    return fit


def _with_best_pair(problem: SoftmaxProblem, fit: SparseFit) -> SparseFit | None:
    """Return the fit with the pair that promises most, or None if none does."""
    sweep = problem.sweep(fit)
    gains, alphas = sweep.additions()
    best = int(np.argmax(gains))
    if not gains[best] > 0:
        return None
    return add_column(problem, fit, sweep, best, float(np.clip(alphas[best], *problem.precisions)))


def _result(search: PairSearch, reason: str) -> SparseSoftmax:
    """Return where a run ended in the units of the caller."""
    fit, problem = search.fit, search.problem
    order = np.argsort(fit.active)
    classes, columns = np.divmod(fit.active[order], problem.n_columns)
    spread = np.exp(-0.5 * fit.theta[order]) / problem.columns.scale[columns]
    return SparseSoftmax(
        pairs=np.column_stack([classes, columns]),
        alpha=spread**-2.0,
        mean=fit.weights[order] * spread,
        covariance=fit.covariance[np.ix_(order, order)] * spread * spread[:, None],
        log_evidence=fit.log_evidence,
        n_iter=search.budget.n_iter,
        converged=reason == CONVERGED,
        reason=reason,
        history=np.array(search.history),
    )


def softmax_given(
    design: Array,
    codes: Indices,
    n_classes: int,
    alpha: Array,
    *,
    row_weights: Array | None = None,
) -> SparseSoftmax:
    r"""Return the posterior of all classes for given precisions that the classes share.

    Shapes: design (n, m), codes (n,), alpha (m,).
    """
    mode = softmax_mode(design, codes, n_classes, alpha, row_weights=row_weights)
    contrasts = class_contrasts(n_classes).matrix
    n_columns = design.shape[1]
    probability = class_log_likelihood(mode.scores, codes, row_weights)[1]
    inner, log_determinant = inverse_precision(
        contrast_hessian(design, probability, alpha, row_weights)
    )
    outward = np.kron(contrasts, np.eye(n_columns))
    shift = np.divide(1.0, alpha, out=np.zeros(n_columns), where=alpha > 0)
    common = np.kron(np.full((n_classes, n_classes), 1.0 / n_classes), np.diag(shift))
    with np.errstate(divide="ignore"):
        prior = 0.5 * (n_classes - 1) * float(np.sum(np.log(alpha)))
    log_evidence = mode.log_posterior + prior - 0.5 * log_determinant
    classes, columns = np.divmod(np.arange(n_classes * n_columns), max(n_columns, 1))
    return SparseSoftmax(
        pairs=np.column_stack([classes, columns]),
        alpha=np.tile(alpha, n_classes),
        mean=mode.weights.ravel(),
        covariance=outward @ inner @ outward.T + common,
        log_evidence=log_evidence,
        n_iter=mode.n_iter,
        converged=mode.converged,
        reason="The mode was found." if mode.converged else "Newton's steps ran out.",
        history=np.array([log_evidence]),
    )
