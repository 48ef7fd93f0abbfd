"""Which row of a table is which tip, and what the regressions along a tree share."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice, finite_matrix, shorten
from parsimon._data import validate_data
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.tree import Tree
from parsimon.phylo.tree_gaussian import TreeGaussian

_MOST_LISTED = 12
# A column of text with this name holds the tips unless another is named.
TIP = "tip"


def row_names(table: Any, column: str | None = None) -> list[str]:
    """Return the name of each row: from a column, the index, the keys, or the sequence itself.

    Without `column` it is the one called "tip", if it is text, before the index.
    """
    column = tip_column(table) if column is None else column
    if column is not None:
        return _column(table, column)
    if isinstance(table, Mapping):
        return [str(key) for key in table]
    index = getattr(table, "index", None)
    if index is not None and not callable(index):
        return index_names(table)
    if isinstance(table, str):
        raise InvalidInputError(f"A sequence of names is needed, got the single text {table!r}.")
    if hasattr(table, "columns"):
        raise InvalidInputError(
            "A table without an index needs `column`, the name of the column with tip names."
        )
    return [str(label) for label in table]


def index_names(table: Any) -> list[str]:
    """Return the index of a pandas object as text."""
    # Once as an array: walking along an index of text is ten times as slow.
    labels = np.asarray(table.index, dtype=object).tolist()
    return [label if isinstance(label, str) else str(label) for label in labels]


def tip_column(table: Any) -> str | None:
    """Return the name of the column that holds tips without being named: "tip", if it is text."""
    if TIP not in list(getattr(table, "columns", ())):
        return None
    labels = np.asarray(table[TIP])
    is_text = labels.ndim == 1 and any(isinstance(label, str) for label in labels.tolist())
    return TIP if is_text else None


def match_names(tree: Tree, names: list[str]) -> Indices:
    """Return the position among the tips of each name, or say which are not there."""
    position = tree.position
    unknown = [label for label in names if label not in position]
    if unknown:
        raise InvalidInputError(_mismatch(tree, names, unknown))
    return np.array([position[label] for label in names], dtype=np.intp)


def _mismatch(tree: Tree, names: list[str], unknown: list[str]) -> str:
    given = set(names)
    absent = [label for label in tree.tip_names if label not in given]
    message = (
        f"{len(unknown)} of {len(names)} names are not tips of the tree: "
        f"{shorten(unknown, _MOST_LISTED)}."
    )
    if absent:
        message += f" Tips without a row: {shorten(absent, _MOST_LISTED)}."
    tips = set(tree.tip_names)
    if all(label.replace(" ", "_") in tips for label in unknown):
        return message + " They would match with underscores in place of spaces."
    if all(label.replace("_", " ") in tips for label in unknown):
        return message + " They would match with spaces in place of underscores."
    return message + " Remove these rows, or correct the names."


def _column(table: Any, column: str) -> list[str]:
    columns = [str(label) for label in getattr(table, "columns", ())]
    if column not in columns:
        raise InvalidInputError(
            f"The table has no column {column!r}; it has {shorten(columns) or 'no columns'}."
        )
    return [str(label) for label in table[column]]


def trait_table(values: Any) -> tuple[list[str], Array, tuple[str, ...]]:
    """Return the names of rows, the numbers, shape (n, k), and the names of columns."""
    traits: tuple[str, ...] = ("trait",)
    if isinstance(values, dict):
        names, numbers = [str(key) for key in values], list(values.values())
    elif hasattr(values, "columns"):
        names, column = row_names(values), tip_column(values)
        kept = [name for name in values.columns if name != column]
        numbers, traits = values[kept].to_numpy(), tuple(str(name) for name in kept)
    elif hasattr(values, "index") and not callable(values.index):
        names, numbers, traits = row_names(values), values.to_numpy(), (str(values.name),)
    else:
        raise InvalidInputError(
            "values must be a DataFrame or a Series whose index holds tip names, a DataFrame with "
            f"a column called {TIP}, or a dict, got {type(values).__name__}."
        )
    array = np.asarray(numbers)
    return names, finite_matrix(array[:, None] if array.ndim == 1 else array, "values"), traits


_HOW = (
    "Give a pandas DataFrame whose index holds tip names (in a Pipeline, "
    'set_output(transform="pandas") keeps it), a data frame with a column called tip, or '
    "`tips`: the name of a column with tip names, or the number of a column of an array with tip "
    "names or positions in tree.tip_names."
)


def split_tips(X: Any, tree: Tree | None, tips: str | int | None) -> tuple[Any, Indices | None]:
    """Return the features, and the position among the tips of the tree of each row.

    Shapes: X (n, d).
    """
    features, positions = find_tips(X, tree, tips)
    _check_numbers(features)
    return features, positions


def find_tips(X: Any, tree: Tree | None, tips: str | int | None) -> tuple[Any, Indices | None]:
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
    if tree is not None and not isinstance(tree, Tree):
        raise InvalidInputError(
            f"tree must be a Tree, got {type(tree).__name__}; read_tree makes one."
        )


def tip_gaussian(tree: Tree | None, positions: Indices | None) -> TreeGaussian | None:
    """Return the Gaussian of rows at these tips, None without a tree."""
    if tree is None or positions is None:
        return None
    check_one_row_a_tip(tree, positions)
    return TreeGaussian(tree, tips=positions)


def check_one_row_a_tip(tree: Tree, positions: Indices) -> None:
    """Refuse two rows of one tip in a fit."""
    counts = np.bincount(positions, minlength=tree.n_tips)
    if (counts > 1).any():
        names = [tree.tip_names[place] for place in np.flatnonzero(counts > 1)]
        raise InvalidInputError(
            f"These tips have more than one row: {shorten(names)}. Average the rows of each tip."
        )


def check_same_order(y: Any, tree: Tree, positions: Indices | None) -> None:
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


def _from_index(X: Any, tree: Tree) -> Indices:
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


def _from_codes(column: Any, tree: Tree) -> Indices:
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


def feature_names(model: Any) -> list[str]:
    """Return the names of the columns of a fitted model; x0, x1 and so on if they have none."""
    names = getattr(model, "feature_names_in_", None)
    return (
        [f"x{j}" for j in range(model.n_features_in_)] if names is None else list(map(str, names))
    )


class TreeRegressor(RegressorMixin, BaseEstimator):
    """Rows find their tips, and relatives take part in predictions."""

    tree: Tree | None
    tips: str | int | None
    prediction: Literal["conditional", "marginal"]
    _y: Array

    def predict(self, X: Any, return_std: bool = False, *, prediction: str | None = None) -> Any:
        """Predict the target of tips, new or not.

        Shapes: X (m, d) -> (m,).
        """
        check_is_fitted(self)
        kind = self.prediction if prediction is None else prediction
        check_choice("prediction", kind, ["conditional", "marginal"])
        features, positions = split_tips(X, self.tree, self.tips)
        features = validate_data(self, features, dtype=np.float64, reset=False)
        nodes = None if self.tree is None else self.tree.tips[positions]
        mean, sd = self.at_nodes(features, nodes, kind)
        return (mean, sd) if return_std else mean

    def _read(self, X: Any, y: Any) -> tuple[Array, Indices | None]:
        """Return features and the positions of tips, and keep the target."""
        features, positions = split_tips(X, self.tree, self.tips)
        if self.tree is not None:
            check_same_order(y, self.tree, positions)
        features, y = validate_data(self, features, y, dtype=np.float64, y_numeric=True)
        self._y = np.asarray(y, dtype=np.float64)
        return features, positions

    @abstractmethod
    def at_nodes(self, features: Array, nodes: Indices | None, kind: str) -> tuple[Array, Array]:
        """Return means and standard deviations at nodes of the tree with these features."""


def relatives(
    gaussian: TreeGaussian | None,
    rest: Array,
    columns: Array,
    new: Array,
    covariance: Array,
    *,
    nodes: Indices | None,
    kind: str,
) -> tuple[Array, Array, Array]:
    r"""Return what relatives add to a regression line at nodes, shape (m,) each.

    That is what is added to the line, the variance of the residual over its rate, and the
    variance from the weights, which may be negative for a line beside relatives.

    With columns X and targets y of the rows, estimated weights of covariance :math:`\Sigma` and
    the covariances :math:`v` of a node with the rows, the *conditional* prediction is
    :math:`x^T w + v^T V^{-1} (y - X w)`, and its weights are unsure by
    :math:`l^T \Sigma\, l` with :math:`l = x - X^T V^{-1} v`. The *marginal* prediction is
    :math:`x^T w` alone. Estimated weights and the residual of a relative deviate together, so that
    it is unsure by :math:`x^T \Sigma\, x - 2 x^T \Sigma\, X^T V^{-1} v`.

    Shapes: rest (n,), columns (n, p), new (m, p), covariance (p, p), nodes (m,).
    """
    if gaussian is None:
        unsure = np.einsum("ij,jk,ik->i", new, covariance, new)
        return np.zeros(len(new)), np.ones(len(new)), unsure
    known = gaussian.conditional(np.column_stack([rest, columns]))
    # What relatives say about a column is known without regression.
    expected = known.mean[nodes, 1:]
    if kind == "conditional":
        left = new - expected
        unsure = np.einsum("ij,jk,ik->i", left, covariance, left)
        return known.mean[nodes, 0], known.variance[nodes], unsure
    unsure = np.einsum("ij,jk,ik->i", new, covariance, new - 2.0 * expected)
    return np.zeros(len(new)), gaussian.marginal_variance()[nodes], unsure


def mean_unsure(gaussian: TreeGaussian, *, nodes: Indices | None, kind: str) -> Array:
    """Return the variance, over the rate, from a constant that is the plain mean of the rows.

    Shapes: nodes (m,).
    """
    with_mean = gaussian.covariance_with_mean()
    variance = float(np.mean(with_mean[gaussian.nodes]))
    if kind == "marginal":
        return variance - 2.0 * with_mean[nodes]
    left = 1.0 - gaussian.conditional(np.ones(len(gaussian.nodes))).mean[nodes]
    return variance * left**2
