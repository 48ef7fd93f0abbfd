"""The eight data sets of Clark (2011), chapter 3, split as in the source.

Five sets and their first ten splits are Raetsch's. Banana Subset is 100 rows of each Banana
training part, drawn with the classes kept in balance; Pima is Ripley's split and nine random ones
of the same sizes, standardised by the training rows; MNIST is 5 against the other digits at
13 x 13, 100 training images of each digit. Which images the source took is unknown, so there are
three draws of them, none in common. Draws the source does not give have a fixed seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.data_folder import point_to_data
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.datasets import load

RAETSCH = {
    "Banana": "raetsch_banana",
    "Banana Subset": "raetsch_banana",
    "Breast Cancer": "raetsch_breast_cancer",
    "Titanic": "raetsch_titanic",
    "Waveform": "raetsch_waveform",
    "German": "raetsch_german",
}
SUBSET_ROWS = 100
DRAWS_MNIST, IMAGES_PER_DIGIT = 3, 100


@dataclass(frozen=True)
class Split:
    """Training and test rows; labels are 0 and 1."""

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array


def n_splits(name: str) -> int:
    """Return how many splits there are of a data set: the source's ten, or draws of MNIST."""
    return DRAWS_MNIST if name == "MNIST" else 10


def load_split(name: str, number: int) -> Split:
    """Return split `number`, counted from 0."""
    X, y, parts, standardise = _table(name)
    train, test = parts[number]
    if name == "Banana Subset":
        train = _balanced_subset(train, y[train], seed=number)
    X_train, X_test = X[train], X[test]
    if standardise:
        centre, spread = X_train.mean(axis=0), X_train.std(axis=0)
        X_train, X_test = (X_train - centre) / spread, (X_test - centre) / spread
    return Split(X_train, y[train], X_test, y[test])


@cache
def _table(name: str) -> tuple[Array, Array, Sequence[tuple[Indices, Indices]], bool]:
    point_to_data()
    if name == "Pima":
        pima = load("pima_ripley")
        return (*_numbers(pima, "yes"), _pima_parts(np.asarray(pima.split) == "train"), True)
    if name == "MNIST":
        digits = load("mnist13")
        X, y = _numbers(digits, 5)
        test = np.flatnonzero(np.asarray(digits.split) == "test")
        train = np.flatnonzero(np.asarray(digits.split) == "train")
        draws = _draws_of_digits(train, np.asarray(digits.target)[train])
        return X / 255.0, y, [(draw, test) for draw in draws], False
    table = load(RAETSCH[name])
    return (*_numbers(table, 1), table.splits, False)


def _numbers(table: Any, positive: Any) -> tuple[Array, Array]:
    labels = (np.asarray(table.target) == positive).astype(np.float64)
    return table.data.to_numpy(dtype=np.float64), labels


def _pima_parts(ripley: Mask) -> list[tuple[Indices, Indices]]:
    train, test = np.flatnonzero(ripley), np.flatnonzero(~ripley)
    parts = [(train, test)]
    for seed in range(1, 10):
        order = np.random.default_rng(seed).permutation(len(ripley))
        parts.append((order[: len(train)], order[len(train) :]))
    return parts


def _draws_of_digits(rows: Indices, digits: AnyArray) -> list[Indices]:
    """Return the first 100 images of each digit, the next 100, and so on."""
    of_digit = [rows[digits == digit] for digit in range(10)]
    starts = range(0, DRAWS_MNIST * IMAGES_PER_DIGIT, IMAGES_PER_DIGIT)
    return [
        np.sort(np.concatenate([own[start : start + IMAGES_PER_DIGIT] for own in of_digit]))
        for start in starts
    ]


def _balanced_subset(rows: Indices, labels: Array, *, seed: int) -> Indices:
    """Draw 100 rows with each class in its share."""
    rng = np.random.default_rng(seed)
    n_positive = round(SUBSET_ROWS * float(labels.mean()))
    chosen = [
        rng.choice(rows[labels == label], size, replace=False)
        for label, size in ((1.0, n_positive), (0.0, SUBSET_ROWS - n_positive))
    ]
    return np.sort(np.concatenate(chosen))
