"""Rows known only by their similarities become points, whose inner products the similarities are.

A Gaussian process on a precomputed kernel matrix is one with straight lines on these points, so
that evidence, low rank, leave-one-out and several classes need nothing of their own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.posterior import Latent
from parsimon.kernels import Constant, Kernel, Linear, Sum

# Of the greatest eigenvalue: directions below the first are rounding, a negative one beyond the
# second is not.
_LEAST_EIGENVALUE, _MOST_NEGATIVE = 1e-10, 1e-6


@dataclass(frozen=True, eq=False)
class SimilarityPoints:
    """How similarities with the training rows become points.

    projection (n, r): Similarities times it are points.
    own: Similarity of any row with itself, None if the training rows differ in it; new rows are
        then held to lie in the space of the training rows, which makes variances a little small.
    """

    projection: Array
    own: float | None

    @classmethod
    def of(cls, similarities: Array) -> "SimilarityPoints":
        """Return the points' space from the training rows' matrix, shape (n, n)."""
        n_rows, n_columns = similarities.shape
        size = float(np.abs(similarities).max())
        if n_rows != n_columns or not np.allclose(
            similarities, similarities.T, rtol=0, atol=1e-8 * size
        ):
            raise InvalidInputError(
                'kernel="precomputed" takes the square, symmetric matrix of the similarities of '
                f"the training rows, got shape {similarities.shape}."
            )
        values, vectors = np.linalg.eigh(similarities)
        if values[0] < -_MOST_NEGATIVE * max(values[-1], 0.0) or values[-1] <= 0:
            raise InvalidInputError(
                f"The matrix of similarities has an eigenvalue of {values[0]:.3g} beside "
                f"{values[-1]:.3g}; a Gaussian process needs one that is positive semi-definite."
            )
        kept = values > _LEAST_EIGENVALUE * values[-1]
        diagonal = np.diagonal(similarities)
        is_same = np.ptp(diagonal) <= 1e-9 * size
        return cls(
            vectors[:, kept] / np.sqrt(values[kept]), float(diagonal[0]) if is_same else None
        )

    def points(self, similarities: Array) -> Array:
        """Return points from similarities with the training rows, shape (m, n) -> (m, r)."""
        points: Array = similarities @ self.projection
        return points

    def kernel(self, points: Array, *, is_fitted: bool) -> Kernel:
        """Return the kernel of the points: theirs alone, or a constant and a scale to be fitted."""
        return (Constant() + Linear()).start(points) if is_fitted else Linear()

    def widened(self, latent: Latent, points: Array, kernels: tuple[Kernel, ...]) -> Latent:
        """Add the prior variance of rows that lies outside of the space of the training rows.

        Shapes: latent of means (m, k) and variances (m, k) or (m, k, k), points (m, r).
        """
        if self.own is None:
            return latent
        outside = np.maximum(self.own - np.einsum("ij,ij->i", points, points), 0.0)
        added = outside[:, None] * np.array([_scale(kernel) for kernel in kernels])
        if latent.variance.ndim == 3:
            added = added[:, :, None] * np.eye(latent.variance.shape[-1])
        return Latent(latent.mean, latent.variance + added)


def _scale(kernel: Any) -> float:
    """Return the variance of the lines in a kernel that `SimilarityPoints.kernel` made."""
    terms = kernel.terms if isinstance(kernel, Sum) else (kernel,)
    return float(next(term.variance for term in terms if isinstance(term, Linear)))
