"""The cells of one column: as labels, as numbers, as levels, as dates.

Labels are text, each distinct one once. Numbers are read as people write them: "1,200", "3,5",
"12%", "€ 1 200". Of two levels one is the "yes". A date has a format, and it is never guessed what
is the day and what the month.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array, Indices
from parsimon.report.findings import Treatment
from parsimon.statistician.prepare.frames import clean_text, is_copy_name, named_frame

if TYPE_CHECKING:
    import pandas as pd

# What pandas.read_csv takes as missing, so that a table means the same in every format; then what
# the UCI repository (?), SAS (.) and people (-) write.
MISSING_WORDS = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"}
    | {"<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "NaT"}
    | {"?", ".", "-", "--"}
)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column as labels.

    codes (n,): Places in `labels`; -1 where the cell is missing.
    labels: Distinct, in order of appearance.
    n_text: How many cells were text, not numbers or truth values.
    """

    codes: Indices
    labels: tuple[str, ...]
    n_text: int

    @property
    def counts(self) -> Indices:
        """How often each label occurs."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.labels))

    def spread(self, values: Sequence[Any], missing: Any, dtype: Any = np.float64) -> AnyArray:
        """Return for each cell the value of its label; `missing` where there is none."""
        return np.array([*values, missing], dtype=dtype)[self.codes]


def read_cells(column: "pd.Series[Any]") -> Cells:
    """Return the cells of a column as labels; empty text and words such as "NA" are missing."""
    codes, distinct = _factorise(column)
    places: dict[str, int] = {}
    renumbered = np.full(len(distinct) + 1, -1, dtype=np.intp)
    is_text = np.zeros(len(distinct) + 1, dtype=bool)
    for place, value in enumerate(distinct):
        text = write_cell(value)
        if text not in MISSING_WORDS:
            renumbered[place] = places.setdefault(text, len(places))
            is_text[place] = isinstance(value, str)
    return Cells(renumbered[codes], tuple(places), int(is_text[codes].sum()))


def _factorise(column: "pd.Series[Any]") -> tuple[AnyArray, list[Any]]:
    import pandas as pd

    try:
        codes, distinct = pd.factorize(column)
    except TypeError:  # lists or the like inside the cells
        codes, distinct = pd.factorize(column.map(str, na_action="ignore"))
    return codes, distinct.tolist()


def write_cell(value: Any) -> str:
    """Return a cell as a person would write it: 1.0 is "1"."""
    if isinstance(value, float | np.floating) and _is_short_whole(float(value)):
        return str(int(value))
    if isinstance(value, bytes):
        return clean_text(value.decode("utf-8", "replace"))
    return clean_text(value)


def _is_short_whole(value: float) -> bool:
    return value.is_integer() and abs(value) < 1e15


Decimal = Literal[".", ","]

# Beyond this nothing was measured, and squares would overflow.
LARGEST = 1e100

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?[iI]nf(?:inity)?")
_FIRST = "+-\u2212.iI$€£¥"
_GROUPS = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'](?=\d{3}(?!\d))")
_POINT_COMMAS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_COMMA_POINTS = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d*)?(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class ReadNumbers:
    """The cells of a column as numbers.

    values (n,): NaN where the cell is missing, infinite or not a number.
    n_infinite, n_text, n_unread: How many cells were infinite; were text and could be read;
        could not be read.
    decimal: What stands before decimal places.
    example, unread: A cell that was text, as the table has it; one that could not be read.
    """

    values: Array
    n_infinite: int = 0
    n_text: int = 0
    n_unread: int = 0
    decimal: Decimal = "."
    example: str = ""
    unread: str = ""

    @property
    def n_missing(self) -> int:
        """How many cells have no number."""
        return int(np.isnan(self.values).sum())


def number_treatments(name: str, numbers: ReadNumbers) -> list[Treatment]:
    """Return what is to be said of how the cells of a column were read as numbers."""
    found = (
        Treatment(kind="text_numbers", column=name, count=numbers.n_text, value=numbers.example),
        Treatment(kind="cells_unread", column=name, count=numbers.n_unread, value=numbers.unread),
        Treatment(kind="infinite_cells", column=name, count=numbers.n_infinite),
    )
    return [treatment for treatment in found if treatment.count]


def read_numbers(column: "pd.Series[Any]", *, decimal: Decimal | None = None) -> ReadNumbers:
    """Return the cells of a column as numbers, also those that are written as text.

    Text may have signs of money, "%", and spaces or commas between thousands. A comma stands before
    decimal places if more cells can be read so: "3,5".

    Shapes: column (n,).
    """
    if is_number(column):
        return _make_finite(_plain_numbers(column))
    return numbers_of(read_cells(column), decimal=decimal)


def numbers_of(cells: Cells, *, decimal: Decimal | None = None) -> ReadNumbers:
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
    return _make_finite(
        cells.spread(values, np.nan),
        n_text=n_text,
        n_unread=n_unread,
        decimal=chosen,
        example=example,
        unread=next((text for text, bad in zip(cells.labels, unread, strict=True) if bad), ""),
    )


def parse_number(text: str, decimal: Decimal = ".") -> float:
    """Return the number that a text says; NaN if it says none."""
    # Most text is no number, and its first letter says so.
    if not (text[:1].isdecimal() or text[:1] in _FIRST):
        return np.nan
    if decimal == "." and _NUMBER.fullmatch(text):
        return float(text)
    bare = _GROUPS.sub("", _without_units(text.replace("\u2212", "-")))
    if decimal == "," and _COMMA_POINTS.fullmatch(bare):
        bare = bare.replace(".", "").replace(",", ".")
    elif decimal == "." and _POINT_COMMAS.fullmatch(bare):
        bare = bare.replace(",", "")
    elif decimal == ",":
        return np.nan
    return float(bare) if _NUMBER.fullmatch(bare) else np.nan


def _without_units(text: str) -> str:
    """Return what is left of "- € 1 200 %" without spaces and signs around the number."""
    sign = text[:1] if text[:1] in ("+", "-") else ""
    rest = text[len(sign) :].lstrip()
    rest = rest[1:].lstrip() if rest.startswith(tuple("$€£¥")) else rest
    rest = rest[:-1] if rest.endswith(("%", "€")) else rest
    return sign + rest.rstrip()


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


def _make_finite(values: Array, **rest: Any) -> ReadNumbers:
    infinite = np.abs(values) > LARGEST
    values[infinite] = np.nan
    return ReadNumbers(values, n_infinite=int(infinite.sum()), **rest)


def target_copies(columns: "pd.DataFrame", target: "pd.Series[Any]", name: str) -> list[str]:
    """Return columns that are called after the target and equal it wherever it is known.

    A header that has the target twice makes such a column; it would predict the target perfectly.

    Shapes: columns (n, d), target (n,).
    """
    called = [str(column) for column in columns.columns if is_copy_name(str(column), name)]
    if not called:
        return []
    known, labels = _labels(target)
    return [
        column
        for column in called
        if np.array_equal(_labels(columns[column])[1][known], labels[known])
    ]


def _labels(column: "pd.Series[Any]") -> tuple[AnyArray, AnyArray]:
    """Return which cells are not missing, and all as labels."""
    cells = read_cells(column)
    return cells.codes >= 0, cells.spread(cells.labels, "", object)


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


_YES = frozenset({"yes", "y", "true", "t", "ja", "oui", "si", "sí", "да", "是"})
_NO = frozenset({"no", "n", "false", "f", "nein", "non", "нет", "否"})
_POSITIVE = _YES | {
    *("positive", "pos", "+", "present", "malignant", "cancer", "case", "disease", "diseased"),
    *("sick", "ill", "abnormal", "event", "dead", "died", "death", "failure", "failed", "default"),
    *("churn", "churned", "fraud", "spam", "success", "responder", "relapse", "recurrence"),
}
_NEGATIVE = _NO | {
    *("negative", "neg", "absent", "benign", "control", "healthy", "normal", "none", "alive"),
    *("survived", "legitimate", "ham", "genuine"),
}


def affirmative(labels: Sequence[str]) -> str | None:
    """Return the one of two labels that says that something is so; None if neither does.

    It is the one that is a word such as "yes", "positive" or "malignant", the other one of a word
    such as "no" or "benign", and the greater of two numbers.
    """
    first, second = labels
    values = parse_number(first), parse_number(second)
    if not np.isnan(values).any() and values[0] != values[1]:
        return first if values[0] > values[1] else second
    for words, other in ((_POSITIVE, False), (_NEGATIVE, True)):
        spoken = [text.casefold() in words for text in labels]
        if sum(spoken) == 1:
            return labels[spoken.index(not other)]
    return None


def is_yes_or_no(labels: Sequence[str]) -> bool:
    """Return whether two labels are a plain yes and no, so that the column's name says it all."""
    words = {text.casefold() for text in labels}
    return len(words & _YES) == 1 and len(words & _NO) == 1


def shorten_level(level: str, most: int = 60) -> str:
    """Return a level that is not too long for a name."""
    return level if len(level) <= most else f"{level[: most - 1]}…"


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
            found = _decide(cells.labels, counts, [day + clock for day in pair], needed)
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


def date_treatments(name: str, column: "pd.Series[Any]", days: Array) -> tuple[Treatment, ...]:
    """Return what is to be said of cells that hold something, but no date.

    Shapes: column (n,), days (n,) as from `read_dates`.
    """
    if is_date(column) or not np.isnan(days).any():
        return ()
    cells = read_cells(column)
    unread = np.flatnonzero(np.isnan(days) & (cells.codes >= 0))
    if not len(unread):
        return ()
    first = cells.labels[cells.codes[unread[0]]]
    return (Treatment(kind="cells_unread", column=name, count=len(unread), value=first),)


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
