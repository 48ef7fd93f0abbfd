"""What each further piece of complexity buys: a row for each model, its error along the axis."""

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.labels import label, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE_LETTERS = 34
_MOST_LINES = 3


class Step(NamedTuple):
    """A model among models of increasing size.

    words: What it is made of.
    size: Number of its base kernels.
    error, standard_error: Shares; a standard error that is not finite is not drawn.
    """

    words: str
    size: int
    error: float
    standard_error: float = float("nan")


def error_steps(
    steps: Sequence[Step],
    *,
    knee: int | None = None,
    chosen: int | None = None,
    unit: str = "of rows",
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the error of models of increasing size, one below the other, with standard errors."""
    from matplotlib.ticker import MaxNLocator

    known = [step for step in steps if np.isfinite(step.error)]
    if not known:
        raise InvalidInputError("There is no model with an error to draw.")
    for place in (knee, chosen):
        if place is not None and not 0 <= place < len(steps):
            raise InvalidInputError(f"There is no model {place}; there are {len(steps)}.")
    names = ["\n".join(_wrapped(step.words)) for step in steps]
    heights = _heights(names)
    with figure_style():
        ax = new_axes(ax, figsize=(7.6, 0.9 + 0.24 * heights[-1]))
        _draw_errors(ax, steps, heights, chosen)
        _mark(ax, steps, heights, knee=knee, chosen=chosen)
        ax.set_yticks(heights, names)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(heights[-1] + 1.4, heights[0] - 1.4)
        low, high = ax.get_xlim()
        # Room for the words to the right of the longest bar.
        ax.set_xlim(low, high + 0.22 * (high - low))
        ax.grid(axis="y", visible=False)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
        ax.set_xlabel(f"error in the search's own folds, {unit}")
        if title is not None:
            ax.set_title(label(title, 60))
    ax.set_label(_caption(knee, chosen))
    return ax


def _caption(knee: int | None, chosen: int | None) -> str:
    return (
        "Cross-validated error of the best model of each size, the simplest at the top; bars: one "
        "standard error to each side. These errors guided the search and are therefore optimistic."
        + (" Ring: the knee, after which more complexity buys less." if knee is not None else "")
        + (" Vermilion: the model that was chosen." if chosen is not None else "")
    )


def _wrapped(words: str) -> list[str]:
    """Return a model's words in a few lines of text that is drawn as it stands."""
    lines = wrap(" ".join(words.split()), _LINE_LETTERS) or [" "]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1][: _LINE_LETTERS - 1]}…"]
    return [label(line, _LINE_LETTERS) for line in lines]


def _heights(names: Sequence[str]) -> list[float]:
    """Return where models stand, so that their words have room, in lines of text."""
    heights, edge = [], 0.0
    for name in names:
        n_lines = 1 + name.rstrip("\n").count("\n")
        heights.append(edge + (n_lines + 1) / 2)
        edge += n_lines + 1
    return heights


def _draw_errors(
    ax: "Axes", steps: Sequence[Step], heights: Sequence[float], chosen: int | None
) -> None:
    ax.plot([s.error for s in steps], heights, color=GREY, linewidth=1, alpha=0.4, zorder=1.8)
    for place, (step, height) in enumerate(zip(steps, heights, strict=True)):
        if not np.isfinite(step.error):
            continue
        tint = VERMILION if place == chosen else BLUE
        bar = step.standard_error if np.isfinite(step.standard_error) else 0.0
        ax.errorbar(
            [step.error],
            [height],
            xerr=[bar],
            color=tint,
            marker="o",
            markersize=8,
            elinewidth=1.8,
            capsize=3,
        )


def _mark(
    ax: "Axes",
    steps: Sequence[Step],
    heights: Sequence[float],
    *,
    knee: int | None,
    chosen: int | None,
) -> None:
    for place, (step, height) in enumerate(zip(steps, heights, strict=True)):
        if not np.isfinite(step.error):
            continue
        if place == knee:
            ax.plot(
                [step.error],
                [height],
                "o",
                markersize=15,
                markerfacecolor="none",
                markeredgewidth=1.8,
                color=GREY,
            )
        said = [word for word, where in (("knee", knee), ("chosen", chosen)) if where == place]
        text = ", ".join([percent(step.error), *said])
        bar = step.standard_error if np.isfinite(step.standard_error) else 0.0
        ax.annotate(
            text,
            (step.error + bar, height),
            xytext=(14 if place == knee else 8, 0),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=9.5,
            fontweight="bold" if said else "normal",
            color=VERMILION if place == chosen else GREY,
        )
