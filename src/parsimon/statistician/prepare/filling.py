"""Empty cells from the other cells of their row: the conditional mean of a joint normal law.

A median in place of an empty cell breaks what columns have to do with each other: a column that
goes along with the gappy one then speaks for it where it is empty, which looks like an interaction.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.covariance import ledoit_wolf_shrinkage

from parsimon._typing import AnyArray, Array

# A preparer learns of so many variables at most, and from so many rows.
MOST_VARIABLES = 300
MOST_ROWS = 1000
_FEWEST_ROWS = 10
_N_ROUNDS = 6
_LEAST_SIZE = 0.05
_LEAST_SHARE, _LEAST_SHRUNK = 0.02, 1e-3
# Slopes of what is filled in that may be off.
_N_DOUBTS = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class RowFilling:
    """What the other variables of a row say of an empty one.

    mean, deviation (k,): Of the variables, by which they are standardised.
    precision (k, k): Inverse of their shrunken correlations.
    low, high (k,): Nothing is filled in beyond what was seen.
    explained (k,): Which variables the others predict; only these are filled.
    n_seen (k,): From how many cells of a variable that was learnt.
    """

    mean: Array
    deviation: Array
    precision: Array
    low: Array
    high: Array
    explained: AnyArray
    n_seen: AnyArray

    @classmethod
    def learn(cls, values: Array) -> Self | None:
        """Return what the variables say of each other; None if that is nothing.

        The expectation-maximisation algorithm for a normal law with gaps (Little and Rubin 2002,
        Statistical Analysis with Missing Data, section 11.2), with Ledoit and Wolf's shrinkage, so
        that it needs no more rows than variables.

        Shapes: values (n, k), NaN where a cell is empty.
        """
        n, k = values.shape
        n_seen = (~np.isnan(values)).sum(axis=0)
        if k < 2 or n < _FEWEST_ROWS:
            return None
        # A column that is rarely there may be empty in all of these rows.
        values = np.where(n_seen > 0, values, 0.0)
        mean, deviation = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        deviation = np.where(deviation > 0, deviation, 1.0)
        scaled = (values - mean) / deviation
        shift, covariance = np.zeros(k), _pairwise_correlations(scaled)
        for _ in range(_N_ROUNDS):
            precision = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
            filled, unsure = _expected(scaled - shift, precision)
            shift = shift + filled.mean(axis=0)
            filled = filled - filled.mean(axis=0)
            covariance = filled.T @ filled / len(filled) + unsure / len(filled)
            share = max(ledoit_wolf_shrinkage(filled, assume_centered=True), _LEAST_SHRUNK)
            covariance = (1 - share) * covariance + share * np.diag(np.diag(covariance))
        precision = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        # What is left of correlations by chance does no harm, a median where one is not does.
        share = 1 - 1 / (precision.diagonal() * covariance.diagonal())
        explained = (share > _LEAST_SHARE) & (n_seen >= _FEWEST_ROWS)
        if not explained.any():
            return None
        return cls(
            mean=mean + deviation * shift,
            deviation=deviation,
            precision=precision,
            low=np.nanmin(values, axis=0),
            high=np.nanmax(values, axis=0),
            explained=explained,
            n_seen=n_seen,
        )

    def fill(self, values: Array) -> Array:
        """Return values with what is expected in empty cells of variables that are explained.

        Shapes: values (n, k), NaN where a cell is empty; the result may have some too.
        """
        gaps = np.isnan(values) & self.explained
        if not gaps.any():
            return values
        rows = np.flatnonzero(gaps.any(axis=1))
        scaled, _ = _expected((values[rows] - self.mean) / self.deviation, self.precision)
        expected = np.clip(self.mean + self.deviation * scaled, self.low, self.high)
        filled = values.copy()
        filled[rows] = np.where(gaps[rows], expected, values[rows])
        return filled

    def doubts(self, values: Array) -> dict[int, Array]:
        """Return by what the filled cells of each variable may be off, in standard deviations.

        A slope of what is filled in has a standard error of about (s^2 / n)^(1/2), with s^2 of the
        variance left over n cells; there is a column for each of the variables that say most.

        Shapes: values (n, k), NaN where a cell is empty; results (n, m), zero where one is not.
        """
        scaled = (self.fill(values) - self.mean) / self.deviation
        scaled = np.where(np.isnan(scaled), 0.0, scaled)
        found = {}
        for place in np.flatnonzero(self.explained & np.isnan(values).any(axis=0)).tolist():
            slopes = np.abs(self.precision[place])
            slopes[place] = 0.0
            leading = np.argsort(-slopes, kind="stable")[: min(_N_DOUBTS, len(slopes) - 1)]
            # Twice, since these weights share their variance with that of the variable itself.
            error = 2 * (self.precision[place, place] * self.n_seen[place]) ** -0.5
            gaps = np.isnan(values[:, place, None])
            found[place] = np.where(gaps, error * scaled[:, leading], 0.0)
        return found


def _pairwise_correlations(scaled: Array) -> Array:
    """Return the correlations over the rows that have both variables, positive definite.

    Where most cells are empty, rounds that begin without relations would hardly find them.
    """
    seen = (~np.isnan(scaled)).astype(np.float64)
    values = np.where(np.isnan(scaled), 0.0, scaled)
    # As if ten rows more had shown no relation.
    raw = (values.T @ values) / (seen.T @ seen + _FEWEST_ROWS)
    np.fill_diagonal(raw, 1.0)
    size, vectors = np.linalg.eigh(raw)
    mended: Array = (vectors * np.maximum(size, _LEAST_SIZE)) @ vectors.T
    return mended


def _expected(values: Array, precision: Array) -> tuple[Array, Array]:
    """Return expected values of empty cells given the others of their row, and what is unsure.

    With precision P the mean of the empty part m is -inv(P_mm) P_mo x_o, its covariance inv(P_mm).

    Shapes: values (n, k) of mean zero, precision (k, k); unsure (k, k) is the sum over rows.
    """
    missing = np.isnan(values)
    filled, unsure = np.where(missing, 0.0, values), np.zeros_like(precision)
    patterns, place = np.unique(missing, axis=0, return_inverse=True)
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=len(patterns)))
    for pattern, rows in zip(patterns, np.split(order, ends[:-1]), strict=True):
        gap = np.flatnonzero(pattern)
        if not len(gap):
            continue
        covariance = np.linalg.inv(precision[np.ix_(gap, gap)])
        filled[np.ix_(rows, gap)] = -(filled[rows] @ precision[:, gap]) @ covariance
        unsure[np.ix_(gap, gap)] += len(rows) * covariance
    return filled, unsure
