"""Variables that stand for each other: at least one of them matters, it is open which.

Columns that say nearly the same share the weight of the structures that hold either, so that each
alone is in doubt where it is certain that one of them matters. A set is claimed if

- none of its members is certain by itself, and it is certain that at least one of them matters;
- no smaller part of it would do;
- its members stand for each other: if none of the others mattered, the chance that this one does
  not would be less than half of what it is. Of columns that say different things it would stay the
  same, so that two separate suggestions make no set.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array

_MOST_MEMBERS = 5
# Of so many variables all small sets are looked at; less probable ones would hardly add to any.
_MOST_CANDIDATES = 12
_LEAST_CHANCE = 0.02
# How much the absence of the others must lower the chance that a member is absent too.
_LOWERED = 0.5


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
    holders: Sequence[Iterable[int]], chances: Array, variables: Array, certain: float
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
    certain : float
        The probability from which on something is certain.
    """
    order = np.argsort(-variables, kind="stable")
    fit = (variables[order] < certain) & (variables[order] >= _LEAST_CHANCE)
    left = order[fit][:_MOST_CANDIDATES].tolist()
    absence = _Absence(holders, chances, left)
    found: list[StandIns] = []
    for size in range(2, _MOST_MEMBERS + 1):
        while True:
            fitting = [one for one in combinations(left, size) if absence.is_set(one, certain)]
            if not fitting:
                break
            members = min(fitting, key=absence.of)
            found.append(StandIns(members, 1 - absence.of(members)))
            left = [one for one in left if one not in members]
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
            self.holds[row, [self.place[one] for one in present]] = True

    def of(self, members: Sequence[int]) -> float:
        none = ~self.holds[:, [self.place[one] for one in members]].any(axis=1)
        return float(self.chances[none].sum())

    def is_set(self, members: Sequence[int], certain: float) -> bool:
        none = self.of(members)
        if 1 - none < certain:
            return False
        for one in members:
            without = self.of([other for other in members if other != one])
            if 1 - without >= certain or none > _LOWERED * self.of([one]) * without:
                return False
        return True
