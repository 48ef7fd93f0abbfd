"""Arrays in, posterior out: the inference behind the models, free of estimators and tables.

For Gaussian processes start at `latent_prior` (the kernel matrix, dense or of low rank), go on to
`expectation_propagation`, `laplace`, `softmax_laplace` or `gaussian_regression`, and end at
`LatentPosterior` (predictions, additive components, leave-one-out). `maximise_evidence` fits
hyperparameters to any of them. For very many rows, `maximise_bound` and `stochastic_bound` fit a
Gaussian over the latent values at a few inducing points instead.
"""

from parsimon.inference._covariance import Covariance
from parsimon.inference.ep import expectation_propagation
from parsimon.inference.evidence import (
    EvidenceFit,
    classification_evidence,
    evidence_curvature,
    maximise_evidence,
    regression_evidence,
)
from parsimon.inference.gaussian import RegressionPosterior, gaussian_regression
from parsimon.inference.inducing import kmeans_points, pivoted_points
from parsimon.inference.laplace import laplace
from parsimon.inference.likelihoods import leave_one_out_log_loss, positive_probability
from parsimon.inference.posterior import Latent, LatentPosterior, Sites
from parsimon.inference.prior import DensePrior, LatentPrior, LowRankPrior, latent_prior
from parsimon.inference.softmax_laplace import (
    SoftmaxPosterior,
    softmax_evidence,
    softmax_laplace,
    softmax_probability,
)
from parsimon.inference.variational import (
    InducingPrior,
    LabelledRows,
    VariationalPosterior,
    WhitenedGaussian,
)
from parsimon.inference.variational_fit import BoundFit, maximise_bound, stochastic_bound

__all__ = [
    "BoundFit",
    "Covariance",
    "DensePrior",
    "EvidenceFit",
    "InducingPrior",
    "LabelledRows",
    "Latent",
    "LatentPosterior",
    "LatentPrior",
    "LowRankPrior",
    "RegressionPosterior",
    "Sites",
    "SoftmaxPosterior",
    "VariationalPosterior",
    "WhitenedGaussian",
    "classification_evidence",
    "evidence_curvature",
    "expectation_propagation",
    "gaussian_regression",
    "kmeans_points",
    "laplace",
    "latent_prior",
    "leave_one_out_log_loss",
    "maximise_bound",
    "maximise_evidence",
    "pivoted_points",
    "positive_probability",
    "regression_evidence",
    "softmax_evidence",
    "softmax_laplace",
    "softmax_probability",
    "stochastic_bound",
]
