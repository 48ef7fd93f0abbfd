"""What a search is: settings with `ask` and `tell`, and states that never change.

`Search` says what the loop in `run` needs of an algorithm. The algorithm holds settings only;
where it stands is in a `State`, an immutable set of arrays that a checkpoint can hold.

What a search returns: solutions, their values, and how the run went.
"""

import hashlib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.pareto._directions import Directions
from parsimon.pareto._evaluation_pool import Evaluated
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


S = TypeVar("S", bound=State)


class Search(Protocol[S]):
    """What the loop needs of an algorithm."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the objectives, if the user gave any."""
        ...

    @property
    def maximise(self) -> tuple[str, ...] | bool:
        """Names of the objectives to maximise, or all or none."""
        ...

    def settings(self) -> dict[str, str]:
        """Return what decides the course of the search, for checkpoints to compare."""
        ...

    def first(self, rng: np.random.Generator) -> AnyArray:
        """Return the first population."""
        ...

    def begin(self, population: AnyArray, evaluated: Evaluated) -> S:
        """Return the state of the first population."""
        ...

    def ask(self, state: S, rng: np.random.Generator) -> Proposal:
        """Return the next solutions to evaluate."""
        ...

    def tell(self, state: S, proposal: Proposal, evaluated: Evaluated) -> S:
        """Return the state after these solutions have been evaluated."""
        ...

    def best(self, state: S) -> Best:
        """Return the best distinct solutions."""
        ...

    def summary(self, state: S) -> tuple[int, Array]:
        """Return the number of best solutions and the best of each objective."""
        ...

    def mark(self, state: S) -> Array:
        """Return what must improve if the search is not to stall, as `has_improved` reads it."""
        ...

    def restore(self, arrays: dict[str, AnyArray]) -> S:
        """Return a state from a checkpoint's arrays."""
        ...


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


def first_population(
    space: Space, start: AnyArray | None, size: int, rng: np.random.Generator
) -> AnyArray:
    """Return the given start, filled up with random solutions to `size` rows."""
    n_given = 0 if start is None else len(start)
    drawn = space.sample(size - n_given, rng) if n_given < size else None
    return np.concatenate([part for part in (start, drawn) if part is not None])


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
        first: AnyArray = self.solutions[0]
        return first

    @property
    def value(self) -> float:
        """The first objective of the first solution: for one objective, the best value."""
        return float(self.values[0, 0])


def history_of(trail: Array, sign: Array) -> History:
    """Return the history from rows of (n_evaluations, n_solutions, minimised best values)."""
    return History(trail[:, 0].astype(np.intp), trail[:, 1].astype(np.intp), trail[:, 2:] * sign)
