"""What more complexity buys in the ROC plane: one staircase for each level, nested.

The three objectives in one picture are drawn by `parsimon.pareto.Front.plot` (``kind="3d"``, or
the plane of both rates with complexity as colour).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from parsimon._checks import finite_vector
from parsimon._style import GREY, VERMILION, figure_style, new_axes, sequential_colours
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Front
from parsimon.pareto.front import number
from parsimon.roc import front_area

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LEVELS = 5


def plot_roc_levels(
    front: Front,
    *,
    levels: Sequence[float] | None = None,
    chosen: int | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the rates that solutions up to a complexity attain, for rising complexities."""
    tpr, fpr, complexity = _rates(front)
    if levels is None:
        chosen_levels = complexity_levels(complexity)
    else:
        chosen_levels = np.unique(finite_vector(levels, "levels"))
    with figure_style():
        axes = new_axes(ax, figsize=(5.6, 5.4))
        shades = sequential_colours()(np.linspace(0.0, 1.0, len(chosen_levels)))
        inner = np.array([0.0, 1.0]), np.array([0.0, 0.0])
        for level, shade in zip(chosen_levels, shades, strict=True):
            within = complexity <= level
            edge = staircase(fpr[within], tpr[within])
            area = front_area(fpr[within], tpr[within]) if within.any() else 0.0
            axes.plot(*edge, color=shade, zorder=2, label=f"up to {number(level)}: area {area:.2f}")
            if level > chosen_levels[0]:
                # The band that this level adds: along its edge and back along the one before.
                band = [
                    np.concatenate([one, back[::-1]]) for one, back in zip(edge, inner, strict=True)
                ]
                axes.fill(*band, color=shade, alpha=0.35, linewidth=0, zorder=1)
            inner = edge
        axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1.2, label="chance")
        if chosen is not None:
            _mark(axes, front, chosen)
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        axes.set_xlabel("false positive rate (lower is better)")
        axes.set_ylabel("true positive rate (higher is better)")
        axes.set_title("What complexity buys")
        axes.legend(title="complexity", loc="lower right", alignment="left", reverse=True)
    return axes


def complexity_levels(complexity: Array) -> Array:
    """Return at most five complexities that occur, spread evenly over log rank."""
    occurring = np.unique(complexity[complexity > 0])
    if not len(occurring):
        return np.zeros(1)
    ranks = np.unique(np.geomspace(1, len(occurring), MOST_LEVELS).round().astype(np.intp))
    levels: Array = occurring[ranks - 1]
    return levels


def staircase(fpr: Array, tpr: Array) -> tuple[Array, Array]:
    """Return the edge of what points strictly dominate, from (0, 0) to (1, 1)."""
    order = np.lexsort((tpr, fpr))
    across = np.concatenate([[0.0], fpr[order], [1.0]])
    up = np.maximum.accumulate(np.concatenate([[0.0], tpr[order], [1.0]]))
    return np.repeat(across, 2)[1:], np.repeat(up, 2)[:-1]


def _rates(front: Front) -> tuple[Array, Array, Array]:
    if not {"tpr", "fpr", "complexity"} <= set(front.names):
        raise InvalidInputError(
            "ROC levels need the objectives tpr, fpr and complexity, which a search with two "
            f"classes has; this front has {', '.join(front.names)}."
        )
    tpr, fpr, complexity = (
        front.values[:, front.directions.position(name)] for name in ("tpr", "fpr", "complexity")
    )
    return tpr, fpr, complexity


def _mark(axes: "Axes", front: Front, chosen: int) -> None:
    point = front[int(chosen)].objectives
    axes.scatter(
        point["fpr"],
        point["tpr"],
        s=110,
        facecolor="none",
        edgecolor=VERMILION,
        linewidth=2.4,
        zorder=5,
        label=f"chosen, complexity {number(point['complexity'])}",
    )
