"""`Claim`: what is said about a table, with the probability that it is true.

Of variables that stand for each other at least one matters, and it is open which. Columns that say
nearly the same share the weight of the structures that hold either, so that each alone is in doubt
where it is certain that one of them matters. A set is claimed if

- none of its members is certain by itself, and it is certain that at least one of them matters;
- no smaller part of it would do;
- its members stand for each other: if none of the others mattered, the chance that this one does
  not would be less than half of what it is. Of columns that say different things it would stay the
  same, so that two separate suggestions make no set.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from parsimon._typing import Array

ClaimKind: TypeAlias = Literal["variable", "set", "any", "interaction", "shape"]
ClaimedShape: TypeAlias = Literal["", "linear", "smooth", "periodic"]

# What is less probable than an even chance is not said at all; what is more probable than that is
# a suggestion, until it is beyond doubt.
SUGGESTED = 0.5
CERTAIN = 0.95
_MOST_MEMBERS = 5
# Of so many variables all small sets are looked at; less probable ones would hardly add to any.
_MOST_CANDIDATES = 12
_LEAST_CHANCE = 0.02
# How much the absence of the others must lower the chance that a member is absent too.
_LOWERED = 0.5


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something that the rows say about the target, and how probable it is.

    Attributes
    ----------
    kind : {"variable", "set", "any", "interaction", "shape"}
        Whether a variable matters at all, alone or with others; whether at least one matters of a
        few that stand for each other, each of which is in doubt; whether anything does, where that
        is all that is known; whether the effect of one depends on another, so that no sum of
        effects describes it; how the target follows a variable.
    variables : tuple of str
        The columns of the table that it is about: one, those of a set or of an interaction, none
        where it is about anything at all.
    probability : float
        That it is true, given the rows and the structures that were looked at.
    certain : bool
        Beyond doubt; otherwise it is a suggestion.
    words : str
        It as a part of a sentence: "age matters", "at least one of height and weight matters",
        "age and sex interact", "the target follows age in a curve".
    shape : {"", "linear", "smooth", "periodic"}
        Of a claim about a shape.

    Examples
    --------
    >>> claim = Claim(kind="variable", variables=("age",), probability=0.993, certain=True,
    ...               words="age matters")
    >>> print(claim)
    age matters (probability 0.99)
    """

    kind: ClaimKind
    variables: tuple[str, ...]
    probability: float
    certain: bool
    words: str
    shape: ClaimedShape = ""

    def __str__(self) -> str:
        return f"{self.words} (probability {self.probability:.2f})"

    @property
    def about(self) -> tuple[str, tuple[str, ...], str]:
        """What is claimed, whatever its probability."""
        return self.kind, tuple(sorted(self.variables)), self.shape


def stated(
    kind: ClaimKind,
    variables: tuple[str, ...],
    probability: float,
    words: str,
    shape: ClaimedShape = "",
) -> Iterator[Claim]:
    """Yield the claim if it is more probable than not."""
    if probability >= SUGGESTED:
        yield Claim(
            kind=kind,
            variables=variables,
            probability=float(probability),
            certain=bool(probability >= CERTAIN),
            words=words,
            shape=shape,
        )


class StandIns(NamedTuple):
    """Variables that stand for each other, and the probability that at least one of them matters.

    Attributes
    ----------
    members : tuple of int
        The most probable one first.
    chance : float

    Examples
    --------
    >>> StandIns((4, 1), 0.997).members
    (4, 1)
    """

    members: tuple[int, ...]
    chance: float


def find_stand_ins(
    holders: Sequence[Iterable[int]], chances: Array, variables: Array
) -> tuple[StandIns, ...]:
    """Return the smallest sets of variables that stand for each other; no two share a member.

    Parameters
    ----------
    holders : sequence of iterables of int
        The variables of each structure.
    chances : ndarray of shape (n_structures,)
        Their probabilities, which sum to one.
    variables : ndarray of shape (d,)
        The probability of each variable.
    """
    order = np.argsort(-variables, kind="stable")
    fit = (variables[order] < CERTAIN) & (variables[order] >= _LEAST_CHANCE)
    left = order[fit][:_MOST_CANDIDATES].tolist()
    absence = _Absence(holders, chances, left)
    found: list[StandIns] = []
    for size in range(2, _MOST_MEMBERS + 1):
        while True:
            fitting = [
                candidate for candidate in combinations(left, size) if absence.is_set(candidate)
            ]
            if not fitting:
                break
            members = min(fitting, key=absence.of)
            found.append(StandIns(members, 1 - absence.of(members)))
            left = [variable for variable in left if variable not in members]
    return tuple(found)


class _Absence:
    """How probable it is that no variable of a set is in the structure."""

    def __init__(
        self, holders: Sequence[Iterable[int]], chances: Array, candidates: Sequence[int]
    ) -> None:
        self.place = {variable: k for k, variable in enumerate(candidates)}
        patterns: dict[frozenset[int], float] = {}
        for held, chance in zip(holders, chances.tolist(), strict=True):
            pattern = frozenset(self.place).intersection(held)
            patterns[pattern] = patterns.get(pattern, 0.0) + chance
        self.chances = np.array(list(patterns.values()))
        self.holds = np.zeros((len(patterns), len(candidates)), dtype=bool)
        for row, present in enumerate(patterns):
            self.holds[row, [self.place[variable] for variable in present]] = True

    def of(self, members: Sequence[int]) -> float:
        none = ~self.holds[:, [self.place[variable] for variable in members]].any(axis=1)
        return float(self.chances[none].sum())

    def is_set(self, members: Sequence[int]) -> bool:
        none = self.of(members)
        if 1 - none < CERTAIN:
            return False
        for member in members:
            without = self.of([other for other in members if other != member])
            if 1 - without >= CERTAIN or none > _LOWERED * self.of([member]) * without:
                return False
        return True


def say_sets(names: Sequence[str], sets: Sequence[StandIns]) -> Iterator[Claim]:
    """Yield that at least one matters of variables that stand for each other, the surest first."""
    for members, chance in sorted(sets, key=lambda stand_ins: -stand_ins.chance):
        own = tuple(names[member] for member in members)
        words = f"at least one of {', '.join(own[:-1])} and {own[-1]} matters"
        yield from stated("set", own, chance, words)


def say_any(columns: Sequence[Claim], chance: float, target: str) -> Iterator[Claim]:
    """Yield that something matters, where that is surer than all that is said of columns."""
    for claim in stated("any", (), chance, f"something here predicts {target}"):
        if not any(other.certain or not claim.certain for other in columns):
            yield claim


def steady(claims: Sequence[Claim], parts: Sequence[Sequence[Claim]]) -> tuple[Claim, ...]:
    """Return the claims; what most parts of the rows do not support is not certain.

    Each part has fewer rows, so that a suggestion there is enough.
    """

    def is_steady(claim: Claim) -> bool:
        return claim.certain and 2 * sum(is_found(claim, part) for part in parts) >= len(parts)

    return tuple(replace(claim, certain=is_steady(claim)) for claim in claims)


def is_found(claim: Claim, part: Sequence[Claim]) -> bool:
    """Return whether what a part of the rows supports bears a claim out.

    Of a set a part may name one member, or some; or it knows only that something matters.
    """
    if claim.kind == "any":
        return bool(part)
    if claim.kind == "set":
        return any(
            other.kind == "any"
            or (other.kind in ("variable", "set") and set(other.variables) & set(claim.variables))
            for other in part
        )
    return any(other.about == claim.about for other in part)


def merged(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return each claim of several questions once, as probable as the question that says it best.

    Each kind by itself, the most probable first. Of what one question leaves open another may know
    more: a set with a member that is certain says nothing further, nor one that overlaps a surer
    set, nor that something matters where a column does.
    """
    best: dict[object, Claim] = {}
    for claim in claims:
        other = best.get(claim.about)
        if other is None or (claim.certain, claim.probability) > (other.certain, other.probability):
            best[claim.about] = claim
    kinds = get_args(ClaimKind)
    known: set[str] = set()
    kept: list[Claim] = []
    for claim in sorted(
        best.values(), key=lambda claim: (kinds.index(claim.kind), -claim.probability)
    ):
        if claim.kind == "any" and any(other.certain or not claim.certain for other in kept):
            continue
        if claim.kind == "set" and not known.isdisjoint(claim.variables):
            continue
        kept.append(claim)
        if claim.certain and claim.kind in ("variable", "set"):
            known.update(claim.variables)
    return tuple(kept)
