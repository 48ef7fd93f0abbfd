"""Rows to learn from: equal ones merged, those without weight left out, none of the weight lost."""

import numpy as np
import pytest

from parsimon._data import class_weights, merged_rows


@pytest.fixture
def given(rng):
    X = rng.integers(0, 2, size=(40, 2)).astype(float)
    return X, rng.integers(0, 2, 40), rng.integers(0, 4, 40) / 2


def test_a_merged_row_has_the_weight_of_those_it_stands_for_and_each_its_share(given):
    X, y, weights = given
    rows = merged_rows(X, y, weights)
    used = rows.which >= 0
    np.testing.assert_array_equal(used, weights > 0)
    np.testing.assert_array_equal(rows.X[rows.which[used]], X[used])
    np.testing.assert_array_equal(rows.y[rows.which[used]], y[used])
    np.testing.assert_allclose(np.bincount(rows.which[used], rows.share[used]), 1.0)
    np.testing.assert_allclose(rows.weights[rows.which] * rows.share, weights)
    assert rows.weights.sum() == weights.sum()
    assert len(np.unique(np.column_stack([rows.X, rows.y]), axis=0)) == len(rows)


def test_some_of_the_rows_keep_their_weights_and_shares(given):
    rows = merged_rows(*given)
    some = rows.of(np.array([2, 0]))
    np.testing.assert_array_equal(some.X, rows.X[[2, 0]])
    np.testing.assert_array_equal(some.which >= 0, np.isin(rows.which, [2, 0]))
    np.testing.assert_allclose(np.bincount(some.which[some.which >= 0]) > 0, True)
    np.testing.assert_array_equal(some.share[some.which < 0], 0.0)


def test_balanced_classes_have_equal_weight_and_the_whole_stays(given):
    _, y, weights = given
    factors = class_weights("balanced", np.array([0, 1]), y, weights)
    totals = np.bincount(y, weights * factors)
    np.testing.assert_allclose(totals, weights.sum() / 2)
    # A class without weight has no part of it.
    alone = class_weights("balanced", np.array([0, 1, 2]), y, weights)
    np.testing.assert_allclose(alone, factors)
