"""Which columns may explain the target, and which rows have all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.report.figures.points import number
from parsimon.report.trait_findings import LeftOut
from parsimon.statistician.prepare.cells import read_cells, read_numbers
from parsimon.statistician.prepare.dates import is_date
from parsimon.statistician.prepare.recognition import recognise
from parsimon.statistician.prepare.tables import find_column

if TYPE_CHECKING:
    import pandas as pd

# A column with more than this share of empty cells is left out, and so are the emptiest ones while
# fewer than this share of the species would be complete.
_HALF = 0.5
# Of its standard deviation: a feature that others determine this closely says nothing of its own.
_OWN = 2e-3


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns:
    """Features of the rows, with gaps; and the columns that are none."""

    numbers: "pd.DataFrame"
    left_out: tuple[LeftOut, ...]


def read_column(column: "pd.Series[Any]") -> tuple[Array | None, str]:
    """Return a column as numbers; None if it holds text, and then the first cell that is none."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(column.dtype):
        values: Array = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return values, ""
    if is_date(column):
        return None, ""
    numbers = read_numbers(column)
    if not numbers.n_unread:
        return numbers.values, ""
    labels = read_cells(column).labels
    return None, next(filter(_is_text, labels), labels[0])


def _is_text(label: str) -> bool:
    import pandas as pd

    return bool(read_numbers(pd.Series([label])).n_unread)


def choose_columns(
    frame: "pd.DataFrame", measured: Mask, features: Sequence[str] | None
) -> Columns:
    """Return the features.

    Shapes: frame (n, d), measured (n,).
    """
    import pandas as pd

    names = _named(frame, features)
    numbers: dict[str, Array] = {}
    left_out: list[LeftOut] = []
    for name in names:
        values, text = read_column(frame[name])
        if values is None and features is not None:
            raise InvalidInputError(
                f"The feature {name!r} holds {f'text such as {text!r}' if text else 'dates'}, "
                "not numbers; leave it out, or write it as numbers."
            )
        reason = _reason(
            frame[name].loc[measured], name, None if values is None else values[measured]
        )
        if reason is not None and not (features is not None and reason.reason == "identifier"):
            left_out.append(reason)
        elif values is not None:
            numbers[name] = values
    kept = pd.DataFrame(numbers, index=frame.index)
    if features is None:
        kept, costly = _without_gaps(kept, measured)
        left_out += costly
    return Columns(numbers=kept, left_out=tuple(left_out))


def redundant_columns(numbers: "pd.DataFrame") -> tuple[str, ...]:
    """Return columns that others determine, such as one of several shares that add up to one.

    A column with a single value is one of them: a constant determines it.
    """
    from scipy.linalg import qr

    values = numbers.to_numpy(dtype=np.float64)
    if not numbers.shape[1] or len(values) <= numbers.shape[1]:
        # Fewer species than columns determine every column: that is no property of these.
        return ()
    flat = np.ptp(values, axis=0) == 0
    centred = np.where(flat, 0.0, values - values.mean(axis=0))
    norms = np.where(flat, 1.0, np.linalg.norm(centred, axis=0))
    upper, order = qr(centred / norms, mode="r", pivoting=True)
    gone = {int(place) for place in order[np.abs(np.diagonal(upper)) < _OWN]}
    return tuple(str(name) for place, name in enumerate(numbers.columns) if place in gone)


def _named(frame: "pd.DataFrame", features: Sequence[str] | None) -> list[str]:
    if features is None:
        return [str(name) for name in frame.columns]
    return list(dict.fromkeys(find_column(frame, name)[1] for name in features))


def _reason(cells: "pd.Series[Any]", name: str, values: Array | None) -> LeftOut | None:
    """Return why a column is no feature, as these cells show it; None if it is one."""
    if values is None:
        read = read_column(cells)
        if is_date(cells):
            return LeftOut(column=name, reason="date")
        return LeftOut(column=name, reason="text", value=read[1])
    present = values[~np.isnan(values)]
    if not len(present):
        return LeftOut(column=name, reason="empty")
    if np.ptp(present) == 0:
        return LeftOut(column=name, reason="constant", value=number(float(present[0])))
    if any(one.kind == "column_identifier" for one in recognise(cells, name).treatments):
        return LeftOut(column=name, reason="identifier")
    return None


def _without_gaps(numbers: "pd.DataFrame", measured: Mask) -> tuple["pd.DataFrame", list[LeftOut]]:
    """Leave out columns that are mostly empty, and then the emptiest while too few rows remain."""
    n = int(measured.sum())
    left_out: list[LeftOut] = []
    while numbers.shape[1]:
        empty = numbers[measured].isna()
        counts = empty.sum(axis=0)
        worst = str(counts.idxmax())
        count = int(counts.max())
        mostly = count > _HALF * n
        if not mostly and (~empty.any(axis=1)).sum() >= _HALF * n:
            break
        reason = LeftOut(column=worst, reason="mostly_empty" if mostly else "costly")
        left_out.append(reason)
        numbers = numbers.drop(columns=worst)
    return numbers, left_out
