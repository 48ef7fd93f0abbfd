"""What is searched over: a design, two classes, and which of the rows are the same row.

How the rows are split: in two halves, again and again, or in K folds once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import check_choice, check_count
from parsimon._data import checked_weights
from parsimon._partition import homogeneous_partition, nearest_neighbour_walk, random_halves
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError


class DistinctRows(NamedTuple):
    """The distinct rows of a problem, stored so that a column is contiguous.

    columns (n_columns, n_distinct): The transposed design, one entry for each distinct row.
    which (n,): The distinct row of each row.
    """

    columns: Array
    which: Indices


@dataclass(frozen=True, eq=False)
class Problem:
    """Two classes to be told apart by a few columns of a design.

    design (n, n_columns): All basis functions at all training rows; column 0 is the bias if
        there is one.
    labels (n,): 0 or 1; both occur.
    has_bias: Whether column 0 is a column of ones, which counts as no relevance vector.
    row_weights (n,): How many times each row counts, in the fit and in the rates.
    inputs (n, n_features): What the design was computed from: rows with equal inputs are
        treated as one row with a weight, and homogeneous partitions walk through them. The
        design itself if left out.
    """

    design: Array
    labels: Array
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
        if not np.isin(self.labels, (0, 1)).all():
            raise InvalidInputError("Labels must be 0 or 1; encode the two classes first.")
        if min(self.class_weights) <= 0:
            raise InvalidInputError(
                "Only one class occurs in the rows that count; rates need rows of both."
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
    def weights(self) -> Array:
        """How many times each row counts, shape (n,)."""
        return checked_weights(self.row_weights, len(self.labels))

    @property
    def class_weights(self) -> tuple[float, float]:
        """Total weight of the rows labelled 0 and of those labelled 1."""
        ones = float(self.weights @ self.labels)
        return float(self.weights.sum()) - ones, ones

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


def halves_for(scheme: str, problem: Problem) -> Halves:
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
        first = self._dealt([np.flatnonzero(self._labels >= 0)], rng)
        if _both_classes(first, self._labels):
            return first
        return self._dealt([np.flatnonzero(self._labels == label) for label in (0, 1)], rng)

    def _dealt(self, groups: list[Indices], rng: np.random.Generator) -> Mask:
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


def folds_for(scheme: Any, problem: Problem, rng: np.random.Generator) -> Indices:
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
