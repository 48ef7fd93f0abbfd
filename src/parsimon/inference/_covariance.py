"""What inference asks of a kernel, and derivatives summed without storing them all."""

from typing import Protocol, Self

import numpy as np

from parsimon._typing import Array

# Entries of a derivative array computed at once; 4 million doubles are 32 MB.
CHUNK = 4_000_000


class Covariance(Protocol):
    """A covariance function whose hyperparameters are seen in logarithms.

    Every kernel of `parsimon.kernels` is one.
    """

    @property
    def theta(self) -> Array:
        """Logarithms of the free hyperparameters, shape (p,)."""

    def with_theta(self, theta: Array) -> Self:
        """Return a copy with these log hyperparameters."""

    def gram(self, X: Array, Y: Array | None = None) -> Array:
        """Return k(x_i, y_j), shape (n, m)."""

    def diagonal(self, X: Array) -> Array:
        """Return k(x_i, x_i), shape (n,)."""

    def gradients(self, X: Array, Y: Array | None = None) -> tuple[Array, Array]:
        """Return the Gram matrix (n, m) and its derivatives, shape (p, n, m)."""

    def diagonal_gradients(self, X: Array) -> Array:
        """Return the derivatives of the diagonal, shape (p, n)."""


def weighted_gradient(kernel: Covariance, X: Array, Y: Array, weights: Array) -> Array:
    """Return ``sum(weights * dK / dtheta_j)`` for every hyperparameter.

    Rows are taken in chunks, so that memory stays bounded whatever the number of
    hyperparameters.

    Shapes: X, Y (n, d), weights (n, m) -> (p,).
    """
    n_theta = len(kernel.theta)
    step = max(1, CHUNK // max(1, n_theta * len(Y)))
    total = np.zeros(n_theta)
    for begin in range(0, len(X), step):
        rows = slice(begin, begin + step)
        total += contract(kernel.gradients(X[rows], Y)[1], weights[rows])
    return total


def symmetric_gradient(kernel: Covariance, X: Array, weights: Array) -> Array:
    """Return ``sum(weights * dK / dtheta_j)`` over a whole kernel matrix of X with itself.

    The diagonal is taken from `diagonal_gradients`, which also holds for a kernel with white
    noise. The diagonal of `weights` is overwritten.
    """
    diagonal = np.diagonal(weights).copy()
    np.fill_diagonal(weights, 0.0)
    return weighted_gradient(kernel, X, X, weights) + kernel.diagonal_gradients(X) @ diagonal


def contract(derivatives: Array, weights: Array) -> Array:
    """Return ``sum(weights * derivatives[j])`` for each j."""
    if not len(derivatives):
        return np.zeros(0)
    flat = np.ascontiguousarray(weights).ravel()
    return derivatives.reshape(len(derivatives), flat.size) @ flat
