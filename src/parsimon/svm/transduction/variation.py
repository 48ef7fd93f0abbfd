"""New labellings from old ones: crossovers and mutations that respect neighbourhoods.

A single flipped label is undone by the next local search, so most changes here concern a row and
its nearest rows together.
"""

import numpy as np

from parsimon._typing import Array, Indices, Mask


def nearest_order(distances: Array) -> Indices:
    """Return, for each row, all rows from the nearest (itself) to the farthest, shape (n, n)."""
    order: Indices = np.argsort(distances, axis=1, kind="stable")
    return order


def crossed(first: Array, second: Array, order: Indices, rng: np.random.Generator) -> Array:
    """Return a child of two labellings: a mixture row by row, or one with a region of the other."""
    if rng.random() < 0.5:
        chosen: Mask = rng.random(len(first)) < 0.5
    else:
        chosen = _region(order, rng)
    return np.where(chosen, second, first)


def mutated(labels: Array, order: Indices, rng: np.random.Generator) -> Array:
    """Return a labelling with single flips, one exchanged pair, or a flipped region."""
    kind = rng.random()
    if kind < 0.25:
        flips: Mask = rng.random(len(labels)) < 1.0 / len(labels)
    elif kind < 0.5:
        flips = _pair(labels, rng)
    else:
        flips = _region(order, rng)
    return np.where(flips, -labels, labels)


def _pair(labels: Array, rng: np.random.Generator) -> Mask:
    flips = np.zeros(len(labels), dtype=np.bool_)
    for sign in (-1.0, 1.0):
        own = np.flatnonzero(labels == sign)
        if len(own):
            flips[own[int(rng.random() * len(own))]] = True
    return flips


def _region(order: Indices, rng: np.random.Generator) -> Mask:
    """Return a row and its nearest, from one to half of all; every scale is as likely."""
    n = len(order)
    centre = int(rng.random() * n)
    size = int(np.exp(rng.random() * np.log(max(n / 2.0, 1.0)))) if n > 1 else 1
    region = np.zeros(n, dtype=np.bool_)
    region[order[centre, : max(size, 1)]] = True
    return region
