"""Conditions on objectives, written as keywords: ``fpr__le=0.05``."""

from collections.abc import Callable, Mapping

import numpy as np

from parsimon._typing import AnyArray, Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.pareto.directions import Directions

_COMPARISONS: Mapping[str, Callable[[Array, float], AnyArray]] = {
    "le": np.less_equal,
    "ge": np.greater_equal,
    "lt": np.less,
    "gt": np.greater,
}


def condition_mask(values: Array, directions: Directions, conditions: Mapping[str, float]) -> Mask:
    """Return which rows of values, shape (n, m), meet all conditions.

    Examples
    --------
    >>> directions = Directions.of(["tpr", "fpr"])
    >>> condition_mask(np.array([[0.9, 0.2], [0.7, 0.04]]), directions, {"fpr__le": 0.05})
    array([False,  True])
    """
    mask = np.ones(len(values), dtype=np.bool_)
    for condition, bound in conditions.items():
        name, _, ending = condition.rpartition("__")
        if ending not in _COMPARISONS or not name:
            raise InvalidInputError(
                f"A condition looks like name__le=0.05 (le, ge, lt or gt), got {condition!r}."
            )
        mask &= _COMPARISONS[ending](values[:, directions.position(name)], bound)
    return mask
