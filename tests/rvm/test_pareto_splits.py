"""Rows merged and taken apart, folds of several kinds, cutoffs that survive a refit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, PredefinedSplit, StratifiedKFold

from parsimon._data import merged_rows
from parsimon._partition import homogeneous_partition
from parsimon.exceptions import InvalidInputError
from parsimon.inference.irls import logistic_mode
from parsimon.rvm._problem import (
    MOST_SINGLE_ROWS,
    given_split,
    homogeneous_split,
    single_rows,
)
from parsimon.rvm._search import ArchiveResult, ChosenColumns
from parsimon.rvm._solutions import TrainingTable, figures_of, refit, settle_cutoffs
from parsimon.rvm.pareto import ParetoRVC


@given(st.integers(0, 10_000))
def test_given_rows_find_their_merged_row(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-1, 2, size=(12, 2)) * 1.0, rng.integers(0, 2, size=12)
    weights = rng.integers(0, 3, size=12) * 1.0
    weights[0] = 1.0
    rows = merged_rows(X, y * 1.0, weights)
    places = merged_rows(X, y, weights, merge=True).which
    assert (places[weights == 0] == -1).all()
    used = weights > 0
    np.testing.assert_array_equal(rows.X[places[used]], X[used])
    np.testing.assert_array_equal(rows.y[places[used]], y[used])
    np.testing.assert_allclose(np.bincount(places[used], weights[used]), rows.weights)
    kept = merged_rows(X, y, weights, merge=False).which
    np.testing.assert_array_equal(np.flatnonzero(used)[kept[used]], np.flatnonzero(used))


def test_whole_weights_are_rows_and_others_stay_weights():
    split = single_rows(np.array([1.0, 3.0]))
    assert split.each.tolist() == [0, 1, 1, 1]
    assert split.weights.tolist() == [1.0] * 4
    assert split.held(2) is None
    for weights in (np.array([1.0, 2.5]), np.array([1.0, MOST_SINGLE_ROWS + 1.0])):
        split = single_rows(weights)
        assert split.each.tolist() == [0, 1]
        np.testing.assert_array_equal(split.weights, weights)


def test_repeated_inputs_are_spread_over_all_folds():
    # Ten equal rows of each label at one place: every fold holds out two of either.
    inputs, weights = np.array([[0.0], [0.0], [5.0]]), np.array([10.0, 10.0, 5.0])
    held = homogeneous_split(inputs, weights, 5, 0).held(3)
    np.testing.assert_array_equal(held, np.tile([2.0, 2.0, 1.0], (5, 1)))
    assert homogeneous_split(np.zeros((1, 1)), np.array([3.0]), 5, 0).held(1).shape == (3, 1)


def test_homogeneous_folds_are_those_of_the_single_rows():
    inputs = np.random.default_rng(0).normal(size=(9, 2))
    weights = np.array([1.0, 2, 1, 1, 3, 1, 1, 1, 1])
    split = homogeneous_split(inputs, weights, 3, 7)
    each = np.repeat(np.arange(9), weights.astype(int))
    np.testing.assert_array_equal(split.each, each)
    expected = homogeneous_partition(inputs[each], 3, random_state=7)
    np.testing.assert_array_equal(split.folds, expected)


@given(st.integers(0, 10_000))
def test_folds_of_a_splitter_keep_all_weight(seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], 6))
    weights = rng.integers(0, 3, size=12) * 1.0
    weights[:2] = 1.0
    X = rng.integers(0, 3, size=(12, 1)) * 1.0
    merged = merged_rows(X, y, weights, merge=True).which
    folds = np.repeat([0, 1, 2], 4)
    split = given_split(PredefinedSplit(folds), X, y, weights, merged)
    expected = np.zeros((3, merged.max() + 1))
    for fold, place, weight in zip(folds, merged, weights, strict=True):
        if place >= 0:
            expected[fold, place] += weight
    np.testing.assert_allclose(split.held(merged.max() + 1), expected[expected.any(axis=1)])


def test_folds_that_do_not_cover_the_rows_once_are_refused():
    X, y, every = np.zeros((4, 1)), np.array([0, 1, 0, 1]), np.arange(4)
    for parts in ([(every, every[:2])], [(every, every), (every, every)], [(every[:2], every)]):
        with pytest.raises(InvalidInputError, match="hold every row out once"):
            given_split(parts, X, y, np.ones(4), every)


@given(st.lists(st.integers(-5, 5), min_size=1), st.lists(st.floats(-7, 7), max_size=9))
def test_settled_cutoffs_keep_the_rows_above_and_lie_between_scores(scores, cutoffs):
    scores, cutoffs = np.array(scores) / 2, np.array(cutoffs, dtype=float)
    settled = settle_cutoffs(cutoffs, scores)
    np.testing.assert_array_equal(scores > settled[:, None], scores > cutoffs[:, None])
    inner = settled[np.isfinite(settled)]
    distinct = np.unique(scores)
    assert all(np.isclose(c, (distinct[:-1] + distinct[1:]) / 2).any() for c in inner)
    np.testing.assert_array_equal(settle_cutoffs(settled, scores), settled)


def test_rates_are_means_over_the_folds_in_which_a_class_occurs():
    rng = np.random.default_rng(0)
    codes = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    design, alpha = rng.normal(size=(8, 2)), np.ones(2)
    folds = np.array([0, 0, 1, 1, 2, 0, 0, 1])  # the last fold has nothing of class 1
    held = (folds == np.arange(3)[:, None]) * 1.0
    model, which = ChosenColumns(np.array([0, 1]), alpha), np.zeros(2, dtype=int)
    result = ArchiveResult(np.zeros((2, 3)), np.array([-0.3, 0.1]), which, (model,), 0, 0, "", None)
    table = TrainingTable(design, design, codes, np.arange(2), np.ones(8), held)
    found, _, cutoffs = refit(result, table)
    right = np.empty((2, 8))
    for fold in range(3):
        out = folds == fold
        fit = logistic_mode(design[~out], codes[~out] * 1.0, alpha)
        positive = design[out] @ fit.weights > cutoffs[:, None]
        right[:, out] = positive == (codes[out] == 1)
    for code, present in ((0, [0, 1, 2]), (1, [0, 1])):
        parts = [right[:, (folds == fold) & (codes == code)].mean(axis=1) for fold in present]
        np.testing.assert_allclose(found[:, code], np.mean(parts, axis=0))


def test_a_solution_is_no_more_accurate_than_on_the_rows_it_was_fitted_to():
    X, y = levels(60)
    front = ParetoRVC(cv=2, max_iter=40, random_state=0).fit(X, y).front_
    tpr, fpr, complexity = front.values.T
    rates = np.column_stack([1 - fpr, tpr])
    shares = np.array([np.mean(~y), np.mean(y)])
    table = TrainingTable(X, X, y.astype(int), np.array([False, True]), np.ones(60))
    lucky = figures_of(front, 0.5 * rates, complexity, complexity, table)
    np.testing.assert_allclose(lucky.judged["accuracy"], 0.5 * rates @ shares)
    np.testing.assert_allclose(lucky.judged["error"], 1 - 0.5 * rates @ shares)
    solid = figures_of(front, np.ones_like(rates), complexity, complexity, table)
    np.testing.assert_allclose(solid.judged["accuracy"], rates @ shares)
    np.testing.assert_allclose(solid.columns["accuracy"], rates @ shares)


def levels(n, seed=0):
    """Return few distinct inputs, as of categories, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, 2)) * 1.0
    return X, rng.random(n) < np.where(X[:, 0] * X[:, 1] > 0, 0.8, 0.25)


def test_equal_rows_are_never_torn_apart_by_a_cutoff():
    """Nine distinct inputs: the rates of a row must be those of a rule about the nine."""
    X, y = levels(120)
    search = ParetoRVC(cv=4, max_iter=400, random_state=0).fit(X, y)
    X_new, y_new = levels(3000, seed=1)
    frame = search.to_frame()
    for index in range(len(frame)):
        model = search.select(index)
        # Had a cutoff cut through the folds' scores of one input, the fit to all rows would
        # put all of that input on one side, far from the rates that the front shows.
        predicted = model.predict(X_new)
        assert abs(predicted[y_new].mean() - frame.loc[index, "tpr"]) < 0.25
        assert abs(predicted[~y_new].mean() - frame.loc[index, "fpr"]) < 0.25
    assert search.score(X_new, y_new) > 0.7


def test_folds_of_your_own():
    X, y = levels(80)
    groups = np.arange(80) % 4
    options = {"max_iter": 60, "random_state": 0}
    by_group = ParetoRVC(cv=GroupKFold(4).split(X, y, groups), **options).fit(X, y)
    by_number = ParetoRVC(cv=PredefinedSplit(groups), **options).fit(X, y)
    assert len(by_group.front_) > 2
    assert by_number.front_ != ParetoRVC(cv=StratifiedKFold(4), **options).fit(X, y).front_
    parts = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(4)]
    assert by_number.front_ == ParetoRVC(cv=parts, **options).fit(X, y).front_


def test_weights_of_folds_of_your_own_are_repeated_rows():
    X, y = levels(40)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    groups, weights = np.arange(40) % 4, np.arange(40) % 3
    options = {"max_iter": 60, "random_state": 0, "gamma": 1.0}
    weighted = ParetoRVC(cv=PredefinedSplit(groups), **options).fit(X, y, sample_weight=weights)
    repeated = ParetoRVC(cv=PredefinedSplit(groups.repeat(weights)), **options)
    repeated.fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert weighted.front_ == repeated.front_
