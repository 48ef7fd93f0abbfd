"""Where a search looks: boxes of real numbers, bit strings, vectors of integers.

A space draws the first population, says whether a given one fits, and brings children back
inside its bounds. Spaces are values; a population is an array with one solution in each row.
"""

import hashlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from parsimon._checks import check_count, check_probability
from parsimon._typing import AnyArray, Mask
from parsimon.exceptions import InvalidInputError


class Space(ABC):
    """The set of solutions that a search may visit, each a vector of `n_variables` numbers."""

    lower: AnyArray
    upper: AnyArray
    dtype: type[Any]

    @property
    def n_variables(self) -> int:
        """How many numbers make one solution."""
        return len(self.lower)

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> AnyArray:
        """Return n solutions drawn uniformly, shape (n, n_variables)."""

    def repair(self, population: AnyArray) -> AnyArray:
        """Return the population with each number moved to the nearest allowed one."""
        inside = np.maximum(population, self.lower)
        return np.minimum(inside, self.upper, out=inside)

    def check(self, population: Any) -> AnyArray:
        """Return a given population in the type of the space, refusing what lies outside."""
        given = np.array(population, ndmin=2)
        if given.ndim != 2 or given.shape[1] != self.n_variables:
            raise InvalidInputError(
                f"A population for this space needs {self.n_variables} columns, "
                f"got shape {given.shape}."
            )
        made = np.ascontiguousarray(given.astype(self.dtype))
        inside: Mask = (made == given) & (made >= self.lower) & (made <= self.upper)
        if not inside.all():
            row, column = np.argwhere(~inside)[0]
            raise InvalidInputError(
                f"The start lies outside the space (first: row {row}, column {column}, "
                f"value {given[row, column]}). Clip it or widen the bounds."
            )
        return made

    def describe(self) -> str:
        """Return a short text that two spaces share only if they are equal."""
        digest = hashlib.sha256(self.lower.tobytes() + self.upper.tobytes()).hexdigest()[:16]
        return f"{type(self).__name__}({self.n_variables} variables, {digest})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_variables={self.n_variables})"


class Box(Space):
    """Real vectors between two bounds.

    Parameters
    ----------
    lower, upper : float or array-like of shape (n_variables,)
        Bounds of each variable. Infinite ones are allowed for a search that is given its start.
    n_variables : int, optional
        Needed when both bounds are single numbers.

    Examples
    --------
    >>> Box(0, 1, n_variables=3)
    Box(n_variables=3)
    >>> Box([0, -1], [1, 1]).upper
    array([1., 1.])
    """

    dtype = np.float64

    def __init__(self, lower: Any, upper: Any, *, n_variables: int | None = None) -> None:
        self.lower, self.upper = _bounds(lower, upper, n_variables, np.float64)
        self.span = self.upper - self.lower
        self.divisor = np.where(self.span > 0, self.span, 1.0)
        self.is_bounded = bool(np.isfinite(self.span).all())

    def sample(self, n: int, rng: np.random.Generator) -> AnyArray:
        if not self.is_bounded:
            raise InvalidInputError(
                "A box without finite bounds cannot be sampled. Give as many rows of start as "
                "population_size, or finite bounds."
            )
        return self.lower + self.span * rng.random((n, self.n_variables))


class Integers(Space):
    """Vectors of integers between two bounds, both included.

    Parameters
    ----------
    lower, upper : int or array-like of shape (n_variables,)
    n_variables : int, optional
        Needed when both bounds are single numbers.

    Examples
    --------
    >>> Integers(-1, 4, n_variables=2).sample(100, np.random.default_rng(0)).max()
    np.int64(4)
    """

    dtype = np.int64

    def __init__(self, lower: Any, upper: Any, *, n_variables: int | None = None) -> None:
        self.lower, self.upper = _bounds(lower, upper, n_variables, np.int64)

    def sample(self, n: int, rng: np.random.Generator) -> AnyArray:
        shape = (n, self.n_variables)
        return rng.integers(self.lower, self.upper, size=shape, endpoint=True)


class Bits(Space):
    """Strings of `n_variables` bits, such as which features are chosen.

    Parameters
    ----------
    n_variables : int
    share : float
        Expected share of ones in the first population.

    Examples
    --------
    >>> Bits(4).sample(2, np.random.default_rng(0)).dtype
    dtype('bool')
    """

    dtype = np.bool_

    def __init__(self, n_variables: int, *, share: float = 0.5) -> None:
        size = check_count("n_variables", n_variables)
        self.lower, self.upper = np.zeros(size, dtype=np.bool_), np.ones(size, dtype=np.bool_)
        self.share = check_probability("share", share)

    def sample(self, n: int, rng: np.random.Generator) -> AnyArray:
        return rng.random((n, self.n_variables)) < self.share

    def repair(self, population: AnyArray) -> AnyArray:
        return population

    def describe(self) -> str:
        return f"Bits({self.n_variables}, share={self.share:g})"


def _bounds(
    lower: Any, upper: Any, n_variables: int | None, dtype: type[Any]
) -> tuple[AnyArray, AnyArray]:
    size = () if n_variables is None else (check_count("n_variables", n_variables),)
    try:
        pair = np.broadcast_arrays(np.asarray(lower), np.asarray(upper), np.empty(size))[:2]
    except ValueError as error:
        raise InvalidInputError(f"The bounds do not fit together: {error}.") from error
    if pair[0].ndim != 1 or pair[0].size == 0:
        raise InvalidInputError(
            f"The bounds must be vectors, or n_variables must be given; got shape {pair[0].shape}."
        )
    if pair[0].dtype.kind not in "biuf" or pair[1].dtype.kind not in "biuf":
        raise InvalidInputError("The bounds must be numbers.")
    if not (pair[0] <= pair[1]).all():  # refuses NaN too
        column = int(np.argmin(pair[0] <= pair[1]))
        raise InvalidInputError(
            f"lower must not exceed upper, but variable {column} has "
            f"{pair[0][column]} and {pair[1][column]}."
        )
    made = tuple(np.array(bound, dtype=dtype) for bound in pair)
    if not all(np.array_equal(a, b) for a, b in zip(made, pair, strict=True)):
        raise InvalidInputError("The bounds of Integers must be whole numbers.")
    for bound in made:
        bound.flags.writeable = False
    return made[0], made[1]
