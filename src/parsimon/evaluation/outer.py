"""The outer folds of an honest estimate, planned before anything is fitted."""

import copy
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from parsimon._typing import AnyArray, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.partition import class_rows


class Part(NamedTuple):
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
) -> list[Part]:
    """Return the outer folds of all repeats, each repeat with its own child of `seed`."""
    if isinstance(outer, Integral):
        outer = _shuffled(int(outer), y, groups=groups, classes=classes)
    elif not (hasattr(outer, "split") and hasattr(outer, "get_n_splits")):
        raise InvalidInputError(
            f"outer must be a number of folds or a scikit-learn splitter; got {outer!r}."
        )
    parts: list[Part] = []
    for repeat, child in enumerate(seed.spawn(repeats), 1):
        folds = list(seeded_splitter(outer, child).split(X, y, groups))
        if repeat > 1 and all(
            np.array_equal(part.test, test) for part, (_, test) in zip(parts, folds, strict=False)
        ):
            raise InvalidInputError(
                f"{outer!r} gives the same folds each time, so repeats would add nothing. "
                "Use repeats=1, or a splitter that shuffles and has random_state=None."
            )
        parts += [Part(repeat, number, *fold) for number, fold in enumerate(folds, 1)]
    return parts


def seeded_splitter(splitter: Any, seed: np.random.SeedSequence) -> Any:
    """Return the splitter, or a copy of it with an int seed if its `random_state` is None."""
    if getattr(splitter, "random_state", 0) is not None:
        return splitter
    splitter = copy.copy(splitter)
    splitter.random_state = int(seed.generate_state(1)[0])
    return splitter


def _shuffled(n_splits: int, y: AnyArray, *, groups: Any, classes: bool) -> Any:
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
