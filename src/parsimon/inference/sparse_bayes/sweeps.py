r"""Looking at every column of the design: what one pass, or one cheap pass, tells of it."""

from dataclasses import replace

import numpy as np

from parsimon._typing import Indices
from parsimon.inference.sparse_bayes.columns import Columns
from parsimon.inference.sparse_bayes.relevance import Fit, Sweep, among, make_sweep


def sweep_columns(
    columns: Columns, fit: Fit, smoothness: float, pool: Indices | None = None
) -> Sweep:
    """Return how columns would serve a fit: one matrix product with the design.

    Shapes: pool (k,).
    """
    right = np.empty((len(fit.residual), len(fit.active) + 1))
    np.multiply(fit.precision[:, None], fit.columns, out=right[:, :-1])
    right[:, -1] = fit.residual
    if pool is None:
        pool = np.arange(len(columns.usable))
        products, squares = columns.project(right), columns.squares(fit.precision)
    else:
        chosen = columns.take(pool)
        products, squares = chosen.T @ right, fit.precision @ np.square(chosen)
    projections = (squares, products[:, :-1], products[:, -1])
    return make_sweep(fit, pool, projections, columns.usable[pool], smoothness)


def refresh_quality(columns: Columns, fit: Fit, sweep: Sweep) -> Sweep:
    """Return a sweep over all columns with the quality for another fit: one vector product.

    The sparsities stay those of the earlier fit. They change slowly and serve to choose the
    columns that are then looked at closely.
    """
    quality = columns.project(fit.residual[:, None])[:, 0]
    return replace(sweep, quality=quality, inside=among(sweep.columns, fit.active))
