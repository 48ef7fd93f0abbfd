"""From a table of series to a page: which few features predict the target, and how well."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from parsimon._checks import check_count
from parsimon._parallel import n_workers
from parsimon._writing import whole_file
from parsimon.features.series import (
    SeriesExtractor,
    SeriesTable,
)
from parsimon.report import Readable
from parsimon.report.findings import ModelComparison, Picture
from parsimon.report.findings.series_findings import SeriesFindings
from parsimon.statistician._walk import Kind, Work, analyse_kind
from parsimon.statistician.families.series_families import (
    SEARCHED,
    few_features,
    plain_methods,
)
from parsimon.statistician.feature_front import draw_series, front_picture, series_front
from parsimon.statistician.fitted_series import SeriesTableModel
from parsimon.statistician.folds import FoldAnswers, plan_folds
from parsimon.statistician.gallery import picture_of
from parsimon.statistician.seen_tables import UnchangedTable
from parsimon.statistician.series_tables import (
    AskedSeries,
    ask_series,
    read_series,
    target_of_series,
)

if TYPE_CHECKING:
    import pandas as pd

# How much longer a fold takes than the search that is made again in it.
_AGAIN = 1.2
# Of its own time limit, what a search takes for breeding.
_SEARCHING = 0.8


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
        import pandas as pd

        taken = read_series(self.table, self.model.columns)
        has_all = ~np.isin(taken.ids, taken.empty)
        kept = [one for one, whole in zip(taken.cells, has_all, strict=True) if whole]
        values = self.model.model.transform(SeriesTable(kept))
        target = target_of_series(self.table, self.findings.table.target, taken)[has_all]
        columns = self.model.columns
        found = {columns.id: np.array(taken.ids, dtype=object)[has_all]} if columns.id else {}
        found |= {self.findings.table.target: target.to_numpy()}
        words = [one.words for one in self.findings.features]
        return pd.DataFrame(found | dict(zip(words, values.T, strict=True)))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the model for `parsimon predict`, and return its path."""
        from parsimon.statistician.saving import save_model

        save_model(self.model, path)
        return Path(path)

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the values of the chosen features, one row a series, and return the path."""
        place = Path(path)
        mark = "\t" if place.suffix.lower() in (".tsv", ".tab") else ","
        with whole_file(place) as file:
            self.features.to_csv(file, sep=mark, index=False)
        return place


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
    checkpoint: str | os.PathLike[str] | None = None,
) -> SeriesAnalysis:
    """Find the few features of series that predict a target, and write about them.

    The whole search is repeated on outer folds, beside guessing, the nearest series (plain, and
    with warping), a linear model of all values and a dozen plain summaries, so that its error is
    honest.

    Parameters
    ----------
    table : DataFrame
        One row a measurement, with columns for series, time and values; or one row a series, all
        other columns being its values in order.
    target : str
        The column to predict: classes or a number, the same in all rows of a series.
    id : str, optional
        The column that names series. It makes a table with repeated ids a long one.
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
    checkpoint : str or Path, optional
        A folder of your own that keeps what is finished, as in `analyse`.

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
    'the ...'
    """
    kind = SeriesKind(
        target=target,
        id=id,
        time=time,
        value=(value,) if isinstance(value, str) else tuple(value),
        positive=positive,
        task=task,
        max_features=max_features,
        choose=choose,
        outer=outer,
        fast=fast,
        has_header=has_header,
        name=name,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        verbose=verbose,
        command=command,
        checkpoint=checkpoint,
    )
    return analyse_kind(kind, table)


class _SeriesSearch(NamedTuple):
    """The search of all series, and the time that it had."""

    search: SeriesExtractor
    limit: float | None

    @property
    def is_stopped(self) -> bool:
        """Whether its time limit ended it."""
        return self.limit is not None and self.search.seconds_ >= _SEARCHING * self.limit


class _Compared(NamedTuple):
    """What everyone said on the outer folds that there was time for."""

    comparison: ModelComparison | None
    answers: Sequence[FoldAnswers]
    n_outer: int


@dataclass(frozen=True, kw_only=True)
class SeriesKind(Kind):
    """Series, of which a search for a few features answers beside plain methods."""

    id: str | None = None
    time: str | None = None
    value: tuple[str, ...] = ()
    max_features: int = 5
    choose: str = "one_se"
    has_header: bool = True

    last_steps = (5.0, 0.15)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("max_features", self.max_features)

    def read(self, frame: "pd.DataFrame") -> AskedSeries:
        return ask_series(
            frame,
            self.target,
            id=self.id,
            time=self.time,
            value=self.value,
            positive=self.positive,
            task=self.task,
            has_header=self.has_header,
        )

    def search(self, work: Work) -> _SeriesSearch:
        limit = work.search_limit()
        seen = UnchangedTable.of(work.asked.questions)
        whole = few_features(time_limit=limit, n_jobs=self.n_jobs, **self._options)
        task, seed = work.asked.questions[0].task, work.seeds["fitting"]
        found = work.kept.once(
            "search", lambda: whole.learn(seen.X, seen.values, task, seed).search_
        )
        return _SeriesSearch(found, limit)

    def compare(self, work: Work, found: _SeriesSearch) -> _Compared:
        """Search again in as many folds as there is time for, beside plain methods."""
        parts, folding = work.parts, work.seeds["folding"]
        affordable = _affordable_folds(
            found.search.seconds_, work.budget.left(), len(parts), n_workers(self.n_jobs)
        )
        if affordable < len(parts):
            question = work.asked.questions[0]
            parts = plan_folds(question, affordable, folding) if affordable > 1 else []
        guessing, *others = plain_methods(fast=self.fast)
        # Guessing and the features first: they answer even if time is short.
        families = (guessing, few_features(time_limit=found.limit, **self._options), *others)
        compared = work.compare(families, parts, prepare=UnchangedTable.of, by_errors=True)
        return _Compared(compared.comparison, compared.answers, len(parts))

    @property
    def _options(self) -> dict[str, Any]:
        """Options of the search."""
        options: dict[str, Any] = {"max_features": self.max_features, "choose": self.choose}
        return options | ({"max_iter": 1} if self.fast else {})

    def describe(self, work: Work, found: _SeriesSearch, compared: _Compared) -> SeriesAnalysis:
        asked: AskedSeries = work.asked
        front, sizes = series_front(found.search, asked, compared.answers)
        features, pictures = draw_series(found.search, asked)
        pictures += (front_picture(front),)
        front, comparison = replace(front, picture=pictures[-1].name), compared.comparison
        if comparison is not None:
            pictures += (_methods_picture(comparison),)
            comparison = replace(comparison, picture=pictures[-1].name)
        options = {
            "outer": compared.n_outer,
            "max-features": self.max_features,
            "choose": self.choose,
            "seed": self.seed,
        }
        findings = SeriesFindings(
            table=asked.series_findings(self.name),
            features=features,
            front=front,
            comparison=comparison,
            sizes=sizes,
            n_outer=compared.n_outer,
            unit=float(asked.values.std()) if asked.is_number else math.nan,
            choose=self.choose,
            stopped=found.is_stopped,
            run=work.run(
                options, () if compared.n_outer else ("outer folds",), reading=asked.treatments
            ),
            pictures=pictures,
        )
        model = _model(asked, found.search, comparison)
        return SeriesAnalysis(findings, found.search, model, asked.frame)


def _affordable_folds(seconds: float, left: float | None, parts: int, workers: int) -> int:
    """Return on how many of some folds a search can be made again that took so long."""
    if left is None:
        return parts
    return min(parts, max(1, workers) * int(left / (_AGAIN * max(seconds, 1e-3))))


def _model(
    asked: AskedSeries, search: SeriesExtractor, comparison: ModelComparison | None
) -> SeriesTableModel:
    """Return what was chosen, for tables; numbers get the deviation of the outer folds."""
    deviation = None
    if asked.is_number:
        models = () if comparison is None else comparison.models
        shares = (one.error.estimate for one in models if one.name == SEARCHED)
        deviation = math.sqrt(next(shares, 1.0)) * float(asked.values.std())
    return SeriesTableModel(
        search.best_estimator_, asked.places, asked.class_names, asked.target, deviation
    )


def _methods_picture(comparison: ModelComparison) -> Picture:
    from parsimon.report.figures import error_of_methods

    return picture_of("methods", error_of_methods(comparison), "Errors of all methods")
