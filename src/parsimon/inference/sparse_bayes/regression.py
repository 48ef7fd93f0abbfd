"""Sparse Bayesian regression: climbing the exact evidence."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from parsimon._checks import check_positive, finite_vector
from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes._mode import (
    cholesky,
    curvature,
    evidence_gradient,
    evidence_hessian,
    inverse,
    solve_with_factor,
    with_noise,
)
from parsimon.inference.sparse_bayes._moves import (
    ColumnSweep,
    SparseFit,
    refresh_quality,
    sweep_columns,
)
from parsimon.inference.sparse_bayes._result import SparseBayes
from parsimon.inference.sparse_bayes.design import (
    Prior,
    ScaledColumns,
    Smoothness,
    check_budget,
    scaled_columns,
    smoothness_weight,
    weights_of_rows,
)
from parsimon.inference.sparse_bayes.fast import maximise_by_columns, scaled_start, to_result

# For columns and targets of mean square one.
_PRECISIONS = (1e-10, 1e12)
# The least noise: this share of the variance of the targets, or of their mean square.
_NOISE_OF_VARIANCE = 1e-10
_NOISE_OF_SQUARE = 1e-14
_MOST_NOISE = 10.0


def sparse_regression(
    design: Any,
    targets: Any,
    *,
    row_weights: Any = None,
    prior: Prior = "ard",
    smoothness: Smoothness = "bic",
    noise_variance: float | None = None,
    max_iter: int = 1000,
    tol: float = 1e-3,
    start: SparseBayes | None = None,
    time_limit: float | None = None,
) -> SparseBayes:
    r"""Choose the columns of a linear regression by their evidence.

    Each weight has a normal prior of mean zero and precision :math:`\alpha_m`; the log evidence is
    maximised over all precisions and the noise variance together, and most precisions become
    infinite [1]_, [2]_. There are many maxima; a fixed number of attempts from parts of the model
    looks for better ones, with the same random numbers in every call.

    With ``prior="smooth"`` the log prior is :math:`-c` times the degrees of freedom, the trace of
    the smoothing matrix [3]_, exact for bases that are not orthonormal too (see
    `parsimon.inference.sparse_bayes._moves`).

    Parameters
    ----------
    design : array_like of shape (n, M)
        Columns to choose from, a column of ones for the bias among them if one is wanted. Columns
        may have any scale, be equal or zero; 32-bit floats are used as they are.
    targets : array_like of shape (n,)
    row_weights : array_like of shape (n,), optional
        Factors of the log likelihoods: 2 counts a row twice, 0 leaves it out.
    prior : {"ard", "smooth"}
        Flat in the log precisions, or for few degrees of freedom.
    smoothness : {"aic", "bic", "ric"} or float
        c of the smooth prior: 1, :math:`\frac12 \log n`, :math:`\log n`, or a number.
    noise_variance : float, optional
        Known variance of the noise; estimated if left out.
    max_iter : int
        Greatest number of steps: additions, deletions and re-estimations.
    tol : float
        Gains in log evidence, and changes of log precisions, that do not matter.
    start : SparseBayes, optional
        A result to begin from, instead of from nothing; no other maxima are looked for then.
    time_limit : float, optional
        Seconds.

    Returns
    -------
    SparseBayes
        Without any column if none is of use: the mean is then 0 everywhere. A column stays only
        if it is worth a hundredth of the gain in log evidence, or a tenth of a nat.

    Notes
    -----
    The noise variance does not fall below 1e-10 of the variance of the targets, nor below 1e-14
    of their mean square, where rounding would decide; precisions are kept between 1e-10 and 1e12
    in units of columns and targets with mean square one. Targets that are all zero have no scale:
    their noise variance is given as 1e-14.

    References
    ----------
    .. [1] Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", JMLR 1.
    .. [2] Tipping and Faul (2003), "Fast marginal likelihood maximisation for sparse Bayesian
       models", AISTATS.
    .. [3] Schmolck and Everson (2007), "Smooth relevance vector machine: a smoothness prior
       extension of the relevance vector machine", Machine Learning 68.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> design = np.column_stack([np.ones(100), rng.normal(size=(100, 20))])
    >>> targets = 2.0 + design[:, 3] - design[:, 7] + 0.1 * rng.normal(size=100)
    >>> result = sparse_regression(design, targets)
    >>> {0, 3, 7} <= set(result.active.tolist()), len(result.active) < 8
    (True, True)
    >>> result.mean[np.isin(result.active, [0, 3, 7])].round(1)
    array([ 2.,  1., -1.])
    """
    tol, max_iter, time_limit = check_budget(tol, max_iter, time_limit)
    values = finite_vector(targets, "targets")
    weights = weights_of_rows(row_weights, len(values))
    columns = scaled_columns(design, weights)
    penalty = smoothness_weight(prior, smoothness, weights.sum())
    scale = mean_square_root(values, weights)
    known = noise_variance is not None
    noise = check_positive("noise_variance", noise_variance) / scale**2 if known else None
    problem = GaussianProblem(columns, values / scale, weights, penalty, noise)
    climb = maximise_by_columns(
        problem,
        problem.empty(),
        start=None if start is None else problem.warm(start, scale),
        tol=tol,
        max_iter=max_iter,
        time_limit=time_limit,
    )
    return to_result(
        climb,
        columns,
        target_scale=scale,
        n_rows=problem.n_rows,
        noise_variance=problem.noise(climb.fit.theta, len(climb.fit.active)) * scale**2,
    )


def mean_square_root(targets: Array, weights: Array) -> float:
    """Return the root of the weighted mean square, one if all targets are zero."""
    largest = float(np.abs(targets).max(initial=0.0, where=weights > 0)) or 1.0
    share = float(weights @ (targets / largest) ** 2 / weights.sum()) or 1.0
    return largest * float(np.sqrt(share))


@dataclass(frozen=True)
class GaussianProblem:
    """Targets of mean square one with normal noise, whose variance is estimated unless known."""

    columns: ScaledColumns
    targets: Array
    row_weights: Array
    smoothness: float
    known_noise: float | None

    @cached_property
    def n_rows(self) -> float:
        """Sum of the weights of the rows."""
        return float(self.row_weights.sum())

    @cached_property
    def noise_floor(self) -> float:
        """The least noise variance: below it rounding decides."""
        mean = self.row_weights @ self.targets / self.n_rows
        variance = self.row_weights @ (self.targets - mean) ** 2 / self.n_rows
        return max(_NOISE_OF_VARIANCE * float(variance), _NOISE_OF_SQUARE)

    def noise(self, theta: Array, n_active: int) -> float:
        """Return the noise variance of these parameters."""
        if self.known_noise is not None:
            return self.known_noise
        return float(np.exp(-theta[n_active]))

    def evaluate(
        self, active: Indices, theta: Array, columns: Array, guess: Array
    ) -> SparseFit | None:
        del guess
        try:
            return self._fit(active, theta, columns)
        except np.linalg.LinAlgError:
            return None

    def _fit(self, active: Indices, theta: Array, columns: Array) -> SparseFit:
        n_active = len(active)
        beta = 1.0 / self.noise(theta, n_active)
        precision = beta * self.row_weights
        scaling = np.exp(-0.5 * theta[:n_active])
        scaled = columns * scaling
        factor = cholesky(curvature(scaled, precision))
        covariance = inverse(factor)
        weights = solve_with_factor(factor, (precision * self.targets) @ scaled)
        errors = self.targets - scaled @ weights
        squares = float(precision @ errors**2)
        log_evidence = (
            0.5 * self.n_rows * float(np.log(beta / (2.0 * np.pi)))
            - 0.5 * (squares + float(weights @ weights))
            - float(np.log(factor.diagonal()).sum())
        )
        gradient = evidence_gradient(covariance, weights, self.smoothness)
        hessian = evidence_hessian(covariance, weights, self.smoothness)
        if self.known_noise is None:
            gradient, hessian = with_noise(
                gradient, hessian, covariance, weights, self.smoothness, (self.n_rows, squares)
            )
        return SparseFit(
            active=active,
            theta=theta,
            weights=weights,
            covariance=covariance,
            columns=columns,
            residual=precision * errors,
            precision=precision,
            log_evidence=log_evidence,
            objective=log_evidence - self.smoothness * (n_active - float(covariance.trace())),
            gradient=gradient,
            make_hessian=lambda: hessian,
        )

    def sweep(self, fit: SparseFit, pool: Indices | None = None) -> ColumnSweep:
        return sweep_columns(self.columns, fit, self.smoothness, pool)

    def refresh(self, fit: SparseFit, sweep: ColumnSweep) -> ColumnSweep:
        return refresh_quality(self.columns, fit, sweep)

    def take(self, indices: Indices) -> Array:
        return self.columns.take(indices)

    def bounds(self, theta: Array) -> tuple[Array, Array]:
        low, high = np.log(_PRECISIONS)
        lower, upper = np.full_like(theta, low), np.full_like(theta, high)
        if self.known_noise is None:
            lower[-1], upper[-1] = -np.log(_MOST_NOISE), -np.log(self.noise_floor)
        return lower, upper

    def precision_bounds(self) -> tuple[float, float]:
        return _PRECISIONS

    def empty(self) -> SparseFit:
        """Return the fit without any column, where the noise is all that there is."""
        none = np.empty(0, dtype=np.intp)
        theta = np.zeros(1 if self.known_noise is None else 0)
        if len(theta) and not self.targets.any():
            theta = self.bounds(theta)[1]
        return self._fit(none, theta, self.take(none))

    def warm(self, given: SparseBayes, target_scale: float) -> SparseFit | None:
        """Return the fit with the columns, precisions and noise of an earlier result."""
        active, alpha, guess = scaled_start(given, self.columns, target_scale)
        theta = np.log(np.clip(alpha, *_PRECISIONS))
        if self.known_noise is None:
            noise = target_scale**2 if given.noise_variance is None else given.noise_variance
            theta = np.append(theta, -np.log(noise / target_scale**2))
        lower, upper = self.bounds(theta)
        return self.evaluate(active, np.clip(theta, lower, upper), self.take(active), guess)
