"""Two inputs: contours of the probability over the rows, and how sure they are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._style import BLUE, GREY, VERMILION, figure_style, sequential_colours
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.likelihoods import Link
from parsimon.report.figures.latent_grid import (
    BAND_WORDS,
    Posterior,
    frame,
    held_row,
    held_words,
    respond,
    rows_on,
)
from parsimon.report.figures.points import (
    ClassRows,
    classes_above,
    draw_points,
    label,
    rasterise_marks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
# From sure of the negative class to sure of the positive one; clear in the middle, so that the
# page shows through and rows stay legible.
_TINTS = [(BLUE, 0.34), (BLUE, 0.2), (BLUE, 0.07)] + [
    (VERMILION, strength) for strength in (0.07, 0.2, 0.34)
]


def posterior_2d(
    posterior: Posterior,
    points: ClassRows,
    *,
    columns: Sequence[int | str] | None = None,
    confidence: bool = False,
    hold: Any = "typical",
    averaged: bool = False,
    link: Link = "probit",
    margin: float = 0.1,
    n_grid: int = 61,
    title: str | None = None,
    axes: "Sequence[Axes] | None" = None,
) -> AnyArray:
    """Draw contours of the probability over two columns, and on request how sure they are.

    Contours at 5, 25, 50, 75 and 95 %; the line of one half is thick, those below it are dashed
    (He 2016, section 4.3).
    """
    places = points.two_classes().columns(columns, 2)
    sides = [frame(points.X[:, place], margin, n_grid) for place in places]
    across, up = np.meshgrid(*sides)
    held = held_row(points, hold)
    rows = rows_on([across.ravel(), up.ravel()], places, held)
    response = respond(posterior, rows, link=link, averaged=averaged)
    probability = response.probability.reshape(across.shape)
    with figure_style():
        panels = _panels(axes, 2 if confidence else 1)
        _draw_probability(panels[0], across, up, probability)
        if confidence:
            width = (response.high - response.low).reshape(across.shape)
            _draw_width(panels[1], across, up, width)
            _draw_half(panels[1], across, up, probability)
        _draw_rows(panels, points, places, sides)
        classes_above(panels[0])
        rasterise_marks(panels)
        if title is not None:
            panels[0].set_title(label(title, 60), pad=24)
    panels[0].set_label(
        f"Probability of {points.class_title(1, 40)} over {points.title(places[0], 60)} and "
        f"{points.title(places[1], 60)}. Contours at 5, 25, 50 (thick), 75 and 95 %; below 50 % "
        f"dashed.{_width_words(confidence)}{points.marks_words()}{held_words(points, places, held)}"
    )
    return panels


def _panels(axes: "Sequence[Axes] | None", number: int) -> AnyArray:
    if axes is not None:
        if len(axes) != number:
            raise InvalidInputError(f"{number} axes are needed, got {len(axes)}.")
        return np.array(axes, dtype=object)
    import matplotlib.pyplot as plt

    size = (5.2, 4.4) if number == 1 else (9.2, 3.9)
    figure = plt.figure(figsize=size, layout="constrained")
    return np.array([figure.add_subplot(1, number, k + 1) for k in range(number)], dtype=object)


_PLACES_ONLY: dict[str, Any] = {
    "color": "white",
    "marker": ".",
    "markerfacecolor": "white",
    "markeredgewidth": 0,
    "alpha": 0.6,
    "markersize": 3.5,
}


def _draw_rows(
    panels: AnyArray, points: ClassRows, places: Sequence[int], sides: Sequence[Array]
) -> None:
    """Draw the rows by class in the first panel and only as places in the second."""
    for ax, options in zip(panels, ({}, _PLACES_ONLY), strict=False):
        draw_points(ax, points, [points.X[:, place] for place in places], **options)
        ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
        ax.set_xlabel(points.title(places[0]))
        ax.set_ylabel(points.title(places[1]))


def _width_words(confidence: bool) -> str:
    if not confidence:
        return ""
    return f" Second panel: width of the band that holds {BAND_WORDS}; white line: 50 %."


def _draw_probability(ax: Any, across: Array, up: Array, probability: Array) -> None:
    from matplotlib.colors import to_rgba

    ax.grid(visible=False)
    tints = [to_rgba(tint, strength) for tint, strength in _TINTS]
    ax.contourf(across, up, probability, levels=[-0.01, *LEVELS, 1.01], colors=tints)
    shown = [level for level in LEVELS if probability.min() < level < probability.max()]
    if not shown:
        return
    lines = ax.contour(
        across,
        up,
        probability,
        levels=shown,
        colors=[GREY if level == 0.5 else VERMILION if level > 0.5 else BLUE for level in shown],
        linewidths=[2.8 if level == 0.5 else 1.2 for level in shown],
        linestyles=["dashed" if level < 0.5 else "solid" for level in shown],
    )
    style: dict[str, Any] = {"fmt": lambda level: f"{100 * level:.0f} %", "fontsize": 9}
    for text in ax.clabel(
        lines, manual=_apart(ax, ax.clabel(lines, inline=False, **style)), **style
    ):
        text.set(zorder=4, fontweight="bold")


def _apart(ax: Any, texts: Sequence[Any], least: float = 30.0) -> list[tuple[float, float]]:
    """Return places of labels that keep clear of one another, those near one half first.

    Where a probability changes fast, its contours lie so close that not all have room for one.
    """
    ranked = sorted(texts, key=lambda text: abs(float(text.get_text().split()[0]) - 50))
    kept: list[tuple[float, float]] = []
    drawn: list[Array] = []
    for text in ranked:
        place = ax.transData.transform(text.get_position())
        if all(np.linalg.norm(place - other) >= least for other in drawn):
            drawn.append(place)
            kept.append(text.get_position())
        text.remove()
    return kept


def _draw_half(ax: Any, across: Array, up: Array, probability: Array) -> None:
    if probability.min() < 0.5 < probability.max():
        ax.contour(across, up, probability, levels=[0.5], colors="white", linewidths=2.2)


def _draw_width(ax: Any, across: Array, up: Array, width: Array) -> None:
    ax.grid(visible=False)
    levels = np.linspace(0, 1, 11)
    filled = ax.contourf(
        across, up, np.clip(width, 0, 1), levels=levels, cmap=sequential_colours(), alpha=0.75
    )
    bar = ax.figure.colorbar(filled, ax=ax, pad=0.02, ticks=[0, 0.25, 0.5, 0.75, 1])
    bar.outline.set_visible(False)
    bar.set_label("width of the band")
    ax.set_title("How unsure")
