"""Cells as labels, numbers and dates."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.statistician.prepare.cells import (
    DateFormat,
    affirmative,
    count_missing,
    find_format,
    iso_day,
    parse_number,
    read_cells,
    read_dates,
    read_numbers,
    target_copies,
)
from parsimon.statistician.prepare.orders import sort_labels


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,200", 1200),
        ("1,200,300.5", 1200300.5),
        ("3.5", 3.5),
        ("-3.5e2", -350),
        ("−2", -2),
        ("1 200", 1200),
        ("1\u00a0200\u202f300", 1200300),
        ("1'200", 1200),
        ("12%", 12),
        ("12 %", 12),
        ("$1,200.50", 1200.5),
        ("-€5", -5),
        ("5 €", 5),
        (".5", 0.5),
        ("٣٤", 34),
        ("+7", 7),
        ("inf", np.inf),
    ],
)
def test_numbers_are_read_as_people_write_them(text, value):
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "1,20", "12,34,567", "1 20", "1.2.3", "12-13", "5 kg", "--1", "1e", "%"),
        *("city 4", "3,5", "²", "0x10", "1_000"),
    ],
)
def test_what_is_no_number_is_not_guessed(text):
    assert np.isnan(parse_number(text))


@pytest.mark.parametrize(
    ("text", "value"), [("3,5", 3.5), ("1.200,5", 1200.5), ("12", 12), ("1.200", 1200)]
)
def test_a_decimal_comma_is_read_where_it_is_meant(text, value):
    assert parse_number(text, ",") == value


@pytest.mark.parametrize("text", ["3.5", "1,200.5", "1,2,3"])
def test_a_point_is_not_read_as_decimal_beside_commas(text):
    assert np.isnan(parse_number(text, ","))


@given(st.floats(-1e12, 1e12), st.integers(0, 6))
def test_a_formatted_number_reads_back(value, places):
    text = f"{value:,.{places}f}"
    assert parse_number(text) == float(text.replace(",", ""))


def test_one_cell_decides_whether_commas_are_decimal():
    assert read_numbers(pd.Series(["1,200", "3,5"])).values.tolist() == [1.2, 3.5]
    assert read_numbers(pd.Series(["1,200", "3.5"])).values.tolist() == [1200, 3.5]
    assert read_numbers(pd.Series(["1,200", "2,400"])).values.tolist() == [1200, 2400]


def test_text_unreadable_infinite_and_missing_cells_are_counted_apart():
    numbers = read_numbers(pd.Series(["1", "2 ", "many", None, "inf", 4, "1e200"], dtype=object))
    np.testing.assert_equal(numbers.values, [1, 2, np.nan, np.nan, np.nan, 4, np.nan])
    assert (numbers.n_text, numbers.n_unread, numbers.n_infinite) == (4, 1, 2)
    assert numbers.n_missing == 4


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1.0, np.nan, 3.0], dtype="Float32"),
        pd.Series([1, None, 3], dtype="int64[pyarrow]"),
        pd.Series([1, None, 3], dtype="double[pyarrow]"),
        pd.Series([1, np.nan, 3]),
        pd.Series([Decimal(1), None, Decimal(3)], dtype=object),
        pd.Series(["1", "NA", "3"], dtype="string"),
        pd.Series(["1", None, "3"], dtype="string[pyarrow]"),
        pd.Series([b"1", b"?", b"3"], dtype=object),
        pd.to_timedelta(pd.Series([1, None, 3]), unit="D"),
    ],
    ids=lambda column: str(column.dtype),
)
def test_every_type_of_number_gives_the_same(column):
    np.testing.assert_equal(read_numbers(column).values, [1, np.nan, 3])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a ", None, "b", "a"], dtype=object),
        pd.Series(["a", "", "b", "a"], dtype="string"),
        pd.Series(["a", None, "b", "a"], dtype="string[pyarrow]"),
        pd.Series(["a", None, "b", "a"], dtype="category"),
        pd.Series(["a", np.nan, " b", "a"], dtype="str"),
    ],
    ids=lambda column: str(column.dtype),
)
def test_every_type_of_text_gives_the_same(column):
    cells = read_cells(column)
    assert cells.labels == ("a", "b")
    assert cells.codes.tolist() == [0, -1, 1, 0]


def test_cells_that_hold_lists_are_labels_too():
    assert read_cells(pd.Series([[1], None, [1]])).codes.tolist() == [0, -1, 0]


def test_a_number_and_the_same_number_as_text_are_one_label():
    assert read_cells(pd.Series([1, "1", 1.0, "1 "], dtype=object)).labels == ("1",)


def test_labels_sort_by_size_then_as_words():
    assert sort_labels(["b", "10", "A", "9", "-1"]) == ("-1", "9", "10", "A", "b")


@pytest.mark.parametrize(
    ("pair", "yes"),
    [
        (["Y", "N"], "Y"),
        (["FALSE", "TRUE"], "TRUE"),
        (["-1", "1"], "1"),
        (["2", "1"], "2"),
        (["control", "treated"], "treated"),
        (["Malignant", "Benign"], "Malignant"),
        (["left", "right"], None),
        (["yes", "true"], None),
    ],
)
def test_the_yes_of_two_labels(pair, yes):
    assert affirmative(pair) == yes
    assert affirmative(pair[::-1]) == yes


@pytest.mark.parametrize(
    ("texts", "format"),
    [
        (["2021-03-04", "2021-03-05"], "ISO8601"),
        (["2021-03-04T10:00:00Z", "2021-03-05T10:00:00+02:00"], "ISO8601"),
        (["2021-03-04 10:00", "2021-03-05 11:30"], "ISO8601"),
        (["2021/03/04", "2021.03.05"], "ISO8601"),
        (["04.03.2021", "05.03.2021"], "%d.%m.%Y"),
        (["4 Mar 2021", "15 Apr 2021"], "%d %b %Y"),
        (["March 4, 2021", "April 15, 2021"], "%B %d, %Y"),
        (["03/14/2021", "03/04/2021"], "%m/%d/%Y"),
        (["14/03/2021 10:30", "04/03/2021 09:00"], "%d/%m/%Y %H:%M"),
        (["14-03-21", "04-03-21"], "%d-%m-%y"),
    ],
)
def test_dates_are_recognised(texts, format):
    assert find_format(read_cells(pd.Series(texts))) == DateFormat(format)


@pytest.mark.parametrize("texts", [["03/04/2021", "05/06/2021"], ["01-02-21", "11-12-21"]])
def test_the_order_of_day_and_month_is_never_guessed(texts):
    assert find_format(read_cells(pd.Series(texts))).ambiguous


@pytest.mark.parametrize(
    "texts",
    [
        *(["red", "blue"], ["B-12", "C-13"], ["10:30", "11:45"], ["2021-13-01", "2021-14-01"]),
        *([None], ["1-2", "3-4"], ["192.168.0.1", "10.0.0.1"], ["2021-03-04", "later", "some day"]),
    ],
)
def test_other_text_is_no_date(texts):
    assert find_format(read_cells(pd.Series(texts, dtype=object))) is None


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.to_datetime(["1970-01-02", None, "1970-01-01 12:00"], format="ISO8601")),
        pd.Series(["1970-01-02", "soon", "1970-01-01 12:00"]),
        pd.Series(
            pd.to_datetime(["1970-01-02 02:00+02:00", None, "1970-01-01 14:00+02:00"])
        ).dt.tz_convert("Europe/Berlin"),
        pd.Series(
            [datetime.datetime(1970, 1, 2), None, datetime.datetime(1970, 1, 1, 12)], dtype=object
        ),
        pd.Series(
            pd.to_datetime(["1970-01-02", None, "1970-01-01 12:00"], format="ISO8601")
        ).astype("timestamp[ns][pyarrow]"),
    ],
    ids=["datetime", "text", "zone", "object", "arrow"],
)
def test_days_are_counted_from_any_kind_of_date(column):
    np.testing.assert_equal(read_dates(column), [1, np.nan, 0.5])


def test_the_year_first_is_clear_with_any_sign_between():
    texts = pd.Series(["1970/01/03", "1970/01/02"])
    assert read_dates(texts, find_format(read_cells(texts)).text).tolist() == [2, 1]


def test_periods_begin_on_their_first_day():
    column = pd.Series(pd.PeriodIndex(["1970-02", "1970-03"], freq="M"))
    assert read_dates(column).tolist() == [31, 59]
    assert iso_day(59.9) == "1970-03-01"


def test_a_date_in_another_format_is_still_read_as_iso():
    assert read_dates(pd.Series(["03.01.1970", "1970-01-02"]), "%d.%m.%Y").tolist() == [2, 1]


def test_missing_cells_are_counted_whatever_they_are_called():
    table = pd.DataFrame(
        {"a": [1.0, np.inf, np.nan], "b": ["x", "?", " "], "c": pd.Series([True, None, False])}
    )
    assert count_missing(table) == 5


def test_columns_that_repeat_the_target_wherever_it_is_known_are_copies():
    target = pd.Series(["a", "b", None, "a"])
    columns = pd.DataFrame(
        {
            "kind.1": ["a", "b", "b", "a"],
            "kind.2": ["a", "b", "b", "b"],
            "kind.3": ["a", "b", None, None],
            "sort": ["a", "b", None, "a"],
        }
    )
    assert target_copies(columns, target, "kind") == ["kind.1"]
    assert target_copies(columns[["sort"]], target, "kind") == []
    numbers = pd.DataFrame({"dose": [1.0, 2.0, 3.0], "dose.2": ["1", "2", "3.0"]})
    assert target_copies(numbers, pd.Series([1, 2, 3]), "dose.1") == ["dose"]
    assert target_copies(numbers, pd.Series(["1", "2", "3.0"]), "dose.1") == ["dose.2"]
