r"""How dual vectors of a front are crossed and mutated.

A machine for the price C has :math:`\max_i \alpha_i / c_i = C` unless no row is violated, so a row
of dual variables tells its own price. Between two prices the optimal dual variables are piecewise
linear in C [1]_: blending neighbours on the front is nearly exact, and a few exact steps in two
variables remove most of the rest.

References
----------
.. [1] Hastie, Rosset, Tibshirani and Zhu (2004), "The entire regularization path for the support
   vector machine", JMLR 5:1391-1415.
"""

from dataclasses import dataclass, field

import numpy as np

from parsimon._options import check_count, check_positive, check_probability
from parsimon._typing import AnyArray, Array
from parsimon.pareto import HybridMutation
from parsimon.pareto.space import Space
from parsimon.svm.front.losses import Training

_TINY_CURVATURE = 1e-12


def prices(alpha: Array, weights: Array) -> Array:
    """Return the least C whose box holds each row of dual variables, shape (k,)."""
    largest: Array = (alpha / weights).max(axis=1)
    return largest


@dataclass(frozen=True, eq=False)
class BlendCrossover:
    """Mix parents that are neighbours in price, by a random share.

    The two children of a pair are ``t a + (1 - t) b`` and ``(1 - t) a + t b``, with t uniform.
    Both objectives are convex, so that a child never lies above the chord of its parents.

    weights (n,): Of the rows.
    rate: Probability of each pair.
    """

    weights: Array = field(repr=False)
    rate: float = 0.9

    def __post_init__(self) -> None:
        check_probability("rate", self.rate)

    def __call__(
        self,
        first: AnyArray,
        second: AnyArray,
        space: Space,  # noqa: ARG002 - an operator takes what all operators take
        rng: np.random.Generator,
    ) -> tuple[AnyArray, AnyArray]:
        both = np.concatenate([first, second])
        both = both[np.argsort(prices(both, self.weights), kind="stable")]
        one, other = both[0::2], both[1::2]
        share = rng.random((len(one), 1))
        share[rng.random(len(one)) >= self.rate] = 0.0
        step = share * (other - one)
        return one + step, other - step


@dataclass(frozen=True, eq=False)
class AscentMutation:
    """Change the price a little, switch a few rows on or off, then climb a few exact steps.

    least, most: Range of the price.
    spread: Standard deviation of the change of log C.
    sparsity: Share of the children whose rows are switched as in
        `parsimon.pareto.HybridMutation`.
    n_steps: Steps in two variables for each child.
    """

    training: Training = field(repr=False)
    least: float = 0.01
    most: float = 1000.0
    spread: float = 0.2
    sparsity: float = 0.25
    n_steps: int = 3

    def __post_init__(self) -> None:
        check_positive("least", self.least)
        check_positive("most", self.most)
        check_positive("spread", self.spread, or_zero=True)
        check_probability("sparsity", self.sparsity)
        check_count("n_steps", self.n_steps, least=0)

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray:
        before = prices(parents, self.training.weights)
        wished = before * np.exp(self.spread * rng.standard_normal(len(parents)))
        price = np.clip(wished, self.least, self.most)
        # A row of zeros has no price, and stays what it is until it is switched.
        children = (
            parents * np.where(before > 0, price / np.where(before > 0, before, 1.0), 1.0)[:, None]
        )
        switched = rng.random(len(parents)) < self.sparsity
        if switched.any():
            drawn = HybridMutation()(children[switched], space, rng)
            children[switched] = np.minimum(drawn, price[switched, None] * self.training.weights)
        return climbed(self.training, children, price, n_steps=self.n_steps)


def climbed(training: Training, alpha: Array, price: Array, *, n_steps: int) -> Array:
    """Climb a few steps in the dual of each row's own price, all rows side by side.

    Each step moves the pair of variables that libsvm would choose, by second-order information
    [1], to its maximum in the box; the sum of the signed variables stays as it is. Rows must lie
    in the boxes of their prices.

    Shapes: alpha (k, n), price (k,) -> (k, n).

    [1] Fan, Chen and Lin (2005), JMLR 6:1889-1918.
    """
    if n_steps == 0:
        return alpha
    kernel, signs = training.kernel, training.signs
    diagonal, every = np.diagonal(kernel), np.arange(len(alpha))
    ends = price[:, None] * (training.weights * signs)
    low, high = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
    beta = np.clip(alpha * signs, low, high)
    residual = signs - beta @ kernel
    for _ in range(n_steps):
        rising = np.where(beta < high, residual, -np.inf)
        i = np.argmax(rising, axis=1)
        slopes = np.where(beta > low, rising[every, i][:, None] - residual, -np.inf)
        curvatures = np.maximum(diagonal[i][:, None] + diagonal - 2.0 * kernel[i], _TINY_CURVATURE)
        j = np.argmax(np.maximum(slopes, 0.0) ** 2 / curvatures, axis=1)
        slope = slopes[every, j]
        rooms = np.minimum(high[every, i] - beta[every, i], beta[every, j] - low[every, j])
        length = np.minimum(slope / curvatures[every, j], rooms)
        length = np.where(np.isfinite(slope) & (slope > 0), length, 0.0)
        beta[every, i] += length
        beta[every, j] -= length
        residual -= length[:, None] * (kernel[i] - kernel[j])
    inside: Array = np.clip(beta, low, high) * signs
    return np.abs(inside)
