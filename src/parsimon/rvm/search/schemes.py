"""Three ways to judge a candidate: on the rows it is fitted to, on a second half, in K folds.

A judge owns the archive or archives. `consider` fits a genome, sweeps its thresholds, offers what
comes out, and says whether anything entered the archive that parents are drawn from.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.rvm.search.candidates import EntryTest
from parsimon.rvm.search.elite import Elite
from parsimon.rvm.search.fitting import Fitter, Training, row_entries, training_on
from parsimon.rvm.search.genome import Genome, alpha_of
from parsimon.rvm.search.partitions import Halves
from parsimon.rvm.search.problem import Problem
from parsimon.rvm.search.storage import elite_arrays, elite_from
from parsimon.rvm.search.sweep import Sweep, View, rates_at, view_of


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
