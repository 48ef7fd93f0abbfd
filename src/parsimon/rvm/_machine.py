"""One sparse function of a relevance vector machine: few columns, their posterior, predictions.

What a fitted relevance vector machine says of new rows: variances and probabilities.

The posterior of the weights gives a latent mean and variance (`latent_variance`), and
`moderated_probability` turns them into the probability of the positive class. Far from the data
`FarVariance` adds what the variance of localised basis functions lacks.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from parsimon._typing import Array, Indices
from parsimon.inference.irls import logistic_mode
from parsimon.inference.likelihoods import positive_probability
from parsimon.inference.posterior import Latent
from parsimon.inference.sparse_bayes import SparseBayes
from parsimon.inference.sparse_bayes._spread import inverse_precision
from parsimon.rvm._dictionary import Basis, BumpColumns, KernelColumns
from parsimon.rvm._far_variance import Column, FarVariance, new_column

# The largest number below one half whose difference from one is not one half.
_BELOW_HALF = 0.5 - np.finfo(np.float64).epsneg

__all__ = ["FarVariance", "latent_variance", "moderated_probability", "new_column"]


def latent_variance(design: Array, covariance: Array) -> Array:
    r"""Return :math:`\phi(x)^T \Sigma \phi(x)` of each row.

    With basis functions that vanish far from their centres it tends to zero far from the data,
    where it should be largest; `FarVariance.added` is what is missing.

    Shapes: design (n, m), covariance (m, m) -> (n,).

    Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", eq 22.
    """
    variance: Array = np.einsum("nm,nm->n", design @ covariance, design)
    return np.maximum(variance, 0.0)


def moderated_probability(mean: Array, variance: Array) -> Array:
    r"""Return the logistic function averaged over a Gaussian latent value.

    :math:`\int (1 + e^{-f})^{-1} N(f | m, v) df` by quadrature, to about 1e-12; MacKay's
    :math:`(1 + e^{-m / \sqrt{1 + \pi v / 8}})^{-1}` [1] is wrong by up to 0.02. The answer is
    one half where the mean is zero, exactly, and on the mean's side of one half everywhere else,
    so that it never contradicts a prediction from the mean.

    Shapes: mean, variance (n,).

    [1] MacKay (1992), "The evidence framework applied to classification networks", Neural
    Computation 4:720-736.
    """
    mean = np.asarray(mean, dtype=np.float64)
    spread = np.broadcast_to(np.asarray(variance, dtype=np.float64), mean.shape)
    # The smaller of the two probabilities keeps its digits; the other is one minus it.
    smaller = positive_probability(Latent(-np.abs(mean), spread), link="logit")
    smaller = np.minimum(smaller, _BELOW_HALF)
    return np.where(mean == 0.0, 0.5, np.where(mean > 0.0, 1.0 - smaller, smaller))


@dataclass(frozen=True, eq=False)
class Machine:
    """A linear function of a few columns, with the posterior of its weights.

    columns (m,): Its columns among those of the basis that all functions of a model share.
    posterior: Of its m weights; `posterior.active` counts the columns of the whole dictionary.
    far: What is added to the variance far from the data.
    """

    columns: Indices
    posterior: SparseBayes
    far: FarVariance | None = None

    def mean(self, design: Array) -> Array:
        """Return the posterior mean at rows of the shared design, shape (n, n_shared)."""
        mean: Array = design[:, self.columns] @ self.posterior.mean
        return mean

    def variance(self, X: Array, design: Array) -> Array:
        """Return the posterior variance at the rows X of this shared design."""
        own = design[:, self.columns]
        variance = latent_variance(own, self.posterior.covariance)
        return variance if self.far is None else variance + self.far.added(X, own)


class Shared(NamedTuple):
    """The columns that at least one of several functions uses.

    order (m,): Indices in the whole dictionary, the bias first, then by row or feature.
    """

    basis: Basis
    order: Indices

    def positions(self, active: Indices) -> Indices:
        """Return where columns of the dictionary are among the shared ones."""
        sorter = np.argsort(self.order)
        found: Indices = sorter[np.searchsorted(self.order, active, sorter=sorter)]
        return found


def shared_columns(basis: Basis, actives: list[Indices]) -> Shared:
    """Return the basis of all columns that are active somewhere."""
    used = np.unique(np.concatenate([np.empty(0, np.intp), *actives]).astype(np.intp))
    first = int(basis.has_bias)
    places = np.append(np.full(first, -1), basis.places)
    order = used[np.argsort(places[used], kind="stable")]
    return Shared(basis.columns(order), order)


def far_column(basis: Basis) -> Column | None:
    """Return the function that would be centred on a new row, None if the basis has none."""
    functions = basis.functions
    if isinstance(functions, KernelColumns):
        return new_column(functions.kernel)
    if isinstance(functions, BumpColumns):
        return new_column(functions.dictionary)
    return None


def make_machine(
    shared: Shared,
    posterior: SparseBayes,
    *,
    column: Column | None,
    X: Array,
    design: Array,
    row_weights: Array,
) -> Machine:
    """Return the function of a posterior, with its variance far from the data if it has any.

    Shapes: X (n, d), design (n, M), row_weights (n,).
    """
    columns = shared.positions(posterior.active)
    if column is None:
        return Machine(columns, posterior)
    far = FarVariance.fit(
        column,
        X,
        design[:, posterior.active],
        alpha=posterior.alpha,
        mean=posterior.mean,
        noise_variance=posterior.noise_variance,
        row_weights=row_weights,
        has_bias=shared.basis.has_bias and bool((posterior.active == 0).any()),
    )
    return Machine(columns, posterior, far)


def posterior_given(
    design: Array,
    labels: Array,
    alpha: Array,
    *,
    row_weights: Array | None = None,
    largest_score: float = np.inf,
) -> SparseBayes:
    r"""Return Laplace's posterior for precisions that are given instead of learnt.

    The mode is found by iteratively reweighted least squares and the covariance is
    :math:`(\Phi^T B \Phi + A)^{-1}` there (Tipping 2001, eq 25 to 27).

    Shapes: design (n, M), labels (n,), alpha (M,), row_weights (n,).
    """
    active = np.flatnonzero(np.isfinite(alpha))
    own, precision = design[:, active], alpha[active]
    if not len(active):
        return _nothing(labels, row_weights)
    mode = logistic_mode(
        own, labels, precision, row_weights=row_weights, largest_score=largest_score
    )
    curvature = expit(mode.scores) * expit(-mode.scores)
    if row_weights is not None:
        curvature = curvature * row_weights
    hessian = (own * curvature[:, None]).T @ own
    hessian.flat[:: len(active) + 1] += precision
    covariance, log_determinant = inverse_precision(hessian)
    with np.errstate(divide="ignore"):
        prior = 0.5 * float(np.sum(np.log(precision)))
    evidence = mode.log_posterior + prior - 0.5 * log_determinant
    return SparseBayes(
        active=active,
        alpha=precision,
        mean=mode.weights,
        covariance=covariance,
        noise_variance=None,
        log_evidence=evidence,
        objective=evidence,
        n_iter=mode.n_iter,
        converged=True,
        reason="The precisions were given.",
    )


def _nothing(labels: Array, row_weights: Array | None) -> SparseBayes:
    """Return the model without any column, for which both labels are equally probable."""
    total = len(labels) if row_weights is None else float(row_weights.sum())
    evidence = -float(np.log(2.0)) * total
    return SparseBayes(
        active=np.empty(0, dtype=np.intp),
        alpha=np.empty(0),
        mean=np.empty(0),
        covariance=np.empty((0, 0)),
        noise_variance=None,
        log_evidence=evidence,
        objective=evidence,
        n_iter=0,
        converged=True,
        reason="There are no columns.",
    )


def printed_complexity(alpha: Any) -> float:
    r"""Return :math:`C(\alpha) = \sum_m 1 / (1 + \alpha_m)`, infinite precisions adding nothing.

    Clark (2011), eq 3.18 with unit noise. It is at most the number of columns in the model.
    """
    return float(np.sum(1.0 / (1.0 + np.asarray(alpha, dtype=np.float64))))
