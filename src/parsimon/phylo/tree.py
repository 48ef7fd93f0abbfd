"""A tree as three flat arrays: parent, length, name. It is a value: it never changes.

Node 0 is the root and a parent always comes before its children, so that one loop from the end to
the beginning visits children first and no walk needs recursion.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from parsimon._checks import check_positive, shorten
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from parsimon.phylo._passes import Schedule


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A rooted tree with branch lengths.

    Parameters
    ----------
    parent : array-like of int, shape (n_nodes,)
        The parent of each node, -1 for the root, which is node 0. Parents come before children.
    length : array-like of float, shape (n_nodes,)
        Length of the branch above each node, zero or more. That of the root is kept and written,
        but enters no covariance.
    name : sequence of str, length n_nodes
        Tips have names, all different; inner nodes may have an empty one.

    Examples
    --------
    >>> tree = Tree([-1, 0, 0, 2, 2], [0, 3, 1, 2, 2], ["", "A", "", "B", "C"])
    >>> tree
    Tree(3 tips, 2 inner nodes, height 3)
    >>> tree.tip_names
    ('A', 'B', 'C')
    >>> tree.depth
    array([0., 3., 1., 3., 3.])
    """

    parent: Indices
    length: Array
    name: tuple[str, ...]

    def __post_init__(self) -> None:
        parent = np.array(self.parent, dtype=np.intp)
        length = np.array(self.length, dtype=np.float64)
        names = tuple(str(label) for label in self.name)
        _check_arrays(parent, length, names)
        for array in (parent, length):
            array.flags.writeable = False
        object.__setattr__(self, "parent", parent)
        object.__setattr__(self, "length", length)
        object.__setattr__(self, "name", names)
        _check_tip_names(self.tip_names)

    def __repr__(self) -> str:
        inner = len(self.parent) - self.n_tips
        return (
            f"Tree({self.n_tips} tip{'s' * (self.n_tips != 1)}, "
            f"{inner} inner node{'s' * (inner != 1)}, height {self.depth.max():.4g})"
        )

    def __eq__(self, other: object) -> bool:
        """Return whether nodes, lengths and names are the same, in the same order."""
        if not isinstance(other, Tree):
            return NotImplemented
        return (
            np.array_equal(self.parent, other.parent)
            and np.array_equal(self.length, other.length)
            and self.name == other.name
        )

    def __hash__(self) -> int:
        return hash((self.parent.tobytes(), self.length.tobytes(), self.name))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself, since it never changes: cloning an estimator copies no tree."""
        return self

    @cached_property
    def is_tip(self) -> Mask:
        """Which nodes have no children, shape (n_nodes,)."""
        tip = np.ones(len(self.parent), dtype=np.bool_)
        tip[self.parent[1:]] = False
        tip.flags.writeable = False
        return tip

    @cached_property
    def tips(self) -> Indices:
        """Nodes that are tips, ascending: row i of a covariance is node ``tips[i]``."""
        tips = np.flatnonzero(self.is_tip)
        tips.flags.writeable = False
        return tips

    @property
    def n_tips(self) -> int:
        """Number of tips."""
        return len(self.tips)

    @cached_property
    def tip_names(self) -> tuple[str, ...]:
        """Names of the tips, in the order of `tips`."""
        return tuple(self.name[node] for node in self.tips.tolist())

    @cached_property
    def position(self) -> dict[str, int]:
        """Where each name is in `tip_names`."""
        return {label: number for number, label in enumerate(self.tip_names)}

    @cached_property
    def depth(self) -> Array:
        """Path length from the root to each node, shape (n_nodes,)."""
        depth = depths(self.parent, self.length)
        depth.flags.writeable = False
        return depth

    @cached_property
    def joins(self) -> "Schedule":
        """The order in which branches meet, with data at all tips: what linear algebra needs."""
        from parsimon.phylo._passes import make_schedule

        return make_schedule(self, self.tips)

    def match(self, table: Any, *, column: str | None = None) -> Indices:
        """Return which tip each row of a table is.

        Parameters
        ----------
        table : DataFrame, Series, dict or sequence of str
            Names are taken from the index, the keys, or the sequence itself.
        column : str, optional
            The column of a DataFrame that holds the names instead.

        Returns
        -------
        ndarray of shape (n_rows,)
            Positions in `tip_names`.

        Raises
        ------
        InvalidInputError
            If a name is not a tip: the message lists those names.

        Examples
        --------
        >>> tree = Tree([-1, 0, 0], [0, 1, 1], ["", "A", "B"])
        >>> tree.match(["B", "A"])
        array([1, 0])
        >>> tree.match({"B": 3.0})
        array([1])
        """
        from parsimon.phylo._tips import match_names, row_names

        return match_names(self, row_names(table, column))

    def keep(self, names: Any, *, trim: bool = False) -> "Tree":
        """Return the tree of these tips alone; their distances and depths stay as they are.

        Parameters
        ----------
        names : sequence of str
        trim : bool
            Move the root to the last common ancestor, as ape's ``drop.tip`` does. Otherwise it
            stays where it is, with one child if need be, so that covariances lose rows and change
            nowhere else. Branches that meet at any other node with one child left are joined.

        Examples
        --------
        >>> tree = Tree([-1, 0, 0, 2, 2], [0, 3, 1, 2, 2], ["", "A", "", "B", "C"])
        >>> tree.keep(["A", "C"]).write()
        '(A:3,C:3);'
        """
        return keep_tips(self, self.match(names), trim=trim)

    def prune(self, names: Any) -> "Tree":
        """Return the tree without these tips.

        Examples
        --------
        >>> Tree([-1, 0, 0, 0], [0, 1, 1, 2], ["", "A", "B", "C"]).prune(["B"]).write()
        '(A:1,C:2);'
        """
        stay = np.ones(self.n_tips, dtype=np.bool_)
        stay[self.match(names)] = False
        return keep_tips(self, np.flatnonzero(stay))

    def resolve(self) -> "Tree":
        """Return a tree in which no node has more than two children.

        Zero-length branches are added, so that all distances stay the same.

        Examples
        --------
        >>> Tree([-1, 0, 0, 0], [0, 1, 1, 2], ["", "A", "B", "C"]).resolve().write()
        '((A:1,B:1):0,C:2);'
        """
        return resolve_polytomies(self)

    def is_ultrametric(self, *, tol: float = 1e-6) -> bool:
        """Return whether all tips are equally far from the root.

        Parameters
        ----------
        tol : float
            Difference allowed, as a share of the greatest depth.

        Examples
        --------
        >>> Tree([-1, 0, 0], [0, 1, 1.5], ["", "A", "B"]).is_ultrametric()
        False
        """
        depth = self.depth[self.tips]
        return bool(np.ptp(depth) <= tol * depth.max())

    def scale(self, height: float = 1.0) -> "Tree":
        """Return the tree with all lengths multiplied so that the deepest tip is at `height`.

        Examples
        --------
        >>> Tree([-1, 0, 0], [0, 2, 4], ["", "A", "B"]).scale().length
        array([0. , 0.5, 1. ])
        """
        height = check_positive("height", height)
        deepest = self.depth.max()
        if not deepest > 0:
            raise InvalidInputError("A tree of height zero cannot be scaled.")
        return Tree(self.parent, self.length * (height / deepest), self.name)

    def transform(
        self,
        *,
        pagel_lambda: float = 1.0,
        kappa: float = 1.0,
        delta: float = 1.0,
        alpha: float = 0.0,
    ) -> "Tree":
        """Return the tree on which Brownian motion is the model of this name on the given tree.

        Applied in this order: `kappa` raises every length to a power, `delta` every depth, then
        `pagel_lambda` multiplies the depth of inner nodes and leaves that of tips [1]_, and
        `alpha` is the pull of an Ornstein-Uhlenbeck process that starts at its
        optimum, for ultrametric trees (others are no tree after it: `TreeGaussian` has them).

        References
        ----------
        .. [1] Pagel (1999), "Inferring the historical patterns of biological evolution",
           Nature 401.

        Examples
        --------
        >>> tree = Tree([-1, 0, 0, 2, 2], [0, 3, 1, 2, 2], ["", "A", "", "B", "C"])
        >>> tree.transform(pagel_lambda=0.5).length
        array([0. , 3. , 0.5, 2.5, 2.5])
        >>> tree.transform(delta=2).length
        array([0., 9., 1., 8., 8.])
        """
        from parsimon.phylo._evolution import Model, transformed_tree

        return transformed_tree(self, Model(pagel_lambda, kappa, delta, alpha))

    def write(
        self, path: "str | Path | None" = None, *, format: Literal["newick", "nexus"] = "newick"
    ) -> str:
        """Return the tree as text, and write it to a file if `path` is given (gzip for ".gz").

        Names are quoted where needed, and lengths keep all their digits: `read_tree` gives the
        same tree back.

        Examples
        --------
        >>> Tree([-1, 0, 0], [0, 1, 0.25], ["", "Homo sapiens", "it's"]).write()
        "('Homo sapiens':1,'it''s':0.25);"
        """
        from parsimon.phylo.reading import write_tree

        return write_tree(self, path, format)

    def plot(self, values: Any = None, *, ax: "Axes | None" = None, **options: Any) -> "Axes":
        """Draw the tree, with a trait as colour if `values` are given: see `plot_tree`."""
        from parsimon.phylo.plot import plot_tree

        return plot_tree(self, values, ax=ax, **options)


def depths(parent: Indices, length: Array) -> Array:
    """Return the path length from the root to each node."""
    # Plain lists: one addition a node, and a caterpillar has as many levels as tips.
    above, depth = parent.tolist(), length.tolist()
    depth[0] = 0.0
    for node in range(1, len(depth)):
        depth[node] += depth[above[node]]
    return np.array(depth)


def _check_arrays(parent: Indices, length: Array, names: tuple[str, ...]) -> None:
    n = len(parent)
    if n == 0:
        raise InvalidInputError("A tree needs at least one node.")
    if parent.ndim != 1 or length.shape != (n,) or len(names) != n:
        raise InvalidInputError(
            f"A tree needs as many lengths and names as parents, got {length.shape} lengths and "
            f"{len(names)} names for {n} parents."
        )
    wrong = np.flatnonzero((parent[1:] < 0) | (parent[1:] >= np.arange(1, n))) + 1
    if parent[0] != -1 or len(wrong):
        node = 0 if parent[0] != -1 else int(wrong[0])
        raise InvalidInputError(
            "Node 0 must be the root, with parent -1, and every other parent must come before "
            f"its children; the parent of node {node} is {parent[node]}."
        )
    bad = np.flatnonzero(~(np.isfinite(length) & (length >= 0)))
    if len(bad):
        node = int(bad[0])
        raise InvalidInputError(
            f"Branch lengths must be zero or positive numbers, but that above node {node} "
            f"({names[node] or 'no name'}) is {length[node]:g} ({len(bad)} such in all). "
            "Estimate them again, or set them to zero."
        )


def _check_tip_names(names: tuple[str, ...]) -> None:
    if not all(names):
        raise InvalidInputError(
            f"{sum(not label for label in names)} of {len(names)} tips have no name. Name them, "
            "so that rows of a table can be matched."
        )
    if len(set(names)) < len(names):
        repeated = [label for label, count in Counter(names).items() if count > 1]
        raise InvalidInputError(
            f"Tip names must differ, but these occur more than once: {shorten(repeated)}. "
            "Rename or prune them."
        )


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


def keep_tips(tree: Tree, positions: Indices, *, trim: bool = False) -> Tree:
    """Return the tree with the tips at these positions of `Tree.tips` alone."""
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


def resolve_polytomies(tree: Tree) -> Tree:
    """Return the tree with at most two children a node, joined in pairs so that it stays flat."""
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
    # Numbered from the root, each node before its children.
    parent: list[int] = []
    length: list[float] = []
    name: list[str] = []
    waiting = [(0, -1)]
    while waiting:
        node, above = waiting.pop()
        number = len(parent)
        parent.append(above)
        length.append(extra_length[node])
        name.append(tree.name[node] if node < len(tree.name) else "")
        waiting.extend((child, number) for child in reversed(children[node]))
    return Tree(np.array(parent), np.array(length), tuple(name))
