"""What all leaves share: checked fields, theta, and one pass that fills every derivative.

A leaf is ``variance * f(s)``, where s is what two rows have in common: a scaled squared
distance or a sum over columns (`radial.py`, `indefinite_kernels.py`), or an inner product
(`inner.py`). A leaf gives f, its slope and the derivatives for its own hyperparameters, all from
s and the Gram matrix, so that no exponential is taken twice.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.kernels._scales import DataScale
from parsimon.kernels.base import Kernel

# Lower limit, first guess and upper limit of one number.
Range: TypeAlias = tuple[float, float, float]


class LeafValues(NamedTuple):
    """What a leaf computed: s, ``variance * f(s)``, and both inputs unless on the diagonal."""

    s: Array
    value: Array
    pair: tuple[Array, Array] | None = None


class Leaf(Kernel):
    """One formula on chosen columns; `fixed` names the hyperparameters that theta leaves out.

    For each hyperparameter but the variance a leaf has two methods: ``_fill_<name>(rows, at)``
    writes the derivatives for its logarithm, shape (k, n, m) or (k, n) on the diagonal, and
    ``_range_<name>(scale)`` gives k ranges from the data.
    """

    symbol: ClassVar[str]
    kind: ClassVar[str]
    # In the order of theta; each is a positive number, or a tuple of them.
    hyperparameters: ClassVar[tuple[str, ...]]
    # Hyperparameters that may hold several numbers; fields with one number for each column.
    several: ClassVar[tuple[str, ...]] = ()
    per_column: ClassVar[tuple[str, ...]] = ()
    # Fields that make a kernel of another structure, not one with other values.
    settings: ClassVar[tuple[str, ...]] = ()
    definite: ClassVar[bool] = True

    variance: float
    fixed: tuple[str, ...]

    def __post_init__(self) -> None:
        self._store_columns()
        for name in self.hyperparameters:
            self._store(name, _positive(name, getattr(self, name), name in self.several))
        fixed = (self.fixed,) if isinstance(self.fixed, str) else tuple(self.fixed)
        unknown = [name for name in fixed if name not in self.hyperparameters]
        if unknown:
            raise InvalidInputError(
                f"{type(self).__name__} cannot fix {unknown[0]!r}; its hyperparameters are "
                f"{', '.join(self.hyperparameters)}."
            )
        self._store("fixed", tuple(name for name in self.hyperparameters if name in fixed))

    def _store_columns(self) -> None:
        if self.columns is None:
            return
        columns = column_tuple(self.columns)
        order = sorted(range(len(columns)), key=columns.__getitem__)
        for name in self.per_column:
            values = getattr(self, name)
            if isinstance(values, float) or np.ndim(values) == 0:
                continue
            if len(values) != len(columns):
                raise InvalidInputError(
                    f"{name} has {len(values)} values for {len(columns)} columns; give one, "
                    "or one for each column."
                )
            self._store(name, tuple(values[place] for place in order))
        self._store("columns", tuple(columns[place] for place in order))

    def _store(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def replaced(self, **changes: Any) -> Self:
        own: Any = self
        return replace(own, **changes)

    @property
    def is_psd(self) -> bool:
        return self.definite

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the hyperparameters that theta holds."""
        return tuple(name for name in self.hyperparameters if name not in self.fixed)

    @property
    def theta(self) -> Array:
        return np.log([value for name in self.free for value in self.numbers(name)])

    @property
    def n_theta(self) -> int:
        return sum(len(self.numbers(name)) for name in self.free)

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return a hyperparameter as a tuple, of length 1 unless there is one per column."""
        value = getattr(self, name)
        return value if isinstance(value, tuple) else (value,)

    def with_theta(self, theta: Array) -> Self:
        values = np.asarray(theta, dtype=np.float64)
        if values.shape != (self.n_theta,):
            raise InvalidInputError(
                f"theta must have shape ({self.n_theta},) for {self}, got {values.shape}."
            )
        natural = np.exp(values).tolist()
        changes: dict[str, Any] = {}
        for name in self.free:
            n_numbers = len(self.numbers(name))
            given, natural = natural[:n_numbers], natural[n_numbers:]
            changes[name] = tuple(given) if isinstance(getattr(self, name), tuple) else given[0]
        return self.replaced(**changes)

    def _gram(self, X: Array, Y: Array) -> Array:
        # In place: on large matrices fresh memory costs more than the arithmetic.
        similarity = self._similarity(X, Y)
        return self._times_variance(self._value(similarity, similarity))

    def _diagonal(self, X: Array) -> Array:
        return self._times_variance(self._value(self._self_similarity(X)))

    def _times_variance(self, value: Array) -> Array:
        if self.variance != 1.0:
            value *= self.variance
        return value

    def _fill_gradients(self, X: Array, Y: Array, out: Array) -> Array:
        similarity = self._similarity(X, Y)
        gram = self._times_variance(self._value(similarity))
        self._fill(out, LeafValues(similarity, gram, (X, Y)))
        return gram

    def _fill_diagonal(self, X: Array, out: Array) -> Array:
        similarity = self._self_similarity(X)
        diagonal = self._times_variance(self._value(similarity))
        self._fill(out, LeafValues(similarity, diagonal))
        return diagonal

    def _fill(self, out: Array, at: LeafValues) -> None:
        for name, rows in self._rows(out):
            if name == "variance":
                rows[0] = at.value
            else:
                getattr(self, f"_fill_{name}")(rows, at)

    def _rows(self, out: Array) -> Iterator[tuple[str, Array]]:
        """Yield each free hyperparameter with its rows of `out`."""
        begin = 0
        for name in self.free:
            end = begin + len(self.numbers(name))
            yield name, out[begin:end]
            begin = end

    def _taken(self, X: Array) -> Array:
        """Return the active columns of X; a per-column tuple must fit them."""
        taken = X if self.columns is None else X[:, self.columns]
        for name in self.per_column:
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != taken.shape[1]:
                raise InvalidInputError(
                    f"{name} has {len(value)} values, but X has {taken.shape[1]} columns."
                )
        return taken

    def _placed(self, slopes: Array, n_columns: int) -> Array:
        """Return slopes for the active columns, shape (n, m, c), among zeros for the others."""
        if self.columns is None:
            return slopes
        full = np.zeros((*slopes.shape[:2], n_columns))
        full[:, :, self.columns] = slopes
        return full

    def _bounds(self, scale: DataScale, weight: float) -> Array:
        scale.refuse_constant(self.columns)
        return np.log([[low, high] for low, _, high in self._ranges(scale, weight)]).reshape(-1, 2)

    def _start(self, scale: DataScale, weight: float) -> Array:
        scale.refuse_constant(self.columns)
        return np.log([guess for _, guess, _ in self._ranges(scale, weight)])

    def _ranges(self, scale: DataScale, weight: float) -> list[Range]:
        """Return low, guess and high for each entry of theta."""
        found: list[Range] = []
        for name in self.free:
            if name == "variance":
                typical = weight * self._typical(scale)
                low, high = scale.variance
                found.append((low / typical, 1 / typical, high / typical))
            else:
                found.extend(getattr(self, f"_range_{name}")(scale))
        return found

    def _typical(self, scale: DataScale) -> float:
        # At guessed shapes, so that bounds do not depend on current values.
        shaped = self.replaced(variance=1.0, fixed=(*self.fixed, "variance"))
        guesses = [guess for _, guess, _ in shaped._ranges(scale, 1.0)]
        shaped = shaped.with_theta(np.log(guesses))
        return float(np.abs(shaped._diagonal(scale.X)).mean())

    @property
    def own_scale(self) -> float:
        return self.variance

    @property
    def scale_is_free(self) -> bool:
        return "variance" not in self.fixed

    @property
    def can_carry_scale(self) -> bool:
        return True

    def rescaled(self, factor: float, divisor: float = 1.0) -> Self:
        return self.replaced(variance=self.variance * factor / divisor)

    def with_scale(self, *, free: bool) -> Self:
        others = tuple(name for name in self.fixed if name != "variance")
        return self.replaced(fixed=others if free else (*others, "variance"))

    @abstractmethod
    def _similarity(self, X: Array, Y: Array) -> Array:
        """Return s of all pairs of rows, shape (n, m)."""

    @abstractmethod
    def _self_similarity(self, X: Array) -> Array:
        """Return s of each row with itself, shape (n,)."""

    @abstractmethod
    def _value(self, s: Array, out: Array | None = None) -> Array:
        """Return f(s), of the shape of s: a new array, or `out`, which may be s."""


def as_leaf(kernel: Kernel) -> Leaf:
    """Return a kernel that is neither a sum nor a product, known to be a leaf."""
    if not isinstance(kernel, Leaf):
        raise TypeError(f"A kernel is a leaf, a sum or a product, not a {type(kernel).__name__}.")
    return kernel


def column_tuple(columns: Any) -> tuple[int, ...]:
    """Return column numbers as given, refusing what is none, negative or twice there."""
    # The way back from `dataclasses.replace`, taken at every step of an optimiser.
    if type(columns) is tuple and len(columns) == 1 and type(columns[0]) is int and columns[0] >= 0:
        return columns
    given = np.atleast_1d(np.asarray(columns))
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu" or given.min() < 0:
        raise InvalidInputError(
            f"columns must be None, a column number from 0, or several; got {columns!r}."
        )
    if len(np.unique(given)) < len(given):
        raise InvalidInputError(f"columns must differ, got {columns!r}.")
    return tuple(given.tolist())


def _positive(name: str, value: Any, several: bool) -> float | tuple[float, ...]:
    if type(value) is float and 0 < value < math.inf:
        return value
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be a number, got {value!r}.") from error
    if numbers.ndim > several or numbers.size == 0:
        raise InvalidInputError(f"{name} must be one number, got {value!r}.")
    if not np.all((numbers > 0) & np.isfinite(numbers)):
        raise InvalidInputError(f"{name} must be positive and finite, got {value!r}.")
    return float(numbers) if numbers.ndim == 0 else tuple(numbers.tolist())
