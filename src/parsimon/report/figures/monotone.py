"""Does the probability rise or fall throughout? The gradient's sign, and a share of draws."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._checks import finite_matrix
from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference import Latent, positive_probability
from parsimon.inference.likelihoods import Link
from parsimon.report.figures.labels import label, percent
from parsimon.report.figures.one_column import draw_band, dress, name_strips
from parsimon.report.figures.points import Points
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
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def monotone_share(paths: Any, *, tolerance: float = 1e-3) -> MonotoneShare:
    """Return which shares of sampled functions rise, and fall, from end to end.

    A path rises if it never lies below an earlier value of its own by more than `tolerance` of
    its range; draws of a smooth function carry rounding noise of that size. A constant path does
    neither.

    Shapes: paths (n_paths, m).
    """
    values = finite_matrix(paths, "paths")
    allowed = tolerance * np.ptp(values, axis=1)
    moves = np.ptp(values, axis=1) > 0

    def share(signed: Array) -> float:
        dips = np.max(np.maximum.accumulate(signed, axis=1) - signed, axis=1)
        return float(np.mean(moves & (dips <= allowed)))

    return MonotoneShare(share(values), share(-values))


def monotonicity(
    posterior: Posterior,
    points: Points,
    *,
    column: int | str | None = None,
    draw: Callable[[Array], Any] | None = None,
    ignored: float = 0.15,
    hold: Any = "mean",
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
        f"{_caption(points, place, ignored, link)}{said}{points.marks_words()}"
        f"{held_words(points, [place], held)}"
    )
    return ax


def _caption(points: Points, place: int, ignored: float, link: Link) -> str:
    return (
        f"Direction of the probability of {points.class_title(1, 40)} along "
        f"{points.title(place, 60)}. Line: {line_words(False, link)}, triangles point up where "
        f"its gradient is positive and down where it is negative; the outer {ignored:.0%} of the "
        f"range at each end are not judged. Band: {band_words(link)}."
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
    return f"{word} in {percent(most)} of {n_draws:,} posterior draws"


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
