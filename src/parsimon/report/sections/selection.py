"""The report about a selection of columns, or about formulas of them: a front, and how good it is.

Its parts are those of an outline, as `parsimon.report.sections` asks for them.
"""

import math
from collections.abc import Iterator

from parsimon.report.document import Block, KeyFigure, KeyFigures, Section
from parsimon.report.findings import ComparedModel
from parsimon.report.sections._blocks import bullets, paragraph
from parsimon.report.sections._features import (
    FORMULAS,
    choice_parts,
    choice_sentence,
    feature_blocks,
    front_blocks,
    honest_sentence,
    sets_apart,
    tried_sentence,
)
from parsimon.report.sections._phrases import clean, count, joined, percent, share_range, short
from parsimon.report.sections._run import again, options, run_facts, software
from parsimon.report.sections.table.families import models_section
from parsimon.report.sections.table.treatments import treatment_sentences
from parsimon.report.selection_findings import SelectionFindings

__all__ = ["facts", "lead", "references", "sections", "subtitle", "summary_lines", "title"]

_NAMES = {"columns": "few columns", "formulas": FORMULAS}


def title(findings: SelectionFindings) -> str:
    """Return the report's title."""
    table = findings.table
    if findings.front.kind == "columns":
        return f"Which columns of {clean(table.name)} are needed to tell {clean(table.target)}"
    return f"A formula that tells {clean(table.target)} from the columns of {clean(table.name)}"


def subtitle(findings: SelectionFindings) -> str:
    """Return the line below the title."""
    run = findings.run
    what = "Every trade-off" if findings.front.kind == "columns" else "Short formulas"
    return f"{what}: a report written by Parsimon {run.version} on {run.date}"


def facts(findings: SelectionFindings) -> tuple[tuple[str, str], ...]:
    """Return the lines of the front page: what is said, and its value."""
    table = findings.table
    lines = [
        ("Rows", f"{table.n_rows_used:,}"),
        ("Columns", f"{table.n_columns - 1:,}"),
        ("Target", clean(table.target)),
    ]
    if findings.fixed:
        lines.append(("Fixed", ", ".join(map(clean, findings.fixed))))
    return (*lines, *run_facts(findings.run))


def lead(findings: SelectionFindings) -> tuple[Block, ...]:
    """Return what comes before the first section."""
    done = treatment_sentences(findings.table.treatments)
    tried, _, *others = summary_lines(findings)
    return (
        KeyFigures(tuple(_key_figures(findings))),
        paragraph(tried, choice_parts(findings.front), *others),
        *((bullets(*done),) if done else ()),
    )


def _key_figures(findings: SelectionFindings) -> Iterator[KeyFigure]:
    front = findings.front
    if front.kind == "columns":
        yield KeyFigure(f"{front.chosen.size:,}", "columns chosen", f"of {front.n_columns:,}")
    else:
        yield KeyFigure(f"{front.chosen.size:,}", "signs in the formula", "numbers and names too")
    own = _own(findings)
    if own is None:
        return
    if findings.table.task == "regression":
        off = findings.unit * math.sqrt(max(0.0, own.error.estimate))
        yield KeyFigure(short(off), "typical miss on new rows", f"guessing {short(findings.unit)}")
        share = percent(max(0.0, 1 - own.error.estimate))
        yield KeyFigure(share, "of the variance explained", "on new rows")
        return
    yield KeyFigure(percent(own.error.estimate), "wrong on new rows", share_range(own.error))
    guess = _guessing(findings)
    if guess is not None:
        yield KeyFigure(percent(guess.error.estimate), "wrong by guessing", "the commonest class")


def _own(findings: SelectionFindings) -> ComparedModel | None:
    models = () if findings.comparison is None else findings.comparison.models
    return next((one for one in models if one.name == _NAMES[findings.front.kind]), None)


def _guessing(findings: SelectionFindings) -> ComparedModel | None:
    models = () if findings.comparison is None else findings.comparison.models
    return next((one for one in models if one.family == "guessing"), None)


def summary_lines(findings: SelectionFindings) -> tuple[str, ...]:
    """Return the report in a few plain sentences."""
    front = findings.front
    honest = (
        honest_sentence(findings.comparison, _NAMES[front.kind], findings.unit)
        if findings.n_outer or findings.run.too_few_rows
        else "No honest error was measured."
    )
    stopped = "Time ended the search before it was through." if findings.stopped else ""
    lines = (tried_sentence(front), choice_sentence(front), honest, stopped)
    return tuple(line for line in lines if line)


def sections(findings: SelectionFindings) -> Iterator[Section]:
    """Yield all sections in order."""
    front = findings.front
    columns = front.kind == "columns"
    yield Section(
        "front",
        "What each column buys" if columns else "What a longer formula buys",
        tuple(front_blocks(findings, front, compared=findings.comparison is not None)),
    )
    if not columns:
        yield Section("features", "What it is made of", tuple(feature_blocks(findings, front)))
    if findings.comparison is not None:
        yield models_section(findings, findings.comparison, (), findings.unit)
    yield _methods(findings)


def _methods(findings: SelectionFindings) -> Section:
    front, table = findings.front, findings.table
    rows = f"{front.n_rows:,} of {count(table.n_rows_used, 'row')}"
    if front.kind == "columns":
        learner = "ridge regression" if table.task == "regression" else "logistic regression"
        fixed = [clean(one) for one in findings.fixed]
        always = f" {joined(fixed)} {'is' if len(fixed) == 1 else 'are'} in all." if fixed else ""
        how = (
            f"Subsets of columns were compared by {learner} on standardised columns, "
            f"cross-validated on the same folds of {rows} (Mierswa 2009)"
            f"{'; the others were set apart' if sets_apart(front) else ''}.{always}"
        )
    else:
        chosen_by = (
            "The rows are too few to set some apart to choose by."
            if math.isnan(front.chosen.outside)
            else "A quarter of the rows was set apart to choose by; the numbers of the chosen "
            "formula are then fitted to all rows."
        )
        how = (
            "Formulas were first taken from least squares in a library of products of powers and "
            "functions, then changed and mixed in a search for the front of error, number of "
            f"features and length (YAGGA2, Mierswa 2009). {chosen_by}"
        )
    return Section(
        "methods",
        "How this was found",
        (
            paragraph(
                how,
                "Honest errors come from outer folds, in each of which the table was prepared and "
                "the whole search run again without the rows that it was tested on."
                if findings.n_outer
                else "",
            ),
            paragraph(options(findings.run), software(findings.run)),
            *again(findings.run),
        ),
        folded=True,
    )


def references(findings: SelectionFindings) -> tuple[tuple[str, str], ...]:
    """Return the works that this report cites, short and in full."""
    del findings
    return (
        (
            "Mierswa 2009",
            "Mierswa, I. (2009). Non-Convex and Multi-Objective Optimization in Data Mining. "
            "Dissertation, TU Dortmund.",
        ),
    )
