"""Smaller and larger models: what each further term buys, and a longer formula."""

import math
from collections.abc import Iterator, Sequence

from parsimon.report.document import Block, Explorer, Section
from parsimon.report.findings import Findings, ModelFinding
from parsimon.report.sections._blocks import paragraph
from parsimon.report.sections._features import formula_section
from parsimon.report.sections._phrases import amount, opened
from parsimon.report.sections._scope import Scope, words_of
from parsimon.report.sections.table.claims import beats_guessing
from parsimon.report.sections.table.families import guess_miss


def trade_off(scope: Scope) -> Section:
    """Return the section about the front of errors and sizes."""
    figures = scope.figures(scope.study.front_picture)
    blocks: tuple[Block, ...] = (
        paragraph(_steps(scope), knee_sentence(scope)),
        Explorer(scope.place, figures[0] if figures else None),
    )
    return Section(scope.anchor("trade-off"), "Smaller and larger models", blocks, folded=True)


def formulas(findings: Findings) -> Iterator[Section]:
    """Yield the section about formulas of a few columns; nothing if none were searched."""
    if findings.formulas is not None:
        unit = guess_miss(findings)
        yield formula_section(findings, findings.formulas, findings.comparison, unit)


def _steps(scope: Scope) -> str:
    """Say how the error falls with the size of the model."""
    baseline, front = scope.study.baseline.error, scope.study.front
    if math.isnan(baseline):
        return "The sizes of models were not compared: none was cross-validated here."
    if not _falling(front, baseline):
        guessing = "" if scope.numeric else f" than guessing, which {scope.does(baseline)}"
        return f"No model of any size does better{guessing}, on the folds of the search."
    said = f"What each further {scope.unit} buys on the folds of the search, too good to be quoted."
    if not scope.claimed and not beats_guessing(scope):
        return f"{said} {opened(scope.rows_seen)} do not show that this is more than chance."
    if scope.rare:
        return f"{said} With so rare a class this says little."
    return said


def _falling(front: Sequence[ModelFinding], baseline: float) -> list[ModelFinding]:
    """Return the models of a front that are better than guessing and no worse than smaller ones."""
    kept: list[ModelFinding] = []
    for one in front:
        least = kept[-1].error if kept else baseline
        if one.size and one.error <= least and one.error < baseline:
            kept.append(one)
    return kept


def knee_sentence(scope: Scope) -> str:
    """Return where further terms begin to buy little; empty if there is no such place."""
    study = scope.study
    if not study.structure_found or not 0 <= study.knee < len(study.front):
        return ""
    knee, chosen = study.front[study.knee], study.model
    if math.isnan(knee.error):
        return ""
    if study.knee == study.chosen:
        return "Larger models than the one drawn here buy less."
    if knee.size > chosen.size:
        return (
            f"Up to {amount(knee.size, scope.unit)} the error still falls, but "
            f"{scope.rows_seen} do not show that more matters."
        )
    if study.knee == 0:
        return f"No {scope.unit} buys much for its size."
    return (
        f"After {amount(knee.size, scope.unit)} ({words_of(scope, knee)}) a further one buys less."
    )
