"""From a table to a page about its columns: which are needed, or which formula of them."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import check_count, check_seconds, shorten
from parsimon._parallel import n_workers
from parsimon._random import seed_sequence
from parsimon.exceptions import InvalidInputError
from parsimon.report import Readable
from parsimon.report.findings import RunFindings, TableFindings
from parsimon.report.selection_findings import SelectionFindings
from parsimon.statistician.analysis import run_findings
from parsimon.statistician.asked_table import ReadTable, read_question
from parsimon.statistician.comparison import compare_on_folds
from parsimon.statistician.families.contender import Contender
from parsimon.statistician.families.contenders import chosen_contenders
from parsimon.statistician.families.feature_fronts import few_columns, formulas
from parsimon.statistician.feature_front import column_front, drawn_formulas, front_picture
from parsimon.statistician.fold_answers import PreparedTable
from parsimon.statistician.prepare.frames import fingerprint
from parsimon.statistician.prepare.recipes import describe_variables
from parsimon.statistician.question import plan_folds
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
    outer: int = 5,
    name: str = "table",
    seed: int = 0,
    n_jobs: int | None = 1,
    time_limit: float | None = None,
    verbose: bool = False,
    command: str = "",
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
    outer : int
        Outer folds; 0 for none.
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
    SelectionAnalysis

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> found = select_columns(load("pima").frame, "diabetes", outer=0)
    >>> found.findings.front.sizes[0].features
    ('glucose',)
    """
    started = time.perf_counter()
    _check(max_features, outer, seed, time_limit, construct=construct, fixed=fixed)
    asked = read_question(frame, target, positive=None, task="auto")
    question = asked.questions[0]
    folding, comparing, fitting = seed_sequence(seed).spawn(3)
    parts = plan_folds(question, outer, folding)
    budget = TimeBudget.keeping(time_limit, _LAST_SECONDS, _LAST_SHARE)
    table = PreparedTable.of(question)
    # The table itself, and each fold, some of them at once.
    rounds = 1 + math.ceil(len(parts) / max(1, n_workers(n_jobs)))
    contender = _contender(
        table, construct, max_features, _fixed(table, asked, fixed), budget.left(0.7 / rounds)
    )
    model = contender.fit(table.X, table.values, question.task, fitting)
    search = model[-1] if construct else model
    comparison, drawn, _ = compare_on_folds(
        (*_beside(), contender),
        {},
        asked,
        parts,
        comparing,
        n_jobs=n_jobs,
        time_limit=budget.left(),
        verbose=verbose,
        by_errors=True,
    )
    if construct:
        front, pictures = drawn_formulas(model, table.X, asked, max_features)
    else:
        front = column_front(search, list(map(str, table.X.columns)))
        pictures = (front_picture(front),)
        front = replace(front, picture=pictures[0].name)
    findings = SelectionFindings(
        table=_table_findings(asked, table, name),
        front=front,
        comparison=comparison,
        n_outer=len(parts),
        unit=float(np.std(table.values)) if question.is_number else math.nan,
        max_features=max_features or 0,
        fixed=tuple(map(str, fixed)),
        stopped=getattr(search, "stopped_by_", "") == "time_limit",
        run=_run(asked, seed, len(parts), command, started, few=bool(outer) and not parts),
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


def _run(
    asked: ReadTable, seed: int, n_outer: int, command: str, started: float, *, few: bool
) -> RunFindings:
    return run_findings(
        seed=seed,
        seconds=time.perf_counter() - started,
        command=command,
        options=(("outer", str(n_outer)), ("seed", str(seed))),
        skipped=() if n_outer else ("outer folds",),
        fingerprint=fingerprint(asked.frame),
        too_few_rows=few,
    )


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
            raise InvalidInputError(f"The fixed column {column!r} tells nothing; leave it out.")
    return tuple(one.name for one in known if one.column in set(map(str, fixed)))


def _contender(
    table: PreparedTable,
    construct: bool,
    most: int | None,
    fixed: tuple[str, ...],
    limit: float | None,
) -> Contender:
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


def _beside() -> tuple[Contender, ...]:
    """Return who answers beside the search: guessing, a linear model and boosting."""
    return chosen_contenders((), "linear,boosting")


def _table_findings(asked: ReadTable, table: PreparedTable, name: str) -> TableFindings:
    known = {one.name: one for one in table.preparer.variables_}
    variables = describe_variables(table.X, [known[str(one)] for one in table.X.columns])
    treatments = [*table.preparer.treatments_, *table.screener.treatments_]
    return asked.findings(name, variables, treatments, "")
