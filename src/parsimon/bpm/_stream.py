"""Assumed density filtering: each row is used once, in its order, and then forgotten.

What is kept is a Gaussian in its natural parameters, apart from the prior: the sum of the rows'
sites, and running moments of the columns. After so many rows (256, 512, 1024 ...) the columns are
put in the units that they now have, exactly, and the prior is made anew in those; a stream that
forgets does so after each half-life too. All of it depends
on the order of the rows alone, not on how they were cut into batches. Sums of sites add, so that
beliefs from parts of a table are merged by adding them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.blas import daxpy, ddot, dsymv, dsyr

from parsimon._data import Rows
from parsimon._typing import Array, Indices
from parsimon.bpm._features import Standard, units
from parsimon.bpm._label_terms import Noise
from parsimon.bpm._weights import LEAST, MOST, WeightPosterior, WeightPrior, mackay_ratio
from parsimon.exceptions import InvalidInputError

# Rows that are waited for before the first is used: columns have no units before.
WARM = 256
# How often in a half-life the past is faded; after each half-life units are taken anew.
FADES = 16
# How often a row of great weight is visited at most.
MOST_VISITS = 1000
# Wrong and right labels that are held to have been seen before the first row.
SEEN_WRONG, SEEN_RIGHT = 1.0, 50.0

_ROOT_2 = math.sqrt(2.0)
_ROOT_2_PI = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class Belief:
    """What a stream of rows has said, without the prior.

    precision (k, p, p), shift (k, p): Sums of sites, for k latent functions.
    standard: The units that they are in.
    n_rows, weight: Rows seen, and the sum of their weights.
    mean, squares (d,): Running means of the columns and sums of squared deviations.
    variance (k, p): Of the prior, in those units.
    wrong (k,): Labels that are held to be wrong.
    scores (3,): Sums of weights, of errors and of log losses, each row predicted before its use.
    log_evidence (k,): Sums of the logarithms of the labels' probabilities before their use.
    waiting: Rows, codes and weights that wait for the first units.
    """

    precision: Array
    shift: Array
    standard: Standard
    n_rows: int
    weight: float
    mean: Array
    squares: Array
    variance: Array
    wrong: Array
    scores: Array
    log_evidence: Array
    waiting: tuple[Array, Indices, Array]

    @classmethod
    def nothing(cls, n_columns: int, n_functions: int, prior: WeightPrior) -> "Belief":
        """Return the belief before the first row."""
        k, p = n_functions, n_columns + 1
        return cls(
            np.zeros((k, p, p)),
            np.zeros((k, p)),
            Standard.none(n_columns),
            0,
            0.0,
            np.zeros(n_columns),
            np.zeros(n_columns),
            np.tile(prior.variances(p, 1.0), (k, 1)),
            np.zeros(k),
            np.zeros(3),
            np.zeros(k),
            (np.empty((0, n_columns)), np.empty(0, np.intp), np.empty(0)),
        )

    @classmethod
    def of_fit(
        cls,
        posteriors: Sequence[WeightPosterior],
        design: Array,
        standard: Standard,
        rows: Rows,
        sample_weight: Array,
        loo: tuple[float, float],
    ) -> "Belief":
        """Return what a batch fit has said, for rows to come and for other parts.

        loo: Leave-one-out error and log loss, in place of those before a row's use.
        """
        sites = [posterior.sites for posterior in posteriors]
        n, weight = len(rows.which), float(sample_weight.sum())
        mean = np.average(rows.X, axis=0, weights=rows.weights)
        return cls(
            np.stack([(design * precision[:, None]).T @ design for precision, _ in sites]),
            np.stack([design.T @ shift for _, shift in sites]),
            standard,
            n,
            weight,
            mean,
            rows.weights @ np.square(rows.X - mean),
            np.stack([posterior.variances for posterior in posteriors]),
            weight * np.array([posterior.flip for posterior in posteriors]),
            weight * np.array([1.0, *loo]),
            np.array([posterior.log_evidence for posterior in posteriors]),
            (np.empty((0, rows.X.shape[1])), np.empty(0, np.intp), np.empty(0)),
        )

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return len(self.mean)

    def posterior(self) -> tuple[Array, Array]:
        """Return means (k, p) and covariances (k, p, p) of the weights in standard units."""
        covariance = np.stack([
            np.linalg.inv(own + np.diag(1.0 / variance))
            for own, variance in zip(self.precision, self.variance, strict=True)
        ])  # fmt: skip
        return np.einsum("kij,kj->ki", covariance, self.shift), covariance

    def log_mass(self) -> Array:
        """Return log integrals of the prior times the sites, each site one at zero; shape (k,)."""
        mean, covariance = self.posterior()
        logs = np.linalg.slogdet(covariance)[1] - np.log(self.variance).sum(axis=1)
        return 0.5 * (np.einsum("ki,ki->k", mean, self.shift) + logs)

    def flips(self, prior: WeightPrior) -> Array:
        """Return the shares of wrong labels, shape (k,)."""
        if prior.label_noise != "learn":
            return np.full(len(self.shift), float(prior.label_noise))
        return (SEEN_WRONG + self.wrong) / (SEEN_WRONG + SEEN_RIGHT + self.weight)


@dataclass(frozen=True)
class Filter:
    """How rows are taken in.

    noise, prior: Of labels and weights.
    half_life: Rows after which a row counts half; None means never.
    standardise: Whether columns are put in units of their own.
    """

    noise: Noise
    prior: WeightPrior
    half_life: float | None = None
    standardise: bool = True

    def take(self, belief: Belief, X: Array, codes: Indices, weights: Array) -> Belief:
        """Return the belief after further rows, shape (m, d); codes count from 0."""
        rows, waiting_codes, waiting_weights = belief.waiting
        X, codes = np.concatenate([rows, X]), np.concatenate([waiting_codes, codes])
        weights = np.concatenate([waiting_weights, weights])
        if belief.n_rows == 0 and len(X) < WARM:
            return replace(belief, waiting=(X, codes, weights))
        empty = (X[:0], codes[:0], weights[:0])
        if belief.n_rows == 0:
            belief = self._begin(belief, X[:WARM], weights[:WARM])
        belief = replace(belief, waiting=empty)
        begin = 0
        while begin < len(X):
            length = min(self._to_boundary(belief.n_rows), len(X) - begin)
            part = slice(begin, begin + length)
            belief = self._filter_part(belief, X[part], codes[part], weights[part])
            belief = self._at_boundary(belief)
            begin += length
        return belief

    def settle(self, belief: Belief) -> Belief:
        """Return the belief with waiting rows used as well."""
        rows, codes, weights = belief.waiting
        if not len(rows):
            return belief
        known = replace(belief, waiting=(rows[:0], codes[:0], weights[:0]))
        return self._filter_part(self._begin(known, rows, weights), rows, codes, weights)

    def _begin(self, belief: Belief, X: Array, weights: Array) -> Belief:
        """Return the belief in the units of its first rows, before they are used."""
        if not self.standardise:
            return belief
        return replace(belief, standard=_units_now(_measure(belief, X, weights)))

    def _to_boundary(self, n_rows: int) -> int:
        """Return how many rows there are until the units or the past change."""
        next_units = WARM if n_rows < WARM else 2 ** (int(n_rows).bit_length())
        if self.half_life is None:
            return next_units - n_rows
        block = self._block()
        return min(next_units - n_rows, block - n_rows % block)

    def _block(self) -> int:
        assert self.half_life is not None
        return max(1, int(self.half_life / FADES))

    def _at_boundary(self, belief: Belief) -> Belief:
        n = belief.n_rows
        if self.half_life is not None and n % self._block() == 0:
            kept = 0.5 ** (self._block() / self.half_life)
            faded = ("precision", "shift", "weight", "squares", "wrong")
            belief = replace(belief, **{name: kept * getattr(belief, name) for name in faded})
        is_doubled = n & (n - 1) == 0
        is_old = self.half_life is not None and n % (FADES * self._block()) == 0
        return self._rebase(belief) if n >= WARM and (is_doubled or is_old) else belief

    def _rebase(self, belief: Belief) -> Belief:
        """Return the belief in the units that the columns have by now, with the prior in those."""
        known = in_units(belief, _units_now(belief)) if self.standardise else belief
        return self.with_prior(known)

    def with_prior(self, belief: Belief) -> Belief:
        """Return the belief with its prior's variance chosen by evidence, if it is to be."""
        if not self.prior.is_learnt or not belief.precision.any():
            return belief
        variance, standard = belief.variance.copy(), belief.standard
        squares = belief.squares / belief.weight + np.square(belief.mean - standard.centre)
        lengths = self.prior.priced(squares / np.square(standard.unit))
        for _ in range(5):
            mean, covariance = replace(belief, variance=variance).posterior()
            own = np.diagonal(covariance, axis1=1, axis2=2)[:, :-1]
            ratio = mackay_ratio(
                mean[:, :-1], own, variance[:, :-1], lengths, is_ard=self.prior.is_ard
            )
            variance[:, :-1] = np.clip(variance[:, :-1] * ratio, LEAST, MOST)
        return replace(belief, variance=variance)

    def product(self, beliefs: list[Belief]) -> Belief:
        """Return the product of beliefs from parts of a table under one prior.

        What sites are worth apart from their shape is known from each part's evidence, so that the
        evidence is that of all sites together. Faded sites are worth less than the labels were,
        and the sum of the parts' stays.
        """
        whole = self.with_prior(merge_beliefs(beliefs, standardise=self.standardise))
        if self.half_life is not None:
            return whole
        apart = sum(belief.log_mass() for belief in beliefs)
        return replace(whole, log_evidence=whole.log_evidence - apart + whole.log_mass())

    def _filter_part(self, belief: Belief, X: Array, codes: Indices, weights: Array) -> Belief:
        """Return the belief after rows that lie between two boundaries."""
        design = belief.standard.columns(X)
        mean, covariance = belief.posterior()
        precision, shift = belief.precision.copy(), belief.shift.copy()
        wrong, log_evidence = belief.wrong.copy(), belief.log_evidence.copy()
        k = len(shift)
        chances = np.empty((k, len(X)))
        learns = self.prior.label_noise == "learn"
        flips = belief.flips(self.prior)
        for place in range(k):
            y = np.where(codes == (1 if k == 1 else place), 1.0, -1.0)
            counted = _Wrongness(float(flips[place]), learns, float(wrong[place]), belief.weight)
            sites, chances[place], log_masses = _filter_rows(
                design, y, weights, mean[place], covariance[place], self.noise, counted
            )
            log_evidence[place] += log_masses
            wrong[place] = counted.wrong
            precision[place] += (design * sites[0][:, None]).T @ design
            shift[place] += design.T @ sites[1]
        return replace(
            _measure(belief, X, weights),
            precision=precision,
            shift=shift,
            wrong=wrong,
            log_evidence=log_evidence,
            scores=belief.scores + _scores(chances, codes, weights),
        )


def going_on(belief: Belief | None) -> Belief:
    """Return a belief that further rows or parts can go on from; a fit by gamma-EP has none."""
    if belief is None:
        raise InvalidInputError(
            "A fit with gamma other than -1 has no sites to go on from; fit with gamma=-1, or "
            "begin the stream with a fresh classifier."
        )
    return belief


def merge_beliefs(beliefs: list[Belief], *, standardise: bool = True) -> Belief:
    """Return the product of beliefs from parts of a table: sites add, whatever their units."""
    total, *others = beliefs
    if any(part.shift.shape != total.shift.shape for part in others):
        raise InvalidInputError("Parts with other columns or classes cannot be merged.")
    for part in others:
        weight = total.weight + part.weight
        apart = part.mean - total.mean
        share = part.weight / weight if weight > 0 else 0.0
        shares = np.array([total.weight, part.weight]) / max(weight, 1e-300)
        logs = np.log(np.stack([total.variance, part.variance]))
        sum_of_moments = replace(
            total,
            weight=weight,
            n_rows=total.n_rows + part.n_rows,
            mean=total.mean + share * apart,
            squares=total.squares + part.squares + apart**2 * total.weight * share,
            variance=np.exp(np.tensordot(shares, logs, axes=1)),
            wrong=total.wrong + part.wrong,
            scores=total.scores + part.scores,
            log_evidence=total.log_evidence + part.log_evidence,
        )
        now = _units_now(sum_of_moments) if standardise else total.standard
        here, there = in_units(sum_of_moments, now), in_units(part, now)
        precision, shift = here.precision + there.precision, here.shift + there.shift
        total = replace(here, precision=precision, shift=shift)
    return total


def in_units(belief: Belief, standard: Standard) -> Belief:
    """Return the same sites in other units of the columns."""
    old = belief.standard
    p = belief.n_columns + 1
    # Rows in the new units are `change` times rows in the old ones, the constant among them.
    change = np.zeros((p, p))
    change[np.arange(p - 1), np.arange(p - 1)] = old.unit / standard.unit
    change[:-1, -1] = (old.centre - standard.centre) / standard.unit
    change[-1, -1] = 1.0
    return replace(
        belief,
        precision=change @ belief.precision @ change.T,
        shift=belief.shift @ change.T,
        standard=standard,
    )


def _units_now(belief: Belief) -> Standard:
    variance = belief.squares / max(belief.weight, 1e-300)
    return Standard(belief.mean, units(variance, belief.mean))


def _measure(belief: Belief, X: Array, weights: Array) -> Belief:
    """Return the belief with the columns' moments after further rows."""
    total = belief.weight + float(weights.sum())
    if total <= 0:
        return replace(belief, n_rows=belief.n_rows + len(X))
    own = np.average(X, axis=0, weights=weights) if weights.any() else belief.mean
    apart = own - belief.mean
    squares = belief.squares + weights @ np.square(X - own)
    squares += apart**2 * belief.weight * float(weights.sum()) / total
    return replace(
        belief,
        n_rows=belief.n_rows + len(X),
        weight=total,
        mean=belief.mean + apart * float(weights.sum()) / total,
        squares=squares,
    )


def _scores(chances: Array, codes: Indices, weights: Array) -> Array:
    """Return sums of weights, errors and log losses; chances (k, m) of each function's class."""
    if len(chances) == 1:
        every = np.stack([1.0 - chances[0], chances[0]])
    else:
        every = chances / np.maximum(chances.sum(axis=0), 1e-300)
    own = every[codes, np.arange(len(codes))]
    wrong = np.argmax(every, axis=0) != codes
    losses = -np.log(np.maximum(own, np.finfo(np.float64).tiny))
    return np.array([weights.sum(), weights @ wrong, weights @ losses])


def _filter_rows(
    design: Array,
    y: Array,
    weights: Array,
    mean: Array,
    covariance: Array,
    noise: Noise,
    wrongness: "_Wrongness",
) -> tuple[Array, Array, float]:
    """Use each row once, for one function.

    Return the rows' sites, shape (2, m), the chances of the positive class before a row is used,
    (m,), and the log probability of the labels, each before its use. Labels are -1 and 1.

    Shapes: design (m, p), y, weights (m,), mean (p,), covariance (p, p).

    A row of weight w is used floor(w) times, and then the rest of w counts as a part of a site;
    very great weights in `MOST_VISITS` equal parts.
    Plain calls of BLAS: a compiled loop is five times as fast, and takes 100 MB and seconds to be
    loaded.
    """
    matrix, mean = np.array(covariance, order="F"), mean.copy()
    terms = [(share, sd * sd) for share, sd in zip(*noise, strict=True)]
    sites, chances, log_evidence = np.zeros((2, len(y))), np.full(len(y), 0.5), 0.0
    for row, (sign, left) in enumerate(zip(y.tolist(), weights.tolist(), strict=True)):
        x = design[row]
        is_first, whole = True, max(left / MOST_VISITS, 1.0)
        while left > 0.0:
            part = min(left, whole)
            left -= part
            column = dsymv(1.0, matrix, x, lower=1)
            variance, latent = ddot(x, column), ddot(x, mean)
            mass, slope, curvature, log_mass = _tilt(sign * latent, variance, terms, wrongness.flip)
            if is_first:
                chances[row] = mass if sign > 0 else 1.0 - mass
                is_first = False
            log_evidence += part * log_mass
            wrongness.see(part, mass)
            scale = part / max(1.0 - variance * curvature, 1e-10)
            precision, shift = scale * curvature, scale * (sign * slope + latent * curvature)
            stretch = 1.0 + precision * variance
            daxpy(column, mean, a=(shift - precision * latent) / stretch)
            dsyr(-precision / stretch, column, lower=1, a=matrix, overwrite_a=1)
            sites[0, row] += precision
            sites[1, row] += shift
    return sites, chances, log_evidence


def _tilt(
    latent: float, variance: float, terms: list[tuple[float, float]], flip: float
) -> tuple[float, float, float, float]:
    """Return chance of a right label, slope, curvature and log normaliser of one row's term.

    `latent` is multiplied by the label, and so is the slope. What `mixture_tilted` does for many.
    """
    mass, slope, bend = 0.0, 0.0, 0.0
    for share, noise in terms:
        scale = 1.0 / math.sqrt(noise + variance)
        z = latent * scale
        density = share * scale * math.exp(-0.5 * z * z) / _ROOT_2_PI
        mass += share * 0.5 * math.erfc(-z / _ROOT_2)
        slope += density
        bend += density * z * scale
    total = flip + (1.0 - 2.0 * flip) * mass
    if total < 1e-280:
        # So far on the wrong side, the widest noise pulls like a spring.
        pull = 1.0 / (terms[-1][1] + variance)
        return mass, -latent * pull, pull, -0.5 * latent * latent * pull
    right = (1.0 - 2.0 * flip) / total
    slope *= right
    return mass, slope, max(slope * slope + right * bend, 0.0), math.log(total)


@dataclass
class _Wrongness:
    """The share of wrong labels, learnt on the way if it is to be.

    wrong, weight: Labels held to be wrong, and all labels, so far.
    """

    flip: float
    learns: bool
    wrong: float
    weight: float

    def see(self, part: float, mass: float) -> None:
        """Count a label that had this chance if it is right."""
        if self.learns:
            flip = self.flip
            self.wrong += part * flip * (1.0 - mass) / (flip + (1.0 - 2.0 * flip) * mass)
            self.weight += part
            self.flip = (SEEN_WRONG + self.wrong) / (SEEN_WRONG + SEEN_RIGHT + self.weight)
