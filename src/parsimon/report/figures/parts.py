"""The additive parts of a latent function, one panel each; and what columns add to one row."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.latent_grid import (
    Posterior,
    frame,
    held_row,
    held_words,
    latent,
    rows_on,
    two_values,
)
from parsimon.report.figures.levels import draw_levels, name_levels
from parsimon.report.figures.points import ClassRows, label, number_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CENTRED = " Shifted to mean zero over the rows, since the level belongs to all parts together."


class DrawnPart(NamedTuple):
    """One summand of a latent function.

    label: Its title, for instance the kernel's expression.
    columns: The columns that it depends on.
    posterior: Maps rows of shape (m, d) to its mean and variance, each of shape (m,).
    """

    label: str
    columns: Sequence[int | str]
    posterior: Posterior


def component_panels(
    components: Sequence[DrawnPart],
    points: ClassRows,
    *,
    hold: Any = "typical",
    margin: float = 0.0,
    n_grid: int = 61,
    reach: float | None = None,
    target: str | None = None,
    centred: bool = False,
) -> AnyArray:
    """Draw the posterior of each additive component of the latent function.

    One column gives the mean with a band of two standard deviations, more give contours over the
    first two. A column of two values gives two points with intervals, or a curve for each value.
    Curves share one axis and maps one scale of colours, so that sizes can be compared.

    Shapes: hold (d,).
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    _check(components)
    held = held_row(points, hold)
    pictures = [_asked(component, points, held, margin, n_grid) for component in components]
    across = min(3, len(pictures))
    down = -(-len(pictures) // across)
    end = reach or _reach(pictures, "curve")
    widest = reach or _reach(pictures, "map")
    ticks = MaxNLocator(12, symmetric=True).tick_values(-widest, widest)
    name = "f" if target is None else label(target)
    with figure_style():
        figure = plt.figure(figsize=(4.1 * across, 3.4 * down), layout="constrained")
        panels = np.array([figure.add_subplot(down, across, k + 1) for k in range(len(pictures))])
        for ax, picture, component in zip(panels, pictures, components, strict=True):
            if picture.kind == "map":
                _draw_map(ax, picture, points, np.array(ticks))
            else:
                _draw_curves(ax, picture, points, 1.05 * end)
                ax.set_ylabel(f"part of {name}")
            ax.set_title(label(component.label, 34))
    named = sorted({place for picture in pictures for place in picture.places})
    panels[0].set_label(
        f"{_caption(pictures, points, target)}{_CENTRED if centred else ''}"
        f"{held_words(points, named, held)}"
    )
    return panels


def _caption(pictures: "Sequence[_Picture]", points: ClassRows, target: str | None) -> str:
    parts = "Additive components" if len(pictures) > 1 else "An additive component"
    what = (
        f"the latent function f; above zero speaks for {points.class_title(1, 40)}."
        if target is None
        else f"what is predicted of {label(target, 40)}, around its mean."
    )
    kinds = {picture.kind for picture in pictures}
    words = [f"{parts} of {what}"]
    if kinds & {"curve", "curves"}:
        words.append("Line: posterior mean; band: two standard deviations to each side.")
    if "points" in kinds:
        words.append("Points: posterior mean; bars: two standard deviations to each side.")
    if "map" in kinds:
        words.append("Colours: posterior mean.")
    if len(pictures) > 1:
        words.append("Curves share one axis, maps one scale.")
    return " ".join(words)


def _check(components: Sequence[DrawnPart]) -> None:
    if not components:
        raise InvalidInputError("There is no component to draw.")
    for component in components:
        if not component.columns:
            raise InvalidInputError(
                f"Component {component.label!r} names no column. Leave constant parts out."
            )


def _reach(pictures: "Sequence[_Picture]", kind: str) -> float:
    """Return the greatest absolute value that maps, or all but maps, show; or one."""
    alike = [p for p in pictures if (p.kind == "map") == (kind == "map")]
    ends = [np.abs([p.low.min(), p.high.max()]).max() for p in alike]
    return float(max(ends, default=0.0)) or 1.0


def component_reach(
    components: Sequence[DrawnPart], points: ClassRows, *, hold: Any = "typical", n_grid: int = 25
) -> float:
    """Return the greatest absolute value that panels of these components would show."""
    held = held_row(points, hold)
    pictures = [_asked(component, points, held, 0.0, n_grid) for component in components]
    return max(_reach(pictures, "curve"), _reach(pictures, "map")) if pictures else 1.0


class _Picture(NamedTuple):
    """What a panel shows: `sides` are the places along its columns, answers run over all pairs."""

    kind: str
    places: list[int]
    sides: list[Array]
    mean: Array
    low: Array
    high: Array


def _asked(
    component: DrawnPart, points: ClassRows, held: Array, margin: float, n_grid: int
) -> _Picture:
    places = [points.column(one) for one in component.columns][:2]
    # Columns of two values come last: they are told apart by colour, not along an axis.
    places.sort(key=lambda place: two_values(points.X[:, place]) is not None)
    pairs = [two_values(points.X[:, place]) for place in places]
    sides = [
        np.array(pair) if pair else frame(points.X[:, place], margin, n_grid)
        for place, pair in zip(places, pairs, strict=True)
    ]
    grid = [axis.ravel() for axis in np.meshgrid(*sides)]
    mean, variance = latent(component.posterior, rows_on(grid, places, held))
    n_pairs = sum(pair is not None for pair in pairs)
    kind = ("curve", "map")[len(places) - 1] if not n_pairs else "curves"
    kind = "points" if n_pairs == len(places) else kind
    # A map shows the mean alone, so that the common scale need not hold its band.
    spread = 0 * mean if kind == "map" else 2 * np.sqrt(variance)
    return _Picture(kind, places, sides, mean, mean - spread, mean + spread)


def _draw_curves(ax: "Axes", picture: _Picture, points: ClassRows, reach: float) -> None:
    """Draw along the first column, once for each value of the second if there is one."""
    side = picture.sides[0]
    ax.axhline(0, color=GREY, linewidth=0.9, alpha=0.6)
    levels = picture.sides[1] if len(picture.sides) == 2 else [None]
    shape = (len(levels), len(side))
    answers = (each.reshape(shape) for each in (picture.mean, picture.low, picture.high))
    for row, (mean, low, high) in enumerate(zip(*answers, strict=True)):
        tint = (BLUE, VERMILION)[row]
        level = levels[row]
        name = (
            ""
            if level is None
            else f"{points.title(picture.places[1], 20)} = {number_label(level)}"
        )
        if picture.kind == "points":
            draw_levels(ax, (mean, low, high), tint=tint, name=name, shift=0.12 * (row - 0.5))
            continue
        band = GREY if level is None else tint
        ax.fill_between(side, low, high, color=band, alpha=0.3 if level is None else 0.18, lw=0)
        ax.plot(side, mean, color=tint, linewidth=2.6, label=name)
    if picture.kind == "points":
        name_levels(ax, points, picture.places[0])
    else:
        _draw_rug(ax, points.X[:, picture.places[0]], reach)
        ax.set_xlim(side[0], side[-1])
        ax.set_xlabel(points.title(picture.places[0]))
    ax.set_ylim(-reach, reach)
    if len(levels) == 2:
        ax.legend(loc="best", fontsize=9)


def _draw_rug(ax: "Axes", values: Array, reach: float) -> None:
    ticks = np.quantile(values, np.linspace(0, 1, min(len(values), 200)), method="nearest")
    ax.plot(ticks, np.full(len(ticks), -reach), "|", color=GREY, alpha=0.6, markersize=7)


def _draw_map(ax: Any, picture: _Picture, points: ClassRows, levels: Array) -> None:
    from matplotlib.colors import to_rgba

    # Clear at zero and stronger to both ends: the page shows through where nothing is said.
    middles = (levels[1:] + levels[:-1]) / (2 * levels[-1])
    tints = [to_rgba(VERMILION if m > 0 else BLUE, 0.75 * abs(m)) for m in middles]
    heights = picture.mean.reshape(len(picture.sides[1]), len(picture.sides[0]))
    filled = ax.contourf(*picture.sides, heights, levels=levels, colors=tints)
    inner = [float(level) for level in levels[1:-1] if heights.min() < level < heights.max()]
    if inner:
        lines = ax.contour(*picture.sides, heights, levels=inner, colors=GREY, linewidths=0.9)
        ax.clabel(lines, fmt=number_label, fontsize=8)
    bar = ax.figure.colorbar(filled, ax=ax, pad=0.02)
    bar.outline.set_visible(False)
    ax.grid(visible=False)
    ax.set_xlabel(points.title(picture.places[0]))
    ax.set_ylabel(points.title(picture.places[1]))


class RowBar(NamedTuple):
    """One bar: what it stands for and what it adds; `plain` if it is a sum, not a column's part."""

    name: str
    value: float
    plain: bool = False


def row_bars(bars: Sequence[RowBar], *, reach: float, ends: tuple[str, str]) -> "Axes":
    """Draw what speaks for and against in a row, one bar below the other.

    reach: Of the longest bar of all rows, so that their pictures can be compared.
    ends: What bars to the left and to the right say.
    """
    reach = reach or 1.0
    with figure_style():
        ax = new_axes(figsize=(3.7, 0.5 + 0.29 * len(bars)))
        for place, bar in enumerate(bars):
            tint = GREY if bar.plain else VERMILION if bar.value > 0 else BLUE
            alpha = 0.45 if bar.plain else 0.9
            ax.barh(place, bar.value, height=0.62, color=tint, alpha=alpha, linewidth=0)
            inside = reach * 0.05
            ax.text(
                bar.value + (inside if bar.value >= 0 else -inside), place, _signed(bar.value),
                va="center", ha="left" if bar.value >= 0 else "right", fontsize=10.5,
            )  # fmt: skip
        ax.axvline(0, color=GREY, linewidth=1.2)
        ax.set_yticks(range(len(bars)), [label(bar.name, 22) for bar in bars], fontsize=12)
        ax.set_ylim(len(bars) - 0.4, -0.6)
        ax.set_xlim(-2 * reach, 2 * reach)
        ax.set_xticks([-0.8 * reach, 0.8 * reach], ends, fontsize=11)
        ax.tick_params(length=0)
        ax.grid(visible=False)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
    return ax


def _signed(value: float) -> str:
    text = f"{value:+.2f}" if abs(value) < 10 else f"{value:+.3g}"
    if abs(value) >= 1000:
        text = f"{value:+,.0f}"
    return text.replace("-", "−")
