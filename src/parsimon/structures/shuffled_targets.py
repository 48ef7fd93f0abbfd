"""Whether columns say anything of a target: how probable it were with the target shuffled.

Of thousands of columns the best fits any target. So the best correlation, and what a ridge
regression on all columns explains, are held against those of the same target in another order.
"""

from collections.abc import Sequence

import numpy as np

from parsimon._typing import Array


def shuffled_p_value(
    looks: Sequence[tuple[Array, Array]], linear: Array | None = None, *, n_orders: int = 200
) -> float:
    """Return how probable it is that a shuffled target is explained as well as the given one.

    Of each look, columns (n, p) and target (n, q), the most that one column explains is compared,
    and what a ridge regression on columns (n, k), if there are any, explains of the first target:
    few simple columns need less luck than many. The least of their probabilities is held against
    the least of the shuffled targets, so that the answer is exact for any target without relation
    to the columns (Westfall and Young 1993, section 2.6), however many columns there are and
    however rare a class is. The given order is one of `n_orders`.
    """
    pairs = [(_unit_columns(columns), _unit_columns(wanted)) for columns, wanted in looks]
    first, n = pairs[0][1], len(pairs[0][1])
    hat = None if linear is None else _ridge_hat(_unit_columns(linear))
    rng = np.random.default_rng(0)
    figures = []
    for order in (np.arange(n), *(rng.permutation(n) for _ in range(n_orders - 1))):
        best = [
            float(((columns.T @ wanted[order]) ** 2).sum(axis=1).max(initial=0.0))
            for columns, wanted in pairs
        ]
        if hat is not None:
            best.append(float((first[order] * (hat @ first[order])).sum()))
        figures.append(best)
    explained = np.array(figures)
    # Shares of orders that are as good or better, but for rounding.
    reached = explained[:, None, :] >= explained * (1 - 1e-9)
    least = reached.mean(axis=0).min(axis=1)
    return float(np.mean(least <= least[0] + 1e-12))


def _unit_columns(values: Array) -> Array:
    """Return columns of mean zero and length one; constant ones are left out."""
    centred = values - values.mean(axis=0)
    lengths = np.sqrt((centred**2).sum(axis=0))
    varies = lengths > 1e-12 * np.sqrt((values**2).sum(axis=0))
    return centred[:, varies] / lengths[varies]


def _ridge_hat(columns: Array) -> Array:
    """Return the matrix of a ridge regression whose penalty is the mean of its eigenvalues."""
    kernel = columns @ columns.T
    values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, 0.0)
    present = values > 1e-10 * max(float(values[-1]), 1e-300)
    penalty = float(values[present].mean()) if present.any() else 1.0
    return (vectors * (values / (values + penalty))) @ vectors.T
