"""Regressions on a tree as a family: least squares and sparse regression, with and without it.

`read_traits` matches a table with a tree, `Phylogeny` offers the models, `judge` measures them on
whole clades and on random folds.
"""

from parsimon.statistician.families.phylo._clades import (
    Judgement,
    check_folds,
    judge,
    usual_folds,
)
from parsimon.statistician.families.phylo._regressions import (
    CURVE_POINTS,
    FittedRegression,
    Phylogeny,
    TraitCandidate,
    TraitResult,
    fit,
    interval,
    lambda_curve,
    list_ancestors,
    pgls_finding,
    phyrvm_finding,
    reconstruct,
    try_squares,
)
from parsimon.statistician.families.phylo._species import Traits, read_traits

__all__ = [
    "CURVE_POINTS",
    "FittedRegression",
    "Judgement",
    "Phylogeny",
    "TraitCandidate",
    "TraitResult",
    "Traits",
    "check_folds",
    "fit",
    "interval",
    "judge",
    "lambda_curve",
    "list_ancestors",
    "pgls_finding",
    "phyrvm_finding",
    "read_traits",
    "reconstruct",
    "try_squares",
    "usual_folds",
]
