"""Sparse Bayesian classification of two classes: climbing the Laplace evidence."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes._mode import (
    Bends,
    LaplaceMode,
    evidence_gradient,
    evidence_hessian,
    moving_hessian,
    sparse_mode,
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
    binary_targets,
    check_budget,
    scaled_columns,
    smoothness_weight,
    weights_of_rows,
)
from parsimon.inference.sparse_bayes.fast import maximise_by_columns, scaled_start, to_result

# In units of scaled columns, where a weight of one moves the log odds by about one: a prior
# standard deviation of 10,000 is no prior, one of 1e-5 no column.
_PRECISIONS = (1e-8, 1e10)


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
    tol, max_iter, time_limit = check_budget(tol, max_iter, time_limit)
    targets = binary_targets(labels)
    weights = weights_of_rows(row_weights, len(targets))
    columns = scaled_columns(design, weights)
    penalty = smoothness_weight(prior, smoothness, weights.sum())
    problem = BernoulliProblem(columns, targets, weights, penalty)
    climb = maximise_by_columns(
        problem,
        problem.empty(),
        unpriced=replace(problem, smoothness=0.0) if penalty else None,
        start=None if start is None else problem.warm(start),
        tol=tol,
        max_iter=max_iter,
        time_limit=time_limit,
    )
    return to_result(climb, columns)


@dataclass(frozen=True)
class BernoulliProblem:
    """Labels 0 or 1 with a logistic link, and a Gaussian posterior at the mode."""

    columns: ScaledColumns
    targets: Array
    row_weights: Array
    smoothness: float

    def evaluate(
        self, active: Indices, theta: Array, columns: Array, guess: Array
    ) -> SparseFit | None:
        try:
            return self._fit(active, theta, columns, guess)
        except np.linalg.LinAlgError:
            return None

    def _fit(self, active: Indices, theta: Array, columns: Array, guess: Array) -> SparseFit:
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
        bends = Bends(b * (1.0 - 2.0 * p), b * (1.0 - 6.0 * p * (1.0 - p)))
        held = evidence_hessian(mode.covariance, mode.weights, self.smoothness)
        return held + moving_hessian(scaled, spread, mode.weights, mode.covariance, bends)

    def sweep(self, fit: SparseFit, pool: Indices | None = None) -> ColumnSweep:
        return sweep_columns(self.columns, fit, self.smoothness, pool)

    def refresh(self, fit: SparseFit, sweep: ColumnSweep) -> ColumnSweep:
        return refresh_quality(self.columns, fit, sweep)

    def take(self, indices: Indices) -> Array:
        return self.columns.take(indices)

    def bounds(self, theta: Array) -> tuple[Array, Array]:
        low, high = np.log(_PRECISIONS)
        return np.full_like(theta, low), np.full_like(theta, high)

    def precision_bounds(self) -> tuple[float, float]:
        return _PRECISIONS

    def empty(self) -> SparseFit:
        """Return the fit without any column."""
        nothing = np.empty(0)
        none = np.empty(0, dtype=np.intp)
        return self._fit(none, nothing, self.take(none), nothing)

    def warm(self, given: SparseBayes) -> SparseFit | None:
        """Return the fit with the columns and precisions of an earlier result."""
        active, alpha, guess = scaled_start(given, self.columns)
        theta = np.log(np.clip(alpha, *_PRECISIONS))
        return self.evaluate(active, theta, self.take(active), guess)
