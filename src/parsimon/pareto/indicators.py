"""How good a set of points is: functions of minimised values, shape (n, m).

Hypervolume, IGD+, additive epsilon and attainment are computed by moocore.
"""

from collections.abc import Sequence
from typing import Any

import moocore
import numpy as np

from parsimon._checks import finite_matrix, finite_vector
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError


def hypervolume(values: Any, reference: Any) -> float:
    """Return the volume that the points dominate, up to a reference point.

    Parameters
    ----------
    values : array-like of shape (n, m)
        Minimised.
    reference : array-like of shape (m,)
        A point that is worse than those of interest; points beyond it add nothing.

    Examples
    --------
    >>> hypervolume([[1, 2], [2, 1]], reference=[3, 3])
    3.0
    """
    matrix, corner = _pair(values, reference)
    inside = matrix[(matrix < corner).all(axis=1)]
    if not len(inside):
        return 0.0
    if inside.shape[1] == 1:
        return float(corner[0] - inside.min())
    return float(moocore.hypervolume(inside, ref=corner))


def igd_plus(values: Any, reference_front: Any) -> float:
    """Return how far, on average, the reference front is from being covered by the points.

    The modified inverted generational distance counts only the objectives in which a point is
    worse [1]_, so a better set never scores worse.

    References
    ----------
    .. [1] Ishibuchi, Masuda, Tanigaki and Nojima (2015), EMO, LNCS 9019:110-125.

    Examples
    --------
    >>> igd_plus([[1, 1]], reference_front=[[0, 1], [1, 0]])
    1.0
    """
    matrix, target = _sets(values, reference_front)
    return float(moocore.igd_plus(matrix, ref=target))


def additive_epsilon(values: Any, reference_front: Any) -> float:
    """Return the least shift of the points that covers the whole reference front.

    Examples
    --------
    >>> additive_epsilon([[1, 1]], reference_front=[[0, 1], [1, 0]])
    1.0
    """
    matrix, target = _sets(values, reference_front)
    return float(moocore.epsilon_additive(matrix, ref=target))


def spread(values: Any) -> float:
    """Return how unevenly the points lie, 0 for even gaps.

    For each point the distance to its nearest neighbour is taken in objectives scaled to [0, 1];
    the spread is the standard deviation of these distances over their mean (Schott's spacing made
    free of units).

    Examples
    --------
    >>> spread([[0, 2], [1, 1], [2, 0]])
    0.0
    """
    from scipy.spatial import cKDTree

    from parsimon.pareto._criteria import unit_scaled

    matrix = finite_matrix(values)
    if len(matrix) < 3:
        return 0.0
    scaled = unit_scaled(matrix)
    gaps = np.asarray(cKDTree(scaled).query(scaled, k=2)[0])[:, 1]
    return float(gaps.std() / gaps.mean()) if gaps.mean() > 0 else 0.0


def attainment(sets: Sequence[Any], *, percentile: float = 50) -> Array:
    """Return the surface that a given share of runs attains.

    Parameters
    ----------
    sets : sequence of array-likes of shape (n_i, m), m = 2 or 3
        The points of each run.
    percentile : float
        50 for the median front of the runs, 100 for what all of them attain.

    Returns
    -------
    ndarray of shape (n, m)

    References
    ----------
    Grunert da Fonseca, Fonseca and Hall (2001), EMO, LNCS 1993:213-225.

    Examples
    --------
    >>> attainment([[[1, 3]], [[2, 2]], [[3, 1]]], percentile=100)
    array([[3., 3.]])
    """
    runs = [finite_matrix(points) for points in sets]
    if not runs:
        raise InvalidInputError("Attainment needs the points of at least one run, got none.")
    if runs[0].shape[1] not in {2, 3}:
        raise InvalidInputError(
            f"Attainment surfaces exist here for 2 or 3 objectives, got {runs[0].shape[1]}."
        )
    labels = np.repeat(np.arange(1, len(runs) + 1), [len(run) for run in runs])
    surface: Array = moocore.eaf(np.concatenate(runs), sets=labels, percentiles=[percentile])
    return np.asarray(surface[:, :-1])


def _pair(values: Any, reference: Any) -> tuple[Array, Array]:
    matrix, corner = finite_matrix(values), finite_vector(reference, "reference")
    if matrix.shape[1] != len(corner):
        raise InvalidInputError(
            f"The reference point needs {matrix.shape[1]} values, got {len(corner)}."
        )
    return matrix, corner


def _sets(values: Any, reference_front: Any) -> tuple[Array, Array]:
    matrix, target = finite_matrix(values), finite_matrix(reference_front, "reference_front")
    if matrix.shape[1] != target.shape[1] or not len(matrix) or not len(target):
        raise InvalidInputError(
            f"Both sets need points with equally many objectives, got shapes {matrix.shape} "
            f"and {target.shape}."
        )
    return matrix, target
