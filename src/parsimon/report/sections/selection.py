"""The report about a selection of columns, or about formulas of them: a front, and how good it is.

Read `OUTLINE` first: it names the parts.
"""

import math
from collections.abc import Iterator

from parsimon.report.document import Block, KeyFigure, Section
from parsimon.report.findings import ComparedModel
from parsimon.report.findings.column_findings import SelectionFindings
from parsimon.report.sections import _page as page
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import Sentence, figures, paragraph, target_of
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
from parsimon.report.sections._models import miss, models_section
from parsimon.report.sections.table.treatments import treatment_sentences

_KINDS = {"columns": "Every trade-off", "formulas": "Short formulas"}
_NAMES = {"columns": "few columns", "formulas": FORMULAS}


def _title(findings: SelectionFindings) -> str:
    table, target = say.clean(findings.table.name), target_of(findings)
    if findings.front.kind == "columns":
        return f"Which columns of {table} are needed to predict {target}"
    return f"A formula that predicts {target} in {table}"


def _facts(findings: SelectionFindings) -> list[tuple[str, str]]:
    table = findings.table
    lines = [
        ("Rows", f"{table.n_rows_used:,}"),
        ("Columns", f"{table.n_columns - 1:,}"),
        ("Target", say.clean(table.target)),
    ]
    fixed = ", ".join(map(say.clean, findings.fixed))
    return [*lines, ("Fixed", fixed)] if fixed else lines


def _lead(findings: SelectionFindings) -> tuple[Block, ...]:
    return page.first_screen(
        _answer(findings),
        (_honest(findings),),
        _key_figures(findings),
        figures(findings, findings.front.picture),
        page.sure_and_unsure(
            ("New rows are predicted better than by guessing.",) if _is_sure(findings) else (),
            (choice_parts(findings.front),),
            _doubts(findings),
        ),
    )


def _answer(findings: SelectionFindings) -> str:
    """Return what is enough for a prediction, as far as new rows show it."""
    front, own, target = findings.front, _own(findings), target_of(findings)
    chosen = front.chosen
    columns = front.kind == "columns"
    if not chosen.features or (own is not None and not _is_sure(findings)):
        return f"No {'column' if columns else 'formula'} surely predicts {target}."
    searched = "" if own is not None else " in the search"
    if not columns:
        return f"A formula of {say.count(chosen.size, 'sign')} predicts {target}{searched}."
    verb = "predicts" if len(chosen.features) == 1 else "predict"
    few = f"{say.named(chosen.features)} {verb} {target}"
    if chosen.size == front.n_columns:
        return f"{few}{searched}: all columns are needed."
    if own is not None and not own.is_level:
        return f"{few}, but all {front.n_columns:,} columns predict it better."
    return f"{few} about as well as all {front.n_columns:,} columns{searched}."


def _is_sure(findings: SelectionFindings) -> bool:
    """Return whether new rows are surely predicted better than by guessing."""
    own, guess = _own(findings), _guessing(findings)
    if own is None or guess is None:
        return False
    return guess.difference.low > own.difference.high


def _doubts(findings: SelectionFindings) -> Iterator[Sentence]:
    """Yield what keeps a reader careful, the gravest first."""
    own = _own(findings)
    if own is not None and not _is_sure(findings):
        yield "That this is better than guessing is not proved."
    elif own is not None and not own.is_level:
        yield "A model of all columns surely predicts new rows better."
    if findings.stopped:
        yield page.TIME_ENDED
    if findings.front.kind == "columns":
        yield "Columns that are not chosen may matter too: others can stand for them."
    yield from treatment_sentences(findings.table.treatments)
    yield page.NOT_A_CAUSE


def _key_figures(findings: SelectionFindings) -> Iterator[KeyFigure]:
    front, own, guess = findings.front, _own(findings), _guessing(findings)
    label, detail = "signs in the formula", "numbers and names too"
    if front.kind == "columns":
        label, detail = "columns chosen", f"of {front.n_columns:,}"
    yield KeyFigure(f"{front.chosen.size:,}", label, detail)
    if own is None:
        return
    error = own.error.estimate
    if findings.table.task == "regression":
        off = miss(own, findings.unit)
        yield KeyFigure(off, "typical miss on new rows", f"guessing {say.short(findings.unit)}")
        share = say.percent(max(0.0, 1 - error))
        yield KeyFigure(share, "of the variance explained", "on new rows")
        return
    yield KeyFigure(say.percent(error), "wrong on new rows", say.share_range(own.error))
    if guess is not None:
        yield KeyFigure(
            say.percent(guess.error.estimate), "wrong by guessing", "the commonest class"
        )


def _own(findings: SelectionFindings) -> ComparedModel | None:
    models = () if findings.comparison is None else findings.comparison.models
    return next((model for model in models if model.name == _NAMES[findings.front.kind]), None)


def _guessing(findings: SelectionFindings) -> ComparedModel | None:
    found = findings.comparison
    return None if found is None else found.of_family("guessing")


def _honest(findings: SelectionFindings) -> str:
    """Return the honest error beside those of others, or that there is none."""
    if not (findings.n_outer or findings.run.too_few_rows):
        return "No honest error was measured."
    return honest_sentence(findings.comparison, _NAMES[findings.front.kind], findings.unit)


def _summary(findings: SelectionFindings) -> tuple[str, ...]:
    front = findings.front
    stopped = page.TIME_ENDED if findings.stopped else ""
    lines = (tried_sentence(front), choice_sentence(front), _honest(findings), stopped)
    return tuple(filter(None, lines))


def _sections(findings: SelectionFindings) -> Iterator[Section]:
    front, found = findings.front, findings.comparison
    columns = front.kind == "columns"
    yield Section(
        "front",
        "What each column buys" if columns else "What a longer formula buys",
        (
            paragraph(tried_sentence(front), choice_parts(front)),
            *front_blocks(findings, front, compared=found is not None),
        ),
    )
    if not columns:
        yield Section("features", "What it is made of", tuple(feature_blocks(findings, front)))
    if found is not None:
        yield models_section(findings, found, (), findings.unit)
    honest = ""
    if findings.n_outer:
        honest = (
            "Honest errors come from outer folds, in each of which the table was prepared and "
            "the whole search run again without the rows that it was tested on."
        )
    yield page.how_found(findings.run, paragraph(_method(findings), honest))


def _method(findings: SelectionFindings) -> str:
    front, table = findings.front, findings.table
    if front.kind == "columns":
        learner = "ridge regression" if table.task == "regression" else "logistic regression"
        fixed = [say.clean(name) for name in findings.fixed]
        always = (
            f" {say.joined(fixed)} {'is' if len(fixed) == 1 else 'are'} in all." if fixed else ""
        )
        return (
            f"Subsets of columns were compared by {learner} on standardised columns, "
            f"cross-validated on the same folds of {front.n_rows:,} of "
            f"{say.count(table.n_rows_used, 'row')} (Mierswa 2009)"
            f"{'; the others were set apart' if sets_apart(front) else ''}.{always}"
        )
    chosen_by = (
        "The rows are too few to set some apart to choose by."
        if math.isnan(front.chosen.outside)
        else "A quarter of the rows was set apart to choose by; the numbers of the chosen "
        "formula are then fitted to all rows."
    )
    return (
        "Formulas were first taken from least squares in a library of products of powers and "
        "functions, then changed and mixed in a search for the front of error, number of "
        f"features and length (YAGGA2, Mierswa 2009). {chosen_by}"
    )


OUTLINE = page.Outline(
    title=_title,
    kind=lambda findings: _KINDS[findings.front.kind],
    lead=_lead,
    sections=_sections,
    summary=_summary,
    works=lambda _: ("Mierswa 2009",),
    facts=_facts,
)
