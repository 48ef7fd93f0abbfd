"""The columns that formulas make of a table, each computed once, and how large they can become.

`bounds` never promises too much: the true values lie inside, by interval arithmetic. A column that
occurs twice counts as two that vary freely, so the bounds may be wider than the truth (Moore 1966).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from parsimon._checks import did_you_mean
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.features.expressions import Expression, number_of
from parsimon.features.operations import (
    EXTREMES,
    LARGEST,
    UNARY,
    OwnFunction,
    clip_values,
    whole_power,
)

# How far beyond the rows a formula is looked at, as a share of the width of a column.
_MARGIN = 0.1


class ColumnCache:
    """The columns of a table, and of every expression that was asked for, each computed once.

    Parameters
    ----------
    columns : mapping of str to array-like of shape (n,)

    Attributes
    ----------
    n_computed : int
        Operations on whole columns so far.

    Examples
    --------
    >>> from parsimon.features import apply
    >>> x = Expression.column("x")
    >>> table = ColumnCache({"x": [1.0, 2.0]})
    >>> table.values(apply("exp", x) + apply("exp", x) ** 2).round(2)
    array([10.11, 61.99])
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = {name: np.asarray(c, dtype=np.float64) for name, c in columns.items()}
        self._shape = next(iter(self._columns.values())).shape if self._columns else ()
        self._known: dict[Expression, Array] = {}
        self.n_computed = 0

    def __len__(self) -> int:
        return len(self._known)

    def values(self, expression: Expression) -> Array:
        """Return the column of an expression, read-only, shape (n,)."""
        found = self._known.get(expression)
        if found is None:
            with np.errstate(all="ignore"):
                found = np.array(np.broadcast_to(self._compute(expression), self._shape))
            found.flags.writeable = False
            self._known[expression] = found
        return found

    def matrix(self, expressions: Iterable[Expression]) -> Array:
        """Return the columns of some expressions side by side, shape (n, k)."""
        columns = [self.values(expression) for expression in expressions]
        return np.column_stack(columns) if columns else np.empty((*self._shape, 0))

    def forget(self, kept: Iterable[Expression]) -> None:
        """Forget all but the columns of these expressions."""
        self._known = {each: self._known[each] for each in kept if each in self._known}

    def _compute(self, expression: Expression) -> Array:
        kind = expression.operation
        if kind == "column":
            return self._column(str(expression.value))
        if kind == "number":
            return np.array(number_of(expression))
        self.n_computed += 1
        given = [self.values(argument) for argument in expression.arguments]
        if kind == "power":
            return whole_power(given[0], int(expression.value))  # type: ignore[arg-type]
        if kind in UNARY:
            return clip_values(UNARY[kind](given[0]))
        if isinstance(expression.value, OwnFunction):
            return clip_values(np.asarray(expression.value.compute(*given), dtype=np.float64))
        operation = {"sum": np.add, "product": np.multiply}.get(kind) or EXTREMES[kind]
        total = given[0]
        for column in given[1:]:
            total = clip_values(operation(total, column))
        return total

    def _column(self, name: str) -> Array:
        if name not in self._columns:
            raise InvalidInputError(
                f"There is no column {name!r} in the table.{did_you_mean(name, self._columns)}"
            )
        return self._columns[name]


class ValueRange(NamedTuple):
    """Where the values of an expression lie.

    lower, upper: Infinite where no bound is known.
    is_defined: Whether every operation stays within the domain in which it is defined.
    """

    lower: float
    upper: float
    is_defined: bool = True

    @property
    def is_finite(self) -> bool:
        """Whether the expression is defined and bounded."""
        return self.is_defined and max(-self.lower, self.upper) < LARGEST


def bounds(expression: Expression, ranges: Mapping[str, tuple[float, float]]) -> ValueRange:
    """Return bounds of an expression's values for columns in given ranges.

    Parameters
    ----------
    expression : Expression
    ranges : mapping of str to (float, float)
        Least and greatest value of each column.

    Returns
    -------
    ValueRange
        ``is_finite`` tells that nothing can become infinite or leave its domain.

    Examples
    --------
    >>> x = Expression.column("x")
    >>> bounds(1 / x, {"x": (1.0, 4.0)})
    ValueRange(lower=0.25, upper=1.0, is_defined=True)
    >>> bounds(1 / x, {"x": (-1.0, 4.0)}).is_finite
    False
    """
    kind = expression.operation
    if kind == "column":
        name = str(expression.value)
        if name not in ranges:
            raise InvalidInputError(f"There is no range of the column {name!r}; give it.")
        lower, upper = ranges[name]
        return ValueRange(float(lower), float(upper))
    if kind == "number":
        return ValueRange(number_of(expression), number_of(expression))
    inside = [bounds(argument, ranges) for argument in expression.arguments]
    is_defined = all(each.is_defined for each in inside)
    if kind == "power":
        found = _power(inside[0], int(expression.value))  # type: ignore[arg-type]
    elif kind in _UNARY:
        found = _UNARY[kind](inside[0])
    elif isinstance(expression.value, OwnFunction):
        found = _own(expression.value, inside)
    else:
        found = _MANY[kind](inside)
    return found._replace(is_defined=found.is_defined and is_defined)


def widened_ranges(names: Sequence[str], X: Array) -> dict[str, tuple[float, float]]:
    """Return least and greatest value of each column, with a tenth of its width on either side.

    A column without negative values is not widened beyond zero: a length has none outside either,
    and if its least value is above zero, half of that is the bound.
    """
    ranges = {}
    for name, column in zip(names, X.T, strict=True):
        lower, upper = float(column.min()), float(column.max())
        extra = _MARGIN * (upper - lower)
        below = lower - extra
        if lower >= 0:
            below = max(below, lower / 2)
        above = upper + extra
        if upper <= 0:
            above = min(above, upper / 2)
        ranges[name] = below, above
    return ranges


def _times(a: float, b: float) -> float:
    # Zero times an unknown bound is zero: the bound itself is never taken.
    return 0.0 if a == 0 or b == 0 else a * b


def _product(inside: Sequence[ValueRange]) -> ValueRange:
    lower, upper = inside[0].lower, inside[0].upper
    for each in inside[1:]:
        corners = [_times(a, b) for a in (lower, upper) for b in (each.lower, each.upper)]
        lower, upper = min(corners), max(corners)
    return ValueRange(lower, upper)


def _raise(value: float, exponent: int) -> float:
    try:
        return value**exponent
    except OverflowError:
        return math.inf if value > 0 or exponent % 2 == 0 else -math.inf


def _power(base: ValueRange, exponent: int) -> ValueRange:
    if exponent < 0:
        if base.lower <= 0 <= base.upper:
            return ValueRange(-math.inf, math.inf, is_defined=False)
        whole = _power(base, -exponent)
        # A power of a tiny number may be zero to a computer.
        if whole.lower == 0 or whole.upper == 0:
            return ValueRange(-math.inf, math.inf)
        return ValueRange(1.0 / whole.upper, 1.0 / whole.lower)
    ends = _raise(base.lower, exponent), _raise(base.upper, exponent)
    if exponent % 2 == 0 and base.lower < 0 < base.upper:
        return ValueRange(0.0, max(ends))
    return ValueRange(min(ends), max(ends))


def _grow(function: Callable[[float], float]) -> Callable[[ValueRange], ValueRange]:
    """Return the bounds of a function that never falls."""
    return lambda inside: ValueRange(float(function(inside.lower)), float(function(inside.upper)))


def _log(inside: ValueRange) -> ValueRange:
    if inside.lower <= 0:
        return ValueRange(-math.inf, math.inf, is_defined=False)
    return _grow(math.log)(inside)


def _sqrt(inside: ValueRange) -> ValueRange:
    if inside.lower < 0:
        most = math.sqrt(max(-inside.lower, abs(inside.upper)))
        return ValueRange(0.0, most, is_defined=False)
    return _grow(math.sqrt)(inside)


def _abs(inside: ValueRange) -> ValueRange:
    ends = abs(inside.lower), abs(inside.upper)
    return ValueRange(0.0 if inside.lower <= 0 <= inside.upper else min(ends), max(ends))


def _contains(inside: ValueRange, first: float, period: float) -> bool:
    """Tell whether first, first + period, ... has a member between the bounds."""
    if not math.isfinite(inside.lower) or not math.isfinite(inside.upper):
        return True
    return first + period * math.ceil((inside.lower - first) / period) <= inside.upper


def _sin(inside: ValueRange) -> ValueRange:
    full = 2 * math.pi
    highest, lowest = _contains(inside, full / 4, full), _contains(inside, -full / 4, full)
    if highest and lowest:
        return ValueRange(-1.0, 1.0)
    ends = math.sin(inside.lower), math.sin(inside.upper)
    return ValueRange(-1.0 if lowest else min(ends), 1.0 if highest else max(ends))


def _cos(inside: ValueRange) -> ValueRange:
    quarter = math.pi / 2
    return _sin(ValueRange(inside.lower + quarter, inside.upper + quarter))


def _tan(inside: ValueRange) -> ValueRange:
    if _contains(inside, math.pi / 2, math.pi):
        return ValueRange(-math.inf, math.inf, is_defined=False)
    return _grow(math.tan)(inside)


def _own(function: OwnFunction, inside: Sequence[ValueRange]) -> ValueRange:
    if function.bounds is None:
        return ValueRange(-math.inf, math.inf)
    lower, upper = function.bounds(*((each.lower, each.upper) for each in inside))
    return ValueRange(float(lower), float(upper))


_UNARY: Mapping[str, Callable[[ValueRange], ValueRange]] = {
    "sqrt": _sqrt,
    "exp": _grow(lambda v: math.exp(v) if v < 700 else math.inf),
    "log": _log,
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "atan": _grow(math.atan),
    "abs": _abs,
    "sign": _grow(lambda v: (v > 0) - (v < 0)),
}
_MANY: Mapping[str, Callable[[Sequence[ValueRange]], ValueRange]] = {
    "sum": lambda inside: ValueRange(sum(b.lower for b in inside), sum(b.upper for b in inside)),
    "product": _product,
    "min": lambda inside: ValueRange(min(b.lower for b in inside), min(b.upper for b in inside)),
    "max": lambda inside: ValueRange(max(b.lower for b in inside), max(b.upper for b in inside)),
}
