"""The five data sets of He (2016), by the recipes of its table 6.1."""

from typing import Any

import numpy as np

from benchmarks.data_folder import point_to_data
from parsimon._typing import Array
from parsimon.datasets import load


def data_set(name: str) -> tuple[Array, Array]:
    """Return inputs and labels -1 and 1."""
    point_to_data()
    frame, positive = _RECIPES[name]()
    X = frame.to_numpy(dtype=np.float64)
    return X, np.where(np.asarray(positive), 1.0, -1.0)


def _iris() -> tuple[Any, Any]:
    iris = load("iris")
    kept = iris.target != "setosa"
    return iris.data[kept], iris.target[kept] == "virginica"


def _pima() -> tuple[Any, Any]:
    pima = load("pima_cleaned")
    return pima.data, pima.target == "yes"


def _bupa() -> tuple[Any, Any]:
    bupa = load("bupa", target="drinks")
    return bupa.data.drop(columns="selector"), bupa.target > 5


def _wisconsin() -> tuple[Any, Any]:
    whole = load("wisconsin")
    complete = whole.data.notna().all(axis=1)
    columns = [
        "clump_thickness",
        "cell_size_uniformity",
        "epithelial_cell_size",
        "bare_nuclei",
        "normal_nucleoli",
    ]
    return whole.data.loc[complete, columns], whole.target[complete] == "malignant"


def _cleveland() -> tuple[Any, Any]:
    heart = load("heart_cleveland")
    complete = heart.data.notna().all(axis=1)
    columns = ["age", "trestbps", "chol", "thalach", "oldpeak", "ca"]
    return heart.data.loc[complete, columns], heart.target[complete] == 1


_RECIPES = {
    "Iris": _iris,
    "Pima": _pima,
    "BUPA": _bupa,
    "Wisconsin": _wisconsin,
    "Cleveland": _cleveland,
}
