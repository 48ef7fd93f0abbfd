"""Single rows: a few taken apart by what speaks for and against, and those worth a look."""

import re
from collections.abc import Sequence
from dataclasses import replace

from parsimon.report.document import Block, Cell, Figure, Heading, Section, Table
from parsimon.report.findings import RowExplanation, RowFinding
from parsimon.report.findings.shared_findings import RowRole
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import Sentence, paragraph
from parsimon.report.sections.table.scope import Scope

_MOST_ROWS = 5
_ROLES: dict[RowRole, str] = {
    "typical": "typical",
    "borderline": "borderline",
    "highest": "predicted highest",
    "surprising": "surprising",
}


def rows_explained(scope: Scope) -> Section | None:
    """Return the section about single rows; None if there is none to speak of."""
    found, checks = scope.study.explained, scope.study.checks
    if scope.guesses:
        return None
    blocks: list[Block] = []
    if found:
        drawn = [_figure(scope, one) for one in found if scope.figures(one.picture)]
        blocks.append(paragraph(*_introduction(scope, found, drawn=bool(drawn))))
        blocks += drawn or [_table(scope, found)]
    if checks.surprising:
        blocks.append(paragraph(_surprising(scope, checks.surprising)))
    if checks.influential:
        which = say.joined([f"{row.row:,}" for row in checks.influential[:_MOST_ROWS]])
        many = "row" if len(checks.influential) == 1 else "rows"
        blocks.append(paragraph(f"The model leans most on {many} {which}."))
    if not blocks:
        return None
    title = "What speaks for and against, row by row" if found else "Rows worth a look"
    return Section(scope.anchor("rows"), title, tuple(blocks))


def rows_of_classes(scope: Scope) -> Section | None:
    """Return the section about single rows of more than two classes; None if there is none."""
    found = () if scope.findings.joint is None else scope.findings.joint.explained
    drawn = [_figure(scope, one) for one in found]
    if not drawn or scope.guesses:
        return None
    said = (
        "Bars to the right speak for the class that a row is called, to the left against; they add "
        f"up, from the {found[0].compared_with} row on."
    )
    title = "What speaks for and against, row by row"
    return Section(scope.anchor("rows"), title, (paragraph(said), *drawn))


def _introduction(
    scope: Scope, found: Sequence[RowExplanation], *, drawn: bool
) -> tuple[Sentence, ...]:
    n = say.spelled(len(found), "row")
    start = f"the {found[0].compared_with} row"
    if not drawn:
        what = f"{scope.target}, in its unit" if scope.numeric else f"the score of {scope.positive}"
        return (f"What the columns of {n} add to {what}, beginning with {start}.",)
    if scope.numeric:
        level = say.short(found[0].level)
        said = f"{start} has {level}; bars say what the cells of a row add to it"
        return (f"{say.opened(said)}, in the unit of {scope.target}.",)
    rare = (
        f"{say.opened(scope.positive)} is rare: a row is suspected from {say.percent(scope.share)} "
        "on, its share among all."
    )
    return (
        f"Bars to the right speak for {scope.positive}, to the left against; they add up, from "
        f"{start} on, and with a sum below zero {scope.positive} is the less probable.",
        *((rare,) if scope.rare and scope.positive_is_rare else ()),
    )


def _figure(scope: Scope, one: RowExplanation) -> Figure:
    (figure,) = scope.figures(one.picture)
    said = replace(figure.picture, caption=f"{_row_title(scope, one)}.")
    return replace(figure, picture=said)


def _table(scope: Scope, found: Sequence[RowExplanation]) -> Table:
    keys = dict.fromkeys(
        tuple(name for name, _ in part.values) for one in found for part in one.parts
    )
    rows = [_part_row(found, key) for key in keys]
    sums = [one.level + sum(part.contribution for part in one.parts) for one in found]

    def score(value: float) -> str:
        return say.short(value) if scope.numeric else say.decimal(value, 2)

    return Table(
        anchor=scope.anchor("table-rows"),
        caption="What speaks for (+) and against (−).",
        headings=(Heading(""), *(Heading(_row_title(scope, one)) for one in found)),
        rows=(
            (Cell(f"the {found[0].compared_with} row"), *(Cell(score(one.level)) for one in found)),
            *rows,
            (Cell("in all"), *(Cell(score(total), strong=True) for total in sums)),
        ),
        emphasised=(0,),
    )


def _row_title(scope: Scope, one: RowExplanation) -> str:
    predicted = f"predicted {say.short(one.probability)}"
    if not scope.numeric:
        predicted = say.percent(one.probability)
    truth = f"truly {say.quoted(one.label)}"
    if scope.numeric:
        truth = f"{_grouped(say.clean(one.label))} in truth"
    if one.called:
        predicted = f"called {say.quoted(one.called)}, with {predicted}"
    elif not scope.numeric:
        predicted = f"{predicted} predicted for {scope.positive}"
    role = _ROLES[one.role]
    if one.role == "typical" and not scope.numeric:
        # Such a row has its class's usual probability; the typical row of all is another.
        role = "rightly called" if one.probability >= 0.5 else "rightly suspected"
    return f"Row {one.row:,}, {role}: {truth}, {predicted}"


def _grouped(number: str) -> str:
    """Return a number with commas between its thousands, all digits kept."""
    whole, point, rest = number.partition(".")
    return f"{int(whole):,}{point}{rest}" if re.fullmatch(r"\d{4,}", whole) else number


def _part_row(found: Sequence[RowExplanation], key: tuple[str, ...]) -> tuple[Cell, ...]:
    cells = [Cell(" with ".join(map(say.clean, key)))]
    for one in found:
        own = [part for part in one.parts if tuple(name for name, _ in part.values) == key]
        if not own:
            cells.append(Cell(say.DASH))
            continue
        values = ", ".join(say.clean(value) for _, value in own[0].values)
        added = own[0].contribution
        size = say.decimal(added, 2) if abs(added) < 10 else say.short(added)
        cells.append(Cell(f"{values}: {'+' if added >= 0 else ''}{size}", order=added))
    return tuple(cells)


def _surprising(scope: Scope, rows: Sequence[RowFinding]) -> str:
    """Return which rows the model expects least."""
    which = [f"{row.row:,}" for row in rows[:_MOST_ROWS]]
    seen = scope.study.checks.source == "training rows"
    return say.inflect(
        "[Row|Rows] {which}{left} [surprises|surprise] the model most: slips of entry, or cases "
        "that the columns do not explain. Rows are counted from 1, below the header.",
        len(which),
        which=say.joined(which),
        left="" if seen else f", predicted without {'it' if len(which) == 1 else 'them'},",
    )
