"""The cells of one column as labels: text, each distinct one once.

Numbers and dates are made of them in `written_numbers.py` and `dates.py`; what a column is, is
decided in `columns.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import AnyArray, Indices
from parsimon.statistician.preparing.tables import clean_text

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
    codes, distinct = _factorised(column)
    places: dict[str, int] = {}
    renumbered = np.full(len(distinct) + 1, -1, dtype=np.intp)
    is_text = np.zeros(len(distinct) + 1, dtype=bool)
    for place, value in enumerate(distinct):
        text = label(value)
        if text not in MISSING_WORDS:
            renumbered[place] = places.setdefault(text, len(places))
            is_text[place] = isinstance(value, str)
    return Cells(renumbered[codes], tuple(places), int(is_text[codes].sum()))


def _factorised(column: "pd.Series[Any]") -> tuple[AnyArray, list[Any]]:
    import pandas as pd

    try:
        codes, distinct = pd.factorize(column)
    except TypeError:  # lists or the like inside the cells
        codes, distinct = pd.factorize(column.map(str, na_action="ignore"))
    return codes, distinct.tolist()


def label(value: Any) -> str:
    """Return a cell as a person would write it: 1.0 is "1"."""
    if isinstance(value, float | np.floating) and _is_short_whole(float(value)):
        return str(int(value))
    if isinstance(value, bytes):
        return clean_text(value.decode("utf-8", "replace"))
    return clean_text(value)


def _is_short_whole(value: float) -> bool:
    return value.is_integer() and abs(value) < 1e15
