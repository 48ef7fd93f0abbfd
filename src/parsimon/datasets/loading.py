"""Load a data set by name as scikit-learn's Bunch.

Read `load`, then `assemble`, which decides what is a feature, what is the target and what is
neither. A folder of data has tables, trees, arrays and splits. A table is comma-separated with a
header row, plain or compressed with gzip; empty cells are missing. Its last column is the target
when it is named ``target``, with a ``split`` column before it where the source gives one; ``tip``
comes first where rows are the tips of a tree.
"""

import difflib
import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import did_you_mean, shorten
from parsimon._data import holds_classes
from parsimon._typing import AnyArray
from parsimon.datasets.catalogue import (
    BUNDLED,
    FOLDER_VARIABLE,
    DataFiles,
    Entry,
    catalogue_name,
    data_folder,
    describe_files,
    find_files,
    known,
    names,
)
from parsimon.exceptions import DatasetNotFoundError, InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

TARGET = "target"
# Days of a window of closes, and from one window to the next.
_WINDOW, _STEP = 80, 20
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


_SPLIT, _TIP = "split", "tip"


def load(name: str, *, target: str | None = None) -> Any:
    """Load a data set by name.

    The bundled tables need nothing else; see `names`. Other data sets are read from the folder
    that the environment variable ``PARSIMON_DATA`` names. Values are never changed: a missing
    cell is NaN, and ``DESCR`` says how many there are.

    Parameters
    ----------
    name : str
        Upper and lower case are the same, and so are ``-`` and ``_``.
    target : str, optional
        Column to predict instead of the usual one, which then becomes a feature.

    Returns
    -------
    sklearn.utils.Bunch
        ``frame``
            DataFrame of shape (n, n_features + 1), the target last; without a target, the
            features alone.
        ``data``, ``target``
            DataFrame of the features; Series of the target, or None.
        ``feature_names``, ``target_names``
            List of columns; array of the sorted classes, None for a numeric target.
        ``left_out``
            DataFrame of the columns that are not features: row numbers, identifiers, copies of
            the target.
        ``DESCR``
            What the data are, who collected them, missing cells, licence.
        ``split``, ``splits``, ``tips``, ``newick``, ``tree_path``
            Only where the source gives them: "train" or "test" for each row; a list of
            (train, test) row numbers, which scikit-learn takes as ``cv``; the tip of each row in
            the tree; the tree's text and file.

    Raises
    ------
    DatasetNotFoundError
        If there is no such name, or its file is not here; the message says how to get it.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> crabs = load("crabs")
    >>> crabs.data.shape, crabs.target_names.tolist()
    ((200, 6), ['female', 'male'])
    >>> load("crabs", target="species").target_names.tolist()
    ['blue', 'orange']
    >>> len(load("sp500").target), load("sp500_windows").data.shape
    (3333, (163, 80))
    """
    key = catalogue_name(name)
    entry = known().get(key)
    if entry is not None and entry.where == BUNDLED:
        return _load_bundled(entry, target)
    folder = data_folder()
    here = {} if folder is None else find_files(folder)
    if key not in here:
        raise _not_found(name, entry)
    return _load_from_folder(key, here, target)


def _load_from_folder(key: str, here: Mapping[str, DataFiles], target: str | None) -> Any:
    entry, paths = describe_files(key, here[key]), here[key]
    more: dict[str, Any] = {}
    tree = paths.get("tree") or here.get(entry.tree, {}).get("tree")
    if tree is not None:
        more |= {"newick": read_newick(tree), "tree_path": tree}
    if entry.kind == "tree":
        return _tree_alone(entry, target, more)
    if "splits" in paths:
        more |= read_splits(paths["splits"])
    if entry.kind == "arrays":
        frame, arrays = read_arrays(paths["arrays"])
        more |= arrays
    else:
        frame = read_table(paths["table"])
    usual = TARGET if frame.columns[-1] == TARGET else None
    description = _description(entry, str(paths[entry.kind]))
    return assemble(frame, entry, usual, target, DESCR=description, **more)


def _load_bundled(entry: Entry, target: str | None) -> Any:
    folder = files("parsimon.datasets") / "tables"
    description = (folder / f"{entry.name}.md").read_text(encoding="utf-8")
    of, derive = _DERIVED.get(entry.name, (entry.name, None))
    with (folder / f"{of}.csv.gz").open("rb") as file:
        frame = read_table(file, text_target=entry.classes != "number")
    if derive is not None:
        frame = derive(frame)
    return assemble(frame, entry, frame.columns[-1], target, DESCR=description)


def _without_impossible_zeros(pima: "pd.DataFrame") -> "pd.DataFrame":
    """Return the 724 x 4 form of He (2016, table 6.1): no living woman has these at zero."""
    possible = (pima[["glucose", "blood_pressure", "bmi"]] > 0).all(axis=1)
    kept = pima.loc[possible, ["glucose", "bmi", "pedigree", "age", "diabetes"]]
    return kept.reset_index(drop=True)


def _windows_of_days(sp500: "pd.DataFrame") -> "pd.DataFrame":
    """Return the 163 x 80 windows of Mierswa (2009, section 7.5), and the next close of each."""
    import pandas as pd

    close = sp500["close"].to_numpy()
    windows = np.lib.stride_tricks.sliding_window_view(close, _WINDOW + 1)[::_STEP]
    days = [f"day_{day}" for day in range(1, _WINDOW + 1)]
    return pd.DataFrame(windows.copy(), columns=[*days, "next"])


# Bundled names that are made from the table of another.
_DERIVED: Mapping[str, tuple[str, Callable[["pd.DataFrame"], "pd.DataFrame"]]] = {
    "pima_cleaned": ("pima", _without_impossible_zeros),
    "sp500_windows": ("sp500", _windows_of_days),
}


def assemble(
    frame: "pd.DataFrame", entry: Entry, usual: str | None, wanted: str | None, **more: Any
) -> Any:
    """Return the Bunch: features, target, and apart from them what is neither."""
    from sklearn.utils import Bunch

    apart = {}
    if usual is not None and frame.shape[1] > 1 and frame.columns[-2] == _SPLIT:
        apart["split"] = frame[_SPLIT]
        frame = frame.drop(columns=_SPLIT)
    if frame.columns[0] == _TIP:
        apart["tips"] = frame[_TIP]
        frame = frame.drop(columns=_TIP)
    target = usual if wanted is None else _checked_target(wanted, list(frame.columns), entry.name)
    left_out = [name for name in entry.left_out if name in frame.columns and name != target]
    features = [name for name in frame.columns if name not in {target, *left_out}]
    labels = None if target is None else frame[target]
    return Bunch(
        name=entry.name,
        frame=frame[features if target is None else [*features, target]],
        data=frame[features],
        target=labels,
        feature_names=features,
        target_names=None if labels is None else _classes(labels),
        left_out=frame[left_out],
        **apart,
        **more,
    )


def _checked_target(wanted: str, columns: Sequence[str], name: str) -> str:
    if wanted not in columns:
        hint = did_you_mean(wanted, columns)
        raise InvalidInputError(
            f"{name} has no column {wanted!r} to predict.{hint} Columns: {shorten(columns, 12)}."
        )
    return wanted


def _classes(labels: "pd.Series[Any]") -> AnyArray | None:
    """Return the sorted classes, or None for a number."""
    present = labels.dropna().to_numpy()
    if not holds_classes(present):
        return None
    classes = np.unique(present)
    return classes.astype(str) if classes.dtype.kind in "OUS" else classes


def _tree_alone(entry: Entry, target: str | None, tree: dict[str, Any]) -> Any:
    from sklearn.utils import Bunch

    if target is not None:
        raise InvalidInputError(f"{entry.name} is a tree without a table: it has no target.")
    return Bunch(
        name=entry.name,
        frame=None,
        data=None,
        target=None,
        feature_names=[],
        target_names=None,
        left_out=None,
        DESCR=_description(entry, str(tree["tree_path"])),
        **tree,
    )


def _description(entry: Entry, path: str) -> str:
    """Return the text of DESCR for a data set of the folder."""
    if not entry.description:
        return f"# {entry.name}\n\nRead from {path}. Parsimon's catalogue does not describe it.\n"
    lines = [f"# {entry.name}", "", f"{entry.description}.", ""]
    if entry.missing:
        lines.append(f"- Missing cells: {entry.missing}, left as NaN.")
    if entry.left_out:
        lines.append(f"- Not features, in `left_out`: {', '.join(entry.left_out)}.")
    lines += [f"- Source: {entry.source}.", f"- Licence as stated there: {entry.licence}."]
    return "\n".join([*lines, f"- Read from {path}.", ""])


def _not_found(name: str, entry: Entry | None) -> DatasetNotFoundError:
    folder = data_folder()
    if entry is not None:
        seen = (
            f"{entry.name} is not bundled, and {FOLDER_VARIABLE} is not set."
            if folder is None
            else f"{entry.name} is not bundled, and {FOLDER_VARIABLE} ({folder}) does not hold it."
        )
        return DatasetNotFoundError(
            f"{seen} Get it from {entry.source}, save it as {entry.file_name} "
            f"{_convention(entry)} in a folder, and set {FOLDER_VARIABLE} to that folder."
        )
    return DatasetNotFoundError(f"There is no data set called {name!r}. {_suggestion(name)}")


def _convention(entry: Entry) -> str:
    if entry.kind == "tree":
        return "(Newick)"
    if entry.kind == "arrays":
        return "(arrays X_train, y_train, X_test, y_test)"
    return (
        "(a header row, the target last in a column named target)"
        if entry.classes
        else "(a header row)"
    )


def _suggestion(name: str) -> str:
    """Return the nearest names, or else all that is bundled."""
    from parsimon import datasets

    key = catalogue_name(name).removeprefix("make_")
    if hasattr(datasets, f"make_{key}"):
        return f"It is generated: call parsimon.datasets.make_{key}(n, random_state=0)."
    close = difflib.get_close_matches(key, {*known(), *names()}, n=3)
    nearest = f"Did you mean {' or '.join(close)}? " if close else ""
    bundled = ", ".join(entry.name for entry in known().values() if entry.where == BUNDLED)
    others = (
        f"others need {FOLDER_VARIABLE} set to a folder of data"
        if data_folder() is None
        else f"`parsimon datasets` lists those of {FOLDER_VARIABLE}"
    )
    return f"{nearest}Bundled: {bundled}; {others}."
