"""The log evidence of given precisions, and its derivatives with respect to the design.

The derivatives let a caller learn what the columns are made of, such as the width of a kernel.
"""

from typing import Any

import numpy as np

from parsimon._checks import check_positive, finite_matrix, finite_vector
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes._mode import cholesky, inverse, sparse_mode
from parsimon.inference.sparse_bayes.design import binary_targets, weights_of_rows


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
