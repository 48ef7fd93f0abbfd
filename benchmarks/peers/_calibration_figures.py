"""What is measured of probabilities on held-out rows."""

import numpy as np

from parsimon._typing import Array, Indices, Mask

# A stated zero costs this much at most, as in scikit-learn's log_loss.
LEAST = float(np.finfo(np.float64).eps)
# Log odds beyond this are as good as certain; it keeps the slope from hanging on one row.
MOST_LOG_ODDS = 12.0
STATED = 0.9
_NEWTON_STEPS = 50


def log_losses(probability: Array, y: Indices) -> Array:
    """Return minus the log probability of each row's own class, shape (m,)."""
    own = probability[np.arange(len(y)), y]
    losses: Array = -np.log(np.clip(own, LEAST, 1.0))
    return losses


def brier(probability: Array, y: Indices) -> float:
    """Return the mean squared error; for two classes that of the one probability."""
    errors = probability - np.eye(probability.shape[1])[y]
    return float((errors**2).sum(axis=1).mean() / 2)


def slope(probability: Array, y: Indices) -> float | None:
    """Return the slope of outcomes on stated log odds: 1 is right, less is too extreme.

    A logistic regression with an intercept; with more than two classes over all "this class or
    another". None where the stated probabilities are constant.
    """
    columns = [1] if probability.shape[1] == 2 else range(probability.shape[1])
    p = np.clip(np.concatenate([probability[:, c] for c in columns]), LEAST, 1 - LEAST)
    outcome = np.concatenate([(y == c).astype(np.float64) for c in columns])
    x = np.clip(np.log(p) - np.log1p(-p), -MOST_LOG_ODDS, MOST_LOG_ODDS)
    if np.ptp(x) < 1e-6:
        return None
    design = np.column_stack([np.ones_like(x), x])
    weights = np.array([0.0, 1.0])
    for _ in range(_NEWTON_STEPS):
        fitted = 1.0 / (1.0 + np.exp(-design @ weights))
        # One row's worth of shrinkage to the stated odds, for tables that are told apart exactly.
        gradient = design.T @ (outcome - fitted) - np.array([0.0, weights[1] - 1.0])
        curvature = (design * (fitted * (1 - fitted))[:, None]).T @ design
        step = np.linalg.solve(curvature + np.diag([1e-9, 1.0]), gradient)
        weights = weights + np.clip(step, -1.0, 1.0)
    return float(weights[1])


def stated_sets(probability: Array) -> Mask:
    """Return which classes are in each row's smallest set that is stated to hold 90 %."""
    order = np.argsort(-probability, axis=1, kind="stable")
    sorted_ = np.take_along_axis(probability, order, axis=1)
    before = np.cumsum(sorted_, axis=1) - sorted_
    inside = np.zeros(probability.shape, dtype=bool)
    np.put_along_axis(inside, order, before < STATED - 1e-12, axis=1)
    return inside


def coverage(probability: Array, y: Indices) -> tuple[float, float]:
    """Return the share of rows whose class is in their 90 % set, and the share that was stated.

    A set holds whole classes, so that what it states is 90 % or more: the share of rows it covers
    should be the mean of that, not 90 %.
    """
    inside = stated_sets(probability)
    covered = float(inside[np.arange(len(y)), y].mean())
    return covered, float((probability * inside).sum(axis=1).mean())
