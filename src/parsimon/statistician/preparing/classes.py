"""Classes of a target: which are too small, which was asked for, which of two is the positive."""

from collections.abc import Mapping

from parsimon._checks import shorten
from parsimon.exceptions import InvalidInputError
from parsimon.statistician.preparing.levels import affirmative, in_order

# Of many classes, one that is smaller cannot be in both parts of a fold and is left out.
FEWEST_ROWS_OF_CLASS = 3
MOST_CLASSES = 20


def find_class(name: str, counts: Mapping[str, int], wanted: str) -> str:
    """Return the class that is meant, whatever its case, or say which there are."""
    alike = [one for one in counts if one.casefold() == wanted.casefold()]
    if wanted in counts or len(alike) == 1:
        return wanted if wanted in counts else alike[0]
    raise InvalidInputError(
        f"The positive class {wanted!r} is not among the classes of {name!r}: "
        f"{shorten(in_order(list(counts)), 12)}."
    )


def rare_classes(name: str, counts: Mapping[str, int]) -> list[str]:
    """Return those of three or more classes that have too few rows."""
    if len(counts) > MOST_CLASSES:
        raise InvalidInputError(
            f"The target {name!r} has {len(counts)} classes, more than {MOST_CLASSES}: it looks "
            "like an identifier or a number. Choose another target, or name the positive class."
        )
    rare = [one for one in counts if counts[one] < FEWEST_ROWS_OF_CLASS]
    if len(counts) - len(rare) < 2:
        raise InvalidInputError(
            f"The target {name!r} has {len(counts)} classes, but {len(counts) - len(rare)} of them "
            f"with at least {FEWEST_ROWS_OF_CLASS} rows; two such classes are needed."
        )
    return rare


def check_classes(name: str, counts: Mapping[str, int], asked: str = "") -> None:
    """Refuse one class alone and a class with a single row."""
    if len(counts) == 1:
        raise InvalidInputError(
            f"The target {name!r} has only one class, {next(iter(counts))!r}; two are needed."
        )
    n_rest = sum(counts.values()) - counts.get(asked, 0)
    sizes = {asked: counts[asked], "the rest": n_rest} if asked and len(counts) > 2 else counts
    for one, count in sizes.items():
        if count < 2:
            raise InvalidInputError(
                f"The class {one!r} of the target {name!r} has only {count} row; at least 2 are "
                "needed in each class."
            )


def ordered_classes(counts: Mapping[str, int], asked: str = "") -> tuple[str, ...]:
    """Return the classes sorted; of two, the positive one last.

    It is the one that was asked for, the one that says yes, the rarer one, or the second in order,
    whichever applies first.
    """
    classes = in_order(list(counts))
    if len(classes) != 2:
        return classes
    first, second = classes
    positive = asked or affirmative(classes)
    if not positive:
        positive = first if counts[first] < counts[second] else second
    return (second, first) if positive == first else (first, second)
