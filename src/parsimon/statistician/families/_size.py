"""One currency for the size of models: bits that it takes to write a fitted model down.

Whoever reads what is written has the columns of the training rows, not the target; the model is
what he needs to predict it. A number that n rows determine is worth log2(n) / 2 bits, since its
standard error falls with the root of n [1]; a threshold is one of n places between rows, log2(n)
bits; a choice of v among d variables costs log2(d + 1) for v and log2 of the ways to choose them.
`docs/explanation/size-of-models.md` derives it.

How many numbers the rows determine is the trace of the smoother, which maps what was seen to what
is fitted. For a linear predictor whose loss has the curvature H and whose penalty is P it is
tr(inv(H + P) H); for a function with the kernel K, of which each row is seen with a precision T, it
is tr(K inv(K + inv(T))). Gaussian processes, relevance vector machines and Bayes point machines
know theirs; scikit-learn's regressions and support vector machines are measured here.

[1] Rissanen (1978), Automatica 14:465-471.
"""

import math
import pickle
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit, gammaln

from parsimon._typing import Array

if TYPE_CHECKING:
    from parsimon.features import Expression

_SQUARES = {"Ridge": "alpha", "RidgeCV": "alpha_"}
_LOGISTIC = {"LogisticRegression": "C", "LogisticRegressionCV": "C_"}
# Of the greatest curvature, what keeps directions invertible that the rows do not determine.
_NOTHING = 1e-10


class ModelSize(NamedTuple):
    """How large a fitted model is.

    used: Places of the columns that it uses.
    bits: That it takes to write it down.
    words: Of what it is made: "4 numbers", "100 trees, 11,200 leaves".
    numbers: That are in it, if it is made of numbers alone; else 0.
    """

    used: tuple[int, ...]
    bits: float
    words: str
    numbers: int = 0


class _Table(NamedTuple):
    """The rows and columns that a model was fitted to; what was used, if that is known.

    X (n, k): The rows as the model itself sees them, if they are known.
    """

    n_rows: int
    n_columns: int
    used: tuple[int, ...] | None
    X: Any = None

    @property
    def all_used(self) -> tuple[int, ...]:
        """What is known to be used; else every column."""
        return tuple(range(self.n_columns)) if self.used is None else self.used

    def numbers(self, k: float) -> float:
        """Return the bits of k numbers."""
        return 0.5 * k * math.log2(max(2, self.n_rows))

    def chosen(self, used: Sequence[int]) -> float:
        """Return the bits of choosing these columns."""
        d = max(self.n_columns, len(used))
        return math.log2(d + 1) + subset_bits(len(used), d)

    def fitted(self, used: tuple[int, ...], numbers: float) -> ModelSize:
        """Return the size of the choice of columns and of so many numbers for them."""
        return _of_numbers(used, self.chosen(used) + self.numbers(numbers), numbers)

    def splits(self, n_splits: int, n_trees: int) -> float:
        """Return the bits of splits: how they hang together, a column and a threshold each.

        A binary tree of s splits is 2 s + 1 bits: at every node whether it is split.
        """
        each = 2 + math.log2(max(1, self.n_columns)) + math.log2(max(2, self.n_rows))
        return n_trees + n_splits * each


def subset_bits(k: int, n: int) -> float:
    """Return the bits of choosing k of n things."""
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return float(max(0.0, ways)) / math.log(2)


def model_size(
    model: Any, *, n_rows: int, n_columns: int, used: Sequence[int] | None = None, X: Any = None
) -> ModelSize:
    """Return the size of a fitted model of this package or of scikit-learn.

    What is neither is as large as it is when stored and compressed. `used` are places of the
    columns that it uses, if the model itself does not say. With `X`, the rows that it was fitted
    to, penalised weights count as far as the rows determine them; without it each counts in full.
    """
    table = _Table(n_rows, n_columns, None if used is None else tuple(used))
    size, kept = _measure(model, table, X)
    if kept is None:
        return size
    return size._replace(used=tuple(kept[place] for place in size.used if place < len(kept)))


def _measure(model: Any, table: _Table, X: Any) -> tuple[ModelSize, tuple[int, ...] | None]:
    """Return the size of the model that predicts, and which columns it is given."""
    model, kept, X = _last(model, X)
    measure = next((measure for fits, measure in _MEASURES if fits(model)), _stored)
    return measure(model, table._replace(X=X)), kept


def size_of_numbers(
    numbers: float, used: Sequence[int], *, n_rows: int, n_columns: int
) -> ModelSize:
    """Return the size of so many numbers that rows determine, and of the columns they are for."""
    return _Table(n_rows, n_columns, None).fitted(tuple(used), numbers)


def total_size(sizes: Iterable[ModelSize]) -> ModelSize:
    """Return the size of several models that answer together, such as one for each class."""
    parts = list(sizes)
    if len(parts) == 1:
        return parts[0]
    used = tuple(sorted({place for part in parts for place in part.used}))
    numbers = sum(part.numbers for part in parts)
    words = " + ".join(dict.fromkeys(part.words for part in parts))
    if all(part.numbers for part in parts):
        words = f"{len(parts)} functions, {_count(numbers, 'number')}"
    return ModelSize(used, sum(part.bits for part in parts), words, numbers)


def _of_numbers(used: tuple[int, ...], bits: float, numbers: float) -> ModelSize:
    whole = max(1, round(numbers))
    return ModelSize(used, bits, _count(whole, "number"), whole)


def _last(model: Any, X: Any = None) -> tuple[Any, tuple[int, ...] | None, Any]:
    """Return the model that predicts: the last step of a pipeline, the best of a search.

    And places of the columns that earlier steps pass on to it, if they pick some; and its rows.
    """
    kept: tuple[int, ...] | None = None
    while True:
        if hasattr(model, "steps") and hasattr(model, "named_steps"):
            for _, step in model.steps[:-1]:
                picked = getattr(step, "kept_", getattr(step, "columns", None))
                if picked is not None:
                    places = [int(place) for place in picked]
                    kept = tuple(places if kept is None else (kept[place] for place in places))
            X = X if X is None or len(model.steps) < 2 else model[:-1].transform(X)
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "regressor_"):
            model = model.regressor_
        else:
            return model, kept, X


def _constant(model: Any, table: _Table) -> ModelSize:
    k = max(1, len(getattr(model, "classes_", ())) - 1)
    return _of_numbers((), table.numbers(k), k)


def _process(model: Any, table: _Table) -> ModelSize:
    """Count what the rows determine of the function, and the hyperparameters."""
    from parsimon.gp import degrees_of_freedom

    kernels = model.kernel_ if isinstance(model.kernel_, tuple) else (model.kernel_,)
    hyperparameters = sum(len(kernel.theta) for kernel in kernels)
    freedom = float(getattr(model, "degrees_of_freedom_", math.nan))
    if math.isnan(freedom):
        freedom = degrees_of_freedom(model)
    if math.isnan(freedom):
        freedom = float(len(getattr(model, "inducing_points_", ())) or table.n_rows)
    return table.fitted(table.all_used, freedom + hyperparameters)


def _relevance(model: Any, table: _Table) -> ModelSize:
    """Count the weights as far as the rows determine them, and the choice of the functions."""
    m = len(model.relevance_)
    freedom = max(1.0, float(model.degrees_of_freedom_))
    if isinstance(model.kernel_, str) and model.kernel_ == "features":
        return table.fitted(tuple(int(place) for place in model.relevance_), freedom)
    if not m:
        return _of_numbers((), table.numbers(freedom), freedom)
    used = table.all_used
    # The width is one more number.
    bits = table.chosen(used) + subset_bits(min(m, table.n_rows), table.n_rows)
    bits += table.numbers(freedom + 1)
    words = f"{_count(m, 'row')} of the table, {_count(round(freedom) + 1, 'number')}"
    return ModelSize(used, bits, words)


def _support(model: Any, table: _Table) -> ModelSize:
    """Count what the rows determine of the function; bias, width and C.

    Where that is not known: which rows the support vectors are, and a number for each.
    """
    m, used = len(model.support_), table.all_used
    if not m:
        # The same for every row: its height alone.
        return ModelSize((), table.numbers(1), _count(1, "number"))
    rows = f"{_count(m, 'row')} of the table"
    freedom = math.nan if table.X is None else machine_freedom(model, table.X)
    if not math.isnan(freedom):
        bits = table.chosen(used) + table.numbers(freedom + 3)
        return ModelSize(used, bits, f"{rows}, {_count(round(freedom) + 3, 'number')}")
    weights = np.atleast_2d(getattr(model, "dual_coef_", np.ones((1, m))))
    numbers = int(np.count_nonzero(np.asarray(weights))) + 3
    bits = table.chosen(used) + subset_bits(min(m, table.n_rows), table.n_rows)
    return ModelSize(used, bits + table.numbers(numbers), f"{rows}, {_count(numbers, 'number')}")


def _class_by_class(model: Any, table: _Table) -> ModelSize:
    """Add up the functions of each class against the rest."""
    parts = [_measure(part, table, table.X)[0] for part in model.estimators_]
    whole = total_size(parts)
    machines = [_last(part)[0] for part in model.estimators_]
    if not all(hasattr(machine, "support_") for machine in machines):
        return whole
    rows = {int(row) for machine in machines for row in machine.support_}
    return whole._replace(
        words=f"{len(machines)} functions, {_count(len(rows), 'row')} of the table"
    )


def _linear(model: Any, table: _Table) -> ModelSize:
    """Count the weights as far as the rows determine them, and the constants.

    Where no squared penalty is known, those that are not zero.
    """
    coefficients = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    used = tuple(int(place) for place in np.flatnonzero(coefficients.any(axis=0)))
    numbers = float(getattr(model, "degrees_of_freedom_", math.nan))
    if math.isnan(numbers) and table.X is not None:
        numbers = linear_freedom(model, table.X)
    if math.isnan(numbers):
        numbers = float(np.count_nonzero(coefficients))
        numbers += float(np.count_nonzero(np.asarray(getattr(model, "intercept_", 0.0))))
        if len(coefficients) > 1 and is_softmax(model):
            # Only differences between the functions of classes matter.
            numbers *= (len(coefficients) - 1) / len(coefficients)
    return table.fitted(used, numbers)


def is_softmax(model: Any) -> bool:
    """Return whether adding the same to the functions of all classes changes nothing."""
    names = (*_LOGISTIC, "LinearDiscriminantAnalysis")
    return type(model).__name__ in names and getattr(model, "solver", "") != "liblinear"


def linear_freedom(model: Any, given: Any) -> float:
    """Return the trace of a linear model with a squared penalty; NaN for any other.

    A constant without penalty is one of them. Shapes: given (n, d), the rows it was fitted to.
    """
    name, X = type(model).__name__, np.asarray(given, dtype=np.float64)
    if name in _SQUARES and np.ndim(model.coef_) == 1:
        return _ridge_freedom(X, float(getattr(model, _SQUARES[name])), bool(model.fit_intercept))
    if name not in _LOGISTIC or _has_corners(model):
        return math.nan
    price = np.ravel(np.asarray(getattr(model, _LOGISTIC[name]), dtype=np.float64))
    if is_softmax(model) and len(model.coef_) > 1:
        return _logistic_freedom(X, model.predict_proba(X), 1 / price[0], model.fit_intercept)
    decisions = np.reshape(model.decision_function(X), (len(X), -1))
    prices = np.broadcast_to(price, len(model.coef_))
    return sum(
        _logistic_freedom(X, expit(decision)[:, None], 1 / cost, model.fit_intercept)
        for decision, cost in zip(decisions.T, prices, strict=True)
    )


def _has_corners(model: Any) -> bool:
    """Return whether a logistic regression has another penalty than squares."""
    ratios = [getattr(model, name, None) for name in ("l1_ratio", "l1_ratio_")]
    known = [
        float(value) for ratio in ratios if ratio is not None for value in np.ravel(ratio) if value
    ]
    return any(known) or getattr(model, "penalty", "l2") not in ("l2", "deprecated")


def _ridge_freedom(X: Array, penalty: float, has_constant: bool) -> float:
    centred = X - X.mean(axis=0) if has_constant else X
    squares = np.linalg.svd(centred, compute_uv=False) ** 2
    squares = squares[squares > _NOTHING * squares.max(initial=0.0)]
    return float(np.sum(squares / (squares + penalty))) + has_constant


def _logistic_freedom(X: Array, shares: Array, penalty: float, has_constant: bool) -> float:
    """Return the trace at the fit, by the curvature of the last step of Newton's method.

    Shapes: shares (n, c) of all classes, or (n, 1) of one against the rest.
    """
    design = np.column_stack([X, np.ones(len(X))]) if has_constant else X
    n_classes, width = shares.shape[1], design.shape[1]
    curvature = np.empty((n_classes, width, n_classes, width))
    for own in range(n_classes):
        for other in range(n_classes):
            weights = shares[:, own] * (float(own == other) - shares[:, other])
            curvature[own, :, other, :] = (design.T * weights) @ design
    H = curvature.reshape(n_classes * width, -1)
    prices = np.full((n_classes, width), penalty)
    prices[:, X.shape[1] :] = 0.0
    least = _NOTHING * float(np.diagonal(H).max(initial=penalty))
    factor = cho_factor(H + np.diag(prices.ravel() + least))
    return float(np.trace(cho_solve(factor, H)))


def machine_freedom(model: Any, given: Any) -> float:
    """Return the trace of a support vector machine of two classes; NaN if it cannot be known.

    The hinge loss has no curvature. In its place stands the logistic loss that is as steep: with
    log odds of A times the decision the machine minimises C / A log losses beside half of the
    squared norm over A^2, so that a row is seen with the precision A C p (1 - p).

    Shapes: given (n, d), the rows it was fitted to.
    """
    from sklearn.metrics.pairwise import pairwise_kernels

    X: Array = np.asarray(given, dtype=np.float64)
    kernel = getattr(model, "kernel", None)
    if not isinstance(kernel, str) or kernel == "precomputed" or len(model.classes_) != 2:
        return math.nan
    gamma = model.gamma
    if isinstance(gamma, str):
        gamma = 1.0 / (X.shape[1] * (float(X.var()) or 1.0 if gamma == "scale" else 1.0))
    own = {name: getattr(model, name) for name in ("degree", "coef0") if hasattr(model, name)}
    options = {"gamma": gamma, "degree": 3, "coef0": 0.0} | own
    K = pairwise_kernels(X, metric=kernel, filter_params=True, **options)
    slopes = getattr(model, "slopes_", None)
    slope = 1.0 if slopes is None else (slopes.above + slopes.below) / 2
    share = expit(slope * model.decision_function(X))
    return smoother_trace(K, slope * float(model.C) * share * (1.0 - share))


def smoother_trace(K: Array, precision: Array) -> float:
    """Return tr(K inv(K + inv(T))); shapes K (n, n), precision (n,), the diagonal of T."""
    root = np.sqrt(precision)
    values = np.maximum(np.linalg.eigvalsh(K * np.outer(root, root)), 0.0)
    return float(np.sum(values / (1.0 + values)))


def _formula(model: Any, table: _Table) -> ModelSize:
    """Count the operations of a formula, which column stands where, and the numbers."""
    from parsimon.features.feature_sets import complexity
    from parsimon.statistician.families.feature_fronts import formula_bits

    used = tuple(
        place
        for place, name in enumerate(model.names)
        if any(name in feature.columns for feature in model.features)
    )
    parts = [part.operation for feature in model.features for part in feature.parts()]
    numbers = np.asarray(model.coef).size + np.asarray(model.intercept).size
    numbers += sum(map(_count_numbers, model.features))
    bits = table.chosen(used) + table.numbers(numbers) + formula_bits(model.features)
    bits += parts.count("column") * math.log2(max(1, len(used)))
    # Counted as the front of formulas counts them.
    made = f"a formula of {_count(complexity(model.features), 'sign')}"
    return ModelSize(used, bits, f"{made}, {_count(numbers, 'number')}")


def _count_numbers(feature: "Expression") -> int:
    """Count the numbers of a formula as it is written, where a difference has a minus, not -1."""
    from parsimon.features.expressions import MINUS_ONE

    parts = list(feature.parts())
    minus = sum(part.operation == "product" and MINUS_ONE in part.arguments for part in parts)
    return sum(part.operation == "number" for part in parts) - minus


def _series_features(model: Any, table: _Table) -> ModelSize:
    """Count the steps of method trees, and what the rows determine of the function of them."""
    from parsimon.features.series.series_model import smooth_kernel
    from parsimon.features.series.tree_methods import METHODS

    steps = sum(tree.size for tree in model.trees)
    options = sum(len(step.options) for tree in model.trees for step in tree.steps)
    fit, n = model.inner, len(model.Z)
    K = smooth_kernel(model.Z, model.Z, fit.width)
    freedom = float(np.trace(np.linalg.solve(K + fit.noise * np.eye(n), K)))
    # The targets of all classes add up to one, so that the rows alone give the sum of their
    # functions; width and noise are two more.
    functions = max(1, fit.weights.shape[1] - 1)
    numbers = freedom * functions + options + 2
    bits = steps * math.log2(len(METHODS)) + table.numbers(numbers)
    words = f"{_count(len(model.trees), 'feature')}, {_count(round(numbers), 'number')}"
    return ModelSize(table.all_used, bits, words)


def _nearest(model: Any, table: _Table) -> ModelSize:
    """Count what is known of each row that a new one is compared with."""
    n, classes = len(model.y_), model.n_classes_
    bits = n * math.log2(classes) if classes else table.numbers(n)
    return ModelSize(table.all_used, bits, f"{_count(n, 'series', 'series')}")


def _tree(model: Any, table: _Table) -> ModelSize:
    n_leaves, used = _leaves(model)
    values = n_leaves * _values_of_a_leaf(model)
    bits = table.numbers(values) + table.splits(n_leaves - 1, 1)
    return ModelSize(used, bits, _count(n_leaves, "leaf", "leaves"))


def _leaves(tree: Any) -> tuple[int, tuple[int, ...]]:
    """Return the number of leaves of a tree, and the columns that it splits."""
    features = np.asarray(tree.tree_.feature)
    used = tuple(int(place) for place in np.unique(features[features >= 0]))
    return int(tree.tree_.n_leaves), used


def _values_of_a_leaf(model: Any) -> int:
    return max(1, len(getattr(model, "classes_", ())) - 1)


def _trees(model: Any, table: _Table) -> ModelSize:
    trees = [_leaves(tree) for tree in np.ravel(np.asarray(model.estimators_, dtype=object))]
    # The trees of a boosted model are regressions, one for each function.
    each = 1 if hasattr(model, "init_") else _values_of_a_leaf(model)
    return _many_trees(trees, each, table)


def _boosted(model: Any, table: _Table) -> ModelSize:
    trees = []
    for tree in (tree for step in getattr(model, "_predictors") for tree in step):  # noqa: B009
        inner = tree.nodes["is_leaf"] == 0
        used = tuple(int(place) for place in np.unique(tree.nodes["feature_idx"][inner]))
        trees.append((int(tree.get_n_leaf_nodes()), used))
    return _many_trees(trees, 1, table)


def _many_trees(
    trees: Sequence[tuple[int, tuple[int, ...]]], values: int, table: _Table
) -> ModelSize:
    n_leaves = sum(leaves for leaves, _ in trees)
    bits = table.numbers(n_leaves * values) + table.splits(n_leaves - len(trees), len(trees))
    used = tuple(sorted({place for _, places in trees for place in places}))
    words = f"{_count(len(trees), 'tree')}, {_count(n_leaves, 'leaf', 'leaves')}"
    return ModelSize(used, bits, words)


def _stored(model: Any, table: _Table) -> ModelSize:
    """Return how many bits a model has when it is stored and compressed."""
    try:
        n_bytes = len(zlib.compress(pickle.dumps(model)))
    except (pickle.PicklingError, TypeError, AttributeError):
        return ModelSize(table.all_used, math.inf, "size not known")
    return ModelSize(table.all_used, 8.0 * n_bytes, f"{_count(n_bytes, 'byte')} when stored")


def _count(n: int, noun: str, plural: str = "") -> str:
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda model: all(hasattr(model, name) for name in names)


def _is_forest(model: Any) -> bool:
    trees = getattr(model, "estimators_", None)
    return trees is not None and all(
        hasattr(tree, "tree_") for tree in np.ravel(np.asarray(trees, dtype=object))
    )


def _is_process(model: Any) -> bool:
    names = ("GPClassifier", "GPRegressor", "SparseGPClassifier", "PivotRegressor")
    return type(model).__name__ in names


_MEASURES: tuple[tuple[Callable[[Any], bool], Callable[[Any, _Table], ModelSize]], ...] = (
    (_is_process, _process),
    (_has("relevance_", "alpha_", "degrees_of_freedom_"), _relevance),
    (lambda model: type(model).__name__.startswith("Dummy"), _constant),
    (_has("features", "names", "intercept"), _formula),
    (_has("trees", "inner", "cost"), _series_features),
    (_has("kept_values_", "n_classes_"), _nearest),
    (_has("coef_"), _linear),
    (_has("support_"), _support),
    (_has("estimators_", "label_binarizer_"), _class_by_class),
    (_has("tree_"), _tree),
    (_is_forest, _trees),
    (_has("_predictors"), _boosted),
)
