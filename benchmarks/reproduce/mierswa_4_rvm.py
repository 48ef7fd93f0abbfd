"""The relevance vector machine of Mierswa (2009), table 4.2: eight sets, an indefinite kernel.

Stratified ten-fold cross-validation with the Epanechnikov kernel of table 4.1 on raw values, once
by classification with Laplace's method and once as the source did it: regression on labels -1
and 1, cut at zero. `_mierswa_data` tells which tasks these are. The folds run in two
processes; times are nevertheless those of one core, ours as processor time, save the last. An error
may lie two standard errors of the difference of means above the printed one, and must be below that
of the larger class, of a guess and of logistic regression.
"""

import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np

from benchmarks.reproduce._mierswa_data import EPANECHNIKOV, data_set, folds, plain_errors
from benchmarks.reproduce._resume import N_PROCESSES
from benchmarks.rivals import allowed_above, error_between
from benchmarks.rows import Row
from parsimon._parallel import Workers
from parsimon._typing import Array, Indices
from parsimon.exceptions import DatasetNotFoundError
from parsimon.kernels import Epanechnikov

MEANT_SECONDS = 300.0
METHODS = ("classification", "regression")
QUICK_SETS = ("Lupus", "Crabs", "Checkerboard")
# Of ten.
QUICK_FOLDS = 3


@dataclass(frozen=True)
class Published:
    """Error, its deviation over folds, seconds of all folds."""

    error: float
    deviation: float
    seconds: float


TABLE = {
    "Spiral": Published(19.80, 3.16, 2942468),
    "Checkerboard": Published(38.00, 7.48, 336131),
    "Liver": Published(40.58, 1.75, 203093),
    "Sonar": Published(29.79, 7.29, 105844),
    "Diabetes": Published(32.76, 1.89, 5702491),
    "Lawsuit": Published(37.89, 3.83, 106697),
    "Lupus": Published(33.06, 10.07, 5805),
    "Crabs": Published(13.50, 7.43, 150324),
}


@dataclass(frozen=True)
class Measured:
    """Per fold: error in per cent, relevance vectors; seconds of all folds."""

    errors: Array
    n_vectors: Array
    seconds: float


def rows(*, quick: bool) -> list[Row]:
    """Return error and time of all data sets that can be loaded; every fit has one thread."""
    made: list[Row] = []
    seconds = dict.fromkeys(METHODS, 0.0)
    measured_sets = []
    begin = time.perf_counter()
    with Workers(N_PROCESSES) as workers:
        for name in QUICK_SETS if quick else TABLE:
            try:
                X, y = data_set(name)
            except DatasetNotFoundError as error:
                print(f"{name} is left out: {error}")
                continue
            measured_sets.append(name)
            width, degree = EPANECHNIKOV[name]
            kernel = Epanechnikov(width=width, degree=degree)
            for method in METHODS:
                measured = cross_validate(
                    X, y, kernel, method, workers, QUICK_FOLDS if quick else None
                )
                print(f"{name}, {method}: {measured.seconds:.1f} s", file=sys.stderr, flush=True)
                seconds[method] += measured.seconds
                made += set_rows(name, method, measured, promised=not quick)
    return made + time_rows(seconds, measured_sets, time.perf_counter() - begin)


def cross_validate(
    X: Array,
    y: Indices,
    kernel: Epanechnikov,
    method: str,
    workers: Workers,
    most: int | None = None,
) -> Measured:
    """Return what ten stratified folds give, or the first of them."""
    calls = [(method, kernel, X, y, train, test) for train, test in list(folds(X, y))[:most]]
    errors, n_vectors, seconds = np.array(list(workers.map(_fold, calls))).T
    return Measured(errors, n_vectors, float(seconds.sum()))


def _fold(
    method: str, kernel: Epanechnikov, X: Array, y: Indices, train: Indices, test: Indices
) -> tuple[float, float, float]:
    """Return the error in per cent, the number of vectors and the processor time of one fold."""
    begin = time.process_time()
    labels, size = _fit_predict(method, kernel, X[train], y[train], X[test])
    return 100.0 * float(np.mean(labels != y[test])), float(size), time.process_time() - begin


def _fit_predict(
    method: str, kernel: Epanechnikov, X: Array, y: Indices, new: Array
) -> tuple[Array, int]:
    from sklearn.exceptions import ConvergenceWarning

    from parsimon.rvm import RVC, RVR

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if method == "classification":
            classifier = RVC(kernel).fit(X, y)
            return classifier.predict(new), len(classifier.relevance_)
        regressor = RVR(kernel).fit(X, 2.0 * y - 1.0)
        return (regressor.predict(new) > 0).astype(np.intp), len(regressor.relevance_)


def set_rows(name: str, method: str, measured: Measured, *, promised: bool) -> list[Row]:
    """Return the error and the time of one data set beside the printed ones."""
    published = TABLE[name]
    case = f"Table 4.2 {name}, {method}"
    error, deviation = float(measured.errors.mean()), float(measured.errors.std())
    return [
        Row(
            case,
            "error %; printed, allowed: 2 se of the difference of means",
            error,
            published.error,
            bar=allowed_above(published.error, error_between(measured.errors, published.deviation))
            if promised
            else None,
            note=f"sd {deviation:.2f}, printed {published.deviation:.2f}; "
            f"{measured.n_vectors.mean():.1f} vectors",
            rivals=plain_errors(name),
        ).above_rivals(),
        Row(case, "seconds of all folds; printed", measured.seconds, published.seconds),
    ]


def time_rows(seconds: dict[str, float], names: list[str], wall: float) -> list[Row]:
    """Return the time of all sets: beside the source's, and beside what was meant."""
    source = sum(TABLE[name].seconds for name in names)
    case = f"Table 4.2, {len(names)} sets"
    note = f"theirs: {source / 86400:.0f} days"
    return [
        *(
            Row(f"{case}, {method}", "seconds of one core; printed", spent, source, note=note)
            for method, spent in seconds.items()
        ),
        Row(
            f"{case}, both methods",
            f"seconds on the clock, {N_PROCESSES} processes; meant",
            wall,
            MEANT_SECONDS,
        ),
    ]
