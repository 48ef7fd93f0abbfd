"""Two or more classes from latent functions: one against the rest, or softmax.

`OneVsRestLatent` keeps one binary posterior for each class (a single one for two classes),
`SoftmaxLatent` one posterior of all classes together. Both answer the same questions, so that the
classifier does not ask which it has.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import softmax

from parsimon._data import Rows
from parsimon._typing import Array
from parsimon.gp._process_fit import FittedProcess
from parsimon.inference import LatentPosterior
from parsimon.inference.likelihoods import positive_probability
from parsimon.inference.posterior import Latent, Sites, cavity
from parsimon.inference.softmax_laplace import SoftmaxPosterior, softmax_probability
from parsimon.kernels import Kernel
from parsimon.kernels.form import sum_of_products


@dataclass(frozen=True, eq=False)
class OneVsRestLatent:
    """Binary posteriors: one for each class, or a single one for two classes."""

    fits: tuple[FittedProcess[LatentPosterior], ...]

    def latent(self, X: Array) -> Latent:
        """Return the k latent functions: means and variances of shape (m, k)."""
        return _columns([fit.posterior.latent(X) for fit in self.fits])

    def leave_one_out(self, rows: Rows) -> Latent:
        """Return the latent functions at each given row without that row."""
        plain = self.latent(rows.unused)
        return _columns(
            [
                join_rows(rows, left_out(fit.posterior, rows), Latent(mean, variance))
                for fit, mean, variance in zip(
                    self.fits, plain.mean.T, plain.variance.T, strict=True
                )
            ]
        )

    def probability(self, latent: Latent, *, plug_in: bool) -> Array:
        """Return class probabilities, shape (m, n_classes)."""
        positive = positive_probability(latent, plug_in=plug_in)
        if len(self.fits) == 1:
            # The other class is computed from the other side, not as 1 - p, which loses digits.
            other = positive_probability(Latent(-latent.mean, latent.variance), plug_in=plug_in)
            return np.column_stack([other, positive])
        positive = np.maximum(positive, np.finfo(np.float64).tiny)
        return positive / positive.sum(axis=1, keepdims=True)

    def decision(self, latent: Latent, *, plug_in: bool) -> Array:
        """Return what is greatest for the most probable class, shape (m, k)."""
        if plug_in:
            return latent.mean
        return latent.mean / np.sqrt(1.0 + latent.variance)

    def summands(self, X: Array) -> list[list[tuple[Kernel, Latent]]]:
        """Return the terms of each kernel's sum, with their parts of the latent function."""
        return [
            [
                (part, _columns([fit.posterior.component(part, X)]))
                for part in sum_of_products(fit.kernel)
            ]
            for fit in self.fits
        ]


@dataclass(frozen=True, eq=False)
class SoftmaxLatent:
    """One posterior of the latent functions of all classes, which share a kernel."""

    fit: FittedProcess[SoftmaxPosterior]

    @property
    def fits(self) -> tuple[FittedProcess[SoftmaxPosterior], ...]:
        return (self.fit,)

    def latent(self, X: Array) -> Latent:
        return self.fit.posterior.latent(X)

    def leave_one_out(self, rows: Rows) -> Latent:
        """Return the mode's Gaussian divided by each row's quadratic expansion.

        With Sigma the covariance of a row's latent values, W and g minus the Hessian and the
        gradient of its log likelihood, the cavity has covariance inv(inv(Sigma) - W) and mean
        f - inv(inv(Sigma) - W) g.
        """
        posterior, place = self.fit.posterior, rows.which[rows.which >= 0]
        share = rows.share[rows.which >= 0]
        Sigma = posterior.latent(posterior.X).variance[place]
        p = softmax(posterior.mode, axis=0).T[place]
        weight = share * posterior.row_weights[place]
        W = weight[:, None, None] * (
            p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None]
        )
        covariance = np.linalg.solve(np.eye(p.shape[1]) - Sigma @ W, Sigma)
        covariance = 0.5 * (covariance + covariance.transpose(0, 2, 1))
        gradient = share[:, None] * posterior.weights.T[place]
        mean = posterior.mode.T[place] - np.einsum("nab,nb->na", covariance, gradient)
        plain = self.latent(rows.unused)
        return join_rows(rows, Latent(mean, covariance), plain)

    def probability(self, latent: Latent, *, plug_in: bool) -> Array:
        return softmax_probability(latent, plug_in=plug_in)

    def decision(self, latent: Latent, *, plug_in: bool) -> Array:
        return np.log(np.maximum(self.probability(latent, plug_in=plug_in), 1e-300))

    def summands(self, X: Array) -> list[list[tuple[Kernel, Latent]]]:
        found = []
        for part in sum_of_products(self.fit.kernel):
            mean, covariance = self.fit.posterior.component(part, X)
            found.append((part, Latent(mean, np.diagonal(covariance, axis1=1, axis2=2))))
        return [found]


# The latent functions of a classifier.
LatentModel: TypeAlias = OneVsRestLatent | SoftmaxLatent


def left_out(posterior: LatentPosterior, rows: Rows) -> Latent:
    """Return the latent marginal at each given row of positive weight without that row.

    Of a distinct row's site, only the share of the given row is taken out.
    """
    used = rows.which >= 0
    place, share = rows.which[used], rows.share[used]
    marginal = Latent(posterior.mean[place], posterior.variance[place])
    sites = Sites(share * posterior.sites.precision[place], share * posterior.sites.shift[place])
    return cavity(marginal, sites)


def join_rows(rows: Rows, used: Latent, unused: Latent) -> Latent:
    """Join what was found for rows with and without weight, in the order they were given."""
    weighted = rows.which >= 0
    joined = []
    for some, others in zip(used, unused, strict=True):
        whole = np.empty((len(weighted), *some.shape[1:]))
        whole[weighted], whole[~weighted] = some, others
        joined.append(whole)
    return Latent(*joined)


def _columns(each: list[Latent]) -> Latent:
    return Latent(
        np.column_stack([latent.mean for latent in each]),
        np.column_stack([latent.variance for latent in each]),
    )
