r"""Derivatives of the evidence with respect to the logarithms of the prior precisions.

Everything is written with weights that are measured in units of their prior:
:math:`\omega_i = \sqrt{\alpha_i} w_i`, whose posterior covariance
:math:`P = A^{1/2} \Sigma A^{1/2} = (I + A^{-1/2} \Phi^T B \Phi A^{-1/2})^{-1}` has eigenvalues
between 0 and 1 whatever the scale of columns and targets. :math:`P_{ii}` is the share of weight i
that the data leave undetermined, :math:`1 - \gamma_i`.
"""

from typing import NamedTuple

import numpy as np

from parsimon._typing import Array

# Rows for each column up to which all pairs of rows are looked at.
_MOST_PAIRS = 20
_BLOCK = 4096


class Bends(NamedTuple):
    """How the diagonal of B changes with the predictor: first and second derivatives, (n,)."""

    slope: Array
    bend: Array


def evidence_gradient(covariance: Array, weights: Array, smoothness: float) -> Array:
    r"""Return the gradient of the log evidence minus `smoothness` times the degrees of freedom.

    The part that holds for a fixed likelihood: :math:`\frac12 (1 - P_{ii} - \omega_i^2)`
    (MacKay 1992; Tipping 2001, eq 16), and :math:`c (P_{ii} - (P^2)_{ii})` for the prior, since
    the degrees of freedom are :math:`m - \mathrm{tr} P`.

    Shapes: covariance (m, m), weights (m,) -> (m,).
    """
    undetermined = covariance.diagonal()
    gradient = 0.5 * (1.0 - undetermined - weights**2)
    if smoothness:
        gradient += smoothness * (undetermined - np.einsum("ij,ij->i", covariance, covariance))
    return gradient


def evidence_hessian(covariance: Array, weights: Array, smoothness: float) -> Array:
    """Return the second derivatives of what `evidence_gradient` differentiates, shape (m, m)."""
    fit = weights[:, None] * weights * covariance
    hessian = penalty_hessian(covariance, smoothness) + fit
    hessian.flat[:: len(weights) + 1] -= 0.5 * weights**2
    return hessian


def penalty_hessian(covariance: Array, smoothness: float) -> Array:
    r"""Return second derivatives of :math:`\frac12 \log|P| + c\,\mathrm{tr}P`, shape (m, m).

    Both depend on :math:`\log\alpha_i - \log\beta` alone, so that sums of rows are derivatives
    with respect to minus the logarithm of the noise precision.
    """
    squared = covariance**2
    hessian = 0.5 * squared
    diagonal = -0.5 * covariance.diagonal()
    if smoothness:
        twice = covariance @ covariance
        hessian += 2.0 * smoothness * (twice * covariance - squared)
        diagonal = diagonal + smoothness * (covariance.diagonal() - twice.diagonal())
    hessian.flat[:: len(covariance) + 1] += diagonal
    return hessian


def moving_hessian(
    design: Array, spread: Array, weights: Array, covariance: Array, likelihood: "Bends"
) -> Array:
    r"""Return what the motion of B adds to the second derivatives of a Laplace evidence.

    `evidence_hessian` holds B. But the predictor f moves with the precisions,
    :math:`F = df/d\log\alpha = -\Psi P\,\mathrm{diag}(\omega)`, and B with it. With
    :math:`G = \frac12\log|P|`, :math:`h_n = \psi_n^T P \psi_n` and a prime for the derivative with
    respect to f, the rest of the second derivative along the mode is

    .. math:: G_{\theta f} F + (G_{\theta f} F)^T + F^T G_{ff} F + G_f \cdot f'',

    where :math:`G_f = -\frac12 h b'`, :math:`G_{\theta_i f_n} = \frac12 b'_n (\Psi P)_{ni}^2`,
    :math:`G_{ff} = -\frac12 \mathrm{diag}(h b'') + \frac12 b' b'^T \circ (\Psi P \Psi^T)^{2\circ}`.
    Without it Newton's steps go back and forth between nearly separable classes, a hundred times
    more than needed. The last term of :math:`G_{ff}` takes all pairs of rows, and is left out where
    these are far more than the rest costs: then steps are shorter, never in a wrong direction.

    Shapes: design, spread (n, m), weights (m,), covariance (m, m) -> (m, m).
    """
    slope, bend = likelihood
    leverage = np.einsum("ij,ij->i", spread, design)
    back = spread.T @ (-0.5 * leverage * slope)
    rows = -0.5 * leverage * bend - slope * (design @ back)
    cross = np.outer(back, weights) * covariance
    hessian = np.zeros_like(covariance)
    # Block by block: with many rows each product of this size would be large.
    for start in range(0, len(design), _BLOCK):
        block = slice(start, start + _BLOCK)
        shift = -spread[block] * weights
        cross += (0.5 * slope[block, None] * spread[block] ** 2).T @ shift
        hessian += shift.T @ (rows[block, None] * shift)
    hessian += cross + cross.T
    hessian.flat[:: len(weights) + 1] -= back * weights
    if len(design) <= _MOST_PAIRS * len(weights):
        moved = slope[:, None] * spread * weights
        hessian += 0.5 * moved.T @ ((spread @ design.T) ** 2 @ moved)
    return hessian


def with_noise(
    gradient: Array,
    hessian: Array,
    covariance: Array,
    weights: Array,
    smoothness: float,
    misfit: tuple[float, float],
) -> tuple[Array, Array]:
    r"""Border the derivatives by those with respect to the log noise precision.

    Shapes: gradient, hessian (m,) -> (m + 1,).
    """
    n_rows, squares = misfit
    penalty = penalty_hessian(covariance, smoothness)
    response = covariance @ weights
    slope = 0.5 * (n_rows - squares) - float((gradient + 0.5 * weights**2).sum())
    border = -penalty.sum(axis=1) - weights * response
    corner = penalty.sum() - 0.5 * squares + weights @ response
    bordered = np.block([[hessian, border[:, None]], [border, corner]])
    return np.append(gradient, slope), bordered
