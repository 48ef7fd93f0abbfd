"""From findings to a document: every sentence of every report.

`write` asks the outline of the findings for its parts and puts them together. An outline is a value
that a module here (`table`, `traits`) calls `OUTLINE`: it names the functions that say each part.
Each section is a function that turns findings into blocks, and `_phrases` says numbers, lists and
names in one way everywhere.
"""

import re
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import cast

from parsimon.report.document import Block, Document, Explorer, Figure, Section, drawn
from parsimon.report.findings import ReportFindings
from parsimon.report.sections._blocks import bullets
from parsimon.report.sections._page import Outline, in_full, run_facts
from parsimon.report.sections._phrases import duration

__all__ = ["Outline", "duration", "summary_lines", "write"]


def write(findings: ReportFindings) -> Document:
    """Write the report."""
    outline, run, seen = _outline(findings), findings.run, _Seen()
    kind = outline.kind(findings)
    written = f"{f'{kind}: a' if kind else 'A'} report written by Parsimon {run.version}"
    facts = () if outline.facts is None else (*outline.facts(findings), *run_facts(run))
    return Document(
        title=outline.title(findings),
        subtitle=f"{written} on {run.date}",
        facts=facts,
        lead=_show((*outline.lead(findings), *_reading(findings)), seen),
        sections=tuple(_show_section(section, seen) for section in outline.sections(findings)),
        references=in_full(outline.works(findings)),
    )


def _reading(findings: ReportFindings) -> tuple[Block, ...]:
    """Return what was done to a file when it was read; nothing for most."""
    if not findings.run.reading:
        return ()
    from parsimon.report.sections.table.treatments import treatment_sentences

    return (bullets(*treatment_sentences(findings.run.reading)),)


def summary_lines(findings: ReportFindings) -> tuple[str, ...]:
    """Return the report in a few plain sentences, for the terminal."""
    return _outline(findings).summary(findings)


def _outline(findings: ReportFindings) -> Outline:
    # Imported by name, so that a report about a table loads nothing of other reports.
    return cast(Outline, import_module(f"{__name__}.{findings.outline}").OUTLINE)


@dataclass
class _Seen:
    """What a document has shown and said so far."""

    figures: set[str] = field(default_factory=set)
    sentences: set[str] = field(default_factory=set)


def _show_section(section: Section, seen: _Seen) -> Section:
    blocks = _show(section.blocks, seen)
    inner = tuple(_show_section(below, seen) for below in section.sections)
    return replace(section, blocks=blocks, sections=inner)


def _show(blocks: tuple[Block, ...], seen: _Seen) -> tuple[Block, ...]:
    """Leave out figures that have been shown, and of captions what an earlier one has said."""
    kept: list[Block] = []
    for block in blocks:
        figure = drawn(block)
        if not isinstance(figure, Figure):
            kept.append(block)
        elif figure.anchor not in seen.figures:
            seen.figures.add(figure.anchor)
            shown = _say_once(figure, seen)
            kept.append(Explorer(block.study, shown) if isinstance(block, Explorer) else shown)
        elif isinstance(block, Explorer):
            kept.append(Explorer(block.study, None))
    return tuple(kept)


def _say_once(figure: Figure, seen: _Seen) -> Figure:
    """Return a figure without the sentences of its caption that stand below an earlier one."""
    sentences = re.split(r"(?<=[.]) (?=[A-Z])", figure.picture.caption)
    fresh = [one for place, one in enumerate(sentences) if not place or one not in seen.sentences]
    seen.sentences.update(sentences)
    return replace(figure, picture=replace(figure.picture, caption=" ".join(fresh)))
