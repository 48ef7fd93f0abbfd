"""Small builders of blocks: paragraphs from sentences, cells from numbers."""

import math
import re
from typing import Literal, TypeAlias

from parsimon.report.document import Bullets, Cell, Figure, Inline, Note, Paragraph, Reference
from parsimon.report.findings import Interval, ReportFindings
from parsimon.report.sections import _phrases as say

# Text alone, or parts of which some are strong, code or references.
Sentence: TypeAlias = str | tuple[Inline, ...]


def paragraph(*sentences: Sentence) -> Paragraph:
    """Return sentences one after the other; empty ones are left out."""
    parts: list[Inline] = []
    for sentence in sentences:
        if not sentence:
            continue
        if parts:
            _append(parts, " ")
        for part in (sentence,) if isinstance(sentence, str) else sentence:
            _append(parts, part)
    return Paragraph(tuple(parts))


def _append(parts: list[Inline], part: Inline) -> None:
    last = parts[-1] if parts else None
    if isinstance(part, str) and isinstance(last, str):
        parts[-1] = last + part
    elif part:
        parts.append(part)


def bullets(*items: Sentence) -> Bullets:
    """Return a list with an item for each sentence."""
    return Bullets(tuple(paragraph(item) for item in items if item))


def note(kind: Literal["note", "caution"], *sentences: Sentence) -> Note:
    """Return sentences set apart."""
    return Note(kind, paragraph(*sentences))


def share_cell(share: float, *, strong: bool = False) -> Cell:
    """Return a cell with a share in percent, sorted by it."""
    return Cell(say.percent_cell(share), order=_order(share), strong=strong)


def number_cell(value: float, places: int = 2, *, strong: bool = False) -> Cell:
    """Return a cell with a number, sorted by it; a dash for one that was not measured."""
    text = say.DASH if math.isnan(value) else say.decimal(value, places)
    return Cell(text, order=_order(value), strong=strong)


def count_cell(n: float) -> Cell:
    """Return a cell with a number of things."""
    return Cell(f"{n:,}", order=float(n))


def value_cell(value: float, *, strong: bool = False) -> Cell:
    """Return a number of the data as a table has it; a dash for one that is not known."""
    if not math.isfinite(value):
        return Cell(say.DASH)
    return Cell(say.short(value), order=value, strong=strong)


def p_cell(p: float) -> Cell:
    """Return a p-value as a table has it."""
    if math.isnan(p):
        return Cell(say.DASH)
    return Cell(f"< {say.SMALLEST_P}" if p < say.SMALLEST_P else say.decimal(p, 3), order=p)


def ends_cell(interval: Interval) -> Cell:
    """Return the ends of an interval as a cell, sorted by the lower one."""
    return Cell(say.ends(interval), order=interval.low if math.isfinite(interval.low) else None)


def _order(value: float) -> float | None:
    return value if math.isfinite(value) else None


def target_of(findings: ReportFindings) -> str:
    """Return the target's name as sentences have it."""
    return say.clean(findings.table.target)


def figures(findings: ReportFindings, *names: str) -> tuple[Figure, ...]:
    """Return figures of those pictures that exist."""
    found = (findings.picture(name) for name in names if name)
    return tuple(Figure(_figure_anchor(drawn.name), drawn) for drawn in found if drawn is not None)


def refer_to_figure(findings: ReportFindings, name: str, says: str) -> Sentence:
    """Return "Figure 3" and what it says as a sentence; nothing if there is no picture."""
    found = figures(findings, name)
    return (Reference(found[0].anchor), f" {says}.") if found else ""


def _figure_anchor(name: str) -> str:
    return "figure-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
