"""One regression for each column, with cofactors: the baseline of the field."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr
from scipy.stats import false_discovery_control

from parsimon._checks import finite_matrix
from parsimon._partition import complete_vector
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.features._screen import target_basis


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
