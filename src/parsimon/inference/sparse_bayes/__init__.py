"""Sparse Bayesian learning: a design matrix in, a posterior over a few of its columns out.

`sparse_regression` and `sparse_classification` add, drop and re-estimate one column after another
(Tipping and Faul 2003); those of `thinned` begin with all columns on, and climb the
evidence or a bound on it; `softmax_sparse` is the multinomial classifier, in
which each class chooses its own columns.
"""

from parsimon.inference.sparse_bayes.design import SparseBayes
from parsimon.inference.sparse_bayes.gradients import (
    laplace_design_gradient,
    laplace_evidence,
    regression_design_gradient,
    regression_evidence,
)
from parsimon.inference.sparse_bayes.sequential import sparse_classification, sparse_regression
from parsimon.inference.sparse_bayes.softmax import softmax_sparse

__all__ = [
    "SparseBayes",
    "laplace_design_gradient",
    "laplace_evidence",
    "regression_design_gradient",
    "regression_evidence",
    "softmax_sparse",
    "sparse_classification",
    "sparse_regression",
]
