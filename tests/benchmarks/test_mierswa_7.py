"""Chapter 7 of Mierswa: readings of the error by hand, and searches that see no row they are
tested on."""

from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.reproduce import _mierswa_7_index as index
from benchmarks.reproduce import _mierswa_7_music as music
from benchmarks.reproduce import mierswa_7

from parsimon.features.series import tree_values

FOLDS = [(np.array([0, 1]), np.array([2, 3]))]
Y = np.array([1.0, 3.0, 4.0, 8.0])
TOLD = np.array([np.nan, np.nan, 5.0, 6.0])


@pytest.mark.parametrize(
    ("measure", "by_hand"),
    [
        # Squares 1 and 4 over 4 and 4 from the mean 6, and over 4 and 36 from the mean 2.
        (index.rrse_of_test_mean, np.sqrt(5 / 8)),
        (index.rrse_of_training_mean, np.sqrt(5 / 40)),
        (index.pooled_rrse, np.sqrt(5 / 8)),
        (index.relative_error, (1 / 4 + 2 / 8) / 2),
    ],
)
def test_readings_of_the_error_by_hand(measure, by_hand):
    np.testing.assert_allclose(measure(Y, TOLD, FOLDS), [by_hand])


def test_the_last_value_of_the_index_is_as_good_as_measured_before():
    X, y, folds = index.windows()
    assert (X.shape, len(folds)) == ((163, 80), 9)
    last = index.baselines(X, y, folds)["persistence"]
    found = [round(float(of(y, last, folds).mean()), 4) for of in index.MEASURES.values()]
    assert found == [0.1355, 0.0321, 0.0246, 0.0067]


def test_each_test_is_told_by_the_search_that_ends_before_it():
    _, y, folds = index.windows()
    found = {k: {"told": np.full(len(y) - len(folds[k - 1][0]), float(k))} for k in range(1, 10)}
    told = index.nested(found, y, folds)
    for parts, (train, test) in enumerate(folds, start=1):
        assert (told[test] == parts).all()
        assert train.max() < test.min()


def test_features_that_say_nothing_leave_the_last_value():
    X, y, folds = index.windows()
    told = index.with_features(["length"], X, y, folds)
    for train, test in folds:
        unit = np.sqrt((np.diff(X, axis=1) ** 2).mean(axis=1))
        step = ((y - X[:, -1]) / unit)[train].mean()
        np.testing.assert_allclose(told[test], (X[:, -1] + unit * step)[test])


def test_a_search_in_a_fold_is_tested_on_other_pieces():
    job = music.MusicJob("classic", 12, 1, n_folds=3, seconds=0.1, rate=1000, max_iter=0)
    X, y = music.pieces("classic", 12, 0.1, 1000)
    folds = music.folds_of(job, y)
    found = music.search_and_test(job)
    assert found["rows"] == folds[1][1].tolist()
    again = music.told_by(
        music.LEARNERS["tree"], tree_values(music.trees_of(found), X), y, folds[1:2]
    )
    assert found["told"]["tree"] == again


def test_quality_is_in_per_cent_of_the_first_class():
    truth, told = np.array([1, 1, 1, 1, 0, 0, 0, 0]), np.array([1, 1, 1, 0, 1, 0, 0, 0])
    task = SimpleNamespace(truth=truth, plain={"constant": 50.0})
    rows = mierswa_7._quality("case", task, told, (80.0, 90.0, 70.0), "")
    assert [row.ours for row in rows] == [75.0, 75.0, 75.0, 25.0]
    assert [row.peer for row in rows] == [80.0, 90.0, 70.0, 20.0]
    assert all(row.bar is None for row in rows)
    assert rows[-1].rivals == {"constant": 50.0}


def test_a_forecast_must_reach_the_last_value_and_pass_linear_regression():
    last, worse = TOLD, np.array([np.nan, np.nan, 5.5, 5.0])
    better = (2 * Y + last) / 3
    idle = {"persistence": last}
    for ours, ok in ((last, False), (worse, False), (better, True)):
        rows = mierswa_7._against("case", "persistence", Y, ours, last, FOLDS, "", idle)
        assert [row.ok for row in rows] == [ok] * 4
    # To be far from a bad regression is nothing, if the last value is so too.
    far = np.array([np.nan, np.nan, 60.0, 60.0])
    regression = "linear regression on 80 days"
    for ours, ok in ((last, False), (better, True)):
        rows = mierswa_7._against("case", regression, Y, ours, far, FOLDS, "", idle)
        assert [row.ok for row in rows] == [ok] * 4
