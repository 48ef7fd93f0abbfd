import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from parsimon.exceptions import InvalidInputError
from parsimon.inference import laplace, latent_prior
from parsimon.inference.likelihoods import log_likelihood
from parsimon.inference.prior import DensePrior
from parsimon.kernels import SquaredExponential
from tests.inference.problems import KERNELS, SUM, central_differences, table

LINKS = ["probit", "logit"]


@pytest.mark.parametrize("link", LINKS)
def test_derivatives_belong_to_the_likelihood(link):
    f, step = np.linspace(-8, 8, 41), 1e-5
    for sign in (-1.0, 1.0):
        y = np.full(41, sign)
        below, here, above = (log_likelihood(f + shift, y, link) for shift in (-step, 0.0, step))
        for value, slope, factor in ((0, 1, 1), (1, 2, -1), (2, 3, -1)):
            difference = (above[value] - below[value]) / (2 * step)
            np.testing.assert_allclose(difference, factor * here[slope], atol=1e-7)


def test_both_labels_together_are_certain():
    f = np.linspace(-5, 5, 11)
    for link in LINKS:
        total = sum(np.exp(log_likelihood(f, np.full(11, y), link).value) for y in (-1.0, 1.0))
        np.testing.assert_allclose(total, 1)


def test_evidence_gradient_and_predictions_are_those_of_scikit_learn():
    X, y = table(60)
    theirs = GaussianProcessClassifier(ConstantKernel(2.5) * RBF(1.2), optimizer=None).fit(X, y)
    evidence, slope = theirs.log_marginal_likelihood(theirs.kernel_.theta, eval_gradient=True)
    kernel = SquaredExponential().with_theta(np.log([1.2, 2.5]))
    posterior = laplace(latent_prior(kernel, X), y, link="logit")
    assert posterior.log_evidence == pytest.approx(evidence, abs=1e-6)
    np.testing.assert_allclose(posterior.evidence_gradient(), slope[::-1], atol=1e-5)
    np.testing.assert_allclose(posterior.mean, theirs.base_estimator_.f_cached, atol=1e-5)


@pytest.mark.parametrize("form", ["dense", "low_rank"])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", ["additive", "linear"])
def test_gradient_is_that_of_central_differences(name, link, form):
    X, y = table(60)
    kernel, weights = KERNELS[name], np.tile([1.0, 2.5, 0.4], 20)

    def posterior(theta):
        prior = latent_prior(kernel.with_theta(theta), X, form=form, tol=1e-12)
        return laplace(prior, y, link=link, weights=weights, tol=1e-9)

    differences = central_differences(lambda theta: posterior(theta).log_evidence, kernel.theta)
    gradient = posterior(kernel.theta).evidence_gradient()
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("link", LINKS)
def test_mode_is_where_a_general_minimiser_finds_it(link):
    X, y = table(20)
    gram = SUM.gram(X) + 0.1 * np.eye(20)
    inverse = np.linalg.inv(gram)

    def minus_log_density(f):
        likelihood = log_likelihood(f, y, link)
        value = 0.5 * f @ inverse @ f - likelihood.value.sum()
        return value, inverse @ f - likelihood.slope

    expected = minimize(minus_log_density, np.zeros(20), jac=True, tol=1e-10)
    posterior = laplace(DensePrior(SUM, X, gram), y, link=link)
    np.testing.assert_allclose(posterior.mean, expected.x, atol=1e-4)
    curvature = log_likelihood(posterior.mean, y, link).curvature
    covariance = np.linalg.inv(inverse + np.diag(curvature))
    np.testing.assert_allclose(posterior.variance, np.diagonal(covariance), atol=1e-8)
    determinant = np.linalg.slogdet(np.eye(20) + gram * curvature)[1]
    evidence = -minus_log_density(posterior.mean)[0] - 0.5 * determinant
    assert posterior.log_evidence == pytest.approx(evidence, abs=1e-8)


@pytest.mark.parametrize("link", LINKS)
def test_low_rank_equals_dense(link):
    X, y = table(200)
    for scale in (0.7, 2.0):
        kernel = SUM.with_theta(SUM.theta + np.log(scale))
        dense, low = (
            laplace(latent_prior(kernel, X, form=form), y, link=link)
            for form in ("dense", "low_rank")
        )
        assert abs(dense.log_evidence - low.log_evidence) / 200 < 1e-6
        np.testing.assert_allclose(
            dense.evidence_gradient(), low.evidence_gradient(), rtol=1e-3, atol=1e-3
        )


@pytest.mark.parametrize("link", LINKS)
def test_integer_weights_equal_duplicated_rows(link):
    X, y = table(30)
    weights = np.tile([1.0, 3.0, 0.0], 10)
    repeated = np.repeat(np.arange(30), weights.astype(int))
    weighted = laplace(latent_prior(SUM, X), y, link=link, weights=weights)
    duplicated = laplace(latent_prior(SUM, X[repeated]), y[repeated], link=link)
    assert weighted.log_evidence == pytest.approx(duplicated.log_evidence, abs=1e-8)
    X_star = table(10, seed=4)[0]
    for one, other in zip(weighted.latent(X_star), duplicated.latent(X_star), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_warm_start_saves_steps():
    X, y = table(100)
    first = laplace(latent_prior(SUM, X), y)
    prior = latent_prior(SUM.with_theta(SUM.theta + 0.02), X)
    cold, warm = laplace(prior, y), laplace(prior, y, start=first.sites)
    assert warm.n_iterations < cold.n_iterations
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-9)


@pytest.mark.parametrize("move", [0.02, 0.5])
def test_a_posterior_lends_its_factorisation(monkeypatch, move):
    X, y = table(420, columns=4)
    first = laplace(latent_prior(SUM, X, form="dense"), y)
    prior = latent_prior(SUM.with_theta(SUM.theta + move), X, form="dense")
    real, sizes = DensePrior.condition, []
    monkeypatch.setattr(
        DensePrior, "condition", lambda self, T: sizes.append(len(T)) or real(self, T)
    )
    cold = laplace(prior, y)
    n_cold = len(sizes)
    sizes.clear()
    warm = laplace(prior, y, start=first, tol=1e-4)
    assert len(sizes) < n_cold
    assert move > 0.1 or len(sizes) == 1
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-7)
    np.testing.assert_allclose(warm.evidence_gradient(), cold.evidence_gradient(), atol=1e-5)


def test_a_posterior_of_few_rows_lends_its_sites():
    X, y = table(60)
    first = laplace(latent_prior(SUM, X), y)
    prior = latent_prior(SUM.with_theta(SUM.theta + 0.1), X)
    from_sites, from_whole = (laplace(prior, y, start=begin) for begin in (first.sites, first))
    assert from_sites.log_evidence == from_whole.log_evidence


def test_steps_can_be_limited_and_the_failure_is_said():
    X, y = table(50)
    short = laplace(latent_prior(SUM, X), y, max_iterations=1)
    assert not short.converged
    assert short.n_iterations == 1
    loose = laplace(latent_prior(SUM, X), y, tol=0.1)
    assert loose.converged
    assert loose.n_iterations < laplace(latent_prior(SUM, X), y).n_iterations


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("variance", [1e-8, 1e3, 1e6])
def test_extreme_priors_converge_without_warnings(variance, link):
    X = np.linspace(-1, 1, 60)[:, None]
    kernel = SquaredExponential(0).with_theta(np.log([0.3, variance]))
    for y in (np.where(X[:, 0] > 0, 1.0, -1.0), np.tile([1.0, -1.0], 30)):
        posterior = laplace(latent_prior(kernel, X), y, link=link)
        assert posterior.converged
        assert np.isfinite(posterior.evidence_gradient()).all()


def test_unknown_links_are_refused():
    X, y = table(10)
    with pytest.raises(InvalidInputError, match="link must be 'probit' or 'logit', got 'cloglog'"):
        laplace(latent_prior(SUM, X), y, link="cloglog")
