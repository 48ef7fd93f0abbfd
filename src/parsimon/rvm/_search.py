"""The search for machines that no other beats in the rates of all classes and in complexity.

`search` runs Clark's algorithms 2 (no cross-validation), 3 (two archives) and 4 (K folds), or
NSGA-II, on a `RelevanceProblem`, in the loop of `parsimon.pareto.run`; an `ArchiveResult` is what
it returns. `ArchiveSearch` makes one child at a time from an unbounded archive,
`PopulationSearch` a generation of children from a bounded population.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from parsimon._checks import check_choice, check_count
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Checkpoint
from parsimon.pareto.dominance import repeated_keys, row_keys, select_survivors
from parsimon.pareto.run import Ending, OutOfTime, SearchOptions, Standing, child_generator, run
from parsimon.rvm._archive import ArchivePoints, EntryTest, OneArchive, TwoArchives
from parsimon.rvm._evaluators import (
    GenomeEvaluator,
    GenomeFitter,
    ManyClassEvaluator,
    TwoClassEvaluator,
    check_complexity,
)
from parsimon.rvm._genome import (
    Genome,
    Moves,
    alpha_of,
    genome_arrays,
    genomes_from,
    levels_of,
)
from parsimon.rvm._problem import TWO_ARCHIVES, RelevanceProblem, folds_for, halves_for
from parsimon.rvm._sweep import ClassSweep, Sweep, sweep_of

# Iterations without an addition after which diversity is forced.
PATIENCE = 20
# Iterations between two looks at the progress bar, the callback and the history.
REPORT_EVERY = 100
CROSSOVER_RATE = 0.9
ALGORITHMS = ("archive", "nsga2", "nsga2_crossover")
# Clark gives 2000 generations for NSGA-II and nothing for the other algorithms.
MAX_ITER = {"archive": 20_000, "nsga2": 2_000, "nsga2_crossover": 2_000}
MAX_ITER_MANY_CLASSES = 5_000


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

    @cached_property
    def n_active(self) -> Indices:
        """How many columns the model behind each point has on, the bias included, shape (k,)."""
        sizes = np.array([len(model.active) for model in self.models], dtype=np.intp)
        return sizes[self.which]

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
    mutations: int = 3,
    start: ChosenColumns | None = None,
    thresholds: str | float = "exact",
    algorithm: str = "archive",
    population_size: int = 300,
    max_iter: int | None = None,
    max_evaluations: int | None = None,
    stall: int | None = 100,
    time_limit: float | None = None,
    entry: EntryTest | None = None,
    callback: Callable[[ArchiveResult], Any] | None = None,
    checkpoint: Checkpoint | str | Path | None = None,
    verbose: bool = False,
    random_state: Seed = None,
) -> ArchiveResult:
    """Search for models that no other beats in the rates of all classes and in complexity.

    A search that has stalled is one into whose archive nothing has come for more than `stall`
    iterations. Without a start it begins with one random column.

    Shapes: scheme (n,).

    [1] Clark (2011), Multi-Objective ROC learning for classification, chapter 3.
    """
    check_choice("algorithm", algorithm, ALGORITHMS)
    if max_iter is None:
        max_iter = MAX_ITER[algorithm] if problem.n_classes == 2 else MAX_ITER_MANY_CLASSES
    if stall is not None:
        check_count("stall", stall)
    task = SearchTask(
        problem,
        Moves(problem.n_columns, most=check_count("mutations", mutations)),
        check_complexity(complexity),
        ClassSweep(problem.n_classes, thresholds)
        if problem.n_classes > 2
        else sweep_of(thresholds),
        scheme,
        start,
        entry,
    )
    options = SearchOptions(
        max_iter=max_iter,
        time_limit=time_limit,
        stall=None if stall is None else stall + 1,
        max_evaluations=max_evaluations,
        report_every=REPORT_EVERY,
        callback=callback,
        checkpoint=checkpoint,
        verbose=verbose,
        random_state=random_state,
    )
    if algorithm == "archive":
        return run(ArchiveSearch(task), options)
    size = check_count("population_size", population_size, least=2)
    return run(PopulationSearch(task, size, crossover=algorithm == "nsga2_crossover"), options)


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
    entry: EntryTest | None = None

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
            "entry": "" if self.entry is None else _entry_words(self.entry),
            "problem": " ".join(_fingerprint(array) for array in arrays),
        }

    def archives(self, rng: np.random.Generator) -> OneArchive | TwoArchives:
        """Return empty archives."""
        if not isinstance(self.scheme, str):
            return OneArchive(self.evaluator(rng), self.entry)
        check_choice("scheme", self.scheme, TWO_ARCHIVES)
        if self.entry is not None:
            raise InvalidInputError(
                f'An entry test needs one archive, but scheme="{self.scheme}" has two. Use folds.'
            )
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


def _entry_words(test: EntryTest) -> str:
    return f"{test.probability} of resamples {_fingerprint(test.counts)}"


def _fingerprint(array: Any) -> str:
    return str(crc32(np.ascontiguousarray(array).tobytes()))


def _result(points: ArchivePoints, ending: Ending) -> ArchiveResult:
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
        return _result(state.archives.points(), ending)


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
        if isinstance(task.scheme, str) or task.entry is not None:
            raise InvalidInputError(
                "NSGA-II has one population: give it scheme=None or folds, and no entry test."
            )
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
            genes = self.task.moves.cross(genes, mate(state, rng).genes, rng)
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
        plain = state._asdict()
        genomes = plain.pop("genomes")
        numbers = np.array(list(genomes), dtype=np.int64)
        stored = {f"point_{name}": np.asarray(array) for name, array in plain.items()}
        return {**stored, "numbers": numbers, **genome_arrays(list(genomes.values()))}

    def restore(self, arrays: dict[str, AnyArray]) -> PopulationState:
        genomes = dict(zip(arrays["numbers"].tolist(), genomes_from(arrays), strict=True))
        plain = {
            name: arrays[f"point_{name}"]
            for name in ("values", "cutoffs", "owners", "levels", "room")
        }
        n_evaluations = int(arrays["point_n_evaluations"])
        return PopulationState(**plain, genomes=genomes, n_evaluations=n_evaluations)

    def result(self, state: PopulationState, ending: Ending) -> ArchiveResult:
        """Return the first level of the population."""
        best: Mask = state.levels == 0
        numbers, which = np.unique(state.owners[best], return_inverse=True)
        genomes = [state.genomes[number] for number in numbers.tolist()]
        points = ArchivePoints(state.values[best], state.cutoffs[best], which, genomes)
        return _result(points, ending)


def mate(state: PopulationState, rng: np.random.Generator) -> Genome:
    """Return the genome of the better of two random points: lower level, then more room."""
    n = len(state.values)
    a, b = int(rng.random() * n), int(rng.random() * n)
    better = (state.levels[b], -state.room[b]) < (state.levels[a], -state.room[a])
    return state.genomes[int(state.owners[b if better else a])]
