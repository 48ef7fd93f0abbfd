"""`Claim`: what is said about a table, with the probability that it is true."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

ClaimKind: TypeAlias = Literal["variable", "interaction", "shape"]
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
    kind : {"variable", "interaction", "shape"}
        Whether a variable matters at all, alone or with others; whether the effect of one depends
        on another, so that no sum of effects describes it; how the target follows a variable.
    variables : tuple of str
        The columns of the table that it is about: one, or two for an interaction.
    probability : float
        That it is true, given the rows and the structures that were looked at.
    certain : bool
        Beyond doubt; otherwise it is a suggestion.
    words : str
        It as a part of a sentence: "age matters", "age and sex interact", "the target follows age
        in a curve".
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


def steady(claims: Sequence[Claim], parts: Sequence[Sequence[Claim]]) -> tuple[Claim, ...]:
    """Return the claims; what most parts of the rows do not support is not certain.

    Each part has fewer rows, so that a suggestion there is enough.
    """
    found = [{one.about for one in part} for part in parts]
    return tuple(
        replace(
            one, certain=one.certain and 2 * sum(one.about in part for part in found) >= len(found)
        )
        for one in claims
    )


def merged(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return each claim of several questions once, as probable as the question that says it best.

    Each kind by itself, the most probable first.
    """
    best: dict[object, Claim] = {}
    for one in claims:
        known = best.get(one.about)
        if known is None or (one.certain, one.probability) > (known.certain, known.probability):
            best[one.about] = one
    kinds = get_args(ClaimKind)
    return tuple(sorted(best.values(), key=lambda one: (kinds.index(one.kind), -one.probability)))
