"""Where a table comes from: a file, or data that can be loaded by name."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from click.shell_completion import CompletionItem

from parsimon._checks import shorten
from parsimon.cli.printing import say
from parsimon.cli.series_files import CLASS, is_bare, read_archive
from parsimon.cli.tables import TABLE_ENDINGS, FileTable, column, read_file, read_rows
from parsimon.exceptions import DatasetNotFoundError, InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.report.findings import Treatment

_PACKED = frozenset({".gz", ".bz2", ".xz", ".zip", ".zst"})


class Source(NamedTuple):
    """A table, what it is called, and the column that is usually predicted, if that is known.

    treatments: What was done to the table of a file when it was read.
    """

    frame: "pd.DataFrame"
    name: str
    target: str | None
    treatments: tuple["Treatment", ...] = ()


def find_source(text: str, target: str | None = None) -> Source:
    """Return the table of a file, or the data set of that name if there is no such file."""
    path = Path(text).expanduser()
    if path.is_file():
        if not path.suffix and _is_data_set(text):
            say(
                f"The file {text} is read, not the data set of that name; "
                "rename or leave the file to have the other.",
                err=True,
            )
        table = read_file(path)
        if target is not None:
            _check_target(table, target)
        return Source(table.frame, _plain_name(path), target, table.treatments)
    if path.is_dir() or len(path.parts) > 1 or _endings(path) & (TABLE_ENDINGS | _PACKED):
        read_rows(path)
    return _data_set(text, target)


def series_source(text: str, n_values: int | None = None) -> Source | None:
    """Return series of a file of the UCR archive: one a row, the class first; None of others.

    n_values: How many a model knows: a file of so many columns has no class.
    """
    path = Path(text).expanduser()
    if not path.is_file():
        return None
    if path.suffix.lower() == ".ts":
        return Source(read_archive(path), _plain_name(path).removesuffix(".ts"), CLASS)
    if not is_bare(path):
        return None
    frame = read_rows(path, has_header=False)
    has_class = frame.shape[1] != n_values
    names = [str(place + 1) for place in range(frame.shape[1] - has_class)]
    frame.columns = [CLASS, *names] if has_class else names
    return Source(frame, _plain_name(path), CLASS)


def read_source(
    text: str,
    target: str | None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    needed: Collection[str | None] = (),
) -> Source:
    """Return a table with the columns that were asked for, and say which are left out."""
    return narrow_source(find_source(text, target), keep, drop, needed)


def narrow_source(
    source: Source,
    keep: Sequence[str],
    drop: Sequence[str],
    needed: Collection[str | None] = (),
) -> Source:
    """Leave out columns as `--keep` and `--drop` say; the target and `needed` ones stay."""
    if not keep and not drop:
        return source
    from parsimon.report.sections.table.treatments import treatment_sentences
    from parsimon.statistician.chosen_columns import choose_columns

    stays = (source.target, *needed)
    frame, gone = choose_columns(source.frame, keep, drop, needed=stays, prefix="--")
    for sentence in treatment_sentences(gone):
        say(sentence, err=True)
    return source._replace(frame=frame, treatments=(*source.treatments, *gone))


def complete_table(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer files and names of data sets to a shell that completes the name of a table."""
    del context, parameter
    from parsimon.datasets import names

    known = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
    return [*known, CompletionItem(incomplete, type="file")]


def _check_target(table: FileTable, target: str) -> None:
    """Refuse a target that is not there, or that is there twice with different values."""
    values = column(table.frame, target)
    for one in table.treatments:
        is_copy = one.kind == "column_renamed" and one.value == target
        if is_copy and not values.equals(table.frame[one.column]):
            raise InvalidInputError(
                f"The table has two columns called {target!r}, and they differ; rename the one "
                f"that is not to be predicted, or give --target {one.column!r} for the second."
            )


def needed_target(source: Source) -> str:
    """Return the column to predict, or say which there are."""
    if source.target is None:
        raise InvalidInputError(
            "Name the column to predict with --target; "
            f"the columns are {shorten(list(source.frame), 12)}."
        )
    return source.target


def _data_set(text: str, target: str | None) -> Source:
    from parsimon.datasets import load

    try:
        data = load(text, target=target)
    except DatasetNotFoundError as error:
        raise DatasetNotFoundError(f"There is no file {text}. {error}") from error
    if data.frame is None:
        raise InvalidInputError(f"{data.name} is a tree without a table.")
    usual = None if data.target is None else str(data.target.name)
    return Source(data.frame.reset_index(drop=True), data.name, usual)


def _is_data_set(text: str) -> bool:
    from parsimon.datasets import names
    from parsimon.datasets.catalogue import catalogue_name

    return catalogue_name(text) in names()


def _endings(path: Path) -> set[str]:
    return {ending.lower() for ending in path.suffixes}


def _plain_name(path: Path) -> str:
    """Return a file's name without the endings that say how it is written."""
    name = path.name
    while Path(name).suffix.lower() in TABLE_ENDINGS | _PACKED:
        name = Path(name).stem
    return name
