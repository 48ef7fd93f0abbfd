"""How the rows of a table find their tips inside scikit-learn."""

from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import Indices
from parsimon._validation import shorten
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.gaussian import TreeGaussian
from parsimon.phylo.matching import index_names, match_names, tip_column

if TYPE_CHECKING:
    from parsimon.phylo.tree import Tree

_HOW = (
    "Give a pandas DataFrame whose index holds tip names (in a Pipeline, "
    'set_output(transform="pandas") keeps it), a data frame with a column called tip, or '
    "`tips`: the name of a column with tip names, or the number of a column of an array with tip "
    "names or positions in tree.tip_names."
)


def split_tips(X: Any, tree: "Tree | None", tips: str | int | None) -> tuple[Any, Indices | None]:
    """Return the features, and the position among the tips of the tree of each row.

    Shapes: X (n, d).
    """
    features, positions = find_tips(X, tree, tips)
    _check_numbers(features)
    return features, positions


def find_tips(X: Any, tree: "Tree | None", tips: str | int | None) -> tuple[Any, Indices | None]:
    """Do what `split_tips` does for a table whose other columns need not be numbers."""
    tips = tip_column(X) if tips is None else tips
    if tips is None:
        return X, None if tree is None else _from_index(X, tree)
    if isinstance(tips, bool) or not isinstance(tips, str | int | np.integer):
        raise InvalidInputError(f"tips must be None, a column name or a number, got {tips!r}.")
    if isinstance(tips, str) or hasattr(X, "columns"):
        features, labels = _frame_column(X, tips)
        return features, None if tree is None else match_names(tree, [str(name) for name in labels])
    array = np.asarray(X)
    if array.ndim != 2 or not -array.shape[1] <= tips < array.shape[1]:
        raise InvalidInputError(f"X of shape {array.shape} has no column {tips} with tips.")
    features = np.delete(array, tips, axis=1)
    return features, None if tree is None else _from_codes(array[:, tips], tree)


def check_tree(tree: Any) -> None:
    """Refuse what is neither a tree nor None."""
    from parsimon.phylo.tree import Tree

    if tree is not None and not isinstance(tree, Tree):
        raise InvalidInputError(
            f"tree must be a Tree, got {type(tree).__name__}; read_tree makes one."
        )


def tip_gaussian(tree: "Tree | None", positions: Indices | None) -> TreeGaussian | None:
    """Return the Gaussian of rows at these tips, None without a tree."""
    if tree is None or positions is None:
        return None
    check_one_row_a_tip(tree, positions)
    return TreeGaussian(tree, tips=positions)


def check_one_row_a_tip(tree: "Tree", positions: Indices) -> None:
    """Refuse two rows of one tip in a fit."""
    counts = np.bincount(positions, minlength=tree.n_tips)
    if (counts > 1).any():
        names = [tree.tip_names[place] for place in np.flatnonzero(counts > 1)]
        raise InvalidInputError(
            f"These tips have more than one row: {shorten(names)}. Average the rows of each tip."
        )


def check_same_order(y: Any, tree: "Tree", positions: Indices | None) -> None:
    """Refuse a target with the names of tips in another order than the rows at these tips."""
    if positions is None or not _has_index(y):
        return
    theirs = index_names(y)
    if not any(name in tree.position for name in theirs):
        return
    ours = [tree.tip_names[place] for place in positions.tolist()]
    if ours != theirs:
        rows = min(len(ours), len(theirs))
        first = next((i for i in range(rows) if ours[i] != theirs[i]), rows)
        raise InvalidInputError(
            f"The rows of X and y have different names, first in row {first}. Put them in the "
            "same order, as with y.loc[X.index]."
        )


def _check_numbers(features: Any) -> None:
    """Refuse data frames without columns, or with text in one, and say which."""
    if hasattr(features, "columns") and not len(features.columns):
        raise InvalidInputError("X has no columns of features.")
    for column in _text_columns(features):
        for label in np.asarray(features[column]).tolist():
            if isinstance(label, str) and not _is_number(label):
                raise InvalidInputError(
                    f"The column {column!r} holds text, such as {label!r}, and features must be "
                    "numbers. Encode it or leave it out; if it names the tips, give "
                    f"tips={column!r}."
                )


def _text_columns(table: Any) -> list[Any]:
    """Return the columns of a data frame that are neither numbers nor dates."""
    arrays = {name: np.asarray(table[name]) for name in getattr(table, "columns", ())}
    return [
        name for name, cells in arrays.items() if cells.ndim == 1 and cells.dtype.kind in "OUST"
    ]


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def _has_index(table: Any) -> bool:
    return hasattr(table, "index") and not callable(table.index)


def _from_index(X: Any, tree: "Tree") -> Indices:
    if not _has_index(X):
        raise InvalidInputError(f"Rows cannot be matched to the tree. {_HOW}")
    names = index_names(X)
    if not names:
        raise InvalidInputError("X has no rows.")
    if not any(name in tree.position for name in names):
        for column in _text_columns(X):
            if any(str(label) in tree.position for label in np.asarray(X[column])):
                raise InvalidInputError(
                    f"No row is a tip of the tree by its index, but the column {column!r} holds "
                    f"tips: give tips={column!r}."
                )
        raise InvalidInputError(
            f"No row is a tip of the tree: the index holds {shorten(names)}, the tips are "
            f"{shorten(tree.tip_names)}. {_HOW}"
        )
    return match_names(tree, names)


def _frame_column(X: Any, tips: str | int) -> tuple[Any, list[Any]]:
    import narwhals as nw

    frame: Any = nw.from_native(X, eager_only=True, pass_through=True)
    if not hasattr(frame, "columns") or not hasattr(frame, "get_column"):
        raise InvalidInputError(f"tips={tips!r} names a column, but X is not a data frame. {_HOW}")
    name = tips if isinstance(tips, str) else dict(enumerate(frame.columns)).get(int(tips))
    if name not in frame.columns:
        raise InvalidInputError(
            f"X has no column {tips!r} with tips; it has {shorten(list(frame.columns))}."
        )
    return frame.drop(name).to_native(), frame.get_column(name).to_list()


def _from_codes(column: Any, tree: "Tree") -> Indices:
    if column.dtype.kind in "OUS" and any(isinstance(label, str) for label in column):
        return match_names(tree, [str(label) for label in column])
    codes = np.asarray(column, dtype=np.float64)
    whole = (codes == np.floor(codes)) & (codes >= 0) & (codes < tree.n_tips)
    if not whole.all():
        bad = codes[~whole].tolist()
        raise InvalidInputError(
            f"The column of tips must hold positions 0 to {tree.n_tips - 1} of tree.tip_names, "
            f"got {shorten(bad)}. Leave it out of scaling."
        )
    return codes.astype(np.intp)
