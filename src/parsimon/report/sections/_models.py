"""All models that answered on the same new rows: which to use, what they are called, a table."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from parsimon.evaluation.recommending import LIKELY, TOLERANCE
from parsimon.report.document import Block, Cell, Heading, Section, Strong, Table
from parsimon.report.findings import ComparedModel, Interval, ModelComparison, ReportFindings
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import Sentence, figures, number_cell, paragraph

_FEW = 3
# Names that take no article.
_BARE = ("guessing", "boosting", "PGLS", "PhyRVM", "least squares without tree")
# Why guessing is out of the question: a claim is certain, or a column alone does as chance rarely
# would.
_SIGNAL = "some column goes with the target more than chance would have it"


def the(model: ComparedModel) -> str:
    """Return a model's name as a sentence has it."""
    return say.clean(model.name) if model.family == "own" else with_article(model.name)


def with_article(name: str) -> str:
    """Return the name of a model of ours, with its article if it takes one."""
    return say.clean(name) if name.endswith(_BARE) else f"the {say.clean(name)}"


def explained_share(error: Interval) -> Interval:
    """Return the share of the variance that is explained, from the share that is not."""
    return replace(error, estimate=1 - error.estimate, low=1 - error.high, high=1 - error.low)


def miss(model: ComparedModel, unit: float) -> str:
    """Return by how much a model misses numbers, in the unit of the target."""
    off = unit * math.sqrt(max(0.0, model.error.estimate))
    return say.DASH if math.isnan(off) else say.short(off)


def measured(found: ModelComparison, model: ComparedModel, unit: float) -> str:
    """Return a model's error: by how much it misses numbers, or the share of wrong answers."""
    if found.metric == "variance left":
        return miss(model, unit)
    said = say.percent(model.error.estimate)
    if found.metric == "log loss" and not math.isnan(model.log_loss):
        said += f" (log loss {say.decimal(model.log_loss, 3)})"
    return said


def gap_range(found: ModelComparison, gap: Interval) -> str:
    """Return the ends of a difference of two models, in what they are compared by."""
    return say.number_range(gap) if found.metric == "log loss" else say.percent_range(gap)


def models_section(
    findings: ReportFindings, found: ModelComparison, saved: Sequence[str], unit: float
) -> Section:
    """Return the section about all models.

    saved: Sentences on which one the file holds.
    unit: What guessing misses numbers by, in the unit of the target.
    """
    blocks: list[Block] = [
        paragraph(*choice_sentences(found, unit), *saved),
        *figures(findings, found.picture),
        _table(found, unit),
    ]
    if found.left_out:
        blocks.append(paragraph(*_left_out(found)))
    return Section("models", "Which model to use", tuple(blocks))


def choice_sentences(found: ModelComparison, unit: float) -> tuple[Sentence, ...]:
    """Return who is best, who cannot be told from it, and which is recommended."""
    asked = f"Of {say.spelled(len(found.models), 'model')} on rows that none had seen,"
    return (asked, *_choice(found, unit), *_temper_words(found.recommended))


def _choice(found: ModelComparison, unit: float) -> tuple[Sentence, ...]:
    best, chosen = found.best, found.recommended
    level = [model for model in found.models if model.is_level and model is not best]
    name = Strong(the(chosen))
    if best is chosen:
        alone = "all others are worse" if len(found.models) > 2 else "the other is worse"
        if level:
            alone = f"{_name_few(level)} cannot be told from it, and {_none_smaller(found, level)}"
        return (("the best is also the one to use: ", name, f"; {alone}."),)
    if best.family == "guessing":
        return (
            f"none is better than guessing, yet {_SIGNAL}.",
            ("Of the others use ", name, "."),
        )
    first = f"the best is {the(best)}; {_name_few(level)} cannot be told from it."
    price = _price(found, best, chosen, unit)
    if chosen.size > best.size:
        luck = (
            " is not probable, and of many models on few rows the best owes some of its lead to "
            "luck: "
        )
        return (
            first,
            ("That it is much better than ", name, luck, Strong("use the linear model.")),
            price,
        )
    ruled_out = any(
        model.family == "guessing" and model.worse < LIKELY and not model.recommended
        for model in found.models
    )
    aside = f"Guessing aside, since {_SIGNAL}, the simplest" if ruled_out else "The simplest"
    return (
        first,
        (f"{aside} that is probably not much worse is ", name, ": ", Strong("use that one.")),
        price,
    )


def recommended_line(found: ModelComparison | None, unit: float) -> str:
    """Return in one sentence which model to use; nothing if none were compared."""
    if found is None:
        return ""
    best, chosen = found.best, found.recommended
    said = (
        f"Use {the(chosen)} ({_does(found, chosen, unit)}, {say.count(round(chosen.size), 'bit')})"
    )
    if best is chosen:
        return f"{said}: of {say.spelled(len(found.models), 'model')} it is the best on new rows."
    if best.family == "guessing":
        return f"{said}: no model beats guessing on new rows, yet {_SIGNAL}."
    rival = f"the best, {the(best)} ({_does(found, best, unit)}"
    if chosen.size > best.size:
        return f"{said}: that {rival}), is much better is not probable."
    simplest = "the simplest that is probably not much worse than"
    return f"{said}: {simplest} {rival}, {say.count(round(best.size), 'bit')})."


def _temper_words(chosen: ComparedModel) -> tuple[str, ...]:
    """Say so where probabilities were made less sure."""
    if chosen.slope == 1:
        return ()
    return (
        "Its probabilities seemed too sure on new rows, so they are drawn towards even odds: all "
        f"log odds are multiplied by {say.decimal(chosen.slope, 2)}, and what this page says of "
        "them is said after that.",
    )


def _none_smaller(found: ModelComparison, level: Sequence[ComparedModel]) -> str:
    chosen = found.recommended
    if all(model.size >= chosen.size for model in level):
        return "none of them is simpler" if len(level) > 1 else "it is not simpler"
    return "what is simpler among them may well be much worse"


def _price(found: ModelComparison, best: ComparedModel, chosen: ComparedModel, unit: float) -> str:
    """Say by how much the recommended model may be worse than the best."""
    gap = chosen.difference
    link, more = ("and", "larger") if chosen.size > best.size else ("but", "smaller")
    bits = f"takes {chosen.size:,.0f} bits instead of {best.size:,.0f}"
    if round(chosen.size) == round(best.size):
        bits = f"is {more} by less than a bit"
    chance = f"with a probability of {say.percent(chosen.worse)}"
    much = f"{100 * TOLERANCE:.0f}{say.NARROW}%"
    if found.metric == "variance left":
        return (
            f"It is off by {_beside(miss(chosen, unit), miss(best, unit))} on average, {link} "
            f"{bits}; {chance} it leaves over {much} more of the variance unexplained."
        )
    what, most = "log loss", say.decimal(gap.high, 3)
    if found.metric != "log loss":
        what, most = "error", f"{say.points(gap.high)}"
        has = _beside(say.percent(chosen.error.estimate), say.percent(best.error.estimate))
    elif math.isnan(chosen.log_loss + best.log_loss):
        return f"It may be worse by {most} in log loss, {link} {bits}."
    else:
        has = _beside(say.decimal(chosen.log_loss, 3), say.decimal(best.log_loss, 3))
    return (
        f"Its {what} is {has}, worse by at most {most}, {link} it {bits}; {chance} its {what} is "
        f"over {much} larger."
    )


def _beside(own: str, best: str) -> str:
    """Return a figure beside the best one's; what is the same when it is rounded is said once."""
    return f"{own} as well" if own == best else f"{own} instead of {best}"


def _name_few(models: Sequence[ComparedModel]) -> str:
    """Return a few models by name, many by their number."""
    if len(models) > _FEW:
        return say.spelled(len(models), "other")
    return say.joined([the(model) for model in models])


def _does(found: ModelComparison, model: ComparedModel, unit: float) -> str:
    if found.metric == "variance left":
        return f"off by {miss(model, unit)} on average"
    loss = ""
    if found.metric == "log loss" and not math.isnan(model.log_loss):
        loss = f", log loss {say.decimal(model.log_loss, 3)}"
    return f"wrong in {say.percent(model.error.estimate)}{loss}"


def _table(found: ModelComparison, unit: float) -> Table:
    error = Heading("Wrong", numeric=True, help="Share of rows that no model had seen.")
    also: tuple[Heading, ...] = ()
    behind = "95 % interval, on the same rows"
    if found.metric == "variance left":
        error = Heading("Typical miss", numeric=True, help="Root mean square, on new rows.")
        also = (Heading("Explains", numeric=True, help="Share of the variance."),)
        behind += "; share of the variance"
    if found.metric == "log loss":
        also = (Heading("Log loss", numeric=True, help="Of probabilities; less is better."),)
        behind += "; log loss"
    made_of = (
        "As fitted to all rows: the model to use, formulas and what this page describes; others as "
        "in the middle one of the folds by size."
    )
    bits = "To write down the middle one of the folds by size; by these models were called simpler."
    return Table(
        "table-models",
        "All models, the best first.",
        (
            Heading("Model"),
            error,
            *also,
            Heading("Worse than the best by", numeric=True, help=f"{behind}."),
            Heading("Made of", help=made_of),
            Heading("Bits", numeric=True, help=bits),
        ),
        tuple(_row(found, model, unit) for model in found.models),
        emphasised=guesses(found),
    )


def guesses(found: ModelComparison) -> tuple[int, ...]:
    """Return the places of guessing among the models."""
    return tuple(k for k, model in enumerate(found.models) if model.family == "guessing")


def _row(found: ModelComparison, model: ComparedModel, unit: float) -> tuple[Cell, ...]:
    strong, error = model.recommended, model.error.estimate
    name = say.clean(model.name) + (" (use this)" if strong else "")
    made = say.clean(model.size_words).replace("variable", "column").replace(" of the table", "")
    finite = math.isfinite(model.size)
    figure = say.percent(error)
    also: tuple[Cell, ...] = ()
    if found.metric == "variance left":
        figure = miss(model, unit)
        also = (Cell(say.percent(max(0.0, 1 - error)), order=1 - error),)
    if found.metric == "log loss":
        also = (number_cell(model.log_loss, 3),)
    behind = say.DASH if model.is_best else gap_range(found, model.difference)
    return (
        Cell(name, strong=strong),
        Cell(figure, order=error, strong=strong),
        *also,
        Cell(behind, order=model.difference.estimate),
        Cell(made),
        Cell(f"{model.size:,.0f}" if finite else say.DASH, order=model.size if finite else None),
    )


def _left_out(found: ModelComparison) -> Iterator[str]:
    """Yield who did not answer, those together that share a reason of their own."""
    reasons: dict[str, list[str]] = {}
    for name, why in found.left_out:
        reasons.setdefault(say.clean(why), []).append(with_article(name))
    for why, names in reasons.items():
        many = len(names) > 1 and why.startswith("it ")
        said = why.replace("it ", "each of them ", 1) if many else why
        yield f"Not among them: {say.joined(names)}, since {said}."
