"""Which formula of a front to take: by rows held out, and only if there is anything to find.

A search tries thousands of formulas, so that its own errors are too good. Rows held out tell what
each is worth, and targets in another order whether the best could be luck.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

from parsimon._typing import AnyArray, Array, Indices
from parsimon.features.column_cache import ColumnCache
from parsimon.features.domains import bounds
from parsimon.features.feature_sets import ROUNDING, FeatureProblem, FeatureSet, complexity
from parsimon.features.formula_candidates import indicators, is_simple, plain_library
from parsimon.features.operations import OwnFunction
from parsimon.linalg import standardise_columns
from parsimon.pareto import Figures
from parsimon.structures.shuffled_targets import shuffled_p_value

# With fewer rows none are held out.
_FEW_ROWS = 40
# An error that nothing else has.
_NEVER = 1e9
# Relative errors below this are the same to the choice: the simplest of such formulas is taken.
_EXACT = 1e-7
# How probable luck may be: of formulas on rows held out, and of columns on all rows.
_DOUBT = 0.025
# Rows by which the latter is told; where there are more, those held out tell enough.
_MOST_SHUFFLED = 1000
# Standard deviations beyond which values count as if they were there.
_FARTHEST = 3.0


def hold_out_rows(
    target: AnyArray, n_classes: int, fraction: float, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Return rows to search with and rows to choose by, of each class alike."""
    n = len(target)
    order = rng.permutation(n)
    if n < _FEW_ROWS or fraction == 0:
        return np.arange(n), np.arange(0)
    held = []
    for code in range(max(n_classes, 1)):
        rows = order[target[order] == code] if n_classes else order
        held.append(rows[: min(int(fraction * len(rows)), len(rows) - 2)] if len(rows) > 2 else [])
    chosen = np.sort(np.concatenate(held).astype(np.intp))
    return np.setdiff1d(np.arange(n), chosen), chosen


def _with_luck(error: Array, nodes: Array, n: int, has_poles: AnyArray) -> Array:
    """Return errors on rows that guided the search, each node counted as a number fitted to them.

    Poles within the range of so few rows are luck, unless the formula is exact.
    """
    grown = error * n / np.maximum(n - nodes, 1)
    return np.where((nodes >= n) | (has_poles & (error > _EXACT)), _NEVER + nodes, grown)


def holdout_losses(
    problem: FeatureProblem, sets: Sequence[FeatureSet], X: Array, target: AnyArray
) -> tuple[Array, Array]:
    """Return the loss of each set for each row held out, and that of a constant.

    Where no rows are held out it is for each row of the search, left out by itself. Shapes: (m, r)
    and (r,).
    """
    if not len(target):
        constant = problem.constant_losses(problem.target)
        return np.array([problem.losses(each) if each else constant for each in sets]), constant
    columns = ColumnCache(dict(zip(problem.names, X.T, strict=True)))
    constant = problem.constant_losses(target)
    elsewhere = problem.losses_elsewhere
    losses = [elsewhere(f, columns.matrix(f), target) if f else constant for f in sets]
    return np.array(losses), constant


def holdout_figures(
    problem: FeatureProblem, sets: Sequence[FeatureSet], losses: Array, constant: Array, held: bool
) -> Figures:
    """Return errors on rows held out, or left out one by one if there are none, to choose by.

    Errors relative to that of a constant are compared; below `_EXACT` they are equal. Above, it
    counts as error how far a formula strays on rows mixed of those it was found with.

    Shapes: losses (m, r), constant (r,), as of `holdout_losses`; `held` tells which they are.
    """
    base = float(constant.mean()) or 1.0
    error = losses.mean(axis=1) / base
    spread = losses.std(axis=1) / base / np.sqrt(losses.shape[1])
    if problem.n_classes == 0:
        # The standard error of a root, by its derivative.
        error = np.sqrt(error)
        spread = spread / (2 * np.maximum(error, ROUNDING))
    unbounded = np.array(
        [sum(not bounds(each, problem.ranges).is_finite for each in features) for features in sets],
        dtype=np.float64,
    )
    beats = error < 1.0
    if problem.n_classes:
        # A few rows that a classifier is too sure of do not outweigh those that it knows.
        wrong = np.mean(losses > np.log(2), axis=1)
        beats |= wrong < np.mean(constant > np.log(2))
    judged = np.maximum(error, _EXACT)
    nodes = np.array([complexity(features) for features in sets])
    if not held:
        judged = _with_luck(judged, nodes, len(problem.target), unbounded > 0)
        beats &= judged < 1.0
    strays = np.array([problem.strays(features) if features else 0.0 for features in sets])
    scale = base**0.5 if problem.n_classes == 0 else base
    return Figures(
        {
            "holdout_error": error * scale,
            "relative_error": error,
            "standard_error": spread,
            "unbounded": unbounded,
            "strays": strays,
        },
        error="relative_error",
        size=("complexity", "n_features"),
        standard_error="standard_error",
        beats_constant=beats & (nodes > 0),
        constant="a constant",
        judged={"relative_error": judged + np.where(error > _EXACT, strays, 0.0)},
    )


def is_proved(losses: Array, constant: Array) -> bool:
    """Tell whether a formula surely beats a constant on rows held out, as one of so many tried.

    By a t-test of the paired losses at Bonferroni's level. Shapes: losses (m, r), constant (r,).
    """
    gain = constant - losses
    error = np.maximum(gain.std(axis=1, ddof=1), 1e-300) / np.sqrt(gain.shape[1])
    p_value = student.sf(gain.mean(axis=1) / error, gain.shape[1] - 1)
    exact = losses.mean(axis=1) <= _EXACT**2 * constant.mean()
    return bool((exact | (p_value * len(losses) < _DOUBT)).any())


def has_signal(
    problem: FeatureProblem,
    table: ColumnCache,
    target: AnyArray,
    operations: Sequence[str | OwnFunction],
) -> bool:
    """Tell whether columns say more of the target than of the same target in another order.

    By values, of which far ones count as if they were near, and by ranks, so that neither a bend
    nor a pole hides it. Shapes: table of n rows, target (n,).
    """
    rows = np.linspace(0, len(target) - 1, min(len(target), _MOST_SHUFFLED)).astype(np.intp)
    members = plain_library(problem, operations)
    simple = [each for each in members if is_simple(each)]
    values, every = (np.nan_to_num(table.matrix(each)[rows]) for each in (simple, members))
    wanted = indicators(target[rows], problem.n_classes)
    looks = [
        (_clip(values), _clip(wanted)),
        (_rank(values), _rank(wanted)),
        (_rank(every), _rank(wanted)),
    ]
    linear = _clip(table.matrix(problem.originals)[rows])
    return shuffled_p_value(looks, linear) <= _DOUBT


def _clip(values: Array) -> Array:
    """Return standardised columns, shape (r, k), within a few deviations."""
    clipped: Array = np.clip(standardise_columns(values), -_FARTHEST, _FARTHEST)
    return clipped


def _rank(values: Array) -> Array:
    """Return ranks of columns, shape (r, k)."""
    ranks: Array = rankdata(values, axis=0)
    return ranks
