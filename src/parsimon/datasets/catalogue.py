"""What can be loaded: the bundled tables, and those in the folder that `PARSIMON_DATA` names.

`catalogue.csv` describes every data set that Parsimon knows, so that listing them opens no table
and an error can say where one that is not here comes from.
"""

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from parsimon.exceptions import InvalidInputError

FOLDER_VARIABLE = "PARSIMON_DATA"
BUNDLED = "bundled"

_SPLITS = "_splits"
# Longest first: ".csv.gz" must not be taken for a ".gz".
_SUFFIXES = {
    ".csv.gz": "table",
    ".csv": "table",
    ".nwk.gz": "tree",
    ".nwk": "tree",
    ".npz": "arrays",
}
_USUAL_SUFFIX = {"table": ".csv.gz", "tree": ".nwk", "arrays": ".npz"}


@dataclass(frozen=True)
class Entry:
    """One data set that can be loaded by name, and what is known about it.

    `features` counts the columns a model may use; `classes` is a count, ``"number"`` for a
    numeric target, or empty without a target; `left_out` names the columns that are not features.
    """

    name: str
    where: str
    kind: str
    rows: int | None = None
    features: int | None = None
    classes: str = ""
    missing: int | None = None
    left_out: tuple[str, ...] = ()
    tree: str = ""
    description: str = ""
    source: str = ""
    licence: str = ""

    @property
    def file_name(self) -> str:
        """The file that holds it in the folder of data."""
        return self.name + _USUAL_SUFFIX[self.kind]


# The files in the folder of data that share one name, by kind.
DataFiles: TypeAlias = Mapping[str, Path]


def names() -> list[str]:
    """Return the names that `load` accepts here, sorted.

    Those of the bundled tables always; those of the files in the folder that the environment
    variable ``PARSIMON_DATA`` names, when it is set.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from parsimon.datasets import names
    >>> "iris" in names()
    True
    """
    return sorted(entry.name for entry in loadable())


def loadable() -> list[Entry]:
    """Return what can be loaded here: the bundled tables, then the files of the folder."""
    bundled = [entry for entry in known().values() if entry.where == BUNDLED]
    folder = data_folder()
    if folder is None:
        return bundled
    present = find_files(folder)
    # A bundled table wins over a file of the same name: the name gives the same data everywhere.
    others = sorted(set(present) - {entry.name for entry in bundled})
    return bundled + [describe_files(name, present[name]) for name in others]


def describe_files(name: str, files_of_name: DataFiles) -> Entry:
    """Return what is known about files of the folder; of a user's own files, only the kind."""
    # A table before arrays, arrays before a bare tree.
    kind = next((kind for kind in ("table", "arrays") if kind in files_of_name), "tree")
    entry = known().get(name)
    if entry is None:
        return Entry(name=name, where=FOLDER_VARIABLE, kind=kind)
    return replace(entry, kind=kind)


@cache
def known() -> Mapping[str, Entry]:
    """Return every data set of the catalogue by name."""
    text = (files("parsimon.datasets") / "catalogue.csv").read_text(encoding="utf-8")
    entries = (_entry(row) for row in csv.DictReader(text.splitlines()))
    return MappingProxyType({entry.name: entry for entry in entries})


def _entry(row: dict[str, str]) -> Entry:
    numbers = {key: int(row[key]) if row[key] else None for key in ("rows", "features", "missing")}
    more: dict[str, Any] = {**row, **numbers, "left_out": tuple(row["left_out"].split())}
    return Entry(**more)


def catalogue_name(name: str) -> str:
    """Return the name as the catalogue spells it."""
    if not isinstance(name, str):
        raise InvalidInputError(f"The name of a data set must be text, got {type(name).__name__}.")
    return name.strip().lower().replace("-", "_")


def data_folder() -> Path | None:
    """Return the folder that `PARSIMON_DATA` names, or None when it is not set."""
    value = os.environ.get(FOLDER_VARIABLE, "").strip()
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise InvalidInputError(
            f"{FOLDER_VARIABLE} is set to {value!r}, which is not a folder. "
            f"Set it to the folder that holds the data files, or unset it."
        )
    return folder


def find_files(folder: Path) -> dict[str, DataFiles]:
    """Return the data files of a folder, grouped by the name that loads them."""
    groups: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        suffix = next((end for end in _SUFFIXES if path.name.lower().endswith(end)), None)
        if suffix is None:
            # Notes, or aligned sequences (FASTA), which are neither table nor tree.
            continue
        name, kind = catalogue_name(path.name[: -len(suffix)]), _SUFFIXES[suffix]
        if kind == "arrays" and name.endswith(_SPLITS):
            name, kind = name.removesuffix(_SPLITS), "splits"
        groups.setdefault(name, {}).setdefault(kind, path)
    # Splits without their table cannot be loaded.
    return {name: paths for name, paths in groups.items() if set(paths) != {"splits"}}
