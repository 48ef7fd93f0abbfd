"""Bayes point machines and what stands around them.

`DivergenceMKL` mixes kernels into the one nearest to the labels, for any machine that takes a
precomputed kernel.
"""

from parsimon.bpm.divergence import DivergenceMKL

__all__ = ["DivergenceMKL"]
