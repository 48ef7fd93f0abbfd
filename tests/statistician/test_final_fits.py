"""The model that is kept is the one that was measured: sound, or refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from parsimon.exceptions import InvalidInputError
from parsimon.report.markdown import to_markdown
from parsimon.report.sections import write
from parsimon.statistician import analyse, fit_model, load_model, save_model
from parsimon.statistician.final_fits import contradicts

NAME = "kernel search"
FEW = {"families": "none", "outer": 2, "n_jobs": 1}


def product_table(seed, n_new=2000):
    """Return 200 rows of issue 26's product, and new ones."""
    rng = np.random.default_rng([1, seed])

    def drawn(n):
        X = rng.normal(size=(n, 6))
        table = pd.DataFrame(X, columns=[f"x{place}" for place in range(6)])
        return table.assign(y=1.5 * X[:, 0] * X[:, 1] + rng.normal(size=n))

    return drawn(200), drawn(n_new)


def line_table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return table.assign(y=table["a"] + 0.5 * rng.normal(size=n))


class Fickle(RegressorMixin, BaseEstimator):
    """A straight line, but a constant for the first so many fits to many rows."""

    n_failures = 0

    def __init__(self, most=70, fails=1):
        self.most, self.fails = most, fails

    def fit(self, X, y):
        fails = len(y) > self.most and Fickle.n_failures < self.fails
        Fickle.n_failures += fails
        self.model_ = (DummyRegressor() if fails else LinearRegression()).fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.fixture(scope="module")
def product():
    table, new = product_table(1)
    return analyse(table, "y", outer=3, n_jobs=1, families=("gp",), rivals="none"), table, new


def test_the_recommended_model_explains_what_the_page_says(product):
    analysis, _, new = product
    row, truth = analysis.comparison.recommended, new["y"].to_numpy()
    left = np.mean((analysis.recommended.predict(new) - truth) ** 2) / np.var(truth)
    assert row.name == NAME
    assert row.error.low <= left <= row.error.high < 0.6


def test_model_is_the_recommended_one(product):
    analysis, _, new = product
    assert analysis.model() is analysis.recommended
    best = analysis.model("best").predict(new)
    np.testing.assert_array_equal(best, analysis.recommended.predict(new))


def test_the_file_of_fit_is_the_model_that_the_report_measured(product, tmp_path):
    analysis, table, new = product
    found = fit_model(table, "y", "gp", outer=3, n_jobs=1)
    row = analysis.comparison.recommended
    assert found.compared.error.estimate == pytest.approx(row.error.estimate, rel=1e-6)
    told = analysis.recommended.predict(new)
    for place in (tmp_path / "fit.skops", tmp_path / "report.skops"):
        save_model(found.model, place) if place.stem == "fit" else analysis.save(place)
        again = load_model(place)
        np.testing.assert_allclose(again.predict(new), told, rtol=1e-6, atol=1e-8)
        kernel, own = again.models[0].kernel_, analysis.recommended.models[0].kernel_
        np.testing.assert_allclose(kernel.theta, own.theta, rtol=1e-6)


def test_a_fit_that_fails_once_is_fitted_again(monkeypatch):
    monkeypatch.setattr(Fickle, "n_failures", 0)
    rivals = ["tree", ("fickle line", Fickle(fails=1))]
    found = analyse(line_table(), "y", rivals=rivals, **FEW)
    assert found.comparison.recommended.name == "fickle line"
    assert Fickle.n_failures == 1
    assert np.std(found.recommended.predict(line_table())) > 0.5


def test_a_fit_that_always_fails_is_left_out_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(Fickle, "n_failures", 0)
    rivals = ["tree", ("fickle line", Fickle(fails=99))]
    found = analyse(line_table(), "y", rivals=rivals, **FEW)
    assert found.comparison.recommended.name == "decision tree"
    assert "fickle line" not in [one.name for one in found.comparison.models]
    page = to_markdown(write(found.findings))
    assert "Not among them: the fickle line, since fitted to all rows it predicts" in page
    with pytest.raises(InvalidInputError, match="No model is called 'fickle line'"):
        found.fitted("fickle line")
    row = replace(found.comparison.recommended, name="fickle line")
    with pytest.raises(InvalidInputError, match="The fickle line cannot be used"):
        found.fits.demanded("fickle line", row)


@pytest.mark.parametrize("classes", [False, True])
def test_contradictions_are_told_from_sound_fits(classes, monkeypatch):
    table = line_table(n=160 if classes else 80, seed=3)
    if classes:
        table = table.assign(y=np.where(table["y"] > 0, "yes", "no"))
    found = analyse(table, "y", rivals=["linear"], **FEW)
    row = found.comparison.recommended
    assert row.name == "linear model"
    model, question = found.recommended, found.fits.questions[0]
    assert not contradicts(model, question, row)
    monkeypatch.setattr("parsimon.statistician.final_fits._MOST_ROWS", 60)
    X, y = model.numbers(table), np.asarray(question.values)
    flat = DummyClassifier().fit(X, y.astype(int)) if classes else DummyRegressor().fit(X, y)
    plain = LogisticRegression().fit(X, y) if classes else LinearRegression().fit(X, y)
    model.models = [flat]
    assert contradicts(model, question, row)
    model.models = [plain]
    assert not contradicts(model, question, row)
