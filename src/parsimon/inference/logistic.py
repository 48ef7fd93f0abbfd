"""A logistic regression of few columns by Newton's method, safe where classes nearly separate.

`irls` has the same for many problems at once, and for columns that a search switches on and off.
"""

import numpy as np
from scipy.special import expit

from parsimon._typing import Array

# A score may change by so much in one step.
_LONGEST = 10.0


def fit_logistic(
    design: Array,
    y: Array,
    *,
    offset: Array | float = 0.0,
    penalty: Array | float = 0.0,
    most_steps: int = 100,
) -> Array | None:
    """Return the coefficients of greatest (penalised) likelihood; None where there are none.

    `offset` is added to the scores; each coefficient costs half its square times its `penalty`.

    Shapes: design (n, k), y (n,) of 0 and 1, offset (n,), penalty (k,) -> (k,).
    """
    line: Array = np.zeros(design.shape[1])
    ridge = np.broadcast_to(penalty, line.shape)
    loss = logistic_loss(design, y, line, offset=offset, penalty=ridge)
    for _ in range(most_steps):
        chance = expit(design @ line + offset)
        gradient = design.T @ (y - chance) - ridge * line
        hessian = (design.T * (chance * (1 - chance))) @ design + np.diag(ridge)
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        # Where all rows are called surely the curvature is almost nothing, and a step endless.
        step = step * min(1.0, _LONGEST / max(float(np.abs(design @ step).max()), 1e-300))
        # The likelihood is concave, so that a short enough part of the step always helps.
        while (
            after := logistic_loss(design, y, line + step, offset=offset, penalty=ridge)
        ) > loss and np.abs(step).max() > 1e-12:
            step = step / 2
        line, loss = line + step, after
        if np.abs(step).max() < 1e-10 * (1 + np.abs(line).max()):
            return line if np.isfinite(line).all() else None
    return None


def logistic_loss(
    design: Array,
    y: Array,
    line: Array,
    *,
    offset: Array | float = 0.0,
    penalty: Array | float = 0.0,
) -> float:
    """Return minus the log likelihood, with the penalty; shapes as in `fit_logistic`."""
    scores = design @ line + offset
    lost = float(np.sum(np.logaddexp(0.0, scores) - y * scores))
    return lost + 0.5 * float(np.sum(penalty * line**2))
