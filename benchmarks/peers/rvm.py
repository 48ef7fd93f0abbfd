"""Relevance vector classification against fastrvm 0.1.5 (fits) and SVC (predictions).

Both fit a table of `make_classification` with an RBF kernel, gamma="scale" and no intercept,
which is fastrvm's default: with one, it takes the last relevant column for the intercept even
where that column was pruned. Evidence is computed by one function at either's prior precisions.
fastrvm's `alpha_` is not on the scale of its weights: it divides by the squared norm of a column
where it should multiply, so that the precisions are ``alpha_ * norm**4``. That the mode at these
precisions is fastrvm's `dual_coef_` is checked here and stated in a note.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers._rvm_large import large_rows
from benchmarks.rows import Row, median_seconds
from parsimon._typing import Array, Indices
from parsimon.inference.irls import logistic_mode
from parsimon.inference.sparse_bayes import laplace_evidence
from parsimon.rvm import RVC

N_TEST = 2000
# Tables of the same kind; at 2000 rows the first has to do.
SEEDS = (0, 1, 2)
SPEED_AT_2000 = 8.0
POINTS, VECTORS = 0.005, 1.2
# Two log evidences are equal if they differ by less: both fits stop at log alpha to 0.001.
EQUAL = 0.01


def rows(*, quick: bool) -> list[Row]:
    """Return all rows of the comparison; every library has one thread."""
    from threadpoolctl import threadpool_limits

    made: list[Row] = []
    with threadpool_limits(1):
        for n in (300, 500) if quick else (500, 1000, 2000):
            seeds = SEEDS[:1] if quick or n == 2000 else SEEDS
            fits = [_compare(n, seed, repeats=1 if quick or n == 2000 else 3) for seed in seeds]
            made += [row for one in fits for row in _table_rows(one)] + _mean_rows(fits)
        made += _predictions(500 if quick else 2000)
    return made + large_rows(quick)


def table(n: int, seed: int) -> tuple[Array, Indices, Array, Indices]:
    """Return training and test rows of one draw."""
    from sklearn.datasets import make_classification

    X, y = make_classification(n + N_TEST, 10, n_informative=6, flip_y=0.1, random_state=seed)
    return X[:n], y[:n], X[n:], y[n:]


@dataclass(frozen=True)
class Comparison:
    """Ours and theirs on one table, always in this order."""

    n: int
    seed: int
    seconds: tuple[float, float]
    evidences: tuple[float, float]
    accuracies: tuple[float, float]
    n_vectors: tuple[int, int]
    n_steps: tuple[int, int]
    distance: float

    @property
    def case(self) -> str:
        """How rows name the table."""
        return f"make_classification {self.n} x 10, RBF, table {self.seed + 1}"


def _compare(n: int, seed: int, *, repeats: int) -> Comparison:
    from fastrvm import RVC as FastRVC

    X, y, X_test, y_test = table(n, seed)
    # A first fit loads libraries and compiled code; at n = 2000 that would double a long run.
    for model in (RVC(bias=False), FastRVC()):
        _fit(model, X[:200], y[:200])
    ours, peer = RVC(bias=False), FastRVC()
    jobs = [partial(_fit, ours, X, y), partial(_fit, peer, X, y)]
    seconds = _seconds(jobs) if repeats == 1 else median_seconds(jobs, repeats)
    evidence, peer_evidence, distance = _evidences(ours, peer, X, y)
    return Comparison(
        n,
        seed,
        (seconds[0], seconds[1]),
        (evidence, peer_evidence),
        (float(ours.score(X_test, y_test)), float(peer.score(X_test, y_test))),
        (len(ours.relevance_), len(peer.relevance_)),
        (int(ours.n_iter_), int(peer.n_iter_[0])),
        distance,
    )


def _table_rows(one: Comparison) -> list[Row]:
    """Return what holds on each table: time and evidence."""
    speed = None if one.n < 500 else SPEED_AT_2000 if one.n == 2000 else 1.0
    evidence, peer_evidence = one.evidences
    return [
        Row(
            one.case,
            "seconds of the fit; fastrvm 0.1.5",
            *one.seconds,
            bar=speed,
            note=f"ours {one.n_steps[0]} steps, theirs {one.n_steps[1]}",
        ),
        Row(
            one.case,
            "negative log evidence, one function; fastrvm",
            -evidence,
            -peer_evidence,
            bar=1.0 - EQUAL / -evidence,
            note=f"equal to {EQUAL}; their weights are the mode to {one.distance:.0e}",
        ),
    ]


def _mean_rows(fits: Sequence[Comparison]) -> list[Row]:
    """Return accuracy and vectors, means over tables: chance on one is more than half a point."""
    accuracy, peer_accuracy = np.mean([one.accuracies for one in fits], axis=0)
    n_vectors, peer_vectors = np.mean([one.n_vectors for one in fits], axis=0)
    case = f"make_classification {fits[0].n} x 10, RBF, mean of {len(fits)}"
    each = ", ".join(f"{100 * a:.2f}/{100 * b:.2f}" for a, b in (one.accuracies for one in fits))
    sizes = ", ".join(f"{one.n_vectors[0]}/{one.n_vectors[1]}" for one in fits)
    return [
        Row(
            case,
            "test accuracy; fastrvm, allowed 0.5 points below",
            float(accuracy),
            float(peer_accuracy),
            higher_is_better=True,
            bar=1.0 - POINTS / float(peer_accuracy),
            note=f"tables {each}; standard error of one about 0.8",
        ),
        Row(
            case,
            "relevance vectors; fastrvm, allowed 1.2 times",
            float(n_vectors),
            float(peer_vectors),
            bar=1.0 / VECTORS,
            note=f"tables {sizes}",
        ),
    ]


def _fit(model: Any, X: Array, y: Indices) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)


def _seconds(jobs: list[Any]) -> list[float]:
    import time

    spent = []
    for job in jobs:
        begin = time.perf_counter()
        job()
        spent.append(time.perf_counter() - begin)
    return spent


def _evidences(ours: Any, peer: Any, X: Array, y: Indices) -> tuple[float, float, float]:
    """Return both log evidences, and how far fastrvm's weights are from the mode at its alphas."""
    from sklearn.metrics.pairwise import rbf_kernel

    labels, gamma = y.astype(np.float64), 1.0 / (X.shape[1] * X.var())
    own = rbf_kernel(X, X[ours.relevance_], gamma=gamma)
    theirs = rbf_kernel(X, X[peer.relevance_], gamma=gamma)
    alpha = peer.alpha_[0] * (theirs**2).sum(axis=0) ** 2
    mode = logistic_mode(theirs, labels, alpha)
    weights = peer.dual_coef_[0]
    return (
        laplace_evidence(own, labels, np.ravel(ours.alpha_)),
        laplace_evidence(theirs, labels, alpha),
        float(np.abs(mode.weights - weights).max() / np.abs(weights).max()),
    )


def _predictions(n: int) -> list[Row]:
    from sklearn.svm import SVC

    X, y, X_test, _ = table(n, 0)
    ours, machine = RVC(bias=False), SVC()
    for model in (ours, machine):
        _fit(model, X, y)
    jobs = [partial(ours.predict, X_test), partial(ours.predict_proba, X_test)]
    labels, probabilities, theirs = median_seconds([*jobs, partial(machine.predict, X_test)], 21)
    case = f"prediction of {N_TEST} rows after {n} x 10"
    sizes = f"{len(ours.relevance_)} vectors, theirs {len(machine.support_)}"
    return [
        Row(case, "seconds of predict; SVC.predict", labels, theirs, bar=1.0, note=sizes),
        Row(
            case,
            "seconds of predict_proba; SVC.predict",
            probabilities,
            theirs,
            note="SVC has no probabilities of its own",
        ),
    ]
