"""Which solutions of two objectives are kept: those without which most volume would be lost.

On a convex front, survival by gaps throws away points of the bend for points of the long flat
ends. Survival by hypervolume contribution keeps what the front is measured by (SMS-EMOA [1]_).

References
----------
.. [1] Beume, Naujoks and Emmerich (2007), "SMS-EMOA: multiobjective selection based on dominated
   hypervolume", European Journal of Operational Research 181:1653-1669.
"""

from dataclasses import dataclass, field

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.pareto import hypervolume


@dataclass(frozen=True, eq=False)
class VolumeGuide:
    """Prefer the solutions that dominate most volume, as a guide of `parsimon.pareto.nsga2`.

    ideal, worst (2,): The box in which volume is measured; minimised objectives.
    """

    ideal: Array = field(repr=False)
    worst: Array = field(repr=False)

    def __call__(self, values: Array, levels: Indices) -> Array:
        """Return how late each row of its level would be given up, shape (n,)."""
        width = np.where(self.worst > self.ideal, self.worst - self.ideal, 1.0)
        scaled = (values - self.ideal) / width
        preference = np.zeros(len(values))
        for level in np.unique(levels):
            rows = np.flatnonzero(levels == level)
            preference[rows[removal_order(scaled[rows])]] = np.arange(len(rows))
        return preference

    def shortfall(self, values: Array) -> float:
        """Return minus the volume of a front, in shares of the box."""
        width = np.where(self.worst > self.ideal, self.worst - self.ideal, 1.0)
        return -hypervolume((values - self.ideal) / width, np.ones(2))


def removal_order(values: Array) -> Indices:
    """Return the points of one front in the order in which they are missed least.

    Always the point that alone dominates the least area is next; both ends come last.

    Shapes: values (n, 2).
    """
    order = np.lexsort((values[:, 1], values[:, 0]))
    across, up = values[order].T.tolist()
    n = len(order)
    left, right = list(range(-1, n - 1)), list(range(1, n + 1))
    # The ends, and points already given up, have no area to compare.
    areas = np.full(n, np.inf)
    areas[1:-1] = np.diff(across)[1:] * -np.diff(up)[:-1]
    removed = []
    for _ in range(n - 2):
        gone = int(areas.argmin())
        removed.append(gone)
        areas[gone] = np.inf
        before, after = left[gone], right[gone]
        right[before], left[after] = after, before
        if before > 0:
            areas[before] = (across[after] - across[before]) * (up[left[before]] - up[before])
        if after < n - 1:
            areas[after] = (across[right[after]] - across[after]) * (up[before] - up[after])
    ends = [n - 1, 0] if n > 1 else [0]
    return order[np.array(removed + ends, dtype=np.intp)]
