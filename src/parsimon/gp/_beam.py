"""Beam search over kernels: grow the best few by one base kernel, judge, keep the best few.

`beam_search` follows algorithm 3.1 of He (2016), with its slips corrected: it sorts upwards,
expands members before they leave the list, and begins at the error of the constant kernel.

One kernel more, judged after a search as the search judged its own.
"""

import hashlib
import math
import time
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from parsimon._checks import check_choice, check_count, check_positive
from parsimon._parallel import Workers, one_thread
from parsimon._progress import Progress
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.gp._candidates import (
    Candidate,
    Order,
    SearchHistory,
    StoppedBy,
    candidate_of,
    count_base,
)
from parsimon.gp._evaluate import (
    GUIDES,
    Folded,
    Guide,
    Problem,
    Start,
    Whole,
    cross_validate,
    first_look,
    fit_whole,
    needs_folds,
    parent_start,
)
from parsimon.gp._grammar import Grammar, active_columns
from parsimon.gp._memory import Failed, SearchMemory, data_digest, leaf_types
from parsimon.kernels import Constant, Kernel, plain, structure
from parsimon.pareto._evaluation_pool import OutOfTime


@dataclass(frozen=True)
class SearchOptions:
    """How far, how wide and how long a search over kernels goes; see `KernelSearch`."""

    depth: int = 4
    beam: int = 2
    guide: Guide = "cv_error"
    shortlist: int | None = 8
    patience: int = 1
    n_jobs: int | None = 1
    time_limit: float | None = None
    checkpoint: str | Path | None = None
    verbose: bool = False
    seed: np.random.SeedSequence = field(default_factory=lambda: np.random.SeedSequence(0))

    def __post_init__(self) -> None:
        check_count("depth", self.depth)
        check_count("beam", self.beam)
        check_count("patience", self.patience, least=0)
        check_choice("guide", self.guide, GUIDES)
        if self.shortlist is not None:
            check_count("shortlist", self.shortlist)
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit, or_zero=True)
        if self.n_jobs == 0:
            raise InvalidInputError("n_jobs must not be 0; use 1 for no workers, -1 for all cores.")


def beam_search(problem: Problem, grammar: Grammar, options: SearchOptions) -> SearchHistory:
    """Search for the kernel that the guide likes best.

    At each depth every kernel that grows from the beam is fitted to all rows, from its parent's
    hyperparameters and sites; leave-one-out picks a shortlist, which is cross-validated on the
    shared folds; the best few are the next beam. Where many kernels are fitted for a short list,
    the fits are loose at first, and close for twice as many as the list takes. The search ends
    when the best guide has not fallen for more than ``patience`` levels.

    He, "The Automatic Statistician for Classification" (2016), algorithm 3.1.
    """
    return _Run(problem, grammar, options).history()


@dataclass(eq=False)
class _Level:
    """The kernels of one depth with what has been measured of them so far."""

    depth: int
    kernels: list[Kernel]
    parents: list[Candidate | None]
    wholes: dict[int, Whole | Failed] = field(default_factory=dict)
    folds: dict[int, Folded | Failed] = field(default_factory=dict)


class _Run:
    """One run: the only object of the search that changes."""

    def __init__(self, problem: Problem, grammar: Grammar, options: SearchOptions) -> None:
        self.problem, self.grammar, self.options = problem, grammar, options
        self.memory = SearchMemory(
            options.checkpoint, self.settings(), leaf_types((*grammar.base, Constant()))
        )
        self.workers = Workers(options.n_jobs)
        self.progress = Progress("judging kernels", total=None, verbose=options.verbose)
        limit = options.time_limit
        self.deadline = None if limit is None else time.monotonic() + limit
        self.seen: set[object] = set()
        self.levels: list[tuple[Candidate, ...]] = []
        self.path: list[Candidate] = []
        self.open: _Level | None = None
        self.n_tried = self.n_done = 0

    def settings(self) -> dict[str, str]:
        """Return what a measurement depends on, beside its kernel."""
        problem, seed = self.problem, self.options.seed
        return {
            "data and folds": data_digest(problem),
            "task": problem.task,
            "inference": problem.inference,
            "n_restarts": str(problem.n_restarts),
            "seed": str(seed.entropy),
            "spawn key": str(seed.spawn_key),
        }

    def history(self) -> SearchHistory:
        with self.workers, self.progress:
            try:
                self.baseline = self.judged_baseline()
                stopped_by = self.loop()
            finally:
                self.memory.save()
        return SearchHistory(
            self.baseline,
            tuple(self.levels),
            tuple(self.path),
            stopped_by,
            self.options.guide,
            self.problem.task,
        )

    def judged_baseline(self) -> Candidate:
        """Judge the constant kernel, whatever the deadline: everything is compared with it."""
        level = _Level(0, [Constant()], [None])
        deadline, self.deadline = self.deadline, None
        self.fit_all(level)
        self.cross_validate(level, [0])
        self.deadline = deadline
        found = self.candidate(level, 0)
        if found.judged_by == "failed":
            raise np.linalg.LinAlgError(f"The constant kernel could not be judged: {found.message}")
        return found

    def loop(self) -> StoppedBy:
        try:
            return self.deepen()
        except KeyboardInterrupt:
            stopped_by: StoppedBy = "interrupt"
        except OutOfTime:
            stopped_by = "time_limit"
        if self.open is not None:
            self.close(self.open)
        return stopped_by

    def deepen(self) -> StoppedBy:
        parents: list[Candidate | None] = [None]
        stale = 0
        for depth in range(1, self.options.depth + 1):
            self.open = self.grown(parents, depth)
            if not self.open.kernels:
                self.open = None
                return "exhausted"
            self.fit_all(self.open)
            self.cross_validate(self.open, self.shortlisted(self.open))
            stale = 0 if self.close(self.open) else stale + 1
            if stale > self.options.patience:
                return "no_improvement"
            judged = (one for one in self.levels[-1] if not math.isnan(one.guide))
            parents = [one for _, one in zip(range(self.options.beam), judged, strict=False)]
        return "depth"

    def grown(self, parents: list[Candidate | None], depth: int) -> _Level:
        """Return the children of the beam that no level had before."""
        level = _Level(depth, [], [])
        for parent in parents:
            for child in self.grammar.children(None if parent is None else parent.kernel, depth):
                key = structure(child)
                if key not in self.seen:
                    self.seen.add(key)
                    level.kernels.append(child)
                    level.parents.append(parent)
        return level

    def fit_all(self, level: _Level) -> None:
        """Fit every kernel of the level to all rows: the promising ones closely."""
        places, n_listed = list(range(len(level.kernels))), self.n_listed(level)
        # Other guides than the folds' compare the fits to all rows themselves.
        if n_listed is not None and needs_folds(self.options.guide):
            n_close = 2 * n_listed
            if n_close < len(places):
                self.fit_some(level, places, loosely=True)
                places = self.ranked(level)[:n_close]
        self.fit_some(level, places)

    def fit_some(self, level: _Level, places: list[int], *, loosely: bool = False) -> None:
        """Fit some kernels of the level to all rows, from a loose fit if there is one."""
        starts = self.starts_of(level, places)
        stage = "loose" if loosely else "whole"
        waiting, n_fitted = [], 0
        for place in places:
            known = self.memory.recall(stage, level.kernels[place])
            if isinstance(known, (Whole, Failed)):
                level.wholes[place] = known
                n_fitted += 1
            else:
                waiting.append(place)
        calls = (self.call_of(level, place, starts[place], loosely=loosely) for place in waiting)
        results = self.workers.map(measure_whole, calls, deadline=self.deadline)
        for place, result in zip(waiting, results, strict=False):
            level.wholes[place] = result
            n_fitted += 1
            self.memory.store(stage, level.kernels[place], result)
            self.show(level)
        if n_fitted < len(places):
            raise OutOfTime

    def call_of(
        self, level: _Level, place: int, start: Start, *, loosely: bool
    ) -> tuple[object, ...]:
        kernel, loose = level.kernels[place], level.wholes.get(place)
        seed = self.seed_of(kernel)
        if loosely:
            return self.problem, kernel, start, seed, True
        if isinstance(loose, Whole):
            start = start._replace(noise_variance=loose.noise_variance)
            return replace(self.problem, n_restarts=0), loose.kernel, start, seed
        return self.problem, kernel, start, seed

    def n_listed(self, level: _Level) -> int | None:
        """Return how many kernels of the level will be cross-validated, None for all."""
        options = self.options
        if options.shortlist is None or level.depth <= 1:
            return None
        return max(options.shortlist if needs_folds(options.guide) else options.beam, options.beam)

    def cross_validate(self, level: _Level, places: list[int]) -> None:
        """Judge some kernels of the level on the folds."""
        wholes = {
            place: whole for place in places if isinstance(whole := level.wholes[place], Whole)
        }
        waiting = []
        for place, whole in wholes.items():
            known = self.memory.recall("folds", whole.kernel)
            if isinstance(known, (Folded, Failed)):
                level.folds[place] = known
            else:
                waiting.append(place)
        calls = ((self.problem, wholes[place]) for place in waiting)
        results = self.workers.map(measure_folds, calls, deadline=self.deadline)
        for place, result in zip(waiting, results, strict=False):
            level.folds[place] = result
            self.memory.store("folds", wholes[place].kernel, result)
            self.show(level)
        if len(level.folds) < len(wholes):
            raise OutOfTime

    def ranked(self, level: _Level) -> list[int]:
        """Return the places of kernels that could be fitted, by a first look at leave-one-out."""
        n_rows = len(self.problem.y)
        looks = {
            place: first_look(self.options.guide, whole, n_rows)
            for place, whole in level.wholes.items()
            if isinstance(whole, Whole)
        }
        return sorted(looks, key=lambda place: (looks[place], place))

    def shortlisted(self, level: _Level) -> list[int]:
        """Return the places that deserve the folds, by a first look at leave-one-out.

        All one-kernel models do, since the report shows them.
        """
        return self.ranked(level)[: self.n_listed(level)]

    def close(self, level: _Level) -> bool:
        """Rank the level and say whether its best improves on what was best."""
        self.open = None
        if not self.path:
            self.n_tried += len(level.kernels)
        order = Order(self.options.guide, self.baseline, self.n_tried)
        ranked = order.ranked(self.candidate(level, place) for place in sorted(level.wholes))
        if not ranked:
            return False
        self.levels.append(ranked)
        improves = order.improves(ranked[0], self.path[-1] if self.path else self.baseline)
        if improves:
            self.path.append(ranked[0])
        return improves

    def candidate(self, level: _Level, place: int) -> Candidate:
        whole, folded = level.wholes[place], level.folds.get(place)
        parent = level.parents[place]
        kernel = level.kernels[place]
        columns = active_columns(kernel, self.grammar.base)
        above = None if parent is None else parent.kernel
        if isinstance(whole, Failed) or isinstance(folded, Failed):
            failed = [one.message for one in (whole, folded) if isinstance(one, Failed)]
            return Candidate(
                kernel=kernel,
                depth=level.depth,
                parent=above,
                columns=columns,
                message=failed[0],
            )
        return candidate_of(
            whole,
            folded,
            guide=self.options.guide,
            depth=level.depth,
            parent=above,
            columns=columns,
            n_rows=len(self.problem.y),
        )

    def starts_of(self, level: _Level, places: list[int]) -> dict[int, Start]:
        """Return where the fits begin; each parent is looked at once."""
        parents = {id(level.parents[place]): level.parents[place] for place in places}
        starts = {key: self.start_of(parent) for key, parent in parents.items()}
        return {place: starts[id(level.parents[place])] for place in places}

    def start_of(self, parent: Candidate | None) -> Start:
        if parent is None:
            return Start()
        return parent_start(self.problem, parent.kernel, parent.noise_variance)

    def seed_of(self, kernel: Kernel) -> np.random.SeedSequence:
        """Return a seed that belongs to the structure, not to a place in the queue."""
        digest = hashlib.sha256(repr(structure(kernel)).encode()).digest()
        words = np.frombuffer(digest[:16], dtype=np.uint32).tolist()
        seed = self.options.seed
        return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *words))

    def show(self, level: _Level) -> None:
        self.n_done += 1
        best = plain(self.path[-1].kernel) if self.path else "constant"
        self.progress.update(self.n_done, note=f"depth {level.depth}, best so far {best}")


def measure_whole(
    problem: Problem,
    kernel: Kernel,
    start: Start,
    seed: np.random.SeedSequence,
    loosely: bool = False,
) -> Whole | Failed:
    """Fit a kernel to all rows; a failure is returned as a sentence, and the search goes on."""
    try:
        found = fit_whole(problem.copied(), kernel, start, seed, loosely=loosely)
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        return Failed(f"The fit to all rows failed: {error}")
    return found if _finite(found[1:6]) else Failed("The fit to all rows is not finite.")


def measure_folds(problem: Problem, whole: Whole) -> Folded | Failed:
    """Cross-validate a kernel; one fold that fails is a kernel that fails."""
    try:
        found = cross_validate(problem.copied(), whole)
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        return Failed(f"The fit to a fold failed: {error}")
    return found if _finite(found) else Failed("The fit to a fold is not finite.")


def _finite(values: object) -> bool:
    numbers: Array = np.array(values, dtype=np.float64)
    return bool(np.isfinite(numbers).all())


class Judge:
    """Fits a kernel to all rows and to each fold, from its own hyperparameters.

    What the search has cross-validated, or what was judged before, is not fitted again.

    problem: Of the search.
    history: What the search has measured.
    base: Base kernels of the search, for kernels that act on all columns.
    seed: Of the search; restarts depend on it and on the kernel's structure, not on the order
        in which kernels are judged.
    """

    def __init__(
        self,
        problem: Problem,
        history: SearchHistory,
        base: tuple[Kernel, ...],
        seed: np.random.SeedSequence,
    ) -> None:
        self._problem = problem
        self._guide = history.guide
        self._noise = history.best.noise_variance
        self._base = base
        self._seed = seed
        self._known: dict[Hashable, Candidate] = {
            structure(one.kernel): one for one in history.cross_validated
        }

    def __call__(self, kernel: Kernel) -> Candidate:
        """Return what was measured of the kernel; a fit that breaks down is said in it."""
        if not isinstance(kernel, Kernel):
            raise InvalidInputError(f"Only a kernel can be judged, got {type(kernel).__name__}.")
        if not kernel.is_psd:
            raise InvalidInputError(
                f"{kernel} is not positive semi-definite, so that no Gaussian process has it as "
                "its covariance. Judge another kernel."
            )
        key = structure(kernel)
        if key not in self._known:
            # Several threads round otherwise, and are slower on matrices of this size.
            with one_thread():
                self._known[key] = self._measured(kernel)
        return self._known[key]

    def _measured(self, kernel: Kernel) -> Candidate:
        start = Start(noise_variance=self._noise)
        whole = measure_whole(self._problem, kernel, start, self._seed_of(kernel))
        if isinstance(whole, Failed):
            return self._failed(kernel, whole)
        folded = measure_folds(self._problem, whole)
        if isinstance(folded, Failed):
            return self._failed(kernel, folded)
        return candidate_of(
            whole,
            folded,
            guide=self._guide,
            depth=count_base(kernel),
            parent=None,
            columns=active_columns(kernel, self._base),
            n_rows=len(self._problem.y),
        )

    def _failed(self, kernel: Kernel, failed: Failed) -> Candidate:
        return Candidate(
            kernel=kernel,
            depth=count_base(kernel),
            parent=None,
            columns=active_columns(kernel, self._base),
            message=failed.message,
        )

    def _seed_of(self, kernel: Kernel) -> np.random.SeedSequence:
        digest = hashlib.sha256(repr(structure(kernel)).encode()).digest()
        words = np.frombuffer(digest[:16], dtype=np.uint32).tolist()
        return np.random.SeedSequence(self._seed.entropy, spawn_key=(*self._seed.spawn_key, *words))
