"""Method trees for people: in words, and as a picture of what each step makes of a series."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._style import GREY, VERMILION, figure_style
from parsimon._typing import Array
from parsimon.features.series.evaluate import (
    SeriesSignal,
    SeriesTable,
    channel_and_chain,
    join_windows,
    transform_signal,
    tree_values,
)
from parsimon.features.series.trees import MethodTree, TreeStep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FRACTIONS = {
    1.0: "the whole",
    0.5: "half",
    0.25: "a quarter",
    0.2: "a fifth",
    0.125: "an eighth",
    0.1: "a tenth",
    0.0625: "a sixteenth",
    0.05: "a twentieth",
    0.01: "a hundredth",
}

# What a transformation that leaves the axis of time, or adds along it, makes.
_WHOLE = {
    "spectrum": "the spectrum of {}",
    "phase": "the phases of {}",
    "correlation": "the correlation of {} with itself",
    "cosine": "the cosine transformation of {}",
    "cumulative": "the running sum of {} less its mean",
}
_WIDTH, _HEIGHT = 3.1, 2.3
_FREQUENCY = ("spectrum", "phase")
# Places that a function names, to be marked where they lie.
_PLACES = {"maximum": "argmax", "place_of_maximum": "argmax"}
_PLACES |= {"minimum": "argmin", "place_of_minimum": "argmin"}


@dataclass(frozen=True)
class _Subject:
    """What a chain has made so far: "{noun} {where}", such as "the steps of the series".

    noun: What the values are; nothing while they are those of `whole` themselves.
    where: The part that is looked at; nothing for all of it.
    whole: What it is a part of; nothing inside windows.
    is_spectrum: Whether positions are frequencies.
    """

    noun: str = ""
    where: str = ""
    whole: str = "the series"
    is_spectrum: bool = False

    def locate(self) -> str:
        """Return the place, and nothing for a whole window."""
        return self.where or (f"of {self.whole}" if self.whole else "")

    def describe(self) -> str:
        """Return the values as the object of a sentence."""
        if not self.noun and not self.where:
            return self.whole or "the values"
        return f"{self.noun or self.plain} {self.locate()}".strip()

    @property
    def plain(self) -> str:
        """What values are called that no step has changed."""
        return "the strength" if self.is_spectrum else "the values"


def tree_words(tree: MethodTree, channels: Sequence[str] = ()) -> str:
    """Return a tree in words.

    Parameters
    ----------
    tree : MethodTree
    channels : sequence of str
        What the channels are called, such as "temperature"; by their numbers if not given.

    Returns
    -------
    str

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> tree_words(parse_tree("correlation > place_of_maximum"))
    'the lag of the highest correlation of the series with itself'
    """
    subject, steps = _begin(tree, channels)
    return _chain_words(steps, subject)


def _begin(tree: MethodTree, channels: Sequence[str]) -> tuple[_Subject, Sequence[TreeStep]]:
    """Return the series, or the channel that a tree names, and the steps that follow."""
    if tree.steps[0].name != "channel":
        return _Subject(), tree.steps
    number = int(tree.steps[0].options[0])
    whole = channels[number] if number < len(channels) else f"channel {number}"
    return _Subject(whole=whole), tree.steps[1:]


def seen_words(tree: MethodTree, channels: Sequence[str] = ()) -> str:
    """Return what the last function of a tree sees: "the steps", "the spectrum of the series"."""
    subject, steps = _begin(tree, channels)
    for each in steps[:-1]:
        if each.name != "interval":
            subject = (
                _window_words(each, subject) if each.inside else _transform_words(each, subject)
            )
    return subject.noun or subject.whole


def step_words(each: TreeStep) -> str:
    """Return what one step makes, in a few words, such as "steps" or "spectrum"."""
    if each.name == "interval":
        return " to ".join(_percent(value) for value in each.options)
    if each.name == "segments":
        return f"in each {_segment(each)}"
    if each.name == "windows":
        return f"in windows of {_share(each.options[0])}"
    if each.name in _WHOLE:
        short = _WHOLE[each.name].removeprefix("the ").removesuffix(" less its mean")
        return short.replace(" of {}", "")
    return _noun(each, "").removeprefix("the ")


def _segment(each: TreeStep) -> str:
    return "rise and fall" if each.options[0] == "direction" else "stretch of one level"


def _chain_words(steps: Sequence[TreeStep], subject: _Subject) -> str:
    for each in steps:
        if each.method.kind == "function":
            return _function_words(each, subject)
        subject = _window_words(each, subject) if each.inside else _transform_words(each, subject)
    return subject.describe()


def _window_words(each: TreeStep, subject: _Subject) -> _Subject:
    inner = _chain_words(each.inside, _Subject(whole=""))
    if each.name == "segments":
        return _Subject(noun=f"{inner} in each {_segment(each)}", whole=subject.describe())
    share, overlap = each.options
    laps = f" that overlap {overlap:g}-fold" if overlap > 1 else ""
    windows = f"in windows of {_share(share)} of {subject.describe()}{laps}"
    return _Subject(noun=f"{inner} {windows}", whole="")


def _transform_words(each: TreeStep, subject: _Subject) -> _Subject:
    """Return what a transformation makes of what a chain has made."""
    name, options = each.name, each.options
    if name == "interval":
        begin, end = (_percent(value) for value in options)
        whole = subject.describe() if subject.where else subject.whole or "the window"
        return replace(subject, where=f"from {begin} to {end} of {whole}", whole=whole)
    if name in _WHOLE:
        whole = _WHOLE[name].format(subject.describe())
        return _Subject(whole=whole, is_spectrum=name == "spectrum")
    return replace(subject, noun=_noun(each, subject.noun, subject.plain))


def _noun(each: TreeStep, noun: str, plain: str = "the values") -> str:
    """Return what the values are called after a transformation that keeps the axis."""
    name, options = each.name, each.options
    of = f" of {noun}" if noun else ""
    values = noun or plain
    has_lag = "lag" in each.method.options and options[0] > 0
    over = f" over {_percent(options[0])} of the length" if has_lag else ""
    return {
        "difference": lambda: f"the steps{over}{of}",
        "bend": lambda: f"the bend{over}{of}",
        "haar": lambda: f"the wavelets of level {options[0]}{of}",
        "angles": lambda: f"the angles in phase space{over}{of}",
        "distances": lambda: f"the distances in phase space{over}{of}",
        "moving_average": lambda: f"{values} averaged over {_percent(options[0])} of the length",
        "exponential_smoothing": lambda: f"{values} smoothed by {options[0]:g}",
        "band": lambda: f"{values} filtered to {options[0]:g} to {options[1]:g} cycles a step",
        "trim": lambda: f"{values} without the extreme {_percent(options[0])}",
        "weights": lambda: f"{values} under {options[0]} weights",
        "standardise": lambda: f"the standardised {values.removeprefix('the ')}",
        "absolute": lambda: f"the size of {values}",
        "logarithm": lambda: f"the log {values.removeprefix('the ')}",
        "bands": lambda: f"the {options[1]} {options[0]} bands{of}",
        "mismatch": lambda: f"the mismatch with a shape of {len(options[0])} points{of}",
    }[name]()


def _function_words(each: TreeStep, subject: _Subject) -> str:
    """Return a function of what a chain has made."""
    name, options = each.name, each.options
    is_lag = subject.whole.startswith("the correlation") and not subject.noun
    if not subject.noun and name in ("place_of_maximum", "place_of_minimum"):
        extreme = name.removeprefix("place_of_")
        if subject.is_spectrum:
            strength = {"maximum": "strongest", "minimum": "weakest"}[extreme]
            of = subject.where or subject.whole.removeprefix("the spectrum ")
            return f"the {strength} frequency {of}".removesuffix(" of the values")
        if is_lag and not subject.where:
            high = {"maximum": "highest", "minimum": "lowest"}[extreme]
            return f"the lag of the {high} {subject.whole.removeprefix('the ')}"
    if name == "peak":
        rank = {1: "", 2: "second ", 3: "third "}.get(options[0], f"{options[0]}th ")
        phrase = f"the {options[1]} of the {rank}highest peak"
    elif name == "item":
        phrase = f"value {options[0]}"
    else:
        phrase = each.method.words
    if subject.noun or (subject.is_spectrum and subject.where):
        return f"{phrase} of {subject.noun or subject.plain} {subject.locate()}".strip()
    return f"{phrase} {subject.locate()}".strip()


def _share(share: float) -> str:
    return _FRACTIONS.get(round(share, 6), _percent(share))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


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
            signal = transform_signal(signal, each)
            found.append(_stage(signal, step_words(each), axis))
        else:
            windows, signal = join_windows(signal, each)
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
