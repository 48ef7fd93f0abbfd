"""Stand-ins for the few values that skops does not bring back as they were.

skops writes a named tuple that is also generic as a bare tuple, a `SeedSequence` without its
entropy, and the keys of a dictionary as texts, so that False becomes True. Each of them is stored
as a value of this module instead and turned back after loading.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from parsimon.gp._fit import Fitted
from parsimon.inference.prior import LowRankConditioned, LowRankPrior


@dataclass(frozen=True, eq=False)
class StoredFit:
    """The fields of a `Fitted`."""

    values: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class StoredSeed:
    """What makes a `SeedSequence`."""

    entropy: Any
    spawn_key: tuple[int, ...]
    pool_size: int
    n_children_spawned: int


@dataclass(frozen=True, eq=False)
class StoredMapping:
    """A dictionary whose keys are not all texts."""

    keys: tuple[Any, ...]
    values: tuple[Any, ...]


def stored(value: Any) -> Any:
    """Return `value` with stand-ins inside; it is changed in place, so give a copy."""
    return _replaced(value, _stand_in, {})


def restored(value: Any) -> Any:
    """Return what `stored` was given; it is changed in place."""
    return _replaced(value, _original, {})


def _stand_in(value: Any) -> Any:
    if isinstance(value, Fitted):
        return StoredFit(tuple(value))
    if isinstance(value, np.random.SeedSequence):
        return StoredSeed(value.entropy, value.spawn_key, value.pool_size, value.n_children_spawned)
    if type(value) is dict and any(type(key) is not str for key in value):
        return StoredMapping(tuple(value), tuple(value.values()))
    if isinstance(value, LowRankPrior | LowRankConditioned):
        # Only a fit needs them, which computes them again; they would be most of the file.
        object.__setattr__(value, "derivatives", None)
    return value


def _original(value: Any) -> Any:
    if isinstance(value, StoredFit):
        return Fitted(*value.values)
    if isinstance(value, StoredSeed):
        return np.random.SeedSequence(
            value.entropy,
            spawn_key=value.spawn_key,
            pool_size=value.pool_size,
            n_children_spawned=value.n_children_spawned,
        )
    if isinstance(value, StoredMapping):
        return dict(zip(value.keys, value.values, strict=True))
    return value


def _replaced(value: Any, rule: Callable[[Any], Any], seen: dict[int, tuple[Any, Any]]) -> Any:
    """Apply a rule to everything inside a value, each once; what is shared stays shared."""
    if id(value) in seen:
        return seen[id(value)][1]
    found = rule(value)
    # The first of the pair keeps the old value alive, so that no other gets its identity.
    seen[id(value)] = value, found
    if isinstance(found, tuple):
        parts = [_replaced(part, rule, seen) for part in found]
        if any(new is not old for new, old in zip(parts, found, strict=True)):
            found = type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
        seen[id(value)] = value, found
    elif isinstance(found, list):
        found[:] = [_replaced(part, rule, seen) for part in found]
    elif isinstance(found, dict):
        for key, part in found.items():
            found[key] = _replaced(part, rule, seen)
    elif hasattr(found, "__dict__") and not isinstance(found, type | FunctionType | ModuleType):
        attributes = vars(found)
        for name, part in attributes.items():
            attributes[name] = _replaced(part, rule, seen)
    return found
