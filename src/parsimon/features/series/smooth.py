"""The inner learner of series: kernel ridge regression, with errors of rows left out for free.

`smooth_fit` takes a few standardised features; its kernel is a constant, a straight line and
smooth bumps, so that it bends where the rows ask for it and goes on straight where there are none.
"""

from typing import NamedTuple

import numpy as np

from parsimon._typing import Array

# The prior variance of the constant, in units of the bumps'.
_CONSTANT = 10.0
_LINEAR = 1.0
_WIDTHS = (0.1, 0.3, 1.0)
_NOISES = (0.01, 0.03, 0.1, 0.3, 1.0)


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


def squared_distances(A: Array, B: Array) -> Array:
    """Return squared distances over the number of columns: (n, k), (m, k) -> (n, m)."""
    square = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * A @ B.T
    found: Array = np.maximum(square, 0.0) / A.shape[1]
    return found


def smooth_kernel(A: Array, B: Array, width: float) -> Array:
    """Return the kernel between rows: (n, k), (m, k) -> (n, m)."""
    return _kernel(A @ B.T / A.shape[1], squared_distances(A, B), width)


def _kernel(products: Array, distances: Array, width: float) -> Array:
    found: Array = _CONSTANT + _LINEAR * products + np.exp(-width * distances)
    return found


def smooth_fit(Z: Array, T: Array) -> SmoothFit:
    """Fit targets (n, q) on standardised features (n, k); width and noise by rows left out.

    With the hat matrix H the residual of a row left out is that of the fit over 1 - H_ii.
    """
    products, distances = Z @ Z.T / Z.shape[1], squared_distances(Z, Z)
    best: SmoothFit | None = None
    for width in _WIDTHS:
        values, vectors = np.linalg.eigh(_kernel(products, distances, width))
        values = np.maximum(values, 0.0)
        along = vectors.T @ T
        for noise in _NOISES:
            inverse = 1.0 / (values + noise)
            weights = vectors @ (inverse[:, None] * along)
            diagonal = (vectors**2) @ inverse
            left_out = T - weights / diagonal[:, None]
            loss = float(np.mean((T - left_out) ** 2))
            if best is None or loss < best.loss:
                best = SmoothFit(weights, width, noise, left_out, loss)
    if best is None:
        raise AssertionError
    return best
