"""A report as a tree of blocks: written once, set as HTML, as typst for PDF, and as Markdown.

Texts are plain characters as they came from the table; each setter escapes them in its own way.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from parsimon.report.findings import Picture

# What the lines about the run are called at the end of a report.
FACTS = "About this run"


@dataclass(frozen=True)
class Strong:
    """Words that matter."""

    text: str


@dataclass(frozen=True)
class Code:
    """A command, a kernel's expression, a file name."""

    text: str


@dataclass(frozen=True)
class Reference:
    """A mention of a figure, a table or a section: set as "Figure 3" with a link."""

    anchor: str


@dataclass(frozen=True)
class Link:
    """A work elsewhere."""

    text: str
    address: str


Inline: TypeAlias = str | Strong | Code | Reference | Link


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    parts: tuple[Inline, ...]


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: tuple[Paragraph, ...]


@dataclass(frozen=True)
class Note:
    """A paragraph set apart: something to know ("note") or to beware of ("caution")."""

    kind: Literal["note", "caution"]
    paragraph: Paragraph


@dataclass(frozen=True)
class KeyFigure:
    """One of a few numbers that are shown large: "21.8 %", "honest error", "19.5 to 24.1 %"."""

    value: str
    label: str
    detail: str = ""


@dataclass(frozen=True)
class KeyFigures:
    """The numbers that a reader should remember."""

    items: tuple[KeyFigure, ...]


@dataclass(frozen=True)
class Heading:
    """A table's column: its title, how it is aligned and sorted, and what it means."""

    title: str
    numeric: bool = False
    help: str = ""


@dataclass(frozen=True)
class Cell:
    """A table's cell; `order` is what it is sorted by, if that is a number."""

    text: str
    order: float | None = None
    strong: bool = False
    code: bool = False


@dataclass(frozen=True)
class Table:
    """Rows under headings. `emphasised` are rows in italics, such as the baseline."""

    anchor: str
    caption: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[Cell, ...], ...]
    emphasised: tuple[int, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture with its caption, wide or beside text."""

    anchor: str
    picture: Picture


@dataclass(frozen=True)
class Explorer:
    """The place of the interactive front of a study; pages without script show the fallback."""

    study: int
    fallback: Figure | None


@dataclass(frozen=True)
class Listing:
    """A list with a title of its own."""

    title: str
    bullets: Bullets


@dataclass(frozen=True)
class Listings:
    """Lists that belong together, beside each other where there is room."""

    items: tuple[Listing, ...]


Block: TypeAlias = Paragraph | Bullets | Note | KeyFigures | Table | Figure | Explorer | Listings


@dataclass(frozen=True)
class Section:
    """A heading with blocks and smaller sections below.

    folded: Whether a page shows only the heading until it is asked for more.
    """

    anchor: str
    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple["Section", ...] = ()
    folded: bool = False


@dataclass(frozen=True)
class Document:
    """The whole report.

    `lead` is the first screen. `facts` are lines about the run for the end: what is said and its
    value. `references` are cited works: a short name ("Minka 2001") and the full entry.
    """

    title: str
    subtitle: str
    facts: tuple[tuple[str, str], ...]
    lead: tuple[Block, ...]
    sections: tuple[Section, ...]
    references: tuple[tuple[str, str], ...] = ()

    def walk(self) -> Iterator[tuple[str, Section]]:
        """Yield all sections with their numbers, such as "3.1", each before those inside it."""
        for place, section in enumerate(self.sections, start=1):
            yield from _walk(section, str(place))

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the first screen and of all sections in order."""
        yield from self.lead
        for _, section in self.walk():
            yield from section.blocks

    def numbers(self) -> dict[str, str]:
        """Return what a reference to each anchor is called: "Figure 1", "Table 2", "section 3.1".

        Figures and tables are counted through the document, sections within each other.
        """
        found = {section.anchor: f"section {number}" for number, section in self.walk()}
        for word, kind in (("Figure", Figure), ("Table", Table)):
            shown = (block for block in map(drawn, self.blocks()) if isinstance(block, kind))
            anchors = dict.fromkeys(block.anchor for block in shown)
            found |= {anchor: f"{word} {count}" for count, anchor in enumerate(anchors, start=1)}
        return found


def _walk(section: Section, number: str) -> Iterator[tuple[str, Section]]:
    yield number, section
    for place, inner in enumerate(section.sections, start=1):
        yield from _walk(inner, f"{number}.{place}")


def drawn(block: Block) -> "Block | None":
    """Return a block as paper shows it: of an explorer the figure that stands for it."""
    return block.fallback if isinstance(block, Explorer) else block
