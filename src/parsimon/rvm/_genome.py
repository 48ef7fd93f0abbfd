"""Genomes, which columns are on and how strongly each is held back; how they change and are kept.

A genome lists its active columns with the base-10 logarithm of their prior precision alpha; every
other column is off (alpha infinite). The moves are those of Clark (2011), section 3.4.1, with
what it leaves open decided here: components are changed without replacement within a call, a
move that is impossible becomes one that is possible, and no genome is ever empty. `Elite` holds the
non-dominated operating points of a search, each with the genome behind it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.pareto import Archive

# The first is maximised, the others are minimised.
OBJECTIVES = ("tpr", "fpr", "complexity")
# Precisions below the smallest are clipped to it; above the largest the column is switched off.
LOWEST_LEVEL, HIGHEST_LEVEL = -12.0, 12.0
STEP_SCALE = 2.0
_STEP, _OFF = 0, 1


@dataclass(frozen=True, slots=True, eq=False)
class Genome:
    """A choice of columns with their precisions, and the weights that were fitted to it.

    active: Columns that are on, ascending.
    levels: log10 alpha of each.
    weights (k, m + 1): The weights of the k fits of its scheme, then a zero: where children
        begin.
    """

    active: list[int]
    levels: list[float]
    weights: Array

    @property
    def genes(self) -> dict[int, float]:
        """The level of each active column."""
        return dict(zip(self.active, self.levels, strict=True))

    def weights_for(self, active: list[int]) -> Array:
        """Return where the fit of a child begins, shape (k, len(active)): zero for new columns."""
        place = dict(zip(self.active, range(len(self.active)), strict=True))
        return self.weights.take([place.get(column, -1) for column in active], axis=1)


def alpha_of(levels: list[float]) -> Array:
    """Return 10 to the power of each level."""
    return 10.0 ** np.array(levels)


def levels_of(alpha: Array) -> list[float]:
    """Return log10 alpha, clipped to what a genome may hold."""
    floor = 10.0**LOWEST_LEVEL
    return np.minimum(np.log10(np.maximum(alpha, floor)), HIGHEST_LEVEL).tolist()


@dataclass(frozen=True)
class Moves:
    """How a genome is changed.

    most: Between 1 and this many components change in one call: 3 in Clark's basic algorithm.
    """

    n_columns: int
    most: int = 3

    def singles(self, count: int, rng: np.random.Generator) -> list[dict[int, float]]:
        """Return genomes with one random column on at the smallest precision, all different.

        The bias may be that column. There are fewer than `count` if the columns run out.
        """
        return [{int(column): LOWEST_LEVEL} for column in rng.permutation(self.n_columns)[:count]]

    def perturb(self, levels: dict[int, float], rng: np.random.Generator) -> dict[int, float]:
        """Change 1 to `most` components, each by one of three moves with equal chance.

        A step of log10 alpha by a Laplace variable of scale 2; an active column off; an inactive
        one on, with log10 alpha uniform between -12 and 12.
        """
        levels, touched = dict(levels), set[int]()
        for _ in range(1 + int(rng.random() * self.most)):
            move = int(rng.random() * 3)
            movable = [column for column in levels if column not in touched]
            idle = None
            if move > _OFF or not movable:
                idle = self._inactive(levels, touched, rng)
                if idle is None:
                    move = _STEP
            if idle is not None:
                levels[idle] = _random_level(rng)
                touched.add(idle)
            elif movable:
                column = movable[int(rng.random() * len(movable))]
                touched.add(column)
                if move == _OFF:
                    del levels[column]
                else:
                    _step(levels, column, rng)
        return self._not_empty(levels, touched, rng)

    def diversify(self, levels: dict[int, float], rng: np.random.Generator) -> dict[int, float]:
        """Switch a tenth of the active columns off, at least two, and as many others on."""
        levels = dict(levels)
        movable = list(levels)
        count = max(2, ceil(0.1 * len(movable)))
        off = {
            movable.pop(int(rng.random() * len(movable))) for _ in range(min(count, len(movable)))
        }
        for column in off:
            del levels[column]
        for _ in range(count):
            idle = self._inactive(levels, off, rng)
            if idle is not None:
                levels[idle] = _random_level(rng)
        return self._not_empty(levels, set(), rng)

    def _inactive(
        self, levels: dict[int, float], touched: set[int], rng: np.random.Generator
    ) -> int | None:
        """Return a random column that is neither active nor touched, if there is one."""
        for _ in range(8):  # nearly always the first: models are sparse
            column = int(rng.random() * self.n_columns)
            if column not in levels and column not in touched:
                return column
        left = [c for c in range(self.n_columns) if c not in levels and c not in touched]
        return left[int(rng.random() * len(left))] if left else None

    def _not_empty(
        self, levels: dict[int, float], touched: set[int], rng: np.random.Generator
    ) -> dict[int, float]:
        if not levels:
            column = self._inactive(levels, touched, rng)
            levels[int(rng.random() * self.n_columns) if column is None else column] = (
                _random_level(rng)
            )
        return levels


def _random_level(rng: np.random.Generator) -> float:
    return LOWEST_LEVEL + (HIGHEST_LEVEL - LOWEST_LEVEL) * rng.random()


def _step(levels: dict[int, float], column: int, rng: np.random.Generator) -> None:
    level = levels[column] + rng.laplace(0.0, STEP_SCALE)
    if level > HIGHEST_LEVEL:
        del levels[column]
    else:
        levels[column] = max(level, LOWEST_LEVEL)


def genome_arrays(genomes: Sequence[Genome]) -> dict[str, AnyArray]:
    """Return genomes as arrays: their pieces one after the other, and the size of each."""
    n_fits = len(genomes[0].weights) if genomes else 1
    return {
        "sizes": np.array([len(genome.active) for genome in genomes], dtype=np.int64),
        "active": np.array([c for genome in genomes for c in genome.active], dtype=np.int64),
        "levels": np.array([v for genome in genomes for v in genome.levels], dtype=np.float64),
        "weights": np.concatenate(
            [np.empty((n_fits, 0)), *(genome.weights for genome in genomes)], axis=1
        ),
    }


def genomes_from(arrays: Mapping[str, AnyArray]) -> list[Genome]:
    """Return the genomes that `genome_arrays` stored."""
    sizes = arrays["sizes"]
    ends = np.cumsum(sizes)[:-1]
    active, levels = (np.split(arrays[name], ends) for name in ("active", "levels"))
    weights = np.split(arrays["weights"], np.cumsum(sizes + 1)[:-1], axis=1)
    return [
        Genome(columns.tolist(), heights.tolist(), np.ascontiguousarray(fitted))
        for columns, heights, fitted in zip(active, levels, weights, strict=True)
        if len(columns)
    ]


class ArchivePoint(NamedTuple):
    """A member: the number of its genome, and its cutoff."""

    genome: int
    cutoff: float


class Elite:
    """The non-dominated points of a search and their genomes."""

    def __init__(
        self, names: Sequence[str] = OBJECTIVES, maximise: Sequence[str] = OBJECTIVES[:1]
    ) -> None:
        self._archive = Archive(names, maximise=maximise)
        self._points: dict[int, ArchivePoint] = {}
        self._counts: dict[int, int] = {}
        self.genomes: dict[int, Genome] = {}
        self._order: list[int] = []
        self._place: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._archive)

    @property
    def n_objectives(self) -> int:
        """How many objectives there are."""
        return len(self._archive.directions)

    @property
    def n_genomes(self) -> int:
        """How many distinct genomes there are."""
        return len(self._order)

    @property
    def order(self) -> list[int]:
        """Numbers of the distinct genomes, in the order from which parents are drawn."""
        return self._order

    def draw(self, rng: np.random.Generator) -> Genome:
        """Return a genome, each with the same chance."""
        return self.genomes[self._order[int(rng.random() * len(self._order))]]

    def offer(
        self,
        number: int,
        genome: Callable[[], Genome],
        values: Array,
        cutoffs: Array,
    ) -> Mask | None:
        """Offer the points of one genome; return which entered, None if none did.

        Shapes: values (c, m), cutoffs (c,).
        """
        first = self._archive.n_offered
        entered, left = self._archive.insert(values)
        accepted = entered.nonzero()[0].tolist()
        if not accepted:
            return None
        # The genome first, so that no point is ever without one, whenever Ctrl-C comes.
        self._count(number, genome, len(accepted))
        for row in accepted:
            self._points[first + row] = ArchivePoint(number, float(cutoffs[row]))
        # Sorted, so that what follows does not depend on how the archive stores its members.
        for member in sorted(left.tolist()):
            self._uncount(self._points.pop(member).genome)
        return entered

    def members(self) -> tuple[Array, list[ArchivePoint]]:
        """Return the objectives of all members, shape (k, m), and the members.

        Members that an interruption left half entered are passed over.
        """
        numbers = self._archive.numbers.tolist()
        known = [number in self._points for number in numbers]
        points = [self._points[number] for number in numbers if number in self._points]
        return self._archive.values[np.array(known, dtype=np.bool_)], points

    def restore(
        self, values: Array, points: Iterable[ArchivePoint], genomes: dict[int, Genome]
    ) -> None:
        """Fill an empty archive with members of another, both they and the genomes in order."""
        self._archive.insert(values)
        self._points = dict(enumerate(points))
        for point in self._points.values():
            self._counts[point.genome] = self._counts.get(point.genome, 0) + 1
        self._order = list(genomes)
        self._place = {number: place for place, number in enumerate(self._order)}
        self.genomes = genomes

    def _count(self, number: int, genome: Callable[[], Genome], more: int) -> None:
        if number not in self._counts:
            self._counts[number] = 0
            self._place[number] = len(self._order)
            self._order.append(number)
            self.genomes[number] = genome()
        self._counts[number] += more

    def _uncount(self, number: int) -> None:
        self._counts[number] -= 1
        if self._counts[number]:
            return
        del self._counts[number], self.genomes[number]
        place, last = self._place.pop(number), self._order.pop()
        if last != number:  # the last one takes the place that became free
            self._order[place], self._place[last] = last, place


class ArchivePoints(NamedTuple):
    """Operating points and the distinct genomes behind them.

    Shapes: values (k, m), cutoffs (k,).

    which (k,): Index of each point's genome.
    """

    values: Array
    cutoffs: Array
    which: Indices
    genomes: list[Genome]


def points_in(elites: Sequence[Elite]) -> ArchivePoints:
    """Return the union of archives; of a point in several, the values of the last count."""
    found: dict[tuple[int, float], Array] = {}
    genomes: dict[int, Genome] = {}
    for elite in elites:
        values, points = elite.members()
        genomes |= {point.genome: elite.genomes[point.genome] for point in points}
        found |= {
            (point.genome, point.cutoff): row for point, row in zip(points, values, strict=True)
        }
    place = {number: i for i, number in enumerate(genomes)}
    return ArchivePoints(
        np.array(list(found.values())).reshape(len(found), elites[0].n_objectives),
        np.array([cutoff for _, cutoff in found], dtype=np.float64),
        np.array([place[number] for number, _ in found], dtype=np.intp),
        list(genomes.values()),
    )


def elite_arrays(elite: Elite, prefix: str) -> dict[str, AnyArray]:
    """Return all that an archive holds as arrays whose names begin with `prefix`."""
    values, points = elite.members()
    arrays: dict[str, AnyArray] = {
        "values": values,
        "cutoffs": np.array([point.cutoff for point in points], dtype=np.float64),
        "owners": np.array([point.genome for point in points], dtype=np.int64),
        "order": np.array(elite.order, dtype=np.int64),
        **genome_arrays([elite.genomes[number] for number in elite.order]),
    }
    return {f"{prefix}_{name}": array for name, array in arrays.items()}


def refill(elite: Elite, arrays: Mapping[str, AnyArray], prefix: str) -> Elite:
    """Put into an empty archive what `elite_arrays` stored, and return it."""
    own = {
        name.removeprefix(f"{prefix}_"): array
        for name, array in arrays.items()
        if name.startswith(f"{prefix}_")
    }
    order = own["order"].tolist()
    points = [
        ArchivePoint(int(owner), float(cutoff))
        for owner, cutoff in zip(own["owners"], own["cutoffs"], strict=True)
    ]
    elite.restore(own["values"], points, dict(zip(order, genomes_from(own), strict=True)))
    return elite
