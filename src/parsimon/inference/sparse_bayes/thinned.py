"""Sparse Bayesian learning that begins with all columns and thins them.

`thinned_regression` and `thinned_classification` prepare rows and columns, let `ascend` climb an
objective and return where it ended in the units of the caller. The objectives are the evidence
(`em`) and a bound on it (`averaged`); what they share are `GaussianColumns` and
`BernoulliColumns`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from parsimon._checks import check_positive, finite_vector
from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes._ascent import EMPoint, EMResult, ascend, best_ascent
from parsimon.inference.sparse_bayes._result import SparseBayes
from parsimon.inference.sparse_bayes.design import (
    Prior,
    ScaledColumns,
    Smoothness,
    binary_targets,
    check_budget,
    first_noise,
    scaled_columns,
    smoothness_weight,
    target_unit,
    weights_of_rows,
)
from parsimon.inference.sparse_bayes.spread import Spread, distinct_columns, posterior_spread

# Of a log precision; columns have mean square one and targets variance one.
LOG_PRECISION = (np.log(1e-14), np.log(1e14))
# Noise is at least this share of the variance of the targets: below it only rounding is left.
_LOG_NOISE = (np.log(1e-10), np.log(1e2))


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
        Makes the objective of columns, targets, their number, noise and price: see
        `em.em_regression` and `averaged.variational_regression`.
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
    rows = columns.take(active)[used] * root[:, None], goal[used] * root / unit
    price = smoothness_weight(prior, smoothness, n_observations)
    problem = likelihood(*rows, n_observations, noise, price)
    climb = ascend if start is not None else partial(best_ascent, n_columns=len(active))
    ascent = climb(problem, theta, budget)
    return _as_result(
        ascent,
        active,
        columns.scale[active] / unit,
        shift=n_observations * np.log(unit),
        noise_variance=problem.noise(ascent.point.theta) * unit**2,
    )


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
        Makes the objective of columns, labels, row weights and price: see `em.em_classification`
        and `averaged.variational_classification`.
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
    problem = likelihood(columns.take(active)[used], targets[used], weights[used], price)
    theta = np.append(theta, np.zeros(problem.n_more))
    climb = ascend if start is not None else partial(best_ascent, n_columns=len(active))
    return _as_result(climb(problem, theta, budget), active, columns.scale[active])


@dataclass(frozen=True)
class GaussianColumns:
    """Columns and targets with Gaussian noise, whose log variance is the last entry of theta.

    columns (n, m): Times the roots of the row weights.
    targets (n,): Times the roots of the row weights.
    n_observations: Sum of the row weights.
    noise_variance: None where it is estimated.
    """

    columns: Array
    targets: Array
    n_observations: float
    noise_variance: float | None
    smoothness: float = 0.0
    second_start: ClassVar[bool] = False

    def keep(self, staying: Indices) -> Self:
        return replace(self, columns=self.columns[:, staying])

    def without_price(self) -> Self:
        return replace(self, smoothness=0.0)

    def bounds(self, n_theta: int) -> tuple[Array, Array]:
        low, high = np.full((2, n_theta), np.array(LOG_PRECISION)[:, None])
        if self.noise_variance is None:
            low[-1], high[-1] = _LOG_NOISE
        return low, high

    def covariance(self, point: EMPoint) -> Array:
        return self._spread(point.theta)[1].covariance()

    def noise(self, theta: Array) -> float:
        return float(np.exp(theta[-1])) if self.noise_variance is None else self.noise_variance

    def _spread(self, theta: Array) -> tuple[float, Spread]:
        noise = self.noise(theta)
        scaling = np.exp(-0.5 * theta[: self.columns.shape[1]])
        precision = np.full(len(self.targets), 1.0 / noise)
        return noise, posterior_spread(
            self.columns * scaling, precision, self._curvature(scaling, noise)
        )

    def _curvature(self, scaling: Array, noise: float) -> Array | None:  # noqa: ARG002
        """Return the products of scaled columns over the noise, if they are at hand."""
        return None


@dataclass(frozen=True)
class BernoulliColumns:
    """Columns and labels 0 or 1 with a logistic link.

    Shapes: columns (n, m), labels, row_weights (n,).
    """

    columns: Array
    labels: Array
    row_weights: Array
    smoothness: float = 0.0
    second_start: ClassVar[bool] = True

    @property
    def n_more(self) -> int:
        """How many numbers beside the precisions are improved, from zero on."""
        return 0

    def keep(self, staying: Indices) -> Self:
        return replace(self, columns=self.columns[:, staying])

    def without_price(self) -> Self:
        return replace(self, smoothness=0.0)


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


def _as_result(
    ascent: EMResult,
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
