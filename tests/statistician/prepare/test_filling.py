from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from parsimon.statistician.looking import table_structures
from parsimon.statistician.prepare import Preparer
from parsimon.statistician.prepare.recipes import RowFilling


def _rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    helper = 0.7 * a + 0.51**0.5 * rng.normal(size=n)
    return np.column_stack([a, helper, rng.normal(size=n)])


def test_an_empty_cell_is_what_the_regression_on_the_others_expects():
    whole = _rows()
    values = whole.copy()
    gap = np.random.default_rng(1).random(400) < 0.3
    values[gap, 0] = np.nan
    filled = RowFilling.learn(values).fill(values)
    design = np.column_stack([np.ones(400), whole[:, 1:]])
    slopes = np.linalg.lstsq(design[~gap], whole[~gap, 0], rcond=None)[0]
    np.testing.assert_allclose(filled[gap, 0], design[gap] @ slopes, atol=0.12)
    np.testing.assert_array_equal(filled[~gap], values[~gap])


def test_rows_with_several_gaps_have_their_conditional_mean():
    """Brute force: the normal law's own mean and covariance, row by row."""
    values = _rows()
    values[::3, 0], values[::5, 1] = np.nan, np.nan
    filling = RowFilling.learn(values)
    covariance = np.linalg.inv(filling.precision) * np.outer(filling.deviation, filling.deviation)
    filled = filling.fill(values)
    for row in (0, 3, 5, 15):
        gap = np.isnan(values[row]) & filling.explained
        unknown = np.isnan(values[row])
        known = ~unknown
        slopes = np.linalg.solve(covariance[np.ix_(known, known)], covariance[known])
        expected = filling.mean + (values[row, known] - filling.mean[known]) @ slopes
        assert gap.any()
        np.testing.assert_allclose(filled[row, gap], expected[gap])


def test_where_nothing_goes_along_the_median_stays():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.gamma(1, size=2000), "b": rng.normal(size=2000)})
    table.loc[::4, "a"] = np.nan
    preparer = Preparer().fit(table)
    assert preparer.transform(table).loc[0, "a"] == table["a"].median()
    assert [one.value for one in preparer.treatments_ if one.kind == "cells_filled"] != [""]


def test_a_prepared_table_is_filled_from_its_other_columns_and_says_so():
    values = _rows()
    table = pd.DataFrame(values, columns=["a", "helper", "c"])
    table["yes"] = (values[:, 0] > 0).astype(float)
    table["group"] = np.where(values[:, 2] > 0, "u", np.where(values[:, 1] > 0, "v", "w"))
    table.loc[::3, "a"], table.loc[::7, "yes"] = np.nan, np.nan
    preparer = Preparer().fit(table)
    numbers = preparer.transform(table)
    gap = table["a"].isna()
    assert np.corrcoef(numbers.loc[gap, "a"], values[gap, 0])[0, 1] > 0.7
    assert set(numbers["yes"].unique()) == {0.0, 1.0}
    assert np.isfinite(numbers.to_numpy()).all()
    filled = {one.column: one.value for one in preparer.treatments_ if one.kind == "cells_filled"}
    assert filled == {"a": "", "yes": ""}
    # Rows one by one, and rows without anything, come out as in the table.
    alone = pd.concat([preparer.transform(table.iloc[[row]]) for row in range(20)])
    pd.testing.assert_frame_equal(alone, numbers.iloc[:20])
    empty = preparer.transform(pd.DataFrame(np.nan, index=[0], columns=table.columns))
    assert empty.loc[0, "a"] == pytest.approx(np.nanmean(table["a"]), abs=0.4)


def test_what_filled_cells_may_be_off_by_shrinks_with_the_rows_that_have_them():
    few, many = _rows(n=1000), _rows(n=1000)
    few[60:, 0], many[600:, 0] = np.nan, np.nan
    errors = [float(np.abs(RowFilling.learn(one).doubts(one)[0]).max()) for one in (few, many)]
    assert errors[0] > 2 * errors[1]
    assert not RowFilling.learn(few).doubts(few)[0][:60].any()


def test_filled_cells_make_no_interaction():
    """A median would leave the empty part of `a` to the helper."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        a = rng.normal(size=400)
        table = pd.DataFrame({"a": a, "helper": 0.7 * a + 0.51**0.5 * rng.normal(size=400)})
        table.loc[rng.random(400) < 0.35, "a"] = np.nan
        question = SimpleNamespace(
            table=table, y=1.2 * a + rng.normal(size=400), task="regression", n_questions=1
        )
        preparer = Preparer().fit(table)
        numbers = preparer.transform(table)
        found = table_structures(question, preparer, numbers, np.arange(400))
        sure = {(one.kind, one.variables) for one in found.claims() if one.certain}
        assert sure == {("variable", ("a",)), ("shape", ("a",))}
