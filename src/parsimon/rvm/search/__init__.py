"""The search for RVMs that no other beats in true positives, false positives and complexity.

Arrays in, operating points out: `search` takes a `Problem` and returns an `Outcome`.
`parsimon.rvm.ParetoRVC` is the estimator on top of it.
"""

from parsimon.rvm.search.engine import search
from parsimon.rvm.search.outcome import Outcome
from parsimon.rvm.search.problem import Problem

__all__ = ["Outcome", "Problem", "search"]
