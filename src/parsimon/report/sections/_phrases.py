"""Words for numbers, lists and names, so that every section says the same thing the same way."""

import math
import re
from collections.abc import Sequence

from parsimon.report.figures import points as labels
from parsimon.report.findings import Interval

# A number and its sign stay on one line, a little apart.
NARROW = "\u202f"
DASH = "–"
_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NAMED = 6
SMALLEST_P = 0.001
# Beyond these, powers of ten are easier to read.
_MOST_DIGITS, _FEWEST_DIGITS = 1e8, 1e-4


def clean(text: object) -> str:
    r"""Return text of a table on one line: single spaces, nothing that cannot be printed."""
    spaced = "".join(c if c.isprintable() else " " for c in str(text))
    return " ".join(spaced.split()) or "(no name)"


def quoted(text: object) -> str:
    """Return a value or a class's name between quotation marks."""
    return f"“{clean(text)}”"


def percent(share: float) -> str:
    r"""Return a share as a sentence says it, with one decimal."""
    if not 0 <= share <= 1:
        return f"{decimal(100 * share, 1)}{NARROW}%"
    text = labels.percent_label(abs(share)).replace(" %", f"{NARROW}%")
    return text.replace("> ", "more than ").replace("< ", "less than ")


def percent_cell(share: float) -> str:
    r"""Return a share as a table has it, with two decimals; a dash if it was not measured."""
    return DASH if math.isnan(share) else f"{decimal(100 * share, 2)}{NARROW}%"


def points(difference: float) -> str:
    """Return the size of a difference of two shares."""
    return f"{decimal(abs(100 * difference), 1)} percentage points"


def percent_range(interval: Interval) -> str:
    r"""Return the ends of an interval of shares."""
    return f"{decimal(100 * interval.low, 1)} to {decimal(100 * interval.high, 1)}{NARROW}%"


def share_range(interval: Interval) -> str:
    r"""Return the ends of an interval of shares that lie between 0 and 1."""
    low, high = max(0.0, interval.low), min(1.0, interval.high)
    return percent_range(Interval(estimate=interval.estimate, low=low, high=high))


def number_range(interval: Interval) -> str:
    """Return the ends of an interval of numbers, with three decimals."""
    return f"{decimal(interval.low, 3)} to {decimal(interval.high, 3)}"


def sureness(interval: Interval) -> str:
    r"""Return what an interval is called."""
    return f"{labels.number_label(100 * interval.confidence)}{NARROW}% interval"


def decimal(value: float, places: int) -> str:
    """Return a number with so many decimals, thousands apart and a true minus sign."""
    rounded = round(value, places) + 0.0
    return f"{rounded:,.{places}f}".replace("-", "−")


def number(value: float) -> str:
    """Return a number of the data with four significant digits."""
    return labels.number_label(value)


def count(n: int, noun: str, plural: str = "") -> str:
    """Return a number of things in digits."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def spelled(n: int, noun: str = "", plural: str = "") -> str:
    """Return a number of things, in words up to ten."""
    word = _SMALL[n] if 0 <= n < len(_SMALL) else f"{n:,}"
    return f"{word} {noun if n == 1 else plural or noun + 's'}" if noun else word


def were(n: int) -> str:
    """Return "was" or "were"."""
    return "was" if n == 1 else "were"


def inflect(template: str, n: int, /, **parts: str) -> str:
    """Return a template with its `{parts}`, and `[one|several]` chosen by a number of things."""
    return re.sub(r"\[(.*?)\|(.*?)\]", lambda m: m[1 if n == 1 else 2], template).format(**parts)


def amount(size: float, unit: str) -> str:
    """Return a size in words: "two terms", "3.5 terms"."""
    return spelled(int(size), unit) if size == int(size) else f"{number(size)} {unit}s"


def joined(items: Sequence[str], most: int | None = None) -> str:
    """Return a list as a sentence has it, cut short after `most` items."""
    shown = list(items)
    # Nothing is gained by "and 1 other", which is as long as the name.
    if most is not None and len(shown) > most + 1:
        shown = [*shown[:most], f"{len(shown) - most:,} others"]
    return "".join(shown) if len(shown) < 2 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def named(names: Sequence[object], most: int = _NAMED) -> str:
    """Return names of columns as a list."""
    return joined([clean(name) for name in names], most)


def opened(text: str) -> str:
    """Return a sentence with a capital letter."""
    return text[:1].upper() + text[1:]


def duration(seconds: float) -> str:
    """Return a time as a person says it."""
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


def short(value: float) -> str:
    """Return a measured or estimated number with three digits; whole from 100 on."""
    size = abs(value)
    if size >= _MOST_DIGITS or 0 < size < _FEWEST_DIGITS:
        return number(value)
    if size >= 1:
        return decimal(value, 0 if size >= 99.95 else 1 if size >= 9.995 else 2)
    return decimal(value, 2 - math.floor(math.log10(size))) if size else "0"


def ends(interval: Interval) -> str:
    """Return the ends of an interval of numbers of the data."""
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return DASH
    return f"{short(interval.low)} to {short(interval.high)}"


def within(interval: Interval, places: int | None = None) -> str:
    r"""Return an estimate with its interval, for the inside of a sentence."""
    if places is None:
        return f"{short(interval.estimate)} (95{NARROW}% interval {ends(interval)})"
    low, high = decimal(interval.low, places), decimal(interval.high, places)
    return f"{decimal(interval.estimate, places)} (95{NARROW}% interval {low} to {high})"


def signed(value: float) -> str:
    """Return a number with its sign."""
    return short(value) if value < 0 else f"+{short(value)}"


def p_value(p: float) -> str:
    """Return a p-value as a sentence has it."""
    if math.isnan(p):
        return "p not known"
    return f"p < {SMALLEST_P}" if p < SMALLEST_P else f"p = {decimal(p, 3)}"
