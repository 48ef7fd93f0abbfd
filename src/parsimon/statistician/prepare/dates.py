"""Text that says a date: which format, and never a guess at what is the day and what the month."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.statistician.prepare.cells import Cells, read_cells

if TYPE_CHECKING:
    import pandas as pd

# The year first; pandas reads other signs between the numbers too.
ISO = "ISO8601"
_CLOCKS = ("", " %H:%M", " %H:%M:%S")
_CLEAR = (
    *("%d.%m.%Y", "%d.%m.%y"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y"),
)
# Day first in one country, month first in another: a cell above 12 decides.
_UNCLEAR = (
    ("%d/%m/%Y", "%m/%d/%Y"),
    ("%d-%m-%Y", "%m-%d-%Y"),
    ("%d/%m/%y", "%m/%d/%y"),
    ("%d-%m-%y", "%m-%d-%y"),
)
_PLAUSIBLE = re.compile(r"(?=.*\d.*\d)(?=.*[-/. ])[\w\s/.,:+-]{6,40}")


class DateFormat(NamedTuple):
    """How dates are written; `ambiguous` if day and month cannot be told apart."""

    text: str
    ambiguous: bool = False


def find_format(cells: Cells, *, share: float = 0.95) -> DateFormat | None:
    """Return the format in which nearly all cells are dates; None if there is none."""
    counts = cells.counts
    needed = share * counts.sum()
    plausible = [bool(_PLAUSIBLE.fullmatch(text)) for text in cells.labels]
    if not len(counts) or counts[plausible].sum() < needed:
        return None

    def enough(format: str) -> bool:
        return bool(_read_share(cells.labels, counts, format) >= needed)

    for clear in (ISO, *(day + clock for clock in _CLOCKS for day in _CLEAR)):
        if enough(clear):
            return DateFormat(clear)
    for clock in _CLOCKS:
        for pair in _UNCLEAR:
            found = _decide(cells.labels, counts, [one + clock for one in pair], needed)
            if found is not None:
                return found
    return None


def _decide(
    labels: Sequence[str], counts: Indices, formats: Sequence[str], needed: float
) -> DateFormat | None:
    read = [_read_share(labels, counts, format) for format in formats]
    if max(read) < needed:
        return None
    return DateFormat(formats[int(np.argmax(read))], ambiguous=read[0] == read[1])


def _read_share(labels: Sequence[str], counts: Indices, format: str) -> float:
    first = labels[:50]
    if len(labels) > len(first) and np.isnan(_days(first, format)).mean() > 0.5:
        return 0.0
    return float(counts[~np.isnan(_days(labels, format))].sum())


def is_date(column: "pd.Series[Any]") -> bool:
    """Return whether the type of the column says that it holds dates."""
    import pandas as pd

    kind = column.dtype
    return pd.api.types.is_datetime64_any_dtype(kind) or isinstance(kind, pd.PeriodDtype)


def read_dates(column: "pd.Series[Any]", format: str = ISO) -> Array:
    """Return days since the beginning of 1970, in universal time; NaN where there is no date."""
    import pandas as pd

    if is_date(column):
        if isinstance(column.dtype, pd.PeriodDtype):
            column = column.dt.to_timestamp()
        return _since_1970(pd.DatetimeIndex(pd.to_datetime(column, utc=True)))
    cells = read_cells(column)
    days = _days(cells.labels, format)
    if format != ISO:
        days = np.where(np.isnan(days), _days(cells.labels, ISO), days)
    return cells.spread(days.tolist(), np.nan)


def _days(labels: Sequence[str], format: str) -> Array:
    import pandas as pd

    if not len(labels):
        return np.empty(0)
    texts = pd.Index(list(labels), dtype=object)
    return _since_1970(pd.to_datetime(texts, format=format, errors="coerce", utc=True))


def _since_1970(dates: "pd.DatetimeIndex") -> Array:
    import pandas as pd

    spans = dates - pd.Timestamp("1970-01-01", tz="UTC")
    return np.asarray(spans / pd.Timedelta(days=1), dtype=np.float64)


def iso_day(days: float) -> str:
    """Return the date that lies so many days after the beginning of 1970."""
    return str(np.datetime64(int(np.floor(days)), "D"))
