"""The executive summary of a question: the structure, how good it is, and what matters."""

import math
from dataclasses import replace

from parsimon.report.document import (
    Block,
    Code,
    Reference,
    Section,
    Strong,
)
from parsimon.report.findings import Honest, Interval, VariableFinding
from parsimon.report.writing.blocks import Sentence, listed, note, paragraph
from parsimon.report.writing.key_figures import key_figures
from parsimon.report.writing.model_tables import ranked, variable_table
from parsimon.report.writing.phrases import (
    NARROW,
    clean,
    count,
    number,
    number_range,
    percent,
    percent_range,
    points,
    share_range,
    spelled,
    sureness,
)
from parsimon.report.writing.scope import Scope, why_no_outer_folds, words_of
from parsimon.report.writing.trade_off import trade_off


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
            f" The search tried {count(search.n_kernels, 'kernel')} on {scope.searched}, and none "
            f"predicts {scope.target} better than a constant by more than chance among so many "
            "trials explains.",
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
