"""NSGA-II over the same genomes: a bounded population of operating points.

An individual is a genome with a cutoff. Every child is fitted once and all corners of its
staircase compete; the best `size` points of parents and children survive, by non-domination level
and then by crowding distance (Deb et al. 2002). Clark (2011, section 3.6) ran it with 300
individuals for 2000 generations, by mutation alone and with 5-point crossover.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array, Indices
from parsimon.pareto.dominance import crowding_distance, nondominated_rows
from parsimon.rvm._evaluate import OneArchive, Points, genome_arrays, genomes_from
from parsimon.rvm._genome import Genome, Moves

CROSSOVER_RATE = 0.9


class Survival(NamedTuple):
    """The chosen rows, best level first, with their level and room."""

    rows: Indices
    levels: Indices
    room: Array


def survivors(values: Array, size: int) -> Survival:
    """Return the best rows: by non-domination level, then by crowding distance.

    Levels are peeled off only until there are enough; equal rows count once on each.

    Shapes: values (n, m).
    """
    left = np.arange(len(values))
    chosen: list[Survival] = []
    n_chosen = 0
    while n_chosen < size and len(left):
        best = nondominated_rows(values[left], keep_ties=False)
        rows = left[best]
        room = crowding_distance(values[rows])
        order = np.argsort(-room, kind="stable")[: size - n_chosen]
        levels = np.full(len(order), len(chosen), dtype=np.intp)
        chosen.append(Survival(rows[order], levels, room[order]))
        n_chosen += len(order)
        left = left[~best]
    return Survival(*(np.concatenate(parts) for parts in zip(*chosen, strict=True)))


class Population:
    """A population that is replaced generation by generation."""

    def __init__(
        self,
        judge: OneArchive,
        moves: Moves,
        start: Iterable[dict[int, float]],
        *,
        size: int = 300,
        crossover: bool = False,
    ) -> None:
        self.judge, self.moves, self._start = judge, moves, list(start)
        self.size, self.crossover = size, crossover
        self.n_idle = 0
        self.genomes: dict[int, Genome] = {}
        self.values, self.cutoffs = np.empty((0, 3)), np.empty(0)
        self.owners = np.empty(0, dtype=np.int64)
        self.levels, self.room = np.empty(0, dtype=np.intp), np.empty(0)

    @property
    def n_evaluations(self) -> int:
        return self.judge.n_evaluations

    @property
    def sizes(self) -> tuple[int, int]:
        return len(self.values), len(self.genomes)

    def begin(self, rng: np.random.Generator) -> None:  # noqa: ARG002 - all is given
        self._survive([(genes, None) for genes in self._start])

    def step(self, rng: np.random.Generator) -> None:
        """Replace the population by the best of itself and as many children."""
        self._survive([self._child(rng) for _ in range(self.size)])

    def _child(self, rng: np.random.Generator) -> tuple[dict[int, float], Genome]:
        parent = self._mate(rng)
        genes = parent.genes
        if self.crossover and rng.random() < CROSSOVER_RATE:
            genes = self.moves.cross(genes, self._mate(rng).genes, rng)
        return self.moves.perturb(genes, rng), parent

    def _mate(self, rng: np.random.Generator) -> Genome:
        """Return the better of two random individuals: lower level, then more room."""
        n = len(self.values)
        a, b = int(rng.random() * n), int(rng.random() * n)
        better = (self.levels[b], -self.room[b]) < (self.levels[a], -self.room[a])
        return self.genomes[int(self.owners[b if better else a])]

    def _survive(self, children: list[tuple[dict[int, float], Genome | None]]) -> None:
        values, cutoffs, owners = [self.values], [self.cutoffs], [self.owners]
        genomes = dict(self.genomes)
        for genes, parent in children:
            swept = self.judge.measure(genes, parent)
            number = self.judge.n_evaluations
            genomes[number] = swept.measured.genome()
            values.append(swept.values)
            cutoffs.append(swept.cutoffs)
            owners.append(np.full(len(swept.cutoffs), number, dtype=np.int64))
        self._keep(np.concatenate(values), np.concatenate(cutoffs), np.concatenate(owners), genomes)

    def _keep(
        self, values: Array, cutoffs: Array, owners: AnyArray, genomes: dict[int, Genome]
    ) -> None:
        rows, self.levels, self.room = survivors(values * (-1.0, 1.0, 1.0), self.size)
        self.values, self.cutoffs, self.owners = values[rows], cutoffs[rows], owners[rows]
        self.genomes = {number: genomes[number] for number in np.unique(self.owners).tolist()}

    def points(self) -> Points:
        """Return the first level of the population."""
        best = self.levels == 0
        numbers, which = np.unique(self.owners[best], return_inverse=True)
        genomes = [self.genomes[number] for number in numbers.tolist()]
        return Points(self.values[best], self.cutoffs[best], which, genomes)

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return all that decides how the search goes on."""
        return {
            "n_evaluations": np.array(self.n_evaluations),
            "values": self.values,
            "cutoffs": self.cutoffs,
            "owners": self.owners,
            "levels_of_points": self.levels,
            "room": self.room,
            "numbers": np.array(list(self.genomes), dtype=np.int64),
            **genome_arrays(list(self.genomes.values())),
        }

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take up what `to_arrays` returned."""
        self.judge.n_evaluations = int(arrays["n_evaluations"])
        self.values, self.cutoffs, self.owners = (
            arrays[name] for name in ("values", "cutoffs", "owners")
        )
        self.levels, self.room = arrays["levels_of_points"], arrays["room"]
        self.genomes = dict(zip(arrays["numbers"].tolist(), genomes_from(arrays), strict=True))
