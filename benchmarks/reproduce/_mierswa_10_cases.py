"""Cases of chapter 10 of Mierswa (2009): how they are constructed, described, kept and judged."""

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reproduce import _mierswa_10_tasks as printed
from benchmarks.reproduce._mierswa_10_tasks import NAMES, OPERATIONS, RandomTask, random_task
from benchmarks.reproduce._mierswa_filters import FILTERS
from benchmarks.reproduce._resume import results_folder, run_all
from parsimon.features import (
    Case,
    CaseBase,
    ColumnCache,
    Expression,
    FeatureTransfer,
    ParetoConstructor,
    describe_task,
    parse,
)

# How tasks are weighed: by the machine as `describe_task` does, by its slopes alone as the source
# did, or by Relief; TRANSFER-1A with copies of a column.
FORMS = {
    1: ("svm", "slopes", "relief", "svm_copies", "slopes_copies", "relief_copies"),
    2: ("svm", "slopes"),
}


@dataclass(frozen=True)
class Sizes:
    """How much is run.

    `parts` are sizes of the case base, `paired` the tests in which two distances are compared,
    `stored` the size of the index, `of_cases` the generations of the searches that make cases of
    TRANSFER-1 and TRANSFER-2.
    """

    parts: tuple[int, ...]
    tests: tuple[int, int]
    paired: int
    constructed: int
    searched: int
    runs: int
    tasks: int
    generations: int
    stored: int
    of_cases: tuple[int, int]


FULL = Sizes((50, 100, 250), (200, 241), 1000, 100, 20, 10, 10, 100, 100_000, (200, 400))
QUICK = Sizes((3, 5), (3, 3), 3, 1, 1, 1, 2, 6, 2000, (30, 30))


@dataclass(frozen=True)
class Construction:
    """A task for which features are constructed from the columns alone."""

    kind: int
    seed: int
    generations: int


def run_jobs(jobs: Sequence[Any], work: Any, title: str, file: str | None) -> list[dict[str, Any]]:
    """Return the results of jobs in their order, those known from the file."""
    found = run_all(jobs, work, title=title, file_name=file, n_processes=1)
    return [found[job] for job in jobs]


def construct(job: Construction) -> dict[str, Any]:
    """Construct features as the source did, and describe the case in every form."""
    task = random_task(job.kind, job.seed)
    search = source_search(job)
    begin = time.process_time()
    search.fit(task.X, task.y)
    seconds = time.process_time() - begin
    formulas = [str(each) for each in search.best_estimator_.features if each.arguments]
    cases = {form: described(task, job.seed, form, formulas).to_dict() for form in FORMS[job.kind]}
    return {"cases": cases, "seconds": seconds, **judged(task, formulas)}


def source_search(job: Construction) -> ParetoConstructor:
    """Return YAGGA2 with the source's sizes."""
    return ParetoConstructor(
        "regression",
        random_state=job.seed,
        operations=OPERATIONS,
        population_size=10,
        max_iter=job.generations,
        start="columns",
    )


def described(task: RandomTask, seed: int, form: str, formulas: Sequence[str] = ()) -> Case:
    """Return a task as a case of one form, with its seed as title."""
    is_copied = form.endswith("_copies")
    X = printed.with_copies(task.X, seed) if is_copied else task.X
    names = printed.names_with_copies() if is_copied else NAMES
    case = describe_task(
        X,
        task.y,
        names=names,
        formulas=formulas,
        title=str(seed),
        products=form.startswith("svm"),
        shares=form.startswith("svm"),
    )
    if not form.startswith("relief"):
        return case
    weights = FILTERS["Relief"](X, task.y, "regression")
    return replace(case, weights=dict(zip(names, weights.tolist(), strict=True)))


def judged(task: RandomTask, formulas: Iterable[str]) -> dict[str, float]:
    """Return errors of a linear regression on columns and formulas, by ten folds.

    "error" is the root mean square over the spread of the target, "relative" the absolute error
    over the absolute target, "printed" the median of the measure of table 10.2.
    """
    features = {parse(text) for text in formulas} - {Expression.column(name) for name in NAMES}
    ordered = sorted(features, key=lambda each: each.key)
    table = ColumnCache(dict(zip(NAMES, task.X.T, strict=True)))
    columns = np.column_stack([task.X, table.matrix(ordered)])
    columns = columns[:, (np.ptp(columns, axis=0) > 0) & (np.abs(columns).max(axis=0) < 1e12)]
    predicted = np.empty(len(task.y))
    for held in np.array_split(np.random.default_rng(0).permutation(len(task.y)), 10):
        kept = np.setdiff1d(np.arange(len(task.y)), held)
        centre, spread = columns[kept].mean(axis=0), columns[kept].std(axis=0)
        scaled = (columns - centre) / np.where(spread > 0, spread, 1.0)
        mean = task.y[kept].mean()
        weights = np.linalg.lstsq(scaled[kept], task.y[kept] - mean, rcond=1e-9)[0]
        predicted[held] = mean + scaled[held] @ weights
    left, size = np.abs(task.y - predicted), np.abs(task.y)
    least = np.maximum(np.minimum(size, np.abs(predicted)), 1e-9)
    return {
        "error": float(np.sqrt((left**2).mean()) / task.y.std()),
        "relative": float(left.sum() / size.sum()),
        "printed": float(np.median(left / least)),
    }


def case_folder(kind: int, sizes: Sizes, file: str | None, place: Path | None) -> str:
    """Construct the cases of a kind, put them on disk, and return their folder."""
    n_generations = sizes.of_cases[kind - 1]
    jobs = [Construction(kind, seed, n_generations) for seed in range(sizes.parts[-1])]
    found = run_jobs(jobs, construct, f"Cases of TRANSFER-{kind}", file)
    text = json.dumps([each["cases"] for each in found])
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    folder = (place or results_folder()) / f"mierswa_10_cases_{kind}_{digest}"
    for form in found[0]["cases"]:
        CaseBase(folder / form).extend(Case(**each["cases"][form]) for each in found)
    return str(folder)


@lru_cache(maxsize=40)
def case_base(folder: str, form: str, part: int) -> CaseBase:
    """Return the first so many cases of a folder."""
    base = CaseBase()
    base.extend(each for each in CaseBase(Path(folder) / form) if int(each.title) < part)
    return base


def fitted(base: CaseBase, task: RandomTask, **options: Any) -> FeatureTransfer:
    """Return features of cases alone, fitted to a task."""
    return FeatureTransfer(base, constructor=False, store=False, **options).fit(task.X, task.y)
