"""Fewer corners and shorter numbers for the same drawn line.

Contours come with a corner in every cell, and every corner with its place on the page; what is
drawn needs neither.
"""

import re

import numpy as np

from parsimon._typing import AnyArray, Array

_TOKEN = re.compile(r"[MLz][^MLz]*")
# Corners looked at together; a longer stretch would only save one more.
_STRETCH = 64


def simplified(commands: str, tolerance: float = 0.05) -> str:
    """Return an SVG path of straight lines without the corners that nobody can see.

    Every corner left out lies within `tolerance` of the line that replaces it. Paths with curves
    come back unchanged.
    """
    if re.search(r"[^MLz\d\s.+-]", commands) or commands.count("L") < 3:
        return commands
    pieces: list[str] = []
    line: list[list[float]] = []
    for token in [*_TOKEN.findall(commands), "M"]:
        if token[0] in "Mz" and line:
            pieces.append(_written(_kept(np.array(line), tolerance)))
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
    numbers = "".join(_spaced(_tenth(value)) for value in steps.ravel().tolist()).strip()
    x, y = (_tenth(value) for value in tenths[0].tolist())
    return f"M{x} {y}" + (f"l{numbers}" if numbers else "")


def _tenth(value: int) -> str:
    whole, rest = divmod(abs(value), 10)
    digits = f"{whole or ''}.{rest}" if rest else str(whole)
    return f"-{digits}" if value < 0 else digits


def _spaced(number: str) -> str:
    return number if number[0] == "-" else f" {number}"


def _kept(corners: Array, tolerance: float) -> Array:
    """Return the corners from which a line as good can be drawn, first and last included."""
    places = [0]
    for stop in range(2, len(corners)):
        start = places[-1]
        between = corners[start + 1 : stop]
        if len(between) > _STRETCH or _distance(corners[start], corners[stop], between) > tolerance:
            places.append(stop - 1)
    return corners[[*places, len(corners) - 1]] if len(corners) > 1 else corners


def _distance(start: Array, stop: Array, points: Array) -> float:
    """Return how far the farthest point lies from the segment between two others."""
    along, offset = stop - start, points - start
    length = float(along @ along)
    share = np.clip(offset @ along / length, 0, 1) if length > 0 else np.zeros(len(points))
    return float(np.linalg.norm(offset - share[:, None] * along, axis=1).max())


def _written(corners: Array) -> str:
    return "M " + " L ".join(f"{_short(x)} {_short(y)}" for x, y in corners)


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
