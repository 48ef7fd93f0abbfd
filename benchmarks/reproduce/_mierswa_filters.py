"""All scores of columns that Mierswa (2009, section 6.1) ranks by, and no learner takes part in."""

from collections.abc import Callable, Iterator
from itertools import combinations
from math import comb

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from parsimon._data import Task
from parsimon._typing import AnyArray, Array
from parsimon.features import _subset_search as quick
from parsimon.linalg import standardise_columns

# Subsets that FOCUS tries before it goes on greedily.
_MOST_TRIED = 3000


def _information_gain(X: Array, y: AnyArray, task: Task) -> Array:
    gain = mutual_info_classif if task == "classification" else mutual_info_regression
    found: Array = gain(standardise_columns(X), y, random_state=0)
    return found


def _component_weights(X: Array, y: AnyArray, task: Task) -> Array:  # noqa: ARG001
    weights: Array = np.abs(np.linalg.svd(standardise_columns(X), full_matrices=False)[2][0])
    return weights


def _relief(X: Array, y: AnyArray, task: Task) -> Array:
    """Return how much more columns differ between near rows of unlike targets than of like ones.

    ReliefF for classes, RReliefF for numbers, with ten neighbours (Robnik-Sikonja and Kononenko
    2003, Machine Learning 53:23-69), of at most 1,000 rows.
    """
    rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), 1000)).astype(np.intp))
    spread = np.ptp(X, axis=0)
    Z, y = (X / np.where(spread > 0, spread, 1.0))[rows], y[rows]
    distance = cdist(Z, Z, "cityblock")
    np.fill_diagonal(distance, np.inf)
    if task == "regression":
        return _relief_of_numbers(Z, y, distance)
    score = np.zeros(Z.shape[1])
    classes, sizes = np.unique(y, return_counts=True)
    for label, size in zip(classes, sizes, strict=True):
        own = np.flatnonzero(y == label)
        for other, n_other in zip(classes, sizes, strict=True):
            places = np.flatnonzero(y == other)
            k = min(10, n_other - (other == label))
            if k == 0:
                continue
            near = places[np.argsort(distance[np.ix_(own, places)], axis=1, kind="stable")[:, :k]]
            unlike = np.abs(Z[own][:, None] - Z[near]).mean(axis=1).sum(axis=0)
            share = -1.0 if other == label else n_other / (len(y) - size)
            score += share * unlike
    found: Array = score / len(y)
    return found


def _relief_of_numbers(Z: Array, y: Array, distance: Array) -> Array:
    k = min(10, len(y) - 1)
    near = np.argsort(distance, axis=1, kind="stable")[:, :k]
    rise = np.abs(y[:, None] - y[near]) / (np.ptp(y) or 1.0)
    unlike = np.abs(Z[:, None] - Z[near])
    both = np.einsum("nk,nkd->d", rise, unlike)
    total = rise.sum()
    found: Array = both / max(total, 1e-300) - (unlike.sum(axis=(0, 1)) - both) / max(
        rise.size - total, 1e-300
    )
    return found


def _focus(X: Array, y: AnyArray, task: Task) -> Array:
    """Return scores by which the smallest subset that tells rows of unlike targets apart is first.

    FOCUS (Almuallim and Dietterich 1991, AAAI-91:547-552), which knows levels alone: columns, and
    a target of numbers, are cut at their quartiles. A subset is good enough if rows that are alike
    in it have no more mixed targets than rows that are alike in all columns. All subsets are tried
    in order of size while they are few; beyond, columns are added one by one. What is left is
    ordered by how well each column tells alone.
    """
    levels = np.column_stack([_quartiles(column) for column in X.T])
    labels = np.unique(y if task == "classification" else _quartiles(y), return_inverse=True)[1]
    # A random number for each level of each column: rows alike in a subset have equal sums.
    weights = np.random.default_rng(0).integers(2**62, size=(X.shape[1], 5), dtype=np.uint64)
    marks = np.take_along_axis(weights, levels.T, axis=1)
    alone = np.array([_n_mixed(mark, labels) for mark in marks], dtype=np.float64)
    chosen = _least_consistent(marks, labels)
    score = -alone / len(labels) - 1.0
    order = sorted(chosen, key=lambda place: (alone[place], place))
    score[order] = np.arange(len(order), 0, -1)
    return score


def _quartiles(values: Array) -> AnyArray:
    """Return levels of a column: its own values if there are at most five."""
    known, codes = np.unique(values, return_inverse=True)
    if len(known) <= 5:
        return codes
    cuts = np.quantile(values, [0.25, 0.5, 0.75])
    return np.searchsorted(cuts, values, side="left")


def _n_mixed(mark: AnyArray, labels: AnyArray) -> int:
    """Return how many rows do not have the commonest label of the rows of their mark."""
    cells = np.unique(mark, return_inverse=True)[1]
    counts = np.zeros((cells.max() + 1, labels.max() + 1), dtype=np.intp)
    np.add.at(counts, (cells, labels), 1)
    return int(len(labels) - counts.max(axis=1).sum())


def _least_consistent(marks: AnyArray, labels: AnyArray) -> list[int]:
    """Return the smallest set of columns that mixes labels no more than all do; marks (d, n)."""
    d = len(marks)
    least = _n_mixed(marks.sum(axis=0), labels)
    tried = 0
    for size in range(1, d + 1):
        tried += comb(d, size)
        if tried > _MOST_TRIED:
            break
        found = ((_n_mixed(marks[list(one)].sum(axis=0), labels), one) for one in _of(d, size))
        best, places = min(found)
        if best <= least:
            return list(places)
    chosen: list[int] = []
    while not chosen or _n_mixed(marks[chosen].sum(axis=0), labels) > least:
        rest = [place for place in range(d) if place not in chosen]
        chosen.append(min(rest, key=lambda k: _n_mixed(marks[[*chosen, k]].sum(axis=0), labels)))
    return chosen


def _of(d: int, size: int) -> Iterator[tuple[int, ...]]:
    return combinations(range(d), size)


# Scores of the columns that know no subset, greater is better.
FILTERS: dict[str, Callable[[Array, AnyArray, Task], Array]] = {
    "variance ratio": quick.FILTERS["variance ratio"],
    "information gain": _information_gain,
    "Relief": _relief,
    "linear SVM": quick.FILTERS["linear SVM"],
    "principal component": _component_weights,
    "FOCUS": _focus,
}
