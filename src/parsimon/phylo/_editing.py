"""Trees made from a tree: fewer tips, or no polytomies."""

from typing import TYPE_CHECKING

import numpy as np

from parsimon._typing import Indices, Mask
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from parsimon.phylo.tree import Tree


def children_lists(parent: Indices, wanted: Mask | None = None) -> list[list[int]]:
    """Return the children of each node, ascending; those that are not wanted are left out."""
    children: list[list[int]] = [[] for _ in parent]
    above = parent.tolist()
    nodes = range(1, len(above)) if wanted is None else np.flatnonzero(wanted)[1:].tolist()
    for node in nodes:
        children[above[node]].append(node)
    return children


def on_path_to(parent: Indices, chosen: Indices) -> Mask:
    """Return which nodes are chosen or have a chosen node below them."""
    stay = [False] * len(parent)
    for node in chosen.tolist():
        stay[node] = True
    above = parent.tolist()
    for node in range(len(stay) - 1, 0, -1):
        if stay[node]:
            stay[above[node]] = True
    return np.array(stay, dtype=np.bool_)


def keep_tips(tree: "Tree", positions: Indices, *, trim: bool = False) -> "Tree":
    """Return the tree with the tips at these positions of `Tree.tips` alone."""
    from parsimon.phylo.tree import Tree

    if not len(positions):
        raise InvalidInputError("A tree needs at least one tip, but none would be left.")
    stay = on_path_to(tree.parent, tree.tips[positions])
    n_children = np.bincount(tree.parent[1:][stay[1:]], minlength=len(stay))
    dropped = stay & (n_children == 1)
    dropped[0] = False  # the root stays, so that depths do
    above, extra = tree.parent.tolist(), tree.length.tolist()
    number = [-1] * len(stay)
    parent: list[int] = []
    length: list[float] = []
    name: list[str] = []
    # What a dropped node leaves to its only child: the parent to hang on, and its own length.
    gone = dropped.tolist()
    for node in np.flatnonzero(stay).tolist():
        up = above[node]
        if up >= 0 and gone[up]:
            extra[node] += extra[up]
            up = above[node] = above[up]
        if gone[node]:
            continue
        number[node] = len(parent)
        parent.append(number[up] if up >= 0 else -1)
        length.append(extra[node])
        name.append(tree.name[node])
    # The root has one child if all that stay are on one side of it.
    if trim and len(parent) > 1 and parent.count(0) == 1:
        parent, length, name = [up - 1 for up in parent[1:]], [0.0, *length[2:]], name[1:]
    return Tree(np.array(parent), np.array(length), tuple(name))


def resolve_polytomies(tree: "Tree") -> "Tree":
    """Return the tree with at most two children a node, joined in pairs so that it stays flat."""
    from parsimon.phylo.tree import Tree

    children = children_lists(tree.parent)
    extra_length = tree.length.tolist() + [0.0] * len(tree.parent)
    n_nodes = len(tree.parent)
    for node in range(len(tree.parent)):
        members = children[node]
        while len(members) > 2:
            pairs = [members[start : start + 2] for start in range(0, len(members), 2)]
            members = []
            for pair in pairs:
                if len(pair) == 2:
                    children.append(pair)
                    members.append(n_nodes)
                    n_nodes += 1
                else:
                    members.append(pair[0])
        children[node] = members
    return _in_order(Tree, children, extra_length, tree.name)


def _in_order(
    make: type["Tree"], children: list[list[int]], length: list[float], name: tuple[str, ...]
) -> "Tree":
    """Return the tree with its nodes numbered from the root, each before its children."""
    parent: list[int] = []
    lengths: list[float] = []
    names: list[str] = []
    waiting = [(0, -1)]
    while waiting:
        node, above = waiting.pop()
        number = len(parent)
        parent.append(above)
        lengths.append(length[node])
        names.append(name[node] if node < len(name) else "")
        waiting.extend((child, number) for child in reversed(children[node]))
    return make(np.array(parent), np.array(lengths), tuple(names))
