"""The pictures of a page, each drawn from findings."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from parsimon.phylo.ancestors import AncestralStates
from parsimon.report.phylogeny import TraitFindings
from parsimon.report.phylogeny.figures import (
    draw_curves,
    draw_errors,
    draw_features,
    draw_posterior,
    draw_predicted,
)
from parsimon.report.phylogeny.names import CALLED
from parsimon.report.phylogeny.tree_figure import draw_ancestors
from parsimon.statistician.drawing import picture_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_pictures(findings: TraitFindings, states: AncestralStates) -> TraitFindings:
    """Return the findings with their pictures."""
    pictures = [picture_of(*drawn) for drawn in _drawn(findings, states)]
    return replace(findings, pictures=tuple(pictures))


def _drawn(findings: TraitFindings, states: AncestralStates) -> "Iterator[tuple[str, Axes, str]]":
    """Yield the name of each picture, its axes, and what a screen reader says."""
    target = findings.table.target
    yield "tree", draw_ancestors(states, target), f"The tree, coloured by {target}"
    yield (
        "lambda",
        draw_curves(findings.curves, target),
        f"Log-likelihood of {target} along Pagel's lambda",
    )
    if findings.phyrvm is not None:
        yield (
            "posterior",
            draw_posterior(findings.phyrvm),
            "Posterior density of lambda in PhyRVM",
        )
    features = draw_features(findings.phyrvm, findings.pgls, target)
    if features is not None:
        yield "features", features, f"Weights of the features of {target}"
    if findings.error is not None:
        model = CALLED[findings.model]
        yield "errors", draw_errors(findings.error, target), f"Errors of models of {target}"
        yield (
            "predicted",
            draw_predicted(findings.error.species, target, model),
            f"Observed {target} against predictions for unseen clades",
        )
