"""From one answered question to its study: all findings, with their figures.

`study_of` puts findings together; below it are the figures that any report shows (the table, the
front, checks) and the `Gallery` in which families hang their own. `explained_rows` takes a few rows
apart, `category_findings` says what was observed at the levels of categories, and
`recommended_findings` is about a model to use that is not the one of the studies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from parsimon._style import figure_style, new_axes
from parsimon._typing import Array, Indices, Mask
from parsimon.report.figures import (
    ClassRows,
    RowBar,
    caption,
    data_figure,
    error_steps,
    label,
    row_bars,
    svg,
)
from parsimon.report.figures.calibration import CalibrationBins, draw_calibration
from parsimon.report.figures.levels import LevelMeans, level_means
from parsimon.report.figures.numeric import predicted_observed
from parsimon.report.figures.search_figures import Step, words_by_column
from parsimon.report.findings import (
    Checks,
    Honest,
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
    RowExplanation,
    RowPart,
    RowRole,
)
from parsimon.roc import AucInterval, RocDisplay
from parsimon.roc.curve import RocPoints
from parsimon.roc.intervals import wilson_bounds
from parsimon.statistician.families import FamilyResult, OwnPredictions, Question, predicted
from parsimon.statistician.measure import (
    CONFIDENCE,
    OutsidePredictions,
    check_findings,
    front_models,
    outside_checks,
    surprise,
    written,
)
from parsimon.statistician.outer_folds import FoldResult
from parsimon.statistician.table_model import TableModel

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.statistician.fold_answers import FoldAnswers

# A figure shows at most this many columns as axes.
MOST_COLUMNS = 3
_DATA_MARKS = 600
_SURE = 1e-6


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
        explained=explained_rows(found, variables),
        categories=category_findings(found, variables),
    )
    return study_figures(found, study)


def study_figures(found: FamilyResult, study: Study) -> tuple[Study, tuple[Picture, ...]]:
    """Draw everything that a study shows."""
    gallery = Gallery(found.question.key)
    study = found.draw(study, gallery)
    own = found.own_predictions()
    study = replace(study, checks=_draw_checks(found.question, own, study.checks, gallery))
    study = replace(study, categories=_draw_categories(found.question, study.categories, gallery))
    study = replace(study, explained=_draw_rows(found.question, study.explained, gallery))
    if study.front and found.question.n_questions == 1:
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


def explained_rows(
    found: FamilyResult, variables: Sequence[Variable]
) -> tuple[RowExplanation, ...]:
    """Return the chosen rows, explained; none where the model is no sum of parts."""
    model: Any = found.model
    if not found.structure_found or not hasattr(model, "contributions"):
        return ()
    own, question = found.own_predictions(), found.question
    sources = {one.name: one.column for one in variables}
    places = dict(_chosen(question, own))
    rows = question.X.iloc[list(places)]
    shares, answers = model.contributions(rows), predicted(model, rows)
    return tuple(
        RowExplanation(
            row=int(question.rows[place]),
            role=role,
            label=_label(question, place),
            probability=float(answer),
            level=float(shares.level),
            parts=tuple(_parts(question, sources, shares.columns, values, place)),
        )
        for (place, role), answer, values in zip(
            places.items(), answers, shares.values, strict=True
        )
    )


def _chosen(question: Question, own: OwnPredictions) -> Iterator[tuple[int, RowRole]]:
    """Yield places of rows with what they are; a later role of the same row wins."""
    for role, places in _candidates(question, own):
        yield int(places[0]), role


def _candidates(question: Question, own: OwnPredictions) -> Iterator[tuple[RowRole, Indices]]:
    """Yield places of rows for each role, the most fitting first."""
    y, value, odd = question.y, own.value, surprise(question, own)
    if question.is_number:
        usual = np.flatnonzero(odd <= np.median(odd))
        yield "typical", _nearest(value, float(np.median(value)), usual)
        yield "highest", np.argsort(-value, kind="stable")
    else:
        border = min(0.5, float(np.mean(y)))
        right = np.flatnonzero((y == 1) & (value >= border))
        if len(right):
            yield "typical", _nearest(value, float(np.median(value[right])), right)
        yield "borderline", _nearest(value, border, np.arange(len(value)))
    yield "surprising", np.argsort(-odd, kind="stable")


def _nearest(values: Array, aim: float, among: Indices) -> Indices:
    """Return places among some by how near their value is to what is aimed at."""
    return among[np.argsort(np.abs(values[among] - aim), kind="stable")]


def _parts(
    question: Question,
    sources: dict[str, str],
    columns: Sequence[tuple[int, ...]],
    values: Array,
    place: int,
) -> Iterator[RowPart]:
    """Yield what the columns of the table contribute to a row, the most first."""
    sums: dict[tuple[str, ...], float] = {}
    for own, value in zip(columns, values.tolist(), strict=True):
        variables = [question.names[column] for column in own]
        key = tuple(dict.fromkeys(sources.get(name, name) for name in variables))
        sums[key] = sums.get(key, 0.0) + value
    for names, value in sorted(sums.items(), key=lambda one: -abs(one[1])):
        cells = tuple((name, _cell(question, name, place)) for name in names)
        yield RowPart(values=cells, contribution=value)


def _cell(question: Question, name: str, place: int) -> str:
    table = question.table if name in question.table.columns else question.X
    return written(table[name].iloc[place])


def _label(question: Question, place: int) -> str:
    if question.is_number:
        return written(question.y[place])
    return question.positive if question.y[place] == 1 else question.negative


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


# Of the rows that would suit a role so many are looked at.
_MOST_LOOKED_AT = 20
# A model that has seen a row may say otherwise of it than one that has not by this much: a share,
# or a part of the width of a number's interval, four standard deviations.
_STEADY = 0.1
_MOST_BARS = 6


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
                value = np.clip(own, _SURE, 1 - _SURE)
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
    explained = _taken_apart(model, question, own)
    made = replace(
        found,
        checks=_draw_checks(question, own, checks, gallery),
        explained=_draw_rows(question, explained, gallery),
    )
    return made, tuple(gallery.pictures)


def _taken_apart(
    model: TableModel, question: Question, own: OwnPredictions
) -> tuple[RowExplanation, ...]:
    """Explain rows of which the model says the same whether it has seen them or not."""
    places: dict[int, RowRole] = {}
    for role, order in _candidates(question, own):
        looked = order[:_MOST_LOOKED_AT]
        answers = _answers(model, question.table.iloc[looked])
        unit = 4 * own.deviation[looked] if question.is_number else 1.0
        reach = _STEADY * np.maximum(unit, np.finfo(np.float64).tiny)
        fits = np.abs(answers - own.value[looked]) <= reach
        if role == "borderline":
            fits &= np.abs(answers - min(0.5, float(np.mean(question.y)))) <= 2 * _STEADY
        places |= {int(place): role for place in looked[fits][:1]}
    if not places:
        return ()
    rows = question.table.iloc[list(places)]
    shares, answers = model.contributions(rows), _answers(model, rows)
    return tuple(
        RowExplanation(
            row=int(question.rows[place]),
            role=role,
            label=_label(question, place),
            probability=float(answer),
            level=float(shares.base[at]),
            parts=tuple(
                RowPart(values=((name, _cell(question, name, place)),), contribution=value)
                for name, value in sorted(
                    zip(shares.columns, shares.values[at].tolist(), strict=True),
                    key=lambda one: -abs(one[1]),
                )
            ),
            compared_with="typical",
        )
        for at, ((place, role), answer) in enumerate(zip(places.items(), answers, strict=True))
    )


def _answers(model: TableModel, rows: "pd.DataFrame") -> Array:
    """Return the probability of the second class, or the number, shape (m,)."""
    if not len(model.classes):
        return np.asarray(model.predict(rows), dtype=np.float64)
    second: Array = model.predict_proba(rows)[:, 1]
    return second


def _draw_rows(
    question: Question, found: Sequence[RowExplanation], gallery: Gallery
) -> tuple[RowExplanation, ...]:
    """Draw what speaks for and against in rows, where there is one question."""
    if question.n_questions > 1:
        return tuple(found)
    every = [_bars(question, one) for one in found]
    reach = max((abs(bar.value) for bars in every for bar in bars), default=1.0)
    ends = ("lowers", "raises") if question.is_number else ("against", "for")
    drawn = []
    for place, (one, bars) in enumerate(zip(found, every, strict=True)):
        axes = row_bars(bars, reach=reach, ends=ends)
        name = gallery.hang(f"row-{place + 1}", axes, f"What speaks in row {one.row}")
        drawn.append(replace(one, picture=name))
    return tuple(drawn)


def _bars(question: Question, found: RowExplanation) -> list[RowBar]:
    """Return the bars of a row: of a class, from where a row starts to what it has in all."""
    parts = found.parts if len(found.parts) <= _MOST_BARS else found.parts[: _MOST_BARS - 1]
    bars = [
        RowBar(", ".join(f"{name} = {cell}" for name, cell in part.values), part.contribution)
        for part in parts
    ]
    rest = found.parts[len(parts) :]
    if rest:
        bars.append(RowBar(f"{len(rest)} others", sum(part.contribution for part in rest)))
    if question.is_number:
        return bars
    total = found.level + sum(part.contribution for part in found.parts)
    start = RowBar(f"{found.compared_with} row", found.level, plain=True)
    return [start, *bars, RowBar("in all", total, plain=True)]
