"""Sparse Bayesian learning that begins with all columns and thins them.

`thinned_regression` and `thinned_classification` prepare rows and columns, let `ascend` climb an
objective and return where it ended in the units of the caller. The objectives are the evidence
(`em_regression`, `em_classification`) and a bound on it (`variational_regression`,
`variational_classification`). The first steps cost the cube of the number of rows or of columns,
whichever is smaller: `fast` is usually the better choice and this the reference.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from parsimon._checks import check_choice, check_positive, finite_vector
from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes._ascent import EMProblem, ascend, best_ascent
from parsimon.inference.sparse_bayes._objectives import (
    FLAT,
    BernoulliBound,
    EMBernoulli,
    EMGaussian,
    GaussianBound,
    Hyperprior,
)
from parsimon.inference.sparse_bayes.design import (
    Prior,
    ScaledColumns,
    Smoothness,
    SparseBayes,
    binary_targets,
    check_budget,
    first_noise,
    scaled_columns,
    smoothness_weight,
    target_unit,
    weights_of_rows,
)
from parsimon.inference.sparse_bayes.spread import distinct_columns


def thinned_regression(
    likelihood: Callable[..., Any],
    design: Any,
    targets: Any,
    *,
    row_weights: Any = None,
    prior: Prior = "ard",
    smoothness: Smoothness = "bic",
    noise_variance: float | None = None,
    max_iter: int = 500,
    tol: float = 1e-3,
    time_limit: float | None = None,
    start: SparseBayes | None = None,
) -> SparseBayes:
    r"""Sparse Bayesian regression that updates all precisions at once.

    Parameters
    ----------
    likelihood : callable
        Makes the objective of columns, targets, their number and noise, with a price: see
        `em_regression` and `variational_regression`.
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
    tol : float
        Change of a log precision that does not matter.
    time_limit : float, optional
        Seconds.
    start : SparseBayes, optional
        Begin with its columns and precisions instead of all columns.

    Returns
    -------
    SparseBayes
    """
    budget = check_budget(tol, max_iter, time_limit)
    goal = finite_vector(targets, "targets")
    weights = weights_of_rows(row_weights, len(goal))
    columns = scaled_columns(design, weights)
    n_observations = float(weights.sum())
    unit = target_unit(goal, weights)
    used = np.flatnonzero(weights > 0)
    root = np.sqrt(weights[used])
    active, theta = _first_precisions(columns, used, start, unit=unit)
    noise = None
    if noise_variance is None:
        theta = np.append(theta, np.log(first_noise(start, unit)))
    else:
        noise = check_positive("noise_variance", noise_variance) / unit**2
    problem = likelihood(
        columns.take(active)[used] * root[:, None],
        goal[used] * root / unit,
        n_observations,
        noise,
        smoothness=smoothness_weight(prior, smoothness, n_observations),
    )
    shift = n_observations * np.log(unit)
    return _thin(problem, theta, start, budget, active, columns.scale[active], unit, shift)


def thinned_classification(
    likelihood: Callable[..., Any],
    design: Any,
    labels: Any,
    *,
    row_weights: Any = None,
    prior: Prior = "ard",
    smoothness: Smoothness = "bic",
    max_iter: int = 500,
    tol: float = 1e-3,
    time_limit: float | None = None,
    start: SparseBayes | None = None,
) -> SparseBayes:
    r"""Sparse Bayesian classification of two classes that updates all precisions at once.

    Parameters
    ----------
    likelihood : callable
        Makes the objective of columns, labels and row weights, with a price: see
        `em_classification` and `variational_classification`.
    design : ndarray of shape (n, M)
    labels : ndarray of shape (n,)
        0 or 1.
    row_weights, prior, smoothness, max_iter, tol, time_limit, start
        As in `thinned_regression`.

    Returns
    -------
    SparseBayes
    """
    budget = check_budget(tol, max_iter, time_limit)
    targets = binary_targets(labels)
    weights = weights_of_rows(row_weights, len(targets))
    columns = scaled_columns(design, weights)
    used = np.flatnonzero(weights > 0)
    active, theta = _first_precisions(columns, used, start, unit=1.0)
    price = smoothness_weight(prior, smoothness, float(weights.sum()))
    problem = likelihood(columns.take(active)[used], targets[used], weights[used], smoothness=price)
    theta = np.append(theta, np.zeros(problem.n_more))
    return _thin(problem, theta, start, budget, active, columns.scale[active])


def _first_precisions(
    columns: ScaledColumns, used: Indices, start: SparseBayes | None, *, unit: float
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


def _thin(
    problem: EMProblem,
    theta: Array,
    start: SparseBayes | None,
    budget: tuple[float, int, float | None],
    active: Indices,
    scale: Array,
    unit: float = 1.0,
    shift: float = 0.0,
) -> SparseBayes:
    """Climb, and return where that ends in the units of the caller.

    Shapes: active (m,), scale (m,).

    unit, shift: Of the targets, and what that adds to minus the log evidence.
    """
    climb = ascend if start is not None else partial(best_ascent, n_columns=len(active))
    ascent = climb(problem, theta, budget)
    point, kept = ascent.point, ascent.kept
    spread = np.exp(-0.5 * point.theta[: len(kept)]) / (scale[kept] / unit)
    covariance = ascent.problem.covariance(point)
    noise = problem.noise(point.theta)
    return SparseBayes(
        active=active[kept],
        alpha=spread**-2.0,
        mean=point.weights * spread,
        covariance=covariance * spread * spread[:, None],
        noise_variance=None if noise is None else noise * unit**2,
        log_evidence=float(point.log_evidence - shift),
        objective=float(point.objective - shift),
        n_iter=ascent.n_iter,
        converged=ascent.converged,
        reason=ascent.reason,
        history=ascent.history - shift,
    )


def em_regression(design: Any, targets: Any, **options: Any) -> SparseBayes:
    """Regress by MacKay's updates; see `thinned_regression`."""

    def likelihood(*rows: Any, smoothness: float) -> EMGaussian:
        problem = EMGaussian(*rows, smoothness=smoothness)
        return problem.keep(np.arange(problem.columns.shape[1]))

    return thinned_regression(likelihood, design, targets, **options)


def em_classification(design: Any, labels: Any, **options: Any) -> SparseBayes:
    """Classify by the evidence, by Laplace's method; see `thinned_classification`."""
    return thinned_classification(EMBernoulli, design, labels, **options)


def variational_regression(
    design: Any, targets: Any, *, hyperprior: Hyperprior = FLAT, prior: str = "ard", **options: Any
) -> SparseBayes:
    """Regress with factors for weights, precisions and noise; see `thinned_regression`.

    `alpha` and the inverse of `noise_variance` are means of their factors; `log_evidence` and
    `objective` are the bound. The Gamma priors are part of the method, so that `prior` is "ard".
    """
    make = partial(GaussianBound, hyperprior=_checked(prior, hyperprior))
    return thinned_regression(make, design, targets, **options)


def variational_classification(
    design: Any, labels: Any, *, hyperprior: Hyperprior = FLAT, prior: str = "ard", **options: Any
) -> SparseBayes:
    """Classify by a bound on the logistic function; see `thinned_classification`."""
    make = partial(BernoulliBound, hyperprior=_checked(prior, hyperprior))
    return thinned_classification(make, design, labels, **options)


def _checked(prior: str, hyperprior: Hyperprior) -> Hyperprior:
    check_choice("prior", prior, ("ard",))
    return Hyperprior(*(check_positive("hyperprior", number) for number in hyperprior))
