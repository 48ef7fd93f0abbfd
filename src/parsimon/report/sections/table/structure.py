"""What the structure says: each variable alone, the additive parts, the interactions."""

import math

from parsimon.report.document import Block, Code, Reference, Section
from parsimon.report.findings import (
    Band,
    ComponentFinding,
    InteractionFinding,
    KernelSearchFindings,
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
from parsimon.report.sections.table.model_tables import component_table, ranked

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


def weight(log_bayes_factor: float) -> str:
    """Return how strong evidence is, on the scale of Kass and Raftery (1995)."""
    size = abs(log_bayes_factor)
    if size < 1:
        return "too little to decide"
    if size < 3:
        return "moderate"
    return "strong" if size < 5 else "very strong"


def verdict(log_bayes_factor: float, ours: str, other: str) -> str:
    """Return a sentence that says which of two models the data favour."""
    said = f"log Bayes factor {decimal(log_bayes_factor, 1)}"
    if abs(log_bayes_factor) < 1:
        return f"The evidence does not decide between {ours} and {other} ({said})."
    better, worse = (ours, other) if log_bayes_factor > 0 else (other, ours)
    return (
        f"The data are {times(log_bayes_factor)} more probable under {better} than under {worse} "
        f"({said}), which is {weight(log_bayes_factor)} evidence."
    )


MOST_VARIABLES = 12

_BANDS: dict[Band, str] = {
    "strong": "strong evidence",
    "some": "some evidence",
    "little": "little evidence",
    "none": "no evidence",
}


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
    models = f"For each of {spelled(n, 'variable')} there is a model that sees nothing else."
    if n == 1:
        models = "The only variable has a model of its own here."
    measure, notices = (
        "how often it is wrong",
        ("; it also notices probabilities that change without crossing one half"),
    )
    if scope.numeric:
        measure, notices = "what share of the variance it leaves unexplained", ""
    shown: Sentence = ""
    if n > MOST_VARIABLES:
        shown = (
            f"The {MOST_VARIABLES} with the least error are described here; the others stand in ",
            Reference(scope.anchor("table-variables")),
            " only.",
        )
    return (
        models,
        f"Two yardsticks measure it. The error says {measure}, cross-validated on the folds of "
        "the search; use it to compare variables.",
        f"The evidence says how probable the data are under the model{notices}.",
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
        f"Its error is {percent(study.baseline.error)}{above}. An error below a quarter of that "
        "counts as strong evidence for a variable, below four fifths as some, below all of it as "
        "little, and otherwise as none.",
    )


def _subsection(scope: Scope, place: int, found: VariableFinding) -> Section:
    blocks: tuple[Block, ...] = (
        paragraph(_range(scope, found), *_error(scope, found)),
        paragraph(
            _evidence(scope, found),
            *direction(scope, found),
            _use(scope, found),
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


def _error(scope: Scope, found: VariableFinding) -> tuple[str, ...]:
    if not _is_measured(scope, found):
        return ("Its model was not cross-validated, so that only the evidence speaks.",)
    error, baseline = percent(found.model.error), percent(scope.study.baseline.error)
    said = f"an error of {error} against {baseline} for the baseline"
    said += f", a ratio of {found.ratio:.2f}" if math.isfinite(found.ratio) else ""
    if error == baseline:
        said = f"the same error as the baseline, {error}"
    return (
        f"Alone it has {said}: judged by error, {_BANDS[found.band]} that it helps to predict "
        f"{scope.target}.",
    )


def _is_measured(scope: Scope, found: VariableFinding) -> bool:
    return not math.isnan(found.model.error + scope.study.baseline.error)


def _is_weak(scope: Scope, found: VariableFinding) -> bool:
    """Return whether the error says little for a variable."""
    return _is_measured(scope, found) and found.band in ("little", "none")


def _evidence(scope: Scope, found: VariableFinding) -> str:
    said = verdict(found.log_bayes_factor, "this model", "the baseline")
    if not _is_weak(scope, found) or found.log_bayes_factor < 3:
        return said
    if scope.numeric:
        return (
            f"{said} Error and evidence differ: it fits these rows better than it predicts others."
        )
    return (
        f"{said} Error and evidence differ: the variable moves probabilities, but seldom across "
        "one half."
    )


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
    """Say whether the best structure uses the variable, and with which others."""
    study = scope.study
    if not study.structure_found:
        return ""
    name = found.variable.name
    weak = _is_weak(scope, found)
    if not found.in_model:
        others = [one for one in study.model.variables if one != name]
        if weak or not others:
            return "The best structure does not use it."
        return (
            f"The best structure does not use it: what it says is already said by {named(others)}."
        )
    partners = [
        one for term in study.interactions if name in term.variables for one in term.variables
    ]
    partners = [one for one in dict.fromkeys(partners) if one != name]
    how = "the best structure uses it."
    if partners:
        how = f"the best structure uses it, in an interaction with {named(partners)}."
    return f"Although it says little alone, {how}" if weak else opened(how)


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
    first = f"The best structure is a sum of {spelled(n, 'part')}."
    if n == 1:
        first = f"The best structure has only one part: {words_of(study.model)}."
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
    ended = ""
    if study.search.stopped_by in ("no_improvement", "exhausted"):
        ended = "The search tried further parts, and none was better."
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
    return f"In it {scope.outcome} {goes} {clean(part.alone.variables[0])}."


def interactions(scope: Scope) -> Section:
    """Return the section about products, or about there being none."""
    found = scope.study.interactions
    blocks: tuple[Block, ...] = (paragraph(*_products_at_first(scope)),)
    return Section(
        scope.anchor("interactions"),
        "Interactions",
        blocks,
        tuple(_one_product(scope, place, one) for place, one in enumerate(found, start=1)),
    )


def _products_at_first(scope: Scope) -> tuple[Sentence, ...]:
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
    if isinstance(study.search, KernelSearchFindings) and study.search.depth < 2:
        return ("The search was limited to one term, so that it could find no interaction.",)
    if len(study.model.variables) < 2:
        return ("The best structure uses one variable, so that there is nothing to interact with.",)
    return (
        "The best structure has no interaction: a sum suffices.",
        "The search tried products as well, and none was better.",
    )


def _one_product(scope: Scope, place: int, found: InteractionFinding) -> Section:
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
