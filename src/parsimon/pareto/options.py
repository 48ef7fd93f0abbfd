"""Checks of options: one sentence that says what is allowed and what was given."""

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any, TypeVar

from parsimon.exceptions import InvalidInputError

T = TypeVar("T")


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return `value` as an integer of at least `least`.

    Examples
    --------
    >>> check_count("population_size", 10)
    10
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def check_probability(name: str, value: Any) -> float:
    """Return `value` as a probability.

    Examples
    --------
    >>> check_probability("rate", 1)
    1.0
    """
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InvalidInputError(f"{name} must be between 0 and 1, got {value!r}.")
    return float(value)


def check_positive(name: str, value: Any, *, or_zero: bool = False) -> float:
    """Return `value` as a finite positive number, zero included if asked.

    Examples
    --------
    >>> check_positive("time_limit", 2)
    2.0
    """
    number = float(value) if isinstance(value, Real) else float("nan")
    if not (0 < number < float("inf") or (or_zero and number == 0)):
        kind = "zero or a positive number" if or_zero else "a positive number"
        raise InvalidInputError(f"{name} must be {kind}, got {value!r}.")
    return number


def or_default(name: str, operator: T | str | None, default: T) -> T | None:
    """Return the operator, or the default for "auto", refusing other words.

    Examples
    --------
    >>> or_default("mutation", "auto", 1), or_default("mutation", None, 1)
    (1, None)
    """
    if not isinstance(operator, str):
        return operator
    if operator != "auto":
        raise InvalidInputError(f'{name} must be an operator, "auto" or None, got {operator!r}.')
    return default


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return `value` if it is one of `choices`.

    Examples
    --------
    >>> check_choice("mating", "random", ["tournament", "random"])
    'random'
    """
    if not isinstance(value, str) or value not in choices:
        allowed = " or ".join(f'"{choice}"' for choice in choices)
        raise InvalidInputError(f"{name} must be {allowed}, got {value!r}.")
    return value
