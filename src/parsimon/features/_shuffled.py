"""Whether columns say anything of a target: how probable it were with the target shuffled.

Of thousands of columns the best fits any target. So the best correlation, and what a ridge
regression on all columns explains, are held against those of the same target in another order.
"""

from collections.abc import Sequence

import numpy as np

from parsimon._typing import Array

# Orders of the target, the given one among them.
_ORDERS = 200


def shuffled_p_value(kinds: Sequence[Array], wanted: Array, linear: Array) -> float:
    """Return how probable it is that a shuffled target is explained as well as the given one.

    Compared are the most that one column of each kind explains, and what a ridge regression
    explains: few simple columns need less luck than many. The least of their probabilities is
    held against the least of the shuffled targets, so that the answer is exact for any target
    without relation to the columns (Westfall and Young 1993, section 2.6).

    Shapes: kinds of columns (n, p), wanted (n, q) and the columns of the regression (n, k), all
    with means 0 and spreads 1 or 0.
    """
    n = len(wanted)
    hat = _ridge_hat(linear)
    rng = np.random.default_rng(0)
    figures = []
    for order in (np.arange(n), *(rng.permutation(n) for _ in range(_ORDERS - 1))):
        target = wanted[order]
        best = [((columns.T @ target) ** 2).sum(axis=1).max(initial=0.0) for columns in kinds]
        figures.append([*best, float((target * (hat @ target)).sum())])
    explained = np.array(figures)
    # Shares of orders that are as good or better, but for rounding.
    reached = explained[:, None, :] >= explained * (1 - 1e-9)
    least = reached.mean(axis=0).min(axis=1)
    return float(np.mean(least <= least[0] + 1e-12))


def _ridge_hat(columns: Array) -> Array:
    """Return the matrix of a ridge regression whose penalty is the mean of its eigenvalues."""
    kernel = columns @ columns.T
    values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, 0.0)
    present = values > 1e-10 * max(float(values[-1]), 1e-300)
    penalty = float(values[present].mean()) if present.any() else 1.0
    hat: Array = (vectors * (values / (values + penalty))) @ vectors.T
    return hat
