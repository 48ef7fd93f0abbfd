"""How a column becomes numbers: recipes, plain values that encode the same column of any table.

They are `NumberColumn`, `DateColumn` and `LevelsColumn`; `recognition` chooses one by the cells of
the fitted rows, and `describe_variables` describes the variables that come out. `RowFilling` fills
empty cells from the others of their row: a median in their place would break what columns have to
do with each other, and a column that goes along would speak for the gappy one where it is empty,
which looks like an interaction.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from parsimon._typing import AnyArray, Array
from parsimon.pareto.front import write_number
from parsimon.report.findings import Treatment, Variable
from parsimon.statistician.prepare.cells import (
    ISO,
    Cells,
    Decimal,
    date_treatments,
    iso_day,
    number_treatments,
    read_cells,
    read_dates,
    read_numbers,
    shorten_level,
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
    """A column as numbers, of shape (n, k), and what was done to its cells.

    Missing numbers and dates are NaN.
    """

    values: Array
    treatments: tuple[Treatment, ...]


def _treat(kind: Any, column: str, count: int, value: str = "") -> tuple[Treatment, ...]:
    """Return what is to be said of so many cells; nothing of none."""
    return (Treatment(kind=kind, column=column, count=count, value=value),) if count else ()


@dataclass(frozen=True, kw_only=True)
class MeasuredColumn(ABC):
    """A column of numbers or dates: a variable, and one for its missing cells if `indicated`.

    fill: What a missing cell gets: the median of the fitted rows.
    """

    column: str
    fill: float
    indicated: bool = False

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """What the variable is."""

    @abstractmethod
    def read(self, cells: "pd.Series[Any]") -> tuple[Array, tuple[Treatment, ...]]:
        """Return the values of these cells, NaN where there is none, and how they were read."""

    @abstractmethod
    def write(self, value: float) -> str:
        """Return a value as the table would have it."""

    @property
    def variables(self) -> tuple[VariableSource, ...]:
        """One variable, and one for the cells that are missing if that is indicated."""
        value = VariableSource(name=self.column, column=self.column, kind=self.kind)
        name = f"{self.column} is missing"
        missing = VariableSource(name=name, column=self.column, kind="indicator")
        return (value, missing) if self.indicated else (value,)

    def encode_values(self, values: Array) -> Array:
        """Return the variables of values that were read, shape (n, k); NaN is missing."""
        return np.column_stack([values, np.isnan(values)]) if self.indicated else values[:, None]

    def encode(self, cells: "pd.Series[Any]") -> Encoded:
        """Return the variables of these cells, and say how they were read and how many filled."""
        values, said = self.read(cells)
        n_missing = int(np.isnan(values).sum())
        filled = _treat("cells_filled", self.column, n_missing, self.write(self.fill))
        return Encoded(self.encode_values(values), said + filled)


@dataclass(frozen=True, kw_only=True)
class NumberColumn(MeasuredColumn):
    """A column of numbers; `binary` if they are 0 and 1 alone."""

    decimal: Decimal = "."
    binary: bool = False

    @property
    def kind(self) -> Kind:
        """An indicator of 0 and 1, else a number."""
        return "indicator" if self.binary else "number"

    def read(self, cells: "pd.Series[Any]") -> tuple[Array, tuple[Treatment, ...]]:
        """Return the numbers of these cells."""
        numbers = read_numbers(cells, decimal=self.decimal)
        return numbers.values, tuple(number_treatments(self.column, numbers))

    def write(self, value: float) -> str:
        """Return a number with few digits."""
        return write_number(value)


@dataclass(frozen=True, kw_only=True)
class DateColumn(MeasuredColumn):
    """A column of dates, as days since `origin`, which counts from the beginning of 1970."""

    origin: float
    format: str = ISO

    @property
    def kind(self) -> Kind:
        """A date."""
        return "date"

    def read(self, cells: "pd.Series[Any]") -> tuple[Array, tuple[Treatment, ...]]:
        """Return the days of these cells since the origin."""
        days = read_dates(cells, self.format) - self.origin
        return days, date_treatments(self.column, cells, days)

    def write(self, value: float) -> str:
        """Return the day."""
        return iso_day(self.origin + value)


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
        names = [f"{self.column} = {shorten_level(level)}" for level in self.levels]
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
        """Return the 0/1 variables, and say how many cells had no level or one never seen.

        An unknown level is `usual`, other, or 0 in all variables.
        """
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
        said: tuple[Treatment, ...] = ()
        n_missing = int((read.codes < 0).sum())
        n_unknown = int(read.counts[unknown].sum()) if unknown else 0
        if self.indicated:
            said = _treat("missing_level", self.column, n_missing)
        elif self.fill:
            said = _treat("missing_as_level", self.column, n_missing, self.fill)
        else:
            n_unknown += n_missing
        said += _treat("unseen_levels", self.column, n_unknown, self.usual)
        return Encoded((slots[:, None] == np.array(shown)).astype(np.float64), said)

    def level_rows(self, cells: "pd.Series[Any]") -> LevelRows:
        """Return the level of each row, however rare, and its place in the order if there is one.

        Levels that have no place are in the middle.
        """
        read = read_cells(cells)
        if not self.order:
            return LevelRows(read.codes, labels=read.labels)
        places = {
            level: place - (len(self.order) - 1) / 2 for place, level in enumerate(self.order)
        }
        return LevelRows(
            read.codes,
            read.spread([places.get(label, 0.0) for label in read.labels], 0.0),
            read.labels,
        )


Recipe: TypeAlias = NumberColumn | DateColumn | LevelsColumn


# A preparer learns of so many variables at most, and from so many rows.
MOST_VARIABLES = 300
MOST_ROWS = 1000
_FEWEST_ROWS = 10
_N_ROUNDS = 6
_LEAST_SIZE = 0.05
_LEAST_SHARE, _LEAST_SHRUNK = 0.02, 1e-3
_LEAST_VARIANCE = 1e-9
# Slopes of what is filled in that may be off.
_N_DOUBTS = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class RowFilling:
    """What the other variables of a row say of an empty one.

    mean, deviation (k,): Of the variables, by which they are standardised.
    precision (k, k): Inverse of their shrunken correlations.
    low, high (k,): Nothing is filled in beyond what was seen.
    explained (k,): Which variables the others predict; only these are filled.
    n_seen (k,): From how many cells of a variable that was learnt.
    """

    mean: Array
    deviation: Array
    precision: Array
    low: Array
    high: Array
    explained: AnyArray
    n_seen: AnyArray

    @classmethod
    def learn(cls, values: Array) -> Self | None:
        """Return what the variables say of each other; None if that is nothing.

        The expectation-maximisation algorithm for a normal law with gaps (Little and Rubin 2002,
        Statistical Analysis with Missing Data, section 11.2), with Ledoit and Wolf's shrinkage, so
        that it needs no more rows than variables.

        Shapes: values (n, k), NaN where a cell is empty.
        """
        n, k = values.shape
        n_seen = (~np.isnan(values)).sum(axis=0)
        if k < 2 or n < _FEWEST_ROWS:
            return None
        # A column that is rarely there may be empty in all of these rows.
        values = np.where(n_seen > 0, values, 0.0)
        mean, deviation = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        deviation = np.where(deviation > 0, deviation, 1.0)
        scaled = (values - mean) / deviation
        shift, covariance = np.zeros(k), _pairwise_correlations(scaled)
        for _ in range(_N_ROUNDS):
            precision = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
            filled, unsure = _expect(scaled - shift, precision)
            shift = shift + filled.mean(axis=0)
            filled = filled - filled.mean(axis=0)
            covariance = filled.T @ filled / len(filled) + unsure / len(filled)
            share = max(ledoit_wolf_shrinkage(filled, assume_centered=True), _LEAST_SHRUNK)
            covariance = (1 - share) * covariance + share * np.diag(np.diag(covariance))
            # A column that hardly varies has an inverse too.
            covariance += _LEAST_VARIANCE * np.eye(k)
        precision = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        # What is left of correlations by chance does no harm, a median where one is not does.
        share = 1 - 1 / (precision.diagonal() * covariance.diagonal())
        explained = (share > _LEAST_SHARE) & (n_seen >= _FEWEST_ROWS)
        if not explained.any():
            return None
        return cls(
            mean=mean + deviation * shift,
            deviation=deviation,
            precision=precision,
            low=np.nanmin(values, axis=0),
            high=np.nanmax(values, axis=0),
            explained=explained,
            n_seen=n_seen,
        )

    def fill(self, values: Array) -> Array:
        """Return values with what is expected in empty cells of variables that are explained.

        Shapes: values (n, k), NaN where a cell is empty; the result may have some too.
        """
        gaps = np.isnan(values) & self.explained
        if not gaps.any():
            return values
        rows = np.flatnonzero(gaps.any(axis=1))
        scaled, _ = _expect((values[rows] - self.mean) / self.deviation, self.precision)
        expected = np.clip(self.mean + self.deviation * scaled, self.low, self.high)
        filled = values.copy()
        filled[rows] = np.where(gaps[rows], expected, values[rows])
        return filled

    def doubts(self, values: Array) -> dict[int, Array]:
        """Return by what the filled cells of each variable may be off, in standard deviations.

        A slope of what is filled in has a standard error of about (s^2 / n)^(1/2), with s^2 of the
        variance left over n cells; there is a column for each of the variables that say most.

        Shapes: values (n, k), NaN where a cell is empty; results (n, m), zero where one is not.
        """
        scaled = (self.fill(values) - self.mean) / self.deviation
        scaled = np.where(np.isnan(scaled), 0.0, scaled)
        found = {}
        for place in np.flatnonzero(self.explained & np.isnan(values).any(axis=0)).tolist():
            slopes = np.abs(self.precision[place])
            slopes[place] = 0.0
            leading = np.argsort(-slopes, kind="stable")[: min(_N_DOUBTS, len(slopes) - 1)]
            # Twice, since these weights share their variance with that of the variable itself.
            error = 2 * (self.precision[place, place] * self.n_seen[place]) ** -0.5
            gaps = np.isnan(values[:, place, None])
            found[place] = np.where(gaps, error * scaled[:, leading], 0.0)
        return found


def _pairwise_correlations(scaled: Array) -> Array:
    """Return the correlations over the rows that have both variables, positive definite.

    Where most cells are empty, rounds that begin without relations would hardly find them.
    """
    seen = (~np.isnan(scaled)).astype(np.float64)
    values = np.where(np.isnan(scaled), 0.0, scaled)
    # As if ten rows more had shown no relation.
    raw = (values.T @ values) / (seen.T @ seen + _FEWEST_ROWS)
    np.fill_diagonal(raw, 1.0)
    size, vectors = np.linalg.eigh(raw)
    return (vectors * np.maximum(size, _LEAST_SIZE)) @ vectors.T


def _expect(values: Array, precision: Array) -> tuple[Array, Array]:
    """Return expected values of empty cells given the others of their row, and what is unsure.

    With precision P the mean of the empty part m is -inv(P_mm) P_mo x_o, its covariance inv(P_mm).

    Shapes: values (n, k) of mean zero, precision (k, k); unsure (k, k) is the sum over rows.
    """
    missing = np.isnan(values)
    filled, unsure = np.where(missing, 0.0, values), np.zeros_like(precision)
    patterns, place = np.unique(missing, axis=0, return_inverse=True)
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=len(patterns)))
    for pattern, rows in zip(patterns, np.split(order, ends[:-1]), strict=True):
        gap = np.flatnonzero(pattern)
        if not len(gap):
            continue
        covariance = np.linalg.inv(precision[np.ix_(gap, gap)])
        filled[np.ix_(rows, gap)] = -(filled[rows] @ precision[:, gap]) @ covariance
        unsure[np.ix_(gap, gap)] += len(rows) * covariance
    return filled, unsure
