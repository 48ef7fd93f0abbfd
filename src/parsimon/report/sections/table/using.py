"""How to use the model: commands, thresholds, and where it has seen nothing."""

from parsimon.report.document import Block, Cell, Code, Heading, Reference, Section, Table
from parsimon.report.findings import Roc, Variable
from parsimon.report.sections._blocks import (
    Sentence,
    bullets,
    count_cell,
    note,
    number_cell,
    paragraph,
    share_cell,
)
from parsimon.report.sections._phrases import clean, decimal, joined, spelled
from parsimon.report.sections._scope import Scope
from parsimon.report.sections.table.checking import cheapest_threshold, operating_point

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
        "No structure was found, so that the saved model is a constant: for every row it predicts "
        f"{says}."
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
            (Reference(anchor), " shows what other thresholds do."),
        ),
        _cost_table(scope, roc, anchor),
    ]


def _cost_table(scope: Scope, roc: Roc, anchor: str) -> Table:
    rows = []
    for cost in _COSTS:
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
