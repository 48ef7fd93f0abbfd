"""Bayes point machines: classifiers that average over all boundaries, by expectation propagation.

Start with `BayesPointClassifier`: linear or with a kernel, for a batch or a stream, with wrong
labels and repeated rows. `gamma_ep` and `kernel_gamma_ep` are Fearn's gamma-EP as functions of
arrays, `pac_bayes_bounds` a diagnostic. `ClutterMean` finds the mean of rows amid background
clutter: the smallest problem on which expectation propagation and its relatives can be compared
with the truth, `exact_clutter`.
"""

from parsimon.bpm._weights import PacBayesBounds, pac_bayes_bounds
from parsimon.bpm.classifier import BayesPointClassifier
from parsimon.bpm.clutter import ClutterMean
from parsimon.bpm.exact_clutter import exact_clutter
from parsimon.bpm.gamma_ep import GammaPosterior, gamma_ep, kernel_gamma_ep, kernel_weights

__all__ = [
    "BayesPointClassifier",
    "ClutterMean",
    "GammaPosterior",
    "PacBayesBounds",
    "exact_clutter",
    "gamma_ep",
    "kernel_gamma_ep",
    "kernel_weights",
    "pac_bayes_bounds",
]
