r"""The primal front: a few exact machines, and evolution between them.

The exact front of margin term and hinge loss is the path over the price C. Its points
are dear one by one and cheap by the hundred: `seeds` solves a few of them, `interpolated` spreads
a population between these, and NSGA-II goes on from there with operators that know the path
(`variation`). A population costs one product with the kernel matrix.
"""

import time
from typing import Any

import numpy as np

from parsimon._random import Seed
from parsimon._typing import Array
from parsimon.pareto import Box, SearchResult, nsga2
from parsimon.svm.dual import Dual
from parsimon.svm.exact import solve
from parsimon.svm.front.guide import VolumeGuide
from parsimon.svm.front.losses import Training
from parsimon.svm.front.variation import AscentMutation, BlendCrossover

NAMES = ("margin_term", "hinge_loss")


def seeds(
    training: Training, C: Array, *, tolerance: float = 1e-3, deadline: float | None = None
) -> Array:
    """Return the exact dual variables for some C, shape (k, n), in their order.

    With a deadline of `time.monotonic`, those that come later are left out, but never all.
    """
    found = []
    for price in C:
        dual = Dual(training.kernel, training.signs, price * training.weights)
        found.append(solve(dual, tolerance=tolerance).alpha)
        if deadline is not None and time.monotonic() > deadline:
            break
    return np.array(found)


def interpolated(known: Array, C_known: Array, C: Array) -> Array:
    """Return dual variables for more C, by linear interpolation in C between neighbours.

    Shapes: known (k, n), C_known (k,), C (m,) -> (m, n).
    """
    place = np.interp(C, C_known, np.arange(len(C_known), dtype=np.float64))
    left = np.minimum(place.astype(np.intp), max(len(C_known) - 2, 0))
    right = np.minimum(left + 1, len(C_known) - 1)
    share = (place - left)[:, None]
    between: Array = (1.0 - share) * known[left] + share * known[right]
    return between


def evolve(
    training: Training,
    *,
    C_range: tuple[float, float],
    n_seeds: int,
    n_points: int,
    max_iter: int,
    tolerance: float = 1e-3,
    deadline: float | None = None,
    random_state: Seed = None,
    **run_options: Any,
) -> SearchResult:
    """Search for the front of margin term and hinge loss."""
    least, most = C_range
    C_seeds = np.geomspace(least, most, max(2, min(n_seeds, n_points)))
    known = seeds(training, C_seeds, tolerance=tolerance, deadline=deadline)
    start = interpolated(known, C_seeds[: len(known)], _start_prices(C_seeds, n_points))
    if deadline is not None:
        # At least a little time, so that there is a front whatever the seeds took.
        run_options["time_limit"] = max(deadline - time.monotonic(), 0.001)
    ends, violation = training.judged(known)
    ends = ends[violation == 0] if (violation == 0).any() else ends
    return nsga2(
        training.judged,
        Box(0.0, most * training.weights),
        start=np.clip(start, 0.0, most * training.weights),
        population_size=n_points,
        max_iter=max_iter,
        crossover=BlendCrossover(training.weights),
        mutation=AscentMutation(training, least, most),
        guide=VolumeGuide(ends.min(axis=0), ends.max(axis=0)),
        names=NAMES,
        chunk_size=n_points,
        random_state=random_state,
        **run_options,
    )


def _start_prices(C_seeds: Array, n_points: int) -> Array:
    """Return the prices of the seeds, at most `n_points`, and more between them in log C."""
    places = np.linspace(0, n_points - 1, len(C_seeds)).round().astype(np.intp)
    made: Array = np.exp(np.interp(np.arange(n_points), places, np.log(C_seeds)))
    # To the bit, so that the exact machines are in the population.
    made[places] = C_seeds
    return made
