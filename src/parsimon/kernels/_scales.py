"""What a table says about lengthscales: gaps, ranges and distances, column by column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import pdist

from parsimon._checks import finite_matrix
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError

# Distances of more rows than this are measured on rows spread evenly over the table.
_MOST_ROWS = 2000


@dataclass(frozen=True, eq=False)
class DataScale:
    """Measured inputs and the options of `Kernel.bounds`, handed down to the leaves."""

    X: Array
    names: tuple[str, ...]
    gap_floor: float
    periodic_lengthscale: str
    variance: tuple[float, float]

    @classmethod
    def measure(
        cls,
        X: Any,
        *,
        names: Sequence[str] | None = None,
        gap_floor: float = 0.0,
        periodic_lengthscale: str = "dimensionless",
        variance: tuple[float, float] = (0.04, 400.0),
    ) -> Self:
        """Check X and the options; see `Kernel.bounds` for what they mean."""
        if not 0 <= gap_floor < 1:
            raise InvalidInputError(
                f"gap_floor is a share of the range, from 0 up to 1; got {gap_floor}."
            )
        if periodic_lengthscale not in {"dimensionless", "literal"}:
            raise InvalidInputError(
                'periodic_lengthscale must be "dimensionless" or "literal", '
                f"got {periodic_lengthscale!r}."
            )
        low, high = variance
        if not 0 < low < high < np.inf:
            raise InvalidInputError(
                f"variance must be two positive limits, the lower first; got {variance}."
            )
        if names is None:
            names = getattr(X, "columns", None)
        matrix = checked_matrix(X)
        if names is None:
            names = [f"x{column + 1}" for column in range(matrix.shape[1])]
        if len(names) != matrix.shape[1]:
            raise InvalidInputError(
                f"{len(names)} names were given for {matrix.shape[1]} columns of X."
            )
        return cls(matrix, tuple(map(str, names)), gap_floor, periodic_lengthscale, (low, high))

    def chosen(self, columns: tuple[int, ...] | None) -> tuple[int, ...]:
        """Return the columns meant, all of them for None."""
        return tuple(range(self.X.shape[1])) if columns is None else columns

    def refuse_constant(self, columns: tuple[int, ...] | None) -> None:
        """Raise an error that names the first constant column, if there is one."""
        for column in self.chosen(columns):
            values = self.X[:, column]
            if np.ptp(values) <= _rounding(values):
                raise InvalidInputError(
                    f"Column {self.names[column]!r} is constant ({values[0]:g}), so the data say "
                    "nothing about a kernel on it. Drop the column."
                )

    def gap(self, column: int) -> float:
        """Return the smallest difference of two distinct values, or the floor asked for."""
        values = np.sort(self.X[:, column])
        gaps = np.diff(values)
        extent = self.extent(column)
        # Far from zero every step may be lost in rounding, though the range is not.
        smallest = gaps[gaps > _rounding(values)].min(initial=extent)
        return float(max(smallest, self.gap_floor * extent))

    def extent(self, column: int) -> float:
        """Return the range."""
        return float(np.ptp(self.X[:, column]))

    def lengths(self, columns: tuple[int, ...] | None) -> tuple[float, float, float]:
        """Return the range of a lengthscale shared by `columns`: eq 3.5 round the deviation.

        The deviation is the root of the summed variances, in one column its standard deviation.
        """
        chosen = self.chosen(columns)
        deviation = float(np.sqrt(self.X[:, chosen].var(axis=0).sum()))
        if len(chosen) == 1:
            return self.gap(chosen[0]), deviation, 2 * self.extent(chosen[0])
        shortest, longest = self._distances(chosen)
        return max(shortest, self.gap_floor * longest), deviation, 2 * longest

    def _distances(self, columns: tuple[int, ...]) -> tuple[float, float]:
        """Return the smallest and the largest distance of two distinct rows."""
        rows = np.unique(self.X[:, columns], axis=0)
        if len(rows) > _MOST_ROWS:
            rows = rows[np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(np.intp)]
        distances = pdist(rows)
        longest = float(distances.max())
        return float(distances[distances > _rounding(rows)].min(initial=longest)), longest


def checked_matrix(X: Any, name: str = "X") -> Array:
    """Return X as a finite float matrix, refusing a vector.

    One that is fine is not copied and looked at once: fits ask for the same rows a hundred times.
    """
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64 and np.isfinite(X).all():
        return X
    if np.ndim(X) != 2:
        raise InvalidInputError(
            f"{name} must have two dimensions (rows, columns), got shape {np.shape(X)}; "
            "a single column is X[:, None]."
        )
    return finite_matrix(X, name)


def _rounding(values: Array) -> float:
    """Return the difference below which two values are equal but for rounding."""
    return float(8 * np.finfo(np.float64).eps * np.abs(values).max())
