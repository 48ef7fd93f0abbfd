"""Bayes point machines: Gaussian posteriors by one pass over the rows, or by passes that settle.

`ClutterMean` finds the mean of rows amid background clutter: the smallest problem on which
expectation propagation and its relatives can be compared with the truth, `exact_clutter`.
"""

from parsimon.bpm.clutter import ClutterMean
from parsimon.bpm.exact_clutter import exact_clutter

__all__ = ["ClutterMean", "exact_clutter"]
