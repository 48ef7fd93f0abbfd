"""How the rows are split: in two halves, again and again, or in K folds once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from parsimon._options import check_choice, check_count
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.partition import homogeneous_partition, nearest_neighbour_walk, random_halves
from parsimon.rvm.search.problem import Problem

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
