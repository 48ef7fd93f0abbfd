"""The front page: what the table is, what was done to it, and how to get the report again."""

from parsimon.report.document import Block, Code, Strong
from parsimon.report.findings import Findings, Run, TableFindings
from parsimon.report.writing.blocks import bullets, paragraph
from parsimon.report.writing.phrases import (
    clean,
    count,
    duration,
    joined,
    named,
    opened,
    percent,
    percent_cell,
    quoted,
    spelled,
)
from parsimon.report.writing.scope import Scope
from parsimon.report.writing.treatments import treatment_sentences

_MOST_CLASSES = 12
_MOST_VARIABLES = 12
_FINGERPRINT = 16


def title(findings: Findings) -> str:
    """Return the report's title."""
    return f"What predicts {clean(findings.table.target)} in {clean(findings.table.name)}"


def subtitle(findings: Findings) -> str:
    """Return the line below the title."""
    run = findings.run
    return f"A report written by Parsimon {run.version} on {run.date}"


def facts(findings: Findings) -> tuple[tuple[str, str], ...]:
    """Return the lines of the front page: what is said, and its value."""
    table = findings.table
    lines = [
        ("Rows", _rows(table)),
        ("Columns", f"{table.n_columns:,}, of which one is predicted"),
        ("Variables", f"{len(table.variables):,}"),
        ("Target", _target(table)),
    ]
    if table.classes:
        lines.append(("Classes", _classes(table)))
    lines.append(("Missing cells", f"{table.n_missing:,}"))
    return (*lines, *run_facts(findings.run))


def run_facts(run: Run) -> tuple[tuple[str, str], ...]:
    """Return how the findings came about, for the lines of a front page."""
    lines = [
        ("Seed", str(run.seed)),
        ("Version", f"Parsimon {run.version}"),
        ("Date", run.date),
        ("Time taken", duration(run.seconds)),
    ]
    if run.command:
        lines.append(("Command", run.command))
    lines.append(("Fingerprint", f"SHA-256 {run.fingerprint[:_FINGERPRINT]}…"))
    return tuple(lines)


def lead(findings: Findings) -> tuple[Block, ...]:
    """Return what comes before the first section."""
    scope = Scope(findings=findings)
    table = findings.table
    done = treatment_sentences(table.treatments)
    blocks: list[Block] = [
        paragraph(_size(table), _question(scope), _inputs(table)),
        *_treated(table, done),
        *scope.figures(table.picture),
    ]
    return tuple(blocks)


def _rows(table: TableFindings) -> str:
    if table.n_rows_used == table.n_rows:
        return f"{table.n_rows:,}"
    return f"{table.n_rows_used:,} used of {table.n_rows:,}"


def _target(table: TableFindings) -> str:
    kind = "a number"
    if table.task == "classification":
        kind = spelled(len(table.classes), "class", "classes")
    return f"{clean(table.target)} ({kind})"


def _classes(table: TableFindings) -> str:
    total = sum(n for _, n in table.classes) or 1
    said = [f"{quoted(label)} {n:,} ({percent_cell(n / total)})" for label, n in table.classes]
    return joined(said, _MOST_CLASSES)


def _size(table: TableFindings) -> str:
    size = (
        f"The table {clean(table.name)} has {count(table.n_rows, 'row')} and "
        f"{count(table.n_columns, 'column')}"
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
            "each of them the question is what tells it from the others."
        )
    study = scope.study
    return (
        f"The question is what tells {scope.positive} ({count(study.n_positive, 'row')}, "
        f"{percent(study.n_positive / total)}) from {scope.negative} "
        f"({count(study.n_negative, 'row')}, {percent(study.n_negative / total)}) in the column "
        f"{scope.target}."
    )


def _inputs(table: TableFindings) -> str:
    names = [one.name for one in table.variables]
    if not names:
        return ""
    many = opened(spelled(len(names), "variable"))
    return f"{many} may be used for it: {named(names, _MOST_VARIABLES)}."


def _treated(table: TableFindings, done: tuple[str, ...]) -> tuple[Block, ...]:
    n = table.n_missing
    missing = (
        f"{count(n, 'cell')} {'is' if n == 1 else 'are'} missing." if n else "No cell is missing."
    )
    if done:
        return (paragraph((Strong("What was done to the table."), f" {missing}")), bullets(*done))
    return (paragraph(missing, "" if n else "Nothing had to be done to the table."),)


def again(findings: Findings) -> tuple[Block, ...]:
    """Return how to make the same report."""
    run = findings.run
    if not run.command:
        return ()
    return (
        paragraph(
            ("The same table, seed and version give the same report: ", Code(run.command), "."),
            f"The cells of the table have the SHA-256 fingerprint {run.fingerprint}.",
        ),
    )
