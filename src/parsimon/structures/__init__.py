"""Which variables, shapes and interactions a table supports, each with a probability.

`find_structures` is the way in; `Claim` is what comes out.
"""

from parsimon.structures._best_first import find_structures
from parsimon.structures.blocks import LevelRows
from parsimon.structures.claims import Claim, StandIns, merged, steady
from parsimon.structures.effects import Effect, Effects
from parsimon.structures.posterior import Structure, StructurePosterior

__all__ = [
    "Claim",
    "Effect",
    "Effects",
    "LevelRows",
    "StandIns",
    "Structure",
    "StructurePosterior",
    "find_structures",
    "merged",
    "steady",
]
