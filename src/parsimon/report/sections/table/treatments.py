"""What was done to the table before the search, in a sentence for each kind of treatment."""

import re
from collections.abc import Callable, Sequence

from parsimon.report.findings import Treatment, TreatmentKind
from parsimon.report.sections._phrases import clean, count, joined, named, opened, quoted, spelled

_MOST = 8
Group = Sequence[Treatment]
# What makes a reader careful; the first screen says it.
_DOUBTFUL = ("rows_duplicated", "suspicious_value", "columns_screened", "rows_sampled")


def is_doubtful(treatment: Treatment, n_rows: int) -> bool:
    """Return whether a reader must know of a treatment before believing the page.

    Left out with names are levels, such as of many towns, that come back in these rows and may
    well matter.
    """
    recurs = treatment.kind == "column_names" and 2 * treatment.count <= n_rows
    return recurs or treatment.kind in _DOUBTFUL


def treatment_sentences(treatments: Sequence[Treatment]) -> tuple[str, ...]:
    """Return a sentence for each kind of treatment, columns that share one together."""
    groups: dict[TreatmentKind, list[Treatment]] = {}
    for treatment in treatments:
        groups.setdefault(treatment.kind, []).append(treatment)
    return tuple(opened(_TEMPLATES[kind](group)) for kind, group in groups.items())


def _columns(group: Group) -> str:
    return named([one.column for one in group], _MOST)


def _listed(group: Group, text: Callable[[Treatment], str]) -> str:
    """Return each column with something in brackets."""
    return joined([f"{clean(one.column)} ({text(one)})" for one in group], _MOST)


def _value(one: Treatment) -> str:
    """Return the value of a treatment, with a true minus sign if it is a number."""
    return re.sub(r"^-(?=\d)", "−", clean(one.value))


def _total(group: Group) -> int:
    return sum(one.count for one in group)


def _are(n: int, verb: str = "were") -> str:
    return {"were": "was", "are": "is", "have": "has", "hold": "holds"}[verb] if n == 1 else verb


def _columns_unnamed(group: Group) -> str:
    n = _total(group)
    has = "has neither a name nor a value" if n == 1 else "have neither a name nor a value"
    return (
        f"{spelled(n, 'column')} {has} and {_are(n)} left out, as separators at the ends of rows "
        "make them."
    )


def _column_unasked(group: Group) -> str:
    n = len(group)
    return f"{spelled(n, 'column')} {_are(n)} left out as asked: {_columns(group)}."


def _column_renamed(group: Group) -> str:
    n = len(group)
    whose = "has no name, or that of an earlier column," if n == 1 else ""
    whose = whose or "have no name, or that of an earlier column,"
    names = _listed(group, lambda one: f"was {quoted(one.value)}" if one.value else "had none")
    return f"{spelled(n, 'column')} {whose} and got one: {names}."


def _row_names(group: Group) -> str:
    n = _total(group)
    return (
        f"{count(n, 'row')} {'begins' if n == 1 else 'begin'} with a name that the header has no "
        "cell for, as R writes them; these names were left out."
    )


def _rows_short(group: Group) -> str:
    n = _total(group)
    lines = clean(group[0].value)
    where = f"line {lines}" if n == 1 else f"lines {lines}"
    return (
        f"{count(n, 'row')} {_are(n, 'have')} fewer cells than the header; those at the end were "
        f"taken as missing: {where}."
    )


def _formulas_uncomputed(group: Group) -> str:
    n = _total(group)
    columns = [one.column for one in group if one.column]
    where = f" in {named(columns, _MOST)}" if columns else ""
    return (
        f"{count(n, 'formula')}{where} {_are(n)} never computed and {_are(n)} taken as missing; "
        "open the workbook in Excel and save it to have the results."
    )


def _column_target(group: Group) -> str:
    n = len(group)
    pairs = _listed(group, lambda one: f"equal to {clean(one.value)}")
    repeats = "repeats the target" if n == 1 else "repeat the target"
    return f"{spelled(n, 'column')} {repeats} and {_are(n)} left out: {pairs}."


def _rows_without_target(group: Group) -> str:
    n = _total(group)
    target = clean(group[0].column) if group[0].column else "the target"
    return f"{count(n, 'row')} {_are(n, 'have')} no value of {target} and {_are(n)} left out."


def _rows_of_rare_class(group: Group) -> str:
    n = _total(group)
    classes = joined([f"{quoted(one.value)} ({count(one.count, 'row')})" for one in group], _MOST)
    return (
        f"{count(n, 'row')} {_are(n)} left out, because so small a class can be neither learned "
        f"nor tested: {classes}."
    )


def _rows_duplicated(group: Group) -> str:
    n = _total(group)
    same = "another row exactly and was kept" if n == 1 else "other rows exactly and were kept"
    return (
        f"{count(n, 'row')} {'repeats' if n == 1 else 'repeat'} {same}. If the same case was "
        "entered twice, the errors in this report are too low."
    )


def _cells_filled(group: Group) -> str:
    """Say which cells got a median, and which what the other columns of their row predict."""
    parts = {
        "what the other columns of the row predict": [one for one in group if not one.value],
        "the median of its column": [one for one in group if one.value],
    }
    return " ".join(opened(_filled_with(with_, part)) for with_, part in parts.items() if part)


def _filled_with(with_: str, group: Group) -> str:
    n = _total(group)
    if len(group) == 1:
        value = f", {_value(group[0])}" if group[0].value else ""
        column = clean(group[0].column)
        return f"{count(n, 'missing cell')} of {column} {_are(n)} filled with {with_}{value}."
    columns = _listed(
        group, lambda one: f"{one.count:,}" + (f" with {_value(one)}" if one.value else "")
    )
    where = spelled(len(group), "column")
    return f"{count(n, 'missing cell')} in {where} {_are(n)} filled, each with {with_}: {columns}."


def _missing_indicated(group: Group) -> str:
    return (
        f"a further variable, 0 or 1, says where cells were missing in "
        f"{spelled(len(group), 'column')}: {_columns(group)}."
    )


def _missing_level(group: Group) -> str:
    n = _total(group)
    where = _listed(group, lambda one: f"{one.count:,}")
    if len(group) == 1:
        where = clean(group[0].column)
    level = "a level of its own" if n == 1 else "a level of their own"
    return f"{count(n, 'missing cell')} {'counts' if n == 1 else 'count'} as {level} in {where}."


def _missing_as_level(group: Group) -> str:
    n = _total(group)
    levels = _listed(group, lambda one: f"{one.count:,} as {quoted(one.value)}")
    few = "is too rare" if n == 1 else "are too few"
    own = "a level of its own and counts" if n == 1 else "a level of their own and count"
    return f"{count(n, 'missing cell')} {few} for {own} as the commonest level: {levels}."


def _infinite_cells(group: Group) -> str:
    n = _total(group)
    return (
        f"{count(n, 'cell')} in {_columns(group)} {_are(n, 'are')} infinite, or beyond 1e100, and "
        f"{_are(n)} taken as missing."
    )


def _cells_unread(group: Group) -> str:
    n = _total(group)
    such = _listed(group, lambda one: f"such as {quoted(one.value)}")
    return f"{count(n, 'cell')} could not be read and {_are(n)} taken as missing: {such}."


def _text_numbers(group: Group) -> str:
    examples = [one.value for one in group if one.value]
    such = f", such as {quoted(examples[0])}" if examples else ""
    return (
        f"{spelled(len(group), 'column')} {_are(len(group), 'hold')} numbers that are written as "
        f"text{such}, and {_are(len(group))} read as numbers: {_columns(group)}."
    )


def _said(group: Group, of_value: str) -> str:
    """Return each column with what is said of its value in brackets, if it has one."""
    return joined(
        [
            f"{clean(one.column)} ({of_value}{quoted(one.value)})"
            if one.value
            else clean(one.column)
            for one in group
        ],
        _MOST,
    )


def _column_boolean(group: Group) -> str:
    n = len(group)
    return f"{spelled(n, 'column')} with two values became 0 and 1: {_said(group, '1 is ')}."


def _column_category(group: Group) -> str:
    def levels(one: Treatment) -> str:
        without = f", without one for {quoted(one.value)}" if one.value else ""
        return f"{count(one.count, 'level')}{without}" if one.count else f"all levels{without}"

    n = len(group)
    return (
        f"{spelled(n, 'column')} {_are(n, 'hold')} categories and became variables that are 0 or "
        f"1, one for each level: {_listed(group, levels)}."
    )


def _rare_levels(group: Group) -> str:
    where = _listed(group, lambda one: count(one.count, "level"))
    return (
        f"levels in few rows, and those beyond the commonest, were put together as "
        f"{quoted('other')}: {where}."
    )


def _levels_unsupported(group: Group) -> str:
    levels = _listed(group, lambda one: f"{count(one.count, 'level')} as {quoted(one.value)}")
    return (
        "levels in so few rows that nothing can be learned about them count as the commonest "
        f"level: {levels}."
    )


def _column_date(group: Group) -> str:
    n = len(group)
    since = _listed(group, lambda one: f"since {clean(one.value)}")
    return f"{spelled(n, 'column')} {_are(n, 'hold')} dates and became a number of days: {since}."


def _column_ambiguous_date(group: Group) -> str:
    n = len(group)
    cells = _listed(group, lambda one: f"such as {quoted(one.value)}")
    return (
        f"{spelled(n, 'column')} {_are(n, 'hold')} dates in which day and month cannot be told "
        f"apart, and {_are(n)} left out: {cells}. Write them as year-month-day to use them."
    )


def _column_constant(group: Group) -> str:
    n = len(group)
    return (
        f"{spelled(n, 'column')} {_are(n, 'hold')} one value only and {_are(n)} left out: "
        f"{_said(group, '')}."
    )


def _column_empty(group: Group) -> str:
    n = len(group)
    return (
        f"{spelled(n, 'column')} {_are(n, 'are')} empty and {_are(n)} left out: {_columns(group)}."
    )


def _column_duplicate(group: Group) -> str:
    n = len(group)
    pairs = _listed(group, lambda one: f"equal to {clean(one.value)}")
    repeats = "repeats another column" if n == 1 else "repeat other columns"
    return f"{spelled(n, 'column')} {repeats} and {_are(n)} left out: {pairs}."


def _column_identifier(group: Group) -> str:
    n = len(group)
    differs = "differs" if n == 1 else "differ"
    return (
        f"{spelled(n, 'column')} {differs} in every row, as names and running numbers do, and "
        f"{_are(n)} left out: {_columns(group)}."
    )


def _column_names(group: Group) -> str:
    n = len(group)
    texts = _listed(group, lambda one: f"{one.count:,} different cells")
    return (
        f"{spelled(n, 'column')} {_are(n, 'hold')} names, free text or too many levels, most of "
        f"them in too few rows to learn from, and {_are(n)} left out: {texts}."
    )


def _column_rare(group: Group) -> str:
    n = len(group)
    cells = _listed(group, lambda one: f"all but {count(one.count, 'cell')} {quoted(one.value)}")
    return (
        f"{spelled(n, 'column')} {_are(n, 'are')} the same in nearly every row and {_are(n)} left "
        f"out: {cells}."
    )


def _unseen_levels(group: Group) -> str:
    def taken(one: Treatment) -> str:
        cells = count(one.count, "cell")
        return f"{cells}, taken as {quoted(one.value)}" if one.value else cells

    return f"levels occur that no fitted row had: {_listed(group, taken)}."


def _columns_screened(group: Group) -> str:
    one = group[0]
    many = f"the {clean(one.value)} variables" if one.value else "all variables"
    return (
        f"{many} were first looked at one by one, and the search used the {one.count:,} most "
        "promising. What the others say in combination was not examined."
    )


def _rows_sampled(group: Group) -> str:
    return (
        f"the search for a model used {count(_total(group), 'row')}, drawn at random; the "
        "structure that it found was then fitted to all rows."
    )


def _suspicious_value(group: Group) -> str:
    places = _listed(group, lambda one: f"{_value(one)} in {count(one.count, 'row')}")
    n = len(group)
    value = "a value that lies" if n == 1 else "values that lie"
    unknown = "it stands" if n == 1 else "they stand"
    return (
        f"{spelled(n, 'column')} {_are(n, 'have')} {value} far from the others: {places}. Nothing "
        f"was changed. If {unknown} for {quoted('not known')} rather than for a count of none, "
        "empty these cells and run the report again."
    )


_TEMPLATES: dict[TreatmentKind, Callable[[Group], str]] = {
    "column_unasked": _column_unasked,
    "columns_unnamed": _columns_unnamed,
    "column_renamed": _column_renamed,
    "row_names": _row_names,
    "rows_short": _rows_short,
    "formulas_uncomputed": _formulas_uncomputed,
    "column_target": _column_target,
    "rows_without_target": _rows_without_target,
    "rows_of_rare_class": _rows_of_rare_class,
    "rows_duplicated": _rows_duplicated,
    "cells_filled": _cells_filled,
    "missing_indicated": _missing_indicated,
    "missing_level": _missing_level,
    "missing_as_level": _missing_as_level,
    "infinite_cells": _infinite_cells,
    "cells_unread": _cells_unread,
    "text_numbers": _text_numbers,
    "column_boolean": _column_boolean,
    "column_category": _column_category,
    "rare_levels": _rare_levels,
    "levels_unsupported": _levels_unsupported,
    "column_date": _column_date,
    "column_ambiguous_date": _column_ambiguous_date,
    "column_constant": _column_constant,
    "column_empty": _column_empty,
    "column_duplicate": _column_duplicate,
    "column_identifier": _column_identifier,
    "column_names": _column_names,
    "column_rare": _column_rare,
    "unseen_levels": _unseen_levels,
    "columns_screened": _columns_screened,
    "rows_sampled": _rows_sampled,
    "suspicious_value": _suspicious_value,
}
