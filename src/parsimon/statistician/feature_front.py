"""Fronts of features as findings: which columns, formula or features of series, and drawings.

`report_formulas` is what a report says of formulas, if they answered beside the other models;
`series_front` and `draw_series` are what a page about series shows.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import AnyArray, Array
from parsimon.evaluation.row_intervals import placement_shares
from parsimon.features import in_words
from parsimon.report.findings import ModelComparison, Picture
from parsimon.report.findings.shared_findings import FeatureFront, FeatureSize
from parsimon.statistician.asked_table import ReadTable
from parsimon.statistician.comparison import compared
from parsimon.statistician.families.family import Question
from parsimon.statistician.families.feature_fronts import (
    FORMULA,
    formula_text,
    short_numbers,
)
from parsimon.statistician.finished_work import FinishedWork
from parsimon.statistician.folds import WHOLE_TABLE, FoldAnswers
from parsimon.statistician.gallery import picture_of
from parsimon.statistician.seen_tables import PreparedTable
from parsimon.statistician.table_model import TableModel, as_table_model

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.report.findings.series_findings import SeriesFeature
    from parsimon.statistician.series_tables import AskedSeries

# Formulas of a front that a page shows.
_SHOWN = 12
# Classes of which a figure shows an example.
_EXAMPLES = 4
_TITLES = {
    "columns": "What each column buys",
    "formulas": "What a longer formula buys",
    "series": "What each feature buys",
}


def column_front(search: Any, names: Sequence[str]) -> FeatureFront:
    """Return the front of a fitted `ParetoSelector`: the best columns of each number."""
    frame = search.to_frame()
    rows: dict[int, FeatureSize] = {}
    for place in range(len(frame)):
        row, columns = frame.iloc[place], [names[k] for k in search.front_.solution(place)]
        size = FeatureSize(
            size=len(columns),
            features=tuple(columns),
            formula="",
            words=", ".join(columns),
            error=float(row["error"]),
            standard_error=float(row["standard_error"]),
            outside=float(row.get("holdout_error", math.nan)),
            chosen=place == search.best_index_,
        )
        rows.setdefault(size.size, size)
    return FeatureFront(
        kind="columns",
        measure="error" if search.task_ == "classification" else "typical miss",
        sizes=tuple(rows[size] for size in sorted(rows)),
        guessing=search.constant_error_,
        exact=search.exact_,
        n_tried=search.n_evaluations_,
        n_rows=len(search.errors_.y),
        n_columns=len(names),
        breaks=tuple(search.rank_breaks_),
    )


def formula_front(
    search: Any, question: Question, classes: Sequence[str], most: int | None = None
) -> FeatureFront:
    """Return the front of a fitted `ParetoConstructor`: the best formula of each length.

    classes: Names of all classes, by their codes.
    most: Features of a formula that is shown.
    """
    frame = search.to_frame()
    fits = np.flatnonzero(frame["n_features"] <= (most or np.inf))
    kept = [place for place in _along(frame, fits) if place != search.best_index_]
    # The chosen one always; of many others those that buy most.
    while len(kept) >= _SHOWN:
        kept.remove(_least_gain(frame, kept))
    places = sorted([*kept, search.best_index_], key=lambda place: frame["complexity"].iloc[place])
    # All errors are shares of guessing's; that of an exact formula is no number to divide by.
    worst = frame.iloc[int(np.argmax(frame["relative_error"]))]
    is_classes = search.task_ == "classification"
    return FeatureFront(
        kind="formulas",
        measure="log loss" if is_classes else "typical miss",
        sizes=tuple(_formula_size(search, frame, place) for place in places),
        guessing=float(worst["holdout_error"] / worst["relative_error"]),
        exact=False,
        n_tried=search.n_evaluations_,
        n_rows=search.n_rows_,
        n_columns=search.n_features_in_,
        gives=_name_outcome(question, classes),
    )


def _name_outcome(question: Question, classes: Sequence[str]) -> str:
    """Return what a formula gives."""
    if question.is_number:
        return question.target
    if len(classes) == 2:
        return f"the log odds of {classes[1]}"
    return "the log odds of each class against the others"


def _along(frame: "pd.DataFrame", places: Any) -> list[int]:
    """Return the places of formulas of which no shorter one has as small an error."""
    found, least = [], math.inf
    values = frame[["complexity", "search_error"]].to_numpy(dtype=np.float64)
    for place in sorted(places.tolist(), key=lambda one: tuple(values[one])):
        if values[place, 1] < least:
            found.append(place)
            least = values[place, 1]
    return found


def _least_gain(frame: "pd.DataFrame", places: Sequence[int]) -> int:
    """Return the formula that is least better than the one before it; never an end."""
    error = frame["search_error"].to_numpy(dtype=np.float64)[list(places)]
    gains = np.log(error[:-1] / np.maximum(error[1:], 1e-300))[:-1]
    return places[1 + int(np.argmin(gains))]


def _formula_size(search: Any, frame: "pd.DataFrame", place: int) -> FeatureSize:
    row, model = frame.iloc[place], search.front_.solution(place)
    return FeatureSize(
        size=int(row["complexity"]),
        features=tuple(short_numbers(str(feature)) for feature in model.features),
        formula=formula_text(model),
        words="; ".join(map(in_words, model.features)),
        error=float(row["search_error"]),
        standard_error=math.nan,
        outside=float(row["holdout_error"]) if search.n_holdout_ else math.nan,
        unbounded=int(row["unbounded"]),
        chosen=place == search.best_index_,
    )


def report_formulas(
    asked: ReadTable,
    comparison: ModelComparison | None,
    kept: FinishedWork,
    seed: np.random.SeedSequence,
    recommended: TableModel | None = None,
    time_limit: float | None = None,
) -> tuple[FeatureFront | None, tuple[Picture, ...], dict[str, TableModel]]:
    """Search formulas of the whole table, if they answered on the outer folds, and draw them.

    And return by its name the model that is drawn, which is the one that predicts: `recommended`,
    which was fitted before, if formulas are. There are none if a search would outlast the limit.
    """
    rows = () if comparison is None else comparison.models
    row = next((one for one in rows if one.name == FORMULA.name), None)
    if row is None:
        return None, (), {}
    found: dict[tuple[int, ...], Any] = kept.read("formulas", [(0,)])
    if (0,) not in found:
        question = asked.questions[0]
        model = recommended if row.recommended else None
        if model is None and time_limit is not None and time_limit < WHOLE_TABLE * row.seconds:
            return None, (), {}
        if model is None:
            fitted = FORMULA.fit(PreparedTable.of(asked.questions), seed)
            model = as_table_model(fitted, classes=asked.class_names, row=row)
        X = model.numbers(question.table)
        found[0,] = (*draw_formulas(model.models[0], X, asked), {FORMULA.name: model})
        kept.write("formulas", (0,), found[0,])
    front, pictures, fitted = found[0,]
    return front, pictures, fitted


def draw_formulas(
    model: Any, X: "pd.DataFrame", asked: ReadTable, most: int | None = None
) -> tuple[FeatureFront, tuple[Picture, ...]]:
    """Return the front of a fitted search for formulas, its drawing and those of its features."""
    front = formula_front(model[-1], asked.questions[0], asked.class_names, most)
    picture = front_picture(front)
    values = np.asarray(model.transform(X), dtype=np.float64)
    features = feature_pictures(front, values, asked.questions[0], asked.class_names)
    drawings = tuple(one.name for one in features)
    return replace(front, picture=picture.name, drawings=drawings), (picture, *features)


def front_picture(front: FeatureFront) -> Picture:
    """Draw a front."""
    from parsimon.report.figures import feature_front

    return picture_of(f"front-of-{front.kind}", feature_front(front), _TITLES[front.kind])


def feature_pictures(
    front: FeatureFront, values: Array, question: Question, classes: Sequence[str]
) -> tuple[Picture, ...]:
    """Draw how the target follows each feature of the chosen formula; values (n, k)."""
    from parsimon.report.figures import feature_response

    y: AnyArray = np.asarray(question.values, dtype=np.float64)
    target = question.target
    if not front.chosen.features:
        return ()
    if not question.is_number:
        # Of several classes the one that the first feature tells best.
        codes = np.unique(y)
        known = len(classes) == len(codes)
        told = [abs(np.corrcoef(values[:, 0], y == code)[0, 1]) for code in codes]
        code = int(codes[-1] if len(codes) == 2 else codes[int(np.nanargmax(told))])
        y, target = (y == code).astype(np.float64), classes[code] if known else str(code)
    return tuple(
        picture_of(
            f"feature-{place + 1}",
            feature_response(values[:, place], y, name, target, share=not question.is_number),
            f"{target} by {name}",
        )
        for place, name in enumerate(front.chosen.features)
        if np.isfinite(values[:, place]).all()
    )


def series_front(
    search: Any, given: "AskedSeries", answers: Sequence[FoldAnswers]
) -> tuple[FeatureFront, ModelComparison | None]:
    """Return the best features of each number, and their errors on the outer folds."""
    from parsimon.statistician.families.plain import GUESSING
    from parsimon.statistician.families.series_families import of_size, size_name

    numbers = range(1, int(search.max_features) + 1)
    question = given.questions[0]
    given_sizes = [GUESSING, *map(of_size, numbers)]
    sizes = compared(answers, given_sizes, question, by_errors=True) if answers else None
    new = {} if sizes is None else {one.name: one.error.estimate for one in sizes.models}
    rows = {len(one.trees): one for one in _best_of_each_number(search)}
    rows[len(search.trees_)] = search.best_estimator_
    spread = float(given.values.std())
    guess = spread
    if not given.is_number:
        guess = 1.0 - float(np.bincount(given.values.astype(int)).max()) / len(given.values)
    front = FeatureFront(
        kind="series",
        measure="typical miss" if given.is_number else "error",
        sizes=tuple(
            replace(
                _feature_size(rows[size], given, new.get(size_name(size), math.nan)),
                chosen=rows[size] is search.best_estimator_,
            )
            for size in sorted(rows)
        ),
        guessing=guess,
        exact=False,
        n_tried=search.n_evaluations_,
        n_rows=len(given.values),
        n_columns=given.series.length,
    )
    return front, sizes


def _best_of_each_number(search: Any) -> list[Any]:
    """Return the models of least error for each number of features, where more are better."""
    from parsimon.statistician.families.series_families import place_with

    places = [place_with(search, number) for number in range(1, int(search.max_features) + 1)]
    return [search.select(place) for place in dict.fromkeys(places) if place != search.best_index_]


def _feature_size(model: Any, given: "AskedSeries", new: float) -> FeatureSize:
    """Return a solution of the front; its error is of series left out, one by one."""
    from parsimon.features.series import tree_words
    from parsimon.features.series.series_model import smooth_kernel

    spread, fit = float(given.values.std()), model.inner
    if given.is_number:
        error, wrong = spread * math.sqrt(fit.loss), 0.0
    else:
        # The targets of the rows that it was fitted to, from its weights.
        targets = smooth_kernel(model.Z, model.Z, fit.width) @ fit.weights + fit.noise * fit.weights
        error = float(np.mean(fit.left_out.argmax(axis=1) != targets.argmax(axis=1)))
        wrong = math.sqrt(error * (1 - error) / len(targets))
    return FeatureSize(
        size=len(model.trees),
        features=tuple(map(str, model.trees)),
        formula="",
        words="; ".join(tree_words(tree, given.places.channels) for tree in model.trees),
        error=error,
        standard_error=wrong,
        outside=spread * math.sqrt(new) if given.is_number else new,
        cost=float(model.cost),
    )


def draw_series(
    search: Any, given: "AskedSeries"
) -> tuple[tuple["SeriesFeature", ...], tuple[Picture, ...]]:
    """Return the chosen features, and a drawing of each on examples."""
    values = search.best_estimator_.transform(given.series)
    features, pictures = [], []
    for place, tree in enumerate(search.trees_):
        feature = _feature(tree, values[:, place], given)
        picture = _feature_picture(place, feature, tree, values[:, place], given)
        features.append(replace(feature, picture=picture.name))
        pictures.append(picture)
    return tuple(features), tuple(pictures)


def _feature(tree: Any, values: Array, given: "AskedSeries") -> "SeriesFeature":
    from scipy.stats import spearmanr

    from parsimon.features.series import looked_at, tree_words
    from parsimon.report.findings.series_findings import SeriesFeature

    names, groups = given.groups
    if given.is_number:
        agreement = float(np.nan_to_num(spearmanr(values, given.values).statistic))
    else:
        ends = np.isin(groups, (0, len(names) - 1))
        shares = placement_shares(groups[ends] > 0, values[ends])
        agreement = float(shares[groups[ends] > 0].mean())
    begin, end = looked_at(tree, given.series.length)
    medians = [(name, float(np.median(values[groups == k]))) for k, name in enumerate(names)]
    return SeriesFeature(
        words=tree_words(tree, given.places.channels),
        tree=str(tree),
        begin=begin,
        end=end,
        medians=tuple(medians),
        agreement=agreement,
    )


def _feature_picture(
    place: int, feature: "SeriesFeature", tree: Any, values: Array, given: "AskedSeries"
) -> Picture:
    """Draw a feature on an example of each group: the one whose value is most typical of it."""
    from parsimon.features.series import tree_stages
    from parsimon.features.series.tree_display import seen_words
    from parsimon.report.figures import SeriesExample, feature_of_series

    names, groups = given.groups
    rows = [
        int(np.flatnonzero(groups == k)[np.argmin(np.abs(values[groups == k] - median))])
        for k, (_, median) in enumerate(feature.medians[:_EXAMPLES])
    ]
    cells = given.questions[0].table.iloc[:, 0]
    stages = [tree_stages(tree, cells.iloc[row]) for row in rows]
    examples = [
        SeriesExample(name, each[0].values, each[-1].positions, each[-1].values)
        for name, each in zip(names, stages, strict=False)
    ]
    channel = int(tree.steps[0].options[0]) if tree.steps[0].name == "channel" else 0
    axes = feature_of_series(
        examples,
        (feature.begin, feature.end),
        values,
        given.values if given.is_number else groups,
        names,
        target=given.target if given.is_number else "",
        measured=given.places.channels[channel] if given.places.channels else "value",
        title=seen_words(tree, given.places.channels) if _is_changed(tree) else "",
        function=tree.steps[-1].name,
        axis=stages[0][-1].axis,
    )
    return picture_of(f"series-feature-{place + 1}", axes, f"Feature {place + 1}: {feature.words}")


def _is_changed(tree: Any) -> bool:
    """Tell whether a feature looks at something else than the values of a part of the series."""
    return any(step.name not in ("channel", "interval") for step in tree.steps[:-1])
