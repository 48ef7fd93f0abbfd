"""The stratified bootstrap of the AUC, as counts on the distinct scores.

Resampling rows within each class and sorting again costs O(n log n) a time; counting how often
each distinct score was drawn gives the same resamples by a cumulative sum, many at once.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr, ndtri

from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.roc.samples import Ties

_CELLS = 2_000_000


def resampled_aucs(
    positive: Array,
    negative: Array,
    n_resamples: int,
    rng: np.random.Generator,
    ties: Ties = "mid",
) -> Array:
    """Return the AUC of `n_resamples` bootstrap samples drawn within each class."""
    if n_resamples < 1:
        raise InvalidInputError(f"n_resamples must be at least 1, got {n_resamples}.")
    tie = 0.5 if ties == "mid" else 0.0
    areas = [
        (drawn * (np.cumsum(against, axis=1) - against + tie * against)).sum(axis=1)
        for drawn, against in _resampled_counts(positive, negative, n_resamples, rng)
    ]
    return np.concatenate(areas) / (len(positive) * len(negative))


def percentile_bounds(draws: Array, confidence: float) -> tuple[float, float]:
    """Return the central quantiles of the bootstrap draws."""
    lower, upper = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(lower), float(upper)


def bca_bounds(
    draws: Array, estimate: float, influence: Array, confidence: float
) -> tuple[float, float]:
    """Return bias-corrected and accelerated bounds.

    Shapes: draws (n_resamples,), influence (n,).

    Efron (1987), J. Am. Stat. Assoc. 82:171-185; Davison and Hinkley (1997), section 5.3.2.
    """
    below = np.mean(draws < estimate) + np.mean(draws == estimate) / 2
    # A share of 0 or 1 would send the correction to infinity; half a draw keeps it finite.
    half = 0.5 / len(draws)
    bias = ndtri(np.clip(below, half, 1 - half))
    acceleration = np.sum(influence**3) / (6 * np.sum(influence**2) ** 1.5)
    z = bias + ndtri([(1 - confidence) / 2, (1 + confidence) / 2])
    levels = ndtr(bias + z / (1 - acceleration * z))
    lower, upper = np.quantile(draws, levels)
    return float(lower), float(upper)


def _resampled_counts(
    positive: Array, negative: Array, n_resamples: int, rng: np.random.Generator
) -> Iterator[tuple[AnyArray, AnyArray]]:
    scores, place = np.unique(np.concatenate((positive, negative)), return_inverse=True)
    widest = max(len(positive), len(negative), len(scores))
    remaining = n_resamples
    while remaining > 0:
        n = min(remaining, max(1, _CELLS // widest))
        remaining -= n
        yield (
            _counts(place[: len(positive)], len(scores), n, rng),
            _counts(place[len(positive) :], len(scores), n, rng),
        )


def _counts(place: Indices, n_scores: int, n: int, rng: np.random.Generator) -> AnyArray:
    drawn = place[rng.integers(len(place), size=(n, len(place)))]
    flat = drawn + n_scores * np.arange(n)[:, None]
    return np.bincount(flat.ravel(), minlength=n * n_scores).reshape(n, n_scores)
