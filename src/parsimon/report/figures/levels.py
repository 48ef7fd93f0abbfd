"""A column of two values: points with intervals, or a curve for each value of another column."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.likelihoods import Link
from parsimon.report.figures.latent_grid import (
    BAND_WORDS,
    Posterior,
    frame,
    held_row,
    held_words,
    line_words,
    respond,
    rows_on,
    two_values,
)
from parsimon.report.figures.points import ClassRows, label, number_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def posterior_levels(
    posterior: Posterior,
    points: ClassRows,
    *,
    column: int | str | None = None,
    hold: Any = "typical",
    averaged: bool = False,
    link: Link = "probit",
    shares: bool = True,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the probability of the positive class at the two values of a column."""
    place = points.two_classes().column(column)
    levels, held = _levels(points, place), held_row(points, hold)
    rows = rows_on([np.array(levels)], [place], held)
    response = respond(posterior, rows, link=link, averaged=averaged)
    values = points.X[:, place]
    with figure_style():
        ax = new_axes(ax, figsize=(4.2, 3.7))
        draw_levels(ax, (response.probability, response.low, response.high))
        if shares:
            seen = [float(np.mean(points.y[values == level])) for level in levels]
            ax.plot([0, 1], seen, "D", markerfacecolor="none", color=GREY, markersize=8)
        name_levels(ax, points, place)
        _dress(ax, points)
        if title is not None:
            ax.set_title(label(title, 60))
    ax.set_label(
        f"Probability of {points.class_title(1, 40)} at both values of {points.title(place, 60)}. "
        f"Points: {line_words(averaged)}; bars: {BAND_WORDS}."
        f"{' Diamonds: observed shares.' if shares else ''}{held_words(points, [place], held)}"
    )
    return ax


def posterior_by_level(
    posterior: Posterior,
    points: ClassRows,
    *,
    columns: Sequence[int | str],
    hold: Any = "typical",
    averaged: bool = False,
    link: Link = "probit",
    margin: float = 0.05,
    n_grid: int = 128,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the probability along one column, a curve for each of the two values of another."""
    along, by = points.two_classes().columns(columns, 2)
    levels, held = _levels(points, by), held_row(points, hold)
    pair = two_values(points.X[:, along])
    grid = frame(points.X[:, along], margin, n_grid) if pair is None else np.array(pair)
    with figure_style():
        ax = new_axes(ax, figsize=(5.6, 3.7))
        for level, shift in zip(levels, (-0.08, 0.08), strict=True):
            rows = rows_on([grid, np.full(len(grid), level)], [along, by], held)
            answer = respond(posterior, rows, link=link, averaged=averaged)
            name = f"{points.title(by, 24)} = {count_words(points.X[:, by], level)}"
            answers = (answer.probability, answer.low, answer.high)
            draw_level(ax, grid if pair is None else None, answers, shift=shift, name=name)
        if pair is None:
            ax.set_xlim(grid[0], grid[-1])
            ax.set_xlabel(points.title(along))
        else:
            name_levels(ax, points, along)
        _dress(ax, points)
        legend_above(ax)
        if title is not None:
            ax.set_title(label(title, 60), pad=24)
    ax.set_label(
        f"Probability of {points.class_title(1, 40)} "
        f"{points.split_words(along) if pair else f'along {points.title(along, 60)}'}, "
        f"{points.split_words(by)}. Bands: {BAND_WORDS}."
        f"{held_words(points, [along, by], held)}"
    )
    return ax


class LevelMeans(NamedTuple):
    """What a model says of the levels of a category, and what was observed there.

    names, counts (k,): The levels and their rows.
    means, low, high (k,): Probability of the positive class, or the number, with an interval.
    observed (k,): Share of the positive class, or mean of the target.
    """

    names: Sequence[str]
    counts: Sequence[int]
    means: Array
    low: Array
    high: Array
    observed: Array


def level_means(
    found: LevelMeans, *, column: str, outcome: str, overall: float, is_share: bool
) -> "Axes":
    """Draw the levels of a category, from the least to the most, beside what was observed."""
    order = np.argsort(found.means, kind="stable")
    places = np.arange(len(order))
    with figure_style():
        ax = new_axes(figsize=(5.6, 0.9 + 0.42 * len(order)))
        means = found.means[order]
        reach = np.maximum([means - found.low[order], found.high[order] - means], 0)
        ax.errorbar(
            means, places, xerr=reach, linestyle="none", color=BLUE, marker="o", markersize=8,
            elinewidth=2.2, capsize=4,
        )  # fmt: skip
        ax.plot(found.observed[order], places, "D", markerfacecolor="none", color=GREY)
        ax.axvline(overall, color=GREY, linewidth=1.1, linestyle=(0, (4, 2)))
        ax.set_yticks(places, [f"{label(found.names[k], 24)} ({found.counts[k]:,})" for k in order])
        ax.set_ylim(-0.6, len(order) - 0.4)
        ax.grid(axis="y", visible=False)
        if is_share:
            ax.set_xlim(-0.03, 1.03)
            ax.set_xticks([0, 0.5, 1], ["0", "½", "1"])
        ax.set_xlabel(f"{'probability of' if is_share else 'mean'} {label(outcome)}")
    what, seen = ("Probability", "shares") if is_share else ("Mean", "means")
    ax.set_label(
        f"{what} of {label(outcome, 40)} at each level of {label(column, 60)}. Bars: about 95 % "
        f"sure; diamonds: observed {seen}; dashed: all rows; in brackets: rows."
    )
    return ax


def _levels(points: ClassRows, place: int) -> tuple[float, float]:
    levels = two_values(points.X[:, place])
    if levels is None:
        raise InvalidInputError(
            f"{points.names[place]!r} does not have two distinct values. Draw a curve along it."
        )
    return levels


def _dress(ax: "Axes", points: ClassRows) -> None:
    """Draw what all pictures of probabilities at levels share."""
    ax.axhline(0.5, color=GREY, linewidth=0.9, alpha=0.6)
    ax.set_ylim(-0.03, 1.03)
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    ax.set_ylabel(f"probability of {points.class_title(1)}")


def draw_level(
    ax: "Axes", grid: Array | None, answers: Sequence[Array], *, shift: float, name: str
) -> None:
    """Draw one of two levels: a curve with its band, or without a grid two points with bars."""
    tint = BLUE if shift < 0 else VERMILION
    if grid is None:
        draw_levels(ax, answers, tint=tint, name=name, shift=shift)
        return
    centre, low, high = answers
    ax.fill_between(grid, low, high, color=tint, alpha=0.18, linewidth=0)
    style = "solid" if shift < 0 else (0, (5, 1.5))
    ax.plot(grid, centre, color=tint, linewidth=2.8, label=name, linestyle=style)


def draw_levels(
    ax: "Axes",
    answers: Sequence[Array],
    *,
    tint: str = BLUE,
    name: str = "",
    shift: float = 0.0,
) -> None:
    """Draw two points with bars, from centres, lows and highs of shape (2,)."""
    centre, low, high = answers
    ax.errorbar(
        np.arange(2) + shift,
        centre,
        yerr=np.maximum([centre - low, high - centre], 0),
        linestyle="none",
        color=tint,
        marker="o",
        markersize=9,
        elinewidth=2.4,
        capsize=5,
        label=name or None,
    )


def name_levels(ax: "Axes", points: ClassRows, place: int) -> None:
    """Write the two values of a column and their numbers of rows below the axis."""
    values = points.X[:, place]
    levels = _levels(points, place)
    names = [count_words(values, level).replace(" (", "\n").removesuffix(")") for level in levels]
    ax.set_xticks([0, 1], names)
    ax.set_xlim(-0.6, 1.6)
    ax.grid(axis="x", visible=False)
    ax.set_xlabel(points.title(place))


def count_words(values: Array, level: float) -> str:
    """Return a value and how many rows have it."""
    count = int(np.sum(values == level))
    return f"{number_label(level)} ({count:,} row{'s' * (count != 1)})"


def legend_above(ax: "Axes") -> None:
    """Name the curves above the axes."""
    ax.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=2, borderaxespad=0.2, fontsize=9)
