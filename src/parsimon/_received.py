"""Texts and archives that someone else may have written: looked at before they are taken in.

How deep a text is nested is counted before anything reads it by recursion; what an archive unpacks
to, and how large its arrays say they are, is compared with the file before memory is taken.
"""

import json
import re
import zipfile
from typing import IO, Any

import numpy as np

from parsimon.exceptions import InvalidInputError

# No file of ours comes near; each level costs a reader some calls inside each other.
DEEPEST = 100
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NO_BRACKET = re.compile(r"[^\[\]{}]+")
# Bytes that an archive may always unpack to, and one of its members; beyond, so many for each of
# its own. What is mostly zeros shrinks more, and is then stored as it is.
_FREE, _FREE_MEMBER, _RATIO = 2**30, 2**26, 100


def read_json(text: str | bytes, deepest: int = DEEPEST) -> Any:
    """Return what a JSON text holds; a ValueError says that it is none, or nested too deep."""
    text = text if isinstance(text, str) else text.decode("utf-8")
    brackets = _NO_BRACKET.sub("", _STRING.sub("", text))
    marks = np.frombuffer(brackets.encode("ascii"), dtype=np.uint8)
    depth = np.cumsum(np.where(np.isin(marks, (91, 123)), 1, -1)).max(initial=0)
    if depth > deepest:
        raise InvalidInputError(f"it is nested {depth} levels deep, and {deepest} are read")
    return json.loads(text)


def check_sizes(archive: zipfile.ZipFile) -> None:
    """Refuse an archive that unpacks to far more than it is, or whose arrays claim to."""
    members = archive.infolist()
    packed = sum(member.compress_size for member in members)
    total = sum(member.file_size for member in members)
    if total > max(_FREE, _RATIO * packed):
        raise InvalidInputError(f"its {packed:,} bytes unpack to {total:,}")
    for member in members:
        if member.file_size > max(_FREE_MEMBER, _RATIO * member.compress_size):
            raise InvalidInputError(
                f"{member.filename} has {member.compress_size:,} bytes that unpack to "
                f"{member.file_size:,}"
            )
        if member.filename.endswith(".npy"):
            with archive.open(member) as file:
                array_shape(file, member.file_size)
        elif member.filename.endswith(".npz"):
            with archive.open(member) as file, zipfile.ZipFile(file) as inner:
                check_sizes(inner)


def array_shape(file: IO[bytes], size: int) -> tuple[int, ...]:
    """Return the shape of an array in NumPy's format, refusing one that is not as long as it says.

    size: Bytes of the file, header included.
    """
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read = np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    count = 1
    for length in shape:
        count *= int(length)
    held = size - file.tell()
    if dtype.hasobject or count * dtype.itemsize != held or (count and not dtype.itemsize):
        raise InvalidInputError(
            f"an array of shape {shape} and type {dtype} has {held:,} bytes in the file"
        )
    return tuple(int(length) for length in shape)
