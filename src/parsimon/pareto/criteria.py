"""What choosing from a front is made of: knees, bends, nearness, and conditions on objectives.

All are functions of minimised values, shape (n, m). Each objective is first scaled to [0, 1] over
the front (`unit_scaled`), so that units do not matter: multiplying an objective by a positive
number, or adding one, changes no choice. Conditions come as keywords, ``fpr__le=0.05``, or as
text, ``fpr<=0.05``.
"""

import re
from collections.abc import Callable, Mapping

import numpy as np

from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.pareto._directions import Directions

_TINY = 1e-12


def unit_scaled(values: Array) -> Array:
    """Return each column scaled to [0, 1]; a constant column becomes 0."""
    best = values.min(axis=0)
    width = values.max(axis=0) - best
    return (values - best) / np.where(width > 0, width, 1.0)


def chord_knee(values: Array) -> int:
    """Return the point that bulges furthest beyond the plane through the extreme points.

    With two objectives the plane is the chord between both ends of the front [1]. Where the
    extremes do not span a plane, the point with the least sum of scaled objectives is taken,
    which is the same thing for a plane that meets all axes at 1.

    [1] Das (1999), Structural Optimization 18:107-115.
    """
    scaled = unit_scaled(values)
    extremes = scaled[[_best_row(scaled, column) for column in range(scaled.shape[1])]]
    try:
        normal = np.linalg.solve(extremes, np.ones(len(extremes)))
    except np.linalg.LinAlgError:
        normal = np.ones(scaled.shape[1])
    if (normal <= 0).any() or not np.isfinite(normal).all():
        normal = np.ones(scaled.shape[1])
    return _first_minimum(scaled @ normal)


def gain_knee(values: Array) -> int:
    """Return the last point worth its price by normalised performance gain.

    The second objective is the price (complexity). Going from the cheapest point to dearer ones,
    the gain of a step is the fall of the first objective over the rise of the second, both scaled
    to [0, 1] [1]. Of the points whose step gained at least 1, the knee is the one after which the
    gain falls by the largest factor. Without such a point the chord decides.

    [1] Jin, Sendhoff and Koerner (2006), in Multi-Objective Machine Learning, Springer.
    """
    if values.shape[1] != 2:
        raise InvalidInputError(
            f"The gain knee needs two objectives, got {values.shape[1]}; use project first."
        )
    scaled = unit_scaled(values)
    order = np.lexsort((scaled[:, 0], scaled[:, 1]))
    steps = np.diff(scaled[order], axis=0)
    gains = -steps[:, 0] / np.maximum(steps[:, 1], _TINY)
    worthwhile = np.flatnonzero(gains[:-1] >= 1)  # step i leads to the point i + 1
    if not len(worthwhile):
        return chord_knee(values)
    falls = gains[worthwhile] / np.maximum(gains[worthwhile + 1], _TINY)
    return int(order[worthwhile[_first_minimum(-falls)] + 1])


def tradeoff_knee(values: Array) -> int:
    """Return the point from which every move loses most for what it gains.

    The worth of a point is the least ratio, over its neighbours, of what moving there loses to
    what it gains, in scaled objectives [1]. The knee has the greatest worth. Neighbours are the
    points within 0.125, an eighth of the front's width, and at least the nearest two for each
    objective. Taken over all points instead, the point with the least sum of scaled objectives
    would always win: every other loses less than it gains by moving there.

    [1] Rachmawati and Srinivasan (2009), IEEE Trans. Evol. Comput. 13:810-824.
    """
    scaled = unit_scaled(values)
    least = 2 * scaled.shape[1]
    worth = np.empty(len(scaled))
    for i, point in enumerate(scaled):
        distance = np.linalg.norm(scaled - point, axis=1)
        reach = max(0.125, np.sort(distance)[min(least, len(scaled) - 1)]) + _TINY
        change = scaled[distance <= reach] - point
        loss = np.maximum(change, 0).sum(axis=1)
        gain = np.maximum(-change, 0).sum(axis=1)
        moves = gain > 0
        worth[i] = np.min(loss[moves] / gain[moves]) if moves.any() else np.inf
    return _first_minimum(-worth)


KNEES = {"chord": chord_knee, "gain": gain_knee, "tradeoff": tradeoff_knee}


def nearest_point(values: Array, reference: Array, weights: Array) -> int:
    """Return the point nearest to `reference`, in scaled objectives with weights."""
    width = np.ptp(values, axis=0)
    gaps = (values - reference) / np.where(width > 0, width, 1.0)
    return _first_minimum(np.sum(weights * gaps**2, axis=1))


def segment_borders(values: Array, k: int, *, literal: bool = False) -> Indices:
    """Return the `k` points where a two-objective front bends most.

    Points are sorted from the best first objective to the worst, both objectives scaled to
    [0, 1]. With the angle eta_p of the plotted slope between the points p and p + 1, the bend at
    p is the angle by which the front turns there, eta_p - eta_{p-1} without sign; the two ends
    do not bend.

    Mierswa (2009, section 8.4.1) compares eta_p / eta_{p-1} with 1, from eta_0 = pi / 2 on, and
    prints the inverse slope, unscaled and signed, although its reading (steep = redundant) is
    that of the plotted slope. A ratio of small angles is large wherever the front is flat, so
    that of a symmetric front it takes one end. ``literal=True`` computes what is printed.
    """
    if values.shape[1] != 2:
        raise InvalidInputError(
            f"Segments need two objectives, got {values.shape[1]}; use project first."
        )
    order = np.lexsort((values[:, 1], values[:, 0]))
    if literal:
        steps = np.diff(values[order], axis=0)
        angles = np.arctan(steps[:, 0] / np.where(steps[:, 1] == 0, _TINY, steps[:, 1]))
        before = np.concatenate([[np.pi / 2], angles[:-1]])
        bend = np.abs(angles / np.where(np.abs(before) < _TINY, _TINY, before) - 1)
        inner = order[:-1]
    else:
        steps = np.abs(np.diff(unit_scaled(values)[order], axis=0))
        bend = np.abs(np.diff(np.arctan2(steps[:, 1], steps[:, 0])))
        inner = order[1:-1]
    # Angles that rounding alone tells apart are equal; the first of them counts.
    furthest = np.argsort(-bend.round(9), kind="stable")[:k]
    return np.sort(inner[furthest])


def _best_row(scaled: Array, column: int) -> int:
    """Return the best row in one column; the other objectives break ties."""
    ties = np.flatnonzero(scaled[:, column] == scaled[:, column].min())
    return int(ties[_first_minimum(scaled[ties].sum(axis=1))])


def _first_minimum(scores: Array) -> int:
    """Return the first of the smallest scores, equal ones forgiven their rounding."""
    least = scores.min()
    slack = 1e-12 * max(1.0, abs(least)) if np.isfinite(least) else 0.0
    return int(np.argmax(scores <= least + slack))


_COMPARISONS: Mapping[str, Callable[[Array, float], AnyArray]] = {
    "le": np.less_equal,
    "ge": np.greater_equal,
    "lt": np.less,
    "gt": np.greater,
}
_ENDINGS = {"<=": "le", ">=": "ge", "<": "lt", ">": "gt"}
_WRITTEN = re.compile(r"(?P<name>[^<>]+)(?P<sign><=|>=|<|>)\s*+(?P<bound>\S+)")
# After a number only: a name may hold the word.
_JOINT = re.compile(r"(?<=[0-9.])\s+and\s+")


def condition_mask(values: Array, directions: Directions, conditions: Mapping[str, float]) -> Mask:
    """Return which rows of values, shape (n, m), meet all conditions."""
    mask = np.ones(len(values), dtype=np.bool_)
    for condition, bound in conditions.items():
        name, _, ending = condition.rpartition("__")
        if ending not in _COMPARISONS or not name:
            raise InvalidInputError(
                f"A condition looks like name__le=0.05 (le, ge, lt or gt), got {condition!r}."
            )
        mask &= _COMPARISONS[ending](values[:, directions.position(name)], bound)
    return mask


def written_conditions(text: str, example: str = "fpr<=0.05") -> dict[str, float]:
    """Return conditions joined by "and" as keywords."""
    found = {}
    for part in _JOINT.split(text.strip()):
        match = _WRITTEN.fullmatch(part)
        bound = None if match is None else _number(match["bound"])
        if match is None or bound is None:
            raise InvalidInputError(
                f"A condition looks like {example} (or <, >, >=), several are joined by 'and'; got "
                f"{part!r}."
            )
        found[f"{match['name'].rstrip()}__{_ENDINGS[match['sign']]}"] = bound
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
