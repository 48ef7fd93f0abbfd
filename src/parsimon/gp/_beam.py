"""Beam search over kernels: grow the best few by one base kernel, evaluate, keep the best few.

`beam_search` follows algorithm 3.1 of He (2016), with its slips corrected: it sorts upwards,
expands members before they leave the list, and begins at the error of the constant kernel. `Beam`
has one level of it as a step of `parsimon.pareto.run`. `KernelEvaluator` evaluates one kernel more
after a search, as the search evaluated its own.
"""

import hashlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar, cast

import numpy as np

from parsimon._checks import check_choice, check_count, check_positive
from parsimon._deadline import Deadline, end_after, is_late
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
from parsimon.gp._grammar import Grammar, active_columns, awaken
from parsimon.gp._kernel_evaluation import (
    GUIDES,
    FailedFit,
    FitStart,
    FoldFits,
    Guide,
    KernelProblem,
    WholeFit,
    cross_validate,
    evidence_at,
    first_look,
    fit_whole,
    needs_folds,
    parent_start,
)
from parsimon.gp._memory import SearchMemory, data_digest, leaf_types
from parsimon.kernels import Constant, Kernel, plain, structure
from parsimon.pareto.run import Ending, OutOfTime, SearchOptions, Standing, run

T = TypeVar("T", WholeFit, FoldFits)

# Log evidences that differ by less are those of the same optimum.
_SAME_EVIDENCE = 0.01


@dataclass(frozen=True)
class BeamOptions:
    """How far, how wide and how long a search over kernels goes; see `KernelSearch`.

    shortlist: Kernels of a level that are cross-validated after the leave-one-out ranking, at least
        `beam`; None for all. One-kernel models always are, unless `judge_first` is false; a guide
        that needs no folds cross-validates the beam alone, for the record.
    patience: Levels without an improvement that are borne before the search ends.
    """

    depth: int = 4
    beam: int = 2
    guide: Guide = "cv_logloss"
    shortlist: int | None = 5
    patience: int = 1
    judge_first: bool = True
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


def beam_search(problem: KernelProblem, grammar: Grammar, options: BeamOptions) -> SearchHistory:
    """Search for the kernel that the guide likes best.

    At each depth every kernel that grows from the beam is fitted to all rows, from its parent's
    hyperparameters and sites; leave-one-out picks a shortlist, which is cross-validated on the
    shared folds; the best few are the next beam. Where many kernels are fitted for a short list,
    the fits are loose at first, and close for twice as many as the list takes. The search ends
    when the best guide has not fallen for more than ``patience`` levels.

    He, "The Automatic Statistician for Classification" (2016), algorithm 3.1.
    """
    beam = Beam(problem, grammar, options)
    limit = options.time_limit
    # The loop asks for more than no time; that still leaves the constant kernel alone.
    seconds = None if limit is None else max(limit, sys.float_info.min)
    # A level may take minutes: the bar counts kernels, not the steps of the loop.
    with beam.workers, beam.progress:
        try:
            return run(beam, SearchOptions(None, time_limit=seconds, random_state=options.seed))
        finally:
            beam.memory.save()


@dataclass(eq=False)
class _Level:
    """The kernels of one depth with what has been measured of them so far.

    note: What the progress bar says meanwhile.
    """

    depth: int
    kernels: list[Kernel]
    parents: list[Candidate | None]
    note: str
    wholes: dict[int, WholeFit | FailedFit] = field(default_factory=dict)
    folds: dict[int, FoldFits | FailedFit] = field(default_factory=dict)


@dataclass(eq=False)
class BeamState:
    """How far a search has come.

    path: The best of each level that improved on the one before.
    open: The level whose kernels are being evaluated, or one without kernels.
    seen: Structures that were tried.
    n_idle: Levels since the last improvement.
    n_tried: Kernels that had a chance of being best so far.
    """

    baseline: Candidate
    levels: list[tuple[Candidate, ...]] = field(default_factory=list)
    path: list[Candidate] = field(default_factory=list)
    open: _Level | None = None
    seen: set[object] = field(default_factory=set)
    depth: int = 0
    n_idle: int = 0
    n_tried: int = 0

    @property
    def best(self) -> Candidate:
        return self.path[-1] if self.path else self.baseline

    def parents(self, beam: int) -> Sequence[Candidate | None]:
        """Return the kernels that are grown further; None is the empty kernel."""
        if not self.levels:
            return [None]
        alive = [
            candidate
            for candidate in self.levels[-1]
            if not math.isnan(candidate.guide) and self.rises(candidate)
        ]
        return alive[:beam]

    def rises(self, candidate: Candidate) -> bool:
        """Say whether the evidence of a kernel is greater than that of the one it grew from."""
        above = [] if len(self.levels) < 2 else self.levels[-2]
        parent = next((other for other in above if other.kernel is candidate.parent), self.baseline)
        return candidate.log_evidence > parent.log_evidence


class Beam:
    """A search over kernels as a process: each step is a level.

    `SearchMemory` keeps what was measured, so that the loop itself writes no checkpoints.
    """

    title, keeps_states = "judging kernels", False

    def __init__(self, problem: KernelProblem, grammar: Grammar, options: BeamOptions) -> None:
        self.problem, self.grammar, self.options = problem, grammar, options
        self.memory = SearchMemory(
            options.checkpoint, self.settings(), leaf_types((*grammar.base, Constant()))
        )
        self.workers = Workers(options.n_jobs)
        self.progress = Progress(self.title, total=None, verbose=options.verbose)
        self.n_done = 0

    def settings(self) -> dict[str, str]:
        """Return what a measurement depends on, beside its kernel."""
        problem, seed = self.problem, self.options.seed
        return {
            "data and folds": data_digest(problem),
            "task": problem.task,
            "n_restarts": str(problem.n_restarts),
            **({} if problem.refits else {"refits": "False"}),
            "seed": str(seed.entropy),
            "spawn key": str(seed.spawn_key),
        }

    def prepare(self, seed: np.random.SeedSequence) -> np.random.Generator:
        return np.random.default_rng(seed)

    def begin(self, rng: np.random.Generator) -> BeamState:  # noqa: ARG002 - seeds are the kernels'
        """Evaluate the constant kernel, with which everything is compared."""
        level = _Level(0, [Constant()], [None], note="the constant kernel")
        self.fit_some(level, [0])
        self.cross_validate(level, [0])
        baseline = self.candidate(level, 0)
        if baseline.judged_by == "failed":
            raise np.linalg.LinAlgError(
                f"The constant kernel could not be judged: {baseline.message}"
            )
        return BeamState(baseline)

    def step(
        self,
        state: BeamState,
        rng: np.random.Generator,  # noqa: ARG002 - seeds are the kernels'
        deadline: Deadline,
    ) -> BeamState:
        """Grow, evaluate and rank the next level."""
        state.depth += 1
        level = state.open = self.grow(state)
        if level.kernels:
            self.fit_all(level, deadline)
            # One-kernel models are all judged, or none where the folds choose nothing.
            unjudged = level.depth == 1 and not self.options.judge_first
            places = [] if unjudged else self.ranked(level)[: self.n_listed(level)]
            self.cross_validate(level, places, deadline)
            self.close(state)
        return state

    def standing(self, state: BeamState) -> Standing:
        return Standing(self.n_done, state.n_idle)

    def row(self, state: BeamState) -> tuple[float, ...]:
        return state.depth, state.best.guide

    def note(self, state: BeamState) -> str:
        best = plain(state.best.kernel) if state.path else "constant"
        return f"depth {state.depth}, best so far {best}"

    def finished(self, state: BeamState) -> StoppedBy | None:
        if state.open is not None:
            return "exhausted"
        if state.n_idle > self.options.patience:
            return "no_improvement"
        return "depth" if state.depth == self.options.depth else None

    def result(self, state: BeamState, ending: Ending) -> SearchHistory:
        """Return all that was measured, a level that was interrupted included."""
        if state.open is not None:
            self.close(state)
        return SearchHistory(
            state.baseline,
            tuple(state.levels),
            tuple(state.path),
            cast("StoppedBy", ending.stopped_by),
            self.options.guide,
            self.problem.task,
        )

    def grow(self, state: BeamState) -> _Level:
        """Return the children of the beam that no level had before."""
        level = _Level(state.depth, [], [], self.note(state))
        for parent in state.parents(self.options.beam):
            above = None
            if parent is not None:
                least = self.problem.least_variance
                above = awaken(parent.kernel, self.grammar.base, self.problem.X, least)
            for child in self.grammar.children(above, state.depth):
                key = structure(child)
                if key not in state.seen:
                    state.seen.add(key)
                    level.kernels.append(child)
                    level.parents.append(parent)
        return level

    def fit_all(self, level: _Level, deadline: Deadline) -> None:
        """Fit every kernel of the level to all rows: the promising ones closely."""
        places, n_listed = list(range(len(level.kernels))), self.n_listed(level)
        # Other guides than the folds' compare the fits to all rows themselves.
        if n_listed is not None and needs_folds(self.options.guide):
            n_close = 2 * n_listed
            if n_close < len(places):
                self.fit_some(level, places, deadline, stage="loose")
                places = self.ranked(level)[:n_close]
        self.fit_some(level, places, deadline)

    def fit_some(
        self,
        level: _Level,
        places: list[int],
        deadline: Deadline = None,
        stage: Literal["loose", "whole"] = "whole",
    ) -> None:
        """Fit some kernels of the level to all rows, from a loose fit if there is one."""
        parents = {id(level.parents[place]): level.parents[place] for place in places}
        starts = {
            key: FitStart()
            if parent is None
            else parent_start(self.problem, parent.kernel, parent.noise_variance)
            for key, parent in parents.items()
        }
        kernels = {place: level.kernels[place] for place in places}

        def call(place: int) -> tuple[object, ...]:
            kernel, loose = level.kernels[place], level.wholes.get(place)
            seed = structure_seed(self.options.seed, kernel)
            start = starts[id(level.parents[place])]
            if stage == "whole" and isinstance(loose, WholeFit):
                start = start._replace(noise_variance=loose.noise_variance)
                return replace(self.problem, n_restarts=0), loose.kernel, start, seed
            return self.problem, kernel, start, seed, stage == "loose"

        found = self.measure_all(stage, measure_whole, kernels, call, level.note, deadline)
        for place, whole in found:
            level.wholes[place] = whole

    def cross_validate(self, level: _Level, places: list[int], deadline: Deadline = None) -> None:
        """Evaluate some kernels of the level on the folds."""
        wholes = {
            place: whole for place in places if isinstance(whole := level.wholes[place], WholeFit)
        }
        kernels = {place: whole.kernel for place, whole in wholes.items()}

        def call(place: int) -> tuple[object, ...]:
            return self.problem, wholes[place]

        found = self.measure_all("folds", measure_folds, kernels, call, level.note, deadline)
        for place, folds in found:
            level.folds[place] = folds

    def measure_all(
        self,
        stage: str,
        measure: Callable[..., T | FailedFit],
        kernels: dict[int, Kernel],
        call: Callable[[int], tuple[object, ...]],
        note: str,
        deadline: Deadline,
    ) -> Iterator[tuple[int, T | FailedFit]]:
        """Yield what is remembered of kernels by place, then what is measured now."""
        waiting = []
        for place, kernel in kernels.items():
            known = cast("T | FailedFit | None", self.memory.recall(stage, kernel))
            if known is None:
                waiting.append(place)
            else:
                yield place, known
        results = self.workers.map(measure, map(call, waiting), deadline=deadline)
        n_measured = 0
        for place, result in zip(waiting, results, strict=False):
            self.memory.store(stage, kernels[place], result)
            self.n_done += 1
            self.progress.update(self.n_done, note=note)
            n_measured += 1
            yield place, result
        if n_measured < len(waiting):
            raise OutOfTime

    def n_listed(self, level: _Level) -> int | None:
        """Return how many kernels of the level will be cross-validated, None for all."""
        options = self.options
        if options.shortlist is None or level.depth <= 1:
            return None
        return max(options.shortlist if needs_folds(options.guide) else options.beam, options.beam)

    def ranked(self, level: _Level) -> list[int]:
        """Return the places of kernels that could be fitted, by a first look at leave-one-out."""
        n_rows = len(self.problem.y)
        looks = {
            place: first_look(self.options.guide, whole, n_rows)
            for place, whole in level.wholes.items()
            if isinstance(whole, WholeFit)
        }
        return sorted(looks, key=lambda place: (looks[place], place))

    def close(self, state: BeamState) -> None:
        """Rank the open level and see whether its best improves on what was best."""
        level, state.open = state.open, None
        if level is None:
            return
        if not state.path:
            state.n_tried += len(level.kernels)
        order = Order(self.options.guide, state.baseline, state.n_tried)
        ranked = order.ranked(self.candidate(level, place) for place in sorted(level.wholes))
        state.n_idle += 1
        if not ranked:
            return
        state.levels.append(ranked)
        if order.improves(ranked[0], state.best):
            state.path.append(ranked[0])
            state.n_idle = 0

    def candidate(self, level: _Level, place: int) -> Candidate:
        kernel, parent = level.kernels[place], level.parents[place]
        return candidate_of(
            kernel,
            level.wholes[place],
            level.folds.get(place),
            guide=self.options.guide,
            depth=level.depth,
            parent=None if parent is None else parent.kernel,
            columns=active_columns(kernel, self.grammar.base),
            n_rows=len(self.problem.y),
        )


class KernelEvaluator:
    """Fits a kernel to all rows and to each fold, from its own hyperparameters.

    What the search has cross-validated, or what was evaluated before, is not fitted again.

    problem: Of the search.
    history: What the search has measured.
    base: Base kernels of the search, for kernels that act on all columns.
    seed: Of the search.
    """

    def __init__(
        self,
        problem: KernelProblem,
        history: SearchHistory,
        base: tuple[Kernel, ...],
        seed: np.random.SeedSequence,
    ) -> None:
        self._problem = problem
        self._guide = history.guide
        self._noise = _noise_of(history)
        self._base = base
        # Plain values and no keys but texts, so that skops can store them as well as pickle.
        self._entropy, self._spawn_key = seed.entropy, seed.spawn_key
        self._known = list(history.cross_validated)

    def __call__(self, kernel: Kernel, time_limit: float | None = None) -> Candidate:
        """Return what was measured of the kernel; a fit that breaks down is said in it."""
        if not isinstance(kernel, Kernel):
            raise InvalidInputError(f"Only a kernel can be judged, got {type(kernel).__name__}.")
        if not kernel.is_psd:
            raise InvalidInputError(
                f"{kernel} is not positive semi-definite, so that no Gaussian process has it as "
                "its covariance. Judge another kernel."
            )
        known = self._find(kernel)
        if known is not None:
            return known
        deadline = end_after(time_limit)
        self.end_by(deadline)
        found = self._candidate(kernel, self._fit(kernel, self._noise))
        self.end_by(None)
        if not is_late(deadline):
            self._known.append(found)
        return found

    def from_several_starts(self, kernel: Kernel) -> Candidate:
        """Return the kernel where its evidence is greatest.

        It is fitted from its own hyperparameters, though the search may have come to it from
        others, and once more where a term of it ended with next to no variance.
        """
        fits = [self._fit(kernel, self._noise)]
        first = fits[0]
        if isinstance(first, WholeFit):
            least = self._problem.least_variance
            again = awaken(first.kernel, self._base, self._problem.X, least)
            if again != first.kernel:
                fits.append(self._fit(again, None))
        known = self._find(kernel)
        best = max(fits, key=_evidence_of)
        if known is not None and known.log_evidence >= _evidence_of(best) - _SAME_EVIDENCE:
            return known
        found = self._candidate(kernel, best)
        self._known = [*(other for other in self._known if other is not known), found]
        return found

    def improved(self, candidate: Candidate, starts: Iterable[Candidate]) -> Candidate:
        """Return a candidate with greater evidence, where others of its structure lead to one.

        starts: Fitted to other rows, such as those of outer folds.
        """
        key = structure(candidate.kernel)
        alike = [other for other in starts if structure(other.kernel) == key]
        problem = self._problem
        evidence = [evidence_at(problem, other.kernel, other.noise_variance) for other in alike]
        if max(evidence, default=-math.inf) <= candidate.log_evidence + _SAME_EVIDENCE:
            return candidate
        start = alike[int(np.argmax(evidence))]
        whole = self._fit(start.kernel, start.noise_variance)
        if _evidence_of(whole) <= candidate.log_evidence:
            return candidate
        return replace(self._candidate(start.kernel, whole), parent=candidate.parent)

    def _find(self, kernel: Kernel) -> Candidate | None:
        key = structure(kernel)
        return next(
            (candidate for candidate in self._known if structure(candidate.kernel) == key), None
        )

    def end_by(self, deadline: Deadline) -> None:
        """Let fits end by a moment of the monotonic clock, or take the time that they need."""
        self._problem = replace(self._problem, deadline=deadline)

    def _fit(self, kernel: Kernel, noise_variance: float | None) -> WholeFit | FailedFit:
        seed = np.random.SeedSequence(self._entropy, spawn_key=self._spawn_key)
        start = FitStart(noise_variance=noise_variance)
        # Several threads round otherwise, and are slower on matrices of this size.
        with one_thread():
            return measure_whole(self._problem, kernel, start, structure_seed(seed, kernel))

    def _candidate(self, kernel: Kernel, whole: WholeFit | FailedFit) -> Candidate:
        folds = None
        if isinstance(whole, WholeFit):
            with one_thread():
                folds = measure_folds(self._problem, whole)
        return candidate_of(
            kernel,
            whole,
            folds,
            guide=self._guide,
            depth=count_base(kernel),
            parent=None,
            columns=active_columns(kernel, self._base),
            n_rows=len(self._problem.y),
        )


def _evidence_of(fit: WholeFit | FailedFit) -> float:
    return fit.log_evidence if isinstance(fit, WholeFit) else -math.inf


def _noise_of(history: SearchHistory) -> float | None:
    """Return the noise of the best kernel, or of the most probable one if none was judged."""
    known = [candidate for candidate in history if candidate.judged_by == "leave-one-out"]
    if len(known) < len(history) or not known:
        return history.best.noise_variance
    return max(known, key=lambda candidate: candidate.log_evidence).noise_variance


def structure_seed(seed: np.random.SeedSequence, kernel: Kernel) -> np.random.SeedSequence:
    """Return a seed that belongs to the kernel's structure, not to a place in the queue."""
    digest = hashlib.sha256(repr(structure(kernel)).encode()).digest()
    words = np.frombuffer(digest[:16], dtype=np.uint32).tolist()
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *words))


def measure_whole(
    problem: KernelProblem,
    kernel: Kernel,
    start: FitStart,
    seed: np.random.SeedSequence,
    loosely: bool = False,
) -> WholeFit | FailedFit:
    """Fit a kernel to all rows; a failure is returned as a sentence, and the search goes on."""
    try:
        found = fit_whole(problem.copied(), kernel, start, seed, loosely=loosely)
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        return FailedFit(f"The fit to all rows failed: {error}")
    return found if _finite(found[1:6]) else FailedFit("The fit to all rows is not finite.")


def measure_folds(problem: KernelProblem, whole: WholeFit) -> FoldFits | FailedFit:
    """Cross-validate a kernel; one fold that fails is a kernel that fails."""
    try:
        found = cross_validate(problem.copied(), whole)
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        return FailedFit(f"The fit to a fold failed: {error}")
    return found if _finite(found) else FailedFit("The fit to a fold is not finite.")


def _finite(values: object) -> bool:
    numbers: Array = np.array(values, dtype=np.float64)
    return bool(np.isfinite(numbers).all())
