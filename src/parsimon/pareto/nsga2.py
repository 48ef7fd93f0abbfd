"""NSGA-II: a population that spreads along the Pareto front.

Read `nsga2` for what it does for a user, `NSGA2` for one generation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from parsimon._checks import check_choice, check_count
from parsimon._interrupts import stoppable
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.pareto._checkpoint import Checkpoint, describe_option
from parsimon.pareto._directions import Directions
from parsimon.pareto._evaluation_pool import Evaluate, Evaluated, EvaluationPool
from parsimon.pareto.desirability import Guide
from parsimon.pareto.dominance import repeated_keys, row_keys, select_survivors
from parsimon.pareto.run import Callback, SearchOptions
from parsimon.pareto.search import (
    Best,
    Proposal,
    Search,
    SearchResult,
    State,
    as_names,
    check_start,
    crossed_and_mutated,
    search_generations,
)
from parsimon.pareto.space import Space
from parsimon.pareto.variation import (
    Crossover,
    Mutation,
    StepSize,
    cross,
    default_crossover,
    default_mutation,
    mutate,
    or_default,
    step_rule,
)


@stoppable
def nsga2(
    evaluate: Evaluate,
    space: Space,
    *,
    start: Any = None,
    population_size: int = 100,
    max_iter: int = 200,
    crossover: Crossover | Literal["auto"] | None = "auto",
    mutation: Mutation | Literal["auto"] | None = "auto",
    variant: Literal["deb", "mierswa"] = "deb",
    guide: Guide | None = None,
    names: Sequence[str] | None = None,
    maximise: Sequence[str] | bool = (),
    time_limit: float | None = None,
    stall: int | None = None,
    callback: Callback | None = None,
    checkpoint: Checkpoint | str | Path | None = None,
    n_jobs: int | None = 1,
    chunk_size: int = 50,
    stochastic: bool = False,
    verbose: bool = False,
    random_state: Seed = None,
) -> SearchResult:
    """Search for the Pareto front of several objectives with NSGA-II.

    Parents and children compete: the better non-domination level survives, then the wish of a
    `guide` if there is one, then the solution with more room around it. Solutions that keep their
    constraints come before those that do not, and these are ordered by how much they break them.
    A solution that repeats another survives only if there are too few different ones. One whose
    values are not finite ranks last and is never returned.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(rows)`` maps solutions, shape (n, n_variables), to values, shape (n, m), or to
        ``(values, violation)``; `violation` has shape (n,) or (n, n_constraints), positive where
        a constraint is broken. An error that it raises ends the run; the checkpoint, if there is
        one, keeps the last complete generation.
    space : Box, Bits or Integers
    start : array-like of shape (n, n_variables), optional
        The first solutions, at most `population_size`; the others are drawn from the space.
    population_size : int
    max_iter : int
        Generations after the first population.
    crossover, mutation : operator, "auto" or None
        "auto" suits the space: simulated binary crossover (eta 15, rate 0.9) and polynomial
        mutation (eta 20) for a Box, else uniform crossover (0.9) with `BitFlip` or
        `IntegerReset`; all mutations change each variable with probability 1 / n_variables.
    variant : {"deb", "mierswa"}
        "deb": parents win a binary tournament by level and room, and children are crossed, then
        mutated. Room is measured in widths of the front: by the gaps along each objective of
        [1]_ where there are two, by the distance from solutions already taken [2]_ where there
        are more, among which gaps do not see crowds (the extra `fast` makes that several times
        quicker, with the same result). "mierswa" is the form of Mierswa (2009), section 2.4.1:
        parents are a random permutation, crossed children compete as well as a mutated clone of
        each parent and of each crossed child, and room is not scaled, so that an objective with
        large numbers decides alone.
    guide : ReferencePoints, DesirabilityGuide or another Guide, optional
        What is wanted of the front; takes the place of crowding.
    names : sequence of str, optional
        Names of the objectives; f1, f2, ... if left out.
    maximise : sequence of str, or bool
        Objectives to be maximised; all others are minimised.
    time_limit : float, optional
        Seconds, checked between calls of `evaluate`; the generation in progress is dropped. The
        first population is always completed.
    stall : int, optional
        Stop after so many generations in a row without an improvement of a ten-thousandth: of
        the hypervolume, or of the nearest solution to what the guide wants.
    callback : callable, optional
        Called with a `SearchResult` (its ``front`` is the current one) after each generation;
        the run stops if it returns a true value.
    checkpoint : Checkpoint, str or Path, optional
        File to save to and, if it exists, to resume from.
    n_jobs : int or None
        Workers, through joblib. The result is the same for every number.
    chunk_size : int
        Most rows in one call of `evaluate`. It decides how the work is shared, and may change
        the rounding inside `evaluate`, so it is fixed and not derived from `n_jobs`.
    stochastic : bool
        Call ``evaluate(rows, seeds)`` with one `SeedSequence` for each row.
    verbose : bool
        Show progress.
    random_state : int, SeedSequence, Generator, RandomState or None

    Returns
    -------
    SearchResult
        Its ``front`` holds the distinct non-dominated solutions of the last complete generation.
        Ctrl-C ends a run early but returns it all the same.

    References
    ----------
    .. [1] Deb, Pratap, Agarwal and Meyarivan (2002), IEEE Trans. Evol. Comput. 6:182-197.
    .. [2] Gonzalez (1985), Theor. Comput. Sci. 38:293-306.

    Examples
    --------
    >>> from parsimon.pareto.space import Bits
    >>> def leading_ones_trailing_zeros(bits):
    ...     leading = np.cumprod(bits, axis=1).sum(axis=1)
    ...     trailing = np.cumprod(~bits[:, ::-1], axis=1).sum(axis=1)
    ...     return np.column_stack((leading, trailing))
    >>> result = nsga2(leading_ones_trailing_zeros, Bits(4), population_size=10, max_iter=30,
    ...                maximise=True, random_state=0)
    >>> result.values.astype(int).tolist()
    [[4, 0], [3, 1], [2, 2], [1, 3], [0, 4]]
    """
    listed, wanted = as_names(names, maximise)
    size = check_count("population_size", population_size, least=2)
    search = NSGA2(
        space=space,
        start=check_start(space, start, size),
        population_size=size,
        crossover=or_default("crossover", crossover, default_crossover(space)),
        mutation=or_default("mutation", mutation, default_mutation(space)),
        guide=guide,
        names=listed,
        maximise=wanted,
        **VARIANTS[check_choice("variant", variant, tuple(VARIANTS))],
    )
    options = SearchOptions(
        max_iter=max_iter,
        time_limit=time_limit,
        stall=stall,
        callback=callback,
        checkpoint=checkpoint,
        verbose=verbose,
        random_state=random_state,
    )
    pool = EvaluationPool(evaluate, n_jobs=n_jobs, chunk_size=chunk_size, stochastic=stochastic)
    return search_generations(search, pool, options)


# Settings of `NSGA2` that make a variant.
VARIANTS: dict[str, dict[str, Any]] = {
    "deb": {},
    "mierswa": {
        "mating": "random",
        "offspring": "crossed_and_mutated",
        "normalise_crowding": False,
    },
}


@dataclass(frozen=True, eq=False)
class NSGA2State(State):
    """A population sorted best first, with level, preference and key of each row."""

    levels: Indices
    preference: Array
    keys: AnyArray


@dataclass(frozen=True, eq=False)
class NSGA2(Search[NSGA2State]):
    """The settings of NSGA-II, and one generation of it as `ask` and `tell`.

    mating: "tournament", or "random" for a permutation.
    offspring: "mutated" after crossing, or "crossed_and_mutated" clones beside their parents.
    crowding: Room by "gaps" along each objective, or by "maximin" distance from those already
        taken; "auto" takes gaps for two objectives.
    """

    state_type: ClassVar = NSGA2State
    space: Space
    start: AnyArray | None
    population_size: int
    crossover: Crossover | None
    mutation: Mutation | None
    mating: str = "tournament"
    offspring: str = "mutated"
    crowding: str = "auto"
    normalise_crowding: bool = True
    guide: Guide | None = None
    names: tuple[str, ...] | None = None
    maximise: tuple[str, ...] | bool = ()
    stall_tolerance: float = 1e-4

    def __post_init__(self) -> None:
        check_choice("mating", self.mating, ("tournament", "random"))
        check_choice("crowding", self.crowding, ("auto", "gaps", "maximin"))
        check_choice("offspring", self.offspring, ("mutated", "crossed_and_mutated"))

    def own_settings(self) -> dict[str, str]:
        return {
            "search": "nsga2",
            "crossover": describe_option(self.crossover),
            "mutation": describe_option(self.mutation),
            "mating": self.mating,
            "offspring": self.offspring,
            "crowding": self.crowding,
            "normalise_crowding": describe_option(self.normalise_crowding),
            "guide": describe_option(self.guide),
        }

    def begin(self, population: AnyArray, evaluated: Evaluated) -> NSGA2State:
        return self._select(population, evaluated, row_keys(population))

    def ask(self, state: NSGA2State, rng: np.random.Generator) -> Proposal:
        parents = state.population[self._mates(state, rng)]
        if self.offspring == "crossed_and_mutated":
            children, _ = crossed_and_mutated(
                parents, self.crossover, self.mutation, state.step, self.space, rng
            )
            return Proposal(children)
        crossed = cross(parents, self.crossover, self.space, rng)
        return Proposal(mutate(crossed, self.mutation, state.step, self.space, rng))

    def tell(self, state: NSGA2State, proposal: Proposal, evaluated: Evaluated) -> NSGA2State:
        merged = Evaluated(
            np.concatenate((state.values, evaluated.values)),
            np.concatenate((state.violation, evaluated.violation)),
        )
        population = np.concatenate((state.population, proposal.children))
        keys = np.concatenate((state.keys, row_keys(proposal.children)))
        return self._select(population, merged, keys, before=state)

    def best(self, state: NSGA2State) -> Best:
        rows = np.flatnonzero(self._front(state))
        rows = rows[np.lexsort(state.values[rows].T[::-1])]
        rows = rows[~repeated_keys(state.keys[rows])]
        return Best(state.population[rows], state.values[rows], state.violation[rows])

    def summary(self, state: NSGA2State) -> tuple[int, Array]:
        if state.violation[0] > 0:
            return 0, np.full(state.values.shape[1], np.nan)
        front = state.values[self._front(state)]
        return len(front), front.min(axis=0)

    def mark(self, state: NSGA2State) -> Array:
        front = self._front(state)
        values, violation = state.values[front], state.violation[front]
        if self.guide is not None:
            values = np.array([[self.guide.shortfall(values * self._signs(values.shape[1]))]])
            violation = violation[:1]
        return np.column_stack((values, violation))

    def _mates(self, state: NSGA2State, rng: np.random.Generator) -> Indices:
        n = len(state.population)
        if self.mating == "random":
            return rng.permutation(n)
        a, b = (rng.random((2, self.population_size)) * n).astype(np.intp)
        level, room = state.levels, state.preference
        b_wins: Mask = (level[b] < level[a]) | ((level[b] == level[a]) & (room[b] > room[a]))
        return np.where(b_wins, b, a)

    def _select(
        self,
        population: AnyArray,
        evaluated: Evaluated,
        keys: AnyArray,
        *,
        before: NSGA2State | None = None,
    ) -> NSGA2State:
        values, violation = evaluated
        rows, levels, preference = select_survivors(
            values,
            violation,
            self.population_size,
            duplicates=repeated_keys(keys),
            crowding=self._crowding(values.shape[1]),
            normalise=self.normalise_crowding,
            guide=self.guide,
            signs=1.0 if self.guide is None else self._signs(values.shape[1]),
        )
        n_old = 0 if before is None else len(before.population)
        return NSGA2State(
            population=population[rows],
            values=values[rows],
            violation=violation[rows],
            n_iter=0 if before is None else before.n_iter + 1,
            n_evaluations=len(population) - n_old + (before.n_evaluations if before else 0),
            step=StepSize() if before is None else self._adapt_step(before, rows, len(population)),
            levels=levels,
            preference=preference,
            keys=keys[rows],
        )

    def _adapt_step(self, before: NSGA2State, survivors: Indices, n_all: int) -> StepSize:
        """Return the step after counting children that survived."""
        rule, n_old = step_rule(self.mutation), len(before.population)
        if rule is None:
            return before.step
        return rule.update(
            before.step,
            n_successes=int(np.count_nonzero(survivors >= n_old)),
            n_trials=n_all - n_old,
            n_iter=before.n_iter + 1,
        )

    def _crowding(self, m: int) -> str:
        if self.crowding == "auto":
            return "gaps" if m <= 2 else "maximin"
        return self.crowding

    def _front(self, state: NSGA2State) -> Mask:
        return state.levels == state.levels[0]

    def _signs(self, m: int) -> Array:
        return Directions.of(m if self.names is None else self.names, self.maximise).sign
