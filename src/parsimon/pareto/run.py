"""The loop that everything with generations or steps runs in.

Limits, stall, history, progress, Ctrl-C, checkpoints and resuming to the same bits are written
here once. What advances is a `Process`: a population of `search.Search`, an archive that gains one
model after another, a path of machines, a beam of kernels.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from parsimon._checks import check_count, check_seconds
from parsimon._deadline import Deadline, end_after, is_late
from parsimon._interrupts import as_one_piece
from parsimon._progress import Progress
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import CheckpointError, InvalidInputError
from parsimon.pareto._checkpoint import (
    Checkpoint,
    as_checkpoint,
    check_settings,
    read_checkpoint,
    write_checkpoint,
)

S = TypeVar("S")
R_co = TypeVar("R_co", covariant=True)


class OutOfTime(Exception):
    """The deadline does not allow the rest of a step."""


class Standing(NamedTuple):
    """Where a process stands after a step.

    n_evaluations: Candidates evaluated so far.
    n_idle: Steps since it last got better.
    """

    n_evaluations: int
    n_idle: int = 0


class Ending(NamedTuple):
    """How far a run came and why it ended; "running" in what a callback gets.

    trail (n_rows, ...): The rows of the history, one for each report.
    """

    n_iter: int
    n_evaluations: int
    stopped_by: str
    trail: Array


class Process(Protocol[S, R_co]):
    """What the loop needs of anything that advances step by step.

    A process holds settings, and where it stands is its state. If `keeps_states`, a state that
    was returned never changes, so that Ctrl-C loses no more than the step it came in; otherwise
    the process may return itself, and after Ctrl-C nothing is saved.

    With a checkpoint it also has ``to_arrays(state)``, all that decides how it goes on from a state
    as a dictionary of arrays, and ``restore(arrays)``, the state that these make.
    """

    @property
    def title(self) -> str:
        """What the progress bar says."""

    @property
    def keeps_states(self) -> bool:
        """Whether states never change."""

    def settings(self) -> dict[str, str]:
        """Return what decides the course, for checkpoints to compare."""

    def prepare(self, seed: np.random.SeedSequence) -> np.random.Generator:
        """Take up the seed of the run, and return the generator of its steps."""

    def begin(self, rng: np.random.Generator) -> S:
        """Return the first state."""

    def step(self, state: S, rng: np.random.Generator, deadline: Deadline) -> S:
        """Return the next state, or raise `OutOfTime` if the deadline does not allow it."""

    def standing(self, state: S) -> Standing:
        """Tell where a state stands."""

    def row(self, state: S) -> tuple[float, ...]:
        """Return what the history keeps of a state."""

    def note(self, state: S) -> str:
        """Return a few words for the progress bar."""

    def finished(self, state: S) -> str | None:
        """Return why there is nothing left to do, if so."""

    def result(self, state: S, ending: Ending) -> R_co:
        """Return what has been found."""


Callback = Callable[[Any], Any]


@dataclass(frozen=True)
class SearchOptions:
    """How long, where and how visibly a search runs; `nsga2` documents each option.

    max_evaluations: Candidates after which no further step begins.
    report_every: Steps between two rows of the history, and two calls of the callback.
    """

    max_iter: int | None
    time_limit: float | None = None
    stall: int | None = None
    max_evaluations: int | None = None
    report_every: int = 1
    callback: Callback | None = None
    checkpoint: Checkpoint | str | Path | None = None
    verbose: bool = False
    random_state: Seed = None

    def __post_init__(self) -> None:
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter, least=0)
        check_seconds("time_limit", self.time_limit)
        for name in ("stall", "max_evaluations"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.callback is not None and not callable(self.callback):
            raise InvalidInputError(f"callback must be callable, got {self.callback!r}.")


def run(process: Process[S, R_co], options: SearchOptions) -> R_co:
    """Run a process until a limit, a stall, a callback, Ctrl-C or its own end stops it."""
    return _Run(process, options).result()


class _Moment(NamedTuple, Generic[S]):
    """A state with all else that decides how the run goes on.

    `n_rows` of the trail belong to it; an interruption may have left one more.
    """

    state: S
    rng_state: Any
    n_iter: int
    n_rows: int


class _Run(Generic[S, R_co]):
    """One run: the only object of the loop that changes."""

    def __init__(self, process: Process[S, R_co], options: SearchOptions) -> None:
        self.process, self.options = process, options
        self.file = as_checkpoint(options.checkpoint)
        self.settings = {} if self.file is None else process.settings()
        self.saved_at = time.monotonic()
        self.deadline = end_after(options.time_limit)
        self.saved_iter = -1
        self.trail: list[tuple[float, ...]] = []
        self.moment: _Moment[S] | None = None
        self.seed, stored = stored_run(self.file, self.settings, options.random_state)
        self.rng = process.prepare(self.seed)
        if stored is not None:
            self.take_up(*stored)

    def take_up(self, header: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
        """Stand where the checkpoint was written."""
        self.trail = [tuple(row) for row in arrays.pop("trail").tolist()]
        self.rng.bit_generator.state = header["rng"]
        self.saved_iter = header["n_iter"]
        process: Any = self.process
        state = process.restore(arrays)
        self.moment = _Moment(state, header["rng"], header["n_iter"], len(self.trail))

    def result(self) -> R_co:
        title, total = self.process.title, self.options.max_iter
        with Progress(title, total=total, verbose=self.options.verbose) as self.progress:
            stopped_by = self.loop()
        return self.described(stopped_by)

    def loop(self) -> str:
        """Advance until there is a reason to stop, and return it."""
        whole = self.process.keeps_states
        with as_one_piece() as self.interrupt:
            try:
                stopped_by = self.stop_reason()
                while stopped_by is None:
                    self.moment = self.advanced()
                    stopped_by = self.reported(self.moment) or self.stop_reason()
                whole = True
            except KeyboardInterrupt as error:
                if self.moment is None:
                    raise
                self.interrupt.answer(error)
                stopped_by = "interrupt"
            except OutOfTime:
                stopped_by = "time_limit"
            finally:
                if whole:
                    self.save()
        return stopped_by

    def advanced(self) -> _Moment[S]:
        """Return the moment after one more step."""
        before = self.moment
        if before is None:
            # No deadline: there must be something to return.
            state, n_iter, n_rows = self.process.begin(self.rng), 0, 0
        else:
            state = self.process.step(before.state, self.rng, self.deadline)
            n_iter, n_rows = before.n_iter + 1, before.n_rows
        if n_iter % self.options.report_every == 0:
            del self.trail[n_rows:]
            self.trail.append(self.process.row(state))
            n_rows += 1
        kept = self.process.keeps_states or self.file is not None
        return _Moment(state, self.rng.bit_generator.state if kept else None, n_iter, n_rows)

    def stop_reason(self) -> str | None:
        options, moment = self.options, self.moment
        if moment is None:
            return None
        if options.max_iter is not None and moment.n_iter >= options.max_iter:
            return "max_iter"
        finished = self.process.finished(moment.state)
        if finished is not None:
            return finished
        if options.stall is not None or options.max_evaluations is not None:
            standing = self.process.standing(moment.state)
            if options.stall is not None and standing.n_idle >= options.stall:
                return "stall"
            most = options.max_evaluations
            if most is not None and standing.n_evaluations >= most:
                return "max_evaluations"
        if self.interrupt.came:
            return "interrupt"
        return "time_limit" if is_late(self.deadline) else None

    def reported(self, moment: _Moment[S]) -> str | None:
        """Save if it is time, show progress, ask the callback."""
        if self.file is not None and self.file.is_due(
            moment.n_iter, time.monotonic() - self.saved_at
        ):
            self.save()
        if moment.n_iter % self.options.report_every:
            return None
        if self.options.verbose:
            self.progress.update(moment.n_iter, note=self.process.note(moment.state))
        callback = self.options.callback
        return "callback" if callback is not None and callback(self.described("running")) else None

    def described(self, stopped_by: str) -> R_co:
        if self.moment is None:
            raise InvalidInputError("The search ended before its first step.")
        state, _, n_iter, n_rows = self.moment
        n_evaluations = self.process.standing(state).n_evaluations
        trail = np.array(self.trail[:n_rows], dtype=np.float64)
        return self.process.result(state, Ending(n_iter, n_evaluations, stopped_by, trail))

    def save(self) -> None:
        """Write the moment to the checkpoint's file, unless it is there already."""
        moment = self.moment
        if self.file is None or moment is None or moment.n_iter == self.saved_iter:
            return
        entropy, spawn_key = _seed_parts(self.seed)
        header = {
            "settings": {**self.settings, "label": self.file.label},
            "entropy": entropy,
            "spawn_key": spawn_key,
            "rng": moment.rng_state,
            "n_iter": moment.n_iter,
        }
        process: Any = self.process
        arrays = process.to_arrays(moment.state)
        arrays["trail"] = np.array(self.trail[: moment.n_rows], dtype=np.float64)
        write_checkpoint(self.file.path, header, arrays)
        self.saved_at, self.saved_iter = time.monotonic(), moment.n_iter


Stored = tuple[dict[str, Any], dict[str, AnyArray]]


def stored_run(
    file: Checkpoint | None, settings: dict[str, str], random_state: Seed
) -> tuple[np.random.SeedSequence, Stored | None]:
    """Return the seed of a run, and header and arrays to resume from if there are any."""
    seed = seed_sequence(random_state)
    if file is None:
        return seed, None
    path = Path(file.path)
    if not path.parent.is_dir():
        raise CheckpointError(f"The folder {path.parent} of the checkpoint does not exist.")
    if not file.resume or not path.exists():
        return seed, None
    header, arrays = read_checkpoint(path)
    check_settings(path, header["settings"], {**settings, "label": file.label})
    stored = header["entropy"], header["spawn_key"]
    if random_state is None:
        seed = np.random.SeedSequence(stored[0], spawn_key=tuple(stored[1]))
    elif _seed_parts(seed) != stored:
        raise CheckpointError(
            f"{path} was written with another random_state; give the same one, or none."
        )
    return seed, (header, arrays)


def child_generator(seed: np.random.SeedSequence, number: int) -> np.random.Generator:
    """Return one of the independent generators of a run."""
    key = (*seed.spawn_key, number)
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))


def _seed_parts(seed: np.random.SeedSequence) -> tuple[Any, list[int]]:
    """Return entropy and spawn key as JSON holds them."""
    entropy = np.asarray(seed.entropy, dtype=object).tolist()
    plain = [int(part) for part in entropy] if isinstance(entropy, list) else int(entropy)
    return plain, [int(key) for key in seed.spawn_key]
