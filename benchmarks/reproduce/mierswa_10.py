"""Chapter 10 of Mierswa (2009): features taken over from earlier tasks.

Cases are constructed as in the source: YAGGA2 from the columns alone, populations of 10, 200
generations for TRANSFER-1 and 400 for TRANSFER-2; there are fewer of them and fewer tests than
there. What is taken over goes, beside the columns, into a linear regression, judged by ten folds.

Errors are root mean squares over the spread of the target, averaged over tests, unless a row says
otherwise: the printed relative errors divide by targets that go through zero, so that single rows
decide. Those of TRANSFER-1 are sums of absolute errors over sums of absolute targets. Seconds are
those of one processor. Table 10.1 needs the Garageband clips, which are not public. The source's
ten tables for YAGGA3 are unknown; ours are the first ten further tasks of TRANSFER-2 that not every
run of YAGGA2 solves exactly, and searches end by generations, not by the clock.
"""

import hashlib
import json
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.reproduce import _mierswa_10_tasks as printed
from benchmarks.reproduce._mierswa_10_tasks import NAMES, OPERATIONS, RandomTask, random_task
from benchmarks.reproduce._resume import results_folder, run_all
from benchmarks.rows import Row, median_seconds
from parsimon._typing import Array
from parsimon.features import (
    Case,
    CaseBase,
    CaseRecall,
    ColumnCache,
    Expression,
    FeatureTransfer,
    ParetoConstructor,
    describe_task,
    parse,
    task_weights,
    weighting_violations,
)
from parsimon.features._filters import FILTERS

N_NEAREST = 10
TEST_SEED, YAGGA_SEED = 100_000, 200_000
# A task that every run of YAGGA2 solves to this error leaves nothing to be better at.
EXACT = 1e-6
# How cases are weighed and compared for TRANSFER-1, and with copies of columns.
FORMS: dict[str, tuple[Literal["manhattan", "euclidean"], bool]] = {
    "svm": ("manhattan", False),
    "relief": ("euclidean", False),
    "svm_copies": ("manhattan", True),
    "relief_copies": ("euclidean", True),
}


@dataclass(frozen=True)
class Sizes:
    """How much is run.

    `parts` are sizes of the case base, `stored` that of the index, `of_cases` the generations of
    the searches that make cases of TRANSFER-1 and TRANSFER-2.
    """

    parts: tuple[int, ...]
    tests: int
    constructed: int
    searched: int
    runs: int
    tasks: int
    generations: int
    stored: int
    of_cases: tuple[int, int]


FULL = Sizes((50, 100, 250), 241, 100, 20, 10, 10, 100, 100_000, (200, 400))
QUICK = Sizes((3, 5), 3, 1, 1, 1, 2, 6, 2000, (30, 30))


@dataclass(frozen=True)
class Construction:
    """A task for which features are constructed from the columns alone."""

    kind: int
    seed: int
    generations: int


@dataclass(frozen=True)
class Transfer:
    """A test for which cases are looked up in parts of a case base."""

    kind: int
    seed: int
    folder: str
    parts: tuple[int, ...]


@dataclass(frozen=True)
class Search:
    """A search of so many generations; with cases it is YAGGA3, else YAGGA2."""

    seed: int
    run: int
    n_cases: int
    generations: int
    folder: str


@dataclass(frozen=True)
class Default:
    """A test for which the default search constructs features."""

    kind: int
    seed: int


def rows(*, quick: bool) -> list[Row]:
    """Return all rows of the chapter that can be run."""
    sizes = QUICK if quick else FULL
    print("Table 10.1 is left out: the Garageband clips and taxonomies are not public.")
    file = None if quick else "mierswa-10.jsonl"
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if quick else None
        made = transfer_1_rows(sizes, file, place)
        folder = case_folder(2, sizes, file, place)
        made += table_10_2_rows(sizes, file, folder)
        made += yagga_rows(sizes, file, folder)
        made += speed_rows(sizes, file, folder)
        made += [index_row(sizes.stored), *axiom_rows()]
    return made


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
    forms = FORMS if job.kind == 1 else ("svm",)
    cases = {form: described(task, job.seed, form, formulas).to_dict() for form in forms}
    return {"cases": cases, "seconds": seconds, **judged(task, formulas)}


def source_search(job: Construction) -> ParetoConstructor:
    """Return YAGGA2 with the source's sizes."""
    return ParetoConstructor(
        "regression",
        random_state=job.seed,
        operations=OPERATIONS,
        population_size=10,
        crossover_rate=0.5,
        max_iter=job.generations,
        start="columns",
    )


def described(task: RandomTask, seed: int, form: str, formulas: Sequence[str] = ()) -> Case:
    """Return a task as a case of one form, with its seed as title."""
    is_copied = FORMS[form][1]
    X = printed.with_copies(task.X, seed) if is_copied else task.X
    names = printed.names_with_copies() if is_copied else NAMES
    case = describe_task(X, task.y, names=names, formulas=formulas, title=str(seed))
    if not form.startswith("relief"):
        return case
    weights = FILTERS["Relief"](X, task.y, "regression")
    named = dict(zip(names, weights.tolist(), strict=True))
    return Case(named, case.centres, case.spreads, case.formulas, case.title)


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


def transfer(job: Transfer) -> dict[str, Any]:
    """Return the errors of a test by method and part of the case base."""
    task = random_task(job.kind, job.seed)
    by_method = transferred_1 if job.kind == 1 else transferred_2
    found = {"columns": judged(task, ())}
    for part in job.parts:
        for method, formulas in by_method(task, job, part).items():
            found[f"{method} {part}"] = judged(task, formulas)
    return found


def transferred_1(task: RandomTask, job: Transfer, part: int) -> dict[str, list[str]]:
    """Return the formulas of the ten nearest cases by weights and distance."""
    found = {}
    for form, (method, _) in FORMS.items():
        base = case_base(job.folder, form, part)
        near = base.retrieve(described(task, job.seed, form), N_NEAREST, method=method)
        found[form] = [text for each in near for text in each.case.formulas]
    return found


def transferred_2(task: RandomTask, job: Transfer, part: int) -> dict[str, Sequence[str]]:
    """Return the formulas of one case, and what `FeatureTransfer` takes of ten."""
    base = case_base(job.folder, "svm", part)
    asked = described(task, job.seed, "svm")
    drawn = base.cases[int(np.random.default_rng(job.seed).integers(len(base)))]
    found: dict[str, Sequence[str]] = {"random": drawn.formulas}
    for method in ("euclidean", "manhattan"):
        found[method] = base.retrieve(asked, 1, method=method)[0].case.formulas
    # Formulas are compared with those of every case in one part only: it takes long.
    for method in ("two_phase", "sampled") if part == job.parts[1] else ("two_phase",):
        found[method] = fitted(base, task, method=method, n_cases=1).neighbours_[0].case.formulas
    found["ten cases"] = fitted(base, task).case_.formulas
    return found


def fitted(base: CaseBase, task: RandomTask, **options: Any) -> FeatureTransfer:
    """Return features of cases alone, fitted to a task."""
    return FeatureTransfer(base, constructor=False, store=False, **options).fit(task.X, task.y)


def means(found: Sequence[Mapping[str, Any]], method: str, measure: str = "error") -> Array:
    """Return a measure of every test, shape (n_tests,)."""
    return np.array([each[method][measure] for each in found])


def transfer_1_rows(sizes: Sizes, file: str | None, place: Path | None) -> list[Row]:
    """Return section 10.6.1: relative errors of SVM with Manhattan and Relief with Euclid."""
    folder = case_folder(1, sizes, file, place)
    seeds = [TEST_SEED + number for number in range(sizes.constructed)]
    built_for = [Construction(1, seed, sizes.of_cases[0]) for seed in seeds]
    best = run_jobs(built_for, construct, "TRANSFER-1 tests", file)
    jobs = [Transfer(1, seed, folder, sizes.parts) for seed in seeds]
    found = run_jobs(jobs, transfer, "TRANSFER-1", file)
    base = 100 * float(means(found, "columns", "relative").mean())
    built = 100 * float(np.mean([each["relative"] for each in best]))
    metric = "relative error %, 10-fold"
    note = f"{len(seeds)} tests (source 200)"
    made = [
        Row("TRANSFER-1, columns only", f"{metric}; printed", base, printed.BASE_ERROR, note=note),
        Row(
            "TRANSFER-1, construction",
            f"{metric}; printed",
            built,
            printed.CONSTRUCTED_ERROR,
            note="YAGGA2 from columns, 200 generations of 10",
        ),
    ]
    for case, ending in (("TRANSFER-1", ""), ("TRANSFER-1A, 4 copies of x0", "_copies")):
        for part in sizes.parts:
            svm = 100 * means(found, f"svm{ending} {part}", "relative").mean()
            relief = 100 * means(found, f"relief{ending} {part}", "relative").mean()
            made.append(
                Row(
                    f"{case}, {part} cases, 10 nearest",
                    f"{metric}; Relief + Euclid",
                    float(svm),
                    float(relief),
                    bar=1.0 if part == sizes.parts[-1] and sizes is FULL else None,
                    note=f"columns only {base:.2f}, construction {built:.2f}",
                )
            )
    last = 100 * float(means(found, f"svm {sizes.parts[-1]}", "relative").mean())
    made.append(
        Row(
            f"TRANSFER-1, {sizes.parts[-1]} cases, 10 nearest",
            f"{metric}; columns only",
            last,
            base,
            bar=1.0 if sizes is FULL else None,
            note=f"{(base - last) / (base - built):.0%} of what construction gains",
        )
    )
    return made


def table_10_2_rows(sizes: Sizes, file: str | None, folder: str) -> list[Row]:
    """Return table 10.2: one case by each method, and ten as `FeatureTransfer` takes them."""
    jobs = [Transfer(2, TEST_SEED + n, folder, sizes.parts) for n in range(sizes.tests)]
    found = run_jobs(jobs, transfer, "Table 10.2", file)
    none = float(means(found, "columns").mean())
    made = []
    for part in sizes.parts:
        errors = {
            method: means(found, f"{method} {part}")
            for method in ("random", "euclidean", "manhattan", "two_phase", "ten cases")
        }
        case = f"Table 10.2, {part} cases, one taken"
        told = printed.TABLE_10_2.get(part, {})
        for better, worse in (
            ("two_phase", "manhattan"),
            ("manhattan", "euclidean"),
            ("euclidean", "random"),
        ):
            made.append(order_row(case, better, worse, errors, told, judged_so=sizes is FULL))
        by_rows = {
            method: float(np.median(means(found, f"{method} {part}", "printed")))
            for method in ("random", "euclidean", "manhattan", "two_phase")
        }
        listed = ", ".join(f"{method} {value:.3f}" for method, value in by_rows.items())
        made += [
            Row(
                f"{case}, random",
                "error; columns only",
                float(errors["random"].mean()),
                none,
                note=f"median relative error of rows, median of tests: {listed}",
            ),
            Row(
                f"Table 10.2, {part} cases, ten taken",
                "error; 2-phase, one case",
                float(errors["ten cases"].mean()),
                float(errors["two_phase"].mean()),
                note="FeatureTransfer's default: features of ten that help",
            ),
        ]
    part = sizes.parts[1]
    made.append(
        Row(
            f"Table 10.2, {part} cases, one taken, sampled distance to all",
            "error; 2-phase",
            float(means(found, f"sampled {part}").mean()),
            float(means(found, f"two_phase {part}").mean()),
            note="printed 0.109 beside 0.106",
        )
    )
    return made


def order_row(
    case: str,
    better: str,
    worse: str,
    errors: Mapping[str, Array],
    told: Mapping[str, float],
    *,
    judged_so: bool,
) -> Row:
    """Return the error of a method beside that of a worse one.

    Manhattan may equal Euclid, so that one standard error of paired differences is allowed there:
    four tests of five get the same case from both, and what is left is chance.
    """
    difference = errors[better] - errors[worse]
    allowed = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    peer = float(errors[worse].mean())
    least = peer / (peer + allowed) if better == "manhattan" else 1.0
    shown = f"printed {told.get(better, np.inf):g} beside {told.get(worse, np.inf):g}"
    return Row(
        f"{case}, {better}",
        f"error; {worse}",
        float(errors[better].mean()),
        peer,
        bar=least if judged_so else None,
        note=f"{shown if told else 'not printed'}; se of difference {allowed:.4f}",
    )


def search(job: Search) -> dict[str, Any]:
    """Return the error on fresh rows of the best formula of a search."""
    task = random_task(2, job.seed, 1000)
    base = None
    if job.n_cases:
        base = CaseRecall(CaseBase(Path(job.folder) / "svm"), n_cases=job.n_cases)
    model = ParetoConstructor(
        "regression",
        random_state=job.run,
        operations=OPERATIONS,
        population_size=10,
        max_iter=job.generations,
        start="columns",
        choose="best:error",
        case_base=base,
    )
    begin = time.process_time()
    model.fit(task.X[:500], task.y[:500])
    seconds = time.process_time() - begin
    left = task.y[500:] - model.predict(task.X[500:])
    return {"error": float(np.sqrt((left**2).mean()) / task.y.std()), "seconds": seconds}


def searched_errors(
    seeds: Sequence[int], n_cases: int, sizes: Sizes, file: str | None, folder: str
) -> Array:
    """Return the error of each task in each run, shape (n_tasks, n_runs)."""
    jobs = [
        Search(seed, run, n_cases, sizes.generations, folder)
        for seed in seeds
        for run in range(sizes.runs)
    ]
    answers = run_jobs(jobs, search, f"YAGGA with {n_cases} cases", file)
    return np.array([each["error"] for each in answers]).reshape(len(seeds), sizes.runs)


def yagga_rows(sizes: Sizes, file: str | None, folder: str) -> list[Row]:
    """Return figure 10.10: searches that ask the case base beside those that do not."""
    from scipy.stats import ttest_rel, wilcoxon

    found: dict[int, Array] = {}
    open_tasks: dict[int, Array] = {}
    seed = YAGGA_SEED
    while len(open_tasks) < sizes.tasks:
        errors = searched_errors([seed], 0, sizes, file, folder)
        if errors.mean() > EXACT:
            open_tasks[seed] = errors[0]
        seed += 1
    found[0] = np.array(list(open_tasks.values()))
    for n_cases in (2, 5):
        found[n_cases] = searched_errors(list(open_tasks), n_cases, sizes, file, folder)
    made = []
    for n_cases, told in ((2, "better"), (5, "significantly better on 9")):
        ours, peer = found[n_cases], found[0]
        wins = int((ours.mean(axis=1) < peer.mean(axis=1)).sum())
        sure = 0
        if sizes.runs > 2:
            by_t = ttest_rel(ours, peer, axis=1).pvalue
            pairs = zip(ours, peer, strict=True)
            by_rank = [float(wilcoxon(a, b).pvalue) if (a != b).any() else 1.0 for a, b in pairs]
            better = ours.mean(axis=1) < peer.mean(axis=1)
            sure = int(((np.minimum(by_t, by_rank) < 0.01) & better).sum())
        made.append(
            Row(
                f"YAGGA3, {n_cases} cases, {sizes.generations} generations",
                f"tasks of {sizes.tasks} with less error than YAGGA2; wanted 7 of 10",
                wins,
                0.7 * sizes.tasks,
                higher_is_better=True,
                bar=1.0 if sizes is FULL else None,
                note=f"{sizes.runs} runs each; significant at 1 %: {sure}; printed: {told}",
            )
        )
        made.append(
            Row(
                f"YAGGA3, {n_cases} cases, {sizes.generations} generations",
                "error on fresh rows, all tasks; YAGGA2",
                float(ours.mean()),
                float(peer.mean()),
            )
        )
    return made


def default_search(job: Default) -> dict[str, Any]:
    """Return seconds and errors of the default search for a test."""
    task = random_task(job.kind, job.seed)
    model = ParetoConstructor("regression", random_state=0, operations=OPERATIONS)
    begin = time.process_time()
    model.fit(task.X, task.y)
    seconds = time.process_time() - begin
    return {"seconds": seconds, **judged(task, map(str, model.best_estimator_.features))}


def speed_rows(sizes: Sizes, file: str | None, folder: str) -> list[Row]:
    """Return how much sooner cases give features than a search does."""
    seeds = [TEST_SEED + number for number in range(sizes.searched)]
    searched = run_jobs([Default(2, s) for s in seeds], default_search, "Default searches", file)
    built = [Construction(2, seed, sizes.of_cases[1]) for seed in seeds]
    source = run_jobs(built, construct, "The source's searches", file)
    base = case_base(folder, "svm", sizes.parts[-1])
    seconds = {
        method: float(np.median([transfer_seconds(base, random_task(2, s), method) for s in seeds]))
        for method in ("manhattan", "two_phase", "sampled")
    }
    full = float(np.mean([each["seconds"] for each in searched]))
    small = float(np.mean([each["seconds"] for each in source]))
    error = float(np.mean([each["error"] for each in searched]))
    made = []
    for method in ("manhattan", "two_phase"):
        made.append(
            Row(
                f"FeatureTransfer, {method}, ten of {sizes.parts[-1]} cases",
                "seconds of a fit; ParetoConstructor's default search",
                seconds[method],
                full,
                bar=50.0 if sizes is FULL else None,
                note=f"printed ratio {printed.SPEED_UP[method]:.1f}; search's error {error:.3f}",
            )
        )
    made.append(
        Row(
            "FeatureTransfer, two_phase",
            "seconds of a fit; YAGGA2 from columns, 400 generations of 10",
            seconds["two_phase"],
            small,
            note="the search that made the cases",
        )
    )
    made.append(
        Row(
            "FeatureTransfer, two_phase",
            "seconds of a fit; sampled distance to all cases",
            seconds["two_phase"],
            seconds["sampled"],
            note=f"printed ratio {printed.SPEED_UP['two_phase'] / printed.SPEED_UP['sampled']:.1f}",
        )
    )
    return made


def transfer_seconds(base: CaseBase, task: RandomTask, method: str) -> float:
    """Return the processor time of a fit, the second of two."""
    fitted(base, task, method=method)
    begin = time.process_time()
    fitted(base, task, method=method)
    return time.process_time() - begin


def index_row(n_cases: int) -> Row:
    """Return the time of a query among many cases beside a scan of all."""
    weights = np.random.default_rng(0).normal(size=(n_cases, 5))
    zero, one = dict.fromkeys(NAMES, 0.0), dict.fromkeys(NAMES, 1.0)
    base = CaseBase()
    base.extend(
        Case(dict(zip(NAMES, row, strict=True)), zero, one, ["exp(x0)"]) for row in weights.tolist()
    )
    asked = np.random.default_rng(1).normal(size=5)
    task = Case(dict(zip(NAMES, asked.tolist(), strict=True)), zero, one)
    ours, scan = median_seconds(
        [
            lambda: base.retrieve(task, 10),
            lambda: np.argsort(np.abs(weights - asked).sum(axis=1), kind="stable")[:10],
        ]
    )
    return Row(
        f"Ten nearest of {n_cases:,} cases",
        "milliseconds; numpy over all",
        1000 * ours,
        1000 * scan,
        bar=1.0 if n_cases >= FULL.stored else None,
        note="the tree is built in the first query",
    )


def axiom_rows() -> list[Row]:
    """Return how far weights break the axioms W1 to W4: the machine's, and Relief's."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    y = X[:, 0] + np.sin(X[:, 1]) + X[:, 2] * X[:, 3]
    ours = weighting_violations(task_weights, X, y)
    peer = weighting_violations(lambda X, y: FILTERS["Relief"](X, y, "regression"), X, y)
    return [
        Row(
            f"Axiom {axiom}, linear SVM, C = 10",
            "largest violation over largest weight; Relief",
            ours[axiom],
            peer[axiom],
            note="theorem 10.2 holds in the limit of many rows and no penalty",
        )
        for axiom in ours
    ]
