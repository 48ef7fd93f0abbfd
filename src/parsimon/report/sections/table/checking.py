"""How far to trust the model, and how to use it.

Trust has new rows, probabilities and parts of the table; using it has commands and thresholds.
"""

from collections.abc import Sequence
from typing import NamedTuple

from parsimon.evaluation.row_intervals import wilson
from parsimon.report.document import Block, Cell, Code, Heading, Section, Table
from parsimon.report.findings import Checks, Honest, Interval, OuterFold, Roc
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import Sentence, count_cell, note, number_cell, paragraph
from parsimon.report.sections.table.claims import about, certain, suggested
from parsimon.report.sections.table.honesty import (
    calibration_fault,
    gain_sentence,
    leads_with_balance,
    rare_sentences,
)
from parsimon.report.sections.table.scope import Scope, why_no_outer_folds
from parsimon.structures import Claim
from parsimon.structures.claims import is_found

_SOURCES = {
    "outer folds": "",
    "leave-one-out": "Each row was predicted from the others, but the model was chosen with all "
    "rows in view, which flatters it a little.",
    "training rows": "These checks rest on the rows that the model was fitted to, which flatters "
    "it.",
}
_NOMINAL = 0.95
# What is surely off by no more than this is off a little.
_LITTLE_SHARE = 0.03
_MOST_FAILURES = 3
_COSTS = (1.0, 5.0, 10.0)


class CalledRows(NamedTuple):
    """Rows that a threshold calls positive, rightly and wrongly, and those that it does not."""

    found: int
    missed: int
    false_alarms: int
    passed: int


def operating_point(roc: Roc, threshold: float) -> CalledRows:
    """Return the point of a curve that calls most rows among those from a threshold on."""
    reached = [k for k, least in enumerate(roc.thresholds) if least >= threshold]
    place = max(reached, default=0)
    found = round(roc.tpr[place] * roc.n_positive)
    alarms = round(roc.fpr[place] * roc.n_negative)
    return CalledRows(found, roc.n_positive - found, alarms, roc.n_negative - alarms)


def least_cost_threshold(miss_costs: float) -> float:
    """Return the threshold of least expected cost for calibrated probabilities.

    If a miss costs as much as `miss_costs` false alarms, calling a row positive is cheaper once
    p × miss_costs exceeds 1 - p.
    """
    return 1 / (1 + miss_costs)


def trust(scope: Scope) -> Section:
    """Return the section that says how far the model may be trusted."""
    blocks: list[Block] = []
    honest = scope.study.honest
    if honest is not None and not scope.uses_guessing:
        gain: tuple[str, ...] = ()
        if leads_with_balance(scope):
            gain = rare_sentences(scope, honest)
        elif honest.gain.low <= 0 or not certain(scope.study.claims):
            # The first screen leaves it open.
            gain = (gain_sentence(scope, honest),)
        if any(gain):
            blocks.append(paragraph(*gain))
    blocks += _checks(scope)
    said, failed = stability(scope)
    blocks.append(paragraph(*said))
    if failed:
        blocks.append(note("caution", *failed))
    return Section(scope.anchor("checking"), "How far to trust it", tuple(blocks))


def _checks(scope: Scope) -> tuple[Block, ...]:
    """Return the checks of predicted numbers, or of probabilities."""
    checks = scope.study.checks
    if scope.guesses:
        same = "number" if scope.numeric else "probability"
        constant = (
            f"The model is a constant: all rows get the same {same}, and there is nothing to check."
        )
        return (paragraph(constant),)
    if scope.numeric:
        said: tuple[str, ...] = (coverage_sentence(checks),)
        return (paragraph(*said), *scope.figures(checks.calibration_picture))
    said = (_SOURCES[checks.source],)
    if checks.calibration or checks.calibration_slope is not None:
        said += (calibration_sentence(scope),)
    return (paragraph(*said), *scope.figures(checks.calibration_picture, checks.roc_picture))


def calibration_sentence(scope: Scope) -> str:
    """Return whether probabilities can be taken at their word."""
    checks = scope.study.checks
    slope, sure = checks.calibration_slope, checks.slope_interval
    if slope is None:
        return "Too little varies here to judge the probabilities."
    fault = calibration_fault(checks)
    more = {
        "": "are not shown to be too bold or too timid",
        "bold": ": high ones are too high and low ones too low",
        "timid": ": high ones could be higher and low ones lower",
    }.get(fault.rpartition(" ")[2], "")
    start = "On rows never seen the" if checks.source == "outer folds" else "The"
    ends = ""
    if sure is not None:
        ends = f", {say.sureness(sure)} {say.decimal(sure.low, 2)} to {say.decimal(sure.high, 2)}"
    return (
        f"{start} probabilities {fault}{more} (calibration slope {say.decimal(slope, 2)}{ends}, "
        "where 1 is right)."
    )


def coverage_sentence(checks: Checks) -> str:
    """Return whether the intervals of predictions are as wide as they should be."""
    if checks.coverage is None:
        return "The coverage of the intervals was not measured."
    sure = checks.coverage_interval
    ends = "" if sure is None else f" ({say.sureness(sure)} of that share {say.share_range(sure)})"
    judged = f", which is in keeping with 95{say.NARROW}%"
    little = "a little " if abs(checks.coverage - _NOMINAL) <= _LITTLE_SHARE else ""
    if sure is not None and sure.high < _NOMINAL:
        judged = f": they are {little}too narrow"
    elif sure is not None and sure.low > _NOMINAL:
        judged = f": they are {little}wider than they need be"
    return (
        f"The 95{say.NARROW}% intervals of the predictions hold {say.percent(checks.coverage)} of "
        f"the rows{ends}{judged}."
    )


def stability(scope: Scope) -> tuple[tuple[Sentence, ...], tuple[Sentence, ...]]:
    """Return what came back on parts of the table, and what of them failed."""
    honest = scope.study.honest
    if honest is None:
        why = why_no_outer_folds(scope)
        return (f"Parts of the table were not looked at, because {why}.",), ()
    said: tuple[Sentence, ...] = (
        _introduction(scope, honest),
        *again_sentences(scope, shapes=False),
    )
    if scope.findings.recommended is None:
        said = (*said, _again(scope, honest))
    return said, _failures(honest)


def again_sentences(scope: Scope, *, shapes: bool = True) -> tuple[str, ...]:
    """Return on how many parts of the table what is claimed came back; nothing without parts."""
    honest, claims = scope.study.honest, scope.study.claims
    if honest is None:
        return ()
    groups = {
        "what is beyond doubt": [claim for claim in certain(claims) if claim.kind != "shape"],
        "the suggestions": [claim for claim in suggested(claims) if claim.kind != "shape"],
        "the shapes": [claim for claim in scope.claimed if shapes and claim.kind == "shape"],
    }
    counted = {what: _count_again(scope, honest, group) for what, group in groups.items()}
    return tuple(f"Of {what}, {said}." for what, said in counted.items() if said)


def _count_again(scope: Scope, honest: Honest, claims: Sequence[Claim]) -> str:
    """Return how often each of some claims came back, those of equal count together."""
    n = sum(fold.claims is not None for fold in honest.folds)
    groups: dict[int, list[str]] = {}
    for claim in claims:
        times = _times_again(scope, honest, claim)
        if times is not None:
            shape = claim.kind == "shape"
            groups.setdefault(times, []).append(
                f"that {say.clean(claim.words)}" if shape else about(claim)
            )
    said: list[str] = []
    for times, names in sorted(groups.items(), reverse=True):
        every = "both parts" if n == 2 else f"all {n} parts"
        parts = every if times == n else f"{times or 'none'} of {n} parts"
        said.append(f"{say.joined(names)}{'' if said else ' came back'} on {parts}")
    return say.joined(said)


def _times_again(scope: Scope, honest: Honest, claim: Claim) -> int | None:
    """Return on how many parts a claim came back; None if that is not known."""
    looked = [fold.claims for fold in honest.folds if fold.claims is not None]
    if any(looked):
        return sum(is_found(claim, found) for found in looked)
    if not looked or claim.kind != "variable":
        return None
    used = [set(map(scope.column, fold.variables)) for fold in honest.folds]
    return sum(claim.variables[0] in columns for columns in used)


def _introduction(scope: Scope, honest: Honest) -> str:
    if scope.uses_guessing:
        return ""
    again = f"Fitted again to {say.count(len(honest.folds), 'part')} of the table, it"
    if scope.numeric:
        shares = [max(0.0, 1 - _share_left(fold)) for fold in honest.folds]
        return f"{again} explained {_range(shares)} of the variance of the rest."
    return f"{again} was wrong in {_range([fold.error for fold in honest.folds])} of the rest."


def _share_left(fold: OuterFold) -> float:
    """Return the share of the variance of a fold's own rows that is left.

    The findings have squared errors as shares of the variance of all rows, so that folds add up.
    """
    return fold.error / (fold.baseline_error or 1.0)


def _range(shares: Sequence[float]) -> str:
    least, most = say.percent(min(shares)), say.percent(max(shares))
    return least if least == most else f"{least} to {most}"


def _again(scope: Scope, honest: Honest) -> str:
    """Say how often the structure of the whole table, or none as there, was found again."""
    n, words = len(honest.folds), say.clean(scope.study.model.words)
    same = sum(say.clean(fold.words) == words for fold in honest.folds)
    if scope.study.structure_found:
        if same == n:
            return "The same model was found on every part."
        if same == 0:
            return "The very model was found on no part: rely on what came back, not on its form."
        return f"The very model was found on {same} of {n} parts."
    if same == 0:
        return (
            "On every part the search did find something, although it found nothing in the whole "
            "table: trust neither."
        )
    parts = "every part" if same == n else f"{same} of {n} parts"
    return f"On {parts} the search found nothing either."


def _failures(honest: Honest) -> tuple[Sentence, ...]:
    missing = honest.n_planned - len(honest.folds)
    if missing <= 0 and not honest.failures:
        return ()
    planned, verb = say.count(honest.n_planned, "planned fold"), "is" if missing == 1 else "are"
    first = f"{missing} of {planned} {verb} missing from these figures."
    reasons = "; ".join(say.clean(why).rstrip(".") for why in honest.failures[:_MOST_FAILURES])
    return (first, f"The reasons given: {reasons}.") if honest.failures else (first,)


def how_to_use(scopes: tuple[Scope, ...]) -> Section:
    """Return the section about predicting new rows."""
    first = scopes[0]
    what = first.target if first.numeric else "the class and the probabilities"
    predict = "predict" if first.numeric else "predict_proba"
    commands = paragraph(
        (
            Code("parsimon predict MODEL.skops TABLE"),
            f" predicts {what} of new rows with the saved model and warns of values beyond those "
            "seen; ",
            Code("--explain"),
            " says why. In Python: ",
            Code(f'parsimon.statistician.load_model("MODEL.skops").{predict}(table)'),
            ".",
        )
    )
    blocks: tuple[Block, ...] = (commands,)
    if first.guesses:
        blocks = (note("caution", _constant(first)), commands)
    elif not first.numeric and len(scopes) == 1:
        blocks = (commands, *_thresholds(first))
    return Section("use", "How to use the model", blocks)


def _constant(scope: Scope) -> str:
    says = "the mean" if scope.numeric else "the shares of the classes"
    why = say.opened(f"{scope.rows_seen} do not show that any column predicts it")
    if scope.findings.claims or any(study.structure_found for study in scope.findings.studies):
        why = "No model is shown to predict better than guessing"
    return f"{why}, so that the saved model is a constant: for every row it predicts {says}."


def _thresholds(scope: Scope) -> tuple[Block, ...]:
    roc, share = scope.study.checks.roc, scope.share
    if roc is None:
        return ()
    costs, rare = list(_COSTS), ""
    if scope.rare:
        # A miss may then cost as many false alarms as there are rows for each of the rare class.
        costs = sorted({*_COSTS, float(f"{(1 - share) / max(share, 1e-9):.1g}")})
        rare = (
            f"With so uneven classes few rows get there or nearly all do; from "
            f"{say.percent(share)} on, the share of {scope.positive}, both classes weigh the same "
            f"(--threshold {share:.2g})."
        )
    said = paragraph(
        f"It calls a row {scope.positive} from a probability of one half on.",
        rare,
        f"If missing one row of {scope.positive} costs as much as several false alarms, call "
        f"rows {scope.positive} at a lower one.",
    )
    return said, _cost_table(scope, roc, costs)


def _cost_table(scope: Scope, roc: Roc, costs: Sequence[float]) -> Table:
    is_new = scope.study.checks.source == "outer folds"
    rows = []
    for cost in costs:
        threshold = least_cost_threshold(cost)
        point = operating_point(roc, threshold)
        alarms = f"{say.decimal(cost, 0 if cost > 1 else 1)} false alarms"
        rows.append(
            (
                Cell("1 false alarm" if cost == 1 else alarms, order=cost),
                number_cell(threshold),
                *_share_cells(point.found, roc.n_positive, is_new=is_new),
                count_cell(point.missed),
                count_cell(point.false_alarms),
                *_share_cells(point.false_alarms, roc.n_negative, is_new=is_new),
            )
        )
    caption = "What thresholds do"
    if is_new:
        positive = f"{say.count(roc.n_positive, 'row')} of {scope.positive}"
        caption += f" on new rows: {positive}, {roc.n_negative:,} of {scope.negative}"
    return Table(
        anchor=scope.anchor("table-costs"),
        caption=f"{caption}.",
        headings=(
            Heading("One miss costs", numeric=True),
            Heading("Threshold", numeric=True),
            *_share_headings("Share found", scope.positive, is_new=is_new),
            Heading("Missed", numeric=True),
            Heading("False alarms", numeric=True),
            *_share_headings("Their share", scope.negative, is_new=is_new),
        ),
        rows=tuple(rows),
    )


def _share_headings(title: str, whose: str, *, is_new: bool) -> tuple[Heading, ...]:
    share = Heading(title, numeric=True, help=f"Of the rows of {whose}.")
    interval = Heading(f"95{say.NARROW}% interval", help="Of that share, on new rows.")
    return (share, interval) if is_new else (share,)


def _share_cells(n: int, of: int, *, is_new: bool) -> tuple[Cell, ...]:
    """Return a share of the rows of a class and, of rows never seen, its interval (Wilson's)."""
    share = n / max(1, of)
    cell = Cell(say.percent(share), order=share)
    if not is_new:
        return (cell,)
    found = wilson(share, max(1, of), dependence=0.0)
    ends = Interval(estimate=share, low=found.low, high=found.high)
    return cell, Cell(say.share_range(ends), order=found.low)
