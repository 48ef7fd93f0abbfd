import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from parsimon.exceptions import InvalidInputError
from parsimon.inference import gaussian_regression, latent_prior
from parsimon.inference.evidence import process_evidence
from parsimon.kernels import SquaredExponential
from tests.inference.problems import SUM, central_differences, table


def targets(X, seed=1):
    noise = np.random.default_rng(seed).normal(size=len(X))
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * noise


def test_evidence_gradient_and_predictions_are_those_of_scikit_learn():
    X, _ = table(80)
    y = targets(X)
    theirs = GaussianProcessRegressor(
        ConstantKernel(1.7) * RBF(1.1) + WhiteKernel(0.2), optimizer=None, alpha=0
    ).fit(X, y)
    evidence, slope = theirs.log_marginal_likelihood(theirs.kernel_.theta, eval_gradient=True)
    kernel = SquaredExponential().with_theta(np.log([1.1, 1.7]))
    posterior = gaussian_regression(latent_prior(kernel, X, form="dense"), y, 0.2)
    assert posterior.log_evidence == pytest.approx(evidence, abs=1e-9)
    np.testing.assert_allclose(posterior.evidence_gradient(), slope[[1, 0, 2]], atol=1e-7)
    X_star = table(10, seed=7)[0]
    mean, sd = theirs.predict(X_star, return_std=True)
    ours = posterior.latent(X_star)
    np.testing.assert_allclose(ours.mean, mean, atol=1e-8)
    np.testing.assert_allclose(ours.variance + 0.2, sd**2, atol=1e-8)


@pytest.mark.parametrize("noise", [1e-4, 0.1, 10.0])
def test_low_rank_equals_dense_whatever_the_noise(noise):
    X, _ = table(200)
    y = targets(X)
    theta = np.append(SUM.theta, np.log(noise))
    dense, low = (process_evidence(SUM, X, y, form=f)(theta, None) for f in ("dense", "low_rank"))
    assert low.prior.pivots is not None
    assert dense.prior.pivots is None
    assert abs(dense.log_evidence - low.log_evidence) / 200 < 1e-6 * max(
        1, dense.weights.max() ** 2
    )
    np.testing.assert_allclose(
        low.evidence_gradient(), dense.evidence_gradient(), rtol=1e-3, atol=1e-2
    )
    np.testing.assert_allclose(low.mean, dense.mean, atol=1e-5)


@pytest.mark.parametrize("form", ["dense", "low_rank"])
def test_gradient_is_that_of_central_differences(form):
    X, _ = table(60)
    y, weights = targets(X), np.tile([1.0, 0.0, 2.5], 20)
    evaluate = process_evidence(SUM, X, y, weights=weights, form=form)
    theta = np.append(SUM.theta, np.log(0.3))
    differences = central_differences(lambda t: evaluate(t, None).log_evidence, theta)
    gradient = evaluate(theta, None).evidence_gradient()
    np.testing.assert_allclose(gradient, differences, rtol=1e-4, atol=1e-4)


def test_integer_weights_equal_duplicated_rows():
    X, _ = table(30)
    y, weights = targets(X), np.tile([1.0, 3.0, 0.0], 10)
    repeated = np.repeat(np.arange(30), weights.astype(int))
    theta = np.append(SUM.theta, np.log(0.3))
    weighted = process_evidence(SUM, X, y, weights=weights)(theta, None)
    duplicated = process_evidence(SUM, X[repeated], y[repeated])(theta, None)
    assert weighted.log_evidence == pytest.approx(duplicated.log_evidence, abs=1e-8)
    np.testing.assert_allclose(
        weighted.evidence_gradient(), duplicated.evidence_gradient(), atol=1e-7
    )
    covariance = SUM.gram(X[repeated]) + 0.3 * np.eye(len(repeated))
    exact = multivariate_normal(cov=covariance).logpdf(y[repeated])
    assert duplicated.log_evidence == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("form", ["dense", "low_rank"])
def test_leave_one_out_equals_refits_without_each_row(form):
    X, _ = table(60)
    y = targets(X)
    theta = np.append(SUM.theta, np.log(0.2))
    loo = process_evidence(SUM, X, y, form=form)(theta, None).leave_one_out_target()
    for row in range(0, 60, 6):
        rest = np.arange(60) != row
        refit = process_evidence(SUM, X[rest], y[rest], form="dense")(theta, None)
        mean, variance = refit.latent(X[[row]])
        assert loo.mean[row] == pytest.approx(mean[0], abs=1e-4)
        assert loo.variance[row] == pytest.approx(variance[0] + 0.2, abs=1e-4)


def test_noise_must_be_positive():
    X, _ = table(10)
    with pytest.raises(InvalidInputError, match="noise variance must be positive, got 0"):
        gaussian_regression(latent_prior(SUM, X), targets(X), 0.0)
    with pytest.raises(InvalidInputError, match="y must be finite"):
        gaussian_regression(latent_prior(SUM, X), np.full(10, np.nan), 1.0)
