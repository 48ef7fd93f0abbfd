"""A fitted model of series that takes tables as they are: one row a measurement, or a series."""

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator

from parsimon._checks import shorten
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.features.series import SeriesModel, SeriesTable
from parsimon.statistician.prepare.frames import as_frame
from parsimon.statistician.series_tables import (
    SeriesColumns,
    TakenSeries,
    read_series,
    series_treatments,
)

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.report.findings import Treatment


class SeriesTableModel(BaseEstimator):
    """A few features of series and what they tell, for tables as they are.

    Made by `analyse_series`; saved with `save_model`, it needs nothing but itself.

    Parameters
    ----------
    model : SeriesClassModel or SeriesNumberModel
        Its classes are places in `classes`.
    columns : SeriesColumns
        Where the series of a table are.
    classes : sequence of str
        None for a number.
    target : str
        What is predicted.
    deviation : float, optional
        What new numbers are missed by, as measured on outer folds.

    Examples
    --------
    >>> from parsimon.statistician import analyse_series
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame(rng.normal(size=(20, 12)), columns=[f"t{k}" for k in range(12)])
    >>> frame["kind"] = np.repeat(["flat", "high"], 10)
    >>> frame.iloc[10:, 3:9] += 3.0
    >>> model = analyse_series(frame, "kind", outer=0, fast=True).model
    >>> model.predict(frame.iloc[[0, 19]]).tolist()
    ['flat', 'high']
    """

    def __init__(
        self,
        model: SeriesModel,
        columns: SeriesColumns,
        classes: tuple[str, ...] = (),
        target: str = "",
        deviation: float | None = None,
    ) -> None:
        self.model = model
        self.columns = columns
        self.classes = classes
        self.target = target
        self.deviation = deviation

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> AnyArray:
        """The classes in the order of probabilities."""
        return np.array(self.classes, dtype=object)

    def cases(self, table: Any) -> "pd.DataFrame":
        """Return one row for each series: of a long table the names, of a wide one its rows."""
        import pandas as pd

        frame = as_frame(table)
        if not self.columns.is_long:
            return frame
        return pd.DataFrame({self.columns.id: list(self._taken(frame).ids)})

    def predict(self, table: Any) -> AnyArray:
        """Return the class or the number of each series, shape (m,)."""
        if self.classes:
            return self.classes_[np.argmax(self.predict_proba(table), axis=1)]
        model: Any = self.model
        return model.predict(self.series(table))

    def predict_proba(self, table: Any) -> Array:
        """Return the probabilities of the classes for each series, shape (m, n_classes)."""
        model: Any = self.model
        series = self.series(table)
        found = np.zeros((series.n_series, len(self.classes)))
        found[:, np.asarray(model.classes, dtype=np.intp)] = model.predict_proba(series)
        return found

    def predict_deviation(self, table: Any) -> Array:
        """Return the standard deviation of each predicted number, shape (m,)."""
        deviation = np.nan if self.deviation is None else self.deviation
        return np.full(self.series(table).n_series, deviation)

    def transform(self, table: Any) -> Array:
        """Return the features of each series, shape (m, n_features)."""
        return self.model.transform(self.series(table))

    def series(self, table: Any) -> SeriesTable:
        """Return the series of a table."""
        taken = self._taken(as_frame(table))
        if taken.empty:
            raise InvalidInputError(
                f"These series have no value at all, in one channel or in all: "
                f"{shorten(taken.empty)}; leave them out."
            )
        return SeriesTable(list(taken.cells))

    def outside(self, table: Any) -> tuple[()]:
        """Return nothing: single cells have no range of their own."""
        del table
        return ()

    def treatments_of(self, table: Any) -> "tuple[Treatment, ...]":
        """Return how values were read; gaps are filled from those before and after them."""
        return series_treatments(as_frame(table), self.columns)

    def contributions(self, table: Any) -> NoReturn:
        """Refuse: features look at whole series."""
        del table
        raise InvalidInputError(
            "This model looks at features of whole series, so that no single column contributes; "
            "the page of parsimon series draws each feature, and its --features writes their "
            "values."
        )

    def _taken(self, frame: "pd.DataFrame") -> TakenSeries:
        return read_series(frame, self.columns)
