"""From a table to finite numbers, and the same for rows that come later."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.statistician.prepare.preparation import Preparer
from parsimon.statistician.prepare.recipes import describe_variables
from parsimon.statistician.prepare.recognition import recognise
from tests.contract import contract

HOSTILE = '''patient id, body weight ,"he said ""hi""",<script>alert(1)</script>,年龄,العمر,\
const,when,colour,smoker,amount
P1,70.5,1,3,31,5,A,2021-01-05,red,yes,"1,200"
P2,,2,4,42,6,A,2021-02-05,blue,no,"1,350"
P3,65,3,5,,7,A,2021-03-05,green,yes,980
P4,80,4,,55,8,A,,red,,"2,000"
P5,90,9,7,60,1,A,2021-05-05,red,no,n/a
'''


@contract(Preparer())
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def hostile():
    return pd.read_csv(io.StringIO(HOSTILE))


def test_a_hostile_table_of_five_rows_becomes_numbers_under_its_own_names(hostile):
    numbers = Preparer().fit_transform(hostile)
    assert numbers.columns.tolist() == [
        "body weight",
        'he said "hi"',
        "<script>alert(1)</script>",
        "年龄",
        "العمر",
        "when",
        "colour = blue",
        "colour = green",
        "colour = red",
        "smoker",
        "smoker is missing",
        "amount",
    ]
    assert (numbers.dtypes == np.float64).all()
    assert np.isfinite(numbers.to_numpy()).all()
    assert numbers["amount"].tolist() == [1200, 1350, 980, 2000, 1275]


def test_everything_that_was_done_is_said(hostile):
    said = [
        (one.kind, one.column, one.count, one.value) for one in Preparer().fit(hostile).treatments_
    ]
    assert said == [
        ("column_identifier", "patient id", 0, ""),
        ("cells_filled", "body weight", 1, "75.25"),
        ("cells_filled", "<script>alert(1)</script>", 1, "4.5"),
        ("cells_filled", "年龄", 1, "48.5"),
        ("column_constant", "const", 0, "A"),
        ("column_date", "when", 4, "2021-01-05"),
        ("cells_filled", "when", 1, "2021-02-19"),
        ("column_category", "colour", 3, ""),
        ("column_boolean", "smoker", 2, "yes"),
        ("missing_level", "smoker", 1, ""),
        ("text_numbers", "amount", 4, "1,200"),
        ("cells_filled", "amount", 1, "1275"),
    ]


def test_variables_say_where_they_come_from(hostile):
    sources = {one.name: (one.column, one.kind) for one in Preparer().fit(hostile).variables_}
    assert sources["colour = red"] == ("colour", "indicator")
    assert sources["smoker is missing"] == ("smoker", "indicator")
    assert sources["when"] == ("when", "date")
    assert sources["年龄"] == ("年龄", "number")


def test_passengers_have_no_variable_for_their_names_tickets_and_cabins():
    rng = np.random.default_rng(4)
    n = 400
    table = pd.DataFrame(
        {
            "PassengerId": np.arange(1, n + 1),
            "Name": [f"Passenger, Mr. {k}" for k in range(n - 12)] + ["Kelly, Mr. James"] * 12,
            "Ticket": [f"PC {k}" if k % 4 else str(20_000 + k) for k in rng.integers(0, 280, n)],
            "Cabin": [f"B{rng.integers(80)}" if rng.random() < 0.25 else None for _ in range(n)],
            "Sex": rng.choice(["male", "female"], n),
            "Class": rng.choice(["first", "second", "third"], n),
            "Port": ["S"] * 300 + ["C"] * 70 + ["Q"] * 28 + [None] * 2,
            "Age": np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 80, n)),
        }
    )
    preparer = Preparer().fit(table)
    assert list(preparer.get_feature_names_out()) == [
        "Cabin is missing",
        "Sex = male",
        *("Class = first", "Class = second", "Class = third"),
        *("Port = C", "Port = Q", "Port = S"),
        *("Age", "Age is missing"),
    ]
    assert {one.column for one in preparer.variables_ if one.name.startswith("Class")} == {"Class"}
    said = {(one.column, one.kind) for one in preparer.treatments_}
    left_out = {
        ("PassengerId", "column_identifier"),
        ("Name", "column_identifier"),
        ("Ticket", "column_names"),
        ("Cabin", "column_names"),
    }
    assert left_out <= said
    assert preparer.transform(table).min().min() == 0


def test_later_rows_may_have_other_orders_types_columns_and_levels(hostile):
    preparer = Preparer().fit(hostile)
    later = pd.DataFrame(
        {
            "amount": [" 1,000 ", "?"],
            "smoker": [None, "yes"],
            "colour": ["violet", None],
            "when": pd.to_datetime(["2021-01-15", None]),
            "العمر": ["4", "5"],
            "年龄": pd.array([None, 7], dtype="Int64"),
            "<script>alert(1)</script>": [np.inf, 1],
            'he said "hi"': [1, 2],
            "new": ["never", "seen"],
            " body weight": [None, None],
        },
        index=[10, 20],
    )
    numbers = preparer.transform(later)
    assert numbers.index.tolist() == [10, 20]
    assert numbers.columns.tolist() == list(preparer.get_feature_names_out())
    assert numbers.iloc[0].tolist() == [75.25, 1, 4.5, 48.5, 4, 10, 0, 0, 0, 0, 1, 1000]
    assert numbers.iloc[1].tolist() == [75.25, 2, 1, 7, 5, 45, 0, 0, 0, 1, 0, 1275]


def test_what_is_done_to_later_rows_is_said(hostile):
    preparer = Preparer().fit(hostile)
    later = hostile.assign(colour=[*"vwxyz"], smoker="no", const=None)
    later.loc[0, "العمر"] = None
    said = {one.column: (one.kind, one.count, one.value) for one in preparer.treatments_of(later)}
    assert said["العمر"] == ("cells_filled", 1, "6")
    assert said["colour"] == ("unseen_levels", 5, "")
    assert said["when"] == ("cells_filled", 1, "2021-02-19")
    assert "smoker" not in said
    assert "const" not in said
    indicated = preparer.treatments_of(hostile.assign(smoker=["yes", None, "no", "?", "maybe"]))
    assert [(one.kind, one.count) for one in indicated if one.column == "smoker"] == [
        ("missing_level", 2),
        ("unseen_levels", 1),
    ]


def test_a_later_cell_that_is_neither_of_two_levels_gets_the_commoner_one():
    preparer = Preparer().fit(pd.DataFrame({"sex": ["male"] * 6 + ["female"] * 4}))
    later = pd.DataFrame({"sex": ["male", "female", "unknown", None]})
    assert preparer.transform(later)["sex = male"].tolist() == [1, 0, 1, 1]
    said = preparer.treatments_of(later)[0]
    assert (said.kind, said.count, said.value) == ("unseen_levels", 2, "male")


def test_a_later_table_without_any_cell_is_all_fills(hostile):
    preparer = Preparer().fit(hostile)
    numbers = preparer.transform(hostile.map(lambda _: None))
    assert np.isfinite(numbers.to_numpy()).all()
    assert numbers["年龄"].tolist() == [48.5] * 5
    assert numbers["smoker is missing"].tolist() == [1] * 5
    assert preparer.transform(hostile.iloc[:0]).shape == (0, 12)


def test_missing_columns_are_named(hostile):
    preparer = Preparer().fit(hostile)
    with pytest.raises(InvalidInputError, match=r"lacks 2 of the 9 columns .* 'when', 'colour'"):
        preparer.transform(hostile.drop(columns=["when", "colour", "const"]))


def test_equal_columns_are_left_out_once_and_said():
    table = pd.DataFrame(
        {
            "a": [1.5, 2, 3, 4],
            "text": ["1.5", "2", "3", "4"],
            "sex": [*"mffm"],
            "code": [1, 0, 0, 1],
            "negative": [-0.0, 0, 2, 1],
            "zero": [0.0, 0, 2, 1],
        }
    )
    preparer = Preparer().fit(table)
    assert [variable.name for variable in preparer.variables_] == ["a", "sex = m", "negative"]
    equal = [one for one in preparer.treatments_ if one.kind == "column_duplicate"]
    assert [(one.column, one.value) for one in equal] == [
        ("text", "a"),
        ("code", "sex"),
        ("zero", "negative"),
    ]
    assert "text_numbers" not in {one.kind for one in preparer.treatments_}


def test_of_columns_that_are_missing_together_one_indicator_remains():
    values = np.arange(40.0) % 7
    values[:8] = np.nan
    table = pd.DataFrame({"a": values, "b": values * 2 + 1})
    preparer = Preparer().fit(table)
    assert list(preparer.get_feature_names_out()) == ["a", "a is missing", "b"]
    equal = [one for one in preparer.treatments_ if one.kind == "column_duplicate"]
    assert [(one.column, one.value) for one in equal] == [("b is missing", "a is missing")]


def test_a_constant_that_is_often_missing_leaves_its_indicator():
    table = pd.DataFrame({"a": [3.0] * 10 + [None] * 10})
    assert list(Preparer().fit(table).get_feature_names_out()) == ["a is missing"]


def test_names_of_variables_never_clash():
    table = pd.DataFrame(
        [["x", 0.5, 1, 3], ["y", 1.5, 2, 2], ["z", 2.5, 4, 9], ["x", 2.5, 9, 9]],
        columns=["a", "a = x", "", "a"],
    )
    assert list(Preparer().fit(table).get_feature_names_out()) == [
        "a = x",
        "a = y",
        "a = z",
        "a = x (2)",
        "column 3",
        "column 4",
    ]


def test_tables_that_leave_nothing_say_what_each_column_was():
    table = pd.DataFrame({"id": [*"abcde"], "site": "A", "note": None})
    with pytest.raises(
        InvalidInputError,
        match="'id' is different in every row, 'site' is the same in every row, 'note' is empty",
    ):
        Preparer().fit(table)
    with pytest.raises(InvalidInputError, match="no rows"):
        Preparer().fit(table.iloc[:0])
    with pytest.raises(InvalidInputError, match="one row"):
        Preparer().fit(table.iloc[:1])
    with pytest.raises(InvalidInputError, match="no columns"):
        Preparer().fit(table[[]])


def test_a_saved_preparer_gives_the_same(hostile):
    preparer = Preparer().fit(hostile)
    data = skops.io.dumps(preparer)
    again = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    pd.testing.assert_frame_equal(again.transform(hostile), preparer.transform(hostile))
    assert again.treatments_ == preparer.treatments_
    assert again.variables_ == preparer.variables_


def nullable(table):
    return table.convert_dtypes()


def arrow(table):
    return table.convert_dtypes(dtype_backend="pyarrow")


def polars(table):
    return pl.from_pandas(table)


def categorical(table):
    return table.assign(colour=table["colour"].astype("category"))


@pytest.mark.parametrize("convert", [nullable, arrow, polars, categorical])
def test_every_kind_of_frame_gives_the_same(hostile, convert):
    expected = Preparer().fit(hostile)
    found = Preparer().fit(convert(hostile))
    assert found.treatments_ == expected.treatments_
    pd.testing.assert_frame_equal(found.transform(convert(hostile)), expected.transform(hostile))
    pd.testing.assert_frame_equal(expected.transform(convert(hostile)), expected.transform(hostile))


def test_the_table_is_not_changed(hostile):
    before = hostile.copy(deep=True)
    Preparer().fit_transform(hostile)
    pd.testing.assert_frame_equal(hostile, before)


CELLS = st.one_of(
    st.none(),
    st.integers(-5, 10**6),
    st.floats(),
    st.booleans(),
    st.text(max_size=5),
    st.dates(),
    st.sampled_from(["yes", "no", "1,200", "2021-03-04", "03/04/2021", "NA"]),
    st.lists(st.integers(), max_size=2),
)


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=12), st.data())
def test_any_cells_become_finite_numbers_or_one_sentence(rows, data):
    table = pd.DataFrame(rows, columns=["a", "b", "c"], dtype=object)
    if len(table) == 1 or all(recognise(table[name], name).recipe is None for name in table):
        with pytest.raises(InvalidInputError, match=r"No column is left|one row"):
            Preparer().fit(table)
        return
    preparer = Preparer().fit(table)
    later = data.draw(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=4))
    for rows_ in (table, pd.DataFrame(later, columns=["a", "b", "c"], dtype=object)):
        numbers = preparer.transform(rows_)
        assert np.isfinite(numbers.to_numpy()).all()
        assert numbers.columns.is_unique


def test_variables_are_described_as_they_are_used():
    days = ["2021-01-01", "2021-01-03", "2021-01-02"]
    table = pd.DataFrame({"age": [1.0, 2.0, 6.0], "when": days})
    preparer = Preparer().fit(table)
    age, when = describe_variables(preparer.transform(table), preparer.variables_)
    assert (age.name, age.column, age.kind) == ("age", "age", "number")
    assert (age.minimum, age.maximum, age.mean) == (1, 6, 3)
    assert age.deviation == pytest.approx(np.sqrt(14 / 3))
    assert (when.kind, when.maximum) == ("date", 2)
    chosen = describe_variables(preparer.transform(table)[["when"]], preparer.variables_)
    assert [one.name for one in chosen] == ["when"]
