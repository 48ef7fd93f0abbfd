"""A figure on a page: its caption, and SVG text that can stand inside HTML."""

import re
import warnings
from base64 import b64decode, b64encode
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from parsimon._style import figure_style
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.marks import join_marks
from parsimon.report.figures.paths import compact, simplified

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    root = ElementTree.fromstring(_drawn(figure))
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


def _drawn(figure: "Figure") -> bytes:
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
            element.set("d", compact(simplified(element.get("d", ""), tolerance=0.1)))
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
