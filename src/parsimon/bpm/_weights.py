"""The posterior of weights by expectation propagation, and the hyperparameters of their prior.

Latent values are ``design @ weights``; the weights have independent Gaussian priors. A linear
classifier's design is its columns, a kernel's the features of `_features.py`. Every step factorises
one matrix of the number of weights. `pac_bayes_bounds` says what the evidence promises.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.optimize import minimize_scalar

from parsimon._checks import check_count, check_probability
from parsimon._typing import Array, Indices
from parsimon.bpm._label_terms import LabelTerms
from parsimon.exceptions import InvalidInputError
from parsimon.inference.ep import propagated
from parsimon.inference.posterior import Latent, Sites, cavity
from parsimon.inference.prior import LowRankConditioned, LowRankPrior
from parsimon.kernels import Constant
from parsimon.linalg import jittered_cholesky

NoiseRule: TypeAlias = Literal["probable", "evidence", "loo"]

# The prior variance of weights lies between these.
LEAST, MOST = 1e-6, 1e4
# Of the constant, in units of the noise of a label.
CONSTANT_VARIANCE = 1.0
# What a unit of the latent values' prior deviation costs in nats: it is exponential, with the mean
# of a label's noise. Rates of 0.2 to 1.5 were compared on 3,264 drawn tables of 30 to 500 rows and
# 2 to 20 columns: this is the greatest, safest on noise, that predicts signals of all strengths as
# well as the evidence alone does.
PRICE = 1.0
# Hyperparameters are sought on so many rows first.
SEARCH_ROWS = 2000
# Shares of wrong labels that are tried first, and the most that can be told from chance.
FIRST_FLIP, MOST_FLIP = 0.05, 0.45


class GaussianWeights(NamedTuple):
    """Weights that are Gaussian: mean (p,), and root (p, p) whose square is the covariance."""

    mean: Array
    root: Array

    @classmethod
    def of(cls, mean: Array, covariance: Array) -> "GaussianWeights":
        """Return weights of this mean and covariance."""
        return cls(mean, jittered_cholesky(covariance).lower)

    @property
    def covariance(self) -> Array:
        """Covariance of the weights, shape (p, p)."""
        return self.root @ self.root.T

    def latent(self, design: Array, extra: Array) -> Latent:
        """Return latent values at rows of a design (m, p), with variance of their own (m,)."""
        half = design @ self.root
        return Latent(design @ self.mean, np.einsum("ij,ij->i", half, half) + extra)


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
        return inverse * np.outer(sd, sd)

    @property
    def weights(self) -> "GaussianWeights":
        """The weights alone."""
        sd = np.sqrt(self.variances)
        root = solve_triangular(self.lower, np.diag(sd), lower=True).T
        return GaussianWeights(self.mean, np.ascontiguousarray(root))


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


def leave_one_out(terms: LabelTerms, found: WeightPosterior) -> Array:
    """Return the log probability of each row's label as given, without one copy of it, (n,)."""
    share = 1.0 / np.maximum(terms.weights, 1.0)
    precision, shift = (site * share for site in found.sites)
    hole = cavity(found.marginal, Sites(precision, shift))
    chance = terms.flip + (1.0 - 2.0 * terms.flip) * terms.own_probability(hole)
    return np.log(np.maximum(chance, np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class WeightPrior:
    """What is known of the weights before the rows, and what the rows have to say.

    The last weight is a constant, of fixed variance.

    noise_sd: A number fixes the variance of the others at ``1 / noise_sd**2``; else how it is
        chosen: by "evidence"; "probable", by evidence less `PRICE`; by "loo", leave-one-out log
        loss.
    is_ard: Whether each weight has a variance of its own.
    label_noise: The share of wrong labels, or "learn".
    """

    noise_sd: float | NoiseRule
    is_ard: bool
    label_noise: float | Literal["learn"]

    def variances(self, n_weights: int, scale: float) -> Array:
        """Return prior variances to begin with, shape (p,)."""
        free = n_weights - 1
        fixed = isinstance(self.noise_sd, int | float)
        begin = 1.0 / float(self.noise_sd) ** 2 if fixed else 1.0 / max(scale * free, 1e-300)
        found = np.full(n_weights, np.clip(begin, LEAST, MOST) if not fixed else begin)
        found[-1] = CONSTANT_VARIANCE
        return found

    def priced(self, squares: Array) -> Array:
        """Return mean squares of the design's columns (p,) that have a price, zero for none."""
        return squares if self.noise_sd == "probable" else np.zeros_like(squares)

    @property
    def is_learnt(self) -> bool:
        """Whether any variance is chosen by the data."""
        return isinstance(self.noise_sd, str)


def fit_weights(design: Array, terms: LabelTerms, prior: WeightPrior) -> WeightPosterior:
    """Return the posterior at the hyperparameters that the prior asks for.

    Shapes: design (n, p).
    """
    free = design[:, :-1]
    scale = float(np.vdot(free, free)) / max(free.size, 1)
    variances = prior.variances(design.shape[1], scale)
    first = 0.0 if prior.label_noise == "learn" else float(prior.label_noise)
    terms = terms.flipped(first)
    if not prior.is_learnt and prior.label_noise != "learn":
        return propagate(design, variances, terms)
    some = spaced_rows(terms.y, SEARCH_ROWS)
    if len(some) == len(design):
        return _search(design, variances, terms, prior)
    # Losses of single rows are judged on these alone, the evidence on all rows in the end.
    by_loss = prior.noise_sd == "loo"
    rough = _search(design[some], variances, terms.of_rows(some), prior)
    learns = prior.label_noise == "learn" and rough.flip > 0
    held = replace(prior, label_noise="learn" if learns else first)
    held = replace(held, noise_sd=1.0) if by_loss else held
    climbed = _climb(design, rough.variances, terms.flipped(rough.flip), held, tol=1e-2)
    return _finish(design, climbed, terms)


def spaced_rows(y: Array, most: int) -> Indices:
    """Return rows spread evenly over both classes, all if they are few enough."""
    n = len(y)
    order = np.argsort(y, kind="stable")
    return np.sort(order[np.linspace(0, n - 1, min(n, most)).round().astype(np.intp)])


def _search(
    design: Array, variances: Array, terms: LabelTerms, prior: WeightPrior
) -> WeightPosterior:
    """Return the posterior at the best hyperparameters.

    Wrong labels need a gain in leave-one-out log probability that is beyond its standard error.
    """
    right = replace(prior, label_noise=float(terms.flip[0]))
    best = _climb(design, variances, terms, right)
    if prior.label_noise == "learn":
        wrong = _climb(design, best.variances, terms.flipped(FIRST_FLIP), prior, start=best.sites)
        gains = leave_one_out(terms.flipped(wrong.flip), wrong) - leave_one_out(terms, best)
        weights = terms.weights
        gain = float(weights @ gains)
        if gain > np.sqrt(weights @ np.square(gains - gain / weights.sum())):
            best = wrong
    terms = terms.flipped(best.flip)
    if prior.noise_sd == "loo":
        best = _least_loss(design, best, terms)
    return _finish(design, best, terms)


def _finish(design: Array, found: WeightPosterior, terms: LabelTerms) -> WeightPosterior:
    """Return the same posterior with all its digits."""
    done = propagate(
        design, found.variances, terms.flipped(found.flip), start=found.sites, tol=1e-5
    )
    return replace(done, n_iterations=done.n_iterations + found.n_iterations)


def _climb(
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
    weights, free = terms.weights, design[:, :-1]
    steps = _Steps(prior.priced(weights @ np.square(free) / weights.sum()), prior.is_ard)
    n_iterations, flip = 0, float(terms.flip[0])
    for _ in range(300 if prior.is_ard else 40):
        found = propagate(design, variances, terms, start=start, tol=1e-3, max_iterations=6)
        start, n_iterations = found.sites, n_iterations + found.n_iterations
        moved, fresh_flip, change = variances, flip, 0.0
        if prior.is_learnt and steps.free:
            moved, change = steps.next(found)
        if prior.label_noise == "learn":
            fresh_flip = _best_flip(found, terms)
        if max(change, 10 * abs(fresh_flip - flip)) < tol:
            break
        variances, flip, terms = moved, fresh_flip, terms.flipped(fresh_flip)
    return replace(found, n_iterations=n_iterations)


def mackay_ratio(
    mean: Array, spread: Array, variance: Array, lengths: Array, *, is_ard: bool
) -> Array:
    """Return factors of prior variances under which the evidence less its price is greater.

    MacKay (1992): a weight's square over how far the rows determine it; weights of one variance
    are summed. Twice the slope of the price by a log variance joins what is determined.

    Shapes: mean, spread (their posterior variances), variance (..., p), lengths (p,) of
    `WeightPrior.priced` -> (..., p) or (..., 1).
    """
    own = variance * lengths
    price = PRICE * own / np.sqrt(np.maximum(own.sum(axis=-1, keepdims=True), 1e-300))
    determined = np.clip(1.0 - spread / variance, 1e-12, 1.0) + price
    squares = np.square(mean)
    if not is_ard:
        own = variance.mean(axis=-1, keepdims=True)
        squares, determined = (part.sum(axis=-1, keepdims=True) for part in (squares, determined))
        variance = own
    return np.clip(squares / determined / variance, 0.05, 20.0)


class _Steps:
    """Steps of log variances: MacKay's at first, then the secant of what those would still move."""

    def __init__(self, lengths: Array, is_ard: bool) -> None:
        self.free, self.lengths, self.is_ard = len(lengths), lengths, is_ard
        self.last: tuple[float, float] | None = None

    def next(self, found: WeightPosterior) -> tuple[Array, float]:
        """Return the next variances (p,), and by how much MacKay's step would change them."""
        own = found.variances[: self.free]
        spread = np.diagonal(found.covariance)[: self.free]
        mean = found.mean[: self.free]
        ratio = mackay_ratio(mean, spread, own, self.lengths, is_ard=self.is_ard)
        wish = float(np.max(np.abs(np.log(ratio))))
        if not self.is_ard:
            here, residual = float(np.log(own[0])), float(np.log(ratio[0]))
            step = residual
            if self.last is not None and here != self.last[0]:
                slope = (residual - self.last[1]) / (here - self.last[0])
                step = float(np.clip(-residual / slope, -3.0, 3.0)) if slope < 0 else 2 * residual
            self.last = (here, residual)
            ratio = np.array([np.exp(step)])
        moved = found.variances.copy()
        moved[: self.free] = np.clip(own * ratio, LEAST, MOST)
        at_limit = bool(np.all(moved == found.variances))
        return moved, 0.0 if at_limit else wish


def _best_flip(found: WeightPosterior, terms: LabelTerms) -> float:
    """Return the share of wrong labels that is most probable under the cavities.

    The log probability is concave in it, so its slope is bisected.
    """
    hole = terms.cavity(found.marginal, found.sites)
    right = terms.own_probability(hole)
    weights = terms.weights

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


def _least_loss(design: Array, best: WeightPosterior, terms: LabelTerms) -> WeightPosterior:
    """Return the posterior under the variance of least leave-one-out log loss."""

    def rescale(log_factor: float, tol: float) -> WeightPosterior:
        variances = best.variances.copy()
        variances[:-1] = np.clip(variances[:-1] * np.exp(log_factor), LEAST, MOST)
        return propagate(design, variances, terms, start=best.sites, tol=tol)

    def loss(log_factor: float) -> float:
        return -float(terms.weights @ leave_one_out(terms, rescale(log_factor, 1e-3)))

    options: Any = {"xatol": 0.05}
    found = minimize_scalar(loss, bounds=(-5.0, 5.0), method="bounded", options=options)
    return rescale(found.x, 1e-4)


def least_margin(design: Array, y: Array, mean: Array) -> float:
    """Return the least margin of rows in units of the lengths of rows and weights.

    Shapes: design (n, p), y (n,) of -1 and 1, mean (p,).
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", design, design))
    scale = max(float(np.linalg.norm(mean)), 1e-300)
    return float(np.min(y * (design @ mean) / (lengths * scale)))


class PacBayesBounds(NamedTuple):
    """Bounds of the error on new rows, with what they are worth.

    Attributes
    ----------
    evidence : float
        From the prior probability of the rows' labels.
    margin : float
        From the smallest normalised margin; NaN where a training row is misclassified.
    confidence : float
    words : str
        What the bounds say, and when they say nothing.
    """

    evidence: float
    margin: float
    confidence: float
    words: str


def pac_bayes_bounds(
    log_evidence: float,
    margin: float,
    *,
    n_rows: int,
    n_weights: int,
    delta: float = 0.05,
    chosen: Sequence[str] | None = None,
) -> PacBayesBounds:
    """Return the evidence bound and the margin bound of a Bayes point's error.

    The evidence bounds the error of the Bayes vote, the majority of all weights that reproduce the
    labels (the version space); it is twice the bound of the Gibbs classifier, a draw from them.
    The margin bounds the error of the single classifier that has it.

    Rows must be drawn independently, and the prior fixed before they are seen: with noise, widths,
    relevances, label noise or units of columns chosen by the same rows the bound does not hold as
    it is stated. It is also about the prior probability of the version space, in whose place the
    evidence is put. The two agree as the noise goes to zero. Where no weights separate the rows,
    the version space is empty and its bound infinite, while the evidence of noisy labels is not
    zero; it may be too great for hard rows that can be separated as well. The number is then a
    diagnostic, no bound. Bounds above 1/2 say nothing.

    Parameters
    ----------
    log_evidence : float
        Log probability of the training labels under the prior.
    margin : float
        The least of ``y f(x) / (|w| |x|)`` over the training rows; not positive where one is
        misclassified.
    n_rows, n_weights : int
        Training rows, and weights, the constant's among them.
    delta : float
        The bounds hold with probability ``1 - delta``.
    chosen : sequence of str, optional
        What the same rows chose, units of columns and the like: if anything, the words say that
        these are no bounds. None means that it is not known.

    Returns
    -------
    PacBayesBounds

    References
    ----------
    Herbrich and Graepel (2002), IEEE Trans. Inf. Theory 48:3140-3150; Fearn (2021), eqs 2.10 and
    2.11 (the difference ln 4 / n of eq 4.1 is 2 ln 2 / n, as here).

    Examples
    --------
    >>> found = pac_bayes_bounds(-40.0, 0.2, n_rows=1000, n_weights=5)
    >>> round(found.evidence, 3), round(found.margin, 3)
    (0.116, 0.076)
    >>> import textwrap
    >>> print(textwrap.fill(found.words, 96))
    With 95 % confidence the error is at most 0.116 for the Bayes vote, by the evidence, and 0.076
    by the margin, if the prior was fixed before the rows were seen.
    """
    check_count("n_rows", n_rows)
    check_count("n_weights", n_weights)
    if not 0 < check_probability("delta", delta) < 1:
        raise InvalidInputError(f"delta must be between 0 and 1, got {delta!r}.")
    price = 2.0 * np.log(n_rows) + np.log(1.0 / delta) + 1.0
    evidence = 2.0 / n_rows * (price - log_evidence)
    by_margin = float("nan")
    if margin > 0:
        m = min(n_rows, n_weights)
        room = -np.log1p(-np.sqrt(max(1.0 - min(margin, 1.0) ** 2, 0.0)))
        by_margin = 2.0 / n_rows * (m * room + price + np.log(2.0))
    words = _words(float(evidence), by_margin, 1.0 - delta, chosen)
    return PacBayesBounds(float(evidence), float(by_margin), 1.0 - delta, words)


def _words(evidence: float, margin: float, confidence: float, chosen: Sequence[str] | None) -> str:
    verb = "would be" if chosen else "is"
    start = (
        f"With {100 * confidence:.3g} % confidence the error {verb} at most {evidence:.3f} for the "
        "Bayes vote, by the evidence"
    )
    if np.isnan(margin):
        ending = "the margin says nothing, since a training row is misclassified"
        if evidence >= 0.5:
            return f"The evidence bounds the error by {evidence:.3g}, which says nothing; {ending}."
        return start + _conditions(False, chosen) + f" {ending[0].upper()}{ending[1:]}."
    if min(evidence, margin) >= 0.5:
        return (
            f"The bounds are {evidence:.3g} by the evidence and {margin:.3g} by the margin: "
            "above 1/2 they say nothing; trust the leave-one-out error."
        )
    return f"{start}, and {margin:.3f} by the margin" + _conditions(True, chosen)


def _conditions(is_separated: bool, chosen: Sequence[str] | None) -> str:
    """Return under what conditions a bound is one, as far as they are not known to hold."""
    separable = [] if is_separated else ["the rows are separable"]
    if chosen:
        fixed = [f"the same rows had not chosen {' and '.join(chosen)}"]
        return f", if {' and '.join(separable + fixed)}: a diagnostic, no bound."
    fixed = ["the prior was fixed before the rows were seen"] if chosen is None else []
    return f", if {' and '.join(separable + fixed)}." if separable + fixed else "."
