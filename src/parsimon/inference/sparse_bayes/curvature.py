r"""Derivatives of the evidence with respect to the logarithms of the prior precisions.

Everything is written with weights that are measured in units of their prior:
:math:`\omega_i = \sqrt{\alpha_i} w_i`, whose posterior covariance
:math:`P = A^{1/2} \Sigma A^{1/2} = (I + A^{-1/2} \Phi^T B \Phi A^{-1/2})^{-1}` has eigenvalues
between 0 and 1 whatever the scale of columns and targets. :math:`P_{ii}` is the share of weight i
that the data leave undetermined, :math:`1 - \gamma_i`.
"""

import numpy as np

from parsimon._typing import Array


def evidence_gradient(covariance: Array, weights: Array, smoothness: float) -> Array:
    r"""Return the gradient of the log evidence minus `smoothness` times the degrees of freedom.

    The part that holds for a fixed likelihood: :math:`\frac12 (1 - P_{ii} - \omega_i^2)`
    (MacKay 1992; Tipping 2001, eq 16), and :math:`c (P_{ii} - (P^2)_{ii})` for the prior, since
    the degrees of freedom are :math:`m - \mathrm{tr} P`.

    Parameters
    ----------
    covariance : ndarray of shape (m, m)
        P.
    weights : ndarray of shape (m,)
        omega.
    smoothness : float
        c.

    Returns
    -------
    ndarray of shape (m,)
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


def with_noise(
    gradient: Array,
    hessian: Array,
    covariance: Array,
    weights: Array,
    smoothness: float,
    misfit: tuple[float, float],
) -> tuple[Array, Array]:
    r"""Border the derivatives by those with respect to the log noise precision.

    Parameters
    ----------
    gradient, hessian : ndarray of shape (m,) and (m, m)
        With respect to the log precisions of the weights.
    covariance, weights, smoothness
        As in `evidence_gradient`.
    misfit : tuple of floats
        Number of rows, and noise precision times the residual sum of squares.

    Returns
    -------
    gradient, hessian : ndarray of shape (m + 1,) and (m + 1, m + 1)
    """
    n_rows, squares = misfit
    penalty = penalty_hessian(covariance, smoothness)
    response = covariance @ weights
    slope = 0.5 * (n_rows - squares) - float((gradient + 0.5 * weights**2).sum())
    border = -penalty.sum(axis=1) - weights * response
    corner = penalty.sum() - 0.5 * squares + weights @ response
    bordered = np.block([[hessian, border[:, None]], [border, corner]])
    return np.append(gradient, slope), bordered
