"""Which of many variables say most about the target, each alone."""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import Task, Treatment

if TYPE_CHECKING:
    import pandas as pd

_MOST_GROUPS, _ROWS_IN_GROUP = 8, 8
# Cells worked on at once: fast, and 20,000 columns never need 20,000 copies.
_BLOCK = 2_000_000


class Screener(TransformerMixin, BaseEstimator):
    """Keeps the variables that say most about the target, each alone.

    Scores are those of `dependence`. Up to `most` variables all are kept.

    most: How many to keep.
    task: What the target is.

    kept_: Places of the kept variables, ascending: they stay in the table's order.
    scores_ (d,): Of all variables; about standard normal for one that has nothing to do with
        the target.
    treatments_: One if any variable was left out; `count` were kept of `value`.
    """

    def __init__(
        self, most: int = 20, *, task: Literal["classification", "regression"] = "classification"
    ) -> None:
        self.most = most
        self.task = task

    def fit(self, X: Any, y: Any) -> Self:
        """Score each variable and choose.

        Shapes: X (n, d), y (n,).
        """
        if self.most < 1:
            raise InvalidInputError(f"most must be at least 1, got {self.most}.")
        if self.task not in ("classification", "regression"):
            raise InvalidInputError(
                f"task must be 'classification' or 'regression', got {self.task!r}."
            )
        numeric = self.task == "regression"
        values, y = validate_data(self, X, y, dtype=np.float64, y_numeric=numeric)
        if not numeric:
            check_classification_targets(y)
        self.scores_ = dependence(values, y, task=self.task)
        best = np.argsort(-self.scores_, kind="stable")[: self.most]
        self.kept_ = np.sort(best)
        left_out = len(self.scores_) > len(best)
        screened = Treatment(kind="columns_screened", count=len(best), value=str(len(self.scores_)))
        self.treatments_ = (screened,) if left_out else ()
        return self

    def transform(self, X: Any) -> Any:
        """Return the kept variables; a frame of a frame, an array of an array."""
        check_is_fitted(self, "kept_")
        values = validate_data(self, X, dtype=np.float64, reset=False)
        if hasattr(X, "iloc"):
            frame: pd.DataFrame = X.iloc[:, self.kept_]
            return frame
        chosen: Array = values[:, self.kept_]
        return chosen

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the kept variables."""
        check_is_fitted(self, "kept_")
        fitted = getattr(self, "feature_names_in_", None)
        names = fitted if input_features is None else np.asarray(input_features, dtype=object)
        if names is None:
            names = np.array([f"x{place}" for place in range(self.n_features_in_)], dtype=object)
        if len(names) != self.n_features_in_:
            raise InvalidInputError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(names)}."
            )
        if fitted is not None and list(names) != list(fitted):
            raise InvalidInputError("input_features is not equal to feature_names_in_.")
        kept: AnyArray = names[self.kept_]
        return kept

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def dependence(X: Array, y: AnyArray, *, task: Task = "classification") -> Array:
    """Return for each column how surely it and the target belong together.

    A column is cut at its quantiles into at most eight groups; equal values stay together. Two
    statistics compare the groups: Pearson's chi-squared (for a number: Kruskal and Wallis' H [1]),
    which sees any relation, and the part of it that lies in a trend over the groups, which sees a
    weak slope better. Each becomes a normal deviate by the cube root of Wilson and Hilferty [2],
    so that columns with few and with many groups compare; the greater one is the score.

    Shapes: X (n, d), y (n,) -> (d,).

    [1] Kruskal and Wallis (1952), J. Am. Stat. Assoc. 47:583-621.
    [2] Wilson and Hilferty (1931), Proc. Natl. Acad. Sci. 17:684-688.
    """
    responses = _responses(y, task)
    n, d = X.shape
    width = max(1, _BLOCK // max(n, 1))
    blocks = [_scores(X[:, at : at + width], responses) for at in range(0, d, width)]
    return np.concatenate(blocks) if blocks else np.empty(0)


class _Responses(NamedTuple):
    """The target as centred columns of shape (n, k), their weights, and degrees of freedom."""

    values: Array
    weights: Array
    degrees: int


def _responses(y: AnyArray, task: Task) -> _Responses:
    if task == "regression":
        from scipy.stats import rankdata

        ranks = rankdata(y)
        centred = (ranks - ranks.mean())[:, None]
        variance = max(float(np.mean(centred**2)), np.finfo(float).tiny)
        return _Responses(centred, np.array([1 / variance]), 1)
    classes, codes = np.unique(y, return_inverse=True)
    indicators = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
    shares = indicators.mean(axis=0)
    return _Responses(indicators - shares, 1 / shares, max(len(classes) - 1, 1))


def _scores(X: Array, responses: _Responses) -> Array:
    above = _above_cuts(X)
    n = len(X)
    # Rows and responses above each cut; differences of neighbours are those of each group.
    rows = np.stack([np.full(X.shape[1], float(n)), *(one.sum(axis=0) for one in above)])
    sums = np.stack(
        [np.zeros((responses.values.shape[1], X.shape[1]))]
        + [responses.values.T @ one.astype(np.float64) for one in above]
    )
    sizes = rows - np.vstack([rows[1:], np.zeros(X.shape[1])])
    totals = sums - np.concatenate([sums[1:], np.zeros_like(sums[:1])])
    squares = np.einsum("gkd,k->gd", totals**2, responses.weights)
    between = (squares / np.maximum(sizes, 1)).sum(axis=0)
    trend = _trend(rows, sums, responses.weights)
    degrees = np.maximum((sizes > 0).sum(axis=0) - 1, 1) * responses.degrees
    shrink = (n - 1) / n
    return np.maximum(
        _normal_deviate(shrink * between, degrees),
        _normal_deviate(shrink * trend, np.full(X.shape[1], responses.degrees)),
    )


def _above_cuts(X: Array) -> list[AnyArray]:
    """Return for each cut which cells are above it, of shape (n, d)."""
    n_groups = int(np.clip(len(X) // _ROWS_IN_GROUP, 2, _MOST_GROUPS))
    places = [len(X) * group // n_groups - 1 for group in range(1, n_groups)]
    places = [max(place, 0) for place in places]
    cuts = np.partition(X, places, axis=0)[places]
    largest = X.max(axis=0)
    # Nothing is above the largest value; where a cut fell on it, cut just below it.
    on_top = np.flatnonzero((cuts == largest).any(axis=0))
    if len(on_top):
        few = X[:, on_top]
        below = np.where(few < largest[on_top], few, -np.inf).max(axis=0)
        cuts[:, on_top] = np.minimum(cuts[:, on_top], below)
    return [cut < X for cut in cuts]


def _trend(rows: Array, sums: Array, weights: Array) -> Array:
    """Return the between-group statistic of a straight line over the groups' numbers.

    The number of a cell's group is how many cuts lie below it, so sums above cuts are moments.
    """
    n = rows[0]
    mean = rows[1:].sum(axis=0) / n
    odd = 2 * np.arange(1, len(rows))[:, None] - 1
    variance = (odd * rows[1:]).sum(axis=0) / n - mean**2
    covariance = sums[1:].sum(axis=0)
    squares = np.einsum("kd,k->d", covariance**2, weights) / n
    trend: Array = squares / np.where(variance > 1e-12, variance, np.inf)
    return trend


def _normal_deviate(statistic: Array, degrees: AnyArray) -> Array:
    part = 2 / (9 * degrees)
    return (np.cbrt(statistic / degrees) - (1 - part)) / np.sqrt(part)
