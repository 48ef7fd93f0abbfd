"""Which structures a table supports: a posterior over those that a best-first search visits.

A `Structure` says how each variable enters (not at all, along a line, in a curve, in waves) and
which pairs interact. `find_structures` begins with the empty one, always expands the most probable
structure that has not been expanded, and ends when what is left has no weight. Every neighbour that
was looked at stays in the posterior, so that a variable has the probability of all structures that
hold it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import gammaln

from parsimon._typing import Array
from parsimon.structures._evidence import StructureFit, Task, design_of, fit_structure, gains
from parsimon.structures._sets import StandIns, find_stand_ins
from parsimon.structures.blocks import (
    VariableBlocks,
    pairs_of,
    rough_surfaces,
    surface,
    variable_blocks,
)
from parsimon.structures.claims import CERTAIN, SUGGESTED, Claim, say_any, say_sets, stated

Shape: TypeAlias = Literal["linear", "smooth", "periodic"]
Pair: TypeAlias = tuple[int, int]

_SHAPE_PRIOR: dict[Shape, float] = {"linear": 0.78, "smooth": 0.2, "periodic": 0.02}
_SHAPES: tuple[Shape, ...] = tuple(_SHAPE_PRIOR)
_SHAPE_WORDS: dict[Shape, str] = {
    "linear": "along a line",
    "smooth": "in a curve",
    "periodic": "in waves",
}
# What a further variable, and a further interaction of two, one or no variables that matter by
# themselves, costs beside the number of its alternatives.
_VARIABLE_PRICE = math.log(3)
_PAIR_PRICE = {2: math.log(3), 1: math.log(4), 0: math.log(4)}
# Surfaces of so many pairs are looked at closely; of more, those that a rough look likes best.
_MOST_PAIRS = 1000
_MOST_EXPANSIONS = 40
# Structures that are kept by themselves; all count in the probabilities of their parts.
_MOST_KEPT = 100
# Structures that are this much less probable than the best one (in logs) are not fitted closely.
_FAR = 7.0
_FITTED_NEIGHBOURS = 6
# Structures within this of the best one (in logs) have their neighbours looked at.
_NEAR = 4.0


@dataclass(frozen=True)
class Structure:
    """How each variable enters by itself, and which pairs interact.

    Attributes
    ----------
    shapes : tuple of (int, str)
        A variable and "linear", "smooth" or "periodic", sorted by variable.
    pairs : frozenset of (int, int)

    Examples
    --------
    >>> sorted(Structure(((0, "linear"),), frozenset({(1, 2)})).variables)
    [0, 1, 2]
    """

    shapes: tuple[tuple[int, Shape], ...] = ()
    pairs: frozenset[Pair] = frozenset()

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        # Another process has other hashes.
        return {"shapes": self.shapes, "pairs": self.pairs}

    @cached_property
    def _hash(self) -> int:
        return hash((self.shapes, self.pairs))

    @property
    def variables(self) -> frozenset[int]:
        """All that matter, alone or in a pair."""
        return frozenset(one for one, _ in self.shapes) | {
            one for pair in self.pairs for one in pair
        }

    def with_shape(self, variable: int, shape: Shape | None) -> "Structure":
        """Return the structure in which a variable enters otherwise, or not by itself."""
        shapes = dict(self.shapes)
        shapes.pop(variable, None)
        if shape is not None:
            shapes[variable] = shape
        return Structure(tuple(sorted(shapes.items())), self.pairs)

    def with_pair(self, pair: Pair) -> "Structure":
        """Return the structure with an interaction more, or without one that it had."""
        return Structure(self.shapes, self.pairs ^ {pair})


def log_prior(
    structure: Structure, n_variables: int, n_periods: Sequence[int], n_questions: int = 1
) -> float:
    """Return the log prior probability: a price for size, shared among alternatives of that size.

    k variables have probability proportional to 3^-k, divided by the number of ways to choose
    them; an interaction has a third, or a fourth where it goes with one or no main effect, divided
    by the number of such pairs.
    """
    mains = dict(structure.shapes)
    k, d = len(mains), n_variables
    total = -k * (_VARIABLE_PRICE + math.log(n_questions)) - _log_choose(d, k)
    for variable, shape in mains.items():
        total += math.log(_SHAPE_PRIOR[shape])
        if shape == "periodic":
            total -= math.log(n_periods[variable])
    counts = dict.fromkeys(_PAIR_PRICE, 0)
    for first, second in structure.pairs:
        counts[(first in mains) + (second in mains)] += 1
    alternatives = {2: k * (k - 1) // 2, 1: k * (d - k), 0: (d - k) * (d - k - 1) // 2}
    for company, count in counts.items():
        if count:
            price = _PAIR_PRICE[company] + math.log(n_questions)
            total -= count * price + _log_choose(alternatives[company], count)
    return total


def _log_choose(n: int, k: int) -> float:
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


@dataclass(frozen=True, eq=False)
class StructurePosterior:
    """Structures with their probabilities, as `find_structures` returns them.

    Attributes
    ----------
    names : tuple of str
        Of the variables.
    groups : tuple of tuples of int
        The columns of each.
    structures : tuple of Structure
        The most probable ones, the best first.
    probabilities : ndarray of shape (n_structures,)
        In the same order; shares of all structures that were looked at.
    variables : ndarray of shape (d,)
        The probability that each variable matters, alone or with others.
    shape_chances : ndarray of shape (d, 3)
        The probability that it enters along a line, in a curve, in waves.
    pair_chances : ndarray of shape (d, d)
        The probability that two variables interact, above the diagonal.
    n_pairs, n_pairs_seen : int
        Pairs that there are, and those of which surfaces were looked at.
    shapeless : frozenset of int
        Variables with two values or with levels, which have no shape to speak of.
    sets : tuple of StandIns
        Variables that stand for each other, each in doubt by itself, and the probability that at
        least one of them matters.
    nothing : float
        The probability that no variable matters.
    n_rows : int
        Rows that were looked at.
    work : float
        What the fits took: the sum of rows times squared columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = X[:, 0] * X[:, 1] + rng.normal(size=300)
    >>> found = find_structures(X, y, "regression", names=["a", "b", "c"])
    >>> found.variables.round(2).tolist()[:2]
    [1.0, 1.0]
    >>> found.supported
    Structure(shapes=(), pairs=frozenset({(0, 1)}))
    """

    names: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    structures: tuple[Structure, ...]
    probabilities: Array
    variables: Array
    shape_chances: Array
    pair_chances: Array
    n_pairs: int
    n_pairs_seen: int
    shapeless: frozenset[int] = frozenset()
    sets: tuple[StandIns, ...] = ()
    nothing: float = 0.0
    n_rows: int = 0
    work: float = 0.0

    @property
    def shapes(self) -> dict[tuple[int, Shape], float]:
        """The probability that a variable enters with a shape, where it is not zero."""
        places = zip(*np.nonzero(self.shape_chances), strict=True)
        return {
            (int(k), _SHAPES[shape]): float(self.shape_chances[k, shape]) for k, shape in places
        }

    @property
    def pairs(self) -> dict[Pair, float]:
        """The probability that a pair interacts, where it is not zero."""
        places = zip(*np.nonzero(np.triu(self.pair_chances)), strict=True)
        return {(int(j), int(k)): float(self.pair_chances[j, k]) for j, k in places}

    @property
    def supported(self) -> Structure:
        """All that is more probable than not: the median model (Barbieri and Berger 2004).

        Of variables that stand for each other the median model may hold none; the most probable one
        is then there for all of them.
        """
        pairs = frozenset(pair for pair, chance in self.pairs.items() if chance >= SUGGESTED)
        in_pairs = {one for pair in pairs for one in pair}
        shapes: dict[int, Shape] = {}
        likely = set(np.flatnonzero(self.variables >= SUGGESTED).tolist())
        likely |= {one.members[0] for one in self.sets if likely.isdisjoint(one.members)}
        for variable in sorted(likely):
            own = self.shape_chances[variable]
            # What matters by itself or only in interactions that are improbable one by one.
            if own.sum() >= SUGGESTED or variable not in in_pairs:
                shapes[variable] = _SHAPES[int(np.argmax(own))]
        return Structure(tuple(sorted(shapes.items())), pairs)

    @property
    def supported_columns(self) -> tuple[int, ...]:
        """The columns of all variables that are supported."""
        return tuple(
            column for one in sorted(self.supported.variables) for column in self.groups[one]
        )

    def at_columns(self, kept: Iterable[int]) -> "StructurePosterior":
        """Return the posterior for a table that has only some of the columns, in this order."""
        place = {int(column): new for new, column in enumerate(kept)}
        groups = [tuple(place[k] for k in group if k in place) for group in self.groups]
        return replace(self, groups=tuple(groups))

    def claims(self, target: str = "the target") -> tuple[Claim, ...]:
        """Return what is more probable than not: variables, sets of them, interactions, shapes.

        Each kind by itself, the most probable first.
        """
        columns = (*self._variable_claims(), *say_sets(self.names, self.sets))
        return (
            *columns,
            *say_any(columns, 1 - self.nothing, target),
            *self._pair_claims(),
            *self._shape_claims(target),
        )

    def _variable_claims(self) -> Iterator[Claim]:
        for place in np.argsort(-self.variables, kind="stable").tolist():
            name = self.names[place]
            yield from stated("variable", (name,), self.variables[place], f"{name} matters")

    def _pair_claims(self) -> Iterator[Claim]:
        for pair, chance in sorted(self.pairs.items(), key=lambda item: (-item[1], item[0])):
            first, second = (self.names[one] for one in pair)
            yield from stated(
                "interaction", (first, second), chance, f"{first} and {second} interact"
            )

    def _shape_claims(self, target: str) -> Iterator[Claim]:
        """Yield the shapes of variables whose effect depends on no other."""
        joined = {one for pair, chance in self.pairs.items() if chance >= SUGGESTED for one in pair}
        for (place, shape), chance in sorted(
            self.shapes.items(), key=lambda item: (-item[1], item[0])
        ):
            if place in self.shapeless or place in joined:
                continue
            name = self.names[place]
            words = f"{target} follows {name} {_SHAPE_WORDS[shape]}"
            yield from stated("shape", (name,), chance, words, shape)


def _inclusion(
    structures: Sequence[Structure], chances: Array, n_variables: int
) -> tuple[Array, Array, Array]:
    """Return the probabilities of variables, of their shapes and of pairs: sums over structures.

    Shapes: (d,), (d, 3) and (d, d).
    """
    variables = np.zeros(n_variables)
    shapes = np.zeros((n_variables, len(_SHAPES)))
    pairs = np.zeros((n_variables, n_variables))
    for structure, chance in zip(structures, chances.tolist(), strict=True):
        variables[list(structure.variables)] += chance
        for variable, shape in structure.shapes:
            shapes[variable, _SHAPES.index(shape)] += chance
        for pair in structure.pairs:
            pairs[pair] += chance
    return np.minimum(variables, 1.0), np.minimum(shapes, 1.0), np.minimum(pairs, 1.0)


def find_structures(
    X: Array,
    y: Array,
    task: Task,
    *,
    groups: Sequence[Sequence[int]] | None = None,
    names: Sequence[str] | None = None,
    n_questions: int = 1,
    waves: bool = True,
) -> StructurePosterior:
    """Return the posterior over structures of variables, shapes and interactions.

    A best-first search from the empty structure; the evidence is that of blocks of columns with
    unknown variances, the prior pays for every part and for the number of its alternatives.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        0 and 1 for classes, any numbers otherwise.
    task : {"classification", "regression"}
    groups : sequence of sequences of int, optional
        Columns that make one variable, such as the levels of a category; by default each column is
        one.
    names : sequence of str, optional
        Of the variables.
    n_questions : int, default 1
        How many targets are asked about at once, which a claim has to pay for.
    waves : bool, default True
        Look for periods too.

    Returns
    -------
    StructurePosterior

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = (X[:, 0] + rng.logistic(size=200) / 2 > 0).astype(float)
    >>> for claim in find_structures(X, y, "classification", names=["a", "b", "c"]).claims():
    ...     print(claim.words, claim.certain)
    a matters True
    the target follows a along a line ...
    """
    groups = [[column] for column in range(X.shape[1])] if groups is None else groups
    names = [f"variable {place + 1}" for place in range(len(groups))] if names is None else names
    if task == "regression":
        y = (y - y.mean()) / (y.std() or 1.0)
    variables = [variable_blocks(X[:, list(group)], y, waves=waves) for group in groups]
    search = _BestFirst(variables, y, task, n_questions)
    return search.posterior(tuple(map(str, names)), tuple(tuple(group) for group in groups))


@dataclass(eq=False)
class _Visited:
    """A structure that was looked at: what is known of its log posterior, and whether closely.

    near: The fit of the structure from which it was judged.
    """

    value: float
    fit: StructureFit | None = None
    expanded: bool = False
    near: StructureFit | None = None


@dataclass(eq=False)
class _BestFirst:
    """Expands the most probable structure that has not been, until the rest has no weight."""

    variables: list[VariableBlocks]
    y: Array
    task: Task
    n_questions: int
    seen: dict[Structure, _Visited] = field(default_factory=dict)
    work: float = 0.0

    def __post_init__(self) -> None:
        self.n_periods = [one.n_periods for one in self.variables]
        self.all_pairs = pairs_of(len(self.variables))
        self.close_pairs = self._close_pairs()
        self.surfaces = self._stacked_surfaces()
        self.singles = self._stacked_singles()
        self.place = {
            pair: (size, row)
            for size, (pairs, _) in self.surfaces.items()
            for row, pair in enumerate(pairs)
        }

    def posterior(
        self, names: tuple[str, ...], groups: tuple[tuple[int, ...], ...]
    ) -> StructurePosterior:
        self._fit(Structure())
        for _ in range(_MOST_EXPANSIONS):
            best = self._next()
            if best is None:
                break
            self._expand(best)
        order = sorted(self.seen, key=lambda one: -self.seen[one].value)
        values = np.array([self.seen[one].value for one in order])
        chances = np.exp(values - values[0])
        chances /= chances.sum()
        held = [one.variables for one in order]
        inclusion = _inclusion(order, chances, len(self.variables))
        return StructurePosterior(
            names,
            groups,
            tuple(order[:_MOST_KEPT]),
            chances[:_MOST_KEPT],
            *inclusion,
            len(self.all_pairs),
            len(self.close_pairs),
            frozenset(place for place, one in enumerate(self.variables) if one.curve is None),
            n_rows=len(self.y),
            work=self.work,
            sets=find_stand_ins(held, chances, inclusion[0], CERTAIN),
            nothing=float(chances[[not one for one in held]].sum()),
        )

    def _next(self) -> Structure | None:
        """Return the most probable structure that was not expanded, or None if it is far off.

        A structure that was judged from afar is fitted before it is taken at its word.
        """
        while True:
            open_ones = [one for one in self.seen if not self.seen[one].expanded]
            if not open_ones:
                return None
            best = max(open_ones, key=lambda one: self.seen[one].value)
            if self.seen[best].value < self._top() - _NEAR:
                return None
            if self.seen[best].fit is not None:
                return best
            self._fit(best, self.seen[best].near)

    def _top(self) -> float:
        return max(visited.value for visited in self.seen.values())

    def _blocks(self, structure: Structure) -> dict[tuple[int, Shape] | Pair, Array]:
        found: dict[tuple[int, Shape] | Pair, Array] = {}
        for variable, shape in structure.shapes:
            own = self.variables[variable]
            found[variable, "linear"] = own.line
            more = {"linear": None, "smooth": own.curve, "periodic": own.wave}[shape]
            if more is not None:
                found[variable, shape] = more
        for pair in sorted(structure.pairs):
            size, row = self.place[pair]
            found[pair] = self.surfaces[size][1][row]
        return found

    def _prior(self, structure: Structure) -> float:
        return log_prior(structure, len(self.variables), self.n_periods, self.n_questions)

    def _fit(self, structure: Structure, near: StructureFit | None = None) -> None:
        fit = fit_structure(self._blocks(structure), self.y, self.task, near)
        self.seen[structure] = _Visited(fit.log_evidence + self._prior(structure), fit)
        self.work += float(len(self.y)) * len(fit.covariance) ** 2

    def _expand(self, structure: Structure) -> None:
        """Look at all neighbours of a structure, closely at those that may matter."""
        visited = self.seen[structure]
        visited.expanded = True
        assert visited.fit is not None
        for smaller in self._smaller(structure):
            if smaller not in self.seen or self.seen[smaller].fit is None:
                self._fit(smaller, visited.fit)
        evidence = visited.fit.log_evidence
        larger = [
            (evidence + gain + self._prior(one), one)
            for one, gain in self._larger(structure, visited.fit)
        ]
        larger.sort(key=lambda two: -two[0])
        best = self._top()
        for place, (value, one) in enumerate(larger):
            if one in self.seen:
                continue
            self.seen[one] = _Visited(value, near=visited.fit)
            if place < _FITTED_NEIGHBOURS and value > best - _FAR:
                self._fit(one, visited.fit)
                best = max(best, self.seen[one].value)

    def _smaller(self, structure: Structure) -> Iterator[Structure]:
        for variable, shape in structure.shapes:
            yield structure.with_shape(variable, None)
            if shape != "linear":
                yield structure.with_shape(variable, "linear")
        for pair in structure.pairs:
            yield structure.with_pair(pair)

    def _larger(self, structure: Structure, fit: StructureFit) -> Iterator[tuple[Structure, float]]:
        """Yield the structures with a term more, with what the term seems to gain."""
        mains = dict(structure.shapes)
        design = design_of(self._blocks(structure), len(self.y))
        alone = {
            key: gain
            for keys, blocks in self.singles
            for key, gain in zip(keys, gains(fit, design, blocks, self.task).tolist(), strict=True)
        }
        for variable in range(len(self.variables)):
            shape = mains.get(variable)
            if shape in ("smooth", "periodic"):
                continue
            line = 0.0
            if shape is None:
                line = alone[variable, "linear"]
                yield structure.with_shape(variable, "linear"), line
            for more in _SHAPES[1:]:
                if (variable, more) in alone:
                    yield structure.with_shape(variable, more), line + alone[variable, more]
        for pairs, blocks in self.surfaces.values():
            for pair, gain in zip(
                pairs, gains(fit, design, blocks, self.task).tolist(), strict=True
            ):
                if pair not in structure.pairs:
                    yield structure.with_pair(pair), gain

    def _close_pairs(self) -> list[Pair]:
        pairs = self.all_pairs
        if len(pairs) > _MOST_PAIRS:
            rough = rough_surfaces(self.variables, self.y - self.y.mean())
            order = np.argsort(-rough[pairs[:, 0], pairs[:, 1]], kind="stable")
            pairs = pairs[np.sort(order[:_MOST_PAIRS])]
        return [(int(first), int(second)) for first, second in pairs]

    def _stacked_surfaces(self) -> dict[int, tuple[list[Pair], Array]]:
        """Return the surfaces of all close pairs, those of equal numbers of columns stacked."""
        by_size: dict[int, list[tuple[Pair, Array]]] = {}
        for first, second in self.close_pairs:
            block = surface(self.variables[first], self.variables[second])
            by_size.setdefault(block.shape[1], []).append(((first, second), block))
        return {
            size: ([pair for pair, _ in found], np.stack([block for _, block in found]))
            for size, found in by_size.items()
        }

    def _stacked_singles(self) -> list[tuple[list[tuple[int, Shape]], Array]]:
        """Return lines, curves and waves of all variables, those of equal size stacked."""
        by_size: dict[int, tuple[list[tuple[int, Shape]], list[Array]]] = {}
        for variable, own in enumerate(self.variables):
            for shape, block in zip(_SHAPES, (own.line, own.curve, own.wave), strict=True):
                if block is not None:
                    keys, blocks = by_size.setdefault(block.shape[1], ([], []))
                    keys.append((variable, shape))
                    blocks.append(block)
        return [(keys, np.stack(blocks)) for keys, blocks in by_size.values()]
