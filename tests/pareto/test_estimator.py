"""What every estimator with a front shares, on the smallest one there is."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import validate_data

from parsimon.exceptions import ConstantPredictionWarning, EmptyFrontError
from parsimon.pareto import Front
from parsimon.pareto.choose import Figures
from parsimon.pareto.estimator import FrontEstimator


class ParetoTree(ClassifierMixin, FrontEstimator):
    """Trees of one to six leaves: training error against leaves."""

    def __init__(self, choose="one_se"):
        self.choose = choose

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        self.classes_ = np.unique(y)
        models = [DummyClassifier().fit(X, y)]
        models += [DecisionTreeClassifier(max_leaf_nodes=k, random_state=0) for k in range(2, 7)]
        errors = [1 - model.fit(X, y).score(X, y) for model in models]
        front = Front(np.column_stack((errors, range(1, 7))), ["error", "leaves"], solutions=models)
        figures = Figures(
            {"holdout_error": front.values[:, 0] + 0.01},
            error="holdout_error",
            size=("leaves",),
            n_rows=len(y),
            beats_constant=front.values[:, 0] < errors[0],
            constant="one class for every row",
        )
        return self._keep_front(front, figures, fallback=len(front) - 1)


@pytest.fixture(scope="module")
def data():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def search(data):
    return ParetoTree().fit(*data)


def test_prediction_is_that_of_the_chosen_solution(search, data):
    X, y = data
    chosen = search.front_.solution(search.best_index_)
    np.testing.assert_array_equal(search.predict(X), chosen.predict(X))
    np.testing.assert_array_equal(search.predict_proba(X), chosen.predict_proba(X))
    assert search.score(X, y) == chosen.score(X, y)
    assert not hasattr(search, "decision_function")


def test_select_takes_rules_on_all_columns(search):
    assert search.select() is search.best_estimator_
    assert search.select("holdout_error").get_n_leaves() == 6
    assert search.select("holdout_error where leaves<=3").get_n_leaves() == 3
    with pytest.raises(EmptyFrontError, match="beats one class for every row"):
        search.select("holdout_error where leaves<=1")


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_the_table_has_objectives_and_figures(search, backend):
    frame = search.to_frame(backend)
    columns = [name for name in frame.columns if name != "row"]
    assert columns == ["error", "leaves", "holdout_error"]
    assert len(frame) == len(search.front_)


def test_the_picture_marks_the_chosen_solution(search):
    assert search.plot() is not None
    assert search.plot(chosen="knee") is not None


def test_noise_gives_the_constant_prediction_with_a_warning():
    X = np.zeros((20, 2))
    y = np.repeat([0, 1], 10)
    with pytest.warns(ConstantPredictionWarning, match="ParetoTree predicts one class"):
        search = ParetoTree("knee").fit(X, y)
    assert isinstance(search.best_estimator_, DummyClassifier)


def test_it_can_be_cloned(search):
    assert clone(search).choose == "one_se"


def test_fronts_are_there_before_scikit_learn_is_loaded():
    code = (
        "import parsimon.pareto, sys; print({'sklearn', 'pandas'} & set(sys.modules)); "
        "print(parsimon.pareto.FrontEstimator.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()", "FrontEstimator"]
