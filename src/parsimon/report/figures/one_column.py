"""One input against the probability of the positive class, and whether that rises throughout."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._checks import finite_matrix
from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.likelihoods import Link, positive_probability
from parsimon.inference.posterior import Latent
from parsimon.report.figures.latent_grid import (
    BAND_WORDS,
    Posterior,
    Response,
    frame,
    held_row,
    held_words,
    line_words,
    respond,
    rows_on,
    two_values,
)
from parsimon.report.figures.levels import posterior_levels
from parsimon.report.figures.points import (
    ClassRows,
    colour,
    draw_points,
    label,
    percent_label,
    rasterise_marks,
    spread_apart,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BELOW, _ABOVE = -0.19, 1.19


def posterior_1d(
    posterior: Posterior,
    points: ClassRows,
    *,
    column: int | str | None = None,
    hold: Any = "typical",
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
        f"Line: {line_words(averaged)}, dashed beyond the rows; band: {BAND_WORDS}. "
        f"Marks: rows of {points.class_title(1, 40)} above, of {points.class_title(0, 40)} below."
        f"{points.marks_words()}{held_words(points, [place], held)}"
    )
    return ax


def slices(
    posterior: Posterior,
    points: ClassRows,
    *,
    columns: Sequence[int | str] | None = None,
    hold: Any = "typical",
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
        f"Probability of {points.class_title(1, 40)} along one column at a time. "
        f"Line: {line_words(averaged)}, dashed beyond the rows; band: {BAND_WORDS}."
        f"{points.marks_words()}"
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


def dress(ax: "Axes", points: ClassRows, place: int, grid: Array) -> None:
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


def strip_heights(points: ClassRows, values: Array) -> Array:
    """Return where rows lie: a strip above 1 for the positive class, one below 0 for the other.

    Rows that follow one another in value lie at different heights, ties too.
    """
    heights = np.empty(len(values))
    for code, (low, high) in enumerate(((-0.17, -0.04), (1.04, 1.17))):
        rows = np.flatnonzero(points.of_class(code))
        heights[rows] = low + (high - low) * spread_apart(values[rows])
    return heights


def name_strips(ax: "Axes", points: ClassRows) -> None:
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


_LOOK = {1: ("rising", VERMILION, "^"), -1: ("falling", BLUE, "v"), 0: ("level", GREY, "_")}
_MOST_PATHS = 20
# Joint draws cost the cube of their length, and a finer grid would only show rounding.
_DRAWN_POINTS = 60


class MonotoneShare(NamedTuple):
    """Shares of paths that rise, and that fall, throughout.

    rising, falling: Between 0 and 1; the rest turn, or are level.
    """

    rising: float
    falling: float


def monotone_share(paths: Any, *, tol: float = 1e-3) -> MonotoneShare:
    """Return which shares of sampled functions rise, and fall, from end to end.

    A path rises if it never lies below an earlier value of its own by more than `tol` of
    its range; draws of a smooth function carry rounding noise of that size. A constant path does
    neither.

    Shapes: paths (n_paths, m).
    """
    values = finite_matrix(paths, "paths")
    allowed = tol * np.ptp(values, axis=1)
    moves = np.ptp(values, axis=1) > 0

    def share(signed: Array) -> float:
        dips = np.max(np.maximum.accumulate(signed, axis=1) - signed, axis=1)
        return float(np.mean(moves & (dips <= allowed)))

    return MonotoneShare(share(values), share(-values))


def monotonicity(
    posterior: Posterior,
    points: ClassRows,
    *,
    column: int | str | None = None,
    draw: Callable[[Array], Any] | None = None,
    ignored: float = 0.15,
    hold: Any = "typical",
    link: Link = "probit",
    margin: float = 0.1,
    n_grid: int = 128,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the probability along one column, coloured by whether it rises or falls.

    Triangles at rows of the data point up or down with the gradient of the latent mean. The outer
    parts of the range are left grey and out of the count, because a latent mean returns to zero
    beyond the data whatever they say (He 2016, section 5.3). With `draw`, the share of posterior
    functions that rise, or fall, throughout is written above: the probability of monotonicity
    that the source names and leaves out.
    """
    if not 0 <= ignored < 0.5:
        raise InvalidInputError(f"ignored must be at least 0 and below 0.5, got {ignored}.")
    place = points.two_classes().column(column)
    values = points.X[:, place]
    grid, held = frame(values, margin, n_grid), held_row(points, hold)
    response = respond(posterior, rows_on([grid], [place], held), link=link)
    inner = _inner(values, ignored)
    verdict = ""
    with figure_style():
        ax = new_axes(ax, figsize=(5.6, 3.7))
        draw_band(ax, grid, response)
        if draw is not None:
            places = np.linspace(*inner, _DRAWN_POINTS)
            paths = finite_matrix(draw(rows_on([places], [place], held)), "Draws")
            _draw_paths(ax, places, paths, link)
            verdict = _verdict(monotone_share(paths), len(paths))
        _draw_signs(ax, grid, response, inner, values)
        dress(ax, points, place, grid)
        name_strips(ax, points)
        ax.set_title(verdict.capitalize() if title is None else label(title, 60))
    said = f" The function {verdict}." if verdict else ""
    ax.set_label(
        f"{_caption(points, place, ignored)}{said}{points.marks_words()}"
        f"{held_words(points, [place], held)}"
    )
    return ax


def _caption(points: ClassRows, place: int, ignored: float) -> str:
    return (
        f"Direction of the probability of {points.class_title(1, 40)} along "
        f"{points.title(place, 60)}. Line: {line_words(False)}, triangles point up where "
        f"its gradient is positive and down where it is negative; the outer {ignored:.0%} of the "
        f"range at each end are not judged. Band: {BAND_WORDS}."
    )


def _inner(values: Array, ignored: float) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    reach = high - low
    return low + ignored * reach, high - ignored * reach


def _verdict(share: MonotoneShare, n_draws: int) -> str:
    """Return what most draws do; a share of one is no certainty, so that it is counted."""
    turning = max(0.0, 1 - share.rising - share.falling)
    most, word = max((share.rising, "rises"), (share.falling, "falls"), (turning, "turns"))
    word = word if word == "turns" else f"{word} throughout"
    if most == 1:
        return f"{word} in all of {n_draws:,} posterior draws"
    return f"{word} in {percent_label(most)} of {n_draws:,} posterior draws"


def _draw_paths(ax: "Axes", places: Array, paths: Array, link: Link) -> None:
    for path in paths[:_MOST_PATHS]:
        probability = positive_probability(Latent(path, 0 * path), link=link, plug_in=True)
        ax.plot(places, probability, color=GREY, linewidth=0.7, alpha=0.5, zorder=1.5)


def gradient_signs(grid: Array, mean: Array) -> AnyArray:
    """Return -1, 0 or 1 for a mean that falls, is level or rises at each place of the grid."""
    slope = np.gradient(mean, grid) * np.ptp(grid)
    # Rounding leaves slopes of this size on a constant.
    signs: AnyArray = np.sign(np.where(np.abs(slope) > 1e-9 * (1 + np.abs(mean)), slope, 0.0))
    return signs.astype(int)


def _apart(places: Array, least: float) -> Array:
    """Return places, in increasing order, that keep a distance from the one before."""
    kept: list[float] = []
    for place in places:
        if not kept or place - kept[-1] >= least:
            kept.append(float(place))
    return np.array(kept)


def _draw_signs(
    ax: "Axes", grid: Array, response: Response, inner: tuple[float, float], values: Array
) -> None:
    probability = response.probability
    ax.plot(grid, probability, color=GREY, linewidth=1.6, linestyle=(0, (2, 1.6)))
    signs = gradient_signs(grid, response.mean)
    judged = (grid >= inner[0]) & (grid <= inner[1])
    marked = np.unique(np.quantile(values, np.linspace(0, 1, 17), method="nearest"))
    marked = marked[(marked >= inner[0]) & (marked <= inner[1])]
    marked = _apart(marked, 0.04 * np.ptp(grid))
    nearest = np.abs(grid[:, None] - marked).argmin(axis=0)
    for sign, (name, tint, marker) in _LOOK.items():
        here = judged & (signs == sign)
        if not here.any():
            continue
        # One place more on each side closes the gaps between runs.
        joined = here | (judged & (np.roll(here, 1) | np.roll(here, -1)))
        line = np.where(joined, probability, np.nan)
        ax.plot(grid, line, color=tint, linewidth=2.8, label=name, zorder=2.5)
        at = nearest[signs[nearest] == sign]
        ax.plot(grid[at], probability[at], marker, color=tint, markersize=8, zorder=2.6)
