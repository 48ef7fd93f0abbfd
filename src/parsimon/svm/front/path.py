r"""The exact front: machines solved one after another along the price C.

Every machine that is optimal for some C is Pareto-optimal in margin term and hinge loss, and the
other way round, since both are convex. Each solution begins where the line through the two before
it leads, as the path is piecewise linear in C [1]_. Spaced evenly in
:math:`\nu = \sum \alpha_i / (C \sum c_i)`, the same front is the path of the nu-SVM [2]_.

References
----------
.. [1] Hastie, Rosset, Tibshirani and Zhu (2004), JMLR 5:1391-1415.
.. [2] Schoelkopf, Smola, Williamson and Bartlett (2000), "New support vector algorithms", Neural
   Computation 12:1207-1245.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from parsimon._progress import Progress
from parsimon._typing import Array
from parsimon.pareto import Directions, History, SearchResult
from parsimon.svm.dual import Dual
from parsimon.svm.exact import solve
from parsimon.svm.front.losses import Training
from parsimon.svm.front.primal import NAMES

# Prices at which nu is known before those in between are guessed.
_N_COARSE = 12


def exact_path(
    training: Training,
    C: Array,
    *,
    tolerance: float = 1e-3,
    deadline: float | None = None,
    callback: Callable[[SearchResult], Any] | None = None,
    verbose: bool = False,
) -> SearchResult:
    """Return the optimal machines for increasing prices.

    Shapes: C (k,).
    """
    found: list[Array] = []
    stopped_by = "max_iter"
    try:
        with Progress("solving", total=len(C), verbose=verbose) as progress:
            for place, price in enumerate(C):
                found.append(_next(training, C, found, tolerance))
                progress.update(place + 1, note=f"C {price:.4g}")
                if callback is not None and callback(_result(training, found, "running")):
                    stopped_by = "callback"
                    break
                if deadline is not None and time.monotonic() >= deadline and place + 1 < len(C):
                    stopped_by = "time_limit"
                    break
    except KeyboardInterrupt:
        if not found:
            raise
        stopped_by = "interrupt"
    return _result(training, found, stopped_by)


def nu_prices(
    training: Training, C_range: tuple[float, float], n_points: int, *, tolerance: float = 1e-3
) -> Array:
    """Return increasing prices at which nu falls in equal steps, nearly.

    Between a few prices at which nu is known, log C is interpolated in nu.
    """
    C = np.geomspace(*C_range, _N_COARSE)
    alpha = exact_path(training, C, tolerance=tolerance).solutions
    nu = nus(alpha, C, training.weights)
    # Where nu does not move (no row is violated, or all are), the price alone decides.
    falling = np.concatenate([[True], np.diff(nu) < -1e-9])
    falling[-1] = True
    wished = np.linspace(nu[0], nu[-1], n_points)
    logs = np.interp(-wished, -nu[falling], np.log(C[falling]))
    prices: Array = np.maximum.accumulate(np.clip(np.exp(logs), *C_range))
    prices[[0, -1]] = C_range
    return prices


def nus(alpha: Array, C: Array, weights: Array) -> Array:
    """Return nu of each row of dual variables at its price, shape (k,).

    Nu is at most the weighted share of support vectors and at least that of the rows that violate
    their margin.
    """
    shares: Array = alpha.sum(axis=1) / (C * weights.sum())
    return shares


def _next(training: Training, C: Array, found: list[Array], tolerance: float) -> Array:
    """Return the solution at the price after those found."""
    k = len(found)
    dual = Dual(training.kernel, training.signs, C[k] * training.weights)
    if k < 2 or C[k - 1] == C[k - 2]:
        return solve(dual, start=found[-1] if k else None, tolerance=tolerance).alpha
    steps = (C[k] - C[k - 1]) / (C[k - 1] - C[k - 2])
    ahead = found[-1] + steps * (found[-1] - found[-2])
    return solve(dual, start=ahead, tolerance=tolerance).alpha


def _result(training: Training, found: list[Array], stopped_by: str) -> SearchResult:
    alpha = np.array(found)
    values = training.objectives(alpha)
    count = np.arange(1, len(alpha) + 1)
    return SearchResult(
        solutions=alpha,
        values=values,
        violation=np.zeros(len(alpha)),
        population=alpha,
        directions=Directions.of(NAMES),
        n_iter=len(alpha),
        n_evaluations=len(alpha),
        stopped_by=stopped_by,
        history=History(count, count, np.minimum.accumulate(values, axis=0)),
    )
