"""Many equal marks as one path with a marker: a fifth of the bytes."""

from itertools import groupby
from xml.etree import ElementTree

import numpy as np

from parsimon.report.figures.paths import relative

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
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
    for group in root.iter(f"{_SVG}g"):
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
    if element.tag != f"{_SVG}use" or not link.startswith("#") or not plain:
        return None
    return link[1:], element.get("style") or ""


def _marker(shape: ElementTree.Element, style: str, name: str) -> ElementTree.Element:
    marker = ElementTree.Element(f"{_SVG}marker", {"id": name, "overflow": "visible"})
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
    path = ElementTree.Element(f"{_SVG}path", {"d": relative(tenths)})
    path.set("style", f"fill:none;stroke:none;marker:url(#{name})")
    return path


def _drop_unused(
    root: ElementTree.Element, homes: dict[ElementTree.Element, ElementTree.Element]
) -> None:
    used = {element.get(_LINK, "")[1:] for element in root.iter(f"{_SVG}use")}
    for element in list(root.iter(f"{_SVG}path")):
        name = element.get("id")
        if name is not None and name not in used and homes.get(element) is not None:
            homes[element].remove(element)
