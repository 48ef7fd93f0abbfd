"""Names and directions of objectives: the border where "larger is better" becomes a sign."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._checks import finite_vector, shorten
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError


@dataclass(frozen=True)
class Directions:
    """The objectives of a front by name, and which of them are maximised.

    Examples
    --------
    >>> directions = Directions.of(["tpr", "fpr"], maximise=["tpr"])
    >>> print(directions)
    tpr up, fpr down
    >>> directions.sign
    array([-1.,  1.])
    """

    names: tuple[str, ...]
    maximise: tuple[bool, ...]

    @classmethod
    def of(cls, names: Sequence[str] | int, maximise: Sequence[str] | bool = ()) -> "Directions":
        """Return directions from what a user gives: names or a count, and what to maximise."""
        if isinstance(names, str):
            raise InvalidInputError(f"names must be a list of names, got the text {names!r}.")
        if isinstance(names, (int, np.integer)):
            listed = tuple(f"f{i + 1}" for i in range(int(names)))
        else:
            listed = tuple(str(name) for name in names)
        if not listed:
            raise InvalidInputError("At least one objective is needed, got none.")
        if len(set(listed)) < len(listed):
            raise InvalidInputError(f"Objective names must differ, got {', '.join(listed)}.")
        if isinstance(maximise, (bool, np.bool_)):
            return cls(listed, (bool(maximise),) * len(listed))
        wanted = [maximise] if isinstance(maximise, str) else list(maximise)
        made = cls(listed, tuple(name in wanted for name in listed))
        for name in wanted:
            made.position(name)
        return made

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {'up' if up else 'down'}"
            for name, up in zip(self.names, self.maximise, strict=True)
        )

    @property
    def sign(self) -> Array:
        """What turns values into minimised ones and back: -1 where larger is better."""
        return np.where(self.maximise, -1.0, 1.0)

    @property
    def maximised(self) -> tuple[str, ...]:
        """Names of the objectives to be maximised."""
        return tuple(n for n, up in zip(self.names, self.maximise, strict=True) if up)

    def position(self, name: str) -> int:
        """Return the column of an objective."""
        if name not in self.names:
            raise InvalidInputError(
                f"There is no objective {name!r}; the objectives are {shorten(self.names, 12)}."
            )
        return self.names.index(name)

    def point(self, given: Any, what: str) -> tuple[list[int], Array]:
        """Return columns and values of a point given as a mapping by name, or as a sequence."""
        if isinstance(given, Mapping):
            columns = [self.position(name) for name in given]
            values = list(given.values())
        else:
            columns, values = list(range(len(self))), list(given)
        if len(values) != len(columns) or not values:
            raise InvalidInputError(
                f"{what} must have {len(self)} values ({', '.join(self.names)}), got {len(values)}."
            )
        return columns, finite_vector(values, what)

    def subset(self, names: Sequence[str]) -> tuple[list[int], "Directions"]:
        """Return the columns of some objectives, and their directions."""
        columns = [self.position(name) for name in names]
        chosen = tuple(self.names[column] for column in columns)
        return columns, Directions.of(chosen, [n for n in chosen if n in self.maximised])
