"""What a front of series features holds: a few trees with a model of their values."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parsimon._typing import AnyArray, Array
from parsimon.features.series.cost import tree_cost
from parsimon.features.series.evaluate import SeriesTable, tree_values
from parsimon.features.series.smooth import Folds, smooth_fit, smooth_kernel
from parsimon.features.series.tree_search import standardise_features
from parsimon.features.series.tree_words import tree_words
from parsimon.features.series.trees import MethodTree, parse_tree
from parsimon.features.series.trust import FULL_TRUST, Trust, chances


@dataclass(frozen=True, eq=False, repr=False)
class SeriesModel:
    """A few features of series and what they predict.

    Attributes
    ----------
    trees : tuple of MethodTree
        The features.
    cost : float
        Operations they need for one series.
    trust : Trust
        How much of the distance from `middle`, the mean of the targets, outputs keep: 1 for all,
        0 where features are of no use for new series; and how they become chances of classes.
    """

    trees: tuple[MethodTree, ...]
    centre: Array
    scale: Array
    Z: Array
    inner: Any
    cost: float
    middle: Array | float = 0.0
    trust: Trust = FULL_TRUST

    @classmethod
    def fitted(
        cls,
        trees: Sequence[MethodTree],
        table: SeriesTable,
        T: Array,
        folds: Folds | None = None,
        **more: Any,
    ) -> Any:
        """Return trees with a model fitted to series and targets, (n, q)."""
        Z, centre, scale = standardise_features(tree_values(trees, table))
        cost = tree_cost(trees, table.length)
        fit, middle = smooth_fit(Z, T, folds), T.mean(axis=0)
        return cls(tuple(trees), centre, scale, Z, fit, cost, middle, **more)

    def outputs(self, X: Any) -> Array:
        """Return what the inner model says of series, drawn to the middle, shape (m, q)."""
        Z = (self.transform(X) - self.centre) / self.scale
        found: Array = smooth_kernel(Z, self.Z, self.inner.width) @ self.inner.weights
        share = self.trust.share
        return found if share == 1.0 else self.middle + share * (found - self.middle)

    def transform(self, X: Any) -> Array:
        """Return the features of series, shape (m, n_features)."""
        return tree_values(self.trees, X)

    def words(self) -> list[str]:
        """Return the features in words."""
        return [tree_words(tree) for tree in self.trees]

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {'; '.join(map(str, self.trees))}"


@dataclass(frozen=True, eq=False, repr=False)
class SeriesClassModel(SeriesModel):
    """A few features of series and the class that they tell."""

    classes: AnyArray = field(kw_only=True)

    def predict(self, X: Any) -> AnyArray:
        """Return the class of each series, shape (m,)."""
        found: AnyArray = self.classes[self.outputs(X).argmax(axis=1)]
        return found

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities, shape (m, n_classes), as rows outside of folds bear out."""
        return chances(self.outputs(X), self.trust.floor, self.trust.power)


@dataclass(frozen=True, eq=False, repr=False)
class SeriesNumberModel(SeriesModel):
    """A few features of series and the number that they tell."""

    mean: float = 0.0
    spread: float = 1.0

    def predict(self, X: Any) -> Array:
        """Return the number for each series, shape (m,)."""
        return self.mean + self.spread * self.outputs(X)[:, 0]


@dataclass(frozen=True, eq=False, repr=False)
class SeriesForecastModel(SeriesModel):
    """A few features of series and the value that comes next.

    Attributes
    ----------
    is_persistence : bool
        Whether the last value is predicted, because back-testing found nothing better.
    """

    is_persistence: bool = False

    def predict(self, X: Any) -> Array:
        """Return the value after the last of each series, shape (m,)."""
        last, unit = last_values(X)
        return last if self.is_persistence else last + unit * self.outputs(X)[:, 0]


def last_values(X: Any) -> tuple[Array, Array]:
    """Return the last value of the first channel, and the spread of its steps (1 for none)."""
    ends, steps = tree_values([parse_tree("last"), parse_tree("difference > volume")], X).T
    return ends, np.where(steps > 0, steps, 1.0)
