"""The searches of an analysis as a list of independent jobs: the whole table and the outer folds.

All of them go into one pool, so that two processes are busy until the end; each job has a seed of
its own, so that the number of processes changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from parsimon._progress import Progress
from parsimon._typing import Array
from parsimon.evaluation.folds import OuterPart, outer_parts
from parsimon.exceptions import ParsimonError
from parsimon.report.findings import Task
from parsimon.statistician.answer import Answer, answer
from parsimon.statistician.options import Options
from parsimon.statistician.outer import Measured, found_words

if TYPE_CHECKING:
    import pandas as pd

# What searches may take of a time limit; the rest is for findings, pictures and pages.
_SEARCHING = 0.8


@dataclass(frozen=True, eq=False, kw_only=True)
class Questions:
    """A table without its target, and what is asked of it.

    Shapes: table (n, ...).

    values (n,): Codes of the classes, or numbers.
    targets (n,): For each question 1 and 0, or the numbers.
    """

    table: "pd.DataFrame"
    values: Array
    targets: tuple[Array, ...]
    task: Task


def plan_folds(
    questions: Questions, options: Options, seed: np.random.SeedSequence
) -> list[OuterPart]:
    """Return the outer folds: as many as asked for, fewer or none where rows are too few."""
    values = questions.values
    n_folds = min(options.n_outer, len(values) // 4)
    if questions.task == "classification":
        rarest = int(np.unique(values, return_counts=True)[1].min())
        n_folds = min(n_folds, rarest)
        # A search needs two rows of each class in every training part.
        if n_folds >= 2 and rarest - ceil(rarest / n_folds) < 2:
            n_folds = 0
    if n_folds < 2:
        return []
    classes = questions.task == "classification"
    return outer_parts(
        n_folds, questions.table, values, groups=None, classes=classes, repeats=1, seed=seed
    )


def run_searches(
    questions: Questions, parts: Sequence[OuterPart], options: Options, seed: np.random.SeedSequence
) -> tuple[list[Answer], list[Measured]]:
    """Answer every question on the whole table and on each outer training part."""
    n_questions = len(questions.targets)
    places = [(fold, ask) for fold in range(-1, len(parts)) for ask in range(n_questions)]
    workers = min(effective_n_jobs(options.n_jobs), len(places))
    rounds = ceil(len(places) / workers)
    limit = None if options.time_limit is None else _SEARCHING * options.time_limit / rounds
    jobs = (
        delayed(_run)(place, questions, parts, options, child, limit)
        for place, child in zip(places, seed.spawn(len(places)), strict=True)
    )
    results: dict[tuple[int, int], Answer | Measured] = {}
    pool = Parallel(n_jobs=workers, return_as="generator_unordered")
    with Progress("Searching", total=len(places), verbose=options.verbose) as progress:
        progress.update(0, note=_note(len(parts)))
        for place, result in pool(jobs):
            results[place] = result
            progress.update(len(results), note=_note(len(parts)))
    ordered = [results[place] for place in places]
    answers = [result for result in ordered if isinstance(result, Answer)]
    return answers, [result for result in ordered if isinstance(result, Measured)]


def _note(n_parts: int) -> str:
    return f"the table and {n_parts} outer folds" if n_parts else "the table"


def _run(
    place: tuple[int, int],
    questions: Questions,
    parts: Sequence[OuterPart],
    options: Options,
    seed: np.random.SeedSequence,
    limit: float | None,
) -> tuple[tuple[int, int], Answer | Measured]:
    fold, ask = place
    with threadpool_limits(1):
        if fold < 0:
            y = questions.targets[ask]
            task = questions.task
            whole = answer(
                questions.table, questions.values, y, task, options, seed, time_limit=limit
            )
            return place, whole
        return place, _measure(fold, ask, questions, parts[fold], options, seed, limit)


def _measure(
    fold: int,
    ask: int,
    questions: Questions,
    part: OuterPart,
    options: Options,
    seed: np.random.SeedSequence,
    limit: float | None,
) -> Measured:
    y = questions.targets[ask]
    train, test = part.train, part.test
    baseline = float(np.mean(y[train]))
    try:
        found = answer(
            questions.table.iloc[train],
            questions.values[train],
            y[train],
            questions.task,
            options,
            seed,
            time_limit=limit,
        )
        prediction = found.predict(questions.table.iloc[test])
    except (ParsimonError, np.linalg.LinAlgError) as error:
        nothing = np.empty(0)
        return Measured(
            fold=fold, question=ask, train=train, test=test, prediction=nothing,
            baseline=baseline, failure=f"Outer fold {fold + 1} failed: {error}",
        )  # fmt: skip
    words, variables = found_words(found)
    return Measured(
        fold=fold,
        question=ask,
        train=train,
        test=test,
        prediction=prediction,
        baseline=baseline,
        guide_error=found.search.best_candidate_.error,
        words=words,
        variables=variables,
    )
