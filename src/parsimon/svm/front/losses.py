r"""The two sides of a soft margin, for a whole population of dual vectors at once.

A support vector machine minimises :math:`\frac12 \|w\|^2 + C \sum_i c_i \xi_i`. The two terms,
without the price C between them, are the objectives of the primal front (what section
3.2 of Mierswa 2009 sets out to trace): one row of dual variables is one function
:math:`f = \sum_j \alpha_j y_j k(x_j, \cdot)`, and its bias is the best there is, found by sorting.
"""

from dataclasses import dataclass

import numpy as np

from parsimon._typing import Array, Mask

# Weights that are sums in another order are equal.
_ROUNDING = 1e-12
# Share of the largest squared norm there could be below which a negative one is rounding.
_NEGATIVE = 1e-10


@dataclass(frozen=True, eq=False)
class Training:
    """What a population is judged on.

    kernel (n, n): Symmetric.
    signs (n,): -1 or 1, both of them there.
    weights (n,): What one unit of slack of each row, or an error there, costs; positive.
    """

    kernel: Array
    signs: Array
    weights: Array

    def scores(self, alpha: Array) -> Array:
        """Return the functions' values without bias, shape (k, n), of rows of dual variables."""
        values: Array = (alpha * self.signs) @ self.kernel
        return values

    def objectives(self, alpha: Array) -> Array:
        """Return margin term and hinge loss at the best bias, shape (k, 2)."""
        scores = self.scores(alpha)
        bias = best_bias(scores, self.signs, self.weights)
        losses = hinge_losses(scores + bias[:, None], self.signs, self.weights)
        return np.column_stack([margin_terms(alpha * self.signs, scores), losses])

    def judged(self, alpha: Array) -> tuple[Array, Array]:
        """Return the objectives, and by how much each squared norm is negative, shape (k,).

        Only a kernel that is not positive semi-definite has functions of negative squared norm.
        They have no margin, and would otherwise be better than all that have one.
        """
        values = self.objectives(alpha)
        return values, np.where(self.has_margin(alpha, values[:, 0]), 0.0, -values[:, 0])

    def has_margin(self, alpha: Array, terms: Array) -> Mask:
        """Tell which margin terms are not negative beyond rounding, shape (k,)."""
        largest = alpha.sum(axis=1) ** 2 * float(np.abs(self.kernel).max())
        has: Mask = terms >= -_NEGATIVE * largest
        return has


def margin_terms(coefficients: Array, scores: Array) -> Array:
    r"""Return :math:`\frac12 \|w\|^2 = \frac12 \beta^T K \beta` of each row, shape (k,).

    The margin is :math:`1 / \|w\|`. With a kernel that is not positive semi-definite the number
    may be negative.

    Shapes: coefficients (k, n), scores (k, n).
    """
    terms: Array = 0.5 * np.einsum("kn,kn->k", coefficients, scores)
    return terms


def hinge_losses(decisions: Array, signs: Array, weights: Array) -> Array:
    r"""Return :math:`\sum_i c_i \max(0, 1 - y_i f(x_i))` of each row, shape (k,).

    Shapes: decisions (k, n), signs, weights (n,).
    """
    losses: Array = np.maximum(1.0 - decisions * signs, 0.0) @ weights
    return losses


def best_bias(scores: Array, signs: Array, weights: Array) -> Array:
    """Return the bias with the least hinge loss, for each row of scores.

    The loss is convex and piecewise linear in the bias, with a kink at ``signs - scores`` of each
    row, where its slope rises by the weight of that row from minus the weight of the positive
    class: the best bias is a weighted quantile of the kinks. Where a whole interval is best, its
    middle is taken.

    Shapes: scores (k, n), signs, weights (n,) -> (k,).
    """
    kinks = signs - scores
    if (weights == weights[0]).all():
        # All slopes rise alike: the interval between two order statistics is best.
        last = int(np.count_nonzero(signs > 0))
        kinks.partition((last - 1, last), axis=1)
        middles: Array = 0.5 * (kinks[:, last - 1] + kinks[:, last])
        return middles
    order = np.argsort(kinks, axis=1, kind="stable")
    risen = np.cumsum(weights[order], axis=1)
    target = weights[signs > 0].sum()
    slack = _ROUNDING * risen[:, -1:]
    lower = np.argmax(risen >= target - slack, axis=1)
    upper = np.argmax(risen > target + slack, axis=1)
    rows = np.arange(len(scores))
    ends = kinks[rows, order[rows, lower]], kinks[rows, order[rows, upper]]
    quantiles: Array = 0.5 * (ends[0] + ends[1])
    return quantiles
