"""Folds that look alike, for scikit-learn's cross-validation."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from parsimon._random import Seed
from parsimon._typing import Indices
from parsimon.exceptions import InvalidInputError
from parsimon.partition import MetricName, homogeneous_partition


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
