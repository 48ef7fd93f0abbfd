"""The executive summary: the structure, a few numbers to remember, and what size buys.

With more than two classes a page about all of them comes before each is asked for by itself.
"""

import math
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
from parsimon.report.findings import Honest, Interval, Joint, ModelFinding, VariableFinding
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
    number,
    number_range,
    opened,
    percent,
    percent_range,
    points,
    quoted,
    share_range,
    spelled,
    sureness,
)
from parsimon.report.sections._scope import Scope, why_no_outer_folds, words_of
from parsimon.report.sections.table.model_tables import ranked, variable_table


def key_figures(scope: Scope) -> KeyFigures:
    """Return the error, the baseline, the AUC or the typical miss, and the variables used."""
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
    detail = "by the best structure" if scope.study.structure_found else "no structure was found"
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
    steps = [
        f"{amount(one.size, scope.unit)} to {percent(one.error)}"
        for one in front
        if one.size and not math.isnan(one.error)
    ]
    if not steps:
        return f"{said} No structure that was cross-validated is better."
    return f"{said} The best of each size bring it down: {joined(_told_once(steps))}."


def _told_once(steps: list[str]) -> list[str]:
    """Return steps in order; those that say the same, as structures that tie do, as one."""
    return [
        step if (n := steps.count(step)) == 1 else f"{step} ({spelled(n)} structures tie)"
        for step in dict.fromkeys(steps)
    ]


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
        return f"{which} is the best structure itself, with {where}."
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
    return f"{further} of the best structure {verb} the error by {points(fall)} more."


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
            Heading("NLML", numeric=True, help="Negative log marginal likelihood."),
            Heading("Mark"),
        ),
        rows=rows,
        emphasised=(0,),
        note=f"{count(study.search.n_candidates, study.search.noun)} "
        f"{'was' if study.search.n_candidates == 1 else 'were'} tried, "
        f"{study.search.n_cross_validated:,} of them cross-validated.",
    )


def _mark(scope: Scope, place: int) -> str:
    study = scope.study
    marks = ["knee"] * (place == study.knee and study.structure_found)
    marks += ["best"] * (place == study.chosen and study.structure_found)
    return ", ".join(marks) or DASH


def summary(scope: Scope) -> Section:
    """Return the executive summary."""
    return Section(
        scope.anchor("summary"),
        "Summary" if scope.several else "Executive summary",
        (
            key_figures(scope),
            paragraph(*structure_sentences(scope)),
            *_honesty(scope),
            paragraph(_road_map(scope)),
        ),
        (trade_off(scope), ranking(scope)),
    )


def structure_sentences(scope: Scope) -> tuple[Sentence, ...]:
    """Return what was found, in words and as an expression."""
    study = scope.study
    if not study.structure_found:
        return _nothing_found(scope)
    aim = (
        f"predicting {scope.target}"
        if scope.numeric
        else f"telling {scope.positive} from {scope.negative}"
    )
    used = len(study.model.variables)
    return (
        (
            f"The best structure found for {aim} is ",
            Strong(words_of(study.model)),
            ", written ",
            Code(clean(study.model.expression)),
            ".",
        ),
        f"It uses {_share_of_variables(used, len(scope.findings.table.variables))}.",
    )


def _share_of_variables(used: int, n: int) -> str:
    if used == n:
        few = {1: "the only variable", 2: "both variables"}
        return few.get(n, f"all {spelled(n, 'variable')}")
    return f"{spelled(used)} of the {spelled(n, 'variable')}"


def _nothing_found(scope: Scope) -> tuple[Sentence, ...]:
    search = scope.study.search
    return (
        (
            Strong("No structure was found."),
            f" The search tried {count(search.n_candidates, search.noun)} on {scope.searched}, and "
            f"none predicts {scope.target} better than a constant by more than chance among so "
            "many trials explains.",
        ),
        "This does not prove that there is none.",
        (
            "More rows would help most; further variables, a deeper search (",
            Code("--depth"),
            ") or other base kernels (",
            Code("--base se,lin,per"),
            ") may help too.",
        ),
    )


def honest_sentences(scope: Scope, honest: Honest) -> tuple[str, ...]:
    """Return the honest error beside what the search believed and the baseline."""
    return (
        f"On rows that it had never seen, the whole search {_erred(scope, honest.error)}.",
        _believed(scope, honest),
        f"{_baseline_words(scope)} {_erred_plainly(scope, honest.baseline_error.estimate)}.",
        gain_sentence(honest),
    )


def gain_sentence(honest: Honest) -> str:
    """Return how much is gained over the baseline, and whether that is sure."""
    gain = honest.gain
    start = f"The gain over the baseline is {points(gain.estimate)}"
    if round(gain.estimate, 3) <= 0:
        start = "There is no gain over the baseline"
        start += f": the error is {points(gain.estimate)} higher" if round(gain.estimate, 3) else ""
    # A difference of two shares cannot be greater than all of them.
    cut = replace(gain, low=max(-1.0, gain.low), high=min(1.0, gain.high))
    ends = percent_range(cut).removesuffix(f"{NARROW}%")
    start = f"{start}; the {sureness(gain)} of the gain, {ends},"
    if gain.low > 0:
        return f"{start} does not include zero."
    if gain.high < 0:
        return f"{start} is below zero throughout."
    return f"{start} includes zero, so that these rows do not prove a gain."


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
    """Return the section that ranks the variables by what each says alone."""
    found = ranked(scope)
    blocks: tuple[Block, ...] = (paragraph("No variable could be judged alone."),)
    if found:
        blocks = (
            paragraph(
                (
                    Reference(scope.anchor("table-variables")),
                    " ranks the variables by the error of "
                    "the best model that sees no other variable.",
                ),
                _leaders(scope, found),
            ),
            variable_table(scope),
        )
    return Section(scope.anchor("ranking"), "The variables, ranked", blocks)


def _leaders(scope: Scope, found: tuple[VariableFinding, ...]) -> str:
    first, baseline = found[0], scope.study.baseline.error
    if math.isnan(first.model.error) or math.isnan(baseline):
        return "Their errors were not all cross-validated."
    n = sum(one.model.error < baseline for one in found)
    if not n:
        return "None of them has a lower error alone than the baseline."
    lower = "the only one that is below the baseline"
    if n > 1:
        lower = f"one of {spelled(n)} that are below the baseline"
    return (
        f"The variable {clean(first.variable.name)} comes first with {percent(first.model.error)}, "
        f"{lower} ({percent(baseline)})."
    )


def _honesty(scope: Scope) -> tuple[Block, ...]:
    honest = scope.study.honest
    if honest is None:
        return (note("caution", *optimistic_sentences(scope)),)
    return (paragraph(*honest_sentences(scope, honest), *_auc_sentence(scope, honest)),)


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
    if error < honest.error.estimate:
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
        parts.append(("each variable alone (", Reference(scope.anchor("variables")), ")"))
    if study.structure_found and study.components:
        parts.append(("the parts of the structure (", Reference(scope.anchor("components")), ")"))
    parts.append(("how far to trust it (", Reference(scope.anchor("checking")), ")"))
    return ("The report goes on with ", *listed(*parts), ".")


def all_classes(scopes: tuple[Scope, ...]) -> Section:
    """Return the section about all classes together."""
    joint = scopes[0].findings.joint
    blocks: list[Block] = []
    if joint is None:
        blocks.append(note("caution", *optimistic_sentences(scopes[0])[:1]))
    else:
        blocks += [_key_figures(scopes, joint), paragraph(*joint_sentences(joint))]
        blocks.append(_confusion(scopes[0], joint))
    blocks += [paragraph(_each(scopes)), _overview(scopes)]
    return Section("summary", "All classes together", tuple(blocks))


def joint_sentences(joint: Joint) -> tuple[str, ...]:
    """Return how often the most probable class is wrong."""
    rows, honesty = "On rows that were new to the searches", ""
    if joint.source == "leave-one-out":
        rows = "With each row left out in turn"
        honesty = "This is a little optimistic, since the structures were chosen with all rows."
    total = sum(map(sum, joint.confusion))
    wrong = total - sum(joint.confusion[k][k] for k in range(len(joint.classes)))
    return (
        f"{rows}, the most probable of {spelled(len(joint.classes), 'class', 'classes')} was wrong "
        f"in {percent(joint.error.estimate)} of cases ({sureness(joint.error)} "
        f"{share_range(joint.error)}).",
        honesty,
        f"Calling every row by the commonest class is wrong in "
        f"{percent(joint.baseline_error.estimate)}.",
        f"In all, {wrong:,} of {count(total, 'row')} got the wrong class.",
        _commonest_slip(joint),
    )


def _commonest_slip(joint: Joint) -> str:
    slips = [
        (joint.confusion[i][j], i, j)
        for i in range(len(joint.classes))
        for j in range(len(joint.classes))
        if i != j
    ]
    most, i, j = max(slips, key=lambda one: one[0], default=(0, 0, 0))
    if not most:
        return "No class was taken for another."
    times = "once" if most == 1 else f"{most:,} times"
    return (
        f"The commonest slip was to call {quoted(joint.classes[i])} {quoted(joint.classes[j])}, "
        f"{times}."
    )


def _key_figures(scopes: tuple[Scope, ...], joint: Joint) -> KeyFigures:
    where = "on rows never seen" if joint.source == "outer folds" else "leave-one-out"
    label = "honest error" if joint.source == "outer folds" else "optimistic error"
    return KeyFigures(
        (
            KeyFigure(percent(joint.error.estimate), label, f"{share_range(joint.error)}, {where}"),
            KeyFigure(percent(joint.baseline_error.estimate), "baseline", "the commonest class"),
            KeyFigure(str(len(joint.classes)), "classes", "each against all others"),
            KeyFigure(
                str(len({name for one in scopes for name in one.study.model.variables})),
                "variables used",
                "by the structures of all classes",
            ),
        )
    )


def _confusion(scope: Scope, joint: Joint) -> Table:
    return Table(
        anchor="table-joint",
        caption=f"Which class of {scope.target} was called which.",
        headings=(
            Heading("In the table"),
            *(Heading(f"Called {quoted(label)}", numeric=True) for label in joint.classes),
        ),
        rows=tuple(
            (Cell(clean(label)), *(count_cell(n) for n in row))
            for label, row in zip(joint.classes, joint.confusion, strict=True)
        ),
    )


def _each(scopes: tuple[Scope, ...]) -> tuple[str | Reference, ...]:
    return (
        f"The following {spelled(len(scopes), 'section')} ask for one class each against all "
        "others; ",
        Reference("table-classes"),
        " puts their answers side by side.",
    )


def _overview(scopes: tuple[Scope, ...]) -> Table:
    return Table(
        anchor="table-classes",
        caption="Each class against all others.",
        headings=(
            Heading("Class"),
            Heading("Rows", numeric=True),
            Heading("Honest error", numeric=True, help="On rows that the search never saw."),
            Heading("Baseline", numeric=True),
            Heading("Best structure"),
        ),
        rows=tuple(
            (
                Cell(clean(one.study.positive)),
                count_cell(one.study.n_positive),
                share_cell(
                    math.nan if one.study.honest is None else one.study.honest.error.estimate
                ),
                share_cell(
                    one.study.baseline.error
                    if one.study.honest is None
                    else one.study.honest.baseline_error.estimate
                ),
                Cell(words_of(one.study.model) if one.study.structure_found else "none found"),
            )
            for one in scopes
        ),
    )
