"""Two walks over a tree that replace algebra with its covariance matrix, linear in the tips.

Upwards, what is known below a node is one message ``m = g * x + noise of variance s`` about its
value x, and two messages that meet give a contrast, independent of everything else, and the
message above: contrasts are the data whitened (Felsenstein 1985, "Phylogenies and the comparative
method", American Naturalist 125; here with decay along branches, so that Ornstein-Uhlenbeck
processes and trees that are not ultrametric need nothing else). Downwards, expectations given all
data follow.

Both are loops over a `Schedule` of joins: compiled with the extra `fast`; level by level with NumPy
without it, or one join after the other where levels are narrow, as on a caterpillar. A join takes
two branches that meet (or one, at a node with a single child) and makes the one above. Branches at
a polytomy are joined in pairs through extra nodes of zero length, so that a star of n tips has
log2(n) levels and not n. Slots, one for each node and extra node, are numbered as a walk leaves
them: what meets soon is close in memory, and the root is the last.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from parsimon import _compiled
from parsimon._compiled import compiled
from parsimon._typing import Array, Indices, Mask
from parsimon.phylo._evolution import Evolution
from parsimon.phylo.tree import Tree, children_lists, on_path_to


@dataclass(frozen=True, eq=False)
class Schedule:
    """Joins of branches, children first.

    left, right, out (n_joins,): Slots whose branches meet, and the slot they meet at; `right`
        is -1 for a single child.
    row (n_joins,): Which contrast a join gives, -1 for a single child.
    by_level (n_joins,): The joins by levels.
    starts (n_levels + 1,): Joins ``by_level[starts[i]:starts[i + 1]]`` need only joins of
        levels before them.
    node (n_slots,): The node of the tree in each slot, -1 for an extra one.
    slot (n_nodes,): The slot of each node, -1 for nodes that lead to no data.
    tips (n,): The slots with data, in the order of the rows.
    """

    left: Indices
    right: Indices
    out: Indices
    row: Indices
    by_level: Indices
    starts: Indices
    node: Indices
    slot: Indices
    tips: Indices


def make_schedule(tree: Tree, tips: Indices) -> Schedule:
    """Return the joins for data at these nodes; branches that lead to no data are left out."""
    wanted = None if len(tips) == tree.n_tips else on_path_to(tree.parent, tips)
    joins, level, node = _joins(tree.parent, wanted)
    left, right, out = np.ascontiguousarray(np.array(joins, dtype=np.intp).reshape(-1, 3).T)
    pair = right >= 0
    row = np.where(pair, np.cumsum(pair) - 1, -1)
    levels = np.array(level, dtype=np.intp)
    starts = np.concatenate([[0], np.cumsum(np.bincount(levels))]).astype(np.intp)
    nodes = np.array(node, dtype=np.intp)
    slot = np.full(len(tree.parent) + 1, -1)
    slot[nodes] = np.arange(len(nodes))
    order = np.argsort(levels, kind="stable")
    return Schedule(left, right, out, row, order, starts, nodes, slot[:-1], slot[tips])


def _joins(
    parent: Indices, wanted: Mask | None
) -> tuple[list[tuple[int, int, int]], list[int], list[int]]:
    """Return joins of slots (left, right, out), the level of each, and the node of each slot."""
    children = children_lists(parent, wanted)
    slot = [-1] * len(parent)
    joins: list[tuple[int, int, int]] = []
    level: list[int] = []
    node_of: list[int] = []
    height: list[int] = []
    for node in reversed(_walk(children)):
        members = [slot[child] for child in children[node]]
        while len(members) > 2:
            joined = []
            for start in range(0, len(members) - 1, 2):
                one, two = members[start], members[start + 1]
                joined.append(len(node_of))
                joins.append((one, two, len(node_of)))
                level.append(max(height[one], height[two]))
                height.append(level[-1] + 1)
                node_of.append(-1)
            members = joined + members[len(members) - len(members) % 2 :]
        slot[node] = len(node_of)
        if members:
            joins.append((members[0], members[1] if len(members) == 2 else -1, slot[node]))
            level.append(max(height[member] for member in members))
            height.append(level[-1] + 1)
        else:
            height.append(0)
        node_of.append(node)
    return joins, level, node_of


def _walk(children: list[list[int]]) -> list[int]:
    """Return nodes from the root, each before its children and each clade in one piece."""
    met, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        met.append(node)
        waiting.extend(children[node])
    return met


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
    arrays = decay, variance, mean, gain, below, above, contrasts, spread
    if _is_wide(schedule):
        _up_by_levels(schedule, *arrays)
    else:
        join_upwards(schedule.left, schedule.right, schedule.out, schedule.row, *arrays)
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
    if _is_wide(schedule):
        _down_by_levels(schedule, past, mean, spread)
    else:
        spread_downwards(schedule.left, schedule.right, schedule.out, past, mean, spread)
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
    """Do what `join_upwards` does."""
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
    """Do what `spread_downwards` does."""
    for end, begin in pairwise(schedule.starts[::-1]):
        level = schedule.by_level[begin:end]
        for side in (schedule.left, schedule.right):
            slot, up = side[level], schedule.out[level]
            up, slot = up[slot >= 0], slot[slot >= 0]
            share = past[slot]
            mean[slot] += share[:, None] * mean[up]
            spread[slot] += share**2 * spread[up]


def _is_wide(schedule: Schedule) -> bool:
    """Return whether levels with NumPy are the fastest way: not on a caterpillar."""
    if _compiled.numba_is_installed():
        return False
    return len(schedule.left) >= _NARROW * len(schedule.starts)


@compiled
def join_upwards(
    left: Indices,
    right: Indices,
    out: Indices,
    row: Indices,
    decay: Array,
    variance: Array,
    mean: Array,
    gain: Array,
    below: Array,
    above: Array,
    contrasts: Array,
    spread: Array,
) -> None:
    """Fill messages, contrasts and their variances, one join after the other."""
    k = mean.shape[1]
    for join in range(len(left)):
        one, two, up = left[join], right[join], out[join]
        g1, v1 = gain[one] * decay[one], above[one]
        if two < 0:
            for j in range(k):
                mean[up, j] = mean[one, j]
            gain[up], below[up] = g1, v1
        else:
            g2, v2 = gain[two] * decay[two], above[two]
            total = g2 * g2 * v1 + g1 * g1 * v2
            nothing = g1 == 0 and g2 == 0
            safe = total if total > 0 else 1.0
            w1, w2 = g1 * v2 / safe, g2 * v1 / safe
            root = math.sqrt(safe)
            c1, c2 = g2 / root, g1 / root
            here = row[join]
            for j in range(k):
                contrasts[here, j] = c1 * mean[one, j] - c2 * mean[two, j]
                mean[up, j] = w1 * mean[one, j] + w2 * mean[two, j]
            spread[here] = 1.0 if nothing else total
            gain[up] = 0.0 if nothing else 1.0
            below[up] = 1.0 if nothing else v1 * v2 / safe
        above[up] = below[up] + gain[up] * gain[up] * variance[up]


@compiled
def spread_downwards(
    left: Indices, right: Indices, out: Indices, past: Array, mean: Array, spread: Array
) -> None:
    """Add to means and variances what comes from above, parents first."""
    k = mean.shape[1]
    for join in range(len(left) - 1, -1, -1):
        up = out[join]
        for slot in (left[join], right[join]):
            if slot >= 0:
                share = past[slot]
                for j in range(k):
                    mean[slot, j] += share * mean[up, j]
                spread[slot] += share * share * spread[up]
