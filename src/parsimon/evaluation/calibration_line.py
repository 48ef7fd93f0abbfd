"""Whether probabilities can be taken at their word: the line of calibration, and how sure it is.

The outcome's log odds on those of the prediction, a logistic regression with one predictor [1]:
slope 1 and intercept 0 are perfect, a slope below 1 says that predictions are too extreme.

An interval holds the values whose likelihood, with the other coefficient at its best, is not too
small: few rows make a likelihood skew, which a standard error would hide. Predictions need not lie
on such a line, so that the log likelihood is scaled by the variance that the residuals show over
the one that the line promises, where that is greater [2]. A slope near 0 is judged as if the
predictions came from folds of a table without signal, as `dependence_near` has it.

[1] Cox (1958), Biometrika 45:562-565. [2] Chandler and Bate (2007), Biometrika 94:167-183.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri

from parsimon._typing import Array
from parsimon.evaluation.row_intervals import Bounds, dependence_near

# Certain predictions have no finite log odds; one in a million is as sure as tables allow.
_SURE = 1e-6
# A loss that no value between the ends has.
_FAR_OFF = 1e9
# An end further off, in standard errors, is said to be there: the likelihood is all but flat.
_FARTHEST = 64.0


class CalibrationLine(NamedTuple):
    """Slope and intercept, each with its interval."""

    slope: Bounds
    intercept: Bounds


def calibration_line(
    y: Array, probability: Array, *, confidence: float = 0.95
) -> CalibrationLine | None:
    """Return slope and intercept of the outcome's log odds on those of the prediction.

    None if no finite estimate exists: one class only, equal predictions, or a threshold that
    separates the classes.

    Shapes: y (n,), probability (n,).
    """
    odds = logit(np.clip(probability, _SURE, 1 - _SURE))
    positive, negative = odds[y == 1], odds[y == 0]
    if not len(positive) or not len(negative) or np.ptp(odds) < 1e-9:
        return None
    if negative.max() <= positive.min() or positive.max() <= negative.min():
        return None
    design = np.column_stack([odds, np.ones(len(odds))])
    line = _logistic_regression(design, y)
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
        least, middle = _loss(self.design, self.y, self.line), float(self.line[place])

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
        best = _logistic_regression(free, self.y, given)
        return _FAR_OFF if best is None else _loss(free, self.y, best, given)


def _logistic_regression(
    design: Array, y: Array, offset: Array | float = 0.0, *, most_steps: int = 100
) -> Array | None:
    """Return the coefficients of greatest likelihood by Newton's method; None if it fails."""
    line: Array = np.zeros(design.shape[1])
    loss = _loss(design, y, line, offset)
    for _ in range(most_steps):
        chance = expit(design @ line + offset)
        gradient = design.T @ (y - chance)
        hessian = (design.T * (chance * (1 - chance))) @ design
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        # The likelihood is concave, so that a short enough part of the step always helps.
        while (after := _loss(design, y, line + step, offset)) > loss and (
            np.abs(step).max() > 1e-12
        ):
            step = step / 2
        line, loss = line + step, after
        if np.abs(step).max() < 1e-10 * (1 + np.abs(line).max()):
            return line if np.isfinite(line).all() else None
    return None


def _loss(design: Array, y: Array, line: Array, offset: Array | float = 0.0) -> float:
    score = design @ line + offset
    return float(np.sum(np.logaddexp(0.0, score) - y * score))
