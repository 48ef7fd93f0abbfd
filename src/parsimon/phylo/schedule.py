"""The order in which the branches of a tree are joined.

Every join takes two branches that meet (or one, at a node with a single child) and makes the one
above. Branches at a polytomy are joined in pairs through extra nodes of zero length, so that a star
of n tips has log2(n) levels and not n. Slots, one for each node and extra node, are numbered as a
walk leaves them: what meets soon is close in memory, and the root is the last.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parsimon._typing import Indices, Mask
from parsimon.phylo.editing import children_lists, on_path_to

if TYPE_CHECKING:
    from parsimon.phylo.tree import Tree


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


def make_schedule(tree: "Tree", tips: Indices) -> Schedule:
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
