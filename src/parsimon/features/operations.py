"""What the functions in expressions compute, everywhere: also outside the domain of school books.

One over zero is zero, roots and logarithms are of the absolute value, the logarithm of zero is
zero, and nothing exceeds `LARGEST`. So a finite row gives a finite value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from parsimon._checks import check_choice
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError

# Nothing is computed beyond this: two such numbers still have a sum.
LARGEST = 1e300


def _protected_log(x: Array) -> Array:
    return np.where(x == 0, 0.0, np.log(np.abs(np.where(x == 0, 1.0, x))))


UNARY: Mapping[str, Callable[[Array], Array]] = {
    "sqrt": lambda x: np.sqrt(np.abs(x)),
    "exp": np.exp,
    "log": _protected_log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "atan": np.arctan,
    "abs": np.abs,
    "sign": np.sign,
}
EXTREMES: Mapping[str, Callable[[Array, Array], Array]] = {"min": np.minimum, "max": np.maximum}
FUNCTIONS = (*UNARY, *EXTREMES)


@dataclass(frozen=True)
class OwnFunction:
    """A function of a user's own, for expressions.

    Two functions of one name are taken to be one.

    Parameters
    ----------
    name : str
        What it is called in formulas: a Python identifier, and none of the functions known.
    compute : callable
        Gets one array for each argument and returns an array of their shape. To be pickled, it
        must be defined in a module.
    n_arguments : int
    bounds : callable, optional
        Gets a pair (lower, upper) for each argument and returns the pair of its values; without
        it nothing is known of how large the function may become.

    Examples
    --------
    >>> from parsimon.features import Expression, apply
    >>> softplus = OwnFunction("softplus", lambda x: np.log1p(np.exp(x)))
    >>> print(apply(softplus, Expression.column("dose")))
    softplus(dose)
    """

    name: str
    compute: Callable[..., Array]
    n_arguments: int = 1
    bounds: Callable[..., tuple[float, float]] | None = None

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name in FUNCTIONS:
            raise InvalidInputError(
                f"A function of your own needs a new name that is an identifier, got {self.name!r}."
            )


def clip_values(values: Array) -> Array:
    """Return values within what is computed with; missing ones stay missing."""
    return np.clip(values, -LARGEST, LARGEST)


def whole_power(base: Array, exponent: int) -> Array:
    """Return a whole power, zero to a negative one being zero."""
    with np.errstate(all="ignore"):
        if exponent > 0:
            return clip_values(base**exponent)
        raised = np.where(base == 0, 1.0, base) ** -exponent
        return np.where(base == 0, 0.0, clip_values(1.0 / raised))


# Of which formulas may be made, and are if nothing else is said.
BINARY = ("+", "-", "*", "/")
OPERATIONS = (*BINARY, "sqrt", "exp", "log", "sin", "cos", "abs")


def check_operations(operations: Sequence[str | OwnFunction]) -> None:
    """Refuse operations that no formula can be made of."""
    if isinstance(operations, str) or not len(operations):
        raise InvalidInputError(f"operations must be a list of at least one, got {operations!r}.")
    for each in operations:
        if not isinstance(each, OwnFunction):
            check_choice("operations", each, (*BINARY, *FUNCTIONS))
