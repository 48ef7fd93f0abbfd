"""What paper asks for: drawings whose letters are at hand, and tables that fit between margins."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from parsimon._style import GREY
from parsimon.report.document import Table

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


def drawing(svg: str) -> Drawing:
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
class Setting:
    """How a table is set: size of its letters, lines of each heading, whether pages part it."""

    letters: float
    headings: tuple[tuple[str, ...], ...]
    breaks: bool


def fitting(table: Table, width: float) -> Setting:
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
    return Setting(letters, headings, n_lines > _MOST_LINES)


def put_fonts(folder: Path) -> None:
    """Copy the font of the drawings into a folder.

    matplotlib's own folder cannot be used: it also holds a font of placeholders for every letter
    there is, which would be taken before a font of the reader's machine that has the letter.
    """
    import matplotlib as mpl

    for name in _FONT_FILES:
        shutil.copy(Path(mpl.get_data_path()) / "fonts" / "ttf" / name, folder)


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
