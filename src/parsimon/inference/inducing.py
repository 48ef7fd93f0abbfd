"""Where to put inducing points: at centres of clusters, or at rows that others do not explain.

Both look at 20,000 rows at most, drawn at random from a larger table.
"""

import numpy as np

from parsimon._data import merged_rows
from parsimon._typing import Array
from parsimon.inference._covariance import Covariance
from parsimon.linalg import pivoted_cholesky

# Rows that are looked at; more do not move the centres noticeably.
MOST_ROWS = 20_000


def kmeans_points(
    X: Array,
    n_points: int,
    *,
    rng: np.random.Generator,
    weights: Array | None = None,
    scale: Array | None = None,
) -> Array:
    """Return the centres of clusters of the rows.

    If there are no more than `n_points` distinct rows, they are returned as they are.

    Shapes: X (n, d), weights (n,), scale (d,) -> (m, d).
    """
    # A row of weight two and a row given twice are the same table.
    X, weights = _distinct(X, np.ones(len(X)) if weights is None else weights)
    scale = _inverse_deviation(X) if scale is None else scale
    _, which = np.unique(X * (scale != 0), axis=0, return_index=True)
    if len(which) <= n_points:
        return np.asarray(X[which])
    # Imported here: scikit-learn is slow to load, and nothing else of the inference needs it.
    from sklearn.cluster import k_means

    X, weights = _drawn(X, weights, rng)
    scaled = X * scale
    n_points = min(n_points, len(np.unique(scaled, axis=0)))
    _, labels, _ = k_means(
        scaled,
        n_points,
        sample_weight=weights,
        n_init=1,
        max_iter=30,
        random_state=int(rng.integers(2**31)),
    )
    # In the table's own units, also for columns that did not count.
    mass = np.bincount(labels, weights, minlength=n_points)
    sums = np.stack([np.bincount(labels, weights * column, minlength=n_points) for column in X.T])
    centres: Array = (sums[:, mass > 0] / mass[mass > 0]).T
    return centres


def pivoted_points(
    kernel: Covariance, X: Array, n_points: int, *, rng: np.random.Generator
) -> Array:
    """Return rows chosen one after another, each where those before leave most variance.

    These are the first pivots of the kernel matrix's pivoted Cholesky factor (Fine and Scheinberg
    2001, JMLR 2:243-264). Where the kernel at its present hyperparameters tells fewer rows apart,
    rows drawn at random make up the number: they serve when lengthscales shrink. Pivots reach
    out to remote rows, where k-means crowds where rows are many.

    Shapes: X (n, d) -> (m, d).
    """
    X, weights = _distinct(X, np.ones(len(X)))
    if len(X) <= n_points:
        return X
    X, _ = _drawn(X, weights, rng)
    pivots = pivoted_cholesky(
        lambda rows, columns: kernel.gram(X[rows], X[columns]),
        kernel.diagonal(X),
        tol=0.0,
        max_rank=n_points,
    ).pivots
    others = np.setdiff1d(np.arange(len(X)), pivots)
    more = rng.choice(others, min(len(others), n_points - len(pivots)), replace=False)
    chosen: Array = X[np.concatenate([pivots, more])]
    return chosen


def _distinct(X: Array, weights: Array) -> tuple[Array, Array]:
    """Return the distinct rows that have weight, in sorted order, and their sums of weights."""
    rows = merged_rows(X, np.zeros(len(X)), weights)
    return rows.X, rows.weights


def _drawn(X: Array, weights: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return all rows, or as many of them as are looked at."""
    if len(X) <= MOST_ROWS:
        return X, weights
    kept = np.sort(rng.choice(len(X), MOST_ROWS, replace=False))
    return X[kept], weights[kept]


def _inverse_deviation(X: Array) -> Array:
    deviation = X.std(axis=0)
    inverse: Array = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    return inverse
