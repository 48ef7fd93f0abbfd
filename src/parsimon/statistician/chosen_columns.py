"""Which columns of a table are looked at: names, patterns, numbers and ranges."""

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from parsimon._checks import did_you_mean, shorten
from parsimon.exceptions import InvalidInputError
from parsimon.report.findings import Treatment

if TYPE_CHECKING:
    import pandas as pd

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_PATTERN = frozenset("*?[")
Columns = str | Sequence[str]


def choose_columns(
    frame: "pd.DataFrame",
    keep: Columns = (),
    drop: Columns = (),
    *,
    needed: Collection[str | None] = (),
    prefix: str = "",
) -> tuple["pd.DataFrame", tuple[Treatment, ...]]:
    """Return a table with the columns that were asked for, and which are left out.

    keep, drop: Names, patterns such as ``dose_*``, numbers from 1 on and ranges such as ``3-7``,
        one by one or with commas between.
    needed: Columns that stay.
    prefix: Of the options in errors.
    """
    if not keep and not drop:
        return frame, ()
    names = [str(name) for name in frame.columns]
    stays = {name for name in needed if name is not None}
    for part in _parts(drop, names):
        if part in stays:
            raise InvalidInputError(f"{prefix}drop {part!r}: that column is needed; leave it in.")
    kept = set(find_columns(keep, names, f"{prefix}keep") if keep else names)
    kept = kept - set(find_columns(drop, names, f"{prefix}drop")) | stays
    if not kept - stays:
        raise InvalidInputError(
            f"No column is left to predict with; the table has {shorten(names, 12)}."
        )
    gone = [Treatment(kind="column_unasked", column=name) for name in names if name not in kept]
    return frame.loc[:, [name in kept for name in names]], tuple(gone)


def list_features(
    names: Sequence[str], keep: Columns, drop: Columns, prefix: str = ""
) -> tuple[list[str] | None, list[str]]:
    """Return the columns that may explain a trait, None for all of them, and those that may not."""
    dropped = find_columns(drop, names, f"{prefix}drop")
    if not keep:
        return None, dropped
    return [
        one for one in find_columns(keep, names, f"{prefix}keep") if one not in dropped
    ], dropped


def find_columns(given: Columns, names: Sequence[str], option: str) -> list[str]:
    """Return the columns that an option means, in the order in which they were given."""
    found = (name for part in _parts(given, names) for name in _match(part, names, option))
    return list(dict.fromkeys(found))


def _parts(given: Columns, names: Sequence[str]) -> Iterator[str]:
    """Yield what was given one by one or with commas; a column may have one in its name."""
    for text in [given] if isinstance(given, str) else map(str, given):
        parts = [text] if text in names else [part.strip() for part in text.split(",")]
        yield from filter(None, parts)


def _match(text: str, names: Sequence[str], option: str) -> list[str]:
    """Return the columns of one name, pattern, number or range."""
    if text in names:
        return [text]
    if places := _RANGE.fullmatch(text):
        first = int(places[1])
        last = int(places[2] or first)
        if 1 <= first <= last <= len(names):
            return list(names[first - 1 : last])
        raise InvalidInputError(f"{option} {text}: the table has columns 1 to {len(names)}.")
    found = [name for name in names if fnmatchcase(name, text)] if _PATTERN & set(text) else []
    if not found:
        raise InvalidInputError(
            f"{option} {text!r} is no column; the table has {shorten(names, 12)}."
            f"{did_you_mean(text, names)}"
        )
    return found
