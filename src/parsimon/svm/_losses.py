r"""The two sides of a soft margin, for a whole population of dual vectors at once.

A support vector machine minimises :math:`\frac12 \|w\|^2 + C \sum_i c_i \xi_i`. The two terms,
without the price C between them, are the objectives of the primal front (what section
3.2 of Mierswa 2009 sets out to trace): one row of dual variables is one function
:math:`f = \sum_j \alpha_j y_j k(x_j, \cdot)`, and its bias is the best there is, found by sorting.

The dual objectives as the source prints them, and what is wrong with them.

Corollary 3.1 of Mierswa (2009) maximises, over :math:`\alpha \ge 0`,

.. math:: (I)\ -\alpha^T Q \alpha, \quad (II)\ \sum \alpha_i, \quad (III)\ -|\sum \alpha_i y_i|.

This is no trade-off between margin and error. Multiplying :math:`\alpha` by s multiplies (II) by s
and (I) by its square, so at a given sum s the best (I) is :math:`-s^2 \min_{p} p^T Q p` over the
probability vectors p: all Pareto-optimal solutions are multiples of one vector, one and the same
hard-margin classifier without bias. With a bound A on each variable the exact front is the path
of the nu-SVM, :math:`\nu = s / (n A)`: its end at small sums is the hard margin and its end at
large sums, where all variables are equal, a Parzen classifier, the reverse of the source's
reading. What the source plots as overfitting control are individuals begun at zero that have not
converged: the more generations, the more support vectors they have.

How dual vectors of a front are crossed and mutated.

A machine for the price C has :math:`\max_i \alpha_i / c_i = C` unless no row is violated, so a row
of dual variables tells its own price. Between two prices the optimal dual variables are piecewise
linear in C [1]: blending neighbours on the front is nearly exact, and a few exact steps in two
variables remove most of the rest.

[1] Hastie, Rosset, Tibshirani and Zhu (2004), "The entire regularization path for the support
   vector machine", JMLR 5:1391-1415.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parsimon._checks import check_count, check_positive, check_probability
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Mask
from parsimon.pareto import Box, SearchResult, UniformCrossover
from parsimon.pareto._evaluation_pool import EvaluationPool
from parsimon.pareto.nsga2 import NSGA2
from parsimon.pareto.run import SearchOptions
from parsimon.pareto.search import search_generations
from parsimon.pareto.space import Space
from parsimon.pareto.variation import HybridMutation

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


NAMES = ("quadratic", "linear", "balance")
# Generations and population of the source (Mierswa 2009, section 3.2.4).
PRINTED_GENERATIONS = 1000
PRINTED_POPULATION = 100


def dual_objectives(training: Training, alpha: Array, *, balance: bool = False) -> Array:
    """Return the printed objectives of rows of dual variables, all to be maximised.

    Shapes: alpha (k, n) -> (k, 2).
    """
    signed = alpha * training.signs
    quadratic = -np.einsum("kn,kn->k", signed @ training.kernel, signed)
    columns = [quadratic, alpha.sum(axis=1)]
    if balance:
        columns.append(-np.abs(signed.sum(axis=1)))
    return np.column_stack(columns)


def evolve_printed(
    training: Training,
    *,
    n_points: int = PRINTED_POPULATION,
    max_iter: int = PRINTED_GENERATIONS,
    balance: bool = False,
    normalise_crowding: bool = True,
    deadline: float | None = None,
    random_state: Seed = None,
    **run_options: Any,
) -> SearchResult:
    """Search for the front of the printed objectives as the source does.

    All individuals begin at zero; uniform crossover (0.9) and hybrid mutation; NSGA-II. Each
    variable is at most the weight of its row: another bound only rescales both axes.
    """
    if deadline is not None:
        run_options["time_limit"] = max(deadline - time.monotonic(), 0.001)
    search = NSGA2(
        space=Box(0.0, training.weights),
        start=np.zeros((n_points, len(training.signs))),
        population_size=n_points,
        crossover=UniformCrossover(rate=0.9),
        mutation=HybridMutation(),
        mating="random",
        offspring="crossed_and_mutated",
        normalise_crowding=normalise_crowding,
        names=NAMES[: 3 if balance else 2],
        maximise=True,
    )
    pool = EvaluationPool(_Printed(training, balance), chunk_size=3 * n_points)
    options = SearchOptions(max_iter=max_iter, random_state=random_state, **run_options)
    return search_generations(search, pool, options)


class _Printed:
    """The objectives as a function of a population, with a name that a checkpoint knows."""

    def __init__(self, training: Training, balance: bool) -> None:
        self.training, self.balance = training, balance

    def __call__(self, alpha: Array) -> Array:
        return dual_objectives(self.training, alpha, balance=self.balance)


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
