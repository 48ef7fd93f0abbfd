"""Probabilities that are right on rows which no weight was fitted to.

`fitted_calibration` learns one slope and a shift for each class from scores of held-out rows, and
`CalibratedClasses` is a model whose answers pass through them. `chosen_classes` is what `RVC()`
begins with: the functions among which it chooses, and how its scores become probabilities.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from parsimon._data import Rows
from parsimon._typing import Array, Indices
from parsimon.rvm._automatic import (
    HeldOut,
    ScaledRows,
    Trials,
    automatic_names,
    choose_width,
    half_time,
    held_out,
)
from parsimon.rvm._classes import ClassModel, class_model, fit_classes
from parsimon.rvm._dictionary import BasisFunctions
from parsimon.rvm._machine import far_column, shared_columns
from parsimon.rvm._setup import Dictionary

# Prior standard deviations of the logarithm of the slope and of the shifts: a few rows say little.
_SLOPE_DEVIATION, _SHIFT_DEVIATION = 1.0, 2.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores become ``slope * scores + shift``.

    shift (k,): One number for two classes, one for each class otherwise.
    """

    slope: float
    shift: Array

    def scores(self, scores: Array) -> Array:
        """Return calibrated scores, shape (n, k): log odds, or log probabilities of k classes."""
        moved: Array = self.slope * scores + self.shift
        if moved.shape[1] > 1:
            moved = log_softmax(moved, axis=1)
        return moved

    def losses(self, scores: Array, codes: Indices) -> Array:
        """Return minus the log probability of each row's class.

        Shapes: scores (n, k), codes (n,) -> (n,).
        """
        moved = self.scores(scores)
        if moved.shape[1] == 1:
            return np.logaddexp(0.0, np.where(codes == 1, -moved[:, 0], moved[:, 0]))
        own: Array = -moved[np.arange(len(codes)), codes]
        return own


def fitted_calibration(scores: Array, codes: Indices, weights: Array) -> Calibration:
    """Return the slope and shifts that make held-out labels most probable, drawn towards 1 and 0.

    Shapes: scores (n, k), codes (n,), weights (n,).
    """
    n_scores = scores.shape[1]
    if n_scores == 1:
        targets = (codes == 1)[:, None].astype(np.float64)
    else:
        targets = (codes[:, None] == np.arange(n_scores)).astype(np.float64)

    def objective(x: Array) -> tuple[float, Array]:
        found = Calibration(float(np.exp(x[0])), x[1:])
        moved = found.slope * scores + found.shift
        probability = expit(moved) if n_scores == 1 else softmax(moved, axis=1)
        excess = weights[:, None] * (probability - targets)
        value = float(weights @ found.losses(scores, codes))
        slope = np.append(np.sum(excess * (moved - found.shift)), excess.sum(axis=0))
        unit = np.append(_SLOPE_DEVIATION, np.full(n_scores, _SHIFT_DEVIATION))
        return value + 0.5 * float(np.sum((x / unit) ** 2)), slope + x / unit**2

    found = minimize(objective, np.zeros(n_scores + 1), jac=True, method="L-BFGS-B").x
    return Calibration(float(np.exp(found[0])), found[1:])


def held_out_losses(scores: Array, codes: Indices, parts: HeldOut) -> Array:
    """Return the losses of held-out parts, each calibrated by the other folds.

    Scores that one slope fits in some folds and not in others, as those of narrow functions, show.

    Shapes: scores (u, k), codes (u,) -> (u,).
    """
    losses = np.empty(len(codes))
    for fold in range(parts.n_folds):
        own = parts.folds == fold
        others = fitted_calibration(scores[~own], codes[~own], parts.weights[~own])
        losses[own] = others.losses(scores[own], codes[own])
    return losses


def constant_calibration(codes: Indices, weights: Array, n_classes: int) -> Calibration:
    """Return what gives each class its share of the weight whatever the scores.

    Shapes: codes (n,), weights (n,).
    """
    shares = np.bincount(codes, weights, minlength=n_classes) / weights.sum()
    logs = np.log(shares)
    return Calibration(0.0, logs[1:] - logs[:1] if n_classes == 2 else logs)


@dataclass(frozen=True, eq=False)
class CalibratedClasses:
    """A model with calibrated decisions and probabilities; its functions are as they were."""

    model: ClassModel
    calibration: Calibration

    def mean(self, design: Array) -> Array:
        return self.model.mean(design)

    def variance(self, X: Array, design: Array) -> Array:
        return self.model.variance(X, design)

    def decision(self, X: Array, design: Array, *, plug_in: bool) -> Array:
        return self.calibration.scores(self.model.decision(X, design, plug_in=plug_in))

    def probability(self, X: Array, design: Array, *, plug_in: bool) -> Array:
        decision = self.decision(X, design, plug_in=plug_in)
        if decision.shape[1] == 1:
            return np.hstack([expit(-decision), expit(decision)])
        probability: Array = softmax(decision, axis=1)
        return probability

    def weights(self, n_columns: int) -> Array:
        return self.model.weights(n_columns)

    def precisions(self, n_columns: int) -> Array:
        return self.model.precisions(n_columns)


class ChosenClasses(NamedTuple):
    """The functions to choose from, the calibration, and the mean losses of all that was tried."""

    made: Dictionary
    calibration: Calibration | None
    tried: tuple[tuple[str, float, float], ...]


def chosen_classes(
    estimator: Any,
    rough: Any,
    rows: Rows,
    codes: Indices,
    n_classes: int,
    *,
    importance: Array,
    deadline: float | None,
) -> ChosenClasses:
    """Choose scales and a width, or a constant, and calibrate, on held-out rows.

    Shapes: codes (n,), importance (n,): weights that are due to the classes.

    rough: The same estimator with the options of fits that only compare.
    """
    table = ScaledRows.of(estimator, rows)
    own, some = table.sample(codes)
    codes_some, half = codes[some], half_time(deadline)

    def scorer(basis: BasisFunctions, design: Array, left: Array, held: Indices) -> Array:
        train = np.flatnonzero(left > 0.0)
        made = Dictionary(basis, design[train], None, ())
        weights = left[train]
        fits = fit_classes(
            rough, made, codes_some[train], n_classes, row_weights=weights, deadline=half
        )
        shared = shared_columns(basis, [fit.active for fit in fits])
        model = class_model(
            fits,
            shared,
            n_classes,
            column=far_column(basis) if estimator.far_variance else None,
            X=own.X[train],
            design=made.design,
            row_weights=weights,
            keep_rows=True,
        )
        plug_in = estimator.response == "plug_in"
        return model.decision(own.X[held], design[held][:, shared.order], plug_in=plug_in)

    parts = held_out(codes_some, own.weights, importance[some])
    labels, weights = codes_some[parts.rows], parts.weights
    constant = constant_calibration(codes, rows.weights, n_classes)
    blank = np.zeros((len(labels), len(constant.shift)))
    choice = choose_width(
        Trials(own, estimator.bias, parts, scorer),
        automatic_names(estimator),
        lambda scores: held_out_losses(scores, labels, parts),
        constant.losses(blank, labels),
        deadline=half,
    )
    basis = table.basis(choice.kernel, estimator.bias)
    calibration = None
    if choice.kernel is None:
        calibration = constant
    elif choice.scores is not None:
        calibration = fitted_calibration(choice.scores, labels, weights)
    made = Dictionary(basis, basis.design(rows.X), None, ())
    return ChosenClasses(made, calibration, choice.tried)
