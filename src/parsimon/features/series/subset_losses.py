"""What subsets of features are worth, by errors of rows left out, and the search for the best.

`SubsetLosses` asks one of two learners: kernel ridge regression (`smooth`), or linear support
vector machines, as Mierswa (2009, section 7.4) does. `search_subsets` is NSGA-II for the first and
his (1 + 1) evolutionary algorithm for the second.
"""

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from parsimon._random import Seed
from parsimon._typing import Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.features.series.cost import tree_cost
from parsimon.features.series.smooth import Folds, smooth_fit
from parsimon.features.series.trees import MethodTree
from parsimon.pareto import Bits, evolution_strategy, nsga2

_DIGITS = 12
# Steps with one parent and one child, and folds that tell the accuracy of machines.
_SINGLE_STEPS, _MACHINE_FOLDS = 200, 5


def linear_machine(Z: Array, T: Array) -> SVC:
    """Return a linear support vector machine of features (n, k) and indicators (n, q)."""
    return SVC(kernel="linear").fit(Z, T.argmax(axis=1))


def machine_decisions(machine: SVC, Z: Array) -> Array:
    """Return how far rows are on the side of each class, (m, q)."""
    found: Array = machine.decision_function(Z)
    return np.column_stack((-found, found)) if found.ndim == 1 else found


def machine_left_out(Z: Array, T: Array, folds: Folds | None) -> tuple[float, Array]:
    """Return the mean square and, as indicators (n, q), the classes told to rows left out.

    Each of the folds that are made if none are given has all classes.
    """
    codes = T.argmax(axis=1)
    if folds is None:
        fewest = int(np.bincount(codes).min())
        if fewest < 2:
            raise InvalidInputError(
                'subset_search="one_plus_one" needs two series of each class, got one.'
            )
        splitter = StratifiedKFold(min(_MACHINE_FOLDS, fewest), shuffle=True, random_state=0)
        folds = list(splitter.split(Z, codes))
    left_out = np.full_like(T, np.nan)
    for train, test in folds:
        machine = linear_machine(Z[train], T[train])
        told = machine.classes_[machine_decisions(machine, Z[test]).argmax(axis=1)]
        left_out[test] = np.eye(T.shape[1])[told]
    return float(np.nanmean((T - left_out) ** 2)), left_out


class SubsetLosses:
    """Errors of subsets of the pool for rows left out, each computed once.

    known: Loss and outputs of rows left out by the bytes of a mask.
    """

    def __init__(
        self,
        Z: Array,
        T: Array,
        trees: list[MethodTree],
        length: int,
        folds: Folds | None,
        is_linear: bool,
    ) -> None:
        self.Z, self.T, self.trees, self.length, self.folds = Z, T, trees, length, folds
        self.is_linear = is_linear
        self.known: dict[bytes, tuple[float, Array]] = {}

    @property
    def constant(self) -> Array:
        """What is told without features, (q,): the means, or the class with the most rows."""
        if self.is_linear:
            largest: Array = np.eye(self.T.shape[1])[self.T.sum(axis=0).argmax()]
            return largest
        means: Array = self.T.mean(axis=0)
        return means

    def __call__(self, masks: Mask, most: int) -> Array:
        """Return error, size and cost: (B, d) -> (B, 3); of no use for subsets beyond limits."""
        found = np.zeros((len(masks), 3))
        for row, mask in zip(found, masks.astype(bool), strict=True):
            if 0 < mask.sum() <= most:
                row[:] = self.objectives(mask)
            else:
                row[:] = float((self.T**2).mean()) * 10.0, mask.sum(), 0.0
        return found

    def objectives(self, mask: Mask) -> list[float]:
        """Return error, size and cost of a subset."""
        key = np.ascontiguousarray(mask).tobytes()
        if key not in self.known:
            self.known[key] = self._left_out(self.Z[:, mask])
        cost = tree_cost([self.trees[at] for at in np.flatnonzero(mask)], self.length)
        return [round(self.known[key][0], _DIGITS), float(mask.sum()), round(cost, 3)]

    def _left_out(self, Z: Array) -> tuple[float, Array]:
        if self.is_linear:
            return machine_left_out(Z, self.T, self.folds)
        fit = smooth_fit(Z, self.T, self.folds)
        return fit.loss, fit.left_out


def search_subsets(
    losses: SubsetLosses,
    ranked: Mask,
    generations: int,
    *,
    time_limit: float | None,
    random_state: Seed,
) -> str:
    """Evaluate good subsets, and return why that ended.

    ranked (most, d): The first feature, the first two, and so on.
    """
    most, n_trees = ranked.shape
    space = Bits(n_trees, share=min(0.5, most / n_trees))
    limits: dict[str, Any] = {"time_limit": time_limit, "random_state": random_state}

    def beyond(bits: Mask) -> Array:
        found: Array = np.maximum(bits.sum(axis=1) - most, 0.0)
        return found

    if losses.is_linear:
        return evolution_strategy(
            lambda bits: (losses(bits, most)[:, 0], beyond(bits)),
            space,
            start=ranked[[most // 2]],
            population_size=1,
            max_iter=_SINGLE_STEPS,
            selection="plus",
            n_children=1,
            crossover=None,
            **limits,
        ).stopped_by
    return nsga2(
        lambda bits: (losses(bits, most), beyond(bits)),
        space,
        start=ranked,
        population_size=40,
        max_iter=generations,
        **limits,
    ).stopped_by
