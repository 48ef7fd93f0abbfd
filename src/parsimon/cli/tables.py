"""Reading tables for the commands: CSV, TSV, Excel or Parquet, with errors a person understands.

Text may be UTF-8 (with or without a mark at its beginning), UTF-16, Windows-1252 or Latin-1, cut at
commas, semicolons, tabs or bars. What is ambiguous is not guessed: "1,234" stays text.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsimon._checks import did_you_mean, shorten
from parsimon.cli.printing import say
from parsimon.exceptions import InvalidInputError, MissingDependencyError, ParsimonError

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".tab": "\t"}
_MARKS = (",", ";", "\t", "|")
_PARQUET = (".parquet", ".pq")
_EXCEL = (".xlsx", ".xlsm")
_OTHER_SHEETS = (".xls", ".xlsb", ".ods")
TABLE_ENDINGS = frozenset({*_SEPARATORS, *_PARQUET, *_EXCEL, *_OTHER_SHEETS})
# UTF-16 is recognised by the mark at its beginning; every file is Latin-1.
_ENCODINGS = {
    "utf-8-sig": "",
    "utf-16": "",
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1",
}
# What the class of a series is called in files that name no columns.
CLASS = "class"
_ANY_CELL = "\x1f"
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d+(,\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})?\s*")


def read_table(path: Path, *, has_header: bool = True) -> "pd.DataFrame":
    """Return a table with at least one row; gzip and the like are unpacked on the way."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InvalidInputError(f"The table {path} {what}; give a CSV, TSV, Excel or Parquet file.")
    table = _read(path, has_header)
    if not len(table):
        raise InvalidInputError(f"The table {path} has no rows.")
    table = table.reset_index(drop=True)
    table.columns = [str(column).strip() for column in table.columns]
    return table


def column(table: "pd.DataFrame", name: str) -> "pd.Series":
    """Return a column, or say which there are."""
    if name not in table.columns:
        raise InvalidInputError(
            f"The table has no column {name!r}; its columns are {shorten(list(table), 12)}."
            f"{did_you_mean(name, list(table))}"
        )
    found = table[name]
    if found.ndim > 1:
        raise InvalidInputError(f"The table has {found.shape[1]} columns called {name!r}.")
    return found


def read_archive(path: Path) -> "pd.DataFrame":
    """Return the series of a .ts file, one a row, with their classes first.

    Lines before "@data" describe the file; each line after it has values with commas between
    them, a colon and the class. Series of unequal lengths end in empty cells.
    """
    import pandas as pd

    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    lines = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    begin = next((k for k, line in enumerate(lines) if line.lower() == "@data"), len(lines))
    parts = [line.split(":") for line in lines[begin + 1 :]]
    if not parts or any(len(part) != 2 for part in parts):
        raise InvalidInputError(
            f"{path} must have @data and then one channel and a class a line; save series of "
            "several channels as CSV, one row a measurement, with --id, --time and --value."
        )
    cells = [part[0].split(",") for part in parts]
    longest = max(map(len, cells))
    text = pd.DataFrame([row + [""] * (longest - len(row)) for row in cells])
    frame: pd.DataFrame = text.apply(pd.to_numeric, errors="coerce")
    frame.columns = [str(place + 1) for place in range(frame.shape[1])]
    frame.insert(0, CLASS, [part[1].strip() for part in parts])
    return frame


def is_bare(path: Path) -> bool:
    """Return whether a text file begins with a row of numbers instead of names."""
    import pandas as pd

    ending = next((e.lower() for e in reversed(path.suffixes) if e.lower() in _SEPARATORS), "")
    if not ending:
        return False
    try:
        mark = _separator(path, "utf-8-sig", _SEPARATORS[ending])
        line = pd.read_csv(path, sep=mark, header=None, nrows=1, dtype=str, encoding="utf-8-sig")
        cells = line.iloc[0].dropna().str.strip().str.lower()
        numbers = pd.to_numeric(cells[cells != "nan"], errors="coerce")
    except (ValueError, OSError, UnicodeError):
        return False
    # A header may be numbers too, such as years or places, but then they go up evenly.
    steps = numbers.iloc[1:].diff().dropna()
    counted = len(steps) > 1 and bool((steps == steps.iloc[0]).all()) and steps.iloc[0] != 0
    return len(numbers) > 2 and bool(numbers.notna().all()) and not counted


def _read(path: Path, has_header: bool = True) -> "pd.DataFrame":
    import pandas as pd

    endings = [ending.lower() for ending in path.suffixes]
    try:
        if endings[-1:] and endings[-1] in _PARQUET:
            return pd.read_parquet(path)
        if endings[-1:] and endings[-1] in (*_EXCEL, *_OTHER_SHEETS):
            return _read_sheet(path)
        kind = next((e for e in reversed(endings) if e in _SEPARATORS), ".csv")
        return _read_text(path, _SEPARATORS[kind], has_header)
    except ParsimonError:
        raise
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow; install it with: pip install 'parsimon[parquet]'."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise InvalidInputError(f"The table {path} is empty.") from error
    # A broken file makes its reader raise anything.
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InvalidInputError(f"The table {path} cannot be read: {reason}") from error


def _read_sheet(path: Path) -> "pd.DataFrame":
    """Return the first sheet of a workbook."""
    import pandas as pd

    if path.suffix.lower() in _OTHER_SHEETS:
        raise InvalidInputError(
            f"The workbook {path} is of another kind; save it as .xlsx or as CSV."
        )
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "Excel files need openpyxl; install it with: pip install openpyxl."
        ) from error
    with pd.ExcelFile(path, engine="openpyxl") as book:
        first, *others = map(str, book.sheet_names)
        if others:
            say(f"Of the {1 + len(others)} sheets of {path} the first is read: {first}.", err=True)
        return pd.read_excel(book, sheet_name=first)


def _read_text(path: Path, usual: str, has_header: bool = True) -> "pd.DataFrame":
    """Return a table of text in the first encoding that it can have."""
    import pandas as pd

    header: Any = "infer" if has_header else None
    for encoding, name in _ENCODINGS.items():
        try:
            mark = _separator(path, encoding, usual)
            table = pd.read_csv(path, sep=mark, encoding=encoding, header=header, low_memory=False)
        except UnicodeError:
            continue
        if any("\x00" in str(column) for column in table.columns):
            return _read_wide(path, usual)
        if name:
            say(f"{path} is not UTF-8 text; it is read as {name}.", err=True)
        return table if mark == "," else _with_decimal_commas(table)
    raise InvalidInputError(f"The table {path} cannot be read as text; save it as UTF-8.")


def _read_wide(path: Path, usual: str) -> "pd.DataFrame":
    """Return a table of UTF-16 without a mark at its beginning."""
    import pandas as pd

    for encoding in ("utf-16-le", "utf-16-be"):
        try:
            mark = _separator(path, encoding, usual)
            return pd.read_csv(path, sep=mark, encoding=encoding, low_memory=False)
        except UnicodeError:
            continue
    raise InvalidInputError(f"The table {path} holds zero bytes; save it as UTF-8 text.")


def _separator(path: Path, encoding: str, usual: str) -> str:
    """Return what the cells of the first line are cut at; the usual one if nothing is commoner."""
    import pandas as pd

    lines = pd.read_csv(path, sep=_ANY_CELL, header=None, nrows=1, quoting=3, encoding=encoding)
    line = re.sub(r'"[^"]*"', "", str(lines.iloc[0, 0])) if len(lines) else ""
    counts = {mark: line.count(mark) for mark in _MARKS}
    if usual == "\t" and counts["\t"] and path.suffix.lower() != ".txt":
        return usual
    best = max(_MARKS, key=lambda mark: (counts[mark], mark == usual))
    return best if counts[best] else usual


def _with_decimal_commas(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the table with numbers such as "3,5" read, where nothing else can be meant."""
    for place, cells in enumerate(_texts(table)):
        if cells is not None and _has_decimal_comma(cells):
            numbers = table.iloc[:, place].str.replace(",", ".", regex=False).astype(float)
            table = table.copy(deep=False)
            table.isetitem(place, numbers.to_numpy())
    return table


def _texts(table: "pd.DataFrame") -> Iterator[list[str] | None]:
    """Yield the cells of each column that is all text, None for others."""
    for place in range(table.shape[1]):
        cells: list[Any] = table.iloc[:, place].dropna().tolist()
        yield cells if cells and all(isinstance(one, str) for one in cells) else None


def _has_decimal_comma(cells: list[str]) -> bool:
    """Return whether all cells are numbers and a comma in one of them cannot mean thousands."""
    return all(map(_COMMA_NUMBER.fullmatch, cells)) and not all(map(_THOUSANDS.fullmatch, cells))


def check_target(path: Path | None) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if path is not None and not path.parent.is_dir():
        raise InvalidInputError(f"The folder {path.parent} does not exist; make it first.")
    if path is not None and path.is_dir():
        raise InvalidInputError(f"{path} is a folder; give the name of a file.")
