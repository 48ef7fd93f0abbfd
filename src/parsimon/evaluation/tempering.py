"""Probabilities that are too sure are tempered, as far as rows that were not seen ask for it.

All log odds of a model are multiplied by one slope between 0 and 1 (temperature scaling; Guo and
others 2017, ICML), so that the class that is called stays the same, and so does the order of rows.
A few dozen rows can determine one number, and no more.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from parsimon._typing import Array, Indices

# No model is taken to be surer than this.
SURE = 1e-6
# A slope from here on is taken for 1.
_SLIGHT = 0.95


def temper(chances: Array, slope: float) -> Array:
    """Return probabilities whose log odds are multiplied by the slope, shape (m, c)."""
    if slope == 1.0:
        return chances
    logs = slope * np.log(np.maximum(chances, SURE))
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def tempered_slope(chances: Array, codes: Indices) -> float:
    """Return the slope up to 1 of the least log loss on rows that a model has not seen.

    Shapes: chances (n, c), codes (n,).
    """
    rows = np.arange(len(codes))

    def loss(slope: float) -> float:
        own = temper(chances, slope)[rows, codes]
        return float(-np.log(np.maximum(own, SURE)).mean())

    best = minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-4})
    return 1.0 if best.x > _SLIGHT or loss(1.0) <= best.fun else float(best.x)
