"""The table of families: the one place where their names are known, and who of them is asked."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

from parsimon._checks import shorten
from parsimon.exceptions import InvalidInputError
from parsimon.statistician.families.family import Family, Setting
from parsimon.statistician.families.kernel_search import KERNEL_SEARCH
from parsimon.statistician.families.plain import GUESSING, PLAIN, RIVALS

Rivals: TypeAlias = Literal["all", "none"] | str | Sequence[Any]

OURS = (KERNEL_SEARCH, *PLAIN)
FAMILIES = tuple(family.key for family in OURS)
NAMES = (*FAMILIES, *(rival.key for rival in RIVALS))


def as_families(families: str | Sequence[str]) -> tuple[str, ...]:
    """Return names of families from a sequence, or from one text with commas; "all" for all."""
    names = families.split(",") if isinstance(families, str) else [str(name) for name in families]
    found = tuple(dict.fromkeys(_key(name) for name in names if name.strip()))
    if found == ("all",):
        return FAMILIES
    if found == ("none",):
        return ()
    _check_known("families", found, FAMILIES)
    return found


def chosen_families(families: Sequence[str], rivals: Rivals) -> tuple[Family, ...]:
    """Return who is asked: guessing, rivals, and ours by their keys."""
    ours = tuple(family for family in OURS if family.key in families)
    found = (GUESSING, *_choose_rivals(rivals), *ours)
    twice = [
        family.name for family in found if sum(other.name == family.name for other in found) > 1
    ]
    if twice:
        raise InvalidInputError(f"Two models are called {twice[0]!r}; give one another name.")
    return found


def family_called(key: str) -> Family:
    """Return the family of that key or name."""
    every = (*OURS, *RIVALS, GUESSING)
    known = {name: family for family in every for name in (family.key, _key(family.name))}
    if _key(key) not in known:
        raise InvalidInputError(
            f"There is no family {key!r}; the families are {shorten(list(NAMES), 12)}."
        )
    return known[_key(key)]


def _choose_rivals(rivals: Rivals) -> tuple[Family, ...]:
    if isinstance(rivals, str):
        rivals = rivals.split(",")
    found: list[Family] = []
    for place, rival in enumerate(rivals):
        if isinstance(rival, str):
            found += _find_rivals(_key(rival))
        else:
            found.append(_own_rival(rival, place))
    return tuple(found)


def _find_rivals(key: str) -> Iterable[Family]:
    if key in ("all", "none", ""):
        return RIVALS if key == "all" else ()
    _check_known("rivals", (key,), [rival.key for rival in RIVALS])
    return tuple(rival for rival in RIVALS if rival.key == key)


def _own_rival(given: Any, place: int) -> Family:
    """Return a user's estimator, or a name and an estimator, as a family."""
    name, estimator = given if isinstance(given, tuple) and len(given) == 2 else ("", given)
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise InvalidInputError(
            f"rivals must be estimators, pairs of a name and an estimator, or names among "
            f"{', '.join(rival.key for rival in RIVALS)}; number {place + 1} is "
            f"{type(given).__name__}."
        )
    words = type(estimator).__name__
    name = str(name) or words
    return Family(
        name=name, key=_key(name), kind="own", words=words, make=partial(_copy, estimator)
    )


def _copy(estimator: Any, setting: Setting) -> Any:
    """Return an unfitted copy of a user's estimator, with a seed if it has none."""
    from sklearn.base import clone

    copy = clone(estimator)
    if "random_state" in copy.get_params() and copy.get_params()["random_state"] is None:
        copy.set_params(random_state=setting.seed)
    return copy


def _check_known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise InvalidInputError(
                f"{what} must be among {', '.join(known)}, or all or none; got {name!r}."
            )


def _key(name: str) -> str:
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split())
