r"""What a fitted relevance vector machine says of new rows: variances and probabilities.

The posterior of the weights gives a latent mean and variance (`latent_variance`), and
`moderated_probability` turns them into the probability of the positive class. Far from the data
`FarVariance` adds what the variance of localised basis functions lacks.
"""

import numpy as np

from parsimon._typing import Array
from parsimon.inference.posterior import Latent
from parsimon.inference.prediction import positive_probability
from parsimon.rvm.far_variance import FarVariance, new_column

# The largest number below one half whose difference from one is not one half.
_BELOW_HALF = 0.5 - np.finfo(np.float64).epsneg

__all__ = ["FarVariance", "latent_variance", "moderated_probability", "new_column"]


def latent_variance(design: Array, covariance: Array) -> Array:
    r"""Return :math:`\phi(x)^T \Sigma \phi(x)` of each row.

    With basis functions that vanish far from their centres it tends to zero far from the data,
    where it should be largest; `FarVariance.added` is what is missing.

    Shapes: design (n, m), covariance (m, m) -> (n,).

    Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", eq 22.
    """
    variance: Array = np.einsum("nm,nm->n", design @ covariance, design)
    return np.maximum(variance, 0.0)


def moderated_probability(mean: Array, variance: Array) -> Array:
    r"""Return the logistic function averaged over a Gaussian latent value.

    :math:`\int (1 + e^{-f})^{-1} N(f | m, v) df` by quadrature, to about 1e-12; MacKay's
    :math:`(1 + e^{-m / \sqrt{1 + \pi v / 8}})^{-1}` [1] is wrong by up to 0.02. The answer is
    one half where the mean is zero, exactly, and on the mean's side of one half everywhere else,
    so that it never contradicts a prediction from the mean.

    Shapes: mean, variance (n,).

    [1] MacKay (1992), "The evidence framework applied to classification networks", Neural
    Computation 4:720-736.
    """
    mean = np.asarray(mean, dtype=np.float64)
    spread = np.broadcast_to(np.asarray(variance, dtype=np.float64), mean.shape)
    # The smaller of the two probabilities keeps its digits; the other is one minus it.
    smaller = positive_probability(Latent(-np.abs(mean), spread), link="logit")
    smaller = np.minimum(smaller, _BELOW_HALF)
    return np.where(mean == 0.0, 0.5, np.where(mean > 0.0, 1.0 - smaller, smaller))
