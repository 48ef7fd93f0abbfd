"""Evolution strategies for one objective: with tournaments, or (mu + lambda)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from parsimon._options import check_choice, check_count, check_probability
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.checkpoint import Checkpoint, describe
from parsimon.pareto.crossover import Crossover, UniformCrossover, cross
from parsimon.pareto.evaluation_pool import Evaluate, Evaluated
from parsimon.pareto.mutation import Mutation, default_mutation, mutate, step_rule
from parsimon.pareto.options import or_default
from parsimon.pareto.result import SearchResult
from parsimon.pareto.run import Callback, RunOptions, run
from parsimon.pareto.search import (
    Best,
    Proposal,
    State,
    as_names,
    check_start,
    crossed_and_mutated,
    describe_start,
    first_population,
)
from parsimon.pareto.single import (
    best_mark,
    best_row,
    best_summary,
    better_first,
    is_better,
    one_objective,
)
from parsimon.pareto.space import Space
from parsimon.pareto.step_size import StepSize


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
    stall_tolerance: float = 0.0,
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
    stall_tolerance : float
        The share by which the value must improve to count.

    Returns
    -------
    SearchResult
        Its ``solution`` and ``value`` are the best found.

    References
    ----------
    .. [1] Schwefel (1981), Numerical Optimization of Computer Models, Wiley.

    Examples
    --------
    >>> from parsimon.pareto.mutation import GaussianMutation
    >>> from parsimon.pareto.space import Box
    >>> from parsimon.pareto.step_size import OneFifthRule
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
    options = RunOptions(
        max_iter=max_iter,
        time_limit=time_limit,
        stall=stall,
        stall_tolerance=stall_tolerance,
        callback=callback,
        checkpoint=checkpoint,
        n_jobs=n_jobs,
        chunk_size=chunk_size,
        stochastic=stochastic,
        verbose=verbose,
        random_state=random_state,
    )
    return run(search, evaluate, options)


@dataclass(frozen=True, eq=False)
class EvolutionStrategy:
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

    def __post_init__(self) -> None:
        check_choice("selection", self.selection, ("tournament", "plus"))
        check_probability("tournament", self.tournament)
        if self.n_children is not None:
            check_count("n_children", self.n_children)
            if self.selection != "plus":
                raise InvalidInputError('n_children is for selection="plus" only.')

    def settings(self) -> dict[str, str]:
        return {
            "search": "evolution_strategy",
            "space": self.space.describe(),
            "start": describe_start(self.start),
            "population_size": describe(self.population_size),
            "crossover": describe(self.crossover),
            "mutation": describe(self.mutation),
            "selection": self.selection,
            "tournament": describe(self.tournament),
            "n_children": describe(self.n_children),
        }

    def first(self, rng: np.random.Generator) -> AnyArray:
        return first_population(self.space, self.start, self.population_size, rng)

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
        step = self._stepped(state, merged, len(kept), parents)
        if self.selection == "plus":
            best = better_first(*merged)[: self.population_size]
            population, merged = population[best], Evaluated(*(part[best] for part in merged))
        n_evaluations = state.n_evaluations + len(proposal.children)
        return State(population, *merged, state.n_iter + 1, n_evaluations, step)

    def _stepped(self, state: State, merged: Evaluated, n_kept: int, parents: Indices) -> StepSize:
        """Return the step after counting mutants that are better than their parents."""
        rule = step_rule(self.mutation)
        if rule is None:
            return state.step
        mutants = np.flatnonzero(parents >= 0)
        child = Evaluated(*(part[n_kept + mutants] for part in merged))
        parent = Evaluated(*(part[parents[mutants]] for part in merged))
        return rule.update(
            state.step,
            n_successes=int(np.count_nonzero(is_better(child, parent))),
            n_trials=len(mutants),
            n_iter=state.n_iter + 1,
        )

    def best(self, state: State) -> Best:
        return best_row(state)

    def summary(self, state: State) -> tuple[int, Array]:
        return best_summary(best_row(state))

    def mark(self, state: State) -> Array:
        return best_mark(best_row(state))

    def restore(self, arrays: dict[str, AnyArray]) -> State:
        return State.from_arrays(arrays)
