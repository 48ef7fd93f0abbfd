r"""Trade-offs between the rates of several classes: offsets to the scores, all at once.

With K classes a row is given to the class with the greatest score plus offset. Offsets are
:math:`\tau \log w_k` for weights w on a lattice of the simplex, so that a weight of zero rules a
class out and the corners of the simplex give every row to one class. The temperature tau is
fitted to the scores of a model: their order matters, not their scale, just as with the thresholds
of two classes.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError

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
        shifted: Array = logarithms - logarithms.max(axis=1, keepdims=True)
        return shifted

    def offsets(self, numbers: AnyArray) -> Array:
        """Return the offsets behind the numbers of operating points, shape (c, n_classes)."""
        temperatures, points = np.divmod(np.asarray(numbers, np.intp), len(self.weights))
        offsets: Array = self._logarithms[points] * 2.0 ** (temperatures[:, None] - _MIDDLE)
        return offsets

    def predicted(self, scores: Array, numbers: AnyArray) -> Indices:
        """Return the class of each row at each operating point, shape (c, n)."""
        classes: Indices = (scores[None] + self.offsets(numbers)[:, None]).argmax(axis=2)
        return classes

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
    lattice: Array = (np.diff(edges, axis=1) - 1) / n_levels
    return lattice


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
    rates: Array = (correct.astype(np.float64) @ share).round(_DECIMALS)
    return rates


def rate_gains(codes: Indices, weights: Array, folds: Indices | None, n_classes: int) -> Array:
    """Return what getting each row right adds to its class's rate, shape (n,).

    With folds the rate is the mean over the folds in which the class occurs.

    Shapes: codes (n,), weights (n,), folds (n,).
    """
    parts = np.zeros(len(codes), dtype=np.intp) if folds is None else folds
    sizes = np.zeros((int(parts.max()) + 1, n_classes))
    np.add.at(sizes, (parts, codes), weights)
    n_parts = np.count_nonzero(sizes, axis=0)
    gains: Array = weights / sizes[parts, codes] / n_parts[codes]
    return gains
