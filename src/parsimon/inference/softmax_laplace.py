"""Laplace's approximation for several classes, with the softmax likelihood.

One latent function for each class, independent under the prior and with the same kernel. The
notation follows Rasmussen and Williams (2006), section 3.5; W is the negative Hessian of the log
likelihood, D its diagonal, E_c = inv(K + inv(D_c)), and M M^T = sum of E_c over classes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.special import log_softmax, softmax

from parsimon._checks import finite_matrix
from parsimon._data import checked_weights
from parsimon._random import Seed, generator
from parsimon._typing import Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.inference._covariance import Covariance, symmetric_gradient
from parsimon.inference.laplace import step_share
from parsimon.inference.posterior import Latent
from parsimon.linalg import jittered_cholesky


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxPosterior:
    """A Gaussian at the mode of the latent functions of several classes.

    Attributes
    ----------
    kernel : Covariance
    X : ndarray of shape (n, d)
        The rows of positive weight.
    gram : ndarray of shape (n, n)
    row_weights : ndarray of shape (n,)
    mode, weights : ndarray of shape (n_classes, n)
        Latent values, and the b with latent means ``K(X_star, X) @ b[c]``.
    log_evidence : float
    curvature : Curvature
        At the mode.
    converged : bool
    n_iterations : int

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X = np.array([[0.0], [1.0], [3.0], [5.0]])
    >>> posterior = softmax_laplace(SquaredExponential(0), X, np.array([0, 0, 1, 2]))
    >>> softmax_probability(posterior.latent(X)).argmax(axis=1)
    array([0, 0, 1, 2])
    """

    kernel: Covariance
    X: Array
    gram: Array
    row_weights: Array
    mode: Array
    weights: Array
    log_evidence: float
    curvature: "Curvature"
    converged: bool
    n_iterations: int

    def latent(self, X_star: Array) -> Latent:
        """Return the latent functions at new inputs.

        Parameters
        ----------
        X_star : ndarray of shape (m, d)

        Returns
        -------
        Latent
            Means of shape (m, n_classes) and covariances of shape (m, n_classes, n_classes).
        """
        return self.component(self.kernel, X_star)

    def component(self, part: Covariance, X_star: Array) -> Latent:
        """Return the posterior of one term of the kernel's sum, shaped as in `latent`.

        Rasmussen and Williams (2006), algorithm 3.4, with the term's covariances.
        """
        cross, own = part.gram(self.X, X_star), part.diagonal(X_star)
        products = self.curvature.E @ cross
        coupled = np.stack([self.curvature.whiten(product) for product in products])
        covariance = np.einsum("anm,bnm->mab", coupled, coupled)
        classes = np.arange(len(products))
        covariance[:, classes, classes] += own[:, None] - np.einsum("nm,anm->ma", cross, products)
        return Latent((self.weights @ cross).T, covariance)

    def evidence_gradient(self) -> Array:
        """Return the derivative of `log_evidence` for the kernel's `theta`, shape (p,)."""
        curvature, probability = self.curvature, softmax(self.mode, axis=0)
        moving = -0.5 * self.row_weights * self._determinant_slope(probability)
        moving = moving - curvature.solve(moving @ self.gram)
        left = self.weights + 2 * moving
        total = left.T @ self.weights
        for E in curvature.E:
            coupled = curvature.whiten(E)
            total += coupled.T @ coupled - E
        return symmetric_gradient(self.kernel, self.X, 0.5 * total)

    def _determinant_slope(self, probability: Array) -> Array:
        """Return tr(Sigma_i dW_i / df) for each latent value, without the row's weight."""
        products = self.curvature.E @ self.gram
        coupled = np.stack([self.curvature.whiten(product) for product in products])
        blocks = np.einsum("ani,bni->abi", coupled, coupled)
        classes = np.arange(len(products))
        own = np.diagonal(self.gram) - np.einsum("ni,ani->ai", self.gram, products)
        blocks[classes, classes] += own
        pull = blocks[classes, classes] - 2 * np.einsum("abi,bi->ai", blocks, probability)
        return probability * (pull - np.sum(probability * pull, axis=0))


@dataclass(frozen=True, eq=False)
class Curvature:
    """The inverse of K + inv(W) over all classes, from matrices of one class's size.

    Shapes: E (n_classes, n, n).

    root (n, n): M.
    log_determinant: Of I + W^1/2 K W^1/2.
    """

    E: Array
    root: Array
    log_determinant: float

    @classmethod
    def of(cls, gram: Array, probability: Array, row_weights: Array) -> "Curvature":
        E = np.empty((len(probability), *gram.shape))
        log_determinant = -float(np.sum(np.log(row_weights)))
        for c, scale in enumerate(np.sqrt(row_weights * probability)):
            B = np.asfortranarray(gram * scale * scale[:, None])
            B[np.diag_indices_from(B)] += 1.0
            lower, failure = lapack.dpotrf(B, lower=1, clean=1, overwrite_a=1)
            if failure:
                raise np.linalg.LinAlgError("The kernel matrix is not positive semi-definite.")
            log_determinant += 2.0 * float(np.sum(np.log(np.diagonal(lower))))
            half = np.tril(lapack.dpotri(lower, lower=1)[0])
            E[c] = scale * (half + np.tril(half, -1).T) * scale[:, None]
        root = jittered_cholesky(E.sum(axis=0)).lower
        log_determinant += 2.0 * float(np.sum(np.log(np.diagonal(root))))
        return cls(E, root, log_determinant)

    def whiten(self, right: Array) -> Array:
        """Return ``inv(M) @ right``."""
        return np.asarray(solve_triangular(self.root, right, lower=True, check_finite=False))

    def solve(self, right: Array) -> Array:
        """Return ``inv(K + inv(W)) @ right`` for right of shape (n_classes, n)."""
        products = np.einsum("aij,aj->ai", self.E, right)
        shared = lapack.dpotrs(self.root, products.sum(axis=0), lower=1)[0]
        return products - self.E @ shared


def softmax_laplace(
    kernel: Covariance,
    X: Array,
    labels: Any,
    *,
    n_classes: int | None = None,
    weights: Array | None = None,
    start: Array | None = None,
    tol: float = 1e-6,
    max_iterations: int = 100,
) -> SoftmaxPosterior:
    """Approximate the posterior of a multi-class Gaussian-process classifier.

    Newton's method with halved steps where needed (Rasmussen and Williams 2006, algorithm 3.3).

    Parameters
    ----------
    kernel : Covariance
        Shared by the latent functions of all classes.
    X : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
        Class codes 0, 1, ...
    n_classes : int, optional
        By default one more than the greatest code.
    weights : ndarray of shape (n,), optional
        Powers of the likelihood terms; integers equal duplicated rows exactly.
    start : ndarray of shape (n_classes, n), optional
        The `weights` of a posterior with nearby hyperparameters, for all n rows.
    tol : float
        Stop when a Newton step changes no latent value by more than this.
    max_iterations : int
        At most this many Newton steps.

    Returns
    -------
    SoftmaxPosterior

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> X = np.array([[0.0], [1.0], [3.0], [5.0]])
    >>> posterior = softmax_laplace(SquaredExponential(0), X, np.array([0, 0, 1, 2]))
    >>> posterior.mode.round(2)[:, 0], posterior.converged
    (array([ 0.68, -0.34, -0.34]), True)
    """
    rows, target, row_weights, used = _checked_rows(X, labels, n_classes, weights)
    return latent_softmax_mode(
        kernel,
        rows,
        target,
        row_weights,
        start=None if start is None else start[:, used],
        tol=tol,
        max_iterations=max_iterations,
    )


def latent_softmax_mode(
    kernel: Covariance,
    X: Array,
    target: Array,
    row_weights: Array,
    *,
    start: Array | None = None,
    tol: float = 1e-6,
    max_iterations: int = 100,
) -> SoftmaxPosterior:
    """Do what `softmax_laplace` does, with rows that have been checked and have weight.

    Shapes: X (n, d), target (n_classes, n), 1 where a row is of a class, row_weights (n,).
    """
    gram = np.asfortranarray(kernel.gram(X))
    a = np.zeros_like(target) if start is None else start
    point, converged, n_iterations = np.stack([a, a @ gram]), False, 0
    density = partial(_log_density, target=target, row_weights=row_weights)
    while not converged and n_iterations < max_iterations:
        n_iterations += 1
        move = _newton_move(gram, point, target, row_weights)
        point = point + step_share(density, point, move) * move
        converged = bool(np.max(np.abs(move[1])) <= tol * (1.0 + np.max(np.abs(point[1]))))
    curvature = Curvature.of(gram, softmax(point[1], axis=0), row_weights)
    log_evidence = density(*point) - 0.5 * curvature.log_determinant
    if not np.isfinite(log_evidence):
        raise np.linalg.LinAlgError("Laplace's approximation left the range of numbers.")
    return SoftmaxPosterior(
        kernel=kernel,
        X=X,
        gram=gram,
        row_weights=row_weights,
        mode=point[1],
        weights=row_weights * (target - softmax(point[1], axis=0)),
        log_evidence=log_evidence,
        curvature=curvature,
        converged=converged,
        n_iterations=n_iterations,
    )


def softmax_evidence(
    kernel: Covariance,
    X: Array,
    labels: Any,
    *,
    n_classes: int | None = None,
    weights: Array | None = None,
) -> Callable[[Array, SoftmaxPosterior | None], SoftmaxPosterior]:
    """Return a function from theta (and the last posterior) to a multi-class posterior.

    Parameters are those of `softmax_laplace`; the function is for `maximise_evidence`.

    Examples
    --------
    >>> from parsimon.kernels import SquaredExponential
    >>> kernel, X = SquaredExponential(0), np.array([[0.0], [1.0], [3.0]])
    >>> evaluate = softmax_evidence(kernel, X, np.array([0, 1, 2]))
    >>> evaluate(kernel.theta, None).converged
    True
    """
    rows, target, row_weights, _ = _checked_rows(X, labels, n_classes, weights)

    def evaluate(theta: Array, previous: SoftmaxPosterior | None) -> SoftmaxPosterior:
        start = None if previous is None else previous.weights
        return latent_softmax_mode(kernel.with_theta(theta), rows, target, row_weights, start=start)

    return evaluate


def softmax_probability(
    latent: Latent, *, plug_in: bool = False, n_samples: int = 1000, random_state: Seed = 0
) -> Array:
    """Return class probabilities from Gaussian latent values.

    Shape: (m, n_classes).
    """
    mean, covariance = latent
    if plug_in:
        return np.asarray(softmax(mean, axis=1))
    draws = generator(random_state).standard_normal((max(1, n_samples // 2), mean.shape[1]))
    values, vectors = np.linalg.eigh(covariance)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    probability = np.zeros_like(mean)
    for draw in draws:
        shift = roots @ draw
        probability += softmax(mean + shift, axis=1) + softmax(mean - shift, axis=1)
    return probability / (2 * len(draws))


def _newton_move(gram: Array, point: Array, target: Array, row_weights: Array) -> Array:
    """Return the Newton step of a and f, shape (2, n_classes, n)."""
    f = point[1]
    probability = softmax(f, axis=0)
    curvature = Curvature.of(gram, probability, row_weights)
    bent = probability * (f - np.sum(probability * f, axis=0))
    shift = row_weights * (bent + target - probability)
    a = shift - curvature.solve(shift @ gram)
    return np.stack([a, a @ gram]) - point


def _log_density(a: Array, f: Array, target: Array, row_weights: Array) -> float:
    likelihood = np.sum(target * log_softmax(f, axis=0), axis=0) @ row_weights
    return float(likelihood - 0.5 * np.vdot(a, f))


def _checked_rows(
    X: Any, labels: Any, n_classes: int | None, weights: Any
) -> tuple[Array, Array, Array, Mask]:
    """Return rows of positive weight, 1 where one is of a class, the weights, and which they are.

    Shapes: (m, d), (n_classes, m), (m,), (n,).
    """
    X, codes = finite_matrix(X, "X"), np.asarray(labels)
    if codes.ndim != 1 or len(codes) != len(X) or codes.dtype.kind not in "iu":
        raise InvalidInputError(
            f"Class codes must be {len(X)} integers, got shape {codes.shape} of {codes.dtype}."
        )
    if codes.min(initial=0) < 0:
        raise InvalidInputError(f"Class codes must be 0, 1, ..., got {codes.min()}.")
    greatest = int(codes.max(initial=0))
    if n_classes is not None and greatest >= n_classes:
        raise InvalidInputError(f"n_classes is {n_classes}, but there is a code {greatest}.")
    row_weights = checked_weights(weights, len(X))
    used = row_weights > 0
    classes = np.arange(greatest + 1 if n_classes is None else n_classes)
    target = (codes[used] == classes[:, None]).astype(np.float64)
    return X[used], target, row_weights[used], used
