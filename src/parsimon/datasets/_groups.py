"""What the generators share: checks of their options, and equal groups in random order."""

from numbers import Integral

import numpy as np

from parsimon._typing import Indices
from parsimon.exceptions import InvalidInputError


def at_least(value: int, least: int, name: str) -> None:
    """Refuse a count that is no whole number or too small."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidInputError(
            f"{name} must be a whole number of at least {least}, got {value!r}."
        )


def share(value: float, name: str) -> None:
    """Refuse a probability outside 0 to 1."""
    if not 0 <= value <= 1:
        raise InvalidInputError(f"{name} must be from 0 to 1, got {value!r}.")


def balanced(n: int, n_groups: int, rng: np.random.Generator) -> Indices:
    """Return group numbers in random order, each group as often as can be."""
    return rng.permutation(np.arange(n, dtype=np.intp) % n_groups)
