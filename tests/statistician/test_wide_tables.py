"""Wide tables: which rows and columns are used, and what of a selection becomes a finding."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.features.screen import regression_screen
from parsimon.statistician import wide


def genes(n=24, d=40, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"g{k}" for k in range(d)])
    frame["ill"] = np.tile(["no", "yes"], n // 2)
    frame["g3"] += 4.0 * (frame["ill"] == "yes")
    frame["g5"] = frame["g3"] + 0.01 * rng.normal(size=n)
    frame["sex"] = np.repeat(["f", "m"], n // 2)
    frame["site"], frame["note"] = 1.0, "words"
    frame.loc[2, "g9"], frame.loc[4, "g9"] = np.nan, np.inf
    frame.loc[0, "ill"] = None
    return frame


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wide, "_pictures", lambda _: ())
        patch.setattr(wide, "_study_labels", lambda *_: None)
        return wide.select_features(genes(), "ill", fixed=["sex"], n_splits=10, n_jobs=1, seed=1)


def test_rows_with_a_target_and_columns_that_vary_are_used(found):
    table = found.findings.table
    assert (table.n_rows, table.n_without_target, table.n_filled) == (23, 1, 2)
    assert table.classes == (("no", 11), ("yes", 12))
    assert table.left_out == ("site", "note")
    assert table.fixed == ("sex",)
    # Two words are a column of 0 and 1, which is none of those to select from.
    assert table.n_columns == 40
    assert "sex" in found.columns
    used = wide._read_numbers(genes(), "ill", ["sex"])
    np.testing.assert_array_equal(used.rows, np.arange(2, 25))
    assert set(used.X["sex"]) == {0.0, 1.0}
    assert used.X["sex"].iloc[0] == 0.0
    values = genes()["g9"].iloc[1:]
    middle = values[np.isfinite(values)].median()
    assert used.X["g9"].loc[2] == used.X["g9"].loc[4] == middle


def test_findings_are_those_of_the_selector(found):
    selector, findings = found.selector, found.findings
    assert findings.area == pytest.approx(selector.test_auc_.mean())
    assert findings.area_sd == pytest.approx(selector.test_auc_.std())
    assert findings.n_kept == np.sum(selector.frequencies_ >= selector.threshold)
    assert findings.stability[0] == pytest.approx(selector.stability_.value)
    assert findings.stability[1] <= findings.stability[0] <= findings.stability[2]
    assert dict(findings.expected_false) == selector.expected_false_
    assert findings.observed_coincidences == selector.chance_.observed_coincidences
    assert [one.n_columns for one in findings.sizes] == sorted(
        int(row[1]) for row in selector.front_.values
    )
    assert findings.null_sd == selector.null_sd_
    assert findings.hit_rate != findings.hit_rate
    assert findings.n_flipped == 0
    assert findings.suspects == ()


def test_columns_come_in_the_order_of_the_selector_with_what_is_known_of_them(found):
    selector, columns = found.selector, found.findings.columns
    places = [found.columns.index(one.name) for one in columns]
    assert places == selector.ranking_[: len(places)].tolist()
    given = wide._read_numbers(genes(), "ill", ["sex"])
    rates = regression_screen(given.X, given.y, cofactors=given.X[["sex"]]).benjamini_hochberg
    for one, place in zip(columns, places, strict=True):
        assert one.total == selector.totals_[place] > 0
        assert one.coincident == selector.coincidences_[place]
        assert one.frequency == pytest.approx(selector.frequencies_[place])
        assert one.kept == (selector.frequencies_[place] >= selector.threshold)
        assert one.adjusted_p == pytest.approx(rates[place])
        assert one.chance == selector.chance_.total_p_value[place]
        assert one.permuted == selector.chance_.permuted_p_value[place]
    first = columns[0]
    assert {first.name, *first.alike} >= {"g3", "g5"}


def test_what_the_screen_names_and_the_selection_does_not_keep_is_said(found):
    given = wide._read_numbers(genes(), "ill", ["sex"])
    rates = regression_screen(given.X, given.y, cofactors=given.X[["sex"]]).benjamini_hochberg
    kept = found.selector.get_support()
    order = np.argsort(rates, kind="stable")
    expected = [found.columns[k] for k in order if rates[k] <= 0.05 and not kept[k]]
    assert list(found.findings.screened) == expected


@pytest.mark.parametrize(
    ("values", "kind", "is_classes"),
    [
        (np.array(["a", "b", "a", "b"], dtype=object), "U", True),
        (np.arange(12) % 4, "i", True),
        (np.arange(4), "f", False),
        (np.arange(40), "f", False),
        (np.array([0.0, 1.0, 0.0, 1.0]), "i", True),
        (np.array([0.1, 1.2, 0.3, 1.0]), "f", False),
        (np.array([True, False, True, True]), "b", True),
    ],
)
def test_words_and_few_whole_numbers_are_classes(values, kind, is_classes):
    found = wide._target(values)
    assert found.dtype.kind == kind
    used = wide._NumberTable(pd.DataFrame(), found, np.arange(4), (), 0, 0)
    assert used.is_classes is is_classes


def test_what_cannot_be_used_is_refused():
    with pytest.raises(InvalidInputError, match="no column 'age'"):
        wide._read_numbers(genes(), "ill", ["age"])
    with pytest.raises(InvalidInputError, match="one value only"):
        wide._read_numbers(genes(), "ill", ["site"])
    with pytest.raises(InvalidInputError, match="3 different words"):
        wide._read_numbers(genes().assign(sex=["f", "m", "x"] * 8), "ill", ["sex"])
    with pytest.raises(InvalidInputError, match="No column but the target"):
        wide._read_numbers(pd.DataFrame({"ill": ["a", "b"], "x": 1.0}), "ill", [])


def test_labels_are_flipped_where_two_classes_are_large_enough(monkeypatch):
    seen = []
    monkeypatch.setattr(wide, "label_noise", lambda *_, **options: seen.append(options))
    for y in (
        np.tile([0, 1], 12),
        np.tile([0, 1, 2], 8),
        np.arange(24.0),
        np.repeat([0, 1], [7, 9]),
    ):
        X = pd.DataFrame(np.zeros((len(y), 1)))
        used = wide._NumberTable(X, y, np.arange(len(y)), (), 0, 0)
        assert wide._study_labels(used, 5, None) is None
    assert [one["flips"] for one in seen] == [(3,)]
    assert seen[0]["random_state"] == 5
    classes = np.repeat([0, 1], [8, 9])
    given = wide._NumberTable(pd.DataFrame(), classes, None, (), 0, 0)
    assert wide._study_labels(given, 5, None) is None
    assert seen[1]["flips"] == (2,)


def test_a_table_with_more_columns_than_rows_allow_for_is_wide():
    assert wide.is_wide(genes(24, 400))
    assert not wide.is_wide(genes(24, 10))


@pytest.mark.parametrize("null_sd", [0.1, float("nan")])
def test_chance_is_drawn_where_it_is_known(null_sd):
    def plot(kind):
        axes = plt.figure().add_subplot()
        axes.set_title(kind)
        return axes

    selector = SimpleNamespace(null_sd_=null_sd, measure_="concordance", plot=plot)
    found = {one.name: one for one in wide._pictures(selector)}
    expected = ["totals", "coincidences", "areas", "null"]
    assert list(found) == (expected if null_sd == 0.1 else expected[:3])
    assert found["areas"].caption.startswith("Concordance of each fit")
    assert ">models<" in found["areas"].svg
    assert not plt.get_fignums()
