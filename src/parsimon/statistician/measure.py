"""How good an answer is: calibration, curves, rows to look at, and what size buys.

`check_findings` says how far to trust the model itself, and `front_models` what size buys.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri
from scipy.stats import binomtest

from parsimon._checks import finite_vector
from parsimon._typing import Array, Indices, Mask
from parsimon.evaluation.recommending import SURE
from parsimon.evaluation.row_intervals import (
    Bounds,
    area_bounds,
    dependence_near,
    placement_shares,
)
from parsimon.exceptions import InvalidInputError
from parsimon.inference.logistic import fit_logistic, logistic_loss
from parsimon.pareto import Front
from parsimon.report.figures.calibration import calibration_bins
from parsimon.report.findings import (
    CalibrationBin,
    Checks,
    Interval,
    ModelFinding,
    Roc,
    RowFinding,
)
from parsimon.roc import auc_interval, roc_hull, roc_points
from parsimon.roc.intervals import wilson_bounds
from parsimon.statistician.families.family import OwnPredictions, Question

if TYPE_CHECKING:
    from parsimon.statistician.families.gp._kernel_result import KernelCandidate, KernelResult

MOST_ROWS = 10


def surprising_rows(found: "KernelResult", own: OwnPredictions) -> tuple[RowFinding, ...]:
    """Return the rows that the model expected least, the most surprising first."""
    return _rows(found.question, found.chosen.variables, surprise(found.question, own), own)


def influential_rows(found: "KernelResult", own: OwnPredictions) -> tuple[RowFinding, ...]:
    """Return the rows whose removal would change the model most, the first most."""
    changes = found.influence()
    if changes is None or len(changes) != len(found.question.y):
        return ()
    return _rows(found.question, found.chosen.variables, changes, own)


def surprise(question: Question, own: OwnPredictions) -> Array:
    """Return how unexpected each row is, shape (n,): bits, or standard deviations."""
    if question.is_number:
        # A model that is sure of a number, such as of a constant, is surprised by any other.
        certain = np.finfo(np.float64).eps * max(1.0, float(np.abs(question.y).max(initial=0.0)))
        return np.abs(question.y - own.value) / np.maximum(own.deviation, certain)
    chance = np.where(question.y == 1, own.value, 1 - own.value)
    return -np.log2(np.maximum(chance, np.finfo(np.float64).tiny))


def _rows(
    question: Question, variables: Sequence[str], scores: Array, own: OwnPredictions
) -> tuple[RowFinding, ...]:
    """Return the rows of greatest score; among equals, in the order of the table."""
    order = np.argsort(-scores, kind="stable")[:MOST_ROWS]
    return tuple(
        RowFinding(
            row=int(question.rows[place]),
            label=row_label(question, place),
            probability=float(own.value[place]),
            score=float(scores[place]),
            values=tuple((name, cell_text(question, name, place)) for name in variables),
        )
        for place in order.tolist()
    )


def row_label(question: Question, place: int) -> str:
    """Return the class or the number that a row has."""
    if question.is_number:
        return written(question.y[place])
    return question.positive if question.y[place] == 1 else question.negative


def cell_text(question: Question, name: str, place: int) -> str:
    """Return the cell of a row as the table has it, or else the variable of that name."""
    table = question.table if name in question.table.columns else question.X
    return written(table[name].iloc[place])


def written(cell: Any) -> str:
    """Return a cell of a table as a reader would write it."""
    import pandas as pd

    if pd.isna(cell):
        return "missing"
    if isinstance(cell, float | np.floating):
        return f"{cell:.6g}".replace("-", "−")
    return str(cell)


MOST_BINS = 10
ROWS_FOR_A_BIN = 10
CONFIDENCE = 0.95
# A loss that no value between the ends has.
_FAR_OFF = 1e9
# An end further off, in standard errors, is said to be there: the likelihood is all but flat.
_FARTHEST = 64.0


def check_findings(found: "KernelResult", outside: Array | None = None) -> Checks:
    """Measure how far the model that answers a question may be trusted.

    Calibration, curve and Brier score come from predictions by the outer folds that did not see a
    row, if there are any; surprising and influential rows always belong to the model itself.

    outside (n,): These predictions, NaN where a fold failed.
    """
    own, question = found.own_predictions(), found.question
    checks = Checks(
        source=own.source,
        surprising=surprising_rows(found, own),
        influential=influential_rows(found, own),
    )
    known = np.zeros(len(own.value), dtype=bool) if outside is None else ~np.isnan(outside)
    if outside is not None and known.any() and not question.is_number:
        checks = replace(checks, source="outer folds")
        question = question.at(np.flatnonzero(known))
        own = replace(own, value=outside[known], ranking=None)
    return _judge(checks, question, own)


def outside_checks(question: Question, own: OwnPredictions, columns: Sequence[str]) -> Checks:
    """Judge predictions of all rows of a question by models that never saw them.

    columns: Those whose cells are quoted from surprising rows.
    """
    rows = _rows(question, columns, surprise(question, own), own)
    return _judge(Checks(source="outer folds", surprising=rows), question, own)


def _judge(checks: Checks, question: Question, own: OwnPredictions) -> Checks:
    """Add calibration, curve and Brier score of classes, the coverage of a number."""
    if question.is_number:
        return replace(checks, **_coverage(question.y, own))
    y, probability = np.asarray(question.y, dtype=np.float64), own.value
    line = calibration_line(y, probability)
    slope, intercept = (None, None) if line is None else map(as_interval, line)
    roc, hull = _ranking(y, probability if own.ranking is None else own.ranking)
    if roc is not None and checks.source == "outer folds":
        # As the honest error has it.
        area = area_bounds(placement_shares(y == 1, probability), y == 1)
        roc = replace(roc, auc=as_interval(area))
    return replace(
        checks,
        calibration=calibration_table(y, probability),
        calibration_slope=None if slope is None else slope.estimate,
        calibration_intercept=None if intercept is None else intercept.estimate,
        slope_interval=slope,
        intercept_interval=intercept,
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


class CalibrationLine(NamedTuple):
    """Slope and intercept of the outcome's log odds on those of the prediction, with intervals."""

    slope: Bounds
    intercept: Bounds


def calibration_line(
    y: Array, probability: Array, *, confidence: float = 0.95
) -> CalibrationLine | None:
    """Return whether probabilities can be taken at their word, and how sure that is.

    A logistic regression with one predictor [1]: slope 1 and intercept 0 are perfect, a slope below
    1 says that predictions are too extreme. None if no finite estimate exists: one class only,
    equal predictions, or a threshold that separates the classes.

    An interval holds the values whose likelihood, with the other coefficient at its best, is not
    too small: few rows make a likelihood skew, which a standard error would hide. Predictions need
    not lie on such a line, so that the log likelihood is scaled by the variance that the residuals
    show over the one that the line promises, where that is greater [2]. A slope near 0 is judged as
    if the predictions came from folds of a table without signal, as `dependence_near` has it.

    Shapes: y (n,), probability (n,).

    [1] Cox (1958), Biometrika 45:562-565. [2] Chandler and Bate (2007), Biometrika 94:167-183.
    """
    odds = logit(np.clip(probability, SURE, 1 - SURE))
    positive, negative = odds[y == 1], odds[y == 0]
    if not len(positive) or not len(negative) or np.ptp(odds) < 1e-9:
        return None
    if negative.max() <= positive.min() or positive.max() <= negative.min():
        return None
    design = np.column_stack([odds, np.ones(len(odds))])
    line = fit_logistic(design, y)
    if line is None:
        return None
    fit = _Fit(design, y, line)
    return CalibrationLine(
        fit.bounds(0, confidence, dependence_near), fit.bounds(1, confidence, lambda _: 0.0)
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """A logistic regression; design (n, 2), y (n,), line (2,) its coefficients."""

    design: Array
    y: Array
    line: Array

    def bounds(self, place: int, confidence: float, dependence: Callable[[float], float]) -> Bounds:
        """Return the interval of a coefficient.

        dependence: By what part a variance grows for a value so many standard errors from 0.
        """
        promised, shown = self._variances()
        error = math.sqrt(max(promised[place], shown[place]))
        scale = error**2 / promised[place]
        limit = scale * float(ndtri((1 + confidence) / 2)) ** 2
        least, middle = logistic_loss(self.design, self.y, self.line), float(self.line[place])

        def beyond(away: float, sign: float) -> float:
            value = middle + sign * away
            apart = 2 * (self._loss_at(place, value) - least)
            return float(apart - limit * (1 + dependence(value / error)))

        ends = []
        for sign in (-1.0, 1.0):
            far = error
            while beyond(far, sign) < 0 and far < _FARTHEST * error:
                far *= 2
            inside = beyond(far, sign) < 0
            ends.append(middle + sign * (far if inside else brentq(beyond, 0, far, args=(sign,))))
        return Bounds(middle, *ends)

    def _variances(self) -> tuple[Array, Array]:
        """Return the variances of both coefficients: by the likelihood, and by the residuals."""
        chance = expit(self.design @ self.line)
        inverse = np.linalg.pinv((self.design.T * (chance * (1 - chance))) @ self.design)
        n = len(self.y)
        scores = (self.design.T * (self.y - chance) ** 2) @ self.design * n / max(1, n - 2)
        return np.diag(inverse), np.diag(inverse @ scores @ inverse)

    def _loss_at(self, place: int, value: float) -> float:
        """Return the loss with one coefficient at a value and the other at its best."""
        given, free = self.design[:, place] * value, self.design[:, [1 - place]]
        best = fit_logistic(free, self.y, offset=given)
        if best is None:
            return _FAR_OFF
        return logistic_loss(free, self.y, best, offset=given)


def _ranking(y: Array, probability: Array) -> tuple[Roc | None, tuple[tuple[float, float], ...]]:
    """Return the curve and the corners of its hull; nothing if there is one class only."""
    if len(np.unique(y)) < 2:
        return None, ()
    fpr, tpr, _ = roc_points(y, probability, pos_label=1)
    hull = roc_hull(fpr, tpr)
    corners = tuple((float(x), float(h)) for x, h in zip(hull.fpr, hull.tpr, strict=True))
    return roc_of(y, probability), corners


def as_interval(bounds: Bounds) -> Interval:
    """Return bounds as a finding."""
    return Interval(**bounds._asdict())


def _coverage(y: Array, own: OwnPredictions) -> dict[str, Any]:
    """Return the share of rows inside the central 95 % interval of their prediction, and how sure.

    Under their names in `Checks`. The interval is the exact one: near 95 % Wilson's is too short,
    and of ten rows eight would prove that intervals are too narrow.
    """
    reach = ndtri((1 + CONFIDENCE) / 2) * own.deviation
    inside = np.abs(y - own.value) <= reach
    share = float(np.mean(inside))
    ends = binomtest(int(inside.sum()), len(y)).proportion_ci(CONFIDENCE, method="exact")
    found = Interval(estimate=share, low=float(ends.low), high=float(ends.high))
    return {"coverage": share, "coverage_interval": found}


def roc_of(y: Any, probability: Any, *, most_points: int = 80) -> Roc:
    """Return a ROC curve of few points, with the AUC and its interval.

    The ends, the vertices of the convex hull and the thresholds that a report tells of always
    stay; the others are thinned evenly along the curve.

    Shapes: y (n,), probability (n,).
    """
    if most_points < 2:
        raise InvalidInputError(f"most_points must be 2 or more, got {most_points}.")
    scores = finite_vector(probability, "probability")
    fpr, tpr, _ = roc_points(y, scores, pos_label=1)
    # Each point calls one distinct score more positive than the one before, the first none.
    least = np.append(_beyond(scores), np.unique(scores)[::-1])
    kept = np.union1d(_thin(fpr, tpr, most_points), _telling_points(least, np.asarray(y) == 1))
    area = auc_interval(y, scores, pos_label=1)
    n_positive = int(np.sum(np.asarray(y) == 1))
    return Roc(
        fpr=tuple(fpr[kept].tolist()),
        tpr=tuple(tpr[kept].tolist()),
        thresholds=tuple(least[kept].tolist()),
        n_positive=n_positive,
        n_negative=len(scores) - n_positive,
        auc=Interval(
            estimate=area.auc, low=area.lower, high=area.upper, confidence=area.confidence
        ),
    )


def _telling_points(least: Array, positive: Mask) -> Indices:
    """Return the points at which a report calls rows: where a miss costs 1, 5 or 10 false alarms.

    And where it costs as many as there are rows of the other class for each positive one.

    Shapes: least (k,), positive (n,).
    """
    odds = float(np.sum(~positive)) / max(1, int(np.sum(positive)))
    costs = np.array([1, 5, 10, float(f"{odds:.1g}")])
    places: Indices = np.searchsorted(-least, -1 / (1 + costs), side="right") - 1
    return np.maximum(places, 0)


def _beyond(scores: Array) -> float:
    """Return a threshold that no score reaches."""
    greatest = float(scores.max())
    return 1.0 if greatest < 1 else float(np.nextafter(greatest, np.inf))


def _thin(fpr: Array, tpr: Array, most_points: int) -> Indices:
    """Return the places of the points that stay, in order."""
    everything = np.arange(len(fpr))
    if len(fpr) <= most_points:
        return everything
    hull = roc_hull(fpr, tpr).rows
    kept = np.unique(np.concatenate([[0, len(fpr) - 1], hull[hull >= 0]]))
    spare = max(0, most_points - len(kept))
    # Half of the way round the unit square, walked along the curve.
    way = fpr + tpr
    stops = np.searchsorted(way, np.linspace(0, 2, spare + 2)[1:-1])
    return np.union1d(kept, np.minimum(stops, len(fpr) - 1))


class FrontModels(NamedTuple):
    """The models of both fronts, each in increasing size from the baseline on.

    front: What each further unit of size buys, and the chosen model.
    knee, chosen: Places in `front`.
    front_variables: What each further variable buys.
    """

    front: tuple[ModelFinding, ...]
    knee: int
    chosen: int
    front_variables: tuple[ModelFinding, ...]


def size_front(candidates: Sequence["KernelCandidate"], solutions: Any = None) -> Front:
    """Return the error on the folds of the search against size; optimistic, since it guided it."""
    values = [[candidate.error, candidate.size] for candidate in candidates]
    solutions = candidates if solutions is None else solutions
    return Front(values, ["error", "size"], solutions=solutions, ties="first")


def front_models(found: "KernelResult") -> FrontModels:
    """Return the models of both fronts, with ROC curves from rows left out.

    The chosen model joins the front if it is not on it: another guide than the error may have
    chosen it, or the one-standard-error rule.
    """
    candidates, chosen = found.candidates, found.chosen
    curves: dict[Any, Roc | None] = {}

    def write(candidate: "KernelCandidate") -> ModelFinding:
        if candidate.key not in curves:
            curves[candidate.key] = _curve(found.question, candidate)
        return candidate.finding(curves[candidate.key])

    by_size = size_front(candidates)
    knee: KernelCandidate = by_size.solution(by_size.knee())
    members = _in_order(by_size.solution(row) for row in range(len(by_size)))
    if chosen.key not in [member.key for member in members]:
        members = _in_order([*members, chosen])
    places = [member.key for member in members]
    counts = [[candidate.error, len(candidate.variables)] for candidate in candidates]
    by_variables = Front(counts, ["error", "variables"], solutions=candidates, ties="first")
    fewer: list[KernelCandidate] = sorted(
        (by_variables.solution(row) for row in range(len(by_variables))),
        key=lambda candidate: (len(candidate.variables), candidate.error),
    )
    return FrontModels(
        tuple(map(write, members)),
        places.index(knee.key),
        places.index(chosen.key),
        tuple(map(write, fewer)),
    )


def _in_order(candidates: Iterable["KernelCandidate"]) -> list["KernelCandidate"]:
    return sorted(candidates, key=lambda candidate: (candidate.size, -candidate.error))


def _curve(question: Question, candidate: "KernelCandidate") -> Roc | None:
    probability = None if question.is_number else candidate.left_out()
    if probability is None:
        return None
    curve = roc_of((question.y == 1).astype(np.intp), probability)
    if np.ptp(probability) == 0:
        # What ranks no row has this area whatever the rows, so that nothing about it is unsure.
        return replace(curve, auc=Interval(estimate=0.5, low=0.5, high=0.5))
    return curve
