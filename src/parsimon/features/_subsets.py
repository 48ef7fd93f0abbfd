"""Subsets of columns: their errors on fixed folds, each computed once, and walks among them.

Read `SubsetErrors` first: called with masks it returns errors. The walks (`forward`, `backward`,
`floating`, `prefixes` of a ranking) go over units, which are columns or groups of columns.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import (
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.metrics import get_scorer
from sklearn.svm import LinearSVC, LinearSVR

from parsimon._checks import check_probability, shorten
from parsimon._parallel import Workers, one_thread
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.features._linear_subsets import LinearFolds, LinearForm, Task, linear_form
from parsimon.pareto.space import Space

_DEFAULTS = {"classification": "accuracy", "regression": "neg_root_mean_squared_error"}
_MOST_NUMBERS = 20_000_000


class Measure(NamedTuple):
    """An error to be small: `best` minus a score of scikit-learn.

    of_decisions: The same for many models at once, where there is a formula: it maps decisions
        (B, K, m) and the targets of the test rows (m,) to errors (B,).
    """

    name: str
    scorer: Callable[..., float]
    best: float
    of_decisions: Callable[[Array, AnyArray], Array] | None

    @classmethod
    def of(cls, scoring: Any, task: Task) -> "Measure":
        """Return the error of a score by name or function."""
        scoring = _DEFAULTS[task] if scoring is None else scoring
        if not isinstance(scoring, str):
            if not callable(scoring):
                raise InvalidInputError(
                    f"scoring must be the name of a score or a function of estimator, X and y; got "
                    f"{scoring!r}."
                )
            return cls("error", scoring, 0.0, None)
        try:
            scorer = get_scorer(scoring)
        except ValueError as error:
            raise InvalidInputError(
                f"scikit-learn knows no score {scoring!r}; sklearn.metrics.get_scorer_names() lists"
                " them."
            ) from error
        # All other scores that scikit-learn names reach 1 at best.
        best = 0.0 if scoring.startswith("neg_") else 1.0
        return cls(scoring, scorer, best, _FORMULAS[task].get(scoring))


def _wrong_share(decisions: Array, y: AnyArray) -> Array:
    share: Array = (_decided(decisions) != y).mean(axis=1)
    return share


def _decided(decisions: Array) -> Indices:
    two = decisions.shape[1] == 1
    codes: Indices = (decisions[:, 0] > 0).astype(np.intp) if two else decisions.argmax(axis=1)
    return codes


def _wrong_share_of_classes(decisions: Array, y: AnyArray) -> Array:
    right = _decided(decisions) == y
    recall = [right[:, y == code].mean(axis=1) for code in np.unique(y)]
    share: Array = 1.0 - np.mean(recall, axis=0)
    return share


def _log_loss(decisions: Array, y: AnyArray) -> Array:
    if decisions.shape[1] == 1:
        decisions = np.stack((np.zeros_like(decisions[:, 0]), decisions[:, 0]), axis=1)
    own = decisions[:, y, np.arange(len(y))]
    loss: Array = (logsumexp(decisions, axis=1) - own).mean(axis=1)
    return loss


def _area_above(decisions: Array, y: AnyArray) -> Array:
    """Return 1 - AUC, by the sum of ranks."""
    n_positive = int(np.sum(y == 1))
    ranks = rankdata(decisions[:, 0], axis=1)[:, y == 1].sum(axis=1)
    n_pairs = n_positive * (len(y) - n_positive)
    above: Array = 1.0 - (ranks - n_positive * (n_positive + 1) / 2) / n_pairs
    return above


def _squares(decisions: Array, y: AnyArray) -> Array:
    square: Array = ((decisions[:, 0] - y) ** 2).mean(axis=1)
    return square


def _root_squares(decisions: Array, y: AnyArray) -> Array:
    root: Array = np.sqrt(_squares(decisions, y))
    return root


def _distances(decisions: Array, y: AnyArray) -> Array:
    distance: Array = np.abs(decisions[:, 0] - y).mean(axis=1)
    return distance


def _unexplained(decisions: Array, y: AnyArray) -> Array:
    share: Array = _squares(decisions, y) / y.var()
    return share


_FORMULAS: dict[str, dict[str, Callable[[Array, AnyArray], Array]]] = {
    "classification": {
        "accuracy": _wrong_share,
        "balanced_accuracy": _wrong_share_of_classes,
        "neg_log_loss": _log_loss,
        "roc_auc": _area_above,
    },
    "regression": {
        "neg_mean_squared_error": _squares,
        "neg_root_mean_squared_error": _root_squares,
        "neg_mean_absolute_error": _distances,
        "r2": _unexplained,
    },
}


@dataclass(frozen=True, eq=False)
class Columns:
    """Which columns come together, which are always there, and what each costs.

    units (g, d): Columns of each unit, of which every subset has all or none.
    fixed (d,): Columns of every subset.
    costs (d,), optional.
    """

    units: Mask
    fixed: Mask
    costs: Array | None = None

    @classmethod
    def of(cls, d: int, names: Any, *, groups: Any, fixed: Any, costs: Any) -> "Columns":
        """Return the columns of a table as options describe them, by place or name."""
        always = np.zeros(d, dtype=np.bool_)
        always[_column_places(fixed, "fixed", names, d)] = True
        left, units = ~always, []
        for group in groups or ():
            unit = np.zeros(d, dtype=np.bool_)
            unit[_column_places(group, "groups", names, d)] = True
            if not unit.any() or (unit & ~left).any():
                raise InvalidInputError(
                    "groups must be lists of columns that are in no other group and not fixed, "
                    f"got {shorten(list(group))}."
                )
            units.append(unit)
            left &= ~unit
        units += [np.arange(d) == place for place in np.flatnonzero(left)]
        if not units:
            raise InvalidInputError("All columns are fixed; leave some to choose from.")
        # In the order of their first columns, so that ties go to columns on the left.
        units.sort(key=lambda unit: int(unit.argmax()))
        return cls(np.array(units), always, _checked_costs(costs, d))

    def masks(self, bits: Mask) -> Mask:
        """Return the columns of subsets of units: (B, g) -> (B, d)."""
        on: Mask = (bits.astype(np.float64) @ self.units) > 0
        return on | self.fixed


def _column_places(chosen: Any, called: str, names: Any, d: int) -> list[int]:
    """Return the places of columns that are given by place or name."""
    if isinstance(chosen, str | int):
        raise InvalidInputError(f"{called} must be lists of columns, got {chosen!r}.")
    places = []
    for column in () if chosen is None else chosen:
        if isinstance(column, str) and names is not None and column in names:
            places.append(list(names).index(column))
        elif isinstance(column, int | np.integer) and 0 <= column < d:
            places.append(int(column))
        else:
            known = f"places from 0 to {d - 1}" + ("" if names is None else ", or names of columns")
            raise InvalidInputError(f"{called} must be {known}, got {column!r}.")
    return places


def _checked_costs(costs: Any, d: int) -> Array | None:
    if costs is None:
        return None
    try:
        checked = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"costs must be {d} numbers, got {costs!r}.") from error
    if checked.shape != (d,) or not np.isfinite(checked).all() or (checked < 0).any():
        raise InvalidInputError(
            f"costs must be {d} numbers that are not negative, one for each column; got "
            f"{shorten(checked.ravel().tolist())}."
        )
    return checked


@dataclass(eq=False, repr=False)
class SubsetErrors:
    """Cross-validated errors of subsets of columns, on folds that all of them share.

    Linear and logistic models are solved for many subsets at once (`_linear_subsets`), any other
    learner is fitted to one after the other. A subset is evaluated once.

    X (n, d), y (n,): The rows that the folds are made of, pairs of train and test.
    """

    learner: Any
    X: Array
    y: AnyArray
    folds: Sequence[tuple[Indices, Indices]]
    task: Task
    scoring: Any = None
    n_jobs: int | None = 1

    def __post_init__(self) -> None:
        self.measure = Measure.of(self.scoring, self.task)
        self._known: dict[bytes, Array] = {}
        self._linear: LinearFolds | None = None

    # What it was made of: errors are found again, and skops stores neither functions nor bytes.
    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_evaluated(self) -> int:
        """How many subsets have been evaluated."""
        return len(self._known)

    @property
    def form(self) -> LinearForm | None:
        """How many subsets are solved at once; None if one after the other."""
        form = linear_form(self.learner) if self.measure.of_decisions is not None else None
        wanted = "logistic" if self.task == "classification" else "ridge"
        two_only = self.measure.name == "roc_auc" and len(np.unique(self.y)) > 2
        return None if form is None or form.kind != wanted or two_only else form

    def __call__(self, masks: Mask) -> Array:
        """Return the mean error over the folds of each subset: (B, d) -> (B,)."""
        mean: Array = self.of_folds(masks).mean(axis=1)
        return mean

    def of_folds(self, masks: Mask) -> Array:
        """Return the error of each subset in each fold: (B, d) -> (B, n_folds)."""
        keys = [row.tobytes() for row in np.packbits(masks, axis=1)]
        new = {key: place for place, key in enumerate(keys) if key not in self._known}
        if new:
            found = self._evaluated(masks[list(new.values())])
            self._known.update(zip(new, found, strict=True))
        return np.array([self._known[key] for key in keys])

    def all_evaluated(self) -> tuple[Mask, Array]:
        """Return all subsets so far, (B, d), and their mean errors, (B,), in a fixed order."""
        keys = sorted(self._known, reverse=True)
        packed = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1)
        masks = np.unpackbits(packed, axis=1, count=self.X.shape[1]).astype(np.bool_)
        mean: Array = np.array([self._known[key] for key in keys]).mean(axis=1)
        return masks, mean

    def of_constant(self) -> float:
        """Return the mean error of a prediction that ignores all columns."""
        learner = DummyClassifier() if self.task == "classification" else DummyRegressor()
        one = np.zeros(self.X.shape[1], dtype=np.bool_)
        one[0] = True
        found = _errors_of_subset(learner, self.X, self.y, one, self.folds, self.measure)
        return float(np.mean(found))

    def _evaluated(self, masks: Mask) -> Array:
        if self.form is not None:
            with one_thread():
                return self._solved(self.form, masks)
        calls = [(self.learner, self.X, self.y, mask, self.folds, self.measure) for mask in masks]
        with Workers(self.n_jobs) as workers:
            return np.array(list(workers.map(_errors_of_subset, calls)))

    def _solved(self, form: LinearForm, masks: Mask) -> Array:
        """Return the errors of linear models of many subsets: (B, d) -> (B, n_folds)."""
        measure = self.measure.of_decisions
        assert measure is not None  # `form` is None otherwise
        codes = self.y
        if self.task == "classification":
            codes = np.unique(self.y, return_inverse=True)[1]
        if self._linear is None:
            self._linear = LinearFolds.of(form, self.X, codes, self.folds)
        found = np.empty((len(masks), len(self.folds)))
        most = max(1, _MOST_NUMBERS // (len(codes) * self._linear.T.shape[1]))
        for begin in range(0, len(masks), most):
            decisions = self._linear.decisions(masks[begin : begin + most])
            for place, (one, (_, test)) in enumerate(zip(decisions, self.folds, strict=True)):
                found[begin : begin + most, place] = measure(one, codes[test])
        return found


def _errors_of_subset(
    learner: Any,
    X: Array,
    y: AnyArray,
    mask: Mask,
    folds: Sequence[tuple[Indices, Indices]],
    measure: Measure,
) -> list[float]:
    """Return the error of a learner on some columns in each fold."""
    table = X[:, mask]
    return [
        measure.best - measure.scorer(clone(learner).fit(table[a], y[a]), table[b], y[b])
        for a, b in folds
    ]


@dataclass(frozen=True, eq=False)
class Walks:
    """Walks over subsets of units, each a list of subsets (k, g) that were passed.

    most: The most units of a subset.
    """

    errors: SubsetErrors
    columns: Columns
    most: int

    def forward(self) -> Mask:
        """Add the unit that helps most, from none on."""
        here, passed = np.zeros(len(self.columns.units), dtype=np.bool_), []
        while here.sum() < self.most:
            here, _ = self._best(here, adding=True)
            passed.append(here)
        return np.array(passed)

    def backward(self) -> Mask:
        """Drop the unit that helps least, from all of them on."""
        here = np.ones(len(self.columns.units), dtype=np.bool_)
        passed = [here]
        while here.sum() > 1:
            here, _ = self._best(here, adding=False)
            passed.append(here)
        return np.array([subset for subset in passed if subset.sum() <= self.most])

    def floating(self) -> Mask:
        """Add the unit that helps most, then drop units while that beats what was known.

        Pudil, Novovicova and Kittler (1994), Pattern Recognition Letters 15:1119-1125.
        """
        here = np.zeros(len(self.columns.units), dtype=np.bool_)
        known: dict[int, tuple[float, Mask]] = {}
        while here.sum() < self.most:
            here, error = self._best(here, adding=True)
            if error < known.get(int(here.sum()), (np.inf,))[0]:
                known[int(here.sum())] = error, here
            else:
                here = known[int(here.sum())][1]
            while here.sum() > 2:
                less, error = self._best(here, adding=False)
                if not error < known.get(int(less.sum()), (np.inf,))[0]:
                    break
                known[int(less.sum())], here = (error, less), less
        return np.array([known[size][1] for size in sorted(known)])

    def prefixes(self, score: Array) -> Mask:
        """Return the best unit by a score of each column, the best two, and so on."""
        of_units = np.array([score[unit].max() for unit in self.columns.units])
        order = np.argsort(-of_units, kind="stable")
        bits = np.zeros((self.most, len(order)), dtype=np.bool_)
        for size in range(1, self.most + 1):
            bits[size - 1, order[:size]] = True
        self.errors(self.columns.masks(bits))
        return bits

    def _best(self, here: Mask, *, adding: bool) -> tuple[Mask, float]:
        """Return the best subset with one unit more or less, and its error."""
        places = np.flatnonzero(here != adding)
        near = np.repeat(here[None], len(places), axis=0)
        near[np.arange(len(places)), places] = adding
        found = self.errors(self.columns.masks(near))
        best = int(found.argmin())
        return near[best], float(found[best])


@dataclass(frozen=True)
class CommonalityCrossover:
    """Keep what both parents have, and draw the rest so that children are as large as they were.

    A column that only one parent has goes to a child with the probability that keeps the expected
    size of that child's parent [1]_.

    Parameters
    ----------
    rate : float
        How often a pair is crossed at all.

    References
    ----------
    .. [1] Emmanouilidis, Hunter and MacIntyre (2000), Congress on Evolutionary Computation
       1:309-316.

    Examples
    --------
    >>> a = np.array([[True, True, True, False, False]])
    >>> b = np.array([[True, False, False, False, True]])
    >>> cross = CommonalityCrossover(rate=1.0)
    >>> first, second = cross(a, b, None, np.random.default_rng(0))
    >>> first[:, [0, 3]], second[:, [0, 3]]
    (array([[ True, False]]), array([[ True, False]]))
    """

    rate: float = 0.9

    def __post_init__(self) -> None:
        check_probability("rate", self.rate)

    def __call__(
        self,
        first: AnyArray,
        second: AnyArray,
        space: Space,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> tuple[AnyArray, AnyArray]:
        """Return the children of pairs of bit strings, (k, g) each."""
        shared, open_ = first & second, first ^ second
        n_open = np.maximum(open_.sum(axis=1, keepdims=True), 1)
        crossed = rng.random((len(first), 1)) < self.rate
        children = []
        for parent in (first, second):
            chance = (parent & ~shared).sum(axis=1, keepdims=True) / n_open
            child = shared | (open_ & (rng.random(first.shape) < chance))
            children.append(np.where(crossed, child, parent))
        return children[0], children[1]


def _standardised(X: Array) -> Array:
    spread = X.std(axis=0)
    standard: Array = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return standard


def _variance_ratio(X: Array, y: AnyArray, task: Task) -> Array:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # constant columns, which come last
        ratio = (f_classif if task == "classification" else f_regression)(X, y)[0]
    score: Array = np.nan_to_num(ratio, nan=-1.0, posinf=np.finfo(float).max)
    return score


def _information_gain(X: Array, y: AnyArray, task: Task) -> Array:
    gain = mutual_info_classif if task == "classification" else mutual_info_regression
    found: Array = gain(_standardised(X), y, random_state=0)
    return found


def _machine_weights(X: Array, y: AnyArray, task: Task) -> Array:
    if task == "classification":
        machine = LinearSVC(dual=False)
    else:
        machine = LinearSVR(dual=False, loss="squared_epsilon_insensitive")
        y = (y - y.mean()) / (y.std() or 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(_standardised(X), y)
    weights: Array = np.abs(np.atleast_2d(machine.coef_)).max(axis=0)
    return weights


def _component_weights(X: Array, y: AnyArray, task: Task) -> Array:  # noqa: ARG001
    weights: Array = np.abs(np.linalg.svd(_standardised(X), full_matrices=False)[2][0])
    return weights


def _relief(X: Array, y: AnyArray, task: Task) -> Array:
    """Return how much more columns differ between near rows of unlike targets than of like ones.

    ReliefF for classes, RReliefF for numbers, with ten neighbours (Robnik-Sikonja and Kononenko
    2003, Machine Learning 53:23-69), of at most 1,000 rows.
    """
    rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), 1000)).astype(np.intp))
    spread = np.ptp(X, axis=0)
    Z, y = (X / np.where(spread > 0, spread, 1.0))[rows], y[rows]
    distance = cdist(Z, Z, "cityblock")
    np.fill_diagonal(distance, np.inf)
    if task == "regression":
        return _relief_of_numbers(Z, y, distance)
    score = np.zeros(Z.shape[1])
    classes, sizes = np.unique(y, return_counts=True)
    for label, size in zip(classes, sizes, strict=True):
        own = np.flatnonzero(y == label)
        for other, n_other in zip(classes, sizes, strict=True):
            places = np.flatnonzero(y == other)
            k = min(10, n_other - (other == label))
            if k == 0:
                continue
            near = places[np.argsort(distance[np.ix_(own, places)], axis=1, kind="stable")[:, :k]]
            unlike = np.abs(Z[own][:, None] - Z[near]).mean(axis=1).sum(axis=0)
            share = -1.0 if other == label else n_other / (len(y) - size)
            score += share * unlike
    found: Array = score / len(y)
    return found


def _relief_of_numbers(Z: Array, y: Array, distance: Array) -> Array:
    k = min(10, len(y) - 1)
    near = np.argsort(distance, axis=1, kind="stable")[:, :k]
    rise = np.abs(y[:, None] - y[near]) / (np.ptp(y) or 1.0)
    unlike = np.abs(Z[:, None] - Z[near])
    both = np.einsum("nk,nkd->d", rise, unlike)
    total = rise.sum()
    found: Array = both / max(total, 1e-300) - (unlike.sum(axis=(0, 1)) - both) / max(
        rise.size - total, 1e-300
    )
    return found


# Scores of the columns that know no subset, greater is better (Mierswa 2009, section 6.1).
FILTERS: dict[str, Callable[[Array, AnyArray, Task], Array]] = {
    "variance ratio": _variance_ratio,
    "information gain": _information_gain,
    "Relief": _relief,
    "linear SVM": _machine_weights,
    "principal component": _component_weights,
}
