"""The elite archive of a search: operating points, and the genomes behind them.

Many points share a genome, which is stored once. Parents are drawn uniformly from the distinct
genomes; a list of them is kept up to date, so that a draw costs nothing.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Mask
from parsimon.pareto.archive import Archive
from parsimon.rvm.search.candidates import EntryTest
from parsimon.rvm.search.genome import Genome
from parsimon.rvm.search.outcome import OBJECTIVES


class Point(NamedTuple):
    """A member: the number of its genome, its cutoff, and its rates for the entry test."""

    genome: int
    cutoff: float
    rates: Array | None = None


class Elite:
    """The non-dominated points of a search and their genomes."""

    def __init__(self) -> None:
        self._archive = Archive(OBJECTIVES, maximise=OBJECTIVES[:1])
        self._points: dict[int, Point] = {}
        self._counts: dict[int, int] = {}
        self.genomes: dict[int, Genome] = {}
        self._order: list[int] = []
        self._place: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._archive)

    @property
    def n_genomes(self) -> int:
        """How many distinct genomes there are."""
        return len(self._order)

    @property
    def order(self) -> list[int]:
        """Numbers of the distinct genomes, in the order from which parents are drawn."""
        return self._order

    def draw(self, rng: np.random.Generator) -> Genome:
        """Return a genome, each with the same chance."""
        return self.genomes[self._order[int(rng.random() * len(self._order))]]

    def offer(
        self,
        number: int,
        genome: Callable[[], Genome],
        values: Array,
        cutoffs: Array,
        rates: Array | None = None,
    ) -> Mask | None:
        """Offer the points of one genome; return which entered, None if none did.

        Shapes: values (c, 3), cutoffs (c,), rates (c, ...).
        """
        first = self._archive.n_offered
        entered, left = self._archive.insert(values)
        accepted = entered.nonzero()[0].tolist()
        if not accepted:
            return None
        # The genome first, so that no point is ever without one, whenever Ctrl-C comes.
        self._count(number, genome, len(accepted))
        for row in accepted:
            self._points[first + row] = Point(
                number, float(cutoffs[row]), None if rates is None else rates[row]
            )
        # Sorted, so that what follows does not depend on how the archive stores its members.
        for member in sorted(left.tolist()):
            self._uncount(self._points.pop(member).genome)
        return entered

    def undominated(self, values: Array) -> Mask:
        """Return which points no member dominates or equals, shape (c,)."""
        members, sign = self._archive.values, self._archive.directions.sign
        no_better = np.all((members * sign)[None] <= (values * sign)[:, None], axis=2)
        fresh: Mask = ~np.any(no_better, axis=1)
        return fresh

    def admitted(self, test: EntryTest, rates: Array, complexity: Array) -> Mask:
        """Return which of the points the entry test lets in, shape (c,)."""
        values, points = self.members()
        known = [point.rates for point in points]
        return test.admits(rates, complexity, np.array(known), values[:, 2])

    def members(self) -> tuple[Array, list[Point]]:
        """Return the objectives of all members, shape (k, 3), and the members.

        Members that an interruption left half entered are passed over.
        """
        numbers = self._archive.numbers.tolist()
        known = [number in self._points for number in numbers]
        points = [self._points[number] for number in numbers if number in self._points]
        return self._archive.values[np.array(known, dtype=np.bool_)], points

    def restore(self, values: Array, points: Iterable[Point], genomes: dict[int, Genome]) -> None:
        """Fill an empty archive with members of another, both they and the genomes in order."""
        self._archive.insert(values)
        self._points = dict(enumerate(points))
        for point in self._points.values():
            self._counts[point.genome] = self._counts.get(point.genome, 0) + 1
        self._order = list(genomes)
        self._place = {number: place for place, number in enumerate(self._order)}
        self.genomes = genomes

    def _count(self, number: int, genome: Callable[[], Genome], more: int) -> None:
        if number not in self._counts:
            self._counts[number] = 0
            self._place[number] = len(self._order)
            self._order.append(number)
            self.genomes[number] = genome()
        self._counts[number] += more

    def _uncount(self, number: int) -> None:
        self._counts[number] -= 1
        if self._counts[number]:
            return
        del self._counts[number], self.genomes[number]
        place, last = self._place.pop(number), self._order.pop()
        if last != number:  # the last one takes the place that became free
            self._order[place], self._place[last] = last, place
