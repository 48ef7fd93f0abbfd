"""Three ways to judge a candidate: on the rows it is fitted to, on a second half, in K folds.

A judge owns the archive or archives. `consider` fits a genome, sweeps its thresholds, offers what
comes out, and says whether anything entered the archive that parents are drawn from.

The elite archive of a search: operating points, and the genomes behind them.

Many points share a genome, which is stored once. Parents are drawn uniformly from the distinct
genomes; a list of them is kept up to date, so that a draw costs nothing.

Archives and genomes as plain arrays, for results and for checkpoints.

What a search returns: operating points, the models behind them, and how the run went.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.pareto.archive import Archive
from parsimon.rvm._entry import EntryTest
from parsimon.rvm._genome import Fitter, Genome, Training, alpha_of, row_entries, training_on
from parsimon.rvm._problem import Halves, Problem
from parsimon.rvm._sweep import Sweep, View, rates_at, view_of

# The first is maximised, the others are minimised.
OBJECTIVES = ("tpr", "fpr", "complexity")


@dataclass(frozen=True, eq=False)
class Model:
    """A choice of columns with their precisions.

    active (m,): Columns of the design that are on, ascending.
    alpha (m,): Their prior precisions.
    """

    active: Indices
    alpha: Array

    def full_alpha(self, n_columns: int) -> Array:
        """Return the precision of every column, infinite where it is off."""
        alpha = np.full(n_columns, np.inf)
        alpha[self.active] = self.alpha
        return alpha


@dataclass(frozen=True, eq=False)
class History:
    """The course of a search, one entry every so many iterations.

    n_iter, n_evaluations (n_entries,): Iterations and models fitted so far.
    n_points, n_models (n_entries,): Operating points in the archive that parents come from, and
        the models behind them.
    """

    n_iter: Indices
    n_evaluations: Indices
    n_points: Indices
    n_models: Indices


@dataclass(frozen=True, eq=False)
class Outcome:
    """The archive after a search, or at present when given to a callback.

    values (k, 3): tpr, fpr and complexity of every operating point, as they guided the search:
        on the rows that judged it, which are the training rows without a scheme and held-out
        rows with one. They are no estimate of performance on new rows.
    cutoffs (k,): A row is positive where its score is above.
    which (k,): The model behind each point.
    models: Each occurs once, however many of its thresholds are in the archive.
    n_evaluations: Models fitted, folds not counted.
    stopped_by: "running"} Why the search ended; "running" in what a callback gets.
    """

    values: Array
    cutoffs: Array
    which: Indices
    models: tuple[Model, ...]
    n_iter: int
    n_evaluations: int
    stopped_by: str
    history: History

    @cached_property
    def n_active(self) -> Indices:
        """How many columns the model behind each point has on, the bias included, shape (k,)."""
        sizes = np.array([len(model.active) for model in self.models], dtype=np.intp)
        return sizes[self.which]

    def __repr__(self) -> str:
        return (
            f"Outcome: {len(self.values)} operating points of {len(self.models)} models after "
            f"{self.n_iter} iterations ({self.n_evaluations} evaluations), "
            f"stopped by {self.stopped_by}"
        )


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


class Points(NamedTuple):
    """Operating points and the distinct genomes behind them.

    Shapes: values (k, 3), cutoffs (k,).

    which (k,): Index of each point's genome.
    """

    values: Array
    cutoffs: Array
    which: Indices
    genomes: list[Genome]


def points_in(elites: Sequence[Elite]) -> Points:
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
    return Points(
        np.array(list(found.values())).reshape(-1, 3),
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


def elite_from(arrays: Mapping[str, AnyArray], prefix: str) -> Elite:
    """Return the archive that `elite_arrays` stored."""
    own = {
        name.removeprefix(f"{prefix}_"): array
        for name, array in arrays.items()
        if name.startswith(f"{prefix}_")
    }
    order = own["order"].tolist()
    rates: Iterable[Array | None] = own.get("rates", [None] * len(own["values"]))
    points = [
        Point(int(owner), float(cutoff), row)
        for owner, cutoff, row in zip(own["owners"], own["cutoffs"], rates, strict=True)
    ]
    elite = Elite()
    elite.restore(own["values"], points, dict(zip(order, genomes_from(own), strict=True)))
    return elite


def genome_arrays(genomes: Sequence[Genome]) -> dict[str, AnyArray]:
    """Return genomes as arrays: their pieces one after the other, and the size of each."""
    n_fits = len(genomes[0].weights) if genomes else 1
    return {
        "sizes": np.array([len(genome.active) for genome in genomes], dtype=np.int64),
        "active": np.array([c for genome in genomes for c in genome.active], dtype=np.int64),
        "levels": np.array([v for genome in genomes for v in genome.levels], dtype=np.float64),
        "weights": np.concatenate(
            [np.empty((n_fits, 0)), *(genome.weights for genome in genomes)], axis=1
        ),
    }


def genomes_from(arrays: Mapping[str, AnyArray]) -> list[Genome]:
    """Return the genomes that `genome_arrays` stored."""
    sizes = arrays["sizes"]
    ends = np.cumsum(sizes)[:-1]
    active, levels = (np.split(arrays[name], ends) for name in ("active", "levels"))
    weights = np.split(arrays["weights"], np.cumsum(sizes + 1)[:-1], axis=1)
    return [
        Genome(columns.tolist(), heights.tolist(), np.ascontiguousarray(fitted))
        for columns, heights, fitted in zip(active, levels, weights, strict=True)
        if len(columns)
    ]


class Judge(Protocol):
    """What the loop of the search needs of a scheme."""

    n_evaluations: int

    @property
    def parents(self) -> Elite:
        """The archive that parents are drawn from."""

    @property
    def elites(self) -> tuple[Elite, ...]:
        """All archives."""

    def begin(self, rng: np.random.Generator) -> None:
        """Split the rows for the first time, if they are to be split again later."""

    def consider(
        self, genes: dict[int, float], parent: Genome | None, rng: np.random.Generator
    ) -> bool:
        """Fit a genome, offer its points, and tell whether any entered."""

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return all that decides how the search goes on."""

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take up what `to_arrays` returned."""


class Measured(NamedTuple):
    """A genome that was fitted, not yet an object of its own: most are refused.

    Shapes: weights (k, m), scores (k * n_distinct,).
    """

    active: list[int]
    levels: list[float]
    weights: Array
    scores: Array
    complexity: float

    def genome(self) -> Genome:
        """Return what is kept of it."""
        weights = np.zeros((self.weights.shape[0], self.weights.shape[1] + 1))
        weights[:, :-1] = self.weights
        return Genome(self.active, self.levels, weights)


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Fits genomes on training rows and sweeps their thresholds in a view."""

    fitter: Fitter
    sweep: Sweep

    def fit(self, genes: dict[int, float], parent: Genome | None, training: Training) -> Measured:
        """Return the genome fitted, beginning at its parent's weights."""
        active = sorted(genes)
        levels = [genes[column] for column in active]
        alpha = alpha_of(levels)
        fit = self.fitter.fit(active, alpha, training, _start(active, parent))
        complexity = self.fitter.complexity_of(active, alpha, training, fit)
        return Measured(active, levels, fit.weights, fit.scores.ravel(), complexity)

    def corners(self, measured: Measured, view: View) -> tuple[Array, Array]:
        """Return the objectives of all corners, shape (c, 3), and their cutoffs, shape (c,)."""
        points = self.sweep(measured.scores[view.entries], view)
        values = np.empty((points.shape[1], 3))
        values[:, :2], values[:, 2] = points[1:].T, measured.complexity
        return values, points[0]

    def at(self, measured: Measured, view: View, cutoffs: Array) -> Array:
        """Return the objectives at given cutoffs, shape (c, 3)."""
        values = np.empty((len(cutoffs), 3))
        values[:, :2] = rates_at(measured.scores[view.entries], view, cutoffs).T
        values[:, 2] = measured.complexity
        return values


def _start(active: list[int], parent: Genome | None) -> Array | None:
    if parent is None:
        return None
    place = dict(zip(parent.active, range(len(parent.active)), strict=True))
    # New columns begin at the zero that follows the parent's weights.
    return parent.weights.take([place.get(column, -1) for column in active], axis=1)


class Swept(NamedTuple):
    """A fitted genome with the objectives, shape (c, 3), and cutoffs, shape (c,), of its points."""

    measured: Measured
    values: Array
    cutoffs: Array


class OneArchive:
    """Algorithms 2 and 4: one archive, rates on all rows or on held-out folds."""

    def __init__(
        self,
        problem: Problem,
        evaluator: Evaluator,
        *,
        folds: Indices | None = None,
        entry: EntryTest | None = None,
    ) -> None:
        self._evaluator, self._entry = evaluator, entry
        self._labels = problem.labels > 0
        if folds is None:
            folds = np.zeros(problem.n_rows, dtype=np.intp)
            held = trained = np.ones((1, problem.n_rows), dtype=np.bool_)
        else:
            held = folds == np.arange(folds.max() + 1)[:, None]
            trained = ~held
        self._training = training_on(problem, trained)
        self._view = view_of(*problem.counts(held))
        self._row_entries = row_entries(problem.rows.which, folds, problem.rows.columns.shape[1])
        self.elite = Elite()
        self.n_evaluations = 0

    @property
    def has_entry_test(self) -> bool:
        """Whether points must pass a test to enter."""
        return self._entry is not None

    @property
    def parents(self) -> Elite:
        return self.elite

    @property
    def elites(self) -> tuple[Elite, ...]:
        return (self.elite,)

    def measure(self, genes: dict[int, float], parent: Genome | None) -> Swept:
        """Fit and sweep a genome without offering it."""
        self.n_evaluations += 1
        measured = self._evaluator.fit(genes, parent, self._training)
        values, cutoffs = self._evaluator.corners(measured, self._view)
        return Swept(measured, values, cutoffs)

    def begin(self, rng: np.random.Generator) -> None:
        """Do nothing: the folds are given."""

    def to_arrays(self) -> dict[str, AnyArray]:
        return {"n_evaluations": np.array(self.n_evaluations), **elite_arrays(self.elite, "elite")}

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        self.n_evaluations = int(arrays["n_evaluations"])
        self.elite = elite_from(arrays, "elite")

    def consider(
        self,
        genes: dict[int, float],
        parent: Genome | None,
        rng: np.random.Generator,  # noqa: ARG002 - other judges split the rows again
    ) -> bool:
        swept = self.measure(genes, parent)
        if self._entry is None:
            entered = self.elite.offer(
                self.n_evaluations, swept.measured.genome, swept.values, swept.cutoffs
            )
            return entered is not None
        return self._consider_with_test(self._entry, swept)

    def _consider_with_test(self, test: EntryTest, swept: Swept) -> bool:
        measured, values, cutoffs = swept
        fresh = self.elite.undominated(values)
        values, cutoffs = values[fresh], cutoffs[fresh]
        if not len(values):
            return False
        positive = measured.scores[self._row_entries] > cutoffs[:, None]
        rates = test.rates(positive == self._labels)
        if len(self.elite):
            allowed = self.elite.admitted(test, rates, values[:, 2])
            values, cutoffs, rates = values[allowed], cutoffs[allowed], rates[allowed]
        entered = self.elite.offer(self.n_evaluations, measured.genome, values, cutoffs, rates)
        return entered is not None


class TwoArchives:
    """Algorithm 3: what enters the training archive is offered to a validation archive.

    When anything enters that one, the halves change roles ("swap"), or the rows are split anew
    and the training archive is measured again ("shuffle", "stratified", "homogeneous"). This
    is done after all thresholds of a model, never between two of them. The weights are those of
    the training half throughout, also on the validation half.
    """

    def __init__(
        self, problem: Problem, evaluator: Evaluator, halves: Halves, *, swap: bool
    ) -> None:
        self._problem, self._evaluator, self._halves = problem, evaluator, halves
        self._swap = swap
        self.training_elite, self.validation_elite = Elite(), Elite()
        self.n_evaluations = 0

    def split(self, first: Mask) -> None:
        """Take the chosen rows, shape (n,), as the training half, the others to validate."""
        counted = self._problem.weights > 0
        self.first = first
        halves = [(first & counted)[None], (~first & counted)[None]]
        self._training, self._other_training = (training_on(self._problem, half) for half in halves)
        self._view, self._other_view = (view_of(*self._problem.counts(half)) for half in halves)

    def begin(self, rng: np.random.Generator) -> None:
        self.split(self._halves(rng))

    def to_arrays(self) -> dict[str, AnyArray]:
        return {
            "n_evaluations": np.array(self.n_evaluations),
            "first": self.first,
            **elite_arrays(self.training_elite, "training"),
            **elite_arrays(self.validation_elite, "validation"),
        }

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        self.n_evaluations = int(arrays["n_evaluations"])
        self.split(arrays["first"])
        self.training_elite = elite_from(arrays, "training")
        self.validation_elite = elite_from(arrays, "validation")

    @property
    def parents(self) -> Elite:
        return self.training_elite

    @property
    def elites(self) -> tuple[Elite, ...]:
        return self.training_elite, self.validation_elite

    def consider(
        self, genes: dict[int, float], parent: Genome | None, rng: np.random.Generator
    ) -> bool:
        entered, validated = self._enter(self.n_evaluations + 1, genes, parent)
        if validated:
            if self._swap:
                self._swapped()
            else:
                self._shuffled(rng)
        return entered

    def _swapped(self) -> None:
        self.training_elite, self.validation_elite = self.validation_elite, self.training_elite
        self._training, self._other_training = self._other_training, self._training
        self._view, self._other_view = self._other_view, self._view
        self.first = ~self.first

    def _shuffled(self, rng: np.random.Generator) -> None:
        """Split anew, and let the models of the training archive enter again.

        All thresholds of each are swept again: with those alone that were members, the archive
        would shrink at each split, because two that tell apart rows of the old half often give
        the same rates on the new one, of which one point is kept.
        """
        members = {point.genome for point in self.training_elite.members()[1]}
        genomes = self.training_elite.genomes
        self.split(self._halves(rng))
        self.training_elite, self.validation_elite = Elite(), Elite()
        for number in sorted(members):
            genome = genomes[number]
            self._enter(number, genome.genes, genome)

    def _enter(
        self, number: int, genes: dict[int, float], parent: Genome | None
    ) -> tuple[bool, bool]:
        """Fit a genome on the training half; tell whether it entered there, and in the other."""
        self.n_evaluations += 1
        measured = self._evaluator.fit(genes, parent, self._training)
        values, cutoffs = self._evaluator.corners(measured, self._view)
        entered = self.training_elite.offer(number, measured.genome, values, cutoffs)
        if entered is None:
            return False, False
        # The weights are those of the training half on the other half, too.
        cutoffs = cutoffs[entered]
        values = self._evaluator.at(measured, self._other_view, cutoffs)
        entered = self.validation_elite.offer(number, measured.genome, values, cutoffs)
        return True, entered is not None
