"""One input against the probability of the positive class."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._style import BLUE, GREY, figure_style, new_axes
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.likelihoods import Link
from parsimon.report.figures.labels import label
from parsimon.report.figures.levels import posterior_levels
from parsimon.report.figures.points import Points, colour, draw_points, rasterise_marks, spread
from parsimon.report.figures.surroundings import (
    Posterior,
    Response,
    band_words,
    frame,
    held_row,
    held_words,
    line_words,
    respond,
    rows_on,
    two_values,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BELOW, _ABOVE = -0.19, 1.19


def posterior_1d(
    posterior: Posterior,
    points: Points,
    *,
    column: int | str | None = None,
    hold: Any = "mean",
    averaged: bool = False,
    link: Link = "probit",
    margin: float = 0.1,
    n_grid: int = 128,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the probability of the positive class along one column, with its band and the rows.

    The line is the probability at the mean of the latent function f; the grey band is drawn at
    two standard deviations of f to each side (He 2016, section 4.2). Beyond the observed range the
    line is dashed. Rows of the positive class lie above 1, the others below 0, spread vertically
    so that ties can be seen.

    Shapes: hold (d,).
    """
    place = points.two_classes().column(column)
    grid = frame(points.X[:, place], margin, n_grid)
    held = held_row(points, hold)
    response = respond(posterior, rows_on([grid], [place], held), link=link, averaged=averaged)
    with figure_style():
        ax = new_axes(ax, figsize=(5.6, 3.7))
        draw_band(ax, grid, response)
        _draw_line(ax, grid, response, points.X[:, place])
        dress(ax, points, place, grid)
        name_strips(ax, points)
        if title is not None:
            ax.set_title(label(title, 60))
    ax.set_label(
        f"Probability of {points.class_title(1, 40)} along {points.title(place, 60)}. "
        f"Line: {line_words(averaged, link)}; dashed beyond the data. Band: {band_words(link)}. "
        f"Rows above 1 are {points.class_title(1, 40)}, rows below 0 are "
        f"{points.class_title(0, 40)}, spread vertically to show ties."
        f"{points.marks_words()}{held_words(points, [place], held)}"
    )
    return ax


def slices(
    posterior: Posterior,
    points: Points,
    *,
    columns: Sequence[int | str] | None = None,
    hold: Any = "mean",
    averaged: bool = False,
    link: Link = "probit",
    margin: float = 0.1,
    n_grid: int = 128,
) -> AnyArray:
    """Draw the probability along each active column, the others held constant."""
    import matplotlib.pyplot as plt

    chosen = range(points.n_columns) if columns is None else columns
    places = [points.column(one) for one in chosen]
    if not places:
        raise InvalidInputError("There is no column to draw; `columns` is empty.")
    across = 2 if len(places) == 4 else min(3, len(places))
    down = -(-len(places) // across)
    with figure_style():
        figure = plt.figure(figsize=(2.7 * across + 1.5, 2.9 * down), layout="constrained")
        panels = np.array([figure.add_subplot(down, across, k + 1) for k in range(len(places))])
        options: dict[str, Any] = {"hold": hold, "averaged": averaged, "link": link}
        grid: dict[str, Any] = {"margin": margin, "n_grid": n_grid}
        for ax, place in zip(panels, places, strict=True):
            if two_values(points.X[:, place]) is None:
                posterior_1d(posterior, points, column=place, ax=ax, **options, **grid)
            else:
                posterior_levels(posterior, points, column=place, ax=ax, shares=False, **options)
                ax.set_ylim(_BELOW, _ABOVE)
        _say_once(panels, across)
        rasterise_marks(panels)
    panels[0].set_label(
        f"Probability of {points.class_title(1, 40)} along one column at a time, the others held "
        f"constant. Line: {line_words(averaged, link)}; dashed beyond the data. Band: "
        f"{band_words(link)}.{points.marks_words()}"
        f"{held_words(points, [], held_row(points, hold))}"
    )
    return panels


def _say_once(panels: AnyArray, across: int) -> None:
    """Leave the vertical axis to the first panel of a row and the classes to the last."""
    for k, ax in enumerate(panels):
        if k % across:
            ax.set_ylabel("")
            ax.set_yticklabels([])
        if (k + 1) % across and k + 1 < len(panels):
            for text in list(ax.texts):
                text.remove()


def draw_band(ax: "Axes", grid: Array, response: Response) -> None:
    """Fill between the probabilities at two standard deviations to each side."""
    ax.fill_between(grid, response.low, response.high, color=GREY, alpha=0.3, linewidth=0)


def _draw_line(ax: "Axes", grid: Array, response: Response, values: Array) -> None:
    seen = (grid >= values.min()) & (grid <= values.max())
    ax.plot(grid, response.probability, color=BLUE, linewidth=1.8, linestyle=(0, (2, 1.6)))
    ax.plot(grid[seen], response.probability[seen], color=BLUE, linewidth=2.8)


def dress(ax: "Axes", points: Points, place: int, grid: Array) -> None:
    """Draw the rows and what all pictures of one column share."""
    values = points.X[:, place]
    ax.axhline(0.5, color=GREY, linewidth=0.9, alpha=0.6)
    draw_points(ax, points, (values, strip_heights(points, values)), clip_on=False)
    ax.set_xlim(grid[0], grid[-1])
    ax.set_ylim(_BELOW, _ABOVE)
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    ax.set_xlabel(points.title(place))
    ax.set_ylabel(f"probability of {points.class_title(1)}")
    ax.grid(axis="x", visible=False)


def strip_heights(points: Points, values: Array) -> Array:
    """Return where rows lie: a strip above 1 for the positive class, one below 0 for the other.

    Rows that follow one another in value lie at different heights, ties too.
    """
    heights = np.empty(len(values))
    for code, (low, high) in enumerate(((-0.17, -0.04), (1.04, 1.17))):
        rows = np.flatnonzero(points.of_class(code))
        heights[rows] = low + (high - low) * spread(values[rows])
    return heights


def name_strips(ax: "Axes", points: Points) -> None:
    """Write the classes and their numbers of rows to the right of their strips."""
    for code, height in ((0, -0.105), (1, 1.105)):
        rows = int(points.of_class(code).sum())
        ax.text(
            1.015,
            height,
            f"{points.class_title(code)}\n{rows} row{'s' * (rows != 1)}",
            transform=ax.get_yaxis_transform(),
            color=colour(code),
            fontsize=9.5,
            fontweight="bold",
            va="center",
            linespacing=1.1,
        )
