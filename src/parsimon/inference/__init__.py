"""Arrays in, posterior out: the inference behind the models, free of estimators and tables.

For Gaussian processes start at `latent_prior` (the kernel matrix, dense or of low rank), go on to
`expectation_propagation`, `laplace`, `softmax_laplace` or `gaussian_regression`, and end at
`LatentPosterior` (predictions, additive components, leave-one-out). `maximise_evidence` fits
hyperparameters to any of them. For very many rows, `maximise_bound` and `stochastic_bound` fit a
Gaussian over the latent values at a few inducing points instead. `least_divergence` weighs several
kernel matrices against the labels.
"""

from parsimon.inference.ep import expectation_propagation
from parsimon.inference.evidence import classification_evidence, maximise_evidence
from parsimon.inference.gaussian import gaussian_regression
from parsimon.inference.kernel_weights import KernelWeights, least_divergence
from parsimon.inference.laplace import laplace
from parsimon.inference.posterior import LatentPosterior
from parsimon.inference.prior import latent_prior
from parsimon.inference.softmax_laplace import softmax_laplace
from parsimon.inference.variational import kmeans_points, pivoted_points
from parsimon.inference.variational_fit import BoundFit, maximise_bound, stochastic_bound

__all__ = [
    "BoundFit",
    "KernelWeights",
    "LatentPosterior",
    "classification_evidence",
    "expectation_propagation",
    "gaussian_regression",
    "kmeans_points",
    "laplace",
    "latent_prior",
    "least_divergence",
    "maximise_bound",
    "maximise_evidence",
    "pivoted_points",
    "softmax_laplace",
    "stochastic_bound",
]
