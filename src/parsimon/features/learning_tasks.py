"""Learning tasks as a case base sees them: weights of columns, and formulas; never rows.

`describe_task` turns a table and its target into a `Case`. Two cases are compared by the weights of
their columns, by what their formulas compute (`feature_set_distance`), and columns with other names
are matched by `match_columns` (Mierswa 2009, chapter 10).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from parsimon._checks import check_choice, check_count, check_positive, finite_matrix
from parsimon._data import Target, read_target
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.features.column_values import ColumnCache
from parsimon.features.expressions import Expression
from parsimon.features.formulas import parse
from parsimon.features.operations import OwnFunction

Task = Literal["auto", "regression", "classification"]

# Products of columns are weighed up to so many columns, with so many rows for each weight.
_MOST_COLUMNS = 20
_ROWS_PER_WEIGHT = 5


@dataclass(frozen=True)
class Case:
    """A learning task without its rows: how much each column counts, and which formulas help.

    Parameters
    ----------
    weights : mapping of str to float
        Of a linear support vector machine on standardised columns, as shares or as they are.
    centres, spreads : mapping of str to float
        Mean and standard deviation of each column, which tell where formulas are to be compared.
    formulas : sequence of str
        Constructed features as they are printed.
    title : str
        What a person calls it.
    products : sequence of (str, str, float)
        Weights of squares and products of standardised columns, where they are known.

    Examples
    --------
    >>> case = Case({"x": 1.0}, {"x": 0.0}, {"x": 1.0}, ["exp(x)"], title="growth")
    >>> case.names, case.formulas
    (('x',), ('exp(x)',))
    """

    weights: Mapping[str, float]
    centres: Mapping[str, float]
    spreads: Mapping[str, float]
    formulas: Sequence[str] = ()
    title: str = ""
    products: Sequence[tuple[str, str, float]] = ()

    def __post_init__(self) -> None:
        if not self.weights or not set(self.weights) == set(self.centres) == set(self.spreads):
            raise InvalidInputError(
                "A case needs a weight, a centre and a spread for each of its columns, got "
                f"{len(self.weights)}, {len(self.centres)} and {len(self.spreads)}."
            )
        for called in ("weights", "centres", "spreads"):
            given: Mapping[str, float] = getattr(self, called)
            values = {str(name): float(given[name]) for name in self.weights}
            if not np.isfinite(list(values.values())).all():
                raise InvalidInputError(f"The {called} of a case must be finite, got {values}.")
            object.__setattr__(self, called, values)
        object.__setattr__(self, "formulas", tuple(map(str, self.formulas)))
        pairs = tuple(
            (min(str(first), str(second)), max(str(first), str(second)), float(weight))
            for first, second, weight in self.products
        )
        known = self.weights.keys()
        if not all({first, second} <= known and np.isfinite(w) for first, second, w in pairs):
            raise InvalidInputError(
                "The products of a case need two of its columns and a finite weight each."
            )
        object.__setattr__(self, "products", pairs)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.weights)

    @property
    def terms(self) -> dict[tuple[str, ...], float]:
        """Weights of columns, (name,), and of products, (name, name), by which tasks compare."""
        found: dict[tuple[str, ...], float] = {(name,): w for name, w in self.weights.items()}
        return found | {(first, second): weight for first, second, weight in self.products}

    def __hash__(self) -> int:
        return hash((self.names, tuple(self.weights.values()), self.formulas, self.title))

    def expressions(self, functions: Sequence[OwnFunction] = ()) -> tuple[Expression, ...]:
        """Return the formulas as expressions, with functions of your own that they use."""
        return tuple(read_formula(text, tuple(functions)) for text in self.formulas)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        lists = {"formulas": list(self.formulas), "products": [list(p) for p in self.products]}
        names = ("title", "weights", "centres", "spreads")
        return {name: getattr(self, name) for name in names} | lists


@lru_cache(maxsize=20_000)
def read_formula(text: str, functions: tuple[OwnFunction, ...]) -> Expression:
    """Return the expression of a text; the same text is read once."""
    return parse(text, functions)


def name_columns(X: Any, n_columns: int, names: Sequence[str] | None = None) -> list[str]:
    """Return the names given, those of a data frame, or x0, x1, ..."""
    given = getattr(X, "columns", None) if names is None else names
    found = [f"x{j}" for j in range(n_columns)] if given is None else list(map(str, given))
    if len(found) != n_columns:
        raise InvalidInputError(f"X has {n_columns} columns and {len(found)} names.")
    return found


def describe_task(
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    formulas: Sequence[str | Expression] = (),
    task: Task = "auto",
    C: float = 10.0,
    title: str = "",
    products: bool = True,
    shares: bool = True,
) -> Case:
    """Return a task without its rows: weights, centres and spreads of columns.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
        Numbers, or labels of classes.
    names : sequence of str, optional
        Of the columns; those of a data frame, or x0, x1, ..., if left out.
    formulas : sequence of str or Expression
        Features that have been constructed for it.
    task : {"auto", "regression", "classification"}
        "auto" goes by y, as in `ParetoSelector`.
    C : float
        Of the support vector machine, see `task_weights`.
    title : str
    products : bool
        Whether squares and products of columns are weighed too, as `product_weights` does; without
        them, as in the source, tasks that differ in these alone look the same. They are left out
        of tables with more than 20 columns or less than five rows for each weight.
    shares : bool
        Whether weights are shares: divided by the sum of their sizes. Then tasks compare by what
        counts and not by how well a plane fits. The sum does not change where columns have
        copies, as a length would. The source has weights as they are.

    Returns
    -------
    Case

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> found = describe_task(X, 3 * X[:, 0], names=["a", "b"]).weights
    >>> {name: round(weight, 2) for name, weight in found.items()}
    {'a': 1.0, 'b': 0.0}
    """
    table = finite_matrix(X, "X")
    called = name_columns(X, table.shape[1], names)
    weights = task_weights(table, y, task=task, C=C)
    pairs: list[tuple[str, str, float]] = []
    n, d = table.shape
    if products and d <= _MOST_COLUMNS and n >= _ROWS_PER_WEIGHT * d * (d + 3) / 2:
        weighed = product_weights(table, y, task=task, C=C).tolist()
        places = zip(*np.triu_indices(d), strict=True)
        pairs = [(called[i], called[j], w) for (i, j), w in zip(places, weighed, strict=True)]
    total = float(np.abs([*weights, *(weight for *_, weight in pairs)]).sum()) if shares else 1.0
    unit = total or 1.0
    return Case(
        dict(zip(called, (weights / unit).tolist(), strict=True)),
        dict(zip(called, table.mean(axis=0).tolist(), strict=True)),
        dict(zip(called, table.std(axis=0).tolist(), strict=True)),
        [str(formula) for formula in formulas],
        title,
        [(first, second, weight / unit) for first, second, weight in pairs],
    )


def task_weights(X: Any, y: Any, *, task: Task = "auto", C: float = 10.0) -> Array:
    r"""Return the weight of each column for a task: the normal of a linear support vector machine.

    Columns are standardised, and so is a number to predict. The weights of columns that are
    copies of each other then share what one of them would have, and a column that says nothing has
    a weight near 0 [1]_. That is exact only where the penalty :math:`\lVert w \rVert^2` counts for
    nothing: k copies make it k times smaller, so that C must be large. Losses are squared, without
    a zone that counts nothing, so that for numbers the machine is a ridge regression.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    task : {"auto", "regression", "classification"}
    C : float
        Weight of the errors; from 10 on copies hardly change anything.

    Returns
    -------
    ndarray of shape (d,)
        With a sign for numbers and two classes; for more classes the mean of absolute weights of
        one class against the others.

    References
    ----------
    .. [1] Mierswa (2009), dissertation, TU Dortmund, theorem 10.2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> task_weights(np.column_stack([x, 5 - 0 * x + 2 * x]), x**3 + x).round(2)
    array([0.45, 0.45])
    """
    table, target = _checked_task(X, y, task, C)
    return _normal(_standardise(table), target, C)


def product_weights(X: Any, y: Any, *, task: Task = "auto", C: float = 10.0) -> Array:
    """Return the weight of each square and product of two columns for a task.

    A linear machine sees a column by its slope. Where that is zero on average, as for the product
    of two centred columns, `task_weights` takes a column that decides all for one that says
    nothing. The same machine on standardised columns, their squares and products tells such tasks
    apart, and what theorem 10.2 says of copies and of columns that say nothing holds there too:
    products of copies are copies of products.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    task : {"auto", "regression", "classification"}
    C : float

    Returns
    -------
    ndarray of shape (d (d + 1) / 2,)
        In the order of ``numpy.triu_indices(d)``: of the first column with itself, with the second
        and so on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> product_weights(X, X[:, 0] * X[:, 1]).round(1) + 0.0
    array([0., 1., 0.])
    >>> bool(np.abs(task_weights(X, X[:, 0] * X[:, 1])).max() < 0.15)
    True
    """
    table, target = _checked_task(X, y, task, C)
    standard = _standardise(table)
    first, second = np.triu_indices(table.shape[1])
    products = _standardise(standard[:, first] * standard[:, second])
    return _normal(np.column_stack([standard, products]), target, C)[table.shape[1] :]


def _checked_task(X: Any, y: Any, task: Task, C: float) -> tuple[Array, Target]:
    check_choice("task", task, ("auto", "regression", "classification"))
    check_positive("C", C)
    table, target = finite_matrix(X, "X"), read_target(y, task)
    if len(table) != len(target.values):
        raise InvalidInputError(f"X has {len(table)} rows and y has {len(target.values)}.")
    return table, target


def _normal(standard: Array, target: Target, C: float) -> Array:
    """Return the normal of a linear machine on standardised columns, shape (d,)."""
    from sklearn.svm import LinearSVC

    if target.classes is None:
        wanted = _standardise(finite_matrix(target.values[:, None], "y"))[:, 0]
        # All is centred, so that the machine with squared losses is a ridge in closed form.
        n, d = standard.shape
        if d > n:
            gram = standard @ standard.T + np.eye(n) / (2 * C)
            return np.asarray(standard.T @ np.linalg.solve(gram, wanted), dtype=np.float64)
        gram = standard.T @ standard + np.eye(d) / (2 * C)
        return np.asarray(np.linalg.solve(gram, standard.T @ wanted), dtype=np.float64)
    # A large scale of the constant column keeps the intercept out of the penalty.
    classifier = LinearSVC(C=C, dual=False, intercept_scaling=100.0, tol=1e-6, max_iter=5000)
    normals: Array = classifier.fit(standard, target.values).coef_
    return normals[0] if len(normals) == 1 else np.abs(normals).mean(axis=0)


def _standardise(columns: Array) -> Array:
    """Return columns with mean 0 and deviation 1, or 0 where they do not vary, shape (n, d)."""
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    noise = 1e-12 * np.abs(columns).max(axis=0, initial=0.0)
    return np.where(spread > noise, centred / np.where(spread > noise, spread, 1.0), 0.0)


def feature_set_distance(
    first: Case,
    second: Case,
    *,
    n_samples: int = 50,
    functions: Sequence[OwnFunction] = (),
) -> float:
    r"""Return how far the formulas of a case are from those of another, on artificial rows.

    For each formula of the first the nearest of the second is found, and these distances are added
    up [1]_: :math:`1 - r^2` with the correlation r of both on rows drawn where the narrower of
    both tables has its own. The draws are the same in every call.

    Parameters
    ----------
    first, second : Case
    n_samples : int
        Rows drawn.
    functions : sequence of OwnFunction
        Functions of your own that occur in formulas.

    Returns
    -------
    float
        0 if the first has no constructed formula.

    References
    ----------
    .. [1] Mierswa (2009), dissertation, TU Dortmund, figures 10.5 and 10.6.

    Examples
    --------
    >>> def case(*formulas):
    ...     return Case({"x": 1.0}, {"x": 0.0}, {"x": 0.1}, formulas)
    >>> round(feature_set_distance(case("exp(x)"), case("sin(x^2)", "exp(x) + x")), 2)
    0.0
    >>> round(feature_set_distance(case("exp(x)"), case("sin(x^2)")), 1)
    0.9
    """
    check_count("n_samples", n_samples, least=3)
    rows = _artificial_rows(first, second, n_samples)
    ours, theirs = (
        rows.matrix(each for each in case.expressions(functions) if each.arguments)
        for case in (first, second)
    )
    return float(_nearest(ours, theirs).sum())


def _artificial_rows(first: Case, second: Case, n_samples: int) -> ColumnCache:
    """Return normal draws about the middle of both centres, with the smaller of both spreads."""
    names = sorted({*first.names, *second.names})
    drawn = _standard_draws(n_samples, len(names))
    columns = {}
    for name, column in zip(names, drawn.T, strict=True):
        known = [case for case in (first, second) if name in case.weights]
        centre = sum(case.centres[name] for case in known) / len(known)
        columns[name] = centre + min(case.spreads[name] for case in known) * column
    return ColumnCache(columns)


@lru_cache(maxsize=64)
def _standard_draws(n_samples: int, n_columns: int) -> Array:
    """Return standard normal numbers, the same in every call, shape (n_samples, n_columns)."""
    return np.random.default_rng(0).normal(size=(n_samples, n_columns))


def _nearest(ours: Array, theirs: Array) -> Array:
    """Return the distance of each of our columns to the nearest of theirs, (n, k) to (k,)."""
    if not theirs.shape[1] or not ours.shape[1]:
        return np.ones(ours.shape[1])
    squared = (_standardise(ours).T @ _standardise(theirs) / len(ours)) ** 2
    same = (ours[:, :, None] == theirs[:, None, :]).all(axis=0)
    return np.where(same, 0.0, np.clip(1.0 - squared, 0.0, 1.0)).min(axis=1)


class ColumnMatch(NamedTuple):
    """Which column of a case is which of a task.

    renamed: Columns of the task by those of the case; without what has no partner.
    cost: Of the assignment, with the weights of columns that have none.
    """

    renamed: dict[str, str]
    cost: float


def match_columns(case: Case, task: Case) -> ColumnMatch:
    """Match the columns of a case with those of a task, at least cost in all.

    The cost of a pair is the difference of weights, and up to 1/2 for different spreads and
    centres each; a column left over costs the size of its weight. As many as can be are paired,
    and the Hungarian method finds the least.

    Parameters
    ----------
    case, task : Case

    Returns
    -------
    ColumnMatch

    Examples
    --------
    >>> zero, one = {"u": 0.0, "v": 0.0}, {"u": 1.0, "v": 1.0}
    >>> case = Case({"u": 0.9, "v": 0.0}, zero, one, ["exp(u)"])
    >>> task = Case({"a": 0.1, "b": 1.0}, {"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0})
    >>> match_columns(case, task).renamed
    {'u': 'b', 'v': 'a'}
    """
    from scipy.optimize import linear_sum_assignment

    theirs, ours = (
        [np.array(list(each.values())) for each in (known.weights, known.centres, known.spreads)]
        for known in (case, task)
    )
    by_weight = np.abs(theirs[0][:, None] - ours[0])
    tiny = np.finfo(float).tiny
    by_spread = np.abs(np.log((theirs[2][:, None] + tiny) / (ours[2] + tiny)))
    width = theirs[2][:, None] + ours[2]
    by_centre = np.abs(theirs[1][:, None] - ours[1]) / np.where(width > 0, width, 1.0)
    cost = by_weight + np.minimum(by_spread, 1) / 2 + np.minimum(by_centre, 1) / 2
    # A pair also saves what its columns cost alone.
    saved = np.abs(theirs[0])[:, None] + np.abs(ours[0])
    rows, columns = linear_sum_assignment(cost - saved)
    renamed = {case.names[i]: task.names[j] for i, j in zip(rows, columns, strict=True)}
    alone = np.abs(theirs[0]).sum() + np.abs(ours[0]).sum()
    return ColumnMatch(renamed, float(alone + (cost - saved)[rows, columns].sum()))


def rename_case(
    case: Case, renamed: Mapping[str, str], functions: Sequence[OwnFunction] = ()
) -> Case:
    """Return a case with other names of columns, and the formulas that are left with them."""
    columns = {Expression.column(old): Expression.column(new) for old, new in renamed.items()}
    formulas = [
        str(each.substitute(columns))
        for each in case.expressions(functions)
        if each.columns <= renamed.keys()
    ]
    weights, centres, spreads = (
        {new: each[old] for old, new in renamed.items()}
        for each in (case.weights, case.centres, case.spreads)
    )
    products = [
        (renamed[first], renamed[second], weight)
        for first, second, weight in case.products
        if {first, second} <= renamed.keys()
    ]
    return Case(weights, centres, spreads, formulas, case.title, products)
