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

# The longest arrow reaches this share of the way to the farthest tip; arrows shorter than another
# share of it, or beyond so many, would hide each other.
_REACH = 0.8
_SHORT = 0.2
_MOST_ARROWS = 8


def biplot(
    model: "TreeComponents", components: tuple[int, int], colour: Any, ax: "Axes | None"
) -> "Axes":
    """Draw a fitted analysis; ancestors are where the scores of their descendants put them."""
    first, second = _checked(model, components)
    scores = model.scores_[:, [first, second]]
    with figure_style():
        axes = new_axes(ax, figsize=(6.4, 5.2))
        _draw_branches(axes, model, scores)
        shade = _shades(colour, len(scores))
        x, y = scores.T
        points = axes.scatter(x, y, c=shade, s=26, zorder=3, cmap=_map(colour), linewidth=0)
        if colour is not None:
            axes.figure.colorbar(points, ax=axes)
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
    axes.add_collection(LineCollection(list(ends), colors=GREY, linewidths=0.7, alpha=0.6))


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
    arrows = loadings * (_REACH * np.abs(scores).max() / length.max())
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(arrows))])
    for j in np.argsort(-length, kind="stable")[:_MOST_ARROWS].tolist():
        if length[j] < _SHORT * length.max():
            break
        x, y = arrows[j]
        axes.annotate(
            "",
            xy=(x, y),
            xytext=(0.0, 0.0),
            arrowprops={"arrowstyle": "->", "color": VERMILION, "linewidth": 1.4},
        )
        side = "left" if x >= 0 else "right"
        axes.text(1.03 * x, 1.03 * y, str(names[j]), color=VERMILION, ha=side, va="center")
