"""A fitted model that takes tables as they are: text, dates and empty cells included."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.statistician.families import predicted
from parsimon.statistician.families.contenders import class_shares

if TYPE_CHECKING:
    import pandas as pd


class TableModel(BaseEstimator):
    """A fitted model that takes tables as they are.

    Made by `Analysis.model`; saved with `save_model`, it needs nothing but itself.

    Parameters
    ----------
    preparer, screener : fitted transformers
        From cells to numbers, and to the variables that were searched.
    models : sequence of fitted estimators
        One for a number, for two classes or for all of them together; or one for each class
        against the rest.
    classes : sequence of str
        In the order of the models; two for one model; empty for a number.
    target : str
        Name of the column that is predicted.
    deviation : float, optional
        Standard deviation of a predicted number, if the model itself does not tell.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        For classes.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> from parsimon.statistician import analyse
    >>> table = load("iris").frame
    >>> model = analyse(table, "species", depth=1, fast=True, n_jobs=1).model()
    >>> [str(label) for label in model.predict(table.head(2))]
    ['setosa', 'setosa']
    """

    # Earlier files have none.
    deviation: float | None = None

    def __init__(
        self,
        preparer: Any,
        screener: Any,
        models: Any,
        classes: Any = (),
        target: str = "",
        deviation: float | None = None,
    ) -> None:
        self.preparer = preparer
        self.screener = screener
        self.models = models
        self.classes = classes
        self.target = target
        self.deviation = deviation

    @property
    def classes_(self) -> AnyArray:
        """The classes, for a model of classes."""
        if not len(self.classes):
            raise AttributeError("A model of a number has no classes.")
        return np.asarray(self.classes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, table: "pd.DataFrame") -> AnyArray:
        """Return the most probable class of each row, or the number, shape (m,)."""
        if not len(self.classes):
            return predicted(self.models[0], self.numbers(table))
        called: AnyArray = self.classes_[np.argmax(self.predict_proba(table), axis=1)]
        return called

    def predict_proba(self, table: "pd.DataFrame") -> Array:
        """Return the probability of each class in the order of `classes_`, shape (m, c)."""
        if not len(self.classes):
            raise InvalidInputError("A model of a number predicts no probabilities.")
        X = self.numbers(table)
        if len(self.models) == 1 and len(self.classes) > 2:
            return class_shares(self.models[0], X, len(self.classes))[0]
        if not hasattr(self.models[0], "predict_proba"):
            return class_shares(self.models[0], X, 2)[0]
        return normalised(np.column_stack([predicted(model, X) for model in self.models]))

    def predict_deviation(self, table: "pd.DataFrame") -> Array:
        """Return the standard deviation of each predicted number, noise included, shape (m,)."""
        if len(self.classes):
            raise InvalidInputError("A model of classes predicts probabilities, no deviations.")
        X = self.numbers(table)
        if self.deviation is not None:
            return np.full(len(X), float(self.deviation))
        _, deviation = self.models[0].predict(X, return_std=True, include_noise=True)
        values: Array = deviation
        return values

    def numbers(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Return the variables that the models see, shape (m, d)."""
        numbers: pd.DataFrame = self.screener.transform(self.preparer.transform(table))
        return numbers


def normalised(positive: Array) -> Array:
    """Return probabilities of all classes from those of each against the rest.

    Shapes: positive (m, k).
    """
    if positive.shape[1] == 1:
        return np.column_stack([1 - positive[:, 0], positive[:, 0]])
    total = positive.sum(axis=1, keepdims=True)
    share: Array = positive / np.where(total > 0, total, 1.0)
    return share
