"""Problem 5.2 of Mierswa (2009) as printed: a maximum over unknown labels as well as multipliers.

It finds the labelling of *smallest* margin: on four clusters, two labelled, a linear kernel and
C = 1 the dual optimum is 0.031 for the split that the source shows and 2.0 for the other one, which
is what this returns.
"""

from itertools import product
from typing import Any

import numpy as np

from parsimon._deadline import is_late
from parsimon._typing import Array
from parsimon.svm import TransductiveSVC
from parsimon.svm._labelling_search import FEW_ROWS
from parsimon.svm._labellings import (
    CROSSOVER_RATE,
    TOURNAMENT_SHARE,
    FoundLabelling,
    is_lower,
)
from parsimon.svm._transductive_problem import (
    LabellingFit,
    TransductiveProblem,
    present_classes,
    problem_of,
    read_labels,
    read_rows,
)


def problem_of_rows(model: TransductiveSVC, X: Array, y: Any) -> TransductiveProblem:
    """Return the problem of two classes that a model has to solve, the class ratio free.

    Shapes: X (n, d), y (n,) with -1 where there is no label.
    """
    given = present_classes(read_rows(model, X, read_labels(y), None))
    return problem_of(given, 1, None)


def maximise_jointly(
    problem: TransductiveProblem,
    *,
    population_size: int = 10,
    max_iter: int = 100,
    stall: int = 10,
    rng: np.random.Generator,
    deadline: float | None = None,
) -> FoundLabelling:
    """Return the labelling of *greatest* inner maximum, the printed problem.

    Multipliers are solved exactly for each labelling; over labellings there are the printed
    tournaments, uniform crossover and flips with probability 1 / n*, or all labellings in turn if
    there are at most 12 unlabelled rows. Options are those of `evolve_labellings`.
    """
    n = problem.n_unlabelled
    if n <= FEW_ROWS:
        every = [np.array(labels) for labels in product((-1.0, 1.0), repeat=n)]
        fits = [problem.fit(labels) for labels in every if _keeps_ratio(problem, labels)]
        return FoundLabelling(_worst(fits)[0], len(fits), "exact")
    population = _worst([problem.fit(problem.random_labels(rng)) for _ in range(population_size)])
    best, since = population[0], 0
    for n_iter in range(1, max_iter + 1):
        if is_late(deadline):
            return FoundLabelling(best, n_iter - 1, "time_limit")
        children = [problem.fit(_child(problem, population, rng)) for _ in range(population_size)]
        population = _worst(population + children)[:population_size]
        since = 0 if is_lower(-population[0].objective, -best.objective) else since + 1
        best = population[0]
        if since >= stall:
            return FoundLabelling(best, n_iter, "stall")
    return FoundLabelling(best, max_iter, "max_iter")


def _worst(fits: list[LabellingFit]) -> list[LabellingFit]:
    return sorted(fits, key=lambda fit: -fit.objective)


def _keeps_ratio(problem: TransductiveProblem, labels: Array) -> bool:
    return problem.fewest <= int(np.count_nonzero(labels > 0)) <= problem.most


def _child(
    problem: TransductiveProblem, population: list[LabellingFit], rng: np.random.Generator
) -> Array:
    n, entrants = len(population), max(1, round(TOURNAMENT_SHARE * len(population)))
    # The list is sorted, so the lowest place wins.
    places = (rng.random((2, entrants)) * n).astype(np.intp).min(axis=1)
    first, second = (population[place].labels for place in places)
    if rng.random() < CROSSOVER_RATE:
        first = np.where(rng.random(len(first)) < 0.5, second, first)
    flips = rng.random(len(first)) < 1.0 / len(first)
    return _random_repair(problem, np.where(flips, -first, first), rng)


def _random_repair(problem: TransductiveProblem, labels: Array, rng: np.random.Generator) -> Array:
    scores = np.zeros(len(problem.known))
    scores[problem.unlabelled] = rng.random(len(labels))
    return problem.repaired(labels, scores)
