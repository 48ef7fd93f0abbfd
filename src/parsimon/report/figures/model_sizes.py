"""Errors of models against the bits that it takes to write them down."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.points import label
from parsimon.report.findings import ComparedModel, Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where a name may stand beside its point, in points of type: right, left, above, below.
_PLACES = ((9, 7), (9, -11), (-9, 7), (-9, -11), (9, 20), (-9, 20), (9, -24), (-9, -24))
_LETTER, _LINE = 5.6, 12.0


def error_against_size(comparison: Comparison, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the honest error of each model, with its interval, against its size in bits."""
    models = [model for model in comparison.models if np.isfinite(model.size)]
    if not models:
        raise InvalidInputError("There is no model with a size to draw.")
    with figure_style():
        ax = new_axes(ax, figsize=(7.6, 4.6))
        ax.set_xscale("log")
        for model in models:
            _draw(ax, model)
        sizes = [max(1.0, model.size) for model in models]
        ax.set_xlim(min(sizes) / 2.2, max(sizes) * 4)
        low = min(model.error.low for model in models)
        high = max(model.error.high for model in models)
        room = 0.08 * (high - low or 0.1)
        ax.set_ylim(max(0.0, low - room), high + room)
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.set_xlabel("bits that it takes to write the model down")
        numbers = comparison.metric == "variance left"
        ax.set_ylabel("variance left unexplained" if numbers else "wrong answers on new rows")
        _name(ax, models)
    ax.set_label(
        "Honest error of each model against its size; bars: 95 % intervals. Vermilion: the model "
        "that is recommended; blue: those that cannot be told from the best; grey rings: the "
        "others. Small and low is good."
    )
    return ax


def _draw(ax: "Axes", model: ComparedModel) -> None:
    tint = _tint(model)
    below = max(0.0, model.error.estimate - model.error.low)
    above = max(0.0, model.error.high - model.error.estimate)
    ax.errorbar(
        [max(1.0, model.size)],
        [model.error.estimate],
        yerr=[[below], [above]],
        color=tint,
        marker="D" if model.recommended else "o",
        markersize=10 if model.recommended else 7,
        # A ring is told from a disc without colour.
        markerfacecolor=tint if model.is_level else "none",
        elinewidth=1.4,
        capsize=3,
        zorder=3 if model.recommended else 2,
    )


def _tint(model: ComparedModel) -> str:
    if model.recommended:
        return VERMILION
    return BLUE if model.is_level else GREY


def _name(ax: "Axes", models: Sequence[ComparedModel]) -> None:
    """Write each name beside its point, where it covers no other."""
    to_points: Any = ax.transData.transform
    scale = 72 / ax.figure.dpi
    spots = [to_points((max(1.0, one.size), one.error.estimate)) * scale for one in models]
    taken = [(x - 6, x + 6, y - 6, y + 6) for x, y in spots]
    for model, (x, y) in sorted(zip(models, spots, strict=True), key=lambda one: -one[1][1]):
        text = label(model.name, 26)
        width = _LETTER * len(text)
        boxes = [_box(x + dx, y + dy, width, left=dx < 0) for dx, dy in _PLACES]
        place = min(range(len(boxes)), key=lambda k: (_overlap(boxes[k], taken), k))
        taken.append(boxes[place])
        dx, dy = _PLACES[place]
        ax.annotate(
            text,
            (max(1.0, model.size), model.error.estimate),
            xytext=(dx, dy),
            textcoords="offset points",
            ha="right" if dx < 0 else "left",
            va="baseline",
            fontsize=9.5,
            color=_tint(model),
            fontweight="bold" if model.recommended else "normal",
        )


def _box(x: float, y: float, width: float, *, left: bool) -> tuple[float, float, float, float]:
    return (x - width, x, y, y + _LINE) if left else (x, x + width, y, y + _LINE)


def _overlap(
    box: tuple[float, float, float, float], taken: Sequence[tuple[float, float, float, float]]
) -> float:
    """Return the area that a box shares with others."""
    shared = 0.0
    for x0, x1, y0, y1 in taken:
        across = min(box[1], x1) - max(box[0], x0)
        along = min(box[3], y1) - max(box[2], y0)
        shared += max(0.0, across) * max(0.0, along)
    return shared
