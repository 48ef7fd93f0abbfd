"""Generators for learning from few labels: most rows carry the label -1, which means unknown.

This is the convention of `sklearn.semi_supervised`.
"""

import numpy as np

from parsimon._checks import check_count
from parsimon._random import Seed, generator
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError

# Labelled corners first: lower left (negative), upper right (positive), then the other two.
_CORNERS = np.array([[0.0, 0.0], [1.0, 8.0], [1.0, 0.0], [0.0, 8.0]])
_CORNER_CLASS = np.array([0, 1, 0, 1])

# Top, bottom, middle. The middle is nearer to the top, and its lower edge reaches y = 0, where a
# machine that sees only the labels puts its boundary.
_STACK = np.array([[0.0, 3.0], [0.0, -3.0], [0.0, 0.8]])
_STACK_CLASS = np.array([1, 0, 1])


def make_four_clusters(
    n: int = 4, *, spread: float = 0.0, all_labels: bool = False, random_state: Seed = None
) -> tuple[Array, Indices]:
    """Draw four clusters at the corners of a tall rectangle, two of them with one label each.

    The corners are 1 apart along x and 8 apart along y. One row at the lower left is known to be
    negative and one at the upper right positive; the gap in the data says that the classes are
    the lower and the upper clusters (Mierswa 2009, section 5.3.1, with one point for each
    cluster).

    Parameters
    ----------
    n : int
        Rows, as equally among the clusters as can be.
    spread : float
        Standard deviation around the corners.
    all_labels : bool
        Whether to return the class of every row instead of the two known ones.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 2)
        The two labelled rows first.
    y : ndarray of shape (n,)
        0, 1, or -1 for unknown.

    Examples
    --------
    >>> from parsimon.datasets import make_four_clusters
    >>> X, y = make_four_clusters()
    >>> X.tolist(), y.tolist()
    ([[0.0, 0.0], [1.0, 8.0], [1.0, 0.0], [0.0, 8.0]], [0, 1, -1, -1])
    """
    check_count("n", n, least=4)
    X, truth = _clusters(n, _CORNERS, _CORNER_CLASS, spread, random_state)
    return X, truth if all_labels else _known_first(truth, 2)


def make_three_clusters(
    n: int = 150,
    *,
    n_labelled: int = 4,
    spread: float = 0.4,
    all_labels: bool = False,
    random_state: Seed = None,
) -> tuple[Array, Indices]:
    """Draw three clusters in a column, with a few labels in the top and the bottom one.

    The middle cluster is nearer to the top one, and belongs to its class. The classes are
    clear from the gaps, but a machine that sees only the labels cuts the middle cluster's edge
    (Mierswa 2009, section 5.3.1: 4 labelled and 146 other rows). The centres are (0, 3),
    (0, 0.8) and (0, -3).

    Parameters
    ----------
    n : int
        Rows, as equally among the clusters as can be.
    n_labelled : int
        Rows with a label, in turn from the top and the bottom cluster.
    spread : float
        Standard deviation around the centres.
    all_labels : bool
        Whether to return the class of every row instead of the known ones.
    random_state : None, int, Generator, SeedSequence or RandomState
        Source of chance.

    Returns
    -------
    X : ndarray of shape (n, 2)
        The labelled rows first.
    y : ndarray of shape (n,)
        0, 1, or -1 for unknown.

    Examples
    --------
    >>> from parsimon.datasets import make_three_clusters
    >>> X, y = make_three_clusters(random_state=0)
    >>> X.shape, y[:5].tolist()
    ((150, 2), [1, 0, 1, 0, -1])
    """
    check_count("n", n, least=3)
    check_count("n_labelled", n_labelled, least=2)
    # Rows go round the clusters, the middle one last; it has no label.
    ends = np.flatnonzero(np.arange(n) % 3 < 2)
    if n_labelled > len(ends):
        raise InvalidInputError(
            f"n_labelled is {n_labelled}, but the top and bottom clusters have only "
            f"{len(ends)} of the {n} rows."
        )
    X, truth = _clusters(n, _STACK, _STACK_CLASS, spread, random_state)
    known = ends[:n_labelled]
    order = np.concatenate([known, np.setdiff1d(np.arange(n), known)])
    truth = truth[order]
    return X[order], truth if all_labels else _known_first(truth, n_labelled)


def _clusters(
    n: int, centres: Array, classes: Indices, spread: float, random_state: Seed
) -> tuple[Array, Indices]:
    if not spread >= 0:
        raise InvalidInputError(f"spread must be 0 or more, got {spread}.")
    cluster = np.arange(n) % len(centres)
    steps = spread * generator(random_state).standard_normal((n, 2))
    return centres[cluster] + steps, classes[cluster].astype(np.intp)


def _known_first(truth: Indices, n_labelled: int) -> Indices:
    y = np.full(len(truth), -1, dtype=np.intp)
    y[:n_labelled] = truth[:n_labelled]
    return y
