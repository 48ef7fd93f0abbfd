r"""From the options of `ParetoSVC` to a search: checks, the rows held out, the call.

The exact front: machines solved one after another along the price C.

Every machine that is optimal for some C is Pareto-optimal in margin term and hinge loss, and the
other way round, since both are convex. Each solution begins where the line through the two before
it leads, as the path is piecewise linear in C [1]. Spaced evenly in
:math:`\nu = \sum \alpha_i / (C \sum c_i)`, the same front is the path of the nu-SVM [2].

[1] Hastie, Rosset, Tibshirani and Zhu (2004), JMLR 5:1391-1415.
[2] Schoelkopf, Smola, Williamson and Bartlett (2000), "New support vector algorithms", Neural
   Computation 12:1207-1245.

The primal front: a few exact machines, and evolution between them.

The exact front of margin term and hinge loss is the path over the price C. Its points
are dear one by one and cheap by the hundred: `seeds` solves a few of them, `interpolated` spreads
a population between these, and NSGA-II goes on from there with operators that know the path
(`variation`). A population costs one product with the kernel matrix.

Which solutions of two objectives are kept: those without which most volume would be lost.

On a convex front, survival by gaps throws away points of the bend for points of the long flat
ends. Survival by hypervolume contribution keeps what the front is measured by (SMS-EMOA [1]).

[1] Beume, Naujoks and Emmerich (2007), "SMS-EMOA: multiobjective selection based on dominated
   hypervolume", European Journal of Operational Research 181:1653-1669.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from parsimon._checks import check_choice, check_count, check_positive, check_seconds, shorten
from parsimon._data import Rows
from parsimon._progress import Progress
from parsimon._random import Seed, seed_sequence
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Box, Directions, SearchResult, hypervolume, nsga2
from parsimon.pareto._criteria import unit_scaled
from parsimon.pareto.search import History
from parsimon.svm._dual import Dual, solve
from parsimon.svm._front_machine import (
    Basis,
    Figures,
    FrontSVC,
    Holdout,
    loss_weights,
    stratified_holdout,
)
from parsimon.svm._losses import (
    PRINTED_GENERATIONS,
    PRINTED_POPULATION,
    AscentMutation,
    BlendCrossover,
    Training,
    evolve_printed,
)
from parsimon.svm.indefinite import REPAIRS


@dataclass(frozen=True, eq=False)
class VolumeGuide:
    """Prefer the solutions that dominate most volume, as a guide of `parsimon.pareto.nsga2`.

    ideal, worst (2,): The box in which volume is measured; minimised objectives.
    """

    ideal: Array = field(repr=False)
    worst: Array = field(repr=False)

    def __call__(self, values: Array, levels: Indices) -> Array:
        """Return how late each row of its level would be given up, shape (n,)."""
        width = np.where(self.worst > self.ideal, self.worst - self.ideal, 1.0)
        scaled = (values - self.ideal) / width
        preference = np.zeros(len(values))
        for level in np.unique(levels):
            rows = np.flatnonzero(levels == level)
            preference[rows[removal_order(scaled[rows])]] = np.arange(len(rows))
        return preference

    def shortfall(self, values: Array) -> float:
        """Return minus the volume of a front, in shares of the box."""
        width = np.where(self.worst > self.ideal, self.worst - self.ideal, 1.0)
        return -hypervolume((values - self.ideal) / width, np.ones(2))


def removal_order(values: Array) -> Indices:
    """Return the points of one front in the order in which they are missed least.

    Always the point that alone dominates the least area is next; both ends come last.

    Shapes: values (n, 2).
    """
    order = np.lexsort((values[:, 1], values[:, 0]))
    across, up = values[order].T.tolist()
    n = len(order)
    left, right = list(range(-1, n - 1)), list(range(1, n + 1))
    # The ends, and points already given up, have no area to compare.
    areas = np.full(n, np.inf)
    areas[1:-1] = np.diff(across)[1:] * -np.diff(up)[:-1]
    removed = []
    for _ in range(n - 2):
        gone = int(areas.argmin())
        removed.append(gone)
        areas[gone] = np.inf
        before, after = left[gone], right[gone]
        right[before], left[after] = after, before
        if before > 0:
            areas[before] = (across[after] - across[before]) * (up[left[before]] - up[before])
        if after < n - 1:
            areas[after] = (across[right[after]] - across[after]) * (up[before] - up[after])
    ends = [n - 1, 0] if n > 1 else [0]
    return order[np.array(removed + ends, dtype=np.intp)]


NAMES = ("margin_term", "hinge_loss")


def seeds(
    training: Training, C: Array, *, tolerance: float = 1e-3, deadline: float | None = None
) -> Array:
    """Return the exact dual variables for some C, shape (k, n), in their order.

    With a deadline of `time.monotonic`, those that come later are left out, but never all.
    """
    found = []
    for price in C:
        dual = Dual(training.kernel, training.signs, price * training.weights)
        found.append(solve(dual, tolerance=tolerance).alpha)
        if deadline is not None and time.monotonic() > deadline:
            break
    return np.array(found)


def interpolated(known: Array, C_known: Array, C: Array) -> Array:
    """Return dual variables for more C, by linear interpolation in C between neighbours.

    Shapes: known (k, n), C_known (k,), C (m,) -> (m, n).
    """
    place = np.interp(C, C_known, np.arange(len(C_known), dtype=np.float64))
    left = np.minimum(place.astype(np.intp), max(len(C_known) - 2, 0))
    right = np.minimum(left + 1, len(C_known) - 1)
    share = (place - left)[:, None]
    between: Array = (1.0 - share) * known[left] + share * known[right]
    return between


def evolve(
    training: Training,
    *,
    C_range: tuple[float, float],
    n_seeds: int,
    n_points: int,
    max_iter: int,
    tolerance: float = 1e-3,
    deadline: float | None = None,
    random_state: Seed = None,
    **run_options: Any,
) -> SearchResult:
    """Search for the front of margin term and hinge loss."""
    least, most = C_range
    C_seeds = np.geomspace(least, most, max(2, min(n_seeds, n_points)))
    known = seeds(training, C_seeds, tolerance=tolerance, deadline=deadline)
    start = interpolated(known, C_seeds[: len(known)], _start_prices(C_seeds, n_points))
    if deadline is not None:
        # At least a little time, so that there is a front whatever the seeds took.
        run_options["time_limit"] = max(deadline - time.monotonic(), 0.001)
    ends, violation = training.judged(known)
    ends = ends[violation == 0] if (violation == 0).any() else ends
    return nsga2(
        training.judged,
        Box(0.0, most * training.weights),
        start=np.clip(start, 0.0, most * training.weights),
        population_size=n_points,
        max_iter=max_iter,
        crossover=BlendCrossover(training.weights),
        mutation=AscentMutation(training, least, most),
        guide=VolumeGuide(ends.min(axis=0), ends.max(axis=0)),
        names=NAMES,
        chunk_size=n_points,
        random_state=random_state,
        **run_options,
    )


def _start_prices(C_seeds: Array, n_points: int) -> Array:
    """Return the prices of the seeds, at most `n_points`, and more between them in log C."""
    places = np.linspace(0, n_points - 1, len(C_seeds)).round().astype(np.intp)
    made: Array = np.exp(np.interp(np.arange(n_points), places, np.log(C_seeds)))
    # To the bit, so that the exact machines are in the population.
    made[places] = C_seeds
    return made


# Prices at which nu is known before those in between are guessed.
_N_COARSE = 12


def exact_path(
    training: Training,
    C: Array,
    *,
    tolerance: float = 1e-3,
    deadline: float | None = None,
    callback: Callable[[SearchResult], Any] | None = None,
    verbose: bool = False,
) -> SearchResult:
    """Return the optimal machines for increasing prices.

    Shapes: C (k,).
    """
    found: list[Array] = []
    stopped_by = "max_iter"
    try:
        with Progress("solving", total=len(C), verbose=verbose) as progress:
            for place, price in enumerate(C):
                found.append(_next(training, C, found, tolerance))
                progress.update(place + 1, note=f"C {price:.4g}")
                if callback is not None and callback(_result(training, found, "running")):
                    stopped_by = "callback"
                    break
                if deadline is not None and time.monotonic() >= deadline and place + 1 < len(C):
                    stopped_by = "time_limit"
                    break
    except KeyboardInterrupt:
        if not found:
            raise
        stopped_by = "interrupt"
    return _result(training, found, stopped_by)


def nu_prices(
    training: Training, C_range: tuple[float, float], n_points: int, *, tolerance: float = 1e-3
) -> Array:
    """Return increasing prices at which nu falls in equal steps, nearly.

    Between a few prices at which nu is known, log C is interpolated in nu.
    """
    C = np.geomspace(*C_range, _N_COARSE)
    alpha = exact_path(training, C, tolerance=tolerance).solutions
    nu = nus(alpha, C, training.weights)
    # Where nu does not move (no row is violated, or all are), the price alone decides.
    falling = np.concatenate([[True], np.diff(nu) < -1e-9])
    falling[-1] = True
    wished = np.linspace(nu[0], nu[-1], n_points)
    logs = np.interp(-wished, -nu[falling], np.log(C[falling]))
    prices: Array = np.maximum.accumulate(np.clip(np.exp(logs), *C_range))
    prices[[0, -1]] = C_range
    return prices


def nus(alpha: Array, C: Array, weights: Array) -> Array:
    """Return nu of each row of dual variables at its price, shape (k,).

    Nu is at most the weighted share of support vectors and at least that of the rows that violate
    their margin.
    """
    shares: Array = alpha.sum(axis=1) / (C * weights.sum())
    return shares


def _next(training: Training, C: Array, found: list[Array], tolerance: float) -> Array:
    """Return the solution at the price after those found."""
    k = len(found)
    dual = Dual(training.kernel, training.signs, C[k] * training.weights)
    if k < 2 or C[k - 1] == C[k - 2]:
        return solve(dual, start=found[-1] if k else None, tolerance=tolerance).alpha
    steps = (C[k] - C[k - 1]) / (C[k - 1] - C[k - 2])
    ahead = found[-1] + steps * (found[-1] - found[-2])
    return solve(dual, start=ahead, tolerance=tolerance).alpha


def _result(training: Training, found: list[Array], stopped_by: str) -> SearchResult:
    alpha = np.array(found)
    values = training.objectives(alpha)
    count = np.arange(1, len(alpha) + 1)
    return SearchResult(
        solutions=alpha,
        values=values,
        violation=np.zeros(len(alpha)),
        population=alpha,
        directions=Directions.of(NAMES),
        n_iter=len(alpha),
        n_evaluations=len(alpha),
        stopped_by=stopped_by,
        history=History(count, count, np.minimum.accumulate(values, axis=0)),
    )


# Generations if the user says nothing; why "primal" needs few is told in `ParetoSVC`.
GENERATIONS = {"primal": 10, "dual": 300}


def check_search_options(options: Any) -> None:
    """Refuse options of `ParetoSVC` that cannot be used."""
    check_choice("objectives", options.objectives, ("primal", "dual", "exact"))
    check_choice("path", options.path, ("C", "nu"))
    check_choice("preset", options.preset, ("printed", None))
    check_choice("indefinite", options.indefinite, REPAIRS)
    check_choice("balance", options.balance, (True, False))
    check_choice("refit", options.refit, (True, False))
    check_count("n_points", options.n_points, least=2)
    check_count("n_seeds", options.n_seeds, least=2)
    check_positive("tol", options.tol)
    check_seconds("time_limit", options.time_limit)
    fraction = options.validation_fraction
    if not isinstance(fraction, Real) or not 0 <= float(fraction) < 1:
        raise InvalidInputError(
            f"validation_fraction must be a share from 0 up to but not 1, got {fraction!r}."
        )
    if options.max_iter is not None:
        check_count("max_iter", options.max_iter, least=0)
    C_bounds(options)
    _check_combinations(options)


def C_bounds(options: Any) -> tuple[float, float]:
    """Return least and greatest price as floats."""
    try:
        least, most = (check_positive("C_range", C) for C in options.C_range)
    except TypeError as error:
        raise InvalidInputError(f"C_range must be two numbers, got {options.C_range!r}.") from error
    except ValueError as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"C_range must be two numbers, got {options.C_range!r}.") from error
    if not least < most:
        raise InvalidInputError(f"C_range must increase, got {options.C_range!r}.")
    return least, most


def _check_combinations(options: Any) -> None:
    if options.objectives != "dual" and (options.preset is not None or options.balance):
        raise InvalidInputError(
            f'preset and balance belong to objectives="dual", got {options.objectives!r}.'
        )
    if options.objectives != "exact" and options.path != "C":
        raise InvalidInputError(f'path="nu" needs objectives="exact", got {options.objectives!r}.')
    if options.objectives == "exact" and (options.checkpoint or options.stall):
        raise InvalidInputError(
            'checkpoint and stall are for evolution; objectives="exact" solves n_points '
            "machines, within time_limit if there is one."
        )


def template_of(options: Any) -> FrontSVC:
    """Return an unfitted classifier with the options that both have."""
    return FrontSVC(
        kernel=options.kernel,
        gamma=options.gamma,
        degree=options.degree,
        coef0=options.coef0,
        indefinite=options.indefinite,
        class_weight=options.class_weight,
        tol=options.tol,
    )


def split_rows(options: Any, rows: Rows, X_val: Any) -> tuple[Seed, Indices, Indices]:
    """Return the seed of the search, the rows to train on and those to hold out."""
    root = seed_sequence(options.random_state)
    search, split = (
        np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, number))
        for number in range(2)
    )
    fraction = float(options.validation_fraction) if X_val is None else 0.0
    chosen, held = stratified_holdout(rows.y, fraction, np.random.default_rng(split))
    return search, chosen, held


def holdout_of(options: Any, basis: Basis, held: Rows, X_val: Any, y_val: Any) -> Holdout | None:
    """Return the rows to choose by: given ones, or those held out, or none."""
    if (X_val is None) != (y_val is None):
        raise InvalidInputError("X_val and y_val belong together; give both, or neither.")
    if X_val is None:
        if not len(held.places):
            return None
        rows, codes, counts = basis.X[held.places], held.y, held.weights
    else:
        rows, labels = validate_data(options, X_val, y_val, dtype=np.float64, reset=False)
        unknown = np.setdiff1d(labels, options.classes_)
        if len(unknown):
            raise InvalidInputError(
                f"y_val has labels that y has not: {shorten(unknown.tolist())}."
            )
        codes, counts = np.searchsorted(options.classes_, labels), np.ones(len(labels))
    # Weights of classes are those that the training rows lead to.
    trained = loss_weights(basis.rows, options.class_weight, basis.classes) / basis.rows.weights
    share = np.array([trained[basis.rows.y == code][0] for code in (0, 1)])
    return Holdout(
        basis.gram.between(rows),
        np.where(codes == 1, 1.0, -1.0),
        counts * share[codes],
        float(counts.sum()),
    )


def search_for(
    options: Any, training: Training, seed: Seed, deadline: float | None
) -> SearchResult:
    """Run the search that the options of a `ParetoSVC` ask for."""
    seen: dict[str, Any] = {"callback": options.callback, "verbose": options.verbose}
    if options.objectives == "exact":
        bounds, n = C_bounds(options), options.n_points
        if options.path == "nu":
            C = nu_prices(training, bounds, n, tolerance=options.tol)
        else:
            C = np.geomspace(*bounds, n)
        return exact_path(training, C, tolerance=options.tol, deadline=deadline, **seen)
    common: dict[str, Any] = {
        "n_points": options.n_points,
        "max_iter": _generations(options),
        "deadline": deadline,
        "stall": options.stall,
        "checkpoint": options.checkpoint,
        "random_state": seed,
        **seen,
    }
    if options.objectives == "primal":
        return evolve(
            training,
            C_range=C_bounds(options),
            n_seeds=options.n_seeds,
            tolerance=options.tol,
            **common,
        )
    common["balance"] = options.balance
    if options.preset == "printed":
        common |= {
            "n_points": PRINTED_POPULATION,
            "balance": True,
            "normalise_crowding": False,
        }
    return evolve_printed(training, **common)


def _generations(options: Any) -> int:
    if options.max_iter is not None:
        return int(options.max_iter)
    if options.preset == "printed":
        return PRINTED_GENERATIONS
    return GENERATIONS[options.objectives]


def walk_places(figures: Figures, k: int) -> Indices:
    """Return the places of `k` machines along a front, from the widest margin to the narrowest.

    They are evenly spaced along the curve of hinge loss against the logarithm of the margin term,
    both scaled to [0, 1]. The constant classifier, which has no such logarithm, is one step
    before the others. A front of fewer machines gives fewer.
    """
    terms = figures.columns["margin_term"]
    order = np.argsort(terms, kind="stable")
    positive = order[terms[order] > 0]
    if k == 1 or not len(positive):
        return order[:1]
    curve = unit_scaled(
        np.column_stack([np.log(terms[positive]), figures.columns["hinge_loss"][positive]])
    )
    lengths = np.append(0.0, np.hypot(*np.diff(curve, axis=0).T).cumsum())
    has_constant = len(positive) < len(order)
    steps = np.linspace(0.0, 1.0, k)[1 if has_constant else 0 :] * lengths[-1]
    nearest = np.unique(np.abs(lengths - steps[:, None]).argmin(axis=1))
    return np.append(order[:1], positive[nearest]) if has_constant else positive[nearest]
