"""The search for trees: filters that agree, and genetic programming over method trees.

`rank_features` orders columns by what several filters say together, and drops those that repeat a
better one. `TreeSearch` breeds trees from the best of the listed ones (Mierswa, 2009, section 7.3):
tournaments, crossover, mutation, and a population whose members differ from each other.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from parsimon._interrupts import as_one_piece
from parsimon._parallel import Workers, n_workers
from parsimon._received import read_json
from parsimon._typing import Array, Indices
from parsimon._writing import warn_if_unwritten, write_file
from parsimon.exceptions import InvalidInputError
from parsimon.features.series.candidates import cross_trees, mutate_tree
from parsimon.features.series.evaluate import SeriesTable, tree_values
from parsimon.features.series.trees import MethodTree, parse_tree

Task = Literal["classification", "regression", "unsupervised"]
# Columns that vary less than rounding are constant.
_CONSTANT = 1e-9
# Trees of the forest that tells which columns work together: one for so many columns.
_COLUMNS_A_TREE, _FEWEST_TREES, _MOST_TREES = 5, 50, 2000
_TOURNAMENT = 0.25
# Columns are alike from this correlation on.
_ALIKE = 0.8


class Targets(NamedTuple):
    """What features are to tell: the task, class codes or None, and numbers (n, q)."""

    task: Task
    codes: Indices | None
    T: Array

    @classmethod
    def of_classes(cls, codes: Indices) -> "Targets":
        """Return indicators of classes."""
        T = (codes[:, None] == np.arange(codes.max() + 1)).astype(float)
        return cls("classification", codes, T)

    @classmethod
    def of_numbers(cls, y: Array) -> "Targets":
        """Return numbers in units of their spread; all equal ones are 0."""
        spread = y.std()
        return cls("regression", None, ((y - y.mean()) / (spread or 1.0))[:, None])

    @classmethod
    def of_columns(cls, Z: Array, most: int = 10) -> "Targets":
        """Return the first principal components of standardised columns: what is to be kept."""
        values, vectors = np.linalg.eigh(Z @ Z.T / Z.shape[1])
        first = np.argsort(-values, kind="stable")[: min(most, len(Z) - 1)]
        scores = vectors[:, first] * np.sqrt(np.maximum(values[first], 0.0) * len(Z))
        sign = np.sign(vectors[np.abs(vectors[:, first]).argmax(axis=0), first])
        return cls("unsupervised", None, scores * sign / np.sqrt((scores**2).sum() / len(Z)))

    def of(self, rows: Indices) -> "Targets":
        """Return those of some rows."""
        return Targets(self.task, None if self.codes is None else self.codes[rows], self.T[rows])


def standardise_features(V: Array) -> tuple[Array, Array, Array]:
    """Return columns with mean 0 and spread 1 (constant ones are 0), means and spreads."""
    centre, spread = V.mean(axis=0), V.std(axis=0)
    varies = spread > _CONSTANT * (1.0 + np.abs(centre))
    scale = np.where(varies, spread, np.inf)
    return (V - centre) / scale, centre, scale


def explained_shares(Z: Array, targets: Targets) -> Array:
    """Return the share of targets' variance along each column, or of a column's by class: (M,)."""
    if targets.codes is not None:
        means = [Z[targets.codes == code].mean(axis=0) for code in np.unique(targets.codes)]
        sizes = np.unique(targets.codes, return_counts=True)[1]
        found: Array = (sizes[:, None] * np.array(means) ** 2).sum(axis=0) / len(Z)
        return found
    centred = targets.T - targets.T.mean(axis=0)
    total = max((centred**2).mean() * centred.shape[1], 1e-300)
    share: Array = ((Z.T @ centred / len(Z)) ** 2).sum(axis=1) / total
    return share


def order_agreement(Z: Array, targets: Targets) -> Array:
    """Return how well the order of each column tells the targets: (M,)."""
    ranks = rankdata(Z, axis=0)
    if targets.codes is None:
        own = rankdata(targets.T, axis=0)
        ranks, own = standardise_features(ranks)[0], standardise_features(own)[0]
        weight = (targets.T**2).mean(axis=0)
        told: Array = np.abs(ranks.T @ own / len(Z)) @ weight / max(weight.sum(), 1e-300)
        return told
    total = np.zeros(Z.shape[1])
    for code in np.unique(targets.codes):
        inside = targets.codes == code
        n, m = inside.sum(), (~inside).sum()
        area = (ranks[inside].sum(axis=0) - n * (n + 1) / 2) / max(n * m, 1)
        total += np.abs(area - 0.5)
    return total


def forest_importances(Z: Array, targets: Targets, seed: int) -> Array:
    """Return what each column is worth to a forest of random trees: (M,)."""
    n_trees = int(np.clip(Z.shape[1] // _COLUMNS_A_TREE, _FEWEST_TREES, _MOST_TREES))
    if targets.codes is not None:
        forest = ExtraTreesClassifier(n_trees, random_state=seed).fit(Z, targets.codes)
    else:
        T = targets.T[:, 0] if targets.T.shape[1] == 1 else targets.T
        forest = ExtraTreesRegressor(n_trees, max_features="sqrt", random_state=seed).fit(Z, T)
    found: Array = forest.feature_importances_
    return found


def quick_fitness(Z: Array, targets: Targets) -> Array:
    """Return the fitness of columns one by one, by both filters that are quick: (M,)."""
    high = 0.5 * (targets.T.shape[1] if targets.codes is not None else 2.0)
    return explained_shares(Z, targets) + order_agreement(Z, targets) / high


def rank_features(
    Z: Array, targets: Targets, most: int, *, limit: float = _ALIKE, seed: int = 0
) -> Indices:
    """Return the best columns in the order of the filters' mean rank; the forest counts twice.

    A column whose correlation with a better one is `limit` or more is left out.

    Shapes: Z (n, M) -> at most `most` places.
    """
    places = -2.0 * rankdata(-forest_importances(Z, targets, seed))
    for score in (explained_shares(Z, targets), order_agreement(Z, targets)):
        places -= rankdata(-score.round(12))
    return unlike(places, Z, most, limit)


def unlike(score: Array, Z: Array, most: int, limit: float = _ALIKE) -> Indices:
    """Return columns by falling score, without those like a better one: at most `most`."""
    length = np.sqrt((Z**2).sum(axis=0))
    left = length > 0
    U = Z / np.where(left, length, 1.0)
    chosen: list[int] = []
    score = np.where(left, score, -np.inf)
    while len(chosen) < most and np.isfinite(score).any():
        best = int(score.argmax())
        chosen.append(best)
        score = np.where(np.abs(U.T @ U[:, best]) >= limit, -np.inf, score)
        score[best] = -np.inf
    return np.array(chosen, dtype=np.intp)


# Parts of the first trees between which time is looked at; the golden ratio mixes them.
_PARTS, _GOLDEN = 32, 0.618034


def many_values(trees: Sequence[MethodTree], table: SeriesTable, n_jobs: int | None) -> Array:
    """Return the values of trees, (n, M), by several workers if wished: the same bits."""
    parts = n_workers(n_jobs)
    if parts <= 1 or len(trees) < 10 * parts:
        return tree_values(trees, table)
    cuts = np.linspace(0, len(trees), parts + 1).astype(int)
    calls = [(list(trees[a:b]), table) for a, b in pairwise(cuts)]
    with Workers(n_jobs) as workers:
        return np.concatenate(list(workers.map(tree_values, calls)), axis=1)


@dataclass
class TreeSearch:
    """Trees bred for a data set.

    table, targets: Of the rows that are searched with.
    trees, Z: All trees so far that vary, and their standardised values (n, M).
    """

    table: SeriesTable
    targets: Targets
    population_size: int
    rng: np.random.Generator
    n_jobs: int | None = 1
    trees: list[MethodTree] = field(default_factory=list)
    Z: Array = field(default_factory=lambda: np.zeros((0, 0)))
    n_evaluations: int = 0

    def add(self, trees: Iterable[MethodTree]) -> None:
        """Compute trees that are new, and keep those that vary."""
        known = set(self.trees)
        new = [tree for tree in dict.fromkeys(trees) if tree not in known]
        if not new:
            return
        self.n_evaluations += len(new)
        Z = standardise_features(many_values(new, self.table, self.n_jobs))[0]
        varies = (Z != 0).any(axis=0)
        trees = self.trees + [tree for tree, kept in zip(new, varies, strict=True) if kept]
        Z = np.concatenate((self.Z, Z[:, varies]), axis=1) if self.Z.size else Z[:, varies]
        # Both at once, since Ctrl-C may come between two calls.
        self.trees, self.Z = trees, Z

    def begin(self, trees: Sequence[MethodTree], deadline: float | None) -> None:
        """Add the first trees; with a deadline part by part, until it has passed.

        Parts are taken from all over the list, so that those in time are of every kind.
        """
        if deadline is None:
            self.add(trees)
            return
        parts = np.array_split(np.arange(len(trees)), _PARTS)
        for place in np.argsort(_GOLDEN * np.arange(_PARTS) % 1):
            self.add([trees[k] for k in parts[place]])
            if self.trees and time.monotonic() >= deadline:
                break
        # With time for all of them it is as if there were no deadline.
        order = {tree: place for place, tree in enumerate(trees)}
        places = sorted(range(len(self.trees)), key=lambda k: order[self.trees[k]])
        self.trees, self.Z = [self.trees[k] for k in places], self.Z[:, places]

    def evolve(
        self, max_iter: int, deadline: float | None, checkpoint: str | Path | None, key: str
    ) -> tuple[int, str]:
        """Breed for some generations; return how many there were, and why they ended."""
        generation = self._resume(checkpoint, key)
        fitness = quick_fitness(self.Z, self.targets)
        with as_one_piece() as interrupt:
            try:
                while generation < max_iter:
                    if deadline is not None and time.monotonic() > deadline:
                        return generation, "time_limit"
                    fitness = self._breed(fitness)
                    generation += 1
                    self._save(checkpoint, key, generation)
            except KeyboardInterrupt as error:
                interrupt.answer(error)
                return generation, "interrupt"
        return max_iter, "max_iter"

    def _breed(self, fitness: Array) -> Array:
        """Add a generation of children; return the fitness of all trees."""
        parents = unlike(fitness, self.Z, self.population_size, 0.95)
        before = self.Z.shape[1]
        self.add(self._children(parents, fitness))
        if self.Z.shape[1] == before:
            return fitness
        return np.concatenate((fitness, quick_fitness(self.Z[:, before:], self.targets)))

    def _children(self, parents: Indices, fitness: Array) -> list[MethodTree]:
        """Return as many children as there are parents; both parents of a child by tournament."""
        size = max(2, int(np.ceil(_TOURNAMENT * len(parents))))
        found = []
        for _ in range(len(parents)):
            pairs = self.rng.choice(parents, size=(2, size))
            one, other = (self.trees[pair[fitness[pair].argmax()]] for pair in pairs)
            child = cross_trees(one, other, self.rng) if self.rng.random() < 0.5 else one
            is_new = child not in (one, other) and self.rng.random() < 0.5
            found.append(child if is_new else mutate_tree(child, self.rng))
        return found

    def _save(self, checkpoint: str | Path | None, key: str, generation: int) -> None:
        if checkpoint is None:
            return
        state = self.rng.bit_generator.state
        stored = {
            "key": key,
            "generation": generation,
            "n_evaluations": self.n_evaluations,
            "state": state,
            "trees": [str(tree) for tree in self.trees],
        }
        with warn_if_unwritten():
            write_file(checkpoint, json.dumps(stored))

    def _resume(self, checkpoint: str | Path | None, key: str) -> int:
        """Go on from a file, if it is there; return the generation."""
        if checkpoint is None or not Path(checkpoint).exists():
            return 0
        try:
            stored = read_json(Path(checkpoint).read_text(encoding="utf-8"))
            trees, generation = stored["trees"], stored["generation"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InvalidInputError(
                f"{checkpoint} is no checkpoint of a search; remove it."
            ) from error
        if stored["key"] != key:
            raise InvalidInputError(
                f"{checkpoint} belongs to other series or options; remove it or name another file."
            )
        self.add(parse_tree(text) for text in trees)
        self.n_evaluations = int(stored["n_evaluations"])
        self.rng.bit_generator.state = stored["state"]
        return int(generation)


def search_key(table: SeriesTable, targets: Targets, options: dict[str, Any]) -> str:
    """Return what tells whether a checkpoint belongs to this search."""
    digest = hashlib.sha256(json.dumps(options, sort_keys=True, default=str).encode())
    for signal in table.signals:
        for block in signal.blocks:
            digest.update(np.ascontiguousarray(block.values).tobytes())
    digest.update(np.ascontiguousarray(targets.T).tobytes())
    return digest.hexdigest()
