"""Values that look like a code for "missing": noticed, never changed."""

import numpy as np

from parsimon._typing import Array

_FEWEST_ROWS = 3
_FEWEST_OTHERS = 4
# (share of rows, gap in usual gaps): a value in many rows needs to stand out less.
_DOUBTS = ((0.05, 4.0), (0.0, 10.0))
# Of the middle half of the others: where there are many, the usual gap is small, and a value just
# below a long tail would stand out.
_SMALLEST_GAP = 0.1


def suspicious_value(values: Array) -> tuple[float, int] | None:
    """Return a value that may stand for missing cells, and in how many rows; None without one.

    It is 0, -1 (if the others are never negative) or a number such as 99 or -999; it is the
    smallest or the largest in at least three rows, and the gap to the next is far larger than the
    usual gap among the others: at least ten times, or four times if it stands in 5 % of the rows.

    Shapes: values (n,).
    """
    for value in (float(values.min()), float(values.max())):
        if _is_code(value):
            same = values == value
            if same.sum() >= _FEWEST_ROWS and _stands_out(value, values[~same], same.mean()):
                return value, int(same.sum())
    return None


def _is_code(value: float) -> bool:
    if value in (0.0, -1.0):
        return True
    digits = f"{abs(value):.0f}"
    return value.is_integer() and len(digits) <= 9 and digits in (d * len(digits) for d in "789")


def _stands_out(value: float, others: Array, share: float) -> bool:
    distinct = np.unique(others)
    # From -1 to 1 is a range like any other; among numbers that are never negative, -1 is a code.
    if len(distinct) < _FEWEST_OTHERS or (value == -1 and distinct[0] < 0):
        return False
    gap = float(np.abs(distinct - value).min())
    usual = float(np.median(np.diff(distinct)))
    quarter, three_quarters = np.percentile(others, [25, 75])
    return gap >= _SMALLEST_GAP * (three_quarters - quarter) and any(
        share >= least and gap >= times * usual for least, times in _DOUBTS
    )
