"""Each variable alone: its range, its error, the evidence, and which way it goes."""

import math

from parsimon.report.document import Block, Reference, Section
from parsimon.report.findings import Band, VariableFinding
from parsimon.report.writing.blocks import Sentence, paragraph
from parsimon.report.writing.evidence import verdict
from parsimon.report.writing.model_tables import ranked
from parsimon.report.writing.phrases import (
    clean,
    named,
    number,
    opened,
    percent,
    spelled,
)
from parsimon.report.writing.scope import Scope

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


def direction(scope: Scope, found: VariableFinding) -> tuple[str, ...]:
    """Return which way the outcome goes with a variable, and how sure that is."""
    if scope.variable(found.variable).kind == "indicator":
        return (_indicator_direction(scope, found),)
    name, outcome = clean(found.variable.name), opened(scope.outcome)
    where = _between(scope, found)
    if found.shape in ("rising", "falling"):
        way, sure = ("rises", found.rising) if found.shape == "rising" else ("falls", found.falling)
        share = f"{percent(sure)} of posterior draws{where}"
        return (f"{outcome} {way} with {name} throughout in {share}.",)
    if found.shape == "periodic":
        return (_periodic(scope, found),)
    if found.shape == "linear":
        return (_linear(scope, found),)
    if found.shape == "flat":
        return ("A constant fits as well, so that no direction is claimed.",)
    draws = f"{percent(found.rising)} of posterior draws rise throughout and "
    draws += f"{percent(found.falling)} fall{where}"
    if found.shape == "turning":
        if max(found.rising, found.falling) < 0.0005:
            draws = f"no posterior draw rises or falls throughout{where}"
        return (f"{outcome} turns with {name}: {draws}.",)
    return (
        f"Whether {scope.outcome} rises or falls with {name} throughout is not clear: {draws}.",
    )


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
    if max(found.rising, found.falling) < 0.9:
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
