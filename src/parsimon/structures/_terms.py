"""The blocks of variables and interactions as functions of values, not only of the rows.

Blocks are made from rows: ranks, means, projections. Here each is learnt as a function of its
variables, exactly: every block of a number is linear in a few plain functions of it (its value,
cosines of its rank, clipped powers, waves), one of a category is a table of its levels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy.interpolate import PchipInterpolator

from parsimon._typing import AnyArray, Array, Indices
from parsimon.structures._evidence import Task
from parsimon.structures.blocks import (
    LevelRows,
    VariableBlocks,
    clipped,
    cosines_of,
    number_among,
    products,
    ranks_of,
    unit_of,
    waves_of,
)

# Blocks by what they are: "linear", "smooth", "periodic", "shift"; "leading" and "main", which
# products of two and of three are made of.
Parts: TypeAlias = dict[str, Array]

# Ranks of more distinct numbers than these are interpolated between so many.
_MOST_KNOTS = 2000
# Singular values below this share of the greatest are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberTerms:
    """Blocks of a variable whose columns are numbers or indicators.

    centres, units (k,): Of the columns.
    doubts (q,): Means of the columns by what filled cells may be off; none where none is filled.
    knots, ranks: Distinct values of the number that has curves, and their ranks as shares; empty
        where there is none. `number` is its place among the columns.
    period: Of the waves, in deviations of the number.
    maps: From the plain functions to each block.
    tilted (4,): The wave of which a block "shift" says what half a wave more among the rows would
        change; empty where the period is taken to be known.
    """

    centres: Array
    units: Array
    doubts: Array
    number: int | None
    knots: Array
    ranks: Array
    period: float | None
    maps: Mapping[str, Array]
    tilted: Array = field(default_factory=partial(np.empty, 0))

    @classmethod
    def learn(cls, columns: Array, own: VariableBlocks, doubts: Array | None) -> "NumberTerms":
        """Return what gives the blocks of these rows at them.

        Shapes: columns (n, k), doubts (n, q).
        """
        doubts = np.empty((len(columns), 0)) if doubts is None else doubts
        number, knots, ranks = number_among(columns), np.empty(0), np.empty(0)
        if number is not None:
            knots, ranks = _thin(*ranks_of(columns[:, number]))
        bare = cls(
            centres=columns.mean(axis=0),
            units=np.array([unit_of(column) for column in columns.T]),
            doubts=doubts.mean(axis=0),
            number=number,
            knots=knots,
            ranks=ranks,
            period=own.period,
            maps={},
        )
        plain = bare._plain(columns, doubts)
        blocks = _named_blocks(own)
        maps = {name: _solve(plain[name], blocks[name]) for name in plain if name in blocks}
        return replace(bare, maps=maps)

    def __call__(self, values: Any, doubts: Array | None = None) -> Parts:
        """Return the blocks at values of shape (m, k), or (m,) of a single column."""
        columns = np.asarray(values, dtype=np.float64).reshape(-1, len(self.centres))
        if doubts is None or doubts.shape[1] != len(self.doubts):
            doubts = np.tile(self.doubts, (len(columns), 1))
        plain = self._plain(columns, doubts)
        parts = {name: plain[name] @ made for name, made in self.maps.items()}
        line = np.hstack([(columns - self.centres) / self.units, doubts - self.doubts])
        return {**parts, "linear": line}

    def with_wave(
        self, columns: Array, doubts: Array | None, tilted: Array, n_more: float = 0.0
    ) -> "NumberTerms":
        """Return the terms with so many waves more among the rows, and a wave that may be off.

        The period was found on a grid, and no weight says how sure it is. To first order, an error
        of it adds a column to the wave.

        Shapes: columns (n, k), doubts (n, q), tilted (4,).
        """
        assert self.period is not None
        doubts = np.empty((len(columns), 0)) if doubts is None else doubts
        period = self._extent / (self._extent / self.period + n_more)
        other = replace(self, period=period, tilted=tilted)
        plain = other._plain(columns, doubts)
        maps = dict(self.maps)
        for name in ("periodic", "shift"):
            n_level = plain["level"].shape[1]
            own = plain[name][:, n_level:]
            maps[name] = np.vstack([-_solve(plain["level"], own), np.eye(own.shape[1])])
        return replace(other, maps=maps)

    @property
    def _extent(self) -> float:
        """How far apart the least and the greatest number are, in deviations."""
        return float(self.knots[-1] - self.knots[0]) / float(self.units[self.number])

    def _plain(self, columns: Array, doubts: Array) -> Parts:
        """Return the plain functions of which each block is made.

        What lies beyond the clipped numbers has columns of its own, which are zero where no row is
        so far: there only the line goes on, and all else stays as it is.
        """
        lined = (columns - self.centres) / self.units
        near = clipped(lined)
        level = np.hstack([np.ones((len(columns), 1)), near, lined - near, doubts])
        if self.number is None:
            return {"level": level, "leading": level, "main": level}
        inside = np.clip(columns[:, self.number], self.knots[0], self.knots[-1])
        # Between rows ranks rise without corners. From 0 to 1 no unit of the column is too large
        # or too small for the slopes.
        least, range_ = self.knots[0], self.knots[-1] - self.knots[0]
        places, first = np.unique((self.knots - least) / range_, return_index=True)
        share = PchipInterpolator(places, self.ranks[first])((inside - least) / range_)
        cosines, own = cosines_of(share), near[:, [self.number]]
        leading = np.hstack([level[:, :1], own, cosines[:, :2]])
        plain = {
            "level": level,
            "leading": leading,
            "main": leading,
            "smooth": np.hstack([level, cosines, own**2, own**3]),
        }
        if self.period is not None:
            number = lined[:, self.number]
            plain["periodic"] = np.hstack([level, waves_of(number, self.period)])
            if len(self.tilted):
                turned = waves_of(number, self.period, turned=True) @ self.tilted
                shift = (np.pi / self._extent) * number * turned
                plain["shift"] = np.column_stack([level, shift])
        return plain


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelTerms:
    """Blocks of a category: a row of each for every level.

    codes (l,): Of the levels, ascending; `labels` are their names, where these are known.
    rows: Each block at the levels, (l, m). A level that was never seen is as the average.
    """

    codes: Indices
    labels: tuple[str, ...]
    rows: Mapping[str, Array]

    @classmethod
    def learn(cls, levels: LevelRows, own: VariableBlocks) -> "LevelTerms":
        """Return what gives the blocks of these rows at them."""
        codes, first = np.unique(levels.codes, return_index=True)
        rows = {name: block[first] for name, block in _named_blocks(own).items()}
        # Code -1, a missing cell, comes first and takes the name at the end.
        named = np.array([*levels.labels, ""], dtype=object)
        labels = tuple(named[codes].tolist()) if levels.labels else ()
        return cls(codes=codes, labels=labels, rows=rows)

    def __call__(self, values: Any, doubts: Array | None = None) -> Parts:
        """Return the blocks at `LevelRows`, found by label, or at codes of shape (m,)."""
        del doubts
        codes = values.codes if isinstance(values, LevelRows) else np.asarray(values)
        if isinstance(values, LevelRows) and self.labels:
            known = dict(zip(self.labels, self.codes.tolist(), strict=True))
            # The last place is that of code -1: a missing cell.
            unseen = int(self.codes.max()) + 1
            mine = [known.get(label, unseen) for label in values.labels] + [known.get("", unseen)]
            codes = np.array(mine)[codes]
        places = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        seen = (self.codes[places] == codes)[:, None]
        return {name: seen * rows[places] for name, rows in self.rows.items()}


VariableTerms: TypeAlias = NumberTerms | LevelTerms


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockRows:
    """The rows of which blocks were made.

    X (n, d), y (n,): As the search has them. The rest is what `find_structures` takes.
    """

    X: Array
    y: Array
    task: Task
    groups: Sequence[Sequence[int]]
    doubts: Mapping[int, Array]
    levels: Mapping[int, LevelRows]

    def columns(self, place: int) -> Array:
        """Return the columns of a variable."""
        return self.X[:, list(self.groups[place])]

    def learn(self, place: int, own: VariableBlocks) -> VariableTerms:
        """Return the blocks of a variable as functions."""
        if place in self.levels:
            return LevelTerms.learn(self.levels[place], own)
        return NumberTerms.learn(self.columns(place), own, self.doubts.get(place))

    def parts(self, place: int, terms: VariableTerms) -> Parts:
        """Return the blocks of a variable at the rows."""
        if place in self.levels:
            return terms(self.levels[place].codes)
        return terms(self.columns(place), self.doubts.get(place))


def product_of(parts: Sequence[Parts]) -> Array:
    """Return the product of what two or three variables are in products, shape (m, k).

    The search takes from it what its variables say alone, so that no sum is taken for an
    interaction. An effect keeps all of it: what is left of x z in few rows is not x z. It has no
    part in the curves of its variables, since each factor is zero on average over the rows.
    """
    name = "leading" if len(parts) == 2 else "main"
    product = parts[0][name]
    for other in parts[1:]:
        product = products(product, other[name])
    return product


def _named_blocks(own: VariableBlocks) -> Parts:
    blocks = {
        "linear": own.line,
        "smooth": own.curve,
        "periodic": own.wave,
        "leading": own.leading,
        "main": own.main,
    }
    return {name: block for name, block in blocks.items() if block is not None}


def _thin(knots: Array, ranks: Array) -> tuple[Array, Array]:
    kept = np.unique(np.linspace(0, len(knots) - 1, _MOST_KNOTS).round().astype(np.intp))
    return knots[kept], ranks[kept]


def _solve(design: Array, block: Array) -> Array:
    solved: AnyArray = np.linalg.lstsq(design, block, rcond=_ROUNDING)[0]
    return solved
