"""What a search has measured, kept in a file, so that it can go on after an interruption.

The search itself is a deterministic function of its measurements. Resuming is therefore running
it again with a memory: what was measured is looked up, the rest is computed. A file also serves
a deeper or wider search of the same data. Kernels are plain JSON data, bit for bit, and are read
back without running code.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from parsimon import kernels
from parsimon._received import read_json
from parsimon._writing import warn_if_unwritten, write_file
from parsimon.exceptions import CheckpointError
from parsimon.gp._kernel_evaluation import FailedFit, FoldFits, KernelProblem, WholeFit
from parsimon.kernels import Kernel, Product, Sum
from parsimon.kernels.combination import Combination
from parsimon.kernels.leaf import Leaf, as_leaf

_OPERATORS: dict[str, type[Combination]] = {"sum": Sum, "product": Product}


def kernel_to_data(kernel: Kernel) -> dict[str, Any]:
    """Return a kernel as nested dictionaries of numbers and texts."""
    for name, operator in _OPERATORS.items():
        if isinstance(kernel, operator):
            return {name: [kernel_to_data(term) for term in kernel.terms]}
    leaf: Any = as_leaf(kernel)
    values = {field.name: getattr(leaf, field.name) for field in fields(leaf) if field.init}
    plain = {name: list(own) if isinstance(own, tuple) else own for name, own in values.items()}
    return {"leaf": type(leaf).__name__, **plain}


def kernel_from_data(data: Mapping[str, Any], types: Mapping[str, type[Kernel]]) -> Kernel:
    """Return the kernel that `kernel_to_data` wrote; only leaves of these types are made."""
    for name, operator in _OPERATORS.items():
        if name in data:
            return operator(tuple(kernel_from_data(term, types) for term in data[name]))
    values = {
        name: tuple(own) if isinstance(own, list) else own
        for name, own in data.items()
        if name != "leaf"
    }
    if data.get("leaf") not in types:
        raise CheckpointError(
            f"There is no kernel {data.get('leaf')!r} in this search; name another file."
        )
    return types[data["leaf"]](**values)


def leaf_types(more: Iterable[Kernel] = ()) -> dict[str, type[Kernel]]:
    """Return the leaves of this package by name, and those that occur in `more`."""
    own = (getattr(kernels, name) for name in kernels.__all__)
    types: dict[str, type[Kernel]] = {
        kind.__name__: kind for kind in own if isinstance(kind, type) and issubclass(kind, Leaf)
    }
    for kernel in more:
        if isinstance(kernel, Combination):
            types |= leaf_types(kernel.terms)
        else:
            types[type(kernel).__name__] = type(kernel)
    return types


FORMAT = "parsimon kernel search 1"
# Seconds between two writes of the file; it is written at the end too.
_EVERY = 2.0


Measurement: TypeAlias = WholeFit | FoldFits | FailedFit


class SearchMemory:
    """Measurements by kernel and stage; with a path, also in a JSON file.

    path: Read if it exists; written atomically.
    settings: What the measurements depend on; a file with other settings is refused.
    types: Leaves that the file may name.
    """

    def __init__(
        self,
        path: str | Path | None,
        settings: Mapping[str, str],
        types: Mapping[str, type[Kernel]],
    ) -> None:
        self._path = None if path is None else Path(path)
        self._settings, self._types = dict(settings), types
        self._records: dict[str, dict[str, Any]] = {}
        self._saved_at, self._is_saved = time.monotonic(), True
        if self._path is None:
            return
        if not self._path.parent.is_dir():
            raise CheckpointError(
                f"The folder {self._path.parent} of the checkpoint does not exist."
            )
        if self._path.exists():
            self._records = self._read(self._path)

    def recall(self, stage: str, kernel: Kernel) -> Measurement | None:
        """Return the measurement of a stage that began with this kernel, if there is one."""
        record = self._records.get(_key(stage, kernel))
        return None if record is None else _from_data(record, self._types)

    def store(self, stage: str, kernel: Kernel, measurement: Measurement) -> None:
        """Remember a measurement; the file is written every few seconds."""
        self._records[_key(stage, kernel)] = _to_data(measurement)
        self._is_saved = False
        if time.monotonic() - self._saved_at >= _EVERY:
            self.save()

    def save(self) -> None:
        """Write the file if something is new, all or nothing; warn if it cannot be written."""
        if self._path is None or self._is_saved:
            return
        content = {"format": FORMAT, "settings": self._settings, "records": self._records}
        with warn_if_unwritten():
            write_file(self._path, json.dumps(content))
            self._is_saved = True
        self._saved_at = time.monotonic()

    def _read(self, path: Path) -> dict[str, dict[str, Any]]:
        stored, records = read_settings(path), read_json(path.read_text("utf-8"))["records"]
        for name in sorted({*stored, *self._settings}):
            if stored.get(name) != self._settings.get(name):
                raise CheckpointError(
                    f"{path} was written with {name} = {stored.get(name)} but this search has "
                    f"{self._settings.get(name)}; name another file or remove it."
                )
        return records


def read_settings(path: str | Path) -> dict[str, str]:
    """Return the settings that a file was written with, refusing other files."""
    try:
        content = read_json(Path(path).read_text("utf-8"))
        found, settings = content["format"], dict(content["settings"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(
            f"{path} is not a checkpoint of a kernel search; remove it or name another file."
        ) from error
    if found != FORMAT:
        raise CheckpointError(
            f"{path} has the format {found!r} but {FORMAT!r} is read here; name another file."
        )
    return settings


def stored_seed(path: str | Path | None) -> int | None:
    """Return the seed of the search that wrote the file, None if there is no file."""
    if path is None or not Path(path).exists():
        return None
    return int(read_settings(path)["seed"])


def data_digest(problem: KernelProblem) -> str:
    """Return a short text that tells the data and the folds of a problem apart from others."""
    digest = hashlib.sha256(repr(problem.X.shape).encode())
    digest.update(np.ascontiguousarray(problem.X).tobytes())
    digest.update(np.ascontiguousarray(problem.y).tobytes())
    for train, test in problem.folds:
        for rows in (train, test):
            digest.update(np.asarray(rows, dtype=np.int64).tobytes() + b"|")
    return digest.hexdigest()[:16]


def _key(stage: str, kernel: Kernel) -> str:
    return f"{stage} {json.dumps(kernel_to_data(kernel))}"


def _to_data(measurement: Measurement) -> dict[str, Any]:
    data = measurement._asdict()
    if isinstance(measurement, WholeFit):
        data["kernel"] = kernel_to_data(measurement.kernel)
    return data


def _from_data(data: Mapping[str, Any], types: Mapping[str, type[Kernel]]) -> Measurement:
    if "message" in data:
        return FailedFit(**data)
    if "errors" in data:
        return FoldFits(*(tuple(data[name]) for name in FoldFits._fields))
    return WholeFit(**{**data, "kernel": kernel_from_data(data["kernel"], types)})
