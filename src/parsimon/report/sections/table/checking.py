"""How far to trust the model, and how to use it.

Model checking has calibration, ranking, what a threshold does, and rows worth a look; using it has
commands, thresholds, and where the model has seen nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from parsimon.report.document import Block, Cell, Code, Heading, Reference, Section, Table
from parsimon.report.findings import Roc, RowFinding, Variable
from parsimon.report.sections._blocks import (
    Sentence,
    bullets,
    count_cell,
    note,
    number_cell,
    paragraph,
    share_cell,
)
from parsimon.report.sections._phrases import (
    DASH,
    NARROW,
    clean,
    count,
    decimal,
    joined,
    number,
    number_range,
    percent,
    percent_cell,
    quoted,
    spelled,
    sureness,
)
from parsimon.report.sections._scope import Scope
from parsimon.report.sections.table.rare_class import usual_threshold

_MOST_VALUES = 6


def rows_worth_a_look(scope: Scope) -> Section | None:
    """Return the section about surprising and influential rows; None if there are none."""
    checks = scope.study.checks
    blocks: list[Block] = []
    if checks.surprising:
        blocks += [paragraph(*_surprising(scope, checks.surprising)), _surprise_table(scope)]
    if checks.influential:
        blocks += [paragraph(*_influential(scope, checks.influential)), _influence_table(scope)]
    if not blocks:
        return None
    return Section(scope.anchor("rows"), "Rows worth a look", tuple(blocks))


def _whose(scope: Scope) -> str:
    if scope.study.checks.source == "training rows":
        return "the model that was fitted to them"
    return "the final model with that row left out"


def _surprising(scope: Scope, rows: Sequence[RowFinding]) -> tuple[Sentence, ...]:
    first = rows[0]
    if scope.numeric:
        said = (
            f"The table has {clean(first.label)} in row {first.row:,}, where {_whose(scope)} "
            f"predicts {number(first.probability)}: {decimal(first.score, 1)} standard deviations "
            "off, the farthest of all rows."
        )
    else:
        said = (
            f"Row {first.row:,} is the most surprising: the table says {quoted(first.label)}, and "
            f"{_whose(scope)} gives {scope.positive} a probability of {percent(first.probability)}."
        )
    return (
        said,
        "Such rows may be slips of entry, or cases that the variables do not explain.",
        (
            Reference(scope.anchor("table-surprising")),
            f" lists {count(len(rows), 'row')}; rows are counted from 1, below the header."
            if len(rows) > 1
            else " has its values; rows are counted from 1, below the header.",
        ),
    )


def _influential(scope: Scope, rows: Sequence[RowFinding]) -> tuple[Sentence, ...]:
    which = "the row" if len(rows) == 1 else "the rows"
    without = "it" if len(rows) == 1 else "one of them"
    return (
        (
            f"The fit leans most on {which} in ",
            Reference(scope.anchor("table-influential")),
            f": without {without} the fitted function would change more than without any row that "
            "is not listed.",
        ),
        f"If {without} is wrong, mend it and run the report again.",
    )


def _surprise_table(scope: Scope) -> Table:
    score = Heading("Surprise", numeric=True, help="Bits: minus the log2 probability of the label.")
    if scope.numeric:
        score = Heading("Off by", numeric=True, help="Standard deviations of the prediction.")
    return _table(
        scope,
        "table-surprising",
        "The rows that the model expected least.",
        scope.study.checks.surprising,
        score,
    )


def _influence_table(scope: Scope) -> Table:
    return _table(
        scope,
        "table-influential",
        "The rows that the model leans on most.",
        scope.study.checks.influential,
        Heading(
            "Influence",
            numeric=True,
            help="Root mean square change of the fitted function if the row is taken out.",
        ),
    )


def _table(
    scope: Scope, anchor: str, caption: str, rows: Sequence[RowFinding], score: Heading
) -> Table:
    names = list(dict.fromkeys(name for row in rows for name, _ in row.values))
    shown = names[:_MOST_VALUES]
    predicted = Heading("Predicted", numeric=True)
    if not scope.numeric:
        predicted = Heading(
            "Probability", numeric=True, help=f"Of {scope.positive}, as the model sees it."
        )
    note = ""
    if len(names) > len(shown):
        note = f"{count(len(names) - len(shown), 'further variable')} of the model not shown."
    return Table(
        anchor=scope.anchor(anchor),
        caption=caption,
        headings=(
            Heading("Row", numeric=True),
            Heading(scope.target),
            predicted,
            score,
            *(Heading(clean(name)) for name in shown),
        ),
        rows=tuple(_row(scope, row, shown) for row in rows),
        note=note,
    )


def _row(scope: Scope, row: RowFinding, names: Sequence[str]) -> tuple[Cell, ...]:
    values = dict(row.values)
    predicted = number(row.probability) if scope.numeric else percent_cell(row.probability)
    return (
        Cell(str(row.row), order=float(row.row)),
        Cell(clean(row.label)),
        Cell(predicted, order=row.probability),
        number_cell(row.score),
        *(Cell(clean(values[name]) if name in values else DASH) for name in names),
    )


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
    """Return the point of a curve whose threshold is nearest."""
    place = min(range(len(roc.thresholds)), key=lambda k: abs(roc.thresholds[k] - threshold))
    found = round(roc.tpr[place] * roc.n_positive)
    alarms = round(roc.fpr[place] * roc.n_negative)
    return ThresholdChoice(
        threshold=roc.thresholds[place],
        found=found,
        missed=roc.n_positive - found,
        false_alarms=alarms,
        passed=roc.n_negative - alarms,
    )


def cheapest_threshold(miss_costs: float) -> float:
    """Return the threshold of least expected cost for calibrated probabilities.

    If a miss costs as much as `miss_costs` false alarms, calling a row positive is cheaper once
    p × miss_costs exceeds 1 - p.
    """
    return 1 / (1 + miss_costs)


_SOURCES = {
    "outer folds": "The numbers of this section rest on rows that were new: each was predicted by "
    "a search that had not seen it.",
    "leave-one-out": "The numbers of this section rest on leave-one-out: each row is predicted "
    "from the others, but the structure was chosen with that row in view. They flatter the model a "
    "little.",
    "training rows": "The numbers of this section rest on the rows that the model was fitted to, "
    "because a sparse model allows no better. They flatter the model.",
}
_NOMINAL = 0.95


def model_checking(scope: Scope) -> Section:
    """Return the section that says how far the model may be trusted."""
    if not scope.study.structure_found:
        return Section(scope.anchor("checking"), "Model checking", (paragraph(_nothing(scope)),))
    parts = (_calibration(scope), _ranking(scope), _numbers(scope), rows_worth_a_look(scope))
    source = _SOURCES[scope.study.checks.source]
    return Section(
        scope.anchor("checking"),
        "Model checking",
        (paragraph(source if any(parts) else "Nothing could be checked here."),),
        tuple(part for part in parts if part is not None),
    )


def _nothing(scope: Scope) -> str:
    same = "number" if scope.numeric else "probability"
    return f"The model is a constant: all rows get the same {same}, and there is nothing to check."


def calibration_sentences(scope: Scope) -> tuple[str, ...]:
    """Return whether probabilities can be taken at their word."""
    checks = scope.study.checks
    slope, intercept = checks.calibration_slope, checks.calibration_intercept
    if slope is None or intercept is None:
        return ("Too little varies here to fit a line of calibration.",)
    middle = 1 / (1 + math.exp(-intercept))
    return (
        f"{_slope_words(slope)} (calibration slope {decimal(slope, 2)}, where 1 is right).",
        f"Where the model says 50{NARROW}%, {scope.positive} occurs in {percent(middle)} of cases "
        f"(calibration intercept {decimal(intercept, 2)}, where 0 is right).",
    )


def _slope_words(slope: float) -> str:
    if slope <= 0:
        return "The probabilities point the wrong way"
    if slope < 0.9:
        return "The probabilities are too bold: high ones are too high and low ones too low"
    if slope > 1.1:
        return "The probabilities are too timid: high ones could be higher and low ones lower"
    return "The probabilities are neither too bold nor too timid"


def _calibration(scope: Scope) -> Section | None:
    checks = scope.study.checks
    if scope.numeric or (not checks.calibration and checks.calibration_slope is None):
        return None
    return Section(
        scope.anchor("calibration"),
        "Are the probabilities right?",
        (
            paragraph(
                *calibration_sentences(scope),
                _bins(scope),
                _brier(scope),
                scope.shown(
                    checks.calibration_picture, "compares what was predicted with what was seen"
                ),
            ),
            *scope.figures(checks.calibration_picture),
        ),
    )


def _bins(scope: Scope) -> str:
    bins = scope.study.checks.calibration
    if not bins:
        return ""
    inside = sum(one.observed.low <= one.predicted <= one.observed.high for one in bins)
    return (
        f"In {inside} of {count(len(bins), 'group')} of rows with alike predictions, the "
        f"{sureness(bins[0].observed)} of the observed share includes the prediction."
    )


def _brier(scope: Scope) -> str:
    brier, study = scope.study.checks.brier, scope.study
    if brier is None:
        return ""
    share = study.n_positive / max(1, study.n_positive + study.n_negative)
    return (
        f"The Brier score, the mean squared distance between probability and outcome, is "
        f"{decimal(brier, 3)}; predicting the share of {scope.positive} for every row would give "
        f"{decimal(share * (1 - share), 3)}."
    )


def _ranking(scope: Scope) -> Section | None:
    checks = scope.study.checks
    if checks.roc is None:
        return None
    point = operating_point(checks.roc, usual_threshold(scope))
    hull = ""
    if checks.hull:
        hull = "Points below the hull of the curve are never the best choice, whatever errors cost."
    return Section(
        scope.anchor("roc"),
        "Does it rank the rows well?",
        (
            paragraph(
                auc_sentence(scope, checks.roc),
                scope.shown(checks.roc_picture, "shows the ROC curve"),
                hull,
            ),
            *scope.figures(checks.roc_picture),
            paragraph(*_at_threshold(scope, point)),
            _confusion(scope, point),
        ),
    )


def auc_sentence(scope: Scope, roc: Roc) -> str:
    """Return the area under a curve, with what it means."""
    return (
        f"The area under the ROC curve is {roc.auc.estimate:.3f} ({sureness(roc.auc)} "
        f"{number_range(roc.auc)}): the chance that a row of {scope.positive} gets a "
        f"higher probability than a row of {scope.negative}. Guessing gives 0.5."
    )


def _at_threshold(scope: Scope, point: ThresholdChoice) -> tuple[Sentence, ...]:
    n_positive, n_negative = point.found + point.missed, point.false_alarms + point.passed
    called = point.found + point.false_alarms
    precision = ""
    if scope.rare and called:
        precision = (
            f"Of the {count(called, 'row')} that are called so, {percent(point.found / called)} "
            f"are {scope.positive} (precision)."
        )
    return (
        f"If rows are called {scope.positive} from a probability of {decimal(point.threshold, 2)} "
        f"on, {point.found:,} of {count(n_positive, 'such row')} are found "
        f"({percent(point.found / max(1, n_positive))}), and {point.false_alarms:,} of "
        f"{count(n_negative, 'other row')} are false alarms "
        f"({percent(point.false_alarms / max(1, n_negative))}).",
        precision,
        (Reference(scope.anchor("table-confusion")), " has the counts."),
    )


def _confusion(scope: Scope, point: ThresholdChoice) -> Table:
    other = "another class" if scope.negative == "the other classes" else scope.negative
    return Table(
        anchor=scope.anchor("table-confusion"),
        caption=f"Rows called {scope.positive} from a probability of "
        f"{decimal(point.threshold, 2)} on.",
        headings=(
            Heading("In the table"),
            Heading(f"Called {scope.positive}", numeric=True),
            Heading(f"Called {other}", numeric=True),
        ),
        rows=(
            (Cell(scope.positive), count_cell(point.found), count_cell(point.missed)),
            (Cell(other), count_cell(point.false_alarms), count_cell(point.passed)),
        ),
    )


def coverage_sentence(coverage: float) -> str:
    """Return whether the intervals of predictions are as wide as they should be."""
    judged = "about right"
    if coverage < _NOMINAL - 0.05:
        judged = "too narrow"
    elif coverage > _NOMINAL + 0.03:
        judged = "wider than they need be"
    return (
        f"The 95{NARROW}% intervals of the predictions hold {percent(coverage)} of the rows: they "
        f"are {judged}."
    )


def _numbers(scope: Scope) -> Section | None:
    """Return the checks of a predicted number."""
    checks, honest = scope.study.checks, scope.study.honest
    if not scope.numeric:
        return None
    miss = ""
    if honest is not None and not math.isnan(honest.root_mean_square):
        miss = (
            f"On new rows the predictions miss by {number(honest.root_mean_square)} (root mean "
            f"square of the residuals, in the unit of {scope.target})."
        )
    pictures = (checks.calibration_picture, checks.roc_picture)
    return Section(
        scope.anchor("residuals"),
        "Are the predictions as sure as they say?",
        (
            paragraph(
                coverage_sentence(checks.coverage)
                if checks.coverage is not None
                else "The coverage of the intervals was not measured.",
                miss,
                scope.shown(pictures[0], "compares what was predicted with what was seen"),
            ),
            *scope.figures(*dict.fromkeys(pictures)),
        ),
    )


_COSTS = (0.2, 1.0, 2.0, 5.0, 10.0)
_MOST_RANGES = 20


def how_to_use(scopes: tuple[Scope, ...]) -> Section:
    """Return the section about predicting new rows."""
    first = scopes[0]
    found = [one for one in scopes if one.study.structure_found]
    blocks: list[Block] = []
    if not found:
        blocks.append(note("caution", _constant(first)))
    blocks += [paragraph(*_commands(first)), bullets(*_lines(first))]
    if found and not first.numeric and len(scopes) == 1:
        blocks += _thresholds(first)
    if found:
        blocks += _ranges(found)
    return Section("use", "How to use the model", tuple(blocks))


def _constant(scope: Scope) -> str:
    says = "the mean" if scope.numeric else "the shares of the classes"
    return (
        "These rows do not show that any column predicts it, so that the saved model is a "
        f"constant: for every row it predicts {says}."
    )


def _commands(scope: Scope) -> tuple[Sentence, ...]:
    what = scope.target if scope.numeric else "the class and the probabilities"
    return (
        (
            "The fitted model is saved beside this report; below it is called ",
            Code("MODEL.skops"),
            ".",
        ),
        (
            Code("parsimon predict MODEL.skops TABLE"),
            f" predicts {what} for a table of new rows with the same columns.",
        ),
        "Empty cells, text and dates are treated as they were here.",
        "In Python:",
    )


def _lines(scope: Scope) -> tuple[Sentence, ...]:
    predict = "model.predict(table)" if scope.numeric else "model.predict_proba(table)"
    return (
        (Code("from parsimon.statistician import load_model"),),
        (Code('model = load_model("MODEL.skops")'),),
        (Code(predict),),
    )


def _thresholds(scope: Scope) -> list[Block]:
    roc = scope.study.checks.roc
    if roc is None:
        return []
    anchor = scope.anchor("table-costs")
    return [
        paragraph(
            f"By itself the model calls a row {scope.positive} from a probability of one half on, "
            "which is right if both kinds of error cost the same.",
            _rare_threshold(scope),
            f"If missing one row of {scope.positive} costs as much as c false alarms, call rows "
            f"{scope.positive} from 1/(1 + c) on.",
            (
                Reference(anchor),
                " shows what that does; it presumes that the probabilities are right (",
                Reference(scope.anchor("calibration")),
                ").",
            ),
        )
        if scope.study.checks.calibration or scope.study.checks.calibration_slope is not None
        else paragraph(
            f"By itself the model calls a row {scope.positive} from a probability of one half on.",
            _rare_threshold(scope),
            (Reference(anchor), " shows what other thresholds do."),
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
    even = float(f"{odds:.1g}")
    return sorted({*_COSTS, even})


def _cost_table(scope: Scope, roc: Roc, anchor: str) -> Table:
    rows = []
    for cost in _costs(scope):
        threshold = cheapest_threshold(cost)
        point = operating_point(roc, threshold)
        rows.append(
            (
                Cell(_ratio(cost), order=cost),
                number_cell(threshold),
                share_cell(point.found / max(1, roc.n_positive)),
                share_cell(point.false_alarms / max(1, roc.n_negative)),
                count_cell(point.missed),
                count_cell(point.false_alarms),
            )
        )
    return Table(
        anchor=anchor,
        caption="Thresholds for different costs of errors.",
        headings=(
            Heading("One miss costs", numeric=True),
            Heading("Threshold", numeric=True, help="Least probability to call positive."),
            Heading("Share found", numeric=True, help=f"Share of {scope.positive} rows called so."),
            Heading("Share alarmed", numeric=True, help="Share of the other rows called so."),
            Heading("Missed", numeric=True),
            Heading("False alarms", numeric=True),
        ),
        rows=tuple(rows),
        note="Shares and counts are those of the nearest point of the ROC curve.",
    )


def _ratio(cost: float) -> str:
    if cost == 1:
        return "1 false alarm"
    return f"{decimal(cost, 0 if cost > 1 else 1)} false alarms"


def _ranges(scopes: list[Scope]) -> list[Block]:
    """Say where the model has seen rows."""
    used = dict.fromkeys(name for one in scopes for name in one.study.model.variables)
    known = {one.name: one for one in scopes[0].findings.table.variables}
    variables = [known[name] for name in used if name in known]
    numbers = [one for one in variables if one.kind != "indicator"]
    if not numbers:
        return []
    said = [_range(scopes[0], one) for one in numbers[:_MOST_RANGES]]
    more = len(numbers) - len(said)
    rest = f", and {spelled(more, 'more variable')}" if more else ""
    return [
        paragraph(
            f"The model has seen {joined(said)}{rest}.",
            f"Beyond {'this range' if len(numbers) == 1 else 'these ranges'} it knows nothing, and "
            "its predictions there are guesses.",
        )
    ]


def _range(scope: Scope, one: Variable) -> str:
    return (
        f"{clean(one.name)} from {scope.value(one, one.minimum)} to {scope.value(one, one.maximum)}"
    )
