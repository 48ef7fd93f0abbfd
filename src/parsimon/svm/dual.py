r"""The dual problem of a support vector machine, as data.

Maximise :math:`D(\alpha) = p^T \alpha - \frac12 \alpha^T Q \alpha` with
:math:`Q_{ij} = y_i y_j k(x_i, x_j)` over the box :math:`0 \le \alpha_i \le u_i`, and on the
plane :math:`y^T \alpha = 0` if the machine has a bias of its own (Mierswa 2009, problem 2.5). Every
solver here, exact or by evolution, takes a `Dual` and returns a `Solution`.

In the signed coordinates :math:`\beta_i = y_i \alpha_i` the labels leave the quadratic form: its
matrix is the kernel matrix itself and the plane is :math:`\sum \beta_i = 0`. The solvers work
there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

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

    def objective(self, alpha: Array) -> Any:
        """Return D of one solution (n,), a float, or of a population (k, n), shape (k,)."""
        return self.value(alpha, (alpha * self.signs) @ self.kernel)

    def value(self, alpha: Array, products: Array) -> Any:
        """Return D where ``products = (alpha * signs) @ kernel`` is known, in time O(k n)."""
        beta = alpha * self.signs
        return np.sum(beta * (self.slope - 0.5 * products), axis=-1)

    def gradient(self, alpha: Array) -> Array:
        """Return the derivatives of D, of the shape of `alpha`."""
        gradient: Array = self.signs * (self.slope - (alpha * self.signs) @ self.kernel)
        return gradient

    def gap(self, alpha: Array) -> float:
        """Return the largest violation of the optimality conditions, zero at an optimum.

        With the equality it is libsvm's m(alpha) - M(alpha), without it the largest component of
        the projected gradient.
        """
        return self.gap_at(alpha, self.slope - self.scores(alpha))

    def gap_at(self, alpha: Array, residual: Array) -> float:
        """Return the gap where ``residual = slope - kernel @ (alpha * signs)`` is known."""
        can_rise, can_fall = self._can_move(alpha)
        highest = float(residual[can_rise].max(initial=-np.inf))
        lowest = float(residual[can_fall].min(initial=np.inf))
        if self.equality:
            return max(highest - lowest, 0.0) if np.isfinite(highest - lowest) else 0.0
        return max(highest, -lowest, 0.0)

    def bias(self, alpha: Array) -> float:
        """Return the constant of the decision function.

        The mean of y_i - f(x_i) over the variables strictly between their bounds. If there are
        none: with the equality the middle of the interval that the bounds leave, as libsvm;
        without it the mean over the variables at zero, or else over all (the rule of the
        implementation behind Mierswa 2009).
        """
        return self.bias_at(alpha, self.slope - self.scores(alpha))

    def bias_at(self, alpha: Array, residual: Array) -> float:
        """Return the bias where ``residual = slope - kernel @ (alpha * signs)`` is known."""
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
        scores: Array = self.kernel @ (alpha * self.signs) + bias
        return scores

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
            dual.bias_at(alpha, residual),
            float(dual.value(alpha, products)),
            dual.gap_at(alpha, residual),
            n_steps,
            converged,
        )
