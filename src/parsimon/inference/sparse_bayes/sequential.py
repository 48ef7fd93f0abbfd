"""Sparse Bayesian learning of numbers and of two classes, a column at a time: two likelihoods.

`GaussianProblem` climbs the exact evidence, `BernoulliProblem` that of Laplace's method. What a
`ColumnProblem` needs of a likelihood is the fit of a few columns with given precisions, with the
gradient of its objective; the rest of the search is in `fast`.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from parsimon._checks import check_positive, finite_vector
from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes._moves import ColumnProblem, SparseFit
from parsimon.inference.sparse_bayes.design import (
    Prior,
    Smoothness,
    SparseBayes,
    binary_targets,
    check_budget,
    scaled_columns,
    smoothness_weight,
    weights_of_rows,
)
from parsimon.inference.sparse_bayes.fast import maximise_by_columns
from parsimon.inference.sparse_bayes.gradients import (
    LaplaceMode,
    cholesky,
    curvature,
    evidence_gradient,
    evidence_hessian,
    inverse,
    moving_hessian,
    solve_with_factor,
    sparse_mode,
    with_noise,
)

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
    budget = check_budget(tol, max_iter, time_limit)
    values = finite_vector(targets, "targets")
    weights = weights_of_rows(row_weights, len(values))
    columns = scaled_columns(design, weights)
    penalty = smoothness_weight(prior, smoothness, weights.sum())
    unit = mean_square_root(values, weights)
    known = noise_variance is not None
    noise = check_positive("noise_variance", noise_variance) / unit**2 if known else None
    problem = GaussianProblem(columns, values / unit, weights, penalty, noise)
    return maximise_by_columns(problem, start, unit, *budget)


def mean_square_root(targets: Array, weights: Array) -> float:
    """Return the root of the weighted mean square, one if all targets are zero."""
    largest = float(np.abs(targets).max(initial=0.0, where=weights > 0)) or 1.0
    share = float(weights @ (targets / largest) ** 2 / weights.sum()) or 1.0
    return largest * float(np.sqrt(share))


@dataclass(frozen=True)
class GaussianProblem(ColumnProblem):
    """Targets of mean square one with normal noise, whose variance is estimated unless known."""

    known_noise: float | None
    precisions = (1e-10, 1e12)
    second_start = False

    @cached_property
    def noise_floor(self) -> float:
        """The least noise variance: below it rounding decides."""
        mean = self.row_weights @ self.targets / self.n_rows
        variance = self.row_weights @ (self.targets - mean) ** 2 / self.n_rows
        return max(_NOISE_OF_VARIANCE * float(variance), _NOISE_OF_SQUARE)

    def noise(self, theta: Array, n_active: int) -> float:
        if self.known_noise is not None:
            return self.known_noise
        return float(np.exp(-theta[n_active]))

    def likelihood_theta(self, noise_variance: float | None = None) -> Array:
        if self.known_noise is not None:
            return np.empty(0)
        if noise_variance is not None:
            return -np.log([noise_variance])
        # Without any column the noise is all that there is.
        return np.zeros(1) if self.targets.any() else self.bounds(np.zeros(1))[1]

    def fit_columns(self, active: Indices, theta: Array, columns: Array, guess: Array) -> SparseFit:
        del guess
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

    def bounds(self, theta: Array) -> tuple[Array, Array]:
        lower, upper = super().bounds(theta)
        if self.known_noise is None:
            lower[-1], upper[-1] = -np.log(_MOST_NOISE), -np.log(self.noise_floor)
        return lower, upper


def sparse_classification(
    design: Any,
    labels: Any,
    *,
    row_weights: Any = None,
    prior: Prior = "ard",
    smoothness: Smoothness = "bic",
    max_iter: int = 1000,
    tol: float = 1e-3,
    start: SparseBayes | None = None,
    time_limit: float | None = None,
) -> SparseBayes:
    r"""Choose the columns of a logistic regression by their evidence.

    Each weight has a normal prior of mean zero and precision :math:`\alpha_m`; the log evidence
    by Laplace's method is maximised over all precisions, and most of them become infinite [1]_,
    [2]_. The exact gradient is used, with what the mode does to the curvature of the likelihood,
    so that the end is a maximum of the evidence itself and not of MacKay's approximation. There
    are many maxima; a fixed number of attempts from parts of the model looks for better ones, with
    the same random numbers in every call.

    With ``prior="smooth"`` the log prior is :math:`-c` times the degrees of freedom,
    the trace of the smoothing matrix with the variances :math:`B^{-1}` of the mode, one for each
    row. For one column the objective then has the usual form with :math:`q^2 - 2cv` in place of
    :math:`q^2`, for any basis (see `parsimon.inference.sparse_bayes._moves`), while the form
    for one noise variance and an orthonormal basis [3]_ does not carry over to classes.

    Parameters
    ----------
    design : array_like of shape (n, M)
        Columns to choose from, a column of ones for the bias among them if one is wanted. Columns
        may have any scale, be equal or zero; 32-bit floats are used as they are.
    labels : array_like of shape (n,)
        0 or 1.
    row_weights : array_like of shape (n,), optional
        Factors of the log likelihoods: 2 counts a row twice, 0 leaves it out.
    prior : {"ard", "smooth"}
        Flat in the log precisions, or for few degrees of freedom.
    smoothness : {"aic", "bic", "ric"} or float
        c of the smooth prior: 1, :math:`\frac12 \log n`, :math:`\log n`, or a number.
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
        Without any column if none is of use: the probability is then 0.5 everywhere. A column
        stays only if it is worth a hundredth of the gain in log evidence, or a tenth of a nat.

    Notes
    -----
    In units of columns with mean square one, precisions are kept between 1e-8 and 1e10. For
    separable classes the weights stay finite: the evidence falls as the scores grow.

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
    >>> labels = (design[:, 3] - design[:, 7] + 0.5 * rng.normal(size=100) > 0).astype(int)
    >>> result = sparse_classification(design, labels)
    >>> {3, 7} <= set(result.active.tolist()), result.converged
    (True, True)
    """
    budget = check_budget(tol, max_iter, time_limit)
    targets = binary_targets(labels)
    weights = weights_of_rows(row_weights, len(targets))
    columns = scaled_columns(design, weights)
    penalty = smoothness_weight(prior, smoothness, weights.sum())
    problem = BernoulliProblem(columns, targets, weights, penalty)
    return maximise_by_columns(problem, start, 1.0, *budget)


@dataclass(frozen=True)
class BernoulliProblem(ColumnProblem):
    """Labels 0 or 1 with a logistic link, and a Gaussian posterior at the mode."""

    # In units of scaled columns, where a weight of one moves the log odds by about one: a prior
    # standard deviation of 10,000 is no prior, one of 1e-5 no column.
    precisions = (1e-8, 1e10)
    second_start = True

    def fit_columns(self, active: Indices, theta: Array, columns: Array, guess: Array) -> SparseFit:
        scaling = np.exp(-0.5 * theta)
        scaled = columns * scaling
        mode = sparse_mode(scaled, self.targets, self.row_weights, guess)
        spread = scaled @ mode.covariance
        # By how much the objective falls for a unit rise of a row's precision.
        leverage = 0.5 * np.einsum("ij,ij->i", spread, scaled)
        objective = mode.log_evidence
        if self.smoothness:
            leverage += self.smoothness * np.einsum("ij,ij->i", spread, spread)
            objective -= self.smoothness * (len(active) - mode.covariance.trace())
        slope = mode.precision * (1.0 - 2.0 * mode.probability)
        pull = mode.weights * ((slope * leverage) @ spread)
        return SparseFit(
            active=active,
            theta=theta,
            weights=mode.weights,
            covariance=mode.covariance,
            columns=columns,
            residual=mode.residual,
            precision=mode.precision,
            log_evidence=mode.log_evidence,
            objective=float(objective),
            gradient=evidence_gradient(mode.covariance, mode.weights, self.smoothness) + pull,
            make_hessian=partial(self._hessian, columns, theta, mode),
        )

    def _hessian(self, columns: Array, theta: Array, mode: LaplaceMode) -> Array:
        """Return the second derivatives; those of the smoothness prior with B held.

        What has as many rows as the table is computed again: to keep it would cost memory for
        every fit, and few are asked.
        """
        scaled = columns * np.exp(-0.5 * theta)
        spread = scaled @ mode.covariance
        p, b = mode.probability, mode.precision
        bends = b * (1.0 - 2.0 * p), b * (1.0 - 6.0 * p * (1.0 - p))
        held = evidence_hessian(mode.covariance, mode.weights, self.smoothness)
        return held + moving_hessian(scaled, spread, mode.weights, mode.covariance, bends)
