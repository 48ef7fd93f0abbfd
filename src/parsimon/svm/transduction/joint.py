"""The joint maximisation as it is printed, which looks for the worst labelling.

Mierswa (2009, problem 5.2) maximises the dual over multipliers and labels together. A transductive
machine asks for the labels of *least* inner maximum: a large dual value is a small margin. On the
source's own four clusters (linear kernel, C = 1) the inner maximum is 0.031 for the split that it
shows, 1.5 for the two mixed ones and 2.0 for the vertical split, which the joint maximisation
therefore returns.
"""

from itertools import product

import numpy as np

from parsimon._typing import Array
from parsimon.svm.transduction.descent import is_better, is_late
from parsimon.svm.transduction.evolution import CROSSOVER_RATE, TOURNAMENT_SHARE, Found
from parsimon.svm.transduction.exhaustive import FEW_ROWS
from parsimon.svm.transduction.problem import Fit, Problem


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
