"""Deciding what a column is: a number, a yes or no, a category, a date, or nothing of use.

A value that looks like a code for "missing" is noticed, never changed.
"""

import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import Array
from parsimon.pareto.front import write_number
from parsimon.report.findings import Treatment
from parsimon.statistician.prepare.cells import (
    ISO,
    Cells,
    ReadNumbers,
    affirmative,
    date_treatments,
    find_format,
    is_date,
    is_number,
    is_yes_or_no,
    iso_day,
    number_treatments,
    numbers_of,
    read_cells,
    read_dates,
    read_numbers,
)
from parsimon.statistician.prepare.orders import order_of, sort_labels
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
    # Zeros in most rows are counts of none: catches, gains, days in hospital.
    if value == 0 and share > 0.5:
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
# A level needs so many rows, or this share of them if that is more; in a table of fewer than
# fifty, a tenth of the rows.
_FEWEST_SUPPORTING, _SMALLEST_SHARE_SUPPORTING, _SHARE_OF_FEW_ROWS = 5, 0.01, 0.1
# Variables for a category.
_MOST_LEVELS = 8
# Text with fewer of its cells in levels that have support is names or free text.
_SHARE_SUPPORTED = 0.5
# With fewer rows, 1, 2, 3, ... may as well be a measurement.
_FEWEST_NUMBERED_ROWS = 20
_IDENTIFYING_WORDS = frozenset({"id", "ids", "uuid", "guid", "identifier", "rowid", "unnamed"})
_IDENTIFYING_ENDS = frozenset(
    {"index", "idx", "row", "rownum", "rownames", "key", "nr", "no", "number", "num", "serial"}
    | {"ticket", "invoice", "passport", "phone", "telephone", "barcode", "ssn"}
)
_TIME_WORDS = frozenset(
    {"time", "t", "year", "month", "week", "day", "days", "hour", "date", "age", "period", "step"}
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Recognised:
    """What a column is.

    recipe: None for a column that is left out.
    treatments: What a report must say about it.
    values (n, k): The cells, encoded, missing numbers as NaN; empty without a recipe.
    """

    recipe: Recipe | None
    treatments: tuple[Treatment, ...] = ()
    values: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False)


def recognise(cells: "pd.Series[Any]", name: str) -> Recognised:
    """Return what a column is, as these cells show it.

    Shapes: cells (n,).
    """
    import pandas as pd

    if is_number(cells):
        return _number(read_numbers(cells), name)
    if is_date(cells):
        return _date(read_dates(cells), name, ISO, ())
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
            days = read_dates(cells, found.text)
            return _date(days, name, found.text, date_treatments(name, cells, days))
    order: tuple[str, ...] = ()
    if isinstance(cells.dtype, pd.CategoricalDtype) and cells.dtype.ordered:
        there = set(read.labels)
        order = tuple(level for level in map(str, cells.dtype.categories) if level in there)
    return _levels(read, name, truth, order)


def _left_out(kind: Any, name: str, *, count: int = 0, value: str = "") -> Recognised:
    return Recognised(recipe=None, treatments=(_treatment(kind, name, count, value),))


def _number(numbers: ReadNumbers, name: str) -> Recognised:
    present = numbers.values[~np.isnan(numbers.values)]
    if not len(present):
        return _left_out("column_empty", name)
    indicated = _worth_indicating(numbers.n_missing, len(numbers.values))
    low, high = float(present.min()), float(present.max())
    if low == high and not indicated:
        return _left_out("column_constant", name, value=write_number(low))
    if _is_identifier(present, name):
        return _left_out("column_identifier", name)
    if _is_repeated_identifier(present, name):
        return _left_out("column_names", name, count=len(np.unique(present)))
    binary = bool(((present == 0) | (present == 1)).all())
    # Half of a yes is nothing that a table could hold.
    fill = float(np.floor(np.median(present)) if binary else np.median(present))
    recipe = NumberColumn(
        column=name, fill=fill, decimal=numbers.decimal, indicated=indicated, binary=binary
    )
    treatments = number_treatments(name, numbers)
    treatments += _gaps(name, numbers.n_missing, write_number(fill), indicated)
    suspicious = suspicious_value(present)
    if suspicious is not None:
        value, count = suspicious
        treatments.append(_treatment("suspicious_value", name, count, write_number(value)))
    values = recipe.encode_values(numbers.values)
    return Recognised(recipe=recipe, treatments=tuple(treatments), values=values)


def _treatment(kind: Any, name: str, count: int, value: str = "") -> Treatment:
    return Treatment(kind=kind, column=name, count=count, value=value)


def _gaps(name: str, n_missing: int, fill: str, indicated: bool) -> list[Treatment]:
    filled = [_treatment("cells_filled", name, n_missing, fill)] if n_missing else []
    return filled + ([_treatment("missing_indicated", name, n_missing)] if indicated else [])


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
    if _names_cases(name):
        return True
    numbered = present[0] >= 0 and present[-1] <= 2 * len(present) and np.all(np.diff(present) > 0)
    timed = _TIME_WORDS & set(_words(name))
    return bool(numbered and len(present) >= _FEWEST_NUMBERED_ROWS and not timed)


def _is_repeated_identifier(present: Array, name: str) -> bool:
    """Return whether whole numbers under such a name mostly occur once or twice."""
    return bool(
        len(present) >= _FEWEST_NUMBERED_ROWS
        and _names_cases(name)
        and np.all(present == np.floor(present))
        and 2 * len(np.unique(present)) >= len(present)
    )


def _names_cases(name: str) -> bool:
    """Return whether a column's name says that it tells cases apart."""
    words = _words(name)
    return bool(words and (_IDENTIFYING_WORDS & set(words) or words[-1] in _IDENTIFYING_ENDS))


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word.casefold() for word in re.findall(r"[^\W\d_]+", spaced)]


def _date(days: Array, name: str, format: str, unread: tuple[Treatment, ...]) -> Recognised:
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
    said = _treatment("column_date", name, len(present), iso_day(origin))
    gaps = _gaps(name, n_missing, iso_day(fill), indicated)
    values = recipe.encode_values(days - origin)
    return Recognised(recipe=recipe, treatments=(said, *unread, *gaps), values=values)


def _levels(read: Cells, name: str, truth: bool, order: tuple[str, ...] = ()) -> Recognised:
    counts = dict(zip(read.labels, read.counts.tolist(), strict=True))
    n_cells = sum(counts.values())
    n_missing = len(read.codes) - n_cells
    if len(counts) == 1:
        if not _worth_indicating(n_missing, len(read.codes)):
            return _left_out("column_constant", name, value=read.labels[0])
        return _with_levels(read, LevelsColumn(column=name, levels=read.labels), n_missing)
    if not truth and len(counts) > max(2.0, _IDENTIFYING_SHARE * n_cells):
        return _without_levels(_treatment("column_identifier", name, 0), read)
    least = _support(counts)
    levels = sort_labels(read.labels)
    supported = tuple(level for level in levels if counts[level] >= least)
    if sum(counts[level] for level in supported) < _SHARE_SUPPORTED * n_cells:
        return _without_levels(_treatment("column_names", name, len(levels)), read)
    chosen = _choose_levels(levels, supported, counts)
    rest = tuple(level for level in levels if level not in chosen)
    n_rest = sum(counts[level] for level in rest)
    if len(chosen) < 2 and n_rest < least:
        return _without_levels(_treatment("column_rare", name, n_rest, supported[0]), read)
    if not chosen:
        return _without_levels(_treatment("column_names", name, len(levels)), read)
    other = n_rest >= least
    indicated = n_missing >= least
    filled = (n_missing and not indicated) or (rest and not other)
    recipe = LevelsColumn(
        column=name,
        levels=chosen,
        other=other,
        indicated=indicated and bool(n_missing),
        fill=max(chosen, key=lambda level: counts[level]) if filled else "",
        rare=() if other else rest,
        order=order if len(order) > 2 else order_of(levels),
    )
    if len(chosen) == 2 and not other:
        recipe = _two_levels(recipe, counts)
    return _with_levels(read, recipe, n_missing, n_rest=len(rest), n_levels=len(levels))


def _support(counts: dict[str, int]) -> int:
    """Return how many rows a level needs for a variable of its own.

    Of two levels the rarer needs no share of the rows: a yes may be rare and well supported.
    """
    n_cells = sum(counts.values())
    few = min(_FEWEST_SUPPORTING, math.ceil(_SHARE_OF_FEW_ROWS * n_cells))
    return few if len(counts) == 2 else max(few, math.ceil(_SMALLEST_SHARE_SUPPORTING * n_cells))


def _choose_levels(
    levels: tuple[str, ...], supported: tuple[str, ...], counts: dict[str, int]
) -> tuple[str, ...]:
    """Return the levels with a variable: all, or the most frequent with room for "other".

    One that is called "other" joins the others.
    """
    if supported == levels and len(levels) <= _MOST_LEVELS:
        return levels
    named = [level for level in supported if level.casefold() != "other"]
    common = set(sorted(named, key=lambda level: -counts[level])[: _MOST_LEVELS - 1])
    return tuple(level for level in levels if level in common)


def _without_levels(said: Treatment, read: Cells) -> Recognised:
    """Leave out what the cells say; whether there is one may still say something."""
    n_missing = int((read.codes < 0).sum())
    if not _worth_indicating(n_missing, len(read.codes)):
        return Recognised(recipe=None, treatments=(said,))
    recipe = LevelsColumn(column=said.column, levels=(), other=True, indicated=True)
    indicated = _treatment("missing_indicated", said.column, n_missing)
    values = recipe.indicators(read).values
    return Recognised(recipe=recipe, treatments=(said, indicated), values=values)


def _with_levels(
    read: Cells, recipe: LevelsColumn, n_missing: int, *, n_rest: int = 0, n_levels: int = 0
) -> Recognised:
    """Return the variables of levels with what a report must say about them."""
    name = recipe.column
    if len(recipe.levels) == 1 and not recipe.other:
        said = [_treatment("column_boolean", name, 2, recipe.levels[0])]
    else:
        said = [_treatment("column_category", name, n_levels)]
    if n_rest:
        kind = "rare_levels" if recipe.other else "levels_unsupported"
        said.append(_treatment(kind, name, n_rest, "" if recipe.other else recipe.fill))
    if n_missing:
        kind = "missing_as_level" if recipe.fill and not recipe.indicated else "missing_level"
        said.append(
            _treatment(kind, name, n_missing, recipe.fill if kind != "missing_level" else "")
        )
    values = recipe.indicators(read).values
    return Recognised(recipe=recipe, treatments=tuple(said), values=values)


def _two_levels(recipe: LevelsColumn, counts: dict[str, int]) -> LevelsColumn:
    """Return the recipe of two levels with one variable, that of the yes."""
    levels = recipe.levels
    yes = affirmative(levels) or levels[-1]
    no = levels[0] if yes == levels[-1] else levels[-1]
    usual = yes if counts[yes] > counts[no] else no
    return replace(
        recipe,
        levels=(yes,),
        reference=no,
        usual=usual,
        fill=usual if recipe.fill else "",
        plain=is_yes_or_no(levels),
    )
