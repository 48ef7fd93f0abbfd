r"""Sparse Bayesian learning by MacKay's updates: the evidence, for `ascend` to climb.

:math:`\alpha_m \leftarrow \gamma_m / \mu_m^2` for all columns at once, with
:math:`\gamma_m = 1 - \alpha_m \Sigma_{mm}`; for Gaussian noise also
:math:`\sigma^2 \leftarrow \|t - \Phi\mu\|^2 / (N - \sum \gamma)` [1]. The first steps cost the
cube of the number of rows or of columns, whichever is smaller: `fast` is usually the better choice
and this the reference. For classes the update is
:math:`\alpha_m \leftarrow \gamma_m / (\mu_m^2 - \mu_m z_m)`, where z is what the textbook neglects:
a precision moves the mode, and with it the curvature there. Without it the updates end where the
evidence that they report is not at its maximum.

`EMGaussian` and `EMBernoulli` are the likelihoods, in scaled units; what they are made of,
`GaussianColumns` and `BernoulliColumns` of `thinned`, the bounds of `averaged` share.

[1] Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", JMLR 1,
   eqs 16 to 18; MacKay (1992), "Bayesian interpolation", Neural Computation 4.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.special import expit

from parsimon._typing import Array, Indices
from parsimon.inference.irls import logistic_mode
from parsimon.inference.sparse_bayes._ascent import EMPoint
from parsimon.inference.sparse_bayes.spread import has_more_columns, posterior_spread
from parsimon.inference.sparse_bayes.thinned import (
    BernoulliColumns,
    GaussianColumns,
    thinned_classification,
    thinned_regression,
)

_LOG_ODDS_PRECISION = (np.log(1e-12), np.log(1e10))
# The determinant is of first order in the error of the mode, whose square this is.
_MODE_TOLERANCE = 1e-14


@dataclass(frozen=True)
class EMGaussian(GaussianColumns):
    """The evidence of targets with Gaussian noise.

    gram (m, m): Products of the columns, where there are not many more than rows.
    """

    gram: Array | None = None

    def evaluate(self, theta: Array, guess: Array | None) -> EMPoint:  # noqa: ARG002
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

    def _curvature(self, scaling: Array, noise: float) -> Array | None:
        if self.gram is None:
            return None
        return self.gram * (scaling / noise) * scaling[:, None]

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


def _with_products(*rows: Any) -> EMGaussian:
    problem = EMGaussian(*rows)
    return problem.keep(np.arange(problem.columns.shape[1]))


em_regression = partial(thinned_regression, _with_products)
em_classification = partial(thinned_classification, EMBernoulli)
