"""The header of a file of text and the width of each of its rows, looked at before it is read.

pandas shifts or drops cells where a row is wider than the header, and fills rows that are not wide
enough, without a word. Here a row that does not fit is refused or listed, with its line. At the
end is looked up which line a row of the table came from, if it is complained of later.
"""

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import click

from parsimon.cli.text_files import check_unpacked, find_encodings, open_text
from parsimon.exceptions import BadRowError, InvalidInputError

_MARKS = (",", ";", "\t", "|")
# A cell goes over so many lines at most; beyond that a quotation mark was not closed.
_MOST_LINES = 1000
_LISTED = 8


class _Row(NamedTuple):
    """A row that was cut at separators; `quoted` if it begins with a quotation mark."""

    line: int
    cells: list[str]
    quoted: bool = False

    @property
    def is_comment(self) -> bool:
        """Whether it begins as comments do."""
        return self.cells[0].lstrip().startswith("#")

    @property
    def is_remark(self) -> bool:
        """Whether it is a comment even where it has the right width: a colour is "#00ff00"."""
        return not self.quoted and self.cells[0].lstrip().startswith("# ")


@dataclass
class Layout:
    """How a file of text is cut, and which of its rows are not as wide as its header.

    header: None for a file without one.
    n_rows: All below the header.
    widest: Cells of the widest row.
    n_trailing: Rows whose cells beyond the header are all empty.
    n_short, short: Rows with fewer cells than the header, and the lines of the first.
    n_overfull, overfull: Rows with values beyond the header, and the first of them.
    n_named: Of these, those that are one cell too wide and begin with a quotation mark, as rows do
        whose names R has written.
    comment: The first row that is a comment.
    """

    encoding: str
    mark: str
    header: _Row | None = None
    n_rows: int = 0
    widest: int = 0
    n_trailing: int = 0
    n_short: int = 0
    short: list[int] = field(default_factory=list)
    n_overfull: int = 0
    overfull: _Row | None = None
    n_named: int = 0
    comment: _Row | None = None

    @property
    def width(self) -> int:
        """How many cells a row should have; of a file without a header, the widest row."""
        return self.widest if self.header is None else len(self.header.cells)

    @property
    def has_row_names(self) -> bool:
        """Whether each row begins with a name that the header has no cell for."""
        return self.n_named == self.n_rows > 0

    def add(self, row: _Row) -> None:
        """Count a row."""
        width = len(row.cells)
        self.n_rows += 1
        self.widest = max(width, self.widest)
        if self.header is None:
            return
        if width == self.width:
            self.comment = self.comment or (row if row.is_remark else None)
            return
        if width < self.width:
            self.n_short += 1
            self.short += [row.line] * (self.n_short <= _LISTED)
            self.comment = self.comment or (row if row.is_comment else None)
        elif any(map(str.strip, row.cells[self.width :])):
            self.n_overfull += 1
            self.n_named += row.quoted and width == self.width + 1
            self.overfull = self.overfull or row
        else:
            self.n_trailing += 1


def read_layout(path: Path, usual: str, *, has_header: bool = True) -> Layout:
    """Look through a file, in the first encoding that it can have."""
    check_unpacked(path)
    for encoding in find_encodings(path):
        try:
            with open_text(path, encoding) as text:
                return _scan(text, path, encoding, usual, has_header)
        except UnicodeError:
            continue
    raise InvalidInputError(f"The table {path} cannot be read as text; save it as UTF-8.")


def _scan(text: Iterator[str], path: Path, encoding: str, usual: str, has_header: bool) -> Layout:
    """Count the cells of every row; most have no quotation mark and the width of the header."""
    blank, first = 0, ""
    for first in text:
        if first.strip():
            break
        blank += 1
    if not first.strip():
        raise InvalidInputError(f"The table {path} is empty.")
    mark = separator(first, usual, fixed=usual == "\t" and path.suffix.lower() != ".txt")
    layout, width = Layout(encoding, mark), 0
    lines = enumerate(itertools.chain([first], text), start=blank + 1)
    blanks = " \t\r\n".replace(mark, "")
    for number, line in lines:
        if '"' in line:
            rest = itertools.chain([line], (one for _, one in lines))
            for row in _quoted_rows(rest, number, path, layout):
                width = _count(layout, row, has_header)
        elif width > 1 and line.count(mark) + 1 == width and line[0] != "#":
            layout.n_rows += 1
        elif line.strip(blanks):
            row = _Row(number, line.rstrip("\r\n").split(mark))
            width = _count(layout, row, has_header)
    layout.widest = max(layout.widest, width * (layout.n_rows > layout.n_short))
    return layout


def _count(layout: Layout, row: _Row, has_header: bool) -> int:
    """Take a row as the header or count it; return the width of the header."""
    if has_header and layout.header is None:
        layout.header = row
    else:
        layout.add(row)
    return 0 if layout.header is None else layout.width


def separator(line: str, usual: str, *, fixed: bool = False) -> str:
    """Return what the cells of a line are cut at; the usual one if nothing is commoner."""
    bare = re.sub(r'"[^"]*"', "", line)
    counts = {mark: bare.count(mark) for mark in _MARKS}
    if fixed and counts[usual]:
        return usual
    best = max(_MARKS, key=lambda mark: (counts[mark], mark == usual))
    return best if counts[best] else usual


def _quoted_rows(lines: Iterator[str], number: int, path: Path, layout: Layout) -> Iterator[_Row]:
    """Yield the rows of lines that may have quotation marks; those without anything are skipped."""
    taken: list[str] = []
    mark = layout.mark

    def take() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            if len(taken) > _MOST_LINES:
                raise InvalidInputError(_unclosed(path, number, mark, taken))
            yield line

    with any_length():
        for cells in csv.reader(take(), delimiter=mark):
            is_odd = layout.header is not None and len(cells) != layout.width
            if is_odd or len(taken) > 1 or taken[0].count('"') % 2:
                _check_quotes(taken, number, mark, path)
            if any(map(str.strip, taken)):
                yield _Row(number, cells, taken[0].startswith('"'))
            number += len(taken)
            taken.clear()


@contextmanager
def any_length() -> Iterator[None]:
    """Let cells be longer than the csv module allows by itself."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _check_quotes(taken: Sequence[str], number: int, mark: str, path: Path) -> None:
    """Refuse a row in which a quotation mark has no partner, so that lines were put together."""
    try:
        list(csv.reader(taken, delimiter=mark, strict=True))
    except csv.Error as error:
        raise InvalidInputError(_unclosed(path, number, mark, taken)) from error


def _unclosed(path: Path, number: int, mark: str, taken: Sequence[str]) -> str:
    # In the line where a cell was left open, marks do not pair up.
    opened = next((k for k, line in enumerate(taken) if line.count('"') % 2), 0)
    cells = taken[opened].split(mark)
    cell = next((one for one in cells if one.count('"') % 2), taken[opened]).strip()
    text = cell if len(cell) <= 40 else f"{cell[:40]}…"
    return (
        f"The quotation mark in line {number + opened} of {path} has no partner ({text}); close "
        "it, or write a quotation mark inside of a cell twice."
    )


def check_widths(path: Path, layout: Layout) -> None:
    """Refuse rows whose cells have no place: beyond the header, or under another name."""
    header, overfull = layout.header, layout.overfull
    if header is None or layout.has_row_names:
        return
    if overfull is not None:
        raise InvalidInputError(_too_wide(path, layout, header, overfull))
    if layout.n_rows and any(map(str.strip, header.cells[layout.widest :])):
        advice = (
            "it looks like a comment: remove what stands above the header"
            if header.is_comment
            else "put names that hold a separator in quotation marks"
        )
        raise InvalidInputError(
            f"Line {header.line} of {path} names {_columns(layout)}, but no row has more than "
            f"{layout.widest} {'cell' if layout.widest == 1 else 'cells'}; {advice}."
        )
    if layout.comment is not None and not header.is_comment:
        raise InvalidInputError(
            f"Line {layout.comment.line} of {path} looks like a comment; remove such lines."
        )


def _too_wide(path: Path, layout: Layout, header: _Row, row: _Row) -> str:
    more = layout.n_overfull - 1
    others = f", and so {'does 1 more row' if more == 1 else f'do {more:,} more rows'}"
    if header.is_comment:
        advice = f"Line {header.line} looks like a comment: remove what stands above the header"
    elif row.is_comment:
        advice = "It looks like a comment: remove such lines"
    elif layout.n_overfull == layout.n_rows:
        advice = f"Line {header.line} must name all columns, those of row names too"
    else:
        advice = "Put cells that hold a separator in quotation marks"
    return (
        f"Line {row.line} of {path} has {len(row.cells)} cells{others if more else ''}, but line "
        f"{header.line} names {_columns(layout)}. {advice}."
    )


def _columns(layout: Layout) -> str:
    return "1 column" if layout.width == 1 else f"{layout.width} columns"


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
