"""A search drawn as a tree of what was tried, and what size buys: in one search, of all models."""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.points import label, percent_label
from parsimon.report.findings import ComparedModel, ModelComparison
from parsimon.report.findings.shared_findings import FeatureFront

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW_INCHES = 0.27
_LETTER_INCHES = 0.083
_GAP_LETTERS = 5.0


class SearchNode(NamedTuple):
    """A candidate of a search.

    label: What was tried.
    parent: Place of the parent in the list, which comes before its children; None for a root.
    error: Between 0 and 1; None if it was not measured.
    on_path: Was kept on the way to the result.
    best: Is the result.
    """

    label: str
    parent: int | None = None
    error: float | None = None
    on_path: bool = False
    best: bool = False


class _Drawn(NamedTuple):
    """A node that has a place: `above` is the place of its parent in the list of drawn nodes."""

    text: str
    above: int | None
    depth: int
    tint: str
    weight: str


def search_tree(
    nodes: Sequence[SearchNode],
    *,
    most_children: int = 5,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a search from left to right, one column for each level.

    The path to the result is blue and the result vermilion; children are sorted by error, the
    best at the top. Every leaf has a row of its own and every parent stands amid its children.
    """
    _check(nodes, most_children)
    drawn = _prune(nodes, most_children)
    rows = _rows(drawn)
    starts, widths = _columns(drawn)
    with figure_style():
        size = (_LETTER_INCHES * (starts[-1] + widths[-1]) + 0.4, _ROW_INCHES * (rows.max() + 2))
        ax = new_axes(ax, figsize=(max(size[0], 3.0), max(size[1], 1.4)))
        for place, node in enumerate(drawn):
            if node.above is not None:
                _draw_edge(ax, drawn, place, rows, starts, widths)
        for place, node in enumerate(drawn):
            _draw_node(ax, node, starts[node.depth], rows[place])
        ax.set_xlim(-1.5, starts[-1] + widths[-1])
        ax.set_ylim(rows.max() + 0.8, -0.8)
        ax.axis("off")
        if title is not None:
            ax.set_title(label(title, 60))
    hidden = len(nodes) - sum(not node.text.startswith("+ ") for node in drawn)
    ax.set_label(
        f"The search tried {len(nodes)} candidates, from left to right. Blue: kept on the way; "
        f"vermilion: the result."
        + (f" {hidden} worse candidates are counted, not drawn." if hidden else "")
    )
    return ax


def _check(nodes: Sequence[SearchNode], most_children: int) -> None:
    if not nodes or most_children < 1:
        raise InvalidInputError(
            f"A tree needs one node and most_children of 1 or more; got {len(nodes)} nodes and "
            f"{most_children}."
        )
    for place, node in enumerate(nodes):
        if node.parent is not None and not 0 <= node.parent < place:
            raise InvalidInputError(
                f"Node {place} has parent {node.parent}; parents must come before their children."
            )


def _prune(nodes: Sequence[SearchNode], most: int) -> list[_Drawn]:
    """Return the nodes to draw, depth first, children by error."""
    children: dict[int | None, list[int]] = {}
    for place, node in enumerate(nodes):
        children.setdefault(node.parent, []).append(place)
    alive = _ancestors_of_path(nodes)
    drawn: list[_Drawn] = []

    def grow(parent: int | None, above: int | None, depth: int) -> None:
        ranked = sorted(children.get(parent, []), key=lambda place: _rank(nodes[place]))
        shown = [p for k, p in enumerate(ranked) if k < most or p in alive]
        for place in shown:
            drawn.append(_dress(nodes[place], above, depth))
            grow(place, len(drawn) - 1, depth + 1)
        if len(shown) < len(ranked):
            more = f"+ {len(ranked) - len(shown)} worse"
            drawn.append(_Drawn(more, above, depth, "", "normal"))

    grow(None, None, 0)
    return drawn


def _ancestors_of_path(nodes: Sequence[SearchNode]) -> set[int]:
    alive: set[int] = set()
    for place in reversed(range(len(nodes))):
        if nodes[place].on_path or nodes[place].best or place in alive:
            alive.add(place)
            parent = nodes[place].parent
            if parent is not None:
                alive.add(parent)
    return alive


def _rank(node: SearchNode) -> float:
    return np.inf if node.error is None else node.error


def _dress(node: SearchNode, above: int | None, depth: int) -> _Drawn:
    text = label(node.label, 40)
    if node.error is not None:
        text = f"{text}  {percent_label(node.error)}"
    tint = VERMILION if node.best else BLUE if node.on_path else GREY
    return _Drawn(text, above, depth, tint, "bold" if node.best else "normal")


def _rows(drawn: Sequence[_Drawn]) -> Array:
    """Return heights: leaves one below the other, parents amid their first and last child."""
    members: dict[int, list[int]] = {}
    for place, node in enumerate(drawn):
        if node.above is not None:
            members.setdefault(node.above, []).append(place)
    rows = np.zeros(len(drawn))
    leaves = (place for place in range(len(drawn)) if place not in members)
    for height, place in enumerate(leaves):
        rows[place] = height
    for place in sorted(members, reverse=True):
        rows[place] = (rows[members[place][0]] + rows[members[place][-1]]) / 2
    return rows


def _columns(drawn: Sequence[_Drawn]) -> tuple[Array, Array]:
    """Return where each level begins and how wide it is, in letters."""
    deepest = max(node.depth for node in drawn)
    widths = np.array(
        [max(len(node.text) for node in drawn if node.depth == d) + 2 for d in range(deepest + 1)],
        dtype=float,
    )
    starts = np.concatenate([[0.0], np.cumsum(widths + _GAP_LETTERS)[:-1]])
    return starts, widths


def _draw_edge(
    ax: "Axes", drawn: Sequence[_Drawn], place: int, rows: Array, starts: Array, widths: Array
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    node = drawn[place]
    above = drawn[node.above or 0]
    x0, x1 = starts[above.depth] + min(len(above.text) + 2, widths[above.depth]), starts[node.depth]
    turn = starts[above.depth] + widths[above.depth]
    y0, y1 = rows[node.above or 0], rows[place]
    middle = (turn + x1) / 2
    path = Path(
        [(x0, y0), (turn, y0), (middle, y0), (middle, y1), (x1, y1)],
        [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
    )
    look: dict[str, Any] = {"edgecolor": GREY, "linewidth": 0.9, "alpha": 0.6, "zorder": 1}
    if node.tint in {BLUE, VERMILION}:
        look = {"edgecolor": node.tint, "linewidth": 2.4, "alpha": 1.0, "zorder": 2}
    ax.add_patch(PathPatch(path, facecolor="none", **look))


def _draw_node(ax: "Axes", node: _Drawn, across: float, height: float) -> None:
    if node.tint:
        # A full disc on the path and a ring elsewhere: legible without colour.
        fill = "none" if node.tint == GREY else node.tint
        size = 9 if node.tint == VERMILION else 6
        disc: dict[str, Any] = {"markerfacecolor": fill, "markeredgecolor": node.tint}
        ax.plot([across], [height], marker="o", markersize=size, zorder=3, **disc)
    letters: dict[str, Any] = {"color": node.tint or GREY, "fontweight": node.weight}
    letters["fontstyle"] = "normal" if node.tint else "italic"
    ax.text(across + 1, height, node.text, va="center", fontsize=10, **letters)


_LINE_LETTERS = 34
_MOST_LINES = 3


def words_by_column(words: str, columns: Mapping[str, str]) -> str:
    """Return a structure in words with the columns of its variables, each part once.

    columns: Of the variables, as a category has one for each level.
    """
    for name in sorted(columns, key=len, reverse=True):
        if columns[name] != name:
            words = words.replace(name, columns[name])
    return ", plus ".join(dict.fromkeys(words.split(", plus ")))


class Step(NamedTuple):
    """A model among models of increasing size.

    words: What it is made of.
    size: What it costs to explain, such as its number of terms.
    error, standard_error: Shares; a standard error that is not finite is not drawn.
    """

    words: str
    size: float
    error: float
    standard_error: float = float("nan")


def error_steps(
    steps: Sequence[Step],
    *,
    knee: int | None = None,
    chosen: int | None = None,
    unit: str = "of rows",
    explained: bool = False,
    title: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the error of models of increasing size, one below the other, with standard errors.

    explained: Draw what the error, a share of the variance, leaves: the share that is explained.
    """
    from matplotlib.ticker import MaxNLocator

    known = [step for step in steps if np.isfinite(step.error)]
    if not known:
        raise InvalidInputError("There is no model with an error to draw.")
    for place in (knee, chosen):
        if place is not None and not 0 <= place < len(steps):
            raise InvalidInputError(f"There is no model {place}; there are {len(steps)}.")
    if explained:
        steps = [step._replace(error=1 - step.error) for step in steps]
    names = ["\n".join(_wrap(step.words)) for step in steps]
    heights = _heights(names)
    with figure_style():
        ax = new_axes(ax, figsize=(7.6, 0.9 + 0.24 * heights[-1]))
        errors = [step.error for step in steps]
        ax.plot(errors, heights, color=GREY, linewidth=1, alpha=0.4, zorder=1.8)
        places = [place for place, step in enumerate(steps) if np.isfinite(step.error)]
        for place in places:
            _draw_error(ax, steps[place], heights[place], is_chosen=place == chosen)
        for place in places:
            is_knee, is_chosen = place == knee, place == chosen
            _mark(ax, steps[place], heights[place], is_knee=is_knee, is_chosen=is_chosen)
        ax.set_yticks(heights, names)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(heights[-1] + 1.4, heights[0] - 1.4)
        low, high = ax.get_xlim()
        # Room for the words to the right of the longest bar.
        ax.set_xlim(low, high + 0.22 * (high - low))
        ax.grid(axis="y", visible=False)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter(percents)
        what = "explained" if explained else "error"
        ax.set_xlabel(f"{what} in the search's own folds, {unit}")
        if title is not None:
            ax.set_title(label(title, 60))
    shown = "What the best model of each size explains" if explained else _ERRORS
    ring = " Ring: after it size buys less." if knee is not None else ""
    here = " Vermilion: the model drawn here." if chosen is not None else ""
    ax.set_label(f"{shown}; bars: one standard error.{ring}{here}")
    return ax


_ERRORS = "Error of the best model of each size"


def _wrap(words: str) -> list[str]:
    """Return a model's words in a few lines of text that is drawn as it stands."""
    lines = wrap(" ".join(words.split()), _LINE_LETTERS) or [" "]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1][: _LINE_LETTERS - 1]}…"]
    return [label(line, _LINE_LETTERS) for line in lines]


def _heights(names: Sequence[str]) -> list[float]:
    """Return where models stand, so that their words have room, in lines of text."""
    heights, edge = [], 0.0
    for name in names:
        n_lines = 1 + name.rstrip("\n").count("\n")
        heights.append(edge + (n_lines + 1) / 2)
        edge += n_lines + 1
    return heights


def _spread(step: Step) -> float:
    return step.standard_error if np.isfinite(step.standard_error) else 0.0


def _draw_error(ax: "Axes", step: Step, height: float, *, is_chosen: bool) -> None:
    look: dict[str, Any] = {"marker": "o", "markersize": 8, "elinewidth": 1.8, "capsize": 3}
    tint = VERMILION if is_chosen else BLUE
    ax.errorbar([step.error], [height], xerr=[_spread(step)], color=tint, **look)


def _mark(ax: "Axes", step: Step, height: float, *, is_knee: bool, is_chosen: bool) -> None:
    """Write an error beside it, and draw a ring around the knee."""
    if is_knee:
        ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.8, "color": GREY}
        ax.plot([step.error], [height], "o", markersize=15, **ring)
    ax.annotate(
        percent_label(step.error) + ", drawn here" * is_chosen,
        (step.error + _spread(step), height),
        xytext=(14 if is_knee else 8, 0),
        textcoords="offset points",
        ha="left",
        va="center",
        fontsize=9.5,
        fontweight="bold" if is_chosen else "normal",
        color=VERMILION if is_chosen else GREY,
    )


def error_against_size(comparison: ModelComparison, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the honest error of each model, with its interval, the smallest model on top."""
    known = [model for model in comparison.models if np.isfinite(model.size)]
    # Guessing is far off what has learnt something, which would be squeezed together.
    models = [model for model in known if model.is_level or model.family != "guessing"]
    if not models:
        raise InvalidInputError("There is no model with a size to draw.")
    models = sorted(models, key=lambda model: model.size)
    rare = comparison.metric == "log loss"
    if rare:
        models = [model for model in models if np.isfinite(model.log_loss)] or models
    names = [f"{label(model.name, 26)}, {model.size:,.0f} bits" for model in models]
    tints = [VERMILION if m.recommended else BLUE if m.is_level else GREY for m in models]
    with figure_style():
        ax = new_axes(ax, figsize=(5.6, 0.8 + 0.31 * len(models)))
        for place, (model, tint) in enumerate(zip(models, tints, strict=True)):
            # A ring is told from a disc without colour.
            fill = tint if model.is_level else "none"
            size, above = (9, 3) if model.recommended else (7, 2)
            look: dict[str, Any] = {"color": tint, "markerfacecolor": fill, "markersize": size}
            look |= {"marker": "D" if model.recommended else "o", "zorder": above}
            draw_model(ax, place, model, comparison, **look)
        name_models(ax, names, comparison)
        for text, model, tint in zip(ax.get_yticklabels(), models, tints, strict=True):
            text.set_color(tint)
            text.set_fontweight("bold" if model.recommended else "normal")
    ax.set_label(
        f"{_CAPTIONS[comparison.metric]}, the smallest model first, with 95 % intervals"
        f"{' of the distance from the best' if rare else ''}. Vermilion: the model to use; blue: "
        "cannot be told from the best; grey: worse."
    )
    return ax


_MEASURES = {
    "error": "wrong answers on new rows",
    "log loss": "log loss on new rows",
    "variance left": "variance explained",
}
_CAPTIONS = {
    "error": "Honest error",
    "log loss": "Honest log loss",
    "variance left": "What each model explains",
}


def draw_model(
    ax: "Axes", place: int, model: ComparedModel, comparison: ModelComparison, **look: Any
) -> None:
    """Draw what was measured of a model, with the ends of its interval."""
    error, gap = model.error, model.difference
    middle, low, high = error.estimate, error.low, error.high
    if comparison.metric == "variance left":
        middle, low, high = 1 - middle, 1 - high, 1 - low
    elif comparison.metric == "log loss" and np.isfinite(model.log_loss):
        best = comparison.best.log_loss
        middle, low, high = model.log_loss, best + gap.low, best + gap.high
    reach = [[max(0.0, middle - low)], [max(0.0, high - middle)]]
    ax.errorbar([middle], [place], xerr=reach, elinewidth=1.4, capsize=3, **look)


def name_models(
    ax: "Axes", names: Sequence[str], comparison: ModelComparison, unit: str = "rows"
) -> None:
    """Name the models to the left of an axis that goes down, and below what was measured."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    if comparison.metric != "log loss":
        ax.xaxis.set_major_formatter(percents)
    ax.set_xlabel(_MEASURES[comparison.metric].replace("rows", unit))


def percents(value: float, _: object) -> str:
    """Return what an axis of shares writes at a place."""
    return f"{100 * value:.3g} %"


class _FrontWords(NamedTuple):
    """What a front of a kind says: its axis, its two lines, and what has a size."""

    axis: str
    inside: str
    outside: str
    sizes: str


_FRONTS = {
    "columns": _FrontWords("columns", "rows of the search", "rows set apart", "number of columns"),
    "formulas": _FrontWords(
        "signs of the formula", "rows of the search", "rows set apart", "length of the formula"
    ),
    "series": _FrontWords("features", "in the search", "on new series", "number of features"),
}
_FRONT_ERRORS = {"error": "wrong answers", "log loss": "log loss", "typical miss": "typical miss"}


def feature_front(front: FeatureFront, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the error of each size of a front, on the rows of the search and on rows set apart."""
    sizes = np.array([size.size for size in front.sizes])
    error = np.array([size.error for size in front.sizes])
    spread = np.nan_to_num([size.standard_error for size in front.sizes])
    outside = np.array([size.outside for size in front.sizes])
    words, chosen = _FRONTS[front.kind], front.chosen
    apart = bool(np.isfinite(outside).all())
    with figure_style():
        ax = new_axes(ax, figsize=(5.6, 3.3))
        ax.fill_between(sizes, error - spread, error + spread, color=BLUE, alpha=0.15, linewidth=0)
        ax.plot(sizes, error, "o-", color=BLUE, label=words.inside)
        if apart:
            ax.plot(sizes, outside, "s--", color=VERMILION, label=words.outside)
        ring: dict[str, Any] = {"markersize": 13, "fillstyle": "none", "label": "chosen"}
        ax.plot(chosen.size, chosen.error, "o", color=BLUE, **ring)
        ax.axhline(front.guessing, color=GREY, linestyle=":", linewidth=1.2, label="guessing")
        if front.measure == "error":
            ax.yaxis.set_major_formatter(percents)
        ax.locator_params(axis="x", integer=True)
        ax.set_xlabel(words.axis)
        ax.set_ylabel(_FRONT_ERRORS[front.measure])
        ax.legend(loc="best", fontsize=8)
    rows = "series" if front.kind == "series" else "rows"
    parted = f" Where the two lines part, the search has found what only its {rows} show."
    ax.set_label(
        f"The least error that was found for each {words.sizes}"
        f"{', with one standard error' if spread.any() else ''}.{parted if apart else ''}"
    )
    return ax


def feature_response(
    values: Array, y: Array, name: str, target: str, *, share: bool, ax: "Axes | None" = None
) -> "Axes":
    """Draw how the target follows a feature: rows, and means of rows that are alike in it.

    Shapes: values (n,), y (n,), which is 1 and 0 if a `share` is drawn.
    """
    order = np.argsort(values, kind="stable")
    groups = [part for part in np.array_split(order, min(10, max(2, len(y) // 8))) if len(part)]
    centre = [float(np.median(values[part])) for part in groups]
    mean = np.array([y[part].mean() for part in groups])
    error = np.array([y[part].std() / np.sqrt(len(part)) for part in groups])
    with figure_style():
        ax = new_axes(ax, figsize=(4.6, 3.0))
        if not share:
            ax.plot(values, y, ".", color=GREY, markersize=3, alpha=0.5)
        ax.errorbar(centre, mean, yerr=error, fmt="o-", color=BLUE, capsize=2)
        if share:
            ax.yaxis.set_major_formatter(percents)
        ax.set_xlabel(label(name, 60))
        ax.set_ylabel(label(f"share of {target}" if share else target, 40))
    said = f"means of rows that are alike in {label(name, 60)}, with one standard error."
    ax.set_label(f"M{said[1:]}" if share else f"Rows, and {said}")
    return ax
