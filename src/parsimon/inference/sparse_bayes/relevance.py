r"""What one column can do for the evidence when all others stay: add it, drop it, or exchange it.

As a function of one precision the log evidence is
:math:`\ell(\alpha) = \frac12[\log\alpha - \log(\alpha + s) + q^2 / (\alpha + s)]`, with the
sparsity s and the quality q measured in a model without the column. Its maximum is at
:math:`\alpha = s^2 / (q^2 - s)` if :math:`q^2 > s`, else at infinity [1]_; the gain at the maximum
depends on the ratio :math:`q^2/s` alone.

The smoothness prior subtracts c times the degrees of freedom, of which one column brings
:math:`v / (\alpha + s)` with :math:`v = \phi^T C^{-1} B^{-1} C^{-1} \phi`, so that :math:`q^2`
becomes :math:`q^2 - 2 c v` and nothing else changes. This holds for any basis and any diagonal B;
Schmolck and Everson [2]_ have the case of an orthonormal basis and one noise variance.

References
----------
.. [1] Tipping and Faul (2003), "Fast marginal likelihood maximisation for sparse Bayesian
   models", eqs 19 to 22.
.. [2] Schmolck and Everson (2007), "Smooth relevance vector machine", Machine Learning 68.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parsimon._typing import Array, Indices, Mask

# A column whose part outside the active ones is below this share of its square is one of them up
# to rounding: what is left of it cannot be trusted.
ALIGNED = 1e-9


@dataclass(frozen=True)
class Fit:
    r"""A model with some columns, at its posterior mode; everything is in scaled units.

    active (m,): Columns in the order in which they came in.
    theta (m,): Log precisions of the weights; the log noise precision last where it is
        estimated.
    weights (m,): :math:`\omega = \sqrt{\alpha} w`, posterior mode.
    covariance (m, m): :math:`P = A^{1/2} \Sigma A^{1/2}`.
    columns (n, m): The scaled columns.
    residual (n,): Gradient of the log likelihood with respect to the predictor.
    precision (n,): Minus its second derivative: the diagonal of B.
    gradient: Of the objective with respect to theta, exact.
    make_hessian: Makes `hessian`; most fits are refused before it is asked for.
    """

    active: Indices
    theta: Array
    weights: Array
    covariance: Array
    columns: Array
    residual: Array
    precision: Array
    log_evidence: float
    objective: float
    gradient: Array
    make_hessian: Callable[[], Array]

    @property
    def alpha(self) -> Array:
        """Precisions of the scaled weights, shape (m,)."""
        precisions: Array = np.exp(self.theta[: len(self.active)])
        return precisions

    @cached_property
    def hessian(self) -> Array:
        """Second derivatives of the objective, as theta; for some problems with B held."""
        return self.make_hessian()


@dataclass(frozen=True)
class Sweep:
    r"""How a set of columns would serve a fit.

    columns (k,): Which columns of the design these are.
    sparsity (k,): :math:`S = \phi^T C^{-1} \phi`.
    quality (k,): :math:`Q = \phi^T C^{-1} t`.
    overlap (k, m): :math:`A^{1/2} \Sigma \Phi^T B \phi`.
    usable (k,): False for columns that are zero, or that the active ones span up to rounding.
    inside (k,): True for active columns.
    smoothness: c.
    """

    columns: Indices
    sparsity: Array
    quality: Array
    overlap: Array
    usable: Mask
    inside: Mask
    smoothness: float

    def additions(self) -> tuple[Array, Array]:
        """Return the gain by adding each column and the precision that attains it."""
        squared = self.quality**2
        if self.smoothness:
            squared = squared - 2.0 * self.smoothness * self.freedom()
        return best_gain(self.sparsity, np.where(self.usable & ~self.inside, squared, 0.0))

    def freedom(self) -> Array:
        """Return V: a column with precision alpha brings V / (alpha + S) degrees of freedom."""
        freedom: Array = self.sparsity - np.einsum("ij,ij->i", self.overlap, self.overlap)
        return freedom

    def exchanges(self, fit: Fit) -> Array:
        """Return the gain by putting each column in place of each active one, shape (k, m)."""
        undetermined = fit.covariance.diagonal()
        share = self.overlap / undetermined
        sparsity = self.sparsity[:, None] + self.overlap * share
        quality = self.quality[:, None] + fit.weights * share
        squared = quality**2
        if self.smoothness:
            twice = fit.covariance @ fit.covariance
            norms = np.einsum("ij,ij->i", self.overlap, self.overlap)[:, None]
            norms = norms - 2.0 * share * (self.overlap @ fit.covariance)
            norms += share**2 * twice.diagonal()
            squared -= 2.0 * self.smoothness * (sparsity - norms)
        # A column aligned with the one that leaves gains nothing, but is no danger either.
        squared[self.inside | ~self.usable] = 0.0
        gains, _ = best_gain(sparsity, squared)
        return gains + deletion_gains(fit, self.smoothness)


def make_sweep(
    fit: Fit,
    columns: Indices,
    projections: tuple[Array, Array, Array],
    usable: Mask,
    smoothness: float,
) -> Sweep:
    r"""Turn products of columns with a fit into how they would serve it.

    Shapes: columns (k,), usable (k,).
    """
    squares, products, quality = projections
    scaled = products / np.sqrt(fit.alpha)
    overlap = scaled @ fit.covariance
    sparsity = squares - np.einsum("ij,ij->i", scaled, overlap)
    usable = usable & (sparsity > ALIGNED * squares)
    inside = among(columns, fit.active)
    sparsity = np.maximum(sparsity, np.finfo(np.float64).tiny)
    return Sweep(columns, sparsity, quality, overlap, usable, inside, smoothness)


def among(columns: Indices, active: Indices) -> Mask:
    """Return which columns are active, shape (k,): `numpy.isin` for small integers, faster."""
    table = np.zeros(1 + max(columns.max(initial=0), active.max(initial=0)), dtype=np.bool_)
    table[active] = True
    return table[columns]


def best_gain(sparsity: Array, squared_quality: Array) -> tuple[Array, Array]:
    r"""Return the greatest gain over one precision, and where it is."""
    ratio = np.maximum(squared_quality / sparsity, 1.0)
    gain = 0.5 * (ratio - 1.0 - np.log(ratio))
    excess = squared_quality - sparsity
    alpha = np.full_like(gain, np.inf)
    np.divide(sparsity**2, excess, out=alpha, where=excess > 0)
    return gain, alpha


def deletion_gains(fit: Fit, smoothness: float) -> Array:
    """Return the gain by dropping each active column, shape (m,); B is held.

    With s and q written in the scaled posterior, the determinant and the fit of a column are
    its P_ii and its squared weight over P_ii.
    """
    undetermined = fit.covariance.diagonal()
    gains: Array = -0.5 * (np.log(undetermined) + fit.weights**2 / undetermined)
    if smoothness:
        # v / (alpha + s) for v = V (alpha / (alpha - S))^2 and V = S - |A^(1/2) Sigma k|^2.
        twice = np.einsum("ij,ij->i", fit.covariance, fit.covariance)
        gains += smoothness * (undetermined - twice) / undetermined
    return gains
