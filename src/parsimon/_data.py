"""What learners are given: rows, how many times each counts, and the weights of classes.

A table with repeated rows, the same table with integer weights, and either of them shuffled are
the same data; after `merged_rows` they are the same arrays, and so is every number computed from
them.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from parsimon._checks import finite_vector, shorten
from parsimon._random import check_seed
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError

# Squares, and sums of many squares, of numbers between these are neither infinite nor zero.
LARGEST, SMALLEST = 1e151, 1e-151
# A row counts no more often than this, and if at all no less.
LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e9
# Columns by which rows are sorted, and the others only if these leave some alike.
_FIRST_COLUMNS = 16
# The ten digits; whole numbers with more values are a number, and so are those that hardly recur.
MOST_NUMBERED_CLASSES, FEWEST_ROWS_OF_CLASS = 10, 3

Task = Literal["classification", "regression"]


def validate_data(estimator: Any, X: Any, *target: Any, reset: bool = True, **options: Any) -> Any:
    """Return what scikit-learn's function of this name returns, for tables that can be used.

    Repeated names of columns are refused, and so are numbers whose squares no computer holds: in
    a fit, columns that hardly vary as well, and seeds that are none. Rows come back in one order
    of memory, whatever they came in: sums over a data frame would differ in their last bits.
    """
    from sklearn.utils.validation import validate_data as checked

    _refuse_repeated_names(X)
    if reset:
        check_seed(getattr(estimator, "random_state", None))
    if target:
        _refuse_mixed_labels(target[0])
    found = checked(estimator, X, *target, reset=reset, order="C", **options)
    numbers, y = found if isinstance(found, tuple) else (found, None)
    names = getattr(X, "columns", None)
    refuse_scale(numbers, "X", names, is_fit=reset)
    if y is not None and y.dtype.kind == "f":
        refuse_scale(y.reshape(len(y), -1), "y", is_fit=reset)
    return found


def _refuse_repeated_names(X: Any) -> None:
    """Refuse a data frame with two columns of one name."""
    names = list(getattr(X, "columns", ()))
    if len(set(names)) < len(names):
        name, n = Counter(names).most_common(1)[0]
        raise InvalidInputError(f"X has {n} columns called {name!r}; rename all but one.")


def _refuse_mixed_labels(y: Any) -> None:
    """Refuse labels of which some are text and some are not, which have no order."""
    # A list of both becomes text in NumPy without a word.
    labels = y if isinstance(y, list | tuple) else np.asarray(y)
    if isinstance(labels, np.ndarray) and (labels.dtype != object or labels.ndim != 1):
        return
    text = next((label for label in labels if isinstance(label, str)), None)
    other = next((label for label in labels if isinstance(label, Real)), None)
    if text is not None and other is not None:
        raise InvalidInputError(
            f"y has text and numbers as labels, such as {text!r} and {other!r}; give labels of "
            "one kind."
        )


def refuse_scale(values: Array, called: str, names: Any = None, *, is_fit: bool = True) -> None:
    """Refuse columns whose numbers, or in a fit whose differences, have no square.

    Shapes: values (n, d), NaN where a cell is empty; names (d,).
    """
    top, bottom = np.fmax.reduce(values), np.fmin.reduce(values)
    for place in np.flatnonzero(np.fmax(np.abs(top), np.abs(bottom)) > LARGEST):
        which = _column(called, names, int(place), values.shape[1])
        raise InvalidInputError(
            f"{which} reaches {max(top[place], -bottom[place]):.3g}, which is too large to be "
            "squared; give it in a larger unit or leave it out."
        )
    spread = top - bottom
    for place in np.flatnonzero((spread > 0) & (spread < SMALLEST) & is_fit):
        which = _column(called, names, int(place), values.shape[1])
        raise InvalidInputError(
            f"{which} varies by only {spread[place]:.3g}, which is too little to be squared; give "
            "it in a smaller unit or leave it out."
        )


def _column(called: str, names: Any, place: int, n_columns: int) -> str:
    if names is not None and len(names) == n_columns:
        return f"Column {str(names[place])!r} of {called}"
    return called if n_columns == 1 else f"Column {place} of {called}"


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows to learn from: equal ones merged, those without weight left out.

    given (n_given, d): The table as it came.
    y (n,): Class codes or targets.
    weights (n,): How many times each counts, positive.
    places (n,): Which of the given rows they are: the first of equal ones.
    which (n_given,): The merged row of each given row; -1 for one that is left out.
    share (n_given,): A given row's part of its merged row's weight.
    """

    given: Array
    y: AnyArray
    weights: Array
    places: Indices
    which: Indices
    share: Array

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def X(self) -> Array:
        """The rows themselves, shape (n, d); the given table where nothing was changed."""
        is_whole = np.array_equal(self.places, np.arange(len(self.given)))
        return np.ascontiguousarray(self.given if is_whole else self.given[self.places])

    @property
    def is_new(self) -> Mask:
        """False where the row before has the same inputs and only another target, shape (n,)."""
        return np.append(True, (self.X[1:] != self.X[:-1]).any(axis=1))

    @property
    def unused(self) -> Array:
        """The given rows that are left out, in order, shape (n_unused, d)."""
        return self.given[self.which < 0]

    def of(self, chosen: Indices) -> "Rows":
        """Return some of the rows."""
        number = np.full(len(self) + 1, -1, dtype=np.intp)  # the last is for those left out
        number[chosen] = np.arange(len(chosen))
        which = number[self.which]
        return Rows(
            self.given,
            self.y[chosen],
            self.weights[chosen],
            self.places[chosen],
            which,
            np.where(which < 0, 0.0, self.share),
        )


def merged_rows(X: Array, y: AnyArray, weights: Array, *, merge: bool = True) -> Rows:
    """Merge rows that are equal in X and y, leave out those without weight, and sort.

    A table of similarities is not merged, only looked up: its columns belong to its rows.

    Shapes: X (n_given, d), y (n_given,), weights (n_given,).
    """
    used = np.flatnonzero(weights > 0)
    order, begins = used, np.arange(len(used))
    if merge:
        order = used[_sorted_rows(X[used], y[used])]
        same = (X[order[1:]] == X[order[:-1]]).all(axis=1) & (y[order[1:]] == y[order[:-1]])
        begins = np.flatnonzero(np.append(True, ~same))
    places, totals = order[begins], np.add.reduceat(weights[order], begins)
    which, share = np.full(len(X), -1, dtype=np.intp), np.zeros(len(X))
    which[order] = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(order)))
    share[used] = weights[used] / totals[which[used]]
    return Rows(X, y[places], totals, places, which, share)


def _sorted_rows(X: Array, y: AnyArray) -> Indices:
    """Return the order of rows by their columns from the first on, then by y.

    Shapes: X (n, d), y (n,) -> (n,).
    """
    # Rows that the first columns tell apart need no others, of which a wide table has thousands.
    first = X[:, :_FIRST_COLUMNS]
    order = np.lexsort(first.T[::-1]) if X.shape[1] > _FIRST_COLUMNS else None
    if order is not None and (first[order[1:]] != first[order[:-1]]).any(axis=1).all():
        return order
    # Keys from the last to the first; the sort is stable, so the first of equal rows leads.
    return np.lexsort((y, *X.T[::-1]))


def checked_weights(weights: Any, n_rows: int) -> Array:
    """Return weights as floats, ones if there are none, refusing negative ones."""
    if weights is None:
        return np.ones(n_rows)
    checked = finite_vector(weights, "weights")
    if len(checked) != n_rows:
        raise InvalidInputError(f"There are {n_rows} rows but {len(checked)} weights.")
    if (checked < 0).any() or not (checked > 0).any():
        raise InvalidInputError(
            f"Weights must not be negative and some must be positive; the least is "
            f"{checked.min():g}, the greatest {checked.max():g}."
        )
    _refuse_weights_beyond(checked, "A weight")
    return checked


def _refuse_weights_beyond(weights: Array, called: str) -> None:
    """Refuse weights that are larger or smaller than counts of rows that can be computed with."""
    positive = weights[weights > 0]
    for extreme in (positive.max(initial=1.0), positive.min(initial=1.0)):
        if not LEAST_WEIGHT <= extreme <= MOST_WEIGHT:
            raise InvalidInputError(
                f"{called} says how many times a row counts, and {extreme:.3g} is beyond what can "
                f"be computed with ({LEAST_WEIGHT:g} to {MOST_WEIGHT:g}); divide all weights by "
                "their mean."
            )


def row_weights(sample_weight: Any, n_rows: int) -> Array:
    """Return the weights of the rows, ones if there are none."""
    if sample_weight is not None and not np.any(np.asarray(sample_weight)):
        raise InvalidInputError(
            f"All {n_rows} sample weights are zero. Give some row a positive weight."
        )
    return checked_weights(sample_weight, n_rows)


def class_weights(
    spec: Mapping[Any, float] | str | None, classes: Any, codes: Indices, weights: Array
) -> Array:
    """Return the weight of each row's class.

    Shapes: classes (n_classes,), codes (n,), weights (n,) -> (n,).
    """
    if spec is None:
        return np.ones(len(codes))
    if isinstance(spec, str):
        if spec != "balanced":
            raise InvalidInputError(
                f"class_weight must be a dict, 'balanced' or None; got {spec!r}."
            )
        totals = np.bincount(codes, weights=weights, minlength=len(classes))
        present = totals > 0
        share = totals.sum() / (present.sum() * np.where(present, totals, 1.0))
        return share[codes]
    if not isinstance(spec, Mapping):
        raise InvalidInputError(
            f"class_weight must be a dict, 'balanced' or None; got {type(spec).__name__}."
        )
    labels = classes.tolist()
    unknown = [label for label in spec if label not in labels]
    if unknown:
        raise InvalidInputError(
            f"class_weight names {unknown[0]!r}, which is not among the classes {shorten(labels)}."
        )
    given = [spec.get(label, 1.0) for label in labels]
    if not all(isinstance(weight, Real) and 0 <= float(weight) < np.inf for weight in given):
        raise InvalidInputError(f"Class weights must be positive, got {shorten(given)}.")
    factors = np.array(given, dtype=np.float64)
    _refuse_weights_beyond(factors, "A class weight")
    return factors[codes]


def check_classes(classes: Any, codes: Indices, weights: Array | None = None) -> None:
    """Refuse fewer than two classes among the rows, or among those with weight."""
    present = np.unique(codes if weights is None else codes[weights > 0])
    if len(present) < 2:
        where = "" if weights is None else " among the rows with weight"
        raise InvalidInputError(
            f"Two classes or more are needed{where}, got {len(present)} "
            f"class: {shorten(classes[present].tolist())}."
        )


def holds_classes(y: AnyArray) -> bool:
    """Tell whether a target without empty cells is classes, or else a number.

    Text, truth values and two distinct numbers are classes, and so are whole numbers with at most
    ten distinct values if there are three rows for each.
    """
    if y.dtype.kind not in "iuf":
        return True
    values = np.unique(y)
    few = len(values) <= min(MOST_NUMBERED_CLASSES, len(y) // FEWEST_ROWS_OF_CLASS)
    return len(values) <= 2 or (few and bool((values == np.floor(values)).all()))


def known_task(task: str, estimator: Any = None) -> Task | None:
    """Return what options say of a target: the task, or the kind of a learner."""
    from sklearn.base import is_classifier, is_regressor

    if task in ("classification", "regression"):
        return task  # type: ignore[return-value]
    if estimator is not None and is_classifier(estimator):
        return "classification"
    return "regression" if estimator is not None and is_regressor(estimator) else None


def target_task(y: AnyArray, task: str = "auto", estimator: Any = None) -> Task:
    """Return the task that options say; what they leave open `holds_classes` decides."""
    known = known_task(task, estimator)
    return known or ("classification" if holds_classes(y) else "regression")


class Target(NamedTuple):
    """What is to be predicted.

    values (n,): Numbers, or codes of classes.
    classes (n_classes,): None for numbers.
    """

    values: AnyArray
    classes: AnyArray | None

    @property
    def task(self) -> Task:
        """Whether it is classes or a number."""
        return "regression" if self.classes is None else "classification"

    @property
    def n_classes(self) -> int:
        """How many classes there are, 0 for numbers."""
        return 0 if self.classes is None else len(self.classes)


def read_target(y: Any, task: str = "auto", estimator: Any = None) -> Target:
    """Return numbers, or codes of classes, of a target; see `target_task`."""
    labels = np.asarray(y)
    if target_task(labels, task, estimator) == "regression":
        try:
            return Target(labels.astype(np.float64), None)
        except ValueError as error:
            raise InvalidInputError(
                f"A regression needs numbers, and y has {labels.tolist()[0]!r}; leave task out, or "
                "give task='classification'."
            ) from error
    is_broken = labels.dtype.kind == "f" and not np.equal(labels, np.round(labels)).all()
    if is_broken and len(np.unique(labels)) > 2:
        raise InvalidInputError(
            "Unknown label type: y has numbers that are not whole; give task='regression'."
        )
    classes, codes = np.unique(labels, return_inverse=True)
    check_classes(classes, codes)
    return Target(codes, classes)


def tag_task(tags: Any, task: str | None) -> Any:
    """Return scikit-learn's tags of an estimator with what it predicts; neither if that is open."""
    from sklearn.utils import ClassifierTags, RegressorTags

    if task == "classification":
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
    elif task in ("regression", "forecast"):
        tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
    return tags
