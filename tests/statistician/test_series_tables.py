import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

from parsimon.exceptions import InvalidInputError
from parsimon.features.series import SeriesTable
from parsimon.report.sections import summary_lines
from parsimon.statistician import analyse_series
from parsimon.statistician.families.series_families import (
    NearestSeries,
    stretch,
    warped_distances,
)
from parsimon.statistician.series_tables import read_series, series_columns, target_of_series


def taken(frame, **columns):
    where, left_out = series_columns(frame, "kind", **columns)
    return read_series(frame, where), left_out


def test_values_are_put_in_the_order_of_their_times():
    frame = pd.DataFrame(
        {"who": list("abab"), "t": [2, 1, 1, 2], "x": [20.0, 3.0, 10.0, 4.0], "kind": list("uvuv")}
    )
    found, _ = taken(frame, id="who", time="t", value=["x"])
    assert found.ids == ("a", "b")
    assert [one.tolist() for one in found.cells] == [[[10.0, 20.0]], [[3.0, 4.0]]]
    assert target_of_series(frame, "kind", found).tolist() == ["u", "v"]


def test_uneven_dates_are_put_on_even_steps_along_straight_lines():
    days = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-06", "2026-01-07"]
    frame = pd.DataFrame({"who": "a", "t": days, "x": [0.0, 1.0, 2.0, 5.0, 6.0], "kind": "u"})
    found, _ = taken(frame, id="who", time="t", value=["x"])
    assert found.n_uneven == 1
    assert found.cells[0][0] == pytest.approx(np.arange(7.0))
    # Months differ in length, and are even all the same.
    frame["t"] = ["2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01", "2026-05-01"]
    found, _ = taken(frame, id="who", time="t", value=["x"])
    assert (found.n_uneven, found.cells[0][0].tolist()) == (0, [0.0, 1.0, 2.0, 5.0, 6.0])


def test_missing_values_inside_are_counted_and_those_at_the_end_are_not():
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": [np.nan, 2.0], "c": [3.0, np.nan]})
    found, left_out = taken(frame.assign(kind=["u", "v"], name=["x", "y"]))
    assert found.n_filled == 2
    assert left_out == ("name",)
    assert found.ids == ("1", "2")
    found, _ = taken(frame.assign(kind=["u", "v"], name=["x", "y"]), id="name")
    assert found.ids == ("x", "y")


def test_a_series_without_a_value_is_named():
    frame = pd.DataFrame(
        {"who": list("aabb"), "x": [1.0, 2.0, np.nan, np.nan], "kind": list("uuvv")}
    )
    found, _ = taken(frame, id="who", value=["x"])
    assert found.empty == ["b"]


def test_days_and_months_that_cannot_be_told_apart_are_refused():
    frame = pd.DataFrame(
        {"who": "a", "t": ["01/02/2026", "03/04/2026"], "x": [1.0, 2.0], "kind": "u"}
    )
    with pytest.raises(InvalidInputError, match="day and month cannot be told apart"):
        taken(frame, id="who", time="t", value=["x"])


def brute_warping(a, b, width):
    """Dynamic time warping, cell by cell."""
    n = len(a)
    table = np.full((n + 1, n + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            if abs(i - j) <= width:
                least = min(table[i - 1, j - 1], table[i - 1, j], table[i, j - 1])
                table[i, j] = (a[i - 1] - b[j - 1]) ** 2 + least
    return table[n, n]


@pytest.mark.parametrize("width", [1, 2, 5, 20])
def test_warping_is_that_of_the_textbook(width):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(3, 1, 12)), rng.normal(size=(4, 1, 12))
    expected = [[brute_warping(a[0], b[0], width) for b in B] for a in A]
    assert warped_distances(A, B, width) == pytest.approx(np.array(expected))


def test_warping_of_channels_shifts_them_together():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(2, 1, 9))
    twice = np.repeat(A, 2, axis=1)
    assert warped_distances(twice, twice[::-1], 2) == pytest.approx(
        2 * warped_distances(A, A[::-1], 2)
    )


def test_the_nearest_series_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, y, new = rng.normal(size=(20, 7)), rng.integers(0, 3, 20), rng.normal(size=(9, 7))
    frames = [pd.DataFrame({"series": list(part[:, None])}) for part in (X, new)]
    told = NearestSeries().fit(frames[0], y).predict(frames[1])
    assert told.tolist() == KNeighborsClassifier(1).fit(X, y).predict(new).tolist()


def test_series_are_stretched_along_straight_lines():
    table = SeriesTable([[0.0, 1.0, 2.0], [0.0, 2.0], [5.0]])
    assert stretch(table, 5).tolist() == [
        [0.0, 0.5, 1.0, 1.5, 2.0],
        [0.0, 0.5, 1.0, 1.5, 2.0],
        [5.0] * 5,
    ]


def test_what_chance_tells_is_not_claimed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 16)), columns=[f"t{k}" for k in range(16)])
    frame["kind"] = np.tile(["u", "v"], 20)
    found = analyse_series(frame, "kind", fast=True, outer=2, max_features=3)
    front, comparison = found.findings.front, found.findings.comparison
    own = next(one for one in comparison.models if one.family == "features")
    # The search is sure of what it found; folds that it did not see are not.
    assert min(one.error for one in front.sizes) < 0.3
    assert own.error.estimate > 0.3
    assert summary_lines(found.findings)[0].startswith("No feature was found that surely separates")


def test_several_classes_and_missing_targets_are_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(36, 12)) + np.repeat([0.0, 3.0, 6.0], 12)[:, None]
    frame = pd.DataFrame(X, columns=[f"t{k}" for k in range(12)])
    frame["kind"] = np.repeat(["low", "mid", "high"], 12)
    frame.loc[[0, 20], "kind"] = None
    frame.loc[5, [f"t{k}" for k in range(12)]] = np.nan
    found = analyse_series(frame, "kind", fast=True, outer=2, max_features=1)
    table = found.findings.table
    assert (table.n_series, table.n_without_target, table.n_empty) == (33, 2, 1)
    assert "the three classes of kind" in summary_lines(found.findings)[0]
    assert dict(table.classes) == {"low": 10, "mid": 11, "high": 12}
    assert found.model.predict(frame.iloc[[1, 15, 30]]).tolist() == ["low", "mid", "high"]
    assert len(found.features) == 35


@pytest.mark.parametrize(("options", "n_folds"), [({}, 5), ({"fast": True}, 3), ({"outer": 4}, 4)])
def test_a_fast_page_about_series_has_fewer_outer_folds(monkeypatch, options, n_folds):
    class Over(Exception):
        pass

    def planned(question, n_folds, seed):
        raise Over(n_folds)

    monkeypatch.setattr("parsimon.statistician._walk.plan_folds", planned)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 6))).rename(columns=str)
    with pytest.raises(Over, match=f"^{n_folds}$"):
        analyse_series(frame.assign(kind=np.tile(["u", "v"], 6)), "kind", **options)


def test_rows_without_a_name_of_their_series_are_counted_and_left_out():
    frame = pd.DataFrame({"who": ["a", None, "a", "b", "b", None], "at": [1, 1, 2, 1, 2, 3]})
    frame = frame.assign(level=[1.0, 9.0, 2.0, 3.0, 4.0, 9.0], kind="u")
    found, _ = taken(frame, id="who", time="at", value=("level",))
    assert found.n_without_id == 2
    assert [np.ravel(cell).tolist() for cell in found.cells] == [[1.0, 2.0], [3.0, 4.0]]
