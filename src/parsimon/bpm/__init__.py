"""Bayes point machines: classifiers that average over all boundaries, by expectation propagation.

Start with `BayesPointClassifier`: linear or with a kernel, for a batch or a stream, with wrong
labels and repeated rows. `AlphaRows` and `SupportRows` fit it to fewer rows, and `sparsity_front`
says what that costs. `DivergenceMKL` mixes kernels into the one nearest to the labels, for any
machine that takes a precomputed kernel. `gamma_ep` and `kernel_gamma_ep` are Fearn's gamma-EP as
functions of arrays, `pac_bayes_bounds` a diagnostic. `ClutterMean` finds the mean of rows amid
clutter: the smallest problem on which all this can be compared with the truth, `exact_clutter`.
"""

from parsimon.bpm._weights import PacBayesBounds, pac_bayes_bounds
from parsimon.bpm.classifier import BayesPointClassifier
from parsimon.bpm.clutter import ClutterMean, exact_clutter
from parsimon.bpm.divergence import DivergenceMKL
from parsimon.bpm.gamma_ep import (
    AlphaRows,
    GammaPosterior,
    SupportRows,
    gamma_ep,
    kernel_gamma_ep,
    kernel_weights,
)
from parsimon.bpm.sparsity import sparsity_front

__all__ = [
    "AlphaRows",
    "BayesPointClassifier",
    "ClutterMean",
    "DivergenceMKL",
    "GammaPosterior",
    "PacBayesBounds",
    "SupportRows",
    "exact_clutter",
    "gamma_ep",
    "kernel_gamma_ep",
    "kernel_weights",
    "pac_bayes_bounds",
    "sparsity_front",
]
