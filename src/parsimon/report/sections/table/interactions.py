"""What is said of variables that act together: the verdict, and a product beside a sum."""

import math

from parsimon.report.document import Block, Section, Strong
from parsimon.report.findings import InteractionFinding, KernelSearchFindings
from parsimon.report.sections._blocks import Sentence, paragraph
from parsimon.report.sections._phrases import (
    clean,
    decimal,
    named,
    percent,
    points,
    spelled,
)
from parsimon.report.sections._scope import Scope
from parsimon.report.sections.table.claims import (
    chance,
    interaction_claim,
    is_claimed,
    listed,
    pairs_sentence,
)
from parsimon.structures import Claim

_MILLION = math.log(1e6)


def times(log_bayes_factor: float) -> str:
    """Return how many times more probable the data are, whichever side is favoured."""
    size = abs(log_bayes_factor)
    if size > _MILLION:
        return "more than a million times"
    factor = math.exp(size)
    if factor < 10:
        return f"about {factor:.1f} times"
    # Two digits: nobody believes the third.
    digits = int(math.log10(factor)) - 1
    return f"about {round(factor / 10**digits) * 10**digits:,} times"


def favoured(log_bayes_factor: float, ours: str, other: str) -> str:
    """Return a sentence that says under which of two models the data are more probable."""
    factor = f"log Bayes factor {decimal(log_bayes_factor, 1)}"
    if abs(log_bayes_factor) < 1:
        return f"The data are about as probable under {ours} as under {other} ({factor})."
    better, worse = (ours, other) if log_bayes_factor > 0 else (other, ours)
    return (
        f"The data are {times(log_bayes_factor)} more probable under {better} than under {worse} "
        f"({factor})."
    )


def interactions(scope: Scope) -> Section:
    """Return the section about variables that act together, or about there being none."""
    found = scope.study.interactions
    blocks: tuple[Block, ...] = (paragraph(*_at_first(scope), *_without_product(scope)),)
    return Section(
        scope.anchor("interactions"),
        "Interactions",
        blocks,
        tuple(_one_product(scope, place, one) for place, one in enumerate(found, start=1)),
    )


def _at_first(scope: Scope) -> tuple[Sentence, ...]:
    n = len(scope.study.interactions)
    if not n:
        return (*_none(scope), pairs_sentence(scope))
    return (
        "Variables interact if what one of them does depends on another, so that no sum of their "
        "effects describes it.",
        f"The structure has {spelled(n, 'product')} that may say so: below is the verdict, and "
        f"under it how the structure compares with one in which a sum stands in place of the "
        "product, on the same folds and rows.",
        pairs_sentence(scope),
    )


def _without_product(scope: Scope) -> tuple[str, ...]:
    """Say what is claimed of interactions that the structure has no product for."""
    shown = {frozenset(map(scope.column, one.variables)) for one in scope.study.interactions}
    claims = [
        one
        for one in scope.claimed
        if one.kind == "interaction" and frozenset(one.variables) not in shown
    ]
    sure = [one for one in claims if one.certain]
    perhaps = [one for one in claims if not one.certain]
    return (
        f"Beyond doubt, {listed(sure)}." if sure else "",
        f"It is a suggestion, not certain, that {listed(perhaps)}." if perhaps else "",
    )


def _none(scope: Scope) -> tuple[str, ...]:
    study = scope.study
    claimed = any(one.kind == "interaction" for one in scope.claimed)
    if "×" in study.model.symbols:
        if "interactions" in scope.findings.run.skipped:
            return ("What a product buys over a sum was not measured, to save time.",)
        return ("The structure has a product, but it could not be compared with a sum.",)
    if claimed:
        return ()
    if isinstance(study.search, KernelSearchFindings) and study.search.depth < 2:
        return ("The search was limited to one term, so that it could find no interaction.",)
    if len(scope.columns) < 2:
        return ("There is one column only, so that there is nothing to interact with.",)
    return (
        "These rows do not show that any two columns interact.",
        "The search tried products as well as sums, and a sum suffices.",
    )


def _one_product(scope: Scope, place: int, found: InteractionFinding) -> Section:
    claim = interaction_claim(scope, found.variables)
    return Section(
        scope.anchor(f"interaction-{place}"),
        f"Product {place}: {named(found.variables)}",
        (
            paragraph(*interaction_verdict(scope, found)),
            paragraph(
                *_gain(scope, found),
                favoured(found.log_bayes_factor, "the product", "the sum"),
                _weighed(claim, found),
                scope.shown(found.picture, "shows how they act together"),
            ),
            *scope.figures(found.picture),
        ),
    )


def interaction_verdict(scope: Scope, found: InteractionFinding) -> tuple[Sentence, ...]:
    """Return the one verdict on a product: what is claimed of its columns."""
    columns = tuple(dict.fromkeys(map(scope.column, found.variables)))
    if len(columns) == 1:
        return (f"Both come from the column {clean(columns[0])}, so that no interaction is meant.",)
    if len(columns) > 2:
        return _several(scope, columns)
    claim = interaction_claim(scope, columns)
    if claim is None or not is_claimed(claim):
        known = "" if claim is None else f" (probability {chance(claim)})"
        return (f"Verdict: these rows do not show that {named(columns)} interact{known}.",)
    sure = f"(probability {chance(claim)})"
    first, other = map(clean, found.variables[:2])
    how = f"how {scope.outcome} changes with {first} {{}} on {other}, and the other way round."
    if claim.certain:
        words = Strong(clean(claim.words))
        return (("Verdict: ", words, f", beyond doubt {sure}:"), how.format("depends"))
    suggestion = f"Verdict: a suggestion, not certain, that {clean(claim.words)} {sure}:"
    return (suggestion, how.format("may depend"))


def _several(scope: Scope, columns: tuple[str, ...]) -> tuple[Sentence, ...]:
    """Return what is claimed of each pair in a product of three columns or more."""
    pairs = [(a, b) for k, a in enumerate(columns) for b in columns[k + 1 :]]
    claims = [claim for pair in pairs if (claim := interaction_claim(scope, pair)) is not None]
    sure = [one for one in claims if one.certain]
    perhaps = [one for one in claims if is_claimed(one) and not one.certain]
    if not sure and not perhaps:
        return (f"Verdict: these rows do not show that any two of {named(columns)} interact.",)
    return (
        f"Verdict: beyond doubt, {listed(sure)}." if sure else "Verdict: nothing beyond doubt.",
        f"It is a suggestion, not certain, that {listed(perhaps)}." if perhaps else "",
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


def _weighed(claim: Claim | None, found: InteractionFinding) -> str:
    """Say so where this comparison alone would say otherwise than the verdict."""
    speaks_for = found.log_bayes_factor >= 1
    speaks_against = found.log_bayes_factor <= -1
    if (is_claimed(claim) and speaks_against) or (not is_claimed(claim) and speaks_for):
        return (
            "This compares two structures only; the verdict weighs all that were tried, and holds."
        )
    return ""
