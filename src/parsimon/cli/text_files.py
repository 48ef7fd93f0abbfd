"""Files of text, packed or not: opening them, and the encodings that they can have."""

import bz2
import gzip
import io
import lzma
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from parsimon.exceptions import InvalidInputError

# Every file is Latin-1.
_UNMARKED = ("utf-8", "cp1252", "latin-1")
_MARKED = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_WITH_ZEROS = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_BLOCK = 1 << 20
# pandas needs some times the size of a text.
_TIMES_MEMORY = 4


def memory_size() -> int:
    """Return how many bytes of memory the machine has; a usual number where that is not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


@contextmanager
def open_text(path: Path, encoding: str, errors: str = "strict") -> Iterator[io.TextIOWrapper]:
    """Open a file, packed or not, as text; ends of lines stay as they are."""
    with (
        _open_bytes(path) as binary,
        io.TextIOWrapper(binary, encoding=encoding, errors=errors, newline="") as text,
    ):
        yield text


def _zip_member(path: Path) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    members = [one for one in archive.namelist() if not one.endswith("/")]
    if len(members) != 1:
        raise InvalidInputError(
            f"The archive {path} holds {len(members)} files; it must hold one table."
        )
    return archive.open(members[0])


def _zstandard(path: Path) -> IO[bytes]:
    try:
        import zstandard
    except ImportError as error:
        raise InvalidInputError(
            f"{path} is packed with Zstandard, which needs: pip install zstandard."
        ) from error
    return zstandard.open(path, "rb")


_UNPACKERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zip": _zip_member,
    ".zst": _zstandard,
}


def _open_bytes(path: Path) -> Any:
    unpack = _UNPACKERS.get(path.suffix.lower())
    return path.open("rb") if unpack is None else unpack(path)


def check_unpacked(path: Path) -> None:
    """Refuse a small file that unpacks to more than fits into memory."""
    if path.suffix.lower() not in _UNPACKERS:
        return
    most, size = memory_size() // _TIMES_MEMORY, 0
    with _open_bytes(path) as binary:
        while block := binary.read(_BLOCK):
            size += len(block)
            if size > most:
                raise InvalidInputError(
                    f"The table {path} unpacks to more than {most / 1e9:.1f} GB, which is too much "
                    "for the memory of this machine; give a part of it."
                )


def find_encodings(path: Path) -> Sequence[str]:
    """Return the encodings to try, in order; zero bytes are in those of two or four bytes only."""
    with _open_bytes(path) as binary:
        first = binary.read(4096)
    for mark, encoding in _MARKED.items():
        if first.startswith(mark):
            return (encoding,)
    if b"\x00" not in first:
        return _UNMARKED
    readable = {one: _plainness(first, one) for one in _WITH_ZEROS}
    best = max(readable, key=lambda one: readable[one])
    if not readable[best]:
        raise InvalidInputError(f"The table {path} holds zero bytes; save it as UTF-8 text.")
    return (best,)


def _plainness(data: bytes, encoding: str) -> int:
    """Return how many plain letters a piece of a file has in an encoding; 0 if it has none."""
    try:
        text = data[: len(data) // 4 * 4].decode(encoding)
    except UnicodeError:
        return 0
    return 0 if "\x00" in text else sum(one.isascii() for one in text)
