"""Reading tables for the commands: CSV, TSV or Parquet, with errors a person understands."""

from pathlib import Path
from typing import TYPE_CHECKING

from parsimon._checks import shorten
from parsimon.exceptions import InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".tab": "\t"}


def read_table(path: Path) -> "pd.DataFrame":
    """Return a table with at least one row; gzip and the like are unpacked on the way."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InvalidInputError(f"The table {path} {what}; give a CSV, TSV or Parquet file.")
    table = _read(path)
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
        )
    found = table[name]
    if found.ndim > 1:
        raise InvalidInputError(f"The table has {found.shape[1]} columns called {name!r}.")
    return found


def _read(path: Path) -> "pd.DataFrame":
    import pandas as pd

    endings = [ending.lower() for ending in path.suffixes]
    try:
        if endings[-1:] in ([".parquet"], [".pq"]):
            return pd.read_parquet(path)
        kind = next((e for e in reversed(endings) if e in _SEPARATORS), ".csv")
        table = pd.read_csv(path, sep=_SEPARATORS[kind])
        # One column whose name holds another separator was cut at the wrong one.
        only = str(table.columns[0]) if len(table.columns) == 1 else ""
        other = next((mark for mark in ";\t," if mark in only), None)
        return table if other is None else pd.read_csv(path, sep=other)
    except ImportError as error:
        raise MissingDependencyError(
            "Parquet files need pyarrow; install it with: pip install 'parsimon[parquet]'."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise InvalidInputError(f"The table {path} is empty.") from error
    except (ValueError, OSError, EOFError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InvalidInputError(f"The table {path} cannot be read: {reason}") from error


def check_target(path: Path | None) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if path is not None and not path.parent.is_dir():
        raise InvalidInputError(f"The folder {path.parent} does not exist; make it first.")
    if path is not None and path.is_dir():
        raise InvalidInputError(f"{path} is a folder; give the name of a file.")
