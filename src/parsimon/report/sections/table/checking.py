"""How far to trust the model, and how to use it.

Trust has new rows, probabilities and parts of the table; using it has commands and thresholds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from parsimon.evaluation.row_intervals import wilson
from parsimon.report.document import Block, Cell, Code, Heading, Section, Table
from parsimon.report.findings import Checks, Honest, Interval, OuterFold, Roc
from parsimon.report.sections._blocks import (
    Sentence,
    count_cell,
    note,
    number_cell,
    paragraph,
)
from parsimon.report.sections._phrases import (
    NARROW,
    clean,
    count,
    decimal,
    joined,
    opened,
    percent,
    share_range,
    sureness,
)
from parsimon.report.sections.table.claims import about, certain, suggested
from parsimon.report.sections.table.honesty import calibration_fault, gain_sentence
from parsimon.report.sections.table.rare_class import (
    leads_with_balance,
    rare_sentences,
)
from parsimon.report.sections.table.scope import Scope, why_no_outer_folds
from parsimon.structures import Claim
from parsimon.structures.claims import is_found


@dataclass(frozen=True, kw_only=True)
class ThresholdChoice:
    """What calling rows positive from a threshold on does.

    threshold: The least probability that is called positive.
    found, missed, false_alarms, passed: Rows: positive and called so, positive and not,
        negative and called positive, and not.
    """

    threshold: float
    found: int
    missed: int
    false_alarms: int
    passed: int


def operating_point(roc: Roc, threshold: float) -> ThresholdChoice:
    """Return the point of a curve that calls most rows among those from a threshold on."""
    reached = [k for k, least in enumerate(roc.thresholds) if least >= threshold]
    place = max(reached, default=0)
    found = round(roc.tpr[place] * roc.n_positive)
    alarms = round(roc.fpr[place] * roc.n_negative)
    return ThresholdChoice(
        threshold=threshold,
        found=found,
        missed=roc.n_positive - found,
        false_alarms=alarms,
        passed=roc.n_negative - alarms,
    )


def least_cost_threshold(miss_costs: float) -> float:
    """Return the threshold of least expected cost for calibrated probabilities.

    If a miss costs as much as `miss_costs` false alarms, calling a row positive is cheaper once
    p × miss_costs exceeds 1 - p.
    """
    return 1 / (1 + miss_costs)


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


def trust(scope: Scope) -> Section:
    """Return the section that says how far the model may be trusted."""
    blocks: list[Block] = []
    honest = scope.study.honest
    if honest is not None and not scope.uses_guessing:
        gain: tuple[str, ...] = (_doubtful_gain(scope, honest),)
        if leads_with_balance(scope):
            gain = rare_sentences(scope, honest)
        if any(gain):
            blocks.append(paragraph(*gain))
    if scope.guesses:
        same = "number" if scope.numeric else "probability"
        blocks.append(
            paragraph(
                f"The model is a constant: all rows get the same {same}, and there is nothing to "
                "check."
            )
        )
    elif scope.numeric:
        blocks += _numbers(scope)
    else:
        blocks += _probabilities(scope)
    said, failed = stability(scope)
    blocks.append(paragraph(*said))
    if failed:
        blocks.append(note("caution", *failed))
    return Section(scope.anchor("checking"), "How far to trust it", tuple(blocks))


def _doubtful_gain(scope: Scope, honest: Honest) -> str:
    """Return what is gained over guessing, where the first screen leaves that open."""
    if honest.gain.low > 0 and certain(scope.study.claims):
        return ""
    return gain_sentence(scope, honest)


def _probabilities(scope: Scope) -> list[Block]:
    checks = scope.study.checks
    said: list[Sentence] = [_SOURCES[checks.source]]
    if checks.calibration or checks.calibration_slope is not None:
        said += calibration_sentences(scope)
    return [paragraph(*said), *scope.figures(checks.calibration_picture, checks.roc_picture)]


def calibration_sentences(scope: Scope) -> tuple[str, ...]:
    """Return whether probabilities can be taken at their word."""
    checks = scope.study.checks
    slope = checks.calibration_slope
    if slope is None:
        return ("Too little varies here to judge the probabilities.",)
    words = f"The probabilities {_slope_words(checks)}"
    if checks.source == "outer folds":
        words = f"On rows never seen {words[0].lower()}{words[1:]}"
    sure = checks.slope_interval
    ends = ""
    if sure is not None:
        ends = f", {sureness(sure)} {decimal(sure.low, 2)} to {decimal(sure.high, 2)}"
    return (f"{words} (calibration slope {decimal(slope, 2)}{ends}, where 1 is right).",)


def _slope_words(checks: Checks) -> str:
    fault = calibration_fault(checks)
    if fault.endswith("bold"):
        return f"{fault}: high ones are too high and low ones too low"
    if fault.endswith("timid"):
        return f"{fault}: high ones could be higher and low ones lower"
    return fault or "are not shown to be too bold or too timid"


def coverage_sentence(checks: Checks) -> str:
    """Return whether the intervals of predictions are as wide as they should be."""
    if checks.coverage is None:
        return "The coverage of the intervals was not measured."
    sure = checks.coverage_interval
    ends = "" if sure is None else f" ({sureness(sure)} of that share {share_range(sure)})"
    judged = f"which is in keeping with 95{NARROW}%"
    little = "a little " if abs(checks.coverage - _NOMINAL) <= _LITTLE_SHARE else ""
    if sure is not None and sure.high < _NOMINAL:
        judged = f"they are {little}too narrow"
    elif sure is not None and sure.low > _NOMINAL:
        judged = f"they are {little}wider than they need be"
    return (
        f"The 95{NARROW}% intervals of the predictions hold {percent(checks.coverage)} of the "
        f"rows{ends}{',' if judged.startswith('which') else ':'} {judged}."
    )


def _numbers(scope: Scope) -> list[Block]:
    """Return the checks of a predicted number."""
    checks = scope.study.checks
    return [paragraph(coverage_sentence(checks)), *scope.figures(checks.calibration_picture)]


_MOST_FAILURES = 3
_MOST_NAMED = 8


def stability(scope: Scope) -> tuple[tuple[Sentence, ...], tuple[Sentence, ...]]:
    """Return what came back on parts of the table, and what of them failed."""
    honest = scope.study.honest
    if honest is None:
        return (
            (f"Parts of the table were not looked at, because {why_no_outer_folds(scope)}.",),
            (),
        )
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
    return tuple(
        f"{start} {_counted(scope, honest, found)}."
        for start, found in (
            ("Of what is beyond doubt,", [one for one in certain(claims) if one.kind != "shape"]),
            ("Of the suggestions,", [one for one in suggested(claims) if one.kind != "shape"]),
            ("Of the shapes,", [one for one in scope.claimed if shapes and one.kind == "shape"]),
        )
        if _counted(scope, honest, found)
    )


def _counted(scope: Scope, honest: Honest, claims: Sequence[Claim]) -> str:
    """Return how often each of some claims came back, those of equal count together."""
    n = sum(fold.claims is not None for fold in honest.folds)
    groups: dict[int, list[str]] = {}
    for claim in claims:
        times = _times_again(scope, honest, claim)
        if times is not None:
            groups.setdefault(times, []).append(_name(claim))
    counts = sorted(groups.items(), reverse=True)
    return joined(
        [
            f"{joined(names)}{'' if place else ' came back'} on {_parts(times, n)}"
            for place, (times, names) in enumerate(counts)
        ]
    )


def _name(claim: Claim) -> str:
    return f"that {clean(claim.words)}" if claim.kind == "shape" else about(claim)


def _times_again(scope: Scope, honest: Honest, claim: Claim) -> int | None:
    """Return on how many parts a claim came back; None if that is not known."""
    looked = [fold.claims for fold in honest.folds if fold.claims is not None]
    if any(looked):
        return sum(is_found(claim, found) for found in looked)
    if not looked:
        return None
    if claim.kind != "variable":
        return None
    return sum(claim.variables[0] in _columns(scope, fold) for fold in honest.folds)


def _columns(scope: Scope, fold: OuterFold) -> set[str]:
    return set(map(scope.column, fold.variables))


def _parts(times: int, n: int) -> str:
    if times == n:
        return f"{_all(n)} parts"
    return f"{times or 'none'} of {n} parts"


def _introduction(scope: Scope, honest: Honest) -> str:
    if scope.uses_guessing:
        return ""
    again = f"Fitted again to {count(len(honest.folds), 'part')} of the table, it"
    if scope.numeric:
        shares = [max(0.0, 1 - _left(fold)) for fold in honest.folds]
        return f"{again} explained {_ranged(shares)} of the variance of the rest."
    return f"{again} was wrong in {_ranged([fold.error for fold in honest.folds])} of the rest."


def _left(fold: OuterFold) -> float:
    """Return the share of the variance of a fold's own rows that is left.

    The findings have squared errors as shares of the variance of all rows, so that folds add up.
    """
    return fold.error / (fold.baseline_error or 1.0)


def _ranged(shares: Sequence[float]) -> str:
    least, most = percent(min(shares)), percent(max(shares))
    return least if least == most else f"{least} to {most}"


def _all(n: int) -> str:
    return "both" if n == 2 else f"all {n}"


def _again(scope: Scope, honest: Honest) -> str:
    """Say how often the structure of the whole table was found again."""
    n = len(honest.folds)
    words = clean(scope.study.model.words)
    same = sum(clean(fold.words) == words for fold in honest.folds)
    if not scope.study.structure_found:
        return _nothing_again(same, n)
    if same == n:
        return "The same model was found on every part."
    if same == 0:
        return "The very model was found on no part: rely on what came back, not on its form."
    return f"The very model was found on {same} of {n} parts."


def _nothing_again(same: int, n: int) -> str:
    """Say how often no structure was found again."""
    if same == n:
        return "On every part the search found nothing either."
    if same == 0:
        return (
            "On every part the search did find something, although it found nothing in the whole "
            "table: trust neither."
        )
    return f"On {same} of {n} parts the search found nothing either."


def _failures(honest: Honest) -> tuple[Sentence, ...]:
    missing = honest.n_planned - len(honest.folds)
    if missing <= 0 and not honest.failures:
        return ()
    verb = "is" if missing == 1 else "are"
    first = (
        f"{missing} of {count(honest.n_planned, 'planned fold')} {verb} missing from these figures."
    )
    shown = honest.failures[:_MOST_FAILURES]
    if not shown:
        return (first,)
    return (first, "The reasons given: " + "; ".join(clean(one).rstrip(".") for one in shown) + ".")


_COSTS = (1.0, 5.0, 10.0)


def how_to_use(scopes: tuple[Scope, ...]) -> Section:
    """Return the section about predicting new rows."""
    first = scopes[0]
    blocks: list[Block] = []
    if first.guesses:
        blocks.append(note("caution", _constant(first)))
    blocks.append(paragraph(*_commands(first)))
    if not first.guesses and not first.numeric and len(scopes) == 1:
        blocks += _thresholds(first)
    return Section("use", "How to use the model", tuple(blocks))


def _constant(scope: Scope) -> str:
    says = "the mean" if scope.numeric else "the shares of the classes"
    why = opened(f"{scope.rows_seen} do not show that any column predicts it")
    if scope.findings.claims or any(one.structure_found for one in scope.findings.studies):
        why = "No model is shown to predict better than guessing"
    return f"{why}, so that the saved model is a constant: for every row it predicts {says}."


def _commands(scope: Scope) -> tuple[Sentence, ...]:
    what = scope.target if scope.numeric else "the class and the probabilities"
    predict = "predict" if scope.numeric else "predict_proba"
    return (
        (
            Code("parsimon predict MODEL.skops TABLE"),
            f" predicts {what} of new rows with the saved model and warns of values beyond those "
            "seen; ",
            Code("--explain"),
            " says why. In Python: ",
            Code(f'parsimon.statistician.load_model("MODEL.skops").{predict}(table)'),
            ".",
        ),
    )


def _thresholds(scope: Scope) -> list[Block]:
    roc = scope.study.checks.roc
    if roc is None:
        return []
    anchor = scope.anchor("table-costs")
    return [
        paragraph(
            f"It calls a row {scope.positive} from a probability of one half on.",
            _rare_threshold(scope),
            f"If missing one row of {scope.positive} costs as much as several false alarms, call "
            f"rows {scope.positive} at a lower one.",
        ),
        _cost_table(scope, roc, anchor),
    ]


def _rare_threshold(scope: Scope) -> str:
    if not scope.rare:
        return ""
    option = f"--threshold {scope.share:.2g}"
    return (
        f"With so uneven classes few rows get there or nearly all do; from {percent(scope.share)} "
        f"on, the share of {scope.positive}, both classes weigh the same ({option})."
    )


def _costs(scope: Scope) -> list[float]:
    """Return how many false alarms a miss may cost; where a class is rare, as many as are rows."""
    if not scope.rare:
        return list(_COSTS)
    odds = (1 - scope.share) / max(scope.share, 1e-9)
    return sorted({*_COSTS, float(f"{odds:.1g}")})


def _cost_table(scope: Scope, roc: Roc, anchor: str) -> Table:
    rows = []
    for cost in _costs(scope):
        threshold = least_cost_threshold(cost)
        point = operating_point(roc, threshold)
        rows.append(
            (
                Cell(_ratio(cost), order=cost),
                number_cell(threshold),
                *_share_cells(scope, point.found, roc.n_positive),
                count_cell(point.missed),
                count_cell(point.false_alarms),
                *_share_cells(scope, point.false_alarms, roc.n_negative),
            )
        )
    return Table(
        anchor=anchor,
        caption=f"What thresholds do on new rows: {count(roc.n_positive, 'row')} of "
        f"{scope.positive}, {roc.n_negative:,} of {scope.negative}."
        if scope.study.checks.source == "outer folds"
        else "What thresholds do.",
        headings=(
            Heading("One miss costs", numeric=True),
            Heading("Threshold", numeric=True),
            *_share_headings(scope, "Share found", scope.positive),
            Heading("Missed", numeric=True),
            Heading("False alarms", numeric=True),
            *_share_headings(scope, "Their share", scope.negative),
        ),
        rows=tuple(rows),
    )


def _share_headings(scope: Scope, title: str, whose: str) -> tuple[Heading, ...]:
    share = Heading(title, numeric=True, help=f"Of the rows of {whose}.")
    if scope.study.checks.source != "outer folds":
        return (share,)
    return share, Heading(f"95{NARROW}% interval", help="Of that share, on new rows.")


def _share_cells(scope: Scope, n: int, of: int) -> tuple[Cell, ...]:
    """Return a share of the rows of a class and, of rows never seen, its interval (Wilson's)."""
    share = n / max(1, of)
    cell = Cell(percent(share), order=share)
    if scope.study.checks.source != "outer folds":
        return (cell,)
    found = wilson(share, max(1, of), dependence=0.0)
    ends = Interval(estimate=share, low=found.low, high=found.high)
    return cell, Cell(share_range(ends), order=found.low)


def _ratio(cost: float) -> str:
    if cost == 1:
        return "1 false alarm"
    return f"{decimal(cost, 0 if cost > 1 else 1)} false alarms"
