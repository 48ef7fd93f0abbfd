"""Expressions: formulas of columns as values that print, parse, compare and compute.

Read `Expression` first. There is one form of each expression, made while it is built: sums and
products are flat and sorted, constants are folded, equal terms and factors are collected. What
comes out is equal in value to what was written, and equal expressions written differently are the
same object to ``==``, to dictionaries and to `ColumnCache`, which computes each only once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Integral, Real
from typing import Any

import numpy as np

from parsimon._checks import did_you_mean
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.features.operations import (
    EXTREMES,
    FUNCTIONS,
    LARGEST,
    UNARY,
    OwnFunction,
    clip_values,
    whole_power,
)

# Coefficients whose sum is so much smaller than they are cancel but for rounding.
_CANCELLED = 4e-16

_ODD = frozenset({"sin", "tan", "atan", "sign"})
_EVEN = frozenset({"cos", "abs"})


Value = float | str | int | OwnFunction | None


class Expression:
    """A formula of columns, in the one form that all equal ways to write it lead to.

    Made by `Expression.column`, `Expression.number`, `apply`, `parsimon.features.parse` and the
    operators ``+ - * / **`` (whole powers). It never changes.

    Every operation has a value everywhere, so that a column made by a formula is finite for every
    finite row. Outside the domain that school teaches the value is: 1/0 is 0; log(x) is the
    logarithm of the absolute value, and 0 at 0; sqrt(x) is the root of the absolute value; sign(0)
    is 0; and what would exceed 1e300 in size is 1e300 of that sign. `parsimon.features.bounds`
    tells whether that can happen in given ranges. Missing values stay missing.

    The form is equal in value to what was written wherever a quantity that cancels is not 0:
    ``x / x`` is 1, also at 0.

    Attributes
    ----------
    operation : str
        "column", "number", "sum", "product", "power", "own" or the name of a function.
    arguments : tuple of Expression
    value : str, float, int, OwnFunction or None
        The column's name, the number, the whole exponent, or the function.
    size : int
        Nodes of the formula as it is printed: columns, numbers, operators and functions.

    Examples
    --------
    >>> x, y = Expression.column("x"), Expression.column("y")
    >>> print((y + x) * 2 * x / x - y)
    2*(x + y) - y
    >>> (x - y) ** 2 == (y - x) ** 2
    True
    >>> (x / y).size
    3
    >>> (x * y)({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    array([3., 8.])
    """

    __slots__ = ("arguments", "key", "operation", "size", "value")
    operation: str
    arguments: tuple["Expression", ...]
    value: Value
    key: str
    size: int

    def __init__(self) -> None:
        raise InvalidInputError(
            "Build expressions by Expression.column, Expression.number, apply or parse."
        )

    @staticmethod
    def column(name: str) -> "Expression":
        """Return the expression that is a column of the table."""
        if not isinstance(name, str) or not name or "\n" in name:
            raise InvalidInputError(f"A column's name must be a line of text, got {name!r}.")
        return _make("column", (), str(name))

    @staticmethod
    def number(value: float) -> "Expression":
        """Return the expression that is a finite number."""
        if not isinstance(value, Real) or not np.isfinite(value):
            raise InvalidInputError(f"A number in a formula must be finite, got {value!r}.")
        # Plus zero turns minus zero into zero.
        return _make("number", (), float(np.clip(float(value), -LARGEST, LARGEST)) + 0.0)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"An expression never changes; build another instead of setting {name}."
        )

    # As a dictionary, which skops can store as well as pickle.
    def __getstate__(self) -> dict[str, Any]:
        return {"operation": self.operation, "arguments": self.arguments, "value": self.value}

    def __setstate__(self, state: dict[str, Any]) -> None:
        _set(self, state["operation"], tuple(state["arguments"]), state["value"])

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Expression) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return _TEXT(self)

    def __repr__(self) -> str:
        return f"Expression({_TEXT(self)!r})"

    def __add__(self, other: Any) -> "Expression":
        return add(self, as_expression(other))

    def __radd__(self, other: Any) -> "Expression":
        return add(as_expression(other), self)

    def __sub__(self, other: Any) -> "Expression":
        return add(self, -as_expression(other))

    def __rsub__(self, other: Any) -> "Expression":
        return add(as_expression(other), -self)

    def __mul__(self, other: Any) -> "Expression":
        return multiply(self, as_expression(other))

    def __rmul__(self, other: Any) -> "Expression":
        return multiply(as_expression(other), self)

    def __truediv__(self, other: Any) -> "Expression":
        return multiply(self, power(as_expression(other), -1))

    def __rtruediv__(self, other: Any) -> "Expression":
        return multiply(as_expression(other), power(self, -1))

    def __neg__(self) -> "Expression":
        return multiply(MINUS_ONE, self)

    def __abs__(self) -> "Expression":
        return apply("abs", self)

    def __pow__(self, exponent: int) -> "Expression":
        return power(self, exponent)

    def __call__(self, columns: Mapping[str, Any]) -> Array:
        """Return the value for columns by name, each of shape (n,)."""
        from parsimon.features.column_values import ColumnCache

        return ColumnCache(columns).values(self)

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that occur."""
        return frozenset(str(part.value) for part in self.parts() if part.operation == "column")

    def parts(self) -> Iterator["Expression"]:
        """Yield every expression inside, itself first, as often as it occurs."""
        yield self
        for argument in self.arguments:
            yield from argument.parts()

    def substitute(self, replacements: Mapping["Expression", "Expression"]) -> "Expression":
        """Return the expression with some parts replaced; with none it is itself."""
        if self in replacements:
            return replacements[self]
        if not self.arguments:
            return self
        arguments = [argument.substitute(replacements) for argument in self.arguments]
        if self.operation == "power":
            return power(arguments[0], int(self.value))  # type: ignore[arg-type]
        if self.operation == "sum":
            return add(*arguments)
        if self.operation == "product":
            return multiply(*arguments)
        own = isinstance(self.value, OwnFunction)
        return apply(self.value if own else self.operation, *arguments)  # type: ignore[arg-type]


def _make(operation: str, arguments: tuple[Expression, ...], value: Value = None) -> Expression:
    """Return an expression as it is, without bringing it into its form."""
    self = object.__new__(Expression)
    _set(self, operation, arguments, value)
    return self


def _set(self: Expression, operation: str, arguments: tuple[Expression, ...], value: Value) -> None:
    """Give a new expression its content, key and size."""
    name = value.name if isinstance(value, OwnFunction) else operation
    if not arguments:
        key = repr(value)
    elif operation == "power":
        key = f"{arguments[0].key}^{value}"
    else:
        key = f"{name}({','.join(argument.key for argument in arguments)})"
    slots = {"operation": operation, "arguments": arguments, "value": value, "key": key}
    for slot, content in slots.items():
        object.__setattr__(self, slot, content)
    object.__setattr__(self, "size", _size(self))


def as_expression(given: Any) -> Expression:
    """Return an expression as it is, a number as an expression."""
    return given if isinstance(given, Expression) else Expression.number(given)


def number_of(expression: Expression) -> float:
    """Return the value of a number."""
    return float(expression.value)  # type: ignore[arg-type]


def exponent_of(expression: Expression) -> tuple[Expression, int]:
    """Return base and whole exponent; of what is no power itself and 1."""
    if expression.operation == "power":
        return expression.arguments[0], int(expression.value)  # type: ignore[arg-type]
    return expression, 1


def factors_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the factors of a product; of what is none, itself."""
    return expression.arguments if expression.operation == "product" else (expression,)


def terms_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the terms of a sum; of what is none, itself."""
    return expression.arguments if expression.operation == "sum" else (expression,)


def written_terms(expression: Expression) -> tuple[Expression, ...]:
    """Return the terms of a sum as people write them: the first without a minus in front."""
    terms = terms_of(expression)
    first = next((term for term in terms if not is_negative(term)), terms[0])
    return first, *(term for term in terms if term is not first)


def coefficient_of(term: Expression) -> tuple[float, Expression]:
    """Return the number in front and the rest, which is 1 for a number."""
    if term.operation == "number":
        return number_of(term), ONE
    if term.operation == "product" and term.arguments[0].operation == "number":
        rest = term.arguments[1:]
        return number_of(term.arguments[0]), rest[0] if len(rest) == 1 else _make("product", rest)
    return 1.0, term


def is_negative(expression: Expression) -> bool:
    """Tell whether the number in front, of a sum that of its first term, is below zero."""
    return coefficient_of(terms_of(expression)[0])[0] < 0


def add(*terms: Expression) -> Expression:
    """Return the sum: flat, equal terms collected, sorted, the number last."""
    flat = [part for term in terms for part in terms_of(term)]
    totals: dict[Expression, tuple[float, float]] = {}
    for term in flat:
        coefficient, rest = coefficient_of(term)
        total, size = totals.get(rest, (0.0, 0.0))
        totals[rest] = total + coefficient, size + abs(coefficient)
    kept = [
        _scale(total, rest)
        for rest, (total, size) in totals.items()
        if abs(total) > _CANCELLED * size
    ]
    if any(term.operation == "sum" for term in kept):
        return add(*kept)
    if len(kept) < 2:
        return kept[0] if kept else ZERO
    kept.sort(key=lambda term: (term.operation == "number", coefficient_of(term)[1].key))
    return _make("sum", tuple(kept))


def weighted_sum(weights: Iterable[float], parts: Sequence[Expression]) -> Expression:
    """Return the sum of expressions, each times a number."""
    terms = (multiply(Expression.number(w), part) for w, part in zip(weights, parts, strict=True))
    return add(*terms)


def _scale(coefficient: float, rest: Expression) -> Expression:
    """Return a number times what has no number in front, in form."""
    coefficient = float(np.clip(coefficient, -LARGEST, LARGEST))
    if rest == ONE:
        return Expression.number(coefficient)
    if coefficient == 1.0:
        return rest
    if coefficient == -1.0 and rest.operation == "sum":
        negated = (_scale(-c, part) for c, part in map(coefficient_of, rest.arguments))
        return _make("sum", tuple(negated))
    return _make("product", (Expression.number(coefficient), *factors_of(rest)))


def multiply(*factors: Expression) -> Expression:
    """Return the product: flat, powers of one base collected, sorted, the number first."""
    coefficient, exponents = 1.0, dict[Expression, int]()
    exponentials: list[Expression] = []
    for factor in (part for given in factors for part in factors_of(given)):
        base, exponent = exponent_of(factor)
        if base.operation == "number":
            coefficient *= number_of(base)
            continue
        if base.operation == "exp":
            exponentials.append(base.arguments[0])
            continue
        if base.operation == "sum" and is_negative(base):
            coefficient, base = coefficient * (-1) ** exponent, _scale(-1.0, base)
        exponents[base] = exponents.get(base, 0) + exponent
    if exponentials:
        together = apply("exp", add(*exponentials))
        if together.operation == "number":
            coefficient *= number_of(together)
        else:
            exponents[together] = 1
    coefficient = float(np.nan_to_num(coefficient, posinf=LARGEST, neginf=-LARGEST))
    if coefficient == 0:
        return ZERO
    pairs = [pair for pair in exponents.items() if pair[1]]
    powers = [power(*pair) for pair in pairs]
    if [exponent_of(each) for each in powers] != pairs:
        return multiply(Expression.number(coefficient), *powers)
    powers.sort(key=lambda each: (exponent_of(each)[0].key, each.key))
    rest = powers[0] if len(powers) == 1 else _make("product", tuple(powers)) if powers else ONE
    return _scale(coefficient, rest)


def power(base: Expression, exponent: int) -> Expression:
    """Return a whole power of an expression."""
    if not isinstance(exponent, Integral):
        raise InvalidInputError(f"A power must be a whole number, got {exponent!r}; use sqrt.")
    exponent = int(exponent)
    if exponent == 0:
        return ONE
    if exponent == 1:
        return base
    if base.operation == "number":
        return Expression.number(float(whole_power(np.array(number_of(base)), exponent)))
    if base.operation == "power":
        inner, times = exponent_of(base)
        return power(inner, times * exponent)
    if base.operation == "product":
        return multiply(*(power(factor, exponent) for factor in base.arguments))
    if base.operation == "sum" and is_negative(base):
        turned = _make("power", (_scale(-1.0, base),), exponent)
        return turned if exponent % 2 == 0 else _scale(-1.0, turned)
    return _power_of_function(base, exponent)


def _power_of_function(base: Expression, exponent: int) -> Expression:
    """Return a power, other than 0 and 1, of what is neither number, power nor product."""
    if base.operation == "exp":
        return apply("exp", multiply(Expression.number(exponent), base.arguments[0]))
    if base.operation == "abs" and exponent % 2 == 0:
        return power(base.arguments[0], exponent)
    if base.operation == "sqrt" and abs(exponent) > 1:
        sign = 1 if exponent > 0 else -1
        whole, left = divmod(abs(exponent), 2)
        root = power(base, sign * left)
        return multiply(power(apply("abs", base.arguments[0]), sign * whole), root)
    return _make("power", (base,), exponent)


def apply(function: str | OwnFunction, *arguments: Any) -> Expression:
    """Return a function of expressions.

    Parameters
    ----------
    function : str or OwnFunction
        sqrt, exp, log, sin, cos, tan, atan, abs, sign of one argument, min or max of any number,
        or one of your own.
    *arguments : Expression or float

    Examples
    --------
    >>> x = Expression.column("x")
    >>> print(apply("sqrt", x**2), apply("cos", -x), apply("max", 1, x, 3))
    abs(x) cos(x) max(x, 3)
    """
    given = tuple(map(as_expression, arguments))
    if isinstance(function, OwnFunction):
        _check_arguments(function.name, len(given), function.n_arguments)
        return _make("own", given, function)
    if function in EXTREMES:
        return _extreme(function, given)
    if function not in UNARY:
        raise InvalidInputError(
            f"There is no function {function!r}; the functions are {', '.join(FUNCTIONS)}."
            f"{did_you_mean(function, FUNCTIONS)}"
        )
    _check_arguments(function, len(given), 1)
    return _unary(function, given[0])


def _check_arguments(name: str, n_given: int, n_wanted: int) -> None:
    if n_given != n_wanted:
        raise InvalidInputError(f"{name} takes {n_wanted} argument(s), got {n_given}.")


def _extreme(name: str, arguments: Sequence[Expression]) -> Expression:
    """Return the least or greatest of expressions: flat, each once, numbers folded, sorted."""
    if not arguments:
        raise InvalidInputError(f"{name} needs at least one argument.")
    same = (given.arguments if given.operation == name else (given,) for given in arguments)
    flat = list(chain.from_iterable(same))
    numbers = [number_of(part) for part in flat if part.operation == "number"]
    kept = sorted({part for part in flat if part.operation != "number"}, key=lambda part: part.key)
    if numbers:
        kept.append(Expression.number(min(numbers) if name == "min" else max(numbers)))
    return kept[0] if len(kept) == 1 else _make(name, tuple(kept))


def _unary(name: str, argument: Expression) -> Expression:
    """Return a function of one argument, simplified where that keeps its value."""
    kind = argument.operation
    if kind == "number":
        return Expression.number(float(clip_values(UNARY[name](np.array(number_of(argument))))))
    if name in _ODD and is_negative(argument):
        return multiply(MINUS_ONE, _unary(name, multiply(MINUS_ONE, argument)))
    if name in _EVEN and is_negative(argument):
        return _unary(name, multiply(MINUS_ONE, argument))
    if name == "log" and kind == "exp":
        return argument.arguments[0]
    simpler = {"abs": _abs, "sqrt": _sqrt, "sign": _sign}.get(name)
    return _make(name, (argument,)) if simpler is None else simpler(argument)


def _abs(argument: Expression) -> Expression:
    base, exponent = exponent_of(argument)
    if argument.operation == "product":
        return multiply(*(_unary("abs", factor) for factor in argument.arguments))
    if argument.operation in ("abs", "sqrt", "exp") or exponent % 2 == 0:
        return argument
    if argument.operation == "power":
        return power(_unary("abs", base), exponent)
    return _make("abs", (argument,))


def _sqrt(argument: Expression) -> Expression:
    """Return the root; even powers leave it as absolute values."""
    pairs = [exponent_of(factor) for factor in factors_of(argument)]
    outside = [power(_unary("abs", base), k // 2) for base, k in pairs if k % 2 == 0]
    inside = [power(base, k) for base, k in pairs if k % 2]
    if not outside:
        return _make("sqrt", (argument,))
    return multiply(*outside, *([_unary("sqrt", multiply(*inside))] if inside else []))


def _sign(argument: Expression) -> Expression:
    if argument.operation in ("exp", "sign"):
        return ONE if argument.operation == "exp" else argument
    coefficient, rest = coefficient_of(argument)
    return _make("sign", (argument,)) if coefficient == 1.0 else _unary("sign", rest)


def _size(expression: Expression) -> int:
    kind = expression.operation
    if not expression.arguments:
        return 1 + (kind == "number" and number_of(expression) < 0)
    if kind == "sum":
        # A minus instead of a plus costs nothing, except in front.
        turned = sum(map(is_negative, written_terms(expression)[1:]))
        return sum(a.size for a in expression.arguments) + len(expression.arguments) - 1 - turned
    if kind in ("product", "power"):
        coefficient, rest = coefficient_of(expression)
        pairs = [exponent_of(factor) for factor in factors_of(rest)]
        parts = [base.size + 2 * (abs(exponent) > 1) for base, exponent in pairs]
        has_number = abs(coefficient) != 1.0 or all(exponent < 0 for _, exponent in pairs)
        return sum(parts) + len(parts) - 1 + 2 * has_number + (coefficient < 0)
    return 1 + sum(a.size for a in expression.arguments)


def written_number(value: float) -> str:
    """Return a number that reads back the same, without a needless fraction."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def fraction_of(product: Expression) -> tuple[float, list[Expression], list[Expression]]:
    """Return the number in front, the factors above and those below the line of a fraction."""
    coefficient, rest = coefficient_of(product)
    pairs = [exponent_of(factor) for factor in factors_of(rest)]
    above = [power(base, exponent) for base, exponent in pairs if exponent > 0]
    below = [power(base, -exponent) for base, exponent in pairs if exponent < 0]
    return coefficient, above, below


class Notation:
    """How an expression is written: as the text that `parse` reads; others change parts of it."""

    plus, minus, times, negative, raised = " + ", " - ", "*", "-", "^"

    def __call__(self, expression: Expression) -> str:
        kind = expression.operation
        if kind == "column":
            return self.name(str(expression.value))
        if kind == "number":
            return self.number(number_of(expression))
        if kind == "sum":
            return self.sum(expression)
        if kind in ("product", "power"):
            coefficient, above, below = fraction_of(expression)
            has_number = abs(coefficient) != 1.0 or not above
            numbers = [self.number(abs(coefficient))] if has_number else []
            text = self.fraction(numbers, above, below)
            return self.negative + text if coefficient < 0 else text
        return self.function(expression)

    def name(self, name: str) -> str:
        """Return a column's name, in backquotes unless it is an identifier."""
        plain = name.isidentifier() and name.isascii()
        return name if plain else "`" + name.replace("`", "``") + "`"

    def number(self, value: float) -> str:
        """Return a number."""
        return written_number(value)

    def sum(self, expression: Expression) -> str:
        """Return terms with their signs between them."""
        first, *others = written_terms(expression)
        signed = (
            self.minus + self(-term) if is_negative(term) else self.plus + self(term)
            for term in others
        )
        return self(first) + "".join(signed)

    def fraction(
        self, numbers: list[str], above: Sequence[Expression], below: Sequence[Expression]
    ) -> str:
        """Return a product, or a fraction, without its sign."""
        text = self.times.join([*numbers, *map(self.factor, above)])
        if len(below) == 1:
            return f"{text}/{self.factor(below[0])}"
        return f"{text}/({self.times.join(map(self.factor, below))})" if below else text

    def factor(self, factor: Expression) -> str:
        """Return a factor with its power, a sum in brackets."""
        base, exponent = exponent_of(factor)
        text = f"({self(base)})" if base.operation == "sum" else self(base)
        return text if exponent == 1 else f"{text}{self.raised}{exponent}"

    def function(self, expression: Expression) -> str:
        """Return a function of its arguments."""
        return f"{function_name(expression)}({', '.join(map(self, expression.arguments))})"


def function_name(expression: Expression) -> str:
    """Return what a function is called, one of a user's own by its name."""
    own = expression.value
    return own.name if isinstance(own, OwnFunction) else expression.operation


_TEXT = Notation()
ZERO, ONE, MINUS_ONE = (Expression.number(value) for value in (0.0, 1.0, -1.0))
