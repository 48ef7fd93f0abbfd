"""From the options of `ParetoRVC` to a search: checks, the start, the problem, the call.

Which rows a search sees, and which of them are held out when.

Equal rows are merged before a fit, since to a model they are one row with a weight; to a split
they are several rows, of which one may be held out and another not.
"""

import time
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import (
    check_choice,
    check_count,
    check_positive,
    check_probability,
    check_seconds,
    is_precomputed,
)
from parsimon._data import Rows
from parsimon._partition import homogeneous_partition
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes.softmax import SparseSoftmax
from parsimon.rvm._class_search import ClassProblem, class_search
from parsimon.rvm._classes import fit_classes
from parsimon.rvm._entry import entry_test
from parsimon.rvm._evaluate import Model, Outcome
from parsimon.rvm._fit import Dictionary, check_options
from parsimon.rvm._genome import check_complexity
from parsimon.rvm._problem import TWO_ARCHIVES, Problem
from parsimon.rvm._search import ALGORITHMS, search
from parsimon.rvm.classifier import RVC

# Rows beyond which weights are not written out as repeated rows.
MOST_SINGLE_ROWS = 100_000


class Split(NamedTuple):
    """The rows of a search, in terms of the merged rows.

    each (n_rows,): Which merged row each row is.
    weights (n_rows,): How many times it counts.
    folds (n_rows,): In which fold it is held out.
    """

    each: Indices
    weights: Array
    folds: Indices | None = None

    def held(self, n_merged: int) -> Array | None:
        """Return how much of each merged row is held out in each fold, if there are folds."""
        if self.folds is None:
            return None
        table = np.zeros((int(self.folds.max()) + 1, n_merged))
        np.add.at(table, (self.folds, self.each), self.weights)
        return table


def single_rows(weights: Array) -> Split:
    """Return merged rows as single ones.

    Weights that are no whole numbers, or that stand for very many rows, stay weights.

    Shapes: weights (n_merged,).
    """
    if (weights != weights.round()).any() or weights.sum() > max(MOST_SINGLE_ROWS, len(weights)):
        return Split(np.arange(len(weights)), weights)
    each = np.repeat(np.arange(len(weights)), weights.astype(np.intp))
    return Split(each, np.ones(len(each)))


def homogeneous_split(
    inputs: Array, weights: Array, n_folds: int, random_state: Seed = None
) -> Split:
    """Return single rows in folds that look alike.

    Shapes: inputs (n_merged, d), weights (n_merged,).
    """
    rows = single_rows(weights)
    n_folds = min(n_folds, len(rows.each))
    folds = homogeneous_partition(inputs[rows.each], n_folds, random_state=random_state)
    return rows._replace(folds=folds)


def given_split(cv: Any, X: Array, y: AnyArray, weights: Array, merged: Indices) -> Split:
    """Return the rows in the folds of a splitter.

    Shapes: X (n_given, d), y (n_given,), weights (n_given,), merged (n_given,).
    """
    from sklearn.model_selection import check_cv

    try:
        parts = list(check_cv(cv, y, classifier=True).split(X, y))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            "cv must be None, a number of folds, a splitter, an iterable of (train, test), or one "
            f'of "swap", "shuffle", "stratified", "homogeneous"; {error}'
        ) from error
    times = np.bincount(np.concatenate([test for _, test in parts]), minlength=len(X))
    if len(parts) < 2 or (times != 1).any():
        raise InvalidInputError(
            f"cv must have two folds or more and hold every row out once, but it has "
            f"{len(parts)} and holds rows out {times.min()} to {times.max()} times."
        )
    folds = np.empty(len(X), dtype=np.intp)
    for number, (_, test) in enumerate(parts):
        folds[test] = number
    used = merged >= 0
    table = np.zeros((len(parts), int(merged.max()) + 1))
    np.add.at(table, (folds[used], merged[used]), weights[used])
    occupied, each = np.nonzero(table)
    # Folds of rows without weight are none.
    return Split(
        each, table[occupied, each], np.unique(occupied, return_inverse=True)[1].astype(np.intp)
    )


def shared_options(estimator: Any) -> RVC:
    """Return the unfitted classifier with the options that both have."""
    return RVC(
        estimator.kernel,
        gamma=estimator.gamma,
        degree=estimator.degree,
        coef0=estimator.coef0,
        centres=estimator.centres,
        bias=estimator.bias,
        random_state=estimator.random_state,
    )


def check_search_options(estimator: Any) -> None:
    """Refuse options of `ParetoRVC` that cannot be used."""
    check_options(shared_options(estimator))
    check_complexity(estimator.complexity)
    check_choice("start", estimator.start, ("random", "rvm"))
    check_choice("algorithm", estimator.algorithm, ALGORITHMS)
    check_choice("fixed_bias", estimator.fixed_bias, (True, False))
    check_seconds("time_limit", estimator.time_limit)
    if isinstance(estimator.cv, str):
        check_choice("cv", estimator.cv, TWO_ARCHIVES)
    elif isinstance(estimator.cv, Real):
        check_count("cv", estimator.cv, least=2)
    if isinstance(estimator.thresholds, str):
        check_choice("thresholds", estimator.thresholds, ("exact",))
    else:
        check_positive("thresholds", estimator.thresholds)
    if estimator.entry is not None:
        check_probability("entry", estimator.entry)
    _check_combinations(estimator)


def _check_combinations(estimator: Any) -> None:
    if estimator.fixed_bias and not estimator.bias:
        raise InvalidInputError("fixed_bias=True needs bias=True.")
    halves = isinstance(estimator.cv, str)
    if estimator.entry is not None and halves:
        raise InvalidInputError(
            f"entry needs one archive, but cv={estimator.cv!r} has two; give cv a number or None."
        )
    if estimator.algorithm != "archive" and (estimator.entry is not None or halves):
        raise InvalidInputError(
            f"algorithm={estimator.algorithm!r} has one population: give cv a number or None, and "
            "leave entry out."
        )


class Seeds(NamedTuple):
    """Seeds of the search, of the resamples of an entry test, and of the folds."""

    search: Seed
    resamples: Seed
    folds: Seed


def search_seeds(random_state: Seed) -> Seeds:
    """Return independent seeds.

    Without a seed only the search is left to chance: resamples and folds must be the same when it
    resumes.
    """
    if random_state is None:
        return Seeds(None, 0, 0)
    root = seed_sequence(random_state)
    keys = [(*root.spawn_key, number) for number in range(3)]
    return Seeds(*(np.random.SeedSequence(root.entropy, spawn_key=key) for key in keys))


def split_for(
    estimator: Any,
    rows: Rows,
    design: Array,
    given: tuple[Array, Indices, Array],
    seeds: Seeds,
) -> Split:
    """Return the rows of the search and their folds, if `cv` asks for any.

    Shapes: design (n, M).
    """
    if estimator.cv is None or isinstance(estimator.cv, str):
        return single_rows(rows.weights)
    if isinstance(estimator.cv, Integral):
        inputs = design if is_precomputed(estimator) else rows.X
        return homogeneous_split(inputs, rows.weights, int(estimator.cv), seeds.folds)
    X, codes, weights = given
    return given_split(estimator.cv, X, codes, weights, rows.which)


def search_for(
    estimator: Any,
    options: RVC,
    made: Dictionary,
    rows: Rows,
    codes: Indices,
    split: Split,
    seeds: Seeds,
    deadline: float | None,
) -> Outcome:
    """Run the search that the options of a `ParetoRVC` ask for.

    Shapes: codes (n,).
    """
    each, weights, folds = split
    n_classes = len(estimator.classes_)
    common: dict[str, Any] = {
        "scheme": estimator.cv if folds is None else folds,
        "complexity": estimator.complexity,
        "mutations": estimator.mutations,
        "start": "random",
        "thresholds": estimator.thresholds,
        "fixed_bias": estimator.fixed_bias,
        "max_iter": estimator.max_iter,
        "stall": estimator.stall,
        "checkpoint": estimator.checkpoint,
        "verbose": estimator.verbose,
        "random_state": seeds.search,
    }
    if estimator.start == "rvm":
        common["start"] = _fitted_start(options, made, rows, codes, n_classes, deadline)
    if estimator.entry is not None:
        common["entry"] = entry_test(
            codes[each], estimator.entry, n_rows=weights, random_state=seeds.resamples
        )
    if deadline is not None:
        # At least a little time, so that there is a front whatever the dictionary took.
        common["time_limit"] = max(deadline - time.monotonic(), 0.01)
    design, has_bias = made.design, made.basis.has_bias
    if not np.array_equal(each, np.arange(len(design))):
        design = design[each]
    inputs = design if is_precomputed(estimator) else rows.X[each]
    if n_classes > 2:
        _refuse_two_class_options(estimator)
        several = ClassProblem(design, codes[each], n_classes, has_bias, weights, inputs)
        return class_search(several, **common)
    labels = codes[each].astype(np.float64)
    problem = Problem(design, labels, has_bias=has_bias, row_weights=weights, inputs=inputs)
    return search(
        problem,
        algorithm=estimator.algorithm,
        population_size=estimator.population_size,
        **common,
    )


def _refuse_two_class_options(estimator: Any) -> None:
    if isinstance(estimator.cv, str) or estimator.algorithm != "archive":
        raise InvalidInputError(
            f"cv={estimator.cv!r} with algorithm={estimator.algorithm!r} is for two classes, got "
            f'{len(estimator.classes_)}; give cv a number or None, and algorithm="archive".'
        )


def _fitted_start(
    options: RVC,
    made: Dictionary,
    rows: Rows,
    codes: Indices,
    n_classes: int,
    deadline: float | None,
) -> Model:
    """Return the columns and precisions of maximum evidence; classes share the least ones."""
    fits = fit_classes(options, made, codes, n_classes, row_weights=rows.weights, deadline=deadline)
    fit = fits[0]
    columns = fit.pairs[:, 1] if isinstance(fit, SparseSoftmax) else fit.active
    alpha = np.full(made.design.shape[1], np.inf)
    np.minimum.at(alpha, columns, fit.alpha)
    active = np.flatnonzero(np.isfinite(alpha))
    return Model(active, alpha[active])
