"""The executive summary: what is claimed, a few numbers to remember, and what size buys."""

import math
from collections.abc import Sequence
from dataclasses import replace

from parsimon.report.document import (
    Block,
    Cell,
    Code,
    Explorer,
    Heading,
    KeyFigure,
    KeyFigures,
    Reference,
    Section,
    Strong,
    Table,
)
from parsimon.report.findings import Honest, Interval, ModelFinding, VariableFinding
from parsimon.report.sections._blocks import (
    Sentence,
    count_cell,
    listed,
    note,
    number_cell,
    paragraph,
    share_cell,
)
from parsimon.report.sections._phrases import (
    DASH,
    NARROW,
    amount,
    clean,
    count,
    joined,
    named,
    number,
    number_range,
    opened,
    percent,
    percent_range,
    points,
    share_range,
    spelled,
    sureness,
)
from parsimon.report.sections._scope import Scope, why_no_outer_folds, words_of
from parsimon.report.sections.table.claims import certain, claimed_columns, described, headline
from parsimon.report.sections.table.model_tables import ranked, variable_table
from parsimon.report.sections.table.rare_class import (
    better_log_loss,
    leads_with_balance,
    log_loss_words,
    rare_key_figures,
    rare_sentences,
)


def key_figures(scope: Scope) -> KeyFigures:
    """Return the error, the baseline, the AUC or the typical miss, and the variables used."""
    honest = scope.study.honest
    if honest is not None and leads_with_balance(scope):
        return KeyFigures(rare_key_figures(scope, honest))
    return KeyFigures((*_error(scope), *_baseline(scope), *_more(scope), _variables(scope)))


def _error(scope: Scope) -> tuple[KeyFigure, ...]:
    """Return the honest error; what the search believed if there is none, and said so."""
    honest, believed = scope.study.honest, scope.study.model.error
    if honest is not None:
        label = "of the variance left unexplained" if scope.numeric else "honest error"
        ends = percent_range(honest.error) if scope.numeric else share_range(honest.error)
        value = percent(honest.error.estimate)
        return (KeyFigure(value, label, f"{ends}, on rows never seen"),)
    if math.isnan(believed) or not scope.study.structure_found:
        return ()
    label = "of the variance unexplained (optimistic)" if scope.numeric else "optimistic error"
    return (KeyFigure(percent(believed), label, "no honest error was measured"),)


def _baseline(scope: Scope) -> tuple[KeyFigure, ...]:
    honest = scope.study.honest
    error = scope.study.baseline.error if honest is None else honest.baseline_error.estimate
    if math.isnan(error):
        return ()
    return (KeyFigure(percent(error), "baseline", "a constant, on the same rows"),)


def _more(scope: Scope) -> tuple[KeyFigure, ...]:
    honest, roc = scope.study.honest, scope.study.checks.roc
    if scope.numeric:
        if honest is None or math.isnan(honest.root_mean_square):
            return ()
        size = number(honest.root_mean_square)
        return (KeyFigure(size, "typical miss", f"root mean square, unit of {scope.target}"),)
    if honest is not None and honest.auc is not None:
        auc, where = honest.auc, "on rows never seen"
    elif roc is not None:
        auc, where = roc.auc, scope.study.checks.source
    else:
        return ()
    return (KeyFigure(f"{auc.estimate:.3f}", "AUC", f"{number_range(auc)}, {where}"),)


def _variables(scope: Scope) -> KeyFigure:
    used, n = len(scope.study.model.variables), len(scope.findings.table.variables)
    detail = "by the structure" if scope.study.structure_found else "a constant does as well"
    return KeyFigure(f"{used} of {n}", "variables used", detail)


def trade_off(scope: Scope) -> Section:
    """Return the section about the front of errors and sizes."""
    return Section(
        scope.anchor("trade-off"),
        f"What each further {scope.unit} buys",
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
    steps = [f"{amount(one.size, scope.unit)} to {percent(one.error)}" for one in _falling(front)]
    if not steps:
        return f"{said} No structure that was cross-validated is better."
    said = (
        f"{said} The best of each size bring it down: {joined(_told_once(steps))}.{_above(scope)}"
    )
    if not scope.claimed:
        return f"{said} These rows do not show that this is more than chance."
    if scope.rare:
        return f"{said} With so rare a class this says little; the log loss says more."
    return said


def _falling(front: Sequence[ModelFinding]) -> list[ModelFinding]:
    """Return the models of a front that are no worse than all smaller ones."""
    kept: list[ModelFinding] = []
    for one in front:
        if one.size and not math.isnan(one.error) and not (kept and one.error > kept[-1].error):
            kept.append(one)
    return kept


def _told_once(steps: list[str]) -> list[str]:
    """Return steps in order; those that say the same, as structures that tie do, as one."""
    return [
        step if (n := steps.count(step)) == 1 else f"{step} ({spelled(n)} structures tie)"
        for step in dict.fromkeys(steps)
    ]


def _above(scope: Scope) -> str:
    """Say so where the chosen structure is not the best of its size."""
    study = scope.study
    if not study.structure_found or math.isnan(study.model.error):
        return ""
    if any(one.expression == study.model.expression for one in _falling(study.front)):
        return ""
    size = amount(study.model.size, scope.unit)
    return f" The chosen structure, with {size}, has {percent(study.model.error)}."


def _by_variables(scope: Scope) -> str:
    steps = [
        f"{spelled(len(one.variables), 'variable')} {percent(one.error)}"
        for one in scope.study.front_variables
        if one.variables and not math.isnan(one.error)
    ]
    steps = _told_once(steps)
    return f"Counted by variables: {joined(steps)}." if len(steps) > 1 else ""


def knee_sentence(scope: Scope) -> str:
    """Return where further terms begin to buy little; empty if there is no such place."""
    study = scope.study
    if not study.structure_found or not 0 <= study.knee < len(study.front):
        return ""
    knee, chosen = study.front[study.knee], study.model
    if math.isnan(knee.error):
        return ""
    where = f"{amount(knee.size, scope.unit)} ({words_of(knee)}, {percent(knee.error)})"
    which = f"The knee of the front, after which a {scope.unit} buys less,"
    if study.knee == study.chosen:
        return f"{which} is the chosen structure itself, with {where}."
    if knee.size > chosen.size:
        return (
            f"The knee of the front lies beyond the chosen structure, at "
            f"{amount(knee.size, scope.unit)}; that what lies between matters is not shown."
        )
    if study.knee == 0:
        return f"The knee of the front is the baseline: no {scope.unit} buys much for its size."
    return f"{which} is at {where}. {_rest(scope, knee, chosen)}"


def _rest(scope: Scope, knee: ModelFinding, chosen: ModelFinding) -> str:
    """Say what lies between the knee and the chosen structure."""
    more, unit = chosen.size - knee.size, scope.unit
    fall = knee.error - chosen.error
    if more <= 0 or math.isnan(fall):
        return f"The structure described here has {amount(chosen.size, unit)}."
    verb = "lowers" if more == 1 else "lower"
    further = f"The {amount(more, f'further {unit}')}"
    if round(fall, 3) <= 0:
        return f"{further} of the chosen structure {verb} it no further on these folds."
    return f"{further} of the chosen structure {verb} the error by {points(fall)} more."


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
            count_cell(model.size),
            Cell(words_of(model)),
            share_cell(model.error),
            share_cell(model.standard_error),
            share_cell(last - model.error),
            *(() if scope.numeric else (number_cell(model.log_loss, 3),)),
            number_cell(model.negative_log_evidence),
            Cell(_mark(scope, place)),
        )
        for place, (model, last) in enumerate(zip(study.front, before, strict=True))
    )
    return Table(
        anchor=scope.anchor("table-front"),
        caption="The front: the best structure of each size, from the baseline on.",
        headings=(
            Heading(opened(f"{scope.unit}s"), numeric=True, help=study.search.unit_help),
            Heading("Structure"),
            Heading("Error", numeric=True, help="Mean over the folds of the search."),
            Heading("SE", numeric=True, help="Standard error of that mean."),
            Heading("Fall", numeric=True, help="Error of the line above minus this one."),
            *_loss_heading(scope),
            Heading("NLML", numeric=True, help="Negative log marginal likelihood."),
            Heading("Mark"),
        ),
        rows=rows,
        emphasised=(0,),
        note=f"{count(study.search.n_candidates, study.search.noun)} "
        f"{'was' if study.search.n_candidates == 1 else 'were'} tried, "
        f"{study.search.n_cross_validated:,} of them cross-validated.",
    )


def _loss_heading(scope: Scope) -> tuple[Heading, ...]:
    if scope.numeric:
        return ()
    return (Heading("Log loss", numeric=True, help="For each row, mean over the same folds."),)


def _mark(scope: Scope, place: int) -> str:
    study = scope.study
    marks = ["knee"] * (place == study.knee and study.structure_found)
    marks += ["chosen"] * (place == study.chosen and study.structure_found)
    return ", ".join(marks) or DASH


def summary(scope: Scope) -> Section:
    """Return the executive summary."""
    return Section(
        scope.anchor("summary"),
        "Summary" if scope.several else "Executive summary",
        (
            key_figures(scope),
            *headline(scope),
            *described(scope),
            *_honesty(scope),
            paragraph(_road_map(scope)),
        ),
        (trade_off(scope), ranking(scope)),
    )


def honest_sentences(scope: Scope, honest: Honest) -> tuple[str, ...]:
    """Return the honest figures: the error beside what the search believed and the baseline."""
    if leads_with_balance(scope):
        return rare_sentences(scope, honest)
    return (
        f"On rows that it had never seen, the whole search {_erred(scope, honest.error)}.",
        _believed(scope, honest),
        f"{_baseline_words(scope)} {_erred_plainly(scope, honest.baseline_error.estimate)}.",
        gain_sentence(scope, honest),
    )


def gain_sentence(scope: Scope, honest: Honest) -> str:
    """Return how much is gained over the baseline, whether that is sure, and what claims it is for.

    A claim is about what moves the outcome, the gain about wrong answers; where only one of the two
    is sure, one sentence says both.
    """
    gain = honest.gain
    if gain.low == gain.high == 0:
        return "There is no gain over the baseline."
    start = f"the gain over the baseline is {points(gain.estimate)}"
    if round(gain.estimate, 3) <= 0:
        start = "there is no gain over the baseline"
        start += f": the error is {points(gain.estimate)} higher" if round(gain.estimate, 3) else ""
    # A difference of two shares cannot be greater than all of them.
    cut = replace(gain, low=max(-1.0, gain.low), high=min(1.0, gain.high))
    ends = percent_range(cut).removesuffix(f"{NARROW}%")
    start = f"{start}; the {sureness(gain)} of the gain, {ends},"
    if gain.low > 0:
        return opened(f"{start} does not include zero.{_owed(scope)}")
    if gain.high < 0:
        return opened(f"{start} is below zero throughout.")
    sure = claimed_columns(certain(scope.study.claims))
    if not sure:
        return opened(f"{start} includes zero, so that these rows do not prove a gain.")
    verb = "matters" if len(sure) == 1 else "matter"
    wrong = "a smaller error" if scope.numeric else "fewer wrong answers"
    return (
        f"The rows show beyond doubt that {named(sure)} {verb}, but do not prove that this gives "
        f"{wrong}: {start} includes zero.{_better_probabilities(scope, honest)}"
    )


def _owed(scope: Scope) -> str:
    """Say so where a gain is sure and what it is owed to is not, as of columns that are alike."""
    if certain(scope.study.claims):
        return ""
    sure = "is not certain" if scope.claimed else "is not shown"
    return f" Which column it is owed to {sure}."


def _better_probabilities(scope: Scope, honest: Honest) -> str:
    """Say whether the probabilities are better even so."""
    if scope.numeric or math.isnan(honest.log_loss + honest.baseline_log_loss):
        return ""
    losses = log_loss_words(honest)
    if better_log_loss(honest):
        return f" The probabilities are better all the same: {losses}."
    return f" Nor are better probabilities proved: {losses}."


def optimistic_sentences(scope: Scope) -> tuple[Sentence, ...]:
    """Return what must be said if no honest error was measured."""
    skipped = "outer folds" in scope.findings.run.skipped
    why = why_no_outer_folds(scope)
    found = scope.study.structure_found and not math.isnan(scope.study.model.error)
    only = (
        f"The only figure is the search's own {percent(scope.study.model.error)}." if found else ""
    )
    return (
        (Strong("No honest error was measured"), f", because {why}."),
        *((only, f"{_why_optimistic(scope)} it is optimistic: {_expect(scope)}.") if found else ()),
        ("Run it with ", Code("--outer 5"), " and without ", Code("--fast"), " to measure one.")
        if skipped
        else "",
    )


def _expect(scope: Scope) -> str:
    return "expect worse on new rows" if scope.numeric else "expect more errors on new rows"


def ranking(scope: Scope) -> Section:
    """Return the section that ranks the variables."""
    found = ranked(scope)
    blocks: tuple[Block, ...] = (paragraph("No variable could be judged alone."),)
    if found:
        blocks = (
            paragraph(
                (
                    Reference(scope.anchor("table-variables")),
                    " ranks the variables: first by the probability that they matter beside the "
                    "others, then by the error of the best model that sees no other variable.",
                ),
                _leaders(scope, found),
            ),
            variable_table(scope),
        )
    return Section(scope.anchor("ranking"), "The variables, ranked", blocks)


def _leaders(scope: Scope, found: tuple[VariableFinding, ...]) -> str:
    baseline = scope.study.baseline.error
    if math.isnan(baseline) or any(math.isnan(one.model.error) for one in found):
        return "Their errors were not all cross-validated."
    first = min(found, key=lambda one: one.model.error)
    n = sum(one.model.error < baseline for one in found)
    if not n:
        return "None of them has a lower error alone than the baseline."
    lower = "the only one below the baseline"
    if n > 1:
        lower = f"one of {spelled(n)} below the baseline"
    chance = "" if scope.claimed else ", which is no more than chance can bring about"
    return (
        f"Alone, {clean(first.variable.name)} has the least error with "
        f"{percent(first.model.error)}, {lower} ({percent(baseline)}){chance}."
    )


def _honesty(scope: Scope) -> tuple[Block, ...]:
    honest = scope.study.honest
    if honest is None:
        return (note("caution", *optimistic_sentences(scope)),)
    figures = honest_sentences(scope, honest)
    if not leads_with_balance(scope):
        return (paragraph(*figures, *_auc_sentence(scope, honest)),)
    half = len(figures) // 2
    return (
        paragraph(*figures[:half]),
        paragraph(*_auc_sentence(scope, honest), *figures[half:]),
    )


def _auc_sentence(scope: Scope, honest: Honest) -> tuple[str, ...]:
    if honest.auc is None:
        if math.isnan(honest.root_mean_square):
            return ()
        return (
            f"The predictions miss by {number(honest.root_mean_square)} (root mean square, in the "
            f"unit of {scope.target}).",
        )
    return (
        f"Of two new rows, one of {scope.positive} and one of {scope.negative}, the first gets the "
        f"higher probability of {scope.positive} in {percent(honest.auc.estimate)} of cases "
        f"(AUC {honest.auc.estimate:.3f}, {sureness(honest.auc)} {number_range(honest.auc)}).",
    )


def _erred(scope: Scope, error: Interval) -> str:
    said = _erred_plainly(scope, error.estimate)
    ends = percent_range(error) if scope.numeric else share_range(error)
    return f"{said} ({sureness(error)} {ends})"


def _erred_plainly(scope: Scope, error: float) -> str:
    if scope.numeric:
        return f"left {percent(error)} of the variance of {scope.target} unexplained"
    return f"misclassified {percent(error)}"


def _believed(scope: Scope, honest: Honest) -> str:
    error = scope.study.model.error
    if math.isnan(error) or not scope.study.structure_found:
        return ""
    reason = _why_optimistic(scope).lower()
    if round(error, 3) < round(honest.error.estimate, 3):
        return f"The search itself believed {percent(error)}; {reason} it is too good to be quoted."
    return (
        f"The search itself believed {percent(error)}; {reason} it is not to be quoted, even "
        "though it is not lower here."
    )


def _why_optimistic(scope: Scope) -> str:
    if scope.study.search.guide == "cv_error":
        return "That number guided the search, so"
    return "That number comes from the rows that the search chose with, so"


def _baseline_words(scope: Scope) -> str:
    if scope.numeric:
        return "The baseline, which predicts the mean for every row,"
    study = scope.study
    larger = scope.positive if study.n_positive > study.n_negative else scope.negative
    if larger == "the other classes":
        larger = "“other”"
    return f"The baseline, which calls every row {larger},"


def _road_map(scope: Scope) -> Sentence:
    study = scope.study
    parts: list[Sentence] = []
    if study.variables:
        parts.append(("a verdict on each variable (", Reference(scope.anchor("variables")), ")"))
    if study.structure_found and study.components:
        parts.append(("the parts of the structure (", Reference(scope.anchor("components")), ")"))
    parts.append(("how far to trust it (", Reference(scope.anchor("checking")), ")"))
    return ("The report goes on with ", *listed(*parts), ".")
