r"""Which columns are on and how strongly each is held back: the genome, and how it changes.

A genome lists its active columns with the base-10 logarithm of their prior precision alpha; every
other column is off (alpha infinite). The moves are those of Clark (2011), section 3.4.1, with
what it leaves open decided here: components are changed without replacement within a call, a
move that is impossible becomes one that is possible, and no genome is ever empty.

One candidate fitted and measured: weights, scores, complexity, corners.

How complex a model is; the third objective of the search.

- "active": how many columns are on, the bias not counted. The default: it does not depend on the
  scale of the weights, so that it cannot be gamed.
- "degrees_of_freedom": :math:`\sum_m 1 / (1 + \alpha_m)` as Clark (2011, eq 3.18) printed it, the
  bias included. It measures shrinkage only: all columns on at a huge precision have almost no
  complexity, while their scores, tiny as they are, still rank the rows as well as a large model.
- "trace": :math:`\mathrm{tr}(\Phi \Sigma \Phi^T B)`, the trace of the smoothing matrix with the
  noise of the fitted mode, :math:`\Sigma = (\Phi^T B \Phi + A)^{-1}`.
- "gammas": :math:`\sum_m 1 - \alpha_m \Sigma_{mm}` (Tipping 2001, eq 17): the same number
  computed from the prior's side.

The last three all fall to zero as alpha grows, whatever the rates: with exact thresholds they
reward models that are nearly indifferent everywhere.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import chain
from math import ceil
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from parsimon._checks import check_choice
from parsimon._typing import Array, Indices, Mask
from parsimon.inference.irls import logistic_modes
from parsimon.rvm._problem import DistinctRows, Problem

# Precisions below the smallest are clipped to it; above the largest the column is switched off.
LOWEST_LEVEL, HIGHEST_LEVEL = -12.0, 12.0
STEP_SCALE = 2.0
_STEP, _OFF = 0, 1


@dataclass(frozen=True, slots=True, eq=False)
class Genome:
    """A choice of columns with their precisions, and the weights that were fitted to it.

    active: Columns that are on, ascending.
    levels: log10 alpha of each.
    weights (k, m + 1): The weights of the k fits of its scheme, then a zero: where children
        begin.
    """

    active: list[int]
    levels: list[float]
    weights: Array

    @property
    def genes(self) -> dict[int, float]:
        """The level of each active column."""
        return dict(zip(self.active, self.levels, strict=True))


def alpha_of(levels: list[float]) -> Array:
    """Return 10 to the power of each level."""
    alpha: Array = 10.0 ** np.array(levels)
    return alpha


def levels_of(alpha: Array) -> list[float]:
    """Return log10 alpha, clipped to what a genome may hold."""
    floor = 10.0**LOWEST_LEVEL
    levels: list[float] = np.minimum(np.log10(np.maximum(alpha, floor)), HIGHEST_LEVEL).tolist()
    return levels


@dataclass(frozen=True)
class Moves:
    """How a genome is changed.

    most: Between 1 and this many components change in one call: 3 in Clark's basic algorithm.
    fixed_bias: Whether column 0 is always on and never moves.
    """

    n_columns: int
    most: int = 3
    fixed_bias: bool = False

    def singles(self, count: int, rng: np.random.Generator) -> list[dict[int, float]]:
        """Return genomes with one random column on at the smallest precision, all different.

        The bias may be that column; if it is fixed it is on in all. There are fewer than `count`
        if the columns run out.
        """
        first = 1 if self.fixed_bias else 0
        columns = range(first, self.n_columns)
        chosen = rng.permutation(len(columns))[:count] + first
        bias = {0: LOWEST_LEVEL} if self.fixed_bias else {}
        return [{**bias, int(column): LOWEST_LEVEL} for column in chosen]

    def perturb(self, levels: dict[int, float], rng: np.random.Generator) -> dict[int, float]:
        """Change 1 to `most` components, each by one of three moves with equal chance.

        A step of log10 alpha by a Laplace variable of scale 2; an active column off; an inactive
        one on, with log10 alpha uniform between -12 and 12.
        """
        levels, touched = dict(levels), {0} if self.fixed_bias else set()
        for _ in range(1 + int(rng.random() * self.most)):
            move = int(rng.random() * 3)
            movable = [column for column in levels if column not in touched]
            idle = None
            if move > _OFF or not movable:
                idle = self._inactive(levels, touched, rng)
                if idle is None:
                    move = _STEP
            if idle is not None:
                levels[idle] = _random_level(rng)
                touched.add(idle)
            elif movable:
                column = movable[int(rng.random() * len(movable))]
                touched.add(column)
                if move == _OFF:
                    del levels[column]
                else:
                    _step(levels, column, rng)
        return self._not_empty(levels, touched, rng)

    def diversify(self, levels: dict[int, float], rng: np.random.Generator) -> dict[int, float]:
        """Switch a tenth of the active columns off, at least two, and as many others on."""
        levels, fixed = dict(levels), {0} if self.fixed_bias else set()
        movable = [column for column in levels if column not in fixed]
        count = max(2, ceil(0.1 * len(movable)))
        off = {
            movable.pop(int(rng.random() * len(movable))) for _ in range(min(count, len(movable)))
        }
        for column in off:
            del levels[column]
        for _ in range(count):
            idle = self._inactive(levels, off | fixed, rng)
            if idle is not None:
                levels[idle] = _random_level(rng)
        return self._not_empty(levels, set(), rng)

    def cross(
        self,
        first: dict[int, float],
        second: dict[int, float],
        rng: np.random.Generator,
        n_cuts: int = 5,
    ) -> dict[int, float]:
        """Cut both at random places and take the pieces in turn from the one and the other.

        The cuts are uniform over the whole vector of columns, active or not.
        """
        cuts = sorted(int(rng.random() * (self.n_columns + 1)) for _ in range(n_cuts))
        pieces = chain(
            ((c, v, 0) for c, v in first.items()), ((c, v, 1) for c, v in second.items())
        )
        child = {c: level for c, level, side in pieces if bisect_right(cuts, c) % 2 == side}
        if self.fixed_bias:
            child[0] = LOWEST_LEVEL
        return self._not_empty(child, set(), rng)

    def _inactive(
        self, levels: dict[int, float], touched: set[int], rng: np.random.Generator
    ) -> int | None:
        """Return a random column that is neither active nor touched, if there is one."""
        for _ in range(8):  # nearly always the first: models are sparse
            column = int(rng.random() * self.n_columns)
            if column not in levels and column not in touched:
                return column
        left = [c for c in range(self.n_columns) if c not in levels and c not in touched]
        return left[int(rng.random() * len(left))] if left else None

    def _not_empty(
        self, levels: dict[int, float], touched: set[int], rng: np.random.Generator
    ) -> dict[int, float]:
        if not levels:
            column = self._inactive(levels, touched, rng)
            levels[int(rng.random() * self.n_columns) if column is None else column] = (
                _random_level(rng)
            )
        return levels


def _random_level(rng: np.random.Generator) -> float:
    return LOWEST_LEVEL + (HIGHEST_LEVEL - LOWEST_LEVEL) * rng.random()


def _step(levels: dict[int, float], column: int, rng: np.random.Generator) -> None:
    level = levels[column] + rng.laplace(0.0, STEP_SCALE)
    if level > HIGHEST_LEVEL:
        del levels[column]
    else:
        levels[column] = max(level, LOWEST_LEVEL)


COMPLEXITIES = ("active", "degrees_of_freedom", "trace", "gammas")


def check_complexity(name: str) -> str:
    """Return the name of a complexity, refusing others."""
    return str(check_choice("complexity", name, COMPLEXITIES))


def active_count(active: list[int], *, has_bias: bool) -> int:
    """Return how many columns are on, the bias not counted."""
    return len(active) - (has_bias and active[0] == 0)


def degrees_of_freedom(alpha: Array) -> float:
    """Return the printed complexity of precisions alpha, shape (m,), at unit noise."""
    return float((1.0 / (1.0 + alpha)).sum())


def smoothing_trace(columns: Array, curvature: Array, alpha: Array) -> float:
    """Return the trace of the smoothing matrix.

    Shapes: columns (m, n), curvature (n,), alpha (m,).
    """
    gram = (columns * curvature) @ columns.T
    return float((_covariance(gram, alpha) * gram).sum())


def sum_of_gammas(columns: Array, curvature: Array, alpha: Array) -> float:
    """Return how many weights the data determine; arguments as in `smoothing_trace`."""
    gram = (columns * curvature) @ columns.T
    return float((1.0 - alpha * np.diagonal(_covariance(gram, alpha))).sum())


def _covariance(gram: Array, alpha: Array) -> Array:
    """Return the inverse of gram + diag(alpha), scaled first: alpha spans 24 decades."""
    hessian = gram + np.diag(alpha)
    scale = 1.0 / np.sqrt(np.diagonal(hessian))
    scaled = hessian * scale[:, None] * scale
    identity = np.eye(len(alpha))
    try:
        inverse: Array = cho_solve(cho_factor(scaled, lower=True), identity)
    except np.linalg.LinAlgError:
        # Identical columns with hardly any prior.
        inverse = np.asarray(np.linalg.pinv(scaled, hermitian=True), dtype=np.float64)
    covariance: Array = inverse * scale[:, None] * scale
    return covariance


# Twice the gain in log posterior that is still to be had where a fit in the search stops. The
# order of the rows is settled long before; whatever is returned is fitted anew.
SEARCH_TOLERANCE = 1e-3
# Beyond this score a row is certain; on separable classes with hardly any prior it is reached.
LARGEST_SCORE = 30.0
MAX_ITER = 50


class Training(NamedTuple):
    """The rows on which k fits are made.

    labels (k, n_distinct): Share of ones among the rows that a distinct row stands for.
    weights (k, n_distinct): How many rows it stands for; zero where a fit leaves it out.
    """

    labels: Array
    weights: Array


def training_on(problem: Problem, chosen: Mask) -> Training:
    """Return the training rows of k fits from which rows are chosen, shape (k, n)."""
    positive, negative = problem.counts(chosen)
    total = positive + negative
    return Training(np.divide(positive, total, out=np.zeros_like(total), where=total > 0), total)


class Fit(NamedTuple):
    """The k fits of one genome.

    Shapes: weights (k, m), scores (k, n_distinct).
    """

    weights: Array
    scores: Array


@dataclass(frozen=True, eq=False)
class Fitter:
    """Fits genomes to a problem's rows.

    tolerance: Newton decrement at which a fit stops.
    """

    rows: DistinctRows
    complexity: str
    has_bias: bool
    tolerance: float = SEARCH_TOLERANCE

    def fit(self, active: list[int], alpha: Array, training: Training, start: Array | None) -> Fit:
        """Return the modes given precisions alpha, shape (m,)."""
        modes = logistic_modes(
            self.rows.columns.take(active, axis=0).T,
            training.labels,
            alpha,
            training.weights,
            start=start,
            max_iter=MAX_ITER,
            tolerance=self.tolerance,
            largest_score=LARGEST_SCORE,
        )
        return Fit(modes.weights, modes.scores)

    def complexity_of(self, active: list[int], alpha: Array, training: Training, fit: Fit) -> float:
        """Return the complexity of a fitted genome; a mean over its fits if it depends on them."""
        if self.complexity == "active":
            return float(active_count(active, has_bias=self.has_bias))
        if self.complexity == "degrees_of_freedom":
            return degrees_of_freedom(alpha)
        measure = smoothing_trace if self.complexity == "trace" else sum_of_gammas
        columns = self.rows.columns[active]
        decay = np.exp(-np.abs(fit.scores))
        curvatures = training.weights * decay / (1.0 + decay) ** 2
        return float(np.mean([measure(columns, curvature, alpha) for curvature in curvatures]))


def row_entries(which: Indices, folds: Indices, n_distinct: int) -> Indices:
    """Return where in the flattened scores the held-out score of each row is, shape (n,)."""
    entries: Indices = folds * n_distinct + which
    return entries
