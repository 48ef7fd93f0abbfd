"""The search for RVMs that no other beats in true positives, false positives and complexity.

`search` runs Clark's algorithms 2 (no cross-validation), 3 (two archives) and 4 (K folds), or
NSGA-II, on a `Problem`; `Outcome` is what it returns. Read `genome` for the moves, `sweep` for
the thresholds, `schemes` for the ways to judge a candidate, `run` for the loop.

Clark's search: one genome after another, its parent drawn from the elite archive.

The loop: step after step until a limit, a stall, a callback or Ctrl-C ends it.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from parsimon._checks import check_choice, check_count, check_seconds
from parsimon._progress import Progress
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import CheckpointError, InvalidInputError
from parsimon.pareto._checkpoint import (
    Checkpoint,
    as_checkpoint,
    check_settings,
    read_checkpoint,
    write_checkpoint,
)
from parsimon.rvm._entry import EntryTest
from parsimon.rvm._evaluate import (
    Evaluator,
    History,
    Judge,
    Model,
    OneArchive,
    Outcome,
    Points,
    TwoArchives,
    points_in,
)
from parsimon.rvm._genome import LOWEST_LEVEL, Fitter, Moves, alpha_of, check_complexity, levels_of
from parsimon.rvm._nsga import Population
from parsimon.rvm._problem import TWO_ARCHIVES, Problem, folds_for, halves_for
from parsimon.rvm._sweep import sweep_of

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


# Iterations between two looks at the clock of the progress bar, the callback and the history.
REPORT_EVERY = 100


class Stepper(Protocol):
    """A search that advances one iteration at a time."""

    n_idle: int

    @property
    def n_evaluations(self) -> int:
        """Models fitted so far."""

    @property
    def sizes(self) -> tuple[int, int]:
        """How many points, and how many genomes behind them, parents are drawn from."""

    def begin(self, rng: np.random.Generator) -> None:
        """Evaluate the start."""

    def step(self, rng: np.random.Generator) -> None:
        """Advance one iteration."""

    def points(self) -> Points:
        """Return what has been found."""

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return all that decides how the search goes on."""

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Take up what `to_arrays` returned."""


@dataclass(frozen=True)
class Limits:
    """When a search ends."""

    max_iter: int
    max_evaluations: int | None = None
    stall: int | None = None
    time_limit: float | None = None


@dataclass(frozen=True)
class Resumable:
    """The seed of a run and, if it resumes, the state that was saved."""

    seed: np.random.SeedSequence
    header: dict[str, Any] | None = None
    arrays: dict[str, AnyArray] | None = None

    def generator(self, stream: int) -> np.random.Generator:
        """Return one of the independent generators of the run."""
        key = (*self.seed.spawn_key, stream)
        return np.random.default_rng(np.random.SeedSequence(self.seed.entropy, spawn_key=key))


def opened(
    checkpoint: Checkpoint | None, settings: dict[str, str], random_state: Seed
) -> Resumable:
    """Return the seed to use, and the saved state if the checkpoint's file exists."""
    seed = seed_sequence(random_state)
    if checkpoint is None:
        return Resumable(seed)
    path = Path(checkpoint.path)
    if not path.parent.is_dir():
        raise CheckpointError(f"The folder {path.parent} of the checkpoint does not exist.")
    if not checkpoint.resume or not path.exists():
        return Resumable(seed)
    header, arrays = read_checkpoint(path)
    check_settings(path, header["settings"], {**settings, "label": checkpoint.label})
    stored = np.random.SeedSequence(header["entropy"], spawn_key=tuple(header["spawn_key"]))
    if random_state is not None and _parts(seed) != _parts(stored):
        raise CheckpointError(
            f"{path} was written with another random_state; give the same one, or none."
        )
    return Resumable(stored, header, arrays)


def _parts(seed: np.random.SeedSequence) -> tuple[Any, list[int]]:
    """Return entropy and spawn key as JSON holds them."""
    entropy = np.asarray(seed.entropy, dtype=object).tolist()
    plain = [int(part) for part in entropy] if isinstance(entropy, list) else int(entropy)
    return plain, [int(key) for key in seed.spawn_key]


class Run:
    """One run of a search: its clock, its history and its file."""

    def __init__(
        self,
        stepper: Stepper,
        limits: Limits,
        resumable: Resumable,
        *,
        settings: dict[str, str],
        checkpoint: Checkpoint | None = None,
        callback: Callable[[Outcome], Any] | None = None,
        verbose: bool = False,
    ) -> None:
        self.stepper, self.limits, self.resumable = stepper, limits, resumable
        self.settings, self.checkpoint, self.callback = settings, checkpoint, callback
        self.rng = resumable.generator(1)
        self.started = self.saved_at = time.monotonic()
        self.n_iter, self.saved_iter = 0, -1
        self.trail: list[list[int]] = []
        self.progress = Progress("searching", total=limits.max_iter, verbose=verbose)

    def result(self) -> Outcome:
        """Run to the end and return what was found."""
        with self.progress:
            try:
                self.begin()
                stopped_by = self.loop()
                self.save()
            except KeyboardInterrupt:
                # Nothing is saved: the interruption may have come in the middle of a step, and
                # the file from before it leads to the same bits.
                if not self.stepper.sizes[0]:
                    raise
                stopped_by = "interrupt"
        return self.outcome(stopped_by)

    def begin(self) -> None:
        stored = self.resumable
        if stored.header is None or stored.arrays is None:
            self.stepper.begin(self.rng)
            self.record()
            return
        self.n_iter = self.saved_iter = int(stored.header["n_iter"])
        self.rng.bit_generator.state = stored.header["rng"]
        self.trail = stored.arrays["trail"].tolist()
        self.stepper.restore(stored.arrays)

    def loop(self) -> str:
        """Advance until there is a reason to stop, and return it."""
        reason = self.stop_reason()
        while reason is None:
            self.stepper.step(self.rng)
            self.n_iter += 1
            reason = (self.report() if self.n_iter % REPORT_EVERY == 0 else None) or (
                self.stop_reason()
            )
            if self.checkpoint is not None and self.checkpoint.is_due(
                self.n_iter, time.monotonic() - self.saved_at
            ):
                self.save()
        return reason

    def stop_reason(self) -> str | None:
        limits, stepper = self.limits, self.stepper
        if self.n_iter >= limits.max_iter:
            return "max_iter"
        if limits.stall is not None and stepper.n_idle > limits.stall:
            return "stall"
        if limits.max_evaluations is not None and stepper.n_evaluations >= limits.max_evaluations:
            return "max_evaluations"
        if limits.time_limit is not None and time.monotonic() - self.started >= limits.time_limit:
            return "time_limit"
        return None

    def record(self) -> None:
        self.trail.append([self.n_iter, self.stepper.n_evaluations, *self.stepper.sizes])

    def report(self) -> str | None:
        """Note the course, move the bar, ask the callback; return why to stop, if it says so."""
        self.record()
        n_points, n_models = self.stepper.sizes
        self.progress.update(self.n_iter, note=f"{n_points} points of {n_models} models")
        if self.callback is not None and self.callback(self.outcome("running")):
            return "callback"
        return None

    def outcome(self, stopped_by: str) -> Outcome:
        values, cutoffs, which, genomes = self.stepper.points()
        trail = np.array(self.trail, dtype=np.intp).reshape(-1, 4)
        return Outcome(
            values=values,
            cutoffs=cutoffs,
            which=which,
            models=tuple(
                Model(np.array(genome.active, dtype=np.intp), alpha_of(genome.levels))
                for genome in genomes
            ),
            n_iter=self.n_iter,
            n_evaluations=self.stepper.n_evaluations,
            stopped_by=stopped_by,
            history=History(*trail.T),
        )

    def save(self) -> None:
        """Write the state to the checkpoint's file, unless it is there already."""
        if self.checkpoint is None or self.n_iter == self.saved_iter:
            return
        entropy, spawn_key = _parts(self.resumable.seed)
        header = {
            "settings": {**self.settings, "label": self.checkpoint.label},
            "entropy": entropy,
            "spawn_key": spawn_key,
            "rng": self.rng.bit_generator.state,
            "n_iter": self.n_iter,
        }
        arrays = {**self.stepper.to_arrays(), "trail": np.array(self.trail, dtype=np.intp)}
        write_checkpoint(self.checkpoint.path, header, arrays)
        self.saved_at, self.saved_iter = time.monotonic(), self.n_iter


ALGORITHMS = ("archive", "nsga2", "nsga2_crossover")
# Clark gives 2000 generations for NSGA-II and nothing for the other algorithms.
MAX_ITER = {"archive": 20_000, "nsga2": 2_000, "nsga2_crossover": 2_000}


class Start(Protocol):
    """Where a search may begin: active columns and their precisions, such as a fitted RVM."""

    @property
    def active(self) -> Indices:
        """Columns that are on, shape (m,)."""

    @property
    def alpha(self) -> Array:
        """Their precisions, shape (m,)."""


def search(
    problem: Problem,
    *,
    scheme: str | int | Indices | None = None,
    complexity: str = "active",
    mutations: int = 3,
    start: str | Start | tuple[Indices, Array] = "random",
    thresholds: str | float = "exact",
    fixed_bias: bool = False,
    algorithm: str = "archive",
    population_size: int = 300,
    max_iter: int | None = None,
    max_evaluations: int | None = None,
    stall: int | None = 100,
    time_limit: float | None = None,
    entry: EntryTest | None = None,
    callback: Callable[[Outcome], Any] | None = None,
    checkpoint: Checkpoint | str | Path | None = None,
    verbose: bool = False,
    random_state: Seed = None,
) -> Outcome:
    """Search for models that no other beats in true positives, false positives and complexity.

    Shapes: scheme (n,).

    [1] Clark (2011), Multi-Objective ROC learning for classification, chapter 3.
    """
    check_choice("algorithm", algorithm, ALGORITHMS)
    check_complexity(complexity)
    moves = Moves(
        problem.n_columns,
        most=check_count("mutations", mutations),
        fixed_bias=_checked_bias(fixed_bias, problem),
    )
    size = check_count("population_size", population_size, least=2)
    limits = Limits(
        check_count("max_iter", MAX_ITER[algorithm] if max_iter is None else max_iter, least=0),
        _optional_count("max_evaluations", max_evaluations),
        _optional_count("stall", stall),
        check_seconds("time_limit", time_limit),
    )
    evaluator = Evaluator(Fitter(problem.rows, complexity, problem.has_bias), sweep_of(thresholds))
    file = as_checkpoint(checkpoint)
    settings = {
        "search": f"ParetoRVC {algorithm}",
        "scheme": _scheme_words(scheme),
        "evaluator": f"{complexity}, {evaluator.sweep}",
        "moves": repr(moves),
        "population_size": repr(size) if algorithm != "archive" else "",
        "entry": "" if entry is None else type(entry).__qualname__,
        "problem": _fingerprint(problem),
    }
    resumable = opened(file, settings, random_state)
    judge = _judge(problem, evaluator, scheme, entry, resumable)
    first = _starts(start, moves, 1 if algorithm == "archive" else size, resumable.generator(2))
    run = Run(
        _stepper(algorithm, judge, moves, first, size),
        limits,
        resumable,
        settings=settings,
        checkpoint=file,
        callback=callback,
        verbose=verbose,
    )
    return run.result()


def _optional_count(name: str, value: int | None) -> int | None:
    return None if value is None else check_count(name, value)


def _checked_bias(fixed_bias: bool, problem: Problem) -> bool:
    if fixed_bias and not problem.has_bias:
        raise InvalidInputError("fixed_bias=True needs a design whose column 0 is the bias.")
    return bool(fixed_bias)


def _judge(
    problem: Problem,
    evaluator: Evaluator,
    scheme: Any,
    entry: EntryTest | None,
    resumable: Resumable,
) -> Judge:
    if isinstance(scheme, str):
        check_choice("scheme", scheme, TWO_ARCHIVES)
        if entry is not None:
            raise InvalidInputError(
                f'An entry test needs one archive, but scheme="{scheme}" has two. Use folds.'
            )
        return TwoArchives(problem, evaluator, halves_for(scheme, problem), swap=scheme == "swap")
    folds = None if scheme is None else folds_for(scheme, problem, resumable.generator(0))
    return OneArchive(problem, evaluator, folds=folds, entry=entry)


def _stepper(
    algorithm: str, judge: Judge, moves: Moves, first: list[dict[int, float]], size: int
) -> Stepper:
    if algorithm == "archive":
        return Ascent(judge, moves, first)
    if not isinstance(judge, OneArchive) or judge.has_entry_test:
        raise InvalidInputError(
            "NSGA-II has one population: give it scheme=None or folds, and no entry test."
        )
    return Population(judge, moves, first, size=size, crossover=algorithm == "nsga2_crossover")


def _starts(
    start: Any, moves: Moves, count: int, rng: np.random.Generator
) -> list[dict[int, float]]:
    """Return the genomes to begin with; an RVM without columns is as good as none."""
    singles = moves.singles(count, rng)
    if isinstance(start, str):
        check_choice("start", start, ("random",))
        return singles
    given = start if isinstance(start, tuple) else (start.active, start.alpha)
    active, alpha = np.asarray(given[0]), np.asarray(given[1], dtype=np.float64)
    if active.shape != alpha.shape or (active >= moves.n_columns).any() or (active < 0).any():
        raise InvalidInputError(
            f"start must name columns below {moves.n_columns} and one precision for each of them."
        )
    if not len(active):
        return singles
    genes = dict(zip(active.tolist(), levels_of(alpha), strict=True))
    if moves.fixed_bias:
        genes[0] = LOWEST_LEVEL
    return [genes, *singles[1:]]


def _scheme_words(scheme: Any) -> str:
    return repr(scheme) if np.ndim(scheme) == 0 else f"folds {crc32(np.asarray(scheme).tobytes())}"


def _fingerprint(problem: Problem) -> str:
    arrays = (problem.design, problem.labels, problem.weights)
    return " ".join(str(crc32(np.ascontiguousarray(array).tobytes())) for array in arrays)


__all__ = ["Outcome", "Problem", "search"]
