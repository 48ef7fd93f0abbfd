r"""Sparse Bayesian learning with all columns in the model at first, thinned by MacKay's updates.

:math:`\alpha_m \leftarrow \gamma_m / \mu_m^2` for all columns at once, with
:math:`\gamma_m = 1 - \alpha_m \Sigma_{mm}`; for Gaussian noise also
:math:`\sigma^2 \leftarrow \|t - \Phi\mu\|^2 / (N - \sum \gamma)` [1]_. The first steps cost the
cube of the number of rows or of columns, whichever is smaller; the fast sequential algorithm is
usually the better choice and this one the reference. Unlike in the textbook the length of an update
is adapted so that the evidence never falls, and a column leaves when its best precision is infinite
and the evidence does not fall without it, not at some number that depends on its unit.

References
----------
.. [1] Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", JMLR 1,
   eqs 16 to 18; MacKay (1992), "Bayesian interpolation", Neural Computation 4.
"""

from typing import Any

import numpy as np

from parsimon._options import check_positive
from parsimon._typing import Array, Indices
from parsimon._validation import finite_vector
from parsimon.inference.sparse_bayes.checks import (
    Prior,
    Smoothness,
    binary_targets,
    check_budget,
    smoothness_weight,
    weights_of_rows,
)
from parsimon.inference.sparse_bayes.columns import Columns, scaled_columns
from parsimon.inference.sparse_bayes.em_algebra import distinct_columns
from parsimon.inference.sparse_bayes.em_ascent import Ascent, Problem, ascend
from parsimon.inference.sparse_bayes.em_problems import BernoulliProblem, GaussianProblem
from parsimon.inference.sparse_bayes.result import SparseBayes

# Share of the targets' variance that is taken for noise at first.
_FIRST_NOISE = 0.1
# Changes of the first log precision that are tried for all columns together.
_COMMON = tuple(-np.log(10.0) * np.arange(0, 12, 2))


def em_regression(
    design: Any,
    targets: Any,
    *,
    row_weights: Any = None,
    prior: Prior = "ard",
    smoothness: Smoothness = "bic",
    noise_variance: float | None = None,
    max_iter: int = 500,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
    start: SparseBayes | None = None,
) -> SparseBayes:
    r"""Sparse Bayesian regression by MacKay's updates of all precisions at once.

    Parameters
    ----------
    design : ndarray of shape (n, M)
        Any numbers: columns may be equal, constant or zero, many or few, of any scale.
    targets : ndarray of shape (n,)
    row_weights : ndarray of shape (n,), optional
        Powers of the likelihood terms; integers equal repeated rows, zero leaves a row out.
    prior : {"ard", "smooth"}
        With "smooth" the objective is the log evidence minus c times the degrees of freedom
        :math:`\sum\gamma`.
    smoothness : {"aic", "bic", "ric"} or float
        c: 1, half the logarithm of n, the logarithm of n, or a number; for "smooth" alone.
    noise_variance : float, optional
        Keeps the noise at this value; estimated by default.
    max_iter : int
        Most updates.
    tolerance : float
        Change of a log precision that does not matter.
    time_limit : float, optional
        Seconds.
    start : SparseBayes, optional
        Begin with its columns and precisions instead of all columns.

    Returns
    -------
    SparseBayes

    Examples
    --------
    >>> x = np.linspace(-1, 1, 9)
    >>> design = np.column_stack([np.ones(9), x, x**2, x**3])
    >>> result = em_regression(design, 1 - 2 * x + 0.1 * np.cos(9 * x))
    >>> result.active, result.mean.round(1), result.converged
    (array([0, 1]), array([ 1., -2.]), True)
    """
    budget = check_budget(tolerance, max_iter, time_limit)
    goal = finite_vector(targets, "targets")
    weights = weights_of_rows(row_weights, len(goal))
    columns = scaled_columns(design, weights)
    n_observations = float(weights.sum())
    unit = target_scale(goal, weights)
    used = np.flatnonzero(weights > 0)
    root = np.sqrt(weights[used])
    active, theta = first_precisions(columns, used, start, unit=unit)
    noise = None
    if noise_variance is None:
        theta = np.append(theta, np.log(first_noise(start, unit)))
    else:
        noise = check_positive("noise_variance", noise_variance) / unit**2
    problem = GaussianProblem(
        columns.take(active)[used] * root[:, None],
        goal[used] * root / unit,
        n_observations,
        noise,
        smoothness_weight(prior, smoothness, n_observations),
    ).keep(np.arange(len(active)))
    if start is None:
        theta = best_common_precision(problem, theta, len(active))
    ascent = ascend(problem, theta, budget)
    return as_result(
        ascent,
        active,
        columns.scale[active] / unit,
        shift=n_observations * np.log(unit),
        noise_variance=problem.noise(ascent.point.theta) * unit**2,
    )


def em_classification(
    design: Any,
    labels: Any,
    *,
    row_weights: Any = None,
    prior: Prior = "ard",
    smoothness: Smoothness = "bic",
    max_iter: int = 500,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
    start: SparseBayes | None = None,
) -> SparseBayes:
    r"""Sparse Bayesian classification of two classes by MacKay's updates, with Laplace's method.

    The update is :math:`\alpha_m \leftarrow \gamma_m / (\mu_m^2 - \mu_m z_m)`, where z is what the
    textbook neglects: a precision moves the mode, and with it the curvature there. Without it the
    updates end where the evidence that they report is not at its maximum.

    Parameters
    ----------
    design : ndarray of shape (n, M)
    labels : ndarray of shape (n,)
        0 or 1.
    row_weights, prior, smoothness, max_iter, tolerance, time_limit, start
        As in `em_regression`.

    Returns
    -------
    SparseBayes

    Examples
    --------
    >>> x = np.linspace(-1, 1, 12)
    >>> labels = (x + 0.4 * np.cos(9 * x) > 0).astype(float)
    >>> result = em_classification(np.column_stack([np.ones(12), x, x**2]), labels)
    >>> result.active, result.converged
    (array([1]), True)
    """
    budget = check_budget(tolerance, max_iter, time_limit)
    targets = binary_targets(labels)
    weights = weights_of_rows(row_weights, len(targets))
    columns = scaled_columns(design, weights)
    used = np.flatnonzero(weights > 0)
    active, theta = first_precisions(columns, used, start, unit=1.0)
    problem = BernoulliProblem(
        columns.take(active)[used],
        targets[used],
        weights[used],
        smoothness_weight(prior, smoothness, float(weights.sum())),
    )
    if start is None:
        theta = best_common_precision(problem, theta, len(active))
    return as_result(ascend(problem, theta, budget), active, columns.scale[active])


def target_scale(targets: Array, row_weights: Array) -> float:
    """Return the standard deviation of the targets, their size if they are constant, or one."""
    largest = float(np.abs(targets[row_weights > 0]).max())
    if largest == 0:
        return 1.0
    scaled = targets / largest
    mean = float(np.average(scaled, weights=row_weights))
    deviation = float(np.sqrt(np.average((scaled - mean) ** 2, weights=row_weights)))
    return largest * (deviation if deviation > 1e-12 else 1.0)


def first_precisions(
    columns: Columns, used: Indices, start: SparseBayes | None, *, unit: float
) -> tuple[Indices, Array]:
    """Return the columns to begin with and the logarithms of their precisions, scaled.

    All columns together may explain as much as there is: a prior variance of one in all.
    """
    if start is not None:
        scale = columns.scale[start.active]
        theta = np.log(start.alpha) + 2.0 * (np.log(unit) - np.log(scale))
        usable = columns.usable[start.active]
        return start.active[usable], theta[usable]
    active = np.flatnonzero(columns.usable)
    active = active[distinct_columns(columns.take(active)[used])]
    return active, np.full(len(active), np.log(max(len(active), 1)))


def best_common_precision(problem: Problem, theta: Array, n_columns: int) -> Array:
    """Return theta with the best of a few precisions that all columns share.

    With a wide kernel all columns are nearly the same, and what they differ in matters only for
    weights much larger than those of columns that share nothing.
    """
    low, high = problem.bounds(len(theta))
    trials = []
    for shift in _COMMON:
        trial = theta.copy()
        trial[:n_columns] += shift
        trials.append(problem.evaluate(np.clip(trial, low, high), None))
    best = max(trials, key=lambda point: point.objective)
    return best.theta


def first_noise(start: SparseBayes | None, unit: float) -> float:
    """Return the noise variance to begin with, scaled."""
    if start is None or start.noise_variance is None:
        return _FIRST_NOISE
    return start.noise_variance / unit**2


def as_result(
    ascent: Ascent,
    active: Indices,
    scale: Array,
    *,
    shift: float = 0.0,
    noise_variance: float | None = None,
) -> SparseBayes:
    """Return where a run ended in the units of the caller.

    Shapes: active (m,), scale (m,).
    """
    point, kept = ascent.point, ascent.kept
    spread = np.exp(-0.5 * point.theta[: len(kept)]) / scale[kept]
    covariance = ascent.problem.covariance(point)
    return SparseBayes(
        active=active[kept],
        alpha=spread**-2.0,
        mean=point.weights * spread,
        covariance=covariance * spread * spread[:, None],
        noise_variance=noise_variance,
        log_evidence=float(point.log_evidence - shift),
        objective=float(point.objective - shift),
        n_iter=ascent.n_iter,
        converged=ascent.converged,
        reason=ascent.reason,
        history=ascent.history - shift,
    )
