"""Figures of a trait: its tree, lambda, features, errors of unseen clades, and predictions.

Each function draws what findings hold and leaves its caption with the axes, as those of
`parsimon.report.figures` do.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._style import BLUE, GREY, ORANGE, SKY, VERMILION, figure_style, new_axes
from parsimon.phylo import plot_tree
from parsimon.phylo.ancestors import AncestralStates
from parsimon.report.figures import label
from parsimon.report.figures.numeric import predicted_observed
from parsimon.report.findings.trait_findings import (
    CALLED,
    CladeError,
    Coefficient,
    Judged,
    LambdaCurve,
    PglsFinding,
    PhyRvmFinding,
    SpeciesFinding,
    Weight,
)
from parsimon.report.sections._phrases import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Half the 95 % point of chi-squared with one degree of freedom: what an interval may lose.
_ALLOWED = 1.92
_DEEPEST = 12.0
_MOST_FEATURES = 25
_TINTS = {"target": GREY, "pgls": ORANGE, "phyrvm": BLUE}


def draw_curves(curves: Sequence[LambdaCurve], target: str) -> "Axes":
    """Draw log likelihoods and evidences along lambda, each from its own top."""
    called = {"target": f"{label(target, 20)} itself", "pgls": "PGLS", "phyrvm": "PhyRVM"}
    with figure_style():
        axes = new_axes(figsize=(6.2, 3.9))
        lowest = 0.0
        for curve in curves:
            heights = np.array(curve.heights) - max(curve.heights)
            lowest = min(lowest, float(heights.min()))
            tint = _TINTS[curve.of]
            axes.plot(curve.values, heights, color=tint, label=called[curve.of])
            axes.plot(curve.best.estimate, 0.0, "o", color=tint, markersize=5, clip_on=False)
            axes.axvspan(curve.best.low, curve.best.high, color=tint, alpha=0.13, linewidth=0)
        axes.axhline(-_ALLOWED, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)))
        axes.set_ylim(min(1.05 * max(lowest, -_DEEPEST), -1.2 * _ALLOWED), 0.35)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("Pagel's lambda")
        axes.set_ylabel("log-likelihood below its top")
        _legend(axes)
    others = ""
    if len(curves) > 1:
        others = (
            " Of a regression the residuals are meant: what its features leave; for PhyRVM the "
            "height is its log evidence."
        )
    axes.set_label(
        f"How well each lambda explains {label(target, 40)}: 0 is no tree, 1 is Brownian motion."
        f"{others} Dots: the best values. {_bands(curves)}"
    )
    return axes


def _bands(curves: Sequence[LambdaCurve]) -> str:
    if all(curve.of != "phyrvm" for curve in curves):
        return "Bands, down to the dashed line: 95 % intervals."
    return (
        "Bands: 95 % intervals, of likelihoods down to the dashed line, of PhyRVM by the posterior."
    )


def draw_posterior(found: PhyRvmFinding) -> "Axes":
    """Draw the posterior density of lambda."""
    from scipy.interpolate import PchipInterpolator

    values = np.array(found.lambda_values)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(np.array(found.lambda_density)), -700.0)
    grid = np.linspace(values[0], values[-1], 301)
    density = np.exp(PchipInterpolator(values, logs)(grid))
    best = found.pagel_lambda
    with figure_style():
        axes = new_axes(figsize=(6.2, 3.2))
        axes.plot(grid, density, color=BLUE)
        inside = (grid >= best.low) & (grid <= best.high)
        axes.fill_between(grid[inside], density[inside], color=BLUE, alpha=0.2, linewidth=0)
        axes.axvline(best.estimate, color=VERMILION, linewidth=1.4)
        axes.axvline(found.lambda_mean, color=GREY, linewidth=1.2, linestyle=":")
        axes.set_ylim(bottom=0.0)
        axes.set_xlim(-0.02, 1.02)
        axes.set_xlabel("Pagel's lambda of PhyRVM's residuals")
        axes.set_ylabel("posterior density")
    axes.set_label(
        "What is known about the lambda of PhyRVM's residuals, if nothing was known before. Line: "
        "the most probable value; dotted: the mean; shaded: the 95 % interval."
    )
    return axes


def draw_features(
    phyrvm: PhyRvmFinding | None, pgls: PglsFinding | None, target: str
) -> "Axes | None":
    """Draw the weights of the features, the most relevant on top; None if there are none."""
    kept = {} if phyrvm is None else {one.feature: one for one in phyrvm.weights}
    squares = {} if pgls is None else {one.feature: one for one in pgls.coefficients}
    rest = sorted(
        (name for name in squares if name not in kept), key=lambda name: -abs(squares[name].t)
    )
    names = [*kept, *rest]
    if not names:
        return None
    shown = names[:_MOST_FEATURES]
    with figure_style():
        axes = new_axes(figsize=(6.6, max(2.4, 0.29 * len(shown) + 1.1)))
        axes.axvline(0.0, color=GREY, linewidth=1.0)
        _bars(axes, [(place, kept[one]) for place, one in enumerate(shown) if one in kept])
        for place, name in enumerate(shown):
            if name in squares:
                ends = squares[name].estimate
                axes.plot([ends.low, ends.high], [place + 0.22] * 2, color=ORANGE, linewidth=1.4)
                axes.plot(ends.estimate, place + 0.22, "D", color=ORANGE, markersize=4.2)
        axes.set_yticks(range(len(shown)), [label(name, 24) for name in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"change of {label(target, 24)} for one standard deviation")
        _feature_legend(axes, bool(kept), bool(squares))
    axes.set_label(_feature_caption(shown, kept, squares, len(names) - len(shown)))
    return axes


def _feature_caption(
    shown: Sequence[str],
    kept: Mapping[str, Weight],
    squares: Mapping[str, Coefficient],
    more: int,
) -> str:
    rest = any(name not in kept for name in shown)
    said = "Features by the size of their t in PGLS."
    if kept:
        said = "Features that PhyRVM keeps, the most relevant on top"
        said += "; then the others, by the size of their t in PGLS." if rest else "."
        said += " Bars: weights of PhyRVM, with 95 % intervals."
    if squares:
        said += " Diamonds: coefficients of PGLS, with 95 % intervals."
    if not more:
        return said
    return f"{said} {count(more, 'further feature')} {'is' if more == 1 else 'are'} not shown."


def _bars(axes: "Axes", weights: Sequence[tuple[int, Weight]]) -> None:
    for place, one in weights:
        ends = one.weight
        axes.barh(place - 0.12, ends.estimate, height=0.42, color=SKY, alpha=0.4, linewidth=0)
        axes.plot([ends.low, ends.high], [place - 0.12] * 2, color=BLUE, linewidth=2.0)


def _feature_legend(axes: "Axes", bars: bool, diamonds: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Patch(facecolor=SKY, alpha=0.4, label="PhyRVM")] if bars else []
    if diamonds:
        style: dict[str, Any] = {"marker": "D", "markersize": 4.2, "color": ORANGE}
        handles.append(Line2D([], [], label="PGLS", **style))
    _legend(axes, handles=handles)


def draw_errors(error: CladeError, target: str) -> "Axes":
    """Draw the error of each model on unseen clades, and with random folds."""
    models = sorted(error.clades, key=lambda one: one.rmse.estimate)
    random = {one.model: one for one in error.random}
    with figure_style():
        axes = new_axes(figsize=(6.6, 0.5 * len(models) + 1.5))
        for place, one in enumerate(models):
            _error(axes, place - 0.13, one, BLUE, "o")
            if one.model in random:
                _error(axes, place + 0.15, random[one.model], ORANGE, "s")
        axes.set_yticks(range(len(models)), [CALLED[one.model] for one in models])
        axes.set_ylim(len(models) - 0.4, -0.6)
        axes.set_xlim(left=0.0)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"root mean squared error, in units of {label(target, 24)}")
        handles = [
            axes.plot([], [], marker, color=tint, label=words)[0]
            for marker, tint, words in (("o", BLUE, "unseen clades"), ("s", ORANGE, "random folds"))
        ]
        _legend(axes, handles=handles)
    axes.set_label(
        f"Error for species that were not fitted, {error.n_folds} folds, the smallest on top; "
        "lines are 95 % intervals. In random folds relatives of a species may have been fitted: "
        "for a new clade those errors can be too small."
    )
    return axes


def _legend(axes: "Axes", **options: Any) -> None:
    """Write the legend above the axes, where it hides nothing."""
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": 3}
    axes.legend(**place, fontsize=9.5, borderaxespad=0.3, **options)


def _error(axes: "Axes", place: float, one: Judged, tint: str, marker: str) -> None:
    ends = one.rmse
    axes.plot([ends.low, ends.high], [place] * 2, color=tint, linewidth=1.6, alpha=0.7)
    axes.plot(ends.estimate, place, marker, color=tint, markersize=6)


def draw_predicted(species: Sequence[SpeciesFinding], target: str, model: str) -> "Axes":
    """Draw observed values against predictions made without the clade of each species."""
    observed = np.array([one.observed for one in species])
    predicted = np.array([one.predicted.estimate for one in species])
    half = np.array([0.5 * (one.predicted.high - one.predicted.low) for one in species])
    axes = predicted_observed(observed, predicted, deviation=0.5 * half, target=target)
    off = int(np.sum(np.abs(observed - predicted) > half))
    marks = "" if len(species) <= 800 else " Of the species a sample of 800 is drawn."
    axes.set_label(
        f"Observed {label(target, 40)} against what {model} predicted without the clade of the "
        f"species; on the dashed line they agree. Filled: {off:,} of {len(species):,} species "
        f"outside their 95 % interval.{marks}"
    )
    return axes


# Tips whose names can still be read.
_MOST_NAMES = 80
_UNNAMED_SIZE = (7.2, 8.0)


def draw_ancestors(states: AncestralStates, target: str) -> "Axes":
    """Draw the tree; colours go from the reconstructed ancestors to the species."""
    tree = states.tree
    named = tree.n_tips <= _MOST_NAMES
    with figure_style():
        # With names plot_tree knows how tall it must be.
        room = None if named else new_axes(figsize=_UNNAMED_SIZE)
    axes = plot_tree(
        tree, node_values=states.mean[:, 0], names=named, label=label(target, 32), ax=room
    )
    for text in axes.texts:
        # Names of tips are names, whatever signs are in them.
        text.set_parse_math(False)
        text.set_text(label(text.get_text(), 40).replace(r"\$", "$"))
    unnamed = "" if named else " Their names are left out."
    axes.set_label(
        f"The tree of {tree.n_tips:,} species. Colour: {label(target, 40)}, as measured at the "
        f"tips and reconstructed along the branches with Pagel's lambda.{unnamed}"
    )
    return axes
