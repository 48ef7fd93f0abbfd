"""Bayes point machines: classifiers that average over all boundaries, by expectation propagation.

Start with `BayesPointClassifier`: linear or with a kernel, for a batch or a stream, with wrong
labels and repeated rows. `gamma_ep` and `kernel_gamma_ep` are Fearn's gamma-EP as functions of
arrays, `pac_bayes_bounds` a diagnostic.
"""

from parsimon.bpm._weights import PacBayesBounds, pac_bayes_bounds
from parsimon.bpm.classifier import BayesPointClassifier
from parsimon.bpm.gamma_ep import GammaPosterior, gamma_ep, kernel_gamma_ep, kernel_weights

__all__ = [
    "BayesPointClassifier",
    "GammaPosterior",
    "PacBayesBounds",
    "gamma_ep",
    "kernel_gamma_ep",
    "kernel_weights",
    "pac_bayes_bounds",
]
