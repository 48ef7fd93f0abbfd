r"""Predictions of a linear model at nodes of a tree, and what they are unsure of.

With columns X and targets y of the rows, estimated weights of covariance :math:`\Sigma` and the
covariances :math:`v` of a node with the rows, the *conditional* prediction is
:math:`x^T w + v^T V^{-1} (y - X w)`, and its weights are unsure by
:math:`l^T \Sigma\, l` with :math:`l = x - X^T V^{-1} v`. The *marginal* prediction is
:math:`x^T w` alone. Estimated weights and the residual of a relative deviate together, so that it
is unsure by :math:`x^T \Sigma\, x - 2 x^T \Sigma\, X^T V^{-1} v`.
"""

from typing import NamedTuple

import numpy as np

from parsimon._typing import Array, Indices
from parsimon.phylo.tree_gaussian import TreeGaussian


class Relatives(NamedTuple):
    """What relatives add to a regression line.

    shift (m,): To be added to the line.
    spread (m,): Variance of the residual, over its rate.
    unsure (m,): Variance from the weights; it may be negative for a line beside relatives.
    """

    shift: Array
    spread: Array
    unsure: Array


def relatives(
    gaussian: TreeGaussian | None,
    rest: Array,
    columns: Array,
    new: Array,
    covariance: Array,
    *,
    nodes: Indices | None,
    kind: str,
) -> Relatives:
    """Return what is known about new rows at nodes beyond the regression line.

    Shapes: rest (n,), columns (n, p), new (m, p), covariance (p, p), nodes (m,).
    """
    if gaussian is None:
        unsure = np.einsum("ij,jk,ik->i", new, covariance, new)
        return Relatives(np.zeros(len(new)), np.ones(len(new)), unsure)
    known = gaussian.conditional(np.column_stack([rest, columns]))
    # What relatives say about a column is known without regression.
    expected = known.mean[nodes, 1:]
    if kind == "conditional":
        left = new - expected
        unsure = np.einsum("ij,jk,ik->i", left, covariance, left)
        return Relatives(known.mean[nodes, 0], known.variance[nodes], unsure)
    unsure = np.einsum("ij,jk,ik->i", new, covariance, new - 2.0 * expected)
    return Relatives(np.zeros(len(new)), gaussian.marginal_variance()[nodes], unsure)


def mean_unsure(gaussian: TreeGaussian, *, nodes: Indices | None, kind: str) -> Array:
    """Return the variance, over the rate, from a constant that is the plain mean of the rows.

    Shapes: nodes (m,).
    """
    with_mean = gaussian.covariance_with_mean()
    variance = float(np.mean(with_mean[gaussian.nodes]))
    if kind == "marginal":
        unsure: Array = variance - 2.0 * with_mean[nodes]
        return unsure
    left = 1.0 - gaussian.conditional(np.ones(len(gaussian.nodes))).mean[nodes]
    return variance * left**2
