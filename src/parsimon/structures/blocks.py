"""Terms of a structure as columns: a line, a curve, a wave for a variable; a surface for a pair.

Every block has the prior w ~ N(0, v I) with one variance v, so that its columns carry the weights
of the process that it stands for. A curve is what a smooth function has beyond a line, a surface
what two variables have beyond a sum of two functions: blocks of one variable or pair are orthogonal
to those that they are added to, so that a line is never taken for a curve, or a sum for an
interaction (a functional analysis of variance: Hooker 2007, Journal of Computational and Graphical
Statistics 16:709-732).

A wave needs a period first. The evidence of a periodic term has a narrow peak at the period and
many lesser ones beside it, so that a fit from anywhere else does not find it: `likely_period`, at
the end, looks at all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.stats import rankdata

from parsimon._typing import AnyArray, Array, Indices

Triple: TypeAlias = tuple[int, int, int]

# Cosines on the ranks of a column; the k-th has prior variance exp(-k / 2.5), so that most of a
# curve has one or two turns and up to six are possible.
_N_COSINES = 6
_DECAY = 2.5
# Standard deviations of the weights of the square and the cube of a number. Cosines of ranks level
# off where a square goes on: what they leave of it would look like an interaction with any column
# that goes along with this one.
_POWER_WEIGHTS = np.array([0.5, 0.35])
# Weights of what a surface is made of: the number itself, the first cosine of its ranks beyond
# that, the second cosine.
_SURFACE_WEIGHTS = np.array([1.0, 0.35, 0.5])
# Numbers further from their mean than so many standard deviations count as if they were there, so
# that no single row makes a surface.
_FARTHEST = 3.0
# Levels of a category that a surface tells apart; the rarer ones are as the average.
_SURFACE_LEVELS = 4
# Levels of a category that are told apart by themselves, and rows that each needs.
_MOST_LEVELS, _FEWEST_OF_LEVEL = 100, 2
# Fewer waves within the data are curves, and periods of more are not looked for.
_FEWEST_WAVES, _MOST_WAVES = 3, 60
# Where the bends of a number are, as shares of the rows below, and the standard deviation of their
# weights.
_BENDS = (0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99)
_BEND_WEIGHT = 0.5
# Fewer distinct values than this leave nothing between a line and a curve.
_FEWEST_VALUES = 3


@dataclass(frozen=True, eq=False)
class VariableBlocks:
    """The blocks of one variable, which may have several columns.

    line (n, m): Standardised numbers, centred indicators times two (Gelman 2008, Statistics in
        Medicine 27:2865-2873), and by what numbers that were filled in may be off.
    curve, wave (n, m): None where the variable has none.
    leading (n, m): What surfaces are made of, with their weights.
    n_periods: How many periods the wave was the best of.
    number (n,): The standardised number that curve and wave are of; None where there is none.
    period: Of the wave, in its units.
    """

    line: Array
    curve: Array | None
    wave: Array | None
    leading: Array
    n_periods: int = 1
    number: Array | None = None
    period: float | None = None

    @cached_property
    def additive(self) -> Array:
        """An orthonormal basis of everything that the variable can say alone, and of constants."""
        parts = [np.ones((len(self.line), 1)), self.line, self.leading]
        if self.curve is not None:
            parts.append(self.curve)
        return _orthonormal(np.hstack(parts))

    @property
    def has_shape(self) -> bool:
        """Whether there is a shape to speak of: not of levels, and not of two values."""
        return self.number is not None and self.curve is not None

    @property
    def main(self) -> Array:
        """What products of three are made of: the clipped number, or levels of a category."""
        return self.leading if self.number is None else self.leading[:, :1]

    @cached_property
    def bends(self) -> Array | None:
        """Straight lines with bends from one end of the number to the other, beyond a line.

        They follow what a curve smooths over, and go on where ranks end; None without a number.
        """
        if self.number is None:
            return None
        bent = np.maximum(self.number[:, None] - np.quantile(self.number, _BENDS), 0.0)
        return _beyond(_BEND_WEIGHT * _standardise(bent), self.line)


def variable_blocks(
    columns: Array, y: Array, *, waves: bool, doubts: Array | None = None
) -> VariableBlocks:
    """Return the blocks of a variable.

    Shapes: columns (n, k), y (n,); doubts (n, m), by what filled cells may be off.
    """
    place = number_among(columns)
    line = np.column_stack([_line_of(column) for column in columns.T])
    if doubts is not None:
        # The weight of the variable times an unknown slope: as if it had a weight of its own.
        line = np.hstack([line, doubts - doubts.mean(axis=0)])
    if place is None:
        return VariableBlocks(line, None, None, line[:, :_SURFACE_LEVELS])
    number = _line_of(columns[:, place])
    cosines = _cosines(number)
    weights = np.exp(-np.arange(1, _N_COSINES + 1) / (2 * _DECAY))
    powers = _standardise(clipped(number)[:, None] ** np.array([2, 3]))
    curve = _beyond(np.hstack([cosines * weights, powers * _POWER_WEIGHTS]), line)
    leading = _leading(number, cosines) * _SURFACE_WEIGHTS
    wave, n_periods, period = _wave(number, y, line) if waves else (None, 1, None)
    return VariableBlocks(line, curve, wave, leading, n_periods, number, period)


class LevelRows(NamedTuple):
    """The levels of a category: a code for each row, and places in an order if there is one.

    codes (n,): Whole numbers, -1 where a cell is missing.
    places (n,): Along the order; None without one.
    labels: Names of the levels, in the order of their codes; empty if nobody asks for them.
    """

    codes: Indices
    places: Array | None = None
    labels: tuple[str, ...] = ()


def level_blocks(columns: Array, levels: LevelRows) -> VariableBlocks:
    """Return the blocks of a category: all levels with one variance, so that they are pooled.

    Levels that have an order enter along a line, or each by itself in place of a curve.

    Shapes: columns (n, k), indicators of the commonest levels, which surfaces are made of.
    """
    found, counts = np.unique(levels.codes, return_counts=True)
    shown = found[np.argsort(-counts, kind="stable")][:_MOST_LEVELS]
    shown = shown[: max(2, int((counts >= _FEWEST_OF_LEVEL).sum()))]
    every = 2.0 * (levels.codes[:, None] == shown)
    every = every - every.mean(axis=0)
    leading = np.column_stack([_line_of(column) for column in columns.T])[:, :_SURFACE_LEVELS]
    if levels.places is None or np.ptp(levels.places) == 0:
        return VariableBlocks(every, None, None, leading)
    line = _standardise(levels.places[:, None])
    return VariableBlocks(line, _beyond(every, line), None, leading)


def surface(first: VariableBlocks, second: VariableBlocks) -> Array:
    """Return what two variables say together beyond the sum of what each says alone.

    Shape: (n, m).
    """
    product = products(first.leading, second.leading)
    for basis in (first.additive, second.additive) * 2:
        # Alternating projections: the two spaces are nearly orthogonal, so that twice is enough.
        product = product - basis @ (basis.T @ product)
    return product


def triple_product(first: VariableBlocks, second: VariableBlocks, third: VariableBlocks) -> Array:
    """Return the product of three variables beyond what each says alone and two of them together.

    Shape: (n, m).
    """
    parts = [variable.main for variable in (first, second, third)]
    pairs = [products(parts[j], parts[k]) for j, k in ((0, 1), (0, 2), (1, 2))]
    basis = _orthonormal(np.hstack([first.additive, second.additive, third.additive, *pairs]))
    product = products(products(parts[0], parts[1]), parts[2])
    return product - basis @ (basis.T @ product)


def rough_triples(
    variables: Sequence[VariableBlocks], slack: Array, curvature: Array, most: int
) -> list[Triple]:
    """Return the triples whose products seem to say most beyond a fit, the best first.

    One matrix product for each component of a variable, of which a category has one for each of
    its commonest levels. Score tests then order the best of them.
    """
    owner = np.repeat(np.arange(len(variables)), [variable.main.shape[1] for variable in variables])
    columns = np.hstack([variable.main for variable in variables])
    places: list[tuple[float, list[int]]] = []
    for place, variable in enumerate(owner.tolist()):
        later = np.flatnonzero(owner > variable)
        rest = columns[:, later]
        score = np.abs(rest.T @ (rest * (slack * columns[:, place])[:, None]))
        score[owner[later][:, None] >= owner[later]] = 0.0
        some = np.argpartition(-score, min(most, score.size - 1), axis=None)[:most]
        for second, third in zip(*np.unravel_index(some, score.shape), strict=True):
            if score[second, third]:
                places.append((score[second, third], [place, later[second], later[third]]))
    places.sort(key=lambda scored: -scored[0])
    tests: dict[Triple, float] = {}
    for _, three in places[: 4 * most]:
        product = columns[:, three].prod(axis=1)
        first, second, third = owner[three].tolist()
        key = (first, second, third)
        test = float((slack @ product) ** 2 / (curvature @ product**2))
        tests[key] = max(tests.get(key, 0.0), test)
    return sorted(tests, key=lambda triple: -tests[triple])[:most]


def rough_surfaces(variables: Sequence[VariableBlocks], residual: Array) -> Array:
    """Return how much each pair seems to say of a residual: sums of squares of nine products.

    One matrix product for each pair of components. Shape: (d, d), zero on the diagonal.
    """
    n = len(residual)
    size = len(_SURFACE_WEIGHTS)
    stacked = np.zeros((size, n, len(variables)))
    for place, variable in enumerate(variables):
        leading = variable.leading[:, :size]
        scale = np.maximum(leading.std(axis=0), 1e-12)
        stacked[: leading.shape[1], :, place] = (leading / scale).T
    total = np.zeros((len(variables), len(variables)))
    for first in stacked:
        for second in stacked:
            total += (first.T @ (residual[:, None] * second)) ** 2
    np.fill_diagonal(total, 0.0)
    return total / n


def _line_of(column: Array) -> Array:
    return (column - column.mean()) / unit_of(column)


def unit_of(column: Array) -> float:
    """Return the deviation of a number; two values are as far apart as two deviations."""
    is_number = len(np.unique(column)) >= _FEWEST_VALUES
    return float((column - column.mean()).std() if is_number else np.ptp(column) / 2) or 1.0


def number_among(columns: Array) -> int | None:
    """Return the place of the first column of more than two values, which has curves."""
    places = (k for k, column in enumerate(columns.T) if len(np.unique(column)) >= _FEWEST_VALUES)
    return next(places, None)


def _cosines(number: Array) -> Array:
    """Return cosines of the ranks with unit variance over uniform ranks.

    Shape: (n, _N_COSINES).
    """
    waves = cosines_of((rankdata(number) - 0.5) / len(number))
    return waves - waves.mean(axis=0)


def cosines_of(ranks: Array) -> Array:
    """Return the cosines of ranks as shares of the rows, shape (n, _N_COSINES)."""
    return np.sqrt(2) * np.cos(np.pi * np.outer(ranks, np.arange(1, _N_COSINES + 1)))


def ranks_of(number: Array) -> tuple[Array, Array]:
    """Return the distinct values of a number, ascending, and their ranks as shares of the rows."""
    values, first = np.unique(number, return_index=True)
    return values, (rankdata(number)[first] - 0.5) / len(number)


def clipped(number: Array) -> Array:
    """Return a standardised number without far values."""
    return np.clip(number, -_FARTHEST, _FARTHEST)


def _standardise(columns: Array) -> Array:
    centred = columns - columns.mean(axis=0)
    return centred / np.maximum(centred.std(axis=0), 1e-12)


def _leading(line: Array, cosines: Array) -> Array:
    """Return the number and its first two cosines, each without those before it, standardised.

    Shapes: line (n,), cosines (n, m); result (n, 3).
    """
    columns = np.column_stack([clipped(line), cosines[:, :2]])
    columns = columns - columns.mean(axis=0)
    basis, triangle = np.linalg.qr(columns)
    # A cosine that the number already is, as with three distinct values, adds nothing.
    present = np.abs(np.diag(triangle)) > 1e-6 * np.sqrt(len(line))
    return basis * present * np.sqrt(len(line))


def _wave(number: Array, y: Array, line: Array) -> tuple[Array | None, int, float | None]:
    period = likely_period(number, y, fewest_waves=_FEWEST_WAVES, most_waves=_MOST_WAVES)
    if period is None:
        return None, 1, None
    waves = waves_of(number, period)
    return _beyond(waves - waves.mean(axis=0), line), _MOST_WAVES, period


def waves_of(number: Array, period: float, *, turned: bool = False) -> Array:
    """Return the waves of a period and of half of it, or their slopes by the angle; (n, 4)."""
    angle = 2 * np.pi * number / period
    waves = [np.cos(angle), np.sin(angle), np.cos(2 * angle) / 2, np.sin(2 * angle) / 2]
    if turned:
        waves = [-np.sin(angle), np.cos(angle), -np.sin(2 * angle), np.cos(2 * angle)]
    return np.sqrt(2) * np.column_stack(waves)


def _beyond(block: Array, line: Array) -> Array | None:
    """Return a block without what a constant and a line say; None if nothing is left."""
    basis = _orthonormal(np.hstack([np.ones((len(line), 1)), line]))
    rest: Array = block - basis @ (basis.T @ block)
    left, values, _ = np.linalg.svd(rest, full_matrices=False)
    kept = values > 1e-3 * np.sqrt(len(block))
    return left[:, kept] * values[kept] if kept.any() else None


def products(first: Array, second: Array) -> Array:
    """Return the products of all columns of one with all of the other, shape (n, m1 * m2)."""
    return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)


def _orthonormal(columns: Array) -> Array:
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, values > 1e-8 * values[0]]


def pairs_of(n_variables: int) -> Indices:
    """Return all pairs of variables. Shape: (n_pairs, 2)."""
    return np.column_stack(np.triu_indices(n_variables, 1))


# Frequencies for each one that the extent of the data can tell apart.
_OVERSAMPLING = 6
_MOST_ROWS = 1000


def likely_period(
    x: Array, y: Array, *, fewest_waves: float = 1.5, most_waves: float = np.inf
) -> float | None:
    """Return the period of the wave that explains most of the target after a straight line.

    The periodogram of Lomb and Scargle with a free mean, from `fewest_waves` within the data to one
    wave for every two distinct values, or to `most_waves` if that is less.

    Shapes: x (n,), y (n,).

    Zechmeister and Kürster (2009), "The generalised Lomb-Scargle periodogram", Astronomy and
    Astrophysics 496:577-584, equations 4 to 13.
    """
    extent, n_distinct = float(np.ptp(x)), len(np.unique(x))
    if n_distinct < 6:
        return None
    thinned = slice(None, None, -(-len(x) // _MOST_ROWS))
    order = np.argsort(x, kind="stable")[thinned]
    x, y = x[order] - x[order].mean(), y[order]
    y = y - np.polynomial.Polynomial.fit(x, y, 1)(x)
    most = min(n_distinct / 2, _MOST_ROWS / 2, most_waves)
    n_waves = np.arange(fewest_waves, most, 1 / _OVERSAMPLING)
    if not len(n_waves):
        return None
    power = _power(_waves(2 * np.pi * n_waves / extent, x), y)
    return extent / float(n_waves[int(np.argmax(power))])


def _waves(frequencies: Array, x: Array) -> AnyArray:
    """Return exp(i f x) for equally spaced frequencies, each from the one before by a product.

    Shapes: frequencies (n_frequencies,), x (n,); result (n_frequencies, n).
    """
    steps = np.diff(frequencies, prepend=0.0)[:2]
    factors = np.exp(1j * np.outer(steps, x))
    waves = np.empty((len(frequencies), len(x)), dtype=np.complex128)
    waves[:1], waves[1:] = factors[:1], factors[1:]
    return np.multiply.accumulate(waves, axis=0)


def _power(waves: AnyArray, y: Array) -> Array:
    """Return the sum of squares that each wave with a free mean explains of a centred target.

    Shapes: waves (n_frequencies, n), y (n,).
    """
    waves = waves - waves.mean(axis=1, keepdims=True)
    cosine, sine = waves.real, waves.imag
    CC, SS, CS = (
        np.einsum("fn,fn->f", *two) for two in ((cosine, cosine), (sine, sine), (cosine, sine))
    )
    YC, YS = cosine @ y, sine @ y
    determinant = CC * SS - CS**2
    # At the edge of what the places can tell, one of the two waves vanishes at all of them.
    told = determinant > 1e-9 * len(y) ** 2
    explained = SS * YC**2 + CC * YS**2 - 2 * CS * YC * YS
    return np.where(told, explained / np.where(told, determinant, 1.0), 0.0)
