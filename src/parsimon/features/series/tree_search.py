"""The search for trees: all short ones, filters that agree, and genetic programming.

`candidate_trees` lists what is tried on every data set. `rank_features` orders columns by what
several filters say together, and drops those that repeat a better one. `TreeSearch` breeds trees
from the best of the listed ones (Mierswa 2009, section 7.3): tournaments, `mutate_tree`,
`cross_trees`, and a population whose members differ from each other.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from parsimon._deadline import Deadline, is_late
from parsimon._parallel import Workers, n_workers
from parsimon._received import read_json
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.features.series.evaluate import SeriesTable, tree_values
from parsimon.features.series.tree_methods import METHODS, bounds_of
from parsimon.features.series.trees import MethodTree, TreeStep, parse_tree, step
from parsimon.pareto.run import Ending, Standing

_SHORT = ("mean", "deviation", "maximum", "minimum", "gradient", "median")
_LONG = (
    "place_of_maximum",
    "place_of_minimum",
    "quartile_range",
    "crossings",
    "above",
    "crest",
    "path",
)
_PARTS = (1, 2, 4, 8, 16)
_LAGS = (1 / 32, 1 / 16, 1 / 8)
# So many values at least for what is only of use on many.
_FEWEST, _MANY = 3, 6
# What is bred must still be read aloud.
_MOST_STEPS, _DEEPEST = 4, 2
_BASES: tuple[tuple[str, ...], ...] = (
    (),
    ("difference",),
    ("bend",),
    ("cumulative",),
    ("spectrum",),
    ("spectrum", "logarithm"),
    ("correlation",),
)
_INSIDE = (
    ("mean",),
    ("deviation",),
    ("gradient",),
    ("maximum",),
    ("range",),
    ("spectrum", "place_of_maximum"),
)
_OUTSIDE = ("mean", "deviation", "maximum", "minimum", "place_of_maximum")
_INSERTED = (
    "difference",
    "bend",
    "cumulative",
    "spectrum",
    "correlation",
    "logarithm",
    "absolute",
    "standardise",
    "moving_average",
    "exponential_smoothing",
    "trim",
    "haar",
    "angles",
    "distances",
    "interval",
)
_ENDS = (*_SHORT, *_LONG, "range", "skewness", "kurtosis", "flatness", "volume", "first", "last")
Task = Literal["classification", "regression", "unsupervised"]
# Columns that vary less than rounding are constant.
_CONSTANT = 1e-9
# Trees of the forest that tells which columns work together: one for so many columns.
_COLUMNS_A_TREE, _FEWEST_TREES, _MOST_TREES = 5, 50, 2000
_TOURNAMENT = 0.25
# Columns are alike from this correlation on.
_ALIKE = 0.8
# Principal components that features without a target are to tell.
_COMPONENTS = 10


def candidate_trees(length: int, n_channels: int = 1) -> list[MethodTree]:
    """Return the trees that are tried on every data set, without any chance in it.

    The series, its steps and bends over several lags, its running sum, spectrum and correlation;
    of each the whole, halves, quarters, eighths and sixteenths that overlap by half; of each of
    these, up to thirteen functions; besides, functions of windows and of rises and falls.

    Parameters
    ----------
    length : int
        Of the longest series; intervals of fewer than three values are left out.
    n_channels : int

    Returns
    -------
    list of MethodTree

    Examples
    --------
    >>> trees = candidate_trees(100)
    >>> len(trees) > 5000
    True
    """
    if length < 1 or n_channels < 1:
        raise InvalidInputError(
            f"length and n_channels must be positive, got {length}, {n_channels}."
        )
    chains = [*_interval_chains(length), *_window_chains(length)]
    heads: list[list[TreeStep]] = [[step("channel", at)] for at in range(n_channels)]
    if n_channels == 1:
        heads = [[]]
    return list(dict.fromkeys(MethodTree([*head, *chain]) for head in heads for chain in chains))


def _interval_chains(length: int) -> list[list[TreeStep]]:
    lags = [lag for lag in _LAGS if round(lag * length) >= 2]
    bases = [[step(name) for name in names] for names in _BASES]
    bases += [[step(name, lag)] for name, lag in product(("difference", "bend"), lags)]
    chains = []
    for base in bases:
        made = length // 2 if base and base[0].name in ("spectrum", "correlation") else length
        for (begin, end), width in _intervals(made).items():
            names = (*_SHORT, *_LONG) if width >= _MANY else _SHORT
            chains += [[*base, step("interval", begin, end), step(name)] for name in names]
    return chains


def _intervals(length: int) -> dict[tuple[float, float], int]:
    """Return intervals that differ for a series of a length, and how many values they hold."""
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for part in _PARTS:
        if part > 1 and length / part < _FEWEST:
            continue
        for at in range(2 * part - 1):
            shares = at / (2 * part), (at + 2) / (2 * part)
            found.setdefault(bounds_of(*shares, length), shares)
    return {shares: last - first for (first, last), shares in found.items()}


def _window_chains(length: int) -> list[list[TreeStep]]:
    cuts: list[tuple[str, tuple[Any, ...]]] = [
        ("windows", (share, 2.0)) for share in (0.1, 0.25) if share * length >= _FEWEST
    ]
    chains = []
    for (name, options), inside, outside in product(cuts, _INSIDE, _OUTSIDE):
        inner = [step(one) for one in inside]
        chains.append([step(name, *options, inside=inner), step(outside)])
    if length >= _MANY:
        for inside_name, outside in product(("length", "range", "gradient"), _OUTSIDE[:4]):
            chains.append([step("segments", inside=[step(inside_name)]), step(outside)])
        chains.append([step("segments", inside=[step("length")]), step("length")])
    return chains


def mutate_tree(tree: MethodTree, rng: np.random.Generator) -> MethodTree:
    """Return a tree with one change: a method inserted, deleted or replaced, or an option moved.

    Parameters
    ----------
    tree : MethodTree
    rng : numpy Generator

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> tree = parse_tree("difference > mean")
    >>> mutate_tree(tree, np.random.default_rng(0)) == tree
    False
    """
    for _ in range(20):
        steps = _changed_chain(list(tree.steps), rng)
        found = MethodTree(steps)
        if found != tree and _is_small(found):
            return found
    return MethodTree(
        [*tree.steps[:-1], step("mean" if tree.steps[-1].name != "mean" else "median")]
    )


def _changed_chain(steps: list[TreeStep], rng: np.random.Generator) -> list[TreeStep]:
    """Return a chain with one change, perhaps inside of a windowing."""
    place = int(rng.integers(len(steps)))
    chosen = steps[place]
    first = int(steps[0].name == "channel")
    kind = rng.choice(["insert", "delete", "replace", "move"], p=[0.2, 0.2, 0.25, 0.35])
    if chosen.inside and rng.random() < 0.5:
        inside = tuple(_changed_chain(list(chosen.inside), rng))
        return [*steps[:place], TreeStep(chosen.name, chosen.options, inside), *steps[place + 1 :]]
    if kind == "insert":
        at = int(rng.integers(first, len(steps)))
        return [*steps[:at], _random_transformation(rng), *steps[at:]]
    is_end, is_head = place == len(steps) - 1, chosen.name == "channel"
    if kind == "delete" and not is_end and not is_head:
        return [*steps[:place], *steps[place + 1 :]]
    if kind == "replace" and is_end:
        return [*steps[:-1], step(str(rng.choice(_ENDS)))]
    if kind == "replace" and not is_head:
        return [*steps[:place], _random_transformation(rng), *steps[place + 1 :]]
    return [*steps[:place], _move_numbers(chosen, rng), *steps[place + 1 :]]


def _random_transformation(rng: np.random.Generator) -> TreeStep:
    name = str(rng.choice(_INSERTED))
    if name == "interval":
        width = float(rng.choice([0.5, 0.25, 0.125]))
        begin = round(float(rng.uniform(0, 1 - width)), 3)
        return step(name, begin, round(begin + width, 3))
    if "lag" in METHODS[name].options:
        return step(name, float(rng.choice([0.0, *_LAGS])))
    return step(name)


def _move_numbers(chosen: TreeStep, rng: np.random.Generator) -> TreeStep:
    """Return a step with its numbers moved a little."""
    if chosen.name == "interval":
        begin, end = chosen.options
        spread = max(0.25 * (end - begin), 0.01)
        ends = np.sort(np.clip(np.array([begin, end]) + spread * rng.normal(size=2), 0.0, 1.0))
        return step("interval", *(round(float(value), 3) for value in ends))
    values = list(chosen.options)
    for at, key in enumerate(chosen.method.options):
        if key in ("lag", "share", "factor"):
            moved = float(values[at] or 0.01) * float(np.exp(0.4 * rng.normal()))
            values[at] = round(min(max(moved, 0.005), 0.5), 3)
        elif key == "overlap":
            values[at] = float(rng.choice([1.0, 2.0])) if _ends(chosen.inside) else values[at]
    return TreeStep(chosen.name, tuple(values), chosen.inside)


def _ends(steps: Sequence[TreeStep]) -> bool:
    return bool(steps) and steps[-1].method.kind == "function"


def cross_trees(one: MethodTree, other: MethodTree, rng: np.random.Generator) -> MethodTree:
    """Return the beginning of one tree with the end of another, cut before a step of a like type.

    Parameters
    ----------
    one, other : MethodTree
    rng : numpy Generator

    Examples
    --------
    >>> from parsimon.features.series import parse_tree
    >>> one, other = parse_tree("difference > mean"), parse_tree("spectrum > maximum")
    >>> cross_trees(one, other, np.random.default_rng(0)).steps[-1].name
    'maximum'
    """
    head = one.steps[: int(rng.integers(len(one.steps)))]
    plain = [each for each in other.steps if each.name != "channel"]
    tail = plain[int(rng.integers(len(plain))) :]
    found = MethodTree([*head, *tail])
    return found if _is_small(found) else MethodTree([*one.steps[:-1], other.steps[-1]])


def _is_small(tree: MethodTree) -> bool:
    is_channel = tree.steps[0].name == "channel"
    return tree.size <= _MOST_STEPS + is_channel and tree.depth <= _DEEPEST


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
    def of_columns(cls, Z: Array) -> "Targets":
        """Return the first principal components of standardised columns: what is to be kept."""
        values, vectors = np.linalg.eigh(Z @ Z.T / Z.shape[1])
        first = np.argsort(-values, kind="stable")[: min(_COMPONENTS, len(Z) - 1)]
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
        return (sizes[:, None] * np.array(means) ** 2).sum(axis=0) / len(Z)
    centred = targets.T - targets.T.mean(axis=0)
    total = max((centred**2).mean() * centred.shape[1], 1e-300)
    return ((Z.T @ centred / len(Z)) ** 2).sum(axis=1) / total


def order_agreement(Z: Array, targets: Targets) -> Array:
    """Return how well the order of each column tells the targets: (M,)."""
    ranks = rankdata(Z, axis=0)
    if targets.codes is None:
        own = rankdata(targets.T, axis=0)
        ranks, own = standardise_features(ranks)[0], standardise_features(own)[0]
        weight = (targets.T**2).mean(axis=0)
        return np.abs(ranks.T @ own / len(Z)) @ weight / max(weight.sum(), 1e-300)
    total = np.zeros(Z.shape[1])
    for code in np.unique(targets.codes):
        inside = targets.codes == code
        n, m = inside.sum(), (~inside).sum()
        area = (ranks[inside].sum(axis=0) - n * (n + 1) / 2) / max(n * m, 1)
        total += np.abs(area - 0.5)
    return total


def forest_importances(Z: Array, targets: Targets) -> Array:
    """Return what each column is worth to a forest of random trees: (M,)."""
    n_trees = int(np.clip(Z.shape[1] // _COLUMNS_A_TREE, _FEWEST_TREES, _MOST_TREES))
    if targets.codes is not None:
        forest = ExtraTreesClassifier(n_trees, random_state=0).fit(Z, targets.codes)
    else:
        T = targets.T[:, 0] if targets.T.shape[1] == 1 else targets.T
        forest = ExtraTreesRegressor(n_trees, max_features="sqrt", random_state=0).fit(Z, T)
    return forest.feature_importances_


def quick_fitness(Z: Array, targets: Targets) -> Array:
    """Return the fitness of columns one by one, by both filters that are quick: (M,)."""
    high = 0.5 * (targets.T.shape[1] if targets.codes is not None else 2.0)
    return explained_shares(Z, targets) + order_agreement(Z, targets) / high


def rank_features(Z: Array, targets: Targets, most: int) -> Indices:
    """Return the best columns in the order of the filters' mean rank; the forest counts twice.

    A column that is like a better one is left out.

    Shapes: Z (n, M) -> at most `most` places.
    """
    places = -2.0 * rankdata(-forest_importances(Z, targets))
    for score in (explained_shares(Z, targets), order_agreement(Z, targets)):
        places -= rankdata(-score.round(12))
    return unlike(places, Z, most)


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
_BATCHES, _GOLDEN = 32, 0.618034


def many_values(trees: Sequence[MethodTree], table: SeriesTable, n_jobs: int | None) -> Array:
    """Return the values of trees, (n, M), by several workers if wished: the same bits."""
    parts = n_workers(n_jobs)
    if parts <= 1 or len(trees) < 10 * parts:
        return tree_values(trees, table)
    cuts = np.linspace(0, len(trees), parts + 1).astype(int)
    calls = [(list(trees[a:b]), table) for a, b in pairwise(cuts)]
    with Workers(n_jobs) as workers:
        return np.concatenate(list(workers.map(tree_values, calls)), axis=1)


class BredTrees(NamedTuple):
    """All trees so far that vary, their standardised values (n, M), and how many were computed.

    fitness (M,): As of `quick_fitness`.
    """

    trees: tuple[MethodTree, ...]
    Z: Array
    fitness: Array
    n_evaluations: int


class TreeSearch:
    """Genetic programming over trees, as a `Process` of the common loop.

    table, targets: Of the rows that are searched with.
    first: The trees to begin with, as `list_first` returns them.
    data: What tells a checkpoint of other series apart.
    """

    title = "Breeding features of series"
    keeps_states = True

    def __init__(
        self,
        table: SeriesTable,
        targets: Targets,
        population_size: int,
        n_jobs: int | None = 1,
        data: str = "",
    ) -> None:
        self.table, self.targets, self.n_jobs = table, targets, n_jobs
        self.population_size, self.data = population_size, data
        nothing = np.zeros((len(targets.T), 0))
        self.first = BredTrees((), nothing, np.zeros(0), 0)

    def list_first(self, trees: Sequence[MethodTree], deadline: Deadline = None) -> BredTrees:
        """Compute the first trees; with a deadline part by part, until it has passed.

        Parts are taken from all over the list, so that those in time are of every kind.
        """
        parts = [np.arange(len(trees))]
        if deadline is not None:
            split = np.array_split(parts[0], _BATCHES)
            order = np.argsort(_GOLDEN * np.arange(_BATCHES) % 1)
            parts = [split[place] for place in order.tolist()]
        Z, kept, n_evaluations = self.first.Z, np.zeros(0, dtype=np.intp), 0
        for part in parts:
            Z, varies = self._add_columns(Z, [trees[place] for place in part.tolist()])
            kept, n_evaluations = np.append(kept, part[varies]), n_evaluations + len(part)
            if len(kept) and is_late(deadline):
                break
        if deadline is not None:
            # With time for all of them it is as if there were no deadline.
            Z, kept = Z[:, np.argsort(kept)], np.sort(kept)
        fitness = quick_fitness(Z, self.targets)
        self.first = BredTrees(
            tuple(trees[place] for place in kept.tolist()), Z, fitness, n_evaluations
        )
        return self.first

    def _add_columns(self, Z: Array, trees: Sequence[MethodTree]) -> tuple[Array, Mask]:
        """Return values (n, M) with those of further trees that vary, and which of them do."""
        new = standardise_features(many_values(trees, self.table, self.n_jobs))[0]
        varies: Mask = (new != 0).any(axis=0)
        return np.concatenate((Z, new[:, varies]), axis=1) if Z.size else new[:, varies], varies

    def _extend(self, state: BredTrees, trees: Iterable[MethodTree]) -> BredTrees:
        """Compute trees that are new, and add those that vary."""
        known = set(state.trees)
        new = [tree for tree in dict.fromkeys(trees) if tree not in known]
        if not new:
            return state
        Z, varies = self._add_columns(state.Z, new)
        fitness = state.fitness
        if varies.any():
            own = quick_fitness(Z[:, len(state.trees) :], self.targets)
            fitness = np.concatenate((fitness, own))
        found = (tree for tree, kept in zip(new, varies, strict=True) if kept)
        return BredTrees((*state.trees, *found), Z, fitness, state.n_evaluations + len(new))

    def settings(self) -> dict[str, str]:
        return {
            "search": "features of series",
            "series and targets": self.data,
            "population_size": str(self.population_size),
        }

    def prepare(self, seed: np.random.SeedSequence) -> np.random.Generator:
        return np.random.default_rng(seed)

    def begin(self, rng: np.random.Generator) -> BredTrees:  # noqa: ARG002
        return self.first

    def step(
        self,
        state: BredTrees,
        rng: np.random.Generator,
        deadline: Deadline,  # noqa: ARG002
    ) -> BredTrees:
        parents = unlike(state.fitness, state.Z, self.population_size, 0.95)
        return self._extend(state, self._children(state, parents, rng))

    def _children(
        self, state: BredTrees, parents: Indices, rng: np.random.Generator
    ) -> list[MethodTree]:
        """Return as many children as there are parents; both parents of a child by tournament."""
        size = max(2, int(np.ceil(_TOURNAMENT * len(parents))))
        found = []
        for _ in range(len(parents)):
            pairs = rng.choice(parents, size=(2, size))
            mother, father = (state.trees[pair[state.fitness[pair].argmax()]] for pair in pairs)
            child = cross_trees(mother, father, rng) if rng.random() < 0.5 else mother
            is_new = child not in (mother, father) and rng.random() < 0.5
            found.append(child if is_new else mutate_tree(child, rng))
        return found

    def standing(self, state: BredTrees) -> Standing:
        return Standing(state.n_evaluations)

    def row(self, state: BredTrees) -> tuple[float, ...]:
        return float(len(state.trees)), float(state.fitness.max())

    def note(self, state: BredTrees) -> str:
        return f"{len(state.trees)} features, fitness {state.fitness.max():.3g}"

    def finished(self, state: BredTrees) -> str | None:  # noqa: ARG002
        return None

    def result(self, state: BredTrees, ending: Ending) -> tuple[BredTrees, Ending]:
        return state, ending

    def to_arrays(self, state: BredTrees) -> dict[str, AnyArray]:
        text = json.dumps([str(tree) for tree in state.trees])
        return {
            "trees": np.frombuffer(text.encode(), dtype=np.uint8),
            "n_evaluations": np.array(state.n_evaluations),
        }

    def restore(self, arrays: dict[str, AnyArray]) -> BredTrees:
        trees = map(parse_tree, read_json(arrays["trees"].tobytes()))
        state = self._extend(self.first, trees)
        fitness = quick_fitness(state.Z, self.targets)
        return state._replace(fitness=fitness, n_evaluations=int(arrays["n_evaluations"]))


def digest_series(table: SeriesTable, targets: Targets) -> str:
    """Return what tells series and targets from others."""
    digest = hashlib.sha256()
    for signal in table.signals:
        for block in signal.blocks:
            digest.update(np.ascontiguousarray(block.values).tobytes())
    digest.update(np.ascontiguousarray(targets.T).tobytes())
    return digest.hexdigest()
