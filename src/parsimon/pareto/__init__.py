"""Fronts, and how to find them: the part that every search of the package stands on.

Read `Front` first: an immutable table of solutions of which none is better than another in
everything, with rules to choose from it (`choose` takes them as text). `Archive` collects one
during a search of your own. `nsga2` searches for one over a space (`Box`, `Bits`, `Integers`) with
operators that are values; `evolution_strategy` and `particle_swarm` serve a single objective. All
three run in one loop (`run.py`). Inside, everything is minimised; directions exist only at the
border (`Directions`).
"""

from typing import TYPE_CHECKING, Any

from parsimon.pareto._checkpoint import Checkpoint
from parsimon.pareto._directions import Directions
from parsimon.pareto.archive import Archive, Insertion
from parsimon.pareto.choose import Figures, choose
from parsimon.pareto.desirability import (
    DesirabilityGuide,
    HarringtonOneSided,
    HarringtonTwoSided,
    OneSided,
    ReferencePoints,
    TwoSided,
)
from parsimon.pareto.dominance import (
    additive_epsilon,
    attainment,
    dominates,
    hypervolume,
    igd_plus,
    nondominated,
    spread,
)
from parsimon.pareto.front import Front
from parsimon.pareto.nsga2 import nsga2
from parsimon.pareto.search import SearchResult
from parsimon.pareto.single import evolution_strategy, particle_swarm
from parsimon.pareto.space import Bits, Box, Integers
from parsimon.pareto.variation import (
    BitFlip,
    GaussianMutation,
    OneFifthRule,
    PolynomialMutation,
    SimulatedBinaryCrossover,
    UniformCrossover,
)

if TYPE_CHECKING:
    from parsimon.pareto.estimator import FrontEstimator

__all__ = [
    "Archive",
    "BitFlip",
    "Bits",
    "Box",
    "Checkpoint",
    "DesirabilityGuide",
    "Directions",
    "Figures",
    "Front",
    "FrontEstimator",
    "GaussianMutation",
    "HarringtonOneSided",
    "HarringtonTwoSided",
    "Insertion",
    "Integers",
    "OneFifthRule",
    "OneSided",
    "PolynomialMutation",
    "ReferencePoints",
    "SearchResult",
    "SimulatedBinaryCrossover",
    "TwoSided",
    "UniformCrossover",
    "additive_epsilon",
    "attainment",
    "choose",
    "dominates",
    "evolution_strategy",
    "hypervolume",
    "igd_plus",
    "nondominated",
    "nsga2",
    "particle_swarm",
    "spread",
]


def __getattr__(name: str) -> Any:
    # The one name that needs scikit-learn, which takes longer to load than all the rest.
    if name == "FrontEstimator":
        from parsimon.pareto.estimator import FrontEstimator

        return FrontEstimator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
