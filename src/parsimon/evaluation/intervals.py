"""Intervals for an estimate from resampled folds."""

import numpy as np
from scipy.stats import t as t_distribution

from parsimon._random import Seed, generator
from parsimon._typing import AnyArray, Array
from parsimon.exceptions import InvalidInputError

N_BOOTSTRAP = 2000


def corrected_t_interval(
    scores: Array, *, n_train: float, n_test: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Return an interval for the mean of fold scores whose training sets overlap.

    The variance of the mean over k folds is taken as (1/k + n_test/n_train) s^2, Student's t has
    k - 1 degrees of freedom [1]_.

    Parameters
    ----------
    scores : ndarray of shape (k,)
    n_train, n_test : float
        Rows in a training and in a test part (their means, if folds differ).
    confidence : float

    References
    ----------
    .. [1] Nadeau and Bengio (2003), Machine Learning 52:239-281.

    Examples
    --------
    >>> low, high = corrected_t_interval(np.array([0.7, 0.8, 0.9]), n_train=20, n_test=10)
    >>> round(low, 3), round(high, 3)
    (0.407, 1.193)
    """
    k = len(scores)
    if k < 2:
        raise InvalidInputError(f"An interval needs the scores of two folds or more; got {k}.")
    spread = np.sqrt((1 / k + n_test / n_train) * np.var(scores, ddof=1))
    half = float(t_distribution.isf((1 - confidence) / 2, k - 1) * spread)
    mean = float(np.mean(scores))
    return mean - half, mean + half


def bootstrap_interval(
    points: Array,
    units: AnyArray,
    *,
    confidence: float = 0.95,
    random_state: Seed = None,
) -> tuple[float, float]:
    """Return a percentile interval for the mean of points, resampling whole units.

    Shapes: points (n,), units (n,).
    """
    _, codes = np.unique(units, return_inverse=True)
    totals, sizes = np.bincount(codes, weights=points), np.bincount(codes)
    rng = generator(random_state)
    draws = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=N_BOOTSTRAP)
    means = draws @ totals / (draws @ sizes)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)
