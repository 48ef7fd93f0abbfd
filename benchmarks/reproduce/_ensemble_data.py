"""Tables for averages of label-only classifiers, and the best ROC areas that can be had on them."""

import numpy as np

from benchmarks.data_folder import point_to_data
from benchmarks.reproduce._clark_data import Split, load_split
from parsimon._typing import Array
from parsimon.datasets import load

# Ripley's two classes of two Gaussians, variance 0.03 (see `parsimon.datasets.make_ripley`).
_CENTRES = {0: ((-0.7, 0.3), (0.3, 0.3)), 1: ((-0.3, 0.7), (0.4, 0.7))}
_VARIANCE = 0.03


def table(name: str, number: int = 0) -> Split:
    """Return training and test rows; Ripley has one split."""
    if name != "Ripley":
        return load_split(name, number)
    point_to_data()
    data = load("ripley")
    X, y = np.asarray(data.data, dtype=np.float64), np.asarray(data.target)
    codes = (y == np.unique(y)[1]).astype(np.float64)
    return Split(X[:250], codes[:250], X[250:], codes[250:])


def ripley_ratio(X: Array) -> Array:
    """Return the log density ratio of Ripley's classes, shape (n,)."""
    logs = []
    for label in (1, 0):
        distance = ((X[:, None, :] - np.array(_CENTRES[label])) ** 2).sum(axis=2)
        logs.append(np.logaddexp.reduce(-distance / (2 * _VARIANCE), axis=1))
    ratio: Array = logs[0] - logs[1]
    return ratio


def waveform_ratio(X: Array, n_nodes: int = 200) -> Array:
    """Return the log density ratio of Raetsch's waveform, shape (n,).

    Breiman's three mixtures of triangles with unit noise; the positive class mixes the first and
    the third. The share of the mixture is integrated numerically. Raetsch's rows have mean 0 and
    deviation 1, which is undone by the mean and the deviation of the density.
    """
    base = np.arange(1, 22)
    peaks = [np.maximum(6 - np.abs(base - centre), 0) for centre in (11, 15, 7)]
    pairs = [(peaks[a], peaks[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    mean = np.mean([(a + b) / 2 for a, b in pairs], axis=0)
    square = np.mean([(a * a + a * b + b * b) / 3 for a, b in pairs], axis=0)
    X = X * np.sqrt(1.0 + square - mean**2) + mean
    shares = (np.arange(n_nodes) + 0.5) / n_nodes
    logs = {}
    for first, second in ((0, 1), (0, 2), (1, 2)):
        centres = shares[:, None] * peaks[first] + (1 - shares)[:, None] * peaks[second]
        distance = ((X[:, None, :] - centres) ** 2).sum(axis=2)
        logs[first, second] = np.logaddexp.reduce(-distance / 2, axis=1)
    ratio: Array = logs[0, 2] - np.logaddexp(logs[0, 1], logs[1, 2])
    return ratio
