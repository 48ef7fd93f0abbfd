"""Which structures a table supports: their prior, and the posterior over those that were seen.

A `Structure` says how each variable enters (not at all, along a line, in a curve, in waves) and
which variables interact.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import gammaln

from parsimon._typing import Array
from parsimon.structures.blocks import LevelRows, Triple
from parsimon.structures.claims import (
    CERTAIN,
    SUGGESTED,
    Claim,
    StandIns,
    say_any,
    say_sets,
    stated,
)
from parsimon.structures.effects import Effect, Effects

Shape: TypeAlias = Literal["linear", "smooth", "periodic"]
Pair: TypeAlias = tuple[int, int]

_SHAPE_PRIOR: dict[Shape, float] = {"linear": 0.78, "smooth": 0.2, "periodic": 0.02}
SHAPES: tuple[Shape, ...] = tuple(_SHAPE_PRIOR)
_SHAPE_WORDS: dict[Shape, str] = {
    "linear": "along a line",
    "smooth": "in a curve",
    "periodic": "in waves",
}
# What a further variable, and a further interaction of two, one or no variables that matter by
# themselves, costs beside the number of its alternatives.
_VARIABLE_PRICE = math.log(3)
_PAIR_PRICE = {2: math.log(3), 1: math.log(4), 0: math.log(4)}
_TRIPLE_PRICE = math.log(30)
# What is stated of a variable or an interaction for a share of structures: below certainty such
# shares were true less often, on tables apart from those that judge.
_SHARES, _STATED = (0.0, 0.62, 0.9, CERTAIN, 1.0), (0.0, SUGGESTED, 0.78, CERTAIN, 1.0)


def stated_chance(share: float) -> float:
    """Return the probability that is stated of what a share of the structures holds."""
    return float(np.interp(share, _SHARES, _STATED))


@dataclass(frozen=True)
class Structure:
    """How each variable enters by itself, and which pairs and triples interact.

    Attributes
    ----------
    shapes : tuple of (int, str)
        A variable and "linear", "smooth" or "periodic", sorted by variable.
    pairs : frozenset of (int, int)
    triples : frozenset of (int, int, int)

    Examples
    --------
    >>> sorted(Structure(((0, "linear"),), frozenset({(1, 2)})).variables)
    [0, 1, 2]
    """

    shapes: tuple[tuple[int, Shape], ...] = ()
    pairs: frozenset[Pair] = frozenset()
    triples: frozenset[Triple] = frozenset()

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        # Another process has other hashes.
        return {"shapes": self.shapes, "pairs": self.pairs, "triples": self.triples}

    @cached_property
    def _hash(self) -> int:
        return hash((self.shapes, self.pairs, self.triples))

    @property
    def variables(self) -> frozenset[int]:
        """All that matter, alone or with others."""
        return frozenset(variable for variable, _ in self.shapes) | self.joined

    @property
    def joins(self) -> frozenset[Pair | Triple]:
        """All interactions."""
        return self.pairs | self.triples

    @property
    def joined(self) -> frozenset[int]:
        """All variables that interact."""
        return frozenset(variable for join in self.joins for variable in join)

    def with_shape(self, variable: int, shape: Shape | None) -> "Structure":
        """Return the structure in which a variable enters otherwise, or not by itself."""
        shapes = dict(self.shapes)
        shapes.pop(variable, None)
        if shape is not None:
            shapes[variable] = shape
        return replace(self, shapes=tuple(sorted(shapes.items())))

    def with_join(self, join: Pair | Triple) -> "Structure":
        """Return the structure with an interaction more, or without one that it had."""
        if len(join) == 2:
            return replace(self, pairs=self.pairs ^ {join})
        return replace(self, triples=self.triples ^ {join})


def log_prior(
    structure: Structure, n_variables: int, n_periods: Sequence[int], n_questions: int = 1
) -> float:
    """Return the log prior probability: a price for size, shared among alternatives of that size.

    k variables have probability proportional to 3^-k, divided by the number of ways to choose
    them; an interaction has a third, or a fourth where it goes with one or no main effect, divided
    by the number of such pairs; one of three variables has a thirtieth, divided by the number of
    triples.
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
    n_triples = len(structure.triples)
    if n_triples:
        total -= n_triples * (_TRIPLE_PRICE + math.log(n_questions))
        total -= _log_choose(math.comb(d, 3), n_triples)
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
    triple_chances : tuple of ((int, int, int), float)
        The probability that three variables interact beyond all pairs of them; those of which more
        than a rough look was taken.
    sets : tuple of StandIns
        Variables that stand for each other, each in doubt by itself, and the probability that at
        least one of them matters.
    nothing : float
        The probability that no variable matters.
    n_rows : int
        Rows that were looked at.
    work : float
        What the fits took: the sum of rows times squared columns.
    effects : Effects
        Curves, levels and surfaces, and what the model predicts of rows.

    Examples
    --------
    >>> from parsimon.structures import find_structures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = X[:, 0] * X[:, 1] + rng.normal(size=300)
    >>> found = find_structures(X, y, "regression", names=["a", "b", "c"])
    >>> found.variables.round(2).tolist()[:2]
    [1.0, 1.0]
    >>> found.supported
    Structure(shapes=(), pairs=frozenset({(0, 1)}), triples=frozenset())
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
    triple_chances: tuple[tuple[Triple, float], ...] = ()
    sets: tuple[StandIns, ...] = ()
    nothing: float = 0.0
    n_rows: int = 0
    work: float = 0.0
    effects: Effects = field(default_factory=Effects)

    @property
    def shapes(self) -> dict[tuple[int, Shape], float]:
        """The probability that a variable enters with a shape, where it is not zero."""
        places = zip(*np.nonzero(self.shape_chances), strict=True)
        return {(int(k), SHAPES[shape]): float(self.shape_chances[k, shape]) for k, shape in places}

    @property
    def pairs(self) -> dict[Pair, float]:
        """The probability that a pair interacts, where it is not zero."""
        places = zip(*np.nonzero(np.triu(self.pair_chances)), strict=True)
        return {(int(j), int(k)): float(self.pair_chances[j, k]) for j, k in places}

    @property
    def triples(self) -> dict[Triple, float]:
        """The probability that three variables interact, where it is known."""
        return dict(self.triple_chances)

    @property
    def supported(self) -> Structure:
        """All that is more probable than not: the median model (Barbieri and Berger 2004).

        Of variables that stand for each other the median model may hold none; the most probable one
        is then there for all of them.
        """
        pairs = frozenset(pair for pair, share in self.pairs.items() if _is_said(share))
        triples = frozenset(triple for triple, share in self.triples.items() if _is_said(share))
        joined = Structure((), pairs, triples).joined
        shapes: dict[int, Shape] = {}
        likely = {k for k, share in enumerate(self.variables.tolist()) if _is_said(share)}
        likely |= {
            stand_ins.members[0] for stand_ins in self.sets if likely.isdisjoint(stand_ins.members)
        }
        for variable in sorted(likely):
            own = self.shape_chances[variable]
            # What matters by itself or only in interactions that are improbable one by one.
            if own.sum() >= SUGGESTED or variable not in joined:
                shapes[variable] = SHAPES[int(np.argmax(own))]
        return Structure(tuple(sorted(shapes.items())), pairs, triples)

    @property
    def supported_columns(self) -> tuple[int, ...]:
        """The columns of all variables that are supported."""
        return tuple(
            column
            for variable in sorted(self.supported.variables)
            for column in self.groups[variable]
        )

    def at_columns(self, kept: Iterable[int]) -> "StructurePosterior":
        """Return the posterior for a table that has only some of the columns, in this order."""
        place = {int(column): new for new, column in enumerate(kept)}
        groups = [tuple(place[k] for k in group if k in place) for group in self.groups]
        return replace(self, groups=tuple(groups))

    def values_of(self, X: Array, levels: Mapping[int, LevelRows] | None = None) -> dict[int, Any]:
        """Return the values of all variables in rows, as `effects` takes them.

        A variable of which columns are not there any more (see `at_columns`) is left out, so that
        it is as on average.

        Shapes: X (m, d).
        """
        levels = levels or {}
        found: dict[int, Any] = {}
        for place in self.effects.variables:
            group = list(self.groups[place])
            if place in levels:
                found[place] = levels[place]
            elif len(group) == self.effects.n_columns(place):
                found[place] = X[:, group]
        return found

    def predict(
        self,
        X: Array,
        *,
        levels: Mapping[int, LevelRows] | None = None,
        doubts: Mapping[int, Array] | None = None,
    ) -> Effect:
        """Return the latent function of rows: the sum of all effects, with its deviation.

        Of a class, its probability is 1 / (1 + exp(-latent)); of a number it is the number, around
        which rows scatter by the scale `effects.noise`.

        Shapes: X (m, d); levels and doubts are those of these rows, as `find_structures` takes
        them.
        """
        return self.effects.outcome(self.values_of(X, levels), doubts=doubts)

    def claims(self, target: str = "the target") -> tuple[Claim, ...]:
        """Return what is more probable than not: variables, sets of them, interactions, shapes.

        Each kind by itself, the most probable first.
        """
        columns = (*self._variable_claims(), *say_sets(self.names, self.sets))
        return (
            *columns,
            *say_any(columns, stated_chance(1 - self.nothing), target),
            *self._join_claims(),
            *self._shape_claims(target),
        )

    def _variable_claims(self) -> Iterator[Claim]:
        for place in np.argsort(-self.variables, kind="stable").tolist():
            name = self.names[place]
            chance = stated_chance(self.variables[place])
            yield from stated("variable", (name,), chance, f"{name} matters")

    def _join_claims(self) -> Iterator[Claim]:
        joins = (*self.pairs.items(), *self.triples.items())
        for join, chance in sorted(joins, key=lambda item: (-item[1], item[0])):
            names = tuple(self.names[variable] for variable in join)
            words = f"{', '.join(names[:-1])} and {names[-1]} interact"
            yield from stated("interaction", names, stated_chance(chance), words)

    def _shape_claims(self, target: str) -> Iterator[Claim]:
        """Yield the shapes of variables whose effect depends on no other."""
        joined = self.supported.joined
        for (place, shape), chance in sorted(
            self.shapes.items(), key=lambda item: (-item[1], item[0])
        ):
            if place in self.shapeless or place in joined:
                continue
            name = self.names[place]
            words = f"{target} follows {name} {_SHAPE_WORDS[shape]}"
            chance = min(chance, stated_chance(self.variables[place]))
            yield from stated("shape", (name,), chance, words, shape)


def _is_said(share: float) -> bool:
    return stated_chance(share) >= SUGGESTED
