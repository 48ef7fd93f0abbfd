r"""Several classes by one machine for each pair, as in SVC: votes, and probabilities that agree.

`fit_pairs` fits the machine of every pair, with probabilities by cross-fitting if asked for.
Platt's sigmoid has an offset, so that its half is not where the decision changes its sign, and a
coupling of pairwise probabilities need not prefer the class with the most votes. Here a
probability is above one half exactly where the decision is above zero: the sigmoid goes through the
origin, with a slope of its own on each side,

.. math:: p(f) = 1 / (1 + \exp(-a_+ f)) \text{ for } f > 0, \quad 1 / (1 + \exp(-a_- f))
   \text{ for } f < 0,

fitted to decisions of machines that had not seen the rows. Of more than two classes, the coupled
probabilities are moved, where they must be, to the nearest ones that prefer the predicted class.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from parsimon._parallel import Workers
from parsimon._typing import Array, Indices, Mask
from parsimon.svm._dual import Dual
from parsimon.svm._evolve import EvolutionOptions
from parsimon.svm._gram import FittedDual, fit_dual


class Pair(NamedTuple):
    """Two classes, told apart by one machine.

    positive, negative: Codes of the classes for which the decision is above and below zero.
    """

    positive: int
    negative: int

    def rows(self, codes: Indices) -> Indices:
        """Return the rows of both classes."""
        return np.flatnonzero((codes == self.positive) | (codes == self.negative))

    def signs(self, codes: Indices) -> Array:
        """Return the labels, 1.0 and -1.0, of rows of both classes."""
        return np.where(codes == self.positive, 1.0, -1.0)


def pair_classes(n_classes: int) -> list[Pair]:
    """Return all pairs, with the signs and in the order of SVC.

    Of two classes the second is positive, of more the first of each pair.
    """
    if n_classes == 2:
        return [Pair(1, 0)]
    return [Pair(first, second) for first, second in combinations(range(n_classes), 2)]


def votes_and_margins(decisions: Array, n_classes: int) -> Array:
    """Return a number for each class that grows with its votes and, among equals, its margins.

    Shapes: decisions (m, n_pairs) -> (m, n_classes).
    """
    votes = np.zeros((len(decisions), n_classes))
    margins = np.zeros_like(votes)
    for column, (first, second) in enumerate(pair_classes(n_classes)):
        decision = decisions[:, column]
        votes[:, first] += decision >= 0
        votes[:, second] += decision < 0
        margins[:, first] += decision
        margins[:, second] -= decision
    return votes + margins / (3.0 * (np.abs(margins) + 1.0))


def shown_coefficients(
    coefficients: Array, codes: Indices, places: Indices, n_classes: int
) -> tuple[Indices, Array, Indices]:
    """Return support vectors and their coefficients in the layout of SVC.

    Shapes: coefficients (n, n_pairs), codes, places (n,) -> (n_support,), (n_classes - 1,
        n_support), (n_classes,).
    """
    used = np.flatnonzero(coefficients.any(axis=1))
    chosen = used[np.lexsort((places[used], codes[used]))]
    dual_coef = np.zeros((n_classes - 1, len(chosen)))
    for column, pair in enumerate(pair_classes(n_classes)):
        for own, other in (pair, pair[::-1]):
            of_class = np.flatnonzero(codes[chosen] == own)
            dual_coef[other - (other > own), of_class] = coefficients[chosen[of_class], column]
    return chosen, dual_coef, np.bincount(codes[chosen], minlength=n_classes)


_LEAST_SLOPE, _MOST_SLOPE = 1e-3, 1e6
_ABOVE_HALF = float(np.nextafter(0.5, 1.0))
# What a coupled probability keeps from 0 and 1, so that the system can be solved.
_OPEN = 1e-7
_LEAD = 1e-9


class Slopes(NamedTuple):
    """How fast the probability leaves one half on either side.

    above, below: Per unit of the decision, positive.
    """

    above: float
    below: float

    def probability(self, decisions: Array) -> Array:
        """Return the probability of the positive class, above 1/2 where the decision is above 0."""
        raw = expit(np.where(decisions > 0, self.above, self.below) * decisions)
        bounded: Array = np.where(
            decisions > 0, np.maximum(raw, _ABOVE_HALF), np.minimum(raw, 1.0 - _ABOVE_HALF)
        )
        return np.where(decisions == 0, 0.5, bounded)


def fit_slopes(decisions: Array, signs: Array, weights: Array) -> Slopes:
    """Fit the slopes to decisions about rows with known labels.

    Two slopes, one for both sides or none, which is one half for every row: the greatest log
    likelihood less the number of slopes (Akaike's price), so that decisions that say nothing, or
    few of them, are not believed.

    Shapes: decisions, signs, weights (n,).

    Platt (2000), "Probabilities for SV machines", for the targets, which are a little inside 0
    and 1; Lin, Lin and Weng (2007), "A note on Platt's probabilistic outputs".
    """
    n_positive, n_negative = weights[signs > 0].sum(), weights[signs < 0].sum()
    targets = np.where(signs > 0, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    sizes, right = np.abs(decisions), np.where(decisions > 0, targets, 1.0 - targets)
    both = _slope(sizes, right, weights, decisions != 0)
    if both is None:
        return Slopes(1.0, 1.0)
    unit = float(np.average(sizes, weights=weights * (sizes > 0)))
    sides = [_slope(sizes, right, weights, side) for side in (decisions > 0, decisions < 0)]
    tried = [Slopes(_LEAST_SLOPE / unit, _LEAST_SLOPE / unit), Slopes(both, both)]
    if None not in sides:
        tried.append(Slopes(*(slope for slope in sides if slope is not None)))

    def merit(n_slopes: int) -> float:
        scores = np.where(decisions > 0, *tried[n_slopes]) * decisions
        return float(weights @ (targets * scores - np.logaddexp(0.0, scores))) - n_slopes

    return tried[max(range(len(tried)), key=merit)]


def _slope(sizes: Array, targets: Array, weights: Array, which: Mask) -> float | None:
    """Return the slope of greatest likelihood on some rows, bounded; None without rows."""
    if not which.any():
        return None
    sizes, targets, weights = sizes[which], targets[which], weights[which]
    unit = float(np.average(sizes, weights=weights))
    scaled = sizes / unit

    def rising(slope: float) -> bool:
        return float(weights @ (scaled * (targets - expit(slope * scaled)))) > 0

    # The likelihood is concave in the slope: bisect its derivative, in logarithms.
    low, high = np.log(_LEAST_SLOPE), np.log(_MOST_SLOPE)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rising(float(np.exp(middle))) else (low, middle)
    return float(np.exp(0.5 * (low + high))) / unit


def couple(pairwise: Array, n_classes: int) -> Array:
    """Return class probabilities that fit pairwise ones best.

    Shapes: pairwise (m, n_pairs) -> (m, n_classes).

    Wu, Lin and Weng (2004), "Probability estimates for multi-class classification by pairwise
    coupling", JMLR 5:975-1005, the second method.
    """
    m = len(pairwise)
    r = np.full((m, n_classes, n_classes), 0.5)
    for column, (first, second) in enumerate(pair_classes(n_classes)):
        r[:, first, second] = np.clip(pairwise[:, column], _OPEN, 1.0 - _OPEN)
        r[:, second, first] = 1.0 - r[:, first, second]
    system = np.zeros((m, n_classes + 1, n_classes + 1))
    inner = system[:, :n_classes, :n_classes]
    inner -= r * r.transpose(0, 2, 1)
    every = np.arange(n_classes)
    inner[:, every, every] = (r**2).sum(axis=1) - r[:, every, every] ** 2
    system[:, :n_classes, n_classes] = system[:, n_classes, :n_classes] = 1.0
    right = np.zeros((m, n_classes + 1, 1))
    right[:, n_classes] = 1.0
    found = np.maximum(np.linalg.solve(system, right)[:, :n_classes, 0], 0.0)
    return found / found.sum(axis=1, keepdims=True)


def agree(probabilities: Array, winners: Indices) -> Array:
    """Return the nearest probabilities whose greatest is that of the winner.

    The winner and the classes above it are given their common mean, the winner a trifle more.

    Shapes: probabilities (m, n_classes), winners (m,).
    """
    agreed = probabilities.copy()
    for row in np.flatnonzero(probabilities.argmax(axis=1) != winners):
        own, winner = agreed[row], int(winners[row])
        others = [k for k in np.argsort(-own, kind="stable") if k != winner]
        pool, mean = [winner], float(own[winner])
        for k in others:
            if own[k] < mean:
                break
            pool.append(int(k))
            mean = float(own[pool].mean())
        own[pool] = mean * (1.0 - _LEAD)
        own[winner] = mean * (1.0 + _LEAD * (len(pool) - 1))
    return agreed


_N_FOLDS = 5


def fit_pairs(
    kernel: Array,
    codes: Indices,
    upper: Array,
    settings: EvolutionOptions,
    concave: bool,
    seed: np.random.SeedSequence,
    *,
    counts: Array | None = None,
    n_jobs: int | None = None,
) -> list[FittedDual]:
    """Fit the machine of every pair of classes, with chance of its own.

    There are probabilities if it is said how many given rows each stands for.

    Shapes: kernel (n, n), codes, upper, counts (n,).
    """
    pairs = pair_classes(int(codes.max()) + 1)

    def calls() -> Iterator[tuple[Any, ...]]:
        for pair, child in zip(pairs, seed.spawn(len(pairs)), strict=True):
            own = pair.rows(codes)
            part = kernel if len(own) == len(codes) else kernel[np.ix_(own, own)]
            dual = Dual(part, pair.signs(codes[own]), upper[own], equality=not settings.printed)
            yield dual, settings, concave, child, None if counts is None else counts[own]

    with Workers(1 if len(pairs) == 1 else n_jobs) as workers:
        return list(workers.map(fit_pair, calls()))


def fit_pair(
    dual: Dual,
    settings: EvolutionOptions,
    concave: bool,
    seed: np.random.SeedSequence,
    counts: Array | None,
) -> FittedDual:
    """Fit one pair of classes, with probabilities if it is known how many rows each stands for."""
    own, folds = seed.spawn(2)
    fitted = fit_dual(dual, settings, concave, own)
    if counts is None:
        return fitted

    def machine(part: Dual, child: np.random.SeedSequence) -> tuple[Array, float]:
        found = fit_dual(part, settings, concave, child).solution
        return found.alpha, found.bias

    seen = dual.scores(fitted.solution.alpha, fitted.solution.bias)
    return fitted._replace(slopes=cross_fit_slopes(dual, counts, machine, folds, seen=seen))


Machine = Callable[[Dual, np.random.SeedSequence], tuple[Array, float]]


def cross_fit_slopes(
    dual: Dual, counts: Array, machine: Machine, seed: np.random.SeedSequence, *, seen: Array
) -> Slopes:
    """Return slopes fitted to decisions of machines that have not seen the rows.

    If a class has a single row, none can be left out, and the decisions `seen` must do: the
    targets of so few rows keep the probabilities far from 0 and 1.

    Shapes: counts, seen (n,).
    """
    unseen = unseen_decisions(dual, counts, machine, seed)
    # C is in the bounds of all rows alike, so that they are weights up to a factor.
    weights = dual.upper * (counts.sum() / dual.upper.sum())
    return fit_slopes(seen if unseen is None else unseen, dual.signs, weights)


def unseen_decisions(
    dual: Dual, counts: Array, machine: Machine, seed: np.random.SeedSequence
) -> Array | None:
    """Return decisions about every row by machines that have not seen it, in five folds.

    `machine` solves a part of the dual, and returns its variables and the bias. A row that stands
    for several is left out a part at a time, as its copies would be, and its decisions are
    averaged. None if a class has a single row, so that none can be left out.

    Shapes: counts (n,).
    """
    copies = np.maximum(np.floor(counts + 1e-9), 1.0)
    n_folds = int(min(_N_FOLDS, *(copies[dual.signs == sign].sum() for sign in (-1.0, 1.0))))
    if n_folds < 2:
        return None
    shuffle, *seeds = seed.spawn(1 + n_folds)
    rng = np.random.default_rng(shuffle)
    shares = _shares_left_out(dual.signs, copies, n_folds, rng)
    decisions = np.zeros(len(dual))
    for share, child in zip(shares.T, seeds, strict=True):
        kept, left = np.flatnonzero(share < 1), np.flatnonzero(share > 0)
        upper = dual.upper[kept] * (1.0 - share[kept])
        part = Dual(dual.kernel[np.ix_(kept, kept)], dual.signs[kept], upper, dual.equality)
        alpha, bias = machine(part, child)
        found = dual.kernel[np.ix_(left, kept)] @ (alpha * part.signs) + bias
        decisions[left] += share[left] * found
    return decisions


def _shares_left_out(signs: Array, copies: Array, n_folds: int, rng: np.random.Generator) -> Array:
    """Return which share of each row every fold leaves out; those of a row sum to 1.

    Shapes: signs, copies (n,) -> (n, n_folds).
    """
    first = np.empty(len(signs), dtype=np.intp)
    for sign in (-1.0, 1.0):
        members = np.flatnonzero(signs == sign)
        first[rng.permutation(members)] = np.arange(len(members)) % n_folds
    parts = np.minimum(copies, n_folds)
    steps = (np.arange(n_folds) - first[:, None]) % n_folds
    return np.where(steps < parts[:, None], 1.0 / parts[:, None], 0.0)
