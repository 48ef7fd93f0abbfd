"""Fits of one Gaussian process: arrays in, kernel and posterior out.

Estimators and the search over kernels share `fit_classifier`, `fit_softmax` and `fit_regressor`.
The kernel that is given is the start; the bounds keep it between the grain and the extent of the
data.

An evaluation of a dense kernel matrix costs the cube of the rows. Where that is dear, a `Coarse`
fit to some of the rows goes first: its optimum is near the optimum of all, and the evidence is
there curved alike, nearly in proportion to the rows. From that start and with that curvature, a
handful of Newton's steps on all rows meets the tolerance.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from parsimon._checks import check_choice, finite_matrix, finite_vector
from parsimon._deadline import end_after, time_left
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference import (
    LatentPosterior,
    classification_evidence,
    latent_prior,
    maximise_evidence,
)
from parsimon.inference.evidence import EvidenceFit, evidence_curvature, process_evidence
from parsimon.inference.gaussian import RegressionPosterior
from parsimon.inference.likelihoods import probit_tilted
from parsimon.inference.posterior import Latent, Sites
from parsimon.inference.prior import DensePrior, Form, LowRankPrior
from parsimon.inference.softmax_laplace import SoftmaxPosterior, softmax_evidence
from parsimon.kernels import Kernel
from parsimon.optimise import random_starts


def stratified_rows(labels: AnyArray, n_rows: int) -> Indices:
    """Return about `n_rows` rows with the classes in their proportions, always the same ones."""
    order = np.random.default_rng(0).permutation(len(labels))
    chosen = []
    for label in np.unique(labels):
        own = order[labels[order] == label]
        share = max(1, round(n_rows * len(own) / len(labels)))
        chosen.append(own[:share])
    return np.sort(np.concatenate(chosen))


def predicted_sites(
    posterior: LatentPosterior, X: Array, y_signs: Array, weights: Array | None
) -> Sites:
    """Return sites for many rows, from a posterior that has seen some of them.

    The prediction at a row stands for its cavity, and its site follows by matching moments.

    Shapes: X (n, d), y_signs (n,), weights (n,).
    """
    cavity: Latent = posterior.latent(X)
    slope, curvature = probit_tilted(cavity, y_signs)
    scale = (1.0 if weights is None else weights) / (1.0 - cavity.variance * curvature)
    return Sites(scale * curvature, scale * (slope + cavity.mean * curvature))


# Rows from which it pays; rows of the first fit, at least and as a share of all. Measured on
# 1000 rows: 150 to 250 are too few for a good curvature, and 500 save no evaluation over 300.
FEWEST_ROWS = 600
FIRST_ROWS = 300
FIRST_SHARE = 0.25
# The curvature grows with this power of the rows, less than in proportion, since a new row tells
# what its neighbours told already: measured on five tables, where it saves a tenth of the steps.
GROWTH = 0.85
# The evidence of some rows is no nearer to that of all rows than this: more digits are wasted.
TOLERANCES: dict[str, Any] = {"value_tolerance": 1e-3, "gradient_tolerance": 0.1}
# Optima nearer than this in all log hyperparameters are the same one.
SAME = 0.2
# Share of the first rows that a low-rank form may need to be worth trying on all rows.
MOST_RANK = 0.75


class Coarse(NamedTuple):
    """Where the fit to all rows begins.

    starts (n_starts, p): Different optima of the first rows, the best first.
    curvatures (n_starts, p, p): Second derivatives of minus the log evidence of all rows,
        about.
    sites: Predicted from the first rows.
    form: Of the kernel matrix of all rows.
    n_evaluations: On the first rows.
    """

    starts: Array
    curvatures: Array
    sites: Sites
    form: Form
    n_evaluations: int


def is_worthwhile(kernel: Kernel, X: Array, y_signs: Array, form: Form) -> bool:
    """Say whether evaluations on all rows are so dear that some rows should go first."""
    if len(X) < FEWEST_ROWS or form == "low_rank":
        return False
    if form == "dense":
        return True
    some = X[stratified_rows(y_signs, FIRST_ROWS)]
    return not isinstance(latent_prior(kernel, some), LowRankPrior)


def coarse_fit(
    kernel: Kernel,
    X: Array,
    y_signs: Array,
    starts: Array,
    bounds: Array,
    *,
    how: dict[str, Any],
    search: dict[str, Any],
) -> Coarse:
    """Fit to some rows from each start.

    Shapes: X (n, d), y_signs (n,), starts (n_starts, p), bounds (p, 2).
    """
    n_first = max(FIRST_ROWS, round(FIRST_SHARE * len(X)))
    weights = np.ones(len(X)) if how["weights"] is None else how["weights"]
    used = np.flatnonzero(weights > 0)
    curvatures: list[Array] = []
    n_evaluations = 0
    for n_rows in (n_first // 2, n_first):
        rows = used[stratified_rows(y_signs[used], n_rows)]
        own = how | {"weights": weights[rows], "form": "dense"}
        evaluate = classification_evidence(kernel, X[rows], y_signs[rows], **own)
        # The evidence of all rows is curved so many times less than that of these.
        share = float(weights[rows].sum() / weights.sum()) ** GROWTH
        known = [each * share for each in curvatures] or [None] * len(starts)
        fits = _different(
            [
                maximise_evidence(
                    evaluate, start, bounds, curvature=curvature, **TOLERANCES, **search
                )
                for start, curvature in zip(starts, known, strict=True)
            ]
        )
        curvatures = [
            evidence_curvature(evaluate, fit.posterior, fit.theta, bounds) / share for fit in fits
        ]
        starts = np.stack([fit.theta for fit in fits])
        n_evaluations += sum(fit.optimisation.n_evaluations for fit in fits)
    return Coarse(
        starts,
        np.stack(curvatures),
        predicted_sites(fits[0].posterior, X, y_signs, how["weights"]),
        _form(kernel.with_theta(starts[0]), X[rows], how["form"]),
        n_evaluations,
    )


def _different(fits: list[EvidenceFit[LatentPosterior]]) -> list[EvidenceFit[LatentPosterior]]:
    """Return fits with different hyperparameters, the greatest evidence first."""
    kept: list[EvidenceFit[LatentPosterior]] = []
    for fit in sorted(fits, key=lambda fit: fit.optimisation.value):
        if all(np.max(np.abs(fit.theta - other.theta)) > SAME for other in kept):
            kept.append(fit)
    return kept


def _form(kernel: Kernel, X: Array, form: Form) -> Form:
    """Return "dense" if low rank has no prospect on more rows."""
    if form != "auto":
        return form
    prior = latent_prior(kernel, X, form="low_rank")
    rank = prior.factor.shape[1] if isinstance(prior, LowRankPrior) else len(X)
    return "dense" if rank > MOST_RANK * len(X) else "auto"


P = TypeVar("P", LatentPosterior, RegressionPosterior, SoftmaxPosterior)

# Limits of a noise variance and of a kernel's variance, in units of the targets' variance.
NOISE_LIMITS = (1e-6, 4.0)
VARIANCE_LIMITS = (1e-4, 400.0)
# The noise that a fit begins with, in the same units.
NOISE_START = 0.1


@dataclass(frozen=True, eq=False)
class FittedProcess(Generic[P]):
    """A kernel with its best hyperparameters, and the posterior that follows.

    It unpacks into its fields. No tuple, since skops knows none that is generic.

    n_evaluations: How often the evidence was computed.
    converged: Whether the optimiser met its tolerance, or found nothing better within rounding,
        and the inference met its own.
    message: Why the optimiser stopped.
    """

    kernel: Kernel
    posterior: P
    log_evidence: float
    n_evaluations: int
    converged: bool
    message: str

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, field.name) for field in fields(self))


def fit_classifier(
    kernel: Kernel,
    X: Array,
    y_signs: Array,
    *,
    inference: Literal["ep", "laplace"] = "ep",
    weights: Array | None = None,
    bounds: Array | None = None,
    start: LatentPosterior | Sites | None = None,
    optimise: bool = True,
    n_restarts: int = 0,
    random_state: Seed = None,
    form: Form = "auto",
    max_iterations: int = 200,
    time_limit: float | None = None,
    n_optimised: int | None = 1500,
) -> FittedProcess[LatentPosterior]:
    """Fit a binary classifier with the probit likelihood.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite; its hyperparameters are the start.
    X : ndarray of shape (n, d)
    y_signs : ndarray of shape (n,)
        Labels -1 and 1.
    inference : {"ep", "laplace"}
        Expectation propagation or Laplace's approximation.
    weights : ndarray of shape (n,), optional
        Powers of the likelihood terms; integers equal duplicated rows.
    bounds : ndarray of shape (p, 2), optional
        Of the log hyperparameters; ``kernel.bounds(X)`` if not given.
    start : LatentPosterior or Sites, optional
        From a related fit to the same rows: the first evaluation begins with its sites.
    optimise : bool
        False keeps the hyperparameters as they are.
    n_restarts : int
        Further starts. The first is what the data suggest (``kernel.start(X)``), the others are
        drawn uniformly inside the bounds.
    random_state : int, Generator, SeedSequence, RandomState or None
        Draws the restarts.
    form : {"auto", "dense", "low_rank"}
        Of the kernel matrix; all are exact to about 1e-8 in evidence for each row.
    max_iterations : int
        Of the optimiser, for each start.
    time_limit : float, optional
        Seconds; the best hyperparameters so far are kept.
    n_optimised : int, optional
        With more than twice as many rows, hyperparameters are first fitted to this many of them,
        classes in proportion. They are then fitted to all rows if the kernel matrix has a low
        rank, and else kept: the posterior is that of all rows. None fits to all rows at once.

    Returns
    -------
    FittedProcess

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> y = np.where(np.sin(X[:, 0]) > 0, 1.0, -1.0)
    >>> fitted = fit_classifier(SquaredExponential(0), X, y)
    >>> fitted.converged, round(fitted.log_evidence, 2)
    (True, -7.84)
    """
    X, y_signs = _checked(kernel, X), finite_vector(y_signs, "y")
    how: dict[str, Any] = {"inference": inference, "weights": weights, "form": form}
    warm = start if isinstance(start, LatentPosterior) else None
    sites = start.sites if isinstance(start, LatentPosterior) else start
    check_choice("inference", inference, ["ep", "laplace"])
    evaluate = classification_evidence(kernel, X, y_signs, start=sites, **how)
    if not (optimise and kernel.n_theta):
        return _unoptimised(kernel, evaluate(kernel.theta, warm))
    bounds = kernel.bounds(X) if bounds is None else bounds
    search: dict[str, Any] = {"max_iterations": max_iterations, "time_limit": time_limit}
    if start is None and n_optimised is not None and len(X) > 2 * n_optimised:
        search |= {"bounds": bounds, "n_restarts": n_restarts, "random_state": random_state}
        return _fit_in_stages(kernel, X, y_signs, n_optimised, how, search)
    starts = _starts(kernel, X, n_restarts)
    if start is None and is_worthwhile(kernel, X, y_signs, form):
        drawn = random_starts(bounds, max(0, n_restarts - 1), random_state)
        starts = np.clip(np.vstack([starts, drawn]), *bounds.T)
        return _coarse_to_fine(kernel, X, y_signs, starts, bounds, how=how, search=search)
    search |= {"n_restarts": max(0, n_restarts - 1), "random_state": random_state}
    return _optimised(
        kernel, maximise_evidence(evaluate, starts, bounds, warm_start=warm, **search)
    )


def _coarse_to_fine(
    kernel: Kernel,
    X: Array,
    y_signs: Array,
    starts: Array,
    bounds: Array,
    *,
    how: dict[str, Any],
    search: dict[str, Any],
) -> FittedProcess[LatentPosterior]:
    """Fit to some rows, and to all rows from where that ended."""
    deadline = end_after(search["time_limit"])
    first = coarse_fit(kernel, X, y_signs, starts, bounds, how=how, search=search)
    search = search | {"time_limit": time_left(deadline)}
    how = how | {"form": first.form, "start": first.sites}
    evaluate = classification_evidence(kernel, X, y_signs, **how)
    found = maximise_evidence(evaluate, first.starts, bounds, curvature=first.curvatures, **search)
    return _optimised(kernel, found)


def _fit_in_stages(
    kernel: Kernel,
    X: Array,
    y_signs: Array,
    n_optimised: int,
    how: dict[str, Any],
    search: dict[str, Any],
) -> FittedProcess[LatentPosterior]:
    """Fit hyperparameters to some rows, and then the posterior, or all, to all rows."""
    rows, weights = stratified_rows(y_signs, n_optimised), how["weights"]
    own = how | {"weights": None if weights is None else weights[rows]}
    first = fit_classifier(kernel, X[rows], y_signs[rows], n_optimised=None, **own, **search)
    sites = predicted_sites(first.posterior, X, y_signs, weights)
    if not isinstance(first.posterior.prior, DensePrior):
        search = search | {"n_restarts": 0}
        return fit_classifier(first.kernel, X, y_signs, start=sites, **how, **search)
    how = how | {"form": "dense"}
    whole = fit_classifier(first.kernel, X, y_signs, start=sites, optimise=False, **how)
    return replace(
        whole,
        n_evaluations=first.n_evaluations + 1,
        converged=first.converged and whole.converged,
        message=f"The hyperparameters were fitted to {n_optimised} of {len(X)} rows: "
        f"{first.message}",
    )


def fit_softmax(
    kernel: Kernel,
    X: Array,
    codes: Any,
    *,
    n_classes: int | None = None,
    weights: Array | None = None,
    bounds: Array | None = None,
    optimise: bool = True,
    n_restarts: int = 0,
    random_state: Seed = None,
    max_iterations: int = 200,
    time_limit: float | None = None,
) -> FittedProcess[SoftmaxPosterior]:
    """Fit a classifier of several classes with the softmax likelihood, by Laplace.

    Shapes: X (n, d), codes (n,).
    """
    X = _checked(kernel, X)
    evaluate = softmax_evidence(kernel, X, codes, n_classes=n_classes, weights=weights)
    if not (optimise and kernel.n_theta):
        return _unoptimised(kernel, evaluate(kernel.theta, None))
    fit = maximise_evidence(
        evaluate,
        _starts(kernel, X, n_restarts),
        kernel.bounds(X) if bounds is None else bounds,
        n_restarts=max(0, n_restarts - 1),
        random_state=random_state,
        max_iterations=max_iterations,
        time_limit=time_limit,
    )
    return _optimised(kernel, fit)


def fit_regressor(
    kernel: Kernel,
    X: Array,
    y: Array,
    *,
    noise_variance: float | None = None,
    estimate_noise: bool = True,
    weights: Array | None = None,
    bounds: Array | None = None,
    start: RegressionPosterior | None = None,
    optimise: bool = True,
    n_restarts: int = 0,
    random_state: Seed = None,
    form: Form = "auto",
    max_iterations: int = 200,
    time_limit: float | None = None,
) -> FittedProcess[RegressionPosterior]:
    """Fit a regression with Gaussian noise, whose variance is one more hyperparameter.

    Shapes: X (n, d), y (n,), weights (n,), bounds (p, 2).
    """
    X, y = _checked(kernel, X), finite_vector(y, "y")
    unit = _mean_square(y, weights)
    evaluate = process_evidence(kernel, X, y, weights=weights, form=form)
    if noise_variance is None:
        noise_variance = NOISE_START * unit if start is None else start.noise_variance
    if not 0 < noise_variance < np.inf:
        raise InvalidInputError(f"The noise variance must be positive, got {noise_variance:g}.")
    log_noise = np.log(noise_variance)
    if not optimise or (not kernel.n_theta and not estimate_noise):
        return _unoptimised(kernel, evaluate(np.append(kernel.theta, log_noise), start))
    limits = (VARIANCE_LIMITS[0] * unit, VARIANCE_LIMITS[1] * unit)
    starts = _starts(kernel, X, n_restarts, variance=limits)
    own = kernel.bounds(X, variance=limits) if bounds is None else finite_matrix(bounds)
    if not estimate_noise:
        own = np.vstack([own[: kernel.n_theta], [log_noise, log_noise]])
    elif len(own) != kernel.n_theta + 1:
        own = np.vstack([own, np.log(NOISE_LIMITS) + np.log(unit)])
    fit = maximise_evidence(
        evaluate,
        np.column_stack([starts, np.full(len(starts), log_noise)]),
        own,
        warm_start=start,
        n_restarts=max(0, n_restarts - 1),
        random_state=random_state,
        max_iterations=max_iterations,
        time_limit=time_limit,
    )
    return _optimised(kernel, fit)


def _checked(kernel: Kernel, X: Array) -> Array:
    if not kernel.is_psd:
        raise InvalidInputError(
            f"{kernel} is not positive semi-definite, so that no Gaussian process has it as its "
            "covariance. Choose another kernel."
        )
    return finite_matrix(X, "X")


def _optimised(kernel: Kernel, fit: EvidenceFit[P]) -> FittedProcess[P]:
    return FittedProcess(
        # A regression's last hyperparameter is the noise, which the posterior keeps.
        kernel.with_theta(fit.theta[: kernel.n_theta]),
        fit.posterior,
        fit.posterior.log_evidence,
        fit.optimisation.n_evaluations,
        fit.optimisation.converged and fit.posterior.converged,
        fit.optimisation.message,
    )


def _unoptimised(kernel: Kernel, posterior: P) -> FittedProcess[P]:
    message = "The hyperparameters were kept as they are."
    return FittedProcess(kernel, posterior, posterior.log_evidence, 1, posterior.converged, message)


def _starts(kernel: Kernel, X: Array, n_restarts: int, **limits: Any) -> Array:
    """Return the kernel's own hyperparameters, and with restarts those that the data suggest."""
    if not n_restarts:
        return kernel.theta[None, :]
    return np.stack([kernel.theta, kernel.start(X, **limits).theta])


def _mean_square(y: Array, weights: Array | None) -> float:
    """Return the targets' mean square; one if they are all zero."""
    square = float(np.average(y**2, weights=weights))
    return square if square > 0 else 1.0
