"""A report as a PDF, typeset by typst.

Every character that came from a table is written inside a string of the typst language, where
nothing but a backslash and a quotation mark has a meaning, and these two are escaped. The look is
in `report.typ` beside this file; drawings get letters that are at hand, and tables are made to fit.
"""

import importlib.util
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import assert_never
from xml.etree import ElementTree

from parsimon import __version__
from parsimon._style import GREY
from parsimon._writing import scratch_folder, write_file
from parsimon.exceptions import MissingDependencyError
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

_SVG = "http://www.w3.org/2000/svg"
_FAMILY = re.compile(r"font-family:[^;]*;?")
_UNITS = {"": 0.75, "px": 0.75, "pt": 1.0, "in": 72.0, "mm": 72 / 25.4, "cm": 72 / 2.54}
_LENGTH = re.compile(r"\s*([0-9.]+)\s*(px|pt|in|mm|cm)?\s*")
# The font that figures were measured with; matplotlib brings it along.
FONT = "DejaVu Sans"
_FONT_FILES = tuple(f"DejaVuSans{style}.ttf" for style in ("", "-Bold", "-Oblique", "-BoldOblique"))
# On a screen letters are grey so that they can be read on white and on black; paper is white.
_INK = "#404040"
# Of the letters of a table, largest first; the mean width of a letter in units of its size; what
# stands between two columns; and how long a text may be before it is broken into lines.
_SIZES = (9.0, 8.5, 8.0, 7.5, 7.0)
_LETTER, _GAP, _LINE = 0.5, 10.0, 30
# A table of fewer lines is kept on one page.
_MOST_LINES = 25


@dataclass(frozen=True)
class Drawing:
    """SVG text for paper, and its size in points."""

    svg: str
    width: float
    height: float


def drawing_on_paper(svg: str) -> Drawing:
    """Return a drawing of a page as one for paper."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        style = element.get("style")
        if style is not None:
            element.set("style", _FAMILY.sub("", style).strip("; "))
        element.attrib.pop("font-family", None)
        if element.tag in (f"{{{_SVG}}}text", f"{{{_SVG}}}tspan"):
            _darken(element)
    root.set("font-family", FONT)
    width, height = _size(root)
    root.set("width", f"{width:g}pt")
    root.set("height", f"{height:g}pt")
    ElementTree.register_namespace("", _SVG)
    return Drawing(ElementTree.tostring(root, encoding="unicode"), width, height)


@dataclass(frozen=True)
class TypstSetting:
    """How a table is set: size of its letters, lines of each heading, whether pages part it."""

    letters: float
    headings: tuple[tuple[str, ...], ...]
    breaks: bool


def fitting(table: Table, width: float) -> TypstSetting:
    """Return how a table is set so that it fits.

    Headings of numbers are first broken into lines, since numbers are narrow; then letters become
    smaller.
    """
    cells = [[len(row[k].text) for row in table.rows] for k in range(len(table.headings))]
    longest = [min(max(lengths, default=0), _LINE) for lengths in cells]
    whole = tuple((each.title,) for each in table.headings)
    broken = tuple(
        tuple(each.title.split()) or ("",) if each.numeric else (each.title,)
        for each in table.headings
    )
    letters, headings = _SIZES[-1], broken
    for size, lines in ((_SIZES[0], whole), *((size, broken) for size in _SIZES)):
        columns = zip(longest, lines, strict=True)
        wide = [max(body, *(min(len(line), _LINE) for line in own)) for body, own in columns]
        if sum(_LETTER * size * letter + _GAP for letter in wide) <= width:
            letters, headings = size, lines
            break
    n_lines = sum(
        1 + max((len(cell.text) // _LINE for cell in row), default=0) for row in table.rows
    )
    return TypstSetting(letters, headings, n_lines > _MOST_LINES)


def font_files() -> dict[str, bytes]:
    """Return the files of the font of the drawings, by their names.

    matplotlib's own folder cannot be used: it also holds a font of placeholders for every letter
    there is, which would be taken before a font of the reader's machine that has the letter.
    """
    import matplotlib as mpl

    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    return {name: (folder / name).read_bytes() for name in _FONT_FILES}


def _darken(element: ElementTree.Element) -> None:
    style = element.get("style") or ""
    element.set("style", re.sub(f"fill: ?{GREY}", f"fill:{_INK}", style, flags=re.IGNORECASE))
    if (element.get("fill") or "").upper() == GREY:
        element.set("fill", _INK)


def _size(root: ElementTree.Element) -> tuple[float, float]:
    """Return width and height in points; the box of the view says what is not given."""
    box = [float(part) for part in (root.get("viewBox") or "0 0 400 300").split()]
    width, height = (_points(root.get(name)) for name in ("width", "height"))
    share = box[3] / box[2]
    if width is None:
        width = _UNITS[""] * box[2] if height is None else height / share
    return width, width * share if height is None else height


def _points(length: str | None) -> float | None:
    match = _LENGTH.fullmatch(length or "")
    return None if match is None else float(match[1]) * _UNITS[match[2] or ""]


# Points between the margins of the page, and in half and a third of it.
_WIDTH, _HALF, _THIRD = 481.0, 232.0, 149.0
# Four figures of the usual height and their captions share a page.
_USUAL_HEIGHT, _MOST_HEIGHT = 140.0, 560.0
# Figures are drawn with letters of 11 points; this makes them as large as a caption's.
_SCALE = 0.8
_LEAST_SCALE = 0.48
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

    figures = (block for block in map(drawn, document.blocks()) if isinstance(block, Figure))
    drawings = {
        _file(number): drawing_on_paper(figure.picture.svg).svg.encode()
        for number, figure in enumerate(figures, start=1)
    }
    text = to_typst(document, date=date).encode()
    with scratch_folder({"report.typ": text, **drawings, **font_files()}) as folder:
        data = typst.compile(folder / "report.typ", root=folder, font_paths=[folder], format="pdf")
    write_file(path, data)


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


class _Setter:
    """Sets the blocks of one document, counting its figures on the way."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._numbers: Mapping[str, str] = document.numbers()
        self._labelled: set[str] = set()
        self._n_figures = 0

    def lines(self) -> Iterator[str]:
        document = self._document
        yield from self._blocks(document.lead)
        for number, section in document.walk():
            level, label = number.count(".") + 1, self._label(section.anchor)
            yield f"#section({level}, {text(section.title)}, {label})"
            yield from self._blocks(section.blocks)
        if document.facts:
            pairs = ", ".join(f"({text(name)}, {text(value)})" for name, value in document.facts)
            yield f"#plain-section({text(FACTS)})"
            yield f"#facts({pairs})"
        if document.references:
            items = ", ".join(_reference(*item) for item in document.references)
            yield '#plain-section("References")'
            yield f"#references({items})"

    def _blocks(self, blocks: Iterable[Block]) -> Iterator[str]:
        waiting: list[tuple[Figure, Drawing]] = []
        for block in map(drawn, blocks):
            if isinstance(block, Figure):
                waiting.append((block, drawing_on_paper(block.picture.svg)))
            elif block is not None:
                yield from self._side_by_side(waiting)
                waiting = []
                yield "#" + self._block(block)
        yield from self._side_by_side(waiting)

    def _side_by_side(self, figures: list[tuple[Figure, Drawing]]) -> Iterator[str]:
        """Yield figures that follow each other, as many in a row as stay legible."""
        place = 0
        while place < len(figures):
            for n, most in ((3, _THIRD), (2, _HALF), (1, _WIDTH)):
                row = figures[place : place + n]
                if len(row) == n and (n == 1 or _fits(row, most)):
                    break
            # The last of an odd number is as large as those before it.
            most = _HALF if n == 1 and place and _fits(row, _HALF) else most
            shown = [self._figure(*each, most=most) for each in row]
            place += n
            if n == 1:
                yield f"#figure-block({shown[0]})"
            else:
                yield f"#side-by-side({', '.join(f'({one})' for one in shown)})"

    def _figure(self, figure: Figure, drawing: Drawing, *, most: float) -> str:
        self._n_figures += 1
        picture = figure.picture
        usual = max(_LEAST_SCALE, _USUAL_HEIGHT / drawing.height)
        scale = min(_SCALE, usual, most / drawing.width, _MOST_HEIGHT / drawing.height)
        shape = f"{text(_file(self._n_figures))}, {drawing.width * scale:.1f}pt, "
        return (
            f"{self._label(figure.anchor)}, {text(self._numbers[figure.anchor])}, "
            f"{text(picture.caption)}, drawing({shape}{text(picture.title)})"
        )

    def _block(self, block: Block) -> str:
        if isinstance(block, Paragraph):
            return self._paragraph(block)
        if isinstance(block, Bullets):
            return f"list({', '.join(self._paragraph(item) for item in block.items)})"
        if isinstance(block, Note):
            return f"note({text(block.kind)}, {self._paragraph(block.paragraph)})"
        if isinstance(block, KeyFigures):
            return _key_figures(block)
        if isinstance(block, Listings):
            lists = (f"({text(item.title)}, {self._block(item.bullets)})" for item in block.items)
            return f"listings({', '.join(lists)})"
        if isinstance(block, Table):
            return self._table(block)
        raise TypeError(f"A {type(block).__name__} stands by itself.")

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


def _fits(row: Iterable[tuple[Figure, Drawing]], most: float) -> bool:
    """Return whether drawings stay legible at a width."""
    return all(each.width * _LEAST_SCALE <= most for _, each in row)


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
