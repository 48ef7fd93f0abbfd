"""From the outer folds' predictions to honest figures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.evaluation import corrected_t_interval
from parsimon.kernels import spoken
from parsimon.report.findings import Honest, Interval, Joint, OuterFold, Task
from parsimon.roc import auc_interval
from parsimon.statistician.answer import Answer
from parsimon.statistician.table_model import normalised


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured:
    """One question on one outer fold.

    fold, question: Places.
    train, test: Rows of the table that was used.
    prediction (n_test,): Probability of class 1, or the number; empty if the fold failed.
    baseline: The same from a model that ignores the columns.
    guide_error: What the search inside believed.
    failure: Why there is no prediction.
    """

    fold: int
    question: int
    train: Indices
    test: Indices
    prediction: Array
    baseline: float
    guide_error: float = math.nan
    words: str = ""
    variables: tuple[str, ...] = ()
    failure: str = ""


def found_words(found: Answer) -> tuple[str, tuple[str, ...]]:
    """Return the structure in words and its variables."""
    names = [str(name) for name in found.X.columns]
    columns = found.search.best_candidate_.columns
    if not found.search.structure_found_:
        return "a constant", ()
    return spoken(found.search.best_kernel_, names), tuple(names[column] for column in columns)


def honest_findings(y: Array, measured: Sequence[Measured], task: Task) -> Honest | None:
    """Return what the outer folds say of one question; None with fewer than two folds.

    Shapes: y (n,).
    """
    folds = [one for one in measured if not one.failure]
    if len(folds) < 2:
        return None
    errors = np.array([_error(y[one.test], one.prediction, task) for one in folds])
    plain = np.array(
        [_error(y[one.test], np.full(len(one.test), one.baseline), task) for one in folds]
    )
    if task == "regression":
        # A share of the variance needs one yardstick: the baseline's error on the same rows.
        errors, plain = errors / plain, np.ones(len(plain))
    sizes = {
        "n_train": float(np.mean([len(one.train) for one in folds])),
        "n_test": float(np.mean([len(one.test) for one in folds])),
    }
    truth = np.concatenate([y[one.test] for one in folds])
    prediction = np.concatenate([one.prediction for one in folds])
    baseline = np.concatenate([np.full(len(one.test), one.baseline) for one in folds])
    classes = task == "classification"
    return Honest(
        error=_share(errors, sizes) if classes else _interval(errors, sizes),
        baseline_error=_share(plain, sizes) if classes else _interval(plain, sizes),
        gain=_interval(plain - errors, sizes, bottom=-math.inf),
        guide_error=float(np.mean([one.guide_error for one in folds])),
        auc=_auc(truth, prediction) if classes else None,
        log_loss=_log_loss(truth, prediction) if classes else math.nan,
        baseline_log_loss=_log_loss(truth, baseline) if classes else math.nan,
        brier=float(np.mean((truth - prediction) ** 2)) if classes else math.nan,
        root_mean_square=(
            math.nan if classes else float(np.sqrt(np.mean((truth - prediction) ** 2)))
        ),
        folds=tuple(
            OuterFold(
                n_train=len(one.train),
                n_test=len(one.test),
                error=float(error),
                baseline_error=float(base),
                guide_error=one.guide_error,
                words=one.words,
                variables=one.variables,
            )
            for one, error, base in zip(folds, errors, plain, strict=True)
        ),
        n_planned=len(measured),
        failures=tuple(one.failure for one in measured if one.failure),
    )


def outside_predictions(n: int, measured: Sequence[Measured]) -> Array:
    """Return each row's prediction by the fold that did not see it, NaN where there is none."""
    values = np.full(n, np.nan)
    for one in measured:
        if not one.failure:
            values[one.test] = one.prediction
    return values


def joint_findings(
    codes: Indices, classes: Sequence[str], measured: Sequence[Measured]
) -> Joint | None:
    """Return how well the most probable of all classes fits, on rows outside the search.

    Shapes: codes (n,).
    """
    by_fold: dict[int, list[Measured]] = {}
    for one in sorted(measured, key=lambda each: (each.fold, each.question)):
        by_fold.setdefault(one.fold, []).append(one)
    whole = [
        parts
        for parts in by_fold.values()
        if len(parts) == len(classes) and not any(one.failure for one in parts)
    ]
    if len(whole) < 2:
        return None
    confusion = np.zeros((len(classes), len(classes)), dtype=int)
    errors, plain = [], []
    for parts in whole:
        train, test = parts[0].train, parts[0].test
        share = normalised(np.column_stack([one.prediction for one in parts]))
        called = np.argmax(share, axis=1)
        np.add.at(confusion, (codes[test], called), 1)
        errors.append(np.mean(called != codes[test]))
        plain.append(np.mean(codes[test] != np.argmax(np.bincount(codes[train]))))
    sizes = {
        "n_train": float(np.mean([len(parts[0].train) for parts in whole])),
        "n_test": float(np.mean([len(parts[0].test) for parts in whole])),
    }
    return Joint(
        classes=tuple(classes),
        error=_share(np.array(errors), sizes),
        baseline_error=_share(np.array(plain), sizes),
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        source="outer folds",
    )


def _error(truth: Array, prediction: Array, task: Task) -> float:
    if task == "classification":
        return float(np.mean((prediction >= 0.5) != (truth == 1)))
    return float(np.mean((truth - prediction) ** 2))


def _log_loss(truth: Array, probability: Array) -> float:
    own = np.where(truth == 1, probability, 1 - probability)
    return float(-np.mean(np.log(np.maximum(own, np.finfo(np.float64).tiny))))


def _auc(truth: Array, probability: Array) -> Interval | None:
    if len(np.unique(truth)) < 2:
        return None
    area = auc_interval(truth, probability)
    return Interval(estimate=area.auc, low=area.lower, high=area.upper)


def _share(values: Array, sizes: dict[str, float]) -> Interval:
    """Return the interval of a share of rows, never one of no width.

    Folds that agree to the last row say nothing about their spread; Wilson's interval for all
    tested rows together stands in.
    """
    if np.ptp(values) > 0:
        return _interval(values, sizes, top=1.0)
    from scipy.stats import binomtest

    n = round(sizes["n_test"] * len(values))
    wilson = binomtest(round(float(values[0]) * n), n).proportion_ci(method="wilson")
    return Interval(estimate=float(values[0]), low=float(wilson.low), high=float(wilson.high))


def _interval(
    values: Array, sizes: dict[str, float], *, bottom: float = 0.0, top: float = math.inf
) -> Interval:
    low, high = corrected_t_interval(values, **sizes)
    return Interval(estimate=float(np.mean(values)), low=max(bottom, low), high=min(top, high))
