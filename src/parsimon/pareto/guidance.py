"""Guides: what a person wants within the front, used in the place of crowding.

A guide scores rows that share a non-domination level, larger being better. Dominance still comes
first, so a guide bends a search towards a region but never prefers a dominated solution.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from parsimon._options import check_positive
from parsimon._typing import Array, Indices
from parsimon._validation import finite_matrix, finite_vector
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.desirability import Desirability, as_desirability, desirability_index


class Guide(Protocol):
    """Scores rows of objective values, each in the direction its user gave."""

    def __call__(self, values: Array, levels: Indices) -> Array:
        """Return one score for each row, larger being better within a level."""
        ...

    def shortfall(self, values: Array) -> float:
        """Return how far a set of values is from what is wanted, for the stall stop."""
        ...


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
        distances: Array = np.sqrt((weights / weights.sum() * differences**2).sum(axis=2))
        return distances

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
