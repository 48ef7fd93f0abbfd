"""Families of basis functions: each fills the columns of a design matrix, and can be cut down.

A family knows how to write its functions at new rows into memory that was prepared for them, and
how to become the family of a few of its functions, which then costs only those few.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Kernel, MultiResolution
from parsimon.kernels.radial import squared_distances

# Entries of one piece of a design: 32 MB of temporary memory whatever the size of the whole.
_PIECE = 4_000_000


class Columns(Protocol):
    """Basis functions of one kind."""

    @property
    def n_columns(self) -> int:
        """Number of functions."""

    def fill(self, X: Array, out: Array) -> None:
        """Write the functions at the rows of X, shape (n, d), into `out`, (n, n_columns)."""

    def take(self, chosen: Indices) -> Self:
        """Return the chosen functions alone."""

    def describe(self, place: int, column: int) -> str:
        """Return a name for one function, which belongs to this row or feature."""


@dataclass(frozen=True, eq=False)
class KernelColumns:
    """One function for each centre: the kernel's similarity with it.

    Shapes: centres (m, d).

    kernel: ``kernel(X, Z)`` returns the similarities, shape (n, m).
    """

    kernel: Callable[[Any, Any], Any]
    centres: Array

    @property
    def n_columns(self) -> int:
        return len(self.centres)

    def fill(self, X: Array, out: Array) -> None:
        if isinstance(self.kernel, Kernel) and X is self.centres and out.size <= _PIECE:
            # A symmetric matrix costs half.
            out[:] = finite(self.kernel.gram(X), self.kernel)
            return
        for rows in _pieces(self.n_columns, len(X)):
            out[rows] = similarities(self.kernel, X[rows], self.centres)

    def take(self, chosen: Indices) -> Self:
        return type(self)(self.kernel, self.centres[chosen])

    def describe(self, place: int, column: int) -> str:  # noqa: ARG002 - one function for a row
        return f"row {place}"


@dataclass(frozen=True, eq=False)
class BumpColumns:
    r"""Gaussian bumps, each with its own width: :math:`\exp(-\|x - z_m\|^2 / r_m^2)`.

    Shapes: widths (m,).

    centres (m, d): One for each function, so that a centre with three widths is there three
        times.
    dictionary: Where they come from; it knows the columns of X that a distance is of.
    """

    centres: Array
    widths: Array
    dictionary: MultiResolution

    @property
    def n_columns(self) -> int:
        return len(self.widths)

    def fill(self, X: Array, out: Array) -> None:
        left, right = X, self.centres
        if self.dictionary.columns is not None:
            seen = list(self.dictionary.columns)
            left, right = X[:, seen], self.centres[:, seen]
        # Widths divide before squaring: tiny and huge tables neither vanish nor overflow.
        for width in np.unique(self.widths):
            own = np.flatnonzero(self.widths == width)
            scaled = right[own] / width
            for rows in _pieces(len(own), len(X)):
                bumps = squared_distances(left[rows] / width, scaled)
                out[rows, own] = np.exp(np.negative(bumps, out=bumps), out=bumps)

    def take(self, chosen: Indices) -> Self:
        return type(self)(self.centres[chosen], self.widths[chosen], self.dictionary)

    def describe(self, place: int, column: int) -> str:
        return f"row {place}, width {self.widths[column]:.3g}"


@dataclass(frozen=True, eq=False)
class TableColumns:
    """Columns of X themselves: features, or similarities that were computed before.

    Shapes: indices (m,).

    word: What an index counts: "feature" or "row".
    """

    indices: Indices
    word: str

    @property
    def n_columns(self) -> int:
        return len(self.indices)

    def fill(self, X: Array, out: Array) -> None:
        for rows in _pieces(self.n_columns, len(X)):
            out[rows] = X[rows, self.indices]

    def take(self, chosen: Indices) -> Self:
        return type(self)(self.indices[chosen], self.word)

    def describe(self, place: int, column: int) -> str:  # noqa: ARG002 - one function for a column
        return f"{self.word} {place}"


@dataclass(frozen=True, eq=False)
class DictionaryColumns:
    """The functions of an object with ``basis(X, centres)``, of which some are kept.

    Shapes: centres (c, d).

    dictionary: ``dictionary.basis(X, centres)`` returns all functions at X, shape (n, m).
    kept (k,): Indices among the m functions. All m are computed, since nothing is known of
        them.
    """

    dictionary: Any
    centres: Array
    kept: Indices

    @property
    def n_columns(self) -> int:
        return len(self.kept)

    def fill(self, X: Array, out: Array) -> None:
        width = max(int(self.kept.max(initial=0)) + 1, len(self.centres))
        for rows in _pieces(width, len(X)):
            values = dictionary_values(self.dictionary, X[rows], self.centres)
            out[rows] = values[:, self.kept]

    def take(self, chosen: Indices) -> Self:
        return type(self)(self.dictionary, self.centres, self.kept[chosen])

    def describe(self, place: int, column: int) -> str:  # noqa: ARG002 - nothing else is known
        return f"function {place}"


def similarities(kernel: Callable[[Any, Any], Any], X: Array, centres: Array) -> Array:
    """Return ``kernel(X, centres)``, checked: shape (n, m), numbers, all finite."""
    values = np.asarray(kernel(X, centres), dtype=np.float64)
    if values.shape != (len(X), len(centres)):
        raise InvalidInputError(
            f"The kernel returned shape {values.shape} for {len(X)} rows and {len(centres)} "
            f"centres; it must return ({len(X)}, {len(centres)})."
        )
    return finite(values, kernel)


def dictionary_values(dictionary: Any, X: Array, centres: Array) -> Array:
    """Return ``dictionary.basis(X, centres)``, checked: n rows, all finite."""
    values = np.asarray(dictionary.basis(X, centres), dtype=np.float64)
    if values.ndim != 2 or len(values) != len(X):
        raise InvalidInputError(
            f"{type(dictionary).__name__}.basis returned shape {values.shape} for {len(X)} rows; "
            "it must return a matrix with one row for each."
        )
    return finite(values, dictionary)


def finite(values: Array, source: Any) -> Array:
    """Return the values, refusing NaN and infinity."""
    if not np.isfinite(values).all():
        name = getattr(source, "__name__", type(source).__name__)
        raise InvalidInputError(
            f"The basis {name} has values that are not finite on these rows. Scale the columns, "
            "for instance with StandardScaler."
        )
    return values


def _pieces(n_columns: int, n_rows: int) -> Iterator[slice]:
    """Yield slices of rows that have few entries in so many columns."""
    size = max(1, _PIECE // max(n_columns, 1))
    for begin in range(0, n_rows, size):
        yield slice(begin, begin + size)
