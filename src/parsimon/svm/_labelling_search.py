"""One entry for all searches over labellings.

The best labelling beyond doubt: branch and bound for few unlabelled rows.

The machine of the rows that have a label so far is a lower bound: another row can only raise the
inner maximum, since it may always be ignored by a multiplier of zero.

The joint maximisation as it is printed, which looks for the worst labelling.

Mierswa (2009, problem 5.2) maximises the dual over multipliers and labels together. A transductive
machine asks for the labels of *least* inner maximum: a large dual value is a small margin. On the
source's own four clusters (linear kernel, C = 1) the inner maximum is 0.031 for the split that it
shows, 1.5 for the two mixed ones and 2.0 for the vertical split, which the joint maximisation
therefore returns.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.svm._dual import Dual, solve
from parsimon.svm._labellings import (
    CROSSOVER_RATE,
    IMPROVEMENT,
    TOURNAMENT_SHARE,
    Found,
    annealed,
    evolve,
    greedy,
    inductive_scores,
    is_better,
    is_late,
)
from parsimon.svm._transductive_problem import Fit, Problem, machine

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


def maximise_jointly(
    problem: Problem,
    *,
    population_size: int = 10,
    max_iter: int = 100,
    stall: int = 10,
    rng: np.random.Generator,
    deadline: float | None = None,
) -> Found:
    """Return the labelling of *greatest* inner maximum, the printed problem.

    Multipliers are solved exactly for each labelling; over labellings there are the printed
    tournaments, uniform crossover and flips with probability 1 / n*, or all labellings in turn if
    there are at most 12 unlabelled rows. Options are those of `evolve`.
    """
    n = problem.n_unlabelled
    if n <= FEW_ROWS:
        every = [np.array(labels) for labels in product((-1.0, 1.0), repeat=n)]
        fits = [problem.fit(labels) for labels in every if _keeps_ratio(problem, labels)]
        return Found(_worst(fits)[0], len(fits), "exact")
    population = _worst([problem.fit(problem.random_labels(rng)) for _ in range(population_size)])
    best, since = population[0], 0
    for n_iter in range(1, max_iter + 1):
        if is_late(deadline):
            return Found(best, n_iter - 1, "time_limit")
        children = [problem.fit(_child(problem, population, rng)) for _ in range(population_size)]
        population = _worst(population + children)[:population_size]
        since = 0 if is_better(-population[0].objective, -best.objective) else since + 1
        best = population[0]
        if since >= stall:
            return Found(best, n_iter, "stall")
    return Found(best, max_iter, "max_iter")


def _worst(fits: list[Fit]) -> list[Fit]:
    return sorted(fits, key=lambda fit: -fit.objective)


def _keeps_ratio(problem: Problem, labels: Array) -> bool:
    return problem.fewest <= int(np.count_nonzero(labels > 0)) <= problem.most


def _child(problem: Problem, population: list[Fit], rng: np.random.Generator) -> Array:
    n, entrants = len(population), max(1, round(TOURNAMENT_SHARE * len(population)))
    # The list is sorted, so the lowest place wins.
    places = (rng.random((2, entrants)) * n).astype(np.intp).min(axis=1)
    first, second = (population[place].labels for place in places)
    if rng.random() < CROSSOVER_RATE:
        first = np.where(rng.random(len(first)) < 0.5, second, first)
    flips = rng.random(len(first)) < 1.0 / len(first)
    return _random_repair(problem, np.where(flips, -first, first), rng)


def _random_repair(problem: Problem, labels: Array, rng: np.random.Generator) -> Array:
    scores = np.zeros(len(problem.known))
    scores[problem.unlabelled] = rng.random(len(labels))
    return problem.repaired(labels, scores)


METHODS = ("evolution", "greedy", "joint", "exhaustive")


@dataclass(frozen=True)
class Searching:
    """How to search.

    population_size, max_iter, stall: As in `evolve`.
    deadline: On the monotonic clock.
    """

    method: str = "evolution"
    population_size: int = 10
    max_iter: int = 100
    stall: int = 10
    deadline: float | None = None


def find_labels(problem: Problem, how: Searching, seed: np.random.SeedSequence) -> Found:
    """Return the labelling that a method finds.

    Without unlabelled rows it is the plain support vector machine. Evolution has nothing to do
    where at most 12 rows are unlabelled: the optimum is then found by `exhaust`.
    """
    n = problem.n_unlabelled
    if n == 0:
        return Found(problem.fit(np.zeros(0)), 1, "converged")
    if how.method == "exhaustive" or (how.method == "evolution" and n <= FEW_ROWS):
        return exhaust(problem, deadline=how.deadline)
    if how.method == "greedy":
        fit, n_fits = greedy(problem, greedy_count(problem), deadline=how.deadline)
        return Found(fit, n_fits, "time_limit" if is_late(how.deadline) else "converged")
    search = evolve if how.method == "evolution" else maximise_jointly
    return search(
        problem,
        population_size=how.population_size,
        max_iter=how.max_iter,
        stall=how.stall,
        rng=np.random.default_rng(seed),
        deadline=how.deadline,
    )


def greedy_count(problem: Problem) -> int:
    """Return how many positives Joachims' solver keeps: the share among the labelled rows.

    It is moved into what the class ratio allows; where that is everything, the machine of the
    labelled rows decides instead.
    """
    n = problem.n_unlabelled
    if (problem.fewest, problem.most) == (0, n):
        wanted = int(np.count_nonzero(inductive_scores(problem)[problem.unlabelled] > 0))
    else:
        share = np.count_nonzero(problem.known > 0) / len(problem.labelled)
        wanted = int(np.floor(share * n + 0.5))
    return min(max(wanted, problem.fewest), problem.most)


def settled(problem: Problem, fit: Fit) -> Fit:
    """Return the machine of the labelling found, as scikit-learn's SVC would fit it."""
    signs = problem.signs(fit.labels)
    if (signs == signs[0]).all():
        return fit
    solution = solve(Dual(problem.kernel, signs, problem.upper))
    scores = problem.kernel @ (solution.alpha * signs) + solution.bias
    return Fit(fit.labels, solution, scores)
