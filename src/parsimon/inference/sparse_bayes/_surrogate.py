r"""The objective while B stays what it is: a Gaussian model of a few columns, without the rows.

For a likelihood that is not normal the evidence of new precisions takes a new mode, and every
step to the mode passes over all rows. With B held, the evidence depends on the rows only through
:math:`\Phi^T B \Phi` and :math:`\Phi^T B \hat t`, so that a whole search among a few columns costs
nothing that grows with the rows. It proposes; the true objective disposes.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes._mode import (
    cholesky,
    evidence_gradient,
    evidence_hessian,
    inverse,
)
from parsimon.inference.sparse_bayes._moves import ALIGNED, Fit, Sweep, best_gain, make_sweep

_NO_ROWS = np.empty(0)


@dataclass(frozen=True)
class Surrogate:
    r"""A Gaussian model of k columns; a `Problem` like the one that it stands for.

    gram (k, k): :math:`\Phi^T B \Phi`.
    linear (k,): :math:`\Phi^T B \hat t`.
    tilt (k,): Slope of the true objective beyond that of the model, added as a linear term.
    origin (k,): Log precisions at which that term is zero, so that dropping a column costs none
        of it.
    precisions: Limits of the precisions.
    """

    gram: Array
    linear: Array
    tilt: Array
    origin: Array
    precisions: tuple[float, float]
    smoothness: float

    def evaluate(
        self, active: Indices, theta: Array, columns: Array, guess: Array | None = None
    ) -> Fit | None:
        del guess
        scaling = np.exp(-0.5 * theta)
        curvature = self.gram[active[:, None], active] * scaling * scaling[:, None]
        curvature.flat[:: len(active) + 1] += 1.0
        try:
            factor = cholesky(curvature)
        except np.linalg.LinAlgError:
            return None
        covariance = inverse(factor)
        pull = scaling * self.linear[active]
        weights = covariance @ pull
        freedom = len(active) - covariance.trace()
        value = 0.5 * (pull @ weights) - np.log(factor.diagonal()).sum()
        tilt = self.tilt[active]
        return Fit(
            active=active,
            theta=theta,
            weights=weights,
            covariance=covariance,
            columns=columns,
            residual=_NO_ROWS,
            precision=_NO_ROWS,
            log_evidence=float(value),
            objective=float(
                value - self.smoothness * freedom + tilt @ (theta - self.origin[active])
            ),
            gradient=evidence_gradient(covariance, weights, self.smoothness) + tilt,
            make_hessian=partial(evidence_hessian, covariance, weights, self.smoothness),
        )

    def sweep(self, fit: Fit, pool: Indices | None = None) -> Sweep:
        chosen = np.arange(len(self.linear)) if pool is None else pool
        products = self.gram[chosen[:, None], fit.active]
        quality = self.linear[chosen] - products @ (fit.weights / np.sqrt(fit.alpha))
        projections = (self.gram.diagonal()[chosen], products, quality)
        usable = projections[0] > 0
        return make_sweep(fit, chosen, projections, usable, self.smoothness)

    def refresh(self, fit: Fit, sweep: Sweep) -> Sweep:
        del sweep
        return self.sweep(fit)

    def take(self, indices: Indices) -> Array:
        return np.empty((0, len(indices)))

    def bounds(self, theta: Array) -> tuple[Array, Array]:
        low, high = np.log(self.precisions)
        return np.full_like(theta, low), np.full_like(theta, high)

    def precision_bounds(self) -> tuple[float, float]:
        return self.precisions


def make_surrogate(
    fit: Fit, columns: Array, precisions: tuple[float, float], smoothness: float
) -> tuple[Surrogate, Fit] | None:
    """Return the Gaussian model of a fit's columns and others, and the fit in that model.

    Shapes: columns (n, k).
    """
    root = columns * np.sqrt(fit.precision)[:, None]
    gram = root.T @ root
    n_active = len(fit.active)
    linear = gram[:, :n_active] @ (fit.weights / np.sqrt(fit.alpha)) + fit.residual @ columns
    tilt = np.zeros(len(linear))
    known = evidence_gradient(fit.covariance, fit.weights, smoothness)
    tilt[:n_active] = fit.gradient[:n_active] - known
    origin = np.zeros(len(linear))
    origin[:n_active] = fit.theta[:n_active]
    model = Surrogate(gram, linear, tilt, origin, precisions, smoothness)
    places = np.arange(n_active)
    same = model.evaluate(places, fit.theta[:n_active], np.empty((0, n_active)))
    return None if same is None else (model, same)


def greedy_picks(model: Surrogate, fit: Fit, least: float, most: int) -> tuple[Indices, Array]:
    """Choose columns to add, each scored in a model that has those chosen before it.

    Only what each column has outside the model is followed, and inner products are formed with
    those picked alone, so that a pick costs little more than the number of candidates. The
    degrees of freedom that a column brings stay those of the first look.

    Shape: (n_picks,), (n_picks,).
    """
    sweep = model.sweep(fit)
    products = model.gram[:, fit.active] / np.sqrt(fit.alpha)
    quality, sparsity = sweep.quality, sweep.sparsity
    penalty = 2.0 * model.smoothness * sweep.freedom() if model.smoothness else 0.0
    free = sweep.usable & ~sweep.inside
    trusted = ALIGNED * model.gram.diagonal()
    places: list[int] = []
    alphas: list[float] = []
    steps = np.empty((most, len(quality)))
    while len(places) < most:
        squared = np.where(free & (sparsity > trusted), quality**2 - penalty, 0.0)
        gains, best = best_gain(np.maximum(sparsity, np.finfo(np.float64).tiny), squared)
        place = int(np.argmax(gains))
        if gains[place] <= least:
            break
        alpha = float(np.clip(best[place], *model.precisions))
        # The inner products of all columns with this one, outside the model as it is by now.
        earlier = steps[: len(places)]
        outside = model.gram[place] - products @ sweep.overlap[place] - earlier[:, place] @ earlier
        width = alpha + sparsity[place]
        quality = quality - outside * (quality[place] / width)
        steps[len(places)] = outside / np.sqrt(width)
        sparsity = sparsity - steps[len(places)] ** 2
        free[place] = False
        places.append(place)
        alphas.append(alpha)
    return np.array(places, dtype=np.intp), np.array(alphas)
