"""Variational classification: inducing points, the bound, its natural gradient, predictions.

The latent function is summarised by its values at m inducing points. Written as ``u = L v`` with
``L @ L.T`` their prior covariance, v has the prior N(0, I), and its approximate posterior q(v) is
what is learnt, in `variational_fit`. The one integral without a closed form, the expected log
likelihood of a probit term under a Gaussian, is done by quadrature. Hensman, Matthews and
Ghahramani (2015), AISTATS. The points are centres of clusters (`kmeans_points`), or rows that
others do not explain (`pivoted_points`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import blas, lapack
from scipy.special import log_ndtr

from parsimon._data import merged_rows
from parsimon._typing import Array, Indices
from parsimon.inference._covariance import Covariance, symmetric_gradient, weighted_gradient
from parsimon.inference.likelihoods import hermite_rule, legendre_rule, mills_ratio
from parsimon.inference.posterior import Latent
from parsimon.linalg import jittered_cholesky, pivoted_cholesky

# Twenty Hermite nodes are exact to 2e-10 up to this variance; at 25 they err by 4e-3.
NARROW = 1.0
# Beyond this value log Phi and its two derivatives are below 2e-9 and left out of wide integrals.
FLAT = 6.5


class Expected(NamedTuple):
    """E[log Phi(y f)] for Gaussian f, and its derivatives.

    Shapes: value (n,).

    slope (n,): Derivative for the mean.
    curvature (n,): Minus twice the derivative for the variance; not negative, as log Phi is
        concave.
    """

    value: Array
    slope: Array
    curvature: Array


def expected_log_likelihood(latent: Latent, y: Array) -> Expected:
    """Return the expectation of log Phi(y f) and its derivatives.

    With E the expectation under N(f; m, v), the derivatives are E[g'] for m and E[g''] / 2 for v
    (Opper and Archambeau 2009, Neural Comput. 21:786-792). Narrow Gaussians take Hermite's rule
    with 20 nodes; wide ones Legendre's rule with 28 nodes on the part where the probit bends and 28
    on the part below, accurate to about 1e-9 (curvature: 1e-8) for any variance.

    Shapes: y (n,).
    """
    mean, sd = y * latent.mean, np.sqrt(np.maximum(latent.variance, 0.0))
    moments = np.empty((3, len(mean)))
    wide = latent.variance > NARROW
    moments[:, ~wide] = _narrow(mean[~wide], sd[~wide])
    if wide.any():
        moments[:, wide] = _wide(mean[wide], sd[wide])
    value, slope, curvature = moments
    return Expected(value, y * slope, curvature)


def _narrow(mean: Array, sd: Array) -> Array:
    nodes, weights = hermite_rule(20)
    return _averages(mean + sd * nodes[:, None], np.broadcast_to(weights[:, None], (20, len(mean))))


def _wide(mean: Array, sd: Array) -> Array:
    low, high = mean - 8 * sd, mean + 8 * sd
    edges = np.stack([low, np.clip(-6.0, low, high), np.clip(FLAT, low, high)])
    nodes, weights = legendre_rule(28)
    half = np.diff(edges, axis=0) / 2
    u = (edges[:-1, None] + half[:, None] * (1 + nodes[:, None]) - mean) / sd
    density = np.exp(-0.5 * u**2) * weights[:, None] * (half / sd)[:, None] / np.sqrt(2 * np.pi)
    f = mean + sd * u
    return _averages(f.reshape(-1, len(mean)), density.reshape(-1, len(mean)))


def _averages(f: Array, weights: Array) -> Array:
    """Return weighted sums of log Phi, its derivative and minus its second derivative."""
    ratio = mills_ratio(f)
    moments = (log_ndtr(f), ratio, ratio * (f + ratio))
    return np.stack([np.einsum("ij,ij->j", weights, moment) for moment in moments])


# Added to the inducing points' covariance, relative to its mean diagonal. Inducing variables may
# carry noise of their own: the bound stays a bound.
JITTER = 1e-6

# Rows whose covariances with the inducing points are in memory at once.
CHUNK_ROWS = 1000


class LabelledRows(NamedTuple):
    """Training rows of c binary problems that share their inputs.

    Shapes: X (n, d).

    signs (n, c): Labels -1 and 1.
    weights (n,): Factor of each row's log likelihood.
    """

    X: Array
    signs: Array
    weights: Array

    def take(self, which: slice | Indices, scale: float = 1.0) -> "LabelledRows":
        """Return some rows with their weights times `scale`."""
        return LabelledRows(self.X[which], self.signs[which], scale * self.weights[which])

    def chunks(self) -> Iterator["LabelledRows"]:
        """Yield all rows, `CHUNK_ROWS` at a time."""
        for begin in range(0, len(self.X), CHUNK_ROWS):
            yield self.take(slice(begin, begin + CHUNK_ROWS))


@dataclass(frozen=True, eq=False)
class WhitenedGaussian:
    """A Gaussian over v, held by its natural parameters.

    shift (m,): Precision times mean.
    precision (m, m): Inverse of the covariance.
    """

    shift: Array
    precision: Array

    @classmethod
    def standard(cls, size: int) -> Self:
        """Return N(0, I), the prior."""
        return cls(np.zeros(size), np.eye(size))

    @cached_property
    def root(self) -> Array:
        """Lower Cholesky factor of the precision, shape (m, m)."""
        return jittered_cholesky(self.precision).lower

    @cached_property
    def covariance(self) -> Array:
        """Covariance matrix, shape (m, m)."""
        lower, _ = lapack.dpotri(self.root, lower=1)
        return np.tril(lower) + np.tril(lower, -1).T

    @cached_property
    def mean(self) -> Array:
        """Mean, shape (m,)."""
        return np.asarray(lapack.dpotrs(self.root, self.shift, lower=1)[0])

    @property
    def divergence(self) -> float:
        """Kullback-Leibler divergence from the prior N(0, I)."""
        log_determinant = 2 * np.sum(np.log(np.diagonal(self.root)))
        square = self.mean @ self.mean
        return float(0.5 * (np.trace(self.covariance) + square - len(self.mean) + log_determinant))

    def move(self, target: Self, step: float) -> Self:
        """Return the Gaussian whose natural parameters lie `step` of the way to the target's."""
        return type(self)(
            (1 - step) * self.shift + step * target.shift,
            (1 - step) * self.precision + step * target.precision,
        )


class Projection(NamedTuple):
    """Rows seen from the inducing points.

    onto (m, b): A, with latent values A.T v plus a rest that the inducing points do not
        explain.
    rest (b,): Variance of that rest.
    """

    onto: Array
    rest: Array

    def latent(self, gaussian: WhitenedGaussian) -> Latent:
        """Return the latent values of the rows under q(v)."""
        spread = blas.dtrsm(1.0, gaussian.root, self.onto, lower=1)
        variance = self.rest + np.einsum("ij,ij->j", spread, spread)
        return Latent(gaussian.mean @ self.onto, variance)


@dataclass(frozen=True, eq=False)
class InducingPrior:
    """A kernel and the inputs at which it summarises a function.

    Z (m, d): Inducing points.
    """

    kernel: Covariance
    Z: Array

    @cached_property
    def root(self) -> Array:
        """Lower Cholesky factor L of the inducing points' covariance, shape (m, m)."""
        gram = self.kernel.gram(self.Z)
        gram[np.diag_indices_from(gram)] += JITTER * np.mean(np.diagonal(gram))
        return jittered_cholesky(gram).lower

    def project(self, X: Array) -> Projection:
        """Return how rows depend on the inducing points, X of shape (b, d)."""
        onto = blas.dtrsm(1.0, self.root, self.kernel.gram(X, self.Z).T, lower=1)
        explained = np.einsum("ij,ij->j", onto, onto)
        return Projection(onto, np.maximum(self.kernel.diagonal(X) - explained, 0.0))


class Statistics(NamedTuple):
    """What one pass over some rows says about the bound.

    bound: Evidence lower bound, summed over the binary problems.
    targets: Where a full natural-gradient step would take each q(v).
    """

    bound: float
    targets: tuple[WhitenedGaussian, ...]


def bound_statistics(
    prior: InducingPrior, gaussians: Sequence[WhitenedGaussian], rows: LabelledRows
) -> Statistics:
    """Return the evidence lower bound, and the full natural-gradient steps.

    With A the projection of the rows, c their weights, s and k the expected slopes and
    curvatures, the natural gradient of the bound for the natural parameters is the difference
    between the target ``precision = I + A diag(c k) A.T``, ``shift = A (c (s + k mean))`` and the
    parameters themselves (Hensman et al. 2013, UAI; Salimbeni et al. 2018, AISTATS). A step of
    length t moves there by the share t; the precision stays positive definite for any t in
    [0, 1], as log Phi is concave.
    """
    likelihood = 0.0
    sums = [(np.zeros(len(prior.Z)), np.eye(len(prior.Z))) for _ in gaussians]
    for chunk in rows.chunks():
        projection = prior.project(chunk.X)
        likelihood += _accumulate(projection, gaussians, chunk, sums)
    divergence = sum(gaussian.divergence for gaussian in gaussians)
    return Statistics(likelihood - divergence, tuple(WhitenedGaussian(*each) for each in sums))


def _accumulate(
    projection: Projection,
    gaussians: Sequence[WhitenedGaussian],
    rows: LabelledRows,
    sums: list[tuple[Array, Array]],
) -> float:
    """Add these rows' part to every target and return their expected log likelihood."""
    likelihood = 0.0
    for gaussian, signs, (shift, precision) in zip(gaussians, rows.signs.T, sums, strict=True):
        latent = projection.latent(gaussian)
        value, slope, curvature = expected_log_likelihood(latent, signs)
        likelihood += float(rows.weights @ value)
        shift += projection.onto @ (rows.weights * (slope + curvature * latent.mean))
        precision += (projection.onto * (rows.weights * curvature)) @ projection.onto.T
    return likelihood


def bound_gradient(
    prior: InducingPrior, gaussians: Sequence[WhitenedGaussian], rows: LabelledRows
) -> Array:
    """Return the derivative of the bound for the kernel's `theta`, with q(v) held fixed.

    It runs backwards from the marginals through the projection and the Cholesky factor (Murray
    2016, arXiv:1602.07527).

    Shape: (p,).
    """
    kernel, Z = prior.kernel, prior.Z
    total = np.zeros(len(kernel.theta))
    if not len(total):
        return total
    factor_slope = np.zeros((len(Z), len(Z)))
    for chunk in rows.chunks():
        projection = prior.project(chunk.X)
        onto_slope, diagonal_slope = _projection_slopes(projection, gaussians, chunk)
        total += kernel.diagonal_gradients(chunk.X) @ diagonal_slope
        cross_slope = blas.dtrsm(1.0, prior.root, onto_slope, lower=1, trans_a=1)
        total += weighted_gradient(kernel, chunk.X, Z, cross_slope.T)
        factor_slope += onto_slope @ projection.onto.T
    return total + _inducing_gradient(prior, factor_slope)


def _projection_slopes(
    projection: Projection, gaussians: Sequence[WhitenedGaussian], rows: LabelledRows
) -> tuple[Array, Array]:
    """Return derivatives of the bound for the projection (m, b) and the rows' diagonal (b,)."""
    onto_slope = np.zeros_like(projection.onto)
    diagonal_slope = np.zeros(len(rows.X))
    for gaussian, signs in zip(gaussians, rows.signs.T, strict=True):
        _, slope, curvature = expected_log_likelihood(projection.latent(gaussian), signs)
        onto_slope += np.outer(gaussian.mean, rows.weights * slope)
        narrowing = projection.onto - gaussian.covariance @ projection.onto
        onto_slope += narrowing * (rows.weights * curvature)
        diagonal_slope -= 0.5 * rows.weights * curvature
    return onto_slope, diagonal_slope


def _inducing_gradient(prior: InducingPrior, factor_slope: Array) -> Array:
    """Return the part of the gradient that goes through the inducing points' covariance."""
    inner = np.tril(factor_slope)
    inner[np.diag_indices_from(inner)] /= 2
    left = blas.dtrsm(1.0, prior.root, inner, lower=1, trans_a=1)
    slopes = -blas.dtrsm(1.0, prior.root, left, side=1, lower=1)
    slopes = (slopes + slopes.T) / 2
    slopes[np.diag_indices_from(slopes)] += JITTER * np.trace(slopes) / len(slopes)
    return symmetric_gradient(prior.kernel, prior.Z, slopes)


@dataclass(frozen=True, eq=False)
class VariationalPosterior:
    """The latent functions of c binary problems, summarised at inducing points.

    Parameters
    ----------
    prior : InducingPrior
    gaussians : tuple of c WhitenedGaussian

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> prior = InducingPrior(SquaredExponential(variance=4.0), np.zeros((1, 1)))
    >>> posterior = VariationalPosterior(prior, (WhitenedGaussian.standard(1),))
    >>> posterior.latent(np.zeros((1, 1)))
    Latent(mean=array([[0.]]), variance=array([[4.]]))
    """

    prior: InducingPrior
    gaussians: tuple[WhitenedGaussian, ...]

    def latent(self, X: Array) -> Latent:
        """Return means and variances at new inputs, each of shape (n, c).

        Rows are taken in chunks, so that memory does not grow with n times m.
        """
        mean = np.empty((len(X), len(self.gaussians)))
        variance = np.empty_like(mean)
        for begin in range(0, len(X), CHUNK_ROWS):
            chunk = slice(begin, begin + CHUNK_ROWS)
            projection = self.prior.project(X[chunk])
            for problem, gaussian in enumerate(self.gaussians):
                mean[chunk, problem], variance[chunk, problem] = projection.latent(gaussian)
        return Latent(mean, variance)


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
    return (sums[:, mass > 0] / mass[mass > 0]).T


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
    return X[np.concatenate([pivots, more])]


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
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
