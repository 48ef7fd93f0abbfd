"""The one way in which files are written: whole or not at all, and never through a link.

What is written goes to a new file beside its place, whose name nobody can know before; when it is
whole and on the disk it takes its place. Errors, full disks and interrupts leave what was there.
`tests/test_architecture.py` sees to it that no other module opens a file for writing.
"""

import errno
import os
import secrets
import stat
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from parsimon._interrupts import undisturbed
from parsimon.exceptions import CheckpointWarning, OutputError

# How the files end that wait to take their place; a process that is killed leaves some.
WAITING = ".part"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_NEW |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FULL = (errno.ENOSPC, errno.EDQUOT)
# Letters of a name that the file beside it repeats: no file system allows more than 255 bytes.
_REPEATED = 40
_DOORS = ("/dev", "/dev/fd", "/proc/self/fd")
_Waiting = list[tuple[Path, Path]]
_together: ContextVar[_Waiting | None] = ContextVar("together", default=None)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file to write bytes to; at the end of the block it takes the place of `path`.

    A link at `path` is replaced, not followed; a file there leaves its permissions to the new one.
    What is no file (a pipe, a terminal) is written to as it comes.
    """
    place = Path(path)
    with _naming(place):
        if _is_stream(place):
            with place.open("wb") as file:
                yield file
            return
        with _file_beside(place, 0o666) as (beside, file):
            _take_permissions(place, beside)
            yield file
            _finish(file)
            waiting = _together.get()
            if waiting is None:
                _move([(beside, place)])
            else:
                waiting.append((beside, place))


def write_file(path: str | os.PathLike[str], content: bytes | str) -> Path:
    """Write a file whole or not at all, texts as UTF-8; return its path."""
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return Path(path)


@contextmanager
def all_or_none() -> Iterator[None]:
    """Let the files that are written in the block take their places at its end, or none of them."""
    waiting: _Waiting = []
    token = _together.set(waiting)
    try:
        yield
        _move(waiting)
    finally:
        _together.reset(token)
        for beside, _ in waiting:
            beside.unlink(missing_ok=True)


@contextmanager
def warn_if_unwritten() -> Iterator[None]:
    """Let a search go on with a warning if its checkpoint cannot be written in the block."""
    try:
        yield
    except OutputError as error:
        warnings.warn(
            f"{error} The work goes on, and is not kept there until that is mended.",
            CheckpointWarning,
            stacklevel=3,
        )


def write_secret(path: Path, content: bytes) -> None:
    """Write a file for this user's eyes alone, unless there is one already."""
    with _naming(path), _file_beside(path, 0o600) as (beside, file):
        file.write(content)
        _finish(file)
        # Unlike a move, a second name never replaces what another run has put there meanwhile.
        with suppress(FileExistsError):
            os.link(beside, path)
        beside.unlink()


@contextmanager
def scratch_folder(files: Mapping[str, bytes]) -> Iterator[Path]:
    """Give a folder of one's own that holds these files, and remove it at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="parsimon-") as name:
        folder = Path(name)
        for file, content in files.items():
            with _naming(folder / file):
                (folder / file).write_bytes(content)
        yield folder


@contextmanager
def _file_beside(place: Path, mode: int) -> Iterator[tuple[Path, BinaryIO]]:
    """Give the path of a new file beside a place, and the file; an error removes it."""
    name = f".{place.name[:_REPEATED]}.{secrets.token_hex(8)}{WAITING}"
    beside = place.with_name(name)
    descriptor = os.open(beside, _NEW, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield beside, file
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _finish(file: BinaryIO) -> None:
    """Write what is left to the disk, and close the file."""
    file.flush()
    os.fsync(file.fileno())
    file.close()


def _move(waiting: _Waiting) -> None:
    """Put files that are whole into their places, and see to it that the disk knows of it."""
    with undisturbed():
        for beside, place in waiting:
            with _naming(place):
                os.replace(beside, place)
    for folder in {place.parent for _, place in waiting} if hasattr(os, "O_DIRECTORY") else ():
        # Not every file system can; the files themselves are safe by now.
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _is_stream(place: Path) -> bool:
    """Return whether a place is no file but a door: /dev/stdout, >(a process), a pipe."""
    if str(place.absolute().parent) in _DOORS:
        return True
    try:
        mode = place.stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _take_permissions(place: Path, beside: Path) -> None:
    """Let a new file be read and written by whom the file that it replaces is."""
    with suppress(OSError):
        there = place.lstat()
        if stat.S_ISREG(there.st_mode):
            beside.chmod(stat.S_IMODE(there.st_mode) & 0o777)


@contextmanager
def _naming(place: Path) -> Iterator[None]:
    """Say of an error of the system which file could not be written, and what to do."""
    try:
        yield
    except (OutputError, BrokenPipeError):
        raise
    except OSError as error:
        if error.errno in _FULL:
            said = f"The disk is full: {place} could not be written; free some space on it."
        else:
            why = (error.strerror or str(error)).rstrip(".")
            said = f"{place} could not be written: {why[:1].lower()}{why[1:]}."
        raise OutputError(said) from error
