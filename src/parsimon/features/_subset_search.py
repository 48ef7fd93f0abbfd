"""The search for a front of subsets: all of them, or walks and then NSGA-II.

`search_subsets` decides which and runs it; the walks (`forward`, `backward`, `floating`, `prefixes`
of a ranking) go over units, which are columns or groups of columns.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice
from math import comb

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif, f_regression
from sklearn.svm import LinearSVC, LinearSVR

from parsimon._checks import check_probability
from parsimon._data import Task
from parsimon._deadline import end_after
from parsimon._interrupts import as_one_piece
from parsimon._typing import AnyArray, Array, Mask
from parsimon.features._subsets import Columns, SubsetErrors
from parsimon.linalg import standardise_columns
from parsimon.pareto import Bits, Front, nsga2
from parsimon.pareto.run import OutOfTime
from parsimon.pareto.space import Space

# Errors that are means in another order are equal.
DIGITS = 12
# Up to so many subsets, all are evaluated, which is enough for 15 columns; with more it limits the
# walks.
_MOST_SUBSETS = 2**15 - 1
# Of NSGA-II, which ends when the front has not improved for so many generations.
_POPULATION, _STALL = 40, 5
# Subsets that are listed at once.
_LISTED = 4096


@dataclass(frozen=True, eq=False)
class SubsetProblem:
    """Subsets of columns by their objectives: error, size and, if there are costs, cost.

    Walks over subsets of units return those that were passed, (k, g).

    most: The most columns of a subset.
    """

    errors: SubsetErrors
    columns: Columns
    most: int

    @property
    def names(self) -> list[str]:
        """What the objectives are called."""
        return ["error", "n_features", *([] if self.columns.costs is None else ["cost"])]

    @property
    def most_units(self) -> int:
        """The most units of a subset."""
        return min(len(self.columns.units), self.most)

    def excess(self, masks: Mask) -> Array:
        """Return by how many columns subsets are too large, or that they are empty."""
        sizes = masks.sum(axis=1)
        return np.where(sizes == 0, 1, np.maximum(sizes - self.most, 0)).astype(float)

    def values(self, masks: Mask) -> Array:
        """Return the objectives of subsets: (B, d) -> (B, 2 or 3)."""
        found = np.zeros(len(masks))  # of no use where a subset breaks the limits
        fine = self.excess(masks) == 0
        if fine.any():
            found[fine] = self.errors(masks[fine]).round(DIGITS)
        return self.objectives(masks, found)

    def objectives(self, masks: Mask, error: Array) -> Array:
        """Return the objectives of subsets of known errors, (B,)."""
        columns = [error, masks.sum(axis=1)]
        if self.columns.costs is not None:
            columns.append((masks @ self.columns.costs).round(DIGITS))
        return np.column_stack(columns).astype(float)

    def found(self) -> tuple[Mask, Array]:
        """Return the subsets on the front of all that were evaluated, and their objectives."""
        masks, error = self.errors.all_evaluated()
        fine = self.excess(masks) == 0
        masks, error = masks[fine], error[fine].round(DIGITS)
        values = self.objectives(masks, error)
        kept = Front(values, self.names, ties="first").rows
        return masks[kept], values[kept]

    def forward(self) -> Mask:
        """Add the unit that helps most, from none on."""
        here, passed = np.zeros(len(self.columns.units), dtype=np.bool_), []
        while here.sum() < self.most_units:
            here, _ = self._best(here, adding=True)
            passed.append(here)
        return np.array(passed)

    def backward(self) -> Mask:
        """Drop the unit that helps least, from all of them on."""
        here = np.ones(len(self.columns.units), dtype=np.bool_)
        passed = [here]
        while here.sum() > 1:
            here, _ = self._best(here, adding=False)
            passed.append(here)
        return np.array([subset for subset in passed if subset.sum() <= self.most_units])

    def floating(self) -> Mask:
        """Add the unit that helps most, then drop units while that beats what was known.

        Pudil, Novovicova and Kittler (1994), Pattern Recognition Letters 15:1119-1125.
        """
        here = np.zeros(len(self.columns.units), dtype=np.bool_)
        known: dict[int, tuple[float, Mask]] = {}
        while here.sum() < self.most_units:
            here, error = self._best(here, adding=True)
            if error < known.get(int(here.sum()), (np.inf,))[0]:
                known[int(here.sum())] = error, here
            else:
                here = known[int(here.sum())][1]
            while here.sum() > 2:
                less, error = self._best(here, adding=False)
                if not error < known.get(int(less.sum()), (np.inf,))[0]:
                    break
                known[int(less.sum())], here = (error, less), less
        return np.array([known[size][1] for size in sorted(known)])

    def prefixes(self, score: Array) -> Mask:
        """Return the best unit by a score of each column, the best two, and so on."""
        of_units = np.array([score[unit].max() for unit in self.columns.units])
        order = np.argsort(-of_units, kind="stable")
        bits = np.zeros((self.most_units, len(order)), dtype=np.bool_)
        for size in range(1, self.most_units + 1):
            bits[size - 1, order[:size]] = True
        self.errors(self.columns.masks(bits))
        return bits

    def _best(self, here: Mask, *, adding: bool) -> tuple[Mask, float]:
        """Return the best subset with one unit more or less, and its error."""
        places = np.flatnonzero(here != adding)
        near = np.repeat(here[None], len(places), axis=0)
        near[np.arange(len(places)), places] = adding
        found = self.errors(self.columns.masks(near))
        best = int(found.argmin())
        return near[best], float(found[best])


def search_subsets(
    problem: SubsetProblem, max_iter: int, time_limit: float | None, seed: np.random.SeedSequence
) -> tuple[bool, int, str]:
    """Evaluate all subsets if they are few enough, or those that a search passes.

    Returns whether all were evaluated, the generations, and why it ended.
    """
    g, most = len(problem.columns.units), problem.most_units
    least = 0 if problem.columns.fixed.any() else 1
    n_subsets = sum(comb(g, size) for size in range(least, most + 1))
    exact = n_subsets <= _MOST_SUBSETS
    problem.errors.deadline = end_after(time_limit)
    with as_one_piece() as interrupt:
        try:
            if not exact:
                return _evolve(problem, max_iter, seed)
            if time_limit is not None:
                # If time ends the list, there is something of every size.
                _walk(problem)
            for masks in _list_subsets(problem, least):
                problem.errors(masks)
        except OutOfTime:
            return False, 0, "time_limit"
        except KeyboardInterrupt as error:
            if not problem.errors.n_evaluated:
                raise
            interrupt.answer(error)
            return False, 0, "interrupt"
        finally:
            problem.errors.deadline = None
    return True, 1, "exhausted"


def _list_subsets(problem: SubsetProblem, least: int) -> Iterator[Mask]:
    """Yield all subsets, smaller ones first, (B, d) each."""
    g = len(problem.columns.units)
    sizes = range(least, problem.most_units + 1)
    every = chain.from_iterable(combinations(range(g), size) for size in sizes)
    while chosen := list(islice(every, _LISTED)):
        bits = np.zeros((len(chosen), g), dtype=np.bool_)
        for row, places in enumerate(chosen):
            bits[row, list(places)] = True
        masks = problem.columns.masks(bits)
        yield masks[masks.sum(axis=1) <= problem.most]


def _walk(problem: SubsetProblem) -> Mask:
    """Return what greedy walks and quick filters pass, (k, g)."""
    errors, g = problem.errors, len(problem.columns.units)
    most = min(problem.most_units, max(1, _MOST_SUBSETS // (3 * g)))
    walks = replace(problem, most=most)
    passed = [walks.forward(), walks.floating()]
    if g * g // 2 <= _MOST_SUBSETS // 3:
        passed.append(walks.backward())
    if np.isfinite(errors.X).all():
        table = errors.X, errors.y, errors.task
        passed += [walks.prefixes(score(*table)) for score in FILTERS.values()]
    return np.unique(np.concatenate(passed), axis=0)


def _evolve(
    problem: SubsetProblem, max_iter: int, seed: np.random.SeedSequence
) -> tuple[bool, int, str]:
    """Walk, then search with NSGA-II from the best that was passed."""
    columns = problem.columns
    g = len(columns.units)
    known = _walk(problem)
    if max_iter == 0:
        return False, 0, "max_iter"
    known = known[problem.excess(columns.masks(known)) == 0]
    start = known[Front(problem.values(columns.masks(known)), len(problem.names)).rows]
    result = nsga2(
        lambda bits: (problem.values(columns.masks(bits)), problem.excess(columns.masks(bits))),
        Bits(g, share=min(0.5, problem.most_units / g)),
        start=start[:_POPULATION],
        population_size=_POPULATION,
        max_iter=max_iter,
        stall=_STALL,
        crossover=CommonalityCrossover(),
        chunk_size=_POPULATION,
        random_state=seed,
    )
    return False, result.n_iter, result.stopped_by


@dataclass(frozen=True)
class CommonalityCrossover:
    """Keep what both parents have, and draw the rest so that children are as large as they were.

    A column that only one parent has goes to a child with the probability that keeps the expected
    size of that child's parent [1]_.

    Parameters
    ----------
    rate : float
        How often a pair is crossed at all.

    References
    ----------
    .. [1] Emmanouilidis, Hunter and MacIntyre (2000), Congress on Evolutionary Computation
       1:309-316.

    Examples
    --------
    >>> a = np.array([[True, True, True, False, False]])
    >>> b = np.array([[True, False, False, False, True]])
    >>> cross = CommonalityCrossover(rate=1.0)
    >>> first, second = cross(a, b, None, np.random.default_rng(0))
    >>> first[:, [0, 3]], second[:, [0, 3]]
    (array([[ True, False]]), array([[ True, False]]))
    """

    rate: float = 0.9

    def __post_init__(self) -> None:
        check_probability("rate", self.rate)

    def __call__(
        self,
        first: AnyArray,
        second: AnyArray,
        space: Space,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> tuple[AnyArray, AnyArray]:
        """Return the children of pairs of bit strings, (k, g) each."""
        shared, open_ = first & second, first ^ second
        n_open = np.maximum(open_.sum(axis=1, keepdims=True), 1)
        crossed = rng.random((len(first), 1)) < self.rate
        children = []
        for parent in (first, second):
            chance = (parent & ~shared).sum(axis=1, keepdims=True) / n_open
            child = shared | (open_ & (rng.random(first.shape) < chance))
            children.append(np.where(crossed, child, parent))
        return children[0], children[1]


def _variance_ratio(X: Array, y: AnyArray, task: Task) -> Array:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # constant columns, which come last
        ratio = (f_classif if task == "classification" else f_regression)(X, y)[0]
    return np.nan_to_num(ratio, nan=-1.0, posinf=np.finfo(float).max)


def _machine_weights(X: Array, y: AnyArray, task: Task) -> Array:
    if task == "classification":
        machine = LinearSVC(dual=False)
    else:
        machine = LinearSVR(dual=False, loss="squared_epsilon_insensitive")
        y = (y - y.mean()) / (y.std() or 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(standardise_columns(X), y)
    return np.abs(np.atleast_2d(machine.coef_)).max(axis=0)


# Scores of the columns that know no subset, greater is better (Mierswa 2009, section 6.1).
FILTERS: dict[str, Callable[[Array, AnyArray, Task], Array]] = {
    "variance ratio": _variance_ratio,
    "linear SVM": _machine_weights,
}
