"""What each further term of the structure buys: the front, its table and its knee."""

import math

from parsimon.report.document import Block, Cell, Explorer, Heading, Reference, Section, Table
from parsimon.report.findings import Model
from parsimon.report.writing.blocks import (
    Sentence,
    count_cell,
    number_cell,
    paragraph,
    share_cell,
)
from parsimon.report.writing.phrases import DASH, count, joined, percent, points, spelled
from parsimon.report.writing.scope import Scope, words_of

_KNEE = "The knee of the front, after which a term buys less,"


def trade_off(scope: Scope) -> Section:
    """Return the section about the front of errors and sizes."""
    return Section(
        scope.anchor("trade-off"),
        "What each further term buys",
        (
            paragraph(_steps(scope), _by_variables(scope), knee_sentence(scope), _warning(scope)),
            *_picture(scope),
            *((_table(scope),) if _has_steps(scope) else ()),
        ),
    )


def _picture(scope: Scope) -> tuple[Block, ...]:
    study = scope.study
    figures = scope.figures(study.front_picture)
    return (Explorer(scope.place, figures[0] if figures else None),)


def _steps(scope: Scope) -> str:
    """Say how the error falls with the number of terms."""
    baseline, front = scope.study.baseline.error, scope.study.front
    what = "of rows that it misclassifies"
    if scope.numeric:
        what = f"of the variance of {scope.target} that it leaves unexplained"
    said = f"The error of a structure is the share {what}"
    if math.isnan(baseline):
        return f"{said}; it was not cross-validated here."
    said = f"{said}; that of the baseline, a constant, is {percent(baseline)}."
    steps = [
        f"{spelled(one.n_kernels, 'term')} to {percent(one.error)}"
        for one in front
        if one.n_kernels and not math.isnan(one.error)
    ]
    if not steps:
        return f"{said} No structure that was cross-validated is better."
    return f"{said} The best of each size bring it down: {joined(steps)}."


def _by_variables(scope: Scope) -> str:
    steps = [
        f"{spelled(len(one.variables), 'variable')} {percent(one.error)}"
        for one in scope.study.front_variables
        if one.variables and not math.isnan(one.error)
    ]
    return f"Counted by variables: {joined(steps)}." if len(steps) > 1 else ""


def knee_sentence(scope: Scope) -> str:
    """Return where further terms begin to buy little; empty if there is no such place."""
    study = scope.study
    if not study.structure_found or not 0 <= study.knee < len(study.front):
        return ""
    knee, chosen = study.front[study.knee], study.model
    if math.isnan(knee.error):
        return ""
    where = f"{spelled(knee.n_kernels, 'term')} ({words_of(knee)}, {percent(knee.error)})"
    if study.knee == study.chosen:
        return f"{_KNEE} is the best structure itself, with {where}."
    if study.knee == 0:
        return "The knee of the front is the baseline: no term buys much for its size."
    return f"{_KNEE} is at {where}. {_rest(knee, chosen)}"


def _rest(knee: Model, chosen: Model) -> str:
    """Say what lies between the knee and the chosen structure."""
    more = chosen.n_kernels - knee.n_kernels
    fall = knee.error - chosen.error
    if more <= 0 or math.isnan(fall):
        return f"The structure described here has {spelled(chosen.n_kernels, 'term')}."
    verb = "lowers" if more == 1 else "lower"
    terms = "The one further term" if more == 1 else f"The {spelled(more)} further terms"
    return f"{terms} of the best structure {verb} the error by {points(fall)} more."


def _has_steps(scope: Scope) -> bool:
    return len(scope.study.front) > 1


def _warning(scope: Scope) -> Sentence:
    if not _has_steps(scope):
        return ""
    return (
        "These errors come from the folds that the search used itself (",
        Reference(scope.anchor("table-front")),
        "): compare them with each other, not with errors on new rows.",
    )


def _table(scope: Scope) -> Table:
    study = scope.study
    before = [math.nan, *(one.error for one in study.front[:-1])]
    rows = tuple(
        (
            count_cell(model.n_kernels),
            Cell(words_of(model)),
            share_cell(model.error),
            share_cell(model.standard_error),
            share_cell(last - model.error),
            number_cell(model.negative_log_evidence),
            Cell(_mark(scope, place)),
        )
        for place, (model, last) in enumerate(zip(study.front, before, strict=True))
    )
    return Table(
        anchor=scope.anchor("table-front"),
        caption="The front: the best structure of each size, from the baseline on.",
        headings=(
            Heading("Terms", numeric=True, help="Base kernels in the structure."),
            Heading("Structure"),
            Heading("Error", numeric=True, help="Mean over the folds of the search."),
            Heading("SE", numeric=True, help="Standard error of that mean."),
            Heading("Fall", numeric=True, help="Error of the line above minus this one."),
            Heading("NLML", numeric=True, help="Negative log marginal likelihood."),
            Heading("Mark"),
        ),
        rows=rows,
        emphasised=(0,),
        note=f"{count(study.search.n_kernels, 'kernel')} "
        f"{'was' if study.search.n_kernels == 1 else 'were'} tried, "
        f"{study.search.n_cross_validated:,} of them cross-validated.",
    )


def _mark(scope: Scope, place: int) -> str:
    study = scope.study
    marks = ["knee"] * (place == study.knee and study.structure_found)
    marks += ["best"] * (place == study.chosen and study.structure_found)
    return ", ".join(marks) or DASH
