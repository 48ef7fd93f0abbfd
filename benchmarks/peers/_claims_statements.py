"""`Statement`: what a method says about a table, in one form for ours and for the peers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Statement:
    """One thing that a method says of a table.

    `score` orders a method's statements over all tables: ours is a probability. `claimed` is
    whether the method, by its own rule, claims it; the others are there for the threshold that an
    oracle would have chosen.
    """

    kind: str
    variables: frozenset[str]
    score: float
    claimed: bool
    shape: str = ""

    @classmethod
    def of(cls, claim: Any) -> "Statement":
        """Return a claim of ours; those that are certain are claimed, the others suggested."""
        variables = frozenset(claim.variables)
        return cls(claim.kind, variables, claim.probability, claim.certain, claim.shape)

    def to_json(self) -> dict[str, Any]:
        """Return the statement as plain values."""
        return {
            "kind": self.kind,
            "variables": sorted(self.variables),
            "score": round(float(self.score), 6),
            "claimed": bool(self.claimed),
            "shape": self.shape,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Statement":
        """Return the statement of plain values."""
        return cls(**{**values, "variables": frozenset(values["variables"])})


def about_variables(
    scores: Mapping[str, float], claimed: Iterable[str] = (), *, above: float = float("inf")
) -> list[Statement]:
    """Return a statement for each variable; claimed are those named or with a score `above`."""
    named = set(claimed)
    return [
        Statement("variable", frozenset({name}), score, name in named or score > above)
        for name, score in scores.items()
    ]


def about_pairs(
    scores: Mapping[frozenset[str], float],
    claimed: Iterable[frozenset[str]] = (),
    *,
    above: float = float("inf"),
) -> list[Statement]:
    """Return a statement for each pair; claimed are those named or with a score `above`."""
    named = set(claimed)
    return [
        Statement("interaction", pair, score, pair in named or score > above)
        for pair, score in scores.items()
    ]
