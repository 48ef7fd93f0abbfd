"""A document as Markdown: text, tables, and captions in place of pictures."""

import re
from collections.abc import Iterator

from parsimon.report.document import (
    FACTS,
    Block,
    Bullets,
    Cell,
    Code,
    Document,
    Figure,
    Inline,
    KeyFigures,
    Link,
    Listings,
    Note,
    Paragraph,
    Reference,
    Strong,
    Table,
    drawn,
)

# Whatever could begin markup, HTML or mathematics; "|" would end a cell.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#$~&])")
_LINE_START = re.compile(r"^(\d*)([.)+=-])(?=\s|$)")
_NOTES = {"note": "Note", "caution": "Caution"}


def to_markdown(document: Document, folder: str | None = None) -> str:
    r"""Return a document as Markdown (CommonMark with tables)."""
    writer = _Writer(document.numbers(), folder)
    parts = [f"# {escaped(document.title)}"]
    parts += [f"*{escaped(document.subtitle)}*"] if document.subtitle else []
    parts += writer.blocks(document.lead)
    for number, section in document.walk():
        mark = "#" * min(number.count(".") + 2, 6)
        parts += [f"{mark} {number}. {escaped(section.title)}", *writer.blocks(section.blocks)]
    if document.facts:
        facts = (f"- **{escaped(name)}**: {escaped(value)}" for name, value in document.facts)
        parts += [f"## {FACTS}", "\n".join(facts)]
    if document.references:
        works = (f"- {escaped(full)}" for _, full in document.references)
        parts += ["## References", "\n".join(works)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    r"""Return text that Markdown shows as it is, on one line."""
    line = " ".join(text.splitlines())
    return _SPECIAL.sub(r"\\\1", line)


def code(text: str) -> str:
    """Return text between as many backticks as it needs."""
    line = " ".join(text.splitlines())
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    if not longest:
        return f"`{line}`"
    fence = "`" * (longest + 1)
    return f"{fence} {line} {fence}"


def _guard(line: str) -> str:
    """Keep a line's first characters from beginning a list or underlining a heading."""
    return _LINE_START.sub(r"\1\\\2", line)


class _Writer:
    """Writes blocks; knows what references are called and where pictures are."""

    def __init__(self, numbers: dict[str, str], folder: str | None) -> None:
        self.numbers = numbers
        self.folder = folder

    def blocks(self, blocks: tuple[Block, ...]) -> Iterator[str]:
        texts = (self.block(block) for block in map(drawn, blocks) if block is not None)
        return filter(None, texts)

    def block(self, block: Block) -> str:
        if isinstance(block, Paragraph):
            return self.paragraph(block)
        if isinstance(block, Bullets):
            return "\n".join(f"- {self.paragraph(item)}" for item in block.items)
        if isinstance(block, Note):
            return f"> **{_NOTES[block.kind]}.** {self.paragraph(block.paragraph)}"
        if isinstance(block, KeyFigures):
            return _key_figures(block)
        if isinstance(block, Listings):
            return "\n\n".join(
                f"**{escaped(item.title)}**\n\n{self.block(item.bullets)}" for item in block.items
            )
        if isinstance(block, Table):
            return self.table(block)
        if isinstance(block, Figure):
            return self.figure(block)
        raise TypeError(f"A {type(block).__name__} stands by itself.")

    def paragraph(self, paragraph: Paragraph) -> str:
        return _guard("".join(self.inline(part) for part in paragraph.parts))

    def inline(self, part: Inline) -> str:
        if isinstance(part, Strong):
            return f"**{escaped(part.text)}**"
        if isinstance(part, Code):
            return code(part.text)
        if isinstance(part, Reference):
            return self.numbers[part.anchor]
        if isinstance(part, Link):
            return f"[{escaped(part.text)}](<{_address(part.address)}>)"
        return escaped(part)

    def figure(self, figure: Figure) -> str:
        picture = figure.picture
        text = f"**{self.numbers[figure.anchor]}.** {escaped(picture.caption)}"
        if self.folder is None:
            return text
        address = _address(f"{self.folder.rstrip('/')}/{picture.name}.svg")
        return f"![{escaped(picture.title)}](<{address}>)\n\n{text}"

    def table(self, table: Table) -> str:
        heads = [escaped(heading.title) for heading in table.headings]
        rules = ["---:" if heading.numeric else "---" for heading in table.headings]
        lines = [_line(heads), _line(rules)]
        for place, row in enumerate(table.rows):
            lines.append(_line([_cell(cell, place in table.emphasised) for cell in row]))
        caption = f"**{self.numbers[table.anchor]}.** {escaped(table.caption)}"
        below = [_guard(escaped(table.note))] if table.note else []
        return "\n\n".join([caption, "\n".join(lines), *below])


def _key_figures(block: KeyFigures) -> str:
    lines = []
    for item in block.items:
        detail = f" ({escaped(item.detail)})" if item.detail else ""
        lines.append(f"- **{escaped(item.value)}** {escaped(item.label)}{detail}")
    return "\n".join(lines)


def _cell(cell: Cell, emphasised: bool) -> str:
    # A pipe ends a cell even inside code.
    text = code(cell.text).replace("|", r"\|") if cell.code else escaped(cell.text)
    text = f"**{text}**" if cell.strong else text
    return f"*{text}*" if emphasised and not cell.strong else text


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _address(text: str) -> str:
    return text.replace("<", "%3C").replace(">", "%3E").replace(" ", "%20").replace("\n", "")
