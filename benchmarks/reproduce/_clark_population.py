"""NSGA-II over the genomes of `ParetoRVC`, which Clark (2011, section 3.6) compares with."""

import time
from bisect import bisect_right
from itertools import chain
from typing import NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.pareto.dominance import repeated_keys, row_keys, select_survivors
from parsimon.pareto.run import Ending, OutOfTime, SearchOptions, Standing, child_generator, run
from parsimon.rvm._genome import ArchivePoints, Genome, Moves
from parsimon.rvm._problem import RelevanceProblem
from parsimon.rvm._search import ArchiveResult, SearchTask, found_result
from parsimon.rvm._sweep import sweep_of

CROSSOVER_RATE, N_CUTS, POPULATION = 0.9, 5, 300


def search_population(
    problem: RelevanceProblem,
    *,
    max_evaluations: int,
    crossover: bool,
    complexity: str = "degrees_of_freedom",
    thresholds: float | str = 0.01,
    size: int = POPULATION,
    random_state: int = 0,
) -> ArchiveResult:
    """Search by mutation alone or with crossover; the source had 2000 generations."""
    task = SearchTask(problem, Moves(problem.n_columns), complexity, sweep_of(thresholds))
    options = SearchOptions(
        max_evaluations, max_evaluations=max_evaluations, random_state=random_state
    )
    return run(PopulationSearch(task, size, crossover=crossover), options)


def cross(
    first: dict[int, float], second: dict[int, float], n_columns: int, rng: np.random.Generator
) -> dict[int, float]:
    """Cut both at random places and take the pieces in turn from the one and the other.

    The cuts are uniform over the whole vector of columns, active or not. A child of no column is
    the first parent.
    """
    cuts = sorted(int(rng.random() * (n_columns + 1)) for _ in range(N_CUTS))
    pieces = chain(((c, v, 0) for c, v in first.items()), ((c, v, 1) for c, v in second.items()))
    child = {c: level for c, level, side in pieces if bisect_right(cuts, c) % 2 == side}
    return child or dict(first)


class PopulationState(NamedTuple):
    """A population of operating points, the best first.

    Shapes: values (k, 3), cutoffs (k,), levels (k,), room (k,).

    owners (k,): Number of the genome of each point.
    """

    values: Array
    cutoffs: Array
    owners: AnyArray
    levels: Indices
    room: Array
    genomes: dict[int, Genome]
    n_evaluations: int


class PopulationSearch:
    """NSGA-II over the same genomes: a bounded population of operating points, as a process.

    An individual is a genome with a cutoff. Every child is fitted once and all corners of its
    staircase compete; the best `size` points of parents and children survive, by non-domination
    level and then by crowding distance (Deb et al. 2002). Clark (2011, section 3.6) ran it with
    300 individuals for 2000 generations, by mutation alone and with 5-point crossover.
    """

    title, keeps_states = "searching", True

    def __init__(self, task: SearchTask, size: int, *, crossover: bool) -> None:
        self.task, self.size, self.crossover = task, size, crossover

    def settings(self) -> dict[str, str]:
        name = "nsga2_crossover" if self.crossover else "nsga2"
        size = {"population_size": repr(self.size)}
        return {"search": f"ParetoRVC {name}", **size, **self.task.settings()}

    def prepare(self, seed: np.random.SeedSequence) -> np.random.Generator:
        self.evaluator = self.task.evaluator(child_generator(seed, 0))
        self.genomes = self.task.first(self.size, child_generator(seed, 2))
        return child_generator(seed, 1)

    def begin(self, rng: np.random.Generator) -> PopulationState:  # noqa: ARG002 - all is given
        nobody = np.empty(0)
        numbers = np.empty(0, dtype=np.int64)
        empty = PopulationState(
            np.empty((0, len(self.evaluator.names))), nobody, numbers, numbers, nobody, {}, 0
        )
        return self._survived(empty, [(genes, None) for genes in self.genomes], None)

    def step(
        self, state: PopulationState, rng: np.random.Generator, deadline: float | None
    ) -> PopulationState:
        """Replace the population by the best of itself and as many children."""
        return self._survived(state, [self._child(state, rng) for _ in range(self.size)], deadline)

    def _child(
        self, state: PopulationState, rng: np.random.Generator
    ) -> tuple[dict[int, float], Genome]:
        parent = mate(state, rng)
        genes = parent.genes
        if self.crossover and rng.random() < CROSSOVER_RATE:
            genes = cross(genes, mate(state, rng).genes, self.task.problem.n_columns, rng)
        return self.task.moves.perturb(genes, rng), parent

    def _survived(
        self,
        state: PopulationState,
        children: list[tuple[dict[int, float], Genome | None]],
        deadline: float | None,
    ) -> PopulationState:
        """Return the best points of a population and of children with their parents."""
        values, cutoffs, owners = [state.values], [state.cutoffs], [state.owners]
        genomes, number = dict(state.genomes), state.n_evaluations
        for genes, parent in children:
            if deadline is not None and time.monotonic() >= deadline:
                raise OutOfTime
            swept = self.evaluator.evaluate(genes, parent)
            number += 1
            genomes[number] = swept.genome()
            values.append(swept.values)
            cutoffs.append(swept.cutoffs)
            owners.append(np.full(len(swept.cutoffs), number, dtype=np.int64))
        table, every = np.concatenate(values), np.concatenate(owners)
        signs = np.where(np.isin(self.evaluator.names, self.evaluator.maximise), -1.0, 1.0)
        minimised = table * signs
        rows, levels, room = select_survivors(
            minimised,
            np.zeros(len(table)),
            min(self.size, len(table)),
            duplicates=repeated_keys(row_keys(minimised)),
        )
        kept = every[rows]
        return PopulationState(
            table[rows],
            np.concatenate(cutoffs)[rows],
            kept,
            levels,
            room,
            {number: genomes[number] for number in np.unique(kept).tolist()},
            number,
        )

    def standing(self, state: PopulationState) -> Standing:
        return Standing(state.n_evaluations)

    def row(self, state: PopulationState) -> tuple[float, ...]:
        return state.n_evaluations, len(state.values), len(state.genomes)

    def note(self, state: PopulationState) -> str:
        return f"{len(state.values)} points of {len(state.genomes)} models"

    def finished(self, state: PopulationState) -> str | None:  # noqa: ARG002 - never by itself
        return None

    def to_arrays(self, state: PopulationState) -> dict[str, AnyArray]:
        raise NotImplementedError("A benchmark writes no checkpoints.")

    def restore(self, arrays: dict[str, AnyArray]) -> PopulationState:
        raise NotImplementedError("A benchmark writes no checkpoints.")

    def result(self, state: PopulationState, ending: Ending) -> ArchiveResult:
        """Return the first level of the population."""
        best: Mask = state.levels == 0
        numbers, which = np.unique(state.owners[best], return_inverse=True)
        genomes = [state.genomes[number] for number in numbers.tolist()]
        points = ArchivePoints(state.values[best], state.cutoffs[best], which, genomes)
        return found_result(points, ending)


def mate(state: PopulationState, rng: np.random.Generator) -> Genome:
    """Return the genome of the better of two random points: lower level, then more room."""
    n = len(state.values)
    a, b = int(rng.random() * n), int(rng.random() * n)
    better = (state.levels[b], -state.room[b]) < (state.levels[a], -state.room[a])
    return state.genomes[int(state.owners[b if better else a])]
