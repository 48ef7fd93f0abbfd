"""Why a row is predicted as it is: what each column of a table adds to the prediction.

A row is compared with a typical one. For a set T of columns the model is asked about the row whose
columns T are its own and whose others are typical; what T adds beyond its subsets is its dividend

    d(T) = sum over U in T of (-1)^(|T| - |U|) f(U),

and a column gets d(T) / |T| of every set T that holds it: Shapley's values [1]_ [2]_. They add up
to the difference between the row and the typical one. A set of columns that the model never
multiplies has a dividend of zero, so that a sum of functions of one column each needs one
evaluation for each column, and its values are the functions themselves less their values at the
typical row: exact at any number of columns. Only a model that ties more than ten columns together
is sampled, by permutations [3]_ and their reverses; the values still add up exactly.

References
----------
.. [1] Shapley (1953), A value for n-person games.
.. [2] Harsanyi (1963), Int. Econ. Rev. 4:194-220.
.. [3] Castro, Gomez and Tejada (2009), Comput. Oper. Res. 36:1726-1730.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from parsimon._typing import AnyArray, Array
from parsimon.statistician.families._size import model_size

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.kernels import Kernel
    from parsimon.statistician.prepare.recipes import VariableSource

_MOST_EXACT = 10
_PERMUTATIONS = 40
# Numbers that are asked about at once, so that memory stays small.
_MOST_CELLS = 2_000_000
_LEAST_PROBABILITY = 1e-9
_ROUNDING = 1e-13

Score: TypeAlias = Callable[[Array], Array]
Columns: TypeAlias = frozenset[int]


@dataclass(frozen=True, eq=False)
class SeenRows:
    """What the rows were like that a model was fitted to; all of shape (d,).

    low, high: Range of each variable.
    typical: A typical row: medians that occur, and the commonest level of a category.
    """

    low: Array
    high: Array
    typical: Array

    @classmethod
    def of(cls, X: "pd.DataFrame", sources: Sequence["VariableSource"]) -> "SeenRows":
        """Summarise rows; `sources` says which column each variable comes from.

        Shapes: X (n, d), sources (d,).
        """
        values = X.to_numpy(dtype=np.float64)
        typical = np.quantile(values, 0.5, axis=0, method="nearest")
        for column in {source.column for source in sources if source.kind == "indicator"}:
            places = [
                place
                for place, source in enumerate(sources)
                if source.column == column and source.kind == "indicator"
            ]
            levels, counts = np.unique(values[:, places], axis=0, return_counts=True)
            typical[places] = levels[np.argmax(counts)]
        return cls(values.min(axis=0), values.max(axis=0), typical)


@dataclass(frozen=True, eq=False, kw_only=True)
class Contributions:
    """What each column adds to the score of each row, compared with a typical row.

    Attributes
    ----------
    columns : tuple of str
        Of the table, those that the model uses.
    values : ndarray of shape (m, k)
        What each column adds; ``base + values.sum(axis=1)`` is the score of a row.
    base : ndarray of shape (m,)
        Score of the typical row: the same in all rows, unless `towards` differs.
    towards : ndarray of shape (m,) or None
        The class whose score it is: the second of two, the predicted one of several; None for a
        number.
    typical : tuple of str
        What each column is in the typical row, in words.
    exact : bool
        Whether nothing was sampled.
    """

    columns: tuple[str, ...]
    values: Array
    base: Array
    towards: AnyArray | None
    typical: tuple[str, ...]
    exact: bool

    @property
    def score(self) -> Array:
        """Score of each row, shape (m,): the number, or what is 0 at even odds of two classes."""
        return self.base + self.values.sum(axis=1)


class ShapleyValues(NamedTuple):
    """Values of shape (m, k) for k groups, the base, and whether nothing was sampled."""

    values: Array
    base: float
    exact: bool


def scores(model: Any, X: Any) -> Array:
    """Return what a model adds up before it says a class or a number, shape (m, k).

    The latent mean of a Gaussian process, the decision function of a linear model, a number as it
    is; otherwise log odds. k is 1 for a number and for two classes.
    """
    if not hasattr(model, "classes_"):
        return np.reshape(model.predict(X), (len(X), -1))
    if hasattr(model, "latent"):
        return np.reshape(model.latent(X), (len(X), -1))
    is_linear = hasattr(_last(model), "coef_") or not hasattr(model, "predict_proba")
    if is_linear and hasattr(model, "decision_function"):
        return np.reshape(model.decision_function(X), (len(X), -1))
    share = np.clip(model.predict_proba(X), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    odds: Array = np.log(share) - np.log1p(-share)
    return odds[:, 1:] if odds.shape[1] == 2 else odds


def joint_variables(model: Any, n_variables: int) -> tuple[Columns, ...]:
    """Return the sets of variables that a model ties together; the model is a sum over them."""
    from parsimon.kernels import Kernel

    last = _last(model)
    if hasattr(getattr(last, "best_estimator_", None), "features"):
        return _of_formula(last.best_estimator_, model)
    kernels = getattr(last, "kernel_", None)
    several = kernels if isinstance(kernels, list | tuple) else (kernels,)
    if several and all(isinstance(kernel, Kernel) for kernel in several):
        return _of_kernels(several, n_variables)
    slopes = getattr(last, "coef_", None) if kernels is None else None
    if slopes is not None and np.shape(slopes)[-1] == n_variables and _keeps_columns(model):
        used = np.any(np.reshape(np.asarray(slopes), (-1, n_variables)) != 0, axis=0)
        return tuple(frozenset({int(place)}) for place in np.flatnonzero(used))
    tied = _of_trees(last, n_variables) if _keeps_columns(model) else _all(n_variables)
    return (tied,) if tied else ()


def _of_kernels(kernels: Sequence["Kernel"], n_variables: int) -> tuple[Columns, ...]:
    from parsimon.kernels.form import sum_of_products

    found: list[Columns] = []
    for kernel in kernels:
        for part in sum_of_products(kernel):
            seen = part.columns
            found.append(_all(n_variables) if seen is None else frozenset(map(int, seen)))
    return tuple(dict.fromkeys(columns for columns in found if columns))


def _of_formula(formula: Any, model: Any) -> tuple[Columns, ...]:
    """Return the columns of each feature of a formula, which a step before may have picked."""
    kept = getattr(model.steps[0][1], "kept_", None) if hasattr(model, "steps") else None
    places = range(len(formula.names)) if kept is None else kept
    known = dict(zip(formula.names, map(int, places), strict=True))
    found = [frozenset(known[name] for name in feature.columns) for feature in formula.features]
    return tuple(dict.fromkeys(found))


def _of_trees(model: Any, n_variables: int) -> Columns:
    """Return the variables at which trees branch; none for a constant, else all."""
    members = np.ravel(getattr(model, "estimators_", [model]))
    if (
        hasattr(model, "_predictors")
        or type(model).__name__.startswith("Dummy")
        or all(hasattr(member, "tree_") for member in members)
    ):
        return frozenset(model_size(model, n_rows=2, n_columns=n_variables).used)
    return _all(n_variables)


def _all(n_variables: int) -> Columns:
    return frozenset(range(n_variables))


def _last(model: Any) -> Any:
    """Return the estimator at the end of a pipeline, or the estimator itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _keeps_columns(model: Any) -> bool:
    """Return whether a pipeline only rescales its columns before its last step."""
    scaling = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
    steps = getattr(model, "steps", ())[:-1]
    return all(step == "passthrough" or type(step).__name__ in scaling for _, step in steps)


def shapley_values(
    score: Score,
    X: Array,
    typical: Array,
    groups: Sequence[Sequence[int]],
    joint: Iterable[Columns],
) -> ShapleyValues:
    """Return what each group of variables adds to each row's score, against a typical row.

    `joint` has the sets of variables that the model ties together.

    Shapes: X (m, d), typical (d,), score (r, d) -> (r,), values (m, len(groups)).
    """
    group_of = {place: at for at, places in enumerate(groups) for place in places}
    tied = {
        frozenset(group_of[place] for place in variables if place in group_of)
        for variables in joint
    }
    base = float(score(typical[None])[0])
    mixed = _Mixed(score, X, typical, groups)
    if max(map(len, tied), default=0) <= _MOST_EXACT:
        values = _share_exactly(mixed, tied, base)
        # A model that is no sum over these sets after all is taken as one whole.
        total = mixed(range(len(groups)))
        if np.allclose(base + values.sum(axis=1), total, rtol=1e-6, atol=1e-6 * np.ptp(total)):
            return ShapleyValues(_round_off(values, base), base, exact=True)
    if len(groups) <= _MOST_EXACT:
        values = _share_exactly(mixed, [_all(len(groups))], base)
        return ShapleyValues(_round_off(values, base), base, exact=True)
    return ShapleyValues(_sample(mixed, base), base, exact=False)


def _round_off(values: Array, base: float) -> Array:
    """Return values with nothing instead of what rounding leaves of it, shape (m, k)."""
    scale = abs(base) + np.abs(values).sum(axis=1, keepdims=True)
    return np.where(np.abs(values) <= _ROUNDING * scale, 0.0, values)


class _Mixed:
    """Scores of rows that have some groups of their own and are typical in the others."""

    def __init__(
        self, score: Score, X: Array, typical: Array, groups: Sequence[Sequence[int]]
    ) -> None:
        self.score, self.X, self.typical, self.groups = score, X, typical, groups

    def __call__(self, own: Iterable[int]) -> Array:
        """Return the scores, shape (m,)."""
        rows = np.tile(self.typical, (len(self.X), 1))
        for group in own:
            rows[:, self.groups[group]] = self.X[:, self.groups[group]]
        step = max(1, _MOST_CELLS // max(rows.shape[1], 1))
        pieces = [self.score(rows[at : at + step]) for at in range(0, len(rows), step)]
        return np.concatenate(pieces) if pieces else np.empty(0)


def _share_exactly(mixed: _Mixed, tied: Iterable[Columns], base: float) -> Array:
    """Share out the dividends of all sets that the model ties together."""
    sets = {
        frozenset(chosen)
        for columns in tied
        for size in range(1, len(columns) + 1)
        for chosen in combinations(sorted(columns), size)
    }
    values = np.zeros((len(mixed.X), len(mixed.groups)))
    dividends: dict[Columns, Array] = {}
    for columns in sorted(sets, key=lambda found: (len(found), sorted(found))):
        smaller = (
            dividends[frozenset(part)]
            for size in range(1, len(columns))
            for part in combinations(sorted(columns), size)
        )
        dividends[columns] = mixed(columns) - base - sum(smaller, np.zeros(len(mixed.X)))
        values[:, sorted(columns)] += dividends[columns][:, None] / len(columns)
    return values


def _sample(mixed: _Mixed, base: float) -> Array:
    """Average over orders in which the groups take their own values, each order and its reverse."""
    rng = np.random.default_rng(0)
    values = np.zeros((len(mixed.X), len(mixed.groups)))
    for _ in range(_PERMUTATIONS // 2):
        order = rng.permutation(len(mixed.groups))
        for way in (order, order[::-1]):
            before = np.full(len(mixed.X), base)
            for at, group in enumerate(way):
                after = mixed(way[: at + 1])
                values[:, group] += after - before
                before = after
    return values / (2 * (_PERMUTATIONS // 2))
