"""Pictures of method trees: what each step makes of one series, from left to right."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._style import GREY, VERMILION, figure_style
from parsimon._typing import Array
from parsimon.features.series.evaluate import (
    SeriesSignal,
    SeriesTable,
    channel_and_chain,
    joined_parts,
    transformed,
    tree_values,
)
from parsimon.features.series.tree_words import step_words
from parsimon.features.series.trees import MethodTree, TreeStep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 3.1, 2.3
_FREQUENCY = ("spectrum", "phase")
# Places that a function names, to be marked where they lie.
_PLACES = {"maximum": "argmax", "place_of_maximum": "argmax"}
_PLACES |= {"minimum": "argmin", "place_of_minimum": "argmin"}


class Stage(NamedTuple):
    """A series after one step: what to call it, its values (L,) and their positions (L,).

    axis: What the positions are.
    inside: For a windowing: the stages of one window, and where that lies among the windows.
    """

    title: str
    values: Array
    positions: Array
    axis: str
    inside: "tuple[list[Stage], int] | None" = None


def plot_tree(tree: MethodTree, series: Any) -> "Axes":
    """Draw a method tree on one series: a panel for each step, and the number it ends with.

    Where a tree has windows, a second row shows what happens inside one of them.

    Parameters
    ----------
    tree : MethodTree
    series : array-like of shape (length,) or (channels, length)

    Returns
    -------
    matplotlib Axes
        The first panel; ``.figure`` is the whole.

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> tree = parse_tree("windows(0.2){spectrum > place_of_maximum} > mean")
    >>> first = plot_tree(tree, np.sin(np.arange(100) ** 1.5 / 10))
    >>> len(first.figure.axes)
    4
    """
    import matplotlib.pyplot as plt

    stages = tree_stages(tree, series)
    inner = next((stage.inside for stage in stages if stage.inside is not None), None)
    columns = max(len(stages), 0 if inner is None else 1 + len(inner[0]))
    with figure_style():
        figure = plt.figure(
            figsize=(_WIDTH * columns, _HEIGHT * (1 if inner is None else 2)), layout="constrained"
        )
        grid = figure.add_gridspec(1 if inner is None else 2, columns)
        value = float(tree_values([tree], _table(series))[0, 0])
        drawn = _draw_chain(figure, grid, 0, 0, stages, tree.steps[-1], value)
        if inner is not None:
            at = next(place for place, stage in enumerate(stages) if stage.inside is not None)
            windows = next(one for one in tree.steps if one.inside)
            begin = min(at, columns - len(inner[0]))
            own = float(stages[at].values[inner[1]])
            _draw_chain(figure, grid, 1, begin, inner[0], windows.inside[-1], own)
            _mark(drawn[at], stages[at], inner[1])
            width = len(inner[0][0].values) / len(stages[at - 1].values)
            first = float(stages[at].positions[inner[1]])
            drawn[at - 1].axvspan(first, first + width, color=VERMILION, alpha=0.15)
    return drawn[0]


def tree_stages(tree: MethodTree, series: Any) -> list[Stage]:
    """Return a series as it is and after each step of a tree but the last.

    Parameters
    ----------
    tree : MethodTree
    series : array-like of shape (length,) or (channels, length)

    Returns
    -------
    list of Stage
        Each with ``title``, ``values``, their ``positions`` and what these are, ``axis``.

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> tree_stages(parse_tree("difference > mean"), [1.0, 2.0, 4.0])[-1].values
    array([1., 2.])
    """
    table = _table(series)
    channel, steps = channel_and_chain(tree, table)
    return _stages(table.signals[channel], steps, "the series")


def _table(series: Any) -> SeriesTable:
    return SeriesTable(np.asarray(series, dtype=np.float64)[None])


def _stages(signal: SeriesSignal, steps: Sequence[TreeStep], title: str) -> list[Stage]:
    axis = "share of the series" if title == "the series" else "share of the window"
    found = [_stage(signal, title, axis)]
    for each in steps[:-1]:
        if each.name in _FREQUENCY:
            axis = "cycles a step"
        elif each.name == "correlation":
            axis = "lag"
        if each.method.kind == "transformation":
            signal = transformed(signal, each)
            found.append(_stage(signal, step_words(each), axis))
        else:
            windows, signal = joined_parts(signal, each)
            stage = _stage(signal, step_words(each), axis)
            found.append(stage._replace(inside=_window_stages(windows, each)))
    return found


def _stage(signal: SeriesSignal, title: str, axis: str) -> Stage:
    block = signal.blocks[0]
    return Stage(title, block.values[0], block.positions, axis)


def _window_stages(windows: SeriesSignal, each: TreeStep) -> "tuple[list[Stage], int] | None":
    """Return the stages of the longest window nearest the middle, and its number.

    None for windows that are only filtered and put together again.
    """
    if each.inside[-1].method.kind != "function":
        return None
    longest = max(windows.blocks, key=lambda block: block.values.shape[1])
    own = int(np.abs(longest.rows - windows.n // 2).argmin())
    only = longest._replace(rows=np.zeros(1, np.intp), values=longest.values[own][None])
    stages = _stages(SeriesSignal(1, (only,)), each.inside, "one window")
    return stages, int(longest.rows[own])


def _draw_chain(
    figure: Any,
    grid: Any,
    row: int,
    begin: int,
    stages: list[Stage],
    last: TreeStep,
    value: float,
) -> "list[Axes]":
    """Draw the stages of a chain, and what its function makes of the last."""
    drawn = []
    for at, stage in enumerate(stages):
        axes = figure.add_subplot(grid[row, begin + at])
        is_points = len(stage.values) <= 40 and at > 0
        axes.plot(stage.positions, stage.values, "-o" if is_points else "-", markersize=3)
        axes.set_title(stage.title if at == 0 else f"→ {stage.title}", fontsize=9.5)
        axes.set_xlabel(stage.axis, fontsize=9)
        axes.tick_params(labelsize=8)
        axes.locator_params(nbins=4)
        drawn.append(axes)
    end, stage = drawn[-1], stages[-1]
    _draw_function(end, stage, last, value)
    words = last.method.words.removeprefix("the ")
    end.set_title(f"{end.get_title(loc='left')}\n→ {words}: {value:.3g}", fontsize=9.5)
    return drawn


def _draw_function(axes: "Axes", stage: Stage, last: TreeStep, value: float) -> None:
    """Mark what a function looks at: a level, or a place."""
    if last.name in _PLACES:
        _mark(axes, stage, int(getattr(stage.values, _PLACES[last.name])()))
    elif last.name in ("mean", "median"):
        axes.axhline(value, color=VERMILION, linewidth=1.5)
    elif last.name == "gradient":
        line = np.polynomial.Polynomial.fit(stage.positions, stage.values, 1)
        axes.plot(stage.positions, line(stage.positions), color=VERMILION, linewidth=1.5)
    elif last.name in ("deviation", "variance", "quartile_range"):
        middle, spread = stage.values.mean(), stage.values.std()
        axes.axhspan(middle - spread, middle + spread, color=VERMILION, alpha=0.15)


def _mark(axes: "Axes", stage: Stage, place: int) -> None:
    at, height = stage.positions[place], stage.values[place]
    axes.plot([at], [height], "o", color=VERMILION, markersize=7, fillstyle="none")
    axes.axvline(float(at), color=GREY, linewidth=0.8, linestyle=":")
