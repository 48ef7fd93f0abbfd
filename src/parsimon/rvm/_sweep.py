r"""All operating points of one model at once: corners in the ROC plane, or offsets of classes.

With two classes a row is predicted positive where its score is above the cutoff, strictly. Every
distinct set of such rows is one operating point; only the corners of the staircase, which no other
point of the same model dominates, can ever be on a front, so only they are returned (`ExactSweep`,
`GridSweep`).

With K classes a row is given to the class with the greatest score plus offset (`ClassSweep`).
Offsets are :math:`\tau \log w_k` for weights w on a lattice of the simplex, so that a weight of
zero rules a class out and the corners of the simplex give every row to one class. The temperature
tau is fitted to the scores of a model: their order matters, not their scale, just as with the
thresholds of two classes.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from parsimon._compiled import compiled
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError

# Rates are sums of reciprocals; beyond this many digits they differ by rounding only.
_DIGITS = 1e12


class RateRows(NamedTuple):
    """The rows on which rates are measured, each with what it adds to them.

    entries (n_entries,): Which of the flattened scores, shape (k, n_distinct), are looked at.
    positive, negative (n_entries,): What predicting the row positive adds to the true and to
        the false positive rate.
    """

    entries: Indices
    positive: Array
    negative: Array


def rate_rows(n_positive: Array, n_negative: Array) -> RateRows:
    """Return the rows of k folds that count alike, each with its own rates.

    Shapes: n_positive, n_negative (k, n_distinct).
    """
    entries = np.flatnonzero(n_positive + n_negative)
    rates = []
    for counts in (n_positive, n_negative):
        sizes = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, sizes, out=np.zeros_like(counts), where=sizes > 0)
        rates.append(shares.ravel()[entries] / max(1, np.count_nonzero(sizes)))
    return RateRows(entries, rates[0], rates[1])


@dataclass(frozen=True)
class ExactSweep:
    """Every distinct score is a threshold; cutoffs lie halfway between neighbours."""

    def __call__(self, scores: Array, rows: RateRows) -> Array:
        """Return cutoffs, true and false positive rates of the corners, shape (3, c).

        A cutoff is infinite where all rows or none are predicted positive; rates ascend.

        Shapes: scores (n_entries,).
        """
        return staircase(scores, scores.argsort(), rows.positive, rows.negative)


@dataclass(frozen=True)
class GridSweep:
    """Thresholds on the probability in equal steps from 0 to 1, as Clark printed it.

    The step limits how finely models that are nearly indifferent everywhere are told apart.
    """

    step: float = 0.01

    def __post_init__(self) -> None:
        if not 0 < self.step <= 1:
            raise InvalidInputError(
                f"The step between thresholds must be above 0 and at most 1, got {self.step!r}."
            )

    def __call__(self, scores: Array, rows: RateRows) -> Array:
        """Return the corners as `ExactSweep` does."""
        cutoffs = _cutoffs(self.step)
        return grid(scores, scores.argsort(), rows.positive, rows.negative, cutoffs)


Sweep = ExactSweep | GridSweep


def sweep_of(thresholds: str | float) -> Sweep:
    """Return the sweep for "exact" or for a step between probabilities."""
    if isinstance(thresholds, str):
        if thresholds != "exact":
            raise InvalidInputError(
                f'thresholds must be "exact" or a step such as 0.01, got {thresholds!r}.'
            )
        return ExactSweep()
    return GridSweep(float(thresholds))


@cache
def _cutoffs(step: float) -> Array:
    """Return the logits of probabilities from 1 down to 0."""
    return logit(np.minimum(np.arange(0.0, 1.0 + 0.5 * step, step), 1.0))[::-1].copy()


def staircase_of_arrays(scores: Array, order: Indices, positive: Array, negative: Array) -> Array:
    """Return the corners among all distinct thresholds, as `ExactSweep` does.

    Shapes: scores (n_entries,), order (n_entries,), positive, negative (n_entries,).
    """
    falling = order[::-1]
    ordered = scores[falling]
    ends = np.append(np.flatnonzero(ordered[:-1] > ordered[1:]), len(order) - 1)
    upper, lower = ordered[ends[:-1]], ordered[ends[:-1] + 1]
    middle = lower + 0.5 * (upper - lower)
    points = np.zeros((3, len(ends) + 1))
    points[0, 0], points[0, -1] = np.inf, -np.inf
    # Between two neighbouring numbers there is no third: the lower one parts them as well.
    points[0, 1:-1] = np.where(middle < upper, middle, lower)
    points[1, 1:] = positive[falling].cumsum()[ends]
    points[2, 1:] = negative[falling].cumsum()[ends]
    return _corners(points)


def grid_of_arrays(
    scores: Array, order: Indices, positive: Array, negative: Array, cutoffs: Array
) -> Array:
    """Return the corners among given thresholds, as `GridSweep` does; `cutoffs` descend."""
    points = np.empty((3, len(cutoffs)))
    points[0] = cutoffs
    above = len(order) - np.searchsorted(scores[order], cutoffs, side="right")
    for rate, gains in zip(points[1:], (positive, negative), strict=True):
        rate[:] = np.append(0.0, gains[order[::-1]].cumsum())[above]
    # Of thresholds that say the same of every row the smallest is kept.
    return _corners(points[:, np.append(above[1:] > above[:-1], True)])


def _corners(points: Array) -> Array:
    """Keep those of rising points that none of the others dominates.

    A point is a corner if the rows added last raised the true positive rate and those added next
    raise the false positive rate.
    """
    points[1:] = np.rint(points[1:] * _DIGITS) / _DIGITS
    corner = np.ones(points.shape[1], dtype=np.bool_)
    corner[1:] = points[1, 1:] > points[1, :-1]
    corner[:-1] &= points[2, 1:] > points[2, :-1]
    return points[:, corner]


def rates_at(scores: Array, rows: RateRows, cutoffs: Array) -> Array:
    """Return true and false positive rates at given cutoffs, shape (2, c).

    Shapes: scores (n_entries,), cutoffs (c,).
    """
    return rates(scores, scores.argsort(), rows.positive, rows.negative, cutoffs)


def rates_of_arrays(
    scores: Array, order: Indices, positive: Array, negative: Array, cutoffs: Array
) -> Array:
    """Return what `rates_at` does; `order` sorts the scores ascending."""
    above = len(order) - np.searchsorted(scores[order], cutoffs, side="right")
    sums = [np.append(0.0, gains[order[::-1]].cumsum())[above] for gains in (positive, negative)]
    return np.rint(np.array(sums) * _DIGITS) / _DIGITS


@compiled(plain=staircase_of_arrays)
def staircase(scores: Array, order: Indices, positive: Array, negative: Array) -> Array:
    """Do what `staircase_of_arrays` does, to the same bits in a tenth of the time."""
    n = len(order)
    points = np.empty((3, n + 2))
    points[0, 0], points[1, 0], points[2, 0] = np.inf, 0.0, 0.0
    tpr, fpr, count = 0.0, 0.0, 1
    for i in range(n - 1, -1, -1):
        tpr += positive[order[i]]
        fpr += negative[order[i]]
        upper = scores[order[i]]
        lower = scores[order[i - 1]] if i else -np.inf
        if upper > lower:
            middle = lower + 0.5 * (upper - lower) if i else lower
            points[0, count] = middle if middle < upper else lower
            points[1, count], points[2, count] = _rounded(tpr), _rounded(fpr)
            count += 1
    return _corners_in_place(points, count)


@compiled(plain=grid_of_arrays)
def grid(scores: Array, order: Indices, positive: Array, negative: Array, cutoffs: Array) -> Array:
    """Do what `grid_of_arrays` does, to the same bits in a tenth of the time."""
    points = np.empty((3, len(cutoffs)))
    tpr, fpr, count, i = 0.0, 0.0, 0, len(order) - 1
    for j in range(len(cutoffs)):
        before = i
        while i >= 0 and scores[order[i]] > cutoffs[j]:
            tpr += positive[order[i]]
            fpr += negative[order[i]]
            i -= 1
        if j == 0 or i < before:
            count += 1
        # Of thresholds that say the same of every row the smallest is kept.
        points[0, count - 1] = cutoffs[j]
        points[1, count - 1], points[2, count - 1] = _rounded(tpr), _rounded(fpr)
    return _corners_in_place(points, count)


@compiled(plain=rates_of_arrays)
def rates(scores: Array, order: Indices, positive: Array, negative: Array, cutoffs: Array) -> Array:
    """Do what `rates_of_arrays` does, to the same bits in a tenth of the time."""
    n = len(order)
    sums = np.zeros((2, n + 1))
    for i in range(n):
        entry = order[n - 1 - i]
        sums[0, i + 1] = sums[0, i] + positive[entry]
        sums[1, i + 1] = sums[1, i] + negative[entry]
    found = np.empty((2, len(cutoffs)))
    for j in range(len(cutoffs)):
        low, high = 0, n  # how many are above: the scores fall along the reversed order
        while low < high:
            middle = (low + high) // 2
            if scores[order[n - 1 - middle]] > cutoffs[j]:
                low = middle + 1
            else:
                high = middle
        found[0, j], found[1, j] = _rounded(sums[0, low]), _rounded(sums[1, low])
    return found


@compiled
def _rounded(rate: float) -> float:
    return float(np.rint(rate * 1e12) / 1e12)


@compiled
def _corners_in_place(points: Array, count: int) -> Array:
    kept = 0
    for j in range(count):
        raises = j == 0 or points[1, j] > points[1, j - 1]
        costs_next = j == count - 1 or points[2, j + 1] > points[2, j]
        if raises and costs_next:
            for row in range(3):
                points[row, kept] = points[row, j]
            kept += 1
    return points[:, :kept].copy()


# Rates are sums of reciprocals; beyond this they differ by rounding only.
_DECIMALS = 12
# Most points of a lattice whose step is not given.
MOST_POINTS = 300
LARGEST_LATTICE = 20_000
# Temperatures are powers of two, from 2^-40 to 2^23, so that a number names one.
_N_TEMPERATURES, _MIDDLE = 64, 40


class ClassPoints(NamedTuple):
    """Operating points of one model of several classes.

    numbers (c,): Whole numbers from which `ClassSweep.offsets` makes the offsets.
    rates (c, n_classes): Share of each class that is predicted right.
    """

    numbers: Array
    rates: Array


@dataclass(frozen=True)
class ClassSweep:
    """The offsets that are tried on each model.

    n_classes: Three or more.
    thresholds: A step between the weights of the lattice. More than two classes have no exact
        sweep: "exact" is the finest lattice of at most 300 points.
    """

    n_classes: int
    thresholds: str | float = "exact"

    def __post_init__(self) -> None:
        if isinstance(self.thresholds, str):
            if self.thresholds != "exact":
                raise InvalidInputError(
                    f'thresholds must be "exact" or a step such as 0.01, got {self.thresholds!r}.'
                )
        elif not 0 < self.thresholds <= 1:
            raise InvalidInputError(
                "The step between thresholds must be above 0 and at most 1, "
                f"got {self.thresholds!r}."
            )
        n_points = comb(self.n_levels + self.n_classes - 1, self.n_classes - 1)
        if n_points > LARGEST_LATTICE:
            raise InvalidInputError(
                f"thresholds={self.thresholds} makes {n_points:,} combinations for "
                f'{self.n_classes} classes; give a larger step, or "exact".'
            )

    @property
    def n_levels(self) -> int:
        """How many steps lead from one corner of the simplex to another."""
        if not isinstance(self.thresholds, str):
            return round(1 / self.thresholds)
        others = self.n_classes - 1
        levels = 1
        while comb(levels + 1 + others, others) <= MOST_POINTS:
            levels += 1
        return levels

    @cached_property
    def weights(self) -> Array:
        """Weights of the classes, shape (n_points, n_classes); equal ones come first."""
        equal = np.full((1, self.n_classes), 1 / self.n_classes)
        return np.concatenate([equal, simplex_lattice(self.n_classes, self.n_levels)])

    @cached_property
    def _logarithms(self) -> Array:
        with np.errstate(divide="ignore"):
            logarithms = np.log(self.weights)
        return logarithms - logarithms.max(axis=1, keepdims=True)

    def offsets(self, numbers: AnyArray) -> Array:
        """Return the offsets behind the numbers of operating points, shape (c, n_classes)."""
        temperatures, points = np.divmod(np.asarray(numbers, np.intp), len(self.weights))
        return self._logarithms[points] * 2.0 ** (temperatures[:, None] - _MIDDLE)

    def predicted(self, scores: Array, numbers: AnyArray) -> Indices:
        """Return the class of each row at each operating point, shape (c, n)."""
        return (scores[None] + self.offsets(numbers)[:, None]).argmax(axis=2)

    def __call__(self, scores: Array, codes: Indices, gains: Array) -> ClassPoints:
        """Return the distinct operating points of a model.

        Shapes: scores (n, n_classes), codes (n,), gains (n,).
        """
        level = temperature_level(scores, self.n_levels)
        numbers = np.arange(float(len(self.weights))) + level * len(self.weights)
        rates = class_rates(self.predicted(scores, numbers) == codes, codes, gains, self.n_classes)
        # Of points with equal rates the first is kept, equal weights before any others.
        first = np.sort(np.unique(rates, axis=0, return_index=True)[1])
        return ClassPoints(numbers[first], rates[first])


def simplex_lattice(n_classes: int, n_levels: int) -> Array:
    """Return all vectors of multiples of 1 / n_levels that add up to one."""
    places = n_levels + n_classes - 1
    # Stars and bars: n_classes - 1 bars among the places, the stars between them are the parts.
    bars = np.array(list(combinations(range(places), n_classes - 1)), dtype=np.int64)
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, places)))
    return (np.diff(edges, axis=1) - 1) / n_levels


def temperature_level(scores: Array, n_levels: int) -> int:
    """Return the number of the temperature at which a lattice spans the scores of a model.

    The greatest finite offset is to reach the range of the scores of a row, except for one row in
    twenty that may lie further apart.
    """
    span = float(np.quantile(np.ptp(scores, axis=1), 0.95))
    if span <= 0.0:
        return _MIDDLE
    reach = np.log(max(n_levels - 1, 2))
    return int(np.clip(round(np.log2(span / reach)) + _MIDDLE, 0, _N_TEMPERATURES - 1))


def class_rates(correct: Mask, codes: Indices, gains: Array, n_classes: int) -> Array:
    """Return the rate of each class, shape (c, n_classes).

    Shapes: correct (c, n), codes (n,), gains (n,).
    """
    share = gains[:, None] * (codes[:, None] == np.arange(n_classes))
    return (correct.astype(np.float64) @ share).round(_DECIMALS)


def rate_gains(codes: Indices, weights: Array, folds: Indices | None, n_classes: int) -> Array:
    """Return what getting each row right adds to its class's rate, shape (n,).

    With folds the rate is the mean over the folds in which the class occurs.

    Shapes: codes (n,), weights (n,), folds (n,).
    """
    parts = np.zeros(len(codes), dtype=np.intp) if folds is None else folds
    sizes = np.zeros((int(parts.max()) + 1, n_classes))
    np.add.at(sizes, (parts, codes), weights)
    n_parts = np.count_nonzero(sizes, axis=0)
    return weights / sizes[parts, codes] / n_parts[codes]
