"""Subsets of columns: their errors on fixed folds, each computed once.

Read `SubsetErrors` first: called with masks it returns errors. `Columns` says which columns come
together, as units. `_subset_search` walks among them.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from scipy.special import logsumexp
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer

from parsimon._checks import shorten
from parsimon._data import Task
from parsimon._deadline import Deadline, is_late
from parsimon._parallel import Workers, one_thread
from parsimon._typing import AnyArray, Array, Indices, Mask
from parsimon._writing import warn_if_unwritten, whole_file
from parsimon.exceptions import CheckpointError, InvalidInputError
from parsimon.features._linear_subsets import LinearFolds, LinearForm, linear_form
from parsimon.pareto.run import OutOfTime

_DEFAULTS = {"classification": "accuracy", "regression": "neg_root_mean_squared_error"}
_MOST_NUMBERS = 20_000_000
# Subsets between two moments to save and to stop, and how many times more if they are solved.
_BETWEEN_SAVES, _SOLVED_BETWEEN, _SECONDS_BETWEEN_SAVES = 100, 10, 30.0


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
    return (_decide(decisions) != y).mean(axis=1)


def _decide(decisions: Array) -> Indices:
    two = decisions.shape[1] == 1
    return (decisions[:, 0] > 0).astype(np.intp) if two else decisions.argmax(axis=1)


def _wrong_share_of_classes(decisions: Array, y: AnyArray) -> Array:
    right = _decide(decisions) == y
    recall = [right[:, y == code].mean(axis=1) for code in np.unique(y)]
    return 1.0 - np.mean(recall, axis=0)


def _log_loss(decisions: Array, y: AnyArray) -> Array:
    if decisions.shape[1] == 1:
        decisions = np.stack((np.zeros_like(decisions[:, 0]), decisions[:, 0]), axis=1)
    own = decisions[:, y, np.arange(len(y))]
    return (logsumexp(decisions, axis=1) - own).mean(axis=1)


def _area_above(decisions: Array, y: AnyArray) -> Array:
    """Return 1 - AUC, by the sum of ranks."""
    n_positive = int(np.sum(y == 1))
    ranks = rankdata(decisions[:, 0], axis=1)[:, y == 1].sum(axis=1)
    n_pairs = n_positive * (len(y) - n_positive)
    return 1.0 - (ranks - n_positive * (n_positive + 1) / 2) / n_pairs


def _squares(decisions: Array, y: AnyArray) -> Array:
    return ((decisions[:, 0] - y) ** 2).mean(axis=1)


_FORMULAS: dict[str, dict[str, Callable[[Array, AnyArray], Array]]] = {
    "classification": {
        "accuracy": _wrong_share,
        "balanced_accuracy": _wrong_share_of_classes,
        "neg_log_loss": _log_loss,
        "roc_auc": _area_above,
    },
    "regression": {
        "neg_mean_squared_error": _squares,
        "neg_root_mean_squared_error": lambda decisions, y: np.sqrt(_squares(decisions, y)),
        "neg_mean_absolute_error": lambda decisions, y: np.abs(decisions[:, 0] - y).mean(axis=1),
        "r2": lambda decisions, y: _squares(decisions, y) / y.var(),
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
        always[column_places(fixed, "fixed", names, d)] = True
        left, units = ~always, []
        for group in groups or ():
            unit = np.zeros(d, dtype=np.bool_)
            unit[column_places(group, "groups", names, d)] = True
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
        return cls(np.array(units), always, _check_costs(costs, d))

    def masks(self, bits: Mask) -> Mask:
        """Return the columns of subsets of units: (B, g) -> (B, d)."""
        on: Mask = (bits.astype(np.float64) @ self.units) > 0
        return on | self.fixed


def column_places(chosen: Any, called: str, names: Any, d: int) -> list[int]:
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


def _check_costs(costs: Any, d: int) -> Array | None:
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


class SavedValues(dict[bytes, Array]):
    """Values of candidates by their bytes, in a file as well if one is named.

    digest: Makes the text that a file of other values does not have.
    """

    def __init__(
        self, place: str | Path | None, digest: Callable[[], str], called: str, made_of: str
    ) -> None:
        self._place, self._digest = place, digest
        self._saved = time.monotonic()
        if place is None or not Path(place).exists():
            return
        try:
            with Path(place).open("rb") as file, np.load(file, allow_pickle=False) as stored:
                found = str(stored["digest"])
                rows, values = stored["rows"], stored["values"]
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise CheckpointError(
                f"{place} is no checkpoint of {called}; remove it or name another file."
            ) from error
        if found != digest():
            raise CheckpointError(
                f"{place} belongs to another {made_of} or seed; name another file."
            )
        self.update((row.tobytes(), each) for row, each in zip(rows, values, strict=True))

    def rows(self) -> AnyArray:
        """Return the bytes of the candidates, a row each, shape (N, width)."""
        return np.frombuffer(b"".join(self), dtype=np.uint8).reshape(len(self), -1)

    def save_if_due(self) -> None:
        """Save if some time has passed since the last time."""
        if time.monotonic() - self._saved > _SECONDS_BETWEEN_SAVES:
            self.save()

    def save(self) -> None:
        """Write all values so far to the file, if there is one, all or nothing; else warn."""
        self._saved = time.monotonic()
        if self._place is None or not self:
            return
        digest, rows, values = self._digest(), self.rows(), np.array(list(self.values()))
        with warn_if_unwritten(), whole_file(self._place) as file:
            np.savez(file, digest=np.array(digest), rows=rows, values=values)


@dataclass(eq=False, repr=False)
class SubsetErrors:
    """Cross-validated errors of subsets of columns, on folds that all of them share.

    Linear and logistic models are solved for many subsets at once (`_linear_subsets`), any other
    learner is fitted to one after the other. A subset is evaluated once.

    X (n, d), y (n,): The rows that the folds are made of, pairs of train and test.
    deadline: After it `OutOfTime` is raised where errors are known and more are wanted.
    """

    learner: Any
    X: Array
    y: AnyArray
    folds: Sequence[tuple[Indices, Indices]]
    task: Task
    scoring: Any = None
    n_jobs: int | None = 1
    checkpoint: str | Path | None = None

    def __post_init__(self) -> None:
        self.measure = Measure.of(self.scoring, self.task)
        self._linear: LinearFolds | None = None
        self.deadline: Deadline = None
        self._known = SavedValues(
            self.checkpoint, self._digest, "a selection", "table, learner, score"
        )

    # What it was made of: errors are found again, and skops stores neither functions nor bytes.
    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)} | {
            "checkpoint": None
        }

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
        return self.of_folds(masks).mean(axis=1)

    def of_folds(self, masks: Mask) -> Array:
        """Return the error of each subset in each fold: (B, d) -> (B, n_folds)."""
        keys = [row.tobytes() for row in np.packbits(masks, axis=1)]
        new = {key: place for place, key in enumerate(keys) if key not in self._known}
        places = list(new.values())
        watched = self.checkpoint is not None or self.deadline is not None
        at_once = _BETWEEN_SAVES * (1 if self.form is None else _SOLVED_BETWEEN)
        step = max(1, at_once if watched else len(new))
        for begin in range(0, len(new), step):
            if self._known and is_late(self.deadline):
                raise OutOfTime
            part = masks[places[begin : begin + step]]
            self._known.update(zip(list(new)[begin:], self._evaluate(part), strict=False))
            self._known.save_if_due()
        return np.array([self._known[key] for key in keys])

    def save(self) -> None:
        """Write all errors so far to the file, if there is one, all or nothing; else warn."""
        self._known.save()

    def _digest(self) -> str:
        """Return a text that tells tables, folds, learners and scores apart."""
        named = self.scoring if isinstance(self.scoring, str | None) else _name(self.scoring)
        texts = [re.sub(r" at 0x[0-9a-f]+", "", repr(self.learner.get_params())), str(named)]
        digest = sha256("\n".join([self.task, _name(type(self.learner)), *texts]).encode())
        labels = self.y if self.y.dtype.kind in "iufb" else self.y.astype(str)
        for array in (self.X, labels, *(rows for fold in self.folds for rows in fold)):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def all_evaluated(self) -> tuple[Mask, Array]:
        """Return all subsets so far, (B, d), and their mean errors, (B,), in a fixed order."""
        keys = sorted(self._known, reverse=True)
        packed = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1)
        masks = np.unpackbits(packed, axis=1, count=self.X.shape[1]).astype(np.bool_)
        return masks, np.array([self._known[key] for key in keys]).mean(axis=1)

    def of_constant(self) -> float:
        """Return the mean error of a prediction that ignores all columns."""
        learner = DummyClassifier() if self.task == "classification" else DummyRegressor()
        first = np.arange(self.X.shape[1]) == 0
        errors = _errors_of_subset(learner, self.X, self.y, first, self.folds, self.measure)
        return float(np.mean(errors))

    def _evaluate(self, masks: Mask) -> Array:
        if self.form is not None:
            with one_thread():
                return self._solve(self.form, masks)
        calls = [(self.learner, self.X, self.y, mask, self.folds, self.measure) for mask in masks]
        with Workers(self.n_jobs) as workers:
            return np.array(list(workers.map(_errors_of_subset, calls)))

    def _solve(self, form: LinearForm, masks: Mask) -> Array:
        """Return the errors of linear models of many subsets: (B, d) -> (B, n_folds)."""
        measure = self.measure.of_decisions
        assert measure is not None  # `form` is None otherwise
        codes = self.y
        if self.task == "classification":
            codes = np.unique(self.y, return_inverse=True)[1]
        if self._linear is None:
            self._linear = LinearFolds(form, self.X, codes, self.folds)
        found = np.empty((len(masks), len(self.folds)))
        most = max(1, _MOST_NUMBERS // (len(codes) * self._linear.T.shape[1]))
        for begin in range(0, len(masks), most):
            decisions = self._linear.decisions(masks[begin : begin + most])
            for place, (fold, (_, test)) in enumerate(zip(decisions, self.folds, strict=True)):
                found[begin : begin + most, place] = measure(fold, codes[test])
        return found


def _name(thing: Any) -> str:
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{named.__qualname__}"


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
