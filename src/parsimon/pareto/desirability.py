"""What a person wants of a front: desirabilities, and guides that bend a search towards them.

A desirability is a value that maps numbers to how pleased a person is, from 0 (useless) to 1
(perfect). `desirability_index` joins several by their weighted geometric mean, so that one useless
objective cannot be bought off. A guide takes the place of crowding: it scores rows that share a
non-domination level, larger being better. Dominance still comes first, so a guide never prefers a
dominated solution.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from parsimon._checks import check_positive, finite_matrix, finite_vector
from parsimon._typing import Array, Indices
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
        return np.exp(-np.exp(-exponent))


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
        return np.exp(-(np.abs(z) ** self.shape))


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
    return np.prod(shares ** (share / share.sum()), axis=1)


def as_desirability(wish: Any, name: str) -> Desirability:
    """Return `wish` as a desirability: one already, (worst, best), or (low, target, high)."""
    if callable(wish):
        return wish
    makers: Mapping[int, Any] = {2: OneSided, 3: TwoSided}
    if not isinstance(wish, Sequence) or len(wish) not in makers:
        raise InvalidInputError(
            f"The wish for {name!r} must be a desirability, (worst, best) or "
            f"(low, target, high); got {wish!r}."
        )
    return makers[len(wish)](*wish)


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise InvalidInputError(f"{name} must be positive, got {value:g}.")


class Guide(Protocol):
    """Scores rows of objective values, each in the direction its user gave."""

    def __call__(self, values: Array, levels: Indices) -> Array:
        """Return one score for each row, larger being better within a level."""

    def shortfall(self, values: Array) -> float:
        """Return how far a set of values is from what is wanted, for the stall stop."""


@dataclass(frozen=True)
class ReferencePoints:
    """Prefer solutions near points that a person names, as in R-NSGA-II.

    On each level the rows are ranked by their distance to each point, every objective divided by
    its width; a row's preference is its best rank over the points. Of rows closer together than
    `epsilon`, only the most preferred keeps its place: it keeps the neighbourhood of a point from
    filling with copies. (The paper draws that row at random; taking the most preferred makes the
    search a function of its values.) The points need not be attainable.

    Parameters
    ----------
    points : array-like of shape (k, m)
        In the units and directions of the objectives as the user gives them.
    weights : sequence of m positive numbers, optional
        How much each objective counts in the distance.
    epsilon : float
        Smallest sum of normalised differences between two preferred rows.

    References
    ----------
    Deb and Sundar (2006), GECCO, 635-642.

    Examples
    --------
    >>> guide = ReferencePoints([[0.0, 1.0]])
    >>> guide(np.array([[0.0, 1.1], [0.5, 0.5], [1.1, 0.0]]), np.zeros(3, dtype=int))
    array([-0., -1., -2.])
    """

    points: Any
    weights: Sequence[float] | None = None
    epsilon: float = 0.001

    def __post_init__(self) -> None:
        points = finite_matrix(self.points, "points")
        object.__setattr__(self, "points", tuple(map(tuple, points.tolist())))
        check_positive("epsilon", self.epsilon, or_zero=True)
        if self.weights is not None:
            weights = finite_vector(self.weights, "weights")
            if len(weights) != points.shape[1] or not (weights > 0).all():
                raise InvalidInputError(
                    f"weights must be {points.shape[1]} positive numbers, got {weights.tolist()}."
                )
            object.__setattr__(self, "weights", tuple(weights.tolist()))

    def __call__(self, values: Array, levels: Indices) -> Array:
        width = _widths(values)
        distances = self._distances(values, width)
        score = np.empty(len(values))
        for level in np.unique(levels):
            rows = np.flatnonzero(levels == level)
            score[rows] = -self._preferences(values[rows] / width, distances[rows])
        return score

    def shortfall(self, values: Array) -> float:
        distances = self._distances(values, np.ones(values.shape[1]))
        return float(distances.min(axis=0).sum())

    def _distances(self, values: Array, width: Array) -> Array:
        points = np.asarray(self.points)
        if points.shape[1] != values.shape[1]:
            raise InvalidInputError(
                f"The reference points have {points.shape[1]} objectives, "
                f"the search has {values.shape[1]}."
            )
        weights = np.ones(points.shape[1]) if self.weights is None else np.asarray(self.weights)
        differences = (values[:, None, :] - points[None, :, :]) / width
        return np.sqrt((weights / weights.sum() * differences**2).sum(axis=2))

    def _preferences(self, scaled: Array, distances: Array) -> Array:
        """Return the best rank over the points, raised beyond all others for cleared rows."""
        n = len(scaled)
        ranks: Indices = np.argsort(np.argsort(distances, axis=0, kind="stable"), axis=0)
        preferences: Array = ranks.min(axis=1).astype(np.float64)
        cleared = np.zeros(n, dtype=np.bool_)
        for row in np.lexsort((distances.min(axis=1), preferences)):
            if not cleared[row]:
                close = np.abs(scaled - scaled[row]).sum(axis=1) <= self.epsilon
                close[row] = False
                cleared |= close
        preferences[cleared] += n
        return preferences


@dataclass(frozen=True)
class DesirabilityGuide:
    """Prefer solutions that please a person, as told by one desirability for each objective.

    The score is the weighted geometric mean of the desirabilities; where it ties, as it does
    where everything is still useless, crowding decides.

    Parameters
    ----------
    wishes : sequence
        For each objective a desirability, (worst, best) or (low, target, high), in the units and
        directions of the objectives as the user gives them.
    weights : sequence of positive numbers, optional

    References
    ----------
    Wagner and Trautmann (2010), IEEE Trans. Evol. Comput. 14:688-701.

    Examples
    --------
    >>> guide = DesirabilityGuide([(1.0, 0.0), (1.0, 0.0)])
    >>> guide(np.array([[0.5, 0.5], [0.0, 1.0]]), np.zeros(2, dtype=int))
    array([0.5, 0. ])
    """

    wishes: Sequence[Any]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        made: tuple[Desirability, ...] = tuple(
            as_desirability(wish, f"objective {j + 1}") for j, wish in enumerate(self.wishes)
        )
        object.__setattr__(self, "wishes", made)
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))

    def __call__(self, values: Array, levels: Indices) -> Array:  # noqa: ARG002
        if values.shape[1] != len(self.wishes):
            raise InvalidInputError(
                f"There are {len(self.wishes)} wishes for {values.shape[1]} objectives."
            )
        return desirability_index(values, self.wishes, self.weights)

    def shortfall(self, values: Array) -> float:
        return 1.0 - float(self(values, np.zeros(len(values), dtype=np.intp)).max())


def _widths(values: Array) -> Array:
    width: Array = np.ptp(values, axis=0)
    width[width == 0] = 1.0
    return width
