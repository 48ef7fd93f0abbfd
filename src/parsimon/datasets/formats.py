"""Read the files of a folder of data: tables, trees, arrays and splits.

A table is comma-separated with a header row, plain or compressed with gzip; empty cells are
missing. Its last column is the target when it is named ``target``, with a ``split`` column before
it where the source gives one; ``tip`` comes first where rows are the tips of a tree.
"""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import AnyArray
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

TARGET = "target"
_TRAIN_AND_TEST = ("X_train", "y_train", "X_test", "y_test")


def read_table(file: Path | IO[bytes], *, text_target: bool = False) -> "pd.DataFrame":
    """Return the table; `text_target` keeps labels such as 0 and 1 as text."""
    import pandas as pd

    compressed = not isinstance(file, Path) or file.name.lower().endswith(".gz")
    with readable(file):
        # Only an empty cell is missing: the text "NA" or "None" may be a label.
        frame = pd.read_csv(
            file,
            compression="gzip" if compressed else None,
            na_values=[""],
            keep_default_na=False,
            low_memory=False,
        )
    if text_target:
        frame = frame.astype({frame.columns[-1]: str})
    return frame


def read_newick(path: Path) -> str:
    """Return the text of a tree."""
    with readable(path):
        content = path.read_bytes()
        if path.name.lower().endswith(".gz"):
            content = gzip.decompress(content)
        return content.decode("utf-8").strip()


def read_arrays(path: Path) -> tuple["pd.DataFrame", dict[str, AnyArray]]:
    """Return training and test rows as one frame, and the other arrays of the file.

    Columns are ``x1``, ``x2``, ... then ``split`` and ``target``.
    """
    import pandas as pd

    arrays = _read_npz(path, _TRAIN_AND_TEST)
    X = np.vstack([arrays.pop("X_train"), arrays.pop("X_test")])
    labels = [arrays.pop("y_train"), arrays.pop("y_test")]
    frame = pd.DataFrame(X, columns=[f"x{column}" for column in range(1, X.shape[1] + 1)])
    apart = pd.DataFrame(
        {
            "split": np.repeat(["train", "test"], [len(part) for part in labels]),
            TARGET: np.concatenate(labels),
        }
    )
    return pd.concat([frame, apart], axis=1), arrays


def read_splits(path: Path) -> dict[str, Any]:
    """Return `splits`, a list of (train, test) row numbers, and the other arrays of the file."""
    arrays = _read_npz(path, ("train", "test"))
    pairs = zip(arrays.pop("train"), arrays.pop("test"), strict=True)
    # Signed and wide: the files hold 16 bits without a sign, where subtraction would wrap.
    splits = [(train.astype(np.intp), test.astype(np.intp)) for train, test in pairs]
    return {"splits": splits, **arrays}


def _read_npz(path: Path, needed: tuple[str, ...]) -> dict[str, AnyArray]:
    with readable(path), np.load(path, allow_pickle=False) as archive:
        arrays = dict(archive)
    missing = [name for name in needed if name not in arrays]
    if missing:
        raise InvalidInputError(
            f"{path} must hold arrays named {', '.join(needed)}, but {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing."
        )
    return arrays


@contextmanager
def readable(file: Path | IO[bytes]) -> Iterator[None]:
    """Turn what a broken file raises into one sentence that names the file."""
    from zipfile import BadZipFile
    from zlib import error as ZlibError

    try:
        yield
    except (OSError, EOFError, ValueError, BadZipFile, ZlibError) as error:
        raise InvalidInputError(
            f"{file} cannot be read ({type(error).__name__}: {error}). "
            f"Replace it with an unbroken copy."
        ) from error
