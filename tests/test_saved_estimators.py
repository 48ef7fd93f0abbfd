"""Every estimator comes back from a file as it was: by pickle, by skops alone, by `save_model`."""

import importlib
import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator

from parsimon.gp import GPClassifier, GPRegressor, KernelSearch, SparseGPClassifier
from parsimon.kernels import SquaredExponential as SE
from parsimon.phylo import P3CA, PGLS, PhyloPCA, PhyRVM, yule_tree
from parsimon.rvm import RVC, RVR, ParetoRVC
from parsimon.statistician import load_model, save_model
from parsimon.svm import (
    EvolutionarySVC,
    EvolutionarySVR,
    ParetoSVC,
    ParetoTransductiveSVC,
    TransductiveSVC,
)

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(40, 3)), RNG.normal(size=(15, 3))
NUMBER = X[:, 0] ** 2 + 0.1 * RNG.normal(size=40)
TWO = np.where(X[:, 0] + 0.5 * RNG.normal(size=40) > 0, "high", "low")
THREE = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=40), [-0.5, 0.5])
SOME = np.where(np.arange(40) % 3, -1, TWO == "high")
TREE = yule_tree(40, random_state=0)

CASES = {
    "GPClassifier": (GPClassifier(SE(0), n_restarts=0), TWO),
    "GPClassifier of three classes": (GPClassifier(SE(0), n_restarts=0), THREE),
    "softmax": (GPClassifier(SE(0), multi_class="softmax", n_restarts=0, max_iter=5), THREE),
    "GPRegressor": (GPRegressor(SE(0), n_restarts=0), NUMBER),
    "SparseGPClassifier": (
        SparseGPClassifier(SE(0), n_inducing=6, max_iter=3, random_state=0),
        TWO,
    ),
    "KernelSearch": (KernelSearch(depth=1, cv=2, random_state=0), TWO),
    "KernelSearch of a number": (KernelSearch(depth=1, cv=2, random_state=0), NUMBER),
    "RVC": (RVC(), TWO),
    "RVC of three classes": (RVC(), THREE),
    "multinomial RVC": (RVC(multi_class="multinomial", gamma=0.3), THREE),
    "RVR": (RVR(), NUMBER),
    "ParetoRVC": (ParetoRVC(cv=2, max_iter=20, random_state=0), TWO),
    "EvolutionarySVC": (EvolutionarySVC(probability=True, random_state=0), TWO),
    "EvolutionarySVR": (EvolutionarySVR(random_state=0), NUMBER),
    "ParetoSVC": (ParetoSVC(n_points=8, max_iter=1, random_state=0), TWO),
    "TransductiveSVC": (TransductiveSVC(max_iter=2, random_state=0), SOME),
    "ParetoTransductiveSVC": (
        ParetoTransductiveSVC(population_size=8, max_iter=2, random_state=0),
        SOME,
    ),
    "PGLS": (PGLS(TREE), NUMBER),
    "PhyRVM": (PhyRVM(TREE), NUMBER),
    "P3CA": (P3CA(TREE, n_components=2), None),
    "PhyloPCA": (PhyloPCA(TREE, n_components=2), None),
}
OF_A_TREE = (PGLS, PhyRVM, P3CA, PhyloPCA)


def by_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


def by_skops(model, folder):
    data = skops.io.dumps(model)
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))


def by_save_model(model, folder):
    save_model(model, folder / "model.skops")
    return load_model(folder / "model.skops")


def rows_for(model, rows):
    """Return rows as they are, or with the tips that a model of a tree needs."""
    is_of_tree = isinstance(model, OF_A_TREE)
    return pd.DataFrame(rows, index=TREE.tip_names[: len(rows)]) if is_of_tree else rows


def outputs(model):
    rows = rows_for(model, NEW)
    if not hasattr(model, "predict"):
        return [np.asarray(model.transform(rows))]
    share = [model.predict_proba(rows)] if hasattr(model, "predict_proba") else []
    return [model.predict(rows), *share]


@pytest.fixture(scope="module")
def fitted():
    """Return a function that fits each estimator once."""
    known = {}

    def fit(name):
        if name not in known:
            estimator, y = CASES[name]
            known[name] = estimator.fit(rows_for(estimator, X), y)
        return known[name]

    return fit


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("way", [by_pickle, by_skops, by_save_model])
@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_are_predicted_after_loading(name, way, fitted, tmp_path):
    model = fitted(name)
    again = way(model, tmp_path)
    assert type(again) is type(model)
    for ours, theirs in zip(outputs(model), outputs(again), strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)


@pytest.mark.parametrize("way", [by_pickle, by_skops, by_save_model])
@pytest.mark.parametrize(
    "name", ["KernelSearch", "ParetoRVC", "ParetoSVC", "ParetoTransductiveSVC"]
)
def test_a_loaded_search_still_has_its_front_and_makes_models_from_it(name, way, fitted, tmp_path):
    model = fitted(name)
    again = way(model, tmp_path)
    assert again.front_ == model.front_
    ours, theirs = model.select("knee"), again.select("knee")
    np.testing.assert_array_equal(ours.predict(NEW), theirs.predict(NEW))


@pytest.mark.parametrize("way", [by_pickle, by_skops, by_save_model])
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
        for package in ("gp", "rvm", "svm", "phylo")
        for name, found in vars(importlib.import_module(f"parsimon.{package}")).items()
        if isinstance(found, type) and issubclass(found, BaseEstimator)
    }
    assert public == {type(estimator).__name__ for estimator, _ in CASES.values()}
