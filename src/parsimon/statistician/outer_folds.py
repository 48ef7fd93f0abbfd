"""What the outer folds say: one question on one fold, and errors with intervals over all of them.

`folds_of` takes one model out of what all of them said; `honest_findings` is about one question,
`joint_findings` about all classes together. Rows are pooled over the folds, each predicted by a fit
that never saw it; `parsimon.evaluation` says what the intervals hold.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import Array, Indices, Mask
from parsimon.evaluation.importance import paired_gain
from parsimon.evaluation.recommending import SURE
from parsimon.evaluation.row_intervals import (
    Bounds,
    area_bounds,
    balanced_bounds,
    difference_bounds,
    is_too_skew,
    mean_bounds,
    median_bounds,
    placement_shares,
    ratio_bounds,
    share_bounds,
    wilson,
)
from parsimon.report.findings import (
    Decision,
    Honest,
    Importance,
    Interval,
    Joint,
    OuterFold,
    Study,
    Task,
)
from parsimon.statistician.families.family import Question, normalised
from parsimon.statistician.looking import Looked, claims_of
from parsimon.structures import Claim

if TYPE_CHECKING:
    from parsimon.statistician.folds import FoldAnswers


@dataclass(frozen=True, eq=False, kw_only=True)
class FoldResult:
    """What one model says of one question on one outer fold.

    fold, question: Places.
    train, test: Rows of the table that was used.
    prediction (n_test,): Probability of class 1, or the number; empty if the fold failed.
    baseline: The same from a model that ignores the columns.
    guide_error, words, variables: What a search inside chose, and what it believed of it.
    claims: What the training rows support; None if there was no time to look.
    rises: By how much the loss of each row rises if a column that the model uses is shuffled.
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
    claims: tuple[Claim, ...] | None = ()
    rises: Mapping[str, Array] = field(default_factory=dict)
    failure: str = ""


def folds_of(
    name: str,
    questions: Sequence[Question],
    answers: "Sequence[FoldAnswers]",
    looked: Looked | None = None,
) -> list[FoldResult]:
    """Return what a model says of every question on every fold."""
    found = []
    for fold, one in enumerate(answers):
        told = one.told.get(name)
        for place, question in enumerate(questions):
            train = np.setdiff1d(np.arange(len(question.y)), one.test)
            bare = FoldResult(
                fold=fold,
                question=place,
                train=train,
                test=one.test,
                prediction=np.empty(0),
                baseline=float(np.mean(question.y[train])),
                claims=claims_of(question.target, looked, place, fold) if looked else (),
            )
            if told is None:
                why = one.failures.get(name, "it was not asked")
                found.append(replace(bare, failure=f"Outer fold {fold + 1} failed: {why}."))
                continue
            value = told.value
            if value.ndim > 1:
                own = value[:, place if len(questions) > 1 else 1]
                # As in the comparison, no model is taken to be surer than this.
                value = np.clip(own, SURE, 1 - SURE)
            bare = replace(bare, prediction=value)
            if told.questions:
                variables, words, guide_error, _, rises = told.questions[place]
                bare = replace(
                    bare, words=words, variables=variables, guide_error=guide_error, rises=rises
                )
            found.append(bare)
    return found


def importance_findings(
    targets: Sequence[Array], studies: Sequence[Study], measured: Sequence[FoldResult], task: Task
) -> tuple[Importance, ...]:
    """Return what each column is worth that a model of some fold uses, the most valuable first.

    Of several questions the means are taken.

    Shapes: targets (n,) for each question.
    """
    folds = [one for one in measured if not one.failure]
    names = dict.fromkeys(name for one in folds for name in one.rises)
    if not names:
        return ()
    unit = None
    if task == "regression":
        left = [(targets[one.question][one.test] - one.baseline) ** 2 for one in folds]
        unit = float(np.mean(np.concatenate(left)))
    found = []
    for name in names:
        rises = np.zeros((len(targets), len(targets[0])))
        for one in folds:
            # NaN where no column was shuffled.
            level = 0.0 * next(iter(one.rises.values()), np.zeros(len(one.test)))
            rises[one.question, one.test] = one.rises.get(name, level)
        tested = np.unique(np.concatenate([one.test for one in folds]))
        means = rises.mean(axis=0)[tested]
        gain = paired_gain(means[~np.isnan(means)], unit)
        found.append(Importance(name=name, alone=_alone(name, studies), in_company=_interval(gain)))
    return tuple(sorted(found, key=lambda one: -one.in_company.estimate))


def _alone(column: str, studies: Sequence[Study]) -> float:
    """Return by how much the error falls if only a column is seen, on average over studies."""
    falls = []
    for study in studies:
        errors = [one.model.error for one in study.variables if one.variable.column == column]
        if errors:
            falls.append(study.baseline.error - min(errors))
    return float(np.mean(falls)) if falls else math.nan


def honest_findings(y: Array, measured: Sequence[FoldResult], task: Task) -> Honest | None:
    """Return what the outer folds say of one question; None with fewer than two folds.

    Shapes: y (n,).
    """
    folds = [one for one in measured if not one.failure]
    if len(folds) < 2:
        return None
    rows = _OuterRows.of(y, folds)
    found = _measure_classes(rows) if task == "classification" else _measure_numbers(rows)
    ends = np.cumsum([len(one.test) for one in folds])[:-1]
    parts = zip(
        folds, np.split(found.losses, ends), np.split(found.baseline_losses, ends), strict=True
    )
    return Honest(
        **found.figures,
        guide_error=_mean([one.guide_error for one in folds]),
        folds=tuple(
            OuterFold(
                n_train=len(one.train),
                n_test=len(one.test),
                error=float(np.mean(losses)),
                baseline_error=float(np.mean(plain)),
                guide_error=one.guide_error,
                words=one.words,
                variables=one.variables,
                claims=one.claims,
            )
            for one, losses, plain in parts
        ),
        n_planned=len(measured),
        failures=tuple(one.failure for one in measured if one.failure),
    )


def _mean(values: Sequence[float]) -> float:
    """Return the mean; the one NaN of `math` if a value is missing, so that findings compare."""
    return math.nan if any(map(math.isnan, values)) else float(np.mean(values))


@dataclass(frozen=True, eq=False)
class _OuterRows:
    """All tested rows in the order of the folds: what is true, what was said, and the baseline.

    Shapes: truth, prediction, baseline (n_tested,).
    """

    truth: Array
    prediction: Array
    baseline: Array

    @classmethod
    def of(cls, y: Array, folds: Sequence[FoldResult]) -> "_OuterRows":
        """Return the rows of all folds; y (n,)."""
        return cls(
            np.concatenate([y[one.test] for one in folds]),
            np.concatenate([one.prediction for one in folds]),
            np.concatenate([np.full(len(one.test), one.baseline) for one in folds]),
        )


@dataclass(frozen=True, eq=False)
class _Measured:
    """Figures of `Honest` by name, and the losses (n_tested,) whose means they are."""

    figures: Mapping[str, Any]
    losses: Array
    baseline_losses: Array


def _measure_classes(rows: _OuterRows) -> _Measured:
    positive = rows.truth == 1
    wrong = ((rows.prediction >= 0.5) != positive).astype(np.float64)
    plain = ((rows.baseline >= 0.5) != positive).astype(np.float64)
    surprise, dull = _log_losses(positive, rows.prediction), _log_losses(positive, rows.baseline)
    both = 0 < positive.sum() < len(positive)
    figures = {
        "error": _interval(share_bounds(wrong)),
        "baseline_error": _interval(share_bounds(plain)),
        "gain": _interval(difference_bounds(plain - wrong)),
        "auc": _interval(_area(positive, rows.prediction)) if both else None,
        "log_loss": float(np.mean(surprise)),
        "baseline_log_loss": float(np.mean(dull)),
        "brier": float(np.mean((positive - rows.prediction) ** 2)),
        "root_mean_square": math.nan,
        "log_loss_gain": _interval(difference_bounds(dull - surprise, scale=float(np.mean(dull)))),
        "average_precision": _average_precision(positive, rows.prediction) if both else None,
        "at_half": _decision(positive, rows.prediction, np.full(len(positive), 0.5)),
        "at_base_rate": _decision(positive, rows.prediction, rows.baseline),
    }
    return _Measured(figures, wrong, plain)


def _measure_numbers(rows: _OuterRows) -> _Measured:
    """Measure squared errors as shares of the baseline's mean over all tested rows."""
    squares, plain = (rows.truth - rows.prediction) ** 2, (rows.truth - rows.baseline) ** 2
    share, off = ratio_bounds(squares, plain), mean_bounds(squares)
    middle = median_bounds(np.sqrt(squares)) if is_too_skew(squares) else None
    figures = {
        "error": _interval(share),
        "baseline_error": Interval(estimate=1.0, low=1.0, high=1.0),
        "gain": _interval(Bounds(1 - share.estimate, 1 - share.high, 1 - share.low)),
        "auc": None,
        "log_loss": math.nan,
        "baseline_log_loss": math.nan,
        "brier": math.nan,
        "root_mean_square": math.sqrt(off.estimate),
        "miss": _interval(Bounds(*map(math.sqrt, off))),
        "median_miss": None if middle is None else _interval(middle),
    }
    # A constant target leaves nothing to explain, and no yardstick.
    yardstick = float(np.mean(plain)) or 1.0
    return _Measured(figures, squares / yardstick, plain / yardstick)


def _decision(positive: Mask, probability: Array, thresholds: Array) -> Decision | None:
    """Return what calling rows from their thresholds on leads to; None without both classes."""
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return None
    called = probability >= thresholds
    missed = wilson(float(np.mean(~called[positive])), n_positive)
    alarmed = wilson(float(np.mean(called[~positive])), n_negative)
    n_called = int(called.sum())
    return Decision(
        threshold=float(np.mean(thresholds)),
        n_called=n_called,
        error=_interval(share_bounds((called != positive).astype(np.float64))),
        balanced_error=_interval(balanced_bounds(missed, alarmed)),
        precision=_interval(wilson(float(np.mean(positive[called])), n_called))
        if n_called
        else None,
        recall=_interval(wilson(1 - missed.estimate, n_positive, dependence=0.0)),
    )


def _average_precision(positive: Mask, probability: Array) -> Interval:
    """Return the mean over positive rows of the precision from their probability on.

    The interval takes it for a share of the positive rows, as its binomial interval does [1].

    [1] Boyd, Eng and Page (2013), ECML PKDD, LNCS 8190:451-466.
    """
    levels, places = np.unique(-probability, return_inverse=True)
    hits = np.bincount(places, weights=positive, minlength=len(levels))
    called = np.bincount(places, minlength=len(levels))
    precision = np.cumsum(hits) / np.cumsum(called)
    return _interval(wilson(float(hits @ precision / hits.sum()), float(hits.sum())))


def _area(positive: Mask, probability: Array) -> Bounds:
    return area_bounds(placement_shares(positive, probability), positive)


def _log_losses(positive: Mask, probability: Array) -> Array:
    own = np.where(positive, probability, 1 - probability)
    return -np.log(np.maximum(own, SURE))


def _interval(bounds: Bounds) -> Interval:
    return Interval(estimate=bounds.estimate, low=bounds.low, high=bounds.high)


def outside_predictions(n: int, measured: Sequence[FoldResult]) -> Array:
    """Return each row's prediction by the fold that did not see it, NaN where there is none."""
    values = np.full(n, np.nan)
    for one in measured:
        if not one.failure:
            values[one.test] = one.prediction
    return values


def joint_findings(
    codes: Indices, classes: Sequence[str], measured: Sequence[FoldResult]
) -> Joint | None:
    """Return how well the most probable of all classes fits, on rows outside the search.

    Shapes: codes (n,).
    """
    by_fold: dict[int, list[FoldResult]] = {}
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
    wrong, plain = [], []
    for parts in whole:
        train, test = parts[0].train, parts[0].test
        share = normalised(np.column_stack([one.prediction for one in parts]))
        called = np.argmax(share, axis=1)
        np.add.at(confusion, (codes[test], called), 1)
        wrong.append(called != codes[test])
        plain.append(codes[test] != np.argmax(np.bincount(codes[train])))
    return Joint(
        classes=tuple(classes),
        error=_interval(share_bounds(np.concatenate(wrong).astype(np.float64))),
        baseline_error=_interval(share_bounds(np.concatenate(plain).astype(np.float64))),
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        source="outer folds",
    )
