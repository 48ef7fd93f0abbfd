"""Drawings are put into the page as they are, so each one is looked at first."""

import re
from typing import NoReturn
from xml.etree import ElementTree

from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import Picture

_SVG = "{http://www.w3.org/2000/svg}"
# fmt: off
_ELEMENTS = frozenset({
    "circle", "clipPath", "defs", "desc", "ellipse", "g", "image", "line", "linearGradient",
    "marker", "mask", "path", "pattern", "polygon", "polyline", "radialGradient", "rect",
    "stop", "svg", "symbol", "text", "title", "tspan", "use",
})
# fmt: on
_INLINE_IMAGE = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=\s]*")
_OUTSIDE = re.compile(r"url\(\s*['\"]?(?!#)|expression\(|@import|javascript:", re.IGNORECASE)


def checked_svg(picture: Picture) -> str:
    """Return the picture's drawing, unchanged, if it can do nothing but be looked at.

    A browser reads SVG inside a page by other rules than an XML parser. What the two could read
    differently (comments, declarations, sections of raw text, prefixed names) is refused, and so
    is every element that is not a plain shape or text.
    """
    text = picture.svg.strip()
    if "<!" in text or "<?" in text:
        _refuse(picture, "holds a comment or a declaration")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        _refuse(picture, f"is not well-formed XML ({error})")
    if root.tag != f"{_SVG}svg" or not text.startswith("<svg"):
        _refuse(picture, "does not begin with an svg element")
    for element in root.iter():
        _check_element(picture, element)
    return text


def _check_element(picture: Picture, element: ElementTree.Element) -> None:
    name = element.tag.removeprefix(_SVG)
    if name not in _ELEMENTS:
        _refuse(picture, f"holds the element {name!r}")
    for key, value in element.attrib.items():
        attribute = key.rpartition("}")[2].lower()
        if attribute.startswith("on"):
            _refuse(picture, f"holds the attribute {attribute!r}")
        inside = value.startswith("#") or (name == "image" and _INLINE_IMAGE.fullmatch(value))
        if attribute in ("href", "src") and not inside:
            _refuse(picture, "refers to something outside the page")
        if _OUTSIDE.search(value):
            _refuse(picture, "refers to something outside the page")


def _refuse(picture: Picture, seen: str) -> NoReturn:
    raise InvalidInputError(
        f"The picture {picture.name!r} {seen}. Draw it with parsimon.report.figures.svg."
    )
