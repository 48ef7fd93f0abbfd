"""The two stages of Mierswa (2009), section 7.3 and 7.4: trees are bred, then few of them are kept.

Genetic programming breeds trees by their fitness alone. Of the best a (1 + 1) evolutionary
algorithm keeps a subset in 200 steps, by the cross-validated accuracy of a linear support vector
machine.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from parsimon._random import seed_sequence
from parsimon._typing import Array, Indices
from parsimon.features.series import MethodTree, SeriesTable, candidate_trees, tree_values
from parsimon.features.series.tree_search import (
    Targets,
    TreeSearch,
    quick_fitness,
    standardise_features,
    unlike,
)
from parsimon.pareto import Bits, evolution_strategy
from parsimon.pareto.run import SearchOptions, run

STEPS, FOLDS = 200, 5
# Trees that are bred from and among which a subset is looked for, and rows that judge subsets.
PARENTS, POOL, MOST_ROWS = 60, 40, 200
ROWS_A_GENERATION, MOST_GENERATIONS = 40, 10


@dataclass(frozen=True, eq=False)
class TwoStages:
    """The features that were kept, and a linear machine of them."""

    trees_: list[MethodTree]
    classes_: Indices
    machine: SVC
    centre: Array
    scale: Array
    seconds_: float

    def transform(self, X: Any) -> Array:
        """Return the features of series, shape (m, n_features)."""
        return tree_values(self.trees_, X)

    def predict_proba(self, X: Any) -> Array:
        """Return shares of the classes that grow with the distance from the boundary, (m, q)."""
        found: Array = softmax(
            _decisions(self.machine, (self.transform(X) - self.centre) / self.scale), axis=1
        )
        return found

    def predict(self, X: Any) -> Indices:
        """Return the class of each series, shape (m,)."""
        predicted: Indices = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return predicted


def search_in_two_stages(
    X: Array, y: Indices, most: int, max_iter: int | None = None, seed: int = 0
) -> TwoStages:
    """Return at most so many features of series that separate classes; X (n, length), y (n,)."""
    begin = time.monotonic()
    table, (classes, codes) = SeriesTable(X), np.unique(y, return_inverse=True)
    targets = Targets.of_classes(codes)
    _, breeding, subsets = seed_sequence(seed).spawn(3)
    search = TreeSearch(table, targets, PARENTS)
    search.list_first(candidate_trees(table.length, table.n_channels))
    generations = min(len(y) // ROWS_A_GENERATION, MOST_GENERATIONS)
    bred, _ = run(
        search,
        SearchOptions(generations if max_iter is None else max_iter, random_state=breeding),
    )
    places = unlike(quick_fitness(bred.Z, targets), bred.Z, POOL)
    drawing, evolving = subsets.spawn(2)
    few = _some_rows(codes, np.random.default_rng(drawing))
    mask = _kept_subset(bred.Z[np.ix_(few, places)], codes[few], most, evolving)
    trees = [bred.trees[place] for place in places[mask]]
    Z, centre, scale = standardise_features(tree_values(trees, table))
    machine = SVC(kernel="linear").fit(Z, codes)
    return TwoStages(trees, classes, machine, centre, scale, time.monotonic() - begin)


def _some_rows(codes: Indices, rng: np.random.Generator) -> Indices:
    """Return all rows, or as many of each class in proportion."""
    if len(codes) <= MOST_ROWS:
        return np.arange(len(codes))
    order, share = rng.permutation(len(codes)), np.empty(len(codes))
    for code in np.unique(codes):
        own = order[codes[order] == code]
        share[own] = (np.arange(len(own)) + 0.5) / len(own)
    return np.sort(np.argsort(share, kind="stable")[:MOST_ROWS])


def _kept_subset(Z: Array, codes: Indices, most: int, seed: Any) -> Any:
    """Return which columns the evolutionary algorithm keeps, shape (d,)."""
    d = Z.shape[1]
    most = min(most, d)
    known: dict[bytes, float] = {}

    def evaluate(bits: Any) -> tuple[Array, Array]:
        beyond = np.maximum(bits.sum(axis=1) - most, 0.0)
        losses = np.full(len(bits), 10.0)
        for row, mask in enumerate(bits.astype(bool)):
            if 0 < mask.sum() <= most:
                key = mask.tobytes()
                if key not in known:
                    known[key] = machine_error(Z[:, mask], codes)
                losses[row] = known[key]
        return losses, beyond

    ranked = np.tri(most, d, dtype=bool)
    evaluate(ranked)
    evolution_strategy(
        evaluate,
        Bits(d, share=min(0.5, most / d)),
        start=ranked[[most // 2]],
        population_size=1,
        max_iter=STEPS,
        selection="plus",
        n_children=1,
        crossover=None,
        random_state=seed,
    )
    masks = [np.frombuffer(key, dtype=bool) for key in known]
    # Of equally good subsets the smallest.
    best = min(zip(known.values(), masks, strict=True), key=lambda each: (each[0], each[1].sum()))
    return best[1]


def machine_error(Z: Array, codes: Indices) -> float:
    """Return the share of rows left out that a linear machine gets wrong, in five folds."""
    n_folds = min(FOLDS, int(np.bincount(codes).min()))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    wrong = 0
    for train, test in folds.split(Z, codes):
        machine = SVC(kernel="linear").fit(Z[train], codes[train])
        told = machine.classes_[_decisions(machine, Z[test]).argmax(axis=1)]
        wrong += int((told != codes[test]).sum())
    return round(wrong / len(codes), 12)


def _decisions(machine: SVC, Z: Array) -> Array:
    """Return how far rows are on the side of each class, (m, q)."""
    found: Array = machine.decision_function(Z)
    return np.column_stack((-found, found)) if found.ndim == 1 else found
