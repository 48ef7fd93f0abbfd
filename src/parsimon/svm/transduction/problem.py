"""The transductive problem as data: similarities, the labels that are known, costs, a class ratio.

For given labels of the unlabelled rows the problem is an ordinary support vector machine; `fit`
solves it. For given scores the best labels are a matter of sorting; `relabelled` does that. Every
search of this package alternates between the two.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.svm.dual import Dual, Solution
from parsimon.svm.exact import solve

# Labellings are compared by objectives: these must be exact to more digits than the gaps.
TOLERANCE = 1e-4


class Fit(NamedTuple):
    """The support vector machine of one labelling.

    labels (n_unlabelled,): Of -1.0 and 1.0.
    scores (n,): The decision function at all rows.
    """

    labels: Array
    solution: Solution
    scores: Array

    @property
    def objective(self) -> float:
        """The inner maximum, which a good labelling makes small."""
        return self.solution.objective


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Minimise over labels of the unlabelled rows what the support vector machine maximises.

    .. math::

       \min_{y^*} \max_{0 \le \alpha \le u,\ \alpha^\top y = 0}
       \sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k_{ij}

    which is the dual form of Vapnik's transductive machine (Joachims 1999; Mierswa 2009, problem
    5.1). The inner maximum equals the primal :math:`\frac12\|w\|^2 + \sum u_i \xi_i`.

    Shapes: kernel (n, n).

    known (n,): -1.0 or 1.0, and 0.0 for rows without a label.
    upper (n,): Cost of each row: C times its weight, or C* for rows without a label.
    fewest, most: How many unlabelled rows may be positive.
    """

    kernel: Array
    known: Array
    upper: Array
    fewest: int
    most: int

    @cached_property
    def unlabelled(self) -> Indices:
        """The rows without a label."""
        return np.flatnonzero(self.known == 0)

    @cached_property
    def labelled(self) -> Indices:
        """The rows with a label."""
        return np.flatnonzero(self.known)

    @property
    def n_unlabelled(self) -> int:
        """How many labels are to be found."""
        return len(self.unlabelled)

    def signs(self, labels: Array) -> Array:
        """Return the labels of all rows."""
        signs = self.known.copy()
        signs[self.unlabelled] = labels
        return signs

    def with_upper(self, upper: Array) -> "Problem":
        """Return the problem with other costs."""
        return Problem(self.kernel, self.known, upper, self.fewest, self.most)

    def fit(
        self, labels: Array, *, start: Array | None = None, tolerance: float = TOLERANCE
    ) -> Fit:
        """Return the support vector machine of these labels."""
        signs = self.signs(labels)
        solution = machine(self.kernel, signs, self.upper, start=start, tolerance=tolerance)
        scores = self.kernel @ (solution.alpha * signs) + solution.bias
        return Fit(labels, solution, scores)

    def relabelled(self, scores: Array) -> Array:
        """Return the labels of least total cost under these scores, shape (n,), of all rows.

        A row gains ``max(0, 1 + f) - max(0, 1 - f)`` times its cost when it is called positive;
        those that gain most are, as many as want to be and the class ratio allows.
        """
        return self.ranked(self.gains(scores))

    def gains(self, scores: Array) -> Array:
        """Return what each unlabelled row gains when it is called positive."""
        own, costs = scores[self.unlabelled], self.upper[self.unlabelled]
        gain: Array = (np.maximum(0.0, 1.0 + own) - np.maximum(0.0, 1.0 - own)) * costs
        return gain

    def ranked(self, gains: Array, count: int | None = None) -> Array:
        """Return labels with the greatest gains positive: `count` of them, or those above zero."""
        wanted = int(np.count_nonzero(gains > 0)) if count is None else count
        count = min(max(wanted, self.fewest), self.most)
        labels = np.full(len(gains), -1.0)
        labels[np.argsort(-gains, kind="stable")[:count]] = 1.0
        return labels

    def random_labels(self, rng: np.random.Generator) -> Array:
        """Return labels drawn from those that the class ratio allows."""
        gains = rng.random(self.n_unlabelled)
        return self.ranked(gains, self.fewest + int(rng.random() * (self.most - self.fewest + 1)))

    def repaired(self, labels: Array, scores: Array) -> Array:
        """Return labels that keep the class ratio; the rows nearest to a change of mind give in."""
        n_positive = int(np.count_nonzero(labels > 0))
        if self.fewest <= n_positive <= self.most:
            return labels
        # Within each label the order of the scores decides who changes first.
        order = np.argsort(np.argsort(scores[self.unlabelled], kind="stable"), kind="stable")
        n = len(labels)
        return self.ranked(np.where(labels > 0, float(n), 0.0) + order, n_positive)


def machine(
    kernel: Array,
    signs: Array,
    upper: Array,
    *,
    start: Array | None = None,
    tolerance: float = TOLERANCE,
) -> Solution:
    """Return the support vector machine; of one class alone it is the constant of that class."""
    if (signs == signs[0]).all():
        # The equality constraint leaves alpha = 0 alone; any bias beyond the margin is optimal.
        return Solution(np.zeros(len(signs)), float(signs[0]), 0.0, 0.0, 0, True)
    # Always from a start: these machines are small, and libsvm checks its input anew each time.
    begin = np.zeros(len(signs)) if start is None else start
    return solve(Dual(kernel, signs, upper), start=begin, tolerance=tolerance)
