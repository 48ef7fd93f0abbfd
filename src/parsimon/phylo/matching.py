"""Which row of a table is which tip."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._typing import Array, Indices
from parsimon._validation import finite_matrix, shorten
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from parsimon.phylo.tree import Tree

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


def match_names(tree: "Tree", names: list[str]) -> Indices:
    """Return the position among the tips of each name, or say which are not there."""
    position = tree.position
    unknown = [label for label in names if label not in position]
    if unknown:
        raise InvalidInputError(_mismatch(tree, names, unknown))
    return np.array([position[label] for label in names], dtype=np.intp)


def _mismatch(tree: "Tree", names: list[str], unknown: list[str]) -> str:
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
