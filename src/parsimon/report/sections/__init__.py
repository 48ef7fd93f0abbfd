"""From findings to a document: every sentence of the report.

`write` puts the sections together; each section is a module that turns findings into blocks, and
`phrases` says numbers, lists and names in one way everywhere.
"""

from collections.abc import Iterator

from parsimon.report.document import Block, Document, Explorer, Figure, Section
from parsimon.report.findings import Findings
from parsimon.report.sections._scope import Scope
from parsimon.report.sections.checking import model_checking
from parsimon.report.sections.classes import all_classes
from parsimon.report.sections.front_page import facts, lead, subtitle, title
from parsimon.report.sections.methods import methods, references
from parsimon.report.sections.stability import stability
from parsimon.report.sections.structure import (
    additive_components,
    individual_variables,
    interactions,
)
from parsimon.report.sections.summary import summary
from parsimon.report.sections.terminal import summary_lines
from parsimon.report.sections.using import how_to_use

__all__ = ["summary_lines", "write"]


def write(findings: Findings) -> Document:
    """Write the report."""
    scopes = tuple(Scope(findings=findings, place=k) for k in range(len(findings.studies)))
    body: tuple[Section, ...]
    if len(scopes) == 1:
        body = tuple(_study(scopes[0]))
    else:
        body = (all_classes(scopes), *(_class(scope) for scope in scopes))
    seen: set[str] = set()
    return Document(
        title=title(findings),
        subtitle=subtitle(findings),
        facts=facts(findings),
        lead=_once(lead(findings), seen),
        sections=tuple(
            _section_once(one, seen) for one in (*body, how_to_use(scopes), methods(scopes))
        ),
        references=references(findings),
    )


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


def _section_once(section: Section, seen: set[str]) -> Section:
    blocks = _once(section.blocks, seen)
    inner = tuple(_section_once(one, seen) for one in section.sections)
    return Section(section.anchor, section.title, blocks, inner)


def _once(blocks: tuple[Block, ...], seen: set[str]) -> tuple[Block, ...]:
    """Leave out figures that have been shown; what refers to them leads to the first."""
    kept: list[Block] = []
    for block in blocks:
        figure = block.fallback if isinstance(block, Explorer) else block
        if not isinstance(figure, Figure):
            kept.append(block)
        elif figure.anchor not in seen:
            seen.add(figure.anchor)
            kept.append(block)
        elif isinstance(block, Explorer):
            kept.append(Explorer(block.study, None))
    return tuple(kept)
