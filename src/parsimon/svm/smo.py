"""Sequential minimal optimisation: exact steps in two variables, or in one without the equality.

The pair is chosen by second-order information as in libsvm [1]_. A step never lowers the
objective, also where the curvature along it is negative: it then goes to the end of the box. On a
positive semi-definite kernel the climb ends at the maximum, on an indefinite one at a stationary
point.

References
----------
.. [1] Fan, Chen and Lin (2005), "Working set selection using second order information for
   training support vector machines", JMLR 6:1889-1918.
"""

import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array
from parsimon.svm.dual import Dual

_TINY_CURVATURE = 1e-12
# Steps after which the residual is computed anew, so that rounding does not add up.
_REFRESH = 100_000
_MOST_REFRESHES = 1000
# The residual is a difference of numbers of the size of the scores: no gap is seen below this
# share of them.
_VISIBLE = 1e-13

Climb = Callable[[Array, Array, Array, Array, Array, float, int], int]


class Climbed(NamedTuple):
    """Where a climb ended.

    Shapes: alpha (n,).

    products (n,): ``kernel @ (alpha * signs)``.
    """

    alpha: Array
    products: Array
    n_steps: int
    converged: bool


def climb(
    dual: Dual,
    alpha: Array,
    *,
    products: Array | None = None,
    tolerance: float = 1e-3,
    max_steps: int = 1_000_000,
    deadline: float = np.inf,
) -> Climbed:
    """Climb from a feasible point to a stationary one by exact steps.

    Shapes: alpha (n,), products (n,).
    """
    low, high = dual.signed_box()
    beta = alpha * dual.signs
    loop = _loops()[0 if dual.equality else 1]
    kernel = np.ascontiguousarray(dual.kernel)
    known = kernel @ beta if products is None else products
    n_steps, slope, before, room = 0, dual.slope, 0, 0
    for _ in range(_MOST_REFRESHES):
        residual = slope - known
        visible = max(tolerance, _VISIBLE * float(np.abs(known).max(initial=0.0)))
        room = min(_REFRESH, max_steps - n_steps)
        before = loop(kernel, low, high, beta, residual, visible, room)
        n_steps += before
        # Known to rounding after few steps; computed anew where it had time to drift.
        known = slope - residual if before < len(beta) else kernel @ beta
        if before < room or n_steps >= max_steps or time.monotonic() >= deadline:
            break
    found = np.clip(beta * dual.signs, 0.0, dual.upper)
    return Climbed(found, known, n_steps, converged=before < room)


def is_compiled() -> bool:
    """Return whether numba makes the steps fast."""
    return find_spec("numba") is not None


@cache
def _loops() -> tuple[Climb, Climb]:
    """Return the compiled loops if numba is there."""
    if not is_compiled():
        return climb_on_plane, climb_in_box
    from parsimon.svm import smo_compiled

    return smo_compiled.climb_on_plane, smo_compiled.climb_in_box


def climb_on_plane(
    kernel: Array,
    low: Array,
    high: Array,
    beta: Array,
    residual: Array,
    tolerance: float,
    max_steps: int,
) -> int:
    """Do what the compiled function of this name does, without numba."""
    diagonal = np.diagonal(kernel)
    for step in range(max_steps):
        rising = np.where(beta < high, residual, -np.inf)
        i = int(np.argmax(rising))
        falling = np.where(beta > low, residual, np.inf)
        slopes = rising[i] - falling
        if not np.isfinite(rising[i]) or not slopes.max() >= tolerance:
            return step
        curvatures = np.maximum(diagonal[i] + diagonal - 2.0 * kernel[i], _TINY_CURVATURE)
        j = int(np.argmax(np.where(slopes > 0.0, slopes, 0.0) ** 2 / curvatures))
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        length = min(slopes[j] / curvatures[j], room_i, room_j)
        beta[i] = high[i] if length == room_i else beta[i] + length
        beta[j] = low[j] if length == room_j else beta[j] - length
        residual -= length * (kernel[i] - kernel[j])
    return max_steps


def climb_in_box(
    kernel: Array,
    low: Array,
    high: Array,
    beta: Array,
    residual: Array,
    tolerance: float,
    max_steps: int,
) -> int:
    """Do what the compiled function of this name does, without numba."""
    diagonal = np.diagonal(kernel)
    curvatures = np.maximum(diagonal, _TINY_CURVATURE)
    for step in range(max_steps):
        rooms = np.where(residual > 0.0, high - beta, beta - low)
        sizes = np.where(rooms > 0.0, np.abs(residual), 0.0)
        if not sizes.max(initial=0.0) >= tolerance:
            return step
        lengths = np.minimum(sizes / curvatures, rooms)
        i = int(np.argmax(lengths * (sizes - 0.5 * lengths * diagonal)))
        length = lengths[i]
        if residual[i] > 0.0:
            beta[i] = high[i] if length == rooms[i] else beta[i] + length
        else:
            beta[i] = low[i] if length == rooms[i] else beta[i] - length
            length = -length
        residual -= length * kernel[i]
    return max_steps
