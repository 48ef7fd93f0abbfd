"""The search for machines that no other beats in the rates of all classes and in complexity.

`search` runs Clark's algorithms 2 (no cross-validation), 3 (two archives) and 4 (K folds) on a
`RelevanceProblem`, in the loop of `parsimon.pareto.run`; an `ArchiveResult` is what it returns.
`ArchiveSearch` makes one child at a time from an unbounded archive: `OneArchive` judges a genome on
the rows it is fitted to or in K folds, `TwoArchives` on a second half of the rows.
"""

from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from parsimon._checks import check_choice, check_count
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.run import Ending, SearchOptions, Standing, child_generator, run
from parsimon.rvm._evaluators import (
    GenomeEvaluator,
    GenomeFitter,
    ManyClassEvaluator,
    TwoClassEvaluator,
    check_complexity,
    fit_rows,
)
from parsimon.rvm._genome import (
    ArchivePoints,
    Elite,
    Genome,
    Moves,
    alpha_of,
    elite_arrays,
    levels_of,
    points_in,
    refill,
)
from parsimon.rvm._problem import TWO_ARCHIVES, Halves, RelevanceProblem, folds_for, halves_for
from parsimon.rvm._sweep import ClassSweep, Sweep, rate_rows, sweep_of

# Iterations without an addition after which diversity is forced.
PATIENCE = 20
# Iterations between two looks at the progress bar, the callback and the history.
REPORT_EVERY = 100
# With two classes, and with more.
MAX_ITER, MAX_ITER_MANY_CLASSES = 20_000, 5_000


@dataclass(frozen=True, eq=False)
class ChosenColumns:
    """A model: some columns of the design with their precisions.

    active (m,): Columns that are on, ascending.
    alpha (m,): Their prior precisions.
    """

    active: Indices
    alpha: Array


@dataclass(frozen=True, eq=False)
class ArchiveHistory:
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
class ArchiveResult:
    """The archive after a search, or at present when given to a callback.

    values (k, m): The objectives of every operating point, as they guided the search: on the rows
        that judged it, which are the training rows without a scheme and held-out rows with one.
        They are no estimate of performance on new rows.
    cutoffs (k,): A row is positive where its score is above; with several classes (k, n_classes),
        subtracted from the scores.
    which (k,): The model behind each point.
    models: Each occurs once, however many of its thresholds are in the archive.
    n_evaluations: Models fitted, folds not counted.
    stopped_by: Why the search ended; "running" in what a callback gets.
    """

    values: Array
    cutoffs: Array
    which: Indices
    models: tuple[ChosenColumns, ...]
    n_iter: int
    n_evaluations: int
    stopped_by: str
    history: ArchiveHistory

    def __repr__(self) -> str:
        return (
            f"ArchiveResult: {len(self.values)} operating points of {len(self.models)} models "
            f"after {self.n_iter} iterations ({self.n_evaluations} evaluations), "
            f"stopped by {self.stopped_by}"
        )


def search(
    problem: RelevanceProblem,
    *,
    scheme: str | int | Indices | None = None,
    complexity: str = "active",
    start: ChosenColumns | None = None,
    thresholds: str | float = "exact",
    max_iter: int | None = None,
    stall: int | None = 100,
    mutations: int = 3,
    **limits: Any,
) -> ArchiveResult:
    """Search for models that no other beats in the rates of all classes and in complexity.

    A search that has stalled is one into whose archive nothing has come for more than `stall`
    iterations. Without a start it begins with one random column. Further options are those of
    `SearchOptions`.

    Shapes: scheme (n,).

    [1] Clark (2011), Multi-Objective ROC learning for classification, chapter 3.
    """
    if max_iter is None:
        max_iter = MAX_ITER if problem.n_classes == 2 else MAX_ITER_MANY_CLASSES
    if stall is not None:
        check_count("stall", stall)
    task = SearchTask(
        problem,
        Moves(problem.n_columns, most=mutations),
        check_complexity(complexity),
        ClassSweep(problem.n_classes, thresholds)
        if problem.n_classes > 2
        else sweep_of(thresholds),
        scheme,
        start,
    )
    options = SearchOptions(
        max_iter=max_iter,
        stall=None if stall is None else stall + 1,
        report_every=REPORT_EVERY,
        **limits,
    )
    return run(ArchiveSearch(task), options)


class OneArchive:
    """Algorithms 2 and 4 of Clark (2011): one archive, rates on all rows or on held-out folds."""

    def __init__(self, evaluator: GenomeEvaluator) -> None:
        self._evaluator = evaluator
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
        number = self.n_evaluations
        return self.elite.offer(number, swept.genome, swept.values, swept.cutoffs) is not None

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
                self._swap_halves()
            else:
                self._shuffle(rng)
        return entered

    def _swap_halves(self) -> None:
        self.elite, self.validation_elite = self.validation_elite, self.elite
        self._fit_rows, self._other_fit_rows = self._other_fit_rows, self._fit_rows
        self._rate_rows, self._other_rate_rows = self._other_rate_rows, self._rate_rows
        self.first = ~self.first

    def _shuffle(self, rng: np.random.Generator) -> None:
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


@dataclass(frozen=True, eq=False)
class SearchTask:
    """What is searched, how candidates are made and on which rows they are judged.

    scheme: None, a number of folds, the fold of each row, or how two halves change.
    start: The first columns; a random one if there is none.
    """

    problem: RelevanceProblem
    moves: Moves
    complexity: str
    sweep: Sweep | ClassSweep
    scheme: Any = None
    start: ChosenColumns | None = None

    def settings(self) -> dict[str, str]:
        """Return what decides the course of a search, for checkpoints to compare."""
        scheme = self.scheme
        words = repr(scheme) if np.ndim(scheme) == 0 else f"folds {_fingerprint(scheme)}"
        arrays = (self.problem.design, self.problem.labels, self.problem.weights)
        return {
            "scheme": words,
            "evaluator": f"{self.complexity}, {self.sweep}",
            "moves": repr(self.moves),
            "start": "random" if self.start is None else "given",
            "problem": " ".join(_fingerprint(array) for array in arrays),
        }

    def archives(self, rng: np.random.Generator) -> OneArchive | TwoArchives:
        """Return empty archives."""
        if not isinstance(self.scheme, str):
            return OneArchive(self.evaluator(rng))
        check_choice("scheme", self.scheme, TWO_ARCHIVES)
        halves = halves_for(self.scheme, self.problem)
        return TwoArchives(self.fitter(), halves, swap=self.scheme == "swap")

    def evaluator(self, rng: np.random.Generator) -> GenomeEvaluator:
        """Return what judges genomes on all rows or in folds, which may be drawn."""
        folds = None if self.scheme is None else folds_for(self.scheme, self.problem, rng)
        if isinstance(self.sweep, ClassSweep):
            return ManyClassEvaluator(self.problem, self.sweep, self.complexity, folds)
        return TwoClassEvaluator(self.fitter(), folds)

    def fitter(self) -> GenomeFitter:
        """Return what fits genomes of two classes."""
        if isinstance(self.sweep, ClassSweep):
            raise InvalidInputError(
                f'scheme="{self.scheme}" is for two classes, got {self.problem.n_classes}; give a '
                "number of folds or None."
            )
        return GenomeFitter(self.problem, self.sweep, self.complexity)

    def first(self, count: int, rng: np.random.Generator) -> list[dict[int, float]]:
        """Return the genomes to begin with; a start without columns is as good as none."""
        singles = self.moves.singles(count, rng)
        if self.start is None or not len(self.start.active):
            return singles
        active, alpha, n_columns = self.start.active, self.start.alpha, self.problem.n_columns
        if active.shape != alpha.shape or (active >= n_columns).any() or (active < 0).any():
            raise InvalidInputError(
                f"start must name columns below {n_columns} and one precision for each of them."
            )
        return [dict(zip(active.tolist(), levels_of(alpha), strict=True)), *singles[1:]]


def _fingerprint(array: Any) -> str:
    return str(crc32(np.ascontiguousarray(array).tobytes()))


def found_result(points: ArchivePoints, ending: Ending) -> ArchiveResult:
    n_iter = REPORT_EVERY * np.arange(len(ending.trail))
    return ArchiveResult(
        values=points.values,
        cutoffs=points.cutoffs,
        which=points.which,
        models=tuple(
            ChosenColumns(np.array(genome.active, dtype=np.intp), alpha_of(genome.levels))
            for genome in points.genomes
        ),
        n_iter=ending.n_iter,
        n_evaluations=ending.n_evaluations,
        stopped_by=ending.stopped_by,
        history=ArchiveHistory(n_iter, *ending.trail.astype(np.intp).T),
    )


class ArchiveSearch:
    """Algorithms 2, 3 and 4 of Clark (2011) as a process; what differs is how rows are split.

    A step draws a parent uniformly from the distinct genomes of the archive, changes it and lets
    the archive consider it. While nothing has entered for 20 iterations, several columns are
    switched off and on at once.
    """

    title, keeps_states = "searching", False

    def __init__(self, task: SearchTask) -> None:
        self.task, self.n_idle = task, 0

    def settings(self) -> dict[str, str]:
        return {"search": "ParetoRVC archive", **self.task.settings()}

    def prepare(self, seed: np.random.SeedSequence) -> np.random.Generator:
        self.archives = self.task.archives(child_generator(seed, 0))
        self.genomes = self.task.first(1, child_generator(seed, 2))
        return child_generator(seed, 1)

    def begin(self, rng: np.random.Generator) -> "ArchiveSearch":
        self.archives.begin(rng)
        for genes in self.genomes:
            self.archives.consider(genes, None, rng)
        return self

    def step(
        self,
        state: "ArchiveSearch",
        rng: np.random.Generator,
        deadline: float | None,  # noqa: ARG002 - a step is short
    ) -> "ArchiveSearch":
        parent = self.archives.elite.draw(rng)
        moves = self.task.moves
        change = moves.perturb if self.n_idle < PATIENCE else moves.diversify
        entered = self.archives.consider(change(parent.genes, rng), parent, rng)
        self.n_idle = 0 if entered else self.n_idle + 1
        return state

    def standing(self, state: "ArchiveSearch") -> Standing:
        return Standing(state.archives.n_evaluations, state.n_idle)

    def row(self, state: "ArchiveSearch") -> tuple[float, ...]:
        elite = state.archives.elite
        return state.archives.n_evaluations, len(elite), elite.n_genomes

    def note(self, state: "ArchiveSearch") -> str:
        elite = state.archives.elite
        return f"{len(elite)} points of {elite.n_genomes} models"

    def finished(self, state: "ArchiveSearch") -> str | None:  # noqa: ARG002 - never by itself
        return None

    def to_arrays(self, state: "ArchiveSearch") -> dict[str, AnyArray]:
        return {**state.archives.to_arrays(), "n_idle": np.array(state.n_idle)}

    def restore(self, arrays: dict[str, AnyArray]) -> "ArchiveSearch":
        self.n_idle = int(arrays["n_idle"])
        self.archives.restore(arrays)
        return self

    def result(self, state: "ArchiveSearch", ending: Ending) -> ArchiveResult:
        return found_result(state.archives.points(), ending)
