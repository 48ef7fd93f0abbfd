"""The search finds what was put into series, says it, and is the same however it is run."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss
from tests.contract import contract

from parsimon.exceptions import CheckpointError, ConstantPredictionWarning, InvalidInputError
from parsimon.features.series import (
    SeriesExtractor,
    SeriesTable,
    candidate_trees,
    cross_trees,
    fixed_features,
    looked_at,
    mutate_tree,
    parse_tree,
    standard_set,
    tree_values,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 40))
BUMP = np.repeat(["flat", "bump"], 30)
X[30:, 20:30] += 1.5
X.flags.writeable = False
NEW = RNG.normal(size=(200, 40))
NEW[100:, 20:30] += 1.5
TOLD = np.repeat(["flat", "bump"], 100)


def small(**options):
    given = {"max_features": 3, "max_iter": 2, "population_size": 10, "random_state": 0}
    return SeriesExtractor(**{**given, **options})


@pytest.fixture(scope="module")
def search():
    return small().fit(X, BUMP)


def test_a_bump_is_found_where_it_is(search):
    assert search.score(NEW, TOLD) > 0.9
    begin, end = looked_at(search.trees_[0])
    assert begin < 0.75
    assert end > 0.5
    assert len(search.trees_) <= 3
    assert search.get_feature_names_out().tolist() == [tree.words() for tree in search.trees_]
    assert search.transform(NEW).shape == (200, len(search.trees_))
    assert np.array_equal(search.transform(NEW), tree_values(search.trees_, NEW))


def test_the_front_holds_error_size_and_cost(search):
    frame = search.to_frame()
    assert list(frame.columns[:3]) == ["error", "n_features", "cost"]
    assert {"standard_error", "misclassified"} <= set(frame.columns)
    one = search.select("error where n_features<=1")
    assert len(one.trees) == 1
    assert (one.predict(NEW) == TOLD).mean() > 0.85
    np.testing.assert_allclose(search.predict_proba(NEW).sum(axis=1), 1.0)
    assert search.front_.values[:, 1].max() <= 3


def test_same_seed_same_trees_and_any_number_of_workers(search):
    shared = small(n_jobs=2).fit(X, BUMP)
    assert shared.trees_ == search.trees_
    assert np.array_equal(shared.front_.values, search.front_.values)
    assert np.array_equal(shared.predict_proba(NEW), search.predict_proba(NEW))


def test_a_search_goes_on_from_where_it_was(tmp_path):
    file = tmp_path / "search.json"
    whole = small(max_iter=4).fit(X, BUMP)
    small(max_iter=2, checkpoint=file).fit(X, BUMP)
    resumed = small(max_iter=4, checkpoint=file).fit(X, BUMP)
    assert resumed.pool_ == whole.pool_
    assert np.array_equal(resumed.front_.values, whole.front_.values)
    with pytest.raises(CheckpointError, match="series and targets"):
        small(checkpoint=file).fit(X[:, 1:], BUMP)
    file.write_text("{}")
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        small(checkpoint=file).fit(X, BUMP)


def test_numbers_are_told():
    y = X[:, 5:15].mean(axis=1)
    search = small(task="regression").fit(X[:40], y[:40])
    assert search.score(X[40:], y[40:]) > 0.7


def test_without_a_target_features_keep_what_the_others_know():
    waves = np.sin(np.outer(RNG.uniform(0.2, 1.0, 50), np.arange(40)))
    search = small().fit(waves)
    assert search.task_ == "unsupervised"
    assert search.front_.values[:, 0].min() < 0.5 * search.constant_error_
    assert search.transform(waves).shape == (50, len(search.trees_))
    assert not hasattr(search, "predict_proba")


def windows_of(series, length=20):
    rows = np.lib.stride_tricks.sliding_window_view(series, length + 1)[::3]
    return rows[:, :-1], rows[:, -1]


def test_forecasts_beat_the_last_value_where_there_is_something_to_know():
    from parsimon.evaluation import BackTest

    time = np.arange(500)
    series = 100 + np.sin(2 * np.pi * time / 12) + 0.05 * RNG.normal(size=500)
    windows, following = windows_of(series)
    search = small(task="forecast", cv=BackTest(5)).fit(windows[:120], following[:120])
    assert not search.is_persistence_
    error = np.abs(search.predict(windows[120:]) - following[120:]).mean()
    assert error < 0.6 * np.abs(windows[120:, -1] - following[120:]).mean()


def test_forecasts_of_a_random_walk_are_its_last_value():
    walk = 100 + np.cumsum(RNG.normal(size=500))
    windows, following = windows_of(walk)
    with pytest.warns(ConstantPredictionWarning, match="the last value"):
        search = small(task="forecast").fit(windows, following)
    assert search.is_persistence_
    assert np.array_equal(search.predict(windows), windows[:, -1])


def test_channels_lists_and_long_frames(search):
    cube = np.stack([RNG.normal(size=X.shape), X], axis=1)
    channels = small().fit(cube, BUMP)
    assert str(channels.trees_[0]).startswith("channel(1)")
    ragged = [row[: 40 - at % 3] for at, row in enumerate(X)]
    found = small().fit(ragged, BUMP)
    assert found.score(ragged, BUMP) > 0.9
    long = pd.DataFrame(
        {
            "id": np.repeat(np.arange(60), 40),
            "time": np.tile(np.arange(40), 60),
            "value": X.ravel(),
        }
    )
    same = small().fit(long, BUMP)
    assert same.trees_ == search.trees_
    assert same.predict(SeriesTable(long)).tolist() == same.predict(long).tolist()


def test_missing_values_are_filled_from_their_neighbours():
    holed = X.copy()
    holed[:, 3] = np.nan
    filled = X.copy()
    filled[:, 3] = (X[:, 2] + X[:, 4]) / 2
    assert small().fit(holed, BUMP).trees_ == small().fit(filled, BUMP).trees_


def test_time_is_kept():
    search = small(max_iter=1000, time_limit=0.5).fit(X, BUMP)
    assert search.n_iter_ < 1000
    assert search.stopped_by_ == "time_limit"
    assert search.seconds_ < 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_features": 0}, "max_features"),
        ({"task": "guess"}, "task"),
        ({"choose": "best:nothing"}, "nothing"),
        ({"population_size": 1}, "population_size"),
        ({"time_limit": -1}, "time_limit"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        small(**options).fit(X, BUMP)


def test_series_that_are_alike_are_refused():
    with pytest.raises(InvalidInputError, match="alike"):
        small().fit(np.ones((10, 8)), np.arange(10) % 2)


def test_changed_trees_are_trees():
    rng = np.random.default_rng(1)
    trees = candidate_trees(30, 2)
    assert len(set(trees)) == len(trees)
    for _ in range(200):
        one, other = (trees[at] for at in rng.integers(len(trees), size=2))
        child = mutate_tree(cross_trees(one, other, rng), rng)
        assert parse_tree(str(child)) == child
        assert child.size <= 5


def test_what_tasks_share_is_the_standard_set():
    bump, same, early, late = map(
        parse_tree,
        [
            "interval(0.5, 0.75) > mean",
            "interval(0.5, 0.74) > mean",
            "interval(0, 0.25) > mean",
            "interval(0.75, 1) > maximum",
        ],
    )
    common = standard_set([[bump, early], [same], [late]], X)
    assert len(common) == 1
    assert common[0] in (bump, same)
    assert set(standard_set([[bump, early], [same], [late]], X, share=0.3)) > {early, late}
    model = fixed_features(common, X, BUMP)
    assert (model.predict(NEW) == TOLD).mean() > 0.95


@contract(
    SeriesExtractor(max_iter=1, population_size=5, task="classification", random_state=0),
    SeriesExtractor(max_iter=1, population_size=5, task="regression", random_state=0),
    SeriesExtractor(max_iter=1, population_size=5, random_state=0),
)
@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("is_class", [True, False])
def test_noise_is_answered_by_guesses(is_class, rng):
    X, new = rng.normal(size=(40, 40)), rng.normal(size=(300, 40))
    y, truth = (rng.normal(size=len(part)) for part in (X, new))
    if is_class:
        y, truth = np.where(y > 0, "a", "b"), np.where(truth > 0, "a", "b")
    search = SeriesExtractor(max_iter=0, random_state=0).fit(X, y)
    assert 0 <= search.trust_ < 0.5
    if is_class:
        assert log_loss(truth, search.predict_proba(new)) < 1.05 * np.log(2)
    else:
        assert ((search.predict(new) - truth) ** 2).mean() < 1.1 * ((y.mean() - truth) ** 2).mean()


def test_what_is_there_is_trusted(search):
    assert search.trust_ == 1.0
