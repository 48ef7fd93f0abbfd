"""Every estimator comes back from a file as it was: by pickle, by skops alone, by `save_model`."""

import importlib
import pickle

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator, clone

import parsimon
from parsimon.kernels import SquaredExponential as SE
from parsimon.statistician import load_model, save_model
from tests.estimators import CASES, NEW, X, rows_for


def by_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


def by_skops(model, folder):
    data = skops.io.dumps(model)
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))


def by_save_model(model, folder):
    save_model(model, folder / "model.skops")
    return load_model(folder / "model.skops")


def by_skops_and_load_model(model, folder):
    """One call loads what skops wrote by itself, without a list of types."""
    skops.io.dump(model, folder / "model.skops")
    return parsimon.load_model(folder / "model.skops")


WAYS = [by_pickle, by_skops, by_save_model, by_skops_and_load_model]


def outputs(model):
    rows = rows_for(model, NEW)
    if not hasattr(model, "predict"):
        output = model.transform if hasattr(model, "transform") else model.score_samples
        return [np.asarray(output(rows))]
    share = [model.predict_proba(rows)] if hasattr(model, "predict_proba") else []
    return [model.predict(rows), *share]


@pytest.fixture(scope="module")
def fitted():
    """Return a function that fits each estimator once."""
    known = {}

    def fit(name):
        if name not in known:
            estimator, y = CASES[name]
            known[name] = clone(estimator).fit(rows_for(estimator, X), y)
        return known[name]

    return fit


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_are_predicted_after_loading(name, way, fitted, tmp_path):
    model = fitted(name)
    again = way(model, tmp_path)
    assert type(again) is type(model)
    for ours, theirs in zip(outputs(model), outputs(again), strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "name", ["KernelSearch", "ParetoRVC", "ParetoSVC", "ParetoTransductiveSVC"]
)
def test_a_loaded_search_still_has_its_front_and_makes_models_from_it(name, way, fitted, tmp_path):
    model = fitted(name)
    again = way(model, tmp_path)
    assert again.front_ == model.front_
    ours, theirs = model.select("knee"), again.select("knee")
    np.testing.assert_array_equal(ours.predict(NEW), theirs.predict(NEW))


@pytest.mark.parametrize("way", WAYS)
def test_a_loaded_search_judges_further_kernels_alike(way, fitted, tmp_path):
    search = fitted("KernelSearch")
    again = way(search, tmp_path)
    kernel = SE(0) * SE(1)
    assert again.judge(kernel).error == search.judge(kernel).error
    known = search.first_layer_[0]
    assert again.judge(known.kernel).log_evidence == known.log_evidence


def test_no_estimator_is_forgotten():
    public = {
        name
        for package in (
            "bpm",
            "ensembles",
            "features",
            "features.series",
            "gp",
            "phylo",
            "rvm",
            "svm",
        )
        for name, found in vars(importlib.import_module(f"parsimon.{package}")).items()
        if isinstance(found, type) and issubclass(found, BaseEstimator)
    }
    assert public == {type(estimator).__name__ for estimator, _ in CASES.values()}
