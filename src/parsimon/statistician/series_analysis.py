"""From a table of series to a page: which few features tell the target, and how well."""

import math
import os
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.stats import spearmanr

from parsimon._checks import check_count, check_seconds
from parsimon._parallel import n_workers
from parsimon._typing import Array
from parsimon.evaluation.row_intervals import placement_shares
from parsimon.exceptions import InvalidInputError
from parsimon.features.series import (
    MethodTree,
    SeriesExtractor,
    SeriesTable,
    looked_at,
    seen_by,
    tree_words,
)
from parsimon.features.series.tree_words import seen_words
from parsimon.report import Readable
from parsimon.report.feature_findings import FeatureFront, FeatureSize
from parsimon.report.findings import ModelComparison, Picture
from parsimon.report.series_findings import SeriesFeature, SeriesFindings, SeriesTableFindings
from parsimon.statistician.analysis import run_findings
from parsimon.statistician.asked_table import ReadTable
from parsimon.statistician.comparison import compare_on_folds, compared
from parsimon.statistician.families import Question
from parsimon.statistician.families.contenders import GUESSING
from parsimon.statistician.families.series_contenders import (
    SEARCHED,
    SERIES,
    as_series,
    few_features,
    of_size,
    plain_methods,
    size_name,
)
from parsimon.statistician.feature_front import front_picture
from parsimon.statistician.fitted_series import SeriesTableModel
from parsimon.statistician.fold_answers import FoldAnswers, UnchangedTable
from parsimon.statistician.gallery import picture_of
from parsimon.statistician.prepare import read_outcome
from parsimon.statistician.prepare.frames import as_frame, clean_text
from parsimon.statistician.question import plan_folds
from parsimon.statistician.saving import save_model
from parsimon.statistician.series_tables import (
    SeriesColumns,
    TakenSeries,
    read_series,
    series_columns,
    target_of_series,
)
from parsimon.statistician.time_budget import TimeBudget

if TYPE_CHECKING:
    import pandas as pd

FEWEST_SERIES = 10
# Of a time limit, what is kept for figures and files.
_LAST_SECONDS, _LAST_SHARE = 3.0, 0.05
_FAST_FOLDS = 3
# Classes of which a figure shows an example.
_EXAMPLES = 4


@dataclass(frozen=True)
class SeriesAnalysis(Readable):
    """A fitted search for features of series, and the page about it.

    search: `SeriesExtractor`, fitted to all series.
    model: What was chosen, for tables as they are.
    table: The table that was read.
    """

    findings: SeriesFindings
    search: SeriesExtractor
    model: SeriesTableModel
    table: "pd.DataFrame"

    @cached_property
    def features(self) -> "pd.DataFrame":
        """The values of the chosen features, one row a series, after its name and target."""
        taken = read_series(self.table, self.model.columns)
        has_all = ~np.isin(taken.ids, taken.empty)
        kept = [one for one, whole in zip(taken.cells, has_all, strict=True) if whole]
        values = self.model.model.transform(SeriesTable(kept))
        target = target_of_series(self.table, self.findings.table.target, taken)[has_all]
        columns = self.model.columns
        found = {columns.id: np.array(taken.ids, dtype=object)[has_all]} if columns.id else {}
        found |= {self.findings.table.target: target.to_numpy()}
        words = [one.words for one in self.findings.features]
        return pd_frame(found | dict(zip(words, values.T, strict=True)))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the model for `parsimon predict`, and return its path."""
        save_model(self.model, path)
        return Path(path)

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the values of the chosen features, one row a series, and return the path."""
        place = Path(path)
        mark = "\t" if place.suffix.lower() in (".tsv", ".tab") else ","
        self.features.to_csv(place, sep=mark, index=False)
        return place


def pd_frame(columns: dict[str, Any]) -> "pd.DataFrame":
    """Return columns as a frame."""
    import pandas as pd

    return pd.DataFrame(columns)


def analyse_series(
    table: Any,
    target: str,
    *,
    id: str | None = None,
    time: str | None = None,
    value: str | Sequence[str] = (),
    positive: str | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    max_features: int = 5,
    choose: str = "one_se",
    outer: int | None = None,
    fast: bool = False,
    has_header: bool = True,
    name: str = "series",
    seed: int = 0,
    n_jobs: int | None = 1,
    time_limit: float | None = None,
    verbose: bool = False,
    command: str = "",
) -> SeriesAnalysis:
    """Find the few features of series that tell a target, and write about them.

    The whole search is repeated on outer folds, beside guessing, the nearest series (plain, and
    with warping), a linear model of all values and a dozen plain summaries, so that its error is
    honest.

    Parameters
    ----------
    table : DataFrame
        One row a measurement, with columns for series, time and values; or one row a series, all
        other columns being its values in order.
    target : str
        The column to tell: classes or a number, the same in all rows of a series.
    id : str, optional
        The column that tells series apart. It makes a table with repeated ids a long one.
    time : str, optional
        Numbers or dates. Measurements that are not evenly spaced are put on even steps, along
        straight lines. Without it rows are in order as they stand.
    value : str or sequence of str
        The measured columns of a long table; several are several channels.
    positive : str, optional
        The class to ask for, against the rest.
    task : {"auto", "classification", "regression"}
    max_features : int
        The most features.
    choose : str
        A rule of `SeriesExtractor`; "one_se" takes the fewest features within one standard error
        of the least error.
    outer : int, optional
        Outer folds; 0 for none. 5 if not given, 3 if `fast`.
    fast : bool
        A short search, fewer folds, no warping.
    has_header : bool
        Whether the file of the table has names of columns, which the model remembers.
    name : str
        What the table is called.
    seed : int
        Of every random choice.
    n_jobs : int, optional
        Workers; the result is the same.
    time_limit : float, optional
        Seconds for everything; what is found by then is told.
    verbose : bool
        Show progress.
    command : str
        Said on the page.

    Returns
    -------
    SeriesAnalysis

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame(rng.normal(size=(20, 12)), columns=[f"t{k}" for k in range(12)])
    >>> frame["kind"] = np.repeat(["flat", "high"], 10)
    >>> frame.iloc[10:, 3:9] += 3.0
    >>> found = analyse_series(frame, "kind", outer=0, fast=True)
    >>> found.findings.features[0].words
    'the ... of the series'
    """
    started = clock.perf_counter()
    outer = (_FAST_FOLDS if fast else 5) if outer is None else outer
    check_count("max_features", max_features)
    check_count("outer", outer, least=0)
    check_count("seed", seed, least=0)
    check_seconds("time_limit", time_limit)
    values = (value,) if isinstance(value, str) else tuple(value)
    given = _Given.of(as_frame(table), target, id, time, values, positive, task, has_header)
    question = given.asked.questions[0]
    folding, comparing, fitting = np.random.SeedSequence(seed).spawn(3)
    parts = plan_folds(question, outer, folding)
    budget = TimeBudget.keeping(time_limit, _LAST_SECONDS, _LAST_SHARE)
    # The table itself, and each fold, some of them at once.
    rounds = 1 + math.ceil(len(parts) / max(1, n_workers(n_jobs)))
    options: dict[str, Any] = {"max_features": max_features, "choose": choose}
    options |= {"max_iter": 1} if fast else {}
    limit = budget.left(0.7 / rounds)
    contender = few_features(time_limit=limit, **options)
    seen = UnchangedTable.of(question)
    whole = replace(contender, make=few_features(time_limit=limit, n_jobs=n_jobs, **options).make)
    search = whole.fit(seen.X, seen.values, question.task, fitting).search_
    others = plain_methods(fast=fast)
    comparison, _, answers = compare_on_folds(
        (others[0], contender, *others[1:]),
        {},
        given.asked,
        parts,
        comparing,
        n_jobs=n_jobs,
        time_limit=budget.left(),
        verbose=verbose,
        prepare=UnchangedTable.of,
    )
    run = run_findings(
        seed=seed,
        seconds=clock.perf_counter() - started,
        command=command,
        options=(
            ("outer", str(len(parts))),
            ("max-features", str(max_features)),
            ("choose", choose),
            ("seed", str(seed)),
        ),
        skipped=() if parts else ("outer folds",),
        cells=given.frame.to_csv(index=False),
        too_few_rows=bool(outer) and not parts,
    )
    front, sizes = _front(search, given, answers)
    features, pictures = _features(search, given)
    picture = front_picture(front)
    drawn = () if comparison is None else (_methods_picture(comparison),)
    if comparison is not None:
        comparison = replace(comparison, picture=drawn[0].name)
    findings = SeriesFindings(
        table=given.findings(name),
        features=features,
        front=replace(front, picture=picture.name),
        comparison=comparison,
        sizes=sizes,
        n_outer=len(parts),
        unit=_unit(question),
        choose=choose,
        stopped=limit is not None and search.seconds_ >= 0.8 * limit,
        run=run,
        pictures=(*pictures, picture, *drawn),
    )
    return SeriesAnalysis(findings, search, _model(search, given, comparison), given.frame)


@dataclass(frozen=True, eq=False)
class _Given:
    """A table of series as it was read."""

    frame: "pd.DataFrame"
    columns: SeriesColumns
    left_out: tuple[str, ...]
    taken: TakenSeries
    asked: ReadTable
    n_without_target: int
    n_empty: int

    @classmethod
    def of(
        cls,
        frame: "pd.DataFrame",
        target: str,
        id: str | None,
        time: str | None,
        value: Sequence[str],
        positive: str | None,
        task: Any,
        has_header: bool,
    ) -> "_Given":
        """Take the series and their targets; those without a value or a target are left out."""
        columns, left_out = series_columns(frame, target, id=id, time=time, value=value)
        columns = replace(columns, has_header=has_header)
        taken = read_series(frame, columns)
        targets = target_of_series(frame, target, taken)
        has_all = ~np.isin(taken.ids, taken.empty)
        known = has_all & targets.notna().to_numpy()
        n = int(known.sum())
        if n < FEWEST_SERIES:
            found = "There is 1 series" if n == 1 else f"There are {n} series"
            hint = "" if columns.is_long else _hint(columns)
            raise InvalidInputError(
                f"{found} with values and a target; at least {FEWEST_SERIES} are needed.{hint}"
            )
        kept = targets[known].reset_index(drop=True).to_frame(target)
        outcome = read_outcome(kept, target, positive=positive, task=task)
        cells = pd_frame({SERIES: [taken.cells[row] for row in np.flatnonzero(known)]})
        asked = ReadTable(frame=kept, columns=cells, target=clean_text(target), outcome=outcome)
        n_empty = int((~has_all).sum())
        return cls(frame, columns, left_out, taken, asked, len(known) - n - n_empty, n_empty)

    @cached_property
    def series(self) -> SeriesTable:
        """The series that are used."""
        return as_series(self.asked.questions[0].table)

    @property
    def is_number(self) -> bool:
        return self.asked.questions[0].is_number

    @cached_property
    def values(self) -> Array:
        """Codes of classes, or numbers."""
        return np.asarray(self.asked.questions[0].values, dtype=np.float64)

    @property
    def class_names(self) -> tuple[str, ...]:
        return () if self.is_number else self.asked.class_names

    def findings(self, name: str) -> SeriesTableFindings:
        """Return what a page says of the series."""
        counts = np.bincount(self.values.astype(int)) if not self.is_number else ()
        series, taken, columns = self.series, self.taken, self.columns
        rare = int((~self.asked.outcome.kept).sum())
        return SeriesTableFindings(
            name=name,
            target=self.asked.target,
            task=self.asked.outcome.task,
            n_series=series.n_series,
            channels=columns.channels,
            shortest=int(series.lengths.min()),
            longest=series.length,
            classes=tuple(zip(self.class_names, map(int, counts), strict=True)),
            is_long=columns.is_long,
            columns=() if columns.is_long else columns.values,
            id=columns.id,
            time=columns.time,
            left_out=self.left_out,
            n_filled=taken.n_filled,
            n_uneven=taken.n_uneven,
            n_without_id=taken.n_without_id,
            n_without_target=self.n_without_target,
            n_empty=self.n_empty,
            n_rare=rare,
        )


def _hint(columns: SeriesColumns) -> str:
    return (
        f" The table was read as one series a row, of {len(columns.values)} values; if a row is "
        "one measurement, name --id, --time and --value."
    )


def _unit(question: Question) -> float:
    return float(np.std(question.values)) if question.is_number else math.nan


def _model(
    search: SeriesExtractor, given: _Given, comparison: ModelComparison | None
) -> SeriesTableModel:
    deviation = None
    if given.is_number:
        share = 1.0
        if comparison is not None:
            share = next(
                (one.error.estimate for one in comparison.models if one.name == SEARCHED), 1.0
            )
        deviation = math.sqrt(share) * float(given.values.std())
    return SeriesTableModel(
        search.best_estimator_, given.columns, given.class_names, given.asked.target, deviation
    )


def _front(
    search: SeriesExtractor, given: _Given, answers: Sequence[FoldAnswers]
) -> tuple[FeatureFront, ModelComparison | None]:
    """Return the best features of each number, and their errors on the outer folds."""
    numbers = range(1, int(search.max_features) + 1)
    question = given.asked.questions[0]
    sizes = compared(answers, [GUESSING, *map(of_size, numbers)], question) if answers else None
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


def _best_of_each_number(search: SeriesExtractor) -> list[Any]:
    """Return the models of least error for each number of features, where more are better."""
    found: list[Any] = []
    for number in range(1, int(search.max_features) + 1):
        # Rules fall back on the smallest solution where nothing beats a constant.
        model = search.select(f"error where n_features<={number}")
        if not found or len(model.trees) > len(found[-1].trees):
            found.append(model)
    return found


def _feature_size(model: Any, given: _Given, new: float) -> FeatureSize:
    """Return a solution of the front; its error is of series left out, one by one."""
    spread, left_out, n = float(given.values.std()), model.inner.left_out, len(given.values)
    if given.is_number:
        error, wrong = spread * math.sqrt(model.inner.loss), 0.0
    else:
        truth = given.values.astype(int)
        same = len(left_out) == n
        called = np.asarray(model.classes, dtype=int)[left_out.argmax(axis=1)]
        error = float(np.mean(called != truth)) if same else float(model.inner.loss)
        wrong = math.sqrt(error * (1 - error) / n)
    return FeatureSize(
        size=len(model.trees),
        features=tuple(map(str, model.trees)),
        formula="",
        words="; ".join(tree_words(tree, given.columns.channels) for tree in model.trees),
        error=error,
        standard_error=wrong,
        outside=spread * math.sqrt(new) if given.is_number else new,
        cost=float(model.cost),
    )


def _features(
    search: SeriesExtractor, given: _Given
) -> tuple[tuple[SeriesFeature, ...], tuple[Picture, ...]]:
    """Return the chosen features, and a drawing of each on examples."""
    values = search.best_estimator_.transform(given.series)
    features, pictures = [], []
    for place, tree in enumerate(search.trees_):
        feature = _feature(tree, values[:, place], given)
        picture = _feature_picture(place, feature, tree, values[:, place], given)
        features.append(replace(feature, picture=picture.name))
        pictures.append(picture)
    return tuple(features), tuple(pictures)


def _feature(tree: MethodTree, values: Array, given: _Given) -> SeriesFeature:
    names, groups = _groups(given)
    if given.is_number:
        agreement = float(np.nan_to_num(spearmanr(values, given.values).statistic))
    else:
        ends = np.isin(groups, (0, len(names) - 1))
        shares = placement_shares(groups[ends] > 0, values[ends])
        agreement = float(shares[groups[ends] > 0].mean())
    begin, end = looked_at(tree, given.series.length)
    medians = [(name, float(np.median(values[groups == k]))) for k, name in enumerate(names)]
    return SeriesFeature(
        words=tree_words(tree, given.columns.channels),
        tree=str(tree),
        begin=begin,
        end=end,
        medians=tuple(medians),
        agreement=agreement,
    )


def _groups(given: _Given) -> tuple[tuple[str, ...], Any]:
    """Return what is told apart: classes, or series below and above the middle of a number."""
    if not given.is_number:
        return given.class_names, given.values.astype(int)
    target = given.asked.target
    above = (given.values > np.median(given.values)).astype(int)
    return (f"low {target}", f"high {target}"), above


def _feature_picture(
    place: int, feature: SeriesFeature, tree: MethodTree, values: Array, given: _Given
) -> Picture:
    """Draw a feature on an example of each group: the one whose value is most typical of it."""
    from parsimon.report.figures import SeriesExample, feature_of_series

    names, groups = _groups(given)
    rows = [
        int(np.flatnonzero(groups == k)[np.argmin(np.abs(values[groups == k] - median))])
        for k, (_, median) in enumerate(feature.medians[:_EXAMPLES])
    ]
    table = given.series.of(np.array(rows))
    seen = seen_by(tree, table) if _is_changed(tree) else None
    channel = int(tree.steps[0].options[0]) if tree.steps[0].name == "channel" else 0
    raw: dict[int, Array] = {}
    for own, cells, _ in table.signals[channel].blocks:
        raw |= {int(row): cell for row, cell in zip(own, cells, strict=True)}
    examples = [
        SeriesExample(
            name=names[k], values=raw[k], seen=None if seen is None else seen[k], number=values[row]
        )
        for k, row in enumerate(rows)
    ]
    axes = feature_of_series(
        examples,
        (feature.begin, feature.end),
        values,
        given.values if given.is_number else groups,
        names,
        target=given.asked.target if given.is_number else "",
        measured=given.columns.channels[channel] if given.columns.channels else "value",
        title=seen_words(tree) if seen is not None else "",
        frequencies=any(step.name in ("spectrum", "phase", "bands") for step in tree.steps),
    )
    return picture_of(f"series-feature-{place + 1}", axes, f"Feature {place + 1}: {feature.words}")


def _is_changed(tree: MethodTree) -> bool:
    """Tell whether a feature looks at something else than the values of a part of the series."""
    return any(step.name not in ("channel", "interval") for step in tree.steps[:-1])


def _methods_picture(comparison: ModelComparison) -> Picture:
    from parsimon.report.figures import error_of_methods

    return picture_of("methods", error_of_methods(comparison), "Errors of all methods")
