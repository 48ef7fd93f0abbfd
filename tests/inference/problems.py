"""Small data sets and independent oracles for Gaussian-process inference."""

import numpy as np
from scipy.stats import multivariate_normal, norm

from parsimon.kernels import Linear, Matern, Periodic, SquaredExponential

SUM = SquaredExponential(0) + SquaredExponential(1) * SquaredExponential(2)


def table(n_rows, seed=0, columns=3):
    """Return inputs and noisy labels -1, 1; read-only, so that nothing writes into them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, columns))
    signal = np.sin(2 * X[:, 0]) + X[:, -1] * X[:, 0]
    y = np.where(signal + 0.4 * rng.normal(size=n_rows) > 0, 1.0, -1.0)
    X.flags.writeable = y.flags.writeable = False
    return X, y


KERNELS = {
    "additive": SUM.with_theta(np.log([1.3, 2.0, 0.9, 0.7, 2.5])),
    "isotropic": SquaredExponential().with_theta(np.log([2.0, 3.0])),
    "linear": Linear((0, 1)) + SquaredExponential(2),
    "periodic": Periodic(0).with_theta(np.log([1.5, 2.0, 1.0])),
    "matern": Matern(0),
}


def central_differences(function, theta, step=1e-4):
    """Return the gradient of a scalar function of theta."""
    slopes = []
    for index in range(len(theta)):
        shift = np.zeros(len(theta))
        shift[index] = step
        slopes.append((function(theta + shift) - function(theta - shift)) / (2 * step))
    return np.array(slopes)


def exact_log_evidence(gram, y):
    """Return the exact probit evidence: the probability that a Gaussian vector has y's signs."""
    covariance = (gram + np.eye(len(y))) * np.outer(y, y)
    if len(y) == 1:
        return float(np.log(0.5))
    origin = np.zeros(len(y))
    probability = multivariate_normal.cdf(origin, origin, covariance, abseps=1e-10, releps=1e-10)
    return float(np.log(probability))


def textbook_ep_log_evidence(gram, y, precision, shift):
    """Return log Z_EP as printed: Rasmussen and Williams (2006), equations 3.65 and 3.73-3.74."""
    site_variance, site_mean = 1 / precision, shift / precision
    covariance = np.linalg.inv(np.linalg.inv(gram) + np.diag(precision))
    mean = covariance @ shift
    variance = np.diagonal(covariance)
    cavity_variance = 1 / (1 / variance - precision)
    cavity_mean = cavity_variance * (mean / variance - shift)
    z = y * cavity_mean / np.sqrt(1 + cavity_variance)
    marginal = multivariate_normal(cov=gram + np.diag(site_variance)).logpdf(site_mean)
    spread = cavity_variance + site_variance
    normalisers = (
        norm.logcdf(z)
        + 0.5 * np.log(2 * np.pi * spread)
        + (cavity_mean - site_mean) ** 2 / (2 * spread)
    )
    return float(marginal + normalisers.sum())
