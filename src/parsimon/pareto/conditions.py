"""Conditions on objectives, as keywords, ``fpr__le=0.05``, or as text, ``fpr<=0.05``."""

import re
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
_ENDINGS = {"<=": "le", ">=": "ge", "<": "lt", ">": "gt"}
_WRITTEN = re.compile(r"(?P<name>.+?)\s*(?P<sign><=|>=|<|>)\s*(?P<bound>\S+)")
# After a number only: a name may hold the word.
_JOINT = re.compile(r"(?<=[0-9.])\s+and\s+")


def condition_mask(values: Array, directions: Directions, conditions: Mapping[str, float]) -> Mask:
    """Return which rows of values, shape (n, m), meet all conditions."""
    mask = np.ones(len(values), dtype=np.bool_)
    for condition, bound in conditions.items():
        name, _, ending = condition.rpartition("__")
        if ending not in _COMPARISONS or not name:
            raise InvalidInputError(
                f"A condition looks like name__le=0.05 (le, ge, lt or gt), got {condition!r}."
            )
        mask &= _COMPARISONS[ending](values[:, directions.position(name)], bound)
    return mask


def written_conditions(text: str, example: str = "fpr<=0.05") -> dict[str, float]:
    """Return conditions joined by "and" as keywords."""
    found = {}
    for part in _JOINT.split(text.strip()):
        match = _WRITTEN.fullmatch(part)
        bound = None if match is None else _number(match["bound"])
        if match is None or bound is None:
            raise InvalidInputError(
                f"A condition looks like {example} (or <, >, >=), several are joined by 'and'; got "
                f"{part!r}."
            )
        found[f"{match['name']}__{_ENDINGS[match['sign']]}"] = bound
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
