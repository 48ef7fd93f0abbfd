"""Children of points of a dual: few variables switched, halves crossed, the plane kept."""

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.svm.dual import Dual

# The number of switched variables is drawn so that one is as likely as any tenfold of it.
_MOST_SWITCHED = 0.3


def varied(dual: Dual, parents: Array, mates: Array, rng: np.random.Generator) -> Array:
    """Return children, shape (k, n), in the box and on the plane.

    Every second child takes half of the variables of a mate; then some are switched: off if they
    were on, and to the bound or to any value if they were off. Their number is 1 to a third
    of all, small ones as often as large ones. What that does to the equality is made good by as
    few other variables as will do, in random order.

    Shapes: parents, mates (k, n).
    """
    children = parents.copy()
    n = len(dual)
    for place, child in enumerate(children):
        if place % 2:
            taken = rng.random(n) < 0.5
            child[taken] = mates[place][taken]
        most = max(1.0, _MOST_SWITCHED * n)
        switched = rng.choice(n, size=int(most ** rng.random()), replace=False)
        drawn = dual.upper[switched] * np.where(
            rng.random(len(switched)) < 0.5, 1.0, rng.random(len(switched))
        )
        child[switched] = np.where(child[switched] > 0, 0.0, drawn)
        if dual.equality:
            rebalance(dual, child, rng.permutation(n))
    return children


def rebalance(dual: Dual, alpha: Array, order: Indices) -> None:
    """Bring a point of the box back to the plane, in place, changing variables in this order."""
    excess = float(dual.signs @ alpha)
    # A variable on the side of the excess can give what it has, one on the other take its room.
    giving, upper = (dual.signs * excess > 0)[order], dual.upper[order]
    room = np.where(giving, alpha[order], upper - alpha[order])
    before = np.cumsum(room) - room
    moved = np.clip(abs(excess) - before, 0.0, room)
    partly = np.clip(alpha[order] + np.where(giving, -moved, moved), 0.0, upper)
    # Whoever gave all is at its bound to the last digit.
    alpha[order] = np.where(moved == room, np.where(giving, 0.0, upper), partly)


def random_points(dual: Dual, k: int, rng: np.random.Generator) -> Array:
    """Return k points at random, shape (k, n): a random share of the variables at their bounds."""
    on = rng.random((k, len(dual))) < rng.random((k, 1))
    points: Array = np.where(on, dual.upper, 0.0)
    if dual.equality:
        for point in points:
            rebalance(dual, point, rng.permutation(len(dual)))
    return points
