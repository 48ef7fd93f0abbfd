"""`FewColumnsClassifier`: an average over a handful of columns of a wide table."""

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_count
from parsimon._data import check_classes, validate_data
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.features._screen import (
    Levels,
    best_first,
    moderated_scores,
    ranked_columns,
    row_levels,
    shares_unit,
    target_columns,
)


class FewColumnsClassifier(ClassifierMixin, BaseEstimator):
    """Choose a few columns of a wide table and let each of them vote alike.

    Columns are ranked by how far the classes lie apart in them, with and without the extreme rows
    of each class, over their scatter and the median scatter of all columns [1]_ [2]_. The best are
    averaged, each with its sign and in units of its own scatter; no weight is fitted, so there is
    nothing to overfit but the choice. In tables of one kind of measurement values are first put on
    a logarithm-like scale and the level of each row (its median) is taken out, which is what makes
    the same columns come back from other rows.

    Parameters
    ----------
    n_features : int
        Columns to choose.
    columns : array-like of int, optional
        Choose exactly these instead.
    shared_unit : {"auto", True, False}
        Whether all columns are measurements of one kind, as genes on an array are: "auto" says so
        of tables with at least five times as many columns as rows. Otherwise columns are
        standardised, and units do not matter.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    scores_ : ndarray of shape (d,)
        Moderated scores of all columns.
    columns_ : ndarray of shape (k,)
        The chosen ones, best first.
    shared_unit_ : bool
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Where X has names.

    References
    ----------
    .. [1] Tusher, Tibshirani and Chu (2001), PNAS 98:5116-5121.
    .. [2] Tibshirani, Hastie, Narasimhan and Chu (2002), PNAS 99:6567-6572.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = rng.normal(size=(40, 500))
    >>> X[:, [3, 77]] += 3 * y[:, None]
    >>> model = FewColumnsClassifier(n_features=2).fit(X, y)
    >>> sorted(model.columns_.tolist())
    [3, 77]
    """

    classes_: AnyArray
    columns_: Indices

    def __init__(
        self,
        n_features: int = 5,
        *,
        columns: Any = None,
        shared_unit: Literal["auto"] | bool = "auto",
    ) -> None:
        self.n_features = n_features
        self.columns = columns
        self.shared_unit = shared_unit

    def fit(self, X: Any, y: Any) -> Self:
        """Rank the columns and keep the best.

        Shapes: X (n, d), y (n,).
        """
        check_count("n_features", self.n_features)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        check_classes(self.classes_, codes)
        self.shared_unit_ = shares_unit(self.shared_unit, X.shape)
        medians, sizes = row_levels(X)
        scale = Levels.of(X, sizes, shared=self.shared_unit_)
        levels = scale.of_rows(X, medians)
        target = target_columns(y, self.classes_)
        self.scores_ = moderated_scores(levels, target)
        self.columns_ = self._choose(X.shape[1])
        self._model = ranked_columns(levels[:, self.columns_], target, self.columns_, scale)
        return self

    def _choose(self, d: int) -> Indices:
        if self.columns is None:
            return best_first(self.scores_)[: self.n_features]
        columns = np.asarray(self.columns)
        if columns.ndim != 1 or not len(columns) or columns.dtype.kind not in "iu":
            raise InvalidInputError("columns must be a list of places of columns, one or more.")
        if columns.min() < 0 or columns.max() >= d:
            raise InvalidInputError(f"columns must lie from 0 to {d - 1}, got {columns.tolist()}.")
        return columns.astype(np.intp)

    def get_support(self, *, indices: bool = False) -> Mask | Indices:
        """Return which columns are used: a mask of shape (d,), or their places in order."""
        check_is_fitted(self)
        if indices:
            return np.sort(self.columns_)
        mask = np.zeros(self.n_features_in_, dtype=np.bool_)
        mask[self.columns_] = True
        return mask

    def decision_function(self, X: Any) -> Array:
        """Return the average vote, shape (n,), or (n, n_classes) of more than two classes."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        votes: Array = self._model.votes(X, np.median(X, axis=1)).mean(axis=2)
        return votes[:, 0] if len(self.classes_) == 2 else votes

    def predict(self, X: Any) -> AnyArray:
        """Return the class of each row, shape (n,)."""
        votes = self.decision_function(X)
        places = (votes > 0).astype(np.intp) if votes.ndim == 1 else votes.argmax(axis=1)
        found: AnyArray = self.classes_[places]
        return found
