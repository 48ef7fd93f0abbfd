"""The interactions of the best structure: what each means, and what it buys over a sum."""

import math

from parsimon.report.document import Block, Section
from parsimon.report.findings import InteractionFinding
from parsimon.report.writing.blocks import Sentence, paragraph
from parsimon.report.writing.evidence import verdict
from parsimon.report.writing.phrases import clean, named, percent, points, spelled
from parsimon.report.writing.scope import Scope


def interactions(scope: Scope) -> Section:
    """Return the section about products, or about there being none."""
    found = scope.study.interactions
    blocks: tuple[Block, ...] = (paragraph(*_introduction(scope)),)
    return Section(
        scope.anchor("interactions"),
        "Interactions",
        blocks,
        tuple(_subsection(scope, place, one) for place, one in enumerate(found, start=1)),
    )


def _introduction(scope: Scope) -> tuple[Sentence, ...]:
    n = len(scope.study.interactions)
    if not n:
        return _none(scope)
    return (
        f"The best structure has {spelled(n, 'interaction')}: variables whose effects depend on "
        "each other.",
        f"{'It' if n == 1 else 'Each'} is compared with the same structure in which a sum stands "
        "in place of the product, on the same folds and rows.",
    )


def _none(scope: Scope) -> tuple[str, ...]:
    study = scope.study
    if "×" in study.model.symbols:
        if "interactions" in scope.findings.run.skipped:
            return (
                "The best structure has an interaction, but what it buys over a sum was not "
                "measured, to save time.",
            )
        return ("The best structure has a product, but it could not be compared with a sum.",)
    if study.search.depth < 2:
        return ("The search was limited to one term, so that it could find no interaction.",)
    if len(study.model.variables) < 2:
        return ("The best structure uses one variable, so that there is nothing to interact with.",)
    return (
        "The best structure has no interaction: a sum suffices.",
        "The search tried products as well, and none was better.",
    )


def _subsection(scope: Scope, place: int, found: InteractionFinding) -> Section:
    return Section(
        scope.anchor(f"interaction-{place}"),
        f"Interaction {place}: {named(found.variables)}",
        (
            paragraph(
                _meaning(scope, found),
                *_gain(scope, found),
                verdict(found.log_bayes_factor, "the product", "the sum"),
                _conclusion(found),
                scope.shown(found.picture, "shows how they act together"),
            ),
            *scope.figures(found.picture),
        ),
    )


def _meaning(scope: Scope, found: InteractionFinding) -> str:
    first, *others = found.variables
    return (
        f"How {scope.outcome} changes with {clean(first)} depends on {named(others)}, and the "
        "other way round."
    )


def _gain(scope: Scope, found: InteractionFinding) -> tuple[str, ...]:
    additive, error = found.additive.error, scope.study.model.error
    if math.isnan(additive) or math.isnan(error) or math.isnan(found.gain):
        return ("The errors of product and sum were not both cross-validated.",)
    sum_has = f"With a sum in its place the error is {percent(additive)}"
    if round(found.gain, 3) == 0:
        return (f"{sum_has}, the same as with the product.",)
    if found.gain > 0:
        return (f"{sum_has}; the product lowers it by {points(found.gain)} to {percent(error)}.",)
    return (f"{sum_has}; with the product it is {points(found.gain)} higher, {percent(error)}.",)


def _conclusion(found: InteractionFinding) -> str:
    """Say so where error and evidence do not agree."""
    if math.isnan(found.gain) or round(found.gain, 3) == 0:
        return ""
    if found.gain > 0 and found.log_bayes_factor <= -1:
        return "Error and evidence disagree, so take this interaction as a suggestion."
    if found.gain < 0 and found.log_bayes_factor >= 1:
        return "Error and evidence disagree, so take this interaction as a suggestion."
    if found.gain < 0 and found.log_bayes_factor <= -1:
        return "Neither speaks for the product: a sum would do."
    return ""
