"""The dual by evolution: the source's strategies, and one with exact local steps that reaches it.

`evolve` runs what `Settings` say. `memetic` is the default: on a concave problem one climb is the
maximum; on an indefinite kernel a population of stationary points is mutated, crossed and climbed
again. `plain` holds the strategies as Mierswa (2009) has them, without local steps.
"""

from parsimon.svm.evolution.evolved import Evolved
from parsimon.svm.evolution.run import evolve
from parsimon.svm.evolution.settings import STRATEGIES, Settings

__all__ = ["STRATEGIES", "Evolved", "Settings", "evolve"]
