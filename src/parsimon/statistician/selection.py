"""From a table to a page about its columns: which are needed, or which formula of them."""

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parsimon._checks import check_count, check_seconds, shorten
from parsimon._parallel import n_workers
from parsimon._random import seed_sequence
from parsimon.exceptions import InvalidInputError
from parsimon.report import Readable
from parsimon.report.findings import Picture, RunFindings, TableFindings
from parsimon.report.findings.column_findings import SelectionFindings
from parsimon.report.findings.shared_findings import FeatureFront
from parsimon.statistician.analysis import run_findings, today
from parsimon.statistician.asked_table import ReadTable, read_question
from parsimon.statistician.comparison import compare_on_folds
from parsimon.statistician.families import Family
from parsimon.statistician.families.feature_fronts import few_columns, formulas
from parsimon.statistician.families.registered import chosen_families
from parsimon.statistician.feature_front import column_front, drawn_formulas, front_picture
from parsimon.statistician.finished_work import FinishedWork
from parsimon.statistician.folds import FAST_FOLDS, plan_folds
from parsimon.statistician.prepare.frames import fingerprint
from parsimon.statistician.prepare.recipes import describe_variables
from parsimon.statistician.seen_tables import PreparedTable
from parsimon.statistician.time_budget import TimeBudget

if TYPE_CHECKING:
    import pandas as pd

# Of a time limit, what is kept for figures and files.
_LAST_SECONDS, _LAST_SHARE = 1.5, 0.05


@dataclass(frozen=True)
class SelectionAnalysis(Readable):
    """A fitted search for columns or formulas, and the page about it.

    search: `ParetoSelector` or `ParetoConstructor`, fitted to the variables in `variables`.
    """

    findings: SelectionFindings
    search: Any
    variables: tuple[str, ...]


def select_columns(
    frame: "pd.DataFrame",
    target: str,
    *,
    construct: bool = False,
    max_features: int | None = None,
    fixed: Sequence[str] = (),
    outer: int | None = None,
    name: str = "table",
    seed: int = 0,
    n_jobs: int | None = 1,
    time_limit: float | None = None,
    verbose: bool = False,
    command: str = "",
    positive: str | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    fast: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> SelectionAnalysis:
    """Find which columns a prediction needs, or a formula of them, as a front; write about it.

    Cells become numbers as in `analyse`. The whole search is repeated on outer folds, beside a
    linear model of all columns and boosting, so that its error is honest.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        One row for each case. Empty cells, text, truth values and dates are welcome.
    target : str
        The column to predict: classes or a number.
    construct : bool
        Search for formulas (`ParetoConstructor`) instead of columns (`ParetoSelector`).
    max_features : int, optional
        The most columns, or the most features of a formula.
    fixed : sequence of str
        Columns that every model has; not for formulas.
    outer : int, optional
        Outer folds; 0 for none. 5 if not given, 3 if `fast`.
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
    positive : str, optional
        The class to ask for, against the rest.
    task : {"auto", "classification", "regression"}
        What the target is, as in `analyse`.
    fast : bool
        Fewer folds.
    checkpoint : str or Path, optional
        A folder of your own that keeps what is finished, as in `analyse`.

    Returns
    -------
    SelectionAnalysis

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> found = select_columns(load("pima").frame, "diabetes", outer=0)
    >>> found.findings.front.sizes[0].features
    ('glucose',)
    """
    started, usual = time.perf_counter(), FAST_FOLDS if fast else 5
    outer = usual if outer is None else outer
    _check(max_features, outer, seed, time_limit, construct=construct, fixed=fixed)
    asked = read_question(frame, target, positive=positive, task=task)
    about = (target, positive, task, construct, max_features, tuple(fixed), outer, seed)
    kept = FinishedWork.of(checkpoint, asked.frame, about, {})
    question, (folding, comparing, fitting) = asked.questions[0], seed_sequence(seed).spawn(3)
    parts = plan_folds(question, outer, folding)
    budget = TimeBudget.keeping(time_limit, _LAST_SECONDS, _LAST_SHARE)
    table, limit = PreparedTable.of(asked.questions), _search_limit(budget, len(parts), n_jobs)
    family = _family(table, construct, max_features, _fixed(table, asked, fixed), limit)
    model = kept.once("search", lambda: family.learn(table.X, table.values, question.task, fitting))
    search = model[-1] if construct else model
    comparison, drawn, *_ = compare_on_folds(
        (*_beside(), family),
        asked,
        parts,
        comparing,
        n_jobs=n_jobs,
        time_limit=budget.left(),
        verbose=verbose,
        by_errors=True,
        kept=kept,
    )
    if construct:
        front, pictures = drawn_formulas(model, table.X, asked, max_features)
    else:
        front, pictures = _drawn_columns(search, table)
    findings = SelectionFindings(
        table=_table_findings(asked, table, name),
        front=front,
        comparison=comparison,
        n_outer=len(parts),
        unit=float(np.std(table.values)) if question.is_number else math.nan,
        max_features=max_features or 0,
        fixed=tuple(map(str, fixed)),
        stopped=getattr(search, "stopped_by_", "") == "time_limit",
        run=_run(asked, seed, outer, len(parts), command, started, kept),
        pictures=(*pictures, *drawn),
    )
    return SelectionAnalysis(findings, search, tuple(map(str, table.X.columns)))


def _check(
    max_features: int | None,
    outer: int,
    seed: int,
    time_limit: float | None,
    *,
    construct: bool,
    fixed: Sequence[str],
) -> None:
    if max_features is not None:
        check_count("max_features", max_features)
    check_count("outer", outer, least=0)
    check_count("seed", seed, least=0)
    check_seconds("time_limit", time_limit)
    if construct and fixed:
        raise InvalidInputError("Fixed columns do not go with formulas; leave them out.")


def _search_limit(budget: TimeBudget, n_folds: int, n_jobs: int | None) -> float | None:
    """Return the seconds of a search of the table itself and of each fold, some at once."""
    rounds = 1 + math.ceil(n_folds / max(1, n_workers(n_jobs)))
    return budget.left(0.7 / rounds)


def _drawn_columns(search: Any, table: PreparedTable) -> tuple[FeatureFront, tuple[Picture, ...]]:
    front = column_front(search, list(map(str, table.X.columns)))
    picture = front_picture(front)
    return replace(front, picture=picture.name), (picture,)


def _run(
    asked: ReadTable,
    seed: int,
    outer: int,
    n_outer: int,
    command: str,
    started: float,
    kept: FinishedWork,
) -> RunFindings:
    run = run_findings(
        seed=seed,
        seconds=time.perf_counter() - started,
        command=command,
        options=(("outer", str(n_outer)), ("seed", str(seed))),
        skipped=() if n_outer else ("outer folds",),
        fingerprint=fingerprint(asked.frame),
        too_few_rows=bool(outer) and not n_outer,
    )
    return replace(run, date=kept.once("date", today))


def _fixed(table: PreparedTable, asked: ReadTable, fixed: Sequence[str]) -> tuple[str, ...]:
    """Return the variables of columns that every model has."""
    known = [one for one in table.preparer.variables_ if one.name in set(table.X.columns)]
    for column in map(str, fixed):
        if column not in asked.columns.columns:
            raise InvalidInputError(
                f"The table has no column {column!r}; its columns are "
                f"{shorten(list(asked.columns), 12)}."
            )
        if all(one.column != column for one in known):
            raise InvalidInputError(f"The fixed column {column!r} says nothing; leave it out.")
    return tuple(one.name for one in known if one.column in set(map(str, fixed)))


def _family(
    table: PreparedTable,
    construct: bool,
    most: int | None,
    fixed: tuple[str, ...],
    limit: float | None,
) -> Family:
    """Return the search, as one of the models that are compared."""
    if construct:
        rule = "one_se" if most is None else f"one_se where n_features<={most}"
        return formulas(choose=rule, time_limit=limit)
    if most is not None and most < len(fixed):
        raise InvalidInputError(
            f"{len(fixed)} columns are fixed, more than max_features, which is {most}."
        )
    most = None if most is None else min(most, table.X.shape[1])
    return few_columns(max_features=most, fixed=fixed, time_limit=limit)


def _beside() -> tuple[Family, ...]:
    """Return who answers beside the search: guessing, a linear model and boosting."""
    return chosen_families((), "linear,boosting")


def _table_findings(asked: ReadTable, table: PreparedTable, name: str) -> TableFindings:
    known = {one.name: one for one in table.preparer.variables_}
    variables = describe_variables(table.X, [known[str(one)] for one in table.X.columns])
    treatments = [*table.preparer.treatments_, *table.screener.treatments_]
    return asked.findings(name, variables, treatments, "")
