"""Which columns are on and how strongly each is held back: the genome, and how it changes.

A genome lists its active columns with the base-10 logarithm of their prior precision alpha; every
other column is off (alpha infinite). The moves are those of Clark (2011), section 3.4.1, with
what it leaves open decided here: components are changed without replacement within a call, a
move that is impossible becomes one that is possible, and no genome is ever empty.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil

import numpy as np

from parsimon._typing import AnyArray, Array

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
    alpha: Array = 10.0 ** np.array(levels)
    return alpha


def levels_of(alpha: Array) -> list[float]:
    """Return log10 alpha, clipped to what a genome may hold."""
    floor = 10.0**LOWEST_LEVEL
    levels: list[float] = np.minimum(np.log10(np.maximum(alpha, floor)), HIGHEST_LEVEL).tolist()
    return levels


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

    def cross(
        self,
        first: dict[int, float],
        second: dict[int, float],
        rng: np.random.Generator,
        n_cuts: int = 5,
    ) -> dict[int, float]:
        """Cut both at random places and take the pieces in turn from the one and the other.

        The cuts are uniform over the whole vector of columns, active or not.
        """
        cuts = sorted(int(rng.random() * (self.n_columns + 1)) for _ in range(n_cuts))
        pieces = chain(
            ((c, v, 0) for c, v in first.items()), ((c, v, 1) for c, v in second.items())
        )
        child = {c: level for c, level, side in pieces if bisect_right(cuts, c) % 2 == side}
        return self._not_empty(child, set(), rng)

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
