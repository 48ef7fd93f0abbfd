"""The additive parts of the best structure: what each does alone and what it adds."""

import math

from parsimon.report.document import Block, Code, Reference, Section
from parsimon.report.findings import ComponentFinding, Shape
from parsimon.report.writing.blocks import Sentence, paragraph
from parsimon.report.writing.model_tables import component_table
from parsimon.report.writing.phrases import clean, decimal, number, percent, points, spelled
from parsimon.report.writing.scope import Scope, words_of

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
        (paragraph(*_introduction(scope)), component_table(scope)),
        tuple(_subsection(scope, place) for place in range(len(parts))),
    )


def _introduction(scope: Scope) -> tuple[Sentence, ...]:
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


def _subsection(scope: Scope, place: int) -> Section:
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
