"""One entry for all searches over labellings."""

from dataclasses import dataclass

import numpy as np

from parsimon.svm.dual import Dual
from parsimon.svm.exact import solve
from parsimon.svm.transduction.descent import greedy, inductive_scores, is_late
from parsimon.svm.transduction.evolution import Found, evolve
from parsimon.svm.transduction.exhaustive import FEW_ROWS, exhaust
from parsimon.svm.transduction.joint import maximise_jointly
from parsimon.svm.transduction.problem import Fit, Problem

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
