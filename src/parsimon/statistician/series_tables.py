"""Series out of a table: one row a measurement (long), or one row a series (wide).

`series_columns` decides which of the two a table is, and `read_series` takes the series out: in the
order of their times, on even steps, gaps counted. `ask_series` is all of it, with the target.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import shorten
from parsimon._typing import Array, Indices
from parsimon.exceptions import BadRowError, InvalidInputError
from parsimon.features.series import SeriesTable
from parsimon.report.findings import Treatment
from parsimon.report.findings.series_findings import SeriesTableFindings
from parsimon.statistician.asked_table import ReadTable
from parsimon.statistician.families.series_families import SERIES, as_series
from parsimon.statistician.prepare import read_outcome
from parsimon.statistician.prepare.cells import (
    find_format,
    is_date,
    is_number,
    number_treatments,
    numbers_of,
    read_cells,
    read_dates,
    read_numbers,
    target_copies,
    write_cell,
)
from parsimon.statistician.prepare.frames import clean_text, find_column, named_frame

if TYPE_CHECKING:
    import pandas as pd

FEWEST_SERIES = 10
# Cells of a column that may be no numbers, such as "n/a".
_FEW = 0.05
# Steps of time that differ by less than this share are even: months have 28 to 31 days.
_EVEN = 0.15
# An even grid has at most so many times the points that were measured.
_FINEST = 4


@dataclass(frozen=True, kw_only=True)
class SeriesColumns:
    """Where the series of a table are.

    values: Of a long table its channels, of a wide one the columns of a series in order.
    id, time: Columns; empty for none. Without times rows are in order as they stand.
    has_header: False for a file that begins with the first series.
    """

    is_long: bool
    values: tuple[str, ...]
    id: str = ""
    time: str = ""
    has_header: bool = True

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of several channels; none for one."""
        return self.values if self.is_long and len(self.values) > 1 else ()


@dataclass(frozen=True, eq=False, kw_only=True)
class TakenSeries:
    """The series of a table.

    cells: Each of shape (channels, length); NaN where a value is missing.
    ids: What they are called; row numbers in a wide table without names.
    rows (n,): The first row of each in the table.
    owners (m,): For each row of the table its series; -1 for none.
    n_filled: Missing values that have others after them.
    n_uneven: Series that were put on even steps of time.
    n_without_id: Rows that belong to no series.
    """

    cells: tuple[Array, ...]
    ids: tuple[str, ...]
    rows: Indices
    owners: Indices
    n_filled: int
    n_uneven: int = 0
    n_without_id: int = 0

    @property
    def empty(self) -> list[str]:
        """Series that have a channel without any value."""
        return [
            name
            for name, one in zip(self.ids, self.cells, strict=True)
            if not np.isfinite(one).any(axis=1).all()
        ]


def series_columns(
    frame: "pd.DataFrame",
    target: str,
    *,
    id: str | None = None,
    time: str | None = None,
    value: Sequence[str] = (),
) -> tuple[SeriesColumns, tuple[str, ...]]:
    """Return where the series of a table are, and the columns that are left out."""
    named = [target, *(one for one in (id, time) if one), *value]
    for name in named:
        find_column(frame, name)
    twice = [name for name in named if named.count(name) > 1]
    if twice:
        raise InvalidInputError(f"The column {twice[0]!r} is named twice; each has one part only.")
    if id is None and (time or value):
        raise InvalidInputError(
            "In a table of one row a measurement say with --id which column tells the series "
            f"apart; the columns are {shorten(list(frame), 12)}."
        )
    rest = frame[[one for one in frame.columns if str(one) not in named]]
    copies = target_copies(named_frame(rest), frame[target], target)
    others = [str(name) for name in rest.columns if str(name) not in copies]
    numbers = [name for name in others if _holds_numbers(frame[name])]
    left_out = (*copies, *(name for name in others if name not in numbers))
    is_long = bool(time or value) or (id is not None and bool(frame[id].duplicated().any()))
    values = tuple(value) or tuple(numbers)
    if not values:
        raise InvalidInputError(
            f"No column holds numbers beside {shorten(named)}; name those to use with --value."
        )
    if is_long and not value and len(values) > 1 and time is None:
        raise InvalidInputError(
            f"{id!r} repeats, so that a row is a measurement: name its values with --value and its "
            f"time with --time; the columns are {shorten(list(frame), 12)}."
        )
    found = SeriesColumns(is_long=is_long, values=values, id=id or "", time=time or "")
    return found, () if value else left_out


def _holds_numbers(column: Any) -> bool:
    if column.ndim > 1 or is_date(column):
        return False
    if is_number(column):
        return True
    cells = read_cells(column)
    n_cells = int(cells.counts.sum())
    return n_cells > 0 and numbers_of(cells).n_unread <= _FEW * n_cells


def read_series(frame: "pd.DataFrame", columns: SeriesColumns) -> TakenSeries:
    """Return the series of a table."""
    names = (*columns.values, *(one for one in (columns.id, columns.time) if one))
    # A look at all names for each of a thousand columns takes seconds.
    for name in set(names).difference(frame.columns) if frame.columns.is_unique else names:
        find_column(frame, name)
    values = np.column_stack([_numbers(frame, name) for name in columns.values])
    return _from_rows(frame, columns, values) if columns.is_long else _wide(frame, columns, values)


def series_treatments(frame: "pd.DataFrame", columns: SeriesColumns) -> tuple[Treatment, ...]:
    """Return how the values of series were read as numbers, where that is to be said."""
    return tuple(
        said
        for name in columns.values
        for said in number_treatments(name, read_numbers(frame[name]))
    )


def _wide(frame: "pd.DataFrame", columns: SeriesColumns, values: Array) -> TakenSeries:
    n = len(frame)
    names = frame[columns.id].map(write_cell) if columns.id else [str(row + 1) for row in range(n)]
    cells = tuple(one[None] for one in values)
    return TakenSeries(
        cells=cells,
        ids=tuple(map(str, names)),
        rows=np.arange(n),
        owners=np.arange(n),
        n_filled=sum(map(_n_filled, cells)),
    )


def _from_rows(frame: "pd.DataFrame", columns: SeriesColumns, values: Array) -> TakenSeries:
    """Return the series of a table of one row a measurement."""
    import pandas as pd

    owners, names = pd.factorize(frame[columns.id])
    if not len(names):
        raise InvalidInputError(f"The column {columns.id!r} is empty; it must name the series.")
    ids = tuple(write_cell(name) for name in names)
    times = _times(frame, columns.time) if columns.time else np.arange(len(frame), dtype=float)
    order = np.lexsort((times, owners))
    order = order[owners[order] >= 0]
    begins = np.searchsorted(owners[order], np.arange(len(names) + 1))
    cells, n_filled, n_uneven = [], 0, 0
    for place, (first, last) in enumerate(pairwise(begins)):
        rows = order[first:last]
        _refuse_repeated(times[rows], ids[place], columns, frame, rows)
        one = values[rows].T
        n_filled += _n_filled(one)
        if columns.time and not _is_even(times[rows]):
            one, n_uneven = _evenly(times[rows], one), n_uneven + 1
        cells.append(one)
    return TakenSeries(
        cells=tuple(cells),
        ids=ids,
        rows=np.unique(owners[owners >= 0], return_index=True)[1],
        owners=owners,
        n_filled=n_filled,
        n_uneven=n_uneven,
        n_without_id=int((owners < 0).sum()),
    )


def _numbers(frame: "pd.DataFrame", name: str) -> Array:
    column = frame[name]
    if is_number(column):
        return read_numbers(column).values
    cells = read_cells(column)
    found, n_cells = numbers_of(cells), int(cells.counts.sum())
    if found.n_unread > _FEW * n_cells:
        raise InvalidInputError(
            f"The column {name!r} holds {cells.labels[0]!r}, where numbers are needed; choose "
            "another column or leave it out."
        )
    return found.values


def _times(frame: "pd.DataFrame", name: str) -> Array:
    """Return numbers, or days since 1970, shape (m,)."""
    column = frame[name]
    if is_date(column):
        times = read_dates(column)
    elif _holds_numbers(column):
        times = _numbers(frame, name)
    else:
        cells = read_cells(column)
        found = find_format(cells)
        example = cells.labels[0] if cells.labels else ""
        if found is None:
            raise InvalidInputError(
                f"The times in {name!r} must be numbers or dates, got {example!r}; write dates as "
                "2026-01-31, or leave --time out if the rows are in order."
            )
        if found.ambiguous:
            raise InvalidInputError(
                f"In the dates of {name!r}, such as {example!r}, day and month cannot be told "
                "apart; write them as 2026-01-31."
            )
        times = read_dates(column, found.text)
    missing = int(np.isnan(times).sum())
    if missing:
        rows = "1 row has" if missing == 1 else f"{missing:,} rows have"
        first = int(np.flatnonzero(np.isnan(times))[0])
        cell = write_cell(column.iloc[first]) if column.notna().iloc[first] else ""
        seen = f"holds {cell!r}" if cell else "is empty"
        raise BadRowError(
            f"{rows} no time in {name!r} (first: ",
            first,
            f", which {seen}); complete or remove them.",
        )
    return times


def _refuse_repeated(
    times: Array, name: str, columns: SeriesColumns, frame: "pd.DataFrame", rows: Indices
) -> None:
    same = np.flatnonzero(np.diff(times) == 0)
    if len(same):
        when = frame[columns.time].iloc[int(rows[same[0]])]
        raise InvalidInputError(
            f"The series {name!r} has two rows at {columns.time} {when}; keep one of them, or name "
            "the column that tells them apart."
        )


def _is_even(times: Array) -> bool:
    steps = np.diff(times)
    if len(steps) < 2:
        return True
    usual = float(np.median(steps))
    return bool(np.abs(steps - usual).max() <= _EVEN * usual)


def _evenly(times: Array, one: Array) -> Array:
    """Return a series on even steps of its usual length, on the lines between its neighbours."""
    known = np.isfinite(one)
    kept = known.any(axis=0)
    if kept.sum() < 2 or not known.any(axis=1).all():
        return one
    times, one, known = times[kept], one[:, kept], known[:, kept]
    span, usual = times[-1] - times[0], float(np.median(np.diff(times)))
    n = int(np.clip(round(span / usual) + 1, 2, _FINEST * len(times)))
    grid = np.linspace(times[0], times[-1], n)
    return np.stack([np.interp(grid, times[k], v[k]) for v, k in zip(one, known, strict=True)])


def _n_filled(one: Array) -> int:
    """Return how many values are missing before the common end of all channels."""
    known = np.isfinite(one)
    if not known.any():
        return 0
    last = int(np.flatnonzero(known.any(axis=0))[-1]) + 1
    return int((~known[:, :last]).sum())


def target_of_series(frame: "pd.DataFrame", target: str, taken: TakenSeries) -> "pd.Series[Any]":
    """Return the target of each series; all rows of a series that have one must agree."""
    import pandas as pd

    column = frame[target]
    if len(taken.ids) == len(frame):
        return column.iloc[taken.rows].reset_index(drop=True)
    known = np.flatnonzero((taken.owners >= 0) & column.notna().to_numpy())
    pairs = pd.DataFrame({"series": taken.owners[known], "target": column.iloc[known].to_numpy()})
    pairs = pairs.drop_duplicates()
    repeated = pairs["series"].duplicated().to_numpy()
    if repeated.any():
        series = int(pairs["series"].to_numpy()[repeated][0])
        values = [write_cell(one) for one in pairs["target"][pairs["series"] == series]]
        raise InvalidInputError(
            f"The series {taken.ids[series]!r} has more than one {target}: {shorten(values)}; it "
            "must be the same in all its rows."
        )
    found = pairs.set_index("series")["target"].reindex(range(len(taken.ids)))
    return found.reset_index(drop=True).astype(column.dtype, errors="ignore")


@dataclass(frozen=True, eq=False, kw_only=True)
class AskedSeries(ReadTable):
    """A table of series as it was read, and what is asked of it; its one column holds series.

    places: Where the series of the table are.
    left_out: Columns that hold no numbers.
    n_without_target, n_empty: Series that were left out.
    """

    places: SeriesColumns
    left_out: tuple[str, ...]
    taken: TakenSeries
    n_without_target: int
    n_empty: int

    @cached_property
    def series(self) -> SeriesTable:
        """The series that are used."""
        return as_series(self.questions[0].table)

    @property
    def treatments(self) -> tuple[Treatment, ...]:
        """How values were read as numbers, where that is to be said."""
        return series_treatments(self.frame, self.places)

    @property
    def is_number(self) -> bool:
        """Whether a number is asked for."""
        return self.questions[0].is_number

    @cached_property
    def values(self) -> Array:
        """Codes of classes, or numbers."""
        return np.asarray(self.questions[0].values, dtype=np.float64)

    def series_findings(self, name: str) -> SeriesTableFindings:
        """Return what a page says of the series."""
        counts = np.bincount(self.values.astype(int)) if not self.is_number else ()
        series, taken, places = self.series, self.taken, self.places
        return SeriesTableFindings(
            name=name,
            target=self.target,
            task=self.outcome.task,
            n_series=series.n_series,
            channels=places.channels,
            shortest=int(series.lengths.min()),
            longest=series.length,
            classes=tuple(zip(self.class_names, map(int, counts), strict=True)),
            is_long=places.is_long,
            columns=() if places.is_long else places.values,
            id=places.id,
            time=places.time,
            left_out=self.left_out,
            n_filled=taken.n_filled,
            n_uneven=taken.n_uneven,
            n_without_id=taken.n_without_id,
            n_without_target=self.n_without_target,
            n_empty=self.n_empty,
            n_rare=int((~self.outcome.kept).sum()),
        )

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], Indices]:
        """What is told apart: classes, or series below and above the middle of a number."""
        if not self.is_number:
            return self.class_names, self.values.astype(np.intp)
        above = (self.values > np.median(self.values)).astype(np.intp)
        return (f"low {self.target}", f"high {self.target}"), above


def ask_series(
    frame: "pd.DataFrame",
    target: str,
    *,
    id: str | None,
    time: str | None,
    value: Sequence[str],
    positive: str | None,
    task: Any,
    has_header: bool,
) -> AskedSeries:
    """Take the series and their targets; those without a value or a target are left out."""
    import pandas as pd

    places, left_out = series_columns(frame, target, id=id, time=time, value=value)
    places = replace(places, has_header=has_header)
    taken = read_series(frame, places)
    targets = target_of_series(frame, target, taken)
    has_all = ~np.isin(taken.ids, taken.empty)
    known = has_all & targets.notna().to_numpy()
    n, n_empty = int(known.sum()), int((~has_all).sum())
    if n < FEWEST_SERIES:
        found = "There is 1 series" if n == 1 else f"There are {n} series"
        raise InvalidInputError(
            f"{found} with values and a target; at least {FEWEST_SERIES} are needed."
            f"{'' if places.is_long else _hint(places)}"
        )
    kept = targets[known].reset_index(drop=True).to_frame(target)
    return AskedSeries(
        frame=frame,
        columns=pd.DataFrame({SERIES: [taken.cells[row] for row in np.flatnonzero(known)]}),
        target=clean_text(target),
        outcome=read_outcome(kept, target, positive=positive, task=task),
        places=places,
        left_out=left_out,
        taken=taken,
        n_without_target=len(known) - n - n_empty,
        n_empty=n_empty,
    )


def _hint(columns: SeriesColumns) -> str:
    return (
        f" The table was read as one series a row, of {len(columns.values)} values; if a row is "
        "one measurement, name --id, --time and --value."
    )
