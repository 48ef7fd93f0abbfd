"""Crossovers: values that turn two parents into two children.

Each is called with the first and the second parents, both of shape (k, n_variables), the space,
and the generator from which all chance comes. Row i of the first parents meets row i of the
second. With probability ``1 - rate`` a pair is only copied.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from parsimon._options import check_count, check_positive, check_probability
from parsimon._typing import AnyArray, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.space import Box, Space


class Crossover(Protocol):
    """Two sets of parents in, two sets of children out."""

    def __call__(
        self, first: AnyArray, second: AnyArray, space: Space, rng: np.random.Generator
    ) -> tuple[AnyArray, AnyArray]: ...


@dataclass(frozen=True)
class UniformCrossover:
    """Swap each variable of a pair with probability `swap`.

    Examples
    --------
    >>> a, b = np.zeros((1, 4)), np.ones((1, 4))
    >>> first, second = UniformCrossover(rate=1)(a, b, Box(0, 1, n_variables=4),
    ...                                          np.random.default_rng(0))
    >>> first + second
    array([[1., 1., 1., 1.]])
    """

    rate: float = 0.9
    swap: float = 0.5

    def __post_init__(self) -> None:
        check_probability("rate", self.rate)
        check_probability("swap", self.swap)

    def __call__(
        self,
        first: AnyArray,
        second: AnyArray,
        space: Space,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> tuple[AnyArray, AnyArray]:
        swapped = (rng.random(first.shape) < self.swap) & _crossed(self.rate, len(first), rng)
        return _swap(first, second, swapped)


@dataclass(frozen=True)
class KPointCrossover:
    """Cut both parents at `k` random places and swap every other piece.

    The places are distinct; a vector too short for k of them is cut everywhere.
    """

    k: int = 2
    rate: float = 0.9

    def __post_init__(self) -> None:
        check_count("k", self.k)
        check_probability("rate", self.rate)

    def __call__(
        self,
        first: AnyArray,
        second: AnyArray,
        space: Space,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> tuple[AnyArray, AnyArray]:
        n, width = first.shape
        k = min(self.k, width - 1)
        cuts = np.zeros((n, width), dtype=np.intp)
        # The k smallest of random keys are k distinct places, one row for each pair.
        places = np.argsort(rng.random((n, width - 1)), axis=1)[:, :k] + 1
        np.put_along_axis(cuts, places, 1, axis=1)
        swapped = (np.cumsum(cuts, axis=1) % 2 == 1) & _crossed(self.rate, n, rng)
        return _swap(first, second, swapped)


@dataclass(frozen=True)
class SimulatedBinaryCrossover:
    """Deb and Agrawal's crossover of real vectors, which never leaves the bounds.

    Each variable of a crossed pair takes part with probability one half, and the two children
    then change places in it with probability one half. The spread of the children is
    proportional to the distance of their parents.

    Parameters
    ----------
    eta : float
        Larger means closer to the parents.
    rate : float
        Probability of each pair.

    References
    ----------
    Deb and Agrawal (1995), Complex Systems 9:115-148; the bounded form is that of Deb and
    Agrawal (1999).

    Examples
    --------
    >>> a, b = np.full((1, 1), 0.4), np.full((1, 1), 0.6)
    >>> space, rng = Box(0, 1, n_variables=1), np.random.default_rng(3)
    >>> first, second = SimulatedBinaryCrossover()(a, b, space, rng)
    >>> ((first + second) / 2).round(6)
    array([[0.5]])
    """

    eta: float = 15.0
    rate: float = 0.9

    def __post_init__(self) -> None:
        check_positive("eta", self.eta, or_zero=True)
        check_probability("rate", self.rate)

    def __call__(
        self, first: AnyArray, second: AnyArray, space: Space, rng: np.random.Generator
    ) -> tuple[AnyArray, AnyArray]:
        if not isinstance(space, Box):
            raise InvalidInputError(f"SimulatedBinaryCrossover needs a Box, got {space!r}.")
        n, n_variables = first.shape
        taking_part = rng.random((n, n_variables), dtype=np.float32) < 0.5
        taking_part &= _crossed(self.rate, n, rng)
        taking_part &= np.abs(first - second) > 1e-14
        entries = taking_part.ravel().nonzero()[0]
        columns = entries % n_variables
        a, b = first.ravel()[entries], second.ravel()[entries]
        low, high = np.minimum(a, b), np.maximum(a, b)
        chance = rng.random((2, len(entries)), dtype=np.float32)
        width, middle = high - low, 0.5 * (low + high)
        room = np.empty(chance.shape)
        room[0], room[1] = low - space.lower[columns], space.upper[columns] - high
        room /= width
        reach = 0.5 * width * self._spread(np.minimum(room, 1e30), chance[0])
        down, up = middle - reach[0], middle + reach[1]
        exchanged = chance[1] < 0.5
        children = first.copy(), second.copy()
        children[0].ravel()[entries] = np.where(exchanged, up, down)
        children[1].ravel()[entries] = np.where(exchanged, down, up)
        return children

    def _spread(self, room: AnyArray, share: AnyArray) -> AnyArray:
        """Return the spread factor whose distribution is cut where a child meets its bound."""
        # Single precision is ample for a random factor, and five times quicker.
        power = np.float32(self.eta + 1.0)
        tail = np.exp(-power * np.log(1.0 + 2.0 * room.astype(np.float32)))
        # With s = share (2 - tail) the factor is s^(1/power) up to s = 1, else (2 - s)^(-1/power).
        beyond = share * (2.0 - tail) - 1.0
        logs = np.log(np.maximum(1.0 - np.abs(beyond), np.float32(1e-12))) / power
        spread: AnyArray = np.exp(np.copysign(logs, beyond))
        return spread


def default_crossover(space: Space) -> Crossover:
    """Return the crossover that suits a space."""
    return SimulatedBinaryCrossover() if isinstance(space, Box) else UniformCrossover()


def cross(
    parents: AnyArray, crossover: Crossover | None, space: Space, rng: np.random.Generator
) -> AnyArray:
    """Return as many children as parents; row i of the first half meets row i of the second.

    The last of an odd number of parents has no partner and is copied.
    """
    half = len(parents) // 2
    if crossover is None or half == 0:
        return parents
    first, second = crossover(parents[:half], parents[half : 2 * half], space, rng)
    if first.shape != second.shape or first.shape != parents[:half].shape:
        raise InvalidInputError(
            f"A crossover must return two children for two parents: shape {parents[:half].shape} "
            f"became {first.shape} and {second.shape}."
        )
    return np.concatenate((first, second, parents[2 * half :]))


def _crossed(rate: float, n: int, rng: np.random.Generator) -> Mask:
    return rng.random((n, 1)) < rate


def _swap(first: AnyArray, second: AnyArray, swapped: Mask) -> tuple[AnyArray, AnyArray]:
    return np.where(swapped, second, first), np.where(swapped, first, second)
