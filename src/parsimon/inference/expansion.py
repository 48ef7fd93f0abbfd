"""Sites that agree with their targets to first order, from one factorisation of a dense posterior.

A round of expectation propagation costs a factorisation, but sites near convergence move the
marginals little: their change is expanded around the last round and iterated until nothing moves.
What is left after the next factorisation is of the square of what was there before, as in Newton's
method.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import blas

from parsimon._typing import Array
from parsimon.inference.anderson import Anderson
from parsimon.inference.dense import DenseConditioned
from parsimon.inference.posterior import Latent, Sites

Match: TypeAlias = Callable[[Latent, Sites], Sites]

MOST_STEPS = 30
# Rows whose site says less have no part in the expansion: dividing by their precision would
# leave rounding only.
LEAST_PRECISION = 1e-6
# Of a marginal's precision that a site may have.
MOST_SHARE = 0.999


def expanded_sites(
    conditioned: DenseConditioned,
    marginal: Latent,
    target: Sites,
    match: Match,
    *,
    tolerance: float,
) -> Sites:
    """Return the fixed point of the sites, with marginals expanded around a posterior.

    With D the change of the precisions, the marginals are ``v - (Sigma * Sigma) @ D``, to first
    order, and ``m = Sigma @ (shift - D * m)``, exactly.
    """
    sd = np.maximum(np.sqrt(marginal.variance), np.finfo(np.float64).tiny ** 0.25)
    scale = np.stack([sd**2, sd, 1 / sd])
    expansion = _Expansion(conditioned, marginal)
    accelerator = Anderson()
    point = np.stack([*target, marginal.mean])
    for _ in range(MOST_STEPS):
        precision, shift, mean = point
        here = expansion.marginal(precision, shift, mean)
        goal = np.stack([*match(here, Sites(precision, shift)), here.mean])
        change = float(np.max(np.abs(goal - point) * scale))
        if not change > tolerance:
            break
        moved = accelerator.step(point.ravel(), goal.ravel(), scale.ravel())
        point = moved.reshape(point.shape)
        np.maximum(point[0], 0.0, out=point[0])
    return Sites(np.maximum(goal[0], 0.0), goal[1])


class _Expansion:
    """Marginals of a dense posterior as functions of a change of its sites."""

    def __init__(self, conditioned: DenseConditioned, marginal: Latent) -> None:
        self.conditioned, self.variance = conditioned, marginal.variance
        T = conditioned.precision
        used = T > LEAST_PRECISION
        self.divisor = np.divide(1.0, T, out=np.zeros_like(T), where=used)
        # Off its diagonal, Sigma * Sigma is the square of inv(B) over the precisions.
        self.squares = np.square(conditioned.inverse)
        self.squares[np.diag_indices_from(self.squares)] = np.square(T * marginal.variance)

    def marginal(self, precision: Array, shift: Array, mean: Array) -> Latent:
        """Return the marginals under other sites; `mean` is a guess of theirs."""
        more = precision - self.conditioned.precision
        less = self.divisor * blas.dsymv(1.0, self.squares, self.divisor * more, lower=1)
        # Beyond these limits no expansion holds, and beyond the last no cavity exists.
        variance = np.clip(self.variance - less, 0.5 * self.variance, 2.0 * self.variance)
        variance = np.minimum(variance, MOST_SHARE / np.maximum(precision, LEAST_PRECISION))
        return Latent(self.conditioned.product(shift - more * mean), variance)
