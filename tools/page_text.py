"""A finished page as a person reads it: paragraphs by section, figures shown large, tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from parsimon.report.document import (
    Block,
    Bullets,
    Document,
    Explorer,
    Figure,
    KeyFigure,
    KeyFigures,
    Listings,
    Note,
    Paragraph,
    Reference,
    Section,
    Table,
)
from parsimon.report.findings import Findings
from parsimon.report.sections import summary_lines, write

FIRST_SCREEN, TERMINAL = "first screen", "lines of the terminal"


def plain(paragraph: Paragraph, numbers: dict[str, str]) -> str:
    """Return a paragraph as text, references by what they are called."""
    parts = (
        numbers[part.anchor]
        if isinstance(part, Reference)
        else part
        if isinstance(part, str)
        else part.text
        for part in paragraph.parts
    )
    return "".join(parts)


def sections(document: Document) -> Iterator[Section]:
    """Yield all sections, outer ones first."""

    def below(section: Section) -> Iterator[Section]:
        yield section
        for inner in section.sections:
            yield from below(inner)

    for section in document.sections:
        yield from below(section)


def blocks(document: Document) -> Iterator[Block]:
    """Yield all blocks from the first screen on."""
    yield from document.lead
    for section in sections(document):
        yield from section.blocks


def paragraphs(found: tuple[Block, ...]) -> Iterator[Paragraph]:
    """Yield what is set as sentences."""
    for block in found:
        if isinstance(block, Paragraph):
            yield block
        elif isinstance(block, Note):
            yield block.paragraph
        elif isinstance(block, Bullets):
            yield from block.items
        elif isinstance(block, Listings):
            for one in block.items:
                yield from one.bullets.items


def readable(text: str) -> str:
    """Return a text with plain spaces and minus signs, as patterns have them."""
    return text.replace("\u202f", " ").replace("−", "-")


@dataclass(frozen=True)
class Page:
    """A document beside the findings that it was written from."""

    findings: Findings
    document: Document

    @classmethod
    def of(cls, findings: Findings) -> "Page":
        """Write the page of some findings, and read it."""
        return cls(findings, write(findings))

    @cached_property
    def passages(self) -> tuple[tuple[str, str], ...]:
        """Where each paragraph stands and what it says; the lines of the terminal come last."""
        numbers, found = self.document.numbers(), []
        parts = [(FIRST_SCREEN, self.document.lead)]
        parts += [(one.title, one.blocks) for one in sections(self.document)]
        for where, held in parts:
            found += [(where, readable(plain(one, numbers))) for one in paragraphs(held)]
            found += [(where, readable(caption)) for caption in _captions(held)]
        found += [(TERMINAL, readable(line)) for line in summary_lines(self.findings)]
        return tuple(found)

    def find(self, pattern: str) -> Iterator[tuple[str, re.Match[str]]]:
        """Yield where a pattern stands, and what it is there."""
        for where, text in self.passages:
            for match in re.finditer(pattern, text):
                yield where, match

    def says(self, pattern: str) -> bool:
        """Return whether a pattern occurs anywhere."""
        return any(True for _ in self.find(pattern))

    @cached_property
    def key_figures(self) -> dict[str, KeyFigure]:
        """The figures that are shown large, by their labels."""
        shown = [one for one in self.document.lead if isinstance(one, KeyFigures)]
        return {
            item.label: KeyFigure(readable(item.value), item.label, readable(item.detail))
            for one in shown
            for item in one.items
        }

    @cached_property
    def tables(self) -> dict[str, list[dict[str, str]]]:
        """Rows of each table by its anchor, cells by their headings; `*` marks a strong row."""
        return {one.anchor: _rows(one) for one in blocks(self.document) if isinstance(one, Table)}

    @cached_property
    def lists(self) -> dict[str, tuple[str, ...]]:
        """The lists of the first screen by their titles."""
        shown = [one for one in self.document.lead if isinstance(one, Listings)]
        return {
            item.title: tuple(readable(plain(each, {})) for each in item.bullets.items)
            for one in shown
            for item in one.items
        }


def _captions(held: tuple[Block, ...]) -> Iterator[str]:
    for one in held:
        shown = one.fallback if isinstance(one, Explorer) else one
        if isinstance(shown, Figure):
            yield shown.picture.caption
        elif isinstance(shown, Table):
            yield shown.caption


def _rows(table: Table) -> list[dict[str, str]]:
    titles = [one.title for one in table.headings]
    return [
        {
            **dict(zip(titles, (readable(cell.text) for cell in row), strict=True)),
            "*": "*" if any(cell.strong for cell in row) else "",
        }
        for row in table.rows
    ]
