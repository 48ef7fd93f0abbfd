"""Which columns of a table a command looks at: `--keep` and `--drop`."""

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase

from parsimon._checks import did_you_mean, shorten
from parsimon.cli.printing import say
from parsimon.cli.sources import Source
from parsimon.exceptions import InvalidInputError

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_PATTERN = frozenset("*?[")


def choose_columns(
    source: Source,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    needed: Collection[str | None] = (),
) -> Source:
    """Return a table with the columns that were asked for, and say which are left out.

    The target and `needed` ones stay.
    keep, drop: Names, patterns such as ``dose_*``, numbers from 1 on and ranges such as ``3-7``,
        one by one or with commas between.
    """
    if not keep and not drop:
        return source
    from parsimon.report.findings import Treatment
    from parsimon.report.sections.table.treatments import treatment_sentences

    names = [str(name) for name in source.frame.columns]
    stays = {name for name in (source.target, *needed) if name is not None}
    for part in _parts(drop, names):
        if part in stays:
            raise InvalidInputError(f"--drop {part!r}: that column is needed; leave it in.")
    kept = set(find_columns(keep, names, "--keep") if keep else names)
    kept = kept - set(find_columns(drop, names, "--drop")) | stays
    if not kept - stays:
        raise InvalidInputError(
            f"No column is left to predict with; the table has {shorten(names, 12)}."
        )
    gone = [Treatment(kind="column_unasked", column=name) for name in names if name not in kept]
    for sentence in treatment_sentences(gone):
        say(sentence, err=True)
    frame = source.frame.loc[:, [name in kept for name in names]]
    return source._replace(frame=frame, treatments=(*source.treatments, *gone))


def find_columns(given: Sequence[str], names: Sequence[str], option: str) -> list[str]:
    """Return the columns that an option means, in the order in which they were given."""
    found = (name for part in _parts(given, names) for name in _meant(part, names, option))
    return list(dict.fromkeys(found))


def _parts(given: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Yield what was given one by one or with commas; a column may have one in its name."""
    for text in given:
        parts = [text] if text in names else [part.strip() for part in text.split(",")]
        yield from filter(None, parts)


def _meant(text: str, names: Sequence[str], option: str) -> list[str]:
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
