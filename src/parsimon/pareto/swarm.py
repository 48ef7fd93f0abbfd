"""Particle swarms for one objective in a box."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parsimon._options import check_choice, check_count, check_positive
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.checkpoint import Checkpoint, describe
from parsimon.pareto.evaluation_pool import Evaluate, Evaluated
from parsimon.pareto.result import SearchResult
from parsimon.pareto.run import Callback, RunOptions, run
from parsimon.pareto.search import (
    Best,
    Proposal,
    State,
    check_start,
    describe_start,
    first_population,
)
from parsimon.pareto.single import best_mark, best_summary, better_first, is_better, one_objective
from parsimon.pareto.space import Box
from parsimon.pareto.step_size import StepSize


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
    stall_tolerance: float = 0.0,
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
    stall_tolerance : float
        The share by which the value must improve to count.

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
class SwarmState(State):
    """Places and velocities of the particles, and the best place that each has seen."""

    velocity: Array
    best_place: Array
    best_values: Array
    best_violation: Array


@dataclass(frozen=True, eq=False)
class ParticleSwarm:
    """The settings of a particle swarm, and one step of it as `ask` and `tell`."""

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

    def __post_init__(self) -> None:
        if not isinstance(self.space, Box):
            raise InvalidInputError(f"A particle swarm needs a Box, got {self.space!r}.")
        check_choice("weights", self.weights, ("uniform", "normal"))
        for name in ("inertia", "final_inertia", "local_weight", "global_weight"):
            check_positive(name, getattr(self, name), or_zero=True)
        if self.inertia_iterations is not None:
            check_count("inertia_iterations", self.inertia_iterations)

    def settings(self) -> dict[str, str]:
        return {
            "search": "particle_swarm",
            "space": self.space.describe(),
            "start": describe_start(self.start),
            "population_size": describe(self.population_size),
            "inertia": describe((self.inertia, self.final_inertia, self.inertia_iterations)),
            "local_weight": describe(self.local_weight),
            "global_weight": describe(self.global_weight),
            "weights": self.weights,
        }

    def first(self, rng: np.random.Generator) -> AnyArray:
        return first_population(self.space, self.start, self.population_size, rng)

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
        better = is_better(evaluated, Evaluated(state.best_values, state.best_violation))
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

    def summary(self, state: SwarmState) -> tuple[int, Array]:
        return best_summary(self.best(state))

    def mark(self, state: SwarmState) -> Array:
        return best_mark(self.best(state))

    def restore(self, arrays: dict[str, AnyArray]) -> SwarmState:
        return SwarmState.from_arrays(arrays)
