"""Which line of a file a row of its table came from, looked up when the row is complained of."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from parsimon.cli.row_widths import Layout, any_length
from parsimon.cli.text_files import open_text
from parsimon.exceptions import BadRowError

_TABLE = "parsimon.table"


class _TextTable(NamedTuple):
    path: Path
    layout: Layout


def note_table(path: Path, layout: Layout) -> None:
    """Keep in mind which file of text the table of the command came from."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_TABLE] = _TextTable(path, layout)


def say_line(context: click.Context, error: Exception) -> str:
    """Return what an error says; a row is named by its line if the table came from a text."""
    table: _TextTable | None = context.meta.get(_TABLE)
    if table is None or not isinstance(error, BadRowError):
        return str(error)
    line = line_of_row(table.path, table.layout, error.row)
    return error.at(f"line {line} of {table.path}") if line else str(error)


def line_of_row(path: Path, layout: Layout, row: int) -> int:
    """Return the line where a row below the header begins; 0 if there is no such row."""
    place = row + (layout.header is not None)
    with open_text(path, layout.encoding) as text, any_length():
        lines = _beginnings(csv.reader(text, delimiter=layout.mark))
        return next((line for k, line in enumerate(lines) if k == place), 0)


def _beginnings(rows: Iterator[list[str]]) -> Iterator[int]:
    """Yield the line of each row that pandas takes as one: those without anything are skipped."""
    last = 0
    for cells in rows:
        if len(cells) > 1 or any(cell.strip() or not cell for cell in cells):
            yield last + 1
        last = rows.line_num  # type: ignore[attr-defined]
