"""The inner learner of series: kernel ridge regression, with errors of rows left out for free.

`smooth_fit` takes a few standardised features; its kernel is a constant, a straight line and
smooth bumps, so that it bends where the rows ask for it and goes on straight where there are none.
`SubsetLosses` says what subsets of features are worth to it, `search_feature_subsets` looks for the
best.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parsimon._random import Seed
from parsimon._typing import Array, Indices, Mask
from parsimon.features.series.evaluate import tree_cost
from parsimon.features.series.trees import MethodTree
from parsimon.linalg import pivoted_cholesky
from parsimon.pareto import Bits, nsga2

# The prior variance of the constant, in units of the bumps'.
_CONSTANT = 10.0
_LINEAR = 1.0
_WIDTHS = (0.1, 0.3, 1.0)
_NOISES = (0.01, 0.03, 0.1, 0.3, 1.0)
# From so many rows on a matrix is taken by its rank, to this mean of what is left out.
_MANY_ROWS, _TOL = 600, 1e-9
_DIGITS = 12


class SmoothFit(NamedTuple):
    """Weights of the rows (n, q), the chosen width and noise, and what rows left out are told.

    left_out (n, q): The output for each row of a fit to the others.
    loss: The mean square of its distance from the targets.
    """

    weights: Array
    width: float
    noise: float
    left_out: Array
    loss: float


def mean_squared_distances(A: Array, B: Array) -> Array:
    """Return squared distances over the number of columns: (n, k), (m, k) -> (n, m)."""
    square = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * A @ B.T
    found: Array = np.maximum(square, 0.0) / A.shape[1]
    return found


def smooth_kernel(A: Array, B: Array, width: float) -> Array:
    """Return the kernel between rows: (n, k), (m, k) -> (n, m)."""
    return _kernel(A @ B.T / A.shape[1], mean_squared_distances(A, B), width)


def _kernel(products: Array, distances: Array, width: float) -> Array:
    found: Array = _CONSTANT + _LINEAR * products + np.exp(-width * distances)
    return found


Folds = Sequence[tuple[Indices, Indices]]


def smooth_fit(Z: Array, T: Array, folds: Folds | None = None) -> SmoothFit:
    """Fit targets (n, q) on standardised features (n, k); width and noise by rows left out.

    With the hat matrix H the residual of a row left out is that of the fit over 1 - H_ii. With
    folds it is the test rows of each that are left out; rows that no fold tests are told NaN.
    """
    products, distances = Z @ Z.T / Z.shape[1], mean_squared_distances(Z, Z)
    found = []
    for width in _WIDTHS:
        K = _kernel(products, distances, width)
        outside = None if folds is None else [_noise_path(K, T, *fold) for fold in folds]
        whole = np.arange(len(Z))
        for at, (weights, left_out) in enumerate(_noise_path(K, T, whole, whole)):
            if folds is not None and outside is not None:
                left_out = np.full_like(T, np.nan)
                for (_, test), path in zip(folds, outside, strict=True):
                    left_out[test] = path[at][1]
            loss = float(np.nanmean((T - left_out) ** 2))
            found.append(SmoothFit(weights, width, _NOISES[at], left_out, loss))
    return min(found, key=lambda fit: fit.loss)


def _noise_path(K: Array, T: Array, train: Indices, test: Indices) -> list[tuple[Array, Array]]:
    """Return for every noise the weights of the training rows, and what test rows are told.

    Where both are the same rows, each is told what a fit to the others says.
    """
    values, vectors = _spectrum(K[np.ix_(train, train)])
    along = vectors.T @ T[train]
    # What no vector holds has the value 0.
    beside = T[train] - vectors @ along if len(values) < len(train) else 0.0
    rest = 1.0 - (vectors**2).sum(axis=1) if len(values) < len(train) else 0.0
    path = []
    for noise in _NOISES:
        inverse = 1.0 / (np.maximum(values, 0.0) + noise)
        weights = vectors @ (inverse[:, None] * along) + beside / noise
        if train is test:
            told = T - weights / ((vectors**2) @ inverse + rest / noise)[:, None]
        else:
            told = K[np.ix_(test, train)] @ weights
        path.append((weights, told))
    return path


def _spectrum(K: Array) -> tuple[Array, Array]:
    """Return eigenvalues and vectors of a kernel matrix; of many rows, those that are not 0.

    A smooth kernel of few columns has a rank far below the number of its rows.
    """
    n = len(K)
    if n < _MANY_ROWS:
        values, vectors = np.linalg.eigh(K)
        return values, vectors
    found = pivoted_cholesky(lambda i, j: K[i][:, j], K.diagonal(), tol=_TOL, max_rank=n // 5)
    if not found.converged:
        values, vectors = np.linalg.eigh(K)
        return values, vectors
    values, inner = np.linalg.eigh(found.factor.T @ found.factor)
    kept = values > _TOL
    return values[kept], found.factor @ (inner[:, kept] / np.sqrt(values[kept]))


class SubsetLosses:
    """Errors of subsets of the pool for rows left out, each computed once.

    known: Loss and outputs of rows left out by the bytes of a mask.
    """

    def __init__(
        self,
        Z: Array,
        T: Array,
        trees: list[MethodTree],
        length: int,
        folds: Folds | None,
    ) -> None:
        self.Z, self.T, self.trees, self.length, self.folds = Z, T, trees, length, folds
        self.known: dict[bytes, tuple[float, Array]] = {}

    def __call__(self, masks: Mask, most: int) -> Array:
        """Return error, size and cost: (B, d) -> (B, 3); of no use for subsets beyond limits."""
        found = np.zeros((len(masks), 3))
        for row, mask in zip(found, masks.astype(bool), strict=True):
            if 0 < mask.sum() <= most:
                row[:] = self.objectives(mask)
            else:
                row[:] = float((self.T**2).mean()) * 10.0, mask.sum(), 0.0
        return found

    def objectives(self, mask: Mask) -> list[float]:
        """Return error, size and cost of a subset."""
        key = np.ascontiguousarray(mask).tobytes()
        if key not in self.known:
            fit = smooth_fit(self.Z[:, mask], self.T, self.folds)
            self.known[key] = fit.loss, fit.left_out
        cost = tree_cost([self.trees[at] for at in np.flatnonzero(mask)], self.length)
        return [round(self.known[key][0], _DIGITS), float(mask.sum()), round(cost, 3)]


def search_feature_subsets(
    losses: SubsetLosses,
    ranked: Mask,
    generations: int,
    time_limit: float | None,
    random_state: Seed,
) -> str:
    """Evaluate good subsets, and return why that ended.

    ranked (most, d): The first feature, the first two, and so on.
    """
    most, n_trees = ranked.shape
    return nsga2(
        lambda bits: (losses(bits, most), np.maximum(bits.sum(axis=1) - most, 0.0)),
        Bits(n_trees, share=min(0.5, most / n_trees)),
        start=ranked,
        population_size=40,
        max_iter=generations,
        time_limit=time_limit,
        random_state=random_state,
    ).stopped_by
