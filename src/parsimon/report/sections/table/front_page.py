"""What the table is and what was done to it, and the lines about the run."""

from parsimon.report.document import Block, Section
from parsimon.report.findings import Findings, TableFindings
from parsimon.report.sections._blocks import bullets, paragraph
from parsimon.report.sections._phrases import (
    clean,
    count,
    joined,
    percent,
    percent_cell,
    quoted,
    spelled,
)
from parsimon.report.sections._scope import Scope
from parsimon.report.sections.table.treatments import is_doubtful, treatment_sentences

_MOST_CLASSES = 12


def page_title(findings: Findings) -> str:
    """Return the report's title."""
    return f"What predicts {clean(findings.table.target)} in {clean(findings.table.name)}"


def the_table(scope: Scope) -> Section:
    """Return the section about the table: its size, and what was done to it."""
    table, reading = scope.findings.table, scope.findings.run.reading
    n = table.n_missing
    missing = f"{count(n, 'cell')} {'is' if n == 1 else 'are'} missing."
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
    said = [f"{quoted(label)} {n:,} ({percent_cell(n / total)})" for label, n in table.classes]
    return joined(said, _MOST_CLASSES)


def _size(table: TableFindings) -> str:
    size = (
        f"The table {clean(table.name)} has {count(table.n_rows, 'row')} and, beside "
        f"{clean(table.target)}, {count(table.n_columns - 1, 'column')}"
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
            f"The column {scope.target} has {spelled(len(table.classes), 'class', 'classes')}; for "
            f"each of them the question is what separates it from the others: {_classes(table)}."
        )
    study = scope.study
    return (
        f"In the column {scope.target}, {count(study.n_positive, 'row')} "
        f"({percent(study.n_positive / total)}) are {scope.positive} and {study.n_negative:,} "
        f"({percent(study.n_negative / total)}) {scope.negative}."
    )
