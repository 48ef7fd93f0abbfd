"""The columns of a table with those that formulas make of them, each computed once."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from parsimon._checks import did_you_mean
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.features.expressions import Expression, number_of
from parsimon.features.operations import EXTREMES, UNARY, OwnFunction, clip_values, whole_power


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
