"""The header of a table: a name of its own for each column, and what is said of those renamed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.report.findings import Treatment


class FileTable(NamedTuple):
    """The table of a file, and what was done to it when it was read."""

    frame: "pd.DataFrame"
    treatments: tuple["Treatment", ...] = ()

    def having(self, *treatments: "Treatment") -> "FileTable":
        """Return the table with more that is to be said of it."""
        return self._replace(treatments=(*self.treatments, *treatments))


def with_header(frame: "pd.DataFrame", header: Iterable[Any], *, n_beyond: int = 0) -> FileTable:
    """Name the columns; those without a name and without a value are left out.

    n_beyond: Rows that have empty cells beyond the header.
    """
    from parsimon.report.findings import Treatment

    found = ["" if one is None else str(one).strip() for one in header]
    empty = [not name and bool(frame.iloc[:, k].isna().all()) for k, name in enumerate(found)]
    names = own_names(found)
    said = [
        Treatment(kind="column_renamed", column=own, value=name)
        for own, name, gone in zip(names, found, empty, strict=True)
        if own != name and not gone
    ]
    if any(empty) or n_beyond:
        said.append(Treatment(kind="columns_unnamed", count=sum(empty) or 1))
    frame = frame.set_axis(names, axis=1)
    return FileTable(frame.loc[:, [not gone for gone in empty]], tuple(said))


def own_names(header: Iterable[str]) -> list[str]:
    """Return a name of its own for each column, as pandas makes it: "x.1", "Unnamed: 3"."""
    cells = [name or f"Unnamed: {place}" for place, name in enumerate(header)]
    taken, result = set(cells), []
    seen: dict[str, int] = {}
    for name in cells:
        own, count = name, seen.get(name, 0)
        while count and (own := f"{name}.{count}") in taken:
            count += 1
        seen[name] = count + 1
        taken.add(own)
        result.append(own)
    return result
