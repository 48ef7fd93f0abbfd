"""The Bayes point machine beside logistic regression, SVMs and Gaussian processes; and streams.

Five tables, cut 60 / 10 / 30 into training, unused and held-out rows (nobody needs the middle: all
choose on their training rows), standardised by the training rows, clean and with 10 % and 20 % of
the training labels flipped. A log loss is minus the mean log probability of the held-out labels,
which are never flipped. GPy and `GPClassifier` see the first splits only, for their time.
"""

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data_folder import point_to_data
from benchmarks.reproduce._resume import run_all
from benchmarks.rivals import GUESS, classify_plainly, turned
from benchmarks.rows import Row
from parsimon._typing import Array, Indices

SETS = ("sonar", "wdbc", "heart", "ionosphere", "pima")
FILES = {"heart": "heart_cleveland", "pima": "pima_uci"}
FLIPS = (0.0, 0.1, 0.2)
N_SPLITS = 50
# Splits of those that take seconds for a fit.
FEWER = {"GPClassifier": 10, "GPy EP": 5}
# What the default must gain in mean log probability with learnt label noise, over five tables.
GAIN = 0.02
LOGISTIC, DEFAULT, LEARNT = "logistic", "BPM", "BPM, label noise learnt"
# Who must miss a bar, besides a coin.
BASE, UNTUNED = "base rate", "logistic, nothing set"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MOST_SECONDS, MOST_MEGABYTES, MOST_POINTS = 60.0, 200.0, 0.5
BATCH, N_COLUMNS = 5_000, 20


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegressionCV

    return LogisticRegressionCV(
        Cs=np.logspace(-3, 2, 6), cv=5, scoring="neg_log_loss", max_iter=1000
    )


def _base_rate() -> Any:
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior")


def _untuned() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _default() -> Any:
    from parsimon.bpm import BayesPointClassifier

    return BayesPointClassifier()


def _learnt() -> Any:
    from parsimon.bpm import BayesPointClassifier

    return BayesPointClassifier(label_noise="learn")


def _svm(kernel: str) -> Callable[[], Any]:
    def made() -> Any:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.svm import SVC

        return CalibratedClassifierCV(SVC(kernel=kernel))

    return made


def _gp() -> Any:
    from parsimon.gp import GPClassifier

    return GPClassifier(random_state=0)


class _GPy:
    """GPy's classifier: expectation propagation, a Gaussian kernel, a line and a constant."""

    def fit(self, X: Array, y: Indices) -> "_GPy":
        import GPy

        k = X.shape[1]
        kernel = GPy.kern.RBF(k, lengthscale=np.sqrt(k)) + GPy.kern.Linear(k) + GPy.kern.Bias(k)
        self.model = GPy.models.GPClassification(X, y[:, None].astype(float), kernel=kernel)
        self.model.optimize("lbfgsb", max_iters=50)
        return self

    def predict_proba(self, X: Array) -> Array:
        share = self.model.predict(X)[0][:, 0]
        return np.column_stack([1 - share, share])


MODELS: dict[str, Callable[[], Any]] = {
    DEFAULT: _default,
    LEARNT: _learnt,
    LOGISTIC: _logistic,
    UNTUNED: _untuned,
    BASE: _base_rate,
    "linear SVM, calibrated": _svm("linear"),
    "RBF SVM, calibrated": _svm("rbf"),
    "GPClassifier": _gp,
    "GPy EP": _GPy,
}


@dataclass(frozen=True)
class Job:
    """One model on all its splits of one table."""

    data: str
    model: str
    flipped: float
    n_splits: int

    def __str__(self) -> str:
        return f"{self.model} on {self.data}, {self.flipped:.0%} flipped"


def rows(*, quick: bool) -> list[Row]:
    """Return errors and log losses of all tables, the bars, and what large tables take."""
    point_to_data()
    sets = ("wdbc",) if quick else SETS
    jobs = [
        Job(data, model, flipped, 2 if quick else FEWER.get(model, N_SPLITS))
        for data in sets
        for flipped in FLIPS
        for model in MODELS
        if not (quick and model in FEWER)
    ]
    found = run_all(jobs, measured, title="bpm", file_name=None if quick else "bpm.jsonl")
    by_case = {
        (data, flipped): {
            job.model: found[job] for job in jobs if (job.data, job.flipped) == (data, flipped)
        }
        for data in sets
        for flipped in FLIPS
    }
    made = [row for case, results in by_case.items() for row in _table(*case, results)]
    made += [_gained(flipped, sets, by_case) for flipped in FLIPS[1:]]
    return made + _large(quick) + _stream(quick)


def _table(data: str, flipped: float, results: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Return a row for each model beside ours, on the splits that it saw."""
    case = data if not flipped else f"{data}, {flipped:.0%} of training labels flipped"
    own = results[DEFAULT if not flipped else LEARNT]
    made = []
    for name, theirs in results.items():
        if theirs is own:
            continue
        k = len(theirs["loss"])
        ours, peer = (float(np.mean(one["loss"][:k])) for one in (own, theirs))
        errors = [float(np.mean(one["error"][:k])) for one in (own, theirs)]
        made.append(
            Row(
                case,
                f"log loss; {name}",
                ours,
                peer,
                bar=1.0 if name == LOGISTIC and not flipped else None,
                note=f"error {errors[0]:.4f}; {errors[1]:.4f}; {k} splits; "
                f"{own['seconds']:.2f} s; {theirs['seconds']:.2f} s a fit",
                rivals=_plain_losses(results) if name == LOGISTIC else {},
            ).above_rivals()
        )
    return made


def _plain_losses(results: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return log losses of those who must miss a bar: of two classes a coin has log 2."""
    known = {name: float(np.mean(results[name]["loss"])) for name in (BASE, UNTUNED)}
    return {**known, GUESS: float(np.log(2.0))}


def _gained(
    flipped: float,
    sets: Sequence[str],
    by_case: Mapping[tuple[str, float], Mapping[str, Mapping[str, Any]]],
) -> Row:
    logistic = {data: float(np.mean(by_case[data, flipped][LOGISTIC]["loss"])) for data in sets}
    gains = {
        data: logistic[data] - float(np.mean(by_case[data, flipped][LEARNT]["loss"]))
        for data in sets
    }
    losses = {data: _plain_losses(by_case[data, flipped]) for data in sets}
    return Row(
        f"all tables, {flipped:.0%} of training labels flipped",
        f"mean log probability gained over logistic by learning the label noise; {GAIN}",
        float(np.mean(list(gains.values()))),
        GAIN,
        higher_is_better=True,
        bar=1.0,
        note=", ".join(f"{data} {gain:+.3f}" for data, gain in gains.items()),
        rivals={
            name: float(np.mean([logistic[data] - losses[data][name] for data in sets]))
            for name in losses[sets[0]]
        },
    ).above_rivals()


def measured(job: Job) -> dict[str, Any]:
    """Return errors and log losses of a model on each of its splits."""
    X, y = table(job.data)
    errors, losses, spent = [], [], 0.0
    for seed in range(job.n_splits):
        train, test, labels = split(y, seed, job.flipped)
        centre, unit = X[train].mean(axis=0), X[train].std(axis=0)
        unit[unit == 0] = 1.0
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MODELS[job.model]().fit((X[train] - centre) / unit, labels)
            chances = np.asarray(model.predict_proba((X[test] - centre) / unit))
        spent += time.perf_counter() - begin
        own = np.clip(chances[np.arange(len(test)), y[test]], 1e-15, None)
        errors.append(float(np.mean(np.argmax(chances, axis=1) != y[test])))
        losses.append(-float(np.mean(np.log(own))))
    return {"error": errors, "loss": losses, "seconds": spent / job.n_splits}


def split(y: Indices, seed: int, flipped: float) -> tuple[Indices, Indices, Indices]:
    """Return training and held-out rows of a split, and the training labels, some flipped."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    train, test = order[: round(0.6 * len(y))], order[round(0.7 * len(y)) :]
    is_flipped = rng.random(len(train)) < flipped
    return train, test, np.where(is_flipped, 1 - y[train], y[train])


def table(name: str) -> tuple[Array, Indices]:
    """Return the numbers of a table, rows with missing cells left out, and classes 0 and 1."""
    if name == "wdbc":
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        return X, y
    import pandas as pd

    from parsimon.datasets import load

    data = load(FILES.get(name, name))
    frame = pd.get_dummies(pd.DataFrame(data.data), drop_first=True, dtype=float)
    complete = frame.notna().all(axis=1).to_numpy()
    codes = np.unique(np.asarray(data.target)[complete], return_inverse=True)[1]
    numbers = frame.to_numpy(np.float64)[complete]
    return numbers[:, np.ptp(numbers, axis=0) > 0], codes


def _large(quick: bool) -> list[Row]:
    """Return what a fit with hyperparameters takes, and how that grows with the rows."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sizes = (5000, 20_000) if quick else (20_000, 40_000, 80_000)
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    seconds = {}
    for n in sizes:
        X, y = next(drawn(n, 50, n))
        seconds[n] = [_core_seconds(_default(), X, y)]
        if n == 20_000:
            seconds[n].append(_core_seconds(logistic, X, y))
    least, most = sizes[0], sizes[-1]
    return [
        Row(
            "20,000 x 50, hyperparameters too",
            "seconds of one core; 1",
            seconds[20_000][0],
            1.0,
            bar=1.0,
            note=f"LogisticRegression at its default C: {seconds[20_000][1]:.2f} s",
        ),
        Row(
            f"{least:,} to {most:,} x 50",
            "growth of the seconds; of the rows",
            seconds[most][0] / seconds[least][0],
            most / least,
            note=", ".join(f"{n:,}: {one[0]:.2f} s" for n, one in seconds.items()),
        ),
    ]


def _core_seconds(model: Any, X: Array, y: Indices) -> float:
    """Return the median seconds of one core for a fit, whatever else the machine does."""
    spent = []
    for _ in range(3):
        begin = time.process_time()
        model.fit(X, y)
        spent.append(time.process_time() - begin)
    return float(np.median(spent))


def drawn(n: int, n_columns: int, batch: int, *, seed: int = 0) -> Iterator[tuple[Array, Indices]]:
    """Yield a table of raw columns in batches, its classes by a logistic function of them."""
    rng = np.random.default_rng(0)
    weights, unit = rng.normal(size=n_columns), np.exp(2 * rng.normal(size=n_columns))
    weights /= np.linalg.norm(weights) / 2
    rng = np.random.default_rng([seed, n])
    for begin in range(0, n, batch):
        X = rng.normal(size=(min(batch, n - begin), n_columns))
        y = X @ weights + rng.logistic(size=len(X)) > 0.5
        yield unit * (X + 3.0), y.astype(np.intp)


def _stream(quick: bool) -> list[Row]:
    """Return seconds, memory and error of a stream, each size in a process of its own."""
    sizes = (25_000, 50_000) if quick else (250_000, 500_000, 1_000_000)
    found = {n: _in_own_process(n) for n in sizes}
    n, last = sizes[-1], found[sizes[-1]]
    case = f"stream of {n:,} x {N_COLUMNS}, partial_fit of {BATCH:,} rows"
    logistic, plain = _logistic_error(n), _plain_errors()
    return [
        Row(case, f"seconds of one core; {MOST_SECONDS:g}", last["seconds"], MOST_SECONDS, bar=1.0),
        Row(
            case,
            f"peak memory in MB with all imports; {MOST_MEGABYTES:g}",
            last["megabytes"],
            MOST_MEGABYTES,
            bar=1.0,
            note=f"{last['before']:.0f} MB before the first row",
        ),
        Row(
            case,
            f"error in points above logistic regression on all rows; {MOST_POINTS}",
            max(100 * (last["error"] - logistic), 0.0),
            MOST_POINTS,
            bar=1.0,
            note=f"{100 * last['error']:.2f} %, logistic {100 * logistic:.2f} %",
            rivals=turned(plain, lambda error: max(100 * (error - logistic), 0.0)),
        ).without_empty_bar(),
        Row(
            f"stream of {sizes[0]:,} to {n:,} rows",
            "growth of the seconds; of the rows",
            last["seconds"] / found[sizes[0]]["seconds"],
            n / sizes[0],
            note=", ".join(f"{size:,}: {one['seconds']:.2f} s" for size, one in found.items()),
        ),
    ]


def _in_own_process(n: int) -> dict[str, float]:
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, "-m", "benchmarks.peers.bpm", str(n)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def measure_stream(n: int) -> dict[str, float]:
    """Fit a stream that is never held as a whole; called in the process that is measured."""
    classes, spent = np.array([0, 1]), 0.0
    model, before = _default(), _megabytes()
    for X, y in drawn(n, N_COLUMNS, BATCH):
        begin = time.process_time()
        model.partial_fit(X, y, classes)
        spent += time.process_time() - begin
    megabytes = _megabytes()
    X, y = next(drawn(100_000, N_COLUMNS, 100_000, seed=2))
    error = float(np.mean(model.predict(X) != y))
    return {"seconds": spent, "megabytes": megabytes, "before": before, "error": error}


def _megabytes() -> float:
    """Return the most memory that this program has held.

    A new process begins with its parent's peak in `getrusage`; Linux keeps that of the program too.
    """
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return float(peak.split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _logistic_error(n: int) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    parts = list(drawn(n, N_COLUMNS, BATCH))
    X, y = np.concatenate([one[0] for one in parts]), np.concatenate([one[1] for one in parts])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    X, y = next(drawn(100_000, N_COLUMNS, 100_000, seed=2))
    return float(np.mean(model.predict(X) != y))


def _plain_errors() -> dict[str, float]:
    """Return the errors of those who must miss a bar, logistic regression on the first rows."""
    first = next(drawn(BATCH, N_COLUMNS, BATCH))
    new = next(drawn(100_000, N_COLUMNS, 100_000, seed=2))
    return classify_plainly([(*first, *new)], per_cent=False)


if __name__ == "__main__":
    print(json.dumps(measure_stream(int(sys.argv[1]))))
