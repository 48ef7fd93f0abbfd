"""Pictures of a front of support vector machines: the trade, overfitting along it, a walk."""

from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._style import BLUE, GREY, ORANGE, VERMILION, figure_style, new_axes
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.front import write_number
from parsimon.svm._front_machine import Expansion, FrontMachines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_N_GRID = 160


def plot_trade(
    machines: FrontMachines, *, chosen: int | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw hinge loss against margin term, or the printed dual objectives, and mark a machine."""
    with figure_style():
        axes = new_axes(ax, figsize=(6.4, 4.4))
        if machines.is_dual:
            _draw_dual(machines, chosen, axes)
        else:
            _draw_trade(machines, chosen, axes)
            axes.set_xlabel(_MARGIN_LABEL)
        axes.set_title(f"Front of {len(machines)} support vector machines")
    return axes


def plot_overfitting(
    machines: FrontMachines, *, chosen: int | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw training and hold-out errors along the front, under the front itself."""
    import matplotlib.pyplot as plt

    with figure_style():
        if ax is None:
            figure = plt.figure(figsize=(7.0, 6.2), layout="constrained")
            upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.35))
            _draw_trade(machines, chosen, upper)
            upper.set_title("Where overfitting begins")
        else:
            lower = ax
        _draw_errors(machines, chosen, lower)
        lower.set_xlabel(_MARGIN_LABEL)
    return lower


def plot_walk(machines: FrontMachines, places: Indices) -> "Figure":
    """Draw what machines along a front predict over the plane, one panel for each.

    Shapes: places (k,).
    """
    import matplotlib.pyplot as plt

    X = machines.basis.X
    if X.shape[1] != 2 or machines.basis.gram.precomputed:
        raise InvalidInputError(
            f"Maps of predictions need a table of two columns, got {X.shape[1]} columns"
            f"{' of similarities' if machines.basis.gram.precomputed else ''}."
        )
    n_columns = min(len(places), 5)
    n_lines = -(-len(places) // n_columns)
    with figure_style():
        size = (2.75 * n_columns + 0.4, 3.2 * n_lines + 0.5)
        figure = plt.figure(figsize=size, layout="constrained")
        panels = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
        for panel in panels[len(places) :]:
            panel.set_visible(False)
        for panel, place in zip(panels, places, strict=False):
            _draw_map(machines, int(place), panel)
        panels[0].legend(
            *_class_handles(machines.basis.classes),
            loc="upper left",
            bbox_to_anchor=(0.0, -0.02),
            ncols=2,
            handletextpad=0.2,
            columnspacing=1.0,
        )
    return figure


_MARGIN_LABEL = "margin term ½‖w‖² (left: wider margin)"
_COLOURS = (BLUE, ORANGE)


def _draw_trade(machines: FrontMachines, chosen: int | None, axes: "Axes") -> None:
    columns = machines.columns
    across, up = columns["margin_term"], columns["hinge_loss"]
    _log_scale(axes, across)
    axes.plot(across, up, color=BLUE, marker="o", markersize=4, linewidth=1.4)
    axes.set_ylabel("hinge loss\n(lower is better)")
    axes.set_ylim(bottom=0)
    if chosen is not None:
        _ring(axes, float(across[chosen]), float(up[chosen]), machines, chosen)


def _draw_dual(machines: FrontMachines, chosen: int | None, axes: "Axes") -> None:
    columns = machines.columns
    across, up = columns["linear"], columns["quadratic"]
    axes.scatter(across, up, color=BLUE, s=26)
    axes.set_xlabel("Σα (higher is better)")
    axes.set_ylabel("−α'Qα (higher is better)")
    if chosen is not None:
        _ring(axes, float(across[chosen]), float(up[chosen]), machines, chosen)


def _draw_errors(machines: FrontMachines, chosen: int | None, axes: "Axes") -> None:
    columns = machines.columns
    order = np.argsort(columns["margin_term"], kind="stable")
    across = columns["margin_term"][order]
    training = 100.0 * columns["training_error"][order]
    _log_scale(axes, across)
    axes.plot(across, training, color=BLUE, marker="+", markersize=6, label="training rows")
    if "holdout_error" in columns:
        held = 100.0 * columns["holdout_error"][order]
        rows = f"rows held out ({write_number(machines.n_holdout)})"
        axes.plot(across, held, color=VERMILION, marker="x", markersize=5, label=rows)
        axes.fill_between(
            across, training, held, where=held > training, color=VERMILION, alpha=0.14, linewidth=0
        )
    if chosen is not None:
        place = float(columns["margin_term"][chosen])
        axes.axvline(place, color=GREY, linestyle="--", linewidth=1.3, label="chosen", zorder=1)
    axes.set_ylabel("error in per cent")
    axes.set_ylim(bottom=0)
    axes.legend(loc="best")


def _log_scale(axes: "Axes", across: Array) -> None:
    """Set a logarithmic axis that has room for zero, the constant classifier."""
    positive = across[across > 0]
    if not len(positive):
        return
    if len(positive) == len(across):
        axes.set_xscale("log")
        return
    # One decade for the step from zero to the least positive value.
    axes.set_xscale("symlog", linthresh=float(positive.min()), linscale=0.5)
    axes.set_xlim(-0.25 * float(positive.min()), 1.5 * float(positive.max()))
    # Powers of ten from there on: one below it would stand on the zero.
    first, last = np.log10([positive.min(), positive.max()])
    axes.set_xticks([0.0, *10.0 ** np.arange(np.ceil(first), last + 1e-9)])


def _ring(axes: "Axes", x: float, y: float, machines: FrontMachines, chosen: int) -> None:
    columns = machines.columns
    words = [f"C {write_number(columns['C'][chosen])}"] if not machines.is_dual else []
    words.append(f"{write_number(columns['n_support'][chosen])} support vectors")
    axes.scatter(x, y, s=150, facecolor="none", edgecolor=VERMILION, linewidth=2.4, zorder=5)
    # The primal front falls and leaves room above it, the dual one below.
    shift = -28 if machines.is_dual else 30
    share = axes.transAxes.inverted().transform(axes.transData.transform((x, y)))[0]
    leftwards = machines.is_dual or share > 0.65
    axes.annotate(
        "\n".join(words),
        xy=(x, y),
        xytext=(-14 if leftwards else 16, shift),
        textcoords="offset points",
        ha="right" if leftwards else "left",
        va="top" if machines.is_dual else "bottom",
        color="white",
        fontsize=10,
        fontweight="bold",
        bbox={"boxstyle": "round,pad=0.35", "facecolor": VERMILION, "edgecolor": "none"},
        arrowprops={"arrowstyle": "-", "color": VERMILION, "shrinkB": 7, "linewidth": 1.4},
        zorder=6,
    )


def _draw_map(machines: FrontMachines, place: int, panel: "Axes") -> None:
    from matplotlib.colors import ListedColormap

    basis, columns = machines.basis, machines.columns
    rows = basis.X[basis.rows.places]
    axes_values = _ticks(rows)
    grid = np.stack(np.meshgrid(*axes_values), axis=-1)
    decision = _decision(machines, place, grid.reshape(-1, 2)).reshape(_N_GRID, _N_GRID)
    shades = ListedColormap(list(_COLOURS))
    panel.pcolormesh(
        *axes_values,
        (decision > 0).astype(np.float64),
        cmap=shades,
        vmin=0,
        vmax=1,
        alpha=0.26,
        linewidth=0,
        rasterized=True,
    )
    if decision.min() < 0 < decision.max():
        panel.contour(*axes_values, decision, levels=[0.0], colors=[GREY], linewidths=1.6)
    size = float(np.clip(4000 / len(rows), 5, 26))
    for code, colour in enumerate(_COLOURS):
        own = rows[basis.rows.y == code]
        panel.scatter(
            own[:, 0], own[:, 1], s=size, color=colour, edgecolor="white", linewidths=0.25
        )
    panel.set(xticks=[], yticks=[])
    panel.set_aspect("auto")
    panel.grid(False)
    held = columns.get("holdout_error")
    lines = [
        f"{write_number(columns['n_support'][place])} support vectors",
        f"error {100 * columns['training_error'][place]:.1f} %"
        + ("" if held is None else f", held out {100 * held[place]:.1f} %"),
    ]
    panel.set_title("\n".join(lines), fontsize=10, fontweight="normal")


def _ticks(rows: Array) -> list[Array]:
    """Return evenly spaced values of both columns, a little beyond the rows."""
    lower, upper = rows.min(axis=0), rows.max(axis=0)
    pad = 0.04 * np.where(upper > lower, upper - lower, 1.0)
    return [np.linspace(a, b, _N_GRID) for a, b in zip(lower - pad, upper + pad, strict=True)]


def _decision(machines: FrontMachines, place: int, X: Array) -> Array:
    """Return one machine's values at new rows."""
    coefficients = machines.basis.coefficients(machines.alpha[place])
    used = np.flatnonzero(coefficients)
    gram = machines.basis.gram.subset(used)
    return Expansion(gram, coefficients[used], float(machines.bias[place]))(X)


def _class_handles(classes: AnyArray) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker="o", linestyle="", color=colour, markersize=6) for colour in _COLOURS
    ]
    return handles, [str(label) for label in classes]
