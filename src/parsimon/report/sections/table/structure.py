"""What is said of each variable, and of the additive parts of the structure."""

import math
from dataclasses import replace
from typing import cast

from parsimon.report.document import Block, Code, Reference, Section, Strong
from parsimon.report.findings import (
    ComponentFinding,
    Shape,
    VariableFinding,
)
from parsimon.report.sections._blocks import Sentence, paragraph
from parsimon.report.sections._phrases import (
    clean,
    decimal,
    named,
    number,
    opened,
    percent,
    points,
    spelled,
)
from parsimon.report.sections._scope import Scope, words_of
from parsimon.report.sections.table.claims import (
    chance,
    claimed_columns,
    column_claim,
    held_back,
    interaction_claim,
    is_claimed,
    is_refuted,
    said,
    shape_claim,
    variable_claim,
)
from parsimon.report.sections.table.model_tables import component_table, ranked

MOST_VARIABLES = 12

# A noise column of many rows can fit better than a constant by a few units; what goes beyond this,
# and beyond the number of columns that could have done so, predicts by itself.
_ALONE = 5.0
# Errors that differ by less than this share of the baseline's are much the same.
_SAME = 0.03
# What does not turn, by its claim, goes the way that is at least as probable as this.
_SURE_WAY = 0.95


def individual_variables(scope: Scope) -> Section:
    """Return the section with a part for each variable, those that say most first."""
    found = ranked(scope)
    return Section(
        scope.anchor("variables"),
        "Individual variables",
        (paragraph(*_introduction(scope, len(found))), paragraph(*_baseline(scope))),
        tuple(
            _subsection(scope, place, one)
            for place, one in enumerate(found[:MOST_VARIABLES], start=1)
        ),
    )


def _introduction(scope: Scope, n: int) -> tuple[Sentence, ...]:
    measure = "how often it is wrong"
    if scope.numeric:
        measure = "what share of the variance it leaves unexplained"
    shown: Sentence = ""
    if n > MOST_VARIABLES:
        shown = (
            f"The {MOST_VARIABLES} that come first are described here; the others stand in ",
            Reference(scope.anchor("table-variables")),
            " only.",
        )
    if n == 1:
        return (
            "The only variable has a verdict, and a model of its own.",
            f"The error of the model says {measure}, cross-validated on the folds of the search.",
        )
    return (
        f"Each of {spelled(n, 'variable')} has one verdict: how probable it is that it matters "
        "beside the other columns.",
        "What is said after the verdict, and the picture, are about a model that sees this "
        "variable alone; it may say much alone and nothing new beside others, or the other way "
        "round.",
        f"The error of that model says {measure}, cross-validated on the folds of the search.",
        shown,
    )


def _baseline(scope: Scope) -> tuple[str, ...]:
    study = scope.study
    if scope.numeric:
        first = "The baseline knows no variable: it predicts the same number for every row."
    else:
        share = study.n_positive / max(1, study.n_positive + study.n_negative)
        first = (
            "The baseline knows no variable: it gives every row the same probability of "
            f"{scope.positive}, which is near its share of {percent(share)}."
        )
    if math.isnan(study.baseline.error):
        return (first, "Its error was not cross-validated.")
    above = ""
    if scope.numeric and study.baseline.error > 1:
        above = " (above all of it, because that number was found on other rows)"
    return (
        first,
        f"Its error is {percent(study.baseline.error)}{above}.",
    )


def _subsection(scope: Scope, place: int, found: VariableFinding) -> Section:
    blocks: tuple[Block, ...] = (
        paragraph(
            variable_verdict(scope, found),
            _shape_verdict(scope, found),
            _beside(scope, found),
            _use(scope, found),
        ),
        paragraph(
            _range(scope, found),
            _error(scope, found),
            _probabilities(scope, found),
            *_told_direction(scope, found),
            _look(scope, found),
        ),
        *scope.figures(found.picture),
    )
    return Section(scope.anchor(f"variable-{place}"), clean(found.variable.name), blocks)


def _range(scope: Scope, found: VariableFinding) -> str:
    one = scope.variable(found.variable)
    name = clean(one.name)
    if one.kind == "indicator":
        rows = opened(scope.rows_with(one))
        return f"{rows} are {percent(one.mean)} of all."
    between = f"{scope.value(one, one.minimum)} to {scope.value(one, one.maximum)}"
    if one.kind == "date":
        return (
            f"The dates of {name} run from {between}, with mean {scope.value(one, one.mean)} and a "
            f"standard deviation of {number(one.deviation)} days."
        )
    return (
        f"The values of {name} run from {between}, with mean {number(one.mean)} and standard "
        f"deviation {number(one.deviation)}."
    )


def variable_verdict(scope: Scope, found: VariableFinding) -> Sentence:
    """Return the one verdict on a variable: what is claimed of its column."""
    claim = variable_claim(scope, found.variable)
    column = clean(scope.variable(found.variable).column)
    beside = " beside the other columns" if len(scope.columns) > 1 else ""
    if claim is None:
        return f"Verdict: these rows do not show that {column} matters{beside}."
    sure = f"(probability {chance(claim)}{beside})"
    if claim.certain:
        return ("Verdict: ", Strong(clean(claim.words)), f", beyond doubt {sure}.")
    if is_claimed(claim):
        return f"Verdict: a suggestion that {clean(claim.words)} {sure}{held_back(scope, claim)}."
    return f"Verdict: these rows do not show that {column} matters {sure}."


def _shape_verdict(scope: Scope, found: VariableFinding) -> str:
    claim = shape_claim(scope, scope.column(found.variable.name))
    if claim is None:
        return ""
    if claim.certain:
        return f"Beyond doubt, {said(claim)}."
    return f"It is a suggestion, not certain, that {said(claim)}."


def _beside(scope: Scope, found: VariableFinding) -> str:
    """Say so where a variable alone and in company are not alike."""
    claim = variable_claim(scope, found.variable)
    alone = predicts_alone(scope, found)
    if is_claimed(claim):
        return "" if alone else "Alone it shows little; it matters together with others."
    others = [name for name in claimed_columns(scope.claimed) if name != found.variable.column]
    if not alone or not others:
        return ""
    return f"Alone it predicts, but beside {named(others)} it adds nothing that these rows show."


def predicts_alone(scope: Scope, found: VariableFinding) -> bool:
    """Return whether a model of this variable alone explains the rows better than by luck."""
    return found.log_bayes_factor >= _ALONE + math.log(max(1, len(scope.study.variables)))


def _told_direction(scope: Scope, found: VariableFinding) -> tuple[str, ...]:
    """Return the direction of a variable, unless that says more than its claims do."""
    if not _has_direction(scope, found):
        return ()
    shape = shape_claim(scope, scope.column(found.variable.name))
    if not is_refuted(shape, found.shape):
        return direction(scope, found)
    for way, sure in (("rising", found.rising), ("falling", found.falling)):
        if found.shape == "turning" and sure >= _SURE_WAY:
            return direction(scope, replace(found, shape=cast(Shape, way)))
    return ()


def _has_direction(scope: Scope, found: VariableFinding) -> bool:
    """Return whether the model of a variable alone has a direction that is worth telling."""
    claimed = is_claimed(variable_claim(scope, found.variable))
    alone = bool(scope.claimed) and predicts_alone(scope, found)
    return found.shape != "flat" and (claimed or alone)


def _error(scope: Scope, found: VariableFinding) -> str:
    if not _is_measured(scope, found):
        return "Alone it was not cross-validated."
    error, baseline = percent(found.model.error), percent(scope.study.baseline.error)
    if error == baseline:
        return f"Alone it has the same error as the baseline, {error}."
    return f"Alone it has an error of {error} against {baseline} for the baseline."


def _is_measured(scope: Scope, found: VariableFinding) -> bool:
    return not math.isnan(found.model.error + scope.study.baseline.error)


def _probabilities(scope: Scope, found: VariableFinding) -> str:
    """Say so where a variable that predicts alone does not lower the share of wrong answers."""
    same = abs(found.model.error / max(scope.study.baseline.error, 1e-9) - 1) < _SAME
    told = _is_measured(scope, found) and _has_direction(scope, found)
    if scope.numeric or not same or not told or not predicts_alone(scope, found):
        return ""
    return "It moves probabilities, but seldom across one half."


# The probability from which on a direction is said.
_SURE = 0.95


def direction(scope: Scope, found: VariableFinding) -> tuple[str, ...]:
    """Return which way the outcome goes with a variable, and how sure that is."""
    if scope.variable(found.variable).kind == "indicator":
        return (_indicator_direction(scope, found),)
    name, outcome = clean(found.variable.name), opened(scope.outcome)
    if found.shape in ("rising", "falling"):
        way, sign, sure = _slope(found)
        return (
            f"{outcome} {way} with {name}: over the rows, its average slope is {sign} with a "
            f"posterior probability of {percent(sure)}.",
        )
    if found.shape == "periodic":
        return (_periodic(scope, found),)
    if found.shape == "linear":
        return (_linear(scope, found),)
    if found.shape == "flat":
        return ("A constant fits as well, so that no direction is claimed.",)
    if found.shape == "turning":
        return _turning(scope, found)
    return (
        f"Whether {scope.outcome} rises or falls with {name} is not clear: the posterior "
        f"probability that its average slope over the rows is positive is {percent(found.rising)}.",
    )


def _slope(found: VariableFinding) -> tuple[str, str, float]:
    """Return the more probable direction, the sign of its slope, and its probability."""
    if found.rising >= found.falling:
        return "rises", "positive", found.rising
    return "falls", "negative", found.falling


def _turning(scope: Scope, found: VariableFinding) -> tuple[str, ...]:
    turn = (
        f"{opened(scope.outcome)} turns with {clean(found.variable.name)}: it rises in one part "
        f"and falls in another{_between(scope, found)}, with a posterior probability of "
        f"{percent(found.turning)}."
    )
    way, _, sure = _slope(found)
    if sure < _SURE:
        return (turn,)
    return (turn, f"On average over the rows it {way}, with a probability of {percent(sure)}.")


def _between(scope: Scope, found: VariableFinding) -> str:
    ends = found.judged_between
    if ends is None:
        return ""
    low, high = (scope.value(scope.variable(found.variable), end) for end in ends)
    return f", between {low} and {high}"


def _periodic(scope: Scope, found: VariableFinding) -> str:
    days = " days" if scope.variable(found.variable).kind == "date" else ""
    period = f", with a period of {number(found.period)}{days}" if found.period is not None else ""
    return f"{opened(scope.outcome)} repeats along {clean(found.variable.name)}{period}."


def _linear(scope: Scope, found: VariableFinding) -> str:
    name = clean(found.variable.name)
    start = f"A straight line describes {name} at least as well as a curve"
    if found.slope is None:
        return f"{start}."
    way = "rises" if found.slope > 0 else "falls"
    sure = found.rising if found.slope > 0 else found.falling
    of_what = scope.outcome if scope.numeric else "the latent score"
    unit = "day" if scope.variable(found.variable).kind == "date" else "unit of it"
    return (
        f"{start}: {of_what} {way} by {number(abs(found.slope))} for each {unit}, and the "
        f"probability that it {way} at all is {percent(sure)}."
    )


def _indicator_direction(scope: Scope, found: VariableFinding) -> str:
    rows = scope.rows_with(scope.variable(found.variable))
    what = scope.outcome if scope.numeric else scope.positive
    more, less = ("higher", "lower") if scope.numeric else ("more probable", "less probable")
    if found.shape == "flat":
        return f"Whether a row is one of the {rows} makes no visible difference."
    if max(found.rising, found.falling) < _SURE:
        return (
            f"Whether {what} is {more.split()[0]} or {less} in {rows} is not clear: the posterior "
            f"probability that it is {more} is {percent(found.rising)}."
        )
    way, sure = (more, found.rising) if found.rising >= found.falling else (less, found.falling)
    return f"{opened(what)} is {way} in {rows}, with a posterior probability of {percent(sure)}."


def _use(scope: Scope, found: VariableFinding) -> str:
    """Say whether the structure uses the variable, and with which others."""
    study = scope.study
    claimed = is_claimed(variable_claim(scope, found.variable))
    if not study.structure_found or not (found.in_model or claimed):
        return ""
    name = found.variable.name
    if not found.in_model:
        return "The structure does not use it."
    partners = [
        one for term in study.interactions if name in term.variables for one in term.variables
    ]
    partners = [one for one in dict.fromkeys(partners) if one != name]
    how = f", in a product with {named(partners)}" if partners else ""
    return (
        f"The structure uses it{how}." if claimed else f"The structure uses it all the same{how}."
    )


def _look(scope: Scope, found: VariableFinding) -> Sentence:
    return scope.shown(found.picture, "shows the model")


_GOES: dict[Shape, str] = {
    "rising": "rises with",
    "falling": "falls with",
    "linear": "follows a straight line in",
    "periodic": "repeats along",
    "turning": "turns with",
}


def additive_components(scope: Scope) -> Section:
    """Return the section about the parts of the sum."""
    parts = scope.study.components
    return Section(
        scope.anchor("components"),
        "Additive components",
        (paragraph(*_parts_at_first(scope)), component_table(scope)),
        tuple(_one_part(scope, place) for place in range(len(parts))),
    )


def _parts_at_first(scope: Scope) -> tuple[Sentence, ...]:
    study = scope.study
    n = len(study.components)
    first = f"The structure is a sum of {spelled(n, 'part')}."
    if n == 1:
        first = f"The structure has only one part: {words_of(study.model)}."
    meaning = (
        ""
        if n == 1
        else "Each part adds its own contribution, whatever the others say, and is described in "
        "the order in which the parts help most. The contributions are exact shares of the full "
        "model's posterior, not separate fits."
    )
    error = ""
    if not math.isnan(study.model.error):
        error = f", with an error of {percent(study.model.error)} on the folds of the search,"
    ended = "What else the search tried is less probable than not."
    if scope.choice in ("one_se", "least_error"):
        ended = "Being a part of it is no claim; the verdict on each part is."
    return (
        first,
        meaning,
        ended,
        (
            Reference(scope.anchor("table-components")),
            f" sets the whole{error} beside its parts.",
        ),
    )


def _one_part(scope: Scope, place: int) -> Section:
    part = scope.study.components[place]
    blocks: tuple[Block, ...] = (
        paragraph(
            _what(part),
            part_verdict(scope, part),
            *_effect(scope, place),
            _strength(scope, place),
            _direction(scope, part),
            scope.shown(part.picture, "shows this part"),
            _together(scope, place),
        ),
        *scope.figures(*dict.fromkeys((part.picture, part.cumulative_picture))),
    )
    title = f"Part {place + 1}: {words_of(part.alone)}"
    return Section(scope.anchor(f"component-{place + 1}"), title, blocks)


def _together(scope: Scope, place: int) -> Sentence:
    part = scope.study.components[place]
    if part.cumulative_picture == part.picture:
        return ""
    says = "shows it together with the parts before it" if place else "shows the model of it alone"
    return scope.shown(part.cumulative_picture, says)


def _what(part: ComponentFinding) -> Sentence:
    return ("This part is ", Code(clean(part.alone.expression)), ".")


def part_verdict(scope: Scope, part: ComponentFinding) -> str:
    """Return how sure it is that a part belongs to the structure."""
    columns = tuple(dict.fromkeys(map(scope.column, part.alone.variables)))
    if len(columns) == 1:
        claim = column_claim(scope, columns[0])
        what = f"that {clean(columns[0])} matters"
    elif len(columns) == 2:
        claim = interaction_claim(scope, columns)
        what = f"that {named(columns)} interact"
    else:
        return ""
    if claim is None or not is_claimed(claim):
        return f"These rows do not show {what}."
    sure = f"(probability {chance(claim)})"
    if claim.certain:
        return f"It is beyond doubt {what} {sure}."
    return f"It is a suggestion, not certain, {what} {sure}."


def _effect(scope: Scope, place: int) -> tuple[str, ...]:
    """Say what a part does alone, and how far the error falls when it joins."""
    part = scope.study.components[place]
    if place == 0:
        return (_first_effect(scope, part),)
    alone = f"Alone it has an error of {percent(part.alone.error)}."
    if math.isnan(part.alone.error):
        alone = "Alone it was not cross-validated."
    after, gain = part.cumulative.error, part.gain
    if math.isnan(after) or math.isnan(gain):
        return (alone, "With the parts before it, it was not cross-validated.")
    joins = (
        "When it joins the part before it" if place == 1 else "When it joins the parts before it"
    )
    if round(gain, 3) == 0:
        return (alone, f"{joins}, the error stays at {percent(after)}.")
    way = "falls" if gain > 0 else "rises"
    return (alone, f"{joins}, the error {way} by {points(gain)} to {percent(after)}.")


def _first_effect(scope: Scope, part: ComponentFinding) -> str:
    baseline = percent(scope.study.baseline.error)
    if math.isnan(part.alone.error + part.gain + scope.study.baseline.error):
        return "Alone it was not cross-validated."
    if round(part.gain, 3) <= 0:
        error = percent(part.alone.error)
        return f"Alone it has an error of {error}, no less than the baseline's {baseline}."
    return (
        f"Alone it brings the error from the baseline's {baseline} down to "
        f"{percent(part.alone.error)}, by {points(part.gain)}."
    )


def _strength(scope: Scope, place: int) -> str:
    parts = scope.study.components
    strength = parts[place].strength
    if not math.isfinite(strength):
        return ""
    unit = f"in the unit of {scope.target}" if scope.numeric else "on the latent scale"
    size = number(strength) if scope.numeric else decimal(strength, 2)
    said = f"In the full model its contribution varies by {size} over the rows"
    said = f"{said} (standard deviation, {unit})"
    if len(parts) == 1:
        return f"{said}."
    largest = max(one.strength for one in parts)
    if strength == largest:
        return f"{said}, the most of all parts."
    return f"{said}, {strength / largest:.2f} of what the strongest part does."


def _direction(scope: Scope, part: ComponentFinding) -> str:
    goes = _GOES.get(part.direction)
    if goes is None or len(part.alone.variables) != 1:
        return ""
    columns = map(scope.column, part.alone.variables)
    if is_refuted(shape_claim(scope, *columns), part.direction):
        return ""
    return f"In it {scope.outcome} {goes} {clean(part.alone.variables[0])}."
