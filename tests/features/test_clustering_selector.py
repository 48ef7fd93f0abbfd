"""Selection without a target: exact fronts, the collapse of other objectives, clusterers."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import KMeans
from sklearn.metrics import davies_bouldin_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.exceptions import CheckpointError, InterruptWarning, InvalidInputError, ScalingWarning
from parsimon.features import ClusteringSelector
from parsimon.features._clusterings import cluster_tables
from tests.features.unsupervised_tables import IRIS, LATTICE, spirals, with_noise, with_nominal

STARTS = np.random.default_rng(0).random((30, 3))
MANY = np.random.default_rng(0).random((300, 3))


def fitted(X, n_clusters=3, **options):
    return ClusteringSelector(n_clusters, random_state=0, **options).fit(X)


def same_groups(a, b):
    return len(np.unique(np.column_stack((a, b)), axis=0)) == len(np.unique(a)) == len(np.unique(b))


def test_iris_has_the_exact_front():
    search = fitted(IRIS)
    assert search.exact_
    assert search.n_evaluations_ == 15
    assert search.front_.values[:, 0].round(3).tolist() == [0.393, 0.485, 0.587, 0.662]
    assert [search.front_.solution(i) for i in range(4)] == [[3], [2, 3], [1, 2, 3], [0, 1, 2, 3]]


def test_a_column_of_few_values_does_not_end_the_front():
    search = fitted(with_nominal())
    assert search.front_.values.round(3).tolist() == [
        [0, 1],
        [0.394, 2],
        [0.485, 3],
        [0.587, 4],
        [0.662, 5],
    ]


def test_the_lattice():
    # The split of a single column is known: 0 and 1 from 2, 3 and 4.
    two = fitted(LATTICE, 2, n_init=8).front_.values
    assert two[:2, 0].round(3).tolist() == [0.467, 1.151]
    assert two[:, 1].tolist() == [1, 2, 3, 4, 5]
    assert (np.diff(two[:, 0]) > 0).all()


def test_the_front_bends_where_the_spirals_end():
    search = fitted(spirals(), 2, clusterer="single link")
    assert search.front_.values[:2].round(3).tolist() == [[0.284, 1], [0.635, 2]]
    # From the origin both are one; further out they are two.
    search = fitted(spirals(begin=1.0), 2, clusterer="single link")
    assert search.front_.solution(1) == [0, 1]
    assert search.front_.values[search.best_index_, 1] == 2
    assert same_groups(search.labels_, np.repeat([0, 1], 250))
    assert 1 in search.segments(2)


def test_the_front_bends_where_noise_begins():
    search = fitted(with_noise(5))
    assert search.front_.values[search.best_index_, 1] == 4
    assert search.front_.solution(3) == [0, 1, 2, 3]
    assert 3 in search.segments(2)
    assert "bends most at" in search.describe()


def test_segments_as_printed():
    search = fitted(with_noise(3))
    assert search.segments(2, literal=True).tolist() == (
        search.front_.segments(2, literal=True).tolist()
    )


def test_all_subsets_are_as_good_as_by_scikit_learn():
    X = with_noise(2)
    for size in range(1, 7):
        subsets = list(combinations(range(6), size))
        tables = np.stack([X.T[list(each)] for each in subsets])
        tables = tables - tables.mean(axis=2, keepdims=True)
        found = cluster_tables(tables, "k-means", MANY)
        for place, subset in enumerate(subsets):
            peer = KMeans(3, n_init=10, random_state=0).fit(X[:, subset])
            assert found.within[place] <= peer.inertia_ * (1 + 1e-9)
            index = davies_bouldin_score(X[:, subset], found.labels[place])
            assert found.davies_bouldin[place] == pytest.approx(index, rel=1e-9)
            if found.within[place] > peer.inertia_ * (1 - 1e-9):
                assert same_groups(found.labels[place], peer.labels_)


@pytest.mark.parametrize("clusterer", ["k-means", "gaussian mixture", "single link"])
def test_a_table_has_the_same_groups_in_every_batch(clusterer):
    X = with_noise(3)
    tables = np.stack([X.T[list(each)] for each in combinations(range(7), 3)])
    together = cluster_tables(tables, clusterer, STARTS)
    for place in (0, 11, 34):
        alone = cluster_tables(tables[[place]], clusterer, STARTS)
        for all_of_them, one in zip(together, alone, strict=True):
            assert np.array_equal(all_of_them[[place]], one, equal_nan=True)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_single_link_is_that_of_scipy(seed, k, n_columns):
    X = np.random.default_rng(seed).normal(size=(25, n_columns))
    found = cluster_tables(X.T[None], "single link", np.zeros((1, k)))
    tree = linkage(X, "single")
    assert found.longest_link[0] == pytest.approx(tree[-k, 2])
    assert same_groups(found.labels[0], fcluster(tree, k, "maxclust"))


def test_mixtures_are_those_of_scikit_learn():
    X = StandardScaler().fit_transform(with_noise(1))
    first = cluster_tables(X.T[None], "k-means", STARTS).labels[0]
    parts = [X[first == group] for group in range(3)]
    peer = GaussianMixture(
        3,
        weights_init=[len(part) / 150 for part in parts],
        means_init=[part.mean(axis=0) for part in parts],
        precisions_init=[
            np.linalg.inv(np.cov(part.T, bias=True) + 1e-6 * np.eye(5)) for part in parts
        ],
    ).fit(X)
    found = cluster_tables(X.T[None], "gaussian mixture", STARTS)
    assert np.mean(found.labels[0] == peer.predict(X)) > 0.98


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 5))
@settings(max_examples=25, deadline=None)
def test_kims_objectives_collapse_to_one_column(seed, k, n_columns):
    """Theorem 8.1: with squares per column and columns both small, one column is the front."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, n_columns)) * rng.uniform(0.3, 3, n_columns)
    X += 3 * rng.integers(0, 2, (30, n_columns))
    search = fitted(X, k, objectives="kim")
    assert len(search.front_) == 1
    alone = [fitted(X[:, [place]], k).to_frame()["within"][0] for place in range(n_columns)]
    assert search.front_.solution(0) == [int(np.argmin(alone))]
    assert search.front_.values[0, 0] == pytest.approx(min(alone))


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
@settings(max_examples=15, deadline=None)
def test_moritas_objectives_collapse_to_a_column_of_few_values(seed, k):
    rng = np.random.default_rng(seed)
    X = np.column_stack((rng.normal(size=(40, 3)), rng.permuted(np.arange(40) % k)))
    morita = fitted(X, k, objectives="morita")
    assert morita.front_.values.tolist() == [[0, 1]]
    assert morita.front_.solution(0) == [3]
    assert len(fitted(X, k).front_) == 4


def test_moritas_objectives_bend_the_front_of_noise():
    X = np.random.default_rng(0).random((200, 6))
    morita = fitted(X, objectives="morita")
    assert morita.front_.names == ("davies_bouldin_per_feature", "n_features")
    per_column = morita.front_.values[np.argsort(morita.front_.values[:, 1]), 0]
    assert len(per_column) >= 5
    assert (np.diff(per_column) < 0).all()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_the_front_is_that_of_brute_force(seed):
    X = np.random.default_rng(seed).normal(size=(8, 3))
    # Every split of eight rows into two groups, so that k-means has nothing left to miss.
    splits = np.array([[number >> row & 1 for row in range(8)] for number in range(1, 128)])
    best = {}
    for size in range(1, 4):
        for subset in combinations(range(3), size):
            part = X[:, subset]
            squares = [
                sum(((part[one == g] - part[one == g].mean(axis=0)) ** 2).sum() for g in (0, 1))
                for one in splits
            ]
            index = davies_bouldin_score(part, splits[np.argmin(squares)])
            best[size] = min(best.get(size, np.inf), index)
    front = [
        (best[size], size) for size in best if best[size] <= min(list(best.values())[size - 1 :])
    ]
    assert np.allclose(fitted(X, 2).front_.values, front)


def test_the_search_finds_the_exact_front():
    X = with_noise(6)
    exact, searched = fitted(X), fitted(X, max_subsets=1)
    assert exact.exact_
    assert not searched.exact_
    assert searched.n_iter_ > 1
    assert searched.n_evaluations_ < exact.n_evaluations_
    assert searched.front_ == exact.front_


def test_several_numbers_of_groups():
    exact = fitted(IRIS, range(2, 5), choose="davies_bouldin")
    assert exact.front_.names == ("davies_bouldin", "n_features", "n_clusters")
    assert exact.n_evaluations_ == 45
    assert len(np.unique(exact.labels_)) == exact.front_.values[exact.best_index_, 2]
    searched = fitted(IRIS, [2, 3, 4], max_subsets=1, population_size=24)
    assert searched.front_ == exact.front_
    assert set(exact.segments(2, n_clusters=2)) <= set(range(len(exact.front_)))
    with pytest.raises(InvalidInputError, match="n_clusters must be one of"):
        exact.segments()


@pytest.mark.parametrize("clusterer", ["k-means", "gaussian mixture", "single link"])
def test_predictions_are_the_labels(clusterer):
    search = fitted(IRIS, clusterer=clusterer, n_init=8)
    assert np.array_equal(search.predict(IRIS), search.labels_)
    assert search.score(IRIS) < 0
    chosen = search.select("n_features")
    assert np.array_equal(chosen[0].transform(IRIS), IRIS)
    assert len(np.unique(chosen.predict(IRIS))) == 3
    narrow = search.predict(IRIS.astype(np.float32))
    assert np.mean(narrow == search.labels_) > 0.99


def test_it_selects_in_a_pipeline_and_keeps_names():
    frame = pd.DataFrame(IRIS, columns=["a", "b", "c", "d"])
    model = make_pipeline(StandardScaler(), ClusteringSelector(random_state=0, choose="knee"))
    assert model.fit(frame).transform(frame).shape[1] == len(model.get_feature_names_out())
    search = fitted(frame, choose="davies_bouldin where n_features>=2")
    assert search.get_feature_names_out().tolist() == ["c", "d"]
    assert list(search.select(0)[0].get_feature_names_out()) == ["d"]


@pytest.mark.parametrize("max_subsets", [1, 100])
def test_workers_change_nothing(max_subsets):
    options = {"max_subsets": max_subsets, "max_iter": 3, "n_init": 8}
    one, two = fitted(IRIS, **options), fitted(IRIS, n_jobs=2, **options)
    assert np.array_equal(one.front_.values, two.front_.values)
    assert np.array_equal(one.labels_, two.labels_)


@pytest.mark.parametrize("max_subsets", [1, 2000])
def test_a_fit_that_is_cut_off_goes_on_to_the_same_bits(tmp_path, monkeypatch, max_subsets):
    X, file = with_noise(4), tmp_path / "values.npz"
    options = {"max_subsets": max_subsets, "max_iter": 5, "n_init": 8}
    whole = fitted(X, **options)
    from parsimon.features import _clustering_search as module

    calls, real = [], module.groups_of

    def broken(*call):
        calls.append(call)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return real(*call)

    monkeypatch.setattr(module, "groups_of", broken)
    with pytest.warns(InterruptWarning, match="the best so far"):
        cut = fitted(X, checkpoint=file, **options)
    assert (cut.stopped_by_, cut.exact_) == ("interrupt", False)
    assert 0 < cut.n_evaluations_ < whole.n_evaluations_
    monkeypatch.setattr(module, "groups_of", real)
    again = fitted(X, checkpoint=file, **options)
    assert np.array_equal(whole.front_.values, again.front_.values)
    assert whole.n_iter_ == again.n_iter_
    assert whole.n_evaluations_ == again.n_evaluations_
    assert np.array_equal(whole.labels_, again.labels_)
    with pytest.raises(CheckpointError, match="belongs to another table"):
        fitted(X + 1, checkpoint=file, **options)
    file.write_text("something else")
    with pytest.raises(CheckpointError, match="no checkpoint"):
        fitted(X, checkpoint=file, **options)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (np.full(150, 7.0), r"Some columns of X have only one value .* \(4\); leave them out\."),
        (np.where(np.arange(150) == 3, np.nan, 1.0), r"NaN or infinite \(4\); fill these"),
        (np.where(np.arange(150) == 3, 1e200, 1.0), "too large to be squared"),
    ],
)
def test_hostile_columns_get_one_sentence(column, sentence):
    with pytest.raises(InvalidInputError, match=sentence) as caught:
        fitted(np.column_stack((IRIS, column)))
    assert "\n" not in str(caught.value)


def test_columns_in_far_units_are_warned_of():
    with pytest.warns(ScalingWarning, match="StandardScaler"):
        fitted(IRIS * [1, 1, 1, 1e6], n_init=4)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1"),
        ({"n_clusters": [1, 2]}, "n_clusters must be an integer of at least 2"),
        ({"n_clusters": []}, "n_clusters is empty"),
        ({"n_clusters": 150}, "150 groups need more rows"),
        ({"clusterer": "k-medoids"}, "clusterer"),
        ({"objectives": "all"}, "objectives"),
        ({"choose": "kneee"}, "There is no rule"),
        ({"n_init": 0}, "n_init"),
    ],
)
def test_options_are_checked(options, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        ClusteringSelector(**options).fit(IRIS)


def test_columns_of_too_few_values_are_left_out():
    X = np.column_stack((np.arange(60) % 2, np.random.default_rng(0).normal(size=60)))
    search = fitted(X)
    assert [0] not in [search.front_.solution(place) for place in range(len(search.front_))]
    with pytest.raises(InvalidInputError, match="No columns of X split the rows into 3 groups"):
        fitted(X[:, [0]])


def test_scale_changes_nothing():
    far = fitted(IRIS * 1e-90)
    assert np.allclose(far.front_.values, fitted(IRIS).front_.values)
    linked = [fitted(IRIS * unit, clusterer="single link").front_.values for unit in (1, 1e80)]
    assert np.allclose(linked[1] / [1e80, 1], linked[0])
