"""The spectrum kernel: strings are alike that share many short pieces."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from parsimon._checks import check_count, shorten
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError


@dataclass(frozen=True)
class Spectrum:
    r"""Similarity of strings: the inner product of their counts of k-mers.

    A k-mer is a piece of k letters; each place of a string where one begins counts. It is no
    `Kernel`, since it takes strings: give it to `parsimon.bpm.DivergenceMKL` with the columns that
    hold them, or its `gram` to any machine with ``kernel="precomputed"``.

    Parameters
    ----------
    lengths : int or sequence of int
        The k that are counted; 1 and 2 are the 20 features of a stretch of DNA in [1]_.
    normalise : bool
        Divide by the lengths of the vectors of counts, so that a string is similar to itself by 1
        and long strings do not lead; a string shorter than every k is similar to none.

    References
    ----------
    .. [1] Fearn (2021), PhD thesis, University of Bristol, section 4.3.
    .. [2] Leslie, Eskin and Noble, "The spectrum kernel: a string kernel for SVM protein
       classification" (2002).

    Examples
    --------
    >>> Spectrum(lengths=2).gram(["GATTACA", "ATTA"], ["ATA"])
    array([[2.],
           [2.]])
    >>> Spectrum(lengths=2).count(["GATTACA"])[1][:3]
    ('AC', 'AT', 'CA')
    """

    lengths: int | Sequence[int] = (1, 2)
    normalise: bool = False

    def __post_init__(self) -> None:
        given = (self.lengths,) if isinstance(self.lengths, int) else tuple(self.lengths)
        if not given:
            raise InvalidInputError("lengths must name at least one length of piece, got none.")
        lengths = tuple(sorted({check_count("lengths", length) for length in given}))
        object.__setattr__(self, "lengths", lengths)

    def gram(self, X: Any, Y: Any = None) -> Array:
        """Return the similarities of strings, shape (n, m); with no Y, of X with itself.

        Shapes: X (n,) or (n, w), Y (m,) or (m, w): with w strings a row, those in the same column
        are compared and the similarities added.
        """
        left = _columns_of_strings(X)
        right = left if Y is None else _columns_of_strings(Y)
        if len(left) != len(right):
            raise InvalidInputError(
                f"X has {len(left)} columns of strings and Y has {len(right)}; they must have the "
                "same."
            )
        total = sum(self._similarity(a, b) for a, b in zip(left, right, strict=True))
        return np.asarray(total, dtype=np.float64)

    def diagonal(self, X: Any) -> Array:
        """Return the similarity of each row with itself, shape (n,)."""
        columns = [self._counts(strings) for strings in _columns_of_strings(X)]
        squares = [np.asarray(counts.multiply(counts).sum(axis=1)).ravel() for counts in columns]
        if self.normalise:
            squares = [(square > 0).astype(np.float64) for square in squares]
        return np.asarray(sum(squares), dtype=np.float64)

    def count(self, strings: Any) -> tuple[Array, tuple[str, ...]]:
        """Return how often each k-mer occurs, shape (n, n_kmers), and the k-mers in order."""
        (column,) = _columns_of_strings(strings)
        known = self._vocabulary(column)
        counts: Array = self._counts(column, known).toarray()
        return counts, tuple(known)

    def _similarity(self, left: list[str], right: list[str]) -> Array:
        known = self._vocabulary(right)
        a, b = self._counts(left, known), self._counts(right, known)
        product: Array = (a @ b.T).toarray()
        if self.normalise:
            sizes = [np.sqrt(self._squares(strings)) for strings in (left, right)]
            product /= np.maximum(sizes[0], 1.0)[:, None] * np.maximum(sizes[1], 1.0)
        return product

    def _squares(self, strings: list[str]) -> Array:
        """Return the squared length of each string's own vector of counts, shape (n,)."""
        counts = [Counter(self._pieces(string)).values() for string in strings]
        return np.array([sum(n**2 for n in own) for own in counts], dtype=np.float64)

    def _counts(self, strings: list[str], known: dict[str, int] | None = None) -> Any:
        """Return a sparse table of counts, of the known k-mers or of those that occur."""
        known = self._vocabulary(strings) if known is None else known
        places = [
            [known[piece] for piece in self._pieces(string) if piece in known] for string in strings
        ]
        rows = np.repeat(np.arange(len(strings)), [len(row) for row in places])
        columns = np.array([place for row in places for place in row], dtype=np.intp)
        shape = (len(strings), len(known))
        return sparse.csr_array((np.ones(len(columns)), (rows, columns)), shape=shape)

    def _vocabulary(self, strings: Iterable[str]) -> dict[str, int]:
        found = sorted({piece for string in strings for piece in self._pieces(string)})
        return {piece: place for place, piece in enumerate(found)}

    def _pieces(self, string: str) -> list[str]:
        lengths: Any = self.lengths
        return [string[i : i + k] for k in lengths for i in range(len(string) - k + 1)]


def _columns_of_strings(values: Any) -> list[list[str]]:
    """Return each column of strings as a list, refusing anything that is no string."""
    table = np.asarray(values, dtype=object)
    if table.ndim not in (1, 2):
        raise InvalidInputError(f"Strings must stand in rows, got an array of shape {table.shape}.")
    table = table.reshape(len(table), -1)
    wrong = [value for value in table.ravel() if not isinstance(value, str)]
    if wrong:
        raise InvalidInputError(
            f"A spectrum kernel compares strings, but {len(wrong)} of {table.size} cells are none "
            f"(such as {shorten([repr(wrong[0])])}); name the columns that hold strings."
        )
    return [list(column) for column in table.T]
