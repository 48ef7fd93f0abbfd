import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.evaluation import StratifiedHalves
from parsimon.exceptions import InvalidInputError


@given(st.lists(st.integers(2, 9), min_size=2, max_size=4), st.integers(0, 5))
def test_each_class_is_halved_and_an_odd_row_goes_to_the_first_half(sizes, seed):
    y = np.repeat(list("abcd")[: len(sizes)], sizes)
    folds = list(StratifiedHalves(3, random_state=seed).split(y, y))
    assert len(folds) == 6
    for (first, second), (swapped_first, swapped_second) in zip(
        folds[::2], folds[1::2], strict=True
    ):
        assert np.array_equal(first, swapped_second)
        assert np.array_equal(second, swapped_first)
        assert np.array_equal(np.sort(np.r_[first, second]), np.arange(len(y)))
        for label, size in zip("abcd", sizes, strict=False):
            assert np.sum(y[first] == label) == (size + 1) // 2
            assert np.sum(y[second] == label) == size // 2


def test_one_fold_for_each_split_keeps_the_first_halves():
    y = np.tile([0, 1], 10)
    both = list(StratifiedHalves(4, random_state=1).split(y, y))
    once = list(StratifiedHalves(4, each_half=False, random_state=1).split(y, y))
    assert len(once) == 4
    for (train, test), (other_train, other_test) in zip(both[::2], once, strict=True):
        assert np.array_equal(train, other_train)
        assert np.array_equal(test, other_test)


def test_more_repeats_only_add_splits():
    y = np.tile([0, 1], 10)
    few, many = (list(StratifiedHalves(b, random_state=0).split(y, y)) for b in (2, 5))
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(few, many, strict=False))


def test_every_row_is_as_likely_to_be_the_extra_one():
    y = np.array([0, 0, 0, 1, 1])
    halves = StratifiedHalves(3000, each_half=False, random_state=0)
    in_first = np.zeros(5)
    for first, _ in halves.split(y, y):
        in_first[first] += 1
    # Standard error 0.009: four of them on either side.
    np.testing.assert_allclose(in_first / 3000, [2 / 3, 2 / 3, 2 / 3, 1 / 2, 1 / 2], atol=0.036)


def test_repeats_and_seeds_differ_but_a_seed_repeats_itself():
    y = np.tile([0, 1], 10)

    def firsts(seed):
        halves = StratifiedHalves(5, each_half=False, random_state=seed)
        return [train.tolist() for train, _ in halves.split(y, y)]

    assert firsts(0) == firsts(0) != firsts(1)
    assert len({tuple(first) for first in firsts(0)}) == 5


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame, csr_array])
def test_any_kind_of_table_and_text_labels(kind):
    X, y = np.eye(6), ["no", "no", "no", "yes", "yes", "yes"]
    expected = list(StratifiedHalves(2, random_state=0).split(X, y))
    folds = list(StratifiedHalves(2, random_state=0).split(kind(X), pd.Series(y)))
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(expected, folds, strict=True))


def test_it_works_inside_scikit_learn(rng):
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    halves = StratifiedHalves(3, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    scores = cross_val_score(model, X, y, cv=halves)
    by_hand = [model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in halves.split(X, y)]
    assert scores.tolist() == by_hand
    search = GridSearchCV(model, {"logisticregression__C": [0.1, 1.0]}, cv=halves).fit(X, y)
    assert search.n_splits_ == halves.get_n_splits() == 6
    assert StratifiedHalves(3, each_half=False).get_n_splits() == 3
    assert repr(halves) == "StratifiedHalves(each_half=True, n_repeats=3, random_state=0)"


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (None, {}, "splits the classes of y: give y"),
        (["a", "b", "b", "b"], {}, "Class a has 1 of the 2 rows"),
        (["a", "a", "b"], {}, "X has 4 rows, but y has 3"),
        ([0.1, 0.2, 0.3, 0.4], {}, "real numbers"),
        ([0, 0, 1, 1], {"n_repeats": 0}, "n_repeats must be an integer of at least 1, got 0"),
        ([0, 0, 1, 1], {"n_repeats": 2.0}, r"n_repeats must be an integer.*2\.0"),
    ],
)
def test_what_cannot_be_halved_is_refused(y, options, message):
    with pytest.raises(InvalidInputError, match=message):
        list(StratifiedHalves(**options).split(np.eye(4), y))
