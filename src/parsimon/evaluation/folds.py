"""Class-wise half splits, folds that look alike, and the outer folds of an honest estimate."""

import copy
from collections.abc import Iterator
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import (
    BaseCrossValidator,
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from parsimon._checks import check_count
from parsimon._partition import MetricName, class_rows, homogeneous_partition, random_halves
from parsimon._random import Seed, seed_sequence
from parsimon._typing import AnyArray, Indices
from parsimon.exceptions import InvalidInputError


class StratifiedHalves(BaseCrossValidator):
    """Split each class in half at random, again and again.

    What is found in both halves of a split is found twice in disjoint rows, which chance seldom
    does: the basis for counting how often a feature is chosen [1]_. Classes are split one by one,
    so that no half misses a small class.

    Parameters
    ----------
    n_repeats : int, default=10
        Number of splits, B.
    each_half : bool, default=True
        Train on each half in turn, first half then second: 2 B folds. If False, train on the
        first half only: B folds.
    random_state : None, int, Generator, SeedSequence or RandomState
        With an int, every call of `split` gives the same folds.

    Notes
    -----
    A class of odd size gives its extra row, drawn at random, to the first half. Split b is the
    same whatever `n_repeats` and `each_half` are.

    References
    ----------
    .. [1] Li, Campbell and Tipping (2002), Bayesian automatic relevance determination algorithms
       for classifying gene expression data, Bioinformatics 18:1332-1339.

    Examples
    --------
    >>> halves = StratifiedHalves(n_repeats=1, random_state=0)
    >>> y = ["a", "a", "a", "b", "b"]
    >>> for train, test in halves.split(y, y):
    ...     print(train, test)
    [0 1 4] [2 3]
    [2 3] [0 1 4]
    """

    def __init__(
        self, n_repeats: int = 10, *, each_half: bool = True, random_state: Seed = None
    ) -> None:
        self.n_repeats = n_repeats
        self.each_half = each_half
        self.random_state = random_state

    def split(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,  # noqa: ARG002 - scikit-learn's signature
    ) -> Iterator[tuple[Indices, Indices]]:
        n_repeats = self._checked_repeats()
        if y is None:
            raise InvalidInputError("StratifiedHalves splits the classes of y: give y.")
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        classes = class_rows(y, n_rows=n_rows, at_least=2)
        for child in seed_sequence(self.random_state).spawn(n_repeats):
            first, second = random_halves(classes, np.random.default_rng(child))
            yield first, second
            if self.each_half:
                yield second, first

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self._checked_repeats() * (2 if self.each_half else 1)

    def _checked_repeats(self) -> int:
        return check_count("n_repeats", self.n_repeats)


class HomogeneousKFold(BaseCrossValidator):
    """K folds with nearly the same distribution, for cross-validation on small tables.

    A scikit-learn splitter for `homogeneous_partition`, which explains the method.

    Parameters
    ----------
    n_splits : int, default=2
        Number of folds.
    stratify : bool, default=False
        Walk within each class of y, so that class sizes differ by at most one between folds.
    metric : {"euclidean", "cityblock", "chebyshev", "hamming"}, default="euclidean"
    random_state : None, int, Generator, SeedSequence or RandomState
        Chooses the random row that the walk's start is furthest from. With an int, every call of
        `split` gives the same folds.

    Notes
    -----
    Scores vary less between these folds than between random ones (half as much for a logistic
    regression on 300 breast tumours), so an interval computed from that spread is too narrow: use
    them to choose among models, and random folds to report one.
    Distances see the columns of X as they are given to `split`, before a pipeline scales them.

    Examples
    --------
    >>> folds = HomogeneousKFold(n_splits=2, random_state=0)
    >>> for train, test in folds.split([[0.0], [1.0], [2.0], [3.0]]):
    ...     print(train, test)
    [1 3] [0 2]
    [0 2] [1 3]
    """

    def __init__(
        self,
        n_splits: int = 2,
        *,
        stratify: bool = False,
        metric: MetricName = "euclidean",
        random_state: Seed = None,
    ) -> None:
        self.n_splits = n_splits
        self.stratify = stratify
        self.metric = metric
        self.random_state = random_state

    def split(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,  # noqa: ARG002 - scikit-learn's signature
    ) -> Iterator[tuple[Indices, Indices]]:
        if self.stratify and y is None:
            raise InvalidInputError("stratify=True walks within the classes of y: give y.")
        parts = homogeneous_partition(
            X,
            self.n_splits,
            labels=y if self.stratify else None,
            metric=self.metric,
            random_state=self.random_state,
        )
        for part in range(self.n_splits):
            yield np.flatnonzero(parts != part), np.flatnonzero(parts == part)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return self.n_splits


class OuterPart(NamedTuple):
    """The rows of one outer fold."""

    repeat: int
    number: int
    train: Indices
    test: Indices


def outer_parts(
    outer: Any,
    X: Any,
    y: AnyArray,
    *,
    groups: Any,
    classes: bool,
    repeats: int,
    seed: np.random.SeedSequence,
) -> list[OuterPart]:
    """Return the outer folds of all repeats, each repeat with its own child of `seed`."""
    if isinstance(outer, Integral):
        outer = _make_splitter(int(outer), y, groups=groups, classes=classes)
    elif not (hasattr(outer, "split") and hasattr(outer, "get_n_splits")):
        raise InvalidInputError(
            f"outer must be a number of folds or a scikit-learn splitter; got {outer!r}."
        )
    parts: list[OuterPart] = []
    for repeat, child in enumerate(seed.spawn(repeats), 1):
        folds = list(seeded_splitter(outer, child).split(X, y, groups))
        if repeat > 1 and all(
            np.array_equal(part.test, test) for part, (_, test) in zip(parts, folds, strict=False)
        ):
            raise InvalidInputError(
                f"{outer!r} gives the same folds each time, so repeats would add nothing. "
                "Use repeats=1, or a splitter that shuffles and has random_state=None."
            )
        parts += [OuterPart(repeat, number, *fold) for number, fold in enumerate(folds, 1)]
    return parts


def seeded_splitter(splitter: Any, seed: np.random.SeedSequence) -> Any:
    """Return the splitter, or a copy of it with an int seed if its `random_state` is None."""
    if getattr(splitter, "random_state", 0) is not None:
        return splitter
    splitter = copy.copy(splitter)
    splitter.random_state = int(seed.generate_state(1)[0])
    return splitter


def _make_splitter(n_splits: int, y: AnyArray, *, groups: Any, classes: bool) -> Any:
    units, name = (len(y), "rows") if groups is None else (len(np.unique(groups)), "groups")
    if n_splits < 2 or n_splits > units:
        raise InvalidInputError(
            f"outer must be from 2 to the number of {name}, {units}; got {n_splits}."
        )
    if classes:
        class_rows(y, n_rows=len(y), at_least=n_splits)
        splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    else:
        splitter = KFold if groups is None else GroupKFold
    return splitter(n_splits, shuffle=True)


class BackTest(BaseCrossValidator):
    """Time-ordered parts: train on the first, test on the next, then train on both, and so on.

    No fold learns from what came later [1]_.

    Parameters
    ----------
    n_parts : int, default=10
        Parts of the rows, in their order; there is one fold fewer.
    gap : int, default=0
        Rows left out between training and test, such as those whose windows overlap with it.

    References
    ----------
    .. [1] Mierswa (2009), dissertation, TU Dortmund, section 7.5.

    Examples
    --------
    >>> for train, test in BackTest(3).split(range(6)):
    ...     print(train, test)
    [0 1] [2 3]
    [0 1 2 3] [4 5]
    """

    def __init__(self, n_parts: int = 10, *, gap: int = 0) -> None:
        self.n_parts = n_parts
        self.gap = gap

    def split(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002 - scikit-learn's signature
        groups: Any = None,  # noqa: ARG002
    ) -> Iterator[tuple[Indices, Indices]]:
        n_folds = self.get_n_splits()
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        gap = check_count("gap", self.gap, least=0)
        cuts = np.linspace(0, n_rows, n_folds + 2).round().astype(np.intp)
        if (np.diff(cuts) < 1).any() or cuts[1] <= gap:
            raise InvalidInputError(
                f"{n_rows} rows are too few for {n_folds + 1} parts with a gap of {gap}; give "
                "fewer parts."
            )
        for begin, end in pairwise(cuts[1:]):
            yield np.arange(begin - gap), np.arange(begin, end)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        return check_count("n_parts", self.n_parts, least=2) - 1
