"""scikit-learn's own checks of `ParetoSVC` and its machines, and the company they keep."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.svm._front_machine import FrontSVC
from parsimon.svm.pareto import ParetoSVC
from tests.contract import contract

QUICK = {"n_points": 12}


# Some checks have labels that nothing can predict.
@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
@contract(
    ParetoSVC(**QUICK, max_iter=2),
    ParetoSVC("exact", n_points=5, validation_fraction=0, choose=-1),
    ParetoSVC("dual", n_points=10, max_iter=40),
    FrontSVC(),
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
    pipeline = make_pipeline(StandardScaler(), ParetoSVC(**QUICK, max_iter=1, random_state=0))
    grid = {"paretosvc__choose": ["one_se", "auto"], "paretosvc__gamma": [0.1, 1.0]}
    tuned = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
    assert tuned.best_score_ > 0.7
    assert len(cross_val_score(pipeline, X, y, cv=2)) == 2


def test_names_of_columns_are_kept_by_the_machines(table):
    X, y = table
    for refit in (True, False):
        search = ParetoSVC(**QUICK, refit=refit, random_state=0).fit(X, y)
        assert search.feature_names_in_.tolist() == ["dose", "age"]
        model = search.select("knee")
        assert model.feature_names_in_.tolist() == ["dose", "age"]
        np.testing.assert_array_equal(model.predict(X), search.select("knee").predict(X))
        with pytest.raises(ValueError, match="feature names"):
            search.predict(X.rename(columns={"age": "height"}))


def test_polars_and_pandas_give_the_same_front(table):
    X, y = table
    fronts = [
        ParetoSVC(**QUICK, random_state=0).fit(frame, y).front_ for frame in (X, pl.from_pandas(X))
    ]
    assert fronts[0] == fronts[1]


def test_labels_may_be_numbers_or_texts(table):
    X, y = table
    as_text = ParetoSVC(**QUICK, random_state=0).fit(X, y)
    as_number = ParetoSVC(**QUICK, random_state=0).fit(X, np.where(y == "well", 7, 3))
    assert as_text.front_ == as_number.front_
    assert set(as_number.predict(X)) <= {3, 7}


def test_a_search_survives_pickling(table):
    X, y = table
    search = ParetoSVC(**QUICK, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert again.front_ == search.front_


def test_more_classes_are_served_by_one_against_one(table):
    X, _ = table
    y = np.digitize(X["dose"], [-0.5, 0.5])
    with pytest.raises(ValueError, match="OneVsOneClassifier makes one for each"):
        ParetoSVC().fit(X, y)
    machines = OneVsOneClassifier(ParetoSVC(**QUICK, random_state=0)).fit(X.to_numpy(), y)
    assert machines.score(X.to_numpy(), y) > 0.8


@pytest.mark.parametrize("estimator", [ParetoSVC, FrontSVC])
def test_only_a_precomputed_kernel_is_pairwise(estimator):
    assert estimator(kernel="precomputed").__sklearn_tags__().input_tags.pairwise
    assert not estimator().__sklearn_tags__().input_tags.pairwise
