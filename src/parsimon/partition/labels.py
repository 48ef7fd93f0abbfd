"""What splitting a table asks of class labels."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from parsimon._typing import AnyArray, Indices
from parsimon.exceptions import InvalidInputError


def complete_vector(y: Any, n_rows: int, name: str = "y") -> AnyArray:
    """Return numbers or text as a vector of n_rows values, none of them missing."""
    values = np.asarray(y)
    if values.ndim != 1:
        raise InvalidInputError(f"{name} must be one-dimensional, got shape {values.shape}.")
    if len(values) != n_rows:
        raise InvalidInputError(f"X has {n_rows} rows, but {name} has {len(values)}.")
    if values.dtype.kind == "O":
        missing = np.array([value is None or value != value for value in values], dtype=np.bool_)
    else:
        missing = values != values
    if values.dtype.kind == "f":
        missing |= np.isinf(values)
    if missing.any():
        raise InvalidInputError(
            f"{missing.sum()} of {len(values)} values of {name} are missing or infinite "
            f"(first: row {np.argmax(missing)}). Remove those rows."
        )
    return values


def class_rows(y: Any, *, n_rows: int, at_least: int) -> list[Indices]:
    """Return the rows of each class, classes in sorted order."""
    labels = complete_vector(y, n_rows)
    if type_of_target(labels) not in {"binary", "multiclass"}:
        raise InvalidInputError("y must hold classes to stratify by, but it holds real numbers.")
    classes, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if sizes.min() < at_least:
        raise InvalidInputError(
            f"Class {classes[sizes.argmin()]!s} has {sizes.min()} of the {at_least} rows that it "
            "needs, one for each part. Ask for fewer parts, or merge or drop that class."
        )
    return [np.flatnonzero(codes == code) for code in range(len(classes))]
