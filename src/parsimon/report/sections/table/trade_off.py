"""What searches found: the search over kernels with its parts and front, and formulas."""

import math
from collections.abc import Iterator, Sequence

from parsimon.report.document import Block, Cell, Explorer, Heading, Section, Table
from parsimon.report.findings import Findings, ModelFinding, SearchFindings
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import paragraph
from parsimon.report.sections._features import formula_section
from parsimon.report.sections.table.claims import beats_guessing
from parsimon.report.sections.table.scope import Scope, guess_miss, words_of


def kernel_search(scope: Scope) -> Iterator[Section]:
    """Yield what the search over kernels found; nothing if there was none.

    It is folded where another model is the one to use.
    """
    if scope.study.search is None:
        return
    yield Section(
        scope.anchor("kernels"),
        "What the kernel search found",
        (
            paragraph(_find(scope, scope.study.search)),
            *_parts(scope),
            *scope.figures(scope.study.search.picture),
        ),
        (_trade_off(scope),),
        folded=scope.findings.recommended is not None,
    )


def _find(scope: Scope, search: SearchFindings) -> str:
    """Return what the search took, of how many models."""
    took = "none is shown to be better than a constant."
    if scope.study.structure_found:
        took = f"it took {words_of(scope, scope.study.model)}; its formula stands in the methods."
    return f"Of {say.count(search.n_candidates, 'model')} on {scope.searched} {took}"


def _parts(scope: Scope) -> tuple[Table, ...]:
    """Return the parts of the model, those that help most first; nothing of a single part."""
    parts = scope.study.components
    if len(parts) < 2:
        return ()
    title = "Explains" if scope.numeric else "Wrong"
    unit = f"in units of {scope.target}" if scope.numeric else "in the score"
    return (
        Table(
            anchor=scope.anchor("table-parts"),
            caption="The parts of the kernel search’s model, those that help most first.",
            headings=(
                Heading("Part"),
                Heading(f"{title} alone", numeric=True, help="On the folds of the search."),
                Heading(f"{title} with those above", numeric=True),
                Heading("Strength", numeric=True, help=f"Its deviation over the rows, {unit}."),
            ),
            rows=tuple(
                (
                    Cell(words_of(scope, part.alone)),
                    _error(scope, part.alone),
                    _error(scope, part.cumulative),
                    Cell(say.short(part.strength), order=part.strength),
                )
                for part in parts
            ),
        ),
    )


def _error(scope: Scope, model: ModelFinding) -> Cell:
    if math.isnan(model.error):
        return Cell(say.DASH)
    share = max(0.0, 1 - model.error) if scope.numeric else model.error
    return Cell(say.percent(share), order=share)


def _trade_off(scope: Scope) -> Section:
    """Return the section about the front of errors and sizes."""
    figures = scope.figures(scope.study.front_picture)
    blocks: tuple[Block, ...] = (
        paragraph(_steps(scope), knee_sentence(scope)),
        Explorer(scope.place, figures[0] if figures else None),
    )
    return Section(scope.anchor("trade-off"), "Smaller and larger models", blocks)


def formula_sections(findings: Findings) -> Iterator[Section]:
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
        return f"{said} {say.opened(scope.rows_seen)} do not show that this is more than chance."
    if scope.rare:
        return f"{said} With so rare a class this says little."
    return said


def _falling(front: Sequence[ModelFinding], baseline: float) -> list[ModelFinding]:
    """Return the models of a front that are better than guessing and no worse than smaller ones."""
    kept: list[ModelFinding] = []
    for model in front:
        least = kept[-1].error if kept else baseline
        if model.size and model.error <= least and model.error < baseline:
            kept.append(model)
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
            f"Up to {say.amount(knee.size, scope.unit)} the error still falls, but "
            f"{scope.rows_seen} do not show that more matters."
        )
    if study.knee == 0:
        return f"No {scope.unit} buys much for its size."
    size = say.amount(knee.size, scope.unit)
    return f"After {size} ({words_of(scope, knee)}) a further one buys less."
