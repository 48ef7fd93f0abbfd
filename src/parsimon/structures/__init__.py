"""Which variables, shapes and interactions a table supports, each with a probability.

`find_structures` is the way in; `Claim` is what comes out.
"""

from parsimon.structures._sets import StandIns
from parsimon.structures.claims import Claim, merged, steady
from parsimon.structures.posterior import Structure, StructurePosterior, find_structures

__all__ = [
    "Claim",
    "StandIns",
    "Structure",
    "StructurePosterior",
    "find_structures",
    "merged",
    "steady",
]
