"""Clark's search: one genome after another, its parent drawn from the elite archive."""

from collections.abc import Iterable

import numpy as np

from parsimon._typing import AnyArray
from parsimon.rvm.search.genome import Moves
from parsimon.rvm.search.schemes import Judge
from parsimon.rvm.search.storage import Points, points_in

# Iterations without an addition after which diversity is forced.
PATIENCE = 20


class Ascent:
    """Algorithms 2, 3 and 4 of Clark (2011): what differs between them is the judge.

    `step` draws a parent uniformly from the distinct genomes of the archive, changes it and lets
    the judge consider it. While nothing has entered for 20 iterations, several columns are
    switched off and on at once.
    """

    def __init__(self, judge: Judge, moves: Moves, start: Iterable[dict[int, float]]) -> None:
        self.judge, self.moves, self._start = judge, moves, list(start)
        self.n_idle = 0

    @property
    def n_evaluations(self) -> int:
        return self.judge.n_evaluations

    @property
    def sizes(self) -> tuple[int, int]:
        elite = self.judge.parents
        return len(elite), elite.n_genomes

    def begin(self, rng: np.random.Generator) -> None:
        self.judge.begin(rng)
        for genes in self._start:
            self.judge.consider(genes, None, rng)

    def step(self, rng: np.random.Generator) -> None:
        parent = self.judge.parents.draw(rng)
        change = self.moves.perturb if self.n_idle < PATIENCE else self.moves.diversify
        if self.judge.consider(change(parent.genes, rng), parent, rng):
            self.n_idle = 0
        else:
            self.n_idle += 1

    def points(self) -> Points:
        return points_in(self.judge.elites)

    def to_arrays(self) -> dict[str, AnyArray]:
        return {**self.judge.to_arrays(), "n_idle": np.array(self.n_idle)}

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        self.n_idle = int(arrays["n_idle"])
        self.judge.restore(arrays)
