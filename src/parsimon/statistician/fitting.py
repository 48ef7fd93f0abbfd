"""Compare all models of a table, or fit one of them: what a report does, without the page."""

import os
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from parsimon._checks import check_count
from parsimon._random import seed_sequence
from parsimon.evaluation.folds import OuterPart
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import ComparedModel, ModelComparison
from parsimon.statistician._table_kind import TableKind
from parsimon.statistician.asked_table import ReadTable, read_question
from parsimon.statistician.comparison import Compared, compare_on_folds
from parsimon.statistician.families import Family
from parsimon.statistician.families.kernel_search import KERNEL_SEARCH, Choice
from parsimon.statistician.families.plain import GUESSING
from parsimon.statistician.families.registered import (
    Rivals,
    as_families,
    family_called,
)
from parsimon.statistician.final_fits import FinalFits, settle_on_model
from parsimon.statistician.finished_work import FinishedWork
from parsimon.statistician.folds import plan_folds
from parsimon.statistician.looking import Looked, has_certain_claims, look_at_folds
from parsimon.statistician.table_model import TableModel
from parsimon.statistician.time_budget import TimeBudget

# Of a time limit: what a look at what matters may take; what a last fit, a table and a file need.
_LOOKING, _LAST_SECONDS, _LAST_SHARE = 0.125, 1.0, 0.1


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
    options = TableKind(
        target=target,
        families=as_families(families),
        rivals=rivals,
        outer=outer,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        verbose=verbose,
    )
    asked = read_question(table, target, positive=positive, task=task)
    kept = FinishedWork.of(checkpoint, asked.frame, (target, positive, task), options)
    found, _ = _compared(asked, options.everyone, options, kept, whole=False)
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
    options = TableKind(
        target=target,
        choose=choose,
        outer=outer,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        verbose=verbose,
    )
    asked = read_question(table, target, positive=positive, task=task)
    families = _asked_for(key, options)
    kept = FinishedWork.of(checkpoint, asked.frame, (key, target, positive, task), options)
    compared, certain = _compared(asked, families, options, kept, whole=True)
    fits = FinalFits.of(asked, families, seed, compared.whole)
    if key != "recommended":
        name = families[-1].name
        models = () if compared.comparison is None else compared.comparison.models
        row = next((model for model in models if model.name == name), None)
        return FittedModel(fits.demanded(name, row), name, compared.comparison, row)
    found, _, _, model = settle_on_model(compared, fits, certain=certain)
    if found is None:
        raise InvalidInputError("Too few rows to compare models; name one with family.")
    row = found.recommended
    return FittedModel(model or fits.demanded(row.name, row), row.name, found, row)


def _asked_for(key: str, options: TableKind) -> tuple[Family, ...]:
    """Return the families to ask; of one that is named it and guessing."""
    if key == "recommended":
        return options.everyone
    found = family_called(key)
    return (GUESSING, options.kernels if found is KERNEL_SEARCH else found)


def _compared(
    asked: ReadTable,
    families: Sequence[Family],
    options: TableKind,
    kept: FinishedWork,
    *,
    whole: bool,
) -> tuple[Compared, bool]:
    """Ask families on the outer folds, and say whether some claim is certain.

    whole: Whether those that search are fitted to the table too.
    """
    budget = TimeBudget.keeping(options.time_limit, _LAST_SECONDS, _LAST_SHARE)
    folding, searching, _, comparing = seed_sequence(options.seed).spawn(4)
    parts = [] if whole and options.outer == 0 else _folds(asked, options.outer, folding)
    search = [family for family in families if family.searches]
    limits: dict[str, Any] = {
        "n_jobs": options.n_jobs,
        "verbose": options.verbose,
        "kept": kept,
    }
    looked: Looked = {}
    certain = False
    if search:
        looked = look_at_folds(
            asked.questions,
            parts,
            seed_sequence(searching),
            whole=whole,
            time_limit=budget.left(_LOOKING),
            **limits,
        )
        certain = has_certain_claims(asked.questions, looked)
    found = compare_on_folds(
        families,
        asked,
        parts,
        comparing,
        certain=certain,
        whole=[(family, seed_sequence(searching)) for family in search if whole],
        looked=looked,
        time_limit=budget.left(),
        **limits,
    )
    return found, certain


def _folds(asked: ReadTable, outer: int | None, seed: np.random.SeedSequence) -> list[OuterPart]:
    if outer is not None:
        check_count("outer", outer, least=2)
    parts = plan_folds(asked.questions[0], outer, seed)
    if not parts:
        raise InvalidInputError(
            f"{len(asked.questions[0].y)} rows are too few to compare models on outer folds."
        )
    return parts
