"""The most likely columns' covariance and lambda of a table with missing cells, by EM.

One step expects the scatter of the whole table given the cells that are there, and takes the most
likely covariance for it (Dempster, Laird and Rubin 1977, "Maximum likelihood from incomplete data
via the EM algorithm", JRSS B 39). The value at the root is the most likely one for each covariance
(Liu and Rubin 1994, "The ECME algorithm", Biometrika 81). No step lowers the likelihood.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from parsimon._typing import Array
from parsimon._validation import shorten
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.evolution import Model
from parsimon.phylo.gaussian import TreeGaussian
from parsimon.phylo.matrix_normal import moments
from parsimon.phylo.missing import Expectation, PartialTable, branches_of, expectation

# From an expected covariance to the most likely one of the form that is fitted.
Form = Callable[[Array], Array]

# Points of lambda at which hills are looked for, and how much likelihood may be left there.
_SCAN = 9
_COARSE = 1e-3
# Of lambda, as a share of its range.
_FINE = 1e-7
# Shares of the variance of the columns below this are rounding.
_ROUNDING = 1e-12


class Options(NamedTuple):
    """What is fitted, and how long.

    form: From an expected covariance of the columns to the most likely one of the model.
    centre (d,): Mean of the columns; the most likely one if None.
    tolerance: Steps end when the log likelihood rises by less.
    """

    form: Form
    centre: Array | None = None
    max_iter: int = 1000
    tolerance: float = 1e-9


class Fit(NamedTuple):
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
    gaussian: TreeGaussian, table: PartialTable, options: Options, start: Array | None = None
) -> Fit:
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
        if len(heights) > 1 and heights[-1] - heights[-2] < options.tolerance:
            converged = True
        if converged or len(heights) == options.max_iter:
            return Fit(found, expected, tuple(heights), converged)
        expected = found.scatter / table.n_rows


def fit_lambda(
    gaussian: TreeGaussian, table: PartialTable, options: Options, limits: tuple[float, float]
) -> tuple[float, Fit]:
    """Return the most likely lambda, and where the steps ended there.

    A scan finds the hills of the profile likelihood; on each the root of its slope is sought. The
    covariance being the best for each lambda, the slope is that of the likelihood.
    """
    coarse = options._replace(tolerance=max(_COARSE, options.tolerance))
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
    padded = np.concatenate([[-np.inf], heights, [-np.inf]])
    hills = (heights >= padded[:-2]) & (heights >= padded[2:]) & np.isfinite(heights)
    tops = [
        _climb(gaussian, table, options, points, place, starts[place])
        for place in np.flatnonzero(hills).tolist()
    ]
    return max(tops, key=lambda top: top[1].found.log_likelihood)


def _climb(
    gaussian: TreeGaussian,
    table: PartialTable,
    options: Options,
    points: Array,
    place: int,
    start: Array,
) -> tuple[float, Fit]:
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
    gaussian: TreeGaussian, table: PartialTable, options: Options, start: Array | None
) -> Fit | None:
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
