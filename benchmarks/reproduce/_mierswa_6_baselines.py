"""What usual ways of selecting columns find, on the folds of a front, to be compared with it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from benchmarks.reproduce._mierswa_filters import FILTERS
from parsimon._checks import check_choice
from parsimon._random import Seed
from parsimon._typing import Array, Mask
from parsimon.features._subset_search import DIGITS, SubsetProblem
from parsimon.pareto import Bits, Front, nsga2

_WALKS = ("forward", "backward", "floating")


def selection_baselines(
    search: Any,
    methods: Sequence[str] | None = None,
    *,
    max_iter: int = 20,
    population_size: int = 40,
    random_state: Seed = 0,
) -> dict[str, Front]:
    """Return the fronts that greedy searches, filters and a genetic algorithm find.

    All are judged by the learner and on the folds of a fitted search, so that the fronts can be
    compared number by number. None of them can be better than an exact front.

    Parameters
    ----------
    search : ParetoSelector
        Fitted.
    methods : sequence of str, optional
        Of "forward", "backward" and "floating" (greedy walks); "variance ratio", "information
        gain", "Relief", "linear SVM" and "principal component" (the best columns by a score that
        knows no subset); "FOCUS" (first the smallest subset that tells unlike rows apart);
        "genetic" (a genetic algorithm for the error alone, which ends at one subset).
        All if left out.
    max_iter, population_size : int
        Of the genetic algorithm.
    random_state : int, Generator, SeedSequence, RandomState or None
        For the genetic algorithm.

    Returns
    -------
    dict of str to Front
        Columns ``error`` and ``n_features``; a solution is the list of its columns' places.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> from parsimon.features import ParetoSelector
    >>> pima = load("pima")
    >>> search = ParetoSelector(random_state=0).fit(pima.data, pima.target)
    >>> found = selection_baselines(search, ["forward", "variance ratio"])
    >>> best = search.front_.values[0, 0]
    >>> all(front.values[0, 0] >= best for front in found.values())
    True
    """
    check_is_fitted(search)
    known = (*_WALKS, *FILTERS, "genetic")
    asked = known if methods is None else tuple(methods)
    for name in asked:
        check_choice("methods", name, known)
    errors, columns = search.errors_, search.columns_
    limit = len(columns.fixed) if search.max_features is None else search.max_features
    problem = SubsetProblem(errors, columns, limit)
    found = {}
    for name in asked:
        if name in _WALKS:
            bits = getattr(problem, name)()
        elif name in FILTERS:
            bits = problem.prefixes(FILTERS[name](errors.X, errors.y, errors.task))
        else:
            bits = _evolved(problem, max_iter, population_size, random_state)
        found[name] = _front(problem, bits[columns.masks(bits).sum(axis=1) <= limit])
    return found


def _front(problem: SubsetProblem, bits: Mask) -> Front:
    masks = problem.columns.masks(bits)
    values = np.column_stack([problem.errors(masks).round(DIGITS), masks.sum(axis=1)])
    chosen = [np.flatnonzero(mask).tolist() for mask in masks]
    return Front(values, ["error", "n_features"], solutions=chosen, ties="first")


def _evolved(
    problem: SubsetProblem, max_iter: int, population_size: int, random_state: Seed
) -> Mask:
    """Return the subset of least error that a genetic algorithm ends at, (1, g)."""
    columns = problem.columns

    def evaluate(bits: Mask) -> tuple[Array, Array]:
        masks = columns.masks(bits)
        return problem.values(masks)[:, :1], problem.excess(masks)

    result = nsga2(
        evaluate,
        Bits(len(columns.units)),
        population_size=population_size,
        max_iter=max_iter,
        chunk_size=population_size,
        names=["error"],
        random_state=random_state,
    )
    best: Mask = result.solutions[:1]
    return best
