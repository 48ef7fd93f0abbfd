"""Folds that every kernel of a search is judged on, and what kind of target there is."""

import copy
from typing import Any, Literal

import numpy as np

from parsimon._typing import AnyArray, Array, Indices
from parsimon._validation import shorten
from parsimon.exceptions import InvalidInputError
from parsimon.gp.judging import Task

# A whole-numbered target with more values than the ten digits is a quantity, not classes.
_MOST_NUMBERED_CLASSES = 10


def shared_folds(
    folds: Any, X: Array, y: AnyArray, seed: np.random.SeedSequence
) -> tuple[tuple[Indices, Indices], ...]:
    """Return the (train, test) rows of each fold.

    Shapes: X (n, d), y (n,).
    """
    from sklearn.model_selection import KFold, check_cv

    number = int(seed.generate_state(1)[0])
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        if folds < 2:
            raise InvalidInputError(f"folds must be 2 or more, got {folds}.")
        splitter: Any = KFold(int(folds), shuffle=True, random_state=number)
    else:
        splitter = copy.copy(check_cv(folds))
        shuffles = getattr(splitter, "shuffle", True)
        if shuffles and getattr(splitter, "random_state", number) is None:
            splitter.random_state = number
    return tuple((np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y))


def target_task(y: AnyArray, task: Literal["auto", "classification", "regression"]) -> Task:
    """Return whether a target is classes or a quantity.

    "auto" takes text, truth values and two distinct values for classes, fractions and more than
    ten whole numbers for a quantity; with three to ten whole numbers it asks.
    """
    if task != "auto":
        return task
    values = np.unique(y)
    if y.dtype.kind not in "iuf" or len(values) <= 2:
        return "classification"
    if len(values) > _MOST_NUMBERED_CLASSES or (values != np.floor(values)).any():
        return "regression"
    raise InvalidInputError(
        f"The target has {len(values)} whole numbers ({shorten(values.tolist(), 10)}). Only binary "
        "classification is supported. Search for one class against the rest, as in y == "
        f"{values[-1]}, or set task='regression' if they are a quantity."
    )


def refuse_more_classes(y: AnyArray) -> None:
    """Raise an error for three classes or more that says how to go on."""
    classes = np.unique(y)
    if len(classes) > 2:
        raise InvalidInputError(
            f"Only binary classification is supported. The target has {len(classes)} classes: "
            f"{shorten(classes.tolist())}. Search for one against the rest, as in y == "
            f"{classes[-1].item()!r}, one search for each class."
        )
