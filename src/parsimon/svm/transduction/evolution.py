"""Evolution of labellings: the outer minimum of the transductive problem.

Each individual is a labelling of the unlabelled rows at the end of a local search; its fitness is
the exact optimum of its support vector machine. The first ones are guesses: what the machine of
the labelled rows ranks highest, for several class ratios; labels spread along graphs of nearest
neighbours; and both of these annealed.
"""

from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.svm.transduction.descent import (
    annealed,
    descend,
    inductive_scores,
    is_better,
    is_late,
    polish,
)
from parsimon.svm.transduction.graph import (
    neighbour_graph,
    spectral_splits,
    spread_labels,
    squared_kernel_distances,
)
from parsimon.svm.transduction.problem import Fit, Problem
from parsimon.svm.transduction.variation import crossed, mutated, nearest_order

CROSSOVER_RATE = 0.9
TOURNAMENT_SHARE = 0.25
_NEIGHBOURS = (5, 10, 20)
_N_RATIOS = 5
_N_SPLITS = 2
# Labellings drawn at random in the place of a child that was tried before.
_DRAWS = 8


class Found(NamedTuple):
    """The outcome of a search over labellings.

    n_iter: Generations, or machines fitted where there are none.
    """

    fit: Fit
    n_iter: int
    stopped_by: str


def evolve(
    problem: Problem,
    *,
    population_size: int = 10,
    max_iter: int = 100,
    stall: int = 10,
    rng: np.random.Generator,
    deadline: float | None = None,
) -> Found:
    """Search for the labelling whose machine has the least optimum."""
    distances = squared_kernel_distances(problem.kernel)
    order = nearest_order(distances[np.ix_(problem.unlabelled, problem.unlabelled)])
    population = _Population(population_size)
    for labels, anneal in first_labellings(problem, distances):
        if population.fits and is_late(deadline):
            break
        if anneal or population.is_new(labels):
            local = annealed if anneal else descend
            population.add(local(problem, labels, deadline=deadline))
    best, since = population.best, 0
    for n_iter in range(1, max_iter + 1):
        if is_late(deadline):
            return Found(best, n_iter - 1, "time_limit")
        _generation(population, problem, order, rng, deadline)
        since = 0 if is_better(population.best.objective, best.objective) else since + 1
        best = population.best
        if since >= stall:
            # Before it gives up, the search tries single changes of the best by hand.
            polished = polish(problem, best, deadline=deadline)
            if not is_better(polished.objective, best.objective):
                return Found(best, n_iter, "stall")
            population.add(polished)
            best, since = polished, 0
    return Found(best, max_iter, "max_iter")


def first_labellings(problem: Problem, distances: Array) -> list[tuple[Array, bool]]:
    """Return the guesses with which a search begins, and whether each is to be annealed."""
    counts = np.unique(np.linspace(problem.fewest, problem.most, _N_RATIOS).round().astype(int))
    graphs = [neighbour_graph(distances, k) for k in _NEIGHBOURS if k < len(distances)]
    if len(problem.labelled) == 0:
        return [(labels, False) for labels in _clusterings(problem, graphs, counts)]
    rows = problem.unlabelled
    inductive = inductive_scores(problem)[rows]
    guesses = [(problem.ranked(inductive), True), (problem.ranked(inductive), False)]
    for graph in graphs:
        spread = spread_labels(graph, problem.known)[rows]
        guesses += [(problem.ranked(spread), False)]
        guesses += [(problem.ranked(spread, int(count)), False) for count in counts[1:-1:2]]
    guesses += [(problem.ranked(inductive, int(count)), False) for count in counts]
    return guesses


def _clusterings(problem: Problem, graphs: list[Array], counts: Indices) -> list[Array]:
    """Return splits of the rows where no row has a label."""
    splits = [split for graph in graphs for split in spectral_splits(graph, _N_SPLITS)]
    if not splits:
        # Too few rows for a graph: the direction of most variation splits them.
        centred = problem.kernel - problem.kernel.mean(axis=0)
        splits = [np.linalg.eigh(0.5 * (centred + centred.T))[1][:, -1]]
    made = [problem.ranked(split) for split in splits]
    return made + [problem.ranked(splits[0], int(count)) for count in counts]


class _Population:
    """The best distinct labellings so far, and all that were tried."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.fits: list[Fit] = []
        self._tried: set[bytes] = set()

    @property
    def best(self) -> Fit:
        return self.fits[0]

    def is_new(self, labels: Array) -> bool:
        """Return whether a labelling was never tried, and remember it."""
        key = labels.tobytes()
        if key in self._tried:
            return False
        self._tried.add(key)
        return True

    def add(self, fit: Fit) -> None:
        self._tried.add(fit.labels.tobytes())
        if any(np.array_equal(fit.labels, other.labels) for other in self.fits):
            return
        self.fits = sorted([*self.fits, fit], key=lambda other: other.objective)[: self.size]

    def parent(self, rng: np.random.Generator) -> Fit:
        """Return the winner of a tournament; the list is sorted, so the lowest place wins."""
        entrants = max(1, round(TOURNAMENT_SHARE * len(self.fits)))
        return self.fits[int((rng.random(entrants) * len(self.fits)).min())]


def _generation(
    population: _Population,
    problem: Problem,
    order: Indices,
    rng: np.random.Generator,
    deadline: float | None,
) -> None:
    for _ in range(population.size):
        parent, other = population.parent(rng), population.parent(rng)
        labels = parent.labels
        if rng.random() < CROSSOVER_RATE:
            labels = crossed(labels, other.labels, order, rng)
        labels = problem.repaired(mutated(labels, order, rng), parent.scores)
        if is_late(deadline):
            return
        # Where everything near was tried, chance looks elsewhere.
        for _ in range(_DRAWS):
            if population.is_new(labels):
                population.add(descend(problem, labels, deadline=deadline))
                break
            labels = problem.random_labels(rng)
