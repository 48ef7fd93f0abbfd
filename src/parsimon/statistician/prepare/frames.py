"""A table as it comes: any frame becomes a pandas one, with names that can be told apart."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import did_you_mean, shorten
from parsimon.exceptions import InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

# What pandas, R and spreadsheets put after a name that is taken: "y.1", "y_x", "y (2)".
_COPY = re.compile(r"(?:[._ ]\(?\d{1,4}\)?|_[xy])$")
# Marks that turn the direction of all text after them, also outside the name.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def as_frame(table: Any) -> "pd.DataFrame":
    """Return the table as a pandas frame; its cells and names are as they were.

    Shape: (n, d).
    """
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, list | tuple | np.ndarray) or hasattr(table, "__array__"):
        return _from_array(table) if not hasattr(table, "to_pandas") else _from_other(table)
    return _from_other(table)


def _from_array(table: Any) -> "pd.DataFrame":
    import pandas as pd

    array = np.asarray(table)
    if array.ndim != 2:
        raise InvalidInputError(
            f"A table has rows and columns, got an array of shape {array.shape}. Reshape your "
            "data with array.reshape(-1, 1) for one column or array.reshape(1, -1) for one row."
        )
    if array.dtype.kind == "c":
        raise InvalidInputError("Complex data not supported: give real and imaginary parts apart.")
    return pd.DataFrame(array)


def _from_other(table: Any) -> "pd.DataFrame":
    import narwhals as nw

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError as error:
        raise InvalidInputError(
            f"A table must be a data frame or an array, got {type(table).__name__}; "
            "sparse matrices are not supported."
        ) from error
    try:
        found: pd.DataFrame = frame.to_pandas()
    except ImportError as error:
        raise MissingDependencyError(
            f"A table of {type(table).__module__.split('.')[0]} needs pyarrow; install it with: "
            "pip install 'parsimon[parquet]'."
        ) from error
    return found


def clean_text(value: Any) -> str:
    r"""Return text without control characters, marks that turn its direction, and outer spaces."""
    text = str(value)
    if not (text.isascii() and text.isprintable()):
        text = text.encode("utf-8", "replace").decode("utf-8")
        text = "".join(_visible(character) for character in text)
    return text.strip()


def _visible(character: str) -> str:
    if character in "\t\n\r\v\f\u0085\u2028\u2029":
        return " "
    return "" if character in _TURNING or unicodedata.category(character) == "Cc" else character


def clean_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Return a name of its own for each column: cleaned, or "column 3" if empty or taken."""
    cleaned = [_name(name) for name in names]
    result: list[str] = []
    taken = set(cleaned)
    seen: set[str] = set()
    for place, name in enumerate(cleaned, start=1):
        own = name if name and name not in seen else unused(f"column {place}", taken)
        taken.add(own)
        seen.add(own)
        result.append(own)
    return tuple(result)


def _name(name: Any) -> str:
    if name is None or (isinstance(name, float) and np.isnan(name)):
        return ""
    return clean_text(" / ".join(map(str, name)) if isinstance(name, tuple) else name)


def unused(name: str, taken: set[str]) -> str:
    """Return the name, with a number after it if it is taken."""
    own, count = name, 1
    while own in taken:
        count += 1
        own = f"{name} ({count})"
    return own


def fingerprint(frame: "pd.DataFrame", *, index: bool = False, beside: str = "") -> str:
    """Return the SHA-256 of names, of a hash of each cell, and of a text beside them.

    A large table takes seconds to be written as text, and its hashes a fraction of one.
    """
    from pandas.util import hash_pandas_object

    digest = hashlib.sha256(repr([*map(str, frame.columns), beside]).encode())
    columns = [column for _, column in frame.items()]
    for column in [*columns, frame.index.to_series()] if index else columns:
        cells = column.map(repr) if column.dtype == object else column
        hashes = hash_pandas_object(cells, index=False, categorize=False)
        digest.update(hashes.to_numpy(dtype="<u8").tobytes())
    return digest.hexdigest()


def named_frame(table: Any) -> "pd.DataFrame":
    """Return the table with cleaned names; the cells are not copied."""
    frame = as_frame(table)
    return frame.set_axis(list(clean_names(frame.columns)), axis=1)


def find_column(frame: "pd.DataFrame", name: str) -> tuple["pd.Series[Any]", str]:
    """Return a column and its cleaned name, or say which columns there are."""
    names = [*map(str, frame.columns)]
    for wanted, known in ((str(name), names), (clean_text(name), list(map(clean_text, names)))):
        places = [place for place, text in enumerate(known) if text == wanted]
        if len(places) == 1:
            return frame.iloc[:, places[0]], clean_text(name) or str(name)
        if places:
            raise InvalidInputError(
                f"The table has {len(places)} columns called {wanted!r}; rename all but one."
            )
    raise InvalidInputError(
        f"The table has no column {str(name)!r}; its columns are {shorten(names, 12)}."
        f"{did_you_mean(name, names)}"
    )


def is_copy_name(name: str, target: str) -> bool:
    """Return whether a column is called as the target is, but for a number after it."""
    return _COPY.sub("", name) == _COPY.sub("", target)
