"""Which functions a machine is given if no width is: the columns, a kernel's, or a constant.

Read `choose_width` first. The evidence of a relevance vector machine is a likelihood maximised over
a precision for every function, and narrow functions have many to choose from: it prefers widths
that overfit, on pure noise too. Widths are therefore compared by rows that took no part in a fit.
The columns are divided by their standard deviations. They are tried themselves, then functions of
kernels, from wide ones, whose fits are fast, to narrow ones for as long as held-out rows gain, last
those of the columns as they are. Few rows are dealt out to folds several times where the choice is
close. A constant is kept unless the best is better than it beyond chance. The scores of the
held-out rows serve a second time, to calibrate probabilities.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from parsimon._checks import finite_matrix
from parsimon._data import Rows
from parsimon._random import seed_sequence
from parsimon._typing import Array, Indices
from parsimon.kernels import Laplacian, SquaredExponential
from parsimon.kernels.leaf import Leaf
from parsimon.rvm._dictionary import (
    BasisFunctions,
    KernelColumns,
    TableColumns,
    choose_row_centres,
    make_basis,
)
from parsimon.rvm._widths import chosen_rows

N_FOLDS = 5
# With so few rows the choice hangs on how they are dealt out: close ones are made on several deals.
FEW_ROWS, N_DEALS = 200, 3
# Of columns in units of their standard deviations; the lengthscale of "rbf" is so many times the
# root of the number of columns, that of "laplacian" so many times the number.
WIDTHS = (4.0, 2.0, 1.0, 0.5, 0.25)
# With fewer rows there is no choice, but this width.
LEAST_ROWS, USUAL_WIDTH = 10, 2.0
# Rows on which a width is chosen when there are more.
MOST_ROWS = 1000
# A function that leaves less than this at the nearest row is no function of the other rows.
LEAST_REACH = 0.1
_COMPARED = 300
# The columns themselves instead of functions of a kernel.
FEATURES: Literal["features"] = "features"
# The columns as they are: pixels at the edge of a picture hardly vary, and say as little. Where the
# deviations differ by less than the factor it is much the same kernel as "rbf".
UNSCALED: Literal["rbf unscaled"] = "rbf unscaled"
SAME_SCALE = 2.0
Choice: TypeAlias = Leaf | Literal["features"]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Which rows are held out in which fold, and how much of their weight.

    Shapes: rows, weights, folds (u,).
    """

    rows: Indices
    weights: Array
    folds: Indices

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.folds.max(initial=-1)) + 1

    def left(self, weights: Array) -> Iterator[Array]:
        """Yield the weights of all rows, shape (n,), that each fold leaves to fit to."""
        for fold in range(self.n_folds):
            own = self.folds == fold
            rest = weights - np.bincount(self.rows[own], self.weights[own], len(weights))
            yield np.where(rest > 1e-9 * weights, rest, 0.0)


def deal_out(
    groups: Indices, weights: Array, importance: Array | None = None, *, deal: int = 0
) -> HeldOut:
    """Deal the rows of each group out to folds; a row that counts three times is three rows.

    A weight that is no whole number, or that is due to the row's class, makes a row important and
    not several: it is held out at once. Too few rows in a group make fewer folds; of less than two
    folds, or ten rows, nothing is held out. The folds depend on the rows alone, so that a fit can
    be repeated.

    Shapes: groups (n,), weights (n,), importance (n,): the factor that is due to the class.
    """
    rng = np.random.default_rng(deal)
    counts = weights if importance is None else weights / importance
    is_whole = np.abs(counts - np.round(counts)) < 1e-6 * counts
    copies = np.clip(np.where(is_whole, np.round(counts), 1), 1, N_FOLDS).astype(np.intp)
    least = int(np.bincount(groups, copies)[np.unique(groups)].min())
    n_folds = min(N_FOLDS, least)
    if n_folds < 2 or copies.sum() < LEAST_ROWS:
        empty = np.empty(0, dtype=np.intp)
        return HeldOut(empty, np.empty(0), empty)
    dealt = [rng.permutation(np.flatnonzero(groups == group)) for group in np.unique(groups)]
    rows = np.concatenate([np.repeat(own, copies[own]) for own in dealt])
    return HeldOut(rows, (weights / copies)[rows], np.arange(len(rows)) % n_folds)


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Rows with columns in units of their standard deviations, and where functions may sit.

    Shapes: X (n, d), weights (n,), points (c, d), numbers (c,), scales (d,).

    centres (c, d): The points in the units of the table.
    place (n,): The function that sits at each row, if functions sit at rows.
    """

    X: Array
    weights: Array
    points: Array
    centres: Array
    numbers: Indices
    place: Indices | None
    scales: Array

    @classmethod
    def of(cls, estimator: Any, rows: Rows) -> "ScaledRows":
        """Scale the rows of an estimator's fit and choose its centres among them."""
        scales = column_scales(rows.X, rows.weights)
        X, given = rows.X / scales, estimator.centres
        is_count = given is None or isinstance(given, Integral)
        if not is_count:
            given = finite_matrix(given, "centres")
        points, numbers = choose_row_centres(
            given if is_count or given.shape[1] != len(scales) else given / scales,
            X,
            rows,
            seed_sequence(estimator.random_state).spawn(1)[0],
        )
        at_rows = is_count and len(points) == int(rows.is_new.sum())
        place = np.cumsum(rows.is_new) - 1 if at_rows else None
        centres = rows.given[numbers] if is_count else given
        return cls(X, rows.weights, points, centres, numbers, place, scales)

    @cached_property
    def units(self) -> Array:
        """What a unit that all columns share is in each scaled one, shape (d,); typically 1."""
        varies = np.ptp(self.X, axis=0) > 0.0
        if not varies.any():
            return np.ones(len(self.scales))
        largest = self.scales[varies].max()
        common = largest * np.sqrt(np.mean(np.square(self.scales[varies] / largest)))
        return np.where(varies, common / self.scales, 1.0)

    def sample(self, groups: Indices) -> tuple["ScaledRows", Indices]:
        """Return the same with at most `MOST_ROWS` rows, of each group its share, and these rows.

        Shapes: groups (n,).
        """
        rng = np.random.default_rng(0)
        some = chosen_rows(
            groups.astype(np.float64), "classification", self.weights, MOST_ROWS, rng
        )
        if len(some) == len(self.X):
            return self, some
        fewer = replace(self, X=self.X[some], weights=self.weights[some])
        if self.place is None:
            return fewer, some
        used, place = np.unique(self.place[some], return_inverse=True)
        return replace(fewer, points=self.points[used], place=place), some

    def scaled_basis(self, kernel: Choice, bias: bool) -> BasisFunctions:
        """Return the functions of a kernel, of scaled columns."""
        if kernel == FEATURES:
            return self._columns(bias, np.ones(len(self.scales)))
        return make_basis(kernel, self.X, centres=self.points, bias=bias)

    def basis(self, kernel: Choice | None, bias: bool) -> BasisFunctions:
        """Return the functions of a chosen kernel in units of the table, or the bias alone."""
        if kernel == FEATURES:
            return self._columns(bias, self.scales)
        own = SquaredExponential() if kernel is None else kernel
        lengthscale = np.asarray(own.numbers("lengthscale")) * self.scales
        functions = KernelColumns(
            own.replaced(lengthscale=tuple(lengthscale.tolist())), self.centres
        )
        made = BasisFunctions(functions, self.numbers, bias)
        return made.columns(np.arange(int(bias))) if kernel is None else made

    def _columns(self, bias: bool, scales: Array) -> BasisFunctions:
        """Return the columns themselves, from their means, which only a bias can make up for."""
        every = np.arange(len(scales))
        origin = np.average(self.X, axis=0, weights=self.weights) * scales if bias else None
        return BasisFunctions(TableColumns(every, "feature", origin, scales), every, bias)


# From a basis, its design at all rows, training weights of all rows and held-out rows to scores of
# the latter, shape (h, k).
Scorer: TypeAlias = Callable[[BasisFunctions, Array, Array, Indices], Array]


@dataclass(frozen=True, eq=False)
class Trials:
    """Fits of all folds at any width; `scorer` fits a fold and predicts what it holds out.

    deals: Ways to deal the rows out to folds, of which all but the first are for close choices.
    """

    table: ScaledRows
    bias: bool
    deals: tuple[HeldOut, ...]
    scorer: Scorer

    def scores(self, kernel: Choice, parts: HeldOut) -> Array:
        """Return the scores of all held-out parts, shape (u, k)."""
        table = self.table
        basis = table.scaled_basis(kernel, self.bias)
        design = basis.design(table.X)
        answers: list[Array] = []
        order: list[Indices] = []
        for fold, left in enumerate(parts.left(table.weights)):
            own = np.flatnonzero(parts.folds == fold)
            held = parts.rows[own]
            columns = np.arange(basis.n_columns) if kernel == FEATURES else self._columns(left)
            answers.append(self.scorer(basis.columns(columns), design[:, columns], left, held))
            order.append(own)
        return np.concatenate(answers)[np.argsort(np.concatenate(order))]

    def _columns(self, left: Array) -> Indices:
        """Return the columns of functions at training rows, the bias first."""
        first = int(self.bias)
        if self.table.place is None:
            return np.arange(len(self.table.points) + first)
        used = np.unique(self.table.place[left > 0.0])
        return np.concatenate([np.arange(first), first + used])


def deal_rows(
    groups: Indices, weights: Array, importance: Array | None = None
) -> tuple[HeldOut, ...]:
    """Return the ways to deal rows out: several if there are few.

    Shapes: groups (n,), weights (n,), importance (n,).
    """
    n_deals = N_DEALS if len(groups) <= FEW_ROWS else 1
    return tuple(deal_out(groups, weights, importance, deal=deal) for deal in range(n_deals))


class Trial(NamedTuple):
    """Functions that were tried, with scores (u, k) and losses (u,) for each deal so far."""

    name: str
    width: float
    kernel: Choice
    scores: tuple[Array, ...]
    losses: tuple[Array, ...]

    def mean(self, deals: Sequence[HeldOut]) -> float:
        """Return the mean loss of the deals on which it was tried."""
        used = deals[: len(self.losses)]
        return float(np.average(np.concatenate(self.losses), weights=shared_weights(used)))


@dataclass(frozen=True, eq=False)
class WidthChoice:
    """The kernel of scaled columns, or they themselves; None for a constant; with its scores.

    scores (u, k): Of the held-out parts of each deal; none if there were too few rows.
    tried: Names, widths and mean losses of held-out rows; the constant has no width.
    """

    kernel: Choice | None
    scores: tuple[Array, ...]
    tried: tuple[tuple[str, float, float], ...]


def choose_width(
    trials: Trials,
    names: Sequence[str],
    losses: Callable[[Array, HeldOut], Array],
    constant: Array,
    *,
    deadline: float | None,
) -> WidthChoice:
    """Return the functions that predict held-out rows best, or the constant.

    Those which the first deal of rows cannot tell from the best are compared on all.

    Shapes: constant (n,): the losses of a constant, by rows.

    names: Of the kernels among which to choose.
    losses: From scores (u, k) and the parts that they are of to the losses of these, (u,).
    """
    parts = trials.deals[0]
    if not parts.n_folds:
        usual = next(name for name in names if name != FEATURES)
        return WidthChoice(_kernel(usual, USUAL_WIDTH, trials.table.units), (), ())
    tried: list[Trial] = []
    for name in names:
        if name != UNSCALED or not _is_about_one(trials.table.units):
            tried += _from_wide_to_narrow(
                trials, name, losses, constant[parts.rows], tried, deadline
            )
    tried = _deal_again(trials, tried, losses, deadline)
    n_deals = max(len(trial.losses) for trial in tried)
    deals = trials.deals[:n_deals]
    best = min(
        (trial for trial in tried if len(trial.losses) == n_deals),
        key=lambda trial: trial.mean(deals),
    )
    base = np.concatenate([constant[deal.rows] for deal in deals])
    weights = shared_weights(deals)
    is_kept = gains_surely(base - np.concatenate(best.losses), weights)
    means = [(trial.name, trial.width, trial.mean(deals)) for trial in tried]
    return WidthChoice(
        best.kernel if is_kept else None,
        best.scores,
        (("constant", np.inf, float(np.average(base, weights=weights))), *means),
    )


def _is_about_one(units: Array) -> bool:
    """Return whether columns are as they are when they are scaled, but for a common factor."""
    return bool(units.max() <= SAME_SCALE * units.min())


def _from_wide_to_narrow(
    trials: Trials,
    name: str,
    losses: Callable[[Array, HeldOut], Array],
    constant: Array,
    before: Sequence[Trial],
    deadline: float | None,
) -> list[Trial]:
    """Try the widths of a kernel on the first deal for as long as held-out rows gain.

    Shapes: constant (u,): the losses of a constant at the held-out parts.

    before: What was tried already.
    """
    parts, nearest = trials.deals[0], _nearest(trials.table.X)
    weights = parts.weights
    found: list[Trial] = []
    for width in (np.inf,) if name == FEATURES else WIDTHS:
        late = deadline is not None and time.monotonic() > deadline
        kernel = _kernel(name, width, trials.table.units)
        if (before or found) and (late or _reach(kernel, nearest) < LEAST_REACH):
            break
        scores = trials.scores(kernel, parts)
        now = Trial(name, width, kernel, (scores,), (losses(scores, parts),))
        lowest = min(found, key=lambda trial: trial.mean(trials.deals), default=now)
        found.append(now)
        if weights @ (now.losses[0] - lowest.losses[0]) > 0.0:
            best = min([*before, *found], key=lambda trial: trial.mean(trials.deals))
            # Where nothing is found yet, narrower functions may: unless it is plain already.
            if gains_surely(constant - best.losses[0], weights) or gains_surely(
                now.losses[0] - lowest.losses[0], weights
            ):
                break
    return found


def _deal_again(
    trials: Trials,
    tried: Sequence[Trial],
    losses: Callable[[Array, HeldOut], Array],
    deadline: float | None,
) -> list[Trial]:
    """Return the same, what the first deal cannot tell from the best measured on all deals."""
    weights = trials.deals[0].weights
    least = min(tried, key=lambda trial: trial.mean(trials.deals)).losses[0]
    is_close = [not gains_surely(trial.losses[0] - least, weights) for trial in tried]
    measured = list(tried)
    for parts in trials.deals[1:]:
        if sum(is_close) < 2 or (deadline is not None and time.monotonic() > deadline):
            break
        for place in np.flatnonzero(is_close):
            trial = measured[place]
            scores = trials.scores(trial.kernel, parts)
            measured[place] = trial._replace(
                scores=(*trial.scores, scores), losses=(*trial.losses, losses(scores, parts))
            )
    return measured


def shared_weights(deals: Sequence[HeldOut]) -> Array:
    """Return the weights of the parts of all deals, which together weigh as much as the rows."""
    return np.concatenate([parts.weights for parts in deals]) / len(deals)


def _kernel(name: str, width: float, units: Array) -> Choice:
    """Return a kernel of scaled columns; distances grow with their number.

    Shapes: units (d,): of the columns as they are, in scaled columns.
    """
    n_columns = len(units)
    if name == FEATURES:
        return FEATURES
    if name == "laplacian":
        return Laplacian(lengthscale=width * n_columns)
    lengthscale = width * float(np.sqrt(n_columns))
    if name == UNSCALED:
        return SquaredExponential(lengthscale=tuple((lengthscale * units).tolist()))
    return SquaredExponential(lengthscale=lengthscale)


def _reach(kernel: Choice, nearest: tuple[Array, Array]) -> float:
    return 1.0 if isinstance(kernel, str) else float(kernel.gram(*nearest)[0, 0])


def gains_surely(gains: Array, weights: Array) -> bool:
    """Return whether the mean gain is above its standard error."""
    mean = float(np.average(gains, weights=weights))
    variance = float(np.average((gains - mean) ** 2, weights=weights))
    return bool(mean > np.sqrt(variance / weights.sum()))


def _nearest(X: Array) -> tuple[Array, Array]:
    """Return two rows whose distance is the median of that of a row to the nearest other."""
    some = np.linspace(0, len(X) - 1, min(len(X), _COMPARED)).astype(np.intp)
    distances = cdist(X[some], X)
    distances[np.arange(len(some)), some] = np.inf
    least = distances.min(axis=1)
    place = int(np.argsort(least)[len(some) // 2])
    other = int(np.argmin(distances[place]))
    return X[some[place]][None], X[other][None]


def column_scales(X: Array, weights: Array) -> Array:
    """Return the standard deviations of the columns, one for a constant column.

    Shapes: X (n, d), weights (n,) -> (d,).
    """
    largest = np.abs(X).max(axis=0)
    unit = X / np.where(largest > 0.0, largest, 1.0)
    centred = unit - np.average(unit, axis=0, weights=weights)
    spread = np.sqrt(np.average(centred**2, axis=0, weights=weights))
    # What is left of a constant column is rounding.
    return np.where(spread > 1e-13, spread * largest, np.where(largest > 0.0, largest, 1.0))


def automatic_names(estimator: Any) -> tuple[str, ...]:
    """Return the kernels among which an estimator's fit is to choose, none if it is not to."""
    # Columns have no centres: who gives some wants a kernel.
    columns = (FEATURES,) if estimator.centres is None else ()
    names = {
        None: (*columns, "rbf", "laplacian", UNSCALED),
        "rbf": ("rbf", UNSCALED),
        "laplacian": ("laplacian",),
    }
    is_named = estimator.kernel is None or isinstance(estimator.kernel, str)
    if estimator.gamma is not None or not is_named:
        return ()
    return names.get(estimator.kernel, ())


def half_time(deadline: float | None) -> float | None:
    """Return when half of the time until a deadline is over."""
    return None if deadline is None else 0.5 * (time.monotonic() + deadline)
