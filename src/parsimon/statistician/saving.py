"""Models in files: saved with skops, loaded without running what a file says.

A file is a zip archive. `skops` writes the model into it as arrays and names of types; beside them
`parsimon.json` says what the file is, who wrote it, and the digest of all else, so that a file of a
later version, or one that was changed, is recognised before anything of it is read. A few values do
not come back from skops as they were (a `SeedSequence`, a `range`, a dictionary whose keys are no
texts): each is stored as a stand-in of this module and turned back after loading.
"""

import copy
import hashlib
import importlib
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from parsimon import __version__
from parsimon._checks import shorten
from parsimon._received import check_sizes, read_json
from parsimon._writing import write_file
from parsimon.exceptions import InvalidInputError
from parsimon.inference.prior import LowRankConditioned, LowRankPrior
from parsimon.statistician._loaded_models import check_estimator, check_range, check_schema


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


@dataclass(frozen=True, eq=False)
class StoredRange:
    """What makes a range."""

    start: int
    stop: int
    step: int


def store(value: Any) -> Any:
    """Return `value` with stand-ins inside; it is changed in place, so give a copy."""
    return _replace(value, _stand_in, {})


def restore(value: Any) -> Any:
    """Return what `store` was given; it is changed in place."""
    return _replace(value, _original, {})


def _stand_in(value: Any) -> Any:
    if isinstance(value, np.random.SeedSequence):
        return StoredSeed(value.entropy, value.spawn_key, value.pool_size, value.n_children_spawned)
    if type(value) is dict and any(type(key) is not str for key in value):
        return StoredMapping(tuple(value), tuple(value.values()))
    if isinstance(value, range):
        return StoredRange(value.start, value.stop, value.step)
    if isinstance(value, LowRankPrior | LowRankConditioned):
        # Only a fit needs them, which computes them again; they would be most of the file.
        object.__setattr__(value, "derivatives", None)
    return value


def _original(value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        check_estimator(value)
    if isinstance(value, StoredSeed):
        return np.random.SeedSequence(
            value.entropy,
            spawn_key=value.spawn_key,
            pool_size=value.pool_size,
            n_children_spawned=value.n_children_spawned,
        )
    if isinstance(value, StoredMapping):
        return dict(zip(value.keys, value.values, strict=True))
    if isinstance(value, StoredRange):
        return check_range(value.start, value.stop, value.step)
    return value


def _replace(value: Any, rule: Callable[[Any], Any], seen: dict[int, tuple[Any, Any]]) -> Any:
    """Apply a rule to everything inside a value, each once; what is shared stays shared."""
    if id(value) in seen:
        return seen[id(value)][1]
    found = rule(value)
    # The first of the pair keeps the old value alive, so that no other gets its identity.
    seen[id(value)] = value, found
    if isinstance(found, tuple):
        parts = [_replace(part, rule, seen) for part in found]
        if any(new is not old for new, old in zip(parts, found, strict=True)):
            found = type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
        seen[id(value)] = value, found
    elif (entries := _entries(found)) is not None:
        for key, part in entries:
            found[key] = _replace(part, rule, seen)
    elif hasattr(found, "__dict__") and not isinstance(found, type | FunctionType | ModuleType):
        attributes = vars(found)
        for name, part in attributes.items():
            attributes[name] = _replace(part, rule, seen)
    return found


def _entries(value: Any) -> list[tuple[Any, Any]] | None:
    """Return what a list, a dictionary or an array of objects holds, by place; None of others."""
    if isinstance(value, list):
        return list(enumerate(value))
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, np.ndarray) and value.dtype == object:
        return list(np.ndenumerate(value))
    return None


FORMAT, FORMAT_VERSION = "parsimon-model", 1
_ABOUT, _PLAIN, _UNKNOWN = "parsimon.json", "schema.json", "of an unknown version"
# Beside the types that skops knows as harmless and those of this package that are plain values.
_HARMLESS = frozenset(
    {
        "builtins.frozenset",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
    }
)
# Trees are looked through by `check_estimator` before anything asks them.
_TREES = frozenset(
    {
        "sklearn.tree._tree.Tree",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    }
)
_OWN = frozenset(
    {
        "parsimon.features.expressions.Expression",
        "parsimon.features.case_base.CaseBase",
        "parsimon.features.learning_tasks.Case",
        "parsimon.features.series.evaluate.SeriesTable",
        "parsimon.features.series.trees.MethodTree",
        "parsimon.gp._beam.KernelEvaluator",
        "parsimon.pareto.front.Front",
    }
)
_DAMAGED = (
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    NotImplementedError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


class _About(NamedTuple):
    """What a file says about itself."""

    format_version: int
    version: str
    digest: str | None


def save_model(
    model: Any, path: str | os.PathLike[str], *, trusted: Sequence[type | str] = ()
) -> None:
    """Save a fitted model to a file.

    The file appears whole or not at all. Whatever `load_model` would refuse is refused here.

    Parameters
    ----------
    model : estimator
        Of this package, or of scikit-learn around one, such as a `Pipeline`.
    path : str or Path
        Usually ends in ``.skops``; a file of that name is replaced.
    trusted : sequence of types or functions, or of their full names
        Of your own, which the model may hold, such as the class or the function of a kernel;
        `load_model` must be told the same.

    Raises
    ------
    InvalidInputError
        If the model holds something that cannot be saved, such as a function, or if there is no
        such folder.

    Examples
    --------
    >>> import tempfile
    >>> from parsimon.gp import GPClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> model = GPClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.skops")
    ...     again = load_model(f"{folder}/model.skops")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    place = Path(path)
    if not place.parent.is_dir():
        raise InvalidInputError(f"The folder {place.parent} does not exist; make it first.")
    write_file(place, _archive(model, _full_names(trusted)))


def load_model(path: str | os.PathLike[str], *, trusted: Sequence[type | str] = ()) -> Any:
    """Load a model that `save_model` or `skops.io.dump` wrote.

    Only types of this package that hold data, and those that skops knows as harmless, are made
    again; a file that names another type is refused before anything is made.

    Parameters
    ----------
    path : str or Path
    trusted : sequence of types or functions, or of their full names
        Of your own, which the file may name too.

    Returns
    -------
    estimator
        It predicts the same bits as the one that was saved.

    Raises
    ------
    InvalidInputError
        If there is no such file, it is not a model, it was changed after it was saved, it names
        other types, or a later version of Parsimon saved it.

    Examples
    --------
    >>> load_model("absent.skops")
    Traceback (most recent call last):
    ...
    parsimon.exceptions.InvalidInputError: The model absent.skops does not exist.
    """
    import skops.io

    place = Path(path)
    if not place.is_file():
        what = "is a folder" if place.is_dir() else "does not exist"
        raise InvalidInputError(f"The model {place} {what}.")
    data = place.read_bytes()
    _check_sizes(place, data)
    about = _read_about(place, data)
    own = _full_names(trusted)
    try:
        types, refused = _unknown_types(data, own)
        ours = about.version != _UNKNOWN or any(name.startswith("parsimon.") for name in types)
        if ours and not refused:
            return restore(skops.io.loads(data, trusted=types))
    except _DAMAGED as error:
        raise InvalidInputError(
            f"The model {place} cannot be read: it is damaged, or was saved by a version that "
            f"differs too much (Parsimon {about.version}; this is {__version__})."
        ) from error
    if not ours:
        raise InvalidInputError(f"{place} is not a model that Parsimon saved.")
    raise InvalidInputError(
        f"The model {place} was not loaded: it holds {shorten(refused)}, which no model of "
        "Parsimon has. Load only files that you trust; what is your own goes into trusted=[...]."
    )


def _unknown_types(data: bytes, own: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return the types of a file that skops asks about, and all that are to be refused."""
    import skops.io

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unchecked = check_schema(archive)
    types = skops.io.get_untrusted_types(data=data)
    refused = [name for name in types if name not in own and not _is_allowed(name)]
    return types, [*refused, *(name for name in unchecked if name not in {*own, *refused})]


def _full_names(trusted: Sequence[type | str]) -> frozenset[str]:
    """Return the full names of types and functions, as skops writes them."""
    return frozenset(
        known if isinstance(known, str) else f"{known.__module__}.{known.__name__}"
        for known in trusted
    )


def _archive(model: Any, own: frozenset[str]) -> bytes:
    import skops.io
    from skops.io.exceptions import UnsupportedTypeException

    kind = type(model).__name__
    try:
        data = skops.io.dumps(store(copy.deepcopy(model)))
        _, refused = _unknown_types(data, own)
    except (*_DAMAGED, UnsupportedTypeException) as error:
        raise InvalidInputError(f"This {kind} cannot be saved: {error}") from error
    if refused:
        raise InvalidInputError(
            f"This {kind} cannot be saved: it holds {shorten(refused)}, which loading would "
            "refuse; what is your own goes into trusted=[...] of both calls."
        )
    members = _repeatable(data)
    about = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": __version__,
        "digest": _digest(_pack(members, zipfile.ZIP_STORED)),
    }
    whole = {**members, _ABOUT: json.dumps(about).encode()}
    packed = _pack(whole)
    return packed if _is_of_plausible_size(packed) else _pack(whole, zipfile.ZIP_STORED)


def _repeatable(data: bytes) -> dict[str, bytes]:
    """Return the members of an archive of skops, the same for equal models in every process.

    skops numbers objects, and files of arrays, by where they lie in memory; here they are numbered
    in the order in which they occur.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        old = {name: archive.read(name) for name in archive.namelist()}
    numbers: dict[int, int] = {}
    names: dict[str, str] = {}

    def renumber(node: dict[str, Any]) -> dict[str, Any]:
        number, name = node.get("__id__"), node.get("file")
        if isinstance(number, int):
            node["__id__"] = numbers.setdefault(number, len(numbers) + 1)
        if isinstance(name, str):
            node["file"] = names.setdefault(name, f"{len(names) + 1}{Path(name).suffix}")
        return node

    schema = json.loads(old.pop(_PLAIN), object_hook=renumber)
    found = {new: old[name] for name, new in names.items()}
    return {**found, _PLAIN: json.dumps(schema, indent=2).encode()}


def _pack(members: Mapping[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive that says neither when nor on which system it was made."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)
            entry.create_system, entry.external_attr = 3, 0o600 << 16
            archive.writestr(entry, content, how)
    return buffer.getvalue()


def _is_of_plausible_size(data: bytes) -> bool:
    """Return whether loading will believe an archive: zeros shrink to nearly nothing."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_sizes(archive)
    except InvalidInputError:
        return False
    return True


def _check_sizes(place: Path, data: bytes) -> None:
    """Refuse an archive that takes far more memory than it seems to; others are not looked at."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_sizes(archive)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"The model {place} was not loaded: {error}, which no model of Parsimon does."
        ) from error
    except _DAMAGED as error:
        raise InvalidInputError(f"{place} is not a model that Parsimon saved.") from error


def _read_about(place: Path, data: bytes) -> _About:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if _ABOUT not in archive.namelist() and _PLAIN in archive.namelist():
                # What skops wrote by itself says neither who made it nor its digest.
                return _About(FORMAT_VERSION, _UNKNOWN, None)
            content = read_json(archive.read(_ABOUT))
        if content["format"] != FORMAT:
            raise ValueError("another format")
        version = int(content["format_version"])
        about = _About(version, str(content["version"]), content.get("digest"))
    except _DAMAGED as error:
        raise InvalidInputError(f"{place} is not a model that Parsimon saved.") from error
    if about.format_version > FORMAT_VERSION or _release(about.version) > _release(__version__):
        raise InvalidInputError(
            f"The model {place} was saved by Parsimon {about.version}, which is newer than this "
            f"one ({__version__}); upgrade with: pip install --upgrade parsimon."
        )
    # Earlier files have no digest.
    if about.digest is not None and about.digest != _digest(data):
        raise InvalidInputError(
            f"The model {place} was changed after it was saved, or is damaged; save it again."
        )
    return about


def _digest(data: bytes) -> str:
    """Return a digest of the members of an archive; empty if one cannot be read."""
    found = hashlib.sha256()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in sorted(set(archive.namelist()) - {_ABOUT}):
                content = archive.read(name)
                found.update(f"{name}\n{len(content)}\n".encode())
                found.update(content)
    except _DAMAGED:
        return ""
    return found.hexdigest()


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version."""
    numbers = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in numbers.group().split(".")) if numbers else ()


def _is_allowed(name: str) -> bool:
    """Return whether a type is one of ours that holds data.

    A name that merely begins with "parsimon." may be a function, or something that one of our
    modules imports from elsewhere: both could do more than hold data.
    """
    if name in _HARMLESS | _OWN | _TREES:
        return True
    module, _, attribute = name.rpartition(".")
    if module.split(".")[0] != "parsimon":
        return False
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return False
    return (
        isinstance(found, type)
        and found.__module__ == module
        and (is_dataclass(found) or issubclass(found, BaseEstimator) or _is_named_tuple(found))
    )


def _is_named_tuple(found: type) -> bool:
    return issubclass(found, tuple) and hasattr(found, "_fields")
