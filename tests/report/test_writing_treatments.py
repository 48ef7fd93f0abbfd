"""A sentence for each kind of treatment, for one column and for several."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.report.findings import Treatment, TreatmentKind
from parsimon.report.sections.table.treatments import treatment_sentences

ONE = {
    "column_unasked": ({"column": "id"}, "One column was left out as asked: id."),
    "columns_unnamed": (
        {"count": 1},
        "One column has neither a name nor a value and was left out, as separators at the ends of "
        "rows make them.",
    ),
    "column_renamed": (
        {"column": "y.1", "value": "y"},
        "One column has no name, or that of an earlier column, and got one: y.1 (was “y”).",
    ),
    "row_names": (
        {"count": 1},
        "1 row begins with a name that the header has no cell for, as R writes them; these names "
        "were left out.",
    ),
    "rows_short": (
        {"count": 1, "value": "7"},
        "1 row has fewer cells than the header; those at the end were taken as missing: line 7.",
    ),
    "formulas_uncomputed": (
        {"column": "sum", "count": 1},
        "1 formula in sum was never computed and was taken as missing; open the workbook in Excel "
        "and save it to have the results.",
    ),
    "column_target": (
        {"column": "y.1", "value": "y"},
        "One column repeats the target and was left out: y.1 (equal to y).",
    ),
    "cells_unread": (
        {"column": "age", "count": 1, "value": "old"},
        "1 cell could not be read and was taken as missing: age (such as “old”).",
    ),
    "rows_without_target": (
        {"column": "state", "count": 1},
        "1 row has no value of state and was left out.",
    ),
    "rows_of_rare_class": (
        {"count": 2, "value": "odd"},
        "2 rows were left out, because so small a class can be neither learned nor tested: “odd” "
        "(2 rows).",
    ),
    "rows_duplicated": (
        {"count": 1},
        "1 row repeats another row exactly and was kept. If the same case was entered twice, the "
        "errors in this report are too low.",
    ),
    "cells_filled": (
        {"column": "age", "count": 1, "value": "-3.5"},
        "1 missing cell of age was filled with the median of its column, −3.5.",
    ),
    "missing_indicated": (
        {"column": "age", "count": 9},
        "A further variable, 0 or 1, says where cells were missing in one column: age.",
    ),
    "missing_level": (
        {"column": "sex", "count": 1},
        "1 missing cell counts as a level of its own in sex.",
    ),
    "missing_as_level": (
        {"column": "port", "count": 1, "value": "S"},
        "1 missing cell is too rare for a level of its own and counts as the commonest level: "
        "port (1 as “S”).",
    ),
    "infinite_cells": (
        {"column": "age", "count": 1},
        "1 cell in age is infinite, or beyond 1e100, and was taken as missing.",
    ),
    "text_numbers": (
        {"column": "pay", "count": 8, "value": "1,200"},
        "One column holds numbers that are written as text, such as “1,200”, and was read as "
        "numbers: pay.",
    ),
    "column_boolean": (
        {"column": "smoker", "count": 2, "value": "yes"},
        "One column with two values became 0 and 1: smoker (1 is “yes”).",
    ),
    "column_category": (
        {"column": "colour", "count": 3, "value": "red"},
        "One column holds categories and became variables that are 0 or 1, one for each level: "
        "colour (3 levels, without one for “red”).",
    ),
    "rare_levels": (
        {"column": "town", "count": 5},
        "Levels in few rows, and those beyond the commonest, were put together as “other”: town "
        "(5 levels).",
    ),
    "levels_unsupported": (
        {"column": "town", "count": 1, "value": "Oslo"},
        "Levels in so few rows that nothing can be learned about them count as the commonest "
        "level: town (1 level as “Oslo”).",
    ),
    "column_date": (
        {"column": "seen", "count": 9, "value": "2021-03-04"},
        "One column holds dates and became a number of days: seen (since 2021-03-04).",
    ),
    "column_ambiguous_date": (
        {"column": "seen", "value": "03/04/2021"},
        "One column holds dates in which day and month cannot be told apart, and was left out: "
        "seen (such as “03/04/2021”). Write them as year-month-day to use them.",
    ),
    "column_constant": (
        {"column": "site", "value": "A"},
        "One column holds one value only and was left out: site (“A”).",
    ),
    "column_empty": (
        {"column": "notes"},
        "One column is empty and was left out: notes.",
    ),
    "column_duplicate": (
        {"column": "age2", "value": "age"},
        "One column repeats another column and was left out: age2 (equal to age).",
    ),
    "column_identifier": (
        {"column": "id"},
        "One column differs in every row, as names and running numbers do, and was left out: id.",
    ),
    "column_names": (
        {"column": "ticket", "count": 681},
        "One column holds names, free text or too many levels, most of them in too few rows to "
        "learn from, and was left out: ticket (681 different cells).",
    ),
    "column_rare": (
        {"column": "smoker", "count": 1, "value": "no"},
        "One column is the same in nearly every row and was left out: smoker (all but 1 cell "
        "“no”).",
    ),
    "unseen_levels": (
        {"column": "sex", "count": 2, "value": "male"},
        "Levels occur that no fitted row had: sex (2 cells, taken as “male”).",
    ),
    "columns_screened": (
        {"count": 20, "value": "200"},
        "The 200 variables were first looked at one by one, and the search used the 20 most "
        "promising. What the others say in combination was not examined.",
    ),
    "rows_sampled": (
        {"count": 1500},
        "The search for a model used 1,500 rows, drawn at random; the structure that it found was "
        "then fitted to all rows.",
    ),
    "suspicious_value": (
        {"column": "pressure", "count": 35, "value": "0"},
        "One column has a value that lies far from the others: pressure (0 in 35 rows). Nothing "
        "was changed. If it stands for “not known” rather than for a count of none, empty these "
        "cells and run the report again.",
    ),
}

TWO = {
    "rows_without_target": "8 rows have no value of the target and were left out.",
    "rows_of_rare_class": "8 rows were left out, because so small a class can be neither learned "
    "nor tested: “v” (4 rows) and “v” (4 rows).",
    "rows_duplicated": "8 rows repeat other rows exactly and were kept. If the same case was "
    "entered twice, the errors in this report are too low.",
    "cells_filled": "8 missing cells in two columns were filled, each with the median of its "
    "column: a (4 with v) and b (4 with v).",
    "missing_indicated": "A further variable, 0 or 1, says where cells were missing in two "
    "columns: a and b.",
    "missing_level": "8 missing cells count as a level of their own in a (4) and b (4).",
    "missing_as_level": "8 missing cells are too few for a level of their own and count as the "
    "commonest level: a (4 as “v”) and b (4 as “v”).",
    "infinite_cells": "8 cells in a and b are infinite, or beyond 1e100, and were taken as "
    "missing.",
    "text_numbers": "Two columns hold numbers that are written as text, such as “v”, and were "
    "read as numbers: a and b.",
    "column_boolean": "Two columns with two values became 0 and 1: a (1 is “v”) and b (1 is “v”).",
    "column_category": "Two columns hold categories and became variables that are 0 or 1, one for "
    "each level: a (4 levels, without one for “v”) and b (4 levels, without one for “v”).",
    "rare_levels": "Levels in few rows, and those beyond the commonest, were put together as "
    "“other”: a (4 levels) and b (4 levels).",
    "levels_unsupported": "Levels in so few rows that nothing can be learned about them count as "
    "the commonest level: a (4 levels as “v”) and b (4 levels as “v”).",
    "column_date": "Two columns hold dates and became a number of days: a (since v) and b (since "
    "v).",
    "column_ambiguous_date": "Two columns hold dates in which day and month cannot be told apart, "
    "and were left out: a (such as “v”) and b (such as “v”). Write them as year-month-day to use "
    "them.",
    "column_constant": "Two columns hold one value only and were left out: a (“v”) and b (“v”).",
    "column_empty": "Two columns are empty and were left out: a and b.",
    "column_duplicate": "Two columns repeat other columns and were left out: a (equal to v) and b "
    "(equal to v).",
    "column_identifier": "Two columns differ in every row, as names and running numbers do, and "
    "were left out: a and b.",
    "column_names": "Two columns hold names, free text or too many levels, most of them in too "
    "few rows to learn from, and were left out: a (4 different cells) and b (4 different cells).",
    "column_rare": "Two columns are the same in nearly every row and were left out: a (all but 4 "
    "cells “v”) and b (all but 4 cells “v”).",
    "unseen_levels": "Levels occur that no fitted row had: a (4 cells, taken as “v”) and b (4 "
    "cells, taken as “v”).",
    "suspicious_value": "Two columns have values that lie far from the others: a (v in 4 rows) and "
    "b (v in 4 rows). Nothing was changed. If they stand for “not known” rather than for a count "
    "of none, empty these cells and run the report again.",
}


@pytest.mark.parametrize("kind", get_args(TreatmentKind))
def test_one_column(kind):
    fields, sentence = ONE[kind]
    assert treatment_sentences([Treatment(kind=kind, **fields)]) == (sentence,)


@pytest.mark.parametrize("kind", TWO)
def test_two_columns_share_a_sentence(kind):
    names = ("", "") if kind == "rows_without_target" else ("a", "b")
    group = [Treatment(kind=kind, column=name, count=4, value="v") for name in names]
    assert treatment_sentences(group) == (TWO[kind],)


@pytest.mark.parametrize(
    ("treatment", "sentence"),
    [
        (
            Treatment(kind="text_numbers", column="pay", count=3),
            "One column holds numbers that are written as text, and was read as numbers: pay.",
        ),
        (
            Treatment(kind="column_boolean", column="smoker"),
            "One column with two values became 0 and 1: smoker.",
        ),
        (
            Treatment(kind="column_category", column="colour"),
            "One column holds categories and became variables that are 0 or 1, one for each "
            "level: colour (all levels).",
        ),
        (
            Treatment(kind="column_constant", column="site"),
            "One column holds one value only and was left out: site.",
        ),
        (
            Treatment(kind="unseen_levels", column="sex", count=1),
            "Levels occur that no fitted row had: sex (1 cell).",
        ),
        (
            Treatment(kind="columns_screened", count=20),
            "All variables were first looked at one by one, and the search used the 20 most "
            "promising. What the others say in combination was not examined.",
        ),
    ],
)
def test_what_is_not_known_is_not_said(treatment, sentence):
    assert treatment_sentences([treatment]) == (sentence,)


def test_many_columns_are_cut_short():
    group = [Treatment(kind="column_empty", column=f"c{k}") for k in range(12)]
    [sentence] = treatment_sentences(group)
    assert sentence == (
        "12 columns are empty and were left out: c0, c1, c2, c3, c4, c5, c6, c7 and 4 others."
    )


def test_kinds_keep_their_order():
    group = [
        Treatment(kind="column_empty", column="a"),
        Treatment(kind="column_identifier", column="b"),
        Treatment(kind="column_empty", column="c"),
    ]
    first, second = treatment_sentences(group)
    assert first.endswith("a and c.")
    assert second.endswith("b.")


@given(
    st.lists(
        st.builds(
            Treatment,
            kind=st.sampled_from(get_args(TreatmentKind)),
            column=st.text(max_size=12),
            count=st.integers(1, 10**6),
            value=st.text(max_size=12),
        ),
        max_size=12,
    )
)
def test_no_treatment_is_silent(treatments):
    sentences = treatment_sentences(treatments)
    assert len(sentences) == len({one.kind for one in treatments})
    assert all(sentence.endswith(".") and "  " not in sentence for sentence in sentences)


def test_cells_that_the_other_columns_predict_are_said_apart():
    said = treatment_sentences(
        [
            Treatment(kind="cells_filled", column="a", count=2),
            Treatment(kind="cells_filled", column="b", count=3, value="7"),
            Treatment(kind="cells_filled", column="c", count=1),
        ]
    )
    assert said == (
        "3 missing cells in two columns were filled, each with what the other columns of the row "
        "predict: a (2) and c (1). 3 missing cells of b were filled with the median of its column, "
        "7.",
    )
