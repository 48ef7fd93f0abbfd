"""Which model to use: all that answered on the same new rows, and the simplest of the best."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from parsimon.report.document import Block, Cell, Heading, Section, Strong, Table
from parsimon.report.findings import ComparedModel, Findings, ModelComparison, ReportFindings
from parsimon.report.sections._blocks import Sentence, count_cell, number_cell, paragraph
from parsimon.report.sections._phrases import (
    DASH,
    clean,
    count,
    decimal,
    joined,
    percent,
    percent_range,
    points,
    share_range,
    spelled,
)
from parsimon.report.sections._scope import figures, shown

if TYPE_CHECKING:
    from parsimon.report.trait_findings import TraitFindings

_ANCHOR, _TABLE = "models", "table-models"
# The column of the table that numbers do not have.
_LOG_LOSS = 2
_FEW = 3


def which_model(findings: Findings) -> Iterator[Section]:
    """Yield the section about all models; nothing if they were not compared."""
    if findings.comparison is not None:
        yield models_section(findings, findings.comparison, _saved(findings, findings.comparison))


def models_section(findings: ReportFindings, found: ModelComparison, saved: str) -> Section:
    """Return the section about all models; `saved` says which one the file holds."""
    blocks: list[Block] = [
        paragraph(*choice_sentences(found)),
        paragraph(saved, shown(findings, found.picture, _shows(found))),
        *figures(findings, found.picture),
        _table(found),
    ]
    if found.left_out:
        blocks.append(paragraph(*_left_out(found)))
    return Section(_ANCHOR, "Which model to use", tuple(blocks))


def choice_sentences(found: ModelComparison) -> tuple[Sentence, ...]:
    """Return who is best, who cannot be told from it, and which is recommended."""
    best, chosen = found.best, found.recommended
    level = [one for one in found.models if one.is_level and one is not best]
    asked = _opened(f"{spelled(len(found.models), 'model')} answered on rows that none had seen.")
    if best is chosen:
        alone = (
            "no other can be told to be as good"
            if not level
            else f"{_named(level)} cannot be told from it, and {_none_smaller(found, level)}"
        )
        return (
            asked,
            (
                "The best is also the one to use: ",
                Strong(_the(chosen)),
                f" ({_does(found, chosen)}, {_size(chosen)}); {alone}.",
            ),
        )
    return (
        asked,
        f"The best is {_the(best)}: {_does(found, best)}, {_size(best)}.",
        f"{_opened(_named(level))} cannot be told from it by these rows.",
        (
            "Within one standard error of the best, the simplest is ",
            Strong(_the(chosen)),
            f" ({_does(found, chosen)}, {_size(chosen)}): ",
            Strong("use that one."),
        ),
        _price(found, best, chosen),
    )


def recommended_line(findings: "Findings | TraitFindings") -> str:
    """Return in one sentence which model to use; nothing if none were compared."""
    found = findings.comparison
    if found is None:
        return ""
    best, chosen = found.best, found.recommended
    said = f"Use {_the(chosen)} ({_does(found, chosen)}, {count(round(chosen.size), 'bit')})"
    if best is chosen:
        return f"{said}: of {spelled(len(found.models), 'model')} it is the best on new rows."
    return f"{said}: the simplest within one standard error of the best, {_the(best)} " + (
        f"({_does(found, best)}, {count(round(best.size), 'bit')})."
    )


def _none_smaller(found: ModelComparison, level: Sequence[ComparedModel]) -> str:
    chosen = found.recommended
    if all(one.size >= chosen.size for one in level):
        return "none of them is simpler" if len(level) > 1 else "it is not simpler"
    return "what is simpler among them is more than one standard error worse"


def _price(found: ModelComparison, best: ComparedModel, chosen: ComparedModel) -> str:
    """Say by how much the recommended model may be worse than the best."""
    gap = chosen.difference
    if found.metric == "log loss":
        worse = f"{decimal(gap.estimate, 3)} in log loss (at most {decimal(gap.high, 3)})"
    else:
        worse = f"{points(gap.estimate)} (at most {decimal(100 * gap.high, 1)})"
    times = best.size / chosen.size if chosen.size > 0 else math.inf
    smaller = f"{times:,.0f} times" if times >= 2 else f"{percent(1 - 1 / max(times, 1e-9))}"
    return f"It may be worse by {worse}, and it is {smaller} smaller."


_BARE = ("boosting", "PGLS", "PhyRVM", "least squares without tree")


def _the(model: ComparedModel) -> str:
    name = clean(model.name)
    bare = model.family in ("own", "guessing") or name.endswith(_BARE)
    return name if bare else f"the {name}"


def _named(models: Sequence[ComparedModel]) -> str:
    """Return a few models by name, many by their number."""
    if len(models) > _FEW:
        return spelled(len(models), "other")
    return joined([_the(one) for one in models])


def _opened(text: str) -> str:
    return text[:1].upper() + text[1:]


def _does(found: ModelComparison, model: ComparedModel) -> str:
    if found.metric == "variance left":
        return f"{percent(model.error.estimate)} of the variance left unexplained"
    said = f"wrong in {percent(model.error.estimate)}"
    if found.metric == "log loss" and not math.isnan(model.log_loss):
        said += f", log loss {decimal(model.log_loss, 3)}"
    return said


def _size(model: ComparedModel) -> str:
    return f"{clean(model.size_words)}, {count(round(model.size), 'bit')}"


def _saved(findings: Findings, found: ModelComparison) -> str:
    """Say which model the file holds, where it is not the one that the page describes."""
    chosen = found.recommended
    said = f"The saved model is {_the(chosen)}, fitted to all rows."
    if chosen.name == described_name(findings):
        return said
    if chosen.family == "guessing":
        return f"{said} It predicts the same for every row."
    return (
        f"{said} What follows describes the {clean(described_name(findings))}, which can be drawn."
    )


def described_name(findings: Findings) -> str:
    """Return who the rest of the report is about, as the table of models has it."""
    family = findings.studies[0].search.family
    models = () if findings.comparison is None else findings.comparison.models
    own = [one.name for one in models if one.name == family]
    searched = [one.name for one in models if one.key == "gp"]
    return [*own, *searched, family][0]


def _shows(found: ModelComparison) -> str:
    del found
    return "shows what each model costs to write down and what that buys"


def _table(found: ModelComparison) -> Table:
    numbers = found.metric == "variance left"
    error = "Variance left" if numbers else "Wrong answers"
    headings: tuple[Heading, ...] = (
        Heading("Model", help="Rivals are scikit-learn's, tuned on the training rows."),
        Heading(error, numeric=True, help="On rows that no model had seen, with 95 % interval."),
        Heading("Log loss", numeric=True, help="How good the probabilities are; less is better."),
        Heading("Worse than the best by", numeric=True, help="On the same rows, with interval."),
        Heading("Columns", numeric=True, help="Columns of the table that it uses."),
        Heading("Made of"),
        Heading("Bits", numeric=True, help="To write the model down, if one has the columns."),
    )
    rows = tuple(_row(found, one) for one in found.models)
    if numbers:
        headings = (*headings[:_LOG_LOSS], *headings[_LOG_LOSS + 1 :])
        rows = tuple((*row[:_LOG_LOSS], *row[_LOG_LOSS + 1 :]) for row in rows)
    return Table(
        anchor=_TABLE,
        caption="All models on the same new rows, the best first; the recommended one in bold.",
        headings=headings,
        rows=rows,
        emphasised=tuple(k for k, one in enumerate(found.models) if one.family == "guessing"),
    )


def _row(found: ModelComparison, model: ComparedModel) -> tuple[Cell, ...]:
    strong = model.recommended
    marks = [word for word, is_so in (("recommended", strong), ("best", model.is_best)) if is_so]
    name = clean(model.name) + (f" ({', '.join(marks)})" if marks else "")
    ends = percent_range(model.error)
    if found.metric != "variance left":
        ends = share_range(model.error)
    made = clean(model.size_words).partition(", ")[2]
    finite = math.isfinite(model.size)
    return (
        Cell(name, strong=strong),
        Cell(
            f"{percent(model.error.estimate)} ({ends})", order=model.error.estimate, strong=strong
        ),
        number_cell(model.log_loss, 3),
        Cell(_difference(found, model), order=model.difference.estimate),
        count_cell(model.variables),
        Cell(made),
        Cell(f"{model.size:,.0f}" if finite else DASH, order=model.size if finite else None),
    )


def _difference(found: ModelComparison, model: ComparedModel) -> str:
    if model.is_best:
        return DASH
    gap = model.difference
    if found.metric == "log loss":
        return f"{decimal(gap.estimate, 3)} ({decimal(gap.low, 3)} to {decimal(gap.high, 3)})"
    return f"{decimal(100 * gap.estimate, 1)} ({percent_range(gap)})"


def _left_out(found: ModelComparison) -> Iterator[str]:
    for name, why in found.left_out:
        yield f"Not among them: the {clean(name)}, since {clean(why)}."
