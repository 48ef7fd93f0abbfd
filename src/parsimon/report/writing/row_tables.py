"""Rows worth a look: those that the model did not expect, and those that it leans on."""

from collections.abc import Sequence

from parsimon.report.document import Block, Cell, Heading, Reference, Section, Table
from parsimon.report.findings import RowFinding
from parsimon.report.writing.blocks import Sentence, number_cell, paragraph
from parsimon.report.writing.phrases import (
    DASH,
    clean,
    count,
    decimal,
    number,
    percent,
    percent_cell,
    quoted,
)
from parsimon.report.writing.scope import Scope

_MOST_VALUES = 6


def rows_worth_a_look(scope: Scope) -> Section | None:
    """Return the section about surprising and influential rows; None if there are none."""
    checks = scope.study.checks
    blocks: list[Block] = []
    if checks.surprising:
        blocks += [paragraph(*_surprising(scope, checks.surprising)), _surprise_table(scope)]
    if checks.influential:
        blocks += [paragraph(*_influential(scope, checks.influential)), _influence_table(scope)]
    if not blocks:
        return None
    return Section(scope.anchor("rows"), "Rows worth a look", tuple(blocks))


def _whose(scope: Scope) -> str:
    if scope.study.checks.source == "training rows":
        return "the model that was fitted to them"
    return "the final model with that row left out"


def _surprising(scope: Scope, rows: Sequence[RowFinding]) -> tuple[Sentence, ...]:
    first = rows[0]
    if scope.numeric:
        said = (
            f"The table has {clean(first.label)} in row {first.row:,}, where {_whose(scope)} "
            f"predicts {number(first.probability)}: {decimal(first.score, 1)} standard deviations "
            "off, the farthest of all rows."
        )
    else:
        said = (
            f"Row {first.row:,} is the most surprising: the table says {quoted(first.label)}, and "
            f"{_whose(scope)} gives {scope.positive} a probability of {percent(first.probability)}."
        )
    return (
        said,
        "Such rows may be slips of entry, or cases that the variables do not explain.",
        (
            Reference(scope.anchor("table-surprising")),
            f" lists {count(len(rows), 'row')}; rows are counted from 1, below the header."
            if len(rows) > 1
            else " has its values; rows are counted from 1, below the header.",
        ),
    )


def _influential(scope: Scope, rows: Sequence[RowFinding]) -> tuple[Sentence, ...]:
    which = "the row" if len(rows) == 1 else "the rows"
    without = "it" if len(rows) == 1 else "one of them"
    return (
        (
            f"The fit leans most on {which} in ",
            Reference(scope.anchor("table-influential")),
            f": without {without} the fitted function would change more than without any row that "
            "is not listed.",
        ),
        f"If {without} is wrong, mend it and run the report again.",
    )


def _surprise_table(scope: Scope) -> Table:
    score = Heading("Surprise", numeric=True, help="Bits: minus the log2 probability of the label.")
    if scope.numeric:
        score = Heading("Off by", numeric=True, help="Standard deviations of the prediction.")
    return _table(
        scope,
        "table-surprising",
        "The rows that the model expected least.",
        scope.study.checks.surprising,
        score,
    )


def _influence_table(scope: Scope) -> Table:
    return _table(
        scope,
        "table-influential",
        "The rows that the model leans on most.",
        scope.study.checks.influential,
        Heading(
            "Influence",
            numeric=True,
            help="Root mean square change of the fitted function if the row is taken out.",
        ),
    )


def _table(
    scope: Scope, anchor: str, caption: str, rows: Sequence[RowFinding], score: Heading
) -> Table:
    names = list(dict.fromkeys(name for row in rows for name, _ in row.values))
    shown = names[:_MOST_VALUES]
    predicted = Heading("Predicted", numeric=True)
    if not scope.numeric:
        predicted = Heading(
            "Probability", numeric=True, help=f"Of {scope.positive}, as the model sees it."
        )
    note = ""
    if len(names) > len(shown):
        note = f"{count(len(names) - len(shown), 'further variable')} of the model not shown."
    return Table(
        anchor=scope.anchor(anchor),
        caption=caption,
        headings=(
            Heading("Row", numeric=True),
            Heading(scope.target),
            predicted,
            score,
            *(Heading(clean(name)) for name in shown),
        ),
        rows=tuple(_row(scope, row, shown) for row in rows),
        note=note,
    )


def _row(scope: Scope, row: RowFinding, names: Sequence[str]) -> tuple[Cell, ...]:
    values = dict(row.values)
    predicted = number(row.probability) if scope.numeric else percent_cell(row.probability)
    return (
        Cell(str(row.row), order=float(row.row)),
        Cell(clean(row.label)),
        Cell(predicted, order=row.probability),
        number_cell(row.score),
        *(Cell(clean(values[name]) if name in values else DASH) for name in names),
    )
