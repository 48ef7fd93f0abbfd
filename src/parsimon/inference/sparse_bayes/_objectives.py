r"""What thinning climbs: the evidence of numbers and of classes, and bounds on both.

**The evidence**, by MacKay's updates :math:`\alpha_m \leftarrow \gamma_m / \mu_m^2` for all columns
at once, with :math:`\gamma_m = 1 - \alpha_m \Sigma_{mm}`; for Gaussian noise also
:math:`\sigma^2 \leftarrow \|t - \Phi\mu\|^2 / (N - \sum \gamma)` [1]. For classes the update is
:math:`\alpha_m \leftarrow \gamma_m / (\mu_m^2 - \mu_m z_m)`, where z is what the textbook neglects:
a precision moves the mode, and with it the curvature there. Without it the updates end where the
evidence that they report is not at its maximum.

**The bound** averages over the precisions. Weights, precisions and noise have independent factors
q(w), q(alpha), q(tau); each is improved while the others stay, and the bound never falls [2].
Classification bounds the logistic function by a Gaussian in each row [3]. Each precision has a
Gamma prior, on columns of mean square one and targets of variance one so that results do not depend
on units, and a Gamma factor, whose mean stands in for it in the posterior of the weights: its
update is a step uphill for `ascend`. A column is dropped when its precision would grow for ever
under a flat prior and the bound is no lower without it.

[1] Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", JMLR 1,
   eqs 16 to 18; MacKay (1992), "Bayesian interpolation", Neural Computation 4.
[2] Bishop and Tipping (2000), "Variational relevance vector machines", UAI 16.
[3] Jaakkola and Jordan (2000), "Bayesian parameter estimation via variational methods",
   Statistics and Computing 10:25-37.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.special import digamma, expit, gammaln, log_expit

from parsimon._typing import Array, Indices, Mask
from parsimon.inference.irls import logistic_mode
from parsimon.inference.sparse_bayes._ascent import EMPoint, EMProblem
from parsimon.inference.sparse_bayes.spread import Spread, has_more_columns, posterior_spread

# Of a log precision; columns have mean square one and targets variance one.
_LOG_PRECISION = (np.log(1e-14), np.log(1e14))
_LOG_ODDS_PRECISION = (np.log(1e-12), np.log(1e10))
_LOG_SQUARED_SCORE = (np.log(1e-12), np.log(1e8))
# Noise is at least this share of the variance of the targets: below it only rounding is left.
_LOG_NOISE = (np.log(1e-10), np.log(1e2))
# The determinant is of first order in the error of the mode, whose square this is.
_MODE_TOLERANCE = 1e-14


@dataclass(frozen=True)
class GaussianColumns(EMProblem):
    """Columns and targets with Gaussian noise, whose log variance is the last entry of theta.

    columns, targets (n, m), (n,): Times the roots of the row weights.
    n_observations: Sum of the row weights.
    noise_variance: None where it is estimated.
    gram (m, m): Products of the columns, where they are kept.
    """

    targets: Array
    n_observations: float
    noise_variance: float | None
    gram: Array | None = None
    second_start = False

    def bounds(self, n_theta: int) -> tuple[Array, Array]:
        low, high = np.full((2, n_theta), np.array(_LOG_PRECISION)[:, None])
        if self.noise_variance is None:
            low[-1], high[-1] = _LOG_NOISE
        return low, high

    def covariance(self, point: EMPoint) -> Array:
        return self._fit(point.theta)[1].covariance()

    def noise(self, theta: Array) -> float:
        return float(np.exp(theta[-1])) if self.noise_variance is None else self.noise_variance

    def _fit(self, theta: Array) -> tuple[float, Spread, Array, float]:
        """Return noise, posterior, weights, and squared residuals in units of the noise."""
        noise = self.noise(theta)
        scaling = np.exp(-0.5 * theta[: self.columns.shape[1]])
        gram = None if self.gram is None else self.gram * (scaling / noise) * scaling[:, None]
        precision = np.full(len(self.targets), 1.0 / noise)
        spread = posterior_spread(self.columns * scaling, precision, gram)
        weights = spread.mean(precision, self.targets)
        misfit = float(np.sum((self.targets - spread.X @ weights) ** 2)) / noise
        return noise, spread, weights, misfit


@dataclass(frozen=True)
class BernoulliColumns(EMProblem):
    """Columns and labels 0 or 1 with a logistic link.

    Shapes: columns (n, m), labels, row_weights (n,).
    """

    labels: Array
    row_weights: Array
    second_start = True

    @property
    def n_more(self) -> int:
        """How many numbers beside the precisions are improved, from zero on."""
        return 0


@dataclass(frozen=True)
class EMGaussian(GaussianColumns):
    """The evidence of targets with Gaussian noise."""

    def evaluate(self, theta: Array, guess: Array | None) -> EMPoint:  # noqa: ARG002
        noise, spread, weights, misfit = self._fit(theta)
        log_evidence = -0.5 * (
            self.n_observations * np.log(2 * np.pi * noise)
            + spread.log_determinant
            + misfit
            + weights @ weights
        )
        determined, elastic = spread.determined, 2.0 * self.smoothness * spread.elastic
        rise, fall = determined + elastic, weights**2
        if self.noise_variance is None:
            above, below = self._noise_terms(misfit, float(rise.sum()))
            rise, fall = np.append(rise, above), np.append(fall, below)
        return EMPoint(
            theta=theta,
            objective=float(log_evidence - self.smoothness * determined.sum()),
            log_evidence=float(log_evidence),
            rise=rise,
            fall=fall,
            information=np.einsum("ij,ij->j", spread.X, spread.X) / noise,
            futile=weights**2 - elastic <= determined * (1.0 - determined),
            weights=weights,
        )

    def keep(self, staying: Indices) -> Self:
        columns = self.columns[:, staying]
        gram = self.gram[np.ix_(staying, staying)] if self.gram is not None else None
        if gram is None and not has_more_columns(columns):
            gram = columns.T @ columns
        return replace(self, columns=columns, gram=gram)

    def _noise_terms(self, misfit: float, freedom: float) -> tuple[float, float]:
        """Return what pushes the log noise variance up and down.

        MacKay's form, residuals over what is left of the observations, unless little is left.
        """
        left = self.n_observations - freedom
        if left > 0.01 * self.n_observations:
            return misfit, left
        return misfit + freedom, self.n_observations


@dataclass(frozen=True)
class EMBernoulli(BernoulliColumns):
    """The evidence of labels, by Laplace's method."""

    def evaluate(self, theta: Array, guess: Array | None) -> EMPoint:
        X = self.columns * np.exp(-0.5 * theta)
        weights, scores, log_posterior = self._mode(X, guess)
        probability = expit(scores)
        precision = self.row_weights * probability * (1.0 - probability)
        spread = posterior_spread(X, precision)
        log_evidence = log_posterior - 0.5 * spread.log_determinant
        variances, squares = spread.row_variances()
        lever = precision * (1 - 2 * probability) * (variances + 2 * self.smoothness * squares)
        # Precisions move the mode and with it the curvature, which MacKay's update neglects.
        pull = weights * spread.shrink(lever)
        determined, elastic = spread.determined, 2.0 * self.smoothness * spread.elastic
        return EMPoint(
            theta=theta,
            objective=float(log_evidence - self.smoothness * determined.sum()),
            log_evidence=float(log_evidence),
            rise=determined + elastic + np.maximum(pull, 0.0),
            fall=weights**2 + np.maximum(-pull, 0.0),
            information=precision @ X**2,
            futile=weights**2 - pull - elastic <= determined * (1.0 - determined),
            weights=weights,
        )

    def bounds(self, n_theta: int) -> tuple[Array, Array]:
        low, high = np.full((2, n_theta), np.array(_LOG_ODDS_PRECISION)[:, None])
        return low, high

    def covariance(self, point: EMPoint) -> Array:
        X = self.columns * np.exp(-0.5 * point.theta)
        probability = expit(X @ point.weights)
        precision = self.row_weights * probability * (1.0 - probability)
        return posterior_spread(X, precision).covariance()

    def _mode(self, X: Array, guess: Array | None) -> tuple[Array, Array, float]:
        """Return weights in units of the prior, scores and log posterior.

        With many columns the search runs in the space that the rows span, where X X^T and so the
        prior of the scores are the same.
        """
        if not X.shape[1]:
            value = -np.log(2.0) * float(self.row_weights.sum())
            return np.empty(0), np.zeros(len(X)), value
        root, start = X, guess
        if has_more_columns(X):
            values, vectors = np.linalg.eigh(X @ X.T)
            positive = values > values[-1] * len(values) * np.finfo(np.float64).eps
            scale = np.sqrt(values[positive])
            root = vectors[:, positive] * scale
            start = None if guess is None else (vectors[:, positive].T @ (X @ guess)) / scale
        mode = logistic_mode(
            root,
            self.labels,
            np.ones(root.shape[1]),
            row_weights=self.row_weights,
            start=start,
            max_iter=100,
            tol=_MODE_TOLERANCE,
        )
        if root is X:
            return mode.weights, mode.scores, mode.log_posterior
        residual = self.row_weights * (self.labels - expit(mode.scores))
        return X.T @ residual, mode.scores, mode.log_posterior


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

    hyperprior: Hyperprior = field(default=FLAT, kw_only=True)

    def evaluate(self, theta: Array, guess: Array | None) -> EMPoint:  # noqa: ARG002
        noise, spread, weights, misfit = self._fit(theta)
        # The expected squared residuals, in units of the noise.
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

    hyperprior: Hyperprior = field(default=FLAT, kw_only=True)

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
    return constant + prior_shape * np.log(rates / prior_rate) + shape * (prior_rate / rates - 1.0)


def _curvature(xi: Array) -> Array:
    """Return lambda(xi), which is 1/8 at zero."""
    return 0.125 * np.tanh(0.5 * xi) / (0.5 * xi)
