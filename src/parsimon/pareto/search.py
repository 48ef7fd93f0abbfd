"""What a search is: settings with `ask` and `tell`, and states that never change.

`Search` says what the loop in `run` needs of an algorithm. The algorithm holds settings only;
where it stands is in a `State`, an immutable set of arrays that a checkpoint can hold.
"""

import hashlib
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.crossover import Crossover, cross
from parsimon.pareto.directions import Directions
from parsimon.pareto.evaluation_pool import Evaluated
from parsimon.pareto.mutation import Mutation, mutate
from parsimon.pareto.space import Space
from parsimon.pareto.step_size import StepSize


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
