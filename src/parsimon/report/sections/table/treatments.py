"""What the table is, and what was done to it before the search, in a sentence for each kind."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from parsimon.report.document import Block, Section
from parsimon.report.findings import Findings, TableFindings, Treatment, TreatmentKind
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import bullets, paragraph
from parsimon.report.sections.table.scope import Scope

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
    return tuple(say.opened(_say(kind, group)) for kind, group in groups.items())


def _say(kind: TreatmentKind, group: Group) -> str:
    """Return the sentence of a kind; see `_Template`."""
    if kind in _SPECIAL:
        return _SPECIAL[kind](group)
    text, each, noun = _TEMPLATES[kind]
    n = len(group) if noun == "column" else _total(group)
    return say.inflect(
        text,
        n,
        n=say.spelled(n, noun) if noun == "column" else say.count(n, noun),
        each=_list_columns(group, each),
        value=say.clean(group[0].value),
        column=say.clean(group[0].column) if group[0].column else "the target",
    )


def _total(group: Group) -> int:
    return sum(treatment.count for treatment in group)


def _list_columns(group: Group, each: Callable[[Treatment], str]) -> str:
    """Return each column, with what there is to say of it in brackets."""
    said = ((say.clean(treatment.column), each(treatment)) for treatment in group)
    return say.joined([f"{name} ({more})" if more else name for name, more in said], _MOST)


def _number(treatment: Treatment) -> str:
    """Return the value of a treatment, with a true minus sign if it is a number."""
    return re.sub(r"^-(?=\d)", "−", say.clean(treatment.value))


def _levels(treatment: Treatment) -> str:
    without = f", without one for {say.quoted(treatment.value)}" if treatment.value else ""
    return f"{say.count(treatment.count, 'level') if treatment.count else 'all levels'}{without}"


class _Template(NamedTuple):
    """How a kind of treatment is told.

    text: For `inflect`: with `{n}` things, `{each}` column, and the first
        `{column}` and `{value}`.
    each: What is said of a column in brackets; nothing if empty.
    noun: What is counted: columns are those of the group, of all else the counts are added up.
    """

    text: str
    each: Callable[[Treatment], str] = lambda _: ""
    noun: str = "column"


_TEMPLATES: dict[TreatmentKind, _Template] = {
    "column_unasked": _Template("{n} [was|were] left out as asked: {each}."),
    "column_renamed": _Template(
        "{n} [has|have] no name, or that of an earlier column, and got one: {each}.",
        lambda one: f"was {say.quoted(one.value)}" if one.value else "had none",
    ),
    "row_names": _Template(
        "{n} [begins|begin] with a name that the header has no cell for, as R writes them; these "
        "names were left out.",
        noun="row",
    ),
    "rows_short": _Template(
        "{n} [has|have] fewer cells than the header; those at the end were taken as missing: "
        "[line|lines] {value}.",
        noun="row",
    ),
    "column_target": _Template(
        "{n} [repeats|repeat] the target and [was|were] left out: {each}.",
        lambda one: f"equal to {say.clean(one.value)}",
    ),
    "rows_without_target": _Template(
        "{n} [has|have] no value of {column} and [was|were] left out.", noun="row"
    ),
    "rows_duplicated": _Template(
        "{n} [repeats another row exactly and was kept|repeat other rows exactly and were kept]. "
        "If the same case was entered twice, the errors in this report are too low.",
        noun="row",
    ),
    "missing_indicated": _Template(
        "a further variable, 0 or 1, says where cells were missing in {n}: {each}."
    ),
    "missing_as_level": _Template(
        "{n} [is too rare for a level of its own and counts|are too few for a level of their own "
        "and count] as the commonest level: {each}.",
        lambda one: f"{one.count:,} as {say.quoted(one.value)}",
        "missing cell",
    ),
    "infinite_cells": _Template(
        "{n} in {each} [is|are] infinite, or beyond 1e100, and [was|were] taken as missing.",
        noun="cell",
    ),
    "cells_unread": _Template(
        "{n} could not be read and [was|were] taken as missing: {each}.",
        lambda one: f"such as {say.quoted(one.value)}",
        "cell",
    ),
    "column_boolean": _Template(
        "{n} with two values became 0 and 1: {each}.",
        lambda one: f"1 is {say.quoted(one.value)}" if one.value else "",
    ),
    "column_category": _Template(
        "{n} [holds|hold] categories and became variables that are 0 or 1, one for each level: "
        "{each}.",
        _levels,
    ),
    "rare_levels": _Template(
        "levels in few rows, and those beyond the commonest, were put together as “other”: {each}.",
        lambda one: say.count(one.count, "level"),
    ),
    "levels_unsupported": _Template(
        "levels in so few rows that nothing can be learned about them count as the commonest "
        "level: {each}.",
        lambda one: f"{say.count(one.count, 'level')} as {say.quoted(one.value)}",
    ),
    "column_date": _Template(
        "{n} [holds|hold] dates and became a number of days: {each}.",
        lambda one: f"since {say.clean(one.value)}",
    ),
    "column_ambiguous_date": _Template(
        "{n} [holds|hold] dates in which day and month cannot be told apart, and [was|were] left "
        "out: {each}. Write them as year-month-day to use them.",
        lambda one: f"such as {say.quoted(one.value)}",
    ),
    "column_constant": _Template(
        "{n} [holds|hold] one value only and [was|were] left out: {each}.",
        lambda one: say.quoted(one.value) if one.value else "",
    ),
    "column_empty": _Template("{n} [is|are] empty and [was|were] left out: {each}."),
    "column_duplicate": _Template(
        "{n} [repeats another column|repeat other columns] and [was|were] left out: {each}.",
        lambda one: f"equal to {say.clean(one.value)}",
    ),
    "column_identifier": _Template(
        "{n} [differs|differ] in every row, as names and running numbers do, and [was|were] left "
        "out: {each}."
    ),
    "column_names": _Template(
        "{n} [holds|hold] names, free text or too many levels, most of them in too few rows to "
        "learn from, and [was|were] left out: {each}.",
        lambda one: f"{one.count:,} different cells",
    ),
    "column_rare": _Template(
        "{n} [is|are] the same in nearly every row and [was|were] left out: {each}.",
        lambda one: f"all but {say.count(one.count, 'cell')} {say.quoted(one.value)}",
    ),
    "unseen_levels": _Template(
        "levels occur that no fitted row had: {each}.",
        lambda one: (
            say.count(one.count, "cell")
            + (f", taken as {say.quoted(one.value)}" if one.value else "")
        ),
    ),
    "rows_sampled": _Template(
        "the search for a model used {n}, drawn at random; the structure that it found was then "
        "fitted to all rows.",
        noun="row",
    ),
    "suspicious_value": _Template(
        "{n} [has a value that lies|have values that lie] far from the others: {each}. Nothing was "
        "changed. If [it stands|they stand] for “not known” rather than for a count of none, empty "
        "these cells and run the report again.",
        lambda one: f"{_number(one)} in {say.count(one.count, 'row')}",
    ),
}


def _columns_unnamed(group: Group) -> str:
    n = _total(group)
    return say.inflect(
        "{n} [has|have] neither a name nor a value and [was|were] left out, as separators at the "
        "ends of rows make them.",
        n,
        n=say.spelled(n, "column"),
    )


def _formulas_uncomputed(group: Group) -> str:
    n = _total(group)
    columns = [treatment.column for treatment in group if treatment.column]
    where = f" in {say.named(columns, _MOST)}" if columns else ""
    return (
        f"{say.count(n, 'formula')}{where} {say.were(n)} never computed and {say.were(n)} taken as "
        "missing; open the workbook in Excel and save it to have the results."
    )


def _rows_of_rare_class(group: Group) -> str:
    n = _total(group)
    classes = [f"{say.quoted(one.value)} ({say.count(one.count, 'row')})" for one in group]
    return (
        f"{say.count(n, 'row')} {say.were(n)} left out, because so small a class can be "
        f"neither learned nor tested: {say.joined(classes, _MOST)}."
    )


def _cells_filled(group: Group) -> str:
    """Say which cells got a median, and which what the other columns of their row predict."""
    parts = {
        "what the other columns of the row predict": [one for one in group if not one.value],
        "the median of its column": [one for one in group if one.value],
    }
    return " ".join(say.opened(_fill_with(way, part)) for way, part in parts.items() if part)


def _fill_with(way: str, group: Group) -> str:
    n = _total(group)
    cells, filled = say.count(n, "missing cell"), f"{say.were(n)} filled"
    if len(group) == 1:
        value = f", {_number(group[0])}" if group[0].value else ""
        return f"{cells} of {say.clean(group[0].column)} {filled} with {way}{value}."
    columns = _list_columns(
        group, lambda one: f"{one.count:,}" + (f" with {_number(one)}" if one.value else "")
    )
    where = say.spelled(len(group), "column")
    return f"{cells} in {where} {filled}, each with {way}: {columns}."


def _missing_level(group: Group) -> str:
    n = _total(group)
    where = _list_columns(group, lambda one: f"{one.count:,}")
    if len(group) == 1:
        where = say.clean(group[0].column)
    level = "counts as a level of its own" if n == 1 else "count as a level of their own"
    return f"{say.count(n, 'missing cell')} {level} in {where}."


def _text_numbers(group: Group) -> str:
    examples = [treatment.value for treatment in group if treatment.value]
    such = f", such as {say.quoted(examples[0])}" if examples else ""
    return say.inflect(
        "{n} [holds|hold] numbers that are written as text{such}, and [was|were] read as numbers: "
        "{columns}.",
        len(group),
        n=say.spelled(len(group), "column"),
        such=such,
        columns=say.named([treatment.column for treatment in group], _MOST),
    )


def _columns_screened(group: Group) -> str:
    first = group[0]
    many = f"the {say.clean(first.value)} variables" if first.value else "all variables"
    return (
        f"{many} were first looked at one by one, and the search used the {first.count:,} most "
        "promising. What the others say in combination was not examined."
    )


_SPECIAL: dict[TreatmentKind, Callable[[Group], str]] = {
    "columns_unnamed": _columns_unnamed,
    "formulas_uncomputed": _formulas_uncomputed,
    "rows_of_rare_class": _rows_of_rare_class,
    "cells_filled": _cells_filled,
    "missing_level": _missing_level,
    "text_numbers": _text_numbers,
    "columns_screened": _columns_screened,
}
_MOST_CLASSES = 12


def page_title(findings: Findings) -> str:
    """Return the report's title."""
    return f"What predicts {say.clean(findings.table.target)} in {say.clean(findings.table.name)}"


def the_table(scope: Scope) -> Section:
    """Return the section about the table: its size, and what was done to it."""
    table, reading = scope.findings.table, scope.findings.run.reading
    n = table.n_missing
    missing = f"{say.count(n, 'cell')} {'is' if n == 1 else 'are'} missing."
    done = treatment_sentences(
        [one for one in table.treatments if not is_doubtful(one, table.n_rows_used)]
    )
    blocks: list[Block] = [
        paragraph(
            _size(table),
            _question(scope),
            missing if n else "No cell is missing.",
            "" if n or table.treatments or reading else "Nothing had to be done to the table.",
        ),
        *((bullets(*done),) if done else ()),
        *scope.figures(table.picture),
    ]
    return Section("table", "The table, and what was done to it", tuple(blocks), folded=True)


def _classes(table: TableFindings) -> str:
    total = sum(n for _, n in table.classes) or 1
    said = [
        f"{say.quoted(label)} {n:,} ({say.percent_cell(n / total)})" for label, n in table.classes
    ]
    return say.joined(said, _MOST_CLASSES)


def _size(table: TableFindings) -> str:
    size = (
        f"The table {say.clean(table.name)} has {say.count(table.n_rows, 'row')} and, beside "
        f"{say.clean(table.target)}, {say.count(table.n_columns - 1, 'column')}"
    )
    if table.n_rows_used == table.n_rows:
        return f"{size}."
    return f"{size}; {table.n_rows_used:,} of the rows could be used."


def _question(scope: Scope) -> str:
    table = scope.findings.table
    if table.task == "regression":
        return f"The question is what predicts {scope.target}, a number."
    total = sum(n for _, n in table.classes) or 1
    if scope.several:
        return (
            f"The column {scope.target} has {say.spelled(len(table.classes), 'class', 'classes')}; "
            "for each of them the question is what separates it from the others: "
            f"{_classes(table)}."
        )
    study = scope.study
    return (
        f"In the column {scope.target}, {say.count(study.n_positive, 'row')} "
        f"({say.percent(study.n_positive / total)}) are {scope.positive} and {study.n_negative:,} "
        f"({say.percent(study.n_negative / total)}) {scope.negative}."
    )
