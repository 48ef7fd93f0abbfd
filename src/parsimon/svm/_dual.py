r"""The dual problem of a support vector machine, as data, and its exact solution.

Maximise :math:`D(\alpha) = p^T \alpha - \frac12 \alpha^T Q \alpha` with
:math:`Q_{ij} = y_i y_j k(x_i, x_j)` over the box :math:`0 \le \alpha_i \le u_i`, and on the
plane :math:`y^T \alpha = 0` if the machine has a bias of its own (Mierswa 2009, problem 2.5). Every
solver, exact or by evolution, takes a `Dual` and returns a `Solution`. In the signed coordinates
:math:`\beta_i = y_i \alpha_i` the labels leave the quadratic form: its matrix is the kernel matrix
itself and the plane is :math:`\sum \beta_i = 0`. The solvers work there.

`climb_dual` is sequential minimal optimisation: exact steps in two variables, or in one without the
equality. The pair is chosen by second-order information as in libsvm [1]. A step never lowers the
objective, also where the curvature along it is negative: it then goes to the end of the box. On a
positive semi-definite kernel the climb ends at the maximum, on an indefinite one at a stationary
point.

[1] Fan, Chen and Lin (2005), "Working set selection using second order information for
   training support vector machines", JMLR 6:1889-1918.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import check_positive
from parsimon._compiled import compiled
from parsimon._deadline import Deadline, is_late
from parsimon._typing import Array, Mask

# Share of the upper bound within which a variable counts as being at a bound.
AT_BOUND = 1e-8


@dataclass(frozen=True, eq=False)
class Dual:
    """A concave (for an indefinite kernel: any) quadratic function on a box, perhaps on a plane.

    kernel (n, n): Symmetric; need not be positive semi-definite.
    signs (n,): Labels, -1.0 and 1.0.
    upper (n,): Bounds of the variables, C times the weights of the rows.
    equality: Whether ``signs @ alpha = 0`` is asked for.
    linear (n,): Linear term; None means ones, which is classification.
    """

    kernel: Array
    signs: Array
    upper: Array
    equality: bool = True
    linear: Array | None = None

    def __len__(self) -> int:
        return len(self.signs)

    @property
    def slope(self) -> Array:
        """Linear term in signed coordinates, shape (n,)."""
        return self.signs if self.linear is None else self.signs * self.linear

    def objective(self, alpha: Array, products: Array | None = None) -> Any:
        """Return D of one solution (n,), a float, or of a population (k, n), shape (k,).

        In time O(k n) where ``products = (alpha * signs) @ kernel`` is known.
        """
        beta = alpha * self.signs
        products = beta @ self.kernel if products is None else products
        return np.sum(beta * (self.slope - 0.5 * products), axis=-1)

    def gap(self, alpha: Array, residual: Array | None = None) -> float:
        """Return the largest violation of the optimality conditions, zero at an optimum.

        With the equality it is libsvm's m(alpha) - M(alpha), without it the largest component of
        the projected gradient. The residual is ``slope - kernel @ (alpha * signs)``, if known.
        """
        residual = self.slope - self.scores(alpha) if residual is None else residual
        can_rise, can_fall = self._can_move(alpha)
        highest = float(residual[can_rise].max(initial=-np.inf))
        lowest = float(residual[can_fall].min(initial=np.inf))
        if self.equality:
            return max(highest - lowest, 0.0) if np.isfinite(highest - lowest) else 0.0
        return max(highest, -lowest, 0.0)

    def bias(self, alpha: Array, residual: Array | None = None) -> float:
        """Return the constant of the decision function.

        The mean of y_i - f(x_i) over the variables strictly between their bounds. If there are
        none: with the equality the middle of the interval that the bounds leave, as libsvm;
        without it the mean over the variables at zero, or else over all (the rule of the
        implementation behind Mierswa 2009). The residual is that of `gap`.
        """
        residual = self.slope - self.scores(alpha) if residual is None else residual
        margin = AT_BOUND * self.upper
        free = (alpha > margin) & (alpha < self.upper - margin)
        if free.any():
            return float(residual[free].mean())
        if self.equality:
            can_rise, can_fall = self._can_move(alpha)
            ends = [residual[can_rise].max(initial=-np.inf), residual[can_fall].min(initial=np.inf)]
            finite = [float(end) for end in ends if np.isfinite(end)]
            return float(np.mean(finite)) if finite else 0.0
        counted = self.upper > 0
        zero = counted & (alpha <= margin)
        chosen = zero if zero.any() else counted
        return float(residual[chosen].mean()) if chosen.any() else 0.0

    def scores(self, alpha: Array, bias: float = 0.0) -> Array:
        """Return the decision function at the training rows, shape (n,)."""
        return self.kernel @ (alpha * self.signs) + bias

    def signed_box(self) -> tuple[Array, Array]:
        """Return the least and the greatest values of ``alpha * signs``."""
        ends = self.signs * self.upper
        return np.minimum(ends, 0.0), np.maximum(ends, 0.0)

    def _can_move(self, alpha: Array) -> tuple[Mask, Mask]:
        """Return which signed variables can rise and which can fall."""
        below, above = alpha < self.upper, alpha > 0
        positive = self.signs > 0
        return np.where(positive, below, above), np.where(positive, above, below)


@dataclass(frozen=True, eq=False)
class Solution:
    """A point of the dual and how good it is.

    Shapes: alpha (n,).

    objective: D(alpha).
    gap: Largest violation of the optimality conditions.
    n_steps: Steps of the solver.
    converged: Whether the gap is below the tolerance asked for.
    """

    alpha: Array
    bias: float
    objective: float
    gap: float
    n_steps: int
    converged: bool

    @classmethod
    def of(cls, dual: Dual, alpha: Array, *, n_steps: int, converged: bool) -> "Solution":
        """Measure a point of a dual, with one product of the kernel matrix."""
        products = dual.scores(alpha)
        residual = dual.slope - products
        return cls(
            alpha,
            dual.bias(alpha, residual),
            float(dual.objective(alpha, products)),
            dual.gap(alpha, residual),
            n_steps,
            converged,
        )


_TINY_CURVATURE = 1e-12
# Steps after which the residual is computed anew, so that rounding does not add up.
_REFRESH = 100_000
_MOST_REFRESHES = 1000
# The residual is a difference of numbers of the size of the scores: no gap is seen below this
# share of them.
_VISIBLE = 1e-13


class Climbed(NamedTuple):
    """Where a climb ended.

    Shapes: alpha (n,).

    products (n,): ``kernel @ (alpha * signs)``.
    """

    alpha: Array
    products: Array
    n_steps: int
    converged: bool


def climb_dual(
    dual: Dual,
    alpha: Array,
    *,
    products: Array | None = None,
    tol: float = 1e-3,
    max_steps: int = 1_000_000,
    deadline: Deadline = None,
) -> Climbed:
    """Climb from a feasible point to a stationary one by exact steps.

    Shapes: alpha (n,), products (n,).
    """
    low, high = dual.signed_box()
    beta = alpha * dual.signs
    loop = climb_on_plane if dual.equality else climb_in_box
    kernel = np.ascontiguousarray(dual.kernel)
    known = kernel @ beta if products is None else products
    n_steps, slope, before, room = 0, dual.slope, 0, 0
    for _ in range(_MOST_REFRESHES):
        residual = slope - known
        visible = max(tol, _VISIBLE * float(np.abs(known).max(initial=0.0)))
        room = min(_REFRESH, max_steps - n_steps)
        before = loop(kernel, low, high, beta, residual, visible, room)
        n_steps += before
        # Known to rounding after few steps; computed anew where it had time to drift.
        known = slope - residual if before < len(beta) else kernel @ beta
        if before < room or n_steps >= max_steps or is_late(deadline):
            break
    found = np.clip(beta * dual.signs, 0.0, dual.upper)
    return Climbed(found, known, n_steps, converged=before < room)


def climb_on_plane_by_arrays(
    kernel: Array,
    low: Array,
    high: Array,
    beta: Array,
    residual: Array,
    tol: float,
    max_steps: int,
) -> int:
    """Do what `climb_on_plane` does, without numba."""
    diagonal = np.diagonal(kernel)
    for step in range(max_steps):
        rising = np.where(beta < high, residual, -np.inf)
        i = int(np.argmax(rising))
        falling = np.where(beta > low, residual, np.inf)
        slopes = rising[i] - falling
        if not np.isfinite(rising[i]) or not slopes.max() >= tol:
            return step
        curvatures = np.maximum(diagonal[i] + diagonal - 2.0 * kernel[i], _TINY_CURVATURE)
        j = int(np.argmax(np.where(slopes > 0.0, slopes, 0.0) ** 2 / curvatures))
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        length = min(slopes[j] / curvatures[j], room_i, room_j)
        beta[i] = high[i] if length == room_i else beta[i] + length
        beta[j] = low[j] if length == room_j else beta[j] - length
        residual -= length * (kernel[i] - kernel[j])
    return max_steps


def climb_in_box_by_arrays(
    kernel: Array,
    low: Array,
    high: Array,
    beta: Array,
    residual: Array,
    tol: float,
    max_steps: int,
) -> int:
    """Do what `climb_in_box` does, without numba."""
    diagonal = np.diagonal(kernel)
    curvatures = np.maximum(diagonal, _TINY_CURVATURE)
    for step in range(max_steps):
        rooms = np.where(residual > 0.0, high - beta, beta - low)
        sizes = np.where(rooms > 0.0, np.abs(residual), 0.0)
        if not sizes.max(initial=0.0) >= tol:
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


@compiled(plain=climb_on_plane_by_arrays)
def climb_on_plane(
    kernel: Array,
    low: Array,
    high: Array,
    beta: Array,
    residual: Array,
    tol: float,
    max_steps: int,
) -> int:
    """Change pairs of variables in place until the gap is below `tol`; return the steps."""
    n = len(beta)
    diagonal = np.empty(n)
    for k in range(n):
        diagonal[k] = kernel[k, k]
    for step in range(max_steps):
        i = _highest(beta, high, residual)
        if i < 0:
            return step
        row = kernel[i]
        j, lowest = _partner(i, row, diagonal, beta, low, residual)
        if j < 0 or residual[i] - lowest < tol:
            return step
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * row[j], _TINY_CURVATURE)
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        length = min((residual[i] - residual[j]) / curvature, room_i, room_j)
        beta[i] = high[i] if length == room_i else beta[i] + length
        beta[j] = low[j] if length == room_j else beta[j] - length
        other = kernel[j]
        for k in range(n):
            residual[k] -= length * (row[k] - other[k])
    return max_steps


@compiled
def _highest(beta: Array, high: Array, residual: Array) -> int:
    """Return the variable that can rise with the most slope, -1 if none can."""
    i, highest = -1, -np.inf
    for k in range(len(beta)):
        if residual[k] > highest and beta[k] < high[k]:
            i, highest = k, residual[k]
    return i


@compiled
def _partner(
    i: int, row: Array, diagonal: Array, beta: Array, low: Array, residual: Array
) -> tuple[int, float]:
    """Return the variable to lower that promises the most gain, and the lowest residual."""
    j, lowest, most = -1, np.inf, -1.0
    highest, own = residual[i], diagonal[i]
    for k in range(len(beta)):
        if beta[k] > low[k]:
            lowest = min(lowest, residual[k])
            slope = highest - residual[k]
            if slope > 0.0:
                curvature = max(own + diagonal[k] - 2.0 * row[k], _TINY_CURVATURE)
                gain = slope * slope / curvature
                if gain > most:
                    j, most = k, gain
    return j, lowest


@compiled(plain=climb_in_box_by_arrays)
def climb_in_box(
    kernel: Array,
    low: Array,
    high: Array,
    beta: Array,
    residual: Array,
    tol: float,
    max_steps: int,
) -> int:
    """Change single variables in place until the gap is below `tol`; return the steps."""
    n = len(beta)
    for step in range(max_steps):
        i, most, worst, chosen = -1, 0.0, 0.0, 0.0
        for k in range(n):
            slope = residual[k]
            room = high[k] - beta[k] if slope > 0.0 else beta[k] - low[k]
            if room <= 0.0 or slope == 0.0:
                continue
            size = abs(slope)
            worst = max(worst, size)
            curvature = max(kernel[k, k], _TINY_CURVATURE)
            length = min(size / curvature, room)
            gain = length * (size - 0.5 * length * kernel[k, k])
            if gain > most:
                i, most, chosen = k, gain, length
        if i < 0 or worst < tol:
            return step
        if residual[i] > 0.0:
            beta[i] = high[i] if chosen == high[i] - beta[i] else beta[i] + chosen
        else:
            beta[i] = low[i] if chosen == beta[i] - low[i] else beta[i] - chosen
            chosen = -chosen
        row = kernel[i]
        for k in range(n):
            residual[k] -= chosen * row[k]
    return max_steps


_LEAST_MOST_STEPS = 1_000_000
_LIBSVM_TOLERANCE, _LIBSVM_STEPS = 1e-4, 100_000


def solve(
    dual: Dual,
    *,
    start: Array | None = None,
    tol: float = 1e-3,
    max_steps: int | None = None,
) -> Solution:
    """Return the maximum of a dual; on an indefinite kernel a stationary point.

    From nothing and with the equality scikit-learn's libsvm solves it, and exact steps of
    `climb_dual` make good what its single precision leaves; otherwise the exact steps do it all.

    Shapes: start (n,).
    """
    check_positive("tol", tol)
    most = max(_LEAST_MOST_STEPS, 100 * len(dual)) if max_steps is None else max_steps
    if start is None and _suits_libsvm(dual):
        return _libsvm(dual, tol, most)
    begin = np.zeros(len(dual)) if start is None else feasible(dual, start)
    end = climb_dual(dual, begin, tol=tol, max_steps=most)
    return Solution.of(dual, end.alpha, n_steps=end.n_steps, converged=end.converged)


def feasible(dual: Dual, alpha: Array) -> Array:
    """Return points in the box, on the plane if the dual asks for it; shape (n,) or (k, n).

    The side whose sum is greater is shrunk by a factor, so that zeros stay zeros.
    """
    inside: Array = np.clip(alpha, 0.0, dual.upper)
    if not dual.equality:
        return inside
    positive = dual.signs > 0
    up = inside @ positive.astype(np.float64)
    down = inside @ (~positive).astype(np.float64)
    least = np.minimum(up, down)
    factors = [
        np.divide(least, side, out=np.zeros_like(side), where=side > 0) for side in (up, down)
    ]
    return inside * np.where(positive, factors[0][..., None], factors[1][..., None])


def _suits_libsvm(dual: Dual) -> bool:
    both = np.unique(dual.signs[dual.upper > 0]).size == 2
    return dual.equality and dual.linear is None and both


def _libsvm(dual: Dual, tol: float, max_steps: int) -> Solution:
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    # Rows without room are left out here: scikit-learn's libsvm leaves out rows of weight zero
    # without their columns of a precomputed matrix.
    used = np.flatnonzero(dual.upper > 0)
    kernel = dual.kernel if len(used) == len(dual) else dual.kernel[np.ix_(used, used)]
    # It keeps the matrix in single precision and would look for smaller gaps for ever.
    machine = SVC(
        kernel="precomputed",
        C=1.0,
        tol=max(tol, _LIBSVM_TOLERANCE),
        max_iter=min(max_steps, max(_LIBSVM_STEPS, 100 * len(used))),
        cache_size=1.0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(kernel, dual.signs[used], sample_weight=dual.upper[used])
    alpha = np.zeros(len(dual))
    support = used[machine.support_]
    alpha[support] = machine.dual_coef_[0] * dual.signs[support]
    alpha = np.clip(alpha, 0.0, dual.upper)
    n_steps = int(np.max(machine.n_iter_))
    # Exact steps finish its work, none if the gap is as asked for.
    left = max(max_steps - n_steps, 1)
    end = climb_dual(dual, feasible(dual, alpha), tol=tol, max_steps=left)
    return Solution.of(dual, end.alpha, n_steps=n_steps + end.n_steps, converged=end.converged)
