"""The loops of `passes_loops`, compiled."""

from numba import njit

from parsimon.phylo import _passes_loops as passes_loops

join_upwards = njit(cache=True)(passes_loops.join_upwards)
spread_downwards = njit(cache=True)(passes_loops.spread_downwards)
