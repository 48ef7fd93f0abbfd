"""From one answered question to its study: all findings, with their figures.

`study_of` puts findings together; below it are the figures that any report shows (the table, the
front, checks) and the `Gallery` in which families hang their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parsimon._style import figure_style, new_axes
from parsimon._typing import Array
from parsimon.report.figures import (
    ClassRows,
    caption,
    data_figure,
    error_steps,
    label,
    parallel_coordinates,
    svg,
)
from parsimon.report.figures.calibration import CalibrationBins, draw_calibration
from parsimon.report.figures.numeric import predicted_observed
from parsimon.report.figures.search_figures import Step
from parsimon.report.findings import Checks, Honest, Picture, Roc, Study, Task, Variable
from parsimon.roc import AucInterval, RocDisplay
from parsimon.roc.curve import RocPoints
from parsimon.statistician.families import FamilyResult
from parsimon.statistician.measure import OutsidePredictions, check_findings, front_models

# A figure shows at most this many columns as axes.
MOST_COLUMNS = 3
_DATA_ROWS = 400
_DATA_COLUMNS = 8
_DATA_MARKS = 600


def data_picture(
    X: Any,
    y: Any,
    names: Sequence[str],
    class_names: Sequence[str],
    task: Task = "classification",
    *,
    name: str = "data",
) -> Picture:
    """Draw the table itself, in the way that fits its number of columns.

    Shapes: X (n, d), y (n,).
    """
    codes, classes, said = np.asarray(y), list(class_names), ""
    if task == "regression":
        middle = float(np.median(codes))
        codes = (codes > middle).astype(np.intp)
        classes = ["lower half", "upper half"]
        said = " Halves: rows up to the median of the target, and above."
    options: dict[str, Any] = {"names": list(names), "class_names": classes}
    points = ClassRows(np.asarray(X, dtype=np.float64), codes, **options, most_marks=_DATA_MARKS)
    if points.n_columns > MOST_COLUMNS:
        axes = parallel_coordinates(points, most_rows=_DATA_ROWS, most_columns=_DATA_COLUMNS)
        title = f"The rows of the table along {min(points.n_columns, _DATA_COLUMNS)} variables"
    else:
        axes = data_figure(points)
        title = f"The rows of the table by {listed([str(one) for one in names])}"
    return picture_of(name, axes, title, more=said)


def picture_of(name: str, axes: Any, title: str, *, more: str = "") -> Picture:
    """Return a drawing as a picture of the findings, and close its figure."""
    import matplotlib.pyplot as plt

    first = axes.flat[0] if hasattr(axes, "flat") else axes
    short = label(title, 160).replace(r"\$", "$")
    drawn = Picture(
        name=name,
        svg=svg(first.figure, salt=name, title=short),
        caption=caption(axes) + more,
        title=short,
    )
    plt.close(first.figure)
    return drawn


@dataclass(frozen=True, eq=False)
class Gallery:
    """The figures of one question, kept as they are drawn; `key` sets them apart from others."""

    key: str
    pictures: list[Picture] = field(default_factory=list)

    def hang(self, part: str, axes: Any, title: str, *, more: str = "") -> str:
        """Keep a drawing under the name of a part of the study; return its name."""
        name = f"{self.key}-{part}"
        self.pictures.append(picture_of(name, axes, title, more=more))
        return name


def draw_front(study: Study) -> Any:
    """Draw the error against size, with the knee and the chosen model."""
    steps = [
        Step(model.words, model.size, model.error, model.standard_error) for model in study.front
    ]
    unit = "share of rows" if study.task == "classification" else "share of the variance"
    return error_steps(steps, knee=study.knee, chosen=study.chosen, unit=unit)


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
    return draw_calibration(bins, interval="Wilson 95 %", positive=positive)


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
        f"Share of {label(positive, 40)} found against the share of false alarms, at every "
        f"threshold; {roc.n_positive:,} and {roc.n_negative:,} rows. Dashed: the convex hull, "
        "which thresholds chosen at random between two of them reach."
    )
    return ax


def listed(names: Sequence[str]) -> str:
    """Return names in a row."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def study_of(
    found: FamilyResult,
    variables: Sequence[Variable] = (),
    *,
    honest: Honest | None = None,
    outside: Array | None = None,
    fast: bool = False,
    y: Array | None = None,
) -> tuple[Study, tuple[Picture, ...]]:
    """Return everything found about a question, and the figures of it.

    outside (n,): Predictions by the outer folds that did not see the row, NaN where none did.
    y (n_used,): The outcome of all rows that are used, of which the question may hold a sample.
    """
    question = found.question
    y = question.y if y is None else y
    front, knee, chosen, front_variables = front_models(found)
    said = found.describe(variables, fast=fast)
    positive = 0 if question.is_number else int(np.sum(y == 1))
    study = Study(
        task=question.task,
        positive=question.positive,
        negative=question.negative,
        n_positive=positive,
        n_negative=0 if question.is_number else len(y) - positive,
        structure_found=found.structure_found,
        model=front[chosen],
        baseline=front[0],
        front=front,
        knee=knee,
        chosen=chosen,
        front_variables=front_variables,
        variables=said.variables,
        components=said.components,
        interactions=said.interactions,
        honest=honest,
        checks=check_findings(found, _outside(outside)),
        search=found.search_findings(),
    )
    return study_figures(found, study)


def study_figures(found: FamilyResult, study: Study) -> tuple[Study, tuple[Picture, ...]]:
    """Draw everything that a study shows."""
    gallery = Gallery(found.question.key)
    study = found.draw(study, gallery)
    study = replace(study, checks=_draw_checks(found, study.checks, gallery))
    if study.front:
        title = f"What each further {study.search.unit} buys"
        study = replace(study, front_picture=gallery.hang("front", draw_front(study), title))
    return study, tuple(gallery.pictures)


def _outside(predictions: Array | None) -> OutsidePredictions | None:
    if predictions is None or np.isnan(predictions).all():
        return None
    seen = ~np.isnan(predictions)
    return OutsidePredictions(np.where(seen, predictions, 0.5), seen)


def _draw_checks(found: FamilyResult, checks: Checks, gallery: Gallery) -> Checks:
    question = found.question
    if question.is_number:
        own = found.own_predictions()
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
