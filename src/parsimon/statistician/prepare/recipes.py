"""How a column becomes numbers: recipes, plain values that encode the same column of any table.

They are `NumberColumn`, `DateColumn` and `LevelsColumn`; `recognition` chooses one by the cells of
the fitted rows, and `describe_variables` describes the variables that come out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from parsimon._typing import Array
from parsimon.pareto.front import number
from parsimon.report.findings import Treatment, Variable
from parsimon.statistician.prepare.cells import (
    ISO,
    Cells,
    Decimal,
    iso_day,
    read_cells,
    read_dates,
    read_numbers,
    short,
)
from parsimon.structures import LevelRows

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["number", "indicator", "date"]


@dataclass(frozen=True, kw_only=True)
class VariableSource:
    """The name of a numeric variable, the column that it comes from, and what it is."""

    name: str
    column: str
    kind: Kind = "number"


def describe_variables(
    X: "pd.DataFrame", sources: Sequence[VariableSource]
) -> tuple[Variable, ...]:
    """Return each variable with its range, mean and standard deviation (of the population).

    Shapes: X (n, d).
    """
    known = {source.name: source for source in sources}
    values = X.to_numpy(dtype=np.float64)
    statistics = zip(
        *(values.min(axis=0), values.max(axis=0), values.mean(axis=0), values.std(axis=0)),
        strict=True,
    )
    return tuple(
        Variable(
            name=known[name].name,
            column=known[name].column,
            kind=known[name].kind,
            minimum=float(low),
            maximum=float(high),
            mean=float(mean),
            deviation=float(deviation),
        )
        for name, (low, high, mean, deviation) in zip(X.columns, statistics, strict=True)
    )


class Encoded(NamedTuple):
    """A column as numbers, of shape (n, k); cells that were missing, and of unknown level.

    Missing numbers and dates are NaN.
    """

    values: Array
    n_missing: int
    n_unknown: int


@dataclass(frozen=True, kw_only=True)
class NumberColumn:
    """A column of numbers; `fill` is the median of the fitted rows."""

    column: str
    fill: float
    decimal: Decimal = "."
    indicated: bool = False
    binary: bool = False

    @property
    def variables(self) -> tuple[VariableSource, ...]:
        """One variable, and one for the cells that are missing if that is indicated."""
        kind: Kind = "indicator" if self.binary else "number"
        return _with_missing(self.column, kind, self.indicated)

    def encode_values(self, numbers: Array) -> Array:
        """Return the variables of numbers that were read, shape (n, k); NaN is missing."""
        return _flagged(numbers, self.indicated)

    def encode(self, cells: "pd.Series[Any]") -> Encoded:
        """Return the numbers of these cells, NaN where there is none."""
        numbers = read_numbers(cells, decimal=self.decimal)
        return Encoded(self.encode_values(numbers.values), numbers.n_missing, 0)

    def treatments(self, encoded: Encoded) -> tuple[Treatment, ...]:
        """Say how many cells were filled."""
        return _said("cells_filled", self.column, encoded.n_missing, number(self.fill))


@dataclass(frozen=True, kw_only=True)
class DateColumn:
    """A column of dates, as days since `origin`, which counts from the beginning of 1970."""

    column: str
    origin: float
    fill: float
    format: str = ISO
    indicated: bool = False

    @property
    def variables(self) -> tuple[VariableSource, ...]:
        """One variable, and one for the cells that are missing if that is indicated."""
        return _with_missing(self.column, "date", self.indicated)

    def encode_values(self, days: Array) -> Array:
        """Return the variables of days since the origin, shape (n, k); NaN is missing."""
        return _flagged(days, self.indicated)

    def encode(self, cells: "pd.Series[Any]") -> Encoded:
        """Return the days of these cells since the origin, NaN where there is none."""
        days = read_dates(cells, self.format) - self.origin
        return Encoded(self.encode_values(days), int(np.isnan(days).sum()), 0)

    def treatments(self, encoded: Encoded) -> tuple[Treatment, ...]:
        """Say how many cells were filled."""
        day = iso_day(self.origin + self.fill)
        return _said("cells_filled", self.column, encoded.n_missing, day)


def _with_missing(column: str, kind: Kind, indicated: bool) -> tuple[VariableSource, ...]:
    value = VariableSource(name=column, column=column, kind=kind)
    missing = VariableSource(name=f"{column} is missing", column=column, kind="indicator")
    return (value, missing) if indicated else (value,)


def _said(kind: Any, column: str, count: int, value: str = "") -> tuple[Treatment, ...]:
    return (Treatment(kind=kind, column=column, count=count, value=value),) if count else ()


def _flagged(values: Array, indicated: bool) -> Array:
    """Return values as columns, with one that says where they are missing if that is indicated."""
    return np.column_stack([values, np.isnan(values)]) if indicated else values[:, None]


@dataclass(frozen=True, kw_only=True)
class LevelsColumn:
    """A column of levels: a 0/1 variable for each of `levels`.

    levels: Those with a variable of their own. With one of them, the variable says which of
        two.
    reference: The other of two levels; empty if there are more.
    usual: The commoner of two levels, which a cell gets that is neither; empty if there are
        more.
    other: Whether every level that is not in `levels` is known as "other". It has a variable,
        unless there is one level only, which says it already.
    indicated: Whether one more variable stands for missing cells.
    fill: The level that missing cells get if they are not indicated; empty for none.
    rare: Levels with too little support for a variable even together; their cells get `fill`.
    plain: Whether the only level is a yes, so that its variable needs no more than the column's
        name.
    order: All levels that have a place in an order, in that order; empty if there is none.
    """

    column: str
    levels: tuple[str, ...]
    reference: str = ""
    usual: str = ""
    other: bool = False
    indicated: bool = False
    plain: bool = False
    fill: str = ""
    rare: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[VariableSource, ...]:
        """A variable for each level, then for other levels, then for missing cells."""
        names = [f"{self.column} = {short(level)}" for level in self.levels]
        if self.plain:
            names = [self.column]
        names += [f"{self.column} = other"] * self._other_shown
        names += [f"{self.column} is missing"] * self.indicated
        return tuple(
            VariableSource(name=name, column=self.column, kind="indicator") for name in names
        )

    @property
    def _other_shown(self) -> bool:
        return self.other and len(self.levels) > 1

    def encode(self, cells: "pd.Series[Any]") -> Encoded:
        """Return the 0/1 variables of these cells."""
        return self.indicators(read_cells(cells))

    def indicators(self, read: Cells) -> Encoded:
        """Return the 0/1 variables; an unknown level is `usual`, other, or 0 in all of them."""
        elsewhere, gap = len(self.levels), len(self.levels) + 1
        places = {level: place for place, level in enumerate(self.levels)}
        usual = places.get(self.usual, elsewhere)
        fill = places.get(self.fill, elsewhere) if self.fill else gap
        places[self.reference] = elsewhere
        places.update(dict.fromkeys(self.rare, fill))
        unknown = [text not in places and not self.other for text in read.labels]
        slots = read.spread(
            [places.get(text, usual) for text in read.labels],
            gap if self.indicated else usual if self.usual else fill,
            np.intp,
        )
        shown = [*range(elsewhere), *[elsewhere] * self._other_shown, *[gap] * self.indicated]
        return Encoded(
            (slots[:, None] == np.array(shown)).astype(np.float64),
            int((read.codes < 0).sum()),
            int(read.counts[unknown].sum()) if unknown else 0,
        )

    def level_rows(self, cells: "pd.Series[Any]") -> LevelRows:
        """Return the level of each row, however rare, and its place in the order if there is one.

        Levels that have no place are in the middle.
        """
        read = read_cells(cells)
        if not self.order:
            return LevelRows(read.codes)
        places = {
            level: place - (len(self.order) - 1) / 2 for place, level in enumerate(self.order)
        }
        return LevelRows(
            read.codes, read.spread([places.get(one, 0.0) for one in read.labels], 0.0)
        )

    def treatments(self, encoded: Encoded) -> tuple[Treatment, ...]:
        """Say how many cells were missing or had a level that was never seen."""
        if self.indicated:
            missing = _said("missing_level", self.column, encoded.n_missing)
            return missing + _said("unseen_levels", self.column, encoded.n_unknown, self.usual)
        if self.fill:
            missing = _said("missing_as_level", self.column, encoded.n_missing, self.fill)
            return missing + _said("unseen_levels", self.column, encoded.n_unknown, self.usual)
        count = encoded.n_missing + encoded.n_unknown
        return _said("unseen_levels", self.column, count, self.usual)


Recipe: TypeAlias = NumberColumn | DateColumn | LevelsColumn
