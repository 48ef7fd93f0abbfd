"""Single rows: a few taken apart by what speaks for and against, and those worth a look."""

from collections.abc import Sequence

from parsimon.report.document import Block, Cell, Heading, Reference, Section, Table
from parsimon.report.findings import RowExplanation, RowFinding
from parsimon.report.row_findings import RowRole
from parsimon.report.sections._blocks import Sentence, paragraph
from parsimon.report.sections._phrases import (
    DASH,
    NARROW,
    clean,
    decimal,
    joined,
    number,
    percent,
    quoted,
    short,
    spelled,
)
from parsimon.report.sections._scope import Scope

_MOST_ROWS = 5
_ROLES: dict[RowRole, str] = {
    "typical": "typical",
    "borderline": "borderline",
    "highest": "predicted highest",
    "surprising": "most surprising",
}


def rows_explained(scope: Scope) -> Section | None:
    """Return the section about single rows; None if there is none to speak of."""
    found, checks = scope.study.explained, scope.study.checks
    if not scope.study.structure_found:
        return None
    blocks: list[Block] = []
    if found:
        blocks += [paragraph(*_introduction(scope, found)), _table(scope, found)]
    if checks.surprising:
        said = _surprising(scope, checks.surprising)
        blocks.append(paragraph(said, _influential(checks.influential)))
    if not blocks:
        return None
    title = "What speaks for and against, row by row" if found else "Rows worth a look"
    return Section(scope.anchor("rows"), title, tuple(blocks))


def _introduction(scope: Scope, found: Sequence[RowExplanation]) -> tuple[Sentence, ...]:
    what = f"{scope.target}, in its unit"
    if not scope.numeric:
        scale = f"0: even chances; 1: about 84{NARROW}%; 2: about 98{NARROW}%"
        what = f"the score of {scope.positive} ({scale})"
    return (
        "The model adds up what its columns say.",
        (
            Reference(scope.anchor("table-rows")),
            f" has the cells of {spelled(len(found), 'row')} and what each adds to {what}.",
        ),
    )


def _table(scope: Scope, found: Sequence[RowExplanation]) -> Table:
    keys = dict.fromkeys(
        tuple(name for name, _ in part.values) for one in found for part in one.parts
    )
    rows = [_part_row(found, key) for key in keys]
    average = tuple(_score(scope, one.level) for one in found)
    totals = tuple(
        _score(scope, one.level + sum(part.contribution for part in one.parts)) for one in found
    )
    return Table(
        anchor=scope.anchor("table-rows"),
        caption="What speaks for (+) and against (−).",
        headings=(Heading(""), *(Heading(_row_title(scope, one)) for one in found)),
        rows=(
            (Cell("the average row"), *map(Cell, average)),
            *rows,
            (Cell("in all"), *(Cell(total, strong=True) for total in totals)),
        ),
        emphasised=(0,),
    )


def _row_title(scope: Scope, one: RowExplanation) -> str:
    predicted = f"predicted {short(one.probability)}"
    if not scope.numeric:
        predicted = percent(one.probability)
    truth = clean(one.label) if scope.numeric else quoted(one.label)
    return f"Row {one.row:,}, {_ROLES[one.role]}: {truth}, {predicted}"


def _part_row(found: Sequence[RowExplanation], key: tuple[str, ...]) -> tuple[Cell, ...]:
    cells = [Cell(" with ".join(map(clean, key)))]
    for one in found:
        own = [part for part in one.parts if tuple(name for name, _ in part.values) == key]
        if not own:
            cells.append(Cell(DASH))
            continue
        values = ", ".join(clean(value) for _, value in own[0].values)
        added = own[0].contribution
        cells.append(Cell(f"{values}: {'+' if added >= 0 else ''}{_two(added)}", order=added))
    return tuple(cells)


def _two(value: float) -> str:
    return decimal(value, 2) if abs(value) < 10 else short(value)


def _score(scope: Scope, value: float) -> str:
    return short(value) if scope.numeric else decimal(value, 2)


def _surprising(scope: Scope, rows: Sequence[RowFinding]) -> str:
    """Return which rows the model expects least, with what it expects instead."""
    told = [
        f"{one.row:,} ({clean(one.label)}, predicted {number(one.probability)})"
        if scope.numeric
        else f"{one.row:,} ({quoted(one.label)}, {percent(one.probability)})"
        for one in rows[:_MOST_ROWS]
    ]
    many = len(told) > 1
    left = "" if scope.study.checks.source == "training rows" else ", without the row"
    what = "predicted without the row" if left else "predicted with the row"
    if not scope.numeric:
        what = f"percentages are the probability of {scope.positive}{left}"
    return (
        f"{'Rows' if many else 'Row'} {joined(told)} surprise{'' if many else 's'} the model most "
        f"({what}): slips of entry, or cases that the columns do not explain. Rows are counted "
        "from 1, below the header."
    )


def _influential(rows: Sequence[RowFinding]) -> str:
    if not rows:
        return ""
    which = joined([f"{one.row:,}" for one in rows[:_MOST_ROWS]])
    if len(rows) == 1:
        return f"The model leans most on row {which}."
    return f"The model leans most on rows {which}."
