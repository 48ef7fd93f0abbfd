"""Lines that change colour along their way, in few shades and few paths: small pictures."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parsimon._style import sequential_colours
from parsimon._typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PathCollection

_TINTS = 48


class TintedLines(NamedTuple):
    """What was drawn: a path for each shade, and the scale of the shades."""

    lines: "PathCollection"
    scale: "ScalarMappable"


def draw_tinted(
    axes: "Axes", pieces: Array, values: Array, *, linewidth: float, rasterised: bool = False
) -> TintedLines:
    """Draw pieces of lines, each in the colour of its value.

    Pieces of nearly the same value are one path, and those that go straight on are one line,
    which has no seams: the picture is a tenth as large as with a path for each.

    Shapes: pieces (m, 2, 2), values (m,).
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PathCollection
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.path import Path

    low, high = float(values.min()), float(values.max())
    share = (values - low) / (high - low) if high > low else np.zeros(len(values))
    tint = np.minimum((share * _TINTS).astype(np.intp), _TINTS - 1)
    colours = ListedColormap(sequential_colours()(np.linspace(0.0, 1.0, _TINTS)))
    kept = np.unique(tint)
    paths = []
    for one in kept:
        ends = joined(pieces[tint == one])
        codes = np.tile([Path.MOVETO, Path.LINETO], len(ends))
        paths.append(Path(ends.reshape(-1, 2), codes))
    lines = PathCollection(
        paths,
        facecolors="none",
        edgecolors=colours(kept),
        linewidths=linewidth,
        capstyle="round",
        rasterized=rasterised,
    )
    axes.add_collection(lines)
    return TintedLines(lines, ScalarMappable(Normalize(low, high), colours))


def joined(ends: Array) -> Array:
    """Return pieces, shape (m, 2, 2); those that go straight on become one."""
    x, y = (ends[:, 1] - ends[:, 0]).T
    goes_on = (ends[1:, 0] == ends[:-1, 1]).all(axis=1)
    goes_on &= np.abs(x[1:] * y[:-1] - y[1:] * x[:-1]) <= 1e-12
    # Back along the same line is a corner too.
    goes_on &= x[1:] * x[:-1] + y[1:] * y[:-1] >= 0
    first, last = np.append(True, ~goes_on), np.append(~goes_on, True)
    return np.stack([ends[first, 0], ends[last, 1]], axis=1)
