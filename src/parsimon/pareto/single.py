"""Searches for the best value of one objective: evolution strategies and particle swarms.

`evolution_strategy` works on any space, with tournaments or as (mu + lambda); `particle_swarm`
in a box.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from parsimon._checks import check_choice, check_count, check_positive, check_probability
from parsimon._interrupts import stoppable
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.pareto._checkpoint import Checkpoint, describe_option
from parsimon.pareto._evaluation_pool import Evaluate, Evaluated, EvaluationPool
from parsimon.pareto.run import Callback, SearchOptions
from parsimon.pareto.search import (
    Best,
    P,
    Proposal,
    Search,
    SearchResult,
    State,
    as_names,
    check_start,
    crossed_and_mutated,
    search_generations,
)
from parsimon.pareto.space import Box, Space
from parsimon.pareto.variation import (
    Crossover,
    Mutation,
    StepSize,
    UniformCrossover,
    cross,
    default_mutation,
    mutate,
    or_default,
    step_rule,
)


def better_first(values: Array, violation: Array) -> Indices:
    """Return the rows from best to worst: by violation, then by value, then by place.

    Shapes: values (n, 1), violation (n,).
    """
    return np.lexsort((values[:, 0], violation))


def beats(first: Evaluated, second: Evaluated) -> Any:
    """Return, row by row, whether the first is better than the second."""
    return (first.violation < second.violation) | (
        (first.violation == second.violation) & (first.values[:, 0] < second.values[:, 0])
    )


def one_objective(evaluated: Evaluated) -> Evaluated:
    """Return what was given, refusing several objectives."""
    if evaluated.values.shape[1] != 1:
        raise InvalidInputError(
            f"This search has one objective, evaluate returned {evaluated.values.shape[1]}. "
            "Use nsga2 for several."
        )
    return evaluated


class SingleSearch(Search[P]):
    """A search for the best value of one objective."""

    def summary(self, state: P) -> tuple[int, Array]:
        best = self.best(state)
        return (0, np.full(1, np.nan)) if best.violation[0] > 0 else (1, best.values[0])

    def mark(self, state: P) -> Array:
        best = self.best(state)
        return np.column_stack((best.values, best.violation))


@stoppable
def evolution_strategy(
    evaluate: Evaluate,
    space: Space,
    *,
    start: Any = None,
    population_size: int = 10,
    max_iter: int = 1000,
    selection: str = "tournament",
    tournament: float = 0.25,
    n_children: int | None = None,
    crossover: Crossover | Literal["auto"] | None = "auto",
    mutation: Mutation | Literal["auto"] | None = "auto",
    maximise: bool = False,
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
    """Search for the best value of one objective with an evolution strategy.

    The default is the evolutionary algorithm of Mierswa (2009, section 3.1): the best solution so
    far and the winners of tournaments are crossed in pairs, and each of them and of their
    children is cloned with a mutation. With ``selection="plus"`` it is the (mu + lambda) strategy
    [1]_, with ``population_size=1, n_children=1`` its (1 + 1) form.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(rows)`` maps solutions, shape (n, n_variables), to n values, or to
        ``(values, violation)`` as in `nsga2`.
    space : Box, Bits or Integers
    start : array-like of shape (n, n_variables), optional
        The first solutions, at most `population_size`; the others are drawn from the space.
    population_size : int
        mu.
    max_iter : int
        Generations after the first population.
    selection : {"tournament", "plus"}
        "tournament": every parent but the best-so-far wins a tournament, drawn with replacement
        from all solutions of the last generation. "plus": parents are drawn uniformly and the
        best of parents and children survive.
    tournament : float
        Size of a tournament as a share of the solutions, at least one of them.
    n_children : int, optional
        lambda, with "plus" only; `population_size` if left out.
    crossover, mutation : operator, "auto" or None
        "auto" is uniform crossover (0.9) and, to suit the space, `GaussianMutation` of a tenth of
        the box with the 1/5 rule, `BitFlip` or `IntegerReset`. Use `SwitchMutation` or
        `HybridMutation` for sparse vectors in a box.
    maximise : bool
    time_limit, callback, checkpoint, n_jobs, chunk_size, stochastic, verbose, random_state
        As in `nsga2`.
    stall : int, optional
        Stop after so many generations in a row without a better solution (Mierswa: 5). A stall
        shorter than the interval of a 1/5 rule ends the run before the rule can act.

    Returns
    -------
    SearchResult
        Its ``solution`` and ``value`` are the best found.

    References
    ----------
    .. [1] Schwefel (1981), Numerical Optimization of Computer Models, Wiley.

    Examples
    --------
    >>> from parsimon.pareto.variation import GaussianMutation
    >>> from parsimon.pareto.space import Box
    >>> from parsimon.pareto.variation import OneFifthRule
    >>> result = evolution_strategy(
    ...     lambda x: (x**2).sum(axis=1),
    ...     Box(-5, 5, n_variables=3),
    ...     mutation=GaussianMutation(adapt=OneFifthRule(interval=5)),
    ...     max_iter=200,
    ...     random_state=0,
    ... )
    >>> result.value < 1e-8
    True
    """
    size = check_count("population_size", population_size)
    search = EvolutionStrategy(
        space=space,
        start=check_start(space, start, size),
        population_size=size,
        crossover=or_default("crossover", crossover, UniformCrossover()),
        mutation=or_default("mutation", mutation, default_mutation(space, gaussian=True)),
        selection=selection,
        tournament=tournament,
        n_children=n_children,
        maximise=as_names(None, bool(maximise))[1],
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


@dataclass(frozen=True, eq=False)
class EvolutionStrategy(SingleSearch[State]):
    """The settings of an evolution strategy, and one generation of it as `ask` and `tell`."""

    space: Space
    start: AnyArray | None
    population_size: int
    crossover: Crossover | None
    mutation: Mutation | None
    selection: str = "tournament"
    tournament: float = 0.25
    n_children: int | None = None
    names: tuple[str, ...] | None = None
    maximise: tuple[str, ...] | bool = False
    stall_tolerance: float = 0.0

    def __post_init__(self) -> None:
        check_choice("selection", self.selection, ("tournament", "plus"))
        check_probability("tournament", self.tournament)
        if self.n_children is not None:
            check_count("n_children", self.n_children)
            if self.selection != "plus":
                raise InvalidInputError('n_children is for selection="plus" only.')

    def own_settings(self) -> dict[str, str]:
        return {
            "search": "evolution_strategy",
            "crossover": describe_option(self.crossover),
            "mutation": describe_option(self.mutation),
            "selection": self.selection,
            "tournament": describe_option(self.tournament),
            "n_children": describe_option(self.n_children),
        }

    def begin(self, population: AnyArray, evaluated: Evaluated) -> State:
        values, violation = one_objective(evaluated)
        return State(population, values, violation, 0, len(population), StepSize())

    def ask(self, state: State, rng: np.random.Generator) -> Proposal:
        return self._ask_plus(state, rng) if self.selection == "plus" else self._ask(state, rng)

    def _ask(self, state: State, rng: np.random.Generator) -> Proposal:
        kept = self._winners(state, rng)
        children, parents = crossed_and_mutated(
            state.population[kept], self.crossover, self.mutation, state.step, self.space, rng
        )
        return Proposal(children, kept, parents)

    def _winners(self, state: State, rng: np.random.Generator) -> Indices:
        """Return the best row and winners of tournaments, in random order for pairing."""
        n = len(state.population)
        order = better_first(state.values, state.violation)
        place = np.empty(n, dtype=np.intp)
        place[order] = np.arange(n)
        entrants = max(1, round(self.tournament * n))
        drawn = place[rng.integers(n, size=(self.population_size - 1, entrants))]
        chosen = order[np.concatenate(([0], drawn.min(axis=1))).astype(np.intp)]
        return rng.permutation(chosen)

    def _ask_plus(self, state: State, rng: np.random.Generator) -> Proposal:
        n = len(state.population)
        drawn = rng.integers(n, size=self.n_children or n)
        crossed = cross(state.population[drawn], self.crossover, self.space, rng)
        children = mutate(crossed, self.mutation, state.step, self.space, rng)
        return Proposal(children, np.arange(n), drawn)

    def tell(self, state: State, proposal: Proposal, evaluated: Evaluated) -> State:
        kept, parents = proposal.kept, proposal.parents
        if kept is None or parents is None:
            raise InvalidInputError("tell needs a proposal of this search's own ask.")
        population = np.concatenate((state.population[kept], proposal.children))
        merged = Evaluated(
            np.concatenate((state.values[kept], evaluated.values)),
            np.concatenate((state.violation[kept], evaluated.violation)),
        )
        step = self._adapt_step(state, merged, len(kept), parents)
        if self.selection == "plus":
            best = better_first(*merged)[: self.population_size]
            population, merged = population[best], Evaluated(*(part[best] for part in merged))
        n_evaluations = state.n_evaluations + len(proposal.children)
        return State(population, *merged, state.n_iter + 1, n_evaluations, step)

    def _adapt_step(
        self, state: State, merged: Evaluated, n_kept: int, parents: Indices
    ) -> StepSize:
        """Return the step after counting mutants that are better than their parents."""
        rule = step_rule(self.mutation)
        if rule is None:
            return state.step
        mutants = np.flatnonzero(parents >= 0)
        child = Evaluated(*(part[n_kept + mutants] for part in merged))
        parent = Evaluated(*(part[parents[mutants]] for part in merged))
        return rule.update(
            state.step,
            n_successes=int(np.count_nonzero(beats(child, parent))),
            n_trials=len(mutants),
            n_iter=state.n_iter + 1,
        )

    def best(self, state: State) -> Best:
        row = better_first(state.values, state.violation)[:1]
        return Best(state.population[row], state.values[row], state.violation[row])


@stoppable
def particle_swarm(
    evaluate: Evaluate,
    space: Box,
    *,
    start: Any = None,
    population_size: int = 30,
    max_iter: int = 500,
    inertia: float = 0.7298,
    final_inertia: float = 0.0,
    inertia_iterations: int | None = None,
    local_weight: float = 1.49618,
    global_weight: float = 1.49618,
    weights: str = "uniform",
    maximise: bool = False,
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
    """Search a box for the best value of one objective with a particle swarm.

    Each particle flies on with its velocity, drawn towards the best place it has seen and
    towards the best place of the whole swarm:

        v <- inertia v + local_weight r1 (own best - x) + global_weight r2 (swarm's best - x)
        x <- x + v, moved back into the box

    with r1 and r2 drawn anew for each particle and each variable. Velocities start at zero.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(rows)`` maps solutions, shape (n, n_variables), to n values, or to
        ``(values, violation)`` as in `nsga2`.
    space : Box
    start : array-like of shape (n, n_variables), optional
        The first places, at most `population_size`; the others are drawn from the box.
    population_size : int
        Particles.
    max_iter : int
        Steps after the first population.
    inertia, local_weight, global_weight : float
        The defaults are those of [2]_, which keep a swarm from bursting and from freezing.
        Mierswa (2009) has 0.1, 1 and 1, with the inertia falling to 0.
    final_inertia : float
        Where a falling inertia ends.
    inertia_iterations : int, optional
        Let the inertia fall in a straight line over so many steps (dynamic inertia); it stays as
        it is if left out. It is not derived from `max_iter`, so that a run that is given more
        steps later is the same as one that had them from the start.
    weights : {"uniform", "normal"}
        Draw r1 and r2 between 0 and 1, or as 1 + N(0, 1), the form in the implementation that
        Mierswa (2009) used.
    maximise : bool
    time_limit, callback, checkpoint, n_jobs, chunk_size, stochastic, verbose, random_state
        As in `nsga2`.
    stall : int, optional
        Stop after so many steps in a row without a better solution.

    Returns
    -------
    SearchResult
        Its ``solution`` and ``value`` are the best found.

    References
    ----------
    Kennedy and Eberhart (1995), IEEE Int. Conf. Neural Networks, 1942-1948.

    .. [2] Clerc and Kennedy (2002), IEEE Trans. Evol. Comput. 6:58-73.

    Examples
    --------
    >>> result = particle_swarm(
    ...     lambda x: (x**2).sum(axis=1), Box(-5, 5, n_variables=3), max_iter=200, random_state=0
    ... )
    >>> result.value < 1e-12
    True
    """
    size = check_count("population_size", population_size)
    search = ParticleSwarm(
        space=space,
        start=check_start(space, start, size),
        population_size=size,
        inertia=inertia,
        final_inertia=final_inertia,
        inertia_iterations=inertia_iterations,
        local_weight=local_weight,
        global_weight=global_weight,
        weights=weights,
        maximise=bool(maximise),
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


@dataclass(frozen=True, eq=False)
class SwarmState(State):
    """Places and velocities of the particles, and the best place that each has seen."""

    velocity: Array
    best_place: Array
    best_values: Array
    best_violation: Array


@dataclass(frozen=True, eq=False)
class ParticleSwarm(SingleSearch[SwarmState]):
    """The settings of a particle swarm, and one step of it as `ask` and `tell`."""

    state_type: ClassVar = SwarmState
    space: Box
    start: AnyArray | None
    population_size: int
    inertia: float = 0.7298
    final_inertia: float = 0.0
    inertia_iterations: int | None = None
    local_weight: float = 1.49618
    global_weight: float = 1.49618
    weights: str = "uniform"
    names: tuple[str, ...] | None = None
    maximise: tuple[str, ...] | bool = False
    stall_tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.space, Box):
            raise InvalidInputError(f"A particle swarm needs a Box, got {self.space!r}.")
        check_choice("weights", self.weights, ("uniform", "normal"))
        for name in ("inertia", "final_inertia", "local_weight", "global_weight"):
            check_positive(name, getattr(self, name), or_zero=True)
        if self.inertia_iterations is not None:
            check_count("inertia_iterations", self.inertia_iterations)

    def own_settings(self) -> dict[str, str]:
        return {
            "search": "particle_swarm",
            "inertia": describe_option((self.inertia, self.final_inertia, self.inertia_iterations)),
            "local_weight": describe_option(self.local_weight),
            "global_weight": describe_option(self.global_weight),
            "weights": self.weights,
        }

    def begin(self, population: AnyArray, evaluated: Evaluated) -> SwarmState:
        values, violation = one_objective(evaluated)
        return SwarmState(
            population=population,
            values=values,
            violation=violation,
            n_iter=0,
            n_evaluations=len(population),
            step=StepSize(),
            velocity=np.zeros_like(population),
            best_place=population,
            best_values=values,
            best_violation=violation,
        )

    def inertia_at(self, n_iter: int) -> float:
        """Return the inertia of the step after `n_iter` steps."""
        if self.inertia_iterations is None:
            return self.inertia
        share = min(n_iter / self.inertia_iterations, 1.0)
        return self.inertia + share * (self.final_inertia - self.inertia)

    def ask(self, state: SwarmState, rng: np.random.Generator) -> Proposal:
        here, own = state.population, state.best_place
        swarm = self.best(state).solutions
        shape = (2, *here.shape)
        r = rng.random(shape) if self.weights == "uniform" else 1 + rng.standard_normal(shape)
        velocity = (
            self.inertia_at(state.n_iter) * state.velocity
            + self.local_weight * r[0] * (own - here)
            + self.global_weight * r[1] * (swarm - here)
        )
        return Proposal(self.space.repair(here + velocity), extra=velocity)

    def tell(self, state: SwarmState, proposal: Proposal, evaluated: Evaluated) -> SwarmState:
        if proposal.extra is None:
            raise InvalidInputError("tell needs a proposal of this search's own ask.")
        better = beats(evaluated, Evaluated(state.best_values, state.best_violation))
        return SwarmState(
            population=proposal.children,
            values=evaluated.values,
            violation=evaluated.violation,
            n_iter=state.n_iter + 1,
            n_evaluations=state.n_evaluations + len(proposal.children),
            step=state.step,
            velocity=proposal.extra,
            best_place=np.where(better[:, None], proposal.children, state.best_place),
            best_values=np.where(better[:, None], evaluated.values, state.best_values),
            best_violation=np.where(better, evaluated.violation, state.best_violation),
        )

    def best(self, state: SwarmState) -> Best:
        row = better_first(state.best_values, state.best_violation)[:1]
        return Best(state.best_place[row], state.best_values[row], state.best_violation[row])
