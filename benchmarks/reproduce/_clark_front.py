"""Clark (2011), algorithm 5: every useful trade-off between AUC and complexity of a few columns.

An archive of sparse logistic models over the columns themselves, each given by the prior precisions
of its columns; one is drawn, changed in one to three places, fitted and kept if no other is better
in both objectives.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.roc import auc

# log10 of the precisions: the least, beyond the greatest a column is off; and of new ones.
_LEAST, _GREATEST = -12.0, 12.0
_IDLE, _MOST = 100, 5000


class AreaModel(NamedTuple):
    """A model of the archive: log10 precisions by column, -1 for the constant."""

    genes: Mapping[int, float]
    area: float
    size: float

    @property
    def columns(self) -> list[int]:
        """The columns, ascending."""
        return sorted(column for column in self.genes if column >= 0)


def search_front(X: Array, t: Array, rng: np.random.Generator) -> list[AreaModel]:
    """Return models of which none has both a greater area and less complexity.

    Shapes: X (n, d) standardised, t (n,) of 0 and 1.
    """
    places = np.arange(-1, X.shape[1])
    archive = [_judge(X, t, {int(rng.choice(places[1:])): _LEAST})]
    idle = 0
    for _ in range(_MOST):
        new = _judge(X, t, changed(archive[rng.integers(len(archive))].genes, places, rng))
        if any(each.area >= new.area and each.size <= new.size for each in archive):
            idle += 1
            if idle > _IDLE:
                break
            continue
        archive = [
            each for each in archive if not (new.area >= each.area and new.size <= each.size)
        ]
        archive.append(new)
        idle = 0
    return archive


def _judge(X: Array, t: Array, genes: Mapping[int, float]) -> AreaModel:
    design = np.column_stack([np.ones(len(t)) if k < 0 else X[:, k] for k in genes])
    alpha = 10.0 ** np.array([*genes.values()])
    area = auc(t, design @ logistic_weights(design, t, alpha), ties="strict")
    return AreaModel(genes, area, float(np.sum(1 / (1 + alpha))))


def changed(
    genes: Mapping[int, float], places: Indices, rng: np.random.Generator
) -> dict[int, float]:
    """Return a copy with one to three changes: a precision moved, a column off, or one on.

    Shapes: places (k,), those that may be on.
    """
    found = dict(genes)
    for _ in range(int(rng.integers(1, 4))):
        move = int(rng.integers(3))
        if move == 2 or (move == 1 and len(found) == 1):
            # One that is on already is drawn seldom, and moved to a new precision then.
            found[int(rng.choice(places))] = float(rng.uniform(_LEAST, _GREATEST))
            continue
        gene = int(rng.choice(list(found)))
        if move == 1:
            del found[gene]
            continue
        moved = max(_LEAST, found[gene] + float(rng.laplace(0.0, 2.0)))
        if moved <= _GREATEST:
            found[gene] = moved
        elif len(found) > 1:
            del found[gene]
    return found


def logistic_weights(design: Array, t: Array, alpha: Array) -> Array:
    """Return the most probable weights under Gaussian priors, by damped Newton steps.

    Shapes: design (n, k), t (n,) of 0 and 1, alpha (k,) -> (k,).
    """
    weights = np.zeros(design.shape[1])
    value = -np.inf
    for _ in range(25):
        latent = np.clip(design @ weights, -30, 30)
        share = 1 / (1 + np.exp(-latent))
        gradient = design.T @ (t - share) - alpha * weights
        slope = share * (1 - share)
        hessian = (design.T * slope) @ design + np.diag(alpha + 1e-9)
        step = np.linalg.solve(hessian, gradient)
        scale = min(1.0, 10.0 / max(float(np.abs(step).max()), 1e-12))
        weights = weights + scale * step
        latent = np.clip(design @ weights, -30, 30)
        before, value = (
            value,
            float(t @ latent - np.logaddexp(0, latent).sum() - 0.5 * alpha @ weights**2),
        )
        if abs(value - before) < 1e-6:
            break
    return weights
