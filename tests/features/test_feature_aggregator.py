"""Joining columns without a target: candidates, exact fronts."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.exceptions import InvalidInputError
from parsimon.features import ColumnMaxima, FeatureAggregator
from parsimon.features._clustering_search import n_columns, tables_of
from parsimon.features.feature_aggregator import number_groups, partial_partitions
from tests.features.unsupervised_tables import IRIS, in_halves


def fitted(X, n_clusters=3, **options):
    return FeatureAggregator(n_clusters, random_state=0, **options).fit(X)


@given(st.integers(1, 6))
@settings(max_examples=6, deadline=None)
def test_candidates_are_the_partial_partitions(m):
    bell = [1, 1, 2, 5, 15, 52, 203, 877]
    codes = partial_partitions(m)
    assert len(codes) == len(np.unique(codes, axis=0)) == bell[m + 1] - 1
    assert np.array_equal(number_groups(codes), codes)


@given(st.lists(st.integers(-1, 4), min_size=1, max_size=7))
def test_codes_without_gaps_name_the_same_columns(codes):
    given_codes = np.array([codes])
    made = number_groups(given_codes)
    assert np.array_equal(number_groups(made), made)
    assert np.array_equal(made == -1, given_codes == -1)
    groups = [np.flatnonzero(given_codes[0] == group) for group in {*codes} - {-1, 0}]
    n_alone = int((given_codes == 0).sum()) + sum(len(group) == 1 for group in groups)
    assert (made == 0).sum() == n_alone
    assert n_columns(made)[0] == n_alone + sum(len(group) > 1 for group in groups)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_the_step_makes_the_columns_that_were_clustered(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((8, 5))
    codes = number_groups(rng.integers(-1, 3, (1, 5)))
    if (codes < 0).all():
        return
    named = FeatureAggregator()._describe_candidate(codes[0])
    made = ColumnMaxima(named, scale=False).fit_transform(X)
    assert np.array_equal(made.T, tables_of(X, codes)[0])
    used = [place for group in named for place in group]
    assert len(used) == len(set(used))


def test_the_halves_of_iris_are_joined_again():
    """All 21,146 ways: the best of one to four columns are the true pairs."""
    search = fitted(in_halves(IRIS), scale=False, n_init=4)
    assert search.exact_
    assert search.n_evaluations_ == 21146
    pairs = [[0, 1], [2, 3], [4, 5], [6, 7]]
    for size in range(1, 5):
        assert search.front_.solution(size - 1) == pairs[4 - size :]
    values = search.front_.values
    assert values[:, 1].tolist() == list(range(1, 9))
    assert values[:7, 0].round(3).tolist() == [0.393, 0.485, 0.587, 0.662, 0.759, 0.935, 1.143]


def test_the_search_finds_the_exact_front():
    X = in_halves(IRIS[:, 1:])
    exact = fitted(X, scale=False, n_init=8)
    searched = fitted(X, scale=False, n_init=8, max_candidates=1)
    assert exact.n_evaluations_ == 876
    assert not searched.exact_
    assert searched.front_ == exact.front_


def test_names_scales_and_pipelines():
    frame = pd.DataFrame(in_halves(IRIS[:, 2:]), columns=["aA", "aB", "bA", "bB"])
    search = fitted(frame, scale=False, choose="davies_bouldin where n_features>=2")
    assert search.get_feature_names_out().tolist() == ["max(aA, aB)", "max(bA, bB)"]
    assert np.allclose(search.transform(frame), IRIS[:, 2:])
    assert np.array_equal(search.predict(frame), search.labels_)
    scaled = fitted(frame)
    assert scaled.transform(frame).min() >= 0
    assert scaled.transform(frame).max() == 1
    assert scaled.score(frame) < 0
    assert "columns" in scaled.describe()
    model = make_pipeline(StandardScaler(), FeatureAggregator(random_state=0)).fit(frame)
    assert model.transform(frame).shape == (150, len(model.get_feature_names_out()))


@pytest.mark.parametrize("max_candidates", [1, 100])
def test_workers_and_checkpoints_change_nothing(tmp_path, max_candidates):
    X = in_halves(IRIS[:, 2:])
    options = {"max_candidates": max_candidates, "max_iter": 3, "n_init": 8}
    whole = fitted(X, **options)
    for more in ({"n_jobs": 2}, {"checkpoint": tmp_path / "a"}, {"checkpoint": tmp_path / "a"}):
        again = fitted(X, **options, **more)
        assert np.array_equal(whole.front_.values, again.front_.values)
        assert np.array_equal(whole.labels_, again.labels_)


def test_cells_below_zero_and_constant_columns_get_one_sentence():
    with pytest.raises(InvalidInputError, match=r"X has cells below 0 .* give scale=True"):
        fitted(IRIS - 3, scale=False)
    with pytest.raises(InvalidInputError, match="only one value"):
        fitted(np.column_stack((IRIS, np.ones(150))))
    with pytest.raises(InvalidInputError, match="input_features should have length"):
        ColumnMaxima([[0]]).fit(IRIS).get_feature_names_out(["a"])


def test_several_numbers_of_groups():
    exact = fitted(IRIS, range(2, 5), n_init=5)
    assert exact.front_.names == ("davies_bouldin", "n_features", "n_clusters")
    assert exact.n_evaluations_ == 3 * 51
    assert len(np.unique(exact.labels_)) == exact.front_.values[exact.best_index_, 2]
    searched = fitted(IRIS, [2, 3, 4], n_init=5, max_candidates=1, stall=30)
    assert not searched.exact_
    assert searched.n_evaluations_ <= exact.n_evaluations_
    assert searched.front_ == exact.front_
