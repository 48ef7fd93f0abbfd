"""Searches over populations: settings with `ask` and `tell`, and states that never change.

An algorithm (`Search`) holds settings only; where it stands is in a `State`, an immutable set of
arrays that a checkpoint can hold. `search_generations` runs one in the loop of `run` and returns
a `SearchResult`: solutions, their values, and how the run went.
"""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar, cast

import moocore
import numpy as np

from parsimon._deadline import Deadline
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.pareto._checkpoint import describe_option
from parsimon.pareto._directions import Directions
from parsimon.pareto._evaluation_pool import Evaluated, EvaluationPool
from parsimon.pareto.run import Ending, SearchOptions, Standing, child_generator, run
from parsimon.pareto.space import Space
from parsimon.pareto.variation import Crossover, Mutation, StepSize, cross, mutate

if TYPE_CHECKING:
    from parsimon.pareto.front import Front


@dataclass(frozen=True, eq=False)
class State:
    """Where a search stands after a generation; all values are minimised."""

    population: AnyArray
    values: Array
    violation: Array
    n_iter: int
    n_evaluations: int
    step: StepSize

    def to_arrays(self) -> dict[str, AnyArray]:
        """Return every field as an array, for a checkpoint."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, AnyArray]) -> Self:
        """Return the state that `to_arrays` wrote."""
        made: dict[str, Any] = {
            name: array if array.ndim else array.item() for name, array in arrays.items()
        }
        factor, n_successes, n_trials = made["step"].tolist()
        return cls(**{**made, "step": StepSize(factor, int(n_successes), int(n_trials))})


class Proposal(NamedTuple):
    """Children to evaluate, and what `tell` needs to know beside them.

    `kept` are the rows of the population that stay; `parents` are, for each mutant, the place of
    its parent among the kept rows followed by the children, and -1 for a child that is no mutant;
    `extra` belongs to the algorithm.
    """

    children: AnyArray
    kept: Indices | None = None
    parents: Indices | None = None
    extra: AnyArray | None = None


class Best(NamedTuple):
    """The best solutions of a state, shape (k, n_variables), with values and violations."""

    solutions: AnyArray
    values: Array
    violation: Array


P = TypeVar("P", bound=State)


class Search(ABC, Generic[P]):
    """An algorithm: its settings as a value, and one generation of it as `ask` and `tell`.

    names: Of the objectives, if the user gave any.
    maximise: Names of the objectives to maximise, or all or none.
    stall_tolerance: The share by which the best must improve if the search is not to stall.
    """

    state_type: ClassVar[type[State]] = State
    space: Space
    start: AnyArray | None
    population_size: int
    names: tuple[str, ...] | None
    maximise: tuple[str, ...] | bool
    stall_tolerance: float

    def settings(self) -> dict[str, str]:
        """Return what decides the course of the search, for checkpoints to compare."""
        return {
            **self.own_settings(),
            "space": self.space.describe(),
            "start": describe_start(self.start),
            "population_size": describe_option(self.population_size),
        }

    def first(self, rng: np.random.Generator) -> AnyArray:
        """Return the first population: the given start, filled up with random solutions."""
        n_given = 0 if self.start is None else len(self.start)
        n_drawn = self.population_size - n_given
        drawn = self.space.sample(n_drawn, rng) if n_drawn > 0 else None
        return np.concatenate([part for part in (self.start, drawn) if part is not None])

    def restore(self, arrays: dict[str, AnyArray]) -> P:
        """Return a state from a checkpoint's arrays."""
        return cast("P", self.state_type.from_arrays(arrays))

    @abstractmethod
    def own_settings(self) -> dict[str, str]:
        """Return the name of the search, and the settings that others have not."""

    @abstractmethod
    def begin(self, population: AnyArray, evaluated: Evaluated) -> P:
        """Return the state of the first population."""

    @abstractmethod
    def ask(self, state: P, rng: np.random.Generator) -> Proposal:
        """Return the next solutions to evaluate."""

    @abstractmethod
    def tell(self, state: P, proposal: Proposal, evaluated: Evaluated) -> P:
        """Return the state after these solutions have been evaluated."""

    @abstractmethod
    def best(self, state: P) -> Best:
        """Return the best distinct solutions."""

    @abstractmethod
    def summary(self, state: P) -> tuple[int, Array]:
        """Return the number of best solutions and the best of each objective."""

    @abstractmethod
    def mark(self, state: P) -> Array:
        """Return what must improve if the search is not to stall, as `has_improved` reads it."""


def crossed_and_mutated(
    parents: AnyArray,
    crossover: Crossover | None,
    mutation: Mutation | None,
    step: StepSize,
    space: Space,
    rng: np.random.Generator,
) -> tuple[AnyArray, Indices]:
    """Return crossed children, then a mutated clone of every parent and every crossed child.

    The generation step of Mierswa's evolutionary algorithms (2009, section 3.1). Row i of the
    first half of the parents meets row i of the second. A child equal to its parent needs no
    evaluation and is left out. The second array has, for each clone, the place of its parent
    among the parents followed by the crossed children, and -1 for each crossed child.
    """
    crossed = space.repair(cross(parents, crossover, space, rng))
    changed = np.flatnonzero((crossed != parents).any(axis=1))
    crossed = crossed[changed]
    sources = np.concatenate((parents, crossed))
    mutants = mutate(sources, mutation, step, space, rng)
    moved = np.flatnonzero((mutants != sources).any(axis=1))
    unmutated = np.full(len(crossed), -1, dtype=np.intp)
    return np.concatenate((crossed, mutants[moved])), np.concatenate((unmutated, moved))


def check_start(space: Any, start: Any, size: int) -> AnyArray | None:
    """Return a user's start in the type of the space, refusing too many rows."""
    if not isinstance(space, Space):
        raise InvalidInputError(
            f"space must be a Box, Bits or Integers, got {type(space).__name__}."
        )
    if start is None:
        return None
    given = space.check(start)
    if len(given) > size:
        raise InvalidInputError(f"start has {len(given)} rows, more than population_size = {size}.")
    return given


def describe_start(start: AnyArray | None) -> str:
    """Return a short text that two starts share only if they are equal."""
    return "None" if start is None else hashlib.sha256(start.tobytes()).hexdigest()[:16]


def as_names(names: Any, maximise: Any) -> tuple[tuple[str, ...] | None, tuple[str, ...] | bool]:
    """Return names and what to maximise as values, checked as far as can be without values."""
    listed = None if names is None else Directions.of(names).names
    if isinstance(maximise, (bool, np.bool_)):
        wanted: tuple[str, ...] | bool = bool(maximise)
    else:
        wanted = (maximise,) if isinstance(maximise, str) else tuple(maximise)
    if listed is not None:
        Directions.of(listed, wanted)
    return listed, wanted


@dataclass(frozen=True, eq=False)
class History:
    """One entry for each generation, the first population being entry 0.

    n_evaluations (n_iter + 1,): Solutions evaluated so far.
    n_solutions (n_iter + 1,): Size of the front of the population; 0 while none keeps its
        constraints.
    best (n_iter + 1, m): The best value of each objective on that front; NaN while there is
        none.
    """

    n_evaluations: Indices
    n_solutions: Indices
    best: Array

    def __len__(self) -> int:
        return len(self.n_evaluations)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The outcome of a search, or its present state when given to a callback.

    Attributes
    ----------
    solutions : ndarray of shape (k, n_variables)
        The best found: the distinct non-dominated solutions of `nsga2`, or the single best one.
        They keep the constraints unless nothing does; then they break them least.
    values : ndarray of shape (k, m)
        Their objectives, as the user's function returned them.
    violation : ndarray of shape (k,)
        By how much each breaks its constraints, 0 if it keeps them.
    population : ndarray of shape (n, n_variables)
        The last population, fit to be the `start` of another search.
    directions : Directions
        Names of the objectives and which of them are maximised.
    n_iter : int
        Generations after the first population.
    n_evaluations : int
        Solutions evaluated.
    stopped_by : {"max_iter", "time_limit", "stall", "interrupt", "callback", "running"}
        Why the run ended; "running" in what a callback gets.
    history : History

    Examples
    --------
    >>> from parsimon.pareto.nsga2 import nsga2
    >>> from parsimon.pareto.space import Box
    >>> result = nsga2(lambda x: np.hstack((x**2, (x - 1) ** 2)), Box(-5, 5, n_variables=1),
    ...                population_size=20, max_iter=20, random_state=0)
    >>> result
    SearchResult: 20 solutions after 20 generations (420 evaluations), stopped by max_iter
    >>> bool(((result.solutions > -0.1) & (result.solutions < 1.1)).all())
    True
    """

    solutions: AnyArray
    values: Array
    violation: Array
    population: AnyArray
    directions: Directions
    n_iter: int
    n_evaluations: int
    stopped_by: str
    history: History

    def __repr__(self) -> str:
        count = f"{len(self.solutions)} solution{'s' if len(self.solutions) != 1 else ''}"
        return (
            f"SearchResult: {count} after {self.n_iter} generations "
            f"({self.n_evaluations} evaluations), stopped by {self.stopped_by}"
        )

    @property
    def is_feasible(self) -> bool:
        """Whether the solutions keep their constraints."""
        return bool((self.violation <= 0).all())

    @property
    def front(self) -> "Front":
        """The solutions as a `Front`."""
        from parsimon.pareto.front import Front

        if not self.is_feasible:
            raise EmptyFrontError(
                "No solution keeps its constraints; the least violation found is "
                f"{self.violation.min():.3g}. Search longer or relax the constraints."
            )
        return Front(
            self.values,
            self.directions.names,
            maximise=self.directions.maximised,
            solutions=tuple(self.solutions),
        )

    @property
    def solution(self) -> AnyArray:
        """The first solution: for one objective, the best."""
        return self.solutions[0]

    @property
    def value(self) -> float:
        """The first objective of the first solution: for one objective, the best value."""
        return float(self.values[0, 0])


def has_improved(before: Array, after: Array, tol: float) -> bool:
    """Tell whether the second set of best solutions is better than the first.

    While nothing keeps its constraints, the least violation must fall. Then, for one objective,
    the best value must fall; for several, the hypervolume must grow. Hypervolumes are measured
    from a point a tenth of their common width beyond both sets.

    Shapes: before, after (n, m + 1).
    """
    worst, now = before[:, -1].min(), after[:, -1].min()
    if worst > 0 or now > 0:
        return bool(now < worst * (1 - tol))
    old, new = before[before[:, -1] <= 0, :-1], after[after[:, -1] <= 0, :-1]
    if old.shape[1] == 1:
        return bool(new.min() < old.min() - tol * abs(old.min()))
    both = np.concatenate((old, new))
    width = np.ptp(both, axis=0)
    width[width == 0] = 1.0
    reference = (both.max(axis=0) + 0.1 * width) / width
    volumes = [moocore.hypervolume(values / width, ref=reference) for values in (old, new)]
    return bool(volumes[1] > volumes[0] * (1 + tol))


class Position(NamedTuple, Generic[P]):
    """A state of a search with what tells whether it has come to rest.

    mark: The best so far, as `has_improved` reads it; empty if nobody asks.
    """

    state: P
    mark: Array
    n_idle: int


class Generations(Generic[P]):
    """A `Search` as a process of `run`: ask, evaluate, tell."""

    title, keeps_states = "searching", True

    def __init__(self, search: Search[P], pool: EvaluationPool, *, stalls: bool) -> None:
        self.search, self.pool, self.stalls = search, pool, stalls
        self.directions: Directions | None = None

    def settings(self) -> dict[str, str]:
        search, pool = self.search, self.pool
        return {
            **search.settings(),
            "evaluate": describe_option(pool.evaluate),
            "names": describe_option(search.names),
            "maximise": describe_option(search.maximise),
            "chunk_size": describe_option(pool.chunk_size),
            "stochastic": describe_option(pool.stochastic),
        }

    def prepare(self, seed: np.random.SeedSequence) -> np.random.Generator:
        self.pool.seed = seed
        return child_generator(seed, 0)

    def begin(self, rng: np.random.Generator) -> Position[P]:
        population = self.search.first(rng)
        evaluated = self._evaluate(population, n_iter=0, deadline=None)
        if not np.isfinite(evaluated.violation).any():
            raise InvalidInputError(
                f"All {len(population)} solutions of the first population have objectives that "
                "are not finite. Check evaluate, or give a start that it can evaluate."
            )
        return self._place(self.search.begin(population, evaluated), None)

    def step(self, state: Position[P], rng: np.random.Generator, deadline: Deadline) -> Position[P]:
        before = state.state
        proposal = self.search.ask(before, rng)
        if len(proposal.children):
            n_iter = before.n_iter + 1
            evaluated = self._evaluate(proposal.children, n_iter=n_iter, deadline=deadline)
        else:
            evaluated = Evaluated(before.values[:0], before.violation[:0])
        return self._place(self.search.tell(before, proposal, evaluated), state)

    def standing(self, state: Position[P]) -> Standing:
        return Standing(state.state.n_evaluations, state.n_idle)

    def row(self, state: Position[P]) -> tuple[float, ...]:
        n_solutions, best = self.search.summary(state.state)
        return float(state.state.n_evaluations), float(n_solutions), *best.tolist()

    def note(self, state: Position[P]) -> str:
        best = self.search.summary(state.state)[1] * self._learn_directions(state.state.values).sign
        return "best " + ", ".join(f"{value:.4g}" for value in best)

    def finished(self, state: Position[P]) -> str | None:  # noqa: ARG002
        return None

    def to_arrays(self, state: Position[P]) -> dict[str, AnyArray]:
        arrays = {f"state_{name}": array for name, array in state.state.to_arrays().items()}
        return {**arrays, "mark": state.mark, "n_idle": np.array(state.n_idle)}

    def restore(self, arrays: dict[str, AnyArray]) -> Position[P]:
        mark, n_idle = arrays.pop("mark"), int(arrays.pop("n_idle"))
        stored = {name.removeprefix("state_"): array for name, array in arrays.items()}
        return Position(self.search.restore(stored), mark, n_idle)

    def result(self, state: Position[P], ending: Ending) -> SearchResult:
        best = self.search.best(state.state)
        directions = self._learn_directions(state.state.values)
        return SearchResult(
            solutions=best.solutions,
            values=best.values * directions.sign,
            violation=best.violation,
            population=state.state.population.copy(),
            directions=directions,
            n_iter=ending.n_iter,
            n_evaluations=ending.n_evaluations,
            stopped_by=ending.stopped_by,
            history=History(
                ending.trail[:, 0].astype(np.intp),
                ending.trail[:, 1].astype(np.intp),
                ending.trail[:, 2:] * directions.sign,
            ),
        )

    def _evaluate(self, population: AnyArray, *, n_iter: int, deadline: Deadline) -> Evaluated:
        """Return minimised values of a population."""
        values, violation = self.pool(population, n_iter=n_iter, deadline=deadline)
        directions = self._learn_directions(values)
        if len(directions) != values.shape[1]:
            raise InvalidInputError(
                f"evaluate returned {values.shape[1]} objectives where "
                f"{len(directions)} were expected."
            )
        if any(directions.maximise):
            values = np.where(np.isinf(violation)[:, None], values, values * directions.sign)
        return Evaluated(values, violation)

    def _learn_directions(self, values: Array) -> Directions:
        """Return the directions, made when the first values or a checkpoint tell how many."""
        if self.directions is None:
            names = self.search.names
            self.directions = Directions.of(
                values.shape[1] if names is None else names, self.search.maximise
            )
        return self.directions

    def _place(self, state: P, before: Position[P] | None) -> Position[P]:
        """Return a state with its stall count."""
        if not self.stalls:
            return Position(state, np.empty((0, 0)), 0)
        mark = self.search.mark(state)
        if before is None or not before.mark.size:
            return Position(state, mark, 0)
        if has_improved(before.mark, mark, self.search.stall_tolerance):
            return Position(state, mark, 0)
        return Position(state, before.mark, before.n_idle + 1)


def search_generations(
    search: Search[P], pool: EvaluationPool, options: SearchOptions
) -> SearchResult:
    """Run a search over populations, with the workers of a pool."""
    with pool:
        return run(Generations(search, pool, stalls=options.stall is not None), options)
