"""Fits to both halves of a split: what each selects, and how its models do on the other half."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import kendalltau
from sklearn.base import clone

from parsimon._deadline import is_late
from parsimon._interrupts import Interrupt
from parsimon._parallel import Workers
from parsimon._random import generator
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.features.screen import (
    Levels,
    best_first,
    moderated_scores,
    ranked_columns,
    target_columns,
)
from parsimon.roc import auc

# Splits after which Ctrl-C ends a run with what it has: a share of their 20 fits is known to 0.2.
_FEWEST = 10


@dataclass(frozen=True)
class WideTable:
    """What the fits to halves share.

    X (n, d), y (n,), medians and row_sizes (n,) as from `row_levels`.
    classes: None for a number.
    fixed: Places of columns that every model has and none selects.
    shared: Whether the columns are of one kind.
    estimator: None for moderated scores.
    n_selected: Columns that moderated scores select.
    judged: Whether models are judged, which counts of columns do without.
    """

    X: Array
    y: AnyArray
    medians: Array
    row_sizes: Array
    classes: AnyArray | None
    fixed: Indices
    shared: bool
    estimator: Any
    n_selected: int
    judged: bool = True

    @property
    def sizes(self) -> list[int]:
        """Numbers of columns at which models are judged."""
        wanted = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50)
        return [size for size in wanted if size < self.n_selected] + [self.n_selected]

    def levels(
        self, rows: Indices | slice = slice(None), columns: Indices | slice = slice(None)
    ) -> tuple[Levels, Array]:
        """Return the scale of some rows, and the levels of columns in these."""
        scale = Levels.of(self.X[rows], self.row_sizes[rows], shared=self.shared)
        return scale, scale.of_rows(self.X[rows], self.medians[rows], columns)


@dataclass(frozen=True)
class HalfFit:
    """columns: Those selected, best first where they are ranked.

    train, test (k,): How well models of the sizes of the table order the rows of this half, and
    of the other; one of each for an estimator, none of a table that is not judged.
    """

    columns: Indices
    train: Array
    test: Array


class Splits:
    """Runs of fits to both halves of random splits, as many splits in each as time allows.

    n_runs: How many runs are to follow each other, of which the first finds out how many splits
        there is time for; all others make as many.
    started: When the time limit began, by the monotonic clock.
    """

    def __init__(
        self,
        workers: Workers,
        n_splits: int,
        n_runs: int,
        started: float,
        time_limit: float | None,
        interrupt: Interrupt,
    ) -> None:
        self._workers, self._n_splits, self._interrupt = workers, n_splits, interrupt
        self._end = None if time_limit is None else started + time_limit
        # Models of the true target are judged too, which takes longer than to select.
        self._n_shares = n_runs + 2
        self._longest = 0.0

    def fits(
        self,
        table: WideTable,
        seed: Any,
        fit: Callable[..., Any] | None = None,
        *,
        so_far: bool = False,
    ) -> list[HalfFit]:
        """Make a run: fit both halves of each split, of one split at least.

        One `so_far` ends at Ctrl-C with the splits that are done, unless those are few.
        """
        found: list[HalfFit] = []
        began, share = time.monotonic(), None
        if self._end is not None and not self._longest:
            share = began + (self._end - began) / self._n_shares
        calls = (
            (table, split)
            for place, split in enumerate(seed.spawn(self._n_splits))
            if place == 0 or not is_late(share)
        )
        try:
            for pair in self._workers.map(fit or fit_halves, calls):
                found.extend(pair)
        except KeyboardInterrupt as error:
            if not so_far or len(found) < 2 * _FEWEST:
                raise
            self._interrupt.answer(error)
            return found
        self._n_splits = len(found) // 2
        self._longest = max(self._longest, time.monotonic() - began)
        return found

    def whole_runs(self, runs: Iterable[tuple[WideTable, Any]]) -> Iterator[list[HalfFit]]:
        """Make runs while there is time; one that Ctrl-C cuts is not counted."""
        try:
            for table, seed in runs:
                if self._has_time():
                    yield self.fits(table, seed)
        except KeyboardInterrupt as error:
            self._interrupt.answer(error)

    def _has_time(self) -> bool:
        """Return whether another run is likely to end in time."""
        if self._interrupt.came:
            return False
        return self._end is None or time.monotonic() + self._longest < self._end


def halve_rows(y: AnyArray, classes: AnyArray | None, seed: Any) -> tuple[Indices, Indices]:
    """Return two halves of the rows, of each class apart.

    An odd row of a class goes to either half by chance.
    """
    rng = generator(seed)
    strata = [np.arange(len(y))] if classes is None else [np.flatnonzero(y == c) for c in classes]
    first = np.zeros(len(y), dtype=np.bool_)
    for rows in strata:
        size = len(rows) // 2 + (len(rows) % 2) * int(rng.integers(2))
        first[rng.permutation(rows)[:size]] = True
    return np.flatnonzero(first), np.flatnonzero(~first)


def fit_halves(table: WideTable, seed: Any) -> tuple[HalfFit, HalfFit]:
    """Fit both halves of a random split."""
    draw, first_seed, second_seed = seed.spawn(3)
    first, second = halve_rows(table.y, table.classes, draw)
    return fit_half(table, first, second, first_seed), fit_half(table, second, first, second_seed)


def fit_permuted(table: WideTable, seed: Any) -> tuple[HalfFit, HalfFit]:
    """Fit both halves of a random split with a target of its own that says nothing."""
    order, rest = seed.spawn(2)
    return fit_halves(replace(table, y=generator(order).permutation(table.y)), rest)


def fit_half(table: WideTable, rows: Indices, others: Indices, seed: Any) -> HalfFit:
    """Select columns by some rows and judge the models on the others."""
    if table.estimator is None:
        return _rank_and_judge(table, rows, others)
    model = clone(table.estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=int(generator(seed).integers(2**31)))
    values = table.X
    if len(table.fixed):
        if "fixed" in model.get_params():
            model.set_params(fixed=table.fixed.tolist())
        else:
            values = beside_fixed(table, rows)
    model.fit(values[rows], table.y[rows])
    columns = np.setdiff1d(selected_columns(model, table.X.shape[1]), table.fixed)
    if not table.judged:
        return HalfFit(columns, np.empty(0), np.empty(0))
    # A selector with a front selects for all of its models, not for the one that predicts.
    is_front = hasattr(model, "front_") and hasattr(model, "get_support")
    methods = [m for m in ("decision_function", "predict_proba", "predict") if hasattr(model, m)]
    if is_front or not methods:
        return _judge_average(table, rows, others, columns)
    order_rows = getattr(model, methods[0])
    found = [_order(table, part, order_rows(values[part])) for part in (rows, others)]
    return HalfFit(columns, np.array(found[:1]), np.array(found[1:]))


def beside_fixed(table: WideTable, rows: Indices) -> Array:
    """Return the table with what the fixed columns explain, in some rows, taken out of the others.

    So an estimator that cannot hold columns fixed judges each by what it adds to them.

    Shapes: rows (m,) -> (n, d).
    """
    given = table.X[:, table.fixed]
    centred = given - given[rows].mean(axis=0)
    slopes = np.linalg.lstsq(centred[rows], table.X[rows], rcond=None)[0]
    slopes[:, table.fixed] = 0.0
    return table.X - centred @ slopes


def selected_columns(model: Any, d: int) -> Indices:
    """Return the columns that a fitted selector, sparse model or front uses, ascending.

    A column of a front counts once if any member uses it.
    """
    if hasattr(model, "get_support"):
        return np.flatnonzero(model.get_support())
    if hasattr(model, "front_") and hasattr(model, "select"):
        members = [selected_columns(model.front_.solution(k), d) for k in range(len(model.front_))]
        return np.unique(np.concatenate([np.empty(0, dtype=np.intp), *members]))
    steps = getattr(model, "steps", None)
    if steps is not None:
        return _of_steps(steps, d)
    for name in ("coef_", "feature_importances_"):
        weights = getattr(model, name, None)
        if weights is not None and np.shape(weights)[-1] == d:
            return np.flatnonzero(np.abs(np.reshape(weights, (-1, d))).sum(axis=0) > 0)
    raise InvalidInputError(
        f"{type(model).__name__} does not say which columns it uses; give an estimator with "
        "get_support, coef_, feature_importances_ or a front of such estimators."
    )


def _of_steps(steps: Any, d: int) -> Indices:
    """Return what a pipeline uses: each step that selects narrows the columns of the next."""
    columns = np.arange(d)
    for place, (_, step) in enumerate(steps):
        is_last = place == len(steps) - 1
        if hasattr(step, "get_support"):
            columns = columns[step.get_support()]
        elif is_last and any(hasattr(step, name) for name in ("coef_", "feature_importances_")):
            columns = columns[selected_columns(step, len(columns))]
    return columns


def _rank_and_judge(table: WideTable, rows: Indices, others: Indices) -> HalfFit:
    scale, levels = table.levels(rows)
    target = target_columns(table.y[rows], table.classes)
    score = moderated_scores(levels, target, table.X[np.ix_(rows, table.fixed)])
    score[table.fixed] = -1.0
    columns = best_first(score)[: table.n_selected]
    if not table.judged:
        return HalfFit(columns, np.empty(0), np.empty(0))
    model = ranked_columns(levels[:, columns], target, columns, scale)
    votes = [
        np.cumsum(model.votes(table.X[part], table.medians[part]), axis=2)
        for part in (rows, others)
    ]
    return _judge(table, rows, others, columns, votes)


def _judge_average(table: WideTable, rows: Indices, others: Indices, columns: Indices) -> HalfFit:
    """Judge columns that came without a model by the average over them."""
    target = target_columns(table.y[rows], table.classes)
    votes = [np.zeros((len(part), target.shape[1], 1)) for part in (rows, others)]
    if len(columns):
        scale, levels = table.levels(rows, columns)
        model = ranked_columns(levels, target, columns, scale)
        votes = [
            model.votes(table.X[part], table.medians[part]).sum(axis=2, keepdims=True)
            for part in (rows, others)
        ]
    return _judge(table, rows, others, columns, votes)


def _judge(
    table: WideTable, rows: Indices, others: Indices, columns: Indices, votes: list[Array]
) -> HalfFit:
    """Return how well votes of more and more columns order the rows, and the others.

    Shapes: votes (n, r, k), (m, r, k): Of one column for one size, else of all sizes of the table.
    """
    sizes = table.sizes if table.estimator is None else [1]
    train, test = (
        [_order(table, part, _add_fixed(table, rows, part, votes, size)) for size in sizes]
        for part in (rows, others)
    )
    return HalfFit(columns, np.array(train), np.array(test))


def _add_fixed(
    table: WideTable, rows: Indices, part: Indices, votes: list[Array], size: int
) -> Array:
    """Return what `size` columns say of a part, with the fixed columns by least squares."""
    said = votes[0 if part is rows else 1][:, :, size - 1]
    if not len(table.fixed):
        return said
    given = [
        np.column_stack([np.ones(len(place)), table.X[np.ix_(place, table.fixed)], vote])
        for place, vote in ((rows, votes[0][:, :, size - 1]), (part, said))
    ]
    spread = given[0].std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    target = target_columns(table.y[rows], table.classes)
    weights = np.linalg.lstsq(given[0] / spread, target, rcond=None)[0]
    return (given[1] / spread) @ weights


def _order(table: WideTable, rows: Indices, said: Array) -> float:
    """Return how well scores order rows: the AUC, its mean over classes, or the concordance."""
    said = np.asarray(said, dtype=float) if np.asarray(said).dtype.kind in "fiub" else said
    y = table.y[rows]
    if table.classes is None:
        tau = kendalltau(np.ravel(said), y).statistic
        return 0.5 if np.isnan(tau) else float((1 + tau) / 2)
    if np.asarray(said).dtype.kind not in "fiub":
        said = (np.asarray(said)[:, None] == table.classes).astype(float)
    scores = np.reshape(said, (len(rows), -1))
    if len(table.classes) == 2:
        return auc(y == table.classes[1], scores[:, -1])
    areas = [auc(y == label, s) for label, s in zip(table.classes, scores.T, strict=True)]
    return float(np.mean(areas))
