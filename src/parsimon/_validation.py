"""Checks at the border: the only module that touches scikit-learn's private tools."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError


def finite_matrix(values: Any, name: str = "values") -> Array:
    """Return `values` as a float matrix of shape (n, m), refusing NaN and infinities."""
    try:
        matrix = np.array(values, dtype=np.float64, ndmin=2)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be numbers, got {error}.") from error
    if matrix.ndim != 2:
        raise InvalidInputError(
            f"{name} must have two dimensions (rows, columns), got shape {matrix.shape}."
        )
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InvalidInputError(
            f"{name} must be finite, but {bad.sum()} of {bad.size} are not "
            f"(first: row {row}, column {column}). Remove or replace them."
        )
    return matrix


def finite_vector(values: Any, name: str = "values") -> Array:
    """Return `values` as a float vector, refusing NaN and infinities."""
    vector = np.asarray(values)
    if vector.ndim != 1:
        raise InvalidInputError(f"{name} must be one-dimensional, got shape {vector.shape}.")
    return finite_matrix(vector[:, None], name)[:, 0]


def binary_labels(y: Any, positive: Any = None) -> tuple[Indices, Any]:
    """Return 0/1 codes and the label that became 1.

    Without `positive` it is the greater label in sorted order, as in scikit-learn.
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidInputError(f"Labels must be one-dimensional, got shape {labels.shape}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InvalidInputError("Labels hold NaN or infinity. Remove those rows.")
    classes = np.unique(labels)
    if len(classes) != 2:
        raise InvalidInputError(
            f"Two classes are needed, got {len(classes)}: {shorten(classes.tolist())}."
        )
    label = classes[1] if positive is None else positive
    if label not in classes:
        raise InvalidInputError(
            f"The positive label {positive!r} is not among the classes {classes.tolist()}."
        )
    return (labels == label).astype(np.intp), label


def shorten(items: Sequence[Any], most: int = 5) -> str:
    """Return the first few items as text, for error messages."""
    shown = ", ".join(str(item) for item in items[:most])
    return shown if len(items) <= most else f"{shown}, ... ({len(items)} in all)"
