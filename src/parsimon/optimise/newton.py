"""Newton's steps inside a box from a known curvature, which BFGS corrects after each."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from parsimon._typing import Array

# Value and gradient, or None where an evaluation failed.
Evaluate: TypeAlias = Callable[[Array], tuple[float, Array] | None]

# No variable moves further in one step.
LONGEST_STEP = 1.0
# A step that does not lower the value is halved at most so often.
MOST_HALVINGS = 4
# Of the largest curvature; flatter directions are taken to be this curved.
LEAST_CURVATURE = 1e-4
# Step of the differences of gradients that make a curvature.
DIFFERENCE = 1e-2


class Tolerances(NamedTuple):
    """When a descent stops: relative change of the value, largest slope, number of steps."""

    value: float
    gradient: float
    max_iterations: int


def newton_descent(
    evaluate: Evaluate, start: Array, bounds: Array, tolerances: Tolerances, curvature: Array
) -> tuple[bool, str]:
    """Go down from a start; return whether a tolerance was met, and why it ended.

    Variables at a bound that the slope pushes outwards are held there (Bertsekas 1982, SIAM J.
    Control Optim. 20:221-246); the rest takes BFGS steps (Nocedal and Wright 2006, section 6.1).

    Shapes: start (p,), bounds (p, 2), curvature (p, p).
    """
    H = _positive(curvature)
    x, found = start, evaluate(start)
    for _ in range(tolerances.max_iterations):
        if found is None:
            return False, "A step with known curvature did not lower the value."
        value, gradient = found
        if np.max(np.abs(projected(gradient, x, bounds))) <= tolerances.gradient:
            return True, "No slope is larger than its tolerance."
        step = _step(x, gradient, H, bounds)
        gain = -float(gradient @ step + 0.5 * step @ H @ step)
        if 0 <= gain <= tolerances.value * max(abs(value), 1.0):
            return True, "The next step would change the value by less than its tolerance."
        step, found = _lower(evaluate, x, value, step)
        x = x + step
        if found is not None:
            if value - found[0] <= tolerances.value * max(abs(value), abs(found[0]), 1.0):
                return True, "The value no longer changes by more than its tolerance."
            H = _corrected(H, step, found[1] - gradient)
    return False, "The limit of iterations was reached."


def promised_gain(evaluate: Evaluate, x: Array, gradient: Array, bounds: Array) -> float:
    """Return by how much Newton's step would lower the value, with differences of gradients.

    Shapes: x, gradient (p,), bounds (p, 2).
    """
    curvature = np.eye(len(x))
    for place, high in enumerate(bounds[:, 1]):
        moved = x.copy()
        moved[place] += DIFFERENCE if x[place] + DIFFERENCE <= high else -DIFFERENCE
        found = evaluate(moved)
        if found is not None:
            curvature[place] = (found[1] - gradient) / (moved[place] - x[place])
    H = _positive(curvature)
    step = _step(x, gradient, H, bounds)
    return -float(gradient @ step + 0.5 * step @ H @ step)


def projected(gradient: Array, x: Array, bounds: Array) -> Array:
    """Return the gradient without the components that a bound holds back."""
    low, high = bounds.T
    held = ((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)) | (low == high)
    return np.where(held, 0.0, gradient)


def _positive(curvature: Array) -> Array:
    """Return a positive definite matrix with the same directions."""
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    floor = LEAST_CURVATURE * max(float(np.max(np.abs(values))), 1.0)
    matrix: Array = (vectors * np.maximum(np.abs(values), floor)) @ vectors.T
    return matrix


def _step(x: Array, gradient: Array, H: Array, bounds: Array) -> Array:
    """Return the step to the minimum of a quadratic form, cut at the box; held variables stay."""
    low, high = bounds.T
    free = projected(gradient, x, bounds) != 0
    step = np.zeros_like(x)
    step[free] = -np.linalg.solve(H[np.ix_(free, free)], gradient[free])
    step *= LONGEST_STEP / max(float(np.max(np.abs(step))), LONGEST_STEP)
    cut: Array = np.clip(x + step, low, high) - x
    return cut


def _lower(
    evaluate: Evaluate, x: Array, value: float, step: Array
) -> tuple[Array, tuple[float, Array] | None]:
    """Halve a step until its end is lower; None if it never is."""
    for _ in range(MOST_HALVINGS):
        found = evaluate(x + step)
        if found is not None and found[0] <= value:
            return step, found
        step = step / 2
    return step, None


def _corrected(H: Array, step: Array, change: Array) -> Array:
    """Return the curvature after a step that changed the gradient; it stays positive."""
    along = H @ step
    if change @ step <= 1e-8 * (step @ along):
        return H
    corrected: Array = (
        H - np.outer(along, along) / (step @ along) + np.outer(change, change) / (change @ step)
    )
    return corrected
