"""Regressions on a tree as a family: least squares and sparse regression, with and without it.

`read_traits` matches a table with a tree, `regressions` offers the models, `judge` measures them on
whole clades and on random folds.
"""

from parsimon.statistician.families.phylo._clades import (
    Judgement,
    check_folds,
    compare_regressions,
    judge,
    trait_question,
    usual_folds,
)
from parsimon.statistician.families.phylo._features import FeatureSource, completed
from parsimon.statistician.families.phylo._regressions import (
    CURVE_POINTS,
    FittedRegression,
    fit_regression,
    interval,
    lambda_curve,
    list_ancestors,
    pgls_finding,
    phyrvm_finding,
    reconstruct,
    regressions,
    try_squares,
)
from parsimon.statistician.families.phylo._species import Traits, match_rows, read_traits

__all__ = [
    "CURVE_POINTS",
    "FeatureSource",
    "FittedRegression",
    "Judgement",
    "Traits",
    "check_folds",
    "compare_regressions",
    "completed",
    "fit_regression",
    "interval",
    "judge",
    "lambda_curve",
    "list_ancestors",
    "match_rows",
    "pgls_finding",
    "phyrvm_finding",
    "read_traits",
    "reconstruct",
    "regressions",
    "trait_question",
    "try_squares",
    "usual_folds",
]
