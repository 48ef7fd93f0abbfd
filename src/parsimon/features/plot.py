"""Pictures of selections and of constructed features."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.features.chance import ChanceLevels
from parsimon.features.expressions import Expression
from parsimon.features.formulas import latex

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 6


def plot_counts(selector: Any, kind: str, ax: "Axes | None") -> "Axes":
    """Draw a stem for each column that was ever counted, and the level of chance."""
    totals = kind == "total"
    counts = selector.totals_ if totals else selector.coincidences_
    chance: ChanceLevels = selector.chance_
    level = chance.total_level if totals else chance.coincident_level
    with figure_style():
        axes = new_axes(ax, figsize=(7.0, 3.6))
        places = np.flatnonzero(counts)
        axes.vlines(places, 0, counts[places], color=BLUE, linewidth=1)
        axes.plot(places, counts[places], "o", color=BLUE, markersize=3)
        if np.isfinite(level):
            label = f"chance, {100 * chance.level_rate:.2g} %"
            axes.axhline(level + 0.5, color=GREY, linestyle="--", linewidth=1, label=label)
            axes.legend(loc="upper right")
        _name_the_highest(selector, counts, axes)
        axes.set_xlabel("column")
        axes.set_ylabel("fits that select it" if totals else "splits in which both halves do")
        axes.set_xlim(-0.02 * len(counts), 1.02 * len(counts))
        # Room for the legend above the highest stem.
        axes.set_ylim(0, 1.2 * np.nanmax([1, counts.max(), level]))
    return axes


def _name_the_highest(selector: Any, counts: Any, axes: "Axes") -> None:
    names = getattr(selector, "feature_names_in_", None)
    highest = max(1, int(counts.max()))
    taken: list[tuple[float, float]] = []
    for place in np.argsort(-counts, kind="stable")[:_NAMED]:
        if counts[place] < 2:
            continue
        across, up, line = place / len(counts), counts[place] / highest, 0
        while any(abs(across - x) < 0.3 and abs(up - 0.05 * line - y) < 0.045 for x, y in taken):
            line += 1
        taken.append((across, up - 0.05 * line))
        left = across < 0.75
        axes.annotate(
            (str(place) if names is None else str(names[place]))[:24],
            (place, counts[place]),
            textcoords="offset points",
            xytext=(4 if left else -4, 2 - 9 * line),
            ha="left" if left else "right",
            fontsize=8,
        )


def plot_sizes(selector: Any, ax: "Axes | None") -> "Axes":
    """Draw how many columns the fits select."""
    sizes = selector.n_selected_
    with figure_style():
        axes = new_axes(ax, figsize=(5.0, 3.4))
        edges = np.arange(sizes.min(), sizes.max() + 2) - 0.5
        axes.hist(sizes, bins=edges.tolist() if len(edges) <= 60 else 40, color=BLUE)
        axes.set_xlabel("columns selected")
        axes.set_ylabel("fits")
    return axes


def plot_models(selector: Any, kind: str, ax: "Axes | None") -> "Axes":
    """Draw the AUC on own against other rows, or the latter beside that of chance."""
    sd = selector.null_sd_
    with figure_style():
        axes = new_axes(ax, figsize=(4.6, 4.2))
        if kind == "null":
            return _draw_null(selector, axes)
        axes.plot(selector.train_auc_, selector.test_auc_, "o", color=BLUE, markersize=3, alpha=0.6)
        draw_null_circle(sd, axes)
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":")
        axes.set_xlabel(f"{selector.measure_} on own half")
        axes.set_ylabel(f"{selector.measure_} on the other half")
        least = min(0.3, float(selector.test_auc_.min()), float(selector.train_auc_.min()))
        axes.set_xlim(least - 0.02, 1.02)
        axes.set_ylim(least - 0.02, 1.02)
        if np.isfinite(sd):
            axes.legend(loc="lower right")
    return axes


def draw_null_circle(sd: float, axes: "Axes") -> None:
    """Draw where a random classifier lies: its mean, and one standard deviation around it."""
    if not np.isfinite(sd):
        return
    angle = np.linspace(0, 2 * np.pi, 100)
    axes.plot(
        0.5 + sd * np.cos(angle), 0.5 + sd * np.sin(angle), color=VERMILION, label="chance, 1 sd"
    )
    axes.plot([0.5], [0.5], "+", color=VERMILION)


def _draw_null(selector: Any, axes: "Axes") -> "Axes":
    areas, sd, bins = selector.test_auc_, selector.null_sd_, np.linspace(0, 1, 41).tolist()
    axes.hist(areas, bins=bins, density=True, color=BLUE, label="the other half")
    if np.isfinite(sd):
        grid = np.linspace(0, 1, 200)
        density = np.exp(-0.5 * ((grid - 0.5) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        axes.plot(grid, density, color=VERMILION, label="random classifier")
    axes.set_xlabel(selector.measure_)
    axes.set_ylabel("density")
    axes.legend()
    return axes


def plot_errors_by_size(
    values: Array, spread: Array, outside: Array | None, chosen: int, ax: Any
) -> "Axes":
    """Draw errors along a front by number of columns, those of rows set apart beside them.

    Shapes: values (k, 2 or more) of error and size, spread (k,), outside (k,).
    """
    order = np.lexsort((values[:, 0], values[:, 1]))
    order = order[np.unique(values[order, 1], return_index=True)[1]]
    sizes, error = values[order, 1], values[order, 0]
    with figure_style():
        axes = new_axes(ax, figsize=(6.0, 3.8))
        low, high = error - spread[order], error + spread[order]
        axes.fill_between(sizes, low, high, color=BLUE, alpha=0.15, linewidth=0)
        axes.plot(sizes, error, "o-", color=BLUE, label="folds, with standard error")
        if outside is not None:
            axes.plot(sizes, outside[order], "s--", color=VERMILION, label="rows set apart")
        at = values[chosen]
        axes.plot(at[1], at[0], "o", color=BLUE, markersize=13, fillstyle="none", label="chosen")
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel("columns")
        axes.set_ylabel("error")
        axes.legend(loc="best")
    return axes


def plot_features(
    features: Sequence[Expression], ranges: Mapping[str, tuple[float, float]], axes: Any
) -> AnyArray:
    """Draw features over ranges of their columns, each on axes of its own."""
    import matplotlib.pyplot as plt

    with figure_style():
        if axes is None:
            size = (3.6 * len(features), 3.2)
            axes = plt.subplots(1, len(features), figsize=size, layout="constrained")[1]
        drawn: AnyArray = np.ravel(axes)
        if len(drawn) != len(features):
            raise InvalidInputError(
                f"There are {len(features)} features and {len(drawn)} axes; give one for each."
            )
        for feature, own in zip(features, drawn, strict=True):
            names = sorted(feature.columns)
            draw = _draw_map if len(names) == 2 else _draw_curves
            draw(feature, names, ranges, own)
            own.set_title(f"${latex(feature, digits=3)}$", fontsize=10)
    return drawn


def _draw_curves(
    feature: Expression,
    names: Sequence[str],
    ranges: Mapping[str, tuple[float, float]],
    axes: "Axes",
) -> None:
    share = np.linspace(0.0, 1.0, 201)
    middle = {name: np.full_like(share, sum(ranges[name]) / 2) for name in names}
    for name in names:
        low, high = ranges[name]
        along = low + (high - low) * share
        values = feature({**middle, name: along})
        axes.plot(along if len(names) == 1 else share, values, label=name)
    if len(names) == 1:
        axes.set_xlabel(names[0])
    else:
        axes.set_xlabel("share of the column's range")
        axes.legend()
    axes.set_ylabel("feature")
    _cut_peaks(axes)


def _draw_map(
    feature: Expression,
    names: Sequence[str],
    ranges: Mapping[str, tuple[float, float]],
    axes: "Axes",
) -> None:
    first, second = (np.linspace(*ranges[name], 81) for name in names)
    grid = np.meshgrid(first, second)
    values = feature({name: part.ravel() for name, part in zip(names, grid, strict=True)})
    low, high = np.quantile(values, [0.01, 0.99])
    shown = np.clip(values, low, high).reshape(grid[0].shape)
    mesh = axes.contourf(first, second, shown, levels=15, cmap="viridis")
    if axes.figure is not None:
        axes.figure.colorbar(mesh, ax=axes)
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])


def _cut_peaks(axes: "Axes") -> None:
    """Leave out what is far beyond most of the curves, such as a pole."""
    values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    low, high = np.quantile(values, [0.02, 0.98])
    room = 0.15 * (high - low) or 1.0
    axes.set_ylim(
        max(values.min(), low - room) - room / 5, min(values.max(), high + room) + room / 5
    )
