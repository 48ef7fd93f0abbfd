"""Bayes point machines: linear and kernel classifiers by expectation propagation.

`DivergenceMKL` mixes kernels into the one nearest to the labels, for any machine that takes a
precomputed kernel.
"""

from parsimon.bpm.divergence import DivergenceMKL
from parsimon.bpm.gamma_ep import GammaPosterior, gamma_ep, kernel_gamma_ep, kernel_weights

__all__ = ["DivergenceMKL", "GammaPosterior", "gamma_ep", "kernel_gamma_ep", "kernel_weights"]
