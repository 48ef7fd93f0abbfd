"""The posterior of weights by expectation propagation, and the hyperparameters of their prior.

Latent values are ``design @ weights``; the weights have independent Gaussian priors. A linear
classifier's design is its columns, a kernel's the features of `_features.py`. Every step factorises
one matrix of the number of weights.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.optimize import minimize_scalar

from parsimon._typing import Array, Indices
from parsimon.bpm._label_terms import LabelTerms
from parsimon.inference.ep import propagated
from parsimon.inference.posterior import Latent, Sites, cavity
from parsimon.inference.prior import LowRankConditioned, LowRankPrior
from parsimon.kernels import Constant

NoiseRule: TypeAlias = Literal["cautious", "evidence", "loo"]

# The prior variance of weights lies between these.
LEAST, MOST = 1e-6, 1e6
# Of the constant, in units of the noise of a label.
CONSTANT_VARIANCE = 1.0
# Nats of evidence within which two priors are held to be equally good, and the factor by which the
# cautious one may be narrower.
INDIFFERENT, NARROWEST = 1.0, 8.0
# Hyperparameters are sought on so many rows first.
SEARCH_ROWS = 2000
# Shares of wrong labels that are tried first, and the most that can be told from chance.
FIRST_FLIP, MOST_FLIP = 0.05, 0.45


@dataclass(frozen=True, eq=False)
class WeightPosterior:
    """Gaussian weights, with what made them.

    variances (p,): Of the prior.
    mean (p,), lower (p, p): Mean, and the Cholesky factor of the precision in units of the prior,
        ``I + (design * sd).T @ diag(sites.precision) @ (design * sd)``.
    sites, marginal: Of the n rows.
    """

    variances: Array
    mean: Array
    lower: Array
    sites: Sites
    marginal: Latent
    flip: float
    log_evidence: float
    n_iterations: int
    converged: bool

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the weights, shape (p, p)."""
        inverse = np.asarray(lapack.dpotri(self.lower, lower=1)[0])
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        sd = np.sqrt(self.variances)
        scaled: Array = inverse * np.outer(sd, sd)
        return scaled

    def latent(self, design: Array) -> Latent:
        """Return the latent value at rows of a design, shape (m, p)."""
        half = solve_triangular(self.lower, (design * np.sqrt(self.variances)).T, lower=True)
        return Latent(design @ self.mean, np.einsum("ij,ij->j", half, half))

    def leave_out(self, share: Array | float = 1.0) -> Latent:
        """Return the marginals of the rows without a share of their own sites, shape (n,)."""
        precision, shift = (site * share for site in self.sites)
        return cavity(self.marginal, Sites(precision, shift))


def propagate(
    design: Array,
    variances: Array,
    terms: LabelTerms,
    *,
    start: Sites | None = None,
    tol: float = 1e-5,
    max_iterations: int = 200,
) -> WeightPosterior:
    """Run expectation propagation on weights with these prior variances.

    Shapes: design (n, p), variances (p,).
    """
    sd = np.sqrt(variances)
    factor = np.asfortranarray(design * sd)
    # The algebra of a factor is all that is asked of this prior, not its kernel.
    prior = LowRankPrior(Constant(), design, factor, np.empty(0, np.intp))
    found = propagated(
        prior, terms, start=start, updates="parallel", tol=tol, max_iterations=max_iterations
    )
    assert isinstance(found.conditioned, LowRankConditioned)
    lower = found.conditioned.inverse.root
    mean = sd * lapack.dpotrs(lower, factor.T @ found.sites.shift, lower=1)[0].ravel()
    return WeightPosterior(
        variances,
        mean,
        lower,
        found.sites,
        Latent(found.mean, found.variance),
        float(terms.flip[0]) if len(terms.flip) else 0.0,
        found.log_evidence,
        found.n_iterations,
        found.converged,
    )


@dataclass(frozen=True)
class WeightPrior:
    """What is known of the weights before the rows, and what the rows have to say.

    n_constant: How many of the last weights are a constant, of fixed variance.
    noise_sd: A number fixes the variance of the others at ``1 / noise_sd**2``; else how it is
        chosen: by "evidence"; "cautious", the narrowest prior that is as good to within a nat;
        by "loo", leave-one-out log loss.
    is_ard: Whether each weight has a variance of its own.
    label_noise: The share of wrong labels, or "learn".
    """

    n_constant: int
    noise_sd: float | NoiseRule
    is_ard: bool
    label_noise: float | Literal["learn"]

    def variances(self, n_weights: int, scale: float) -> Array:
        """Return prior variances to begin with, shape (p,)."""
        free = n_weights - self.n_constant
        fixed = isinstance(self.noise_sd, int | float)
        begin = 1.0 / float(self.noise_sd) ** 2 if fixed else 1.0 / max(scale * free, 1e-300)
        found = np.full(n_weights, np.clip(begin, LEAST, MOST) if not fixed else begin)
        found[free:] = CONSTANT_VARIANCE
        return found

    @property
    def is_learnt(self) -> bool:
        """Whether any variance is chosen by the data."""
        return isinstance(self.noise_sd, str)


def fit_weights(design: Array, terms: LabelTerms, prior: WeightPrior) -> WeightPosterior:
    """Return the posterior at the hyperparameters that the prior asks for.

    Shapes: design (n, p).
    """
    free = design[:, : design.shape[1] - prior.n_constant]
    scale = float(np.vdot(free, free)) / max(free.size, 1)
    variances = prior.variances(design.shape[1], scale)
    first = 0.0 if prior.label_noise == "learn" else float(prior.label_noise)
    terms = terms.flipped(first)
    if not prior.is_learnt and prior.label_noise != "learn":
        return propagate(design, variances, terms)
    some = spread_rows(terms, SEARCH_ROWS)
    if some is None:
        return _searched(design, variances, terms, prior)
    few = LabelTerms(**{
        name: part[some] if name != "noise" else part for name, part in vars(terms).items()
    })  # fmt: skip
    rough = _searched(design[some], variances, few, prior)
    held = replace(prior, noise_sd="evidence") if prior.is_learnt else prior
    learns = prior.label_noise == "learn" and rough.flip > 0
    held = replace(held, label_noise="learn" if learns else first)
    climbed = _climbed(design, rough.variances, terms.flipped(rough.flip), held, tol=1e-2)
    return _finished(design, climbed, terms)


def spread_rows(terms: LabelTerms, most: int) -> Indices | None:
    """Return rows spread evenly over both classes, None if all are few enough."""
    n = len(terms.y)
    if n <= most:
        return None
    order = np.argsort(terms.y, kind="stable")
    return np.sort(order[np.linspace(0, n - 1, most).round().astype(np.intp)])


def _searched(
    design: Array, variances: Array, terms: LabelTerms, prior: WeightPrior
) -> WeightPosterior:
    """Return the posterior at the best hyperparameters, wrong labels only if they pay."""
    right = replace(prior, label_noise=float(terms.flip[0]))
    best = _climbed(design, variances, terms, right)
    if prior.label_noise == "learn":
        wrong = _climbed(design, best.variances, terms.flipped(FIRST_FLIP), prior, start=best.sites)
        if wrong.log_evidence > best.log_evidence + INDIFFERENT:
            best = wrong
    terms = terms.flipped(best.flip)
    if prior.noise_sd == "cautious" and not prior.is_ard:
        best = _cautious(design, best, terms, prior)
    elif prior.noise_sd == "loo":
        best = _least_loss(design, best, terms, prior)
    return _finished(design, best, terms)


def _finished(design: Array, found: WeightPosterior, terms: LabelTerms) -> WeightPosterior:
    """Return the same posterior with all its digits."""
    done = propagate(
        design, found.variances, terms.flipped(found.flip), start=found.sites, tol=1e-5
    )
    return replace(done, n_iterations=done.n_iterations + found.n_iterations)


def _climbed(
    design: Array,
    variances: Array,
    terms: LabelTerms,
    prior: WeightPrior,
    *,
    start: Sites | None = None,
    tol: float = 3e-3,
) -> WeightPosterior:
    """Climb the evidence, with a few steps of the sites between steps of hyperparameters.

    Variances take MacKay's steps, the share of wrong labels the best value under the cavities.
    """
    free = len(variances) - prior.n_constant
    rounds = 300 if prior.is_ard else 60
    n_iterations, flip = 0, float(terms.flip[0])
    for _ in range(rounds):
        found = propagate(design, variances, terms, start=start, tol=1e-3, max_iterations=6)
        start, n_iterations = found.sites, n_iterations + found.n_iterations
        moved, fresh_flip = variances, flip
        if prior.is_learnt and free:
            moved = _mackay(found, free, prior.is_ard)
        if prior.label_noise == "learn":
            fresh_flip = _best_flip(found, terms)
        change = float(np.max(np.abs(np.log(moved / variances)), initial=0.0))
        change = max(change, 10 * abs(fresh_flip - flip))
        if change < tol:
            break
        variances, flip, terms = moved, fresh_flip, terms.flipped(fresh_flip)
    return replace(found, n_iterations=n_iterations)


def _mackay(found: WeightPosterior, free: int, is_ard: bool) -> Array:
    """Return variances under which the evidence is greater, shape (p,)."""
    own = found.variances[:free]
    variance = np.diagonal(found.covariance)[:free]
    determined = np.clip(1.0 - variance / own, 1e-12, 1.0)
    squares = np.square(found.mean[:free])
    if not is_ard:
        squares, determined = squares.sum(keepdims=True), determined.sum(keepdims=True)
    moved = found.variances.copy()
    ratio = np.clip(squares / determined / own, 0.05, 20.0)
    moved[:free] = np.clip(own * ratio, LEAST, MOST)
    return moved


def _best_flip(found: WeightPosterior, terms: LabelTerms) -> float:
    """Return the share of wrong labels that is most probable under the cavities.

    The log probability is concave in it, so its slope is bisected.
    """
    hole = terms.cavity(found.marginal, found.sites)
    right = terms.own_probability(hole)
    weights = terms.copies * terms.power

    def slope(flip: float) -> float:
        return float(weights @ ((1.0 - 2.0 * right) / (flip + (1.0 - 2.0 * flip) * right)))

    low, high = 1e-6, MOST_FLIP
    if slope(low) <= 0:
        return low
    if slope(high) >= 0:
        return high
    for _ in range(40):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return float(np.sqrt(low * high))


def _with_scale(found: WeightPosterior, prior: WeightPrior, factor: float) -> Array:
    free = len(found.variances) - prior.n_constant
    moved = found.variances.copy()
    moved[:free] = np.clip(moved[:free] * factor, LEAST, MOST)
    return moved


def _cautious(
    design: Array, best: WeightPosterior, terms: LabelTerms, prior: WeightPrior
) -> WeightPosterior:
    """Return the posterior under the narrowest prior whose evidence is within `INDIFFERENT`."""
    free = len(best.variances) - prior.n_constant
    if not free:
        return best
    determined = float(np.sum(1.0 - np.diagonal(best.covariance)[:free] / best.variances[:free]))
    # The log evidence is nearly a parabola in the log variance, of curvature determined / 2.
    step = min(2.0 * np.sqrt(INDIFFERENT / max(determined, 1e-6)), np.log(NARROWEST))
    low, chosen = 0.0, best
    for _ in range(5):
        trial = propagate(
            design, _with_scale(best, prior, np.exp(-step)), terms, start=chosen.sites, tol=1e-3
        )
        drop = best.log_evidence - trial.log_evidence
        if drop <= INDIFFERENT:
            low, chosen = step, trial
            if drop > 0.8 * INDIFFERENT or step >= np.log(NARROWEST) - 1e-9:
                break
        ratio = np.sqrt(INDIFFERENT / max(drop, 1e-2))
        step = min(max(step * ratio * 0.98, low), np.log(NARROWEST))
    return chosen


def _least_loss(
    design: Array, best: WeightPosterior, terms: LabelTerms, prior: WeightPrior
) -> WeightPosterior:
    """Return the posterior under the variance of least leave-one-out log loss."""
    weights = terms.copies * terms.power

    def loss(log_factor: float) -> float:
        trial = propagate(
            design, _with_scale(best, prior, np.exp(log_factor)), terms, start=best.sites, tol=1e-3
        )
        logs = terms.log_normaliser(terms.cavity(trial.marginal, trial.sites))
        return -float(weights @ logs)

    options: Any = {"xatol": 0.05}
    found = minimize_scalar(loss, bounds=(-5.0, 5.0), method="bounded", options=options)
    return propagate(
        design, _with_scale(best, prior, np.exp(found.x)), terms, start=best.sites, tol=1e-4
    )
