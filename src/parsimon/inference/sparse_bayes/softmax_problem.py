r"""Several classes, as the fast sequential algorithm wants to see them.

A candidate is a (class, column) pair. With the residuals :math:`v (t_k - p_k)` of its class and the
curvature B of the softmax, its quality is :math:`Q = \phi^T v (t_k - p_k)` and its sparsity
:math:`S = \phi^T B_{kk} \phi - c^T \Sigma c`, where c are the products
:math:`\phi^T B_{kl} \phi_j` with the active pairs of all classes; what follows from Q and S is
the same as for two classes.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.inference.sparse_bayes.columns import Columns
from parsimon.inference.sparse_bayes.curvature import evidence_gradient, evidence_hessian
from parsimon.inference.sparse_bayes.relevance import Fit, Sweep, make_sweep
from parsimon.inference.sparse_bayes.softmax_pairs import (
    Labels,
    complement,
    determinant_slope,
    pair_mode,
)

# Of a scaled weight, where a weight of one moves a score by one: a prior standard deviation of 30
# is no prior, since scores that differ by 30 are certain. Much less makes Laplace's method fail on
# separable classes, where the evidence still rises as the posterior becomes wider than its mode is
# far from zero: on ten classes of digits 1e-8 cost a third of the held-out log likelihood.
PRECISIONS = (1e-3, 1e10)


@dataclass(frozen=True)
class SoftmaxProblem:
    """Several classes, for the fast sequential algorithm; pair k * M + j is column j in class k.

    smoothness: Zero: there is no smoothness prior here.
    """

    columns: Columns
    labels: Labels
    smoothness: float = 0.0

    def evaluate(self, active: Indices, theta: Array, columns: Array, guess: Array) -> Fit:
        classes, row_weights = self.classes(active), self.labels.row_weights[:, None]
        X = columns * np.exp(-0.5 * theta)
        mode = pair_mode(X, classes, self.labels, guess)
        p = mode.probability
        lever = 0.5 * row_weights * determinant_slope(X, classes, mode)
        pull = mode.weights * (mode.covariance @ np.einsum("ij,ij->j", X, lever[:, classes]))
        return Fit(
            active=active,
            theta=theta,
            weights=mode.weights,
            covariance=mode.covariance,
            columns=columns,
            residual=row_weights * (self.labels.targets - p),
            precision=row_weights * p * complement(p),
            log_evidence=mode.log_evidence,
            objective=mode.log_evidence,
            gradient=evidence_gradient(mode.covariance, mode.weights, 0.0) + pull,
            make_hessian=partial(evidence_hessian, mode.covariance, mode.weights, 0.0),
        )

    def sweep(self, fit: Fit, pool: Indices | None = None) -> Sweep:
        pairs = np.arange(self.n_pairs) if pool is None else pool
        classes = self.classes(pairs)
        squares, products = np.empty(len(pairs)), np.empty((len(pairs), len(fit.active) + 1))
        for k in np.unique(classes):
            own, right, precision = classes == k, self._partners(fit, k), fit.precision[:, k]
            if pool is None:
                products[own] = self.columns.project(right)
                squares[own] = self.columns.squares(precision)
            else:
                chosen = self.take(pairs[own])
                products[own], squares[own] = chosen.T @ right, precision @ chosen**2
        usable = self.columns.usable[pairs % self.n_columns]
        projections = (squares, products[:, :-1], products[:, -1])
        return make_sweep(fit, pairs, projections, usable, self.smoothness)

    def refresh(self, fit: Fit, sweep: Sweep) -> Sweep:
        return self.sweep(fit, sweep.columns)

    def take(self, indices: Indices) -> Array:
        return self.columns.take(indices % self.n_columns)

    def bounds(self, theta: Array) -> tuple[Array, Array]:
        low, high = np.log(PRECISIONS)
        return np.full_like(theta, low), np.full_like(theta, high)

    def precision_bounds(self) -> tuple[float, float]:
        return PRECISIONS

    @property
    def n_columns(self) -> int:
        """Columns of the design."""
        return int(self.columns.usable.shape[0])

    @property
    def n_pairs(self) -> int:
        """Columns times classes."""
        return int(self.labels.targets.shape[1]) * self.n_columns

    def classes(self, pairs: Indices) -> Indices:
        """Return the class of each pair."""
        return pairs // self.n_columns

    def _partners(self, fit: Fit, k: int) -> Array:
        """Return what a column of class k is multiplied with, shape (n, m + 1).

        The active columns times the curvature in which they meet class k, and the residual.
        """
        row_weights, classes = self.labels.row_weights, self.classes(fit.active)
        probability = self.labels.targets - fit.residual / row_weights[:, None]
        curvature = -(row_weights * probability[:, k])[:, None] * probability[:, classes]
        curvature[:, classes == k] = fit.precision[:, k, None]
        return np.column_stack([fit.columns * curvature, fit.residual[:, k]])
