"""Bayes point machines: linear and kernel classifiers by expectation propagation."""

from parsimon.bpm.gamma_ep import GammaPosterior, gamma_ep, kernel_gamma_ep, kernel_weights

__all__ = ["GammaPosterior", "gamma_ep", "kernel_gamma_ep", "kernel_weights"]
