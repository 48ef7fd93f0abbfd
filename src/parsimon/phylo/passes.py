"""Two walks over a tree that replace algebra with its covariance matrix, linear in the tips.

Upwards, what is known below a node is one message ``m = g * x + noise of variance s`` about its
value x, and two messages that meet give a contrast, independent of everything else, and the
message above: contrasts are the data whitened (Felsenstein 1985, "Phylogenies and the comparative
method", American Naturalist 125; here with decay along branches, so that Ornstein-Uhlenbeck
processes and trees that are not ultrametric need nothing else). Downwards, expectations given all
data follow. Both are loops over `Schedule`: compiled with the extra `fast`, and level by level
with NumPy without it.
"""

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Mask
from parsimon.phylo import passes_loops
from parsimon.phylo.evolution import Evolution
from parsimon.phylo.schedule import Schedule

# Joins a level, on average, from which NumPy's calls cost less than plain loops.
_NARROW = 8


class Upwards(NamedTuple):
    """Messages of all slots and the contrasts.

    Shapes: mean (n_slots, k).

    below, above (n_slots,): Variance of the message at the lower and at the upper end of a
        branch.
    gain (n_slots,): That at the lower end: 1 for a message, 0 where nothing is known.
    contrasts (n, k): Whitened data; the last row is what the root adds.
    variances (n,): Of the contrasts before they were divided by their standard deviations:
        their product is the determinant of the covariance. Zero where two tips coincide.
    """

    mean: Array
    below: Array
    above: Array
    gain: Array
    contrasts: Array
    variances: Array


def upwards(
    schedule: Schedule, branches: Evolution, values: Array, known: Mask | None = None
) -> Upwards:
    """Send the data of the tips to the root.

    Shapes: values (n, k), known (n,).
    """
    decay, variance = slot_branches(schedule, branches)
    n_slots, k, tips = len(schedule.node), values.shape[1], schedule.tips
    mean, gain = np.empty((n_slots, k)), np.ones(n_slots)
    below, above = np.zeros(n_slots), np.empty(n_slots)
    mean[tips] = values
    above[tips] = variance[tips]
    if known is not None:
        nothing = tips[~known]
        mean[nothing], gain[nothing], below[nothing], above[nothing] = 0.0, 0.0, 1.0, 1.0
    contrasts, spread = np.empty((len(tips), k)), np.empty(len(tips))
    _loops(schedule)[0](schedule, decay, variance, mean, gain, below, above, contrasts, spread)
    # The value before the root is zero: what arrives there is noise.
    spread[-1] = above[-1]
    contrasts[-1] = mean[-1] / np.sqrt(above[-1]) if above[-1] > 0 else 0.0
    return Upwards(mean, below, above, gain, contrasts, spread)


def downwards(schedule: Schedule, branches: Evolution, up: Upwards) -> tuple[Array, Array]:
    """Return mean, shape (n_nodes, k), and variance, shape (n_nodes,), of all nodes given data."""
    decay, variance = slot_branches(schedule, branches)
    # How far a value follows the message from below, and how much of its past stays.
    live = up.above > 0
    safe = np.where(live, up.above, 1.0)
    follow = np.where(live, variance * up.gain / safe, 0.0)
    stay = np.where(live, up.below / safe, 1.0)
    message = follow[:, None] * up.mean
    mean, spread = from_root(schedule, stay * decay, stay * variance, message)
    return mean[schedule.slot], spread[schedule.slot]


def from_root(schedule: Schedule, past: Array, noise: Array, message: Array) -> tuple[Array, Array]:
    """Return ``past * value above + message`` and its variance in all slots, from zero."""
    mean, spread = message.copy(), noise.copy()
    _loops(schedule)[1](schedule, past, mean, spread)
    return mean, spread


def slot_branches(schedule: Schedule, branches: Evolution) -> tuple[Array, Array]:
    """Return decay and variance of all slots: extra ones keep everything and add nothing."""
    decay, variance = branches.decay[schedule.node], branches.variance[schedule.node]
    extra = schedule.node < 0
    decay[extra], variance[extra] = 1.0, 0.0
    return decay, variance


def _up_by_levels(
    schedule: Schedule,
    decay: Array,
    variance: Array,
    mean: Array,
    gain: Array,
    below: Array,
    above: Array,
    contrasts: Array,
    spread: Array,
) -> None:
    """Do what `passes_loops.join_upwards` does."""
    for begin, end in pairwise(schedule.starts):
        level = schedule.by_level[begin:end]
        single = level[schedule.right[level] < 0]
        one, up = schedule.left[single], schedule.out[single]
        mean[up], gain[up], below[up] = mean[one], gain[one] * decay[one], above[one]
        pair = level[schedule.right[level] >= 0]
        one, two, up = schedule.left[pair], schedule.right[pair], schedule.out[pair]
        g1, g2 = gain[one] * decay[one], gain[two] * decay[two]
        v1, v2 = above[one], above[two]
        total = g2 * g2 * v1 + g1 * g1 * v2
        nothing = (g1 == 0) & (g2 == 0)
        safe = np.where(total > 0, total, 1.0)
        difference = g2[:, None] * mean[one] - g1[:, None] * mean[two]
        contrasts[schedule.row[pair]] = difference / np.sqrt(safe)[:, None]
        spread[schedule.row[pair]] = np.where(nothing, 1.0, total)
        mean[up] = (g1 * v2 / safe)[:, None] * mean[one] + (g2 * v1 / safe)[:, None] * mean[two]
        gain[up] = np.where(nothing, 0.0, 1.0)
        below[up] = np.where(nothing, 1.0, v1 * v2 / safe)
        nodes = schedule.out[level]
        above[nodes] = below[nodes] + gain[nodes] ** 2 * variance[nodes]


def _down_by_levels(schedule: Schedule, past: Array, mean: Array, spread: Array) -> None:
    """Do what `passes_loops.spread_downwards` does."""
    for end, begin in pairwise(schedule.starts[::-1]):
        level = schedule.by_level[begin:end]
        for side in (schedule.left, schedule.right):
            slot, up = side[level], schedule.out[level]
            up, slot = up[slot >= 0], slot[slot >= 0]
            share = past[slot]
            mean[slot] += share[:, None] * mean[up]
            spread[slot] += share**2 * spread[up]


@lru_cache
def _numba_is_installed() -> bool:
    return find_spec("numba") is not None


def _loops(schedule: Schedule) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the fastest way up and down that is there."""
    if not _numba_is_installed() and len(schedule.left) >= _NARROW * len(schedule.starts):
        return _up_by_levels, _down_by_levels
    join, spread = passes_loops.join_upwards, passes_loops.spread_downwards
    if _numba_is_installed():
        from parsimon.phylo import passes_compiled

        join, spread = passes_compiled.join_upwards, passes_compiled.spread_downwards

    def up(schedule: Schedule, *arrays: Array) -> None:
        join(schedule.left, schedule.right, schedule.out, schedule.row, *arrays)

    def down(schedule: Schedule, *arrays: Array) -> None:
        spread(schedule.left, schedule.right, schedule.out, *arrays)

    return up, down
