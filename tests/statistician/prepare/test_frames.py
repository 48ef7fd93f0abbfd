"""Frames of any kind, names that can be told apart."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.statistician.prepare.frames import (
    as_frame,
    clean_names,
    clean_text,
    find_column,
    fingerprint,
    named_frame,
)


def test_frames_of_polars_and_arrow_become_pandas():
    pa = pytest.importorskip("pyarrow")
    columns = {"age": [31, None], "colour": ["red", None]}
    for table in (pl.DataFrame(columns), pa.table(columns)):
        frame = as_frame(table)
        assert isinstance(frame, pd.DataFrame)
        assert frame["colour"].isna().tolist() == [False, True]


@pytest.mark.parametrize("table", [3, "a table", object(), {"a": [1]}])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(InvalidInputError, match="must be a data frame or an array"):
        as_frame(table)


def test_one_dimension_is_refused():
    with pytest.raises(InvalidInputError, match=r"shape \(3,\)"):
        as_frame(np.arange(3))


def test_hostile_names_are_kept_as_they_are():
    names = [
        "<script>alert(1)</script>",
        "a 'b' \"c\"",
        "年龄",
        "العمر",
        "x\\y",
        "{{7*7}}",
        "$a_1$",
    ]
    assert clean_names(names) == tuple(names)


def test_names_of_plain_characters_stay():
    names = ("X", "XX ray", "Größe (m²)", "年龄", "a_b.c-d", "{u202e}")
    assert clean_names(names) == names


def test_control_characters_spaces_and_turning_marks_go():
    assert clean_names(["\x00a\x1b[31m", " b\n", "c\u202eevil", "\ud800"]) == (
        "a[31m",
        "b",
        "cevil",
        "?",
    )


def test_empty_and_repeated_names_become_places():
    assert clean_names(["", "a", "a", " ", None, np.nan, "column 3"]) == (
        "column 1",
        "a",
        "column 3 (2)",
        "column 4",
        "column 5",
        "column 6",
        "column 3",
    )


def test_names_of_several_levels_are_joined():
    table = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
    assert named_frame(table).columns.tolist() == ["a / x", "a / y"]


@given(st.lists(st.one_of(st.text(max_size=4), st.sampled_from(["a", " a", "column 2", ""]))))
def test_names_are_always_distinct_and_never_empty(names):
    found = clean_names(names)
    assert len(set(found)) == len(names)
    assert all(name and name == clean_text(name) for name in found)


def test_a_fingerprint_sees_names_cells_and_their_order():
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": ["x", 2], "c": [[1], None]})
    others = [
        frame.rename(columns={"a": "d"}),
        frame[["b", "a", "c"]],
        frame.iloc[::-1],
        frame.assign(a=[1.0, 0.0]),
        frame.assign(b=["x", 3]),
        frame.assign(c=[[2], None]),
    ]
    found = [fingerprint(frame), *map(fingerprint, others), fingerprint(frame, beside="tree")]
    assert len(set(found)) == len(found)
    assert fingerprint(frame.copy()) == found[0]
    assert fingerprint(frame.set_axis([5, 6]), index=True) != fingerprint(frame, index=True)


def test_a_column_is_found_by_its_name_as_it_stands_or_cleaned():
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["a", "a ", 7, "b\n"])
    for name, cell, called in (("a", 1, "a"), ("a ", 2, "a"), (7, 3, "7"), ("7", 3, "7")):
        column, own = find_column(frame, name)
        assert (column.tolist(), own) == ([cell], called)
    assert find_column(frame, " b")[0].tolist() == [4]
    with pytest.raises(InvalidInputError, match="has 2 columns called 'a'; rename all but one"):
        find_column(frame, " a")
    with pytest.raises(InvalidInputError, match="has no column 'c'; its columns are a, a , 7, b"):
        find_column(frame, "c")
