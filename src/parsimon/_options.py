"""Checks of options: one sentence that says what is allowed and what was given."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from parsimon.exceptions import InvalidInputError


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return `value` as an integer of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def check_probability(name: str, value: Any) -> float:
    """Return `value` as a probability."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InvalidInputError(f"{name} must be between 0 and 1, got {value!r}.")
    return float(value)


def check_positive(name: str, value: Any, *, or_zero: bool = False) -> float:
    """Return `value` as a finite positive number, zero included if asked."""
    number = float(value) if isinstance(value, Real) else float("nan")
    if not (0 < number < float("inf") or (or_zero and number == 0)):
        kind = "zero or a positive number" if or_zero else "a positive number"
        raise InvalidInputError(f"{name} must be {kind}, got {value!r}.")
    return number


def check_seconds(name: str, value: Any) -> float | None:
    """Return None, or `value` as a positive number of seconds."""
    if value is None:
        return None
    if not isinstance(value, Real) or not float(value) > 0:
        raise InvalidInputError(f"{name} must be None or positive seconds, got {value!r}.")
    return float(value)


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return `value` if it is one of `choices`."""
    # An array compared with a word is an array; identity or a plain True is meant here.
    if not any(value is choice or (value == choice) is True for choice in choices):
        allowed = " or ".join(
            f'"{choice}"' if isinstance(choice, str) else repr(choice) for choice in choices
        )
        raise InvalidInputError(f"{name} must be {allowed}, got {value!r}.")
    return value
