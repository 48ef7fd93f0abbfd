"""Compare all models of a table, or fit one of them: what a report does, without the page."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from parsimon._checks import check_count, check_seconds
from parsimon._progress import Progress
from parsimon._random import seed_sequence
from parsimon.evaluation.folds import OuterPart
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import ComparedModel, ModelComparison
from parsimon.statistician.asked_table import ReadTable, read_question
from parsimon.statistician.comparison import compare_on_folds
from parsimon.statistician.families.contender import Contender
from parsimon.statistician.families.contenders import (
    GUESSING,
    KERNEL_SEARCH,
    SEARCH,
    Rivals,
    as_families,
    chosen_contenders,
    contender_called,
)
from parsimon.statistician.families.gp import Choice, GaussianProcesses
from parsimon.statistician.final_fits import FinalFits, Settled, settle
from parsimon.statistician.finished_work import NOTHING_KEPT, FinishedWork, work_key
from parsimon.statistician.outer_folds import FoldResult, has_certain_claims
from parsimon.statistician.question import Answer, plan_folds, run_searches
from parsimon.statistician.table_model import TableModel
from parsimon.statistician.time_budget import TimeBudget

# What searches may take of a time limit; what a last fit, a table and a file need of it.
_SEARCHING, _LAST_SECONDS, _LAST_SHARE = 0.45, 1.0, 0.1


@dataclass(frozen=True, kw_only=True)
class _FitOptions:
    """What models that are compared or fitted depend on, beside the table, and how they are run."""

    family: str = "recommended"
    families: tuple[str, ...] = ()
    rivals: Rivals = "all"
    choose: Choice = "supported"
    outer: int | None
    seed: int
    n_jobs: int | None
    time_limit: float | None
    verbose: bool

    def __post_init__(self) -> None:
        check_seconds("time_limit", self.time_limit)

    def kept(
        self, checkpoint: str | os.PathLike[str] | None, asked: ReadTable, about: tuple[Any, ...]
    ) -> FinishedWork:
        """Return what an earlier run of the same has finished."""
        if checkpoint is None:
            return NOTHING_KEPT
        return FinishedWork(checkpoint, work_key(asked.frame, about, self))


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
    names = as_families(families)
    options = _FitOptions(
        families=names,
        rivals=rivals,
        outer=outer,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        verbose=verbose,
    )
    budget = TimeBudget.keeping(time_limit, _LAST_SECONDS, _LAST_SHARE)
    contenders = chosen_contenders(names, rivals)
    asked = read_question(table, target, positive=positive, task=task)
    kept = options.kept(checkpoint, asked, (target, positive, task))
    folding, searching, _, comparing = seed_sequence(seed).spawn(4)
    parts = _folds(asked, outer, folding)
    searched: dict[Contender, Sequence[FoldResult]] = {}
    if SEARCH in names:
        _, folds = _search(asked, parts, searching, options, kept, budget, whole=False)
        searched[KERNEL_SEARCH] = folds
    found, *_ = compare_on_folds(
        contenders,
        searched,
        asked,
        parts,
        comparing,
        n_jobs=n_jobs,
        time_limit=budget.left(),
        verbose=verbose,
        kept=kept,
    )
    if found is None:
        raise InvalidInputError("Fewer than two models answered on every fold; ask for others.")
    return found


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
    contenders, is_search = _asked_for(key)
    options = _FitOptions(
        family=key,
        choose=choose,
        outer=outer,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        verbose=verbose,
    )
    budget = TimeBudget.keeping(time_limit, _LAST_SECONDS, _LAST_SHARE)
    asked = read_question(table, target, positive=positive, task=task)
    kept = options.kept(checkpoint, asked, (target, positive, task))
    folding, searching, _, comparing = seed_sequence(seed).spawn(4)
    parts = [] if outer == 0 else _folds(asked, outer, folding)
    answers: Sequence[Answer] = ()
    searched: dict[Contender, Sequence[FoldResult]] = {}
    certain = False
    if is_search:
        answers, folds = _search(asked, parts, searching, options, kept, budget, whole=True)
        searched[KERNEL_SEARCH] = folds
        certain = has_certain_claims([answer.claims for answer in answers], folds)
    limits: dict[str, Any] = {
        "n_jobs": n_jobs,
        "time_limit": budget.left(),
        "verbose": verbose,
        "kept": kept,
    }
    compared = compare_on_folds(
        contenders, searched, asked, parts, comparing, certain=certain, **limits
    )
    fits = FinalFits.of(asked, answers, contenders, seed)
    found, model = compared[0], None
    if key == "recommended":
        everyone = (*searched, *contenders)
        found, _, _, model = settle(Settled(*compared), fits, everyone, certain=certain)
        if found is None:
            raise InvalidInputError("Too few rows to compare models; name one with family.")
        name = found.recommended.name
    else:
        name = KERNEL_SEARCH.name if key == SEARCH else contender_called(key).name
    row = None if found is None else next((m for m in found.models if m.name == name), None)
    return FittedModel(model or fits.demanded(name, row), name, found, row)


def _asked_for(key: str) -> tuple[tuple[Contender, ...], bool]:
    """Return the contenders to ask, and whether kernels are searched."""
    if key == "recommended":
        return chosen_contenders(as_families("all"), "all"), True
    if key == SEARCH:
        return (GUESSING,), True
    return (GUESSING, contender_called(key)), False


def _folds(asked: ReadTable, outer: int | None, seed: np.random.SeedSequence) -> list[OuterPart]:
    if outer is not None:
        check_count("outer", outer, least=2)
    parts = plan_folds(asked.questions[0], outer, seed)
    if not parts:
        raise InvalidInputError(
            f"{len(asked.questions[0].y)} rows are too few to compare models on outer folds."
        )
    return parts


def _search(
    asked: ReadTable,
    parts: Sequence[OuterPart],
    seed: np.random.SeedSequence,
    options: _FitOptions,
    kept: FinishedWork,
    budget: TimeBudget,
    *,
    whole: bool,
) -> tuple[list[Answer], list[FoldResult]]:
    total = len(asked.questions) * (len(parts) + int(whole))
    with Progress("Searching", total=total, verbose=options.verbose) as progress:
        return run_searches(
            GaussianProcesses(choose=options.choose),
            asked.questions,
            parts,
            seed,
            whole=whole,
            n_jobs=options.n_jobs,
            time_limit=budget.left(_SEARCHING if parts else 1.0),
            done=lambda done, left: progress.update(done, note=left),
            kept=kept,
        )
