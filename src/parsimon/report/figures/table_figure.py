"""The table itself, before any model: rows in space, or parallel coordinates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from parsimon._random import Seed
from parsimon._style import GREY, figure_style, new_axes
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.latent_grid import frame
from parsimon.report.figures.points import (
    MOST_VECTOR_MARKS,
    ClassRows,
    class_and_count,
    classes_above,
    colour,
    draw_points,
    label,
    marker,
    number,
    sampled_rows,
    spread,
)
from parsimon.report.figures.three_columns import axes_3d

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def parallel_coordinates(
    points: ClassRows,
    *,
    order: str | Sequence[int | str] = "structure",
    most_rows: int = 500,
    most_columns: int = 12,
    random_state: Seed = 0,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw every row as a line across one vertical axis for each column.

    The positive class (in general, the last) lies on top. Each axis runs from its column's least
    to its greatest value, and says so.

    [1] Inselberg (1985), The Visual Computer 1:69-91.
    """
    if most_rows < 1 or most_columns < 1:
        raise InvalidInputError(
            f"most_rows and most_columns must be 1 or more, got {most_rows} and {most_columns}."
        )
    places = _chosen(points, order, most_columns)
    rows = sampled_rows(points.y, most_rows, random_state)
    heights = _unit(points.X[:, places])[rows]
    with figure_style():
        ax = new_axes(ax, figsize=(max(4.6, 1.25 * len(places) + 1.4), 4.2))
        _draw_lines(ax, points, heights, points.y[rows])
        _draw_axes(ax, points, places)
        _name_classes(ax, points)
        if title is not None:
            ax.set_title(label(title, 60), pad=40)
    ax.set_label(_caption(points, len(rows), places, order))
    return ax


def axis_order(points: ClassRows) -> Indices:
    """Return an order of the columns in which structure shows.

    First the column that separates the classes best (the share of the variance of its ranks that
    lies between classes, Kruskal and Wallis's statistic), then always the column that goes best
    with the one before (the greatest absolute rank correlation), so that lines between
    neighbours run together or cross in one knot.

    Shape: (d,).
    """
    ranks = _scaled_ranks(points.X)
    together = np.abs(ranks.T @ ranks)
    left = list(np.argsort(-separation(points), kind="stable"))
    chain = [left.pop(0)]
    while left:
        # Among equals the one that separates better: `left` is sorted by it.
        best = int(np.argmax(np.round(together[chain[-1], left], 9)))
        chain.append(left.pop(best))
    return np.array(chain, dtype=np.intp)


def separation(points: ClassRows) -> Array:
    """Return for each column the share of the variance of ranks between classes, shape (d,)."""
    ranks = _scaled_ranks(points.X)
    between = np.zeros(points.n_columns)
    for code in np.unique(points.y):
        rows = points.of_class(int(code))
        between += rows.sum() * ranks[rows].mean(axis=0) ** 2
    return np.round(between, 12)


def _scaled_ranks(X: Array) -> Array:
    """Return ranks with mean zero and length one; zero for a constant column."""
    ranks = rankdata(X, axis=0)
    ranks = ranks - ranks.mean(axis=0)
    lengths = np.linalg.norm(ranks, axis=0)
    scaled: Array = ranks / np.where(lengths > 0, lengths, 1.0)
    return scaled


def _chosen(points: ClassRows, order: str | Sequence[int | str], most: int) -> list[int]:
    if not isinstance(order, str):
        if not len(order):
            raise InvalidInputError("There is no column to draw; `order` is empty.")
        return [points.column(one) for one in order]
    if order not in {"structure", "given"}:
        raise InvalidInputError(
            f'order must be "structure", "given" or a sequence of columns, got {order!r}.'
        )
    kept = np.sort(np.argsort(-separation(points), kind="stable")[:most])
    if order == "given":
        return [int(place) for place in kept]
    part = ClassRows(points.X[:, kept], points.y)
    return [int(place) for place in kept[axis_order(part)]]


def _unit(X: Array) -> Array:
    """Return columns scaled to [0, 1]; a constant one lies in the middle."""
    low, reach = X.min(axis=0), np.ptp(X, axis=0)
    scaled: Array = np.where(reach > 0, (X - low) / np.where(reach > 0, reach, 1.0), 0.5)
    return scaled


def _draw_lines(ax: "Axes", points: ClassRows, heights: Array, y: Indices) -> None:
    from matplotlib.collections import LineCollection

    across = np.arange(heights.shape[1])
    faint = float(np.clip(7 / np.sqrt(len(y)), 0.2, 0.85))
    for code in range(len(points.class_names)):
        rows = heights[y == code]
        if not len(rows):
            continue
        lines = np.stack([np.broadcast_to(across, rows.shape), rows], axis=-1)
        if len(across) == 1:
            lines = np.stack([rows, rows], axis=-1) * [0, 1] + [[[-0.12, 0], [0.12, 0]]]
        # Thicker lines for later classes: print without colour still shows which is which.
        ax.add_collection(
            LineCollection(
                list(lines),
                colors=colour(code),
                linewidths=0.8 if code == 0 else 1.3,
                alpha=faint * (0.8 if code == 0 else 1.0),
                zorder=2 + 0.1 * code,
                clip_on=False,
                rasterized=heights.size > 2 * MOST_VECTOR_MARKS,
            )
        )
        _draw_median(ax, across, np.median(rows, axis=0), code)


def _draw_median(ax: "Axes", across: AnyArray, middle: Array, code: int) -> None:
    """Draw the medians of a class over its lines, told apart by dashes and marks as well."""
    ring, halo = code == 0, "white"
    ax.plot(across, middle, color=halo, linewidth=5, alpha=0.75, zorder=3, clip_on=False)
    ax.plot(
        across,
        middle,
        color=colour(code),
        linewidth=2.8,
        linestyle=(0, (3, 1)) if ring else "solid",
        marker=marker(code),
        markersize=8,
        markerfacecolor=halo if ring else colour(code),
        markeredgewidth=1.8,
        markeredgecolor=colour(code) if ring else halo,
        zorder=3.1 + 0.1 * code,
        clip_on=False,
    )


def _draw_axes(ax: "Axes", points: ClassRows, places: Sequence[int]) -> None:
    ax.set_xlim(-0.15, len(places) - 0.85)
    ax.set_ylim(-0.02, 1.02)
    ax.grid(visible=False)
    ax.set_yticks([])
    for side in ax.spines.values():
        side.set_visible(False)
    names = [points.title(place, 20) for place in places]
    crowded = max(map(len, names)) > 12 and len(places) > 3
    ax.set_xticks(range(len(places)), names)
    ax.tick_params(axis="x", length=0, pad=20)
    for text in ax.get_xticklabels() if crowded else []:
        text.set(rotation=25, ha="right", rotation_mode="anchor")
    for across, place in enumerate(places):
        ax.axvline(across, color=GREY, linewidth=1.1, zorder=1.8)
        values = points.X[:, place]
        ends: list[tuple[float, float, Any]] = [
            (values.min(), -0.035, "top"),
            (values.max(), 1.035, "bottom"),
        ]
        for value, height, side_of in ends:
            ax.text(across, height, number(value), ha="center", va=side_of, fontsize=9)


def _name_classes(ax: "Axes", points: ClassRows) -> None:
    from matplotlib.lines import Line2D

    present = [code for code in range(len(points.class_names)) if points.of_class(code).any()]
    handles = [
        Line2D(
            [],
            [],
            color=colour(code),
            linewidth=2.6,
            linestyle=(0, (3, 1)) if code == 0 else "solid",
            marker=marker(code),
            markerfacecolor="white" if code == 0 else colour(code),
            label=class_and_count(points, code),
        )
        for code in present
    ]
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(-0.01, 1.07), ncols=4, borderaxespad=0.2
    )


def _caption(
    points: ClassRows, n_rows: int, places: Sequence[int], order: str | Sequence[int | str]
) -> str:
    part = "Each line is a row, each vertical axis a column from its least to its greatest value"
    top = f"{points.class_title(int(points.y.max()), 40)} lies on top."
    words = [f"{part}; {top}", "Thick lines join the medians of the classes."]
    if order == "structure":
        words.append(
            "The first axis separates the classes best; each next one has the strongest rank "
            "correlation with the one before."
        )
    if n_rows < len(points.y):
        words.append(f"Drawn are {n_rows} of {len(points.y)} rows, every class at its share.")
    if len(places) < points.n_columns:
        best = " that separate the classes best" if isinstance(order, str) else ""
        words.append(f"Drawn are the {len(places)} of {points.n_columns} columns{best}.")
    return " ".join(words)


def data_figure(points: ClassRows, *, title: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw a table in the way that fits its number of columns.

    One column gives a strip for each class, two a scatter plot, three a scatter plot in space,
    more `parallel_coordinates`.
    """
    if points.n_columns > 3:
        return parallel_coordinates(points, title=title, ax=ax)
    with figure_style():
        drawn = (_strips, _scatter, _space)[points.n_columns - 1](points, ax)
        if title is not None:
            drawn.set_title(label(title, 60), pad=24 if points.n_columns == 2 else 8)
    n_rows = f"{len(points.y)} rows"
    said = (
        f"{n_rows} in strips by class, spread vertically to show ties."
        if points.n_columns == 1
        else f"{n_rows}; each mark is a row."
    )
    drawn.set_label(said + points.marks_words())
    return drawn


def _strips(points: ClassRows, ax: "Axes | None") -> "Axes":
    n_classes = len(points.class_names)
    ax = new_axes(ax, figsize=(5.6, 1.4 + 0.5 * n_classes))
    values = points.X[:, 0]
    draw_points(ax, points, (values, points.y - 0.32 + 0.64 * spread(values)))
    ax.set_yticks(
        range(n_classes),
        [f"{points.class_title(k)}\n({points.of_class(k).sum()})" for k in range(n_classes)],
    )
    ax.set_ylim(-0.5, n_classes - 0.5)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(points.title(0))
    return ax


def _scatter(points: ClassRows, ax: "Axes | None") -> "Axes":
    ax = new_axes(ax, figsize=(5.2, 4.4))
    draw_points(ax, points, points.X.T)
    ax.set_xlabel(points.title(0))
    ax.set_ylabel(points.title(1))
    classes_above(ax)
    return ax


def _space(points: ClassRows, ax: "Axes | None") -> "Axes":
    sides = [frame(points.X[:, place], 0.05, 3) for place in range(3)]
    box: Axes = axes_3d(points, range(3), sides, ax)
    classes_above(box, height=0.93)
    return box
