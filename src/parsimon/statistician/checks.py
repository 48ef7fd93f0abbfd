"""How far a model may be trusted: calibration, ranking, coverage, and the rows worth a look."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, ndtri

from parsimon._checks import finite_vector
from parsimon._typing import Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.calibration import calibration_bins
from parsimon.report.findings import CalibrationBin, Checks, Interval, Roc
from parsimon.roc import roc_hull, roc_points
from parsimon.roc.intervals import wilson_bounds
from parsimon.statistician.left_out import OwnPredictions, own_predictions
from parsimon.statistician.models import roc_of
from parsimon.statistician.subject import Subject
from parsimon.statistician.surprises import influential_rows, surprising_rows

MOST_BINS = 10
ROWS_FOR_A_BIN = 10
CONFIDENCE = 0.95
# Certain predictions have no finite log odds; one in a million is as sure as tables allow.
_SURE = 1e-6


@dataclass(frozen=True, eq=False)
class OutsidePredictions:
    """Predictions of rows by models of the outer folds, which never saw them.

    probability_or_value (n,): Of the positive class, or the predicted number; any value where
        `seen` is False.
    seen (n,): False where the fold of a row failed.
    """

    probability_or_value: Array
    seen: Mask


def check_findings(subject: Subject, outside: OutsidePredictions | None = None) -> Checks:
    """Measure how far the model of a subject may be trusted.

    Calibration, curve and Brier score come from `outside` if it is given, otherwise from
    leave-one-out; surprising and influential rows always belong to the subject's own model.
    """
    own = own_predictions(subject)
    checks = Checks(
        source=own.source,
        surprising=surprising_rows(subject, own),
        influential=influential_rows(subject, own),
    )
    if subject.task == "regression":
        return replace(checks, coverage=_coverage(subject.y, own))
    y, probability = np.asarray(subject.y, dtype=np.float64), own.value
    seen = _seen(outside, len(y))
    if outside is not None and seen.any():
        y, probability = y[seen], outside.probability_or_value[seen]
        checks = replace(checks, source="outer folds")
    slope, intercept = calibration_line(y, probability)
    roc, hull = _ranking(y, probability)
    return replace(
        checks,
        calibration=calibration_table(y, probability),
        calibration_slope=slope,
        calibration_intercept=intercept,
        brier=float(np.mean((probability - y) ** 2)),
        roc=roc,
        hull=hull,
    )


def calibration_table(y: Array, probability: Array) -> tuple[CalibrationBin, ...]:
    """Return groups of rows with alike predictions and how often the class occurred in them.

    About ten groups of equal size, fewer for few rows, with Wilson's interval of each share.

    Shapes: y (n,), probability (n,).

    [1] Wilson (1927), J. Am. Stat. Assoc. 22:209-212.
    """
    n_bins = int(np.clip(len(y) // ROWS_FOR_A_BIN, 2, MOST_BINS))
    bins = calibration_bins(y, probability, n_bins=n_bins, confidence=CONFIDENCE)
    found = []
    for predicted, observed, count in zip(bins.predicted, bins.observed, bins.counts, strict=True):
        low, high = wilson_bounds(np.array([observed]), int(count), CONFIDENCE)
        share = Interval(
            estimate=float(observed), low=float(low[0]), high=float(high[0]), confidence=CONFIDENCE
        )
        found.append(CalibrationBin(predicted=float(predicted), observed=share, n_rows=int(count)))
    return tuple(found)


def calibration_line(y: Array, probability: Array) -> tuple[float | None, float | None]:
    """Return slope and intercept of the outcome's log odds on those of the prediction.

    A logistic regression with one predictor [1]: slope 1 and intercept 0 are perfect, a slope
    below 1 says that predictions are too extreme. Both are None if no finite estimate exists:
    one class only, equal predictions, or a threshold that separates the classes.

    Shapes: y (n,), probability (n,).

    [1] Cox (1958), "Two further applications of a model for binary regression",
    Biometrika 45:562-565.
    """
    odds = logit(np.clip(probability, _SURE, 1 - _SURE))
    positive, negative = odds[y == 1], odds[y == 0]
    if not len(positive) or not len(negative) or np.ptp(odds) < 1e-9:
        return None, None
    if negative.max() <= positive.min() or positive.max() <= negative.min():
        return None, None
    design = np.column_stack([odds, np.ones(len(odds))])
    line = _logistic_regression(design, y)
    return (None, None) if line is None else (float(line[0]), float(line[1]))


def _logistic_regression(design: Array, y: Array, *, most_steps: int = 100) -> Array | None:
    """Return the coefficients of greatest likelihood by Newton's method; None if it fails."""
    line: Array = np.zeros(design.shape[1])
    loss = _loss(design, y, line)
    for _ in range(most_steps):
        chance = expit(design @ line)
        gradient = design.T @ (y - chance)
        hessian = (design.T * (chance * (1 - chance))) @ design
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        # The likelihood is concave, so that a short enough part of the step always helps.
        while (after := _loss(design, y, line + step)) > loss and np.abs(step).max() > 1e-12:
            step = step / 2
        line, loss = line + step, after
        if np.abs(step).max() < 1e-10 * (1 + np.abs(line).max()):
            return line if np.isfinite(line).all() else None
    return None


def _loss(design: Array, y: Array, line: Array) -> float:
    score = design @ line
    return float(np.sum(np.logaddexp(0.0, score) - y * score))


def _ranking(y: Array, probability: Array) -> tuple[Roc | None, tuple[tuple[float, float], ...]]:
    """Return the curve and the corners of its hull; nothing if there is one class only."""
    if len(np.unique(y)) < 2:
        return None, ()
    fpr, tpr, _ = roc_points(y, probability, pos_label=1)
    hull = roc_hull(fpr, tpr)
    corners = tuple((float(x), float(h)) for x, h in zip(hull.fpr, hull.tpr, strict=True))
    return roc_of(y, probability), corners


def _coverage(y: Array, own: OwnPredictions) -> float:
    """Return the share of rows inside the central 95 % interval of their prediction."""
    reach = ndtri((1 + CONFIDENCE) / 2) * own.deviation
    return float(np.mean(np.abs(y - own.value) <= reach))


def _seen(outside: OutsidePredictions | None, n_rows: int) -> Mask:
    if outside is None:
        return np.zeros(n_rows, dtype=bool)
    seen = np.asarray(outside.seen, dtype=bool)
    if len(seen) != n_rows or len(outside.probability_or_value) != n_rows:
        raise InvalidInputError(
            f"Predictions of {len(outside.probability_or_value)} rows were given for {n_rows} rows."
        )
    finite_vector(outside.probability_or_value[seen], "Outside predictions")
    return seen
