"""A search drawn as a tree: what was tried, what was kept, what won."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.labels import label, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW_INCHES = 0.27
_LETTER_INCHES = 0.083
_GAP_LETTERS = 5.0


class SearchNode(NamedTuple):
    """A candidate of a search.

    label: What was tried.
    parent: Place of the parent in the list, which comes before its children; None for a root.
    error: Between 0 and 1; None if it was not measured.
    on_path: Was kept on the way to the result.
    best: Is the result.
    """

    label: str
    parent: int | None = None
    error: float | None = None
    on_path: bool = False
    best: bool = False


class _Drawn(NamedTuple):
    """A node that has a place: `above` is the place of its parent in the list of drawn nodes."""

    text: str
    above: int | None
    depth: int
    tint: str
    weight: str


def search_tree(
    nodes: Sequence[SearchNode],
    *,
    most_children: int = 5,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a search from left to right, one column for each level.

    The path to the result is blue and the result vermilion; children are sorted by error, the
    best at the top. Every leaf has a row of its own and every parent stands amid its children.
    """
    _check(nodes, most_children)
    drawn = _pruned(nodes, most_children)
    rows = _rows(drawn)
    starts, widths = _columns(drawn)
    with figure_style():
        size = (_LETTER_INCHES * (starts[-1] + widths[-1]) + 0.4, _ROW_INCHES * (rows.max() + 2))
        ax = new_axes(ax, figsize=(max(size[0], 3.0), max(size[1], 1.4)))
        for place, node in enumerate(drawn):
            if node.above is not None:
                _draw_edge(ax, drawn, place, rows, starts, widths)
        for place, node in enumerate(drawn):
            _draw_node(ax, node, starts[node.depth], rows[place])
        ax.set_xlim(-1.5, starts[-1] + widths[-1])
        ax.set_ylim(rows.max() + 0.8, -0.8)
        ax.axis("off")
        if title is not None:
            ax.set_title(label(title, 60))
    hidden = len(nodes) - sum(not node.text.startswith("+ ") for node in drawn)
    ax.set_label(
        f"The search tried {len(nodes)} candidates, from left to right. Blue: kept on the way; "
        f"vermilion: the result."
        + (f" {hidden} worse candidates are counted, not drawn." if hidden else "")
    )
    return ax


def _check(nodes: Sequence[SearchNode], most_children: int) -> None:
    if not nodes or most_children < 1:
        raise InvalidInputError(
            f"A tree needs one node and most_children of 1 or more; got {len(nodes)} nodes and "
            f"{most_children}."
        )
    for place, node in enumerate(nodes):
        if node.parent is not None and not 0 <= node.parent < place:
            raise InvalidInputError(
                f"Node {place} has parent {node.parent}; parents must come before their children."
            )


def _pruned(nodes: Sequence[SearchNode], most: int) -> list[_Drawn]:
    """Return the nodes to draw, depth first, children by error."""
    children: dict[int | None, list[int]] = {}
    for place, node in enumerate(nodes):
        children.setdefault(node.parent, []).append(place)
    alive = _ancestors_of_path(nodes)
    drawn: list[_Drawn] = []

    def grow(parent: int | None, above: int | None, depth: int) -> None:
        ranked = sorted(children.get(parent, []), key=lambda place: _rank(nodes[place]))
        shown = [p for k, p in enumerate(ranked) if k < most or p in alive]
        for place in shown:
            drawn.append(_dressed(nodes[place], above, depth))
            grow(place, len(drawn) - 1, depth + 1)
        if len(shown) < len(ranked):
            more = f"+ {len(ranked) - len(shown)} worse"
            drawn.append(_Drawn(more, above, depth, "", "normal"))

    grow(None, None, 0)
    return drawn


def _ancestors_of_path(nodes: Sequence[SearchNode]) -> set[int]:
    alive: set[int] = set()
    for place in reversed(range(len(nodes))):
        if nodes[place].on_path or nodes[place].best or place in alive:
            alive.add(place)
            parent = nodes[place].parent
            if parent is not None:
                alive.add(parent)
    return alive


def _rank(node: SearchNode) -> float:
    return np.inf if node.error is None else node.error


def _dressed(node: SearchNode, above: int | None, depth: int) -> _Drawn:
    text = label(node.label, 40)
    if node.error is not None:
        text = f"{text}  {percent(node.error)}"
    tint = VERMILION if node.best else BLUE if node.on_path else GREY
    return _Drawn(text, above, depth, tint, "bold" if node.best else "normal")


def _rows(drawn: Sequence[_Drawn]) -> Array:
    """Return heights: leaves one below the other, parents amid their first and last child."""
    members: dict[int, list[int]] = {}
    for place, node in enumerate(drawn):
        if node.above is not None:
            members.setdefault(node.above, []).append(place)
    rows = np.zeros(len(drawn))
    leaves = (place for place in range(len(drawn)) if place not in members)
    for height, place in enumerate(leaves):
        rows[place] = height
    for place in sorted(members, reverse=True):
        rows[place] = (rows[members[place][0]] + rows[members[place][-1]]) / 2
    return rows


def _columns(drawn: Sequence[_Drawn]) -> tuple[Array, Array]:
    """Return where each level begins and how wide it is, in letters."""
    deepest = max(node.depth for node in drawn)
    widths = np.array(
        [max(len(node.text) for node in drawn if node.depth == d) + 2 for d in range(deepest + 1)],
        dtype=float,
    )
    starts = np.concatenate([[0.0], np.cumsum(widths + _GAP_LETTERS)[:-1]])
    return starts, widths


def _draw_edge(
    ax: "Axes", drawn: Sequence[_Drawn], place: int, rows: Array, starts: Array, widths: Array
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    node = drawn[place]
    above = drawn[node.above or 0]
    x0, x1 = starts[above.depth] + min(len(above.text) + 2, widths[above.depth]), starts[node.depth]
    turn = starts[above.depth] + widths[above.depth]
    y0, y1 = rows[node.above or 0], rows[place]
    middle = (turn + x1) / 2
    followed = node.tint in {BLUE, VERMILION}
    path = Path(
        [(x0, y0), (turn, y0), (middle, y0), (middle, y1), (x1, y1)],
        [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
    )
    ax.add_patch(
        PathPatch(
            path,
            facecolor="none",
            edgecolor=node.tint if followed else GREY,
            linewidth=2.4 if followed else 0.9,
            alpha=1.0 if followed else 0.6,
            zorder=2 if followed else 1,
        )
    )


def _draw_node(ax: "Axes", node: _Drawn, across: float, height: float) -> None:
    if node.tint:
        # A full disc on the path and a ring elsewhere: legible without colour.
        fill = "none" if node.tint == GREY else node.tint
        size = 9 if node.tint == VERMILION else 6
        ax.plot(
            [across],
            [height],
            marker="o",
            markersize=size,
            markerfacecolor=fill,
            markeredgecolor=node.tint,
            zorder=3,
        )
    ax.text(
        across + 1,
        height,
        node.text,
        va="center",
        fontsize=10,
        color=node.tint or GREY,
        fontweight=node.weight,
        fontstyle="normal" if node.tint else "italic",
    )
