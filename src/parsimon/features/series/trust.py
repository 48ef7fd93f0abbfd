"""How far what features of series say can be trusted, and as which probabilities.

Of thousands of features the best fit any target. So features are chosen anew in folds, before any
are bred for these targets, and what they say there of rows that they have not seen is measured.
"""

from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.features.series.smooth import smooth_fit, smooth_kernel
from parsimon.features.series.tree_search import (
    Targets,
    quick_fitness,
    standardise_features,
    unlike,
)
from parsimon.structures.shuffled_targets import shuffled_p_value

# Folds that tell what features are worth.
_FOLDS = 5
# From this share on what features say is trusted, if a shuffled target is rarely told as well.
_ENOUGH, _DOUBT = 0.5, 0.05
_FLOORS = (0.001, 0.003, 0.01, 0.03, 0.1)
_POWERS = tuple(np.geomspace(0.25, 4.0, 17).tolist())


class Trust(NamedTuple):
    """What outputs of features are worth for new series.

    share: How much of their distance from the mean is true: from 0, nothing, to 1, all.
    floor, power: Classes have chances in proportion to the outputs to this power, none of which is
        taken below the floor.
    """

    share: float = 1.0
    floor: float = 0.001
    power: float = 1.0


FULL_TRUST = Trust()


def measure_trust(Z: Array, targets: Targets, most: int) -> Trust:
    """Return what `most` features, chosen anew in folds, are worth for the rows outside.

    Nothing, where a shuffled target would often be told as well. From a half on the share counts
    as all: folds have fewer rows than the whole, no forest and no bred features, so that they tell
    too little. Shapes: Z (n, M).
    """
    if shuffled_p_value([(Z, targets.T)], Z) > _DOUBT:
        return Trust(share=0.0)
    said, middle, rows = fold_outputs(Z, targets, most)
    share = kept_share(said - middle, targets.T[rows] - middle)
    if targets.codes is None or not len(rows):
        return Trust(share)
    return Trust(share, *fit_chances(middle + share * (said - middle), targets.codes[rows]))


def fold_outputs(Z: Array, targets: Targets, most: int) -> tuple[Array, Array, Indices]:
    """Return what the features of the other folds say of each row, their means, and the rows.

    Shapes: Z (n, M) -> (r, q), (r, q), (r,).
    """
    order = np.argsort(targets.T[:, 0] if targets.codes is None else targets.codes, kind="stable")
    fold = np.empty(len(Z), dtype=np.intp)
    fold[order] = np.arange(len(Z)) % _FOLDS
    q = targets.T.shape[1]
    said, middles = [np.empty((0, q))], [np.empty((0, q))]
    rows = [np.empty(0, dtype=np.intp)]
    for test in (fold == number for number in range(min(_FOLDS, len(Z)))):
        own = targets.of(np.flatnonzero(~test))
        if own.codes is not None and len(np.unique(own.codes)) < 2:
            continue
        learnt, centre, scale = standardise_features(Z[~test])
        chosen = unlike(quick_fitness(learnt, own), learnt, most)
        if not len(chosen):
            continue
        fit = smooth_fit(learnt[:, chosen], own.T)
        new = ((Z[test] - centre) / scale)[:, chosen]
        said.append(smooth_kernel(new, learnt[:, chosen], fit.width) @ fit.weights)
        middles.append(np.broadcast_to(own.T.mean(axis=0), said[-1].shape))
        rows.append(np.flatnonzero(test))
    return np.concatenate(said), np.concatenate(middles), np.concatenate(rows)


def kept_share(said: Array, truth: Array) -> float:
    """Return the share of what is said that brings it nearest to the truth, both (r, q)."""
    squares = float((said**2).sum())
    share = float((said * truth).sum()) / squares if squares > 0 else 1.0
    return 1.0 if share > _ENOUGH else max(share, 0.0)


def fit_chances(outputs: Array, codes: Indices) -> tuple[float, float]:
    """Return the floor and power by which outputs are the best chances of classes.

    Shapes: outputs (r, q), codes (r,).
    """
    places = np.arange(len(codes))
    losses = {
        (floor, power): -np.log(chances(outputs, floor, power)[places, codes]).mean()
        for floor in _FLOORS
        for power in _POWERS
    }
    return min(losses, key=lambda each: losses[each])


def chances(outputs: Array, floor: float, power: float) -> Array:
    """Return chances of classes, shape (m, q), in the order of the outputs."""
    share = np.maximum(outputs, floor) ** power
    found: Array = share / share.sum(axis=1, keepdims=True)
    return found
