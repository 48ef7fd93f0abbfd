"""A numeric target: predicted numbers along one column or two, and against what was observed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import finite_vector
from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes, sequential_colours
from parsimon._typing import Array, Mask
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
from parsimon.report.figures.levels import (
    count_words,
    draw_level,
    draw_levels,
    legend_above,
    name_levels,
)
from parsimon.report.figures.points import (
    MOST_VECTOR_MARKS,
    ClassRows,
    label,
    number_label,
    opacity,
    spread_apart,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAND = "where the mean lies, about 95 % sure; single rows scatter more"


@dataclass(frozen=True, eq=False)
class NumberRows:
    """Rows of a table with a numeric target, ready to be drawn.

    Shapes: X (n, d).

    y (n,): The target.
    names: One for each column; without them x1, x2, ...
    target: The target's name.
    most_marks: Of more rows than these a sample is drawn as marks.
    """

    X: Any
    y: Any
    names: Sequence[str] = field(default=(), kw_only=True)
    target: str = field(default="y", kw_only=True)
    most_marks: int | None = field(default=None, kw_only=True)
    points: ClassRows = field(init=False, repr=False)

    def __post_init__(self) -> None:
        y = finite_vector(self.y, "y")
        points = ClassRows(self.X, np.zeros(len(y)), names=self.names, most_marks=self.most_marks)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "y", y)

    @property
    def title(self) -> str:
        """The target's name as a figure shows it."""
        return label(self.target) or "y"


def regression_1d(
    posterior: Posterior,
    rows: NumberRows,
    *,
    column: int | str | None = None,
    by: int | str | None = None,
    hold: Any = "typical",
    margin: float = 0.05,
    n_grid: int = 128,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the predicted number along one column, with its band and the rows.

    A column of two values gives two points with bars instead of a curve.
    """
    points, held = rows.points, held_row(rows.points, hold)
    place = points.column(column)
    with figure_style():
        if by is None and two_values(points.X[:, place]) is not None:
            ax = new_axes(ax, figsize=(4.2, 3.7))
            said = _draw_two(ax, posterior, rows, place, held)
        else:
            ax = new_axes(ax, figsize=(5.6, 3.7))
            grid = frame(points.X[:, place], margin, n_grid)
            said = _draw_curves(ax, posterior, rows, [place, by], grid=grid, held=held)
        ax.set_ylabel(rows.title)
        if title is not None:
            ax.set_title(label(title, 60), pad=8 if by is None else 24)
    shown = [place] if by is None else [place, points.column(by)]
    ax.set_label(f"{said}{points.marks_words()}{held_words(points, shown, held)}")
    return ax


def _draw_two(ax: "Axes", posterior: Posterior, rows: NumberRows, place: int, held: Array) -> str:
    points = rows.points
    levels = np.array(two_values(points.X[:, place]))
    mean, variance = latent(posterior, rows_on([levels], [place], held))
    marked = points.marked
    at = (
        np.searchsorted(levels, points.X[marked, place]) + 0.5 * spread_apart(rows.y[marked]) - 0.25
    )
    _draw_rows(ax, at, rows.y[marked])
    reach = 2 * np.sqrt(variance)
    draw_levels(ax, (mean, mean - reach, mean + reach))
    name_levels(ax, points, place)
    return (
        f"Predicted {label(rows.target, 40)} at both values of {points.title(place, 60)}. Points: "
        f"mean; bars: {_BAND}. Rings: the rows."
    )


def _draw_curves(
    ax: "Axes",
    posterior: Posterior,
    rows: NumberRows,
    columns: Sequence[int | str | None],
    *,
    grid: Array,
    held: Array,
) -> str:
    points = rows.points
    place, by = points.column(columns[0]), columns[1]
    levels = None if by is None else two_values(points.X[:, points.column(by)])
    if by is not None and levels is None:
        raise InvalidInputError(f"Column {by!r} of `by` does not have two distinct values.")
    marked, pair = points.marked, two_values(points.X[:, place])
    if pair is None:
        _draw_rows(ax, points.X[marked, place], rows.y[marked])
    else:
        grid = np.array(pair)
    for level, shift in zip(levels or (None,), (-0.1, 0.1), strict=False):
        asked = rows_on([grid], [place], held)
        name = ""
        if level is not None and by is not None:
            values = points.X[:, points.column(by)]
            asked[:, points.column(by)] = level
            name = f"{points.title(points.column(by), 24)} = {count_words(values, level)}"
        mean, variance = latent(posterior, asked)
        reach = 2 * np.sqrt(variance)
        if level is None:
            ax.fill_between(grid, mean - reach, mean + reach, color=GREY, alpha=0.3, linewidth=0)
            ax.plot(grid, mean, color=BLUE, linewidth=2.8)
        else:
            along = grid if pair is None else None
            draw_level(ax, along, (mean, mean - reach, mean + reach), shift=shift, name=name)
    if pair is None:
        ax.set_xlim(grid[0], grid[-1])
        ax.set_xlabel(points.title(place))
    else:
        name_levels(ax, points, place)
    if levels:
        legend_above(ax)
    each = f", {points.split_words(points.column(by))}" if levels else ""
    if pair is not None:
        return (
            f"Predicted {label(rows.target, 40)} {points.split_words(place)}{each}. Points: mean; "
            f"bars: {_BAND}."
        )
    return (
        f"Predicted {label(rows.target, 40)} along {points.title(place, 60)}{each}. Line: mean; "
        f"band: {_BAND}. Rings: the rows."
    )


def _draw_rows(ax: "Axes", across: Array, up: Array) -> None:
    ax.plot(
        across,
        up,
        "o",
        color=GREY,
        markerfacecolor="none",
        markersize=4.2 if len(up) <= 300 else 3.4,
        markeredgewidth=1.0,
        alpha=opacity(len(up)),
        rasterized=len(up) > MOST_VECTOR_MARKS,
        zorder=1.6,
    )


def regression_2d(
    posterior: Posterior,
    rows: NumberRows,
    *,
    columns: Sequence[int | str] | None = None,
    hold: Any = "typical",
    margin: float = 0.05,
    n_grid: int = 61,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw contours of the predicted number over two columns, and the places of the rows."""
    points, held = rows.points, held_row(rows.points, hold)
    places = points.columns(columns, 2)
    sides = [frame(points.X[:, place], margin, n_grid) for place in places]
    across, up = np.meshgrid(*sides)
    mean, _ = latent(posterior, rows_on([across.ravel(), up.ravel()], places, held))
    marked = points.marked
    with figure_style():
        axes: Any = new_axes(ax, figsize=(5.6, 4.4))
        _draw_map(axes, across, up, mean.reshape(across.shape), rows.title)
        _draw_places(axes, *(points.X[marked, place] for place in places))
        axes.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
        axes.set_xlabel(points.title(places[0]))
        axes.set_ylabel(points.title(places[1]))
        if title is not None:
            axes.set_title(label(title, 60))
    axes.set_label(
        f"Predicted mean of {label(rows.target, 40)} over {points.title(places[0], 60)} and "
        f"{points.title(places[1], 60)}. White dots: the rows."
        f"{points.marks_words()}{held_words(points, places, held)}"
    )
    return axes


def _draw_map(ax: Any, across: Array, up: Array, heights: Array, name: str) -> None:
    ax.grid(visible=False)
    if np.ptp(heights) <= 1e-9 * (1 + np.abs(heights).max()):
        heights = np.full_like(heights, float(heights.flat[0]))
        heights.flat[0] += 1e-6 * (1 + abs(float(heights.flat[0])))
    filled = ax.contourf(across, up, heights, levels=9, cmap=sequential_colours(), alpha=0.75)
    bar = ax.figure.colorbar(filled, ax=ax, pad=0.02, format=lambda value, _: number_label(value))
    bar.outline.set_visible(False)
    bar.set_label(name)


def _draw_places(ax: Any, across: Array, up: Array) -> None:
    ax.plot(
        across,
        up,
        ".",
        color="white",
        markersize=3.5,
        markeredgewidth=0,
        alpha=0.6,
        rasterized=len(up) > MOST_VECTOR_MARKS,
    )


def predicted_observed(
    y: Any,
    predicted: Any,
    *,
    deviation: Any = None,
    target: str = "y",
    left_out: bool = True,
    most_marks: int = 800,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw observed numbers against predicted ones; on the diagonal they agree.

    Shapes: y, predicted (n,), deviation (n,).
    """
    observed, expected = finite_vector(y, "y"), finite_vector(predicted, "predicted")
    if len(observed) != len(expected) or not len(observed):
        raise InvalidInputError(
            f"y and predicted must have the same rows, got {len(observed)} and {len(expected)}."
        )
    rows = NumberRows(expected, observed, target=target, most_marks=most_marks)
    off = np.zeros(len(observed), dtype=bool)
    if deviation is not None:
        off = np.abs(observed - expected) > 2 * finite_vector(deviation, "deviation")
    marked = rows.points.marked
    ends = np.array([min(observed.min(), expected.min()), max(observed.max(), expected.max())])
    with figure_style():
        ax = new_axes(ax, figsize=(4.6, 4.4))
        ax.plot(ends, ends, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)))
        for which, tint, fill in ((~off, BLUE, "none"), (off, VERMILION, VERMILION)):
            here = marked[which[marked]]
            style: dict[str, Any] = {"color": tint, "markerfacecolor": fill, "markersize": 4.4}
            ax.plot(expected[here], observed[here], "o", alpha=opacity(len(marked)), **style)
        ax.set_xlabel(f"predicted {rows.title}")
        ax.set_ylabel(f"observed {rows.title}")
        if title is not None:
            ax.set_title(label(title, 60))
    ax.set_label(
        f"{_caption(target, off if deviation is not None else None, left_out)}"
        f"{rows.points.marks_words()}"
    )
    return ax


def _caption(target: str, off: Mask | None, left_out: bool) -> str:
    without = "without each row" if left_out else "by a model that has seen the rows"
    said = (
        ""
        if off is None
        else f" Filled: {off.sum():,} of {len(off):,} rows more than two standard deviations off."
    )
    return (
        f"Observed {label(target, 40)} against predictions made {without}; on the dashed line they "
        f"agree.{said}"
    )
