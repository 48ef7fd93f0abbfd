r"""How complex a model is; the third objective of the search.

- "active": how many columns are on, the bias not counted. The default: it does not depend on the
  scale of the weights, so that it cannot be gamed.
- "degrees_of_freedom": :math:`\sum_m 1 / (1 + \alpha_m)` as Clark (2011, eq 3.18) printed it, the
  bias included. It measures shrinkage only: all columns on at a huge precision have almost no
  complexity, while their scores, tiny as they are, still rank the rows as well as a large model.
- "trace": :math:`\mathrm{tr}(\Phi \Sigma \Phi^T B)`, the trace of the smoothing matrix with the
  noise of the fitted mode, :math:`\Sigma = (\Phi^T B \Phi + A)^{-1}`.
- "gammas": :math:`\sum_m 1 - \alpha_m \Sigma_{mm}` (Tipping 2001, eq 17): the same number
  computed from the prior's side.

The last three all fall to zero as alpha grows, whatever the rates: with exact thresholds they
reward models that are nearly indifferent everywhere.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError

COMPLEXITIES = ("active", "degrees_of_freedom", "trace", "gammas")


def check_complexity(name: str) -> str:
    """Return the name of a complexity, refusing others."""
    if name not in COMPLEXITIES:
        raise InvalidInputError(
            f"complexity must be one of {', '.join(COMPLEXITIES)}; got {name!r}."
        )
    return name


def active_count(active: list[int], *, has_bias: bool) -> int:
    """Return how many columns are on, the bias not counted."""
    return len(active) - (has_bias and active[0] == 0)


def degrees_of_freedom(alpha: Array) -> float:
    """Return the printed complexity of precisions alpha, shape (m,), at unit noise."""
    return float((1.0 / (1.0 + alpha)).sum())


def smoothing_trace(columns: Array, curvature: Array, alpha: Array) -> float:
    """Return the trace of the smoothing matrix.

    Shapes: columns (m, n), curvature (n,), alpha (m,).
    """
    gram = (columns * curvature) @ columns.T
    return float((_covariance(gram, alpha) * gram).sum())


def sum_of_gammas(columns: Array, curvature: Array, alpha: Array) -> float:
    """Return how many weights the data determine; arguments as in `smoothing_trace`."""
    gram = (columns * curvature) @ columns.T
    return float((1.0 - alpha * np.diagonal(_covariance(gram, alpha))).sum())


def _covariance(gram: Array, alpha: Array) -> Array:
    """Return the inverse of gram + diag(alpha), scaled first: alpha spans 24 decades."""
    hessian = gram + np.diag(alpha)
    scale = 1.0 / np.sqrt(np.diagonal(hessian))
    scaled = hessian * scale[:, None] * scale
    identity = np.eye(len(alpha))
    try:
        inverse: Array = cho_solve(cho_factor(scaled, lower=True), identity)
    except np.linalg.LinAlgError:
        # Identical columns with hardly any prior.
        inverse = np.asarray(np.linalg.pinv(scaled, hermitian=True), dtype=np.float64)
    covariance: Array = inverse * scale[:, None] * scale
    return covariance
