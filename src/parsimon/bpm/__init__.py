"""Bayes point machines and what stands around them.

`DivergenceMKL` mixes kernels into the one nearest to the labels, for any machine that takes a
precomputed kernel.
"""

from parsimon.bpm.divergence import DivergenceMKL
from parsimon.bpm.kernel_weights import KernelWeights, least_divergence

__all__ = ["DivergenceMKL", "KernelWeights", "least_divergence"]
