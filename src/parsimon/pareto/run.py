"""The loop that every search shares: ask, evaluate, tell, until a limit is reached.

Stopping, history, checkpoints, progress and Ctrl-C are written here once; what an algorithm must
bring is `search.Search`.

A moment of a run: all that decides how it goes on, and its way to a checkpoint and back.

When a search has come to rest: its best no longer gets better.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple

import moocore
import numpy as np

from parsimon._checks import check_count, check_positive
from parsimon._progress import Progress
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import CheckpointError, InvalidInputError
from parsimon.pareto._checkpoint import (
    Checkpoint,
    as_checkpoint,
    check_settings,
    describe,
    read_checkpoint,
    write_checkpoint,
)
from parsimon.pareto._directions import Directions
from parsimon.pareto._evaluation_pool import Evaluate, Evaluated, EvaluationPool, OutOfTime
from parsimon.pareto.search import S, Search, SearchResult, history_of


class Moment(NamedTuple, Generic[S]):
    """The state after a generation, with the generator, the stall count and the history.

    `trail` may hold a row too many after an interruption; the first ``n_iter + 1`` count.
    """

    state: S
    rng_state: Any
    mark: Array
    n_stalled: int
    trail: list[list[float]]


def save_moment(
    checkpoint: Checkpoint,
    moment: Moment[S],
    *,
    settings: dict[str, str],
    seed: np.random.SeedSequence,
) -> None:
    """Write a moment to the checkpoint's file."""
    entropy, spawn_key = _seed_parts(seed)
    header = {
        "settings": {**settings, "label": checkpoint.label},
        "entropy": entropy,
        "spawn_key": spawn_key,
        "rng": moment.rng_state,
        "n_stalled": moment.n_stalled,
    }
    arrays = {f"state_{name}": array for name, array in moment.state.to_arrays().items()}
    arrays["trail"] = np.array(moment.trail[: moment.state.n_iter + 1])
    arrays["mark"] = moment.mark
    write_checkpoint(checkpoint.path, header, arrays)


def load_moment(
    checkpoint: Checkpoint, search: Search[S], *, settings: dict[str, str], random_state: Seed
) -> tuple[Moment[S] | None, np.random.SeedSequence]:
    """Return the moment to resume from, if any, and the seed of the run."""
    path = Path(checkpoint.path)
    if not path.parent.is_dir():
        raise CheckpointError(f"The folder {path.parent} of the checkpoint does not exist.")
    seed = seed_sequence(random_state)
    if not checkpoint.resume or not path.exists():
        return None, seed
    header, arrays = read_checkpoint(path)
    check_settings(path, header["settings"], {**settings, "label": checkpoint.label})
    stored = header["entropy"], header["spawn_key"]
    if random_state is None:
        seed = np.random.SeedSequence(stored[0], spawn_key=tuple(stored[1]))
    elif _seed_parts(seed) != stored:
        raise CheckpointError(
            f"{path} was written with another random_state; give the same one, or none."
        )
    trail, mark = arrays.pop("trail").tolist(), arrays.pop("mark")
    state = search.restore({name.removeprefix("state_"): a for name, a in arrays.items()})
    return Moment(state, header["rng"], mark, header["n_stalled"], trail), seed


def _seed_parts(seed: np.random.SeedSequence) -> tuple[Any, list[int]]:
    """Return entropy and spawn key as JSON holds them."""
    entropy = np.asarray(seed.entropy, dtype=object).tolist()
    plain = [int(part) for part in entropy] if isinstance(entropy, list) else int(entropy)
    return plain, [int(key) for key in seed.spawn_key]


def has_improved(before: Array, after: Array, tolerance: float) -> bool:
    """Tell whether the second set of best solutions is better than the first.

    While nothing keeps its constraints, the least violation must fall. Then, for one objective,
    the best value must fall; for several, the hypervolume must grow. Hypervolumes are measured
    from a point a tenth of their common width beyond both sets.

    Shapes: before, after (n, m + 1).
    """
    worst, now = before[:, -1].min(), after[:, -1].min()
    if worst > 0 or now > 0:
        return bool(now < worst * (1 - tolerance))
    old, new = before[before[:, -1] <= 0, :-1], after[after[:, -1] <= 0, :-1]
    if old.shape[1] == 1:
        return bool(new.min() < old.min() - tolerance * abs(old.min()))
    both = np.concatenate((old, new))
    width = np.ptp(both, axis=0)
    width[width == 0] = 1.0
    reference = (both.max(axis=0) + 0.1 * width) / width
    volumes = [moocore.hypervolume(values / width, ref=reference) for values in (old, new)]
    return bool(volumes[1] > volumes[0] * (1 + tolerance))


Callback = Callable[[SearchResult], Any]


@dataclass(frozen=True)
class RunOptions:
    """How long, where and how visibly a search runs; `nsga2` documents each option."""

    max_iter: int
    time_limit: float | None = None
    stall: int | None = None
    stall_tolerance: float = 0.0
    callback: Callback | None = None
    checkpoint: Checkpoint | str | Path | None = None
    n_jobs: int | None = 1
    chunk_size: int = 50
    stochastic: bool = False
    verbose: bool = False
    random_state: Seed = None

    def __post_init__(self) -> None:
        check_count("max_iter", self.max_iter, least=0)
        check_count("chunk_size", self.chunk_size)
        check_positive("stall_tolerance", self.stall_tolerance, or_zero=True)
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit)
        if self.stall is not None:
            check_count("stall", self.stall)
        if self.n_jobs == 0:
            raise InvalidInputError("n_jobs must not be 0; use 1 for no workers, -1 for all cores.")
        if self.callback is not None and not callable(self.callback):
            raise InvalidInputError(f"callback must be callable, got {self.callback!r}.")


def run(search: Search[S], evaluate: Evaluate, options: RunOptions) -> SearchResult:
    """Run a search until a limit, a stall, a callback or Ctrl-C ends it."""
    if not callable(evaluate):
        raise InvalidInputError(f"evaluate must be callable, got {type(evaluate).__name__}.")
    return _Run(search, evaluate, options).result()


class _Run(Generic[S]):
    """One run: the only object of the searches that changes."""

    def __init__(self, search: Search[S], evaluate: Evaluate, options: RunOptions) -> None:
        self.search, self.options = search, options
        self.checkpoint = as_checkpoint(options.checkpoint)
        self.settings = {
            **search.settings(),
            "evaluate": describe(evaluate),
            "names": describe(search.names),
            "maximise": describe(search.maximise),
            "chunk_size": describe(options.chunk_size),
            "stochastic": describe(options.stochastic),
        }
        self.started = self.saved_at = time.monotonic()
        self.saved_iter = -1
        self.moment: Moment[S] | None = None
        self.directions: Directions | None = None
        self.seed = self.resumed()
        self.rng = np.random.default_rng(
            np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, 0))
        )
        if self.moment is not None:
            self.rng.bit_generator.state = self.moment.rng_state
        self.pool = EvaluationPool(
            evaluate,
            self.seed,
            n_jobs=options.n_jobs,
            chunk_size=options.chunk_size,
            stochastic=options.stochastic,
        )
        self.progress = Progress("searching", total=options.max_iter, verbose=options.verbose)

    def resumed(self) -> np.random.SeedSequence:
        """Take up the moment in the checkpoint, if there is one, and return the seed."""
        options = self.options
        if self.checkpoint is None:
            return seed_sequence(options.random_state)
        self.moment, seed = load_moment(
            self.checkpoint,
            self.search,
            settings=self.settings,
            random_state=options.random_state,
        )
        if self.moment is not None:
            self.saved_iter = self.moment.state.n_iter
        return seed

    def result(self) -> SearchResult:
        with self.pool, self.progress:
            stopped_by = self.loop()
        return self.described(stopped_by)

    def loop(self) -> str:
        """Advance until there is a reason to stop, and return it."""
        try:
            stopped_by = self.stop_reason()
            while stopped_by is None:
                self.moment = self.begun() if self.moment is None else self.advanced(self.moment)
                stopped_by = self.reported(self.moment) or self.stop_reason()
        except KeyboardInterrupt:
            if self.moment is None:
                raise
            stopped_by = "interrupt"
        except OutOfTime:
            stopped_by = "time_limit"
        finally:
            if self.moment is not None:
                self.save(self.moment)
        return stopped_by

    def begun(self) -> Moment[S]:
        population = self.search.first(self.rng)
        # No deadline: there must be a whole population to return.
        evaluated = self.evaluated(population, n_iter=0, deadline=None)
        if not np.isfinite(evaluated.violation).any():
            raise InvalidInputError(
                f"All {len(population)} solutions of the first population have objectives that "
                "are not finite. Check evaluate, or give a start that it can evaluate."
            )
        return self.recorded(self.search.begin(population, evaluated), None)

    def advanced(self, moment: Moment[S]) -> Moment[S]:
        state, limit = moment.state, self.options.time_limit
        deadline = None if limit is None else self.started + limit
        proposal = self.search.ask(state, self.rng)
        if len(proposal.children):
            evaluated = self.evaluated(
                proposal.children, n_iter=state.n_iter + 1, deadline=deadline
            )
        else:
            evaluated = Evaluated(state.values[:0], state.violation[:0])
        return self.recorded(self.search.tell(state, proposal, evaluated), moment)

    def evaluated(self, population: AnyArray, *, n_iter: int, deadline: float | None) -> Evaluated:
        """Return minimised values of a population."""
        values, violation = self.pool(population, n_iter=n_iter, deadline=deadline)
        directions = self.named(values)
        if len(directions) != values.shape[1]:
            raise InvalidInputError(
                f"evaluate returned {values.shape[1]} objectives where "
                f"{len(directions)} were expected."
            )
        if any(directions.maximise):
            values = np.where(np.isinf(violation)[:, None], values, values * directions.sign)
        return Evaluated(values, violation)

    def named(self, values: Array) -> Directions:
        """Return the directions, made when the first values or a checkpoint tell how many."""
        if self.directions is None:
            names = self.search.names
            known = values if self.moment is None else self.moment.state.values
            self.directions = Directions.of(
                known.shape[1] if names is None else names, self.search.maximise
            )
        return self.directions

    def recorded(self, state: S, before: Moment[S] | None) -> Moment[S]:
        """Return the moment after a generation, with history and stall count."""
        n_solutions, best = self.search.summary(state)
        trail = [] if before is None else before.trail
        trail.append([state.n_evaluations, n_solutions, *best.tolist()])
        mark, n_stalled = self.rest(state, before)
        return Moment(state, self.rng.bit_generator.state, mark, n_stalled, trail)

    def rest(self, state: S, before: Moment[S] | None) -> tuple[Array, int]:
        """Return the best so far, and for how many generations it has been that."""
        if self.options.stall is None:
            return np.empty((0, 0)), 0
        mark = self.search.mark(state)
        if before is None or not before.mark.size:
            return mark, 0
        if has_improved(before.mark, mark, self.options.stall_tolerance):
            return mark, 0
        return before.mark, before.n_stalled + 1

    def stop_reason(self) -> str | None:
        options, moment = self.options, self.moment
        if moment is None:
            return None
        if moment.state.n_iter >= options.max_iter:
            return "max_iter"
        if options.stall is not None and moment.n_stalled >= options.stall:
            return "stall"
        limit = options.time_limit
        if limit is not None and time.monotonic() - self.started >= limit:
            return "time_limit"
        return None

    def reported(self, moment: Moment[S]) -> str | None:
        """Save if it is time, show progress, ask the callback."""
        if self.checkpoint is not None and self.checkpoint.is_due(
            moment.state.n_iter, time.monotonic() - self.saved_at
        ):
            self.save(moment)
        if self.options.verbose:
            best = moment.trail[-1][2:] * self.named(moment.state.values).sign
            note = "best " + ", ".join(f"{value:.4g}" for value in best)
            self.progress.update(moment.state.n_iter, note=note)
        callback = self.options.callback
        return "callback" if callback is not None and callback(self.described("running")) else None

    def described(self, stopped_by: str) -> SearchResult:
        if self.moment is None:
            raise InvalidInputError("The search ended before its first population.")
        state = self.moment.state
        best = self.search.best(state)
        directions = self.named(state.values)
        trail = np.array(self.moment.trail[: state.n_iter + 1])
        return SearchResult(
            solutions=best.solutions,
            values=best.values * directions.sign,
            violation=best.violation,
            population=state.population.copy(),
            directions=directions,
            n_iter=state.n_iter,
            n_evaluations=state.n_evaluations,
            stopped_by=stopped_by,
            history=history_of(trail, directions.sign),
        )

    def save(self, moment: Moment[S]) -> None:
        if self.checkpoint is None or moment.state.n_iter == self.saved_iter:
            return
        save_moment(self.checkpoint, moment, settings=self.settings, seed=self.seed)
        self.saved_at, self.saved_iter = time.monotonic(), moment.state.n_iter
