r"""Sparse Bayesian learning by a lower bound on the evidence that averages over the precisions.

Weights, precisions and noise have independent factors q(w), q(alpha), q(tau); each is improved
while the others stay, and the bound never falls [1]_. Classification bounds the logistic function
by a Gaussian in each row [2]_. The Gamma priors are on columns of mean square one and targets of
variance one, so that results do not depend on units.

References
----------
.. [1] Bishop and Tipping (2000), "Variational relevance vector machines", UAI 16.
.. [2] Jaakkola and Jordan (2000), "Bayesian parameter estimation via variational methods",
   Statistics and Computing 10:25-37.
"""

from typing import Any

import numpy as np

from parsimon._options import check_choice, check_positive
from parsimon._validation import finite_vector
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes.checks import binary_targets, check_budget, weights_of_rows
from parsimon.inference.sparse_bayes.columns import scaled_columns
from parsimon.inference.sparse_bayes.em import (
    as_result,
    best_common_precision,
    first_noise,
    first_precisions,
    target_scale,
)
from parsimon.inference.sparse_bayes.em_ascent import ascend
from parsimon.inference.sparse_bayes.result import SparseBayes
from parsimon.inference.sparse_bayes.variational_problems import (
    BernoulliBound,
    GaussianBound,
    Hyperprior,
)

_HYPERPRIOR = (1e-6, 1e-6, 1e-6, 1e-6)


def variational_regression(
    design: Any,
    targets: Any,
    *,
    row_weights: Any = None,
    prior: str = "ard",
    noise_variance: float | None = None,
    hyperprior: tuple[float, float, float, float] = _HYPERPRIOR,
    max_iter: int = 500,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
    start: SparseBayes | None = None,
) -> SparseBayes:
    r"""Sparse Bayesian regression with factors for weights, precisions and noise.

    A column is dropped when its precision would grow for ever under a flat prior and the bound is
    no lower without it.

    Parameters
    ----------
    design : ndarray of shape (n, M)
        Any numbers: columns may be equal, constant or zero, many or few, of any scale.
    targets : ndarray of shape (n,)
    row_weights : ndarray of shape (n,), optional
        Powers of the likelihood terms; integers equal repeated rows, zero leaves a row out.
    prior : {"ard"}
        The Gamma priors are part of the method; there is no smoothness prior here.
    noise_variance : float, optional
        Keeps the noise at this value; it has a factor by default.
    hyperprior : tuple of four floats
        Shape and rate of the Gamma prior of each precision, then of the noise precision, for
        columns of mean square one and targets of variance one.
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
        `alpha` and the inverse of `noise_variance` are means of their factors; `log_evidence` and
        `objective` are the bound.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 9)
    >>> design = np.column_stack([np.ones(9), x, x**2, x**3])
    >>> result = variational_regression(design, 1 - 2 * x + 0.1 * np.cos(9 * x))
    >>> result.active, result.mean.round(1), result.converged
    (array([0, 1]), array([ 1., -2.]), True)
    """
    budget = check_budget(tolerance, max_iter, time_limit)
    gammas = _checked_hyperprior(prior, hyperprior)
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
    problem = GaussianBound(
        columns.take(active)[used] * root[:, None],
        goal[used] * root / unit,
        n_observations,
        noise,
        gammas,
    )
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


def variational_classification(
    design: Any,
    labels: Any,
    *,
    row_weights: Any = None,
    prior: str = "ard",
    hyperprior: tuple[float, float] = _HYPERPRIOR[:2],
    max_iter: int = 500,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
    start: SparseBayes | None = None,
) -> SparseBayes:
    r"""Sparse Bayesian classification of two classes by a bound on the logistic function.

    Parameters
    ----------
    design : ndarray of shape (n, M)
    labels : ndarray of shape (n,)
        0 or 1.
    hyperprior : tuple of two floats
        Shape and rate of the Gamma prior of each precision.
    row_weights, prior, max_iter, tolerance, time_limit, start
        As in `variational_regression`.

    Returns
    -------
    SparseBayes
        `mean` and `covariance` are those of q(w), `log_evidence` and `objective` the bound.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 12)
    >>> labels = (x + 0.4 * np.cos(9 * x) > 0).astype(float)
    >>> result = variational_classification(np.column_stack([np.ones(12), x, x**2]), labels)
    >>> result.active, result.converged
    (array([1]), True)
    """
    budget = check_budget(tolerance, max_iter, time_limit)
    gammas = _checked_hyperprior(prior, (*hyperprior, 1.0, 1.0))
    targets = binary_targets(labels)
    weights = weights_of_rows(row_weights, len(targets))
    columns = scaled_columns(design, weights)
    used = np.flatnonzero(weights > 0)
    active, theta = first_precisions(columns, used, start, unit=1.0)
    problem = BernoulliBound(columns.take(active)[used], targets[used], weights[used], gammas)
    theta = np.append(theta, np.zeros(len(used)))
    if start is None:
        theta = best_common_precision(problem, theta, len(active))
    return as_result(ascend(problem, theta, budget), active, columns.scale[active])


def _checked_hyperprior(prior: str, hyperprior: tuple[float, ...]) -> Hyperprior:
    check_choice("prior", prior, ("ard",))
    if len(hyperprior) != 4:
        raise InvalidInputError(
            f"hyperprior must be shapes and rates of Gamma priors, got {len(hyperprior)} numbers."
        )
    return Hyperprior(*(check_positive("hyperprior", number) for number in hyperprior))
