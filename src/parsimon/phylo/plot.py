"""A tree drawn from left to right, with a trait as colour.

Lines that change colour along their way, in few shades and few paths: small pictures.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._checks import finite_vector
from parsimon._style import GREY, figure_style, new_axes, sequential_colours
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.tree import Tree

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


# Tips that still have room for a name, tips whose branches are still drawn as lines, and the height
# of a row in inches.
_MOST_NAMES = 80
_MOST_LINES = 2_000
# Points of a coloured line: at the most, at the least, and of all tips together.
_WIDEST, _THINNEST, _WIDTHS = 2.4, 0.4, 400.0
_ROW = 0.19
# Pieces of a branch, so that its colour changes along it.
_PIECES = 12


def plot_tree(
    tree: Tree,
    values: Any = None,
    *,
    node_values: Any = None,
    names: bool | None = None,
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a tree; a trait colours the branches from ancestor to descendant.

    Parameters
    ----------
    tree : Tree
    values : DataFrame of one column, Series or dict, optional
        A trait by tip name; ancestors are reconstructed under Brownian motion.
    node_values : array-like of shape (n_nodes,), optional
        The trait of every node, instead.
    names : bool, optional
        Write the names of the tips; if left out, where there are at most 80.
    label : str, optional
        Of the colours; the name of the trait if left out.
    ax : matplotlib Axes, optional
        Where to draw; a new figure otherwise.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from parsimon.phylo import read_tree
    >>> axes = plot_tree(read_tree("((A:1,B:1):1,C:2);"), {"A": 1, "B": 2, "C": 0})
    >>> [text.get_text() for text in axes.texts]
    ['A', 'B', 'C']
    """
    colours, label = _node_values(tree, values, node_values, label)
    shown = tree.n_tips <= _MOST_NAMES if names is None else names
    height = _vertical(tree)
    with figure_style():
        tall = min(max(tree.n_tips * _ROW + 0.8, 2.6), 14.0)
        axes = new_axes(ax, figsize=(7.2, tall))
        if colours is None:
            _plain(axes, tree, height)
        else:
            _coloured(axes, tree, height, colours, label)
        deepest = float(tree.depth.max()) or 1.0
        if shown:
            _write_names(axes, tree, height)
        axes.set(ylim=(tree.n_tips - 0.4, -0.6), xlim=(-0.01 * deepest, 1.02 * deepest))
        axes.grid(False)
        axes.yaxis.set_visible(False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("distance from the root")
    return axes


def _node_values(
    tree: Tree, values: Any, node_values: Any, label: str | None
) -> tuple[Array | None, str]:
    if values is not None and node_values is not None:
        raise InvalidInputError("Give `values` of tips or `node_values`, not both.")
    if node_values is not None:
        vector = finite_vector(node_values, "node_values")
        if len(vector) != len(tree.parent):
            raise InvalidInputError(
                f"node_values must have one number for each of {len(tree.parent)} nodes, got "
                f"{len(vector)}."
            )
        return vector, label or "trait"
    if values is None:
        return None, ""
    from parsimon.phylo.ancestors import ancestral_states

    states = ancestral_states(tree, values)
    return states.mean[:, 0], label or states.traits[0]


def _vertical(tree: Tree) -> Array:
    """Return the height at which each node is drawn: tips one apart, parents between children."""
    height, first = np.zeros(len(tree.parent)), np.full(len(tree.parent), np.inf)
    last = np.full(len(tree.parent), -np.inf)
    height[_drawing_order(tree)] = np.arange(tree.n_tips)
    for node in range(len(height) - 1, -1, -1):
        if not tree.is_tip[node]:
            height[node] = 0.5 * (first[node] + last[node])
        if node:
            above = tree.parent[node]
            first[above] = min(first[above], height[node])
            last[above] = max(last[above], height[node])
    return height


def _drawing_order(tree: Tree) -> list[int]:
    """Return the tips as a walk along the tree meets them, whatever the order of its nodes."""
    from parsimon.phylo._editing import children_lists

    children, waiting, met = children_lists(tree.parent), [0], []
    while waiting:
        node = waiting.pop()
        if children[node]:
            waiting.extend(reversed(children[node]))
        else:
            met.append(node)
    return met


def _plain(axes: "Axes", tree: Tree, height: Array) -> None:
    from matplotlib.collections import LineCollection

    x, above = tree.depth, np.maximum(tree.parent, 0)
    across = np.stack([np.column_stack([x[above], height]), np.column_stack([x, height])], axis=1)
    down = np.stack(
        [np.column_stack([x[above], height[above]]), np.column_stack([x[above], height])], axis=1
    )
    lines = np.concatenate([across[1:], down[1:]])
    axes.add_collection(
        LineCollection(list(lines), colors=GREY, linewidths=1.4, capstyle="projecting")
    )


def _coloured(axes: "Axes", tree: Tree, height: Array, colours: Array, label: str) -> None:
    x, above = tree.depth[1:], tree.parent[1:]
    start, level = tree.depth[above], height[1:]
    share = np.linspace(0.0, 1.0, _PIECES + 1)
    along = start[:, None] + share * (x - start)[:, None]
    flat = np.broadcast_to(level[:, None], along.shape)
    points = np.stack([along, flat], axis=2)
    across = np.stack([points[:, :-1], points[:, 1:]], axis=2).reshape(-1, 2, 2)
    middle = 0.5 * (share[:-1] + share[1:])
    trait = colours[above][:, None] + middle * (colours[1:] - colours[above])[:, None]
    down = np.stack(
        [np.column_stack([start, height[above]]), np.column_stack([start, level])], axis=1
    )
    drawn = draw_tinted(
        axes,
        np.concatenate([down, across]),
        np.concatenate([colours[above], trait.ravel()]),
        linewidth=min(_WIDEST, max(_THINNEST, _WIDTHS / tree.n_tips)),
        rasterised=tree.n_tips > _MOST_LINES,
    )
    bar = axes.figure.colorbar(drawn.scale, ax=axes, shrink=0.6, aspect=25, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)
    if bar.solids is not None:
        # Else the page shows through between the colours.
        bar.solids.set_edgecolor("face")


def _write_names(axes: "Axes", tree: Tree, height: Array) -> None:
    size = 9.0 if tree.n_tips <= 40 else 7.5
    for node in tree.tips.tolist():
        axes.annotate(
            tree.name[node],
            (float(tree.depth[node]), float(height[node])),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=size,
            annotation_clip=False,
        )
