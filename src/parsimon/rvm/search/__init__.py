"""The search for RVMs that no other beats in true positives, false positives and complexity.

Arrays in, operating points out: `search` takes a `Problem` and returns an `Outcome`, `refit` fits
what it found to all rows. `parsimon.rvm.ParetoRVC` is the estimator on top of it.
"""

from parsimon.rvm.search.engine import search
from parsimon.rvm.search.outcome import Outcome
from parsimon.rvm.search.problem import Problem
from parsimon.rvm.search.refit import Refit, refit

__all__ = ["Outcome", "Problem", "Refit", "refit", "search"]
