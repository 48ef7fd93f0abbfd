"""Words for numbers, lists and names, so that every section says the same thing the same way."""

import math
from collections.abc import Sequence

from parsimon.report.figures import labels
from parsimon.report.findings import Interval

# A number and its sign stay on one line, a little apart.
NARROW = "\u202f"
DASH = "–"
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NAMED = 6


def clean(text: object) -> str:
    r"""Return text of a table on one line: single spaces, nothing that cannot be printed.

    Examples
    --------
    >>> clean("  blood\n pressure "), clean("")
    ('blood pressure', '(no name)')
    """
    spaced = "".join(c if c.isprintable() else " " for c in str(text))
    return " ".join(spaced.split()) or "(no name)"


def quoted(text: object) -> str:
    """Return a value or a class's name between quotation marks.

    Examples
    --------
    >>> quoted("yes")
    '“yes”'
    """
    return f"“{clean(text)}”"


def percent(share: float) -> str:
    r"""Return a share as a sentence says it, with one decimal.

    Examples
    --------
    >>> percent(0.2238), percent(0.9996), percent(1.034), percent(-0.02)
    ('22.4\u202f%', 'more than 99.9\u202f%', '103.4\u202f%', '−2.0\u202f%')
    """
    if not 0 <= share <= 1:
        return f"{decimal(100 * share, 1)}{NARROW}%"
    text = labels.percent(abs(share)).replace(" %", f"{NARROW}%")
    return text.replace("> ", "more than ").replace("< ", "less than ")


def percent_cell(share: float) -> str:
    r"""Return a share as a table has it, with two decimals; a dash if it was not measured.

    Examples
    --------
    >>> percent_cell(0.2238), percent_cell(float("nan"))
    ('22.38\u202f%', '–')
    """
    return DASH if math.isnan(share) else f"{decimal(100 * share, 2)}{NARROW}%"


def points(difference: float) -> str:
    """Return the size of a difference of two shares.

    Examples
    --------
    >>> points(-0.0152)
    '1.5 percentage points'
    """
    return f"{decimal(abs(100 * difference), 1)} percentage points"


def percent_range(interval: Interval) -> str:
    r"""Return the ends of an interval of shares.

    Examples
    --------
    >>> percent_range(Interval(estimate=0.2, low=0.195, high=0.241))
    '19.5 to 24.1\u202f%'
    """
    return f"{decimal(100 * interval.low, 1)} to {decimal(100 * interval.high, 1)}{NARROW}%"


def share_range(interval: Interval) -> str:
    r"""Return the ends of an interval of shares that lie between 0 and 1.

    Examples
    --------
    >>> share_range(Interval(estimate=0.04, low=-0.02, high=0.1))
    '0.0 to 10.0\u202f%'
    """
    low, high = max(0.0, interval.low), min(1.0, interval.high)
    return percent_range(Interval(estimate=interval.estimate, low=low, high=high))


def number_range(interval: Interval) -> str:
    """Return the ends of an interval of numbers, with three decimals.

    Examples
    --------
    >>> number_range(Interval(estimate=0.834, low=0.803, high=0.865))
    '0.803 to 0.865'
    """
    return f"{decimal(interval.low, 3)} to {decimal(interval.high, 3)}"


def sureness(interval: Interval) -> str:
    r"""Return what an interval is called.

    Examples
    --------
    >>> sureness(Interval(estimate=0.2, low=0.1, high=0.3))
    '95\u202f% interval'
    """
    return f"{labels.number(100 * interval.confidence)}{NARROW}% interval"


def decimal(value: float, places: int) -> str:
    """Return a number with so many decimals, thousands apart and a true minus sign.

    Examples
    --------
    >>> decimal(-1234.5678, 2), decimal(-0.001, 1)
    ('−1,234.57', '0.0')
    """
    rounded = round(value, places) + 0.0
    return f"{rounded:,.{places}f}".replace("-", "−")


def number(value: float) -> str:
    """Return a number of the data with four significant digits.

    Examples
    --------
    >>> number(121.8812), number(-3.0)
    ('121.9', '−3')
    """
    return labels.number(value)


def count(n: int, noun: str, plural: str = "") -> str:
    """Return a number of things in digits.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row"), count(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def spelled(n: int, noun: str = "", plural: str = "") -> str:
    """Return a number of things, in words up to ten.

    Examples
    --------
    >>> spelled(7, "column"), spelled(1, "row"), spelled(12, "part"), spelled(3)
    ('seven columns', 'one row', '12 parts', 'three')
    """
    word = _SMALL[n] if 0 <= n < len(_SMALL) else f"{n:,}"
    return f"{word} {noun if n == 1 else plural or noun + 's'}" if noun else word


def joined(items: Sequence[str], most: int | None = None) -> str:
    """Return a list as a sentence has it, cut short after `most` items.

    Examples
    --------
    >>> joined(["a", "b", "c"]), joined(["a", "b", "c", "d"], most=2), joined(["a"])
    ('a, b and c', 'a, b and 2 others', 'a')
    """
    shown = list(items)
    # Nothing is gained by "and 1 other", which is as long as the name.
    if most is not None and len(shown) > most + 1:
        shown = [*shown[:most], f"{len(shown) - most:,} others"]
    return "".join(shown) if len(shown) < 2 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def named(names: Sequence[object], most: int = _NAMED) -> str:
    """Return names of columns as a list.

    Examples
    --------
    >>> named([" age ", "sex"])
    'age and sex'
    """
    return joined([clean(name) for name in names], most)


def opened(text: str) -> str:
    """Return a sentence with a capital letter.

    Examples
    --------
    >>> opened("seven columns"), opened("")
    ('Seven columns', '')
    """
    return text[:1].upper() + text[1:]


def duration(seconds: float) -> str:
    """Return a time as a person says it.

    Examples
    --------
    >>> duration(0.4), duration(61.2), duration(7380)
    ('less than a second', '1 minute and 1 second', '2 hours and 3 minutes')
    """
    whole = round(seconds)
    if whole < 1:
        return "less than a second"
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        parts = [count(hours, "hour"), count(minutes, "minute") if minutes else ""]
    else:
        rest = whole % 60
        parts = [count(minutes, "minute") if minutes else "", count(rest, "second") if rest else ""]
    return joined([part for part in parts if part])
