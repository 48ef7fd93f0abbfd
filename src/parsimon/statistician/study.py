"""From one answered question to its study: all findings, with their figures.

`study_of` puts findings together; below it are the figures that any report shows (the table, the
front, checks). `category_findings` says what was observed at the levels of categories, and
`recommended_findings` is about a model to use that is not the one of the studies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from parsimon._style import figure_style, new_axes
from parsimon._typing import Array, Mask
from parsimon.evaluation.tempering import SURE
from parsimon.report.figures import (
    ClassRows,
    data_figure,
    error_steps,
    label,
)
from parsimon.report.figures.calibration import CalibrationBins, draw_calibration
from parsimon.report.figures.levels import LevelMeans, level_means
from parsimon.report.figures.numeric import predicted_observed
from parsimon.report.figures.search_figures import Step, words_by_column
from parsimon.report.findings import (
    Checks,
    Honest,
    ModelComparison,
    Picture,
    RecommendedModel,
    Roc,
    Study,
    Task,
    Variable,
)
from parsimon.report.row_findings import (
    CategoryFinding,
    Interval,
    LevelFinding,
)
from parsimon.roc import AucInterval, RocDisplay
from parsimon.roc.curve import RocPoints
from parsimon.roc.intervals import wilson_bounds
from parsimon.statistician.explained_rows import draw_rows, explained_rows, taken_apart
from parsimon.statistician.families import FamilyResult, OwnPredictions, Question
from parsimon.statistician.gallery import Gallery, picture_of
from parsimon.statistician.measure import (
    CONFIDENCE,
    OutsidePredictions,
    check_findings,
    front_models,
    outside_checks,
    written,
)
from parsimon.statistician.outer_folds import FoldResult
from parsimon.statistician.table_model import TableModel

if TYPE_CHECKING:
    from parsimon.statistician.fold_answers import FoldAnswers

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
    title = f"The rows of the table by {listed([str(one) for one in names])}"
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
    time_limit: float | None = None,
) -> tuple[Study, tuple[Picture, ...]]:
    """Return everything found about a question, and the figures of it.

    outside (n,): Predictions by the outer folds that did not see the row, NaN where none did.
    y (n_used,): The outcome of all rows that are used, of which the question may hold a sample.
    """
    question = found.question
    y = question.y if y is None else y
    front, knee, chosen, front_variables = front_models(found)
    said = found.describe(variables, fast=fast, time_limit=time_limit)
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
        explained=() if question.n_questions > 1 else explained_rows(found, variables),
        categories=category_findings(found, variables),
        left_out=said.left_out,
    )
    return study_figures(found, study)


def study_figures(found: FamilyResult, study: Study) -> tuple[Study, tuple[Picture, ...]]:
    """Draw everything that a study shows."""
    gallery = Gallery(found.question.key)
    study = found.draw(study, gallery)
    own = found.own_predictions()
    study = replace(study, checks=_draw_checks(found.question, own, study.checks, gallery))
    study = replace(study, categories=_draw_categories(found.question, study.categories, gallery))
    if found.question.n_questions > 1:
        return study, tuple(gallery.pictures)
    study = replace(study, explained=draw_rows(found.question, study.explained, gallery))
    if study.front:
        title = f"What each further {study.search.unit} buys"
        study = replace(study, front_picture=gallery.hang("front", draw_front(study), title))
    return study, tuple(gallery.pictures)


def _outside(predictions: Array | None) -> OutsidePredictions | None:
    if predictions is None or np.isnan(predictions).all():
        return None
    seen = ~np.isnan(predictions)
    return OutsidePredictions(np.where(seen, predictions, 0.5), seen)


def _draw_categories(
    question: Question, found: Sequence[CategoryFinding], gallery: Gallery
) -> tuple[CategoryFinding, ...]:
    """Draw what was observed at the levels of each category."""
    drawn = []
    for place, one in enumerate(found):
        values = [level.value for level in one.levels]
        axes = level_means(
            LevelMeans(
                [level.level for level in one.levels],
                [level.n_rows for level in one.levels],
                np.array([value.estimate for value in values]),
                np.array([value.low for value in values]),
                np.array([value.high for value in values]),
            ),
            column=one.column,
            outcome=question.target if question.is_number else question.positive,
            overall=float(np.mean(question.y)),
            is_share=not question.is_number,
        )
        name = gallery.hang(f"category-{place + 1}", axes, f"The levels of {one.column}")
        drawn.append(replace(one, picture=name))
    return tuple(drawn)


def _draw_checks(
    question: Question, own: OwnPredictions, checks: Checks, gallery: Gallery
) -> Checks:
    if question.n_questions > 1:
        return checks
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


def category_findings(
    found: FamilyResult, variables: Sequence[Variable]
) -> tuple[CategoryFinding, ...]:
    """Return the categories that the model uses, with what was observed at their levels."""
    used, question = set(found.chosen.variables), found.question
    groups: dict[str, list[str]] = {}
    for one in variables:
        if one.kind == "indicator" and one.name.startswith(f"{one.column} = "):
            groups.setdefault(one.column, []).append(one.name)
    return tuple(
        CategoryFinding(column=column, levels=tuple(_levels(question, column, names)))
        for column, names in groups.items()
        if used & set(names)
    )


def _levels(question: Question, column: str, names: Sequence[str]) -> Iterator[LevelFinding]:
    """Yield the levels that have a variable, then what is left as one."""
    rest = np.ones(len(question.y), dtype=bool)
    for name in names:
        own = question.X[name].to_numpy() == 1
        rest &= ~own
        yield _level(question, name.removeprefix(f"{column} = "), own)
    if rest.any():
        cells = question.table[column][rest].map(written).unique()
        yield _level(question, str(cells[0]) if len(cells) == 1 else "other", rest)


def _level(question: Question, level: str, rows: Mask) -> LevelFinding:
    y = np.asarray(question.y, dtype=np.float64)[rows]
    mean, n = float(y.mean()), len(y)
    if question.is_number:
        reach = float(ndtri((1 + CONFIDENCE) / 2) * y.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
        low, high = mean - reach, mean + reach
    else:
        low, high = (float(end[0]) for end in wilson_bounds(np.array([mean]), n, CONFIDENCE))
    value = Interval(estimate=mean, low=low, high=high, confidence=CONFIDENCE)
    return LevelFinding(level=level, n_rows=n, value=value)


def folds_as_told(
    questions: Sequence[Question],
    folds: Sequence[FoldResult],
    told: "Sequence[FoldAnswers]",
    name: str,
) -> list[FoldResult]:
    """Return what outer folds found of every question with the predictions of another model.

    A fast report has no folds of its search.
    """
    searched = {(one.fold, one.question): one for one in folds}
    several = len(questions) > 1
    found = []
    for fold, answers in enumerate(told):
        for place, question in enumerate(questions):
            value = answers.told[name].value
            if value.ndim > 1:
                own = value[:, place if several else 1]
                # As in the comparison, no model is taken to be surer than this.
                value = np.clip(own, SURE, 1 - SURE)
            train = np.setdiff1d(np.arange(len(question.y)), answers.test)
            bare = FoldResult(
                fold=fold,
                question=place,
                train=train,
                test=answers.test,
                prediction=value,
                baseline=float(np.mean(question.y[train])),
            )
            known = searched.get((fold, place), bare)
            found.append(replace(known, prediction=value, failure=""))
    return found


def folds_as_tempered(
    questions: Sequence[Question],
    folds: Sequence[FoldResult],
    told: "Sequence[FoldAnswers]",
    comparison: ModelComparison | None,
    name: str,
) -> list[FoldResult]:
    """Return the outer folds of a search as the comparison has them, if it was too sure."""
    models = () if comparison is None else comparison.models
    if any(one.name == name and one.slope < 1 for one in models):
        return folds_as_told(questions, folds, told, name)
    return list(folds)


def recommended_findings(
    found: RecommendedModel, model: TableModel, question: Question, outside: Array
) -> tuple[RecommendedModel, tuple[Picture, ...]]:
    """Add what can be said of a model's probabilities and rows where there is one question.

    outside (n,): Predictions of all rows by fits that did not see them.
    """
    known = ~np.isnan(outside)
    if question.n_questions > 1 or not known.any():
        return found, ()
    question = question.at(np.flatnonzero(known))
    value = outside[known]
    deviation = np.zeros(len(value))
    if question.is_number:
        deviation = np.full(len(value), model.deviation or float(np.std(question.y - value)))
    own = OwnPredictions(value=value, deviation=deviation, source="leave-one-out")
    gallery = Gallery("recommended")
    checks = outside_checks(question, own, found.columns)
    explained = taken_apart(model, question, own)
    made = replace(
        found,
        checks=_draw_checks(question, own, checks, gallery),
        explained=draw_rows(question, explained, gallery),
    )
    return made, tuple(gallery.pictures)
