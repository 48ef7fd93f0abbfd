"""What matters, and how: the columns of the answer, those that act together, a table of all."""

import math
from collections.abc import Sequence
from datetime import date, timedelta

from parsimon.report.document import Block, Cell, Heading, Section, Strong, Table
from parsimon.report.findings import InteractionFinding, Treatment, Variable, VariableFinding
from parsimon.report.findings.shared_findings import EffectFinding, LevelFinding
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import Sentence, bullets, paragraph
from parsimon.report.sections.table.claims import (
    chance,
    claimed_columns,
    column_claim,
    columns_of,
    effect_figures,
    effect_of,
    held_back,
    interaction_claim,
    is_claimed,
    list_claims,
    pairs_sentence,
    shape_claim,
    stand_ins,
    sure_percent,
)
from parsimon.report.sections.table.scope import Scope, words_of

_MOST_SHOWN = 8
_MOST_LEVELS = 8
# A noise column of many rows can fit better than a constant by a few units; what goes beyond this,
# and beyond the number of columns that could have done so, predicts by itself.
_ALONE = 5.0
# The probability from which on a direction is said.
_SURE = 0.95
# From here on a turn is likelier than none, and the picture has it.
_PROBABLE = 0.5
_MOST_ROWS = 30


def what_matters(scope: Scope) -> Section:
    """Return the section about the columns: those of the answer one by one, all in a table."""
    shown = described_columns(scope)
    blocks: list[Block] = [paragraph("No column is claimed to matter.")]
    if shown:
        blocks = [bullets(*(_describe(scope, name) for name in shown))]
        blocks += [figure for name in shown for figure in effect_figures(scope, [name])]
    blocks += interactions(scope)
    if scope.columns:
        blocks.append(column_table(scope))
    return Section(scope.anchor("variables"), "What matters, and how", tuple(blocks))


def described_columns(scope: Scope) -> tuple[str, ...]:
    """Return the columns that are claimed, the most probable first, then others of the model."""
    used = map(scope.column, scope.study.model.variables)
    return tuple(dict.fromkeys((*columns_of(scope.claimed), *used)))[:_MOST_SHOWN]


def _describe(scope: Scope, column: str) -> Sentence:
    """Return what is said of a column: which way it acts, in what shape, how it is used.

    That it matters stands on the first screen.
    """
    found, effect = findings_of(scope, column), effect_of(scope, [column])
    told = [
        *(direction(scope, effect) if effect and column in columns_of(scope.claimed) else ()),
        _shape_verdict(scope, column),
        _beside(scope, column, found) if found else "",
        _use(scope, column),
    ]
    if not is_claimed(column_claim(scope, column)):
        return paragraph(variable_verdict(scope, column), *told).parts
    first, *others = [one for one in told if one] or ["nothing more is known."]
    return paragraph(
        (Strong(say.clean(column)), f": {first[:1].lower()}{first[1:]}"), *others
    ).parts


def findings_of(scope: Scope, column: str) -> VariableFinding | None:
    """Return what the best variable of a column says alone."""
    own = [one for one in scope.study.variables if scope.column(one.variable.name) == column]
    return min(own, key=model_order, default=None)


def model_order(one: VariableFinding) -> tuple[bool, float, float]:
    """Return what variables are sorted by: error to 0.01 %, then negative log evidence to 0.01.

    He (2016), section 5.1; a model that was not cross-validated comes last.
    """
    unknown = math.isnan(one.model.error)
    evidence = round(one.model.negative_log_evidence, 2)
    return (unknown, 0.0 if unknown else round(one.model.error, 4), evidence)


def variable_verdict(scope: Scope, column: str) -> Sentence:
    """Return the one verdict on a column: what is claimed of it."""
    claim, name = column_claim(scope, column), say.clean(column)
    if claim is None or not is_claimed(claim):
        rows, others = say.opened(scope.rows_seen), stand_ins(scope, column)
        if others:
            return f"{rows} do not show whether it is {name} that matters or {say.named(others)}."
        return f"{rows} do not show that {name} matters beside the others."
    if claim.certain:
        return (Strong(say.clean(claim.words)), f", beyond doubt ({chance(claim)}).")
    return f"Suggested: {say.clean(claim.words)} ({chance(claim)}){held_back(scope, claim)}."


_FORMS = {"linear": "along a line", "smooth": "in a curve", "periodic": "in a repeating pattern"}


def _shape_verdict(scope: Scope, column: str) -> str:
    """Return the shape that is claimed."""
    claim = shape_claim(scope, column)
    if claim is None:
        return ""
    sure = "Beyond doubt" if claim.certain else "Suggested"
    return f"{sure}: {_FORMS.get(claim.shape, say.clean(claim.words))} ({chance(claim)})."


def level_sentence(scope: Scope, levels: Sequence[LevelFinding]) -> str:
    """Return what was observed at the levels of a category, the most first."""
    order = sorted(levels, key=lambda one: -one.value.estimate)
    value = say.short if scope.numeric else say.percent
    told = [
        f"{value(one.value.estimate)} for {say.clean(one.level)} ({one.n_rows:,})"
        for one in order[:_MOST_LEVELS]
    ]
    more = len(order) - len(told)
    rest = f"; {more} more in the picture" if more else ""
    what = f"Mean {scope.target}" if scope.numeric else f"Share of {scope.positive}"
    return f"{what} (rows): {say.joined(told)}{rest}."


def _beside(scope: Scope, column: str, found: VariableFinding) -> str:
    """Say so where a column alone and in company are not alike."""
    alone = predicts_alone(scope, found)
    alike = stand_ins(scope, column)
    others = [name for name in claimed_columns(scope.claimed) if name not in (column, *alike)]
    if is_claimed(column_claim(scope, column)):
        # A category is more than the level that says most alone.
        is_level = found.variable.name != scope.column(found.variable.name)
        together = not alone and others and not is_level
        return "It matters together with others more than alone." if together else ""
    if not alone or alike or not others:
        return ""
    rows = scope.rows_seen
    return f"Alone it predicts; that it adds to {say.named(others)} {rows} do not show."


def predicts_alone(scope: Scope, found: VariableFinding) -> bool:
    """Return whether a model of this variable alone explains the rows better than by luck."""
    return found.log_bayes_factor >= _ALONE + math.log(max(1, len(scope.study.variables)))


def _use(scope: Scope, column: str) -> str:
    """Say so where the model and the claims part."""
    if scope.guesses:
        return ""
    used = column in scope.used
    claimed = is_claimed(column_claim(scope, column))
    if used and not claimed:
        return "" if stand_ins(scope, column) else "The model uses it all the same."
    return "The model does without it." if claimed and not used else ""


def direction(scope: Scope, found: EffectFinding) -> tuple[str, ...]:
    """Return which way the outcome goes with a column, and how sure that is."""
    if found.levels:
        return (level_sentence(scope, found.levels),)
    [column] = found.columns
    if found.way == "joined":
        return _joined_direction(scope, column)
    variable = _variable_of(scope, column)
    if variable is not None and variable.kind == "indicator":
        return (_indicator_direction(scope, found, variable),)
    name, outcome = say.clean(column), say.opened(scope.outcome)
    way, sure = ("rises", found.rising)
    if found.falling > found.rising:
        way, sure = ("falls", found.falling)
    if found.way in ("rising", "falling"):
        if found.turning <= _PROBABLE:
            return (f"{outcome} {way} with it ({sure_percent(sure)} sure).",)
        # Its picture turns: the slope of most rows is not that of all.
        turn = (
            f"it probably turns{_between(scope, found, variable)} ({sure_percent(found.turning)})"
        )
        return (f"{outcome} {way} with it on average ({sure_percent(sure)} sure); {turn}.",)
    if found.way == "periodic" and found.period is not None:
        days = " days" if variable is not None and variable.kind == "date" else ""
        return (
            f"{outcome} repeats along {name}, with a period of {say.number(found.period)}{days}.",
        )
    if found.way == "linear":
        size = _size(scope, found, variable)
        return (
            f"{outcome} {way} with {name} along a straight line{size} ({sure_percent(sure)} sure).",
        )
    if found.way == "turning":
        turn = (
            f"{outcome} turns with {name}{_between(scope, found, variable)}: it rises in one part "
            f"and falls in another ({sure_percent(found.turning)} sure)."
        )
        average = f"On average it {way} ({sure_percent(sure)} sure)."
        return (turn, average) if sure >= _SURE else (turn,)
    return (f"Whether {scope.outcome} rises or falls with {name} is not clear.",)


def _variable_of(scope: Scope, column: str) -> Variable | None:
    """Return the variable of a column that has a direction: its number, or its only indicator."""
    own = [one for one in scope.findings.table.variables if one.column == column]
    return min(own, key=lambda one: one.kind == "indicator", default=None)


def _joined_direction(scope: Scope, column: str) -> tuple[str, ...]:
    joins = [one for one in scope.claimed if one.kind == "interaction" and column in one.variables]
    others = dict.fromkeys(name for one in joins for name in one.variables if name != column)
    if not others:
        return ()
    verb = "depends" if any(one.certain for one in joins) else "may depend"
    return (f"How {scope.outcome} goes with it {verb} on {say.named(tuple(others))}.",)


def _between(scope: Scope, found: EffectFinding, variable: Variable | None) -> str:
    if found.judged_between is None or variable is None:
        return ""
    low, high = (_value(scope, variable, end) for end in found.judged_between)
    return f" between {low} and {high}"


def _size(scope: Scope, found: EffectFinding, variable: Variable | None) -> str:
    if not scope.numeric or found.slope is None:
        return ""
    unit = "day" if variable is not None and variable.kind == "date" else "unit"
    return f", by {say.number(abs(found.slope))} for each {unit}"


def _indicator_direction(scope: Scope, found: EffectFinding, variable: Variable) -> str:
    rows = _rows_with(scope, variable)
    what = scope.outcome if scope.numeric else scope.positive
    more, less = ("higher", "lower") if scope.numeric else ("more probable", "less probable")
    if max(found.rising, found.falling) < _SURE:
        return f"Whether {what} is {more.split()[0]} or {less} in {rows} is not clear."
    way, sure = (more, found.rising) if found.rising >= found.falling else (less, found.falling)
    return f"{say.opened(what)} is {way} in {rows} ({sure_percent(sure)} sure)."


def _treatment(scope: Scope, kind: str, column: str) -> Treatment | None:
    """Return what was done to a column, if it was."""
    found = scope.findings.table.treatments
    return next((done for done in found if done.kind == kind and done.column == column), None)


def _rows_with(scope: Scope, variable: Variable) -> str:
    """Return the rows where an indicator is 1: "rows with sex = male"."""
    name = say.clean(variable.name)
    if name.endswith(" is missing"):
        return f"rows where {name}"
    if variable.name != variable.column:
        return f"rows with {name}"
    done = _treatment(scope, "column_boolean", variable.column)
    return f"rows with {name} = {say.clean(done.value) if done is not None and done.value else 1}"


def _value(scope: Scope, variable: Variable, value: float) -> str:
    """Return a value of a variable; days are said as dates, as far as there are such dates."""
    done = _treatment(scope, "column_date", variable.column)
    if variable.kind != "date" or done is None:
        return say.number(value)
    try:
        first = date.fromisoformat(done.value[:10])
        return (first + timedelta(days=math.floor(value))).isoformat()
    except (ValueError, OverflowError):
        return say.number(value)


def column_table(scope: Scope) -> Table:
    """Return the table of all columns, the most probable first, then those that say most alone."""
    known = [scope.column(one.variable.name) for one in scope.study.variables]
    columns = sorted(
        dict.fromkeys(known or scope.columns),
        key=lambda name: _column_order(scope, name),
    )
    more = len(columns) - _MOST_ROWS
    headings = [
        Heading("Column"),
        Heading(
            "Matters", numeric=True, help="Probability, beside the others; a dash: below one half."
        ),
    ]
    if known:
        alone = Heading("Explains alone", numeric=True, help="Share of the variance.")
        headings.append(alone if scope.numeric else Heading("Wrong alone", numeric=True))
    if scope.findings.importance:
        what = "variance left" if scope.numeric else "wrong answers"
        meaning = f"Rise of the {what} on new rows if the column is shuffled: 95 % interval."
        headings.append(Heading("Worse if shuffled", numeric=True, help=meaning))
    every = len(columns) == scope.findings.table.n_columns - 1
    which = "All columns" if every else "The columns that the search used"
    return Table(
        anchor=scope.anchor("table-variables"),
        caption=f"{which}, the surest first.",
        headings=tuple(headings),
        rows=tuple(_column_row(scope, name) for name in columns[:_MOST_ROWS]),
        note=f"{say.count(more, 'further column')} left out." if more > 0 else "",
    )


def _column_order(scope: Scope, column: str) -> tuple[float, tuple[bool, float, float]]:
    claim, found = column_claim(scope, column), findings_of(scope, column)
    claimed = claim is not None and is_claimed(claim)
    order = (True, 0.0, 0.0) if found is None else model_order(found)
    return (-claim.probability if claim is not None and claimed else 0.0, order)


def _column_row(scope: Scope, column: str) -> tuple[Cell, ...]:
    claim, found = column_claim(scope, column), findings_of(scope, column)
    matters = Cell(say.DASH)
    if claim is not None and is_claimed(claim):
        text = chance(claim).replace("more than", ">")
        matters = Cell(text, order=claim.probability, strong=claim.certain)
    return (
        Cell(say.clean(column)),
        matters,
        *_alone_cells(scope, found),
        *_worth_cells(scope, column),
    )


def _alone_cells(scope: Scope, found: VariableFinding | None) -> tuple[Cell, ...]:
    """Return what a column explains alone; no cell where that is known of none."""
    if not scope.study.variables:
        return ()
    error = math.nan if found is None else found.model.error
    share = max(0.0, 1 - error) if scope.numeric else error
    return (Cell(say.DASH) if math.isnan(share) else Cell(say.percent(share), order=share),)


def _worth_cells(scope: Scope, column: str) -> tuple[Cell, ...]:
    """Return what the model loses without a column; no cell where that is known of none."""
    every = scope.findings.importance
    if not every:
        return ()
    found = next((one.in_company for one in every if one.name == column), None)
    if found is None or math.isnan(found.estimate):
        return (Cell(say.DASH),)
    return (Cell(say.percent_range(found), order=found.estimate),)


def interactions(scope: Scope) -> tuple[Block, ...]:
    """Return what is said of columns that act together; nothing if no structure was found."""
    claims = [one.variables for one in scope.claimed if one.kind == "interaction"]
    if not scope.study.structure_found and not claims:
        return ()
    # Levels of a category have a product each, and the verdict is on the columns.
    products = {
        frozenset(map(scope.column, one.variables)): one
        for one in reversed(scope.study.interactions)
    }
    blocks: list[Block] = []
    for columns in claims:
        product = products.pop(frozenset(columns), None)
        gain = () if product is None else _gain(scope, product)
        blocks.append(paragraph(*interaction_verdict(scope, columns), *gain))
        blocks += effect_figures(scope, columns)
    for product in reversed(products.values()):
        columns = tuple(dict.fromkeys(map(scope.column, product.variables)))
        blocks.append(paragraph(*interaction_verdict(scope, columns), *_gain(scope, product)))
    said = (*_none(scope), pairs_sentence(scope))
    if any(said):
        blocks.append(paragraph(*said))
    return tuple(blocks)


def _none(scope: Scope) -> tuple[str, ...]:
    study = scope.study
    if study.interactions or any(one.kind == "interaction" for one in scope.claimed):
        return ()
    if len(scope.columns) < 2:
        return ("There is one column only, so that there is nothing to interact with.",)
    rows, built = say.opened(scope.rows_seen), _built_interaction(scope)
    if built:
        return (
            f"{rows} do not show whether columns interact: {built} is part of a model on this "
            "page, which is not a claim.",
        )
    return (f"{rows} do not show that any two columns interact, nor that effects only add up.",)


def _built_interaction(scope: Scope) -> str:
    """Return the interaction in a model that the page speaks of; empty if there is none."""
    study = scope.study
    models = (study.model, *study.front[study.knee : study.knee + 1])
    words = (words_of(scope, one) for one in models)
    found = (part for one in words for part in one.split(", plus ") if "interaction of" in part)
    return next(found, "")


def interaction_verdict(scope: Scope, columns: tuple[str, ...]) -> tuple[Sentence, ...]:
    """Return the one verdict on columns that act together: what is claimed of them."""
    if len(columns) == 1:
        return (
            f"Both come from the column {say.clean(columns[0])}, so that no interaction is meant.",
        )
    if len(columns) > 2:
        return _several(scope, columns)
    claim = interaction_claim(scope, columns)
    if claim is None or not is_claimed(claim):
        known = "" if claim is None else f" ({chance(claim)})"
        rows = say.opened(scope.rows_seen)
        return (f"{rows} do not show that {say.named(columns)} interact{known}.",)
    first, other = map(say.clean, columns)
    how = f"how {scope.outcome} changes with {first} {{}} on {other}."
    if claim.certain:
        words = Strong(say.clean(claim.words))
        return ((words, f", beyond doubt ({chance(claim)}):"), how.format("depends"))
    suggestion = f"A suggestion, not certain: {say.clean(claim.words)} ({chance(claim)}):"
    return (suggestion, how.format("may depend"))


def _several(scope: Scope, columns: tuple[str, ...]) -> tuple[Sentence, ...]:
    """Return what is claimed of a product of three columns or more, and of each pair in it."""
    pairs = [(a, b) for k, a in enumerate(columns) for b in columns[k + 1 :]]
    joins = (columns, *pairs)
    claims = [claim for join in joins if (claim := interaction_claim(scope, join)) is not None]
    sure = [one for one in claims if one.certain]
    perhaps = [one for one in claims if is_claimed(one) and not one.certain]
    if not sure and not perhaps:
        rows = say.opened(scope.rows_seen)
        return (f"{rows} do not show that any two of {say.named(columns)} interact.",)
    return (
        f"Beyond doubt, {list_claims(sure)}." if sure else "",
        f"It is a suggestion, not certain, that {list_claims(perhaps)}." if perhaps else "",
    )


def _gain(scope: Scope, found: InteractionFinding) -> tuple[str, ...]:
    additive, error = found.additive.error, scope.study.model.error
    if math.isnan(additive) or math.isnan(error) or math.isnan(found.gain):
        return ()
    sum_has = f"If their effects only added up, the model {scope.does(additive)}"
    if round(found.gain, 3) == 0:
        return (f"{sum_has}, as much as with the interaction.",)
    own = say.percent(max(0.0, 1 - error)) if scope.numeric else say.percent(error)
    return (f"{sum_has}; with the interaction, {own}.",)
