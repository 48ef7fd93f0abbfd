"""Dictionaries: columns of basis functions for models that pick a few of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels._scales import checked_matrix
from parsimon.kernels.combination import Sum
from parsimon.kernels.leaf import column_tuple
from parsimon.kernels.radial import SquaredExponential, squared_distances


@dataclass(frozen=True)
class MultiResolution:
    r"""Gaussian bumps of three widths round every centre.

    :math:`\phi_m(x) = \exp(-\|x - x_m\|^2 / r^2)` at r, r/2 and r/4. A relevance vector machine
    chooses among them, so a wide bump can serve where narrow ones would overfit. It is a
    dictionary, not a kernel: the basis of n rows at n centres has 3 n columns. `summed` is the
    kernel that adds the three.

    Parameters
    ----------
    width : float
        r, the largest width.
    columns : int, sequence of int or None
        Columns of X that it sees, counted from 0; None means all.
    bias : bool, default False
        Begin with a column of ones.
    n_levels : int, default 3
        Number of widths, each half of the one before.

    References
    ----------
    Clark and Everson (2011), "Multi-objective learning of relevance vector machine classifiers
    with multi-resolution kernels".

    Examples
    --------
    >>> MultiResolution(width=2.0).basis([[0.0], [2.0]], centres=[[0.0]]).round(4)
    array([[1.    , 1.    , 1.    ],
           [0.3679, 0.0183, 0.    ]])
    """

    width: float = 1.0
    columns: Any = None
    bias: bool = False
    n_levels: int = 3

    def __post_init__(self) -> None:
        if not 0 < self.width < np.inf:
            raise InvalidInputError(f"width must be positive and finite, got {self.width!r}.")
        if self.n_levels < 1:
            raise InvalidInputError(f"n_levels must be 1 or more, got {self.n_levels}.")
        if self.columns is not None:
            object.__setattr__(self, "columns", tuple(sorted(column_tuple(self.columns))))

    @property
    def widths(self) -> tuple[float, ...]:
        """The widths, largest first."""
        return tuple(self.width / 2**level for level in range(self.n_levels))

    def basis(self, X: Any, centres: Any) -> Array:
        """Return the functions at X, shape (n, n_levels * n_centres), plus one with a bias.

        All centres at the largest width come first, then all at half of it, and so on.
        """
        X, centres = checked_matrix(X), checked_matrix(centres, "centres")
        if X.shape[1] != centres.shape[1]:
            raise InvalidInputError(
                f"X has {X.shape[1]} columns and centres has {centres.shape[1]}; "
                "they must have the same."
            )
        if self.columns is not None:
            if self.columns[-1] >= X.shape[1]:
                raise InvalidInputError(
                    f"The dictionary uses column {self.columns[-1]} (counted from 0), but X has "
                    f"only {X.shape[1]} columns."
                )
            X, centres = X[:, self.columns], centres[:, self.columns]
        distances = squared_distances(X, centres)
        ones = [np.ones((len(X), 1))] if self.bias else []
        return np.hstack(ones + [np.exp(distances / -(width**2)) for width in self.widths])

    def summed(self) -> SquaredExponential | Sum:
        """Return the sum over widths as a positive semi-definite kernel.

        Examples
        --------
        >>> print(MultiResolution(columns=0).summed())
        SE_1 + SE_1 + SE_1
        """
        terms = [
            # exp(-d^2 / r^2) is a squared exponential of lengthscale r / sqrt(2).
            SquaredExponential(self.columns, lengthscale=width / np.sqrt(2))
            for width in self.widths
        ]
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))
