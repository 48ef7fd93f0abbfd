"""Gaussian processes: classification, regression, and the search for a kernel.

Start at `GPClassifier` or `GPRegressor`; `SparseGPClassifier` serves tables of many thousand rows,
`KernelSearch` finds out which columns matter, alone and together. They are thin: `_process_fit` has
the fits as functions of arrays, `parsimon.inference` the mathematics, `_beam` the search.
"""

from parsimon.gp._candidates import Candidate, SearchHistory
from parsimon.gp._estimator import degrees_of_freedom, training_posterior
from parsimon.gp._process_fit import FittedProcess, fit_classifier, fit_regressor
from parsimon.gp.classifier import GPClassifier
from parsimon.gp.regressor import GPRegressor
from parsimon.gp.search import KernelSearch
from parsimon.gp.sparse import SparseGPClassifier

__all__ = [
    "Candidate",
    "FittedProcess",
    "GPClassifier",
    "GPRegressor",
    "KernelSearch",
    "SearchHistory",
    "SparseGPClassifier",
    "degrees_of_freedom",
    "fit_classifier",
    "fit_regressor",
    "training_posterior",
]
