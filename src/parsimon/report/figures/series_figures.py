"""Figures of series: a feature on examples, with the place it looks at, and errors of methods."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._style import GREY, VERMILION, figure_style
from parsimon._typing import AnyArray, Array
from parsimon.report.figures.points import colour, label, opacity, sampled_rows, spread_apart
from parsimon.report.figures.search_figures import draw_model, name_models
from parsimon.report.findings import ModelComparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Corners of a drawn line, and marks of a group.
_CORNERS, _MARKS = 500, 400
# What the axis of a spectrum is called; others are shares of a series.
FREQUENCIES = "cycles a step"
_DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1, 1.5)))
# Functions that take one point, and those that take a level.
_POINTS: dict[str, Callable[[Array], int]] = {
    "maximum": lambda up: int(np.argmax(up)),
    "place_of_maximum": lambda up: int(np.argmax(up)),
    "minimum": lambda up: int(np.argmin(up)),
    "place_of_minimum": lambda up: int(np.argmin(up)),
    "first": lambda _: 0,
    "last": lambda up: len(up) - 1,
}
_LEVELS: dict[str, Callable[[Array], float]] = {
    "mean": lambda up: float(np.mean(up)),
    "median": lambda up: float(np.median(up)),
}


@dataclass(frozen=True, eq=False)
class SeriesExample:
    """A series that is drawn as typical of its group.

    values (length,): As they were measured.
    positions, seen (m,): As the feature sees them.
    """

    name: str
    values: Array
    positions: Array
    seen: Array


def feature_of_series(
    examples: Sequence[SeriesExample],
    place: tuple[float, float],
    values: Array,
    groups: AnyArray,
    names: Sequence[str],
    *,
    target: str = "",
    measured: str = "value",
    title: str = "",
    function: str = "",
    axis: str = "",
) -> "Axes":
    """Draw a feature: examples with the place it looks at, what it sees there, and its values.

    groups: Codes of classes, or numbers if there is a `target`.
    title: What it sees, if that is not the series itself, over an `axis`.
    function: What it takes of that; where it is a point or a level, that is marked.
    Shapes: values (n,), groups (n,).
    """
    import matplotlib.pyplot as plt

    is_seen, scale = bool(title), 1.0 if axis == FREQUENCIES else 100.0
    rows = 1.7 if target else 0.35 + 0.3 * len(names)
    heights = [1.7, *([1.1] if is_seen else []), rows]
    with figure_style():
        figure = plt.figure(figsize=(5.6, sum(heights) + 0.8), layout="constrained")
        panels: Any = np.atleast_1d(figure.subplots(len(heights), 1, height_ratios=heights))
        first: Axes = panels[0]
        _draw_examples(first, examples, place, measured)
        if is_seen:
            _draw_seen(panels[1], examples, title, axis, scale)
        _mark_points(panels[int(is_seen)], examples, function, scale)
        if target:
            _draw_numbers(panels[-1], values, groups, target)
        else:
            _draw_groups(panels[-1], values, groups, names)
        panels[-1].set_xlabel("value of the feature")
    whole = place == (0.0, 1.0)
    first.set_label(
        f"Top: the most typical series of {_halves(target) if target else 'each class'}"
        f"{'' if whole else '; the feature looks at the shaded part'}. "
        + (f"Middle: {label(title, 80)}{'' if whole else ' there'}. " if is_seen else "")
        + _marked_words(function)
        + ("Bottom: the feature and " + label(target, 40) if target else "Bottom: its values")
        + (", one mark a series." if target else ", one mark a series; bars are medians.")
    )
    return first


def _halves(target: str) -> str:
    return f"the half with low and of that with high {label(target, 40)}"


def _marked_words(function: str) -> str:
    if function in _POINTS:
        return "The point that it takes is marked. "
    return "Thick lines are the levels that it takes. " if function in _LEVELS else ""


def _draw_examples(
    ax: "Axes", examples: Sequence[SeriesExample], place: tuple[float, float], measured: str
) -> None:
    for code, one in enumerate(examples):
        across = 100.0 * np.arange(len(one.values)) / len(one.values)
        _draw_line(ax, across, one.values, code, label(one.name, 30))
    if place != (0.0, 1.0):
        ax.axvspan(100 * place[0], 100 * place[1], color=GREY, alpha=0.2, linewidth=0)
    ax.set_xlim(0, 100)
    ax.locator_params(axis="y", nbins=5)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    ax.set_xlabel("part of the series")
    ax.set_ylabel(label(measured, 24))
    ax.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=4, borderaxespad=0.2)


def _draw_seen(
    ax: "Axes", examples: Sequence[SeriesExample], title: str, axis: str, scale: float
) -> None:
    low = min(float(one.positions[0]) for one in examples) * scale
    high = max(float(one.positions[-1]) for one in examples) * scale
    for code, one in enumerate(examples):
        _draw_line(ax, one.positions * scale, one.seen, code, "")
    if min(one.seen.min() for one in examples) < 0 < max(one.seen.max() for one in examples):
        ax.axhline(0.0, color=GREY, linewidth=0.8)
    if low < high:
        ax.set_xlim(low, high)
    ax.locator_params(axis="both", nbins=5)
    if scale > 1:
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    ax.set_xlabel(axis.replace("share", "part"))
    ax.set_title(fill(label(title, 120), 66), fontsize=10, fontweight="normal")


def _mark_points(
    ax: "Axes", examples: Sequence[SeriesExample], function: str, scale: float
) -> None:
    """Mark the point that a feature finds, or the level that it takes."""
    for code, one in enumerate(examples):
        across, up = one.positions * scale, one.seen
        if function in _POINTS:
            at = _POINTS[function](up)
            ax.plot(across[at], up[at], "o", color=colour(code), markersize=7, zorder=4)
        elif function in _LEVELS:
            level = float(_LEVELS[function](up))
            ax.plot(across[[0, -1]], [level, level], color=colour(code), linewidth=3, alpha=0.55)


def _draw_line(ax: "Axes", across: Array, up: Array, code: int, name: str) -> None:
    across, up = thinned(across, up)
    style: Any = _DASHES[code % len(_DASHES)]
    single = "." if len(up) == 1 else None
    ax.plot(
        across, up, color=colour(code), linestyle=style, linewidth=1.6, label=name, marker=single
    )


def thinned(across: Array, up: Array) -> tuple[Array, Array]:
    """Return a line with the lowest and highest point of each stretch, in order, if it is long."""
    if len(up) <= _CORNERS:
        return across, up
    kept = []
    for part in np.array_split(np.arange(len(up)), _CORNERS // 2):
        kept += sorted({int(part[np.argmin(up[part])]), int(part[np.argmax(up[part])])})
    return across[kept], up[kept]


def _draw_groups(ax: "Axes", values: Array, groups: AnyArray, names: Sequence[str]) -> None:
    drawn = sampled_rows(groups, _MARKS)
    for code in range(len(names)):
        own = drawn[groups[drawn] == code]
        up = code + 0.5 * (spread_apart(values[own]) - 0.5)
        look: dict[str, Any] = {"color": colour(code), "alpha": opacity(len(drawn))}
        face = "none" if code == 0 else colour(code)
        ax.plot(values[own], up, "o", markersize=4, markerfacecolor=face, **look)
        middle = float(np.median(values[groups == code]))
        ax.plot([middle, middle], [code - 0.42, code + 0.42], color=colour(code), linewidth=2.6)
    ax.set_yticks(range(len(names)), [label(name, 22) for name in names])
    ax.set_ylim(len(names) - 0.45, -0.55)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)


def _draw_numbers(ax: "Axes", values: Array, numbers: AnyArray, target: str) -> None:
    drawn = sampled_rows(np.zeros(len(values), dtype=np.intp), _MARKS)
    ax.plot(values[drawn], numbers[drawn], "o", color=GREY, markersize=4, alpha=opacity(len(drawn)))
    ax.set_ylabel(label(target, 24))


def error_of_methods(comparison: ModelComparison) -> "Axes":
    """Draw the honest error of each method with its interval, the best on top."""
    import matplotlib.pyplot as plt

    models = comparison.models
    with figure_style():
        figure = plt.figure(figsize=(5.6, 0.85 + 0.32 * len(models)), layout="constrained")
        ax = figure.add_subplot()
        for place, model in enumerate(models):
            look: dict[str, Any] = {"color": GREY, "marker": "o", "markersize": 7}
            look["markerfacecolor"] = "none"
            if model.family == "features":
                look = {"color": VERMILION, "marker": "D", "markersize": 8}
                look["markerfacecolor"] = VERMILION
            draw_model(ax, place, model, comparison, **look)
        name_models(ax, [label(model.name, 30) for model in models], comparison, "series")
        for text, model in zip(ax.get_yticklabels(), models, strict=True):
            if model.family == "features":
                text.set_color(VERMILION)
                text.set_fontweight("bold")
    ax.set_label("All methods on the same new series, the best on top, with 95 % intervals.")
    return ax
