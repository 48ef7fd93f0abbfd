"""A bug of one line, as the tables of `tools.planted_bugs` have it."""

from typing import NamedTuple

LEAK = "leak"


class PlantedBug(NamedTuple):
    """A bug of one line. `old` occurs once in the file; each of `tests` is a node of pytest."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    kind: str = ""

    @property
    def is_leak(self) -> bool:
        """Whether what was left out is let in."""
        return self.kind == LEAK


def plant(file: str, old: str, new: str, *tests: str, kind: str = "") -> PlantedBug:
    """Return a bug; the file is named from the package, tests from their folder."""
    return PlantedBug(
        f"src/parsimon/{file}", old, new, tuple(f"tests/{one}" for one in tests), kind
    )
