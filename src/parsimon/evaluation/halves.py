"""Repeated class-wise half splits: train on one half, look at the other, then swap."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from parsimon._random import Seed, seed_sequence
from parsimon._typing import Indices
from parsimon.exceptions import InvalidInputError
from parsimon.partition import class_rows, random_halves


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
        if not isinstance(self.n_repeats, Integral) or self.n_repeats < 1:
            raise InvalidInputError(
                f"n_repeats must be a whole number, at least 1; got {self.n_repeats!r}."
            )
        return int(self.n_repeats)
