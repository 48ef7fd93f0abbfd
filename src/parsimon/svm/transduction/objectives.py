r"""Margin, training loss and test loss of a whole population of machines at once.

A transductive machine minimises :math:`\frac12\|w\|^2 + C \sum_i \xi_i + C^* \sum_k \xi^*_k`; the
three terms without the prices between them are three objectives. The label of an unlabelled row is
the sign of its score, so its slack is :math:`\max(0, 1 - |f(x^*_k)|)`.
"""

from dataclasses import dataclass

import numpy as np

from parsimon._typing import Array
from parsimon.svm.transduction.problem import Problem

PRIMAL_NAMES = ("margin_term", "train_loss", "test_loss")
DUAL_NAMES = ("dual_objective", "train_sum", "test_sum")


@dataclass(frozen=True, eq=False)
class PrimalObjectives:
    """Called with machines it returns their objectives and how far they miss the class ratio.

    A machine is a row of n coefficients and a bias, ``f = coefficients @ kernel + bias``.

    weights (n,): How much one unit of slack of each row counts.
    """

    problem: Problem
    weights: Array

    def __call__(self, machines: Array) -> tuple[Array, Array]:
        scores = machines[:, :-1] @ self.problem.kernel
        margin_term = 0.5 * np.einsum("kn,kn->k", machines[:, :-1], scores)
        scores = scores + machines[:, -1:]
        known, free = self.problem.labelled, self.problem.unlabelled
        slack = np.maximum(0.0, 1.0 - self.problem.known[known] * scores[:, known])
        own = np.maximum(0.0, 1.0 - np.abs(scores[:, free]))
        values = np.column_stack(
            (margin_term, slack @ self.weights[known], own @ self.weights[free])
        )
        return values, self.violation(scores)

    def violation(self, scores: Array) -> Array:
        """Return the share of unlabelled rows that would have to change sides, shape (k,)."""
        n = self.problem.n_unlabelled
        n_positive = np.count_nonzero(scores[:, self.problem.unlabelled] > 0, axis=1)
        missing = np.maximum(self.problem.fewest - n_positive, n_positive - self.problem.most)
        share: Array = np.maximum(missing, 0) / max(n, 1)
        return share


@dataclass(frozen=True, eq=False)
class DualObjectives:
    r"""The objectives as they are printed, all to be maximised.

    The dual function of all rows, :math:`\sum \alpha_i` of the labelled and :math:`\sum \alpha^*_k`
    of the unlabelled ones (Mierswa 2009, corollary 5.2). The first rewards labels with a *small*
    margin, see `parsimon.svm.transduction.joint`; the others are no losses. A row of variables is
    :math:`\alpha` for labelled rows and :math:`\alpha^* y^*` for the others.
    """

    problem: Problem

    def __call__(self, variables: Array) -> Array:
        signed = self.signed(variables)
        sizes = np.abs(variables)
        quadratic = np.einsum("kn,kn->k", signed, signed @ self.problem.kernel)
        dual = sizes.sum(axis=1) - 0.5 * quadratic
        return np.column_stack(
            (
                dual,
                sizes[:, self.problem.labelled].sum(axis=1),
                sizes[:, self.problem.unlabelled].sum(axis=1),
            )
        )

    def signed(self, variables: Array) -> Array:
        """Return multipliers times labels, the coefficients of the machines, shape (k, n)."""
        signed: Array = variables * np.where(self.problem.known == 0, 1.0, self.problem.known)
        return signed
