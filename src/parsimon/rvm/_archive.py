"""The elite archive of a search: operating points, the genomes behind them, and who may enter.

`OneArchive` judges a genome on the rows it is fitted to or in K folds, `TwoArchives` on a second
half of the rows. `consider` fits a genome, sweeps its thresholds, offers what comes out, and says
whether anything entered the archive that parents are drawn from.

An `EntryTest` asks whether a solution would still be worth keeping had other rows been drawn.
Rates measured on a few hundred rows are uncertain, so that an archive collects solutions that are
better than its members by luck. The rows are resampled, the same rows for every solution, and a
candidate enters only if in most resamples no member dominates it: the probabilistic dominance that
Clark (2011) leaves as future work (section 3.9), after Fieldsend and Everson (2005). Rates are
those of each class, the share of its rows that are predicted right.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parsimon._checks import check_count, check_probability
from parsimon._random import Seed, generator
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.pareto import Archive
from parsimon.rvm._evaluators import (
    OBJECTIVES,
    GenomeEvaluator,
    GenomeFitter,
    SweptGenome,
    fit_rows,
)
from parsimon.rvm._genome import Genome, genome_arrays, genomes_from
from parsimon.rvm._problem import Halves
from parsimon.rvm._sweep import rate_rows

# Sums of the same weights in another order differ in their last digits; rates that differ by no
# more are equal.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class EntryTest:
    """Refuses candidates that some member dominates in too many resamples.

    probability: In at least this share of the resamples no member may dominate a candidate.
    codes (n,): Class of each row, 0 to n_classes - 1.
    counts (n_resamples, n): How much each row counts in each resample.
    """

    probability: float
    codes: Indices
    counts: Array

    def rates(self, correct: Mask) -> Array:
        """Return the share of each class that is predicted right, in each resample.

        Shapes: correct (n_solutions, n) -> (n_solutions, n_classes, n_resamples).
        """
        return resampled_rates(correct, self.codes, self.counts)

    def admits(
        self, candidates: Array, complexity: Array, members: Array, member_complexity: Array
    ) -> Mask:
        """Return which candidates stay undominated in enough resamples, shape (n_candidates,).

        Shapes: candidates (n_candidates, n_classes, n_resamples), complexity (n_candidates,),
            members (n_members, n_classes, n_resamples), member_complexity (n_members,).
        """
        share = undominated_share(candidates, complexity, members, member_complexity)
        # A share such as 180 / 200 must not fail 0.9 by its last digit.
        admitted: Mask = share >= self.probability - 1e-12
        return admitted


def entry_test(
    codes: Indices,
    probability: float,
    *,
    n_rows: Array | None = None,
    n_resamples: int = 200,
    random_state: Seed = None,
) -> EntryTest:
    """Return a test whose resamples are drawn once, the same for every solution.

    Shapes: codes (n,), n_rows (n,).
    """
    check_probability("entry", probability)
    counts = resampled_counts(
        codes, n_rows=n_rows, n_resamples=n_resamples, random_state=random_state
    )
    return EntryTest(float(probability), np.asarray(codes, dtype=np.intp), counts)


def resampled_counts(
    codes: Indices,
    *,
    n_rows: Array | None = None,
    n_resamples: int = 200,
    random_state: Seed = None,
) -> Array:
    """Return how often each row is drawn, with replacement within its class.

    Rates are conditional on the class, so class sizes stay as they are; then no resample can lack
    a class.

    Shapes: codes (n,), n_rows (n,) -> (n_resamples, n).
    """
    check_count("n_resamples", n_resamples)
    rng = generator(random_state)
    sizes = np.ones(len(codes)) if n_rows is None else n_rows
    counts = np.empty((n_resamples, len(codes)))
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        total = sizes[rows].sum()
        # Weights need not be whole numbers; the number of draws has to be.
        n_draws = max(1, round(total))
        counts[:, rows] = rng.multinomial(n_draws, sizes[rows] / total, size=n_resamples)
    return counts


def resampled_rates(correct: Mask, codes: Indices, counts: Array) -> Array:
    """Return the share of each class that is predicted right, in each resample.

    Shapes: correct (n_solutions, n), codes (n,), counts (n_resamples, n) -> (n_solutions,
        n_classes, n_resamples).
    """
    classes = range(int(codes.max()) + 1)
    rates = np.empty((len(correct), len(classes), len(counts)))
    for code in classes:
        rows = np.flatnonzero(codes == code)
        drawn = counts[:, rows]
        rates[:, code] = correct[:, rows].astype(np.float64) @ drawn.T / drawn.sum(axis=1)
    return rates.round(_DIGITS)


def undominated_share(
    candidates: Array, complexity: Array, members: Array, member_complexity: Array
) -> Array:
    """Return the share of resamples in which no member dominates a candidate.

    Shapes: candidates (n_candidates, n_classes, n_resamples), complexity (n_candidates,),
        members (n_members, n_classes, n_resamples), member_complexity (n_members,) ->
        (n_candidates,).
    """
    share = np.ones(len(candidates))
    for i, (rates, size) in enumerate(zip(candidates, complexity, strict=True)):
        rivals = member_complexity <= size
        if rivals.any():
            beaten = _dominated(members[rivals], member_complexity[rivals] < size, rates)
            share[i] = 1.0 - beaten.any(axis=0).mean()
    return share


def _dominated(members: Array, smaller: Mask, rates: Array) -> Mask:
    """Return which members dominate in which resamples, shape (n_members, n_resamples).

    Members are taken to be no more complex; `smaller` says which are less complex.
    """
    no_worse = np.ones((len(members), members.shape[2]), dtype=np.bool_)
    better = np.repeat(smaller[:, None], members.shape[2], axis=1)
    for code, rate in enumerate(rates):
        no_worse &= members[:, code] >= rate
        better |= members[:, code] > rate
    dominating: Mask = no_worse & better
    return dominating


class ArchivePoint(NamedTuple):
    """A member: the number of its genome, its cutoff, and its rates for the entry test."""

    genome: int
    cutoff: float
    rates: Array | None = None


class Elite:
    """The non-dominated points of a search and their genomes."""

    def __init__(
        self, names: Sequence[str] = OBJECTIVES, maximise: Sequence[str] = OBJECTIVES[:1]
    ) -> None:
        self._archive = Archive(names, maximise=maximise)
        self._points: dict[int, ArchivePoint] = {}
        self._counts: dict[int, int] = {}
        self.genomes: dict[int, Genome] = {}
        self._order: list[int] = []
        self._place: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._archive)

    @property
    def n_objectives(self) -> int:
        """How many objectives there are."""
        return len(self._archive.directions)

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

        Shapes: values (c, m), cutoffs (c,), rates (c, ...).
        """
        first = self._archive.n_offered
        entered, left = self._archive.insert(values)
        accepted = entered.nonzero()[0].tolist()
        if not accepted:
            return None
        # The genome first, so that no point is ever without one, whenever Ctrl-C comes.
        self._count(number, genome, len(accepted))
        for row in accepted:
            self._points[first + row] = ArchivePoint(
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
        return test.admits(rates, complexity, np.array(known), values[:, -1])

    def members(self) -> tuple[Array, list[ArchivePoint]]:
        """Return the objectives of all members, shape (k, m), and the members.

        Members that an interruption left half entered are passed over.
        """
        numbers = self._archive.numbers.tolist()
        known = [number in self._points for number in numbers]
        points = [self._points[number] for number in numbers if number in self._points]
        return self._archive.values[np.array(known, dtype=np.bool_)], points

    def restore(
        self, values: Array, points: Iterable[ArchivePoint], genomes: dict[int, Genome]
    ) -> None:
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


class ArchivePoints(NamedTuple):
    """Operating points and the distinct genomes behind them.

    Shapes: values (k, m), cutoffs (k,).

    which (k,): Index of each point's genome.
    """

    values: Array
    cutoffs: Array
    which: Indices
    genomes: list[Genome]


def points_in(elites: Sequence[Elite]) -> ArchivePoints:
    """Return the union of archives; of a point in several, the values of the last count."""
    found: dict[tuple[int, float], Array] = {}
    genomes: dict[int, Genome] = {}
    for elite in elites:
        values, points = elite.members()
        genomes |= {point.genome: elite.genomes[point.genome] for point in points}
        found |= {
            (point.genome, point.cutoff): row for point, row in zip(points, values, strict=True)
        }
    place = {number: i for i, number in enumerate(genomes)}
    return ArchivePoints(
        np.array(list(found.values())).reshape(len(found), elites[0].n_objectives),
        np.array([cutoff for _, cutoff in found], dtype=np.float64),
        np.array([place[number] for number, _ in found], dtype=np.intp),
        list(genomes.values()),
    )


def elite_arrays(elite: Elite, prefix: str) -> dict[str, AnyArray]:
    """Return all that an archive holds as arrays whose names begin with `prefix`."""
    values, points = elite.members()
    arrays: dict[str, AnyArray] = {
        "values": values,
        "cutoffs": np.array([point.cutoff for point in points], dtype=np.float64),
        "owners": np.array([point.genome for point in points], dtype=np.int64),
        "order": np.array(elite.order, dtype=np.int64),
        **genome_arrays([elite.genomes[number] for number in elite.order]),
    }
    if points and points[0].rates is not None:
        arrays["rates"] = np.array([point.rates for point in points])
    return {f"{prefix}_{name}": array for name, array in arrays.items()}


def refill(elite: Elite, arrays: Mapping[str, AnyArray], prefix: str) -> Elite:
    """Put into an empty archive what `elite_arrays` stored, and return it."""
    own = {
        name.removeprefix(f"{prefix}_"): array
        for name, array in arrays.items()
        if name.startswith(f"{prefix}_")
    }
    order = own["order"].tolist()
    rates: Iterable[Array | None] = own.get("rates", [None] * len(own["values"]))
    points = [
        ArchivePoint(int(owner), float(cutoff), row)
        for owner, cutoff, row in zip(own["owners"], own["cutoffs"], rates, strict=True)
    ]
    elite.restore(own["values"], points, dict(zip(order, genomes_from(own), strict=True)))
    return elite


class OneArchive:
    """Algorithms 2 and 4 of Clark (2011): one archive, rates on all rows or on held-out folds."""

    def __init__(self, evaluator: GenomeEvaluator, entry: EntryTest | None = None) -> None:
        self._evaluator, self._entry = evaluator, entry
        self.elite = self._empty()
        self.n_evaluations = 0

    def _empty(self) -> Elite:
        return Elite(self._evaluator.names, self._evaluator.maximise)

    def points(self) -> ArchivePoints:
        """Return the members and their genomes."""
        found = points_in([self.elite])
        return found._replace(cutoffs=self._evaluator.offsets(found.cutoffs))

    def begin(self, rng: np.random.Generator) -> None:
        """Do nothing: the folds are given."""

    def consider(
        self,
        genes: dict[int, float],
        parent: Genome | None,
        rng: np.random.Generator,  # noqa: ARG002 - two archives split the rows again
    ) -> bool:
        """Fit a genome, offer its points, and tell whether any entered."""
        self.n_evaluations += 1
        swept = self._evaluator.evaluate(genes, parent)
        if self._entry is not None:
            return self._consider_with_test(self._entry, swept)
        number = self.n_evaluations
        return self.elite.offer(number, swept.genome, swept.values, swept.cutoffs) is not None

    def _consider_with_test(self, test: EntryTest, swept: SweptGenome) -> bool:
        fresh = self.elite.undominated(swept.values)
        if not fresh.any():
            return False
        values, cutoffs = swept.values[fresh], swept.cutoffs[fresh]
        rates = test.rates(self._evaluator.correct(swept, fresh))
        if len(self.elite):
            allowed = self.elite.admitted(test, rates, values[:, -1])
            values, cutoffs, rates = values[allowed], cutoffs[allowed], rates[allowed]
        entered = self.elite.offer(self.n_evaluations, swept.genome, values, cutoffs, rates)
        return entered is not None

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return all that decides how the search goes on."""
        return {"n_evaluations": np.array(self.n_evaluations), **elite_arrays(self.elite, "elite")}

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take up what `to_arrays` returned."""
        self.n_evaluations = int(arrays["n_evaluations"])
        self.elite = refill(self._empty(), arrays, "elite")


class TwoArchives:
    """Algorithm 3: what enters the training archive is offered to a validation archive.

    When anything enters that one, the halves change roles ("swap"), or the rows are split anew
    and the training archive is measured again ("shuffle", "stratified", "homogeneous"). This
    is done after all thresholds of a model, never between two of them. The weights are those of
    the training half throughout, also on the validation half.
    """

    def __init__(self, fitter: GenomeFitter, halves: Halves, *, swap: bool) -> None:
        self._fitter, self._halves, self._swap = fitter, halves, swap
        self.elite, self.validation_elite = Elite(), Elite()
        self.n_evaluations = 0

    def split(self, first: Mask) -> None:
        """Take the chosen rows, shape (n,), as the training half, the others to validate."""
        problem = self._fitter.problem
        counted = problem.weights > 0
        self.first = first
        halves = [(first & counted)[None], (~first & counted)[None]]
        self._fit_rows, self._other_fit_rows = (fit_rows(problem, half) for half in halves)
        self._rate_rows, self._other_rate_rows = (
            rate_rows(*problem.counts(half)) for half in halves
        )

    def begin(self, rng: np.random.Generator) -> None:
        """Split the rows for the first time."""
        self.split(self._halves(rng))

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return all that decides how the search goes on."""
        return {
            "n_evaluations": np.array(self.n_evaluations),
            "first": self.first,
            **elite_arrays(self.elite, "training"),
            **elite_arrays(self.validation_elite, "validation"),
        }

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take up what `to_arrays` returned."""
        self.n_evaluations = int(arrays["n_evaluations"])
        self.split(arrays["first"])
        self.elite = refill(Elite(), arrays, "training")
        self.validation_elite = refill(Elite(), arrays, "validation")

    @property
    def elites(self) -> tuple[Elite, ...]:
        return self.elite, self.validation_elite

    def points(self) -> ArchivePoints:
        """Return the members of both archives and their genomes."""
        return points_in(self.elites)

    def consider(
        self, genes: dict[int, float], parent: Genome | None, rng: np.random.Generator
    ) -> bool:
        """Fit a genome, offer its points, and tell whether any entered."""
        entered, validated = self._enter(self.n_evaluations + 1, genes, parent)
        if validated:
            if self._swap:
                self._swapped()
            else:
                self._shuffled(rng)
        return entered

    def _swapped(self) -> None:
        self.elite, self.validation_elite = self.validation_elite, self.elite
        self._fit_rows, self._other_fit_rows = self._other_fit_rows, self._fit_rows
        self._rate_rows, self._other_rate_rows = self._other_rate_rows, self._rate_rows
        self.first = ~self.first

    def _shuffled(self, rng: np.random.Generator) -> None:
        """Split anew, and let the models of the training archive enter again.

        All thresholds of each are swept again: with those alone that were members, the archive
        would shrink at each split, because two that tell apart rows of the old half often give
        the same rates on the new one, of which one point is kept.
        """
        members = {point.genome for point in self.elite.members()[1]}
        genomes = self.elite.genomes
        self.split(self._halves(rng))
        self.elite, self.validation_elite = Elite(), Elite()
        for number in sorted(members):
            genome = genomes[number]
            self._enter(number, genome.genes, genome)

    def _enter(
        self, number: int, genes: dict[int, float], parent: Genome | None
    ) -> tuple[bool, bool]:
        """Fit a genome on the training half; tell whether it entered there, and in the other."""
        self.n_evaluations += 1
        fitted = self._fitter.fit(genes, parent, self._fit_rows)
        values, cutoffs = self._fitter.corners(fitted, self._rate_rows)
        entered = self.elite.offer(number, fitted.genome, values, cutoffs)
        if entered is None:
            return False, False
        # The weights are those of the training half on the other half, too.
        cutoffs = cutoffs[entered]
        values = self._fitter.at(fitted, self._other_rate_rows, cutoffs)
        entered = self.validation_elite.offer(number, fitted.genome, values, cutoffs)
        return True, entered is not None
