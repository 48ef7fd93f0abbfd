"""The first screen of every page: the answer, a few large figures, a picture, how far it goes."""

from collections.abc import Iterable

from parsimon.report.document import Block, Figure, KeyFigure, KeyFigures, Listing, Listings, Strong
from parsimon.report.sections._blocks import Sentence, bullets, paragraph

NOT_A_CAUSE = "What predicts need not be a cause."


def first_screen(
    answer: str,
    how_well: Iterable[Sentence],
    figures: KeyFigures,
    picture: tuple[Figure, ...],
    lists: Listings,
) -> tuple[Block, ...]:
    """Return the answer in a sentence with how well it does, figures, a picture, and lists."""
    said = tuple(one for one in how_well if one)
    return (paragraph((Strong(answer),), *said), figures, *picture, lists)


def shown_large(figures: Iterable[KeyFigure | None]) -> KeyFigures:
    """Return those figures that are known."""
    return KeyFigures(tuple(one for one in figures if one is not None))


def sure_and_unsure(
    certain: Iterable[Sentence], suggested: Iterable[Sentence], doubts: Iterable[Sentence]
) -> Listings:
    """Return what is certain, what is suggested and what to doubt; the first two may be nothing."""
    sure = tuple(one for one in certain if one) or ("Nothing.",)
    perhaps = tuple(one for one in suggested if one) or ("Nothing further.",)
    return Listings(
        (
            Listing("What is certain", bullets(*sure)),
            Listing("What is suggested", bullets(*perhaps)),
            Listing("What to doubt", bullets(*doubts)),
        )
    )
