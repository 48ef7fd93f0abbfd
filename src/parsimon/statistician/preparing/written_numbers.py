"""Numbers, as they are or as people write them: "1,200", "3,5", "12%", "€ 1 200"."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parsimon._typing import Array
from parsimon.statistician.preparing.cells import Cells, read_cells
from parsimon.statistician.preparing.tables import named_frame

if TYPE_CHECKING:
    import pandas as pd

Decimal = Literal[".", ","]

# Beyond this nothing was measured, and squares would overflow.
_LARGEST = 1e100

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?[iI]nf(?:inity)?")
_FIRST = "+-\u2212.iI$€£¥"
_AROUND = re.compile(r"^([+-]?)\s*[$€£¥]?\s*(.*?)\s*[%€]?$")
_GROUPS = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'](?=\d{3}(?!\d))")
_POINT_COMMAS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_COMMA_POINTS = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d*)?(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class Numbers:
    """The cells of a column as numbers.

    values (n,): NaN where the cell is missing, infinite or not a number.
    n_infinite, n_text, n_unread: How many cells were infinite; were text and could be read;
        could not be read.
    decimal: What stands before decimal places.
    example: A cell that was text, as the table has it.
    """

    values: Array
    n_infinite: int = 0
    n_text: int = 0
    n_unread: int = 0
    decimal: Decimal = "."
    example: str = ""

    @property
    def n_missing(self) -> int:
        """How many cells have no number."""
        return int(np.isnan(self.values).sum())


def read_numbers(column: "pd.Series[Any]", *, decimal: Decimal | None = None) -> Numbers:
    """Return the cells of a column as numbers, also those that are written as text.

    Text may have signs of money, "%", and spaces or commas between thousands. A comma stands before
    decimal places if more cells can be read so: "3,5".

    Shapes: column (n,).
    """
    if is_number(column):
        return _finite(_plain_numbers(column))
    return numbers_of(read_cells(column), decimal=decimal)


def numbers_of(cells: Cells, *, decimal: Decimal | None = None) -> Numbers:
    """Return labels as numbers; see `read_numbers`."""
    chosen: Decimal = decimal or "."
    values = [parse_number(text, chosen) for text in cells.labels]
    if decimal is None and any("," in text for text in cells.labels):
        others = [parse_number(text, ",") for text in cells.labels]
        if np.isnan(others).sum() < np.isnan(values).sum():
            chosen, values = ",", others
    unread = np.isnan(values)
    read = [text for text, bad in zip(cells.labels, unread, strict=True) if not bad]
    example = next((text for text in read if not _NUMBER.fullmatch(text)), "".join(read[:1]))
    n_unread = int(cells.counts[unread].sum()) if len(cells.labels) else 0
    n_text = max(cells.n_text - n_unread, 0)
    return _finite(
        cells.spread(values, np.nan),
        n_text=n_text,
        n_unread=n_unread,
        decimal=chosen,
        example=example,
    )


def parse_number(text: str, decimal: Decimal = ".") -> float:
    """Return the number that a text says; NaN if it says none."""
    # Most text is no number, and its first letter says so.
    if not (text[:1].isdecimal() or text[:1] in _FIRST):
        return np.nan
    if decimal == "." and _NUMBER.fullmatch(text):
        return float(text)
    match = _AROUND.match(text.replace("\u2212", "-"))
    bare = _GROUPS.sub("", "".join(match.groups())) if match else text
    if decimal == "," and _COMMA_POINTS.fullmatch(bare):
        bare = bare.replace(".", "").replace(",", ".")
    elif decimal == "." and _POINT_COMMAS.fullmatch(bare):
        bare = bare.replace(",", "")
    elif decimal == ",":
        return np.nan
    return float(bare) if _NUMBER.fullmatch(bare) else np.nan


def is_number(column: "pd.Series[Any]") -> bool:
    """Return whether the type of the column says that it holds numbers or spans of time."""
    from pandas.api import types

    kind = column.dtype
    if types.is_bool_dtype(kind) or types.is_complex_dtype(kind):
        return False
    return types.is_numeric_dtype(kind) or types.is_timedelta64_dtype(kind)


def _plain_numbers(column: "pd.Series[Any]") -> Array:
    import pandas as pd

    if pd.api.types.is_timedelta64_dtype(column.dtype):
        return np.array(pd.to_timedelta(column).dt.total_seconds() / 86_400, dtype=np.float64)
    return np.array(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _finite(values: Array, **rest: Any) -> Numbers:
    infinite = np.abs(values) > _LARGEST
    values[infinite] = np.nan
    return Numbers(values, n_infinite=int(infinite.sum()), **rest)


def count_missing(table: Any) -> int:
    """Return how many cells of a table are missing, as every reader here counts them.

    Infinite numbers count; text in a column of numbers does not.
    """
    frame = named_frame(table)
    count = 0
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if is_number(column):
            count += read_numbers(column).n_missing
        else:
            count += int((read_cells(column).codes < 0).sum())
    return count
