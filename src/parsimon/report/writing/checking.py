"""Model checking: which predictions are judged, calibration, ranking, and rows worth a look."""

import math

from parsimon.report.document import Cell, Heading, Reference, Section, Table
from parsimon.report.findings import Roc
from parsimon.report.writing.blocks import Sentence, count_cell, paragraph
from parsimon.report.writing.operating_points import OperatingPoint, operating_point
from parsimon.report.writing.phrases import (
    NARROW,
    count,
    decimal,
    number,
    number_range,
    percent,
    sureness,
)
from parsimon.report.writing.row_tables import rows_worth_a_look
from parsimon.report.writing.scope import Scope

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
    parts = (_calibration(scope), _ranking(scope), _numbers(scope), rows_worth_a_look(scope))
    source = _SOURCES[scope.study.checks.source]
    return Section(
        scope.anchor("checking"),
        "Model checking",
        (paragraph(source if any(parts) else "Nothing could be checked here."),),
        tuple(part for part in parts if part is not None),
    )


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
    point = operating_point(checks.roc, 0.5)
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
            paragraph(*_at_one_half(scope, point)),
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


def _at_one_half(scope: Scope, point: OperatingPoint) -> tuple[Sentence, ...]:
    n_positive, n_negative = point.found + point.missed, point.false_alarms + point.passed
    return (
        f"If rows are called {scope.positive} from a probability of {decimal(point.threshold, 2)} "
        f"on, {point.found:,} of {count(n_positive, 'such row')} are found "
        f"({percent(point.found / max(1, n_positive))}), and {point.false_alarms:,} of "
        f"{count(n_negative, 'other row')} are false alarms "
        f"({percent(point.false_alarms / max(1, n_negative))}).",
        (Reference(scope.anchor("table-confusion")), " has the counts."),
    )


def _confusion(scope: Scope, point: OperatingPoint) -> Table:
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
