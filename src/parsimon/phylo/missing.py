r"""Tables with missing cells whose rows are tips of a tree: likelihood and expectations, exactly.

With all cells there the tree cancels, and the rows' scatter is all that is needed
(`matrix_normal`). With cells missing it does not: a missing cell is expected from the other cells
of its row and from those of relatives. Every node of the tree has a state of d traits, its change
along a branch of variance v has covariance v C, and tips show some of their traits. Two walks over
the tree, as in `passes` but with matrices as messages, give all that is asked for, linear in tips.

States are written as :math:`u = L^{-1}(x - a)` with :math:`C = L L^T`. What is known below a
branch is :math:`\exp(-\frac12 u^T \Lambda u + h^T u)` of the state above it. Inside the tree
:math:`\Lambda` becomes :math:`\Lambda (I + v \Lambda)^{-1}` on the way up a branch, and that of a
tip is a projection over v.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices, Mask
from parsimon._validation import shorten
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.evolution import Model, evolution
from parsimon.phylo.gaussian import TreeGaussian
from parsimon.phylo.passes import slot_branches
from parsimon.phylo.schedule import Schedule
from parsimon.phylo.tree import Tree


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
        means: Array = np.where(self.observed, self.values, 0.0).sum(axis=0) / np.maximum(counts, 1)
        return means

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
    schedule = gaussian._schedule

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
