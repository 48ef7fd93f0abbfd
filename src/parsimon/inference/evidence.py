"""Hyperparameters by maximum evidence, each evaluation starting where the last one ended.

A model is a function from log hyperparameters and the previous posterior to a posterior;
`classification_evidence` and `process_evidence` make such functions and `maximise_evidence`
climbs them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np

from parsimon._checks import finite_matrix, finite_vector
from parsimon._data import checked_weights
from parsimon._random import Seed
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference._covariance import Covariance
from parsimon.inference.ep import propagated
from parsimon.inference.gaussian import RegressionPosterior, regressed
from parsimon.inference.laplace import laplace_mode
from parsimon.inference.likelihoods import Link, Terms, checked_signs, log_likelihood
from parsimon.inference.posterior import LatentPosterior, Sites
from parsimon.inference.prior import TOLERANCE, DensePrior, Form, LatentPrior, latent_prior
from parsimon.optimise import Minimum, minimise


class HasEvidence(Protocol):
    """A posterior that knows how good its hyperparameters are."""

    @property
    def log_evidence(self) -> float:
        """Log probability of the targets given the hyperparameters."""

    def evidence_gradient(self) -> Array:
        """Return its derivative for the log hyperparameters, shape (p,)."""


P = TypeVar("P", bound=HasEvidence)

# Of the last move of a log hyperparameter: how far the sites of the next evaluation may be from
# agreement. Measured, the gradient is then right to a hundredth.
LOOSENESS = 1e-2
# Where low rank was refused, it is not tried again until a log hyperparameter has moved this far.
SAME_FORM = 0.3
# Step of the differences of gradients that make a curvature, in log hyperparameters.
DIFFERENCE = 0.05
# A posterior whose sites agree to this needs no further evaluation at the same point.
EXACT = 1e-5


@dataclass(frozen=True, eq=False)
class EvidenceFit(Generic[P]):
    """The posterior at the hyperparameters of greatest evidence.

    theta (p,): Log hyperparameters.
    optimisation: How they were found; its value is minus the log evidence.
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
    start: Sites | None = None,
    form: Form = "auto",
    rank_tolerance: float = TOLERANCE,
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
    start : Sites, optional
        From a related fit: the first evaluation begins with them.
    form : {"auto", "dense", "low_rank"}
        Of the kernel matrix; see `latent_prior`.
    rank_tolerance : float
        What low rank may leave out of the kernel matrix's diagonal, on average.

    Returns
    -------
    callable
        For `maximise_evidence`. It raises `numpy.linalg.LinAlgError` where expectation
        propagation does not converge.

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
    is_ep = inference == "ep"
    y, weights = checked_signs(y), checked_weights(weights, len(y))
    infer: Callable[..., LatentPosterior] = (
        partial(_propagated, terms=Terms.of(y, weights))
        if is_ep
        else partial(
            laplace_mode, likelihood=partial(log_likelihood, y=y, link=link), weights=weights
        )
    )
    forms = _Forms(form, rank_tolerance)

    def evaluate(theta: Array, previous: LatentPosterior | None) -> LatentPosterior:
        trial = kernel.with_theta(theta)
        if previous is None:
            return infer(forms.prior(trial, X, None), start=start)
        # Long steps need no exact sites; the tolerance tightens as the steps become short. The
        # error of Laplace's mode is the square of its tolerance.
        move = float(np.max(np.abs(theta - previous.kernel.theta), initial=0.0))
        return infer(
            forms.prior(trial, X, previous),
            start=previous.sites if is_ep else previous,
            tol=min(max(LOOSENESS * move, 1e-6), 3e-3) if is_ep else 1e-4,
        )

    return evaluate


def _propagated(prior: LatentPrior, *, terms: Terms, **options: Any) -> LatentPosterior:
    """Run expectation propagation, but not one site after another, which takes too long."""
    posterior = propagated(prior, terms, updates="parallel", **options)
    if not posterior.converged:
        raise np.linalg.LinAlgError(
            "Expectation propagation did not converge, as may happen with very uneven weights; "
            "inference='laplace' always does."
        )
    return posterior


class _Forms:
    """Chooses the form of kernel matrices, and remembers where low rank was refused."""

    def __init__(self, form: Form, tol: float) -> None:
        self.form, self.tol = form, tol
        self.refused: Array | None = None

    def prior(self, kernel: Covariance, X: Array, last: LatentPosterior | None) -> LatentPrior:
        theta, form = kernel.theta, self.form
        if form == "auto" and self.refused is not None:
            near = np.max(np.abs(theta - self.refused), initial=0.0) < SAME_FORM
            form = "dense" if near else "auto"
        pivots = None if last is None else last.prior.pivots
        prior = latent_prior(kernel, X, form=form, pivots=pivots, tol=self.tol)
        if form == "auto":
            self.refused = theta if isinstance(prior, DensePrior) else None
        return prior


def process_evidence(
    kernel: Covariance,
    X: Array,
    y: Array,
    *,
    weights: Array | None = None,
    form: Form = "auto",
    rank_tolerance: float = TOLERANCE,
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
    rank_tolerance : float
        What low rank may leave out of the kernel matrix's diagonal, on average, in units of the
        noise variance.

    Returns
    -------
    callable
        For `maximise_evidence`.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X, y = np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    >>> kernel = SquaredExponential(0)
    >>> evaluate = process_evidence(kernel, X, y)
    >>> round(evaluate(np.append(kernel.theta, np.log(0.1)), None).log_evidence, 4)
    -3.7784
    """
    X, y = finite_matrix(X, "X"), finite_vector(y, "y")
    weights = checked_weights(weights, len(y))

    def evaluate(theta: Array, previous: RegressionPosterior | None) -> RegressionPosterior:
        noise_variance = float(np.exp(theta[-1]))
        pivots = None if previous is None else previous.prior.pivots
        prior = latent_prior(
            kernel.with_theta(theta[:-1]),
            X,
            form=form,
            tol=rank_tolerance * noise_variance,
            pivots=pivots,
        )
        return regressed(prior, y, noise_variance, weights)

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
    enough: Callable[[], bool] | None = None,
    curvature: Array | None = None,
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
    n_restarts, random_state, max_iterations, value_tolerance, gradient_tolerance
    time_limit, enough
        As in `parsimon.optimise.minimise`.
    curvature : ndarray of shape (p, p) or (n_starts, p, p), optional
        Minus the second derivatives of the evidence at the starts, as far as they are known.

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
        enough=enough,
        curvature=curvature,
    )
    if best is not None and _is_exact(best, found):
        return EvidenceFit(best, found.x, found)
    # Once more at the same point, where an iterative inference takes its last digits.
    return EvidenceFit(evaluate(found.x, best), found.x, found)


def _is_exact(best: HasEvidence, found: Minimum) -> bool:
    """Say whether the best posterior is that of the minimum, with all its digits."""
    if not isinstance(best, LatentPosterior):
        return False
    return best.inaccuracy <= EXACT and -best.log_evidence == found.value


def evidence_curvature(
    evaluate: Callable[[Array, P | None], P], posterior: P, theta: Array, bounds: Array
) -> Array:
    """Return minus the second derivatives of the log evidence, by differences of its gradient.

    Shapes: theta (p,), bounds (p, 2) -> (p, p).
    """
    here = posterior.evidence_gradient()
    curvature = np.eye(len(theta))
    for place, high in enumerate(bounds[:, 1]):
        step = DIFFERENCE if theta[place] + DIFFERENCE <= high else -DIFFERENCE
        moved = theta.copy()
        moved[place] += step
        try:
            there = evaluate(moved, posterior).evidence_gradient()
        except np.linalg.LinAlgError:
            continue
        curvature[place] = (here - there) / step
    return (curvature + curvature.T) / 2
