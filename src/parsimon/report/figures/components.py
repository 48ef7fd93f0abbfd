"""The additive parts of a latent function, one panel each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._style import BLUE, GREY, VERMILION, figure_style
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.labels import label, number
from parsimon.report.figures.points import Points
from parsimon.report.figures.surroundings import (
    Posterior,
    frame,
    held_row,
    held_words,
    latent,
    rows_on,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Component(NamedTuple):
    """One summand of a latent function.

    Attributes
    ----------
    label : str
        Its title, for instance the kernel's expression.
    columns : sequence of int or str
        The columns that it depends on.
    posterior : callable
        Maps rows of shape (m, d) to its mean and variance, each of shape (m,).
    """

    label: str
    columns: Sequence[int | str]
    posterior: Posterior


def component_panels(
    components: Sequence[Component],
    points: Points,
    *,
    hold: Any = "mean",
    margin: float = 0.0,
    n_grid: int = 101,
) -> AnyArray:
    """Draw the posterior of each additive component of the latent function.

    One column gives the mean with a band of two standard deviations, more give contours over the
    first two. Curves share one axis and maps one scale of colours, so that sizes can be compared.

    Parameters
    ----------
    components : sequence of Component
        Their means add up to the latent function's (their variances do not).
    points : Points
        The rows, whose range is drawn.
    hold : {"mean", "median"} or array-like of shape (d,), default "mean"
        Values of the columns that a panel does not show.
    margin : float, default 0
        How far beyond the data to draw, as a share of their range.
    n_grid : int, default 101
        Places along each column.

    Returns
    -------
    ndarray of Axes
        One for each component.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> points = Points([[1.0, 5.0], [2.0, 3.0], [3.0, 4.0]], [0, 1, 1], names=["age", "dose"])
    >>> rising = Component("linear", ["age"], lambda X: (X[:, 0], 0.1 + 0 * X[:, 0]))
    >>> [ax.get_xlabel() for ax in component_panels([rising], points)]
    ['age']
    >>> plt.close("all")
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    _check(components)
    held = held_row(points, hold)
    pictures = [_asked(component, points, held, margin, n_grid) for component in components]
    across = min(3, len(pictures))
    down = -(-len(pictures) // across)
    reach = 1.05 * _reach(pictures, 1)
    ticks = MaxNLocator(12, symmetric=True).tick_values(*(s * _reach(pictures, 2) for s in (-1, 1)))
    with figure_style():
        figure = plt.figure(figsize=(4.1 * across, 3.4 * down), layout="constrained")
        panels = np.array([figure.add_subplot(down, across, k + 1) for k in range(len(pictures))])
        for ax, picture, component in zip(panels, pictures, components, strict=True):
            if len(picture.sides) == 1:
                _draw_curve(ax, picture, points, reach)
            else:
                _draw_map(ax, picture, points, np.array(ticks))
            ax.set_title(label(component.label, 34))
    named = sorted({place for picture in pictures for place in picture.places})
    panels[0].set_label(
        "Additive components of the latent function f; above zero speaks for "
        f"{points.class_title(1, 40)}. Line: posterior mean; band: two standard deviations to "
        f"each side; maps show the mean. Curves share one axis, maps one scale."
        f"{held_words(points, named, held)}"
    )
    return panels


def _check(components: Sequence[Component]) -> None:
    if not components:
        raise InvalidInputError("There is no component to draw.")
    for component in components:
        if not component.columns:
            raise InvalidInputError(
                f"Component {component.label!r} names no column. Leave constant parts out."
            )


def _reach(pictures: "Sequence[_Picture]", n_columns: int) -> float:
    """Return the greatest absolute value that pictures of so many columns show, or one."""
    ends = [
        np.abs([p.low.min(), p.high.max()]).max() for p in pictures if len(p.sides) == n_columns
    ]
    return float(max(ends, default=0.0)) or 1.0


class _Picture(NamedTuple):
    places: list[int]
    sides: list[Array]
    mean: Array
    low: Array
    high: Array


def _asked(
    component: Component, points: Points, held: Array, margin: float, n_grid: int
) -> _Picture:
    places = [points.column(one) for one in component.columns][:2]
    sides = [frame(points.X[:, place], margin, n_grid) for place in places]
    grid = [axis.ravel() for axis in np.meshgrid(*sides)]
    mean, variance = latent(component.posterior, rows_on(grid, places, held))
    # A map shows the mean alone, so that the common scale need not hold its band.
    spread = 2 * np.sqrt(variance) if len(places) == 1 else 0 * mean
    return _Picture(places, sides, mean, mean - spread, mean + spread)


def _draw_curve(ax: "Axes", picture: _Picture, points: Points, reach: float) -> None:
    side = picture.sides[0]
    ax.axhline(0, color=GREY, linewidth=0.9, alpha=0.6)
    ax.fill_between(side, picture.low, picture.high, color=GREY, alpha=0.3, linewidth=0)
    ax.plot(side, picture.mean, color=BLUE, linewidth=2.6)
    values = points.X[:, picture.places[0]]
    ticks = np.quantile(values, np.linspace(0, 1, min(len(values), 200)), method="nearest")
    ax.plot(ticks, np.full(len(ticks), -reach), "|", color=GREY, alpha=0.6, markersize=7)
    ax.set(xlim=(side[0], side[-1]), ylim=(-reach, reach))
    ax.set_xlabel(points.title(picture.places[0]))
    ax.set_ylabel("part of f")


def _draw_map(ax: Any, picture: _Picture, points: Points, levels: Array) -> None:
    from matplotlib.colors import to_rgba

    # Clear at zero and stronger to both ends: the page shows through where nothing is said.
    middles = (levels[1:] + levels[:-1]) / (2 * levels[-1])
    tints = [to_rgba(VERMILION if m > 0 else BLUE, 0.75 * abs(m)) for m in middles]
    heights = picture.mean.reshape(len(picture.sides[1]), len(picture.sides[0]))
    filled = ax.contourf(*picture.sides, heights, levels=levels, colors=tints)
    inner = [float(level) for level in levels[1:-1] if heights.min() < level < heights.max()]
    if inner:
        lines = ax.contour(*picture.sides, heights, levels=inner, colors=GREY, linewidths=0.9)
        ax.clabel(lines, fmt=number, fontsize=8)
    bar = ax.figure.colorbar(filled, ax=ax, pad=0.02)
    bar.outline.set_visible(False)
    ax.grid(visible=False)
    ax.set_xlabel(points.title(picture.places[0]))
    ax.set_ylabel(points.title(picture.places[1]))
