"""The likelihoods behind the updates of all precisions at once: Gaussian noise, two classes.

Columns and targets are scaled, so that precisions of the order of one are neither weak nor strong.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from parsimon._typing import Array, Indices
from parsimon.inference.irls import logistic_mode
from parsimon.inference.sparse_bayes.em_ascent import Point
from parsimon.inference.sparse_bayes.em_spread import Spread, is_wide, posterior_spread

# Of a log precision; columns have mean square one and targets variance one.
_LOG_PRECISION = (np.log(1e-14), np.log(1e14))
_LOG_ODDS_PRECISION = (np.log(1e-12), np.log(1e10))
# Noise is at least this share of the variance of the targets: below it only rounding is left.
_LOG_NOISE = (np.log(1e-10), np.log(1e2))
# The determinant is of first order in the error of the mode, whose square this is.
_MODE_TOLERANCE = 1e-14


@dataclass(frozen=True)
class GaussianProblem:
    """Targets with Gaussian noise.

    columns (n, m): Times the roots of the row weights.
    targets (n,): Times the roots of the row weights.
    n_observations: Sum of the row weights.
    noise_variance: None where it is estimated.
    gram (m, m): Products of the columns, where there are not many more than rows.
    """

    columns: Array
    targets: Array
    n_observations: float
    noise_variance: float | None
    smoothness: float
    gram: Array | None = None

    def evaluate(self, theta: Array, guess: Array | None) -> Point:  # noqa: ARG002
        noise, spread = self._spread(theta)
        weights = spread.mean(np.full(len(self.targets), 1.0 / noise), self.targets)
        misfit = float(np.sum((self.targets - spread.X @ weights) ** 2)) / noise
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
        return Point(
            theta=theta,
            objective=float(log_evidence - self.smoothness * determined.sum()),
            log_evidence=float(log_evidence),
            rise=rise,
            fall=fall,
            information=np.einsum("ij,ij->j", spread.X, spread.X) / noise,
            futile=weights**2 - elastic <= determined * (1.0 - determined),
            weights=weights,
        )

    def keep(self, staying: Indices) -> "GaussianProblem":
        columns = self.columns[:, staying]
        gram = self.gram[np.ix_(staying, staying)] if self.gram is not None else None
        if gram is None and not is_wide(columns):
            gram = columns.T @ columns
        return GaussianProblem(
            columns, self.targets, self.n_observations, self.noise_variance, self.smoothness, gram
        )

    def bounds(self, n_theta: int) -> tuple[Array, Array]:
        low, high = np.full((2, n_theta), np.array(_LOG_PRECISION)[:, None])
        if self.noise_variance is None:
            low[-1], high[-1] = _LOG_NOISE
        return low, high

    def covariance(self, point: Point) -> Array:
        return self._spread(point.theta)[1].covariance()

    def noise(self, theta: Array) -> float:
        return float(np.exp(theta[-1])) if self.noise_variance is None else self.noise_variance

    def _spread(self, theta: Array) -> tuple[float, Spread]:
        noise = self.noise(theta)
        scaling = np.exp(-0.5 * theta[: self.columns.shape[1]])
        gram = None
        if self.gram is not None:
            gram = self.gram * (scaling / noise) * scaling[:, None]
        precision = np.full(len(self.targets), 1.0 / noise)
        return noise, posterior_spread(self.columns * scaling, precision, gram)

    def _noise_terms(self, misfit: float, freedom: float) -> tuple[float, float]:
        """Return what pushes the log noise variance up and down.

        MacKay's form, residuals over what is left of the observations, unless little is left.
        """
        left = self.n_observations - freedom
        if left > 0.01 * self.n_observations:
            return misfit, left
        return misfit + freedom, self.n_observations


@dataclass(frozen=True)
class BernoulliProblem:
    """Labels 0 or 1 with a logistic link, by Laplace's method.

    Shapes: columns (n, m), labels, row_weights (n,).
    """

    columns: Array
    labels: Array
    row_weights: Array
    smoothness: float

    def evaluate(self, theta: Array, guess: Array | None) -> Point:
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
        return Point(
            theta=theta,
            objective=float(log_evidence - self.smoothness * determined.sum()),
            log_evidence=float(log_evidence),
            rise=determined + elastic + np.maximum(pull, 0.0),
            fall=weights**2 + np.maximum(-pull, 0.0),
            information=precision @ X**2,
            futile=weights**2 - pull - elastic <= determined * (1.0 - determined),
            weights=weights,
        )

    def keep(self, staying: Indices) -> "BernoulliProblem":
        return BernoulliProblem(
            self.columns[:, staying], self.labels, self.row_weights, self.smoothness
        )

    def bounds(self, n_theta: int) -> tuple[Array, Array]:
        low, high = np.full((2, n_theta), np.array(_LOG_ODDS_PRECISION)[:, None])
        return low, high

    def covariance(self, point: Point) -> Array:
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
        if is_wide(X):
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
            tolerance=_MODE_TOLERANCE,
        )
        if root is X:
            return mode.weights, mode.scores, mode.log_posterior
        residual = self.row_weights * (self.labels - expit(mode.scores))
        return X.T @ residual, mode.scores, mode.log_posterior
