"""What a long analysis has finished, kept in a folder so that a run that was killed can go on.

Each finished piece (a search of the table or of an outer fold, all models on a fold, a study) is
one file: a line that says what it belongs to and a checksum, then a pickle. A file is written
beside its place and moved there, so that there is a whole one or none. A pickle can run code: a
folder or file of another user is never read.
"""

import hashlib
import os
import pickle
import re
import sys
import warnings
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsimon import __version__
from parsimon.exceptions import CheckpointWarning, InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

_FORMAT = "parsimon-finished-work-1"
_ENDING = ".done"
Place = tuple[int, ...]
# The results do not depend on these options; what was finished within a limit stays finished.
_INDIFFERENT = frozenset({"n_jobs", "verbose", "time_limit"})


class FinishedWork:
    """Results of the stages of an analysis, by their places; without a folder nothing is kept.

    key: Digest of everything that the results depend on; files with another one are ignored.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, key: str = "") -> None:
        self._folder = None if folder is None else Path(folder)
        self._key = key
        if self._folder is not None:
            _own_folder(self._folder)

    def read(self, stage: str, places: Iterable[Place]) -> dict[Place, Any]:
        """Return the results that are kept of some places."""
        found = {}
        for place in places if self._folder is not None else ():
            path = self._path(stage, place)
            if path.is_file():
                try:
                    found[place] = self._content(path)
                except _UnusableFileError as error:
                    warnings.warn(
                        f"{path} {error}; it is ignored, and its work done again.",
                        CheckpointWarning,
                        stacklevel=2,
                    )
        return found

    def write(self, stage: str, place: Place, result: Any) -> None:
        """Keep a result: a whole file or none."""
        if self._folder is None:
            return
        path = self._path(stage, place)
        content = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
        about = f"{_FORMAT} {self._key} {hashlib.sha256(content).hexdigest()}\n"
        beside = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with beside.open("wb") as file:
                file.write(about.encode() + content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)

    def first(self, stage: str, value: Any) -> Any:
        """Return what an earlier run kept of a stage, or keep and return this value."""
        known = self.read(stage, [(0,)])
        if not known:
            self.write(stage, (0,), value)
        return known.get((0,), value)

    def _path(self, stage: str, place: Place) -> Path:
        assert self._folder is not None
        return self._folder / f"{'_'.join([stage, *map(str, place)])}{_ENDING}"

    def _content(self, path: Path) -> Any:
        if not _is_own(path):
            raise _UnusableFileError("belongs to another user")
        about, _, content = path.read_bytes().partition(b"\n")
        words = about.decode("ascii", errors="replace").split(" ")
        if len(words) != 3 or words[0] != _FORMAT:
            raise _UnusableFileError("is not a file of finished work")
        if words[1] != self._key:
            raise _UnusableFileError("belongs to another table, other options or other versions")
        if hashlib.sha256(content).hexdigest() != words[2]:
            raise _UnusableFileError("is damaged")
        return pickle.loads(content)


NOTHING_KEPT = FinishedWork()


class _UnusableFileError(Exception):
    """Says what is wrong with a file."""


def forget_work(folder: str | os.PathLike[str]) -> None:
    """Remove the files of finished work, and the folder if nothing else is in it."""
    place = Path(folder)
    if not place.is_dir():
        return
    for path in place.iterdir():
        if re.fullmatch(rf"\.?[\w-]+\{_ENDING}(\.\d+\.part)?", path.name):
            path.unlink(missing_ok=True)
    if not any(place.iterdir()):
        place.rmdir()


def work_key(frame: "pd.DataFrame", asked: tuple[Any, ...], options: Any) -> str:
    """Return a digest of a table's cells, of what is asked of it, and of options and versions.

    options: A dataclass; estimators in it count with all that is pickled of them.
    """
    from importlib.metadata import version

    libraries = [version(name) for name in ("numpy", "scipy", "scikit-learn", "pandas")]
    chosen = [
        (field.name, _spelled(getattr(options, field.name)))
        for field in fields(options)
        if field.name not in _INDIFFERENT
    ]
    columns = [(repr(name), repr(kind)) for name, kind in frame.dtypes.items()]
    about = repr((__version__, sys.version_info[:3], libraries, asked, chosen, columns))
    digest = hashlib.sha256(about.encode())
    digest.update(frame.to_csv(index=False).encode())
    return digest.hexdigest()


def _spelled(value: Any) -> str:
    """Return a text that is the same in the next process for an equal value."""
    if value is None or isinstance(value, str | int | float):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_spelled, value))})"
    try:
        return hashlib.sha256(pickle.dumps(value)).hexdigest()
    except (pickle.PicklingError, AttributeError, TypeError):
        return repr(value)


def _own_folder(folder: Path) -> None:
    """Make a folder that only this user may write to, or refuse another's."""
    if not folder.exists():
        if not folder.absolute().parent.is_dir():
            raise InvalidInputError(f"The folder {folder.parent} does not exist; make it first.")
        folder.mkdir(mode=0o700)
    if not folder.is_dir():
        raise InvalidInputError(f"{folder} is a file; give a folder for finished work.")
    if not _is_own(folder):
        raise InvalidInputError(
            f"Others may write to {folder}, and what is kept there can run code; give a folder of "
            "your own."
        )


def _is_own(path: Path) -> bool:
    """Return whether a file or folder is this user's, and not for all to write to."""
    if not hasattr(os, "getuid"):
        return True
    about = path.stat()
    return about.st_uid == os.getuid() and not about.st_mode & 0o002
