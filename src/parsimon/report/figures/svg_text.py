"""A figure on a page: its caption, and SVG text that can stand inside HTML.

The text is made small: equal marks are one path with a marker, and lines lose corners and digits
that nobody can see (contours come with a corner in every cell).
"""

import re
import warnings
from base64 import b64decode, b64encode
from collections.abc import Iterator
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from parsimon._style import figure_style
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TOKEN = re.compile(r"[MLz][^MLz]*")
# Corners looked at together; a longer stretch would only save one more.
_STRETCH = 64


def simplified(commands: str, tol: float = 0.05) -> str:
    """Return an SVG path of straight lines without the corners that nobody can see.

    Every corner left out lies within `tol` of the line that replaces it. Paths with curves
    come back unchanged.
    """
    if re.search(r"[^MLz\d\s.+-]", commands) or commands.count("L") < 3:
        return commands
    pieces: list[str] = []
    line: list[list[float]] = []
    for token in [*_TOKEN.findall(commands), "M"]:
        if token[0] in "Mz" and line:
            pieces.append(_write_path(_thin(np.array(line), tol)))
            line = []
        if token[0] == "z":
            pieces.append("z")
        elif len(token) > 1:
            line.append([float(number) for number in token[1:].split()])
    return " ".join(pieces)


def compact(commands: str) -> str:
    """Return an SVG path of straight lines in relative steps of a tenth, without spare letters.

    A tenth of a point is 0.04 millimetres. Steps are taken between rounded places, so that errors
    do not add up. Paths with curves come back unchanged.
    """
    if re.search(r"[^MLz\d\s.+-]", commands) or not commands.strip():
        return commands
    pieces: list[str] = []
    for start in commands.split("M")[1:]:
        corners = [step.split() for step in start.replace("z", "").split("L")]
        tenths = np.rint(10 * np.array(corners, dtype=np.float64)).astype(int)
        # A step of zero draws nothing, but for a path that is nothing else.
        moved = np.any(np.diff(tenths, axis=0) != 0, axis=1)
        if moved.any():
            tenths = tenths[np.concatenate([[True], moved])]
        pieces.append(relative(tenths) + ("z" if "z" in start else ""))
    return "".join(pieces)


def relative(tenths: AnyArray) -> str:
    """Return a path through places given in tenths, shape (n, 2)."""
    steps = np.diff(tenths, axis=0)
    numbers = "".join(_space(_tenth(value)) for value in steps.ravel().tolist()).strip()
    x, y = (_tenth(value) for value in tenths[0].tolist())
    return f"M{x} {y}" + (f"l{numbers}" if numbers else "")


def _tenth(value: int) -> str:
    whole, rest = divmod(abs(value), 10)
    digits = f"{whole or ''}.{rest}" if rest else str(whole)
    return f"-{digits}" if value < 0 else digits


def _space(number: str) -> str:
    return number if number[0] == "-" else f" {number}"


def _thin(corners: Array, tol: float) -> Array:
    """Return the corners from which a line as good can be drawn, first and last included."""
    places = [0]
    for stop in range(2, len(corners)):
        start = places[-1]
        between = corners[start + 1 : stop]
        if len(between) > _STRETCH or _distance(corners[start], corners[stop], between) > tol:
            places.append(stop - 1)
    return corners[[*places, len(corners) - 1]] if len(corners) > 1 else corners


def _distance(start: Array, stop: Array, points: Array) -> float:
    """Return how far the farthest point lies from the segment between two others."""
    along, offset = stop - start, points - start
    length = float(along @ along)
    share = np.clip(offset @ along / length, 0, 1) if length > 0 else np.zeros(len(points))
    return float(np.linalg.norm(offset - share[:, None] * along, axis=1).max())


def _write_path(corners: Array) -> str:
    return "M " + " L ".join(f"{_short(x)} {_short(y)}" for x, y in corners)


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


_MARKS_SVG = "{http://www.w3.org/2000/svg}"
# Fewer marks than these do not pay for a marker's definition.
_LEAST = 6


def join_marks(root: ElementTree.Element) -> None:
    """Turn runs of equal marks into paths whose corners carry a marker.

    Matplotlib writes an element for each mark. A marker is drawn at every corner of a path that
    itself is not drawn; its opacity is its own, so that marks on top of one another still add up.
    """
    shapes = {element.get("id"): element for element in root.iter() if element.get("id")}
    homes = {child: parent for parent in root.iter() for child in parent}
    made: dict[tuple[str, str], str] = {}
    for group in root.iter(f"{_MARKS_SVG}g"):
        runs = [(key, list(run)) for key, run in groupby(group, key=_look)]
        if not any(key is not None and len(run) >= _LEAST for key, run in runs):
            continue
        children: list[ElementTree.Element] = []
        for key, run in runs:
            if key is None or len(run) < _LEAST:
                children.extend(run)
                continue
            style = f"{group.get('style') or ''};{key[1]}".strip(";")
            shape = shapes[key[0]]
            name = made.setdefault((key[0], style), f"{key[0]}-{len(made)}")
            if name not in shapes:
                shapes[name] = _marker(shape, style, name)
                homes[shape].append(shapes[name])
            children.append(_path(run, name))
        group[:] = children
    _drop_unused(root, homes)


def _look(element: ElementTree.Element) -> tuple[str, str] | None:
    """Return what makes two marks equal, None for anything else than a mark."""
    link = element.get(_LINK, "")
    plain = set(element.keys()) <= {_LINK, "x", "y", "style"}
    if element.tag != f"{_MARKS_SVG}use" or not link.startswith("#") or not plain:
        return None
    return link[1:], element.get("style") or ""


def _marker(shape: ElementTree.Element, style: str, name: str) -> ElementTree.Element:
    marker = ElementTree.Element(f"{_MARKS_SVG}marker", {"id": name, "overflow": "visible"})
    marker.set("markerUnits", "userSpaceOnUse")
    marker.set("style", style)
    kept = {key: value for key, value in shape.attrib.items() if key != "id"}
    ElementTree.SubElement(marker, shape.tag, kept)
    return marker


def _path(run: list[ElementTree.Element], name: str) -> ElementTree.Element:
    places = np.array([[mark.get("x") or "0", mark.get("y") or "0"] for mark in run], dtype=float)
    tenths = np.rint(10 * places).astype(int)
    # Neighbours next to one another make short steps; equal marks may lie in any order.
    tenths = tenths[np.lexsort(tenths.T[::-1])]
    path = ElementTree.Element(f"{_MARKS_SVG}path", {"d": relative(tenths)})
    path.set("style", f"fill:none;stroke:none;marker:url(#{name})")
    return path


def _drop_unused(
    root: ElementTree.Element, homes: dict[ElementTree.Element, ElementTree.Element]
) -> None:
    used = {element.get(_LINK, "")[1:] for element in root.iter(f"{_MARKS_SVG}use")}
    for element in list(root.iter(f"{_MARKS_SVG}path")):
        name = element.get("id")
        if name is not None and name not in used and homes.get(element) is not None:
            homes[element].remove(element)


_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
# Verdana has nearly the widths of matplotlib's own font, so that labels stay where they fit.
_FONTS = "'DejaVu Sans', Verdana, Geneva, sans-serif"
_PIXELS = "data:image/png;base64,"
# Enough for shaded surfaces in three tints; a quarter of the bytes of full colours.
_MOST_COLOURS = 128
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def caption(axes: Any) -> str:
    """Return the caption that a figure of this package left with its axes."""
    first: Axes = axes.flat[0] if hasattr(axes, "flat") else axes
    # Only matplotlib needs the escape.
    return str(first.get_label()).replace(r"\$", "$")


def svg(figure: "Figure", *, salt: str = "figure", title: str = "") -> str:
    """Return a figure as SVG text to put inside an HTML page.

    There is no XML header, every identifier begins with `salt`, no style rule leaks to the rest
    of the page, letters stay letters, and the same figure gives the same bytes.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", salt):
        raise InvalidInputError(
            f"salt must be letters, digits and dashes, a letter first; got {salt!r}."
        )
    root = ElementTree.fromstring(_save(figure))
    for child in list(root):
        if child.tag.endswith("metadata"):
            root.remove(child)
    _drop_style_rules(root)
    _share_styles(root)
    _shorten(root)
    join_marks(root)
    _reduce_pixels(root)
    _rename(root, salt)
    root.set("style", f"stroke-linejoin:round;font-family:{_FONTS};max-width:100%;height:auto")
    root.set("role", "img")
    if title:
        element = ElementTree.Element(f"{{{_SVG}}}title")
        element.text = "".join(c for c in title if c.isprintable())
        root.insert(0, element)
    ElementTree.register_namespace("", _SVG)
    text = ElementTree.tostring(root, encoding="unicode")
    return re.sub(r">\s+<", "><", text).strip()


def _save(figure: "Figure") -> bytes:
    import matplotlib as mpl

    buffer = BytesIO()
    with figure_style(), mpl.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        # The reader's fonts draw the letters, so it does not matter which ours lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        figure.savefig(buffer, format="svg", dpi=120, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _drop_style_rules(root: ElementTree.Element) -> None:
    """Remove the rule for every element, which would reach all drawings of the page."""
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith("}style"):
                parent.remove(child)


def _share_styles(root: ElementTree.Element) -> None:
    """Move what all children of a group have in common to the group: a third of the bytes."""
    for group in root.iter(f"{{{_SVG}}}g"):
        members = [child for child in group if not child.tag.endswith("defs")]
        if len(members) < 3 or len(members) < len(group):
            continue
        for name in ("style", "clip-path"):
            found = {child.get(name) for child in members}
            value = found.pop()
            if not found and value and group.get(name) is None:
                group.set(name, value)
                for child in members:
                    del child.attrib[name]


def _shorten(root: ElementTree.Element) -> None:
    for element in root.iter():
        for name in ("d", "x", "y", "transform"):
            value = element.get(name)
            if value is not None:
                short = _one_decimal if element.tag.endswith("use") else _two_decimals
                element.set(name, " ".join(_LONG_NUMBER.sub(short, value).split()))
        if element.tag.endswith("path") and element.get("d"):
            element.set("d", compact(simplified(element.get("d", ""), tol=0.1)))
        style = element.get("style")
        if style is not None:
            element.set("style", re.sub(r" ?font-family:[^;]*;?", "", style).replace(": ", ":"))
        if (element.get("transform") or "").startswith("rotate(-0 "):
            del element.attrib["transform"]


def _reduce_pixels(root: ElementTree.Element) -> None:
    """Give pictures of pixels a palette, if that makes them smaller."""
    from PIL import Image

    for element in root.iter(f"{{{_SVG}}}image"):
        link = element.get(_LINK, "")
        if not link.startswith(_PIXELS):
            continue
        given = b64decode(link.removeprefix(_PIXELS))
        buffer = BytesIO()
        # Of Pillow's palettes, only this one knows transparency.
        reduced = Image.open(BytesIO(given)).quantize(
            _MOST_COLOURS, method=Image.Quantize.FASTOCTREE
        )
        reduced.save(buffer, format="PNG", optimize=True)
        if len(buffer.getvalue()) < len(given):
            element.set(_LINK, _PIXELS + b64encode(buffer.getvalue()).decode())


def _one_decimal(match: re.Match[str]) -> str:
    return f"{float(match.group()):.1f}".removesuffix(".0")


def _two_decimals(match: re.Match[str]) -> str:
    return f"{float(match.group()):.2f}".rstrip("0").rstrip(".")


def _rename(root: ElementTree.Element, salt: str) -> None:
    """Give short names to the identifiers that something refers to, and drop the others."""
    used = dict.fromkeys(_references(root))
    short = {name: f"{salt}-{place}" for place, name in enumerate(used)}
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in short:
            element.set("id", short[own])
        link = element.attrib.pop(_LINK, None)
        if link is not None:
            element.set("href", f"#{short[link[1:]]}" if link.startswith("#") else link)
        for name, value in element.attrib.items():
            if "url(#" in value:
                element.set(name, _REFERENCE.sub(lambda m: f"url(#{short[m.group(1)]})", value))


def _references(root: ElementTree.Element) -> Iterator[str]:
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == _LINK and value.startswith("#"):
                yield value[1:]
            yield from _REFERENCE.findall(value)
