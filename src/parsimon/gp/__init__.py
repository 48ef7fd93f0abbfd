"""Gaussian processes: classification, regression, and the search for a kernel.

Start at `GPClassifier` or `GPRegressor`; `SparseGPClassifier` serves tables of many thousand rows,
`KernelSearch` finds out which columns matter, alone and together. They are thin: `parsimon.gp._fit`
has the fits as functions of arrays, `parsimon.inference` the mathematics.
"""

from parsimon.gp._candidates import Candidate, SearchHistory
from parsimon.gp._estimator import Component, training_posterior
from parsimon.gp._fit import Fitted, fit_classifier, fit_regressor, fit_softmax
from parsimon.gp.classifier import GPClassifier, LeaveOneOut
from parsimon.gp.regressor import GPRegressor, LeftOutTargets
from parsimon.gp.search import KernelSearch
from parsimon.gp.sparse import SparseGPClassifier

__all__ = [
    "Candidate",
    "Component",
    "Fitted",
    "GPClassifier",
    "GPRegressor",
    "KernelSearch",
    "LeaveOneOut",
    "LeftOutTargets",
    "SearchHistory",
    "SparseGPClassifier",
    "fit_classifier",
    "fit_regressor",
    "fit_softmax",
    "training_posterior",
]
