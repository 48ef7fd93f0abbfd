"""From what a user gives as a kernel to the columns that a relevance vector machine chooses from.

Read `make_basis` first: it turns a kernel, a name, a dictionary or a callable into
`BasisFunctions`, an immutable list of functions with an optional column of ones in front. After a
fit, ``basis.columns(active)`` is the basis of the few functions in the model, and predicting costs
those alone. A family of functions (`BasisColumns`) knows how to write its functions at new rows
into memory that was prepared for them, and how to become the family of a few of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol, Self

import numpy as np

from parsimon._checks import finite_matrix
from parsimon._data import Rows
from parsimon._random import Seed, seed_sequence
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.kernels import Kernel, MultiResolution, SquaredExponential
from parsimon.kernels.adapters import as_kernel
from parsimon.kernels.radial import squared_distances

# Entries of one piece of a design: 32 MB of temporary memory whatever the size of the whole.
_PIECE = 4_000_000


class BasisColumns(Protocol):
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
        if not self.n_columns:
            return
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
    origin, unit (m,): A column is measured from its origin in its unit; as it is, if there is none.
    """

    indices: Indices
    word: str
    origin: Array | None = None
    unit: Array | None = None

    @property
    def n_columns(self) -> int:
        return len(self.indices)

    def fill(self, X: Array, out: Array) -> None:
        for rows in _pieces(self.n_columns, len(X)):
            out[rows] = X[rows, self.indices]
        if self.origin is not None:
            out -= self.origin
        if self.unit is not None:
            out /= self.unit

    def take(self, chosen: Indices) -> Self:
        origin, unit = (part if part is None else part[chosen] for part in (self.origin, self.unit))
        return type(self)(self.indices[chosen], self.word, origin, unit)

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


NAMES = ("rbf", "linear", "poly", "sigmoid", "laplacian")
# Names for which the columns of X are the functions.
TABLES = ("features", "precomputed")


@dataclass(frozen=True, eq=False)
class BasisFunctions:
    """Basis functions, a column of ones first if there is a bias.

    functions: All functions but the bias.
    places (n_functions,): The row, feature or centre that each function belongs to.
    """

    functions: BasisColumns
    places: Indices
    has_bias: bool

    @property
    def n_columns(self) -> int:
        """Number of columns, the bias included."""
        return self.functions.n_columns + self.has_bias

    @property
    def centres(self) -> Array | None:
        """Where each function sits, shape (n_functions, d); None if it is no place."""
        if isinstance(self.functions, KernelColumns | BumpColumns):
            return self.functions.centres
        return None

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each column."""
        places = enumerate(self.places.tolist())
        names = [self.functions.describe(place, column) for column, place in places]
        return ("bias", *names) if self.has_bias else tuple(names)

    def design(self, X: Array) -> Array:
        """Return all columns at the rows of X, shape (n, n_columns).

        The matrix is allocated once and filled in pieces, so that the memory in use is hardly
        more than its own.
        """
        out = np.empty((len(X), self.n_columns))
        if self.has_bias:
            out[:, 0] = 1.0
        self.functions.fill(X, out[:, int(self.has_bias) :])
        return out

    def columns(self, indices: Any) -> Self:
        """Return the basis of these columns; the bias, if it is among them, must come first."""
        indices = np.asarray(indices, dtype=np.intp)
        if not self.has_bias:
            return type(self)(self.functions.take(indices), self.places[indices], False)
        is_bias = indices == 0
        if is_bias[1:].any():
            raise InvalidInputError("The bias, column 0, can only be the first column of a basis.")
        chosen = indices[~is_bias] - 1
        return type(self)(self.functions.take(chosen), self.places[chosen], bool(is_bias.any()))


def make_basis(
    kernel: Any,
    X: Array,
    *,
    gamma: float | str = "scale",
    bias: bool = True,
    centres: Any = None,
    row_weights: Array | None = None,
    places: Indices | None = None,
    random_state: Seed = None,
) -> BasisFunctions:
    """Return the basis that a kernel, a name, a dictionary or a callable stands for.

    Shapes: X (n, d), centres (c, d), row_weights (n,), places (n,).

    [1] Arthur and Vassilvitskii (2007), "k-means++: the advantages of careful seeding".
    """
    if isinstance(kernel, str) and kernel in TABLES:
        _refuse_centres(kernel, centres)
        if kernel == "features" or places is None:
            places = np.arange(X.shape[1])
        word = "feature" if kernel == "features" else "row"
        return BasisFunctions(TableColumns(places, word), places, bias)
    points, numbers = choose_centres(
        centres, X, places=places, row_weights=row_weights, random_state=random_state
    )
    if isinstance(kernel, MultiResolution):
        levels = len(kernel.widths)
        bumps = BumpColumns(
            np.tile(points, (levels, 1)), np.repeat(kernel.widths, len(points)), kernel
        )
        return BasisFunctions(bumps, np.tile(numbers, levels), bias or kernel.bias)
    if hasattr(kernel, "basis"):
        n_functions = dictionary_values(kernel, X[:1], points).shape[1]
        every = np.arange(n_functions)
        return BasisFunctions(DictionaryColumns(kernel, points, every), every, bias)
    if isinstance(kernel, str):
        kernel = named_kernel(kernel, X, gamma=gamma, row_weights=row_weights)
    if not callable(kernel):
        raise InvalidInputError(
            "kernel must be a kernel, a dictionary, a callable or one of "
            f"{', '.join((*NAMES, *TABLES))}; got {type(kernel).__name__}."
        )
    return BasisFunctions(KernelColumns(kernel, points), numbers, bias)


def named_kernel(
    name: str,
    X: Array,
    *,
    gamma: float | str = "scale",
    row_weights: Array | None = None,
) -> Kernel:
    """Return the kernel of scikit-learn's name, with the meaning it has in SVC.

    Shapes: X (n, d), row_weights (n,).
    """
    if name not in NAMES:
        raise InvalidInputError(
            f"kernel must be one of {', '.join((*NAMES, *TABLES))}, a kernel, a dictionary or a "
            f"callable; got {name!r}."
        )
    if isinstance(gamma, str) and gamma == "scale":
        spread = _spread(X, row_weights) or 1 / np.sqrt(X.shape[1])
        if name == "rbf":
            # By way of the standard deviation: the variance of huge numbers overflows.
            return SquaredExponential(lengthscale=float(spread * np.sqrt(X.shape[1] / 2)))
        gamma = _gamma_of(spread, X.shape[1], name)
    elif not (gamma == "auto" or (isinstance(gamma, Real) and 0 < float(gamma) < np.inf)):
        raise InvalidInputError(
            f'gamma must be positive, "scale", "auto" or "evidence"; got {gamma!r}.'
        )
    return as_kernel(name, gamma=gamma, X=X)


def _gamma_of(spread: float, n_columns: int, name: str) -> float:
    with np.errstate(over="ignore", divide="ignore"):
        gamma = float(1 / n_columns / np.square(spread))
    if name == "linear":
        return 1.0
    if not 0 < gamma < np.inf:
        raise InvalidInputError(
            f"The columns' standard deviation, {spread:.3g}, is too far from one for the kernel "
            f"{name!r}. Scale them, for instance with StandardScaler."
        )
    return gamma


def _spread(X: Array, row_weights: Array | None) -> float:
    """Return the standard deviation of all entries of X together; zero if they are equal."""
    largest = float(np.abs(X).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    unit = X / largest
    centred = unit - np.average(unit.mean(axis=1), weights=row_weights)
    variance = float(np.average(np.mean(centred**2, axis=1), weights=row_weights))
    # Equal numbers differ from their mean by rounding alone.
    return largest * np.sqrt(variance) if variance > 1e-30 else 0.0


def choose_centres(
    centres: Any,
    X: Array,
    *,
    places: Indices | None = None,
    row_weights: Array | None = None,
    random_state: Seed = None,
) -> tuple[Array, Indices]:
    """Return where functions sit, shape (c, d), and the numbers of these places.

    Parameters are those of `make_basis`. Centres that are given as points are numbered by
    `places` if it has their length, and 0, 1, ... otherwise.
    """
    numbers = np.arange(len(X)) if places is None else places
    if centres is None or centres is X:
        return X, numbers
    if isinstance(centres, Integral) and not isinstance(centres, bool):
        n_centres = int(centres)
        if n_centres < 1:
            raise InvalidInputError(f"centres must be at least 1, got {centres}.")
        if n_centres >= len(X):
            return X, numbers
        chosen = _spread_rows(X, n_centres, row_weights, random_state)
        return X[chosen], numbers[chosen]
    points = finite_matrix(centres, "centres")
    if points.shape[1] != X.shape[1]:
        raise InvalidInputError(
            f"centres has {points.shape[1]} columns and X has {X.shape[1]}; they must have the "
            "same."
        )
    return points, numbers if len(numbers) == len(points) else np.arange(len(points))


def choose_row_centres(centres: Any, X: Array, rows: Rows, seed: Seed) -> tuple[Array, Indices]:
    """Return what `choose_centres` does among the distinct rows of a fit, at X of shape (n, d)."""
    return choose_centres(
        centres,
        # The whole table itself where no inputs repeat: a kernel knows then that it is symmetric.
        X if rows.is_new.all() else X[rows.is_new],
        places=rows.places[rows.is_new],
        row_weights=np.add.reduceat(rows.weights, np.flatnonzero(rows.is_new)),
        random_state=seed,
    )


def _spread_rows(X: Array, n_chosen: int, row_weights: Array | None, random_state: Seed) -> Indices:
    """Return so many different rows, ascending."""
    from sklearn.cluster import kmeans_plusplus

    seed = int(seed_sequence(random_state).generate_state(1)[0])
    # In units of the largest entry: squares of huge numbers overflow.
    unit = X / (np.abs(X).max() or 1.0)
    _, chosen = kmeans_plusplus(
        unit, n_chosen, sample_weight=row_weights, random_state=seed, n_local_trials=1
    )
    return np.unique(chosen)


def _refuse_centres(kernel: str, centres: Any) -> None:
    if centres is not None:
        raise InvalidInputError(
            f"kernel={kernel!r} takes the columns of X as they are and has no centres; leave "
            "centres at None."
        )
