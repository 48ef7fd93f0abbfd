"""Sparse Bayesian learning by a lower bound on the evidence that averages over the precisions.

Weights, precisions and noise have independent factors q(w), q(alpha), q(tau); each is improved
while the others stay, and the bound never falls [1]. Classification bounds the logistic function
by a Gaussian in each row [2]. Each precision has a Gamma prior, on columns of mean square one and
targets of variance one so that results do not depend on units, and a Gamma factor, whose mean
stands in for it in the posterior of the weights: its update is a step uphill for `em.ascend`.

[1] Bishop and Tipping (2000), "Variational relevance vector machines", UAI 16.
[2] Jaakkola and Jordan (2000), "Bayesian parameter estimation via variational methods",
   Statistics and Computing 10:25-37.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, log_expit

from parsimon._checks import check_choice, check_positive, finite_vector
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes._result import SparseBayes
from parsimon.inference.sparse_bayes.design import (
    binary_targets,
    check_budget,
    first_noise,
    scaled_columns,
    target_scale,
    weights_of_rows,
)
from parsimon.inference.sparse_bayes.em import (
    EMPoint,
    as_result,
    ascend,
    best_common_precision,
    first_precisions,
)
from parsimon.inference.sparse_bayes.spread import Spread, posterior_spread

_LOG_PRECISION = (np.log(1e-14), np.log(1e14))
# Noise is at least this share of the variance of the targets: below it only rounding is left.
_LOG_NOISE = (np.log(1e-10), np.log(1e2))
_LOG_SQUARED_SCORE = (np.log(1e-12), np.log(1e8))


class Hyperprior(NamedTuple):
    """Shapes and rates of the Gamma priors of the precisions (a, b) and of the noise (c, d)."""

    a: float
    b: float
    c: float
    d: float


@dataclass(frozen=True)
class GaussianBound:
    """Targets with Gaussian noise; theta are log mean precisions and minus that of the noise.

    columns (n, m): Times the roots of the row weights.
    targets (n,): Times the roots of the row weights.
    n_observations: Sum of the row weights.
    noise_variance: None where it has a factor.
    """

    columns: Array
    targets: Array
    n_observations: float
    noise_variance: float | None
    hyperprior: Hyperprior

    def evaluate(self, theta: Array, guess: Array | None) -> EMPoint:  # noqa: ARG002
        noise, spread = self._spread(theta)
        weights = spread.mean(np.full(len(self.targets), 1.0 / noise), self.targets)
        # The expected squared residuals, in units of the noise.
        misfit = float(np.sum((self.targets - spread.X @ weights) ** 2)) / noise
        misfit += float(spread.determined.sum())
        weight_terms = WeightTerms.of(theta[: len(weights)], weights, spread, self.hyperprior)
        rise, fall, log_precision = weight_terms.rise, weight_terms.fall, -np.log(noise)
        bound = weight_terms.bound
        if self.noise_variance is None:
            shape = self.hyperprior.c + 0.5 * self.n_observations
            rate = shape * noise
            log_precision = digamma(shape) - np.log(rate)
            bound -= float(gamma_divergence(shape, rate, self.hyperprior.c, self.hyperprior.d))
            rise = np.append(rise, misfit + 2.0 * self.hyperprior.d / noise)
            fall = np.append(fall, 2.0 * shape)
        bound += 0.5 * (self.n_observations * (log_precision - np.log(2 * np.pi)) - misfit)
        return EMPoint(
            theta=theta,
            objective=float(bound),
            log_evidence=float(bound),
            rise=rise,
            fall=fall,
            information=np.einsum("ij,ij->j", spread.X, spread.X) / noise,
            futile=weight_terms.futile,
            weights=weights,
        )

    def keep(self, staying: Indices) -> "GaussianBound":
        return GaussianBound(
            self.columns[:, staying],
            self.targets,
            self.n_observations,
            self.noise_variance,
            self.hyperprior,
        )

    def bounds(self, n_theta: int) -> tuple[Array, Array]:
        low, high = np.full((2, n_theta), np.array(_LOG_PRECISION)[:, None])
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
        return noise, posterior_spread(self.columns * scaling, precision)


@dataclass(frozen=True)
class BernoulliBound:
    r"""Labels 0 or 1 under the bound of Jaakkola and Jordan on the logistic function.

    :math:`\log\sigma(f) \ge \log\sigma(\xi) + (f - \xi)/2 - \lambda(\xi)(f^2 - \xi^2)` with
    :math:`\lambda(\xi) = \tanh(\xi/2) / (4\xi)`; theta are log mean precisions, then
    :math:`\log\xi^2` of each row.

    Shapes: columns (n, m), labels, row_weights (n,).
    """

    columns: Array
    labels: Array
    row_weights: Array
    hyperprior: Hyperprior

    def evaluate(self, theta: Array, guess: Array | None) -> EMPoint:  # noqa: ARG002
        squared, spread = self._spread(theta)
        xi, half = np.sqrt(squared), self.labels - 0.5
        weights = spread.shrink(self.row_weights * half)
        scores = spread.X @ weights
        second_moment = scores**2 + spread.row_variances()[0]
        weight_terms = WeightTerms.of(theta[: len(weights)], weights, spread, self.hyperprior)
        rows = log_expit(xi) + half * scores - 0.5 * xi
        rows -= _curvature(xi) * (second_moment - squared)
        bound = float(self.row_weights @ rows) + weight_terms.bound
        return EMPoint(
            theta=theta,
            objective=bound,
            log_evidence=bound,
            rise=np.append(weight_terms.rise, second_moment),
            fall=np.append(weight_terms.fall, squared),
            information=(2.0 * self.row_weights * _curvature(xi)) @ spread.X**2,
            futile=weight_terms.futile,
            weights=weights,
        )

    def keep(self, staying: Indices) -> "BernoulliBound":
        return BernoulliBound(
            self.columns[:, staying], self.labels, self.row_weights, self.hyperprior
        )

    def bounds(self, n_theta: int) -> tuple[Array, Array]:
        low, high = np.full((2, n_theta), np.array(_LOG_PRECISION)[:, None])
        low[self.columns.shape[1] :], high[self.columns.shape[1] :] = _LOG_SQUARED_SCORE
        return low, high

    def covariance(self, point: EMPoint) -> Array:
        return self._spread(point.theta)[1].covariance()

    def _spread(self, theta: Array) -> tuple[Array, Spread]:
        n_columns = self.columns.shape[1]
        squared = np.exp(theta[n_columns:])
        precision = 2.0 * self.row_weights * _curvature(np.sqrt(squared))
        X = self.columns * np.exp(-0.5 * theta[:n_columns])
        return squared, posterior_spread(X, precision)


class WeightTerms(NamedTuple):
    """What the factors of weights and precisions add to a bound, and how precisions would move.

    rise, fall (m,): The update multiplies the mean precision by their ratio.
    futile (m,): Columns whose precision would grow for ever under a flat prior: Shutin et al.
        (2011), "Fast variational sparse Bayesian learning", IEEE Trans. Signal Process.
        59:6257-6261.
    """

    bound: float
    rise: Array
    fall: Array
    futile: Mask

    @classmethod
    def of(cls, theta: Array, weights: Array, spread: Spread, prior: Hyperprior) -> "WeightTerms":
        shape, precision = prior.a + 0.5, np.exp(theta)
        second_moment = weights**2 + 1.0 - spread.determined
        # Of log alpha under its factor, less the logarithm of its mean.
        shortfall = float(digamma(shape) - np.log(shape))
        divergence = gamma_divergence(shape, shape / precision, prior.a, prior.b)
        bound = 0.5 * np.sum(shortfall + 1.0 - second_moment) - np.sum(divergence)
        return cls(
            bound=float(bound - 0.5 * spread.log_determinant),
            rise=np.full(len(weights), 2.0 * shape),
            fall=second_moment + 2.0 * prior.b * precision,
            futile=weights**2 <= spread.determined * (1.0 - spread.determined),
        )


def gamma_divergence(
    shape: float, rate: Array | float, prior_shape: float, prior_rate: float
) -> Array:
    """Return the Kullback-Leibler divergence of one Gamma distribution from another."""
    rates = np.asarray(rate, dtype=np.float64)
    constant = (shape - prior_shape) * digamma(shape) - gammaln(shape) + gammaln(prior_shape)
    divergence: Array = (
        constant + prior_shape * np.log(rates / prior_rate) + shape * (prior_rate / rates - 1.0)
    )
    return divergence


def _curvature(xi: Array) -> Array:
    """Return lambda(xi), which is 1/8 at zero."""
    curvature: Array = 0.125 * np.tanh(0.5 * xi) / (0.5 * xi)
    return curvature


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
    tol: float = 1e-3,
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
    tol : float
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
    budget = check_budget(tol, max_iter, time_limit)
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
    tol: float = 1e-3,
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
    row_weights, prior, max_iter, tol, time_limit, start
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
    budget = check_budget(tol, max_iter, time_limit)
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
