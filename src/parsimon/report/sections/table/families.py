"""Which model to use: all that answered on the same new rows, and the simplest of the best."""

import math
from collections.abc import Iterator, Sequence

from parsimon.evaluation.recommending import LIKELY, TOLERANCE
from parsimon.report.document import Block, Cell, Heading, Section, Strong, Table
from parsimon.report.findings import (
    ComparedModel,
    Findings,
    ModelComparison,
    ReportFindings,
)
from parsimon.report.sections._blocks import Sentence, number_cell, paragraph
from parsimon.report.sections._phrases import (
    DASH,
    NARROW,
    clean,
    count,
    decimal,
    joined,
    percent,
    percent_range,
    points,
    spelled,
)
from parsimon.report.sections._scope import (
    Scope,
    figures,
    miss,
    misses,
    the,
    with_article,
)

_ANCHOR, _TABLE = "models", "table-models"
_FEW = 3
_MADE_OF = (
    "As fitted to all rows: the model to use, formulas and what this page describes; others as in "
    "the middle one of the folds by size."
)
_BITS = "To write down the middle one of the folds by size; by these models were called simpler."


def which_model(findings: Findings) -> Iterator[Section]:
    """Yield the section about all models; nothing if they were not compared."""
    found = findings.comparison
    if found is not None:
        yield models_section(findings, found, _saved(findings, found), guess_miss(findings))


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
    return Section(_ANCHOR, "Which model to use", tuple(blocks))


# Why guessing is out of the question: a claim is certain, or a column alone does as chance rarely
# would.
_SIGNAL = "some column goes with the target more than chance would have it"


def guess_miss(findings: Findings) -> float:
    """Return the root mean squared error of guessing, in the unit of the target."""
    honest = Scope(findings=findings).honest
    return math.nan if honest is None else misses(honest, 1.0)


def choice_sentences(found: ModelComparison, unit: float) -> tuple[Sentence, ...]:
    """Return who is best, who cannot be told from it, and which is recommended."""
    best, chosen = found.best, found.recommended
    level = [one for one in found.models if one.is_level and one is not best]
    asked = f"Of {spelled(len(found.models), 'model')} on rows that none had seen,"
    if best is chosen:
        alone = (
            ("all others are worse" if len(found.models) > 2 else "the other is worse")
            if not level
            else f"{_named(level)} cannot be told from it, and {_none_smaller(found, level)}"
        )
        use = ("the best is also the one to use: ", Strong(the(chosen)), f"; {alone}.")
        return (asked, use, *_tempered(chosen))
    if best.family == "guessing":
        return (
            asked,
            f"none is better than guessing, yet {_SIGNAL}.",
            ("Of the others use ", Strong(the(chosen)), "."),
            *_tempered(chosen),
        )
    if chosen.size > best.size:
        return (
            asked,
            f"the best is {the(best)}; {_named(level)} cannot be told from it.",
            (
                "That it is much better than ",
                Strong(the(chosen)),
                " is not probable, and of many models on few rows the best owes some of its lead "
                "to luck: ",
                Strong("use the linear model."),
            ),
            _price(found, best, chosen, unit),
            *_tempered(chosen),
        )
    aside, guess = "The simplest", [one for one in found.models if one.family == "guessing"]
    if any(one.worse < LIKELY and not one.recommended for one in guess):
        aside = f"Guessing aside, since {_SIGNAL}, the simplest"
    return (
        asked,
        f"the best is {the(best)}; {_named(level)} cannot be told from it.",
        (
            f"{aside} that is probably not much worse is ",
            Strong(the(chosen)),
            ": ",
            Strong("use that one."),
        ),
        _price(found, best, chosen, unit),
        *_tempered(chosen),
    )


def recommended_line(found: ModelComparison | None, unit: float) -> str:
    """Return in one sentence which model to use; nothing if none were compared."""
    if found is None:
        return ""
    best, chosen = found.best, found.recommended
    said = f"Use {the(chosen)} ({_does(found, chosen, unit)}, {count(round(chosen.size), 'bit')})"
    if best is chosen:
        return f"{said}: of {spelled(len(found.models), 'model')} it is the best on new rows."
    if best.family == "guessing":
        return f"{said}: no model beats guessing on new rows, yet {_SIGNAL}."
    if chosen.size > best.size:
        return (
            f"{said}: that the best, {the(best)} ({_does(found, best, unit)}), is much better "
            + ("is not probable.")
        )
    return f"{said}: the simplest that is probably not much worse than the best, {the(best)} " + (
        f"({_does(found, best, unit)}, {count(round(best.size), 'bit')})."
    )


def _tempered(chosen: ComparedModel) -> tuple[str, ...]:
    """Say so where probabilities were made less sure."""
    if chosen.slope == 1:
        return ()
    return (
        "Its probabilities seemed too sure on new rows, so they are drawn towards even odds: all "
        f"log odds are multiplied by {decimal(chosen.slope, 2)}, and what this page says of them "
        "is said after that.",
    )


def _none_smaller(found: ModelComparison, level: Sequence[ComparedModel]) -> str:
    chosen = found.recommended
    if all(one.size >= chosen.size for one in level):
        return "none of them is simpler" if len(level) > 1 else "it is not simpler"
    return "what is simpler among them may well be much worse"


def _price(found: ModelComparison, best: ComparedModel, chosen: ComparedModel, unit: float) -> str:
    """Say by how much the recommended model may be worse than the best."""
    gap = chosen.difference
    link, more = ("and", "larger") if chosen.size > best.size else ("but", "smaller")
    bits = f"takes {chosen.size:,.0f} bits instead of {best.size:,.0f}"
    if round(chosen.size) == round(best.size):
        bits = f"is {more} by less than a bit"
    chance = f"with a probability of {percent(chosen.worse)}"
    much = f"{100 * TOLERANCE:.0f}{NARROW}%"
    if found.metric == "variance left":
        off, least = miss(chosen, unit), miss(best, unit)
        return (
            f"It is off by {_beside(off, least)} on average, {link} {bits}; {chance} it leaves "
            f"over {much} more of the variance unexplained."
        )
    what, most = "log loss", decimal(gap.high, 3)
    if found.metric != "log loss":
        what, most = "error", f"{points(gap.high)}"
        has = _beside(percent(chosen.error.estimate), percent(best.error.estimate))
    elif math.isnan(chosen.log_loss + best.log_loss):
        return f"It may be worse by {most} in log loss, {link} {bits}."
    else:
        has = _beside(decimal(chosen.log_loss, 3), decimal(best.log_loss, 3))
    return (
        f"Its {what} is {has}, worse by at most {most}, {link} it {bits}; {chance} its {what} is "
        f"over {much} larger."
    )


def _beside(own: str, best: str) -> str:
    """Return a figure beside the best one's; what is the same when it is rounded is said once."""
    return f"{own} as well" if own == best else f"{own} instead of {best}"


def _named(models: Sequence[ComparedModel]) -> str:
    """Return a few models by name, many by their number."""
    if len(models) > _FEW:
        return spelled(len(models), "other")
    return joined([the(one) for one in models])


def _opened(text: str) -> str:
    return text[:1].upper() + text[1:]


def _does(found: ModelComparison, model: ComparedModel, unit: float) -> str:
    if found.metric == "variance left":
        return f"off by {miss(model, unit)} on average"
    said = f"wrong in {percent(model.error.estimate)}"
    if found.metric == "log loss" and not math.isnan(model.log_loss):
        said += f", log loss {decimal(model.log_loss, 3)}"
    return said


def _saved(findings: Findings, found: ModelComparison) -> tuple[str, ...]:
    """Say which model the file holds, and what of the page is about no model."""
    chosen = found.recommended
    if chosen.key == "gp":
        return ("It is saved beside this report.",)
    curves = "The curves are of what these rows support, whichever model is used."
    if chosen.family == "guessing":
        return (
            "It is saved beside this report, and predicts the same for every row.",
            curves,
        )
    own = "errors"
    if len(findings.studies) == 1:
        own = (
            "errors and rows"
            if findings.table.task == "regression"
            else f"{own}, rows and thresholds"
        )
    return (f"It is saved beside this report; {own} on this page are its own.", curves)


def _table(found: ModelComparison, unit: float) -> Table:
    numbers, classes = found.metric == "variance left", found.metric == "log loss"
    error = Heading("Wrong", numeric=True, help="Share of rows that no model had seen.")
    also: tuple[Heading, ...] = ()
    if numbers:
        error = Heading("Typical miss", numeric=True, help="Root mean square, on new rows.")
        also = (Heading("Explains", numeric=True, help="Share of the variance."),)
    if classes:
        also = (Heading("Log loss", numeric=True, help="Of probabilities; less is better."),)
    behind = f"95 % interval, on the same rows{'; log loss' if classes else ''}"
    return Table(
        anchor=_TABLE,
        caption="All models, the best first.",
        headings=(
            Heading("Model"),
            error,
            *also,
            Heading(
                "Worse than the best by",
                numeric=True,
                help=f"{behind}; share of the variance." if numbers else f"{behind}.",
            ),
            Heading("Made of", help=_MADE_OF),
            Heading("Bits", numeric=True, help=_BITS),
        ),
        rows=tuple(_row(found, one, unit) for one in found.models),
        emphasised=tuple(k for k, one in enumerate(found.models) if one.family == "guessing"),
    )


def _row(found: ModelComparison, model: ComparedModel, unit: float) -> tuple[Cell, ...]:
    strong, error = model.recommended, model.error.estimate
    name = clean(model.name) + (" (use this)" if strong else "")
    made = clean(model.size_words).replace("variable", "column").replace(" of the table", "")
    finite = math.isfinite(model.size)
    figure = Cell(percent(error), order=error, strong=strong)
    also: tuple[Cell, ...] = ()
    if found.metric == "variance left":
        figure = Cell(miss(model, unit), order=error, strong=strong)
        also = (Cell(percent(max(0.0, 1 - error)), order=1 - error),)
    if found.metric == "log loss":
        also = (number_cell(model.log_loss, 3),)
    return (
        Cell(name, strong=strong),
        figure,
        *also,
        Cell(_difference(found, model), order=model.difference.estimate),
        Cell(made),
        Cell(f"{model.size:,.0f}" if finite else DASH, order=model.size if finite else None),
    )


def _difference(found: ModelComparison, model: ComparedModel) -> str:
    if model.is_best:
        return DASH
    gap = model.difference
    if found.metric == "log loss":
        return f"{decimal(gap.low, 3)} to {decimal(gap.high, 3)}"
    return percent_range(gap)


def _left_out(found: ModelComparison) -> Iterator[str]:
    """Yield who did not answer, those together that share a reason of their own."""
    reasons: dict[str, list[str]] = {}
    for name, why in found.left_out:
        reasons.setdefault(clean(why), []).append(with_article(name))
    for why, names in reasons.items():
        many = len(names) > 1 and why.startswith("it ")
        said = why.replace("it ", "each of them ", 1) if many else why
        yield f"Not among them: {joined(names)}, since {said}."
