"""`quick_formulas`: what least squares alone finds, in about a second and without chance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parsimon._checks import check_count, finite_matrix, finite_vector
from parsimon._parallel import one_thread
from parsimon.exceptions import InvalidInputError
from parsimon.features.constructor import has_signal
from parsimon.features.feature_sets import FeatureProblem, FeatureSet
from parsimon.features.formula_candidates import formula_candidates
from parsimon.features.formula_model import RegressionFormula, linear_formula
from parsimon.features.formula_paths import further_sets
from parsimon.features.learning_tasks import name_columns
from parsimon.features.operations import OPERATIONS, OwnFunction, check_operations


def quick_formulas(
    X: Any,
    y: Any,
    names: Sequence[str] | None = None,
    *,
    operations: Sequence[str | OwnFunction] = OPERATIONS,
    n_formulas: int = 5,
) -> list[RegressionFormula]:
    """Return formulas for a number that least squares finds over a library of features.

    It is how `ParetoConstructor` begins, without its search: sums of few products of powers and
    functions of columns, and the square, root, logarithm, or one over such a sum.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    names : sequence of str, optional
        Of the columns; those of a data frame, or x0, x1, ..., if left out.
    operations : sequence of str or OwnFunction
        As in `ParetoConstructor`; functions of your own are left to its search.
    n_formulas : int
        Most formulas to return.

    Returns
    -------
    list of RegressionFormula
        The least error on rows left out first; of errors that are rounding the simplest. Where
        columns say no more of y than of y shuffled, a constant alone.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(1, 5, size=(100, 2))
    >>> print(quick_formulas(X, 1 / (1 / X[:, 0] + 1 / X[:, 1]), ["f", "g"])[0])
    1/(1/f + 1/g)
    """
    check_operations(operations)
    n_most = check_count("n_formulas", n_formulas)
    table, target = finite_matrix(X, "X"), finite_vector(y, "y")
    if len(table) != len(target) or len(target) < 4:
        raise InvalidInputError(
            f"X and y need the same number of rows, at least 4; got {len(table)} and {len(target)}."
        )
    called = name_columns(X, table.shape[1], names)
    with one_thread():
        problem = FeatureProblem(called, table, target, 0, rng=np.random.default_rng(0))
        if not problem.originals:
            raise InvalidInputError("No column of X varies; give at least one that does.")
        if not has_signal(problem, problem.columns, target, operations):
            best: list[FeatureSet] = [()]
        else:
            sets = formula_candidates(problem, operations)
            sets += further_sets(problem, operations, sets)
            ranked = sorted((problem.objectives(s)[::2], [f.key for f in s], s) for s in sets)
            best = [features for _, _, features in ranked[:n_most]]
        fits = [(features, problem.fit(features)) for features in best]
        return [
            linear_formula(features, called, fit, problem.columns.matrix(features))
            for features, fit in fits
            if fit is not None
        ]
