"""What `benchmarks.peers.series` compares with: features of aeon and tsfresh, values, neighbours.

Every method takes the training part, the test part and a number of features, chooses on the
training part alone, and returns its accuracy on the test part and the number of features it has.
Peers that state no way to few features get the one their users take: the features of most
importance to the forest (catch24), of least p-value (tsfresh's filter), of most variance between
classes (raw values), then a forest of 500 trees.
"""

import importlib.metadata
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._typing import AnyArray, Array, Indices

ALL = 0


@dataclass(frozen=True)
class SeriesSplit:
    """Series (n, L) and classes of a training part and of a test part."""

    train: Array
    y: AnyArray
    test: Array
    truth: AnyArray


def euclid(split: SeriesSplit, sizes: list[int]) -> dict[str, Any]:  # noqa: ARG001
    """Return those of the nearest neighbour by Euclidean distance."""
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(1).fit(split.train, split.y)
    return {"accuracy": {ALL: float(model.score(split.test, split.truth))}}


def linear_machine(split: SeriesSplit, sizes: list[int]) -> dict[str, Any]:  # noqa: ARG001
    """Return those of a linear support vector machine on the raw values."""
    from sklearn.svm import SVC

    model = SVC(kernel="linear").fit(split.train, split.y)
    return {"accuracy": {ALL: float(model.score(split.test, split.truth))}}


def warping(split: SeriesSplit, sizes: list[int]) -> dict[str, Any]:  # noqa: ARG001
    """Return those of the nearest neighbour by dynamic time warping in a band of 10 %."""
    from parsimon.statistician.families.series_families import warped_distances

    width = max(1, round(0.1 * split.train.shape[1]))
    nearest = warped_distances(split.test[:, None], split.train[:, None], width).argmin(axis=1)
    return {"accuracy": {ALL: float((split.y[nearest] == split.truth).mean())}}


def values_forest(split: SeriesSplit, sizes: list[int]) -> dict[str, Any]:
    """Return those of a forest on all values, and on those that tell the classes apart best."""
    from sklearn.feature_selection import f_classif

    with np.errstate(all="ignore"):
        order = np.argsort(-np.nan_to_num(f_classif(split.train, split.y)[0]), kind="stable")
    return {"accuracy": _by_size(split.train, split.test, split, order, [*sizes, ALL])}


def catch24(split: SeriesSplit, sizes: list[int]) -> dict[str, Any]:
    """Return those of a forest on aeon's catch24, all and the most important."""
    from aeon.transformations.collection.feature_based import Catch22

    features = Catch22(catch24=True, replace_nans=True)
    train = np.nan_to_num(features.fit_transform(split.train[:, None]))
    test, seconds = _timed(lambda: np.nan_to_num(features.transform(split.test[:, None])))
    order = np.argsort(-_forest().fit(train, split.y).feature_importances_, kind="stable")
    accuracy = _by_size(train, test, split, order, [*sizes, ALL])
    return {"accuracy": accuracy, "series_seconds": seconds / len(test)}


def minirocket(split: SeriesSplit, sizes: list[int]) -> dict[str, Any]:  # noqa: ARG001
    """Return those of ridge regression on aeon's MiniRocket, as its authors combine them."""
    from aeon.transformations.collection.convolution_based import MiniRocket
    from sklearn.linear_model import RidgeClassifierCV

    features = MiniRocket(random_state=0)
    train = features.fit_transform(split.train[:, None].astype(np.float32))
    test, seconds = _timed(lambda: features.transform(split.test[:, None].astype(np.float32)))
    model = RidgeClassifierCV(np.logspace(-3, 3, 10)).fit(train, split.y)
    return {
        "accuracy": {ALL: float(model.score(test, split.truth))},
        "features": int(train.shape[1]),
        "series_seconds": seconds / len(test),
    }


def tsfresh_filter(split: SeriesSplit, sizes: list[int]) -> dict[str, Any]:
    """Return those of a forest on tsfresh's efficient features, all relevant and the most so."""
    from tsfresh.feature_selection.relevance import calculate_relevance_table
    from tsfresh.utilities.dataframe_functions import impute

    train = impute(_tsfresh_features(split.train))
    found, seconds = _timed(lambda: _tsfresh_features(split.test))
    test = impute(found)[train.columns]
    relevance = calculate_relevance_table(
        train, _as_series(split.y, train.index), ml_task="classification", n_jobs=0
    )
    tests = [name for name in relevance.columns if str(name).startswith("p_value")]
    p_values = relevance[tests].min(axis=1).reindex(train.columns).fillna(1.0).to_numpy()
    order = np.argsort(p_values, kind="stable")
    n_relevant = max(int(relevance["relevant"].sum()), 1)
    accuracy = _by_size(train.to_numpy(), test.to_numpy(), split, order, [*sizes, n_relevant])
    accuracy[ALL] = accuracy[n_relevant]
    return {"accuracy": accuracy, "features": n_relevant, "series_seconds": seconds / len(test)}


def _tsfresh_features(values: Array) -> Any:
    import pandas as pd
    from tsfresh import extract_features
    from tsfresh.feature_extraction import EfficientFCParameters

    n, length = values.shape
    frame = pd.DataFrame(
        {
            "id": np.repeat(np.arange(n), length),
            "time": np.tile(np.arange(length), n),
            "value": values.ravel(),
        }
    )
    return extract_features(
        frame,
        column_id="id",
        column_sort="time",
        default_fc_parameters=EfficientFCParameters(),
        n_jobs=0,
        disable_progressbar=True,
    )


def _as_series(y: AnyArray, index: Any) -> Any:
    import pandas as pd

    return pd.Series(np.unique(y, return_inverse=True)[1], index=index)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(500, random_state=0)


def _by_size(
    train: Array, test: Array, split: SeriesSplit, order: Indices, sizes: list[int]
) -> dict[int, float]:
    """Return the accuracy of a forest on the first columns of an order, for each size."""
    found = {}
    for size in sizes:
        columns = order[:size] if size != ALL else order
        model = _forest().fit(train[:, columns], split.y)
        found[size] = float(model.score(test[:, columns], split.truth))
    return found


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    made = work()
    return made, time.perf_counter() - begin


PEERS: dict[str, Callable[[SeriesSplit, list[int]], dict[str, Any]]] = {
    "1-NN Euclid": euclid,
    "1-NN warping": warping,
    "linear SVM": linear_machine,
    "forest on values": values_forest,
    "catch24": catch24,
    "tsfresh": tsfresh_filter,
    "MiniRocket": minirocket,
}
_PACKAGE = {"catch24": "aeon", "MiniRocket": "aeon", "tsfresh": "tsfresh"}


def package_version(method: str) -> str | None:
    """Return the package of a peer with its version, or None if it is not installed."""
    name = _PACKAGE.get(method, "scikit-learn")
    if importlib.util.find_spec(name.replace("scikit-learn", "sklearn")) is None:
        return None
    return f"{name} {importlib.metadata.version(name)}"
