"""The report about a table: which sections it has, and the same in a few sentences.

`title`, `subtitle`, `facts`, `lead`, `sections`, `references` and `summary_lines` are the parts of
an outline, as `parsimon.report.sections` asks for them.
"""

import math
from collections.abc import Iterator

from parsimon.report.document import Section
from parsimon.report.findings import Findings
from parsimon.report.sections._phrases import clean, count, percent, quoted
from parsimon.report.sections._scope import Scope, why_no_outer_folds, words_of
from parsimon.report.sections.table.checking import (
    calibration_sentences,
    coverage_sentence,
    how_to_use,
    model_checking,
)
from parsimon.report.sections.table.front_page import facts, lead, subtitle, title
from parsimon.report.sections.table.methods import methods, references
from parsimon.report.sections.table.model_tables import ranked
from parsimon.report.sections.table.stability import stability, used_sentences
from parsimon.report.sections.table.structure import (
    additive_components,
    individual_variables,
    interactions,
)
from parsimon.report.sections.table.summary import (
    all_classes,
    honest_sentences,
    joint_sentences,
    knee_sentence,
    summary,
)

__all__ = ["facts", "lead", "references", "sections", "subtitle", "summary_lines", "title"]

_MOST_LINES = 10
_MOST_CLASSES = 4


def sections(findings: Findings) -> Iterator[Section]:
    """Yield all sections: those of each question, how to use the model, and the methods."""
    scopes = tuple(Scope(findings=findings, place=k) for k in range(len(findings.studies)))
    if len(scopes) == 1:
        yield from _study(scopes[0])
    else:
        yield all_classes(scopes)
        yield from map(_class, scopes)
    yield how_to_use(scopes)
    yield methods(scopes)


def _study(scope: Scope) -> Iterator[Section]:
    """Yield the sections about one question."""
    yield summary(scope)
    if scope.study.variables:
        yield individual_variables(scope)
    if scope.study.structure_found:
        if scope.study.components:
            yield additive_components(scope)
        yield interactions(scope)
    yield model_checking(scope)
    yield stability(scope)


def _class(scope: Scope) -> Section:
    """Return one class against the rest as a section of its own."""
    title = f"{scope.positive} against all others"
    return Section(scope.anchor("class"), title, (), tuple(_study(scope)))


def summary_lines(findings: Findings) -> tuple[str, ...]:
    """Return the report in five to ten plain sentences."""
    scopes = tuple(Scope(findings=findings, place=k) for k in range(len(findings.studies)))
    lines = [_table(findings)]
    lines += _several(scopes) if len(scopes) > 1 else _one(scopes[0])
    lines.append(_end(findings))
    return tuple(line for line in lines if line)[:_MOST_LINES]


def _table(findings: Findings) -> str:
    table = findings.table
    rows = f"{table.n_rows_used:,} of {count(table.n_rows, 'row')}"
    if table.n_rows_used == table.n_rows:
        rows = count(table.n_rows, "row")
    target = f"target {clean(table.target)}"
    if table.classes:
        shown = table.classes[:_MOST_CLASSES]
        target += ": " + ", ".join(f"{quoted(label)} {n:,}" for label, n in shown)
        target += ", …" if len(table.classes) > len(shown) else ""
    return f"{clean(table.name)}: {rows}, {count(len(table.variables), 'variable')}, {target}."


def _one(scope: Scope) -> list[str]:
    study = scope.study
    return [
        _structure(scope),
        *_measured(scope),
        _ranked(scope),
        knee_sentence(scope),
        _trust(scope),
        *(used_sentences(study.honest)[:1] if study.honest is not None else ()),
    ]


def _structure(scope: Scope) -> str:
    study = scope.study
    if study.structure_found:
        return f"Best structure: {words_of(study.model)}."
    tried = count(study.search.n_candidates, study.search.noun)
    return f"No structure was found: none of {tried} beats a constant by more than chance."


def _measured(scope: Scope) -> list[str]:
    honest = scope.study.honest
    if honest is not None:
        error, believed, plain, gain = honest_sentences(scope, honest)
        return [f"{error} {believed}".strip(), plain, gain]
    own, baseline = scope.study.model.error, scope.study.baseline.error
    known = scope.study.structure_found and not math.isnan(own)
    only = "" if not known else f"; the search's own {percent(own)} is optimistic"
    return [
        f"No honest error was measured{_why(scope)}{only}.",
        ""
        if math.isnan(baseline)
        else f"The baseline, a constant, has an error of {percent(baseline)}.",
    ]


def _ranked(scope: Scope) -> str:
    found = [one for one in ranked(scope) if not math.isnan(one.model.error)]
    if not found:
        return ""
    names = [f"{clean(one.variable.name)} {percent(one.model.error)}" for one in found[:3]]
    more = len(found) - len(names)
    rest = f" ({more:,} more in the report)" if more else ""
    return f"Error of single variables on the search's own folds: {', '.join(names)}{rest}."


def _trust(scope: Scope) -> str:
    checks = scope.study.checks
    if scope.numeric:
        return "" if checks.coverage is None else coverage_sentence(checks.coverage)
    return "" if checks.calibration_slope is None else calibration_sentences(scope)[0]


def _several(scopes: tuple[Scope, ...]) -> list[str]:
    joint = scopes[0].findings.joint
    lines: list[str] = []
    if joint is not None:
        lines += joint_sentences(joint)[:3]
    else:
        lines.append("No honest error was measured for all classes together.")
    for one in scopes[:_MOST_CLASSES]:
        words = words_of(one.study.model) if one.study.structure_found else "no structure found"
        honest = one.study.honest
        error = "" if honest is None else f", honest error {percent(honest.error.estimate)}"
        lines.append(f"{one.positive} against all others: {words}{error}.")
    more = len(scopes) - _MOST_CLASSES
    return [
        *lines,
        f"The report has {count(more, 'further class', 'further classes')}." if more > 0 else "",
    ]


def _why(scope: Scope) -> str:
    few = scope.findings.run.too_few_rows
    return f", because {why_no_outer_folds(scope)}" if few else ""


def _end(findings: Findings) -> str:
    left_out = findings.run.skipped
    return f"Left out to save time: {', '.join(map(clean, left_out))}." if left_out else ""
