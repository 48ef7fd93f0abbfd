"""Deciding what a column is: a number, a yes or no, a category, a date, or nothing of use.

A value that looks like a code for "missing" is noticed, never changed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import Array
from parsimon.pareto.front import number
from parsimon.report.findings import Treatment
from parsimon.statistician.prepare.cells import (
    ISO,
    Cells,
    ReadNumbers,
    affirmative,
    find_format,
    in_order,
    is_date,
    is_number,
    is_yes_or_no,
    iso_day,
    numbers_of,
    read_cells,
    read_dates,
    read_numbers,
)
from parsimon.statistician.prepare.recipes import DateColumn, LevelsColumn, NumberColumn, Recipe

if TYPE_CHECKING:
    import pandas as pd

_FEWEST_ROWS = 3
_FEWEST_OTHERS = 4
# (share of rows, gap in usual gaps): a value in many rows needs to stand out less.
_DOUBTS = ((0.05, 4.0), (0.0, 10.0))
# Of the middle half of the others: where there are many, the usual gap is small, and a value just
# below a long tail would stand out.
_SMALLEST_GAP = 0.1


def suspicious_value(values: Array) -> tuple[float, int] | None:
    """Return a value that may stand for missing cells, and in how many rows; None without one.

    It is 0, -1 (if the others are never negative) or a number such as 99 or -999; it is the
    smallest or the largest in at least three rows, and the gap to the next is far larger than the
    usual gap among the others: at least ten times, or four times if it stands in 5 % of the rows.

    Shapes: values (n,).
    """
    for value in (float(values.min()), float(values.max())):
        if _is_code(value):
            same = values == value
            if same.sum() >= _FEWEST_ROWS and _stands_out(value, values[~same], same.mean()):
                return value, int(same.sum())
    return None


def _is_code(value: float) -> bool:
    if value in (0.0, -1.0):
        return True
    digits = f"{abs(value):.0f}"
    return value.is_integer() and len(digits) <= 9 and digits in (d * len(digits) for d in "789")


def _stands_out(value: float, others: Array, share: float) -> bool:
    distinct = np.unique(others)
    # From -1 to 1 is a range like any other; among numbers that are never negative, -1 is a code.
    if len(distinct) < _FEWEST_OTHERS or (value == -1 and distinct[0] < 0):
        return False
    gap = float(np.abs(distinct - value).min())
    usual = float(np.median(np.diff(distinct)))
    quarter, three_quarters = np.percentile(others, [25, 75])
    return gap >= _SMALLEST_GAP * (three_quarters - quarter) and any(
        share >= least and gap >= times * usual for least, times in _DOUBTS
    )


# A column is what nearly all of its cells are; the others count as missing.
_NEARLY_ALL = 0.95
# A variable for missing cells must be able to say something.
_FEWEST_INDICATED, _SMALLEST_SHARE_INDICATED = 5, 0.05
# Text with more distinct cells than this share of the rows says nothing about other rows.
_IDENTIFYING_SHARE = 0.9
# With fewer rows, 1, 2, 3, ... may as well be a measurement.
_FEWEST_NUMBERED_ROWS = 20
_IDENTIFYING_WORDS = frozenset({"id", "ids", "uuid", "guid", "identifier", "rowid", "unnamed"})
_IDENTIFYING_ENDS = frozenset(
    {"index", "idx", "row", "rownum", "rownames", "key", "nr", "no", "number", "num", "serial"}
)
_TIME_WORDS = frozenset(
    {"time", "t", "year", "month", "week", "day", "days", "hour", "date", "age", "period", "step"}
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Recognised:
    """What a column is.

    recipe: None for a column that is left out.
    treatments: What a report must say about it.
    values (n, k): The cells, encoded; empty without a recipe.
    """

    recipe: Recipe | None
    treatments: tuple[Treatment, ...] = ()
    values: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False)


def recognise(cells: "pd.Series[Any]", name: str, *, most_levels: int = 8) -> Recognised:
    """Return what a column is, as these cells show it.

    Shapes: cells (n,).
    """
    import pandas as pd

    if is_number(cells):
        return _number(read_numbers(cells), name)
    if is_date(cells):
        return _date(read_dates(cells), name, ISO)
    read = read_cells(cells)
    n_cells = int(read.counts.sum())
    if not n_cells:
        return _left_out("column_empty", name)
    truth = pd.api.types.is_bool_dtype(cells.dtype)
    if not truth and not isinstance(cells.dtype, pd.CategoricalDtype):
        numbers = numbers_of(read)
        if n_cells - numbers.n_unread >= _NEARLY_ALL * n_cells:
            return _number(numbers, name)
        found = find_format(read, share=_NEARLY_ALL)
        if found is not None and found.ambiguous:
            return _left_out("column_ambiguous_date", name, value=read.labels[0])
        if found is not None:
            return _date(read_dates(cells, found.text), name, found.text)
    return _levels(read, name, most_levels, truth)


def _left_out(kind: Any, name: str, *, value: str = "") -> Recognised:
    return Recognised(recipe=None, treatments=(Treatment(kind=kind, column=name, value=value),))


def _number(numbers: ReadNumbers, name: str) -> Recognised:
    present = numbers.values[~np.isnan(numbers.values)]
    if not len(present):
        return _left_out("column_empty", name)
    indicated = _worth_indicating(numbers.n_missing, len(numbers.values))
    low, high = float(present.min()), float(present.max())
    if low == high and not indicated:
        return _left_out("column_constant", name, value=number(low))
    if _is_identifier(present, name):
        return _left_out("column_identifier", name)
    binary = bool(((present == 0) | (present == 1)).all())
    # Half of a yes is nothing that a table could hold.
    fill = float(np.floor(np.median(present)) if binary else np.median(present))
    recipe = NumberColumn(
        column=name, fill=fill, decimal=numbers.decimal, indicated=indicated, binary=binary
    )
    treatments = []
    if numbers.n_text:
        treatments.append(_said("text_numbers", name, numbers.n_text, numbers.example))
    if numbers.n_infinite:
        treatments.append(_said("infinite_cells", name, numbers.n_infinite))
    treatments += _gaps(name, numbers.n_missing, number(fill), indicated)
    suspicious = suspicious_value(present)
    if suspicious is not None:
        treatments.append(_said("suspicious_value", name, suspicious[1], number(suspicious[0])))
    values = recipe.filled(numbers.values)
    return Recognised(recipe=recipe, treatments=tuple(treatments), values=values)


def _said(kind: Any, name: str, count: int, value: str = "") -> Treatment:
    return Treatment(kind=kind, column=name, count=count, value=value)


def _gaps(name: str, n_missing: int, fill: str, indicated: bool) -> list[Treatment]:
    filled = [_said("cells_filled", name, n_missing, fill)] if n_missing else []
    return filled + ([_said("missing_indicated", name, n_missing)] if indicated else [])


def _worth_indicating(n_missing: int, n_cells: int) -> bool:
    return _FEWEST_INDICATED <= n_missing < n_cells and (
        n_missing >= _SMALLEST_SHARE_INDICATED * n_cells
    )


def _is_identifier(present: Array, name: str) -> bool:
    """Return whether distinct whole numbers only number the rows.

    Part of a numbered table must be recognised too, so gaps are allowed for.
    """
    if len(present) < 3 or np.any(present != np.floor(present)):
        return False
    if len(np.unique(present)) < len(present):
        return False
    words = _words(name)
    if words and (_IDENTIFYING_WORDS & set(words) or words[-1] in _IDENTIFYING_ENDS):
        return True
    numbered = present[0] >= 0 and present[-1] <= 2 * len(present) and np.all(np.diff(present) > 0)
    return bool(numbered and len(present) >= _FEWEST_NUMBERED_ROWS and not _TIME_WORDS & set(words))


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word.casefold() for word in re.findall(r"[^\W\d_]+", spaced)]


def _date(days: Array, name: str, format: str) -> Recognised:
    present = days[~np.isnan(days)]
    if not len(present):
        return _left_out("column_empty", name)
    n_missing = len(days) - len(present)
    indicated = _worth_indicating(n_missing, len(days))
    origin = float(np.floor(present.min()))
    if present.min() == present.max() and not indicated:
        return _left_out("column_constant", name, value=iso_day(origin))
    fill = float(np.median(present))
    recipe = DateColumn(
        column=name, origin=origin, fill=fill - origin, format=format, indicated=indicated
    )
    said = Treatment(kind="column_date", column=name, count=len(present), value=iso_day(origin))
    gaps = _gaps(name, n_missing, iso_day(fill), indicated)
    values = recipe.filled(days - origin)
    return Recognised(recipe=recipe, treatments=(said, *gaps), values=values)


def _levels(read: Cells, name: str, most_levels: int, truth: bool) -> Recognised:
    counts = dict(zip(read.labels, read.counts.tolist(), strict=True))
    n_cells = sum(counts.values())
    n_missing = len(read.codes) - n_cells
    if len(counts) == 1 and not _worth_indicating(n_missing, len(read.codes)):
        return _left_out("column_constant", name, value=read.labels[0])
    if not truth and len(counts) > max(2.0, _IDENTIFYING_SHARE * n_cells):
        return _left_out("column_identifier", name)
    gaps = [_said("missing_level", name, n_missing)] if n_missing else []
    levels = in_order(read.labels)
    if len(levels) <= 2:
        recipe = _two_levels(levels, counts, name, bool(gaps))
        said = [_said("column_boolean", name, 2, recipe.levels[0])]
    else:
        recipe = _many_levels(levels, counts, name, most_levels, bool(gaps))
        n_rare = len(levels) - len(recipe.levels)
        said = [_said("column_category", name, len(levels))]
        said += [_said("rare_levels", name, n_rare)] * recipe.other
    values = recipe.indicators(read).values
    return Recognised(recipe=recipe, treatments=(*said, *gaps), values=values)


def _two_levels(
    levels: Sequence[str], counts: dict[str, int], name: str, indicated: bool
) -> LevelsColumn:
    if len(levels) == 1:
        return LevelsColumn(column=name, levels=tuple(levels))
    yes = affirmative(levels) or levels[-1]
    no = levels[0] if yes == levels[-1] else levels[-1]
    return LevelsColumn(
        column=name,
        levels=(yes,),
        reference=no,
        usual=yes if counts[yes] > counts[no] else no,
        indicated=indicated,
        plain=is_yes_or_no(levels),
    )


def _many_levels(
    levels: tuple[str, ...], counts: dict[str, int], name: str, most: int, indicated: bool
) -> LevelsColumn:
    if len(levels) <= most:
        return LevelsColumn(column=name, levels=levels, indicated=indicated)
    common = _commonest(levels, counts, most - 1)
    return LevelsColumn(column=name, levels=common, other=True, indicated=indicated)


def _commonest(levels: Sequence[str], counts: dict[str, int], most: int) -> tuple[str, ...]:
    """Return the most frequent levels; one that is called "other" joins the others."""
    named = [level for level in levels if level.casefold() != "other"]
    chosen = set(sorted(named, key=lambda level: -counts[level])[:most])
    return tuple(level for level in levels if level in chosen)
