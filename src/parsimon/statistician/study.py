"""What is said of one question: what a search over kernels found, and the model to use.

`study_of` puts together what a search found; `searched_model` and `fitted_model` say how far the
model to use may be trusted. Below are the figures that any report shows: the table, the front,
checks.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._style import figure_style, new_axes
from parsimon._typing import Array
from parsimon.report.figures import (
    ClassRows,
    data_figure,
    error_steps,
    label,
)
from parsimon.report.figures.calibration import CalibrationBins, draw_calibration
from parsimon.report.figures.numeric import predicted_observed
from parsimon.report.figures.search_figures import Step, words_by_column
from parsimon.report.findings import (
    Checks,
    ModelFinding,
    Picture,
    Roc,
    Study,
    Task,
    Variable,
)
from parsimon.report.findings.shared_findings import (
    RowExplanation,
)
from parsimon.roc import AucInterval, RocDisplay
from parsimon.roc.curve import RocPoints
from parsimon.statistician.explained_rows import draw_rows, explained_rows, taken_apart
from parsimon.statistician.families.family import OwnPredictions, Question
from parsimon.statistician.gallery import Gallery, picture_of
from parsimon.statistician.measure import (
    check_findings,
    front_models,
    outside_checks,
)
from parsimon.statistician.table_model import TableModel

if TYPE_CHECKING:
    from parsimon.statistician.families.gp._kernel_result import KernelResult

# A figure shows at most this many columns as axes.
MOST_COLUMNS = 3
_DATA_MARKS = 600


def data_picture(
    X: Any,
    y: Any,
    names: Sequence[str],
    class_names: Sequence[str],
    task: Task = "classification",
    *,
    name: str = "data",
) -> Picture | None:
    """Draw the table itself if it has up to three columns; None if it has more.

    Shapes: X (n, d), y (n,).
    """
    if not 1 <= len(names) <= MOST_COLUMNS:
        return None
    codes, classes, said = np.asarray(y), list(class_names), ""
    if task == "regression":
        middle = float(np.median(codes))
        codes = (codes > middle).astype(np.intp)
        classes = ["lower half", "upper half"]
        said = " Halves: rows up to the median of the target, and above."
    options: dict[str, Any] = {"names": list(names), "class_names": classes}
    points = ClassRows(np.asarray(X, dtype=np.float64), codes, **options, most_marks=_DATA_MARKS)
    title = f"The rows of the table by {list_names([str(one) for one in names])}"
    return picture_of(name, data_figure(points), title, more=said)


def draw_front(study: Study) -> Any:
    """Draw the error against size, with the knee and the chosen model."""
    columns = {one.variable.name: one.variable.column for one in study.variables}
    steps = [
        Step(
            words_by_column(
                model.words, {name: columns.get(name, name) for name in model.variables}
            ),
            model.size,
            model.error,
            model.standard_error,
        )
        for model in study.front
    ]
    numbers = study.task == "regression"
    unit = "share of the variance" if numbers else "share of rows"
    return error_steps(steps, knee=study.knee, chosen=study.chosen, unit=unit, explained=numbers)


def draw_bins(checks: Checks, positive: str) -> Any:
    """Draw observed shares against predictions, as the findings have them."""
    table = checks.calibration
    bins = CalibrationBins(
        np.array([one.predicted for one in table]),
        np.array([one.observed.estimate for one in table]),
        np.array([one.observed.low for one in table]),
        np.array([one.observed.high for one in table]),
        np.array([one.n_rows for one in table]),
    )
    return draw_calibration(bins, interval="95 %", positive=positive)


def draw_roc(roc: Roc, positive: str) -> Any:
    """Draw a curve of the findings with its hull and the interval of its area."""
    points = RocPoints(*(np.array(each) for each in (roc.fpr, roc.tpr, roc.thresholds)))
    area = roc.auc
    interval = AucInterval(
        area.estimate, area.low, area.high, float("nan"), area.confidence, "as found"
    )
    with figure_style():
        ax = new_axes(figsize=(5.2, 5.2))
    RocDisplay(points, interval=interval, pos_label=label(positive, 18)).plot(ax)
    ax.set_label(
        f"Share of {label(positive, 40)} found against false alarms, at every threshold (ROC "
        "curve)."
    )
    return ax


def list_names(names: Sequence[str]) -> str:
    """Return names in a row."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


# What stands for a model where none was searched for.
_CONSTANT = ModelFinding(
    expression="constant",
    symbols="constant",
    words="a constant",
    kind="constant",
    variables=(),
    size=0.0,
    error=math.nan,
    standard_error=math.nan,
    log_loss=math.nan,
    negative_log_evidence=math.nan,
    fold_negative_log_evidence=math.nan,
)


def bare_study(question: Question) -> Study:
    """Return the study of a question of which no kernels were searched."""
    positive = 0 if question.is_number else int(np.sum(question.y == 1))
    return Study(
        task=question.task,
        positive=question.positive,
        negative=question.negative,
        n_positive=positive,
        n_negative=0 if question.is_number else len(question.y) - positive,
        model=_CONSTANT,
        baseline=_CONSTANT,
    )


def study_of(
    found: "KernelResult",
    variables: Sequence[Variable],
    *,
    fast: bool = False,
    y: Array | None = None,
    time_limit: float | None = None,
) -> tuple[Study, tuple[Picture, ...]]:
    """Return everything that a search found about a question, and the figures of it.

    y (n_used,): The outcome of all rows that are used, of which the question may hold a sample.
    """
    question = found.question
    models = front_models(found)
    study = replace(
        bare_study(question if y is None else replace(question, y=y)),
        structure_found=found.structure_found,
        model=models.front[models.chosen],
        baseline=models.front[0],
        search=found.search_findings(),
        **models._asdict(),
        **found.describe(variables, fast=fast, time_limit=time_limit)._asdict(),
    )
    return study_figures(found, study)


def study_figures(found: "KernelResult", study: Study) -> tuple[Study, tuple[Picture, ...]]:
    """Draw everything that a study shows of a search."""
    question, gallery = found.question, Gallery(found.question.key)
    study = found.draw(study, gallery)
    if study.front and question.n_questions == 1:
        title = f"What each further {found.search_findings().unit} buys"
        study = replace(study, front_picture=gallery.hang("front", draw_front(study), title))
    return study, tuple(gallery.pictures)


def searched_model(
    found: "KernelResult", variables: Sequence[Variable], outside: Array | None
) -> tuple[Checks, tuple[RowExplanation, ...], tuple[Picture, ...]]:
    """Return how far to trust what a search found, and a few rows as it sees them.

    outside (n,): Predictions by the outer folds that did not see the row, NaN where none did.
    """
    question, gallery = found.question, Gallery(found.question.key)
    checks = check_findings(found, outside)
    checks = _draw_checks(question, found.own_predictions(), checks, gallery)
    explained = draw_rows(question, explained_rows(found, variables), gallery)
    return checks, explained, tuple(gallery.pictures)


def _draw_checks(
    question: Question, own: OwnPredictions, checks: Checks, gallery: Gallery
) -> Checks:
    if question.is_number:
        axes = predicted_observed(
            question.y,
            own.value,
            deviation=own.deviation,
            target=question.target,
            left_out=own.source == "leave-one-out",
        )
        title = f"Observed and predicted {question.target}"
        return replace(checks, calibration_picture=gallery.hang("calibration", axes, title))
    if checks.calibration:
        axes = draw_bins(checks, question.positive)
        name = gallery.hang("calibration", axes, "Observed shares against predictions")
        checks = replace(checks, calibration_picture=name)
    if checks.roc is not None:
        axes = draw_roc(checks.roc, question.positive)
        checks = replace(checks, roc_picture=gallery.hang("roc", axes, "ROC curve"))
    return checks


def fitted_model(
    model: TableModel, question: Question, outside: Array
) -> tuple[Checks, tuple[RowExplanation, ...], tuple[Picture, ...]]:
    """Return how far to trust a model, and a few rows as it sees them.

    outside (n,): Predictions of all rows by fits that did not see them.
    """
    known = ~np.isnan(outside)
    if not known.any():
        return Checks(source="outer folds"), (), ()
    question = question.at(np.flatnonzero(known))
    value = outside[known]
    deviation = np.zeros(len(value))
    if question.is_number:
        deviation = np.full(len(value), model.deviation or float(np.std(question.y - value)))
    own = OwnPredictions(value=value, deviation=deviation, source="leave-one-out")
    gallery = Gallery("recommended")
    checks = outside_checks(question, own, model.columns)
    checks = _draw_checks(question, own, checks, gallery)
    explained = draw_rows(question, taken_apart(model, question, own), gallery)
    return checks, explained, tuple(gallery.pictures)
