"""Moderated scores: how far a column moves with the target, over its own and a typical scatter.

In a table of measurements of one kind (genes on an array) four things make the same columns come
back from other rows: values on a logarithm-like scale, the level of a whole row taken out, a
scatter that no column may have too small by luck (Tusher, Tibshirani and Chu 2001, PNAS 98:5116),
and a distance between classes that no single row makes.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from parsimon._checks import check_choice
from parsimon._typing import Array, Indices

# The quantile of the scatters of all columns that is added to each: the median, as for shrunken
# centroids (Tibshirani and others 2002, PNAS 99:6567).
MODERATION = 0.5
# So many times more columns than rows are taken for measurements of one kind.
_WIDE = 5


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
    found: Array = np.sqrt(explained / n) / np.maximum(scatter + typical, 1e-12)
    return found


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
    found: Array = np.where(explained > 0, sizes @ kept**2 / np.maximum(explained, 1e-300), 1.0)
    return found


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
        found: Array = (values[:, None, :] - self.middle) * self.weight
        return found


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
    found: Array = (np.asarray(y)[:, None] == classes[first:]).astype(float)
    return found


def best_first(score: Array) -> Indices:
    """Return columns by falling score; equal ones keep their order."""
    return np.argsort(-score, kind="stable")
