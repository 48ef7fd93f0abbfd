r"""The search for a front of margin against loss: objectives, operators, and three ways to search.

A support vector machine minimises :math:`\frac12 \|w\|^2 + C \sum_i c_i \xi_i`. The two terms,
without the price C between them, are the objectives (what section 3.2 of Mierswa 2009 sets out to
trace): one row of dual variables is one function :math:`f = \sum_j \alpha_j y_j k(x_j, \cdot)`,
and its bias is the best there is, found by sorting (`MarginProblem`).

Both terms are convex, so every machine that is optimal for some C is on the front and the other
way round; between two prices the optimal dual variables are piecewise linear in C [1]. Hence
`exact_path` solves machines one after another along C, each begun where the line through the two
before it leads, and `evolve_front` solves a few, spreads a population between them and goes on by
NSGA-II with operators that know the path; which solutions survive is decided by hypervolume, since
survival by gaps throws away points of the bend for points of the long flat ends [2].

`evolve_printed` is the search of the source. Corollary 3.1 of Mierswa (2009) maximises, over
:math:`\alpha \ge 0`,

.. math:: (I)\ -\alpha^T Q \alpha, \quad (II)\ \sum \alpha_i, \quad (III)\ -|\sum \alpha_i y_i|.

This is no trade-off between margin and error. Multiplying :math:`\alpha` by s multiplies (II) by s
and (I) by its square, so at a given sum s the best (I) is :math:`-s^2 \min_{p} p^T Q p` over the
probability vectors p: all Pareto-optimal solutions are multiples of one vector, one and the same
hard-margin classifier without bias. With a bound A on each variable the exact front is the path
of the nu-SVM, :math:`\nu = s / (n A)`: its end at small sums is the hard margin and its end at
large sums, where all variables are equal, a Parzen classifier, the reverse of the source's
reading. What the source plots as overfitting control are individuals begun at zero that have not
converged: the more generations, the more support vectors they have.

[1] Hastie, Rosset, Tibshirani and Zhu (2004), "The entire regularization path for the support
   vector machine", JMLR 5:1391-1415.
[2] Beume, Naujoks and Emmerich (2007), "SMS-EMOA: multiobjective selection based on dominated
   hypervolume", European Journal of Operational Research 181:1653-1669.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parsimon._deadline import is_late, time_left
from parsimon._typing import AnyArray, Array, Indices
from parsimon.pareto import Box, Directions, SearchResult, UniformCrossover, hypervolume, nsga2
from parsimon.pareto.run import Ending, SearchOptions, Standing, child_generator, run
from parsimon.pareto.search import History, describe_start
from parsimon.pareto.space import Space
from parsimon.pareto.variation import HybridMutation
from parsimon.svm._dual import Dual, solve

NAMES = ("margin_term", "hinge_loss")
DUAL_NAMES = ("quadratic", "linear", "balance")
# Weights that are sums in another order are equal.
_ROUNDING = 1e-12
_TINY_CURVATURE = 1e-12


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """Labelled rows by which machines are evaluated, many at once.

    kernel (n, n): Symmetric.
    signs (n,): -1 or 1, both of them there.
    weights (n,): What one unit of slack of each row, or an error there, costs; positive.
    """

    kernel: Array
    signs: Array
    weights: Array

    @property
    def fingerprint(self) -> str:
        """A short text that tells a checkpoint one table from another."""
        # A product instead of the whole matrix is enough for that.
        return describe_start(np.concatenate([self.weights, self.kernel @ self.signs]))

    @property
    def constant_error(self) -> float:
        """The least share of rows, by weight, that predicting one class for all of them misses."""
        positive = float(self.weights[self.signs > 0].sum())
        return min(positive, float(self.weights.sum()) - positive) / float(self.weights.sum())

    def scores(self, alpha: Array) -> Array:
        """Return the functions' values without bias, shape (k, n), of rows of dual variables."""
        return (alpha * self.signs) @ self.kernel

    def objectives(self, alpha: Array) -> Array:
        """Return margin term and hinge loss at the best bias, shape (k, 2)."""
        scores = self.scores(alpha)
        bias = best_bias(scores, self.signs, self.weights)
        losses = hinge_losses(scores + bias[:, None], self.signs, self.weights)
        return np.column_stack([margin_terms(alpha * self.signs, scores), losses])


def margin_terms(coefficients: Array, scores: Array) -> Array:
    r"""Return :math:`\frac12 \|w\|^2 = \frac12 \beta^T K \beta` of each row, shape (k,).

    The margin is :math:`1 / \|w\|`. With a kernel that is not positive semi-definite the number
    may be negative.

    Shapes: coefficients (k, n), scores (k, n).
    """
    return 0.5 * np.einsum("kn,kn->k", coefficients, scores)


def hinge_losses(decisions: Array, signs: Array, weights: Array) -> Array:
    r"""Return :math:`\sum_i c_i \max(0, 1 - y_i f(x_i))` of each row, shape (k,).

    Shapes: decisions (k, n), signs, weights (n,).
    """
    return np.maximum(1.0 - decisions * signs, 0.0) @ weights


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
        return 0.5 * (kinks[:, last - 1] + kinks[:, last])
    order = np.argsort(kinks, axis=1, kind="stable")
    risen = np.cumsum(weights[order], axis=1)
    target = weights[signs > 0].sum()
    slack = _ROUNDING * risen[:, -1:]
    lower = np.argmax(risen >= target - slack, axis=1)
    upper = np.argmax(risen > target + slack, axis=1)
    rows = np.arange(len(scores))
    ends = kinks[rows, order[rows, lower]], kinks[rows, order[rows, upper]]
    return 0.5 * (ends[0] + ends[1])


def prices(alpha: Array, weights: Array) -> Array:
    """Return the least C whose box holds each row of dual variables, shape (k,)."""
    return (alpha / weights).max(axis=1)


@dataclass(frozen=True, eq=False)
class BlendCrossover:
    """Mix parents by a random share; if weights are given, those that are neighbours in price.

    The two children of a pair are ``t a + (1 - t) b`` and ``(1 - t) a + t b``, with t uniform.
    Margin term and loss are convex, so that a child never lies above the chord of its parents.

    weights (n,): Of the rows, which tell the price of dual variables.
    rate: Probability of each pair.
    """

    weights: Array | None = field(default=None, repr=False)
    rate: float = 0.9

    def __call__(
        self,
        first: AnyArray,
        second: AnyArray,
        space: Space,  # noqa: ARG002 - an operator takes what all operators take
        rng: np.random.Generator,
    ) -> tuple[AnyArray, AnyArray]:
        if self.weights is not None:
            both = np.concatenate([first, second])
            both = both[np.argsort(prices(both, self.weights), kind="stable")]
            first, second = both[0::2], both[1::2]
        share = rng.random((len(first), 1))
        share[rng.random(len(first)) >= self.rate] = 0.0
        step = share * (second - first)
        return first + step, second - step


@dataclass(frozen=True, eq=False)
class AscentMutation:
    """Change the price a little, switch a few rows on or off, then climb a few exact steps.

    least, most: Range of the price.
    spread: Standard deviation of the change of log C.
    sparsity: Share of the children whose rows are switched as in
        `parsimon.pareto.HybridMutation`.
    n_steps: Steps in two variables for each child.
    """

    problem: MarginProblem = field(repr=False)
    least: float = 0.01
    most: float = 1000.0
    spread: float = 0.2
    sparsity: float = 0.25
    n_steps: int = 3

    def __call__(self, parents: AnyArray, space: Space, rng: np.random.Generator) -> AnyArray:
        before = prices(parents, self.problem.weights)
        wished = before * np.exp(self.spread * rng.standard_normal(len(parents)))
        price = np.clip(wished, self.least, self.most)
        # A row of zeros has no price, and stays what it is until it is switched.
        children = (
            parents * np.where(before > 0, price / np.where(before > 0, before, 1.0), 1.0)[:, None]
        )
        switched = rng.random(len(parents)) < self.sparsity
        if switched.any():
            drawn = HybridMutation()(children[switched], space, rng)
            children[switched] = np.minimum(drawn, price[switched, None] * self.problem.weights)
        return climb_rows(self.problem, children, price, n_steps=self.n_steps)


def climb_rows(problem: MarginProblem, alpha: Array, price: Array, *, n_steps: int) -> Array:
    """Climb a few steps in the dual of each row's own price, all rows side by side.

    Each step moves the pair of variables that libsvm would choose, by second-order information
    [1], to its maximum in the box; the sum of the signed variables stays as it is. Rows must lie
    in the boxes of their prices.

    Shapes: alpha (k, n), price (k,) -> (k, n).

    [1] Fan, Chen and Lin (2005), JMLR 6:1889-1918.
    """
    if n_steps == 0:
        return alpha
    kernel, signs = problem.kernel, problem.signs
    diagonal, every = np.diagonal(kernel), np.arange(len(alpha))
    ends = price[:, None] * (problem.weights * signs)
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


@dataclass(frozen=True, eq=False)
class VolumeGuide:
    """Prefer the solutions that dominate most volume, as a guide of `parsimon.pareto.nsga2`.

    ideal, worst (2,): The box in which volume is measured; minimised objectives.
    """

    ideal: Array = field(repr=False)
    worst: Array = field(repr=False)

    def __call__(self, values: Array, levels: Indices) -> Array:
        """Return how late each row of its level would be given up, shape (n,)."""
        scaled = self._scale(values)
        preference = np.zeros(len(values))
        for level in np.unique(levels):
            rows = np.flatnonzero(levels == level)
            preference[rows[removal_order(scaled[rows])]] = np.arange(len(rows))
        return preference

    def shortfall(self, values: Array) -> float:
        """Return minus the volume of a front, in shares of the box."""
        return -hypervolume(self._scale(values), np.ones(2))

    def _scale(self, values: Array) -> Array:
        return (values - self.ideal) / np.where(self.worst > self.ideal, self.worst - self.ideal, 1)


def removal_order(values: Array) -> Indices:
    """Return the points of one front in the order in which they are missed least.

    Always the point that alone dominates the least area is next; both ends come last.

    Shapes: values (n, 2).
    """
    order = np.lexsort((values[:, 1], values[:, 0]))
    across, up = values[order].T.tolist()
    n = len(order)
    left, right = list(range(-1, n - 1)), list(range(1, n + 1))
    # The ends, and points already given up, have no area to compare.
    areas = np.full(n, np.inf)
    areas[1:-1] = np.diff(across)[1:] * -np.diff(up)[:-1]
    removed = []
    for _ in range(n - 2):
        gone = int(areas.argmin())
        removed.append(gone)
        areas[gone] = np.inf
        before, after = left[gone], right[gone]
        right[before], left[after] = after, before
        if before > 0:
            areas[before] = (across[after] - across[before]) * (up[left[before]] - up[before])
        if after < n - 1:
            areas[after] = (across[right[after]] - across[after]) * (up[before] - up[after])
    ends = [n - 1, 0] if n > 1 else [0]
    return order[np.array(removed + ends, dtype=np.intp)]


def solve_prices(
    problem: MarginProblem, C: Array, *, tol: float = 1e-3, deadline: float | None = None
) -> Array:
    """Return the exact dual variables for some C, shape (k, n), in their order.

    With a deadline of `time.monotonic`, those that come later are left out, but never all.
    """
    found = []
    for price in C:
        dual = Dual(problem.kernel, problem.signs, price * problem.weights)
        found.append(solve(dual, tol=tol).alpha)
        if is_late(deadline):
            break
    return np.array(found)


def interpolate(known: Array, C_known: Array, C: Array) -> Array:
    """Return dual variables for more C, by linear interpolation in C between neighbours.

    Shapes: known (k, n), C_known (k,), C (m,) -> (m, n).
    """
    place = np.interp(C, C_known, np.arange(len(C_known), dtype=np.float64))
    left = np.minimum(place.astype(np.intp), max(len(C_known) - 2, 0))
    right = np.minimum(left + 1, len(C_known) - 1)
    share = (place - left)[:, None]
    return (1.0 - share) * known[left] + share * known[right]


def evolve_front(
    problem: MarginProblem,
    *,
    C_range: tuple[float, float],
    n_points: int,
    max_iter: int,
    n_seeds: int = 12,
    deadline: float | None = None,
    **run_options: Any,
) -> SearchResult:
    """Search for the front of margin term and hinge loss between a few exact machines."""
    least, most = C_range
    C_seeds = np.geomspace(least, most, max(2, min(n_seeds, n_points)))
    known = solve_prices(problem, C_seeds, deadline=deadline)
    start = interpolate(known, C_seeds[: len(known)], _start_prices(C_seeds, n_points))
    ends = problem.objectives(known)
    return nsga2(
        problem.objectives,
        Box(0.0, most * problem.weights),
        start=np.clip(start, 0.0, most * problem.weights),
        population_size=n_points,
        max_iter=max_iter,
        crossover=BlendCrossover(problem.weights),
        mutation=AscentMutation(problem, least, most),
        guide=VolumeGuide(ends.min(axis=0), ends.max(axis=0)),
        names=NAMES,
        chunk_size=n_points,
        time_limit=time_until(deadline),
        **resumable(run_options, deadline),
    )


def time_until(deadline: float | None) -> float | None:
    """Return the time until a deadline; the least there is if it has passed."""
    return time_left(deadline, least=1e-9)


def resumable(run_options: dict[str, Any], deadline: float | None) -> dict[str, Any]:
    """Return the options of a search; without its file if time has cut the start short.

    A search that goes on has the whole start, to which a file with another would not belong.
    """
    return run_options | {"checkpoint": None} if is_late(deadline) else run_options


def _start_prices(C_seeds: Array, n_points: int) -> Array:
    """Return the prices of the seeds, at most `n_points`, and more between them in log C."""
    places = np.linspace(0, n_points - 1, len(C_seeds)).round().astype(np.intp)
    made: Array = np.exp(np.interp(np.arange(n_points), places, np.log(C_seeds)))
    # To the bit, so that the exact machines are in the population.
    made[places] = C_seeds
    return made


def exact_path(
    problem: MarginProblem,
    C: Array,
    *,
    tol: float = 1e-3,
    deadline: float | None = None,
    **run_options: Any,
) -> SearchResult:
    """Return the optimal machines for increasing prices.

    Shapes: C (k,).
    """
    options = SearchOptions(len(C) - 1, time_limit=time_until(deadline), **run_options)
    return run(_ExactPath(problem, C, tol), options)


# Dual variables, shape (n,), of the machines so far.
_Solved = tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class _ExactPath:
    """One machine a step; a process for `parsimon.pareto.run`."""

    problem: MarginProblem
    C: Array
    tol: float
    title: str = "solving"
    keeps_states: bool = True

    def settings(self) -> dict[str, str]:
        return {
            "search": "exact path",
            "rows": self.problem.fingerprint,
            "C": describe_start(self.C),
            "tol": repr(self.tol),
        }

    def prepare(self, seed: np.random.SeedSequence) -> np.random.Generator:
        return child_generator(seed, 0)

    def begin(self, rng: np.random.Generator) -> _Solved:  # noqa: ARG002 - chance has no part
        return (solve(self.dual(0), tol=self.tol).alpha,)

    def step(
        self,
        state: _Solved,
        rng: np.random.Generator,  # noqa: ARG002 - chance has no part
        deadline: float | None,  # noqa: ARG002 - a machine is the least there is to do
    ) -> _Solved:
        k, C = len(state), self.C
        ahead = state[-1]
        if k > 1 and C[k - 1] != C[k - 2]:
            ahead = ahead + (C[k] - C[k - 1]) / (C[k - 1] - C[k - 2]) * (ahead - state[-2])
        return (*state, solve(self.dual(k), start=ahead, tol=self.tol).alpha)

    def dual(self, place: int) -> Dual:
        """Return the dual of one price."""
        problem = self.problem
        return Dual(problem.kernel, problem.signs, self.C[place] * problem.weights)

    def standing(self, state: _Solved) -> Standing:
        return Standing(len(state))

    def row(self, state: _Solved) -> tuple[float, ...]:  # noqa: ARG002 - the result has it all
        return ()

    def note(self, state: _Solved) -> str:
        return f"C {self.C[len(state) - 1]:.4g}"

    def finished(self, state: _Solved) -> str | None:  # noqa: ARG002 - max_iter ends it
        return None

    def to_arrays(self, state: _Solved) -> dict[str, AnyArray]:
        return {"alpha": np.array(state)}

    def restore(self, arrays: dict[str, AnyArray]) -> _Solved:
        return tuple(arrays["alpha"])

    def result(self, state: _Solved, ending: Ending) -> SearchResult:
        alpha, count = np.array(state), np.arange(1, len(state) + 1)
        values = self.problem.objectives(alpha)
        return SearchResult(
            solutions=alpha,
            values=values,
            violation=np.zeros(len(alpha)),
            population=alpha,
            directions=Directions.of(NAMES),
            n_iter=len(alpha),
            n_evaluations=len(alpha),
            stopped_by=ending.stopped_by,
            history=History(count, count, np.minimum.accumulate(values, axis=0)),
        )


def dual_objectives(problem: MarginProblem, alpha: Array) -> Array:
    """Return the printed objectives of rows of dual variables, all to be maximised.

    Shapes: alpha (k, n) -> (k, 3).
    """
    signed = alpha * problem.signs
    quadratic = -np.einsum("kn,kn->k", signed @ problem.kernel, signed)
    return np.column_stack([quadratic, alpha.sum(axis=1), -np.abs(signed.sum(axis=1))])


def evolve_printed(
    problem: MarginProblem,
    *,
    n_points: int = 100,
    max_iter: int = 1000,
    deadline: float | None = None,
    **run_options: Any,
) -> SearchResult:
    """Search for the front of the printed objectives as the source does (section 3.2.4).

    All individuals begin at zero; uniform crossover (0.9) and hybrid mutation; NSGA-II. Each
    variable is at most the weight of its row: another bound only rescales both axes.
    """
    return nsga2(
        PrintedObjectives(problem, problem.fingerprint),
        Box(0.0, problem.weights),
        start=np.zeros((n_points, len(problem.signs))),
        population_size=n_points,
        max_iter=max_iter,
        crossover=UniformCrossover(rate=0.9),
        mutation=HybridMutation(),
        variant="mierswa",
        names=DUAL_NAMES,
        maximise=True,
        chunk_size=3 * n_points,
        time_limit=time_until(deadline),
        **run_options,
    )


@dataclass(frozen=True, eq=False)
class PrintedObjectives:
    """The objectives as a function of a population; all begin alike, so `rows` tells the table."""

    problem: MarginProblem = field(repr=False)
    rows: str

    def __call__(self, alpha: Array) -> Array:
        return dual_objectives(self.problem, alpha)
