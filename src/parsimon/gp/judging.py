"""How good one kernel is: its fit to all rows, leave-one-out for nothing, and the shared folds.

For labels the error is the share of wrong answers and the loss is minus the log probability of
the right one. For numbers the error is the mean squared error over the variance of the target
(one for a model that knows only the mean) and the loss is minus the log density of the target
in units of its standard deviation.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from parsimon._typing import Array, Indices, Mask
from parsimon.gp.fit import NOISE_LIMITS, NOISE_START, VARIANCE_LIMITS, fit_classifier
from parsimon.inference import (
    EvidenceFit,
    Latent,
    LatentPosterior,
    RegressionPosterior,
    Sites,
    classification_evidence,
    expectation_propagation,
    laplace,
    latent_prior,
    leave_one_out_log_loss,
    maximise_evidence,
    regression_evidence,
)
from parsimon.kernels import Kernel

Task: TypeAlias = Literal["classification", "regression"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The data of a search and how a kernel is fitted to them.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        Labels -1 and 1; for regression the standardised target.
    task : {"classification", "regression"}
    folds : tuple of (train, test) row numbers
        The same for every kernel.
    inference : {"ep", "laplace"}
        For labels.
    n_restarts : int
        Further starts of the fit to all rows.
    """

    X: Array
    y: Array
    task: Task
    folds: tuple[tuple[Indices, Indices], ...]
    inference: Literal["ep", "laplace"] = "ep"
    n_restarts: int = 0

    def copied(self) -> "Problem":
        """Return the problem on fresh arrays: a memory map may be aligned otherwise."""
        return replace(self, X=np.array(self.X), y=np.array(self.y))


class Start(NamedTuple):
    """Where the fit of a child begins: with its parent's posterior.

    Attributes
    ----------
    sites : Sites or None
        The parent's, for labels.
    noise_variance : float or None
        The parent's, for a numeric target.
    """

    sites: Sites | None = None
    noise_variance: float | None = None


class Whole(NamedTuple):
    """A kernel fitted to all rows.

    Attributes
    ----------
    kernel : Kernel
        With the hyperparameters found.
    log_evidence : float
    n_theta : int
        Number of hyperparameters, the noise of a regression among them.
    error, loss, loss_deviation : float
        Leave-one-out error, mean loss and its standard error.
    noise_variance : float or None
        Of a regression.
    converged : bool
    """

    kernel: Kernel
    log_evidence: float
    n_theta: int
    error: float
    loss: float
    loss_deviation: float
    noise_variance: float | None
    converged: bool


class Folded(NamedTuple):
    """A kernel fitted to each training part and judged on the part left out.

    Attributes
    ----------
    errors, losses, log_evidences : tuple of float
        One for each fold.
    """

    errors: tuple[float, ...]
    losses: tuple[float, ...]
    log_evidences: tuple[float, ...]


def parent_start(problem: Problem, parent: Kernel, noise_variance: float | None) -> Start:
    """Return what the children of a fitted kernel begin with.

    It is computed again from the kernel, so that a search that resumes begins with the same bits.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X, y = np.arange(6.0)[:, None], np.array([-1.0, -1, -1, 1, 1, 1])
    >>> problem = Problem(X, y, "classification", ())
    >>> parent_start(problem, SquaredExponential(0), None).sites.precision.shape
    (6,)
    """
    if problem.task == "regression":
        return Start(noise_variance=noise_variance)
    fitted = fit_classifier(
        parent, problem.X, problem.y, inference=problem.inference, optimise=False
    )
    return Start(sites=fitted.posterior.sites)


def fit_whole(
    problem: Problem, kernel: Kernel, start: Start, seed: np.random.SeedSequence
) -> Whole:
    """Fit a kernel to all rows and judge it by leave-one-out.

    Expectation propagation's cavities, and a regression's, are the predictions of each row
    without it (Rasmussen and Williams 2006, section 5.4.2); Laplace's sites serve alike.

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
        Its hyperparameters are the start.
    start : Start
        From `parent_start`.
    seed : SeedSequence
        Draws the restarts.

    Returns
    -------
    Whole

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X, y = np.arange(6.0)[:, None], np.array([-1.0, -1, -1, 1, 1, 1])
    >>> problem = Problem(X, y, "classification", ())
    >>> fit_whole(problem, SquaredExponential(0), Start(), np.random.SeedSequence(0)).error
    0.0
    """
    X, y = problem.X, problem.y
    fitted = _fit(problem, kernel, X, y, start=start, seed=seed)
    posterior = fitted.posterior
    if isinstance(posterior, RegressionPosterior):
        left_out = posterior.leave_one_out_target()
        noise: float | None = posterior.noise_variance
    else:
        left_out, noise = posterior.leave_one_out(), None
    errors, losses = _judged(problem.task, left_out, y)
    return Whole(
        kernel.with_theta(fitted.theta[: kernel.n_theta]),
        float(posterior.log_evidence),
        kernel.n_theta + (noise is not None),
        float(errors.mean()),
        float(losses.mean()),
        float(losses.std(ddof=1) / np.sqrt(len(losses))),
        noise,
        fitted.optimisation.converged and posterior.converged,
    )


def cross_validate(problem: Problem, whole: Whole) -> Folded:
    """Fit a kernel to each training part, from where the fit to all rows ended, and judge it.

    Bounds are those of all rows, so that a column that is constant in one part does no harm
    (He 2016, eq 3.5, measures the whole training set too).

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X, y = np.arange(6.0)[:, None], np.array([-1.0, -1, -1, 1, 1, 1])
    >>> halves = ((np.array([0, 2, 4]), np.array([1, 3, 5])),)
    >>> problem = Problem(X, y, "classification", halves)
    >>> whole = fit_whole(problem, SquaredExponential(0), Start(), np.random.SeedSequence(0))
    >>> cross_validate(problem, whole).errors
    (0.0,)
    """
    rows = [_judge_fold(problem, whole, train, test) for train, test in problem.folds]
    errors, losses, evidences = zip(*rows, strict=True)
    return Folded(errors, losses, evidences)


def _judge_fold(
    problem: Problem, whole: Whole, train: Indices, test: Indices
) -> tuple[float, float, float]:
    X, y = problem.X, problem.y
    start = Start(noise_variance=whole.noise_variance)
    centre = float(y[train].mean()) if problem.task == "regression" else 0.0
    fitted = _fit(problem, whole.kernel, X[train], y[train] - centre, start=start)
    latent = fitted.posterior.latent(X[test])
    if isinstance(fitted.posterior, RegressionPosterior):
        noise = fitted.posterior.noise_variance
        latent = Latent(latent.mean + centre, latent.variance + noise)
    errors, losses = _judged(problem.task, latent, y[test])
    return float(errors.mean()), float(losses.mean()), float(fitted.posterior.log_evidence)


def _fit(
    problem: Problem,
    kernel: Kernel,
    X: Array,
    y: Array,
    *,
    start: Start,
    seed: np.random.SeedSequence | None = None,
) -> EvidenceFit[LatentPosterior] | EvidenceFit[RegressionPosterior]:
    """Fit to some rows of the problem; without a seed there are no restarts.

    `fit_classifier` and `fit_regressor` do the same to a tolerance that a ranking does not need:
    with this one the log evidence is off by 0.001 or so, and half of the evaluations are saved.
    """
    options: dict[str, Any] = {
        "random_state": seed,
        "value_tolerance": 1e-6,
        "gradient_tolerance": 1e-2,
    }
    theta = kernel.theta[None, :]
    limits: dict[str, Any] = (
        {} if problem.task == "classification" else {"variance": VARIANCE_LIMITS}
    )
    if seed is not None and problem.n_restarts:
        theta = np.vstack([theta, kernel.start(problem.X, **limits).theta])
        options["n_restarts"] = problem.n_restarts - 1
    bounds = kernel.bounds(problem.X, **limits)
    if problem.task == "regression":
        noise = NOISE_START if start.noise_variance is None else start.noise_variance
        theta = np.column_stack([theta, np.full(len(theta), np.log(noise))])
        bounds = np.vstack([bounds, np.log(NOISE_LIMITS)])
        return maximise_evidence(regression_evidence(kernel, X, y), theta, bounds, **options)
    evaluate = classification_evidence(kernel, X, y, inference=problem.inference)
    return maximise_evidence(
        evaluate, theta, bounds, warm_start=_warm(problem, kernel, start), **options
    )


def _warm(problem: Problem, kernel: Kernel, start: Start) -> LatentPosterior | None:
    """Return a posterior of the kernel itself that began with the parent's sites."""
    if start.sites is None:
        return None
    prior = latent_prior(kernel, problem.X)
    infer = expectation_propagation if problem.inference == "ep" else laplace
    return infer(prior, problem.y, start=start.sites)


def _judged(task: Task, predicted: Latent, y: Array) -> tuple[Array, Array]:
    """Return the error and the loss of each row."""
    if task == "regression":
        squares = (y - predicted.mean) ** 2
        variance = predicted.variance
        return squares, 0.5 * (np.log(2 * np.pi * variance) + squares / variance)
    # An even chance is called positive, as in predict.
    wrong = cast("Mask", (predicted.mean >= 0) != (y > 0))
    return wrong.astype(np.float64), leave_one_out_log_loss(predicted, y)
