"""Evolution without local steps: the strategies of Mierswa (2009), section 3.1.

"gaussian" (EvoSVM-G) adds normal numbers, "switching" (EvoSVM-S) sends variables from zero to C
and back, "hybrid" (EvoSVM-H) switches them off or on to any value, "swarm" (PsoSVM) is a particle
swarm.
"""

from typing import Any

import numpy as np

from parsimon._random import Seed
from parsimon._typing import Array
from parsimon.pareto import evolution_strategy, particle_swarm
from parsimon.pareto.mutation import GaussianMutation, HybridMutation, Mutation, SwitchMutation
from parsimon.pareto.result import SearchResult
from parsimon.pareto.space import Box
from parsimon.pareto.step_size import OneFifthRule
from parsimon.svm.dual import Dual
from parsimon.svm.evolution.evolved import Evolved
from parsimon.svm.evolution.settings import Settings
from parsimon.svm.exact import feasible

# The printed rule looks every 100 generations, by which time most runs have stalled.
_PRINTED_INTERVAL, _INTERVAL = 100, 10


def plain(dual: Dual, settings: Settings, *, random_state: Seed = None) -> Evolved:
    """Maximise a dual by an evolution strategy or a swarm.

    A dual with the equality is searched by what its individuals become when the side that is too
    large is shrunk (`feasible`).

    Mierswa (2009), section 3.1: EvoSVM-G, -S, -H and PsoSVM.
    """
    found = _search(dual, settings, random_state)
    return Evolved(
        feasible(dual, found.solution),
        found.history.best[:, 0],
        found.n_iter,
        found.n_evaluations,
        0,
        found.stopped_by,
    )


def _search(dual: Dual, settings: Settings, random_state: Seed) -> SearchResult:
    def evaluate(alpha: Array) -> Array:
        values: Array = dual.objective(feasible(dual, alpha))
        return values

    common: dict[str, Any] = {
        "population_size": settings.population_size,
        "max_iter": settings.max_iter,
        "stall": settings.stall,
        "time_limit": settings.time_limit,
        "maximise": True,
        # One matrix product for all.
        "chunk_size": 10 * settings.population_size,
        "random_state": random_state,
    }
    space = Box(np.zeros(len(dual)), dual.upper)
    if settings.strategy != "swarm":
        return evolution_strategy(evaluate, space, mutation=_mutation(settings), **common)
    if settings.printed:
        common |= {
            "inertia": 0.1,
            "inertia_iterations": settings.max_iter,
            "local_weight": 1.0,
            "global_weight": 1.0,
        }
    return particle_swarm(evaluate, space, **common)


def _mutation(settings: Settings) -> Mutation:
    if settings.strategy == "switching":
        return SwitchMutation()
    if settings.strategy == "hybrid":
        return HybridMutation()
    interval = _PRINTED_INTERVAL if settings.printed else _INTERVAL
    return GaussianMutation(scale=0.1, adapt=OneFifthRule(interval=interval))
