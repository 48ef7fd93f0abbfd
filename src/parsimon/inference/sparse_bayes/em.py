r"""Sparse Bayesian learning with all columns in the model at first, thinned by MacKay's updates.

:math:`\alpha_m \leftarrow \gamma_m / \mu_m^2` for all columns at once, with
:math:`\gamma_m = 1 - \alpha_m \Sigma_{mm}`; for Gaussian noise also
:math:`\sigma^2 \leftarrow \|t - \Phi\mu\|^2 / (N - \sum \gamma)` [1]. The first steps cost the
cube of the number of rows or of columns, whichever is smaller: `fast` is usually the better choice
and this the reference. Unlike in the textbook no step lowers the evidence: its gradient for a log
precision is half the difference of two terms that are not negative, MacKay's update multiplies the
precision by their ratio, and so it is a step uphill whose length `ascend` adapts. A column leaves
when its best precision is infinite and the evidence does not fall without it.

Read `ascend` first; `EMGaussian` and `EMBernoulli` are the likelihoods, in scaled units.

[1] Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", JMLR 1,
   eqs 16 to 18; MacKay (1992), "Bayesian interpolation", Neural Computation 4.
"""

import time
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.special import expit

from parsimon._checks import check_positive, finite_vector
from parsimon._typing import Array, Indices, Mask
from parsimon.inference.irls import logistic_mode
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
    target_scale,
    weights_of_rows,
)
from parsimon.inference.sparse_bayes.spread import (
    Spread,
    distinct_columns,
    is_wide,
    posterior_spread,
)

CONVERGED = "No log precision would change by more than the tolerance."
IDLE = "An update no longer raises the objective."

# Greatest change of a log precision in one step, and the least share of a step that is tried.
_LONGEST = 10.0
_SHORTEST = 2.0**-10
# By how much an update that succeeded is lengthened next time, and at most in all.
_STRETCH, _LARGEST = 1.5, 20.0
# The precision at which a column is tried without, in units of what the data say about its weight
# if it were alone. Among columns that do nearly the same, each by itself looks needless early on.
_LARGEST_PRECISION = 1e3
# When no log precision would change by more, columns that are futile are tried without.
_SETTLED = 0.1
# In units of the tolerance; a rise that the last digit of log alpha would make.
_LEAST_RISE = 1e-4


@dataclass(frozen=True)
class EMPoint:
    r"""The objective for one set of precisions, and what the next step needs.

    theta (m,): Log precisions; the log noise variance last where it is estimated.
    rise, fall: The gradient is half of their difference.
    information (m,): What the data say about each weight if it were alone, in units of the
        prior precision.
    futile (m,): Columns whose best precision is infinite as long as the others stay.
    weights (m,): Posterior mean in units of the prior.
    """

    theta: Array
    objective: float
    log_evidence: float
    rise: Array
    fall: Array
    information: Array
    futile: Mask
    weights: Array


class EMProblem(Protocol):
    """A likelihood with the columns that are still in the model."""

    def evaluate(self, theta: Array, guess: Array | None) -> EMPoint:
        """Return the point; `guess` are weights in units of the prior, next to the mode."""

    def keep(self, staying: Indices) -> "EMProblem":
        """Return the problem with some of its columns."""

    def bounds(self, n_theta: int) -> tuple[Array, Array]:
        """Return the least and the greatest value of each entry of theta."""

    def covariance(self, point: EMPoint) -> Array:
        """Return the posterior covariance of the weights in units of the prior."""


@dataclass(frozen=True)
class EMResult:
    """Where a run ended.

    Shapes: history (n_steps,).

    kept (m,): Which of the columns at the start are still there.
    """

    problem: EMProblem
    point: EMPoint
    kept: Indices
    history: Array
    n_iter: int
    converged: bool
    reason: str


def ascend(problem: EMProblem, theta: Array, budget: tuple[float, int, float | None]) -> EMResult:
    """Update all precisions until they no longer change, dropping columns on the way."""
    tol, max_iter, time_limit = budget
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    point = problem.evaluate(np.clip(theta, *problem.bounds(len(theta))), None)
    kept = np.arange(len(point.weights))
    history, reason, n_iter, stretch, idle = [point.objective], "", 0, 1.0, False
    while not reason:
        wanted = _wanted(problem, point)
        largest = np.abs(wanted).max(initial=0.0)
        settled = idle or largest < _SETTLED
        problem, point, staying = _prune(problem, point, every=settled)
        if len(staying) < len(kept):
            kept, idle = kept[staying], False
            history.append(point.objective)
        elif largest < tol:
            reason = CONVERGED
        elif idle:
            reason = IDLE
        elif n_iter >= max_iter:
            reason = f"Stopped after max_iter={max_iter} updates."
        elif time.monotonic() > deadline:
            reason = "Stopped at the time limit."
        else:
            n_iter += 1
            point, stretch = _step(problem, point, wanted, stretch)
            idle = point.objective - history[-1] < _LEAST_RISE * tol
            history.append(point.objective)
    converged = reason in (CONVERGED, IDLE)
    return EMResult(problem, point, kept, np.array(history), n_iter, converged, reason)


def _wanted(problem: EMProblem, point: EMPoint) -> Array:
    """Return the change of theta that MacKay's update makes, inside the bounds."""
    tiny = np.finfo(np.float64).tiny
    change = np.log(np.maximum(point.rise, tiny)) - np.log(np.maximum(point.fall, tiny))
    low, high = problem.bounds(len(point.theta))
    moved = np.clip(point.theta + np.clip(change, -_LONGEST, _LONGEST), low, high)
    step: Array = moved - point.theta
    return step


def _step(problem: EMProblem, point: EMPoint, wanted: Array, size: float) -> tuple[EMPoint, float]:
    """Return the point after a share or a multiple of the update, and the next one to try.

    Updates of columns that do nearly the same are much too short, so they are lengthened as long
    as that succeeds; one that would lower the objective is shortened.
    """
    low, high = problem.bounds(len(point.theta))
    n_columns = len(point.weights)
    while size >= _SHORTEST:
        theta = np.clip(point.theta + np.clip(size * wanted, -_LONGEST, _LONGEST), low, high)
        # The scores of the last mode: weights in units of the prior grow with its precision.
        guess = point.weights * np.exp(0.5 * (theta - point.theta)[:n_columns])
        found = problem.evaluate(theta, guess)
        if found.objective >= point.objective:
            return found, min(max(_STRETCH * size, 1.0), _LARGEST)
        size = min(1.0, 0.5 * size)
    return point, 1.0


def _prune(
    problem: EMProblem, point: EMPoint, *, every: bool
) -> tuple[EMProblem, EMPoint, Indices]:
    """Drop futile columns unless the objective would fall.

    Those of a large precision go all at once; of `every` futile one no more than half goes before
    the rest has settled again, because columns that do the same may be futile only together.
    """
    everything = np.arange(len(point.weights))
    leaving = np.flatnonzero(point.futile & (_LARGEST_PRECISION * point.information < 1.0))
    if every and not len(leaving):
        leaving = np.flatnonzero(point.futile)
        leaving = leaving[np.argsort(point.information[leaving], kind="stable")]
        leaving = leaving[: (len(leaving) + 1) // 2]
    while len(leaving):
        staying = np.setdiff1d(everything, leaving)
        theta = np.append(point.theta[staying], point.theta[len(everything) :])
        smaller = problem.keep(staying)
        found = smaller.evaluate(theta, point.weights[staying])
        if found.objective >= point.objective:
            return smaller, found, staying
        leaving = leaving[: len(leaving) // 2]
    return problem, point, everything


# Of a log precision; columns have mean square one and targets variance one.
_LOG_PRECISION = (np.log(1e-14), np.log(1e14))
_LOG_ODDS_PRECISION = (np.log(1e-12), np.log(1e10))
# Noise is at least this share of the variance of the targets: below it only rounding is left.
_LOG_NOISE = (np.log(1e-10), np.log(1e2))
# The determinant is of first order in the error of the mode, whose square this is.
_MODE_TOLERANCE = 1e-14


@dataclass(frozen=True)
class EMGaussian:
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

    def keep(self, staying: Indices) -> "EMGaussian":
        columns = self.columns[:, staying]
        gram = self.gram[np.ix_(staying, staying)] if self.gram is not None else None
        if gram is None and not is_wide(columns):
            gram = columns.T @ columns
        return EMGaussian(
            columns, self.targets, self.n_observations, self.noise_variance, self.smoothness, gram
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
class EMBernoulli:
    """Labels 0 or 1 with a logistic link, by Laplace's method.

    Shapes: columns (n, m), labels, row_weights (n,).
    """

    columns: Array
    labels: Array
    row_weights: Array
    smoothness: float

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

    def keep(self, staying: Indices) -> "EMBernoulli":
        return EMBernoulli(self.columns[:, staying], self.labels, self.row_weights, self.smoothness)

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
            tol=_MODE_TOLERANCE,
        )
        if root is X:
            return mode.weights, mode.scores, mode.log_posterior
        residual = self.row_weights * (self.labels - expit(mode.scores))
        return X.T @ residual, mode.scores, mode.log_posterior


# Changes of the first log precision that are tried for all columns together.
_COMMON = tuple(-np.log(10.0) * np.arange(0, 12, 2))


def em_regression(
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
    r"""Sparse Bayesian regression by MacKay's updates of all precisions at once.

    Parameters
    ----------
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

    Examples
    --------
    >>> x = np.linspace(-1, 1, 9)
    >>> design = np.column_stack([np.ones(9), x, x**2, x**3])
    >>> result = em_regression(design, 1 - 2 * x + 0.1 * np.cos(9 * x))
    >>> result.active, result.mean.round(1), result.converged
    (array([0, 1]), array([ 1., -2.]), True)
    """
    budget = check_budget(tol, max_iter, time_limit)
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
    problem = EMGaussian(
        columns.take(active)[used] * root[:, None],
        goal[used] * root / unit,
        n_observations,
        noise,
        smoothness_weight(prior, smoothness, n_observations),
    ).keep(np.arange(len(active)))
    climb = best_ascent if start is None else ascend
    ascent = climb(problem, theta, budget)
    return as_result(
        ascent,
        active,
        columns.scale[active] / unit,
        shift=n_observations * np.log(unit),
        noise_variance=problem.noise(ascent.point.theta) * unit**2,
    )


def em_classification(
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
    r"""Sparse Bayesian classification of two classes by MacKay's updates, with Laplace's method.

    The update is :math:`\alpha_m \leftarrow \gamma_m / (\mu_m^2 - \mu_m z_m)`, where z is what the
    textbook neglects: a precision moves the mode, and with it the curvature there. Without it the
    updates end where the evidence that they report is not at its maximum.

    Parameters
    ----------
    design : ndarray of shape (n, M)
    labels : ndarray of shape (n,)
        0 or 1.
    row_weights, prior, smoothness, max_iter, tol, time_limit, start
        As in `em_regression`.

    Returns
    -------
    SparseBayes

    Examples
    --------
    >>> x = np.linspace(-1, 1, 12)
    >>> labels = (x + 0.4 * np.cos(9 * x) > 0).astype(float)
    >>> result = em_classification(np.column_stack([np.ones(12), x, x**2]), labels)
    >>> result.active, result.converged
    (array([1]), True)
    """
    budget = check_budget(tol, max_iter, time_limit)
    targets = binary_targets(labels)
    weights = weights_of_rows(row_weights, len(targets))
    columns = scaled_columns(design, weights)
    used = np.flatnonzero(weights > 0)
    active, theta = first_precisions(columns, used, start, unit=1.0)
    problem = EMBernoulli(
        columns.take(active)[used],
        targets[used],
        weights[used],
        smoothness_weight(prior, smoothness, float(weights.sum())),
    )
    climb = best_ascent if start is None else ascend
    ascent = climb(problem, theta, budget)
    return as_result(ascent, active, columns.scale[active])


def first_precisions(
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


def best_common_precision(problem: EMProblem, theta: Array, n_columns: int) -> Array:
    """Return theta with the best of a few precisions that all columns share.

    With a wide kernel all columns are nearly the same, and what they differ in matters only for
    weights much larger than those of columns that share nothing.
    """
    low, high = problem.bounds(len(theta))
    trials = []
    for shift in _COMMON:
        trial = theta.copy()
        trial[:n_columns] += shift
        trials.append(problem.evaluate(np.clip(trial, low, high), None))
    best = max(trials, key=lambda point: point.objective)
    return best.theta


def best_ascent(
    problem: EMGaussian | EMBernoulli, theta: Array, budget: tuple[float, int, float | None]
) -> EMResult:
    """Ascend from one precision for all columns.

    Under a smoothness prior columns that pay only together would all leave at once: for classes a
    second ascent begins at the top that there is without the prior. Of numbers that top may explain
    the noise, where evidence has no bound.
    """
    n_columns = problem.columns.shape[1]
    first = ascend(problem, best_common_precision(problem, theta, n_columns), budget)
    if not problem.smoothness or isinstance(problem, EMGaussian):
        return first
    top = best_ascent(replace(problem, smoothness=0.0), theta, budget)
    second = ascend(problem.keep(top.kept), top.point.theta, budget)
    second = replace(second, kept=top.kept[second.kept])
    return max(first, second, key=lambda ascent: ascent.point.objective)


def as_result(
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
