"""Plain methods for series, which any search for features has to beat on the same folds.

Guessing, the nearest series by plain distance and with warping, a linear model of all values, and
a dozen summaries that need no search. Each takes a frame with one column, `SERIES`, whose cells are
arrays of shape (channels, length).
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone

from parsimon._typing import AnyArray, Array
from parsimon.features.series import SeriesExtractor, SeriesTable, fixed_features, parse_tree
from parsimon.statistician.families.family import Family, Setting
from parsimon.statistician.families.plain import GUESSING, LINEAR

if TYPE_CHECKING:
    import pandas as pd

SERIES = "series"
# What the search is called in comparisons.
SEARCHED = "few features"
# The share of the series by which warping may shift a point, as in the UCR archive's comparisons.
BAND = 0.1
# Sums of two numbers that warping may cost for one fold, and columns of a linear model.
_MOST_STEPS, _MOST_VALUES = 5e8, 2000
# Pairs of series that are warped at once, and series that new ones are compared with.
_PAIRS, _NEIGHBOURS = 20_000, 1000
_SUMMARIES = (
    "mean",
    "deviation",
    "minimum",
    "maximum",
    "first",
    "last",
    "gradient",
    "skewness",
    "place_of_maximum",
    "place_of_minimum",
    "difference > deviation",
    "spectrum > place_of_maximum",
)


def as_series(X: "pd.DataFrame") -> SeriesTable:
    """Return the series in the cells of a frame."""
    return SeriesTable(list(X[SERIES]))


class SeriesRows(TransformerMixin, BaseEstimator):
    """Makes of series rows of numbers, all of one length, for models of tables.

    Series of another length are stretched along straight lines; channels stand one after the other.

    Parameters
    ----------
    most : int
        Numbers that a row may have; longer series are shortened to it.
    """

    def __init__(self, most: int = _MOST_VALUES) -> None:
        self.most = most

    def fit(self, X: "pd.DataFrame", y: Any = None) -> Self:  # noqa: ARG002
        """Remember the middle length and the number of channels."""
        table = as_series(X)
        self.length_ = int(np.median(table.lengths))
        self.length_ = max(1, min(self.length_, self.most // table.n_channels))
        return self

    def transform(self, X: "pd.DataFrame") -> Array:
        """Return the rows, shape (m, channels * length)."""
        return stretch(as_series(X), self.length_)


def stretch(table: SeriesTable, length: int) -> Array:
    """Return all series with the same number of points, shape (n, channels * length)."""
    found = np.empty((table.n_series, table.n_channels, length))
    for channel, signal in enumerate(table.signals):
        for rows, values, _ in signal.blocks:
            if values.shape[1] == length:
                found[rows, channel] = values
                continue
            at = np.linspace(0.0, values.shape[1] - 1.0, length)
            low = np.minimum(at.astype(np.intp), max(values.shape[1] - 2, 0))
            high = np.minimum(low + 1, values.shape[1] - 1)
            found[rows, channel] = values[:, low] + (at - low) * (values[:, high] - values[:, low])
    return found.reshape(table.n_series, -1)


class NearestSeries(BaseEstimator):
    """Predicts what the nearest series of the training rows has.

    Parameters
    ----------
    band : float
        The share of the series by which warping may shift a point; 0 for plain distances.
    most_steps : float
        What warping may cost; beyond it series are shortened.
    """

    def __init__(self, band: float = 0.0, most_steps: float = _MOST_STEPS) -> None:
        self.band = band
        self.most_steps = most_steps

    def fit(self, X: "pd.DataFrame", y: AnyArray) -> Self:
        """Keep the series."""
        table = as_series(X)
        self.length_ = int(np.median(table.lengths))
        if self.band > 0:
            # Each new series meets each kept one; a fold has about a quarter as many new ones.
            pairs = table.n_channels * table.n_series**2 / 4
            self.length_ = min(self.length_, int(np.sqrt(self.most_steps / pairs / 2 / self.band)))
            self.length_ = max(self.length_, 2)
        self.n_channels_ = table.n_channels
        self.kept_values_ = stretch(table, self.length_)
        self.y_ = np.asarray(y)
        self.n_classes_ = len(np.unique(self.y_)) if self.y_.dtype.kind in "iu" else 0
        return self

    def predict(self, X: "pd.DataFrame") -> AnyArray:
        """Return what the nearest has, shape (m,)."""
        new = stretch(as_series(X), self.length_)
        if self.band > 0:
            shape = (-1, self.n_channels_, self.length_)
            width = max(1, round(self.band * self.length_))
            far = warped_distances(new.reshape(shape), self.kept_values_.reshape(shape), width)
        else:
            kept = self.kept_values_
            far = (new**2).sum(axis=1)[:, None] + (kept**2).sum(axis=1) - 2 * new @ kept.T
        return self.y_[np.argmin(far, axis=1)]


def warped_distances(A: Array, B: Array, width: int) -> Array:
    """Return squared distances after the best warping that shifts no point by more than `width`.

    Dynamic time warping in the band of Sakoe and Chiba (1978), all pairs at once.

    Shapes: A (m, channels, length), B (n, channels, length) -> (m, n).
    """
    m, n = len(A), len(B)
    found = np.empty((m, n))
    step = max(1, _PAIRS // n)
    for begin in range(0, m, step):
        found[begin : begin + step] = _warp(A[begin : begin + step], B, width)
    return found


def _warp(A: Array, B: Array, width: int) -> Array:
    length, n_channels = A.shape[2], A.shape[1]
    # Place j + 1 of a row of the table belongs to point j of B; two rows take turns.
    above, row = np.full((2, length + 1, len(A), len(B)), np.inf)
    above[0] = 0.0
    for i in range(length):
        low, high = max(0, i - width), min(length, i + width + 1)
        row[low] = np.inf
        for j in range(low, high):
            best = np.minimum(above[j], above[j + 1])
            np.minimum(best, row[j], out=best)
            for channel in range(n_channels):
                best += (A[:, channel, i][:, None] - B[:, channel, j]) ** 2
            row[j + 1] = best
        above, row = row, above
    return above[length].copy()


class FrameModel(BaseEstimator):
    """A fitted model of features of series that takes frames.

    Parameters
    ----------
    best_estimator_ : SeriesClassModel or SeriesNumberModel
    """

    def __init__(self, best_estimator_: Any = None) -> None:
        self.best_estimator_ = best_estimator_

    @property
    def classes_(self) -> AnyArray:
        """Codes of the classes."""
        return self.best_estimator_.classes

    def predict(self, X: "pd.DataFrame") -> AnyArray:
        """Return what the features tell, shape (m,)."""
        return self.best_estimator_.predict(as_series(X))

    def predict_proba(self, X: "pd.DataFrame") -> Array:
        """Return the probabilities of the classes, shape (m, n_classes)."""
        return self.best_estimator_.predict_proba(as_series(X))


class FeatureSearch(FrameModel):
    """A search for features of the series in a frame.

    Parameters
    ----------
    search : SeriesExtractor
        Not fitted.
    """

    def __init__(self, search: SeriesExtractor) -> None:
        self.search = search

    def fit(self, X: "pd.DataFrame", y: AnyArray) -> Self:
        """Search for the front, and fit a model to the features that are chosen."""
        self.search_ = clone(self.search).fit(as_series(X), y)
        self.best_estimator_ = self.search_.best_estimator_
        return self

    def of_each_size(self) -> dict[str, FrameModel]:
        """Return the best of the front with at most so many features, by `size_name`."""
        search = self.search_
        sizes = range(1, int(search.max_features) + 1)
        places = [place_with(search, size) for size in sizes]
        models = {place: search.select(place) for place in {*places} - {search.best_index_}}
        models[search.best_index_] = self.best_estimator_
        return {
            size_name(size): FrameModel(models[place])
            for size, place in zip(sizes, places, strict=True)
        }


def place_with(search: SeriesExtractor, size: int) -> int:
    """Return the place of the least error with at most so many features, be it no use."""
    frame = search.to_frame()
    error = frame["error"].where(frame["n_features"] <= size, np.inf)
    return int(np.argmin(error))


def size_name(size: int) -> str:
    """Return what models of so many features are called."""
    return f"{size} feature{'s' if size > 1 else ''}"


class PlainSummaries(FrameModel):
    """A smooth model of a dozen summaries that are always the same: mean, spread, slope, ...

    Parameters
    ----------
    task : {"classification", "regression"}
    """

    def __init__(self, task: str = "classification") -> None:
        self.task = task

    def fit(self, X: "pd.DataFrame", y: AnyArray) -> Self:
        """Fit the same learner as that of features that were searched for."""
        table = as_series(X)
        few = [parse_tree(text) for text in _SUMMARIES]
        trees = few
        if table.n_channels > 1:
            channels = range(table.n_channels)
            trees = [parse_tree(f"channel({k}) > {tree}") for k in channels for tree in few]
        self.best_estimator_ = fixed_features(trees, table, y, task=self.task)
        return self


def _search(setting: Setting, **options: Any) -> Any:
    return FeatureSearch(SeriesExtractor(task=setting.task, random_state=setting.seed, **options))


def _nearest(setting: Setting) -> Any:
    del setting
    return NearestSeries()


def _warping(setting: Setting) -> Any:
    del setting
    return NearestSeries(BAND)


def _of_values(setting: Setting) -> Any:
    from sklearn.pipeline import make_pipeline

    most = min(_MOST_VALUES, max(50, 200_000 // setting.n_rows))
    return make_pipeline(SeriesRows(most), LINEAR.make(setting))


def _summaries(setting: Setting) -> Any:
    return PlainSummaries(setting.task)


NEAREST = Family(
    name="nearest series",
    key="nearest",
    kind="rival",
    words="what the most similar known series has, compared point by point",
    make=_nearest,
    most_rows=_NEIGHBOURS * 5,
)
WARPING = Family(
    name="nearest series with warping",
    key="warping",
    kind="rival",
    words="what the most similar known series has; points may shift by a tenth of the series",
    make=_warping,
    most_rows=_NEIGHBOURS,
)
LINEAR_VALUES = Family(
    name="linear model of all values",
    key="values",
    kind="rival",
    words="a weighted sum of all values of a series",
    make=_of_values,
)
SUMMARIES = Family(
    name="plain summaries",
    key="summaries",
    kind="rival",
    words="a dozen numbers that need no search, such as mean, spread, slope and highest value",
    make=_summaries,
    most_rows=2 * _NEIGHBOURS,
)


def few_features(**options: Any) -> Family:
    """Return a search for features, with options of `SeriesExtractor`."""
    return Family(
        name=SEARCHED,
        key="features",
        kind="features",
        words="a smooth function of a few features, from a Pareto front",
        make=partial(_search, **options),
        others=FeatureSearch.of_each_size,
    )


def of_size(size: int) -> Family:
    """Return who answers with at most so many features; it comes with the search."""
    return Family(name=size_name(size), key="", kind="features", words="", make=_search)


def plain_methods(*, fast: bool = False) -> Sequence[Family]:
    """Return who answers beside a search for features; without warping if time is short."""
    others = (NEAREST, LINEAR_VALUES, SUMMARIES)
    return (GUESSING, *others) if fast else (GUESSING, *others, WARPING)
