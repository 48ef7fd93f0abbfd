"""Scores of tips joined by their tree, with the columns as arrows."""

from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes, sequential_colours
from parsimon._typing import Array
from parsimon._validation import finite_vector
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parsimon.phylo.components import TreeComponents

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


def biplot(
    model: "TreeComponents", components: tuple[int, int], colour: Any, ax: "Axes | None"
) -> "Axes":
    """Draw a fitted analysis; ancestors are where the scores of their descendants put them."""
    first, second = _checked(model, components)
    scores = model.scores_[:, [first, second]]
    with figure_style():
        axes = new_axes(ax, figsize=(7.2, 5.2))
        _draw_branches(axes, model, scores)
        shade = _shades(colour, len(scores))
        x, y = scores.T
        size = 18 if len(scores) > _MANY else 30
        points = axes.scatter(x, y, c=shade, s=size, zorder=3, cmap=_map(colour), linewidth=0)
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


def _checked(model: "TreeComponents", components: tuple[int, int]) -> tuple[int, int]:
    there = range(model.scores_.shape[1])
    first, second = components
    if first not in there or second not in there:
        raise InvalidInputError(
            f"components must be two numbers below {len(there)}, the components there are; got "
            f"{components!r}."
        )
    return first, second


def _draw_branches(axes: "Axes", model: "TreeComponents", scores: Array) -> None:
    from matplotlib.collections import LineCollection

    gaussian = model._gaussian
    if gaussian is None:
        return
    place = gaussian.conditional(scores).mean
    used = _ancestors(gaussian.tree.parent, gaussian.nodes)
    child = used[used > 0]
    ends = np.stack([place[gaussian.tree.parent[child]], place[child]], axis=1)
    strength = 0.3 if len(scores) > _MANY else 0.55
    axes.add_collection(LineCollection(list(ends), colors=GREY, linewidths=0.7, alpha=strength))


def _ancestors(parent: Any, nodes: Any) -> Any:
    """Return the nodes and all that are above them, ascending."""
    used = np.zeros(len(parent), dtype=np.bool_)
    used[nodes] = True
    for node in range(len(parent) - 1, 0, -1):
        if used[node]:
            used[parent[node]] = True
    return np.flatnonzero(used)


def _shades(colour: Any, n: int) -> Any:
    if colour is None:
        return BLUE
    values = finite_vector(colour, "colour")
    if len(values) != n:
        raise InvalidInputError(f"colour has {len(values)} numbers for {n} rows.")
    return values


def _map(colour: Any) -> Any:
    return None if colour is None else sequential_colours()


def _draw_arrows(
    axes: "Axes", model: "TreeComponents", pair: tuple[int, int], scores: Array
) -> None:
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
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(loadings))])
    labels = [str(names[j]) for j in shown]
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
    (left, bottom), (right, top) = _widened(inside.min(axis=0), inside.max(axis=0))
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


def _widened(low: Array, high: Array) -> tuple[Array, Array]:
    """Return corners with some room above and below, and with none of both sides zero."""
    size = np.where(high > low, high - low, 2.0)
    room = np.where(high > low, [0.0, 0.04], 0.5) * size
    return low - room, high + room


def _towards(heads: Array, edge: float, bottom: float, top: float) -> Array:
    """Return heights of labels: with the arrows to the edge, but not far, as some are steep."""
    run = np.maximum(np.abs(heads[:, 0]), 1e-9 * abs(edge))
    beyond = np.clip(heads[:, 1] * (abs(edge) / run), bottom, top)
    heights: Array = heads[:, 1] + _BEND * (beyond - heads[:, 1])
    return heights


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
