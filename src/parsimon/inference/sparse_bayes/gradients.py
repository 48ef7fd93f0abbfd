r"""Laplace's approximation of a logistic regression, and derivatives of the evidence.

Derivatives are for the logarithms of the prior precisions, or for the design of given precisions
(`regression_design_gradient`, `laplace_design_gradient`): these let a caller learn what the columns
are made of, such as the width of a kernel. Everything is written with weights in
units of their prior, :math:`\omega_i = \sqrt{\alpha_i} w_i`, whose posterior covariance
:math:`P = A^{1/2} \Sigma A^{1/2} = (I + A^{-1/2} \Phi^T B \Phi A^{-1/2})^{-1}` has eigenvalues
between 0 and 1 whatever the scale of columns and targets. :math:`P_{ii}` is the share of weight i
that the data leave undetermined, :math:`1 - \gamma_i`.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.special import expit

from parsimon._checks import check_positive, finite_matrix, finite_vector
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes.design import binary_targets, weights_of_rows

# Newton decrement. The determinant is of first order in the error of the mode, whose square this
# is, and differences of evidences are compared.
_TOLERANCE = 1e-14
# Below this decrement Newton's method doubles the digits with every step, and the rise may be
# below rounding: a fall by so little, of the value or of one, is none. A larger one there is real:
# rows that weigh a million times more than others bend the posterior within such a step.
_CERTAIN = 1e-7
_ROUNDING = 1e-9
_MOST_STEPS = 100
_SMALLEST_STEP = 2.0**-30


class LaplaceMode(NamedTuple):
    r"""The mode for weights with a standard normal prior.

    Shapes: weights (m,).

    covariance (m, m): :math:`P = (I + \Psi^T B \Psi)^{-1}`.
    probability, residual, precision (n,): p, :math:`v (t - p)` and :math:`v p (1 - p)`.
    """

    weights: Array
    covariance: Array
    probability: Array
    residual: Array
    precision: Array
    log_evidence: float


def sparse_mode(design: Array, labels: Array, row_weights: Array, guess: Array) -> LaplaceMode:
    r"""Find the mode for weights with a standard normal prior by Newton's method.

    Any Gaussian prior becomes standard by scaling the columns.

    Shapes: design (n, m), labels (n,), row_weights (n,), guess (m,).
    """
    signs = 1.0 - 2.0 * labels
    weights, scores = guess, design @ guess
    value = _log_posterior(scores, signs, weights, row_weights)
    at_zero = -np.log(2.0) * float(row_weights.sum())
    if not value >= at_zero:
        weights, scores, value = np.zeros_like(guess), np.zeros(len(labels)), at_zero
    for _ in range(_MOST_STEPS):
        probability = expit(scores)
        residual = row_weights * (labels - probability)
        precision = row_weights * probability * (1.0 - probability)
        factor = cholesky(curvature(design, precision))
        gradient = residual @ design - weights
        step = solve_with_factor(factor, gradient)
        decrement = gradient @ step
        if decrement < _TOLERANCE:
            break
        moved, size = design @ step, 1.0
        new_value = _log_posterior(scores + moved, signs, weights + step, row_weights)
        least = value if decrement > _CERTAIN else value - _ROUNDING * max(1.0, -value)
        while new_value < least and size > _SMALLEST_STEP:
            size *= 0.5
            new_weights, new_scores = weights + size * step, scores + size * moved
            new_value = _log_posterior(new_scores, signs, new_weights, row_weights)
        weights, scores, value = weights + size * step, scores + size * moved, new_value
    log_evidence = value - float(np.log(factor.diagonal()).sum())
    return LaplaceMode(weights, inverse(factor), probability, residual, precision, log_evidence)


def curvature(design: Array, precision: Array) -> Array:
    """Return the identity plus the Gram matrix weighted by `precision`."""
    root = design * np.sqrt(precision)[:, None]
    matrix: Array = root.T @ root
    matrix.flat[:: len(matrix) + 1] += 1.0
    return matrix


def cholesky(matrix: Array) -> Array:
    """Return the lower Cholesky factor; the matrix is overwritten."""
    if not len(matrix):
        return matrix
    factor: Array
    factor, failed = dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("The curvature of the posterior has no Cholesky factor.")
    return factor


def solve_with_factor(factor: Array, right: Array) -> Array:
    """Solve with the matrix of which `factor` is the lower Cholesky factor."""
    if not len(factor):
        return right
    solution: Array
    solution, _ = dpotrs(factor, right, lower=1)
    return solution


def inverse(factor: Array) -> Array:
    """Return the inverse of the matrix of which `factor` is the lower Cholesky factor."""
    if not len(factor):
        return factor
    matrix: Array
    matrix, _ = dpotri(factor, lower=1)
    matrix += matrix.T
    matrix.flat[:: len(matrix) + 1] *= 0.5
    return matrix


def _log_posterior(scores: Array, signs: Array, weights: Array, row_weights: Array) -> float:
    losses = np.logaddexp(0.0, signs * scores)
    return float(-(row_weights @ losses) - 0.5 * (weights @ weights))


# Rows for each column up to which all pairs of rows are looked at.
_MOST_PAIRS = 20
_BLOCK = 4096


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
    design: Array, spread: Array, weights: Array, covariance: Array, bends: tuple[Array, Array]
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

    bends (n,), (n,): First and second derivatives of the diagonal of B for the predictor.
    """
    slope, bend = bends
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


def regression_evidence(
    design: Any, targets: Any, alpha: Any, noise_variance: float, row_weights: Any = None
) -> float:
    """Return the log evidence of a linear regression (Tipping 2001, eq 15).

    Parameters
    ----------
    design : array-like of shape (n, m)
        The columns in the model.
    targets : array-like of shape (n,)
    alpha : array-like of shape (m,)
        Prior precisions; infinity takes a column out.
    noise_variance : float
    row_weights : array-like of shape (n,), optional

    Returns
    -------
    float

    Examples
    --------
    >>> round(regression_evidence([[1.0], [1.0]], [1.0, 1.0], [1.0], 1.0), 4)
    -2.7205
    """
    value, _ = regression_design_gradient(design, targets, alpha, noise_variance, row_weights)
    return value


def regression_design_gradient(
    design: Any, targets: Any, alpha: Any, noise_variance: float, row_weights: Any = None
) -> tuple[float, Array]:
    """Return the log evidence of a linear regression and its derivatives for the design.

    Shapes: design (n, m), targets (n,), alpha (m,), row_weights (n,) -> (n, m).
    """
    columns, values, weights, scaling = _checked(
        design, finite_vector(targets, "targets"), alpha, row_weights
    )
    beta = 1.0 / check_positive("noise_variance", noise_variance)
    scaled = columns * scaling
    root = scaled * np.sqrt(beta * weights)[:, None]
    curvature = root.T @ root
    curvature.flat[:: len(scaling) + 1] += 1.0
    factor = cholesky(curvature)
    covariance = inverse(factor)
    solution = covariance @ (scaled.T @ (beta * weights * values))
    errors = values - scaled @ solution
    residual = beta * weights * errors
    value = (
        0.5 * weights.sum() * np.log(beta / (2.0 * np.pi))
        - 0.5 * (residual @ errors + solution @ solution)
        - np.log(factor.diagonal()).sum()
    )
    spread = (beta * weights)[:, None] * (scaled @ covariance)
    return float(value), (residual[:, None] * solution - spread) * scaling


def laplace_evidence(design: Any, labels: Any, alpha: Any, row_weights: Any = None) -> float:
    """Return the log evidence of a logistic regression by Laplace's method.

    Parameters
    ----------
    design : array-like of shape (n, m)
        The columns in the model.
    labels : array-like of shape (n,)
        0 or 1.
    alpha : array-like of shape (m,)
        Prior precisions; infinity takes a column out.
    row_weights : array-like of shape (n,), optional

    Returns
    -------
    float

    Examples
    --------
    >>> round(laplace_evidence([[1.0], [1.0]], [1, 0], [1.0]), 4)
    -1.589
    """
    columns, targets, weights, scaling = _checked(
        design, binary_targets(labels), alpha, row_weights
    )
    mode = sparse_mode(columns * scaling, targets, weights, np.zeros(len(scaling)))
    return mode.log_evidence


def laplace_design_gradient(
    design: Any, labels: Any, alpha: Any, row_weights: Any = None
) -> tuple[float, Array]:
    """Return the Laplace log evidence and its exact derivatives for the design.

    They include that mode and curvature move with the design.

    Shapes: design (n, m), labels (n,), alpha (m,), row_weights (n,) -> (n, m).
    """
    columns, targets, weights, scaling = _checked(
        design, binary_targets(labels), alpha, row_weights
    )
    scaled = columns * scaling
    mode = sparse_mode(scaled, targets, weights, np.zeros(len(scaling)))
    spread = scaled @ mode.covariance
    # Slope of -1/2 log|H| in the score of each row, through the curvature at the mode.
    lever = -0.5 * np.einsum("ij,ij->i", spread, scaled)
    lever *= mode.precision * (1.0 - 2.0 * mode.probability)
    shift = lever @ spread
    direct = mode.residual + lever - mode.precision * (scaled @ shift)
    gradient = direct[:, None] * mode.weights + mode.residual[:, None] * shift
    gradient -= mode.precision[:, None] * spread
    return mode.log_evidence, gradient * scaling


def _checked(
    design: Any, targets: Array, alpha: Any, row_weights: Any
) -> tuple[Array, Array, Array, Array]:
    """Return columns, targets, weights of the rows and prior standard deviations."""
    columns = finite_matrix(design, "design")
    precisions = np.asarray(alpha, dtype=np.float64)
    if columns.shape != (len(targets), len(precisions)):
        raise InvalidInputError(
            f"design has shape {columns.shape}, but there are {len(targets)} targets and "
            f"{len(precisions)} precisions."
        )
    if not (precisions > 0).all():
        raise InvalidInputError("alpha must be positive; infinity takes a column out.")
    return columns, targets, weights_of_rows(row_weights, len(targets)), precisions**-0.5
