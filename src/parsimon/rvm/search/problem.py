"""What is searched over: a design, two classes, and which of the rows are the same row."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices, Mask
from parsimon._weights import checked_weights
from parsimon.exceptions import InvalidInputError


class Rows(NamedTuple):
    """The distinct rows of a problem, stored so that a column is contiguous.

    columns (n_columns, n_distinct): The transposed design, one entry for each distinct row.
    which (n,): The distinct row of each row.
    """

    columns: Array
    which: Indices


@dataclass(frozen=True, eq=False)
class Problem:
    """Two classes to be told apart by a few columns of a design.

    design (n, n_columns): All basis functions at all training rows; column 0 is the bias if
        there is one.
    labels (n,): 0 or 1; both occur.
    has_bias: Whether column 0 is a column of ones, which counts as no relevance vector.
    row_weights (n,): How many times each row counts, in the fit and in the rates.
    inputs (n, n_features): What the design was computed from: rows with equal inputs are
        treated as one row with a weight, and homogeneous partitions walk through them. The
        design itself if left out.
    """

    design: Array
    labels: Array
    has_bias: bool = False
    row_weights: Array | None = None
    inputs: Array | None = None

    def __post_init__(self) -> None:
        if self.design.ndim != 2 or self.design.shape[0] != len(self.labels):
            raise InvalidInputError(
                f"The design has shape {self.design.shape} and there are {len(self.labels)} "
                "labels; give one row of the design for each label."
            )
        if not np.isfinite(self.design).all():
            raise InvalidInputError("The design holds NaN or infinite entries; check the kernel.")
        if not np.isin(self.labels, (0, 1)).all():
            raise InvalidInputError("Labels must be 0 or 1; encode the two classes first.")
        if min(self.class_weights) <= 0:
            raise InvalidInputError(
                "Only one class occurs in the rows that count; rates need rows of both."
            )
        if self.has_bias and self.n_columns < 2:
            raise InvalidInputError("The design holds the bias alone; give it a basis function.")

    @property
    def n_rows(self) -> int:
        """How many rows there are, repeated ones included."""
        return len(self.labels)

    @property
    def n_columns(self) -> int:
        """How many basis functions there are, the bias included."""
        return int(self.design.shape[1])

    @cached_property
    def weights(self) -> Array:
        """How many times each row counts, shape (n,)."""
        return checked_weights(self.row_weights, len(self.labels))

    @property
    def class_weights(self) -> tuple[float, float]:
        """Total weight of the rows labelled 0 and of those labelled 1."""
        ones = float(self.weights @ self.labels)
        return float(self.weights.sum()) - ones, ones

    @property
    def places(self) -> Array:
        """Where each row is, for distances between rows: the inputs, else the design."""
        return self.design if self.inputs is None else self.inputs

    @cached_property
    def rows(self) -> Rows:
        """The distinct rows, in the order of their first occurrence."""
        _, first, which = np.unique(self.places, axis=0, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        order = np.argsort(first)
        rank[order] = np.arange(len(first))
        columns = np.ascontiguousarray(self.design[first[order]].T, dtype=np.float64)
        return Rows(columns, rank[which.ravel()])

    def counts(self, chosen: Mask) -> tuple[Array, Array]:
        """Return how many of the chosen rows of each class each distinct row stands for.

        Shapes: chosen (k, n) -> (k, n_distinct).
        """
        which, n_distinct = self.rows.which, self.rows.columns.shape[1]
        tables = [np.empty((len(chosen), n_distinct)) for _ in range(2)]
        for table, own in zip(tables, (self.labels, 1.0 - self.labels), strict=True):
            for part, rows in enumerate(chosen):
                table[part] = np.bincount(which, self.weights * own * rows, n_distinct)
        return tables[0], tables[1]
