"""Tables 5.1, 5.3 and 6.2 of He (2016) beside ours, and peers on equal terms.

The published tables mix two kinds of number: some NLMLs belong to one training part of a
5-fold partition, others to all rows, and three "cross-validated" errors are those of the training
rows. Here every NLML says which rows it belongs to and every error is cross-validated: the mean
over several shuffled 5-fold partitions, without a choice made on them.

A published kernel was found with all rows in sight. The last rows are free of that: our search,
with the source's settings and with its defaults, and other classifiers with a grid of their
settings are run inside each training part of the same partitions (`_autogpc_nested`). These jobs
run on two processes, and a run that was stopped goes on where it was.

Bars: an error may lie one and a half points above the printed one, and must be below that of the
larger class, of a guess and of logistic regression.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_ind
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import parsimon
from benchmarks.reproduce import _autogpc_data, _autogpc_jobs, _autogpc_tables
from benchmarks.reproduce._autogpc_data import data_set
from benchmarks.reproduce._autogpc_jobs import (
    DEFAULTS,
    N_FOLDS,
    PEERS,
    PUBLISHED,
    SOURCE,
    Job,
    JudgedKernel,
    Search,
    Trained,
    kernels_of,
    partition,
    work,
)
from benchmarks.reproduce._autogpc_tables import TABLE_5_1, TABLE_5_3, TABLE_6_2
from benchmarks.reproduce._resume import N_PROCESSES, run_all
from benchmarks.rivals import (
    CONSTANT,
    GUESS,
    LOGISTIC,
    allowed_above,
    classify_plainly,
    turned,
)
from benchmarks.rows import Row
from parsimon._typing import Array
from parsimon.exceptions import DatasetNotFoundError
from parsimon.kernels import Kernel, SquaredExponential, plain

SE = SquaredExponential

# The components' text, not the table, has the NLML of the whole model on all rows.
FULL_PIMA_NLML = 353.28
ALLOWED_NLML, ALLOWED_POINTS = 0.5, 1.5
# Shuffled partitions for kernels, and for searches and peers inside their training parts.
N_PARTITIONS, N_NESTED, QUICK_PARTITIONS = 10, 2, 1
# Of the five folds in which searches and peers are trained.
QUICK_FOLDS = 1
# Of the searches on all rows.
SEEDS = (0, 1)
QUICK_SETS = ("Iris", "Pima")

Found = Mapping[Any, Mapping[str, Any]]


def rows(*, quick: bool) -> list[Row]:
    """Return the rows of all data sets that can be loaded; `quick` searches on Iris alone."""
    columns = {}
    for name in QUICK_SETS if quick else TABLE_6_2:
        try:
            columns[name] = data_set(name)[0].shape[1]
        except DatasetNotFoundError as error:
            print(f"{name} is left out: {error}")
    jobs = [job for name in columns for job in all_jobs(name, columns[name], quick=quick)]
    own = Path(parsimon.__file__).parent
    modules = (_autogpc_data, _autogpc_jobs, _autogpc_tables)
    found = run_all(
        jobs,
        work,
        title="autogpc",
        file_name=None if quick else "autogpc.jsonl",
        code=[*(Path(one.__file__ or "") for one in modules), *(own / "gp").rglob("*.py")],
    )
    made: list[Row] = []
    judges: list[Judge] = []
    for name, n_columns in columns.items():
        judge = Judge(name, n_columns, QUICK_PARTITIONS if quick else N_PARTITIONS, found)
        judges.append(judge)
        made += [*(pima_tables(judge) if name == "Pima" else ()), *table_6_2(judge)]
        made += [*search_rows(judge, found), *nested_rows(name, found)]
    made.append(variables_row(judges))
    if quick:
        # Nothing is promised of one partition and one fold.
        made = [replace(row, bar=None) for row in made]
    return [*made, _time_row(found)]


def all_jobs(name: str, n_columns: int, *, quick: bool) -> list[Job]:
    """Return the jobs of a data set, the searches first, which take longest."""
    n_partitions = QUICK_PARTITIONS if quick else N_PARTITIONS
    judged = [JudgedKernel(name, text, n_partitions) for text in kernels_of(name, n_columns)]
    if quick and name != "Iris":
        return [*judged]
    searches = [Search(name, seed) for seed in (SEEDS[:1] if quick else SEEDS)]
    nested = [
        Trained(name, method, number, fold)
        for method in (SOURCE, DEFAULTS, PUBLISHED, *PEERS)
        for number in range(1 if quick else N_NESTED)
        for fold in range(QUICK_FOLDS if quick else N_FOLDS)
    ]
    return [*searches, *nested, *judged]


class Judge:
    """What was measured of the kernels of one data set."""

    def __init__(self, name: str, n_columns: int, n_partitions: int, found: Found) -> None:
        self.name, self.n_columns, self.n_partitions = name, n_columns, n_partitions
        self._found = found

    def __call__(self, kernel: Kernel) -> Mapping[str, float]:
        """Return all figures of a kernel."""
        return self._found[JudgedKernel(self.name, plain(kernel), self.n_partitions)]

    def error(self, kernel: Kernel) -> float:
        """Return the error in per cent, mean over partitions."""
        return self(kernel)["error"]

    def fold_nlml(self, kernel: Kernel) -> float:
        """Return the mean NLML of the training parts."""
        return self(kernel)["fold_nlml"]

    def nlml(self, kernel: Kernel) -> float:
        """Return the NLML of all rows."""
        return self(kernel)["nlml"]


def nlml_row(case: str, ours: float, published: float) -> Row:
    """Return a row that holds if ours is near the published NLML of all rows of Pima."""
    return Row(
        case,
        "NLML of all rows: distance, allowed",
        abs(ours - published),
        ALLOWED_NLML,
        bar=1.0,
        note=f"ours {ours:.2f}, published {published:.2f}",
        rivals=turned(plain_nlml("Pima"), lambda value: abs(value - published)),
    ).without_empty_bar()


@cache
def plain_nlml(name: str) -> dict[str, float]:
    """Return the negative log likelihood of shares, of a coin and of logistic regression."""
    X, y = data_set(name)
    share = float(np.mean(y > 0))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    return {
        CONSTANT: -len(y) * (share * np.log(share) + (1 - share) * np.log(1 - share)),
        GUESS: len(y) * np.log(2.0),
        LOGISTIC: len(y) * float(log_loss(y, model.predict_proba(X))),
    }


@cache
def plain_errors(name: str, n_partitions: int) -> dict[str, float]:
    """Return errors in per cent of a constant, a guess and logistic regression on these folds."""
    X, y = data_set(name)
    return classify_plainly(
        (X[train], y[train], X[test], y[test])
        for seed in range(n_partitions)
        for train, test in partition(X, seed)
    )


def error_row(case: str, metric: str, ours: float, printed: float, judge: "Judge") -> Row:
    """Return an error beside a printed one, which those who must miss have not reached."""
    return Row(
        case,
        f"{metric}; printed, allowed: {ALLOWED_POINTS:g} points",
        ours,
        printed,
        bar=printed / (printed + ALLOWED_POINTS),
        rivals=plain_errors(judge.name, judge.n_partitions),
    ).above_rivals()


def pima_tables(judge: Judge) -> list[Row]:
    """Return tables 5.1 and 5.3; only three published NLMLs belong to all rows."""
    made = []
    for table, lines in (("5.1", TABLE_5_1), ("5.3", TABLE_5_3)):
        for kernel, nlml, error, all_rows in lines:
            case = f"Table {table} Pima {plain(kernel)}"
            if all_rows:
                made.append(nlml_row(case, judge.nlml(kernel), nlml))
            else:
                made.append(Row(case, "NLML of a training part", judge.fold_nlml(kernel), nlml))
            made.append(Row(case, "error %", judge.error(kernel), error))
    full = TABLE_5_3[0][0]
    case = f"Table 5.3 Pima {plain(full)}"
    return [*made, nlml_row(case, judge.nlml(full), FULL_PIMA_NLML)]


def table_6_2(judge: Judge) -> list[Row]:
    """Return NLML and error of the published kernels, of one variable and of all."""
    name, published = judge.name, TABLE_6_2[judge.name]
    made = []
    for kernel, nlml, error in (
        (SE(published.variable - 1), published.nlml, published.error),
        (published.kernel, published.full_nlml, published.full_error),
    ):
        case = f"Table 6.2 {name} {plain(kernel)}"
        made.append(Row(case, "NLML of a training part", judge.fold_nlml(kernel), nlml, None))
        made.append(
            error_row(case, "error % of fresh partitions", judge.error(kernel), error, judge)
        )
    return made


def first_variable(judge: Judge) -> int:
    """Return the variable of least error, counted from 1; ties by the evidence."""
    kernels = [SE(column) for column in range(judge.n_columns)]
    keys = [(round(judge.error(kernel), 2), judge.nlml(kernel)) for kernel in kernels]
    return 1 + min(range(len(keys)), key=lambda column: keys[column])


def variables_row(judges: Sequence[Judge]) -> Row:
    """Return in how many sets the best first variable is the published one."""
    wanted = {judge.name: TABLE_6_2[judge.name].variable for judge in judges}
    ours = {judge.name: first_variable(judge) for judge in judges}
    return Row(
        "Table 6.2, best first variable",
        "sets in which it is the published one; sets",
        sum(ours[name] == wanted[name] for name in wanted),
        len(wanted),
        higher_is_better=True,
        bar=1.0,
        note=", ".join(f"{name} {ours[name]}, published {wanted[name]}" for name in wanted),
        rivals={
            CONSTANT: sum(variable == 1 for variable in wanted.values()),
            GUESS: float(sum(1.0 / judge.n_columns for judge in judges)),
            "greatest t": sum(greatest_t(name) == wanted[name] for name in wanted),
        },
    ).above_rivals()


def greatest_t(name: str) -> int:
    """Return the variable whose classes have means furthest apart, counted from 1."""
    X, y = data_set(name)
    found = ttest_ind(X[y > 0], X[y < 0], equal_var=False).statistic
    return 1 + int(np.abs(found).argmax())


def search_rows(judge: Judge, found: Found) -> list[Row]:
    """Return what our search finds with the source's settings; its guide is its own fold error."""
    own = [job for job in found if isinstance(job, Search) and job.data_set == judge.name]
    if not own:
        return []
    error = float(np.mean([found[job]["error"] for job in own]))
    case, printed = f"Table 6.2 {judge.name} searched", TABLE_6_2[judge.name].full_error
    row = error_row(case, "guide error %", error, printed, judge)
    return [replace(row, note="; ".join(found[job]["chosen"] for job in own))]


def nested_rows(name: str, found: Found) -> list[Row]:
    """Return nested searches beside tuned peers, and the published kernel beside ours."""
    errors = {
        method: nested_errors(name, method, found)
        for method in (SOURCE, DEFAULTS, PUBLISHED, *PEERS)
    }
    if not len(errors[SOURCE]):
        return []

    def beside(case: str, method: str, peer: str) -> Row:
        ours, theirs = errors[method], errors[peer]
        spread = corrected_error(theirs - ours)
        note = f"peer less ours {np.mean(theirs - ours):.2f}, standard error {spread:.2f}"
        metric = f"nested error %, {peer}"
        return Row(case, metric, float(ours.mean()), float(theirs.mean()), note=note)

    made = [beside(f"{name} {own}", own, peer) for own in (DEFAULTS, SOURCE) for peer in PEERS]
    made.append(_best_peer_row(name, errors))
    # Not on equal terms: the rows left out were seen when this kernel was found.
    case = f"{name} {PUBLISHED} {plain(TABLE_6_2[name].kernel)}"
    return [*made, beside(case, PUBLISHED, DEFAULTS)]


def _best_peer_row(name: str, errors: Mapping[str, Array]) -> Row:
    """Return our search beside the peer of least error, which is chosen on these very rows."""
    best = min(PEERS, key=lambda peer: float(errors[peer].mean()))
    ours, theirs = errors[DEFAULTS], errors[best]
    error = corrected_error(theirs - ours)
    return Row(
        f"{name} {DEFAULTS}",
        "nested error %; best tuned peer, allowed: 2 se of paired differences",
        float(ours.mean()),
        float(theirs.mean()),
        bar=allowed_above(float(theirs.mean()), error),
        note=f"{best}; standard error {error:.2f}",
        rivals=plain_errors(name, N_NESTED),
    ).above_rivals()


def nested_errors(name: str, method: str, found: Found) -> Array:
    """Return a method's errors in per cent, one a fold, in the order of the folds."""
    jobs = [job for job in found if isinstance(job, Trained)]
    own = [job for job in jobs if (job.data_set, job.method) == (name, method)]
    own.sort(key=lambda job: (job.partition, job.fold))
    return np.array([found[job]["error"] for job in own])


def corrected_error(differences: Array) -> float:
    """Return the standard error of a mean over folds that share training rows.

    Nadeau and Bengio (2003): the variance counts 1 / k + test rows / training rows. One fold has
    none.
    """
    if len(differences) < 2:
        return float("nan")
    share = 1.0 / len(differences) + 1.0 / (N_FOLDS - 1)
    return float(np.sqrt(share) * differences.std(ddof=1))


def _time_row(found: Found) -> Row:
    minutes = sum(float(one["seconds"]) for one in found.values()) / N_PROCESSES / 60.0
    return Row(
        f"all {len(found)} jobs",
        "minutes on two cores; peer: none",
        minutes,
        0.0,
        higher_is_better=None,
        note="half of the jobs' processor time: a resumed run counts them all",
    )
