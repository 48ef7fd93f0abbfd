"""A report as a PDF, typeset by typst.

Every character that came from a table is written inside a string of the typst language, where
nothing but a backslash and a quotation mark has a meaning, and these two are escaped. The look is
in `report.typ` beside this file.
"""

import importlib.util
import os
import re
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import assert_never

from parsimon import __version__
from parsimon.exceptions import MissingDependencyError
from parsimon.report.document import (
    Block,
    Bullets,
    Cell,
    Code,
    Document,
    Explorer,
    Figure,
    Inline,
    KeyFigures,
    Link,
    Note,
    Paragraph,
    Reference,
    Section,
    Strong,
    Table,
)
from parsimon.report.printing import Drawing, drawing, fitting, put_fonts

# Points between the margins of the page, and of half of it.
_WIDTH, _HALF = 453.0, 218.0
# Two figures of the usual height and their captions share a page.
_USUAL_HEIGHT, _MOST_HEIGHT = 240.0, 560.0
# Figures are drawn with letters of 11 points; this makes them as large as a caption's.
_SCALE = 0.8
_LEAST_SCALE = 0.6
_LONG_WORD, _PIECE = 24, 12
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")


def to_typst(document: Document, *, date: str = "") -> str:
    """Return a report as the text of a typst file.

    Its drawings are files ``figure-1.svg``, ``figure-2.svg`` and so on, in the order of the
    figures, which `to_pdf` writes beside it.
    """
    template = (files("parsimon.report") / "report.typ").read_text(encoding="utf-8")
    setter = _Setter(document)
    title = text(document.title)
    show = (
        f"#show: report.with(title: {title}, subtitle: {text(document.subtitle)}, "
        f"author: {text(f'Parsimon {__version__}')}, date: {_date(date)}, foot: {title})"
    )
    return "\n".join([template, show, *setter.lines(), ""])


def to_pdf(document: Document, path: str | os.PathLike[str], *, date: str = "") -> None:
    """Write a report as a PDF file."""
    check_typst()
    import typst

    place = Path(path)
    with tempfile.TemporaryDirectory(prefix="parsimon-") as name:
        folder = Path(name)
        (folder / "report.typ").write_text(to_typst(document, date=date), encoding="utf-8")
        for number, figure in enumerate(_figures(document), start=1):
            (folder / _file(number)).write_text(drawing(figure.picture.svg).svg, encoding="utf-8")
        put_fonts(folder)
        data = typst.compile(folder / "report.typ", root=folder, font_paths=[folder], format="pdf")
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)


def check_typst() -> None:
    """Raise MissingDependencyError if typst is not installed."""
    if importlib.util.find_spec("typst") is None:
        raise MissingDependencyError(
            "A PDF needs typst; install it with: pip install 'parsimon[pdf]'."
        )


def text(words: str) -> str:
    r"""Return a string of the typst language that shows these characters and does nothing else.

    Control characters are left out. A word that is too long for a line gets places where it may
    be broken.
    """
    visible = "".join(_visible(character) for character in words)
    broken = " ".join(_breakable(word) for word in visible.split(" "))
    return '"' + broken.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _visible(character: str) -> str:
    # Halves of surrogate pairs cannot be written, and control characters have no shape.
    if unicodedata.category(character) not in {"Cc", "Cs"}:
        return character
    return " " if character.isspace() else ""


def _breakable(word: str) -> str:
    if len(word) <= _LONG_WORD:
        return word
    pieces = (part for part in re.split(r"(?<=[_./,;:×+-])", word) if part)
    return "\u200b".join(
        part[start : start + _PIECE] for part in pieces for start in range(0, len(part), _PIECE)
    )


def _date(date: str) -> str:
    match = _DATE.match(date)
    if match is None:
        return "none"
    year, month, day = (int(part) for part in match.groups())
    return f"datetime(year: {year}, month: {month}, day: {day})"


def _file(number: int) -> str:
    return f"figure-{number}.svg"


def _figures(document: Document) -> Iterator[Figure]:
    """Yield all figures in the order in which they are numbered."""
    yield from _figures_of(document.lead)
    for section in document.sections:
        yield from _figures_below(section)


def _figures_below(section: Section) -> Iterator[Figure]:
    yield from _figures_of(section.blocks)
    for inner in section.sections:
        yield from _figures_below(inner)


def _figures_of(blocks: Iterable[Block]) -> Iterator[Figure]:
    for block in blocks:
        figure = block.fallback if isinstance(block, Explorer) else block
        if isinstance(figure, Figure):
            yield figure


class _Setter:
    """Sets the blocks of one document, counting its figures on the way."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._numbers: Mapping[str, str] = document.numbers()
        self._labelled: set[str] = set()
        self._n_figures = 0

    def lines(self) -> Iterator[str]:
        document = self._document
        if document.facts:
            pairs = ", ".join(f"({text(name)}, {text(value)})" for name, value in document.facts)
            yield f"#facts({pairs})"
        yield from self._blocks(document.lead)
        for section in document.sections:
            yield from self._section(section, 1)
        if document.references:
            items = ", ".join(_reference(*item) for item in document.references)
            yield '#plain-section("References")'
            yield f"#references({items})"

    def _section(self, section: Section, level: int) -> Iterator[str]:
        yield f"#section({level}, {text(section.title)}, {self._label(section.anchor)})"
        yield from self._blocks(section.blocks)
        for inner in section.sections:
            yield from self._section(inner, level + 1)

    def _blocks(self, blocks: Iterable[Block]) -> Iterator[str]:
        waiting: list[tuple[Figure, Drawing]] = []
        for block in blocks:
            figure = block.fallback if isinstance(block, Explorer) else block
            if figure is None:
                continue
            if isinstance(figure, Figure):
                waiting.append((figure, drawing(figure.picture.svg)))
                continue
            yield from self._drawn(waiting)
            waiting = []
            yield "#" + self._block(figure)
        yield from self._drawn(waiting)

    def _drawn(self, figures: list[tuple[Figure, Drawing]]) -> Iterator[str]:
        """Yield figures that follow each other, two beside each other where both stay legible."""
        place = 0
        while place < len(figures):
            pair = figures[place : place + 2]
            if len(pair) == 2 and all(each.width * _LEAST_SCALE <= _HALF for _, each in pair):
                shown = [f"({self._figure(*each, most=_HALF)})" for each in pair]
                yield f"#side-by-side({', '.join(shown)})"
                place += 2
            else:
                yield f"#figure-block({self._figure(*figures[place], most=_WIDTH)})"
                place += 1

    def _figure(self, figure: Figure, drawn: Drawing, *, most: float) -> str:
        self._n_figures += 1
        picture = figure.picture
        usual = max(_LEAST_SCALE, _USUAL_HEIGHT / drawn.height)
        scale = min(_SCALE, usual, most / drawn.width, _MOST_HEIGHT / drawn.height)
        shape = f"{text(_file(self._n_figures))}, {drawn.width * scale:.1f}pt, "
        return (
            f"{self._label(figure.anchor)}, {text(self._numbers[figure.anchor])}, "
            f"{text(picture.caption)}, drawing({shape}{text(picture.title)})"
        )

    def _block(self, block: Paragraph | Bullets | Note | KeyFigures | Table) -> str:
        if isinstance(block, Paragraph):
            return self._paragraph(block)
        if isinstance(block, Bullets):
            return f"list({', '.join(self._paragraph(item) for item in block.items)})"
        if isinstance(block, Note):
            return f"note({text(block.kind)}, {self._paragraph(block.paragraph)})"
        if isinstance(block, KeyFigures):
            return _key_figures(block)
        if isinstance(block, Table):
            return self._table(block)
        assert_never(block)

    def _paragraph(self, paragraph: Paragraph) -> str:
        return f"para({', '.join(self._inline(part) for part in paragraph.parts)})"

    def _inline(self, part: Inline) -> str:
        if isinstance(part, str):
            return text(part)
        if isinstance(part, Strong):
            return f"strong({text(part.text)})"
        if isinstance(part, Code):
            return f"code({text(part.text)})"
        if isinstance(part, Link):
            return _link(part.text, part.address)
        if isinstance(part, Reference):
            known = self._numbers.get(part.anchor)
            if known is None:
                return text(part.anchor)
            return f"mention({_string(part.anchor)}, {text(known)})"
        assert_never(part)

    def _table(self, table: Table) -> str:
        setting = fitting(table, _WIDTH)
        aligns = "".join(f"{'right' if each.numeric else 'left'}, " for each in table.headings)
        head = "".join(f"({', '.join(map(text, lines))},), " for lines in setting.headings)
        cells = ", ".join(
            _cell(cell, italic=place in table.emphasised)
            for place, row in enumerate(table.rows)
            for cell in row
        )
        return (
            f"table-block({self._label(table.anchor)}, {text(self._numbers[table.anchor])}, "
            f"{text(table.caption)}, ({aligns}), {setting.letters:g}pt, "
            f"{'true' if setting.breaks else 'false'}, {text(table.note)}, ({head}), {cells})"
        )

    def _label(self, anchor: str) -> str:
        """Return a label for an anchor: a label must not occur twice."""
        own = anchor
        while own in self._labelled or not own:
            own += "+"
        self._labelled.add(own)
        return _string(own)


def _string(name: str) -> str:
    """Return a name that is compared, not shown."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _cell(cell: Cell, *, italic: bool) -> str:
    marks = {"bold": cell.strong, "mono": cell.code, "italic": italic}
    given = "".join(f", {name}: true" for name, is_set in marks.items() if is_set)
    return f"cell({text(cell.text)}{given})"


def _key_figures(block: KeyFigures) -> str:
    items = "".join(
        f"({text(item.value)}, {text(item.label)}, {text(item.detail)}), " for item in block.items
    )
    n = len(block.items)
    columns = n if n <= 4 else 3 if n % 3 == 0 else 4
    return f"key-figures({max(1, columns)}, {items})"


def _reference(short: str, full: str) -> str:
    """Return a work: its text and where it is on the web, or short and in full."""
    if _is_web(full):
        return f"[#{text(short)} #{_link(full, full)}]"
    return text(full or short)


def _link(words: str, address: str) -> str:
    return f"away({_string(address)}, {text(words)})" if _is_web(address) else text(words)


def _is_web(address: str) -> bool:
    return address.startswith(("https://", "http://")) and address.isprintable()
