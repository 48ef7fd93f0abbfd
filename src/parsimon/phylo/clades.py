"""Folds of whole clades: scores for species whose relatives were not seen."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from parsimon._checks import check_count, check_probability
from parsimon._typing import Indices
from parsimon.exceptions import InvalidInputError
from parsimon.phylo._tips import find_tips
from parsimon.phylo.tree import Tree, children_lists


class CladeKFold:
    """Leave clades out: a splitter for `cross_val_score` and its like.

    Random folds leave a sister of nearly every test row in training, so that a model is judged
    on species it half knows. Here the tree is cut into clades, and a clade is never divided
    between training and test.

    Parameters
    ----------
    tree : Tree
    n_splits : int
    depth : float, optional
        Cut the tree at this share of its height, between 0 and 1: every clade that is separate
        there stays whole. Without it the largest clade is divided until none is larger than a
        fold should be.
    tips : str, int or None
        How rows find their tips: see `PGLS`.

    Examples
    --------
    >>> import pandas as pd
    >>> from parsimon.phylo import read_tree
    >>> tree = read_tree("(((A:1,B:1):1,C:2):1,(D:2,(E:1,F:1):1):1);")
    >>> X = pd.DataFrame({"x": range(6)}, index=list("AFBECD"))
    >>> for train, test in CladeKFold(tree, n_splits=2).split(X):
    ...     print(*X.index[test])
    A B C
    F E D
    """

    def __init__(
        self,
        tree: Tree,
        n_splits: int = 5,
        *,
        depth: float | None = None,
        tips: str | int | None = None,
    ) -> None:
        if not isinstance(tree, Tree):
            raise InvalidInputError(
                f"tree must be a Tree, got {type(tree).__name__}; read_tree makes one."
            )
        self.tree = tree
        self.n_splits = check_count("n_splits", n_splits, least=2)
        self.depth = None if depth is None else check_probability("depth", depth)
        self.tips = tips

    def __repr__(self) -> str:
        return (
            f"CladeKFold({self.tree!r}, n_splits={self.n_splits}, depth={self.depth}, "
            f"tips={self.tips!r})"
        )

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of folds."""
        return self.n_splits

    def split(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        groups: Any = None,  # noqa: ARG002
    ) -> Iterator[tuple[Indices, Indices]]:
        """Give training and test rows of each fold.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            With tips as `tips` says.
        y, groups : ignored
        """
        clades = self.clades(X)
        sizes = np.bincount(clades)
        if len(sizes) < self.n_splits:
            raise InvalidInputError(
                f"{self.n_splits} folds need as many clades, but the tree is cut into "
                f"{len(sizes)}. Give fewer folds, or cut it deeper."
            )
        fold_of, filled = np.zeros(len(sizes), dtype=np.intp), np.zeros(self.n_splits)
        # Largest first, into the emptiest fold.
        for clade in np.argsort(-sizes, kind="stable"):
            fold_of[clade] = np.argmin(filled)
            filled[fold_of[clade]] += sizes[clade]
        fold = fold_of[clades]
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

    def clades(self, X: Any) -> Indices:
        """Return the number of the clade of each row, which may also be given as ``groups``."""
        positions = find_tips(X, self.tree, self.tips)[1]
        rows = np.bincount(self.tree.tips[positions], minlength=len(self.tree.parent))
        tops = self._cut_largest(rows) if self.depth is None else self._cut_at_depth()
        clade = np.full(len(self.tree.parent), -1)
        clade[tops] = tops
        above = self.tree.parent
        for node in range(1, len(above)):
            if clade[node] < 0:
                clade[node] = clade[above[node]]
        numbers = np.unique(clade[self.tree.tips[positions]], return_inverse=True)[1]
        return np.asarray(numbers, dtype=np.intp)

    def _cut_at_depth(self) -> Indices:
        """Return the nodes at or below the cut whose parents are above it, and tips before it."""
        tree = self.tree
        cut = self.depth * tree.depth.max() if self.depth is not None else 0.0
        over = tree.depth[np.maximum(tree.parent, 0)]
        below = (tree.depth > cut) & (over <= cut)
        below |= tree.is_tip & (tree.depth <= cut)
        return np.flatnonzero(below)

    def _cut_largest(self, rows: Indices) -> Indices:
        """Divide the clade with the most rows until none has more than its share."""
        import heapq

        below = rows.copy()
        for node in range(len(below) - 1, 0, -1):
            below[self.tree.parent[node]] += below[node]
        children = children_lists(self.tree.parent)
        most = rows.sum() / self.n_splits
        clades, n_clades = [(-int(below[0]), 0)], 1
        while True:
            size, node = clades[0]
            if not children[node] or (-size <= most and n_clades >= self.n_splits):
                return np.array([place for _, place in clades])
            heapq.heappop(clades)
            n_clades -= 1
            for child in children[node]:
                heapq.heappush(clades, (-int(below[child]), child))
                n_clades += bool(below[child])
