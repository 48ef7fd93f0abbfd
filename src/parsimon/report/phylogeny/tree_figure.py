"""The tree with a trait as colour, small enough for a page."""

from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._style import figure_style, new_axes, sequential_colours
from parsimon._typing import Array
from parsimon.phylo import AncestralStates, plot_tree
from parsimon.report.figures import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Tips whose names can still be read, and tips that are still drawn as lines.
_MOST_NAMES, _MOST_LINES = 80, 2_000
_TINTS = 48
# Lines of many tips are thinner: points that all of them have together, and of the thinnest.
_WIDTHS, _THINNEST = 400.0, 0.4
_UNNAMED_SIZE = (7.2, 8.0)


def draw_ancestors(states: AncestralStates, target: str) -> "Axes":
    """Draw the tree; colours go from the reconstructed ancestors to the species.

    Pieces of a branch with nearly the same colour become one line, which makes the drawing a tenth
    as large; very large trees become pixels.

    Examples
    --------
    >>> from parsimon.phylo import ancestral_states, read_tree
    >>> tree = read_tree("((A:1,B:1):1,C:2);")
    >>> axes = draw_ancestors(ancestral_states(tree, {"A": 1, "B": 2, "C": 0}), "mass")
    >>> [text.get_text() for text in axes.texts]
    ['A', 'B', 'C']
    """
    tree = states.tree
    named = tree.n_tips <= _MOST_NAMES
    with figure_style():
        # With names plot_tree knows how tall it must be.
        room = None if named else new_axes(figsize=_UNNAMED_SIZE)
    axes = plot_tree(
        tree, node_values=states.mean[:, 0], names=named, label=label(target, 32), ax=room
    )
    for text in axes.texts:
        # Names of tips are names, whatever signs are in them.
        text.set_parse_math(False)
        text.set_text(label(text.get_text(), 40).replace(r"\$", "$"))
    _merge(axes, tree.n_tips, rasterised=tree.n_tips > _MOST_LINES)
    unnamed = "" if named else " Their names are left out."
    axes.set_label(
        f"The tree of {tree.n_tips:,} species. Colour: {label(target, 40)}, as measured at the "
        f"tips and reconstructed along the branches with Pagel's lambda.{unnamed}"
    )
    return axes


def _merge(axes: "Axes", n_tips: int, *, rasterised: bool) -> None:
    """Put lines of nearly the same colour into one path each."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (lines,) = (one for one in axes.collections if isinstance(one, LineCollection))
    tints = sequential_colours()(np.linspace(0.0, 1.0, _TINTS))
    lines.set_cmap(ListedColormap(tints))
    for bar in (one for one in axes.figure.axes if one is not axes):
        for patches in bar.collections:
            # Else the page shows through between the colours.
            patches.set_edgecolor("face")
    width = float(np.atleast_1d(lines.get_linewidth())[0])
    width = min(width, max(_THINNEST, _WIDTHS / n_tips))
    lines.set_linewidth(width)
    if rasterised:
        lines.set_rasterized(True)
        return
    ends = np.array(lines.get_segments())
    values = np.asarray(lines.get_array(), dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    share = (values - low) / (high - low) if high > low else np.zeros(len(values))
    level = np.minimum((share * _TINTS).astype(np.intp), _TINTS - 1)
    lines.set_visible(False)
    with figure_style():
        for tint in np.unique(level):
            joined = _joined(ends[level == tint])
            codes = np.tile([Path.MOVETO, Path.LINETO], len(joined))
            style: dict[str, Any] = {"edgecolor": tints[tint], "facecolor": "none"}
            path = Path(joined.reshape(-1, 2), codes)
            axes.add_patch(PathPatch(path, linewidth=width, capstyle="round", **style))


def _joined(ends: Array) -> Array:
    """Return segments, shape (m, 2, 2); those that go on where the last one ended are one.

    Examples
    --------
    >>> row = np.array([[[0, 1], [1, 1]], [[1, 1], [3, 1]], [[5, 1], [6, 1]]])
    >>> _joined(row).tolist()
    [[[0, 1], [3, 1]], [[5, 1], [6, 1]]]
    """
    flat = ends[1:, :, 1] == ends[:-1, :, 1]
    goes_on = (ends[1:, 0] == ends[:-1, 1]).all(axis=1) & flat.all(axis=1)
    goes_on &= ends[:-1, 0, 1] == ends[:-1, 1, 1]
    first = np.concatenate([[True], ~goes_on])
    last = np.concatenate([~goes_on, [True]])
    return np.stack([ends[first, 0], ends[last, 1]], axis=1)
