"""What sparse Bayesian learning is given, a design, labels and options, and what it returns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from parsimon._checks import check_choice, check_count, check_positive, finite_vector
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError

# Numbers in a block of rows: for matrix products 32 MB, small beside any design for which memory
# matters; for what passes over the block several times 512 kB, which stay in the cache.
_LARGE = 2**22
_SMALL = 2**16


@dataclass(frozen=True)
class ScaledColumns:
    """The columns of a design, each divided by its weighted root mean square.

    With columns of mean square one, a prior precision says how strongly a column may move the
    prediction, whatever its unit; the division is done on results, never on the design.

    design (n, M): As the caller gave it, 64 or 32 bits.
    scale (M,): The root mean squares; one for a column of zeros.
    usable (M,): False for columns that are zero wherever the weight is positive.
    """

    design: AnyArray
    scale: Array
    usable: Mask

    @cached_property
    def inverse(self) -> Array:
        """One over the scale, shape (M,)."""
        return 1.0 / self.scale

    def take(self, indices: Indices) -> Array:
        """Return some columns, shape (n, m), in 64 bits."""
        chosen = np.empty((self.design.shape[0], len(indices)), order="F")
        np.multiply(self.design[:, indices], self.inverse[indices], out=chosen)
        return chosen

    def project(self, right: Array) -> Array:
        """Return the transposed design times `right` of shape (n, k), shape (M, k)."""
        total = np.zeros((self.design.shape[1], right.shape[1]))
        for rows, block in blocks(self.design, _LARGE):
            total += block.T @ right[rows]
        total *= self.inverse[:, None]
        return total

    def squares(self, weights: Array) -> Array:
        """Return the weighted sums of squares of all columns, shape (M,)."""
        total = np.zeros(self.design.shape[1])
        for rows, block in blocks(self.design, _SMALL):
            total += weights[rows] @ np.square(block * self.inverse)
        return total


def scaled_columns(design: Any, row_weights: Array) -> ScaledColumns:
    """Check a design and measure its columns.

    Shapes: design (n, M), row_weights (n,).
    """
    matrix = np.asarray(design)
    if matrix.dtype != np.float32:
        matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] == 0:
        raise InvalidInputError(
            f"The design must be a matrix with at least one row, got shape {matrix.shape}."
        )
    if len(matrix) != len(row_weights):
        raise InvalidInputError(
            f"The design has {len(matrix)} rows, but there are {len(row_weights)} targets."
        )
    present = row_weights > 0
    largest = np.zeros(matrix.shape[1])
    for rows, block in blocks(matrix, _SMALL):
        here = block if present[rows].all() else block[present[rows]]
        if len(here):
            largest = np.maximum(largest, np.maximum(here.max(axis=0), -here.min(axis=0)))
    if not np.isfinite(largest).all():
        raise InvalidInputError("The design holds NaN or infinity. Remove or replace them.")
    # Divided first, lest the square of a huge or tiny number leave the range of floats.
    usable = largest > 0
    peaks = ScaledColumns(matrix, np.where(usable, largest, 1.0), usable)
    mean_square = peaks.squares(row_weights) / row_weights.sum()
    return ScaledColumns(matrix, peaks.scale * np.sqrt(np.where(usable, mean_square, 1.0)), usable)


def blocks(design: AnyArray, size: int) -> Iterator[tuple[slice, Array]]:
    """Yield slices of rows and those rows in 64 bits, about `size` numbers each."""
    step = max(1, size // max(1, design.shape[1]))
    for first in range(0, len(design), step):
        rows = slice(first, first + step)
        yield rows, np.asarray(design[rows], dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class SparsePosterior:
    r"""A Gaussian posterior over the weights of the few columns that are in a model.

    Attributes
    ----------
    alpha : ndarray of shape (m,)
        Prior precisions of the weights; those of all others are infinite.
    mean : ndarray of shape (m,)
        Posterior mean in regression, mode in classification.
    covariance : ndarray of shape (m, m)
    log_evidence : float
        Log marginal likelihood: exact in regression, by Laplace's method in classification, a
        lower bound for the variational algorithm.
    n_iter : int
    converged : bool
    reason : str
        Why the algorithm stopped, one sentence.
    history : ndarray of shape (n_steps,)
        The objective after each accepted step; it never decreases.
    """

    alpha: Array
    mean: Array
    covariance: Array
    log_evidence: float
    n_iter: int
    converged: bool
    reason: str
    history: Array = field(default_factory=lambda: np.empty(0), repr=False)

    @property
    def well_determined(self) -> Array:
        r""":math:`\gamma_m = 1 - \alpha_m \Sigma_{mm}`, shape (m,): how far the data set a weight.

        Their sum is the number of degrees of freedom, the trace of the smoothing matrix
        (Tipping 2001, eq 17).
        """
        share: Array = 1.0 - self.alpha * np.diagonal(self.covariance)
        return np.clip(share, 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class SparseBayes(SparsePosterior):
    """A Gaussian posterior over the weights of the few columns that are in the model.

    Attributes
    ----------
    active : ndarray of shape (m,)
        Columns of the design that are in the model, ascending.
    noise_variance : float or None
        None in classification.
    objective : float
        What was maximised: the log evidence plus the log prior of alpha, which is zero for "ard".
    alpha, mean, covariance, log_evidence, n_iter, converged, reason, history
        As in `SparsePosterior`.
    """

    active: Indices
    noise_variance: float | None
    objective: float


# Share of the targets' variance that is taken for noise at first.
_FIRST_NOISE = 0.1

Prior: TypeAlias = Literal["ard", "smooth"]
Smoothness: TypeAlias = Literal["aic", "bic", "ric"] | float


def binary_targets(labels: Any) -> Array:
    """Return labels 0 or 1 as floats."""
    targets = finite_vector(labels, "labels")
    if not np.isin(targets, (0.0, 1.0)).all():
        raise InvalidInputError("labels must be 0 or 1; code the classes first.")
    return targets


def weights_of_rows(row_weights: Any, n_rows: int) -> Array:
    """Return one weight a row, ones if none are given."""
    if row_weights is None:
        return np.ones(n_rows)
    weights = finite_vector(row_weights, "row_weights")
    if len(weights) != n_rows:
        raise InvalidInputError(
            f"row_weights must have one entry for each of {n_rows} rows, got {len(weights)}."
        )
    if (weights < 0).any() or not weights.any():
        raise InvalidInputError("row_weights must not be negative, and not all of them zero.")
    return weights


def target_unit(targets: Array, row_weights: Array) -> float:
    """Return the standard deviation of the targets, their size if they are constant, or one."""
    largest = float(np.abs(targets[row_weights > 0]).max())
    if largest == 0:
        return 1.0
    scaled = targets / largest
    mean = float(np.average(scaled, weights=row_weights))
    deviation = float(np.sqrt(np.average((scaled - mean) ** 2, weights=row_weights)))
    return largest * (deviation if deviation > 1e-12 else 1.0)


def first_noise(start: SparseBayes | None, unit: float) -> float:
    """Return the noise variance to begin with, scaled."""
    if start is None or start.noise_variance is None:
        return _FIRST_NOISE
    return start.noise_variance / unit**2


def smoothness_weight(prior: str, smoothness: str | float, n_rows: float) -> float:
    r"""Return c of the log prior :math:`-c \, DF`: 1, :math:`\frac12\log n` or :math:`\log n`."""
    if check_choice("prior", prior, ("ard", "smooth")) == "ard":
        return 0.0
    if not isinstance(smoothness, str):
        return check_positive("smoothness", smoothness, or_zero=True)
    name: str = check_choice("smoothness", smoothness, ("aic", "bic", "ric"))
    logarithm = float(np.log(max(n_rows, 1.0)))
    return {"aic": 1.0, "bic": 0.5 * logarithm, "ric": logarithm}[name]


def check_budget(
    tol: float, max_iter: int, time_limit: float | None
) -> tuple[float, int, float | None]:
    """Return the three after a check of each."""
    limit = None if time_limit is None else check_positive("time_limit", time_limit)
    return check_positive("tol", tol), check_count("max_iter", max_iter), limit
