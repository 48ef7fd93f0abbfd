"""Pictures of a front: two objectives, three, or parallel coordinates; and it in a notebook."""

from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._notebook import block, scatter, sentence, table
from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes, sequential_colours
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.pareto._directions import Directions
from parsimon.pareto.criteria import unit_scaled
from parsimon.pareto.front import describe_front, write_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows of a front that a notebook shows.
_MOST_ROWS = 20


def plot_front(
    values: Array,
    directions: Directions,
    *,
    chosen: int | None = None,
    kind: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a front of shape (n, m) and mark the chosen row; see `Front.plot`."""
    n_objectives = len(directions)
    kind = kind or ("pair" if n_objectives in {2, 3} else "parallel")
    allowed = {"pair": (2, 3), "3d": (3, 3), "parallel": (1, np.inf)}
    if kind not in allowed:
        raise InvalidInputError(f'kind must be "pair", "3d" or "parallel", got {kind!r}.')
    least, most = allowed[kind]
    if not least <= n_objectives <= most:
        raise InvalidInputError(
            f"A plot of kind {kind!r} does not fit {n_objectives} objectives; "
            "use project to choose some, or kind='parallel'."
        )
    draw = {"pair": _pair, "3d": _three_dimensional, "parallel": _parallel}[kind]
    with figure_style():
        return draw(values, directions, chosen, ax)


def front_block(
    title: str, values: Array, rows: Indices, directions: Directions, knee: int | None
) -> str:
    """Return a front as HTML: in words, as points, and its rows with the knee marked.

    Shapes: values (n, m), rows (n,).
    """
    parts = [sentence(describe_front(values, directions, knee))]
    if len(values) > 1 and len(directions) > 1:
        across, up = _axes_of(directions)
        named = (_axis_label(directions, across), _axis_label(directions, up))
        parts.append(
            scatter(values[:, across].tolist(), values[:, up].tolist(), named, marked=knee)
        )
    if len(values):
        places = sorted({*range(min(len(values), _MOST_ROWS)), 0 if knee is None else knee})
        said = "" if len(places) == len(values) else f"; {len(places)} of {len(values):,} rows"
        shown = [(place, int(rows[place]), *values[place].tolist()) for place in places]
        marked = None if knee is None else places.index(knee)
        header = ("", "row", *directions.names)
        parts.append(table(f"The knee is marked{said}", header, shown, marked=marked))
    return block(title, parts)


def _axes_of(directions: Directions) -> tuple[int, int]:
    # What is paid lies on the horizontal axis, what is gained on the vertical one.
    return (1, 0) if directions.maximise[:2] == (True, False) else (0, 1)


def _pair(values: Array, directions: Directions, chosen: int | None, ax: "Axes | None") -> "Axes":
    ax = new_axes(ax, figsize=(6.4, 4.4))
    across, up = _axes_of(directions)
    x, y = values[:, across], values[:, up]
    if len(directions) == 2:
        corners = _staircase(values, directions)
        ax.plot(corners[:, across], corners[:, up], color=BLUE, alpha=0.6, linewidth=1.4, zorder=2)
        ax.scatter(x, y, s=30, color=BLUE, zorder=3)
    else:
        third = ax.scatter(
            x, y, c=values[:, 2], s=34, cmap=sequential_colours(), zorder=3, linewidths=0
        )
        bar = ax.figure.colorbar(third, ax=ax, label=_axis_label(directions, 2), pad=0.02)
        bar.outline.set_visible(False)
    ax.set_xlabel(_axis_label(directions, across))
    ax.set_ylabel(_axis_label(directions, up))
    ax.margins(0.06)
    ax.set_title(_title(values))
    if chosen is not None:
        _mark(ax, (float(x[chosen]), float(y[chosen])), _caption(values[chosen], directions))
    return ax


def _staircase(values: Array, directions: Directions) -> Array:
    """Return the edge of what the front dominates, shape (2 n - 1, 2); nothing lies beyond it."""
    minimised = values * directions.sign
    order = np.lexsort((minimised[:, 1], minimised[:, 0]))
    steps = np.repeat(minimised[order], 2, axis=0)
    # From each point along the first objective at constant second, then down to the next point.
    return np.column_stack([steps[1:, 0], steps[:-1, 1]]) * directions.sign


def _mark(ax: "Axes", point: tuple[float, float], caption: str) -> None:
    """Ring a point and write its caption on the side where there is room."""
    ax.scatter(*point, s=150, facecolor="none", edgecolor=VERMILION, linewidth=2.4, zorder=5)
    rightwards = point[0] <= np.mean(ax.get_xlim())
    upwards = point[1] <= np.mean(ax.get_ylim())
    ax.annotate(
        caption,
        xy=point,
        xytext=(24 if rightwards else -24, 28 if upwards else -28),
        textcoords="offset points",
        ha="left" if rightwards else "right",
        va="bottom" if upwards else "top",
        arrowprops={"arrowstyle": "-", "color": VERMILION, "shrinkB": 7, "linewidth": 1.4},
        zorder=6,
        **_CAPTION,
    )


# A filled label is legible over points and lines, and on any page.
_CAPTION: dict[str, Any] = {
    "color": "white",
    "fontsize": 10,
    "fontweight": "bold",
    "bbox": {"boxstyle": "round,pad=0.35", "facecolor": VERMILION, "edgecolor": "none"},
}


def _caption(point: Array, directions: Directions) -> str:
    return "\n".join(
        f"{name} {write_number(value)}" for name, value in zip(directions.names, point, strict=True)
    )


def _three_dimensional(
    values: Array, directions: Directions, chosen: int | None, ax: "Axes | None"
) -> "Axes":
    import matplotlib.pyplot as plt

    cube: Any = ax
    if cube is None:
        figure = plt.figure(figsize=(6.4, 5.2))
        cube = figure.add_subplot(projection="3d")
    cube.computed_zorder = False  # the mark stays in front of the points
    cube.scatter(
        *values.T, c=values[:, 2], cmap=sequential_colours(), s=26, depthshade=False, linewidths=0
    )
    for axis, column in zip("xyz", range(3), strict=True):
        getattr(cube, f"set_{axis}label")(_axis_label(directions, column), labelpad=8)
        getattr(cube, f"{axis}axis").pane.set_alpha(0.0)
    cube.set_title(_title(values))
    cube.set_box_aspect(None, zoom=0.86)
    if chosen is not None:
        cube.scatter(
            *values[chosen][:, None],
            s=130,
            color=VERMILION,
            edgecolor="white",
            zorder=9,
            depthshade=False,
        )
        cube.text2D(
            0.0,
            0.98,
            _caption(values[chosen], directions),
            transform=cube.transAxes,
            va="top",
            **_CAPTION,
        )
    return cube


def _parallel(
    values: Array, directions: Directions, chosen: int | None, ax: "Axes | None"
) -> "Axes":
    ax = new_axes(ax, figsize=(1.6 * len(directions) + 2, 4.4))
    # Better is up on every axis, so a line near the top is good in everything.
    height = 1 - unit_scaled(values * directions.sign)
    places = range(len(directions))
    shades = sequential_colours()(height[:, 0])
    alpha = max(0.15, min(0.8, 30 / len(values)))
    for line, shade in zip(height, shades, strict=True):
        ax.plot(places, line, color=shade, alpha=alpha, linewidth=1.3, zorder=2)
    if chosen is not None:
        ax.plot(places, height[chosen], color=VERMILION, linewidth=2.8, zorder=4, marker="o")
        for place, value, level in zip(places, values[chosen], height[chosen], strict=True):
            ax.annotate(
                write_number(value),
                (place, level),
                xytext=(9, 0),
                textcoords="offset points",
                va="center",
                zorder=5,
                **_CAPTION,
            )
    best = np.where(directions.maximise, values.max(axis=0), values.min(axis=0))
    worst = np.where(directions.maximise, values.min(axis=0), values.max(axis=0))
    style: dict[str, Any] = {"textcoords": "offset points", "color": GREY, "fontsize": 10}
    for place in places:
        ax.axvline(place, color=GREY, linewidth=0.9, alpha=0.7, zorder=1)
        for value, level, side in ((best[place], 1, "baseline"), (worst[place], 0, "top")):
            away = (0, 7 if level else -7)
            text = write_number(value)
            ax.annotate(text, (place, level), xytext=away, ha="center", va=side, **style)
    ax.set_xticks(places, [_axis_label(directions, j, newline=True) for j in places])
    ax.tick_params(axis="x", length=0, pad=20)
    ax.set_yticks([])
    ax.set_ylabel("better →")
    ax.grid(False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_title(_title(values), pad=22)
    return ax


def _axis_label(directions: Directions, column: int, *, newline: bool = False) -> str:
    word = "higher" if directions.maximise[column] else "lower"
    return f"{directions.names[column]}{chr(10) if newline else ' '}({word} is better)"


def _title(values: Array) -> str:
    noun = "solution" if len(values) == 1 else "solutions"
    return f"Pareto front: {len(values)} {noun}"
