"""Sparse Bayesian learning by a lower bound on the evidence that averages over the precisions.

Weights, precisions and noise have independent factors q(w), q(alpha), q(tau); each is improved
while the others stay, and the bound never falls [1]. Classification bounds the logistic function
by a Gaussian in each row [2]. Each precision has a Gamma prior, on columns of mean square one and
targets of variance one so that results do not depend on units, and a Gamma factor, whose mean
stands in for it in the posterior of the weights: its update is a step uphill for `ascend`. A
column is dropped when its precision would grow for ever under a flat prior and the bound is no
lower without it.

[1] Bishop and Tipping (2000), "Variational relevance vector machines", UAI 16.
[2] Jaakkola and Jordan (2000), "Bayesian parameter estimation via variational methods",
   Statistics and Computing 10:25-37.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, log_expit

from parsimon._checks import check_choice, check_positive
from parsimon._typing import Array, Mask
from parsimon.inference.sparse_bayes._ascent import EMPoint
from parsimon.inference.sparse_bayes._result import SparseBayes
from parsimon.inference.sparse_bayes.spread import Spread, posterior_spread
from parsimon.inference.sparse_bayes.thinned import (
    LOG_PRECISION,
    BernoulliColumns,
    GaussianColumns,
    thinned_classification,
    thinned_regression,
)

_LOG_SQUARED_SCORE = (np.log(1e-12), np.log(1e8))


class Hyperprior(NamedTuple):
    """Shapes and rates of the Gamma priors of the precisions (a, b) and of the noise (c, d)."""

    a: float
    b: float
    c: float
    d: float


FLAT = Hyperprior(1e-6, 1e-6, 1e-6, 1e-6)


@dataclass(frozen=True)
class GaussianBound(GaussianColumns):
    """The bound for targets; theta are log mean precisions and minus that of the noise."""

    hyperprior: Hyperprior = FLAT

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


@dataclass(frozen=True)
class BernoulliBound(BernoulliColumns):
    r"""Labels 0 or 1 under the bound of Jaakkola and Jordan on the logistic function.

    :math:`\log\sigma(f) \ge \log\sigma(\xi) + (f - \xi)/2 - \lambda(\xi)(f^2 - \xi^2)` with
    :math:`\lambda(\xi) = \tanh(\xi/2) / (4\xi)`; theta are log mean precisions, then
    :math:`\log\xi^2` of each row.
    """

    hyperprior: Hyperprior = FLAT

    @property
    def n_more(self) -> int:
        return len(self.labels)

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

    def bounds(self, n_theta: int) -> tuple[Array, Array]:
        low, high = np.full((2, n_theta), np.array(LOG_PRECISION)[:, None])
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
