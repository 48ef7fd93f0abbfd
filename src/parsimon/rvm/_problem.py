"""What is searched over: a design, classes, which rows are the same row, and how rows are split.

Read `RelevanceProblem` first. A search splits its rows in two halves, again and again
(`halves_for`), or in K folds once (`folds_for`). Equal rows are merged before a fit, since to a
model they are one row with a weight; to a split they are several rows, of which one may be held
out and another not (`RowSplit`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import check_choice, check_count
from parsimon._data import checked_weights
from parsimon._partition import homogeneous_partition, nearest_neighbour_walk, random_halves
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError

# Rows beyond which weights are not written out as repeated rows.
MOST_SINGLE_ROWS = 100_000


class DistinctRows(NamedTuple):
    """The distinct rows of a problem, stored so that a column is contiguous.

    columns (n_columns, n_distinct): The transposed design, one entry for each distinct row.
    which (n,): The distinct row of each row.
    """

    columns: Array
    which: Indices


@dataclass(frozen=True, eq=False)
class RelevanceProblem:
    """Classes to be told apart by a few columns of a design.

    design (n, n_columns): All basis functions at all training rows; column 0 is the bias if
        there is one.
    labels (n,): Class of each row, 0 to n_classes - 1; all of them occur.
    has_bias: Whether column 0 is a column of ones, which counts as no relevance vector.
    row_weights (n,): How many times each row counts, in the fit and in the rates.
    inputs (n, n_features): What the design was computed from: rows of two classes with equal
        inputs are treated as one row with a weight, and homogeneous partitions walk through them.
        The design itself if left out.
    """

    design: Array
    labels: AnyArray
    n_classes: int = 2
    has_bias: bool = False
    row_weights: Array | None = None
    inputs: Array | None = None

    def __post_init__(self) -> None:
        if self.design.ndim != 2 or self.design.shape[0] != len(self.labels):
            raise InvalidInputError(
                f"The design has shape {self.design.shape} and there are {len(self.labels)} "
                "labels; give one row of the design for each label."
            )
        if not np.isfinite(self.design).all():
            raise InvalidInputError("The design holds NaN or infinite entries; check the kernel.")
        if not np.isin(self.labels, range(self.n_classes)).all():
            raise InvalidInputError(
                f"Labels must be 0 to {self.n_classes - 1}; encode the {self.n_classes} classes "
                "first."
            )
        n_present = np.count_nonzero(np.bincount(self.codes, self.weights))
        if n_present < self.n_classes:
            raise InvalidInputError(
                f"Only {n_present} of {self.n_classes} classes occur in the rows that count; rates "
                "need rows of each."
            )
        if self.has_bias and self.n_columns < 2:
            raise InvalidInputError("The design holds the bias alone; give it a basis function.")

    @property
    def n_rows(self) -> int:
        """How many rows there are, repeated ones included."""
        return len(self.labels)

    @property
    def n_columns(self) -> int:
        """How many basis functions there are, the bias included."""
        return int(self.design.shape[1])

    @cached_property
    def codes(self) -> Indices:
        """The labels as indices, shape (n,)."""
        return np.asarray(self.labels).astype(np.intp)

    @cached_property
    def weights(self) -> Array:
        """How many times each row counts, shape (n,)."""
        return checked_weights(self.row_weights, len(self.labels))

    @property
    def places(self) -> Array:
        """Where each row is, for distances between rows: the inputs, else the design."""
        return self.design if self.inputs is None else self.inputs

    @cached_property
    def rows(self) -> DistinctRows:
        """The distinct rows, in the order of their first occurrence."""
        _, first, which = np.unique(self.places, axis=0, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        order = np.argsort(first)
        rank[order] = np.arange(len(first))
        columns = np.ascontiguousarray(self.design[first[order]].T, dtype=np.float64)
        return DistinctRows(columns, rank[which.ravel()])

    def counts(self, chosen: Mask) -> tuple[Array, Array]:
        """Return how many of the chosen rows of each class each distinct row stands for.

        Shapes: chosen (k, n) -> (k, n_distinct).
        """
        which, n_distinct = self.rows.which, self.rows.columns.shape[1]
        tables = [np.empty((len(chosen), n_distinct)) for _ in range(2)]
        for table, own in zip(tables, (self.labels, 1.0 - self.labels), strict=True):
            for part, rows in enumerate(chosen):
                table[part] = np.bincount(which, self.weights * own * rows, n_distinct)
        return tables[0], tables[1]


TWO_ARCHIVES = ("swap", "shuffle", "stratified", "homogeneous")

Halves = Callable[[np.random.Generator], Mask]


def halves_for(scheme: str, problem: RelevanceProblem) -> Halves:
    """Return a function that draws which rows are in the first half, shape (n,).

    Both classes occur in both halves: a draw at random is repeated until they do, and a walk
    through nearest neighbours is taken within each class if the walk through all rows fails.
    """
    check_choice("scheme", scheme, TWO_ARCHIVES)
    counted = np.where(problem.weights > 0, problem.labels, -1.0)
    if min(np.count_nonzero(counted == label) for label in (0, 1)) < 2:
        raise InvalidInputError(
            f'scheme="{scheme}" puts rows of both classes into two halves, but one class has a '
            "single row. Use scheme=None."
        )
    if scheme == "homogeneous":
        return WalkedHalves(problem.places, counted)
    groups = [np.flatnonzero(counted == label) for label in (0, 1)]
    if scheme != "stratified":
        groups = [np.sort(np.concatenate(groups))]
    return lambda rng: _random(groups, counted, rng)


def _random(groups: list[Indices], labels: Array, rng: np.random.Generator) -> Mask:
    while True:
        first = np.zeros(len(labels), dtype=np.bool_)
        first[random_halves(groups, rng)[0]] = True
        if _both_classes(first, labels):
            return first


def _both_classes(first: Mask, labels: Array) -> bool:
    halves = (labels[first], labels[~first])
    return all((half == label).any() for half in halves for label in (0, 1))


class WalkedHalves:
    """Deals rows alternately along walks through nearest neighbours (Aupetit 2009).

    A walk begins at the row furthest from a random one. Few rows are furthest from any other, so
    walks are remembered. Rows labelled -1, which do not count, are passed over.
    """

    def __init__(self, places: Array, labels: Array) -> None:
        self._places, self._labels = places, labels
        self._walks: dict[tuple[int, ...], Mask] = {}

    def __call__(self, rng: np.random.Generator) -> Mask:
        first = self._deal([np.flatnonzero(self._labels >= 0)], rng)
        if _both_classes(first, self._labels):
            return first
        return self._deal([np.flatnonzero(self._labels == label) for label in (0, 1)], rng)

    def _deal(self, groups: list[Indices], rng: np.random.Generator) -> Mask:
        starts = tuple(self._border(rows, rng) for rows in groups)
        if starts not in self._walks:
            walks = [
                rows[nearest_neighbour_walk(self._places[rows], start=start)]
                for rows, start in zip(groups, starts, strict=True)
            ]
            first = np.zeros(len(self._labels), dtype=np.bool_)
            first[np.concatenate(walks)[::2]] = True
            self._walks[starts] = first
        return self._walks[starts]

    def _border(self, rows: Indices, rng: np.random.Generator) -> int:
        places = self._places[rows]
        chosen = places[int(rng.random() * len(rows))]
        return int(((places - chosen) ** 2).sum(axis=1).argmax())


def folds_for(scheme: Any, problem: RelevanceProblem, rng: np.random.Generator) -> Indices:
    """Return the fold of each row, shape (n,): given, or K nearly homogeneous ones.

    Shapes: scheme (n,).
    """
    if np.ndim(scheme) == 0:
        n_folds = check_count("The number of folds", scheme, least=2)
        counted = np.flatnonzero(problem.weights > 0)
        dealt = np.zeros(problem.n_rows, dtype=np.intp)
        dealt[counted] = homogeneous_partition(problem.places[counted], n_folds, random_state=rng)
        return dealt
    folds = np.asarray(scheme)
    if folds.shape != problem.labels.shape:
        raise InvalidInputError(
            f"There are {problem.n_rows} rows but the folds have shape {folds.shape}; give the "
            "fold of each row."
        )
    names, codes = np.unique(folds, return_inverse=True)
    if len(names) < 2:
        raise InvalidInputError("All rows are in one fold; give at least two folds.")
    return codes.astype(np.intp)


class RowSplit(NamedTuple):
    """The rows of a search, in terms of the merged rows.

    each (n_rows,): Which merged row each row is.
    weights (n_rows,): How many times it counts.
    folds (n_rows,): In which fold it is held out.
    """

    each: Indices
    weights: Array
    folds: Indices | None = None

    def held(self, n_merged: int) -> Array | None:
        """Return how much of each merged row is held out in each fold, if there are folds."""
        if self.folds is None:
            return None
        table = np.zeros((int(self.folds.max()) + 1, n_merged))
        np.add.at(table, (self.folds, self.each), self.weights)
        return table


def single_rows(weights: Array) -> RowSplit:
    """Return merged rows as single ones.

    Weights that are no whole numbers, or that stand for very many rows, stay weights.

    Shapes: weights (n_merged,).
    """
    if (weights != weights.round()).any() or weights.sum() > max(MOST_SINGLE_ROWS, len(weights)):
        return RowSplit(np.arange(len(weights)), weights)
    each = np.repeat(np.arange(len(weights)), weights.astype(np.intp))
    return RowSplit(each, np.ones(len(each)))


def homogeneous_split(
    inputs: Array, weights: Array, n_folds: int, random_state: Seed = None
) -> RowSplit:
    """Return single rows in folds that look alike.

    Shapes: inputs (n_merged, d), weights (n_merged,).
    """
    rows = single_rows(weights)
    n_folds = min(n_folds, len(rows.each))
    folds = homogeneous_partition(inputs[rows.each], n_folds, random_state=random_state)
    return rows._replace(folds=folds)


def given_split(cv: Any, X: Array, y: AnyArray, weights: Array, merged: Indices) -> RowSplit:
    """Return the rows in the folds of a splitter.

    Shapes: X (n_given, d), y (n_given,), weights (n_given,), merged (n_given,).
    """
    from sklearn.model_selection import check_cv

    try:
        parts = list(check_cv(cv, y, classifier=True).split(X, y))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            "cv must be None, a number of folds, a splitter, an iterable of (train, test), or one "
            f'of "swap", "shuffle", "stratified", "homogeneous"; {error}'
        ) from error
    times = np.bincount(np.concatenate([test for _, test in parts]), minlength=len(X))
    if len(parts) < 2 or (times != 1).any():
        raise InvalidInputError(
            f"cv must have two folds or more and hold every row out once, but it has "
            f"{len(parts)} and holds rows out {times.min()} to {times.max()} times."
        )
    folds = np.empty(len(X), dtype=np.intp)
    for number, (_, test) in enumerate(parts):
        folds[test] = number
    used = merged >= 0
    table = np.zeros((len(parts), int(merged.max()) + 1))
    np.add.at(table, (folds[used], merged[used]), weights[used])
    occupied, each = np.nonzero(table)
    # Folds of rows without weight are none.
    return RowSplit(
        each, table[occupied, each], np.unique(occupied, return_inverse=True)[1].astype(np.intp)
    )
