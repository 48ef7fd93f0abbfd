"""Between the scaled units of the search and the units of the caller."""

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes.columns import Columns
from parsimon.inference.sparse_bayes.fast import Climb
from parsimon.inference.sparse_bayes.result import SparseBayes


def scaled_start(
    start: SparseBayes, columns: Columns, target_scale: float = 1.0
) -> tuple[Indices, Array, Array]:
    """Return the active columns, scaled precisions and scaled weights of an earlier result.

    Columns that are zero on the present rows are left out.
    """
    n_columns = columns.design.shape[1]
    if len(start.active) and start.active.max() >= n_columns:
        raise InvalidInputError(
            f"start has column {start.active.max()}, but the design has only {n_columns} columns."
        )
    kept = columns.usable[start.active]
    active = start.active[kept]
    unit = columns.scale[active] / target_scale
    alpha = start.alpha[kept] / unit**2
    return active, alpha, np.sqrt(alpha) * start.mean[kept] * unit


def to_result(
    climb: Climb,
    columns: Columns,
    *,
    target_scale: float = 1.0,
    n_rows: float = 0.0,
    noise_variance: float | None = None,
) -> SparseBayes:
    """Return where a climb ended in the caller's units, columns ascending."""
    fit = climb.fit
    order = np.argsort(fit.active)
    unit = columns.scale[fit.active] / target_scale
    spread = 1.0 / (np.sqrt(fit.alpha) * unit)
    shift = -n_rows * float(np.log(target_scale))
    return SparseBayes(
        active=fit.active[order],
        alpha=(fit.alpha * unit**2)[order],
        mean=(fit.weights * spread)[order],
        covariance=(fit.covariance * spread * spread[:, None])[np.ix_(order, order)],
        noise_variance=noise_variance,
        log_evidence=fit.log_evidence + shift,
        objective=fit.objective + shift,
        n_iter=climb.n_iter,
        converged=climb.converged,
        reason=climb.reason,
        history=climb.history + shift,
    )
