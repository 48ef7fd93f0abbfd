"""What a column is taken for."""

import numpy as np
import pandas as pd
import pytest

from parsimon.datasets import load
from parsimon.statistician.prepare.recognition import recognise, suspicious_value


def kinds(found):
    return [treatment.kind for treatment in found.treatments]


def names(found):
    return [variable.name for variable in found.recipe.variables]


def cycle(values, n=40):
    return pd.Series([values[place % len(values)] for place in range(n)])


@pytest.mark.parametrize(
    ("column", "name", "value"),
    [
        (cycle([True, False]), "smoker", "True"),
        (cycle(["yes", "no"]), "smoker", "yes"),
        (cycle(["male", "female"]), "smoker = male", "male"),
        (cycle(["x", "y"]).astype("category"), "smoker = y", "y"),
        (pd.Series([True, False, None] * 4, dtype="boolean"), "smoker", "True"),
        (pd.Series([True, False, None] * 4, dtype=object), "smoker", "True"),
        (pd.Series([True, False, None] * 4, dtype="bool[pyarrow]"), "smoker", "True"),
    ],
)
def test_two_levels_are_one_variable_and_it_is_said_what_1_means(column, name, value):
    found = recognise(column, "smoker")
    assert names(found)[0] == name
    assert found.treatments[0].kind == "column_boolean"
    assert found.treatments[0].value == value
    encoded = found.recipe.encode(column).values[:, 0]
    expected = [str(cell) == value for cell in column.astype(object)]
    assert encoded.tolist() == [float(yes) for yes in expected]


def test_missing_cells_of_two_levels_have_a_variable():
    column = cycle(["yes", "no", None, "yes"])
    found = recognise(column, "smoker")
    assert names(found) == ["smoker", "smoker is missing"]
    assert kinds(found) == ["column_boolean", "missing_level"]
    assert found.treatments[1].count == 10


def test_a_box_that_was_ticked_or_left_empty_is_one_variable():
    found = recognise(cycle(["yes", None]), "consent")
    assert names(found) == ["consent = yes"]
    assert kinds(recognise(pd.Series(["yes"] * 99 + [None]), "consent")) == ["column_constant"]


def test_each_of_a_few_levels_has_a_variable():
    found = recognise(cycle(["red", "blue", "green"]), "colour")
    assert names(found) == ["colour = blue", "colour = green", "colour = red"]
    assert found.treatments[0].kind == "column_category"
    assert found.treatments[0].count == 3


@pytest.mark.parametrize(("most", "n_rare"), [(8, 5), (4, 9), (12, 0)])
def test_rare_levels_are_put_together(most, n_rare, monkeypatch):
    monkeypatch.setattr("parsimon.statistician.prepare.recognition._MOST_LEVELS", most)
    levels = [letter for place, letter in enumerate("lkjihgfedcba", 4) for _ in range(place * 2)]
    found = recognise(pd.Series(levels), "code")
    counted = [one.count for one in found.treatments if one.kind == "rare_levels"]
    assert counted == ([n_rare] if n_rare else [])
    assert len(names(found)) == min(most, 12)
    assert names(found)[0] == "code = a"
    assert ("code = other" in names(found)) == bool(n_rare)


def test_a_level_that_is_called_other_joins_the_others():
    column = pd.Series([*"abcdefghi"] * 6 + ["Other"] * 30)
    found = recognise(column, "code")
    assert "code = Other" not in names(found)
    assert found.recipe.encode(pd.Series(["Other", "a"])).values[:, -1].tolist() == [1, 0]


def counted(*counts):
    """Return a column of levels a, b, ... in so many rows each."""
    return pd.Series([chr(97 + place) for place, n in enumerate(counts) for _ in range(n)])


@pytest.mark.parametrize(
    ("counts", "variables", "said"),
    [
        ((200, 100, 50, 4), ["a", "b", "c"], ("levels_unsupported", 1, "a")),
        ((200, 100, 50, 5), ["a", "b", "c", "d"], None),
        ((200, 100, 50, 3, 3), ["a", "b", "c", "other"], ("rare_levels", 2, "")),
        ((2000, 900, 19, 19, 19), ["a", "b", "other"], ("rare_levels", 3, "")),
        ((200, 3, 2, 1), ["a"], ("rare_levels", 3, "")),
        ((200, 100, 2), ["b"], ("levels_unsupported", 1, "a")),
        ((10, 6, 4), ["a", "b", "c"], None),
        ((10, 9, 1), ["b"], ("levels_unsupported", 1, "a")),
    ],
)
def test_a_level_needs_support_and_what_has_none_is_said(counts, variables, said):
    column = counted(*counts)
    found = recognise(column, "x")
    assert names(found) == [f"x = {level}" for level in variables]
    rest = [(one.kind, one.count, one.value) for one in found.treatments[1:]]
    assert rest == ([said] if said else [])
    assert found.values.sum(axis=0).min() >= min(5, len(column) / 10)
    np.testing.assert_array_equal(found.values, found.recipe.encode(column).values)


def test_rare_levels_count_as_the_commonest_when_rows_come_later_too():
    found = recognise(counted(200, 100, 50, 4), "x")
    encoded = found.recipe.encode(pd.Series(["d", "a", "z"]))
    assert encoded.values.tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert [(said.kind, said.count) for said in encoded.treatments] == [("unseen_levels", 1)]


@pytest.mark.parametrize(("n_yes", "kept"), [(4, False), (5, True)])
def test_the_rarer_of_two_levels_needs_support_too(n_yes, kept):
    found = recognise(pd.Series(["no"] * 900 + ["yes"] * n_yes), "smoker")
    if kept:
        assert names(found) == ["smoker"]
    else:
        assert found.recipe is None
        [said] = found.treatments
        assert (said.kind, said.count, said.value) == ("column_rare", n_yes, "no")


@pytest.mark.parametrize(("n_missing", "own"), [(4, False), (5, True)])
def test_few_missing_cells_are_no_level_of_their_own(n_missing, own):
    column = pd.Series(["S"] * 200 + ["C"] * 100 + ["Q"] * 50 + [None] * n_missing)
    found = recognise(column, "port")
    assert ("port is missing" in names(found)) == own
    said = found.treatments[-1]
    kind, level = ("missing_level", "") if own else ("missing_as_level", "S")
    assert (said.kind, said.count, said.value) == (kind, n_missing, level)
    assert found.values.sum(axis=1).tolist() == [1.0] * len(column)
    if not own:
        [later] = found.recipe.encode(pd.Series([None, "Q"])).treatments
        assert (later.kind, later.count, later.value) == ("missing_as_level", 1, "S")


def test_text_that_mostly_occurs_in_few_rows_is_names_and_is_left_out():
    rng = np.random.default_rng(0)
    surnames = pd.Series([f"name {k}" for k in rng.integers(0, 300, 600)])
    found = recognise(surnames, "surname")
    assert found.recipe is None
    [said] = found.treatments
    assert (said.kind, said.count) == ("column_names", surnames.nunique())
    known = pd.Series(["Smith"] * 20 + [f"name {k // 2}" for k in range(580)])
    assert kinds(recognise(known, "surname")) == ["column_names"]


def test_where_a_name_is_missing_may_still_say_something():
    column = pd.Series([f"C{k // 2}" for k in range(120)] + [None] * 300, dtype=object)
    found = recognise(column, "cabin")
    assert names(found) == ["cabin is missing"]
    assert kinds(found) == ["column_names", "missing_indicated"]
    assert found.values[:, 0].tolist() == [0.0] * 120 + [1.0] * 300
    later = found.recipe.encode(pd.Series(["C1", "Z9", None]))
    assert later.values.tolist() == [[0], [0], [1]]
    assert [(said.kind, said.count) for said in later.treatments] == [("missing_level", 1)]


def test_a_long_tail_below_a_few_true_levels_is_other():
    column = pd.Series(["Oslo"] * 200 + ["Bergen"] * 150 + [f"village {k}" for k in range(150)])
    found = recognise(column, "town")
    assert names(found) == ["town = Bergen", "town = Oslo", "town = other"]


@pytest.mark.parametrize(("n_levels", "each"), [(4, 50), (30, 20)])
def test_true_categories_survive_and_the_number_of_levels_is_bounded(n_levels, each):
    column = pd.Series([f"level {k % n_levels:02d}" for k in range(n_levels * each)])
    found = recognise(column, "x")
    assert len(names(found)) == min(n_levels, 8)
    assert found.recipe.other == (n_levels > 8)
    assert found.treatments[0].count == n_levels


def test_long_levels_have_short_names():
    found = recognise(cycle(["x" * 500, "y" * 500, "z"]), "note")
    assert max(map(len, names(found))) < 80


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (pd.Series([f"P{place}" for place in range(30)]), "code"),
        (pd.Series([f"P{place}" for place in range(28)] + ["P1", "P2"]), "code"),
        (pd.Series(range(1, 41)), "anything"),
        (pd.Series(range(40)), "Unnamed: 0"),
        (pd.Series(range(1, 101)).sample(80, random_state=0).sort_index(), "anything"),
        (pd.Series([907, 12, 44, 3, 1001]), "patientId"),
        (pd.Series([907.0, 12.0, None, 3.0, 1001.0]), "row_nr"),
        (pd.Series([5, 4, 3, 2, 1]), "sample no."),
    ],
)
def test_identifiers_are_left_out(column, name):
    assert kinds(recognise(column, name)) == ["column_identifier"]


@pytest.mark.parametrize(
    ("column", "name", "n_distinct"),
    [
        (pd.Series([place // 2 * 37 % 1000 for place in range(60)] + [7, 7]), "patient_id", 31),
        (pd.Series([113803, 17599, 373450] * 4 + [*range(5000, 5060)]), "Ticket", 63),
    ],
)
def test_numbers_that_are_called_an_identifier_may_repeat(column, name, n_distinct):
    [said] = recognise(column, name).treatments
    assert (said.kind, said.count) == ("column_names", n_distinct)


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (pd.Series([1, 2, 3, 4, 5]), "dose"),
        (pd.Series(range(1, 41)), "day"),
        (pd.Series(range(1950, 1990)), "anything"),
        (pd.Series(np.arange(40) + 0.5), "patient id"),
        (pd.Series([1, 2, 2, 3, 4, 5]), "id"),
        (pd.Series([1, 2, 3, 4] * 10), "treatment id"),
        (pd.Series(range(40))[::-1], "anything"),
        (pd.Series([31, 52, 47, 38, 29]), "midday"),
    ],
)
def test_numbers_that_measure_are_kept(column, name):
    assert names(recognise(column, name)) == [name]


def test_cells_that_are_missing_are_no_number_and_the_median_is_known():
    found = recognise(pd.Series([1.0, 2.0, 10.0, None]), "x")
    assert (found.treatments[0].kind, found.treatments[0].count) == ("cells_filled", 1)
    assert found.treatments[0].value == "2"
    assert found.recipe.fill == 2
    values = found.recipe.encode(pd.Series([None, 7.0])).values
    np.testing.assert_array_equal(values, [[np.nan], [7]])


@pytest.mark.parametrize(
    ("n_missing", "n", "indicated"),
    [(4, 20, False), (5, 20, True), (5, 101, False), (5, 100, True), (20, 20, False)],
)
def test_missing_cells_are_indicated_if_there_are_enough(n_missing, n, indicated):
    column = pd.Series(np.arange(n) % 7, dtype=float)
    column[:n_missing] = np.nan
    found = recognise(column, "x")
    assert ("missing_indicated" in kinds(found)) == indicated
    if found.recipe is not None:
        assert ("x is missing" in names(found)) == indicated


def test_infinite_cells_and_text_are_said():
    found = recognise(pd.Series(["1,200", "inf", "3", "4", "5", "6"] * 5 + ["none yet"]), "x")
    assert {one.kind: (one.count, one.value) for one in found.treatments} == {
        "text_numbers": (30, "1,200"),
        "cells_unread": (1, "none yet"),
        "infinite_cells": (5, ""),
        "cells_filled": (6, "5"),
        "missing_indicated": (6, ""),
    }


def test_text_is_a_category_if_too_much_of_it_is_no_number():
    column = cycle(["1", "2", "3", "4", "unknown"])
    assert kinds(recognise(column, "x")) == ["column_category"]


def test_a_category_of_numbers_stays_a_category():
    assert names(recognise(cycle([1, 2, 3]).astype("category"), "x")) == ["x = 1", "x = 2", "x = 3"]


def test_numbers_that_are_0_and_1_are_indicators_without_a_word():
    found = recognise(cycle([0, 1, 1]), "x")
    assert found.recipe.variables[0].kind == "indicator"
    assert not found.treatments
    tied = recognise(pd.Series([0, 0, 1, 1, None]), "x")
    assert tied.recipe.fill == 0


def test_dates_are_days_since_the_first():
    column = pd.Series(["2021-01-11", "2021-01-01 18:00", None, "2021-01-05"] * 3)
    found = recognise(column, "seen")
    assert found.recipe.variables[0].kind == "date"
    assert found.treatments[0].value == "2021-01-01"
    values = found.recipe.encode(column).values[:4, 0]
    np.testing.assert_array_equal(values, [10, 0.75, np.nan, 4])


def test_cells_that_are_no_dates_are_counted_and_one_is_shown():
    found = recognise(pd.Series(["2021-01-11", "2021-02-01", "2021-03-05"] * 10 + ["soon"]), "seen")
    unread = [one for one in found.treatments if one.kind == "cells_unread"]
    assert [(one.column, one.count, one.value) for one in unread] == [("seen", 1, "soon")]


def test_dates_whose_month_is_unclear_are_left_out_and_said():
    found = recognise(cycle(["03/04/2021", "05/06/2021"]), "seen")
    assert kinds(found) == ["column_ambiguous_date"]
    assert found.treatments[0].value == "03/04/2021"


@pytest.mark.parametrize(
    ("column", "kind", "value"),
    [
        (pd.Series([3.5] * 9), "column_constant", "3.5"),
        (pd.Series(["A"] * 9), "column_constant", "A"),
        (pd.Series(["2021-03-04"] * 9), "column_constant", "2021-03-04"),
        (pd.Series([None] * 9, dtype=float), "column_empty", ""),
        (pd.Series([None, "", "NA", "?"], dtype=object), "column_empty", ""),
        (pd.Series([pd.NaT] * 9), "column_empty", ""),
        (pd.Series([np.inf] * 9), "column_empty", ""),
    ],
)
def test_constant_and_empty_columns_are_left_out(column, kind, value):
    found = recognise(column, "x")
    assert found.recipe is None
    assert (found.treatments[0].kind, found.treatments[0].value) == (kind, value)


def test_zeros_of_pima_that_no_living_woman_has_are_suspicious():
    data = load("pima").data
    suspicious = {name: suspicious_value(data[name].to_numpy(dtype=float)) for name in data}
    assert {name: found for name, found in suspicious.items() if found} == {
        "glucose": (0, 5),
        "blood_pressure": (0, 35),
        "skin_thickness": (0, 227),
        "insulin": (0, 374),
        "bmi": (0, 11),
    }


@pytest.mark.parametrize("name", ["ionosphere", "sonar", "wisconsin", "iris", "bupa"])
def test_data_without_codes_for_missing_raise_no_suspicion(name):
    data = load(name).data
    for column in data:
        values = data[column].dropna().to_numpy(dtype=float)
        assert suspicious_value(values) is None


@pytest.mark.parametrize("code", [-1, -9, 99, -999, 9999, 888])
def test_other_codes_are_suspicious_too(code):
    values = np.r_[np.arange(10, 60) % 37 + 12.0, [code] * 4]
    assert suspicious_value(values) == (code, 4)


@pytest.mark.parametrize(
    "values",
    [
        np.r_[np.random.default_rng(0).lognormal(size=5000), np.zeros(300)],
        np.r_[np.random.default_rng(0).poisson(2.0, 300), [9] * 3],
        np.r_[np.arange(10.0, 60), 0, 0],
        np.r_[np.arange(10.0, 60), [-5.0] * 9],
        np.array([0.0] * 9 + [50.0, 60.0, 70.0]),
        np.r_[np.random.default_rng(0).poisson(30.0, 100), np.zeros(120)],
    ],
    ids=[
        "many zeros below a tail",
        "counts",
        "twice is chance",
        "no code",
        "too few others",
        "catches of which most are none",
    ],
)
def test_ordinary_values_are_not_suspicious(values):
    assert suspicious_value(values) is None


@pytest.mark.parametrize(
    "column",
    [
        cycle(["1,5", "2,5", "x", "3"] * 2 + ["4"] * 40, 96),
        cycle([1.5, None, 2.5]),
        cycle(["14/03/2021", "04/03/2021", None]),
        cycle(["yes", "no", None]),
        cycle([*"abcdefghijk", None], 96),
    ],
    ids=["text numbers", "numbers", "dates", "yes or no", "levels"],
)
def test_the_fitted_cells_are_encoded_as_the_recipe_encodes_them_later(column):
    found = recognise(column, "x")
    np.testing.assert_array_equal(found.values, found.recipe.encode(column).values)
    assert found.values.shape == (len(column), len(found.recipe.variables))


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([3.5] * 9),
        pd.Series(["A"] * 9),
        pd.Series(["2021-03-04"] * 9),
        pd.Series([None] * 9, dtype=float),
        pd.Series([pd.NaT] * 9),
        pd.Series([907, 12, 44, 3, 1001]),
        pd.Series([place // 2 * 37 % 1000 for place in range(60)]),
        pd.Series([f"P{place}" for place in range(30)]),
        pd.Series(["1,200", "inf", "3", "4", "5", "6"] * 5 + ["none yet"]),
        pd.Series(np.r_[np.arange(10.0, 60), [-999.0] * 4, [np.nan] * 5]),
        cycle(["03/04/2021", "05/06/2021"]),
        cycle(["14/03/2021", "04/03/2021", None]),
        cycle(["yes", "no", None]),
        cycle(["red", "blue", "green", None]),
        counted(200, 100, 50, 3, 3),
        counted(200, 100, 50, 4),
        pd.Series(["S"] * 200 + ["C"] * 100 + ["Q"] * 50 + [None]),
        pd.Series(["no"] * 900 + ["yes"] * 4),
        pd.Series([f"C{k // 2}" for k in range(120)] + [None] * 300, dtype=object),
    ],
)
def test_all_that_is_said_names_the_column(column):
    found = recognise(column, "sample id")
    assert {one.column for one in found.treatments} == {"sample id"}
    if found.recipe is not None:
        assert found.recipe.column == "sample id"
