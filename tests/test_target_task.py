"""Classes or a number: all who decide it by the target decide alike."""

import warnings

import numpy as np
import pandas as pd
import pytest

from parsimon._data import target_task
from parsimon.exceptions import InvalidInputError
from parsimon.features import FeatureTransfer, ParetoConstructor, ParetoSelector, StableSelector
from parsimon.features.series import SeriesClassModel, fixed_features, parse_tree
from parsimon.gp import KernelSearch
from parsimon.statistician.prepare.outcome import read_outcome

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
TARGETS = {
    "text": (np.repeat(["a", "b", "c"], 20), "classification"),
    "truth values": (X[:, 0] > 0, "classification"),
    "two numbers": (np.where(X[:, 0] > 0, 3.0, 7.0), "classification"),
    "whole numbers 0 to 4": (np.arange(60) % 5, "classification"),
    "the same as floats": (np.arange(60) % 5.0, "classification"),
    "ten digits": (np.arange(60) % 10, "classification"),
    "eleven whole numbers": (np.arange(60) % 11, "regression"),
    "fractions": (X[:, 0], "regression"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TARGETS)
def test_all_say_alike_whether_a_target_is_classes(name):
    y, task = TARGETS[name]
    assert target_task(y) == task
    assert read_outcome(pd.DataFrame(X).assign(y=y), "y").task == task
    assert ParetoSelector(max_features=1, cv=2, random_state=0).fit(X, y).task_ == task
    brief = ParetoConstructor(start="columns", max_iter=0, population_size=4, random_state=0)
    assert brief.fit(X, y).task_ == task
    assert FeatureTransfer(constructor=False).fit(X, y).task_ == task
    stable = StableSelector(n_splits=1, n_permutations=0, random_state=0).fit(X, y)
    assert (stable.measure_ == "AUC") == (task == "classification")
    model = fixed_features([parse_tree("mean")], X, y)
    assert isinstance(model, SeriesClassModel) == (task == "classification")


def test_whole_numbers_that_hardly_recur_are_a_number():
    assert target_task(np.arange(8)) == "regression"
    assert target_task(np.arange(24) % 8) == "classification"


def test_two_fractions_are_classes_to_a_report():
    y = np.where(X[:, 0] > 0, 0.5, 1.5)
    assert target_task(y) == "classification"
    assert read_outcome(pd.DataFrame(X).assign(y=y), "y").task == "classification"


def test_options_and_learners_go_first():
    y = np.arange(60) % 5
    assert target_task(y, "regression") == "regression"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = ParetoSelector(task="regression", max_features=1, cv=2, random_state=0)
        assert selector.fit(X, y).task_ == "regression"


def test_a_kernel_search_says_how_to_go_on_with_several_classes():
    with pytest.raises(
        InvalidInputError, match=r"5 classes.*set task='regression' if they are num"
    ):
        KernelSearch().fit(X, np.arange(60) % 5)
