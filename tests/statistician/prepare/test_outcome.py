"""The target: classes or a number, and one clear sentence where there is none."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.statistician.prepare.outcome import check_class_sizes, read_outcome


def table(target, **columns):
    return pd.DataFrame({"x": np.arange(len(target)) * 1.5, **columns, "y": target})


def cells(**counts):
    return [name for name, count in counts.items() for _ in range(count)]


@pytest.mark.parametrize(
    ("target", "classes"),
    [
        (["no", "yes"] * 5, ("no", "yes")),
        (["yes"] * 7 + ["no"] * 3, ("no", "yes")),
        ([True, False] * 5, ("False", "True")),
        ([1, 0] * 5, ("0", "1")),
        ([1.0, 2.0] * 5, ("1", "2")),
        ([-1, 1] * 5, ("-1", "1")),
        ([0.5, 1.5] * 5, ("0.5", "1.5")),
        (["benign", "malignant"] * 5, ("benign", "malignant")),
        (["good"] * 7 + ["bad"] * 3, ("good", "bad")),
        (["bad"] * 7 + ["good"] * 3, ("bad", "good")),
        (["left", "right"] * 5, ("left", "right")),
        (["a ", " a", "b", "a", "b", "b "], ("a", "b")),
        (["c", "a", "b"] * 5, ("a", "b", "c")),
        ([10, 9, 2] * 5, ("2", "9", "10")),
        ([1.0, 2.0, 3.0] * 5, ("1", "2", "3")),
        (["1", "2", "3"] * 5, ("1", "2", "3")),
        (pd.Categorical(["u", "v"] * 5, categories=["v", "u", "w"]), ("u", "v")),
        (pd.array([True, False, None] * 5, dtype="boolean"), ("False", "True")),
        (pd.array(["u", "v"] * 5, dtype="string[pyarrow]"), ("u", "v")),
    ],
)
def test_classes_are_found_and_the_positive_one_is_last_of_two(target, classes):
    outcome = read_outcome(table(target), "y")
    assert outcome.task == "classification"
    assert outcome.classes == classes
    assert outcome.questions == ((1,) if len(classes) == 2 else tuple(range(len(classes))))
    named = [classes[code] for code in outcome.values]
    raw = pd.Series(target).dropna()
    assert [str(cell).strip().removesuffix(".0") for cell in raw] == named


@pytest.mark.parametrize(
    "target",
    [
        np.linspace(0, 1, 12),
        list(range(12)),
        [10, 20, 30, 40, 50],
        [f"1,{place:03d}" for place in range(100, 125)],
        pd.array([1.5, 2.5, 3.5, None, 4.5, 5.5], dtype="Float64"),
    ],
)
def test_numbers_are_regression(target):
    outcome = read_outcome(table(target), "y")
    assert outcome.task == "regression"
    assert outcome.classes == ()
    assert outcome.questions == ()
    assert outcome.values.dtype == np.float64
    assert np.isfinite(outcome.values).all()


def test_whole_numbers_with_many_values_are_a_quantity():
    assert read_outcome(table(list(range(10)) * 4), "y").task == "classification"
    assert read_outcome(table(list(range(11)) * 4), "y").task == "regression"


def test_the_task_can_be_chosen():
    digits = table(list(range(5)) * 4)
    assert read_outcome(digits, "y", task="regression").task == "regression"
    floats = table([0.5, 1.5, 2.5] * 4)
    assert read_outcome(floats, "y").task == "regression"
    assert read_outcome(floats, "y", task="classification").classes == ("0.5", "1.5", "2.5")


@pytest.mark.parametrize("positive", ["b", "B", " b "])
def test_the_positive_class_can_be_chosen(positive):
    two = read_outcome(table(cells(a=4, b=6)), "y", positive=positive)
    assert two.classes == ("a", "b")
    assert two.questions == (1,)
    three = read_outcome(table(cells(a=4, b=6, c=5)), "y", positive=positive)
    assert three.classes == ("a", "b", "c")
    assert three.questions == (1,)


def test_the_positive_class_may_be_a_number_and_come_first():
    outcome = read_outcome(table([0, 1] * 5), "y", positive=0.0)
    assert outcome.classes == ("1", "0")
    assert outcome.values.tolist() == [1, 0] * 5
    assert read_outcome(table([*range(30)] * 2), "y", positive=7).questions == (7,)


def test_rows_without_a_target_are_left_out_and_counted():
    outcome = read_outcome(table(["a", None, "b", "a", "?", "b", "a"]), "y")
    assert outcome.kept.tolist() == [True, False, True, True, False, True, True]
    assert [(one.kind, one.column, one.count) for one in outcome.treatments] == [
        ("rows_without_target", "y", 2)
    ]
    number = read_outcome(table([1.5, np.inf, 2.5, np.nan, 3.5, 4.5, 5.5]), "y")
    assert number.values.tolist() == [1.5, 2.5, 3.5, 4.5, 5.5]
    assert {one.kind: one.count for one in number.treatments} == {
        "rows_without_target": 2,
        "infinite_cells": 1,
    }


def test_a_number_as_text_is_said():
    outcome = read_outcome(table([f"{v:,}" for v in range(1000, 1030)]), "y")
    assert outcome.values[3] == 1003
    assert (outcome.treatments[0].kind, outcome.treatments[0].value) == ("text_numbers", "1,000")


def test_rows_of_a_rare_class_are_left_out_unless_one_class_is_asked_for():
    rows = table(cells(a=4, b=2, c=5, d=1))
    outcome = read_outcome(rows, "y")
    assert outcome.classes == ("c", "a")
    assert [(one.value, one.count) for one in outcome.treatments] == [("b", 2), ("d", 1)]
    assert {(one.kind, one.column) for one in outcome.treatments} == {("rows_of_rare_class", "y")}
    assert outcome.kept.sum() == len(outcome.values) == 9
    asked = read_outcome(rows, "y", positive="a")
    assert asked.kept.all()
    assert asked.classes == ("a", "b", "c", "d")


def test_equal_rows_are_counted_and_stay():
    numbers = np.random.default_rng(0).normal(size=(30, 3)).tolist()
    rows = pd.DataFrame(numbers, columns=[*"abc"]).assign(y=[*"ab"] * 15)
    rows.iloc[2] = rows.iloc[0]
    outcome = read_outcome(rows, "y")
    assert [(one.kind, one.count) for one in outcome.treatments] == [("rows_duplicated", 1)]
    assert outcome.kept.all()
    lists = rows.assign(a=[[cell] for cell in rows["a"]])
    assert read_outcome(lists, "y").treatments == outcome.treatments


def test_rows_of_a_few_levels_agree_by_chance_and_are_not_counted():
    # As of the passengers of the Titanic: class, age and sex.
    rng = np.random.default_rng(1)
    people = pd.DataFrame({name: rng.integers(0, 3, 300) for name in ("class", "age", "sex")})
    people["y"] = np.where(people["class"] + rng.integers(0, 3, 300) > 2, "yes", "no")
    assert people.duplicated().sum() > 200
    assert read_outcome(people, "y").treatments == ()
    # Counts at two levels, as in warpbreaks: a column of many values, and chance all the same.
    breaks = pd.DataFrame({"wool": [*"ab"] * 40, "breaks": rng.poisson(20, 80)})
    assert breaks["breaks"].nunique() > 10
    assert breaks.duplicated().any()
    assert read_outcome(breaks, "breaks").treatments == ()


def test_a_frame_of_polars_is_welcome():
    outcome = read_outcome(pl.DataFrame({"y": [*"aabbab"], "x": range(6)}), "y")
    assert outcome.classes == ("a", "b")


def test_the_target_is_found_despite_spaces_around_its_name():
    rows = table([*"aabbab"]).rename(columns={"y": " y "})
    assert read_outcome(rows, "y").classes == read_outcome(rows, " y ").classes == ("a", "b")


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ([None] * 6, {}, "'y' is missing in every row"),
        (["a"] * 6, {}, "only one class, 'a'; two are needed"),
        ([1] * 6, {}, "only one class, '1'"),
        (["a", "b", "a", "b"], {}, "Only 4 rows can be used"),
        ([*"aaaab"], {}, "class 'b' of the target 'y' has only 1 row"),
        ([*"aabbc"], {}, "3 classes, but 0 of them with at least 3 rows"),
        ([*"aaaabbcc"], {}, "3 classes, but 1 of them with at least 3 rows"),
        ([*"aaabbb"], {"positive": "z"}, "'z' is not among the classes of 'y': a, b"),
        ([*"aaabbc"], {"positive": "c"}, "class 'c' of the target 'y' has only 1 row"),
        ([f"p{n}" for n in range(60)], {}, "60 classes, more than 20: it looks like an identifier"),
        ([2.5] * 6, {"task": "regression"}, "2.5 in all 6 rows"),
        ([*"aaabbb"], {"task": "regression"}, "not a number"),
        ([1.5, 2.5, 3.5] * 3, {"task": "regression", "positive": "1.5"}, "given for a number"),
        ([*"aaabbb"], {"task": "sums"}, "task must be"),
        ([1.5, 2.5, None, None, None, 3.5], {}, "Only 3 rows can be used"),
        (pd.date_range("2021", periods=30), {}, "30 classes"),
    ],
)
def test_each_impossible_target_gets_one_sentence(target, options, message):
    with pytest.raises(InvalidInputError, match=message):
        read_outcome(table(target), "y", **options)


def test_an_unknown_target_is_told_which_columns_there_are():
    rows = table([*"aabbab"], weight=1.0)
    with pytest.raises(
        InvalidInputError, match=r"columns are x, weight, y\. Did you mean 'weight'"
    ):
        read_outcome(rows, "wieght")
    with pytest.raises(InvalidInputError, match=r"no column 'z'; its columns are x, weight, y\.$"):
        read_outcome(rows, "z")


def test_two_columns_of_the_targets_name_are_refused():
    rows = pd.DataFrame([[1, "a", "b"]] * 6, columns=["x", "y", "y"])
    with pytest.raises(InvalidInputError, match="2 columns called 'y'"):
        read_outcome(rows, "y")


def test_too_few_rows_beside_the_class_that_is_asked_for_are_called_the_rest():
    with pytest.raises(
        InvalidInputError, match="The class 'the rest' of the target 'y' has only 1"
    ):
        check_class_sizes("y", {"a": 5, "b": 1, "c": 0}, "a")
    check_class_sizes("y", {"a": 2, "b": 1, "c": 1}, "a")
    with pytest.raises(InvalidInputError, match="The class 'a' of the target 'y' has only 1"):
        check_class_sizes("y", {"a": 1, "b": 4, "c": 3}, "a")
