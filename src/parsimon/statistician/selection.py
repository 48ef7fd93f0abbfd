"""From a table to a page about its columns: which are needed, or which formula of them."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from parsimon._checks import check_count, shorten
from parsimon.exceptions import InvalidInputError
from parsimon.report import Readable
from parsimon.report.findings.column_findings import SelectionFindings
from parsimon.statistician._walk import Kind, Work, analyse_kind
from parsimon.statistician.asked_table import ReadTable, read_question
from parsimon.statistician.comparison import Compared
from parsimon.statistician.families.family import Family
from parsimon.statistician.families.feature_fronts import few_columns, formulas
from parsimon.statistician.families.registered import chosen_families
from parsimon.statistician.feature_front import column_front, draw_formulas, front_picture
from parsimon.statistician.seen_tables import PreparedTable

if TYPE_CHECKING:
    import pandas as pd


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
    kind = SelectionKind(
        target=target,
        construct=construct,
        max_features=max_features,
        fixed=tuple(map(str, fixed)),
        outer=outer,
        name=name,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        verbose=verbose,
        command=command,
        positive=positive,
        task=task,
        fast=fast,
        checkpoint=checkpoint,
    )
    return analyse_kind(kind, frame)


class _ColumnSearch(NamedTuple):
    """The table as families see it, the search as one of them, and what it found there."""

    table: PreparedTable
    family: Family
    model: Any


@dataclass(frozen=True, kw_only=True)
class SelectionKind(Kind):
    """A table of which a few columns, or formulas of them, answer beside two plain models."""

    construct: bool = False
    max_features: int | None = None
    fixed: tuple[str, ...] = ()

    last_steps = (1.5, 0.05)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_features is not None:
            check_count("max_features", self.max_features)
        if self.construct and self.fixed:
            raise InvalidInputError("Fixed columns do not go with formulas; leave them out.")

    def read(self, frame: "pd.DataFrame") -> ReadTable:
        return read_question(frame, self.target, positive=self.positive, task=self.task)

    def search(self, work: Work) -> _ColumnSearch:
        table = PreparedTable.of(work.asked.questions)
        family = self._family(table, work.asked, work.search_limit())
        task, seed = work.asked.questions[0].task, work.seeds["fitting"]
        model = work.kept.once("search", lambda: family.learn(table.X, table.values, task, seed))
        return _ColumnSearch(table, family, model)

    def _family(self, table: PreparedTable, asked: ReadTable, limit: float | None) -> Family:
        """Return the search, as one of the models that are compared."""
        most = self.max_features
        if self.construct:
            rule = "one_se" if most is None else f"one_se where n_features<={most}"
            return formulas(choose=rule, time_limit=limit)
        fixed = _fixed_variables(table, asked, self.fixed)
        if most is not None and most < len(fixed):
            raise InvalidInputError(
                f"{len(fixed)} columns are fixed, more than max_features, which is {most}."
            )
        most = None if most is None else min(most, table.X.shape[1])
        return few_columns(max_features=most, fixed=fixed, time_limit=limit)

    def compare(self, work: Work, found: _ColumnSearch) -> Compared:
        # Guessing, a linear model and boosting beside the search.
        families = (*chosen_families((), "linear,boosting"), found.family)
        return work.compare(families, by_errors=True)

    def describe(self, work: Work, found: _ColumnSearch, compared: Compared) -> SelectionAnalysis:
        table, model, n_outer = found.table, found.model, len(work.parts)
        names = tuple(map(str, table.X.columns))
        search = model[-1] if self.construct else model
        if self.construct:
            front, pictures = draw_formulas(model, table.X, work.asked, self.max_features)
        else:
            front = column_front(search, names)
            pictures = (front_picture(front),)
            front = replace(front, picture=pictures[0].name)
        is_number = work.asked.questions[0].is_number
        findings = SelectionFindings(
            table=work.asked.table_findings(self.name, table),
            front=front,
            comparison=compared.comparison,
            n_outer=n_outer,
            unit=float(np.std(table.values)) if is_number else math.nan,
            max_features=self.max_features or 0,
            fixed=self.fixed,
            stopped=getattr(search, "stopped_by_", "") == "time_limit",
            run=work.run(
                {"outer": n_outer, "seed": self.seed}, () if n_outer else ("outer folds",)
            ),
            pictures=(*pictures, *compared.pictures),
        )
        return SelectionAnalysis(findings, search, names)


def _fixed_variables(
    table: PreparedTable, asked: ReadTable, fixed: Sequence[str]
) -> tuple[str, ...]:
    """Return the variables of columns that every model has."""
    known = [one for one in table.preparer.variables_ if one.name in set(table.X.columns)]
    for column in fixed:
        if column not in asked.columns.columns:
            raise InvalidInputError(
                f"The table has no column {column!r}; its columns are "
                f"{shorten(list(asked.columns), 12)}."
            )
        if all(source.column != column for source in known):
            raise InvalidInputError(f"The fixed column {column!r} says nothing; leave it out.")
    return tuple(source.name for source in known if source.column in set(fixed))
