"""Guesses from the shape of the data: labels that spread along a graph of nearest neighbours.

They are starting points for the search over labellings and nothing else: what they guess is kept
only if the objective of the support vector machine says so.
"""

import numpy as np

from parsimon._typing import Array

# As in scikit-learn's LabelSpreading, a little firmer: labels travel far before they fade.
_SPREAD = 0.99


def squared_kernel_distances(kernel: Array) -> Array:
    """Return the squared distances in feature space, k(x,x) + k(z,z) - 2 k(x,z)."""
    diagonal = np.diag(kernel)
    distances: Array = diagonal[:, None] + diagonal[None, :] - 2.0 * kernel
    np.fill_diagonal(distances, 0.0)
    return distances


def neighbour_graph(distances: Array, n_neighbours: int) -> Array:
    """Return the normalised graph in which a row is joined to its nearest others.

    Shapes: distances (n, n) -> (n, n).
    """
    n = len(distances)
    away = distances.copy()
    np.fill_diagonal(away, np.inf)
    count = max(1, min(n_neighbours, n - 1))
    near = np.argsort(away, axis=1, kind="stable")[:, :count]
    links = np.zeros((n, n))
    np.put_along_axis(links, near, 1.0, axis=1)
    np.fill_diagonal(links, 0.0)
    links = np.maximum(links, links.T)
    roots = np.sqrt(np.maximum(links.sum(axis=1), 1.0))
    graph: Array = links / (roots[:, None] * roots[None, :])
    return graph


def spread_labels(graph: Array, known: Array) -> Array:
    """Return scores of all rows, positive where the positive labels reach more strongly.

    Each class has the same mass to give, so that the class with more labels does not flood the
    other.

    Shapes: graph (n, n), known (n,).

    Zhou, Bousquet, Lal, Weston and Schölkopf (2004), Advances in Neural Information Processing
    Systems 16:321-328.
    """
    sides = np.column_stack((known > 0, known < 0)).astype(np.float64)
    heat = np.linalg.solve(np.eye(len(graph)) - _SPREAD * graph, sides)
    mass = np.maximum(heat.sum(axis=0), np.finfo(np.float64).tiny)
    shares = heat / mass
    # Rows that no label reaches have no opinion; relative differences keep far rows in order.
    scores: Array = (shares[:, 0] - shares[:, 1]) / np.maximum(
        shares.sum(axis=1), np.finfo(np.float64).tiny
    )
    return scores


def spectral_splits(graph: Array, n_splits: int) -> Array:
    """Return scores whose signs cut the graph where it is thin, shape (n_splits, n).

    They are the leading eigenvectors after the trivial one, which is the root of the degrees
    (Shi and Malik 2000).
    """
    roots = np.sqrt(np.maximum(np.count_nonzero(graph, axis=1), 1.0))
    trivial = roots / np.linalg.norm(roots)
    _, vectors = np.linalg.eigh(graph - np.outer(trivial, trivial))
    splits = vectors[:, ::-1][:, :n_splits].T / roots
    # An eigenvector's sign is the library's whim; the largest entry decides instead.
    largest = np.take_along_axis(splits, np.abs(splits).argmax(axis=1)[:, None], axis=1)
    oriented: Array = splits * np.sign(largest)
    return oriented
