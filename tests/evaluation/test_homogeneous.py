import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.stats import special_ortho_group
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon._partition import METRICS, homogeneous_partition, nearest_neighbour_walk
from parsimon.evaluation import HomogeneousKFold
from parsimon.exceptions import InvalidInputError

tables = st.integers(4, 30).flatmap(
    lambda n: arrays(np.float64, (n, 2), elements=st.integers(-3, 3).map(float))
)


def brute_force_walk(X, start, metric):
    distances = cdist(X, X, metric)
    walk = [start]
    while len(walk) < len(X):
        left = [row for row in range(len(X)) if row not in walk]
        walk.append(min(left, key=lambda row: (distances[walk[-1], row], row)))
    return walk


@given(tables, st.sampled_from(METRICS), st.data())
def test_the_walk_is_the_brute_force_one_ties_included(X, metric, data):
    start = data.draw(st.integers(0, len(X) - 1))
    walk = nearest_neighbour_walk(X, start=start, metric=metric)
    assert walk.tolist() == brute_force_walk(X, start, metric)


@given(tables, st.integers(2, 4), st.sampled_from(METRICS), st.integers(0, 9))
def test_it_is_a_partition_into_parts_that_differ_by_at_most_one_row(X, k, metric, seed):
    parts = homogeneous_partition(X, k, metric=metric, random_state=seed)
    sizes = np.bincount(parts, minlength=k)
    assert sizes.sum() == len(X)
    assert len(sizes) == k
    assert np.ptp(sizes) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_rotation_and_translation_leave_the_parts_alone(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    moved = X @ special_ortho_group.rvs(3, random_state=seed) + rng.normal(size=3)
    assert np.array_equal(
        homogeneous_partition(X, 3, random_state=seed),
        homogeneous_partition(moved, 3, random_state=seed),
    )


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_on_a_line_the_rows_are_dealt_in_order(k, seed, rng):
    X = rng.permutation(np.cumsum(rng.uniform(0.5, 1.5, size=23)))[:, None]
    in_order = homogeneous_partition(X, k, random_state=seed)[np.argsort(X[:, 0])]
    assert in_order.tolist() in (
        (np.arange(23) % k).tolist(),
        (np.arange(22, -1, -1) % k).tolist(),
    )


def test_the_start_is_the_row_furthest_from_a_random_row():
    # Every row but the last sits at 0, so the walk must begin at 100: part 0 holds it.
    X = np.array([[0.0], [0.0], [0.0], [0.0], [100.0]])
    starts = {homogeneous_partition(X, 5, random_state=seed)[4] for seed in range(20)}
    # Only when the random row is the last itself is the first 0 the furthest.
    assert starts == {0, 4}


def energy_distance(A, B):
    return 2 * cdist(A, B).mean() - cdist(A, A).mean() - cdist(B, B).mean()


def test_parts_are_closer_in_distribution_than_random_halves(rng):
    ours, chance = [], []
    for seed in range(30):
        X = np.vstack([rng.normal(size=(40, 2)), rng.normal(4, 1, size=(20, 2))])
        parts = homogeneous_partition(X, 2, random_state=seed)
        shuffled = rng.permutation(parts)
        ours.append(energy_distance(X[parts == 0], X[parts == 1]))
        chance.append(energy_distance(X[shuffled == 0], X[shuffled == 1]))
    assert np.mean(ours) < 0.5 * np.mean(chance)


@given(tables, st.data())
def test_stratified_parts_share_out_each_class_too(X, data):
    y = np.resize(["b", "a"], len(X))[data.draw(st.permutations(range(len(X))))]
    parts = homogeneous_partition(X, 2, labels=y, random_state=0)
    assert np.ptp(np.bincount(parts)) <= 1
    for label in ("a", "b"):
        assert np.ptp(np.bincount(parts[y == label], minlength=2)) <= 1


def test_stratified_walks_stay_within_a_class():
    # Interleaved classes on a line: one walk would give each part a single class.
    X, y = np.arange(12.0)[:, None], np.tile([0, 1], 6)
    parts = homogeneous_partition(X, 2, labels=y, random_state=1)
    for label in (0, 1):
        assert len(set(zip(parts[y == label][:-1], parts[y == label][1:], strict=True))) == 2
    whole = homogeneous_partition(X, 2, random_state=1)
    assert len(set(whole[y == 0])) == 1


def test_metrics_differ_where_they_should():
    X = np.array([[0.0, 0.0], [3.0, 0.0], [2.0, 2.0]])
    walks = {metric: nearest_neighbour_walk(X, start=0, metric=metric)[1] for metric in METRICS}
    assert walks == {"euclidean": 2, "cityblock": 1, "chebyshev": 2, "hamming": 1}


def test_the_same_seed_gives_the_same_folds_and_another_seed_can_differ(rng):
    X = rng.normal(size=(50, 2))

    def folds(seed):
        return [test.tolist() for _, test in HomogeneousKFold(3, random_state=seed).split(X)]

    assert folds(3) == folds(3)
    assert any(folds(3) != folds(seed) for seed in range(4, 10))


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame, lambda X: X.tolist()])
def test_frames_give_the_folds_of_the_array(kind, rng):
    X = rng.normal(size=(15, 2))
    X.flags.writeable = False
    y = np.array(["no", "yes", "no"] * 5)
    for stratify in (False, True):
        folds = HomogeneousKFold(3, stratify=stratify, random_state=0)
        expected = list(folds.split(X, y))
        for (train, test), (other_train, other_test) in zip(
            expected, folds.split(kind(X), pl.Series(y)), strict=True
        ):
            assert np.array_equal(train, other_train)
            assert np.array_equal(test, other_test)
            assert np.array_equal(np.sort(np.r_[train, test]), np.arange(15))


def test_it_works_inside_scikit_learn(rng):
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    folds = HomogeneousKFold(4, stratify=True, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    scores = cross_val_score(model, X, y, cv=folds)
    by_hand = [model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds.split(X, y)]
    assert scores.tolist() == by_hand
    search = GridSearchCV(model, {"logisticregression__C": [0.1, 1.0]}, cv=folds).fit(X, y)
    assert search.n_splits_ == folds.get_n_splits() == 4
    assert " ".join(repr(folds).split()) == (
        "HomogeneousKFold(metric='euclidean', n_splits=4, random_state=0, stratify=True)"
    )


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([[1.0], [2.0]], {"n_splits": 3}, "2 rows cannot be dealt into 3 parts"),
        (
            [[1.0], [2.0]],
            {"n_splits": 1},
            "number of parts must be an integer of at least 2, got 1",
        ),
        ([[1.0], [2.0]], {"n_splits": 1.5}, r"integer of at least 2, got 1\.5"),
        ([[1.0], [np.nan]], {}, "X must be finite, but 1 of 2"),
        ([["a"], ["b"]], {}, "X must be numbers"),
        (csr_array(np.eye(3)), {}, "X must be numbers"),
        ([1.0, 2.0], {}, "two dimensions, got 1"),
        ([[1.0], [2.0]], {"metric": "cosine"}, 'metric must be "euclidean" or'),
        ([[1.0], [2.0]], {"stratify": True}, "walks within the classes of y: give y"),
    ],
)
def test_what_cannot_be_split_is_refused(X, options, message):
    with pytest.raises(InvalidInputError, match=message):
        list(HomogeneousKFold(**options).split(X))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b", "b", "b"], "Class a has 1 of the 2 rows"),
        (["a", "b", "b"], "X has 4 rows, but y has 3"),
        ([0.5, 1.5, 2.5, 3.5], "real numbers"),
        ([0.0, 1.0, np.nan, 1.0], r"1 of 4 values of y are missing or infinite \(first: row 2"),
        (["a", None, "b", "b"], "1 of 4 values of y are missing"),
        ([[0], [1], [0], [1]], "y must be one-dimensional"),
    ],
)
def test_labels_that_cannot_be_stratified_are_refused(y, message):
    with pytest.raises(InvalidInputError, match=message):
        list(HomogeneousKFold(stratify=True).split(np.eye(4), y))
