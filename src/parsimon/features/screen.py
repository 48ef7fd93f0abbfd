"""Columns ranked one by one: by a regression of the target on each, and by moderated scores.

`regression_screen` is the baseline of the field: one regression for each column, with cofactors.

A moderated score is how far a column moves with the target, over its own and a typical scatter. In
a table of measurements of one kind (genes on an array) four things make the same columns come back
from other rows: values on a logarithm-like scale, the level of a whole row taken out, a scatter
that no column may have too small by luck (Tusher, Tibshirani and Chu 2001, PNAS 98:5116), and a
distance between classes that no single row makes. `FewColumnsClassifier` averages the best.
"""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy.special import stdtr
from scipy.stats import false_discovery_control
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, check_count, finite_matrix
from parsimon._data import check_classes, validate_data
from parsimon._partition import complete_vector
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError

# The quantile of the scatters of all columns that is added to each: the median, as for shrunken
# centroids (Tibshirani and others 2002, PNAS 99:6567).
MODERATION = 0.5
# So many times more columns than rows are taken for measurements of one kind.
_WIDE = 5


@dataclass(frozen=True)
class RegressionScreen:
    """What a regression of the target on each column alone, besides cofactors, says.

    slope, t, p_value (d,): Of the column.
    bonferroni (d,): p-values times the number of columns: the chance of any false positive.
    benjamini_hochberg (d,): The least false discovery rate at which the column is a discovery.
    """

    slope: Array
    t: Array
    p_value: Array
    bonferroni: Array
    benjamini_hochberg: Array

    def discoveries(self, level: float = 0.05) -> Indices:
        """Return the columns with a false discovery rate of at most `level`, best first."""
        order = np.argsort(self.p_value, kind="stable")
        return order[self.benjamini_hochberg[order] <= level]


def regression_screen(X: Any, y: Any, *, cofactors: Any = None) -> RegressionScreen:
    """Regress a target on each column alone, with cofactors, and correct for how many there are.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Columns to screen.
    y : array-like of shape (n,)
        A number, or two classes, which become 0 and 1.
    cofactors : array-like of shape (n, c), optional
        Columns that every regression contains besides a constant.

    Returns
    -------
    RegressionScreen
        A column that is constant, or says nothing besides the cofactors, has a p-value of 1.

    References
    ----------
    Clark (2011), section 4.2; Benjamini and Hochberg (1995), J. R. Stat. Soc. B 57:289-300.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 200))
    >>> screen = regression_screen(X, X[:, 7] + rng.normal(size=50))
    >>> screen.discoveries().tolist()
    [7]
    """
    values = finite_matrix(X, "X")
    n = len(values)
    target = _numbers(complete_vector(y, n))
    given = np.empty((n, 0)) if cofactors is None else finite_matrix(cofactors, "cofactors")
    if len(given) != n:
        raise InvalidInputError(f"X has {n} rows, but cofactors has {len(given)}.")
    known = target_basis(given) if given.shape[1] else given
    freedom = n - 2 - known.shape[1]
    if freedom < 1:
        raise InvalidInputError(f"{n} rows are too few for so many cofactors; leave some out.")
    before = values - values.mean(axis=0)
    rest = before - known @ (known.T @ before)
    aim = target - target.mean()
    aim = aim - known @ (known.T @ aim)
    size = np.einsum("ij,ij->j", rest, rest)
    alone = size > 1e-12 * np.maximum(np.einsum("ij,ij->j", before, before), 1e-300)
    slope = np.where(alone, aim @ rest / np.where(alone, size, 1.0), 0.0)
    left = np.maximum(aim @ aim - slope**2 * size, 1e-14 * max(float(aim @ aim), 1e-300))
    t = slope * np.sqrt(size * freedom / left)
    p = np.where(alone, 2 * stdtr(freedom, -np.abs(t)), 1.0)
    return RegressionScreen(slope, t, p, np.minimum(1.0, p * len(p)), false_discovery_control(p))


def _numbers(y: Any) -> Array:
    classes = np.unique(y)
    if y.dtype.kind in "fiub" and len(classes) > 2:
        return np.asarray(y, dtype=np.float64)
    if len(classes) != 2:
        raise InvalidInputError(f"y must be a number or two classes, got {len(classes)} classes.")
    return np.where(y == classes[1], 1.0, 0.0)


def shares_unit(option: Any, shape: tuple[int, ...]) -> bool:
    """Return whether all columns are to be treated as one kind of measurement."""
    check_choice("shared_unit", option, (True, False, "auto"))
    return shape[1] >= _WIDE * shape[0] if option == "auto" else bool(option)


@dataclass(frozen=True)
class Levels:
    """A scale for all columns, or one for each.

    shared: Whether values become arcsinh(x / scale), less that of the row's median.
    centre, scale (d,): Of each column; where the unit is shared 0 and the same for all.
    """

    shared: bool
    centre: Array
    scale: Array

    @classmethod
    def of(cls, X: Array, row_sizes: Array, *, shared: bool) -> Self:
        """Return the scales of rows.

        Shapes: X (n, d), row_sizes (n,) as from `row_levels`.
        """
        d = X.shape[1]
        if shared:
            typical = float(np.median(row_sizes)) or float(np.abs(X).mean()) or 1.0
            return cls(True, np.zeros(d), np.full(d, typical))
        spread = X.std(axis=0)
        return cls(False, X.mean(axis=0), np.where(spread > 0, spread, 1.0))

    def of_rows(self, X: Array, medians: Array, columns: Indices | slice = slice(None)) -> Array:
        """Return the levels of some columns.

        Shapes: X (n, d), medians (n,) of its rows -> (n, k).
        """
        values = (X[:, columns] - self.centre[columns]) / self.scale[columns]
        if not self.shared:
            return values
        np.arcsinh(values, out=values)
        values -= np.arcsinh(medians / self.scale[0])[:, None]
        return values


def row_levels(X: Array) -> tuple[Array, Array]:
    """Return the median of each row, and that of its absolute values, shapes (n,)."""
    return np.median(X, axis=1), np.median(np.abs(X), axis=1)


def target_basis(target: Array) -> Array:
    """Return orthonormal columns that span what the target says besides a constant.

    Shapes: target (n, r) -> (n, <= r).
    """
    centred = target - target.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    return left[:, sizes > 1e-10 * max(1.0, sizes.max(initial=0.0))]


def moderated_scores(levels: Array, target: Array, cofactors: Array | None = None) -> Array:
    """Return how far each column moves with the target, over its scatter and a typical one.

    With cofactors it is what the column adds to them. Of classes only that part of a move counts
    which stays without the extreme rows of each.

    Shapes: levels (n, d), target (n, r), cofactors (n, c) -> (d,).
    """
    n = len(levels)
    values = levels - levels.mean(axis=0)
    aims, lost = target, 0
    if cofactors is not None and cofactors.shape[1]:
        given = target_basis(cofactors)
        lost = given.shape[1]
        values -= given @ (given.T @ values)
        aims = target - target.mean(axis=0)
        aims = aims - given @ (given.T @ aims)
    basis = target_basis(aims)
    explained = np.sum((basis.T @ values) ** 2, axis=0)
    left = np.einsum("ij,ij->j", values, values) - explained
    freedom = max(1, n - 1 - lost - basis.shape[1])
    scatter = np.sqrt(np.maximum(left, 0.0) / freedom)
    typical = float(np.quantile(scatter, MODERATION))
    if _holds_classes(target):
        explained = explained * steady_share(values, target)
    return np.sqrt(explained / n) / np.maximum(scatter + typical, 1e-12)


def _holds_classes(target: Array) -> bool:
    return bool(np.isin(target, (0.0, 1.0)).all())


def steady_share(values: Array, target: Array) -> Array:
    """Return the share of what classes explain that stays without the extreme rows of each.

    The mean of a class counts as far as the mean without its highest and its lowest row lies on
    the same side of all rows: so one row makes no column. Classes of one or two rows keep them.

    Shapes: values (n, d) with columns of mean 0, target (n, r) -> (d,), from 0 to 1.
    """
    kinds, places = np.unique(target, axis=0, return_inverse=True)
    means, inner = np.empty((2, len(kinds), values.shape[1]))
    sizes = np.bincount(places.ravel(), minlength=len(kinds)).astype(float)
    for kind, size in enumerate(sizes):
        rows = values[places.ravel() == kind]
        total = rows.sum(axis=0)
        means[kind] = inner[kind] = total / size
        if size > 2:
            inner[kind] = (total - rows.max(axis=0) - rows.min(axis=0)) / (size - 2)
    inner -= sizes @ inner / sizes.sum()
    same_side = means * inner > 0
    kept = np.where(same_side, np.minimum(np.abs(means), np.abs(inner)), 0.0)
    explained = sizes @ means**2
    return np.where(explained > 0, sizes @ kept**2 / np.maximum(explained, 1e-300), 1.0)


@dataclass(frozen=True)
class RankedColumns:
    """The best columns, and the average of them that predicts.

    columns (k,): Best first.
    levels: The scale they were found on.
    middle, weight (r, k): Of each target and column; a column speaks by (level - middle) weight.
    """

    columns: Indices
    levels: Levels
    middle: Array
    weight: Array

    def votes(self, X: Array, medians: Array) -> Array:
        """Return what each column says for each target, shape (n, r, k)."""
        values = self.levels.of_rows(X, medians, self.columns)
        return (values[:, None, :] - self.middle) * self.weight


def ranked_columns(levels: Array, target: Array, columns: Indices, scale: Levels) -> RankedColumns:
    """Return the average over columns in which each counts alike, in units of its scatter.

    Shapes: levels (n, k) of these columns only, target (n, r).
    """
    is_class = _holds_classes(target)
    mean = levels.mean(axis=0)
    middles, weights = [], []
    for aim in target.T:
        share = aim.mean()
        slope = (aim - share) @ (levels - mean)
        slope = slope / max(float(np.sum((aim - share) ** 2)), 1e-300)
        left = levels - mean - np.outer(aim - share, slope)
        scatter = np.sqrt(np.einsum("ij,ij->j", left, left) / max(1, len(levels) - 2))
        # A column that two classes share out without any scatter says more than others, not all.
        floor = 1e-3 * float(np.sqrt(np.mean((levels - mean) ** 2))) or 1.0
        weights.append(np.sign(slope) / np.maximum(scatter, floor))
        # Between two classes, not at the mean of their rows: halfway between their means.
        middles.append(mean + slope * (0.5 - share) if is_class else mean)
    return RankedColumns(columns, scale, np.array(middles), np.array(weights))


def target_columns(y: Array, classes: Array | None) -> Array:
    """Return one column for a number or two classes, one for each of more classes.

    Shapes: y (n,) -> (n, r).
    """
    if classes is None:
        return np.asarray(y, dtype=float)[:, None]
    first = 1 if len(classes) == 2 else 0
    return (np.asarray(y)[:, None] == classes[first:]).astype(float)


def best_first(score: Array) -> Indices:
    """Return columns by falling score; equal ones keep their order."""
    return np.argsort(-score, kind="stable")


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
        return self.classes_[places]
