"""scikit-learn's own checks of `ParetoRVC`, and the company it keeps."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.rvm.pareto import ParetoRVC
from tests.contract import contract


@contract(
    ParetoRVC(max_iter=10),
    ParetoRVC(cv=None, max_iter=10, choose="accuracy"),
    ParetoRVC(cv=2, max_iter=10, thresholds=0.1),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["dose", "age"])
    return X, np.where(X["dose"] + 0.3 * rng.normal(size=60) > 0, "ill", "well")


def test_rules_and_kernels_can_be_tuned(table):
    X, y = table
    pipeline = make_pipeline(StandardScaler(), ParetoRVC(cv=2, max_iter=30, random_state=0))
    grid = {"paretorvc__choose": ["one_se", "accuracy"], "paretorvc__gamma": [0.1, 1.0]}
    tuned = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert tuned.best_score_ > 0.7
    assert len(cross_val_score(pipeline, X, y, cv=2)) == 2


def test_names_of_columns_are_kept_by_the_solutions(table):
    X, y = table
    search = ParetoRVC(cv=None, max_iter=30, random_state=0).fit(X, y)
    assert search.feature_names_in_.tolist() == ["dose", "age"]
    model = search.select("accuracy")
    assert model.feature_names_in_.tolist() == ["dose", "age"]
    np.testing.assert_array_equal(model.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        search.predict(X.rename(columns={"age": "height"}))


def test_polars_and_pandas_give_the_same_front(table):
    X, y = table
    fronts = [
        ParetoRVC(cv=2, max_iter=30, random_state=0).fit(frame, y).front_
        for frame in (X, pl.from_pandas(X))
    ]
    assert fronts[0] == fronts[1]


def test_labels_may_be_numbers_or_texts(table):
    X, y = table
    as_text = ParetoRVC(cv=2, max_iter=30, random_state=0).fit(X, y)
    as_number = ParetoRVC(cv=2, max_iter=30, random_state=0).fit(X, np.where(y == "well", 7, 3))
    assert as_text.front_ == as_number.front_
    assert set(as_number.predict(X)) <= {3, 7}
