"""How good one kernel is: its fit to all rows, leave-one-out for nothing, and the shared folds.

For labels the error is the share of wrong answers and the loss is minus the log probability of
the right one. For numbers the error is the mean squared error over the variance of the target
(one for a model that knows only the mean) and the loss is minus the log density of the target
in units of its standard deviation.

A guide, at the end of the file, is what a search minimises, and what it looks at before it
cross-validates.
"""

import copy
import math
import time
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from parsimon._data import Task
from parsimon._deadline import Deadline, is_late, time_left
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.gp._process_fit import NOISE_LIMITS, NOISE_START, VARIANCE_LIMITS, fit_classifier
from parsimon.inference import LatentPosterior, classification_evidence, maximise_evidence
from parsimon.inference.evidence import EvidenceFit, evidence_curvature, process_evidence
from parsimon.inference.gaussian import RegressionPosterior
from parsimon.inference.likelihoods import leave_one_out_log_loss
from parsimon.inference.posterior import Latent, Sites
from parsimon.kernels import Kernel

# Mean of the diagonal that a low-rank form may leave out, for a number in units of the noise: the
# log evidence then errs by no more than the optimiser's tolerance; ranks are lower by a fifth.
RANK_TOLERANCE = 1e-4
# Of the optimiser. With the first the log evidence is off by 0.001 or so; with the second by 0.03
# in the median, and by more where the evidence is nearly flat for a while.
CLOSE: dict[str, Any] = {"value_tolerance": 1e-6, "gradient_tolerance": 1e-2}
LOOSE: dict[str, Any] = {"value_tolerance": 1e-4, "gradient_tolerance": 0.3}
# A term of a kernel whose prior variance is less says nothing: next to the least that fits allow,
# which is 0.04 for labels, and 0.0001 of the variance of a number.
FAINT: dict[Task, float] = {"classification": 0.08, "regression": 0.01}
# What one fit may cost, as `evaluation_cost` counts: about ten seconds of a processor. Of diamonds
# (76 hyperparameters, 1,500 rows) a fit that went on to its end had as little error on new rows on
# one draw, while half as much work cost 6 points of a thousand on another. A few evaluations are
# made whatever they cost.
MOST_WORK = 3e9
FEWEST_EVALUATIONS = 20
# Steps of a refit to a fold, about, and what all refits may cost beside a fit.
FOLD_STEPS, REFITS = 4, 2.0
# Of the time that is left, for one fit.
FIT_SHARE = 0.5
# What an evaluation of the evidence with its gradient takes, in those without.
_WITH_GRADIENT = 3.0


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """The data of a search and how a kernel is fitted to them.

    Shapes: X (n, d).

    y (n,): Labels -1 and 1; for regression the standardised target.
    folds: The same for every kernel.
    n_restarts: Further starts of the fit to all rows.
    refits: Whether each fold has hyperparameters of its own, or those of all rows.
    deadline: On the clock of `time.monotonic`: a fit then keeps the best so far.
    """

    X: Array
    y: Array
    task: Task
    folds: tuple[tuple[Indices, Indices], ...]
    n_restarts: int = 0
    refits: bool = True
    deadline: Deadline = None

    @property
    def least_variance(self) -> float:
        """What a term of a kernel has at least, unless it says nothing."""
        return FAINT[self.task]

    def copied(self) -> "KernelProblem":
        """Return the problem on fresh arrays: a memory map may be aligned otherwise."""
        return replace(self, X=np.array(self.X), y=np.array(self.y))


def shared_folds(
    cv: Any, X: Array, y: AnyArray, seed: np.random.SeedSequence
) -> tuple[tuple[Indices, Indices], ...]:
    """Return the (train, test) rows of each fold.

    Shapes: X (n, d), y (n,).
    """
    from sklearn.model_selection import KFold, check_cv

    number = int(seed.generate_state(1)[0])
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if cv < 2:
            raise InvalidInputError(f"cv must be 2 or more, got {cv}.")
        splitter: Any = KFold(int(cv), shuffle=True, random_state=number)
    else:
        splitter = copy.copy(check_cv(cv))
        shuffles = getattr(splitter, "shuffle", True)
        if shuffles and getattr(splitter, "random_state", number) is None:
            splitter.random_state = number
    return tuple((np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y))


def standard_target(y: AnyArray) -> Array:
    """Return a numeric target less its mean, in units of its deviation."""
    try:
        numbers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"A numeric target must be numbers: {error}.") from error
    deviation = float(numbers.std())
    return (numbers - numbers.mean()) / (deviation if deviation > 0 else 1.0)


class FitStart(NamedTuple):
    """Where the fit of a child begins: with its parent's posterior.

    sites: The parent's, for labels.
    noise_variance: The parent's, for a numeric target.
    """

    sites: Sites | None = None
    noise_variance: float | None = None


class WholeFit(NamedTuple):
    """A kernel fitted to all rows.

    kernel: With the hyperparameters found.
    n_theta: Number of hyperparameters, the noise of a regression among them.
    error, loss, loss_deviation: Leave-one-out error, mean loss and its standard error.
    noise_variance: Of a regression.
    """

    kernel: Kernel
    log_evidence: float
    n_theta: int
    error: float
    loss: float
    loss_deviation: float
    noise_variance: float | None
    converged: bool


class FoldFits(NamedTuple):
    """A kernel fitted to each training part and judged on the part left out.

    errors, losses, log_evidences: One for each fold.
    """

    errors: tuple[float, ...]
    losses: tuple[float, ...]
    log_evidences: tuple[float, ...]


class FailedFit(NamedTuple):
    """A measurement that could not be made, and why."""

    message: str


def parent_start(problem: KernelProblem, parent: Kernel, noise_variance: float | None) -> FitStart:
    """Return what the children of a fitted kernel begin with.

    It is computed again from the kernel, so that a search that resumes begins with the same bits.
    """
    if problem.task == "regression":
        return FitStart(noise_variance=noise_variance)
    fitted = fit_classifier(parent, problem.X, problem.y, optimise=False)
    return FitStart(sites=fitted.posterior.sites)


def fit_whole(
    problem: KernelProblem,
    kernel: Kernel,
    start: FitStart,
    seed: np.random.SeedSequence,
    *,
    loosely: bool = False,
) -> WholeFit:
    """Fit a kernel to all rows and judge it by leave-one-out.

    Expectation propagation's cavities, and a regression's, are the predictions of each row
    without it (Rasmussen and Williams 2006, section 5.4.2); Laplace's sites serve alike.
    """
    y = problem.y
    task = _KernelFit.of(problem, kernel, start.noise_variance)
    restarts: dict[str, Any] = {}
    if problem.n_restarts:
        restarts = {"start": task.starts(), "n_restarts": problem.n_restarts - 1}
    tolerances = LOOSE if loosely else CLOSE
    fitted = task.fit_in_bounds(start.sites, random_state=seed, **tolerances, **restarts)
    posterior = fitted.posterior
    if isinstance(posterior, RegressionPosterior):
        left_out = posterior.leave_one_out_target()
        noise: float | None = posterior.noise_variance
    else:
        left_out, noise = posterior.leave_one_out(), None
    errors, losses = _judge_rows(problem.task, left_out, y)
    return WholeFit(
        kernel.with_theta(fitted.theta[: kernel.n_theta]),
        float(posterior.log_evidence),
        kernel.n_theta + (noise is not None),
        float(errors.mean()),
        float(losses.mean()),
        float(losses.std(ddof=1) / np.sqrt(len(losses))),
        noise,
        fitted.optimisation.converged and posterior.converged,
    )


def evidence_at(problem: KernelProblem, kernel: Kernel, noise_variance: float | None) -> float:
    """Return the log evidence of all rows at a kernel's own hyperparameters."""
    task = _KernelFit.of(problem, kernel, noise_variance)
    try:
        return float(task.evidence(problem.X, problem.y)(task.theta, None).log_evidence)
    except (np.linalg.LinAlgError, FloatingPointError):
        return -math.inf


def cross_validate(problem: KernelProblem, whole: WholeFit) -> FoldFits:
    """Fit a kernel to each training part, from where the fit to all rows ended, and judge it.

    Bounds are those of all rows, so that a column that is constant in one part does no harm
    (He 2016, eq 3.5, measures the whole training set too). The optimum of a part is near that of
    all rows, and the evidence there curved alike: Newton's steps find it. A kernel of so many
    hyperparameters that the curvature costs more than a fit may, or more time than is left, keeps
    those of all rows.
    """
    task = _KernelFit.of(problem, whole.kernel, whole.noise_variance)
    evaluate = task.evidence(problem.X, problem.y)
    began = time.monotonic()
    posterior = evaluate(task.theta, None)
    n_steps = len(task.theta) + 2 * FOLD_STEPS * len(problem.folds)
    seconds = _WITH_GRADIENT * n_steps * (time.monotonic() - began)
    left = time_left(problem.deadline)
    curvature = None
    if problem.refits and task.can_refit(posterior) and (left is None or seconds < left):
        curvature = evidence_curvature(evaluate, posterior, task.theta, task.bounds)
    rows = [_judge_fold(task, posterior, curvature, *fold) for fold in problem.folds]
    errors, losses, evidences = zip(*rows, strict=True)
    return FoldFits(errors, losses, evidences)


def _judge_fold(
    task: "_KernelFit",
    whole: LatentPosterior,
    curvature: Array | None,
    train: Indices,
    test: Indices,
) -> tuple[float, float, float]:
    """Judge a kernel on a fold, by a refit from the fit to all rows if its curvature is known."""
    problem = task.problem
    X, y = problem.X, problem.y
    centre = float(y[train].mean()) if problem.task == "regression" else 0.0
    sites = whole.sites
    evaluate = task.evidence(
        X[train], y[train] - centre, Sites(sites.precision[train], sites.shift[train])
    )
    if curvature is None:
        posterior = evaluate(task.theta, None)
    else:
        share = len(train) / len(y)
        posterior = task.fit(evaluate, curvature=curvature * share, **CLOSE).posterior
    latent = posterior.latent(X[test])
    if isinstance(posterior, RegressionPosterior):
        noise = posterior.noise_variance
        latent = Latent(latent.mean + centre, latent.variance + noise)
    errors, losses = _judge_rows(problem.task, latent, y[test])
    return float(errors.mean()), float(losses.mean()), float(posterior.log_evidence)


@dataclass(frozen=True, eq=False)
class _KernelFit:
    """A kernel to be fitted: where its hyperparameters begin, and the noise with them.

    `fit_classifier` and `fit_regressor` do the same to tolerances that a ranking does not need.
    """

    problem: KernelProblem
    kernel: Kernel
    theta: Array
    bounds: Array
    limits: dict[str, Any]

    @classmethod
    def of(
        cls, problem: KernelProblem, kernel: Kernel, noise_variance: float | None
    ) -> "_KernelFit":
        is_regression = problem.task == "regression"
        limits: dict[str, Any] = {"variance": VARIANCE_LIMITS} if is_regression else {}
        theta, bounds = kernel.theta, kernel.bounds(problem.X, **limits)
        if is_regression:
            noise = NOISE_START if noise_variance is None else noise_variance
            theta = np.append(theta, np.log(noise))
            bounds = np.vstack([bounds, np.log(NOISE_LIMITS)])
        return cls(problem, kernel, theta, bounds, limits)

    def evidence(self, X: Array, y: Array, sites: Sites | None = None) -> Any:
        """Return the function from theta to a posterior on some rows of the problem."""
        if self.problem.task == "regression":
            return process_evidence(self.kernel, X, y, rank_tolerance=RANK_TOLERANCE)
        how: dict[str, Any] = {"start": sites, "rank_tolerance": RANK_TOLERANCE}
        return classification_evidence(self.kernel, X, y, **how)

    def starts(self) -> Array:
        """Return where the fit to all rows begins, the data's suggestion last."""
        suggested = self.kernel.start(self.problem.X, **self.limits).theta
        return np.stack([self.theta, np.append(suggested, self.theta[len(suggested) :])])

    def fit(self, evaluate: Any, start: Array | None = None, **options: Any) -> EvidenceFit[Any]:
        start = self.theta if start is None else start
        return maximise_evidence(evaluate, start, self.bounds, **options)

    def fit_in_bounds(self, sites: Sites | None, **options: Any) -> EvidenceFit[Any]:
        """Fit to all rows, for no more work and time than a fit may take."""
        problem = self.problem
        account = Account(
            self.evidence(problem.X, problem.y, sites), (1 + problem.n_restarts) * MOST_WORK
        )
        limit = time_left(problem.deadline, FIT_SHARE)
        return self.fit(account, time_limit=limit, enough=account.is_spent, **options)

    def can_refit(self, posterior: LatentPosterior) -> bool:
        """Say whether the curvature, and the steps of all folds, are affordable and in time."""
        n_steps = len(self.theta) + FOLD_STEPS * len(self.problem.folds)
        work = n_steps * evaluation_cost(posterior)
        return work <= REFITS * MOST_WORK and not is_late(self.problem.deadline)


class Account:
    """Evaluates, and adds up what that costs."""

    def __init__(self, evaluate: Any, most: float) -> None:
        self._evaluate, self._most = evaluate, most
        self.work, self.n_evaluations = 0.0, 0

    def __call__(self, theta: Array, previous: Any) -> Any:
        posterior = self._evaluate(theta, previous)
        self.work += evaluation_cost(posterior)
        self.n_evaluations += 1
        return posterior

    def is_spent(self) -> bool:
        """Say whether no further evaluation is to be made."""
        return self.n_evaluations >= FEWEST_EVALUATIONS and self.work >= self._most


def evaluation_cost(posterior: LatentPosterior) -> float:
    """Return what an evaluation of the evidence costs, in derivatives of kernel entries.

    One for each hyperparameter and entry that is looked at; eight products of the factorisations,
    of which there are rows times the square of the rank, take as long as one.
    """
    n, pivots = len(posterior.mean), posterior.prior.pivots
    rank = n // 2 if pivots is None else len(pivots)
    return n * rank * (len(posterior.kernel.theta) + rank / 8)


def _judge_rows(task: Task, predicted: Latent, y: Array) -> tuple[Array, Array]:
    """Return the error and the loss of each row."""
    if task == "regression":
        squares = (y - predicted.mean) ** 2
        variance = predicted.variance
        return squares, 0.5 * (np.log(2 * np.pi * variance) + squares / variance)
    # An even chance is called positive, as in predict.
    wrong = cast("Mask", (predicted.mean >= 0) != (y > 0))
    return wrong.astype(np.float64), leave_one_out_log_loss(predicted, y)


Guide: TypeAlias = Literal["cv_error", "cv_logloss", "loo_logloss", "nlml", "bic"]

GUIDES = ("cv_error", "cv_logloss", "loo_logloss", "nlml", "bic")
# Decimals to which guides are compared: an error to 0.01 %, evidence to 0.01 (He's program).
_DECIMALS = {"cv_error": 4, "cv_logloss": 4, "loo_logloss": 4, "nlml": 2, "bic": 2}


def bic(whole: WholeFit, n_rows: int) -> float:
    """Return minus twice the log evidence plus the number of hyperparameters times log n.

    As in the kernel search for regression by Duvenaud et al. (2013), section 4.
    """
    return -2 * whole.log_evidence + whole.n_theta * math.log(n_rows)


def needs_folds(guide: Guide) -> bool:
    """Say whether a guide is measured on the folds."""
    return guide.startswith("cv_")


def guide_value(guide: Guide, whole: WholeFit, folded: FoldFits | None, n_rows: int) -> float:
    """Return what the guide says of a kernel, less being better; NaN if it is not yet known."""
    if guide == "nlml":
        return -whole.log_evidence
    if guide == "bic":
        return bic(whole, n_rows)
    if guide == "loo_logloss":
        return whole.loss
    if folded is None:
        return math.nan
    return float(np.mean(folded.errors if guide == "cv_error" else folded.losses))


def first_look(guide: Guide, whole: WholeFit, n_rows: int) -> tuple[float, float]:
    """Return the key that decides who is cross-validated: leave-one-out's view of the guide."""
    if guide == "cv_error":
        return round_guide(guide, whole.error), whole.loss
    if guide == "cv_logloss":
        return round_guide(guide, whole.loss), -whole.log_evidence
    return round_guide(guide, guide_value(guide, whole, None, n_rows)), -whole.log_evidence


def round_guide(guide: Guide, value: float) -> float:
    """Return a guide's value as precisely as two kernels are told apart."""
    return round(value, _DECIMALS[guide])


def deviation(guide: Guide, whole: WholeFit, folded: FoldFits | None) -> float:
    """Return the standard error of the guide's value; NaN where there is none."""
    if guide == "loo_logloss":
        return whole.loss_deviation
    if folded is None or not needs_folds(guide):
        return math.nan
    values = folded.errors if guide == "cv_error" else folded.losses
    return standard_error(values)


def standard_error(values: tuple[float, ...]) -> float:
    """Return the standard error of a mean over folds; NaN for a single fold."""
    if len(values) < 2:
        return math.nan
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))
