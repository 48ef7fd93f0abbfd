"""From the options of `ParetoRVC` to a search: checks, the start, the problem, the call."""

import time
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from parsimon._options import (
    check_choice,
    check_count,
    check_positive,
    check_probability,
    check_seconds,
)
from parsimon._random import Seed, seed_sequence
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes.softmax import SparseSoftmax
from parsimon.rvm.classification import fit_classes
from parsimon.rvm.classifier import RVC
from parsimon.rvm.fit import Dictionary, check_options, is_precomputed
from parsimon.rvm.rows import TrainingRows
from parsimon.rvm.search.classes import ClassProblem, class_search
from parsimon.rvm.search.complexity import check_complexity
from parsimon.rvm.search.engine import ALGORITHMS, search
from parsimon.rvm.search.entry import entry_test
from parsimon.rvm.search.outcome import Model, Outcome
from parsimon.rvm.search.partitions import TWO_ARCHIVES
from parsimon.rvm.search.problem import Problem
from parsimon.rvm.splits import Split, given_split, homogeneous_split, merged_places, single_rows


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
    rows: TrainingRows,
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
    merged = merged_places(X, codes, weights, merge=not is_precomputed(estimator))
    return given_split(estimator.cv, X, codes, weights, merged)


def search_for(
    estimator: Any,
    options: RVC,
    made: Dictionary,
    rows: TrainingRows,
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
    rows: TrainingRows,
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
