"""Pictures: a tree from left to right with a trait as colour, and scores of tips with loadings."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._checks import finite_vector
from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes, sequential_colours
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.phylo._tips import feature_names
from parsimon.phylo.tree import Tree, children_lists, on_path_to

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
    for shade in kept:
        ends = join_pieces(pieces[tint == shade])
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


def join_pieces(ends: Array) -> Array:
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
            _draw_plain(axes, tree, height)
        else:
            _draw_coloured(axes, tree, height, colours, label)
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
    from parsimon.phylo import ancestral_states

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
    children, waiting, met = children_lists(tree.parent), [0], []
    while waiting:
        node = waiting.pop()
        if children[node]:
            waiting.extend(reversed(children[node]))
        else:
            met.append(node)
    return met


def _draw_plain(axes: "Axes", tree: Tree, height: Array) -> None:
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


def _draw_coloured(axes: "Axes", tree: Tree, height: Array, colours: Array, label: str) -> None:
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


# Arrows reach this share of the way to the farthest tips; arrows shorter than another share of the
# longest, or beyond so many, would hide each other.
_REACH = 0.95
_SHORT = 0.2
_MOST_ARROWS = 8
# Labels: inches of a letter, of a line and before a label; how many letters and which share of the
# width they may have.
_LETTER, _LINE, _BESIDE = 0.09, 0.2, 0.12
_LETTERS, _STRIP = 16, 0.26
# How far a label follows the direction of its arrow.
_BEND = 0.4
# Tips from which points and branches are drawn smaller.
_MANY = 120


def biplot(model: Any, components: tuple[int, int], colour: Any, ax: "Axes | None") -> "Axes":
    """Draw a fitted analysis; ancestors are where the scores of their descendants put them."""
    first, second = _check_components(model, components)
    scores = model.scores_[:, [first, second]]
    with figure_style():
        axes = new_axes(ax, figsize=(7.2, 5.2))
        _draw_branches(axes, model, scores)
        shade = BLUE if colour is None else finite_vector(colour, "colour")
        if colour is not None and len(shade) != len(scores):
            raise InvalidInputError(f"colour has {len(shade)} numbers for {len(scores)} rows.")
        x, y = scores.T
        size = 18 if len(scores) > _MANY else 30
        shades = None if colour is None else sequential_colours()
        points = axes.scatter(x, y, c=shade, s=size, zorder=3, cmap=shades, linewidth=0)
        if colour is not None:
            bar = axes.figure.colorbar(points, ax=axes, pad=0.02)
            bar.set_label(str(getattr(colour, "name", None) or ""))
            bar.outline.set_visible(False)
        _draw_arrows(axes, model, (first, second), scores)
        share = model.explained_variance_ratio_
        axes.set_xlabel(f"component {first + 1} ({share[first]:.0%})")
        axes.set_ylabel(f"component {second + 1} ({share[second]:.0%})")
        axes.set_title(
            "principal components" if model.tree is None else f"lambda {model.lambda_:.3g}"
        )
    return axes


def _check_components(model: Any, components: tuple[int, int]) -> tuple[int, int]:
    there = range(model.scores_.shape[1])
    first, second = components
    if first not in there or second not in there:
        raise InvalidInputError(
            f"components must be two numbers below {len(there)}, the components there are; got "
            f"{components!r}."
        )
    return first, second


def _draw_branches(axes: "Axes", model: Any, scores: Array) -> None:
    from matplotlib.collections import LineCollection

    gaussian = model.gaussian_
    if gaussian is None:
        return
    place = gaussian.conditional(scores).mean
    child = np.flatnonzero(on_path_to(gaussian.tree.parent, gaussian.nodes))[1:]
    ends = np.stack([place[gaussian.tree.parent[child]], place[child]], axis=1)
    strength = 0.3 if len(scores) > _MANY else 0.55
    axes.add_collection(LineCollection(list(ends), colors=GREY, linewidths=0.7, alpha=strength))


def _draw_arrows(axes: "Axes", model: Any, pair: tuple[int, int], scores: Array) -> None:
    loadings = model.loadings_[:, list(pair)]
    length = np.linalg.norm(loadings, axis=1)
    if not length.max(initial=0.0) > 0:
        return
    longest = np.argsort(-length, kind="stable")[:_MOST_ARROWS]
    shown = longest[length[longest] >= _SHORT * length.max()]
    far = np.abs(scores).max(axis=0)
    extent = np.abs(loadings[shown]).max(axis=0)
    used = (extent > 0) & (far > 0)
    if not used.any():
        return
    room = far[used] / extent[used]
    heads = loadings[shown] * (_REACH * room.min())
    names = feature_names(model)
    labels = [names[j] for j in shown]
    for head in heads:
        axes.annotate(
            "",
            xy=tuple(head),
            xytext=(0.0, 0.0),
            arrowprops={"arrowstyle": "-|>", "color": VERMILION, "linewidth": 1.8},
            zorder=4,
        )
    _draw_labels(axes, heads, labels, np.vstack([scores, heads, np.zeros((1, 2))]))


def _draw_labels(axes: "Axes", heads: Array, names: list[str], inside: Array) -> None:
    """Write labels in strips beside everything else, where they cover neither tips nor labels."""
    (left, bottom), (right, top) = _widen(inside.min(axis=0), inside.max(axis=0))
    # Layout may take a tenth of the axes later.
    inches = 0.9 * np.array(axes.get_window_extent().size) / axes.figure.dpi
    most = max(min(int(_STRIP * inches[0] / _LETTER), _LETTERS), 2)
    labels = [name if len(name) <= most else name[: most - 1] + "…" for name in names]
    on_right = heads[:, 0] >= 0
    sides = [np.flatnonzero(~on_right), np.flatnonzero(on_right)]
    letters = [max((len(labels[row]) for row in rows), default=0) for rows in sides]
    shares = (_LETTER * np.array(letters) + _BESIDE) / inches[0]
    unit = (right - left) / (1.0 - shares.sum())
    axes.set_xlim(left - unit * shares[0], right + unit * shares[1])
    axes.set_ylim(bottom, top)
    beside = unit * _BESIDE / inches[0]
    gap = (top - bottom) * _LINE / inches[1]
    for rows, edge in zip(sides, (left - beside, right + beside), strict=True):
        wanted = _towards(heads[rows], edge, bottom + gap, top - gap)
        for row, height in zip(rows, _spread(wanted, bottom, top, gap), strict=True):
            _write(axes, labels[row], heads[row], (edge, float(height)))


def _widen(low: Array, high: Array) -> tuple[Array, Array]:
    """Return corners with some room above and below, and with none of both sides zero."""
    size = np.where(high > low, high - low, 2.0)
    room = np.where(high > low, [0.0, 0.04], 0.5) * size
    return low - room, high + room


def _towards(heads: Array, edge: float, bottom: float, top: float) -> Array:
    """Return heights of labels: with the arrows to the edge, but not far, as some are steep."""
    run = np.maximum(np.abs(heads[:, 0]), 1e-9 * abs(edge))
    beyond = np.clip(heads[:, 1] * (abs(edge) / run), bottom, top)
    return heads[:, 1] + _BEND * (beyond - heads[:, 1])


def _write(axes: "Axes", label: str, head: Array, place: tuple[float, float]) -> None:
    axes.annotate(
        label,
        xy=(head[0], head[1]),
        xytext=place,
        color=VERMILION,
        ha="left" if head[0] >= 0 else "right",
        va="center",
        arrowprops={
            "arrowstyle": "-",
            "color": VERMILION,
            "linewidth": 0.8,
            "alpha": 0.6,
            "shrinkA": 1.0,
            "shrinkB": 0.0,
        },
    )


def _spread(wanted: Array, bottom: float, top: float, gap: float) -> Array:
    """Return heights near the wanted ones, in their order, a gap apart and inside."""
    from scipy.optimize import isotonic_regression

    gap = min(gap, (top - bottom) / max(len(wanted), 1))
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    # The nearest heights that are a gap apart, in the sense of least squares.
    apart = isotonic_regression(wanted[order] - steps).x if len(wanted) else steps
    heights = np.empty(len(wanted))
    heights[order] = np.clip(apart, bottom + 0.5 * gap, top - 0.5 * gap - steps[-1:].sum()) + steps
    return heights
