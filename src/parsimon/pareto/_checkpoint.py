"""Checkpoints: one file that holds all a search needs to go on to the same bits.

The file is a NumPy archive of plain arrays with a JSON header; reading it runs no code. It is
written beside its place and then moved there, so that a crash leaves the old file or the new one,
never half of either.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from parsimon._checks import check_count, check_positive
from parsimon._received import check_sizes, read_json
from parsimon._typing import AnyArray
from parsimon._writing import warn_if_unwritten, whole_file
from parsimon.exceptions import CheckpointError

FORMAT = "parsimon search 1"


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a search saves its state.

    If the file exists the search resumes from it: the outcome is that of a run without
    interruption, bit for bit. A finished search can be given a larger ``max_iter`` and goes on.
    The file knows the settings of the search and the name of the evaluated function, not the data
    inside it; put what tells your data apart into `label`.

    Parameters
    ----------
    path : str or Path
        Customarily with the ending .npz.
    every : int or None
        Save after this many generations,
    seconds : float or None
        or when this much time has passed since the last time. It is saved at the end too, also of
        an interrupted run and of one that an error ended, unless an archive was changing then.
    label : str
        A file with another label is refused.
    resume : bool
        False starts anew and overwrites the file.

    Examples
    --------
    >>> Checkpoint("search.npz", every=10, seconds=None).every
    10
    """

    path: str | Path
    every: int | None = 100
    seconds: float | None = 60.0
    label: str = ""
    resume: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if self.every is not None:
            check_count("every", self.every)
        if self.seconds is not None:
            check_positive("seconds", self.seconds, or_zero=True)

    def is_due(self, n_iter: int, seconds: float) -> bool:
        """Tell whether to save after this generation, `seconds` after the last time."""
        by_count = self.every is not None and n_iter % self.every == 0
        return by_count or (self.seconds is not None and seconds >= self.seconds)


def as_checkpoint(given: "Checkpoint | str | Path | None") -> Checkpoint | None:
    """Return a checkpoint from what a user gives: one, a path, or nothing."""
    return given if given is None or isinstance(given, Checkpoint) else Checkpoint(given)


def write_checkpoint(
    path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> None:
    """Write header and arrays to `path`, all or nothing; what cannot be written is a warning."""
    text = json.dumps({"format": FORMAT, **header})
    with warn_if_unwritten(), whole_file(path) as file:
        np.savez(file, header=np.array(text), **arrays)  # type: ignore[arg-type]


def read_checkpoint(path: str | Path) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return what `write_checkpoint` wrote, refusing other files."""
    try:
        # Opened here, because NumPy leaves a broken archive open.
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            check_sizes(stored.zip)
            arrays = {name: stored[name] for name in stored.files}
        header = read_json(str(arrays.pop("header")))
        found = header.pop("format")
    except (
        OSError,
        ValueError,
        KeyError,
        EOFError,
        AttributeError,
        TypeError,
        RecursionError,
        BadZipFile,
    ) as error:
        raise CheckpointError(
            f"{path} is not a checkpoint of a search; remove it or name another file."
        ) from error
    if found != FORMAT:
        raise CheckpointError(
            f"{path} has the format {found!r} but {FORMAT!r} is read here; name another file."
        )
    return header, arrays


def check_settings(path: str | Path, stored: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Refuse a checkpoint that another search wrote."""
    for name in sorted({*stored, *wanted}):
        if stored.get(name) != wanted.get(name):
            raise CheckpointError(
                f"{path} was written with {name} = {stored.get(name)} but this search has "
                f"{wanted.get(name)}; name another file or give Checkpoint(..., resume=False)."
            )


def describe_option(value: Any) -> str:
    """Return a text for an option that is the same in the next process."""
    if value is None or isinstance(value, (str, int, float, tuple)):
        return repr(value)
    if is_dataclass(value) and not isinstance(value, type):
        return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
