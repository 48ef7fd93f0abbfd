"""Words for tests, intervals and pictures, the same in every section."""

import math

from parsimon.report.document import Block, Cell, Figure, Reference
from parsimon.report.findings import Interval
from parsimon.report.phylogeny.findings import TraitFindings
from parsimon.report.sections._blocks import Sentence
from parsimon.report.sections._phrases import DASH, NARROW, clean, decimal, number

_SMALLEST_P = 0.001
# Beyond these, powers of ten are easier to read.
_MOST_DIGITS, _FEWEST_DIGITS = 1e8, 1e-4


def target_of(findings: TraitFindings) -> str:
    """Return the target's name as sentences have it."""
    return clean(findings.table.target)


def short(value: float) -> str:
    """Return a measured or estimated number with three digits; whole from 100 on."""
    size = abs(value)
    if size >= _MOST_DIGITS or 0 < size < _FEWEST_DIGITS:
        return number(value)
    if size >= 1:
        return decimal(value, 0 if size >= 99.95 else 1 if size >= 9.995 else 2)
    return decimal(value, 2 - math.floor(math.log10(size))) if size else "0"


def p_value(p: float) -> str:
    """Return a p-value as a sentence has it."""
    if math.isnan(p):
        return "p not known"
    return f"p < {_SMALLEST_P}" if p < _SMALLEST_P else f"p = {decimal(p, 3)}"


def p_cell(p: float) -> Cell:
    """Return a p-value as a table has it."""
    if math.isnan(p):
        return Cell(DASH)
    return Cell(f"< {_SMALLEST_P}" if p < _SMALLEST_P else decimal(p, 3), order=p)


def value_cell(value: float, *, strong: bool = False) -> Cell:
    """Return a number of the data as a table has it; a dash for one that is not known."""
    if not math.isfinite(value):
        return Cell(DASH)
    return Cell(short(value), order=value, strong=strong)


def ends(interval: Interval) -> str:
    """Return the ends of an interval of numbers of the data."""
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return DASH
    return f"{short(interval.low)} to {short(interval.high)}"


def ends_cell(interval: Interval) -> Cell:
    """Return the ends of an interval as a cell, sorted by the lower one."""
    return Cell(ends(interval), order=interval.low if math.isfinite(interval.low) else None)


def within(interval: Interval, places: int | None = None) -> str:
    r"""Return an estimate with its interval, for the inside of a sentence."""
    if places is None:
        return f"{short(interval.estimate)} (95{NARROW}% interval {ends(interval)})"
    low, high = decimal(interval.low, places), decimal(interval.high, places)
    return f"{decimal(interval.estimate, places)} (95{NARROW}% interval {low} to {high})"


def signed(value: float) -> str:
    """Return a number with its sign."""
    return short(value) if value < 0 else f"+{short(value)}"


def figure(findings: TraitFindings, name: str) -> tuple[Block, ...]:
    """Return the figure of this name; nothing if it was not drawn."""
    picture = findings.picture(name)
    return () if picture is None else (Figure(f"figure-{name}", picture),)


def shown(findings: TraitFindings, name: str, what: str) -> Sentence:
    """Return a sentence that begins with the number of a figure; empty if it was not drawn."""
    if findings.picture(name) is None:
        return ""
    return (Reference(f"figure-{name}"), f" {what}.")
