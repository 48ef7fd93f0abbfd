"""Desirability: how pleased a person is with a value, from 0 (useless) to 1 (perfect).

Each function here is a value that maps numbers to desirabilities. `desirability_index` joins
several by their weighted geometric mean, so that one useless objective cannot be bought off.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError


class Desirability(Protocol):
    """Anything that turns values into desirabilities between 0 and 1."""

    def __call__(self, values: Array) -> Array: ...


@dataclass(frozen=True)
class OneSided:
    """Derringer and Suich's ramp from `worst` (0) to `best` (1), bent by `shape`.

    ``best`` below ``worst`` means that smaller is better. A `shape` above 1 demands values close
    to the best; below 1 it is easily pleased.

    References
    ----------
    Derringer and Suich (1980), J. Quality Technology 12:214-219.

    Examples
    --------
    >>> OneSided(worst=0.5, best=1.0)(np.array([0.4, 0.75, 1.0]))
    array([0. , 0.5, 1. ])
    """

    worst: float
    best: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        if self.worst == self.best:
            raise InvalidInputError(f"worst and best must differ, both are {self.best:g}.")
        _check_positive("shape", self.shape)

    def __call__(self, values: Array) -> Array:
        share: Array = np.clip((values - self.worst) / (self.best - self.worst), 0.0, 1.0)
        return share**self.shape


@dataclass(frozen=True)
class TwoSided:
    """Derringer and Suich's tent: 1 at `target`, 0 at `low` and at `high`.

    Examples
    --------
    >>> TwoSided(low=0, target=2, high=3)(np.array([0, 1, 2, 2.5, 4.0]))
    array([0. , 0.5, 1. , 0.5, 0. ])
    """

    low: float
    target: float
    high: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        if not self.low < self.target < self.high:
            raise InvalidInputError(
                f"low < target < high is needed, got {self.low:g}, {self.target:g}, {self.high:g}."
            )
        _check_positive("shape", self.shape)

    def __call__(self, values: Array) -> Array:
        left = (values - self.low) / (self.target - self.low)
        right = (self.high - values) / (self.high - self.target)
        tent: Array = np.clip(np.minimum(left, right), 0.0, 1.0)
        return tent**self.shape


@dataclass(frozen=True)
class HarringtonOneSided:
    """Harrington's S-curve exp(-exp(-(b0 + b1 value))), through two points.

    The curve gives `low_desirability` at `low` and `high_desirability` at `high`, two values that
    a person can judge. It never quite reaches 0 or 1, so it still ranks values beyond both.

    References
    ----------
    Harrington (1965), Industrial Quality Control 21:494-498.

    Examples
    --------
    >>> HarringtonOneSided(low=0.6, high=0.9)(np.array([0.6, 0.9])).round(3)
    array([0.1, 0.9])
    """

    low: float
    high: float
    low_desirability: float = 0.1
    high_desirability: float = 0.9

    def __post_init__(self) -> None:
        if self.low == self.high:
            raise InvalidInputError(f"low and high must differ, both are {self.low:g}.")
        if not 0 < self.low_desirability < self.high_desirability < 1:
            raise InvalidInputError(
                "0 < low_desirability < high_desirability < 1 is needed, got "
                f"{self.low_desirability:g} and {self.high_desirability:g}."
            )

    def __call__(self, values: Array) -> Array:
        at_low, at_high = (
            -np.log(-np.log(d)) for d in (self.low_desirability, self.high_desirability)
        )
        slope = (at_high - at_low) / (self.high - self.low)
        exponent = np.clip(at_low + slope * (values - self.low), -700.0, None)
        curve: Array = np.exp(-np.exp(-exponent))
        return curve


@dataclass(frozen=True)
class HarringtonTwoSided:
    """Harrington's bell exp(-abs(z)**shape), z the distance from the middle in half-widths.

    It is 1 in the middle of `low` and `high` and 1/e at both.

    Examples
    --------
    >>> HarringtonTwoSided(low=1, high=3)(np.array([1, 2, 3.0])).round(3)
    array([0.368, 1.   , 0.368])
    """

    low: float
    high: float
    shape: float = 2.0

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidInputError(f"low < high is needed, got {self.low:g} and {self.high:g}.")
        _check_positive("shape", self.shape)

    def __call__(self, values: Array) -> Array:
        z = (2 * values - (self.high + self.low)) / (self.high - self.low)
        bell: Array = np.exp(-(np.abs(z) ** self.shape))
        return bell


def desirability_index(
    values: Array, functions: Sequence[Desirability], weights: Sequence[float] | None = None
) -> Array:
    """Join desirabilities by their weighted geometric mean.

    Shapes: values (n, m) -> (n,).
    """
    shares = np.column_stack([function(values[:, j]) for j, function in enumerate(functions)])
    share = np.ones(len(functions)) if weights is None else np.asarray(weights, dtype=np.float64)
    if len(share) != len(functions) or not (share > 0).all():
        raise InvalidInputError(
            f"weights must be {len(functions)} positive numbers, got {share.tolist()}."
        )
    index: Array = np.prod(shares ** (share / share.sum()), axis=1)
    return index


def as_desirability(wish: Any, name: str) -> Desirability:
    """Return `wish` as a desirability: one already, (worst, best), or (low, target, high)."""
    if callable(wish):
        made: Desirability = wish
        return made
    makers: Mapping[int, Any] = {2: OneSided, 3: TwoSided}
    if not isinstance(wish, Sequence) or len(wish) not in makers:
        raise InvalidInputError(
            f"The wish for {name!r} must be a desirability, (worst, best) or "
            f"(low, target, high); got {wish!r}."
        )
    return makers[len(wish)](*wish)  # type: ignore[no-any-return]


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise InvalidInputError(f"{name} must be positive, got {value:g}.")
