"""Fronts, and how to find them: the part that every search of the package stands on.

Read `Front` first: an immutable table of solutions of which none is better than another in
everything, with rules to choose from it. `Archive` collects one during a search. `nsga2` searches
for one; `evolution_strategy` and `particle_swarm` serve a single objective. Inside, everything is
minimised; directions exist only at the border (`Directions`).
"""

from parsimon.pareto.archive import Archive, Insertion
from parsimon.pareto.directions import Directions
from parsimon.pareto.dominance import dominance_ranks, dominates, nondominated
from parsimon.pareto.front import Front, Member
from parsimon.pareto.indicators import (
    additive_epsilon,
    attainment,
    hypervolume,
    igd_plus,
    spread,
)

__all__ = [
    "Archive",
    "Directions",
    "Front",
    "Insertion",
    "Member",
    "additive_epsilon",
    "attainment",
    "dominance_ranks",
    "dominates",
    "hypervolume",
    "igd_plus",
    "nondominated",
    "spread",
]
