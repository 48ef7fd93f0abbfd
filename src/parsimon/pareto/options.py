"""Operators as options: "auto" stands for the one that suits the space."""

from typing import TypeVar

from parsimon.exceptions import InvalidInputError

T = TypeVar("T")


def or_default(name: str, operator: T | str | None, default: T) -> T | None:
    """Return the operator, or the default for "auto", refusing other words."""
    if not isinstance(operator, str):
        return operator
    if operator != "auto":
        raise InvalidInputError(f'{name} must be an operator, "auto" or None, got {operator!r}.')
    return default
