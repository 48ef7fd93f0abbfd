r"""Several traits that evolved along one tree: the matrix normal distribution.

A table X of n tips and d traits has the density of a matrix normal distribution with rows'
covariance :math:`V` from the tree and columns' covariance :math:`C`:
:math:`\log p = -\frac d2 \log|V| - \frac n2 (d \log 2\pi + \log|C| + \mathrm{tr}\, C^{-1} S)` with
:math:`S = (X - 1a^T)^T V^{-1} (X - 1a^T) / n`.

With all cells there the tree cancels, and the rows' scatter is all that is needed (`moments`).
With cells missing it does not: a missing cell is expected from the other cells
of its row and from those of relatives. Every node of the tree has a state of d traits, its change
along a branch of variance v has covariance v C, and tips show some of their traits. Two walks over
the tree, as in `_passes` but with matrices as messages, give all that is asked for, linear in tips.

States are written as :math:`u = L^{-1}(x - a)` with :math:`C = L L^T`. What is known below a
branch is :math:`\exp(-\frac12 u^T \Lambda u + h^T u)` of the state above it. Inside the tree
:math:`\Lambda` becomes :math:`\Lambda (I + v \Lambda)^{-1}` on the way up a branch, and that of a
tip is a projection over v.

`fit_cells` and `fit_lambda` find the most likely columns' covariance and lambda by EM. One step
expects the scatter of the whole table given the cells that are there, and takes the most
likely covariance for it (Dempster, Laird and Rubin 1977, "Maximum likelihood from incomplete data
via the EM algorithm", JRSS B 39). The value at the root is the most likely one for each covariance
(Liu and Rubin 1994, "The ECME algorithm", Biometrika 81). No step lowers the likelihood.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import brentq

from parsimon._checks import shorten
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.phylo._evolution import Model, evolution
from parsimon.phylo._likelihood import find_hills
from parsimon.phylo._passes import Schedule, slot_branches
from parsimon.phylo.tree import Tree
from parsimon.phylo.tree_gaussian import TreeGaussian

Centre = Literal["phylogenetic", "sample"]
# Eigenvalues below this share of the greatest are rounding.
_NO_VARIANCE = 1e-13


class Moments(NamedTuple):
    """What a table says about its columns, given how its rows are related.

    Shapes: mean (d,).

    scatter (d, d): Products of whitened columns around the mean.
    log_determinant: Of the rows' covariance.
    n: Rows.
    """

    mean: Array
    scatter: Array
    log_determinant: float
    n: int


class LowRank(NamedTuple):
    """A columns' covariance of a few directions and equal noise in all others.

    directions (d, m): Orthonormal, the greatest first.
    variances (m,): Along them, noise included.
    noise: Variance along every other direction.
    """

    directions: Array
    variances: Array
    noise: float
    n_columns: int

    @property
    def loadings(self) -> Array:
        """W of the covariance W W' + noise I, shape (d, m)."""
        return self.directions * np.sqrt(np.maximum(self.variances - self.noise, 0.0))

    @property
    def covariance(self) -> Array:
        """W W' + noise I, shape (d, d)."""
        noise: Array = self.noise * np.eye(self.n_columns)
        return self.loadings @ self.loadings.T + noise

    @property
    def log_determinant(self) -> float:
        """Of the covariance; minus infinity if it is singular."""
        rest = self.n_columns - len(self.variances)
        spread = np.append(self.variances, [self.noise] * (rest > 0))
        if not (spread > 0).all():
            return -np.inf
        counts = np.append(np.ones(len(self.variances)), [rest] * (rest > 0))
        return float(counts @ np.log(spread))


def moments(gaussian: TreeGaussian | None, X: Array, centre: Centre = "phylogenetic") -> Moments:
    """Return mean, scatter and log determinant of a table, shape (n, d), in linear time.

    Shapes: X (n, d).
    """
    both = np.column_stack([np.ones(len(X)), X])
    white, log_determinant = (both, 0.0) if gaussian is None else gaussian.whitened_columns(both)
    ones, columns = white[:, 0], white[:, 1:]
    # Around the rows' mean first, so that a distant origin costs no digits.
    shift = np.mean(X, axis=0)
    columns = columns - np.outer(ones, shift)
    move = ones @ columns / (ones @ ones) if centre == "phylogenetic" else np.zeros(len(shift))
    left = columns - np.outer(ones, move)
    return Moments(shift + move, left.T @ left, log_determinant, len(X))


def principal_directions(matrix: Array) -> tuple[Array, Array]:
    """Return eigenvalues, greatest first, and eigenvectors with their largest entry positive."""
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    values = np.where(values > _NO_VARIANCE * values[0], values, 0.0)
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.where(vectors[largest, np.arange(len(values))] < 0, -1.0, 1.0)
    return values, vectors * signs


def low_rank(covariance: Array, n_components: int) -> LowRank:
    """Return the most likely covariance of this form (Tipping and Bishop 1999, eq 7 and 8)."""
    values, vectors = principal_directions(covariance)
    rest = values[n_components:]
    return LowRank(
        vectors[:, :n_components],
        values[:n_components],
        float(rest.mean()) if len(rest) else 0.0,
        len(values),
    )


def matrix_log_likelihood(found: Moments, column_log_determinant: float, trace: float) -> float:
    """Return the log density of a table."""
    d = len(found.mean)
    inside = d * float(np.log(2.0 * np.pi)) + column_log_determinant + trace
    return -0.5 * (d * found.log_determinant + found.n * inside)


@dataclass(frozen=True, eq=False)
class PartialTable:
    """A table in which NaN is a missing cell.

    Shapes: values (n, d).
    """

    values: Array

    @cached_property
    def observed(self) -> Mask:
        """Which cells are there, shape (n, d)."""
        return ~np.isnan(self.values)

    @cached_property
    def patterns(self) -> tuple[Mask, Indices]:
        """The sets of columns that occur in rows, shape (k, d), and which of them each row has."""
        kinds, which = np.unique(self.observed, axis=0, return_inverse=True)
        return kinds, which.ravel()

    @cached_property
    def column_means(self) -> Array:
        """Of the cells that are there, shape (d,)."""
        counts = self.observed.sum(axis=0)
        return np.where(self.observed, self.values, 0.0).sum(axis=0) / np.maximum(counts, 1)

    @cached_property
    def n_rows(self) -> int:
        """Rows with at least one cell."""
        return int(self.observed.any(axis=1).sum())


class Expectation(NamedTuple):
    """What the cells that are there say, for one covariance of the columns.

    log_likelihood: Of the cells that are there.
    mean (d,): The given one, or the most likely one.
    scatter (d, d): Expected products of whitened columns around the mean, of rows with at least
        one cell.
    completed (n, d): The table with the expectations of missing cells.
    slope: Derivative of the log likelihood by Pagel's lambda.
    """

    log_likelihood: float
    mean: Array
    scatter: Array
    completed: Array
    slope: float


class Branches(NamedTuple):
    """Variances of the branches of all slots, and their derivatives by Pagel's lambda."""

    schedule: Schedule
    variance: Array
    slope: Array


class _Messages(NamedTuple):
    """At the upper ends of all branches; the log constant is that of all together."""

    precision: Array
    vector: Array
    log_constant: float


def branches_of(gaussian: TreeGaussian, table: PartialTable) -> Branches:
    """Return a tree's branches under its lambda; tips that show cells must have some length."""
    schedule = gaussian.schedule

    def variance(share: float) -> Array:
        return slot_branches(schedule, evolution(gaussian.tree, Model(pagel_lambda=share)))[1]

    now = variance(gaussian.model.pagel_lambda)
    still = table.observed.any(axis=1) & ~(now[schedule.tips] > 0)
    if still.any():
        names = [gaussian.tree.name[node] for node in gaussian.nodes[still]]
        raise InvalidInputError(
            f"With cells missing the branches of tips must have a length, but these have none: "
            f"{shorten(names)}. Lengthen or prune them, or use a lambda below 1."
        )
    # Variances are linear in lambda.
    return Branches(schedule, now, variance(1.0) - variance(0.0))


def star(n: int) -> TreeGaussian:
    """Return n independent rows of unit variance as a tree."""
    names = ("", *(str(row) for row in range(n)))
    return TreeGaussian(Tree(np.r_[-1, np.zeros(n)], np.r_[0.0, np.ones(n)], names))


def expectation(
    branches: Branches, table: PartialTable, covariance: Array, mean: Array | None = None
) -> Expectation:
    """Return likelihood and expectations under one covariance of the columns.

    Shapes: covariance (d, d), mean (d,).
    """
    factor = np.linalg.cholesky(covariance).astype(np.float64, copy=False)
    up = _upwards(branches, table, factor)
    # Away from the means of the columns, so that a distant origin costs no digits.
    away = table.column_means
    precision, vector = up.precision[-1], up.vector[-1]
    if mean is None:
        root = np.linalg.solve(precision, vector)
        mean = away + factor @ root
    else:
        root = np.linalg.solve(factor, mean - away)
    height = up.log_constant + root @ vector - 0.5 * root @ precision @ root
    states, scatter, slope = _downwards(branches, up, root)
    rows = away + states[branches.schedule.tips] @ factor.T
    completed = np.where(table.observed, table.values, rows)
    inner = table.n_rows * np.eye(len(factor)) + scatter
    return Expectation(float(height), mean, factor @ inner @ factor.T, completed, slope)


def completed_rows(values: Array, mean: Array, covariance: Array) -> Array:
    """Return rows with missing cells as expected from their other cells, without relatives.

    Shapes: values (m, d), mean (d,), covariance (d, d).
    """
    table = PartialTable(values)
    # In units of each column, so that none is taken for rounding.
    unit = np.sqrt(np.diagonal(covariance))
    unit = np.where(unit > 0, unit, 1.0)
    correlation = covariance / unit / unit[:, None]
    left = (values - mean) / unit
    for number, seen in enumerate(table.patterns[0]):
        rows = np.flatnonzero(table.patterns[1] == number)
        block = np.linalg.pinv(correlation[np.ix_(seen, seen)], rcond=1e-12, hermitian=True)
        weights = block @ correlation[np.ix_(seen, ~seen)]
        left[np.ix_(rows, ~seen)] = left[np.ix_(rows, seen)] @ weights
    return np.where(table.observed, values, mean + left * unit)


def _upwards(branches: Branches, table: PartialTable, factor: Array) -> _Messages:
    schedule, variance, _ = branches
    d = len(factor)
    precision = np.empty((len(variance), d, d))
    vector = np.empty((len(variance), d))
    constant = _from_tips(branches, table, factor, precision, vector)
    for begin, end in pairwise(schedule.starts):
        level = schedule.by_level[begin:end]
        one, two, up = schedule.left[level], schedule.right[level], schedule.out[level]
        precision[up], vector[up] = precision[one], vector[one]
        pair = two >= 0
        precision[up[pair]] += precision[two[pair]]
        vector[up[pair]] += vector[two[pair]]
        moved = up[variance[up] > 0]
        if len(moved) == 0:
            continue
        below, known, v = precision[moved], vector[moved], variance[moved]
        spread = np.eye(d) + v[:, None, None] * below
        kept = np.linalg.inv(spread)
        above = kept @ below
        precision[moved] = 0.5 * (above + above.transpose(0, 2, 1))
        vector[moved] = (kept @ known[:, :, None])[:, :, 0]
        constant += 0.5 * float(v @ np.sum(known * vector[moved], axis=1))
        constant -= 0.5 * float(np.linalg.slogdet(spread)[1].sum())
    return _Messages(precision, vector, constant)


def _from_tips(
    branches: Branches, table: PartialTable, factor: Array, precision: Array, vector: Array
) -> float:
    """Fill the messages of tips, and return the logarithm of their constants."""
    tips = branches.schedule.tips
    v = branches.variance[tips]
    counts = table.observed.sum(axis=1)
    v = np.where(counts > 0, v, 1.0)
    inverses, log_determinants = _observed_inverses(table.patterns[0], factor @ factor.T)
    which = table.patterns[1]
    left = np.where(table.observed, table.values - table.column_means, 0.0)
    weighted = (inverses[which] @ left[:, :, None])[:, :, 0]
    precision[tips] = (factor.T @ inverses @ factor)[which] / v[:, None, None]
    vector[tips] = weighted @ factor / v[:, None]
    inside = counts * np.log(2.0 * np.pi * v) + log_determinants[which]
    return -0.5 * float(np.sum(inside + np.sum(left * weighted, axis=1) / v))


def _observed_inverses(patterns: Mask, covariance: Array) -> tuple[Array, Array]:
    """Return the inverses of blocks of a matrix, zero elsewhere, and their log determinants."""
    both = patterns[:, :, None] & patterns[:, None, :]
    # Ones in place of what is missing, so that all blocks have one size.
    blocks = np.where(both, covariance, np.eye(len(covariance)))
    return np.where(both, np.linalg.inv(blocks), 0.0), np.linalg.slogdet(blocks)[1]


def _downwards(branches: Branches, up: _Messages, root: Array) -> tuple[Array, Array, float]:
    """Return expected states, the scatter beyond the identity, and the slope.

    With g = h - Lambda m and S the covariance of the state above a branch, of expectation m, the
    change along it has the expected square v (I + v (g g' - Lambda + Lambda S Lambda)); traits that
    are not seen add the identity and nothing else.
    """
    schedule, variance, slope = branches
    d = len(root)
    states = np.empty((len(variance), d))
    covariances = np.zeros((len(variance), d, d))
    states[-1] = root
    is_tip = np.zeros(len(variance), dtype=np.bool_)
    is_tip[schedule.tips] = True
    scatter, climb = np.zeros((d, d)), 0.0
    for end, begin in pairwise(schedule.starts[::-1]):
        level = schedule.by_level[begin:end]
        slots = np.concatenate([schedule.left[level], schedule.right[level]])
        above = np.tile(schedule.out[level], 2)[slots >= 0]
        slots = slots[slots >= 0]
        v, precision = variance[slots], up.precision[slots]
        past = covariances[above]
        pull = up.vector[slots] - (precision @ states[above][:, :, None])[:, :, 0]
        states[slots] = states[above] + v[:, None] * pull
        across = past @ precision
        stay = v[:, None, None] * precision
        scatter += (pull * v[:, None]).T @ pull - stay.sum(axis=0)
        scatter += stay.reshape(-1, d).T @ across.reshape(-1, d)
        trace = np.sum(pull**2, axis=1) - np.trace(precision, axis1=1, axis2=2)
        trace += np.sum(precision * across.transpose(0, 2, 1), axis=(1, 2))
        climb += 0.5 * float(slope[slots] @ trace)
        # Nothing hangs below a tip: its covariance is not asked for.
        inner = ~is_tip[slots]
        kept = np.eye(d) - stay[inner]
        covariances[slots[inner]] = kept @ past[inner] @ kept + v[inner, None, None] * kept
    return states, 0.5 * (scatter + scatter.T), climb


# From an expected covariance to the most likely one of the form that is fitted.
Form = Callable[[Array], Array]

# Points of lambda at which hills are looked for, and how much likelihood may be left there.
_SCAN = 9
_COARSE = 1e-3
# Of lambda, as a share of its range.
_FINE = 1e-7
# Shares of the variance of the columns below this are rounding.
_ROUNDING = 1e-12


class CellOptions(NamedTuple):
    """What is fitted, and how long.

    form: From an expected covariance of the columns to the most likely one of the model.
    centre (d,): Mean of the columns; the most likely one if None.
    tol: Steps end when the log likelihood rises by less.
    """

    form: Form
    centre: Array | None = None
    max_iter: int = 1000
    tol: float = 1e-9


class CellFit(NamedTuple):
    """Where the steps ended.

    found: Under the covariance ``form(expected)``.
    expected (d, d): The expected scatter over the number of rows with cells.
    heights: The log likelihood in each step.
    """

    found: Expectation
    expected: Array
    heights: tuple[float, ...]
    converged: bool


def check_cells(table: PartialTable, n_free: int, names: Sequence[Any] | None = None) -> None:
    """Refuse columns without cells, and fewer rows with cells than the likelihood needs."""
    empty = np.flatnonzero(~table.observed.any(axis=0)).tolist()
    if empty:
        said = empty if names is None else [names[column] for column in empty]
        raise InvalidInputError(f"These columns have no cells: {shorten(said)}. Leave them out.")
    if table.n_rows < n_free + 2:
        raise InvalidInputError(
            f"{table.n_rows} rows with cells leave nothing of {table.values.shape[1]} columns "
            "unexplained, so that missing cells cannot be estimated. Use P3CA with fewer "
            "components, or more rows."
        )


def fit_cells(
    gaussian: TreeGaussian, table: PartialTable, options: CellOptions, start: Array | None = None
) -> CellFit:
    """Return the most likely covariance of the columns, for the lambda of a tree.

    Shapes: start (d, d).
    """
    branches = branches_of(gaussian, table)
    expected = _begin(gaussian, table) if start is None else start
    heights: list[float] = []
    converged = False
    while True:
        covariance = options.form(expected)
        _check_regular(covariance)
        found = expectation(branches, table, covariance, options.centre)
        heights.append(found.log_likelihood)
        if len(heights) > 1 and heights[-1] - heights[-2] < options.tol:
            converged = True
        if converged or len(heights) == options.max_iter:
            return CellFit(found, expected, tuple(heights), converged)
        expected = found.scatter / table.n_rows


def fit_lambda(
    gaussian: TreeGaussian, table: PartialTable, options: CellOptions, limits: tuple[float, float]
) -> tuple[float, CellFit]:
    """Return the most likely lambda, and where the steps ended there.

    A scan finds the hills of the profile likelihood; on each the root of its slope is sought. The
    covariance being the best for each lambda, the slope is that of the likelihood.
    """
    coarse = options._replace(tol=max(_COARSE, options.tol))
    points = np.linspace(*limits, _SCAN)
    heights, starts = np.full(_SCAN, -np.inf), [np.empty(0)] * _SCAN
    before: Array | None = None
    for place, share in enumerate(points):
        fit = _try(_at(gaussian, share), table, coarse, before)
        if fit is not None:
            before = starts[place] = fit.expected
            heights[place] = fit.found.log_likelihood
    if not np.isfinite(heights).any():
        fit_cells(_at(gaussian, points[0]), table, coarse)  # says itself what is wrong
    tops = [
        _climb(gaussian, table, options, points, place, starts[place])
        for place in find_hills(heights)
    ]
    return max(tops, key=lambda top: top[1].found.log_likelihood)


def _climb(
    gaussian: TreeGaussian,
    table: PartialTable,
    options: CellOptions,
    points: Array,
    place: int,
    start: Array,
) -> tuple[float, CellFit]:
    """Return the top of the hill around one point of the scan."""
    known = {float(points[place]): fit_cells(_at(gaussian, points[place]), table, options, start)}

    def slope(share: float) -> float:
        if share in known:
            return known[share].found.slope
        nearest = min(known, key=lambda other: abs(other - share))
        fit = _try(_at(gaussian, share), table, options, known[nearest].expected)
        if fit is None:
            # Where a tip has no branch: the way down.
            return -1.0
        known[share] = fit
        return fit.found.slope

    # Upwards until the slope has another sign, which is the next point unless the scan misled.
    step = 1 if slope(points[place]) > 0 else -1
    ahead = place + step
    while 0 <= ahead < len(points):
        if slope(points[ahead]) * step < 0:
            low, high = sorted([points[ahead - step], points[ahead]])
            brentq(slope, low, high, xtol=_FINE * (points[-1] - points[0]))
            break
        ahead += step
    best = max(known, key=lambda share: known[share].found.log_likelihood)
    return float(best), known[best]


def _at(gaussian: TreeGaussian, share: float) -> TreeGaussian:
    return gaussian.with_model(Model(pagel_lambda=float(share)))


def _try(
    gaussian: TreeGaussian, table: PartialTable, options: CellOptions, start: Array | None
) -> CellFit | None:
    try:
        return fit_cells(gaussian, table, options, start)
    except InvalidInputError:
        return None


def _begin(gaussian: TreeGaussian, table: PartialTable) -> Array:
    """Return the covariance of the table with means in missing cells, drawn to its diagonal."""
    filled = np.where(table.observed, table.values, table.column_means)
    covariance = moments(gaussian, filled).scatter / len(filled)
    return 0.9 * covariance + 0.1 * np.diag(np.diagonal(covariance))


def _check_regular(covariance: Array) -> None:
    root = np.sqrt(np.diagonal(covariance))
    if (root > 0).all():
        least = np.linalg.eigvalsh(covariance / root / root[:, None])[0]
        if least > _ROUNDING:
            return
    raise InvalidInputError(
        "The cells that are there leave nothing of some columns unexplained, so that their "
        "likelihood has no maximum. Leave out columns that are constant, repeated or have few "
        "cells, or use P3CA with fewer components."
    )
