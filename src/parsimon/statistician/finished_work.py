"""What a long analysis has finished, kept in a folder so that a run that was killed can go on.

Each finished piece (a search of the table or of an outer fold, all models on a fold, a study) is
one file: a line that says what it belongs to, with a checksum and a signature, then a pickle. A
pickle can run code when it is read, and a folder may come out of somebody's archive: a file is
unpickled only if its signature was made with the key that lies in this user's own configuration
folder, for a file of that name and this work. Nobody else can make one.
"""

import hashlib
import hmac
import os
import pickle
import re
import secrets
import stat
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from parsimon import __version__
from parsimon._writing import WAITING, warn_if_unwritten, write_file, write_secret
from parsimon.exceptions import CheckpointWarning, InvalidInputError
from parsimon.statistician.prepare.frames import fingerprint

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

_FORMAT = "parsimon-finished-work-2"
_EARLIER = "parsimon-finished-work-1"
_ENDING = ".done"
_KEY_BYTES = 32
Place = tuple[int, ...]
# The results do not depend on these options; what was finished within a limit stays finished.
# A tree counts with what is asked of the table.
_INDIFFERENT = frozenset(
    {"n_jobs", "verbose", "time_limit", "name", "command", "checkpoint", "tree"}
)


class FinishedWork:
    """Results of the stages of an analysis, by their places; without a folder nothing is kept.

    key: Digest of everything that the results depend on; files with another one are ignored.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, key: str = "") -> None:
        self._folder = None if folder is None else Path(folder)
        self._key, self._secret = key, b""
        self._told: set[str] = set()
        if self._folder is not None:
            _own_folder(self._folder)
            self._secret = own_secret()

    def under(self, *further: object) -> "FinishedWork":
        """Return the same folder for results that depend on something more."""
        if self._folder is None:
            return self
        key = hashlib.sha256(repr((self._key, *further)).encode()).hexdigest()
        return FinishedWork(self._folder, key)

    def read(self, stage: str, places: Iterable[Place]) -> dict[Place, Any]:
        """Return the results that are kept of some places."""
        found = {}
        for place in places if self._folder is not None else ():
            path = self._path(stage, place)
            if os.path.lexists(path):
                try:
                    found[place] = self._content(path)
                except _UnusableFileError as error:
                    self._warn(path, str(error))
        return found

    def write(self, stage: str, place: Place, result: Any) -> None:
        """Keep a result: a whole file or none; if it cannot be written, that is a warning."""
        if self._folder is None:
            return
        path = self._path(stage, place)
        content = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
        digest = hashlib.sha256(content).hexdigest()
        about = f"{_FORMAT} {self._key} {digest} {self._signature(path, digest)}\n"
        with warn_if_unwritten():
            write_file(path, about.encode() + content)

    def once(self, stage: str, make: Callable[[], T]) -> T:
        """Return what an earlier run kept of a stage, or make and keep it."""
        known = self.read(stage, [(0,)])
        if known:
            return cast(T, known[0,])
        made = make()
        self.write(stage, (0,), made)
        return made

    @classmethod
    def of(
        cls,
        folder: str | os.PathLike[str] | None,
        frame: "pd.DataFrame",
        asked: tuple[Any, ...],
        options: Any,
    ) -> "FinishedWork":
        """Keep what is asked of a table with these options; without a folder keep nothing."""
        return NOTHING_KEPT if folder is None else cls(folder, work_key(frame, asked, options))

    def _path(self, stage: str, place: Place) -> Path:
        assert self._folder is not None
        return self._folder / f"{'_'.join([stage, *map(str, place)])}{_ENDING}"

    def _content(self, path: Path) -> Any:
        if not _is_own(path, stat.S_IFREG):
            raise _UnusableFileError("is a link, or others may write to it")
        about, _, content = path.read_bytes().partition(b"\n")
        words = about.decode("ascii", errors="replace").split(" ")
        if words[0] == _EARLIER:
            raise _UnusableFileError("was kept by an earlier version of Parsimon")
        if len(words) != 4 or words[0] != _FORMAT:
            raise _UnusableFileError("is not a file of finished work")
        if words[1] != self._key:
            raise _UnusableFileError("belongs to another table, other options or other versions")
        if hashlib.sha256(content).hexdigest() != words[2]:
            raise _UnusableFileError("is damaged")
        if not hmac.compare_digest(self._signature(path, words[2]), words[3]):
            raise _UnusableFileError("was not kept by you on this computer")
        return pickle.loads(content)

    def _signature(self, path: Path, digest: str) -> str:
        """Return what only this user can write of a content at this place."""
        signed = f"{_FORMAT} {path.name} {self._key} {digest}"
        return hmac.new(self._secret, signed.encode(), "sha256").hexdigest()

    def _warn(self, path: Path, reason: str) -> None:
        """Say what is wrong with a file, once for all that have the same fault."""
        if reason not in self._told:
            self._told.add(reason)
            warnings.warn(
                f"{path} {reason}; such files are ignored, and their work is done again.",
                CheckpointWarning,
                stacklevel=3,
            )


NOTHING_KEPT = FinishedWork()


class _UnusableFileError(Exception):
    """Says what is wrong with a file."""


def forget_work(folder: str | os.PathLike[str]) -> None:
    """Remove the files of finished work, and the folder if nothing else is in it."""
    place = Path(folder)
    if not place.is_dir() or place.is_symlink():
        return
    for path in place.iterdir():
        if re.fullmatch(rf"\.?[\w-]+\{_ENDING}(\.\w+\{WAITING})?", path.name):
            path.unlink(missing_ok=True)
    if not any(place.iterdir()):
        place.rmdir()


def work_key(frame: "pd.DataFrame", asked: tuple[Any, ...], options: Any) -> str:
    """Return a digest of a table's cells, of what is asked of it, and of options and versions.

    options: A mapping or a dataclass; estimators in it count with all that is pickled of them.
    """
    from importlib.metadata import version

    libraries = [version(name) for name in ("numpy", "scipy", "scikit-learn", "pandas")]
    if not isinstance(options, Mapping):
        options = {field.name: getattr(options, field.name) for field in fields(options)}
    chosen = [(name, _spell(one)) for name, one in options.items() if name not in _INDIFFERENT]
    columns = [(repr(name), repr(kind)) for name, kind in frame.dtypes.items()]
    about = repr((__version__, sys.version_info[:3], libraries, asked, chosen, columns))
    digest = hashlib.sha256(about.encode())
    digest.update(fingerprint(frame).encode())
    return digest.hexdigest()


def _spell(value: Any) -> str:
    """Return a text that is the same in the next process for an equal value."""
    if value is None or isinstance(value, str | int | float):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_spell, value))})"
    try:
        return hashlib.sha256(pickle.dumps(value)).hexdigest()
    except (pickle.PicklingError, AttributeError, TypeError):
        return repr(value)


def own_secret() -> bytes:
    """Return the key of this user, which is made when it is first needed."""
    place = Path("resume.key")
    try:
        place = _settings_folder() / place
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.path.lexists(place):
            write_secret(place, secrets.token_bytes(_KEY_BYTES))
        own = _is_own(place.parent, stat.S_IFDIR) and _is_own(place, stat.S_IFREG, 0o077)
        content = place.read_bytes() if own else b""
    except (OSError, RuntimeError) as error:
        raise InvalidInputError(
            f"What is kept for a later run is signed with a key in {place}, which cannot be read "
            "or written; let XDG_CONFIG_HOME name a folder of your own."
        ) from error
    if len(content) != _KEY_BYTES:
        why = "is damaged" if own else "is not yours alone to read and write"
        raise InvalidInputError(f"The key {place} {why}; remove it, and a new one is made.")
    return content


def _settings_folder() -> Path:
    """Return where this user's programs keep their settings."""
    if os.name == "nt":
        return Path(os.environ.get("APPDATA") or Path.home()) / "parsimon"
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".config") / "parsimon"


def _own_folder(folder: Path) -> None:
    """Make a folder that only this user may write to, or refuse another's."""
    if not os.path.lexists(folder):
        if not folder.absolute().parent.is_dir():
            raise InvalidInputError(f"The folder {folder.parent} does not exist; make it first.")
        folder.mkdir(mode=0o700)
    if folder.is_symlink():
        raise InvalidInputError(f"{folder} is a link; give a folder of your own.")
    if not folder.is_dir():
        raise InvalidInputError(f"{folder} is a file; give a folder for finished work.")
    if not _is_own(folder, stat.S_IFDIR):
        raise InvalidInputError(
            f"Others may write to {folder}, or own it; finished work is kept in a folder of your "
            "own: remove this one, or take their rights away with chmod 700."
        )


def _is_own(path: Path, kind: int, others: int = 0o022) -> bool:
    """Return whether a path is of this kind, this user's, and without these rights of others."""
    about = path.lstat()
    if not hasattr(os, "getuid"):
        return stat.S_IFMT(about.st_mode) == kind
    return (
        stat.S_IFMT(about.st_mode) == kind
        and about.st_uid == os.getuid()
        and not about.st_mode & others
    )
