"""Compare all models of a table, or fit one of them: what a report does, without the page."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from parsimon._checks import check_count
from parsimon.evaluation.folds import OuterPart
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import ComparedModel, ModelComparison
from parsimon.statistician._table_kind import TableKind
from parsimon.statistician._walk import begin
from parsimon.statistician.asked_table import ReadTable
from parsimon.statistician.families.family import Family
from parsimon.statistician.families.kernel_search import KERNEL_SEARCH, Choice
from parsimon.statistician.families.plain import GUESSING
from parsimon.statistician.families.registered import (
    Rivals,
    as_families,
    family_called,
)
from parsimon.statistician.final_fits import FinalFits, settle_on_model
from parsimon.statistician.table_model import TableModel


@dataclass(frozen=True, kw_only=True)
class _WithoutPage(TableKind):
    """A table of which models are compared, or one is fitted, without a page.

    model: The key of the one to ask beside guessing; "recommended" for all.
    """

    model: str = "recommended"

    last_steps = (1.0, 0.1)

    @cached_property
    def everyone(self) -> tuple[Family, ...]:
        """All that are asked."""
        if self.model == "recommended":
            return super().everyone
        found = family_called(self.model)
        return (GUESSING, self.kernels if found is KERNEL_SEARCH else found)

    def plan(self, asked: ReadTable, seed: np.random.SeedSequence) -> list[OuterPart]:
        parts = super().plan(asked, seed)
        if not parts and self.outer != 0:
            raise InvalidInputError(
                f"{len(asked.questions[0].y)} rows are too few to compare models on outer folds."
            )
        return parts


class FittedModel(NamedTuple):
    """A model fitted to all rows of a table, and what it was compared with.

    comparison: None if there were no outer folds.
    compared: The model itself in the comparison.
    """

    model: TableModel
    name: str
    comparison: ModelComparison | None
    compared: ComparedModel | None


def compare_models(
    table: Any,
    target: str,
    *,
    positive: str | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    families: str | Sequence[str] = "all",
    rivals: Rivals = "all",
    outer: int | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    time_limit: float | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> ModelComparison:
    """Measure our models and plain rivals on the same outer folds, with the same preparation.

    Parameters
    ----------
    table : DataFrame of pandas or polars
        One row for each case.
    target : str
        Column to predict: classes or numbers.
    positive, task, seed, n_jobs, time_limit, verbose, checkpoint
        As in `analyse`.
    families : "all", "none" or sequence of {"gp", "rvm", "bpm", "plain-gp", "svm", "formula"}
        Our models; "gp" is the search over kernels, which takes longest.
    rivals : "all", "none", or sequence of estimators, (name, estimator) and names
        scikit-learn's "linear", "tree", "forest", "boosting", or your own.
    outer : int, optional
        Folds, by default 5, or 3 of 20,000 rows or more.

    Returns
    -------
    ModelComparison

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> found = compare_models(
    ...     load("iris").frame, "species", families="none", rivals="linear,tree", outer=3, n_jobs=1
    ... )
    >>> found.recommended.name
    'linear model'
    """
    kind = _WithoutPage(
        target=target,
        positive=positive,
        task=task,
        families=as_families(families),
        rivals=rivals,
        outer=outer,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        verbose=verbose,
        checkpoint=checkpoint,
    )
    if outer is not None:
        check_count("outer", outer, least=2)
    work = begin(kind, table)
    looked = kind.search(work, whole=False) if kind.on_table else {}
    found, _ = kind.ask(work, looked, whole=False)
    if found.comparison is None:
        raise InvalidInputError("Fewer than two models answered on every fold; ask for others.")
    return found.comparison


def fit_model(
    table: Any,
    target: str,
    family: str = "recommended",
    *,
    choose: Choice = "supported",
    positive: str | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    outer: int | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    time_limit: float | None = None,
    verbose: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> FittedModel:
    """Fit one model to a table as it is, and measure it on outer folds.

    Parameters
    ----------
    table : DataFrame of pandas or polars
        One row for each case.
    target : str
        Column to predict: classes or numbers.
    family : str, default "recommended"
        "gp" (search over kernels), "rvm", "bpm", "plain-gp", "svm", "formula", "linear", "tree",
        "forest", "boosting"; "recommended" compares all of them first.
    choose : {"supported", "one_se", "least_error"}
        Which kernel the search takes.
    positive, task, seed, n_jobs, time_limit, verbose, checkpoint
        As in `analyse`.
    outer : int, optional
        Folds on which the model is measured beside guessing, by default 5, or 3 of 20,000 rows or
        more; 0 for none.

    Returns
    -------
    FittedModel

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> table = load("iris").frame
    >>> found = fit_model(table, "species", "linear", outer=3, n_jobs=1)
    >>> [str(label) for label in found.model.predict(table.head(2))]
    ['setosa', 'setosa']
    """
    key = family.strip().lower()
    kind = _WithoutPage(
        model=key,
        target=target,
        positive=positive,
        task=task,
        choose=choose,
        outer=outer,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        verbose=verbose,
        checkpoint=checkpoint,
    )
    work = begin(kind, table)
    compared, certain = kind.ask(work, kind.search(work) if kind.on_table else {})
    fits = FinalFits.of(work.asked, kind.everyone, seed, compared.whole)
    if key != "recommended":
        name = kind.everyone[-1].name
        models = () if compared.comparison is None else compared.comparison.models
        row = next((model for model in models if model.name == name), None)
        return FittedModel(fits.demanded(name, row), name, compared.comparison, row)
    found, _, _, model = settle_on_model(compared, fits, certain=certain)
    if found is None:
        raise InvalidInputError("Too few rows to compare models; name one with family.")
    row = found.recommended
    return FittedModel(model or fits.demanded(row.name, row), row.name, found, row)
