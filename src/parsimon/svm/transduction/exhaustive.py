"""The best labelling beyond doubt: branch and bound for few unlabelled rows.

The machine of the rows that have a label so far is a lower bound: another row can only raise the
inner maximum, since it may always be ignored by a multiplier of zero.
"""

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.svm.transduction.descent import IMPROVEMENT, annealed, inductive_scores, is_late
from parsimon.svm.transduction.evolution import Found
from parsimon.svm.transduction.problem import Fit, Problem, machine

# Bounds are compared with objectives, so both are solved more exactly than usual.
_TOLERANCE = 1e-6
# With so few unlabelled rows every search is exact; more than the second number are refused.
FEW_ROWS, MOST_ROWS = 12, 24


def exhaust(problem: Problem, *, deadline: float | None = None) -> Found:
    """Return the labelling of least optimum among all that the class ratio allows.

    Chapelle, Sindhwani and Keerthi (2007), Branch and bound for semi-supervised support vector
    machines, Advances in Neural Information Processing Systems 19:217-224.
    """
    if problem.n_unlabelled > MOST_ROWS:
        raise InvalidInputError(
            f'method="exhaustive" is for at most {MOST_ROWS} unlabelled rows, got '
            f'{problem.n_unlabelled}. Use method="evolution".'
        )
    guess = problem.ranked(inductive_scores(problem)[problem.unlabelled])
    start = problem.fit(annealed(problem, guess).labels, tolerance=_TOLERANCE)
    # Rows far from the boundary first: giving them the other label costs most, so that wrong
    # branches are cut near the root.
    order = np.argsort(-np.abs(start.scores[problem.unlabelled]), kind="stable")
    tree = _Tree(problem, order, start, deadline)
    tree.visit(np.zeros(problem.n_unlabelled), 0)
    return Found(tree.best, tree.n_fits, "time_limit" if tree.is_cut else "exact")


class _Tree:
    """The labellings in order of their first rows, without branches that cannot win."""

    def __init__(self, problem: Problem, order: Indices, best: Fit, deadline: float | None) -> None:
        self.problem, self.order, self.best, self.deadline = problem, order, best, deadline
        self.n_fits, self.is_cut = 1, False

    def visit(self, labels: Array, depth: int) -> None:
        """Look at all labellings that agree with `labels` in the first `depth` rows."""
        if depth == len(labels):
            return
        place = self.order[depth]
        branches = []
        for sign in (-1.0, 1.0):
            branch = labels.copy()
            branch[place] = sign
            if self._is_allowed(branch, depth + 1):
                branches.append((self._bound(branch, depth + 1), branch))
        for bound, branch in sorted(branches, key=lambda pair: pair[0]):
            if is_late(self.deadline):
                self.is_cut = True
                return
            if bound < self.best.objective - IMPROVEMENT * max(1.0, self.best.objective):
                self.visit(branch, depth + 1)

    def _is_allowed(self, labels: Array, depth: int) -> bool:
        n_positive = int(np.count_nonzero(labels > 0))
        left = len(labels) - depth
        return n_positive <= self.problem.most and n_positive + left >= self.problem.fewest

    def _bound(self, labels: Array, depth: int) -> float:
        self.n_fits += 1
        if depth == len(labels):
            fit = self.problem.fit(labels, tolerance=_TOLERANCE)
            if fit.objective < self.best.objective:
                self.best = fit
            return fit.objective
        signs = self.problem.signs(labels)
        rows = np.flatnonzero(signs)
        kernel = self.problem.kernel[np.ix_(rows, rows)]
        found = machine(kernel, signs[rows], self.problem.upper[rows], tolerance=_TOLERANCE)
        return found.objective
