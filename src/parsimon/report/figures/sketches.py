"""Sketches for explanations: how folds are cut, and how the parts work together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.points import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS = ("table", "language of models", "search", "honest estimate", "checks", "report")


def folds_sketch(n_folds: int = 5, *, ax: "Axes | None" = None) -> "Axes":
    """Draw how cross-validation uses every part once for validation."""
    from matplotlib.patches import Rectangle

    if n_folds < 2:
        raise InvalidInputError(f"Cross-validation needs two folds or more, got {n_folds}.")
    with figure_style():
        ax = new_axes(ax, figsize=(5.6, 0.7 + 0.36 * n_folds))
        for turn in range(n_folds):
            for part in range(n_folds):
                held_out = turn == part
                ax.add_patch(
                    Rectangle(
                        (part + 0.03, turn + 0.14),
                        0.94,
                        0.72,
                        facecolor=VERMILION if held_out else BLUE,
                        alpha=1.0 if held_out else 0.28,
                        linewidth=0,
                    )
                )
        ax.text(0.5, 0.5, "validate", color="white", ha="center", va="center", fontweight="bold")
        ax.text(1.5, 0.5, "train", ha="center", va="center")
        middles = [part + 0.5 for part in range(n_folds)]
        numbers = [str(part + 1) for part in range(n_folds)]
        ax.set_yticks(middles, numbers)
        ax.set_ylabel("turn")
        ax.set_xticks(middles, numbers)
        ax.set_xlabel("part of the rows")
        ax.set(xlim=(0, n_folds), ylim=(n_folds, 0))
        ax.tick_params(length=0)
        ax.grid(visible=False)
        for side in ax.spines.values():
            side.set_visible(False)
    ax.set_label(
        f"Each of {n_folds} parts is used once for validation and {n_folds - 1} times for training."
    )
    return ax


def schematic(steps: Sequence[str] = STEPS, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the steps of an analysis as a chain of boxes."""
    from matplotlib.patches import FancyBboxPatch

    if not steps:
        raise InvalidInputError("A schematic needs one step or more, got none.")
    names = [_broken(label(step, 24)) for step in steps]
    with figure_style():
        ax = new_axes(ax, figsize=(1.5 * len(names) + 0.2, 1.2))
        for place, name in enumerate(names):
            last = place == len(names) - 1
            box = FancyBboxPatch(
                (place + 0.1, 0.2),
                0.7,
                0.6,
                boxstyle="round,pad=0.04",
                facecolor=VERMILION if last else BLUE,
                linewidth=0,
            )
            ax.add_patch(box)
            ax.text(
                place + 0.45, 0.5, name, color="white", ha="center", va="center", fontweight="bold"
            )
            if not last:
                ax.annotate(
                    "",
                    xy=(place + 1.06, 0.5),
                    xytext=(place + 0.84, 0.5),
                    arrowprops={"arrowstyle": "-|>", "color": GREY, "linewidth": 1.8},
                )
        ax.set(xlim=(0, len(names) - 0.1), ylim=(0, 1))
        ax.axis("off")
    ax.set_label("The steps of an analysis, in order.")
    return ax


def _broken(name: str) -> str:
    """Break a name of several words near its middle."""
    words = name.split(" ")
    if len(name) <= 10 or len(words) == 1:
        return name
    cuts = range(1, len(words))
    best = min(cuts, key=lambda k: max(len(" ".join(words[:k])), len(" ".join(words[k:]))))
    return "\n".join([" ".join(words[:best]), " ".join(words[best:])])
