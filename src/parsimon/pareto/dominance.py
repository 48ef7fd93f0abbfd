"""Who dominates whom; every value is minimised here.

One row dominates another if it is no worse in every objective and better in at least one. Rows
with equal values do not dominate each other: this is the rule for ties everywhere.
"""

from typing import Any

import moocore
import numpy as np

from parsimon._typing import Array, Indices, Mask
from parsimon._validation import finite_matrix
from parsimon.exceptions import InvalidInputError


def dominates(first: Any, second: Any) -> bool:
    """Tell whether `first` dominates `second`, both of shape (m,) and minimised.

    Examples
    --------
    >>> dominates([1, 2], [1, 3]), dominates([1, 2], [1, 2])
    (True, False)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return bool(np.all(a <= b) and np.any(a < b))


def nondominated(values: Any, *, ties: str = "keep") -> Mask:
    """Return which rows no other row dominates.

    Parameters
    ----------
    values : array-like of shape (n, m)
        Objective values, all to be minimised; negate what is to be maximised.
    ties : {"keep", "first"}
        Whether rows with equal values all stay, or only the first of them.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> nondominated([[1, 3], [2, 2], [2, 2], [3, 3]])
    array([ True,  True,  True, False])
    >>> nondominated([[1, 3], [2, 2], [2, 2], [3, 3]], ties="first")
    array([ True,  True, False, False])
    """
    matrix = finite_matrix(values)
    if matrix.size == 0:
        return np.zeros(len(matrix), dtype=np.bool_)
    return nondominated_rows(matrix, keep_ties=check_ties(ties))


def nondominated_rows(matrix: Array, *, keep_ties: bool = True) -> Mask:
    """Do what `nondominated` does for a matrix that has been checked already."""
    if matrix.shape[1] == 1:
        best: Mask = matrix[:, 0] == matrix[:, 0].min()
        return best if keep_ties else best & (np.arange(len(best)) == best.argmax())
    mask: Mask = moocore.is_nondominated(matrix, keep_weakly=keep_ties).astype(np.bool_)
    return mask


def check_ties(ties: str) -> bool:
    """Return whether equal rows are kept, refusing other words."""
    if ties not in {"keep", "first"}:
        raise InvalidInputError(f'ties must be "keep" or "first", got {ties!r}.')
    return ties == "keep"


def dominance_ranks(values: Array, violation: Array | None = None) -> Indices:
    """Return the non-domination level of each row, 0 for the front.

    Shapes: values (n, m), violation (n,).

    [1] Deb, Pratap, Agarwal and Meyarivan (2002), IEEE Trans. Evol. Comput. 6:182-197.
    """
    if violation is None or not violation.any():
        return _levels(values)
    feasible = violation <= 0
    ranks = np.empty(len(values), dtype=np.intp)
    ranks[feasible] = _levels(values[feasible])
    after = ranks[feasible].max() + 1 if feasible.any() else 0
    ranks[~feasible] = after + np.unique(violation[~feasible], return_inverse=True)[1]
    return ranks


def _levels(values: Array) -> Indices:
    if values.shape[1] == 1:  # moocore wants two objectives or more
        return np.unique(values[:, 0], return_inverse=True)[1].astype(np.intp)
    ranks: Indices = moocore.pareto_rank(values).astype(np.intp)
    return ranks
