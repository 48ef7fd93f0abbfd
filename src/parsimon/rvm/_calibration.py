r"""Probabilities that are right on rows which no weight was fitted to.

A function's mean becomes a score by MacKay's :math:`m / \sqrt{1 + t \pi v / 8}`: its variance is
trusted wholly (t = 1), in part or not at all, since that of few functions can be far too great,
where classes can be told apart without error, or where a table has many columns. Held-out rows
choose t, one slope and a shift for each class (`fit_calibration`); `CalibratedClasses` is a
model whose answers pass through them. `choose_classes` is what `RVC()` begins with: the functions
among which it chooses, and how its scores become probabilities.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from parsimon._data import Rows
from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes import SparseBayes
from parsimon.inference.sparse_bayes.softmax import SparseSoftmax
from parsimon.rvm._automatic import (
    HeldOut,
    ScaledRows,
    Trials,
    automatic_names,
    choose_width,
    deal_rows,
    half_time,
    shared_weights,
)
from parsimon.rvm._classes import ClassModel, class_model
from parsimon.rvm._dictionary import BasisFunctions
from parsimon.rvm._machine import far_column, shared_columns
from parsimon.rvm._setup import Dictionary

# How much of a variance to trust.
TRUSTS = (1.0, 0.1, 0.0)
# How fast log odds rise where it is only known that they must.
_LEAST_SLOPE = 1e-6
# Prior standard deviations of the logarithm of the slope and of the shifts: a few rows say little.
_SLOPE_DEVIATION, _SHIFT_DEVIATION = 1.0, 2.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores become ``slope * scores + shift``.

    shift (k,): One number for two classes, one for each class otherwise.
    trust: The share of the variances that is real.
    """

    slope: float
    shift: Array
    trust: float = 0.0

    def scores(self, latent: Array) -> Array:
        """Return log odds, or log probabilities of k classes, shape (n, k), of means and variances.

        Shapes: latent (n, 2k): the k means, then the k variances.
        """
        moved: Array = self.slope * _moderated(latent, self.trust) + self.shift
        if moved.shape[1] > 1:
            moved = log_softmax(moved, axis=1)
        return moved

    def probability(self, latent: Array) -> Array:
        """Return class probabilities, shape (n, n_classes), of means and variances (n, 2k)."""
        moved = self.scores(latent)
        if moved.shape[1] == 1:
            return np.hstack([expit(-moved), expit(moved)])
        return softmax(moved, axis=1)

    def losses(self, latent: Array, codes: Indices) -> Array:
        """Return minus the log probability of each row's class.

        Shapes: latent (n, 2k), codes (n,) -> (n,).
        """
        moved = self.scores(latent)
        if moved.shape[1] == 1:
            return np.logaddexp(0.0, np.where(codes == 1, -moved[:, 0], moved[:, 0]))
        return -moved[np.arange(len(codes)), codes]


def _cross_entropy(moved: Array, targets: Array) -> Array:
    """Return the mean of minus the log probability if classes have these shares.

    Shapes: moved (n, k): log odds, or logarithms up to a constant; targets (n, k) -> (n,).
    """
    if moved.shape[1] == 1:
        return np.logaddexp(0.0, moved[:, 0]) - targets[:, 0] * moved[:, 0]
    return -(targets * log_softmax(moved, axis=1)).sum(axis=1)


def _moderated(latent: Array, trust: float) -> Array:
    """Return scores (n, k) of means and variances (n, 2k)."""
    n_scores = latent.shape[1] // 2
    scores: Array = latent[:, :n_scores]
    if trust > 0.0:
        scores = scores / np.sqrt(1.0 + trust * np.pi / 8.0 * latent[:, n_scores:])
    return scores


def fit_calibration(
    latent: Array, codes: Indices, weights: Array, trusts: Sequence[float] = TRUSTS
) -> Calibration:
    """Return the trust, slope and shifts that make held-out labels most probable.

    The slope is drawn towards 1, shifts towards 0.

    Shapes: latent (n, 2k), codes (n,), weights (n,).
    """
    found = [_fit_line(_moderated(latent, trust), codes, weights) for trust in trusts]
    best = int(np.argmin([value for _, _, value in found]))
    return Calibration(found[best][0], found[best][1], trusts[best])


def _fit_line(scores: Array, codes: Indices, weights: Array) -> tuple[float, Array, float]:
    """Return a slope, shifts and the penalised loss of scores.

    Two classes that held-out rows tell apart without error would have an endless slope: a new row
    is then of the other class once in as many as there were, and two (Platt's targets [1]).

    Shapes: scores (n, k), codes (n,), weights (n,).

    [1] Platt (2000), "Probabilities for SV machines", section 5.1.
    """
    n_scores = scores.shape[1]
    if n_scores == 1:
        counts = np.bincount(codes, weights, minlength=2)
        targets = np.where(codes == 1, (counts[1] + 1) / (counts[1] + 2), 1 / (counts[0] + 2))
        targets = targets[:, None]
    else:
        targets = (codes[:, None] == np.arange(n_scores)).astype(np.float64)

    def objective(x: Array) -> tuple[float, Array]:
        moved = np.exp(x[0]) * scores + x[1:]
        probability = expit(moved) if n_scores == 1 else softmax(moved, axis=1)
        excess = weights[:, None] * (probability - targets)
        value = float(weights @ _cross_entropy(moved, targets))
        slope = np.append(np.sum(excess * (moved - x[1:])), excess.sum(axis=0))
        unit = np.append(_SLOPE_DEVIATION, np.full(n_scores, _SHIFT_DEVIATION))
        return value + 0.5 * float(np.sum((x / unit) ** 2)), slope + x / unit**2

    found = minimize(objective, np.zeros(n_scores + 1), jac=True, method="L-BFGS-B")
    return float(np.exp(found.x[0])), found.x[1:], float(found.fun)


def held_out_losses(
    latent: Array, codes: Indices, parts: HeldOut, trusts: Sequence[float] = TRUSTS
) -> Array:
    """Return the losses of held-out parts, each calibrated by the other folds.

    Scores that one slope fits in some folds and not in others, as those of narrow functions, show.

    Shapes: latent (u, 2k), codes (u,) -> (u,).
    """
    losses = np.empty(len(codes))
    for fold in range(parts.n_folds):
        own = parts.folds == fold
        others = fit_calibration(latent[~own], codes[~own], parts.weights[~own], trusts)
        losses[own] = others.losses(latent[own], codes[own])
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
        return self.calibration.scores(self._latent(X, design, plug_in))

    def probability(self, X: Array, design: Array, *, plug_in: bool) -> Array:
        return self.calibration.probability(self._latent(X, design, plug_in))

    def _latent(self, X: Array, design: Array, plug_in: bool) -> Array:
        """Return means and variances, shape (n, 2k), these zero where they are not needed."""
        mean = self.model.mean(design)
        needless = plug_in or self.calibration.trust == 0.0
        variance = np.zeros_like(mean) if needless else self.model.variance(X, design)
        return np.hstack([mean, variance])

    def weights(self, n_columns: int) -> Array:
        return self.model.weights(n_columns)

    def precisions(self, n_columns: int) -> Array:
        return self.model.precisions(n_columns)


def agreeing_probability(calibration: Calibration, scores: Array, decision: Array) -> Array:
    """Return probabilities of which none is greater than that of the class that is decided for.

    Where scores say nothing of the classes that is left alone, and for two classes the
    probabilities are still in the order of the decisions.

    Shapes: scores, decision (m,), or (m, n_classes) for more than two -> (m, n_classes).
    """
    if scores.ndim > 1:
        probability = calibration.probability(np.hstack([scores, np.zeros_like(scores)]))
        called = decision.argmax(axis=1)
        every, most = np.arange(len(called)), probability.max(axis=1)
        # A little more than the others, so that it is the greatest however it is rounded.
        own = np.where(probability.argmax(axis=1) == called, most, (1.0 + 1e-9) * most)
        probability[every, called] = own
        return probability / probability.sum(axis=1, keepdims=True)
    log_odds = calibration.slope * scores + calibration.shift
    if calibration.slope == 0.0:
        log_odds = log_odds + _LEAST_SLOPE * np.tanh(decision)
    else:
        least = _LEAST_SLOPE * calibration.slope * np.clip(decision, -1e3, 1e3)
        log_odds = np.where(decision > 0, np.maximum(log_odds, least), np.minimum(log_odds, least))
    return np.column_stack([expit(-log_odds), expit(log_odds)])


def choose_classes(
    estimator: Any,
    fit: Callable[..., list[SparseBayes | SparseSoftmax]],
    rows: Rows,
    codes: Indices,
    n_classes: int,
    *,
    importance: Array,
    deadline: float | None,
) -> tuple[Dictionary, Calibration | None, tuple[tuple[str, float, float], ...]]:
    """Choose scales and a width, or a constant, and calibrate, on held-out rows.

    Returns the functions to choose from, the calibration, and the mean losses of all that was
    tried.

    Shapes: codes (n,), importance (n,): weights that are due to the classes.

    fit: `fit_classes` with the options of fits that only compare.
    """
    table = ScaledRows.of(estimator, rows)
    own, some = table.sample(codes)
    codes_some, half = codes[some], half_time(deadline)

    def scorer(basis: BasisFunctions, design: Array, left: Array, held: Indices) -> Array:
        train = np.flatnonzero(left > 0.0)
        made = Dictionary(basis, design[train])
        weights = left[train]
        fits = fit(made, codes_some[train], n_classes, row_weights=weights, deadline=half)
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
        at_held = design[held][:, shared.order]
        return np.hstack([model.mean(at_held), model.variance(own.X[held], at_held)])

    deals = deal_rows(codes_some, own.weights, importance[some])
    constant = constant_calibration(codes, rows.weights, n_classes)
    blank = np.zeros((len(codes_some), 2 * len(constant.shift)))
    trusts = (0.0,) if estimator.response == "plug_in" else TRUSTS
    choice = choose_width(
        Trials(own, estimator.bias, deals, scorer),
        automatic_names(estimator),
        lambda latent, parts: held_out_losses(latent, codes_some[parts.rows], parts, trusts),
        constant.losses(blank, codes_some),
        deadline=half,
    )
    basis = table.basis(choice.kernel, estimator.bias)
    calibration = None
    if choice.kernel is None:
        calibration = constant
    elif choice.scores:
        used = deals[: len(choice.scores)]
        labels = np.concatenate([codes_some[parts.rows] for parts in used])
        calibration = fit_calibration(
            np.concatenate(choice.scores), labels, shared_weights(used), trusts
        )
    return Dictionary(basis, basis.design(rows.X)), calibration, choice.tried
