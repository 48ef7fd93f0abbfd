"""Hyperparameters by maximum evidence, each evaluation starting where the last one ended.

A model is a function from log hyperparameters and the previous posterior to a posterior;
`classification_evidence` and `regression_evidence` make such functions and `maximise_evidence`
climbs them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np

from parsimon._random import Seed
from parsimon._typing import Array
from parsimon._validation import finite_matrix
from parsimon.exceptions import InvalidInputError
from parsimon.inference.covariance import Covariance
from parsimon.inference.ep import expectation_propagation
from parsimon.inference.gaussian import RegressionPosterior, gaussian_regression
from parsimon.inference.laplace import laplace
from parsimon.inference.likelihoods import Link
from parsimon.inference.posterior import LatentPosterior
from parsimon.inference.prior import TOLERANCE, Form, latent_prior
from parsimon.optimise import Minimum, minimise


class HasEvidence(Protocol):
    """A posterior that knows how good its hyperparameters are."""

    @property
    def log_evidence(self) -> float:
        """Log probability of the targets given the hyperparameters."""

    def evidence_gradient(self) -> Array:
        """Return its derivative for the log hyperparameters, shape (p,)."""


P = TypeVar("P", bound=HasEvidence)


@dataclass(frozen=True, eq=False)
class EvidenceFit(Generic[P]):
    """The posterior at the hyperparameters of greatest evidence.

    Attributes
    ----------
    posterior : LatentPosterior, RegressionPosterior or SoftmaxPosterior
    theta : ndarray of shape (p,)
        Log hyperparameters.
    optimisation : Minimum
        How they were found; its value is minus the log evidence.
    """

    posterior: P
    theta: Array
    optimisation: Minimum


def classification_evidence(
    kernel: Covariance,
    X: Array,
    y: Array,
    *,
    inference: Literal["ep", "laplace"] = "ep",
    link: Link = "probit",
    weights: Array | None = None,
    form: Form = "auto",
) -> Callable[[Array, LatentPosterior | None], LatentPosterior]:
    """Return a function from theta (and the last posterior) to a binary classifier's posterior.

    Parameters
    ----------
    kernel : Covariance
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        Labels -1 and 1.
    inference : {"ep", "laplace"}
    link : {"probit", "logit"}
        Expectation propagation has the probit only.
    weights : ndarray of shape (n,), optional
        Powers of the likelihood terms.
    form : {"auto", "dense", "low_rank"}
        Of the kernel matrix; see `latent_prior`.

    Returns
    -------
    callable
        For `maximise_evidence`.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X, y = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 1.0, -1.0])
    >>> kernel = SquaredExponential(0)
    >>> evaluate = classification_evidence(kernel, X, y)
    >>> round(evaluate(kernel.theta, None).log_evidence, 4)
    -1.9404
    """
    if inference not in ("ep", "laplace"):
        raise InvalidInputError(f"inference must be 'ep' or 'laplace', got {inference!r}.")
    if inference == "ep" and link != "probit":
        raise InvalidInputError(
            f"Expectation propagation has the probit link only, got {link!r}. "
            "Use inference='laplace' for the logit."
        )
    X = finite_matrix(X, "X")
    infer = expectation_propagation if inference == "ep" else partial(laplace, link=link)

    def evaluate(theta: Array, previous: LatentPosterior | None) -> LatentPosterior:
        trial = kernel.with_theta(theta)
        if previous is None:
            return infer(latent_prior(trial, X, form=form), y, weights=weights)
        # Long steps need no exact sites; the tolerance tightens as the steps become short.
        move = float(np.max(np.abs(theta - previous.kernel.theta), initial=0.0))
        return infer(
            latent_prior(trial, X, form=form, pivots=previous.prior.pivots),
            y,
            weights=weights,
            start=previous.sites,
            tolerance=min(max(1e-3 * move, 1e-6), 1e-4),
        )

    return evaluate


def regression_evidence(
    kernel: Covariance,
    X: Array,
    y: Array,
    *,
    weights: Array | None = None,
    form: Form = "auto",
) -> Callable[[Array, RegressionPosterior | None], RegressionPosterior]:
    """Return a function from ``[*theta, log noise variance]`` to a regression's posterior.

    Parameters
    ----------
    kernel : Covariance
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        Targets, centred.
    weights : ndarray of shape (n,), optional
        How many observations each row stands for.
    form : {"auto", "dense", "low_rank"}
        Of the kernel matrix; see `latent_prior`.

    Returns
    -------
    callable
        For `maximise_evidence`.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X, y = np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    >>> kernel = SquaredExponential(0)
    >>> evaluate = regression_evidence(kernel, X, y)
    >>> round(evaluate(np.append(kernel.theta, np.log(0.1)), None).log_evidence, 4)
    -3.7784
    """
    X = finite_matrix(X, "X")

    def evaluate(theta: Array, previous: RegressionPosterior | None) -> RegressionPosterior:
        noise_variance = float(np.exp(theta[-1]))
        pivots = None if previous is None else previous.prior.pivots
        prior = latent_prior(
            kernel.with_theta(theta[:-1]),
            X,
            form=form,
            tolerance=TOLERANCE * noise_variance,
            pivots=pivots,
        )
        return gaussian_regression(prior, y, noise_variance, weights=weights)

    return evaluate


def maximise_evidence(
    evaluate: Callable[[Array, P | None], P],
    start: Array,
    bounds: Array,
    *,
    warm_start: P | None = None,
    n_restarts: int = 0,
    random_state: Seed = None,
    max_iterations: int = 200,
    value_tolerance: float = 2.2e-9,
    gradient_tolerance: float = 1e-5,
    time_limit: float | None = None,
) -> EvidenceFit[P]:
    """Find the log hyperparameters of greatest evidence, by bounded L-BFGS with restarts.

    Parameters
    ----------
    evaluate : callable
        Maps theta and the last posterior to a posterior.
    start : ndarray of shape (p,) or (n_starts, p)
        Where to begin.
    bounds : ndarray of shape (p, 2)
        Of the log hyperparameters; equal ones hold a hyperparameter fixed.
    warm_start : posterior, optional
        From a related fit to the same rows: its sites and pivots begin the first evaluation.
    n_restarts, random_state, max_iterations, value_tolerance, gradient_tolerance, time_limit
        As in `parsimon.optimise.minimise`.

    Returns
    -------
    EvidenceFit

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> y = np.where(np.sin(X[:, 0]) > 0, 1.0, -1.0)
    >>> kernel = SquaredExponential(0).start(X)
    >>> evaluate = classification_evidence(kernel, X, y)
    >>> fit = maximise_evidence(evaluate, kernel.theta, kernel.bounds(X))
    >>> fit.optimisation.converged, fit.posterior.log_evidence > evaluate(
    ...     kernel.theta, None
    ... ).log_evidence
    (True, True)
    """
    last = warm_start
    best: P | None = None

    def objective(theta: Array) -> tuple[float, Array]:
        nonlocal last, best
        posterior = evaluate(theta, last)
        gradient = posterior.evidence_gradient()
        last = posterior
        if best is None or posterior.log_evidence > best.log_evidence:
            best = posterior
        return -posterior.log_evidence, -gradient

    found = minimise(
        objective,
        start,
        bounds,
        n_restarts=n_restarts,
        random_state=random_state,
        max_iterations=max_iterations,
        value_tolerance=value_tolerance,
        gradient_tolerance=gradient_tolerance,
        time_limit=time_limit,
    )
    # Once more at the same point, where an iterative inference takes its last digits.
    return EvidenceFit(evaluate(found.x, best), found.x, found)
