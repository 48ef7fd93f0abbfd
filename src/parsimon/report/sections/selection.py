"""The report about a selection of columns, or about formulas of them: a front, and how good it is.

Read `OUTLINE` first: it names the parts.
"""

import math
from collections.abc import Iterator

from parsimon.report.document import Block, KeyFigure, Section
from parsimon.report.findings import ComparedModel
from parsimon.report.findings.column_findings import SelectionFindings
from parsimon.report.sections import _first_screen as screen
from parsimon.report.sections._blocks import Sentence, paragraph
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
from parsimon.report.sections._outline import Outline
from parsimon.report.sections._phrases import (
    clean,
    count,
    joined,
    named,
    percent,
    share_range,
    short,
)
from parsimon.report.sections._run import again, options, run_facts, software
from parsimon.report.sections._scope import figures
from parsimon.report.sections.table.families import models_section
from parsimon.report.sections.table.treatments import treatment_sentences

_KINDS = {"columns": "Every trade-off", "formulas": "Short formulas"}
_NAMES = {"columns": "few columns", "formulas": FORMULAS}


def _title(findings: SelectionFindings) -> str:
    """Return the report's title."""
    table = findings.table
    if findings.front.kind == "columns":
        return f"Which columns of {clean(table.name)} are needed to predict {clean(table.target)}"
    return f"A formula that predicts {clean(table.target)} in {clean(table.name)}"


def _facts(findings: SelectionFindings) -> tuple[tuple[str, str], ...]:
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


def _lead(findings: SelectionFindings) -> tuple[Block, ...]:
    """Return what comes before the first section."""
    front = findings.front
    return screen.first_screen(
        _answer(findings),
        (_honest(findings),),
        screen.shown_large(_key_figures(findings)),
        figures(findings, front.picture),
        screen.sure_and_unsure(
            _certainties(findings), (choice_parts(front),), tuple(_doubts(findings))
        ),
    )


def _answer(findings: SelectionFindings) -> str:
    """Return what is enough for a prediction, as far as new rows show it."""
    front, own, target = findings.front, _own(findings), clean(findings.table.target)
    chosen = front.chosen
    columns = front.kind == "columns"
    if not chosen.features or (own is not None and not any(_certainties(findings))):
        return f"No {'column' if columns else 'formula'} surely predicts {target}."
    searched = "" if own is not None else " in the search"
    if not columns:
        return f"A formula of {count(chosen.size, 'sign')} predicts {target}{searched}."
    verb = "predicts" if len(chosen.features) == 1 else "predict"
    few = f"{named(chosen.features)} {verb} {target}"
    if chosen.size == front.n_columns:
        return f"{few}{searched}: all columns are needed."
    if own is not None and not own.is_level:
        return f"{few}, but all {front.n_columns:,} columns predict it better."
    return f"{few} about as well as all {front.n_columns:,} columns{searched}."


def _certainties(findings: SelectionFindings) -> Iterator[str]:
    own, guess = _own(findings), _guessing(findings)
    if own is not None and guess is not None and guess.difference.low > own.difference.high:
        yield "New rows are predicted better than by guessing."


def _doubts(findings: SelectionFindings) -> Iterator[Sentence]:
    """Yield what keeps a reader careful, the gravest first."""
    own, sure = _own(findings), any(_certainties(findings))
    if own is not None and not sure:
        yield "That this is better than guessing is not proved."
    if own is not None and sure and not own.is_level:
        yield "A model of all columns surely predicts new rows better."
    if findings.stopped:
        yield "Time ended the search before it was through."
    if findings.front.kind == "columns":
        yield "Columns that are not chosen may matter too: others can stand for them."
    yield from treatment_sentences(findings.table.treatments)
    yield screen.NOT_A_CAUSE


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


def _honest(findings: SelectionFindings) -> str:
    """Return the honest error beside those of others, or that there is none."""
    if not (findings.n_outer or findings.run.too_few_rows):
        return "No honest error was measured."
    return honest_sentence(findings.comparison, _NAMES[findings.front.kind], findings.unit)


def _summary(findings: SelectionFindings) -> tuple[str, ...]:
    """Return the report in a few plain sentences."""
    front = findings.front
    stopped = "Time ended the search before it was through." if findings.stopped else ""
    lines = (tried_sentence(front), choice_sentence(front), _honest(findings), stopped)
    return tuple(line for line in lines if line)


def _sections(findings: SelectionFindings) -> Iterator[Section]:
    """Yield all sections in order."""
    front = findings.front
    columns = front.kind == "columns"
    yield Section(
        "front",
        "What each column buys" if columns else "What a longer formula buys",
        (
            paragraph(tried_sentence(front), choice_parts(front)),
            *front_blocks(findings, front, compared=findings.comparison is not None),
        ),
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


OUTLINE = Outline(
    title=_title,
    kind=lambda findings: _KINDS[findings.front.kind],
    lead=_lead,
    sections=_sections,
    summary=_summary,
    works=lambda _: ("Mierswa 2009",),
    facts=_facts,
)
