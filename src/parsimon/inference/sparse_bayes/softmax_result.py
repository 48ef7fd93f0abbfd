r"""What sparse Bayesian learning of several classes returns, and predictions from it.

Each (class, column) pair has a weight of its own; the score of class k at a row is the sum over
the pairs of that class. The scores at a row are jointly Gaussian under the posterior, and a
probability is the average of their softmax.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import ndtri, softmax

from parsimon._typing import Array, Indices
from parsimon.inference.posterior import Latent
from parsimon.inference.sparse_bayes.softmax_mode import class_contrasts

# Scores averaged at a time: bounds the memory of the average to some tens of megabytes.
_BLOCK = 2_000_000


@dataclass(frozen=True)
class SparseSoftmax:
    r"""A Gaussian posterior over the weights of the (class, column) pairs that are in the model.

    pairs (m, 2): Class and column of each weight, ascending.
    alpha (m,): Prior precisions of the weights; those of all other pairs are infinite.
    mean (m,): Posterior mode.
    covariance (m, m): Of Laplace's approximation.
    log_evidence: Log marginal likelihood by Laplace's method.
    reason: Why the algorithm stopped, one sentence.
    history (n_steps,): The log evidence after each accepted step; it never decreases.
    """

    pairs: Indices
    alpha: Array
    mean: Array
    covariance: Array
    log_evidence: float
    n_iter: int
    converged: bool
    reason: str
    history: Array = field(default_factory=lambda: np.empty(0), repr=False)

    @property
    def active(self) -> Indices:
        """Columns of the design that are in the model of at least one class, ascending."""
        return np.unique(self.pairs[:, 1])

    @property
    def well_determined(self) -> Array:
        r""":math:`\gamma_m = 1 - \alpha_m \Sigma_{mm}`, shape (m,): how far the data set a weight.

        Their sum is the number of degrees of freedom of all classes together.
        """
        share: Array = 1.0 - self.alpha * np.diagonal(self.covariance)
        return np.clip(share, 0.0, 1.0)

    def weights(self, n_classes: int, n_columns: int) -> Array:
        """Return the weights as a matrix of shape (n_classes, n_columns), zero where not active."""
        matrix = np.zeros((n_classes, n_columns))
        matrix[self.pairs[:, 0], self.pairs[:, 1]] = self.mean
        return matrix


def softmax_scores(result: SparseSoftmax, design: Array, n_classes: int) -> Array:
    """Return the posterior means of the scores.

    Shapes: design (n, n_columns) -> (n, n_classes).
    """
    used = result.active
    scores: Array = design[:, used] @ result.weights(n_classes, design.shape[1])[:, used].T
    return scores


def softmax_latent(result: SparseSoftmax, design: Array, n_classes: int) -> Latent:
    """Return means (n, n_classes) and covariances (n, n_classes, n_classes) of the scores.

    Parameters are those of `softmax_scores`.
    """
    classes, columns = result.pairs.T
    values = design[:, columns]
    members = [np.flatnonzero(classes == k) for k in range(n_classes)]
    covariance = np.zeros((len(design), n_classes, n_classes))
    for k, own in enumerate(members):
        spread = values[:, own] @ result.covariance[own]
        for other in range(k, n_classes):
            theirs = members[other]
            entry = np.einsum("nm,nm->n", spread[:, theirs], values[:, theirs])
            covariance[:, k, other] = covariance[:, other, k] = entry
    return Latent(softmax_scores(result, design, n_classes), covariance)


def softmax_moderated(
    result: SparseSoftmax, design: Array, n_classes: int, *, n_points: int = 512
) -> Array:
    """Return class probabilities averaged over the posterior of the scores.

    Shapes: design (n, n_columns) -> (n, n_classes).
    """
    return softmax_average(softmax_latent(result, design, n_classes), n_points=n_points)


def softmax_average(latent: Latent, *, n_points: int = 512) -> Array:
    r"""Return the average of the softmax over Gaussian scores, by a fixed set of points.

    Only differences of scores matter, so the average is over K - 1 dimensions. Its points are a
    lattice: midpoints in the first dimension, multiples of powers of the generalised golden ratio
    in the others, made normal by the quantile function and mirrored. The same points serve every
    row, through the symmetric root of the row's covariance, so that probabilities are a
    continuous function of the row and the same on every call. With the default the error is
    about 0.001 for moderate scores.

    Shape: (n, n_classes).
    """
    mean, covariance = latent
    n_rows, n_classes = mean.shape
    contrasts = class_contrasts(n_classes).matrix
    values, vectors = np.linalg.eigh(contrasts.T @ covariance @ contrasts)
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    roots = contrasts @ (scaled @ vectors.transpose(0, 2, 1))
    points = _normal_points(n_points, n_classes - 1)
    probability = np.empty_like(mean)
    step = max(1, _BLOCK // (len(points) * n_classes))
    for begin in range(0, n_rows, step):
        rows = slice(begin, begin + step)
        scores = mean[rows, :, None] + roots[rows] @ points.T
        probability[rows] = softmax(scores, axis=1).mean(axis=2)
    return probability


@lru_cache(maxsize=16)
def _normal_points(n_points: int, n_dimensions: int) -> Array:
    """Return points that stand for a standard normal, shape (2 * n_points, n_dimensions)."""
    count = np.arange(n_points)
    uniform = np.empty((n_points, n_dimensions))
    uniform[:, 0] = (count + 0.5) / n_points
    # Roberts (2018): the root of x^(d+1) = x + 1 spreads multiples evenly in d dimensions.
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / n_dimensions)
    for d in range(1, n_dimensions):
        uniform[:, d] = (0.5 + count * root**-d) % 1.0
    points = ndtri(np.clip(uniform, 1e-12, 1.0 - 1e-12))
    mirrored: Array = np.vstack([points, -points])
    mirrored.flags.writeable = False
    return mirrored
