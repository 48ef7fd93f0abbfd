"""The posterior of a latent function under Gaussian sites: predictions, components, leave-one-out.

Expectation propagation, Laplace's approximation and regression all end here. The latent mean at
new inputs is ``K(X_star, X) @ weights``; a sum of kernels splits it, and its variance, exactly.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array
from parsimon.inference._covariance import CHUNK, Covariance
from parsimon.inference.prior import Conditioned, LatentPrior


class Sites(NamedTuple):
    """Gaussian factors ``exp(-precision f^2 / 2 + shift f)`` that stand for the likelihood.

    Shapes: precision, shift (n,).
    """

    precision: Array
    shift: Array


class Latent(NamedTuple):
    """A latent function at m inputs.

    Shapes: mean (m,).

    variance (m,): The marginal variances, or the covariance matrix when it was asked for.
    """

    mean: Array
    variance: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class LatentPosterior:
    """A Gaussian posterior of the latent values at the training rows.

    Attributes
    ----------
    prior : LatentPrior
        Kernel, training inputs and the factorised kernel matrix.
    sites : Sites
        What replaces the likelihood; a warm start for the next fit.
    conditioned : Conditioned
        The algebra of prior and sites together.
    mean, variance : ndarray of shape (n,)
        Marginals at the training rows.
    log_evidence : float
        Logarithm of the (approximate) probability of the labels given the hyperparameters.
    slope : ndarray of shape (n,)
        The vector c in ``d log_evidence = tr((b c^T - R) dK) / 2``: the weights b themselves,
        plus a term for the moving mode in Laplace's approximation.
    converged : bool
    n_iterations : int
    inaccuracy : float
        How far the sites are from agreement, in standard deviations of a marginal.

    Examples
    --------
    >>> from parsimon.inference import expectation_propagation, latent_prior
    >>> from parsimon.kernels import SquaredExponential
    >>> kernel = SquaredExponential(0) + SquaredExponential(1)
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> y = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> posterior = expectation_propagation(latent_prior(kernel, X), y)
    >>> whole = posterior.latent(X[:2]).mean
    >>> first, second = (posterior.component(term, X[:2]).mean for term in kernel.terms)
    >>> np.allclose(first + second, whole)
    True
    >>> bool(np.all(posterior.leave_one_out().variance > posterior.variance))
    True
    """

    prior: LatentPrior
    sites: Sites
    conditioned: Conditioned
    mean: Array
    variance: Array
    log_evidence: float
    slope: Array
    converged: bool
    n_iterations: int
    inaccuracy: float = 0.0

    @property
    def kernel(self) -> Covariance:
        """The kernel with its hyperparameters."""
        return self.prior.kernel

    @property
    def weights(self) -> Array:
        """The vector b with latent mean ``K(X_star, X) @ b``, shape (n,)."""
        return self.sites.shift - self.sites.precision * self.mean

    def evidence_gradient(self) -> Array:
        """Return the derivative of `log_evidence` for the kernel's `theta`, shape (p,)."""
        return self.conditioned.gradient(self.weights, self.slope)

    def latent(self, X_star: Array, *, covariance: bool = False) -> Latent:
        """Return the latent function at new inputs.

        Parameters
        ----------
        X_star : ndarray of shape (m, d)
        covariance : bool
            Return the (m, m) covariance matrix instead of the variances.

        Returns
        -------
        Latent
        """
        return self.component(self.kernel, X_star, covariance=covariance)

    def component(self, part: Covariance, X_star: Array, *, covariance: bool = False) -> Latent:
        """Return the posterior of one additive component of the latent function.

        For a kernel k = k_1 + k_2 the function is a sum of two independent ones, and the
        posterior of the first is exactly Gaussian with mean ``K_1(X_star, X) @ b`` and covariance
        ``K_1(X_star, X_star) - K_1(X_star, X) @ R @ K_1(X, X_star)``. The components' means add
        up to the mean of the whole; their variances do not, since the data couple them.

        Parameters
        ----------
        part : Covariance
            A term of the kernel's sum, with its hyperparameters.
        X_star : ndarray of shape (m, d)
        covariance : bool
            Return the (m, m) covariance matrix instead of the variances.

        Returns
        -------
        Latent
        """
        X = self.prior.X
        if covariance:
            return self.project(part.gram(X_star, X), part.gram(X_star))
        step = max(1, CHUNK // max(1, len(X)))
        pieces = [
            self.project(part.gram(rows, X), part.diagonal(rows))
            for rows in (X_star[i : i + step] for i in range(0, len(X_star), step))
        ]
        if len(pieces) == 1:
            return pieces[0]
        return Latent(
            np.concatenate([piece.mean for piece in pieces] or [np.empty(0)]),
            np.concatenate([piece.variance for piece in pieces] or [np.empty(0)]),
        )

    def component_mean(self, part: Covariance, X_star: Array) -> Array:
        """Return the mean of one additive component alone, which costs no solution; (m,)."""
        X = self.prior.X
        step = max(1, CHUNK // max(1, len(X)))
        pieces = [
            part.gram(X_star[i : i + step], X) @ self.weights for i in range(0, len(X_star), step)
        ]
        return np.concatenate(pieces or [np.empty(0)])

    def project(self, cross: Array, own: Array) -> Latent:
        """Return the latent function from covariances, for kernels that exist only as matrices.

        Parameters
        ----------
        cross : ndarray of shape (m, n)
            Prior covariance of the new values with the training values.
        own : ndarray of shape (m,) or (m, m)
            Prior variances of the new values, or their covariance matrix.

        Returns
        -------
        Latent
            With variances or a covariance matrix, as `own` was.
        """
        mean = cross @ self.weights
        P, Q = self.conditioned.whiten(cross.T)
        if own.ndim == 2:
            return Latent(mean, own - P.T @ P + Q.T @ Q)
        reduction = np.einsum("ij,ij->j", P, P) - np.einsum("ij,ij->j", Q, Q)
        return Latent(mean, np.maximum(own - reduction, 0.0))

    def leave_one_out(self) -> Latent:
        """Return each row's latent marginal without that row's own site.

        For regression this is exact leave-one-out; for expectation propagation it is the cavity
        distribution, which keeps the other rows' sites as they are.

        Returns
        -------
        Latent
            Means and variances of shape (n,).
        """
        return cavity(Latent(self.mean, self.variance), self.sites)


def cavity(marginal: Latent, sites: Sites) -> Latent:
    """Return Gaussian marginals divided by Gaussian sites, elementwise.

    Written without 1 / variance, so that a row of zero variance is allowed.
    """
    mean, variance = marginal
    remaining = 1.0 - variance * sites.precision
    return Latent((mean - variance * sites.shift) / remaining, variance / remaining)
