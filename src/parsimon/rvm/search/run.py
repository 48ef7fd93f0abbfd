"""The loop: step after step until a limit, a stall, a callback or Ctrl-C ends it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from parsimon._progress import Progress
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray
from parsimon.exceptions import CheckpointError
from parsimon.pareto.checkpoint import (
    Checkpoint,
    check_settings,
    read_checkpoint,
    write_checkpoint,
)
from parsimon.rvm.search.genome import alpha_of
from parsimon.rvm.search.outcome import History, Model, Outcome
from parsimon.rvm.search.storage import Points

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
