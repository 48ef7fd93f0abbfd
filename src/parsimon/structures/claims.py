"""`Claim`: what is said about a table, with the probability that it is true."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from parsimon.structures._sets import StandIns

ClaimKind: TypeAlias = Literal["variable", "set", "any", "interaction", "shape"]
ClaimedShape: TypeAlias = Literal["", "linear", "smooth", "periodic"]

# What is less probable than an even chance is not said at all; what is more probable than that is
# a suggestion, until it is beyond doubt.
SUGGESTED = 0.5
CERTAIN = 0.95


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


def say_sets(names: Sequence[str], sets: Sequence[StandIns]) -> Iterator[Claim]:
    """Yield that at least one matters of variables that stand for each other, the surest first."""
    for members, chance in sorted(sets, key=lambda one: -one.chance):
        own = tuple(names[one] for one in members)
        words = f"at least one of {', '.join(own[:-1])} and {own[-1]} matters"
        yield from stated("set", own, chance, words)


def say_any(columns: Sequence[Claim], chance: float, target: str) -> Iterator[Claim]:
    """Yield that something matters, where that is surer than all that is said of columns."""
    for claim in stated("any", (), chance, f"something here predicts {target}"):
        if not any(one.certain or not claim.certain for one in columns):
            yield claim


def steady(claims: Sequence[Claim], parts: Sequence[Sequence[Claim]]) -> tuple[Claim, ...]:
    """Return the claims; what most parts of the rows do not support is not certain.

    Each part has fewer rows, so that a suggestion there is enough.
    """
    return tuple(
        replace(
            one,
            certain=one.certain and 2 * sum(is_found(one, part) for part in parts) >= len(parts),
        )
        for one in claims
    )


def is_found(claim: Claim, part: Sequence[Claim]) -> bool:
    """Return whether what a part of the rows supports bears a claim out.

    Of a set a part may name one member, or some; or it knows only that something matters.
    """
    if claim.kind == "any":
        return bool(part)
    if claim.kind == "set":
        return any(
            one.kind == "any"
            or (one.kind in ("variable", "set") and set(one.variables) & set(claim.variables))
            for one in part
        )
    return any(one.about == claim.about for one in part)


def merged(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return each claim of several questions once, as probable as the question that says it best.

    Each kind by itself, the most probable first. Of what one question leaves open another may know
    more: a set with a member that is certain says nothing further, nor one that overlaps a surer
    set, nor that something matters where a column does.
    """
    best: dict[object, Claim] = {}
    for one in claims:
        other = best.get(one.about)
        if other is None or (one.certain, one.probability) > (other.certain, other.probability):
            best[one.about] = one
    kinds = get_args(ClaimKind)
    known: set[str] = set()
    kept: list[Claim] = []
    for one in sorted(best.values(), key=lambda one: (kinds.index(one.kind), -one.probability)):
        if one.kind == "any" and any(two.certain or not one.certain for two in kept):
            continue
        if one.kind == "set" and not known.isdisjoint(one.variables):
            continue
        kept.append(one)
        if one.certain and one.kind in ("variable", "set"):
            known.update(one.variables)
    return tuple(kept)
