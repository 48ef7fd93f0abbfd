"""From a table of series to a page: which few features predict the target, and how well."""

import math
import os
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from parsimon._checks import check_count, check_seconds
from parsimon._parallel import n_workers
from parsimon._random import seed_sequence
from parsimon._writing import whole_file
from parsimon.features.series import (
    SeriesExtractor,
    SeriesTable,
)
from parsimon.report import Readable
from parsimon.report.findings import ModelComparison, Picture, RunFindings
from parsimon.report.findings.series_findings import SeriesFindings
from parsimon.statistician.analysis import run_findings
from parsimon.statistician.comparison import compare_on_folds
from parsimon.statistician.families import Family
from parsimon.statistician.families.series_families import (
    SEARCHED,
    few_features,
    plain_methods,
)
from parsimon.statistician.feature_front import drawn_series, front_picture, series_front
from parsimon.statistician.finished_work import FinishedWork
from parsimon.statistician.fitted_series import SeriesTableModel
from parsimon.statistician.folds import FAST_FOLDS, FoldAnswers, plan_folds
from parsimon.statistician.gallery import picture_of
from parsimon.statistician.prepare.frames import as_frame, fingerprint
from parsimon.statistician.saving import save_model
from parsimon.statistician.seen_tables import UnchangedTable
from parsimon.statistician.series_tables import AskedSeries, read_series, target_of_series
from parsimon.statistician.time_budget import TimeBudget

if TYPE_CHECKING:
    import pandas as pd

# Of a time limit, what is kept for figures and files.
_LAST_SECONDS, _LAST_SHARE = 5.0, 0.15
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
    started = clock.perf_counter()
    outer = (FAST_FOLDS if fast else 5) if outer is None else outer
    check_count("max_features", max_features)
    check_count("outer", outer, least=0)
    check_count("seed", seed, least=0)
    check_seconds("time_limit", time_limit)
    values = (value,) if isinstance(value, str) else tuple(value)
    given = AskedSeries.of(as_frame(table), target, id, time, values, positive, task, has_header)
    options: dict[str, Any] = {"max_features": max_features, "choose": choose}
    about = (target, id, time, values, positive, task, has_header)
    kept = FinishedWork.of(
        checkpoint, given.frame, about, options | {"fast": fast, "outer": outer, "seed": seed}
    )
    found = _searched(
        given,
        options | ({"max_iter": 1} if fast else {}),
        plain_methods(fast=fast),
        outer=outer,
        seed=seed,
        n_jobs=n_jobs,
        budget=TimeBudget.keeping(time_limit, _LAST_SECONDS, _LAST_SHARE),
        verbose=verbose,
        kept=kept,
    )
    said = {"outer": found.n_outer, "max-features": max_features, "choose": choose, "seed": seed}
    run = run_findings(
        seed=seed,
        seconds=clock.perf_counter() - started,
        command=command,
        options=tuple((option, str(one)) for option, one in said.items()),
        skipped=() if found.n_outer else ("outer folds",),
        fingerprint=fingerprint(given.frame),
        too_few_rows=bool(outer) and not found.n_outer and not found.late,
        reading=given.treatments,
    )
    run = replace(run, date=kept.once("date", lambda: run.date))
    findings = _findings(given, found, run, name, choose)
    return SeriesAnalysis(findings, found.search, _model(given, found), given.frame)


class _Searched(NamedTuple):
    """The search of all series, and what everyone said on the outer folds.

    stopped: Whether its time limit ended the search.
    late: Whether there was no time for any fold.
    """

    search: SeriesExtractor
    comparison: ModelComparison | None
    answers: Sequence[FoldAnswers]
    n_outer: int
    stopped: bool
    late: bool


def _searched(
    given: AskedSeries,
    options: dict[str, Any],
    others: Sequence[Family],
    *,
    outer: int,
    seed: int,
    n_jobs: int | None,
    budget: TimeBudget,
    verbose: bool,
    kept: FinishedWork,
) -> _Searched:
    """Search all series, then again in each fold, beside the plain methods."""
    question = given.asked.questions[0]
    folding, comparing, fitting = seed_sequence(seed).spawn(3)
    parts = plan_folds(question, outer, folding)
    # The table itself, and each fold, some of them at once.
    rounds = 1 + math.ceil(len(parts) / max(1, n_workers(n_jobs)))
    limit = budget.left(0.7 / rounds)
    seen = UnchangedTable.of([question])
    whole = few_features(time_limit=limit, n_jobs=n_jobs, **options)
    search = kept.once(
        "search", lambda: whole.learn(seen.X, seen.values, question.task, fitting).search_
    )
    affordable = _affordable_folds(search.seconds_, budget.left(), len(parts), n_workers(n_jobs))
    late = affordable < len(parts)
    if late:
        parts = plan_folds(question, affordable, folding) if affordable > 1 else []
    # Guessing and the features first: they answer even if time is short.
    families = (others[0], few_features(time_limit=limit, **options), *others[1:])
    comparison, _, answers, _ = compare_on_folds(
        families,
        given.asked,
        parts,
        comparing,
        n_jobs=n_jobs,
        time_limit=budget.left(),
        verbose=verbose,
        prepare=UnchangedTable.of,
        by_errors=True,
        kept=kept,
    )
    stopped = limit is not None and search.seconds_ >= _SEARCHING * limit
    return _Searched(search, comparison, answers, len(parts), stopped, late and not parts)


def _affordable_folds(seconds: float, left: float | None, parts: int, workers: int) -> int:
    """Return on how many of some folds a search can be made again that took so long."""
    if left is None:
        return parts
    return min(parts, max(1, workers) * int(left / (_AGAIN * max(seconds, 1e-3))))


def _findings(
    given: AskedSeries, found: _Searched, run: RunFindings, name: str, choose: str
) -> SeriesFindings:
    front, sizes = series_front(found.search, given, found.answers)
    features, pictures = drawn_series(found.search, given)
    pictures += (front_picture(front),)
    front, comparison = replace(front, picture=pictures[-1].name), found.comparison
    if comparison is not None:
        pictures += (_methods_picture(comparison),)
        comparison = replace(comparison, picture=pictures[-1].name)
    number = given.is_number
    return SeriesFindings(
        table=given.findings(name),
        features=features,
        front=front,
        comparison=comparison,
        sizes=sizes,
        n_outer=found.n_outer,
        unit=float(given.values.std()) if number else math.nan,
        choose=choose,
        stopped=found.stopped,
        run=run,
        pictures=pictures,
    )


def _model(given: AskedSeries, found: _Searched) -> SeriesTableModel:
    """Return what was chosen, for tables; numbers get the deviation of the outer folds."""
    deviation = None
    if given.is_number:
        models = () if found.comparison is None else found.comparison.models
        share = next((one.error.estimate for one in models if one.name == SEARCHED), 1.0)
        deviation = math.sqrt(share) * float(given.values.std())
    return SeriesTableModel(
        found.search.best_estimator_,
        given.columns,
        given.class_names,
        given.asked.target,
        deviation,
    )


def _methods_picture(comparison: ModelComparison) -> Picture:
    from parsimon.report.figures import error_of_methods

    return picture_of("methods", error_of_methods(comparison), "Errors of all methods")
