"""Table 7.5 of Mierswa (2009): the S&P 500 by back-testing, and every way to read its error.

Ten parts in time give nine tests. Beside linear regression on the 80 days stand the last value
(persistence) and the last value with the window's mean step (drift).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.datasets import load
from parsimon.evaluation import BackTest
from parsimon.features.series import SeriesExtractor, parse_tree, tree_values

N_PARTS = 10
# Parts that are learnt from once, before the parts of the later hold-out.
FIRST_PARTS = 7
Folds = Sequence[tuple[Any, Any]]


@dataclass(frozen=True)
class IndexJob:
    """A search on the windows: with the first parts only, or with all of them."""

    parts: int
    max_iter: int | None = None


def windows() -> tuple[Any, Any, Folds]:
    """Return the 163 windows of 80 days, the next day of each, and the nine folds."""
    bunch = load("sp500_windows")
    X, y = bunch.data.to_numpy(), bunch.target.to_numpy()
    return X, y, list(BackTest(N_PARTS).split(X))


def forecast(job: IndexJob) -> dict[str, Any]:
    """Return forecasts of all rows after the first parts, by what was learnt from those.

    With all parts, the source's way: the features whose error in the same nine tests is least.
    """
    X, y, folds = windows()
    search = SeriesExtractor(task="forecast", max_iter=job.max_iter, random_state=0)
    if job.parts == N_PARTS:
        search.set_params(cv=BackTest(N_PARTS)).fit(X, y)
        # By its place: a rule refuses subsets that do not beat the last value.
        least = search.select(int(search.front_.values[:, 0].argmin()))
        return {"trees": [str(tree) for tree in least.trees]}
    train = folds[job.parts - 1][0]
    search.fit(X[train], y[train])
    return {
        "told": search.predict(X[len(train) :]).tolist(),
        "is_persistence": bool(search.is_persistence_),
        "seconds": search.seconds_,
    }


def nested(found: dict[int, dict[str, Any]], y: Any, folds: Folds) -> Any:
    """Return forecasts of every test, each by the search that saw what came before it."""
    told = np.full(len(y), np.nan)
    for parts, (_, test) in enumerate(folds, start=1):
        told[test] = found[parts]["told"][: len(test)]
    return told


def baselines(X: Any, y: Any, folds: Folds) -> dict[str, Any]:
    """Return what peers tell the test rows: persistence, drift and linear regression."""
    last = X[:, -1]
    return {
        "persistence": last,
        "drift": last + (last - X[:, 0]) / (X.shape[1] - 1),
        "linear regression on 80 days": by_regression(X, y, folds),
    }


def plain(X: Any, y: Any, folds: Folds) -> dict[str, Any]:
    """Return what those tell who must miss a bar: the training mean, a guess, the last value."""
    constant, guess = np.full(len(y), np.nan), np.full(len(y), np.nan)
    for train, test in folds:
        constant[test] = y[train].mean()
        guess[test] = np.random.default_rng(0).choice(y[train], len(test))
    return {"constant": constant, "guess": guess, "persistence": X[:, -1]}


def by_regression(X: Any, y: Any, folds: Folds) -> Any:
    """Return what linear regression tells the test rows of each fold."""
    told = np.full(len(y), np.nan)
    for train, test in folds:
        model = make_pipeline(StandardScaler(), LinearRegression()).fit(X[train], y[train])
        told[test] = model.predict(X[test])
    return told


def with_features(trees: Sequence[str], X: Any, y: Any, folds: Folds) -> Any:
    """Return what linear regression on features and the last value tells the test rows.

    The change is regressed in units of the window's own steps, as the search does.
    """
    unit = tree_values([parse_tree("difference > volume")], X)[:, 0]
    V = tree_values([parse_tree(text) for text in trees], X)
    return X[:, -1] + unit * by_regression(V, (y - X[:, -1]) / unit, folds)


def rrse_of_test_mean(y: Any, told: Any, folds: Folds) -> Any:
    """Return the root relative squared error of each fold, relative to the mean of its test."""
    return np.array([_relative(y[test], told[test], y[test].mean()) for _, test in folds])


def rrse_of_training_mean(y: Any, told: Any, folds: Folds) -> Any:
    """Return the same relative to the mean of what was learnt from."""
    return np.array([_relative(y[test], told[test], y[train].mean()) for train, test in folds])


def pooled_rrse(y: Any, told: Any, folds: Folds) -> Any:
    """Return one figure for the rows of all tests together."""
    rows = np.concatenate([test for _, test in folds])
    return np.array([_relative(y[rows], told[rows], y[rows].mean())])


def relative_error(y: Any, told: Any, folds: Folds) -> Any:
    """Return the mean absolute error over the value, of each fold."""
    return np.array([np.mean(np.abs(told[test] - y[test]) / y[test]) for _, test in folds])


def _relative(y: Any, told: Any, mean: float) -> float:
    return float(np.sqrt(((y - told) ** 2).sum() / ((y - mean) ** 2).sum()))


MEASURES: dict[str, Callable[[Any, Any, Folds], Any]] = {
    "RRSE, mean of the test": rrse_of_test_mean,
    "RRSE, mean of the training": rrse_of_training_mean,
    "RRSE, tests pooled": pooled_rrse,
    "mean relative error": relative_error,
}
