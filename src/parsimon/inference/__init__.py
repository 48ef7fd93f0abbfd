"""Arrays in, posterior out: the inference behind the models, free of estimators and tables.

For Gaussian processes start at `latent_prior` (the kernel matrix, dense or of low rank), go on to
`expectation_propagation`, `laplace`, `softmax_laplace` or `gaussian_regression`, and end at
`LatentPosterior` (predictions, additive components, leave-one-out). `maximise_evidence` fits
hyperparameters to any of them.
"""

from parsimon.inference.covariance import Covariance
from parsimon.inference.ep import expectation_propagation
from parsimon.inference.evidence import (
    EvidenceFit,
    classification_evidence,
    maximise_evidence,
    regression_evidence,
)
from parsimon.inference.gaussian import RegressionPosterior, gaussian_regression
from parsimon.inference.laplace import laplace
from parsimon.inference.posterior import Latent, LatentPosterior, Sites
from parsimon.inference.prediction import leave_one_out_log_loss, positive_probability
from parsimon.inference.prior import DensePrior, LatentPrior, LowRankPrior, latent_prior
from parsimon.inference.softmax_laplace import (
    SoftmaxPosterior,
    softmax_evidence,
    softmax_laplace,
    softmax_probability,
)

__all__ = [
    "Covariance",
    "DensePrior",
    "EvidenceFit",
    "Latent",
    "LatentPosterior",
    "LatentPrior",
    "LowRankPrior",
    "RegressionPosterior",
    "Sites",
    "SoftmaxPosterior",
    "classification_evidence",
    "expectation_propagation",
    "gaussian_regression",
    "laplace",
    "latent_prior",
    "leave_one_out_log_loss",
    "maximise_evidence",
    "positive_probability",
    "regression_evidence",
    "softmax_evidence",
    "softmax_laplace",
    "softmax_probability",
]
