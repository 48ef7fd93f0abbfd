"""Kernel matrices of the training rows and of new rows, whatever a kernel was given as."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._typing import Array, Indices
from parsimon._validation import finite_matrix
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Kernel, as_kernel

_ASYMMETRY = 1e-8


@dataclass(frozen=True, eq=False)
class Gram:
    """A kernel and the rows it was fitted on.

    rows (n, d): Training rows; for "precomputed" the similarities themselves, shape (n, n).
    is_psd: Whether the matrix is known to be positive semi-definite from the kernel's form
        alone; False means unknown.
    places (n,): For "precomputed": which columns of new similarities belong to the rows; None
        means all.
    """

    kernel: Any
    rows: Array
    is_psd: bool
    places: Indices | None = None

    @classmethod
    def of(
        cls,
        kernel: Any,
        gamma: float | str,
        degree: int,
        coef0: float,
        X: Array,
        *,
        weights: Array | None = None,
    ) -> "Gram":
        """Fit a kernel to training rows.

        Shapes: X (n, d), weights (n,).
        """
        if isinstance(kernel, str) and kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise InvalidInputError(
                    f'kernel="precomputed" takes a square matrix of the similarities of the '
                    f"training rows, got shape {X.shape}."
                )
            return cls(kernel, X, is_psd=False)
        if isinstance(kernel, str):
            width = _weighted_scale(X, weights) if _is_scale(gamma) else gamma
            made = as_kernel(kernel, gamma=width, degree=degree, coef0=coef0, X=X)
            return cls(made, X, is_psd=made.is_psd)
        if isinstance(kernel, Kernel):
            return cls(kernel, X, is_psd=kernel.is_psd)
        if callable(kernel):
            return cls(kernel, X, is_psd=False)
        raise InvalidInputError(
            f"kernel must be a name, a parsimon kernel or a callable; got {kernel!r}."
        )

    @property
    def precomputed(self) -> bool:
        """Whether rows are similarities instead of features."""
        return isinstance(self.kernel, str)

    @property
    def train(self) -> Array:
        """Similarities of the training rows, shape (n, n), symmetric; computed at every call."""
        if self.precomputed:
            return _symmetric(self.rows)
        if isinstance(self.kernel, Kernel):
            with np.errstate(over="ignore", invalid="ignore"):
                matrix = self.kernel.gram(self.rows)
            return _finite(matrix)
        return _symmetric(_finite(np.asarray(self.kernel(self.rows, self.rows), dtype=np.float64)))

    def between(self, X: Array) -> Array:
        """Return similarities of new rows with the training rows, shape (m, n)."""
        if self.precomputed:
            return X if self.places is None else X[:, self.places]
        if isinstance(self.kernel, Kernel):
            return self.kernel.gram(X, self.rows)
        return finite_matrix(self.kernel(X, self.rows), "Kernel values")

    def subset(self, chosen: Indices) -> "Gram":
        """Return the same kernel on some of the rows, such as the support vectors."""
        if not self.precomputed:
            return Gram(self.kernel, self.rows[chosen], self.is_psd)
        places = chosen if self.places is None else self.places[chosen]
        return Gram(self.kernel, self.rows[np.ix_(chosen, chosen)], self.is_psd, places)


def _is_scale(gamma: Any) -> bool:
    return isinstance(gamma, str) and gamma == "scale"


def _weighted_scale(X: Array, weights: Array | None) -> float:
    """Return SVC's "scale" for a table in which each row is there `weights` times."""
    share = None if weights is None else np.repeat(weights[:, None], X.shape[1], axis=1)
    mean = np.average(X, weights=share)
    spread = float(np.average((X - mean) ** 2, weights=share))
    return 1.0 if spread == 0 else 1.0 / (X.shape[1] * spread)


def _symmetric(matrix: Array) -> Array:
    largest = float(np.abs(matrix).max(initial=0.0))
    asymmetry = float(np.abs(matrix - matrix.T).max(initial=0.0))
    if asymmetry > _ASYMMETRY * largest:
        raise InvalidInputError(
            f"The kernel matrix of the training rows is not symmetric: k(a, b) and k(b, a) differ "
            f"by up to {asymmetry:g}. Give (K + K.T) / 2 if that is what is meant."
        )
    return matrix if asymmetry == 0.0 else 0.5 * (matrix + matrix.T)


def _finite(matrix: Array) -> Array:
    if not np.isfinite(matrix).all():
        raise InvalidInputError(
            "The kernel has values that are not finite on these rows. Scale the columns, for "
            "instance with StandardScaler, or give another kernel."
        )
    return matrix
