"""Files of series that name no columns, as those of the UCR archive: .ts, or the class first."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from parsimon._typing import Array
from parsimon.cli.row_widths import separator
from parsimon.cli.tables import SEPARATORS
from parsimon.cli.text_files import find_encodings, open_text
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

# What the class of a series is called in files that name no columns.
CLASS = "class"
# The longest series of the archive have a quarter of it.
_LONGEST = 100_000
# Cells of a table of series that are mostly empty, since one is so much longer than the others.
_LARGE, _LEAST_SHARE = 2_000_000, 0.01
_MISSING = ("", "?")
_AS_ROWS = "save it as CSV, one row a measurement, with --id, --time and --value"


def read_archive(path: Path) -> "pd.DataFrame":
    """Return the series of a .ts file, one a row, with their classes first.

    Lines before "@data" describe the file; each line after it has values with commas between
    them, a colon and the class. Series of unequal lengths end in empty cells.
    """
    import pandas as pd

    classes: list[str] = []
    series: list[Array] = []
    longest, at = 0, 0
    for number, line in _data_lines(path):
        values, label = _series_and_class(path, number, line)
        classes.append(label)
        series.append(values)
        if len(values) > longest:
            longest, at = len(values), number
    if not series:
        raise InvalidInputError(f"{path} must have a line @data and series below it.")
    size, n_values = len(series) * longest, sum(map(len, series))
    if size > _LARGE and n_values < _LEAST_SHARE * size:
        raise InvalidInputError(
            f"Line {at} of {path} has {longest:,} values, far more than the other series; "
            f"leave it out, or {_AS_ROWS}."
        )
    table = np.full((len(series), longest), np.nan)
    for row, values in zip(table, series, strict=True):
        row[: len(values)] = values
    frame = pd.DataFrame(table, columns=[str(place + 1) for place in range(longest)])
    frame.insert(0, CLASS, classes)
    return frame


def _data_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line below "@data"."""
    is_data = False
    with open_text(path, "utf-8-sig", errors="replace") as text:
        for number, whole in enumerate(text, start=1):
            line = whole.strip()
            words = line.lower().split(None, 2) if not is_data and line.startswith("@") else []
            if words[:1] == ["@timestamps"] and words[1:2] == ["true"]:
                raise InvalidInputError(
                    f"Line {number} of {path} says that values have time stamps; {_AS_ROWS}."
                )
            if is_data and line and not line.startswith("#"):
                yield number, line
            is_data = is_data or words[:1] == ["@data"]


def _series_and_class(path: Path, number: int, line: str) -> tuple[Array, str]:
    """Return the values of a line, and its class."""
    if line.startswith("("):
        raise InvalidInputError(
            f"Line {number} of {path} holds values with time stamps; {_AS_ROWS}."
        )
    parts = line.split(":")
    if len(parts) != 2:
        seen = "no class" if len(parts) == 1 else f"{len(parts) - 1} channels"
        advice = "put a colon and the class after the values" if len(parts) == 1 else _AS_ROWS
        raise InvalidInputError(
            f"Line {number} of {path} has {seen}, where one channel and a class must be; {advice}."
        )
    n_values = parts[0].count(",") + 1
    if n_values > _LONGEST:
        raise InvalidInputError(
            f"Line {number} of {path} has {n_values:,} values; a series has {_LONGEST:,} at most. "
            "Put each series on a line of its own, or keep every tenth value."
        )
    cells = [cell.strip() for cell in parts[0].split(",")]
    try:
        values = [np.nan if cell in _MISSING else float(cell) for cell in cells]
    except ValueError as error:
        wrong = next(cell for cell in cells if cell not in _MISSING and not _is_number(cell))
        raise InvalidInputError(
            f"Line {number} of {path} holds {_short(wrong)!r}, where numbers must be."
        ) from error
    return np.array(values), parts[1].strip()


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


def is_bare(path: Path) -> bool:
    """Return whether a text file begins with a row of numbers instead of names."""
    ending = next((e.lower() for e in reversed(path.suffixes) if e.lower() in SEPARATORS), "")
    if not ending:
        return False
    try:
        cells = _first_cells(path, SEPARATORS[ending])
        numbers = [float(cell) for cell in cells if cell.lower() not in ("", "nan")]
    except (ValueError, OSError, InvalidInputError, csv.Error):
        return False
    # A header may be numbers too, such as years or places, but then they go up evenly.
    steps = np.diff(numbers[1:])
    counted = len(steps) > 1 and bool((steps == steps[0]).all()) and steps[0] != 0
    return len(numbers) > 2 and not counted


def _first_cells(path: Path, usual: str) -> list[str]:
    """Return the cells of the first line that is not empty."""
    with open_text(path, find_encodings(path)[0]) as text:
        line = next((line for line in text if line.strip()), "")
    mark = separator(line, usual, fixed=usual == "\t" and path.suffix.lower() != ".txt")
    return [cell.strip() for cell in next(csv.reader([line], delimiter=mark), [])]
