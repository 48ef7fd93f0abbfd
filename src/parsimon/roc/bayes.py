"""The ROC curve of the best possible classifier, when the densities are known."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from parsimon._checks import finite_matrix, finite_vector
from parsimon._random import Seed, generator
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.roc.area import auc
from parsimon.roc.curve import RocPoints, roc_points
from parsimon.roc.intervals import auc_interval

LogDensity: TypeAlias = Callable[[Array], Any]
Sampler: TypeAlias = Callable[[int, np.random.Generator], Any]


@dataclass(frozen=True)
class BayesRoc:
    """The optimal ROC curve, its area, and the area's standard error if it was sampled.

    The thresholds of `points` are log density ratios.
    """

    points: RocPoints
    auc: float
    standard_error: float | None


def bayes_roc(
    log_positive: LogDensity,
    log_negative: LogDensity,
    *,
    draw_positive: Sampler | None = None,
    draw_negative: Sampler | None = None,
    n_draws: int = 25_000,
    random_state: Seed = None,
    grid: Any = None,
    grid_weight: Any = None,
) -> BayesRoc:
    """Return the ROC curve that no classifier of this problem can beat.

    By the lemma of Neyman and Pearson it thresholds the ratio of the two densities. Give either
    samplers or a quadrature grid.

    Parameters
    ----------
    log_positive, log_negative : callable
        Log density of each class at points of shape (n, n_features); -inf where it is zero.
    draw_positive, draw_negative : callable, optional
        ``draw(n, rng)`` gives n points of the class, shape (n, n_features).
    n_draws : int, default=25000
        Points drawn in all, half of them from each class.
    random_state : int, Generator, SeedSequence, RandomState or None
        Seed of the draws.
    grid : array-like of shape (n, n_features), optional
        Points of a quadrature rule that covers both densities.
    grid_weight : float or array-like of shape (n,), optional
        Volume that each grid point stands for.

    Returns
    -------
    BayesRoc

    References
    ----------
    Clark (2011), section 5.4.4; Neyman and Pearson (1933).

    Examples
    --------
    Two normal densities one apart: the area is Phi(1 / sqrt(2)) = 0.7602.

    >>> grid = np.linspace(-8, 9, 1701)[:, None]
    >>> best = bayes_roc(lambda x: -((x[:, 0] - 1) ** 2) / 2 - 0.9189385,
    ...                  lambda x: -(x[:, 0] ** 2) / 2 - 0.9189385, grid=grid, grid_weight=0.01)
    >>> round(best.auc, 4)
    0.7602
    """
    if grid is not None:
        return _by_quadrature(log_positive, log_negative, grid, grid_weight)
    if draw_positive is None or draw_negative is None:
        raise InvalidInputError("Give draw_positive and draw_negative, or grid and grid_weight.")
    rng = generator(random_state)
    sizes = (n_draws - n_draws // 2, n_draws // 2)
    if min(sizes) < 2:
        raise InvalidInputError(f"n_draws must be at least 4, got {n_draws}.")
    draws = [draw(n, rng) for draw, n in zip((draw_positive, draw_negative), sizes, strict=True)]
    X = np.concatenate([finite_matrix(points, "draws") for points in draws])
    y = np.repeat([1, 0], sizes)
    score = _ratio(_log_values(log_positive, X), _log_values(log_negative, X))
    interval = auc_interval(y, score)
    return BayesRoc(roc_points(y, score), interval.auc, interval.standard_error)


def _by_quadrature(
    log_positive: LogDensity, log_negative: LogDensity, grid: Any, grid_weight: Any
) -> BayesRoc:
    X = finite_matrix(grid, "grid")
    if grid_weight is None:
        raise InvalidInputError("grid needs grid_weight: the volume that each point stands for.")
    volume = finite_vector(np.broadcast_to(grid_weight, len(X)), "grid_weight")
    logs = _log_values(log_positive, X), _log_values(log_negative, X)
    masses = [np.exp(log) * volume for log in logs]
    for name, mass in zip(("positive", "negative"), masses, strict=True):
        if abs(mass.sum() - 1) > 0.01:
            raise InvalidInputError(
                f"The {name} density integrates to {mass.sum():.3g} on this grid instead of 1. "
                f"Widen or refine the grid, or normalise the density."
            )
    # Every grid point is a row of both classes, with the mass of each as its weight.
    reached = masses[0] + masses[1] > 0
    score = np.tile(_ratio(logs[0][reached], logs[1][reached]), 2)
    y = np.repeat([1, 0], reached.sum())
    weight = np.concatenate([mass[reached] for mass in masses])
    points = roc_points(y, score, sample_weight=weight)
    return BayesRoc(points, auc(y, score, sample_weight=weight), None)


def _log_values(log_density: LogDensity, X: Array) -> Array:
    values = np.asarray(log_density(X), dtype=np.float64)
    if values.shape != (len(X),) or np.isnan(values).any() or (values == np.inf).any():
        raise InvalidInputError(
            f"A log density must give one number below infinity for each of {len(X)} points, "
            f"got shape {values.shape}."
        )
    return values


def _ratio(log_positive: Array, log_negative: Array) -> Array:
    # A point that only one class can produce has an infinite ratio; the greatest number ranks it.
    return np.nan_to_num(log_positive - log_negative)
