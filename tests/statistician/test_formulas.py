"""Formulas as a family of a report: answers, sizes, words, and the model in a file."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from parsimon.features import ParetoConstructor, ParetoSelector
from parsimon.report.document import Table
from parsimon.report.sections import write
from parsimon.statistician import analyse, load_model
from parsimon.statistician.asked_table import read_question
from parsimon.statistician.contributions import joint_variables
from parsimon.statistician.families._size import model_size
from parsimon.statistician.families.family import Setting
from parsimon.statistician.families.feature_fronts import FORMULA, formula_text, short_numbers
from parsimon.statistician.feature_front import formula_front
from parsimon.statistician.prepare import Screener

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.uniform(1, 3, size=(90, 3)), columns=["dose", "mass", "noise"])
TABLE["site"] = RNG.choice(["north", "south"], 90)
TABLE["power"] = TABLE["dose"] * TABLE["mass"] + 0.05 * RNG.normal(size=90)


@pytest.fixture(scope="module")
def analysis():
    options = {"families": "formula", "rivals": "linear,boosting", "outer": 2, "n_jobs": 1}
    return analyse(TABLE, "power", **options)


def test_a_report_has_the_front_of_formulas_and_their_honest_error(analysis):
    front = analysis.findings.formulas
    assert "dose*mass" in front.chosen.features
    assert "dose times mass" in front.chosen.words
    assert front.gives == "power"
    assert [one.size for one in front.sizes] == sorted(one.size for one in front.sizes)
    models = {one.name: one for one in analysis.comparison.models}
    formula, linear = models["short formula"], models["linear model"]
    assert formula.error.estimate < linear.error.estimate
    assert formula.recommended
    assert formula.variables in (2, 3)
    assert models["gradient boosting"].size > formula.size
    document = write(analysis.findings)
    section = next(one for one in document.sections if one.anchor == "formulas")
    assert "dose times mass" in str(section)
    assert analysis.figure("feature-1").svg


def test_the_formula_shown_is_the_one_that_predicts(analysis):
    chosen = analysis.findings.formulas.chosen
    for model in (analysis.recommended, analysis.fitted("formula")):
        formula = model.models[0][-1].best_estimator_
        assert formula_text(formula) == chosen.formula
    row = analysis.comparison.recommended
    assert f"a formula of {chosen.size} sign" in row.size_words
    assert row.variables == len(analysis.recommended.columns)


def test_a_formula_that_is_recommended_can_be_saved_and_explained(analysis, tmp_path):
    path = analysis.save(tmp_path / "model.skops")
    again = load_model(path)
    rows = TABLE.head(5)
    np.testing.assert_allclose(again.predict(rows), analysis.recommended.predict(rows))
    np.testing.assert_allclose(again.predict(rows), rows["power"], atol=0.3)
    assert again.columns == ("dose", "mass")
    parts = again.contributions(rows)
    np.testing.assert_allclose(parts.values.sum(axis=1) + parts.base, again.predict(rows))


def test_a_page_about_noise_says_that_no_formula_predicts():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    table["sick"] = np.where(rng.normal(size=60) > 0, "yes", "no")
    found = analyse(table, "sick", families="formula", rivals="linear", outer=2, n_jobs=1)
    front = found.findings.formulas
    assert not front.chosen.features
    assert front.chosen.error <= front.guessing * 1.05
    section = next(one for one in write(found.findings).sections if one.anchor == "formulas")
    assert "No formula surely predicts the log odds of yes better than one number" in str(section)
    assert "read aloud" not in str(section)


def test_a_table_of_formulas_has_no_empty_column_and_no_second_guessing(analysis):
    front = analysis.findings.formulas

    def table_of(front):
        page = write(replace(analysis.findings, formulas=front))
        section = next(one for one in page.sections if one.anchor == "formulas")
        return next(one for one in section.blocks if isinstance(one, Table))

    few = replace(front, sizes=tuple(replace(one, outside=math.nan) for one in front.sizes))
    assert [one.title for one in table_of(front).headings][2:] == ["Set apart", "Formula"]
    assert [one.title for one in table_of(few).headings][2:] == ["Formula"]
    assert all(len(row) == 3 for row in table_of(few).rows)
    assert "On the rows set apart guessing has" in str(table_of(front).caption)
    assert "smaller than those of the table of models" in str(table_of(few).caption)


def test_errors_of_a_search_are_called_too_good_only_where_rows_set_apart_say_so(analysis):
    front = analysis.findings.formulas

    def said(outside):
        sizes = tuple(replace(one, error=0.01511, outside=outside) for one in front.sizes)
        return str(write(replace(analysis.findings, formulas=replace(front, sizes=sizes))))

    assert "is that of the best of many and so too good" in said(0.01615)
    assert "so too good" not in said(0.01512)
    assert "the first weight and the constant that is added do not count." in said(0.01512)


def test_a_page_says_of_how_many_rows_formulas_were_searched(analysis):
    assert analysis.findings.formulas.n_rows == len(TABLE)
    assert "drawn at random" not in str(write(analysis.findings))
    x = np.random.default_rng(0).normal(size=(700, 2))
    many = pd.DataFrame(x, columns=["a", "b"]).assign(y=x[:, 0])
    model = FORMULA.learn(many[["a", "b"]], x[:, 0], "regression", np.random.SeedSequence(0))
    asked = read_question(many, "y", positive=None, task="auto")
    front = formula_front(model[-1], asked.questions[0], ())
    assert front.n_rows == 600
    rows = replace(analysis.findings.table, n_rows_used=700)
    page = replace(analysis.findings, formulas=front, table=rows)
    assert "The search used 600 of 700 rows, drawn at random." in str(write(page))


def test_a_fast_report_searches_no_formulas():
    fast = analyse(TABLE, "power", fast=True, depth=1, rivals="linear", n_jobs=1)
    assert fast.findings.formulas is None


def test_large_tables_are_refused_in_words():
    def why(n_columns, n_classes):
        return FORMULA.refuses(Setting("classification", 500, n_columns, n_classes, 50, 0))

    assert why(10, 2) == ""
    assert "60 columns" in why(61, 2)
    assert "6 classes" in why(10, 7)


def test_sizes_know_which_columns_a_step_before_picked():
    X, y = TABLE[["noise", "dose", "mass"]], TABLE["power"]
    search = ParetoConstructor("regression", 0, max_iter=0)
    model = make_pipeline(Screener(2, task="regression"), search).fit(X, y)
    size = model_size(model, n_rows=90, n_columns=3)
    assert size.used == (1, 2)
    assert size.words == "a formula of 3 signs, 2 numbers"
    assert joint_variables(model, 3) == (frozenset({1, 2}),)
    few = ParetoSelector(LinearRegression(), max_features=1, random_state=0).fit(X, y)
    chosen = few.get_support(indices=True).tolist()
    one = model_size(few, n_rows=90, n_columns=3)
    assert list(one.used) == chosen
    assert one.bits < size.bits


def test_numbers_of_printed_formulas_are_short():
    assert short_numbers("1.23456789*x1^2 - 4.000001e-07*`a 1.234567`") == (
        "1.235*x1^2 - 4e-07*`a 1.234567`"
    )
