import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from parsimon.exceptions import InvalidInputError
from parsimon.inference import expectation_propagation, gaussian_regression, laplace, latent_prior
from parsimon.inference.likelihoods import leave_one_out_log_loss, positive_probability
from parsimon.inference.posterior import Latent
from tests.inference.problems import KERNELS, table

SUM = KERNELS["additive"]
FIRST, SECOND = SUM.terms


def posteriors(form):
    X, y = table(60)
    prior = latent_prior(SUM, X, form=form, tol=1e-10)
    return [
        expectation_propagation(prior, y, tol=1e-9),
        laplace(prior, y),
        gaussian_regression(prior, X[:, 0] + y, 0.4),
    ]


@pytest.mark.parametrize("form", ["dense", "low_rank"])
def test_latent_function_at_the_training_rows_is_the_posterior_there(form):
    for posterior in posteriors(form):
        latent = posterior.latent(posterior.prior.X)
        np.testing.assert_allclose(latent.mean, posterior.mean, atol=1e-6)
        np.testing.assert_allclose(latent.variance, posterior.variance, atol=1e-6)


@pytest.mark.parametrize("form", ["dense", "low_rank"])
def test_components_are_the_blocks_of_the_joint_posterior(form):
    """Both components at once, as one Gaussian of twice the size, conditioned by brute force."""
    X_star = table(7, seed=3)[0]
    for posterior in posteriors(form):
        X, (precision, shift) = posterior.prior.X, posterior.sites
        target = np.diag(1 / precision) + SUM.gram(X)
        gain = np.linalg.solve(target, np.hstack([k.gram(X, X_star) for k in (FIRST, SECOND)]))
        joint_mean = gain.T @ (shift / precision)
        cross = np.hstack([k.gram(X, X_star) for k in (FIRST, SECOND)])
        joint = np.zeros((14, 14))
        joint[:7, :7], joint[7:, 7:] = FIRST.gram(X_star), SECOND.gram(X_star)
        joint -= cross.T @ gain
        for part, block in ((FIRST, slice(0, 7)), (SECOND, slice(7, 14))):
            component = posterior.component(part, X_star, covariance=True)
            np.testing.assert_allclose(component.mean, joint_mean[block], atol=1e-6)
            np.testing.assert_allclose(component.variance, joint[block, block], atol=1e-6)
            band = posterior.component(part, X_star)
            np.testing.assert_allclose(band.mean, component.mean)
            np.testing.assert_allclose(band.variance, np.diagonal(component.variance), atol=1e-9)


@pytest.mark.parametrize("form", ["dense", "low_rank"])
def test_component_means_add_up(form):
    X_star = table(20, seed=3)[0]
    for posterior in posteriors(form):
        parts = [posterior.component(term, X_star).mean for term in SUM.terms]
        np.testing.assert_allclose(sum(parts), posterior.latent(X_star).mean, atol=1e-10)


def test_far_away_the_prior_returns():
    posterior = posteriors("low_rank")[0]
    latent = posterior.latent(np.full((1, 3), 1e3))
    assert latent.mean[0] == pytest.approx(0, abs=1e-12)
    assert latent.variance[0] == pytest.approx(SUM.diagonal(np.zeros((1, 3)))[0])


def test_prediction_does_not_depend_on_chunks(monkeypatch):
    X_star = table(25, seed=3)[0]
    posterior = posteriors("low_rank")[0]
    whole = posterior.latent(X_star)
    monkeypatch.setattr("parsimon.inference.posterior.CHUNK", 300)
    chunked = posterior.latent(X_star)
    np.testing.assert_allclose(chunked, whole, atol=1e-12)
    assert posterior.latent(X_star[:0]).mean.shape == (0,)


def test_projection_takes_matrices():
    X_star = table(5, seed=3)[0]
    posterior = posteriors("dense")[0]
    cross = SUM.gram(X_star, posterior.prior.X)
    ours = posterior.project(cross, SUM.diagonal(X_star))
    np.testing.assert_allclose(ours, posterior.latent(X_star), atol=1e-12)
    both = posterior.project(cross, SUM.gram(X_star))
    np.testing.assert_allclose(np.diagonal(both.variance), ours.variance, atol=1e-9)


@pytest.mark.parametrize("variance", [0.0, 0.3, 0.99, 1.01, 10.0, 500.0])
@pytest.mark.parametrize("mean", [-7.0, -0.4, 0.0, 3.0])
def test_probabilities_are_integrals_over_the_latent_value(mean, variance):
    latent = Latent(np.array([mean]), np.array([variance]))
    for link, curve in (("probit", norm.cdf), ("logit", expit)):
        ours = positive_probability(latent, link=link)[0]
        plain = positive_probability(latent, link=link, plug_in=True)[0]
        assert plain == pytest.approx(curve(mean))
        if variance == 0:
            assert ours == pytest.approx(plain, abs=1e-14)
            continue
        sd = np.sqrt(variance)
        grid = np.linspace(mean - 12 * sd, mean + 12 * sd, 40_001)
        density = norm.pdf(grid, mean, sd)
        exact = density @ curve(grid) / density.sum()
        assert ours == pytest.approx(exact, abs=1e-10)
        assert abs(ours - 0.5) <= abs(plain - 0.5) + 1e-12


def test_leave_one_out_loss_is_minus_the_log_probability_of_the_label():
    X, y = table(40)
    loo = expectation_propagation(latent_prior(SUM, X), y).leave_one_out()
    for link in ("probit", "logit"):
        positive = positive_probability(loo, link=link)
        expected = -np.log(np.where(y > 0, positive, 1 - positive))
        np.testing.assert_allclose(leave_one_out_log_loss(loo, y, link=link), expected, rtol=1e-9)
    hopeless = Latent(np.array([-1e4]), np.array([1e-3]))
    assert np.isfinite(leave_one_out_log_loss(hopeless, np.ones(1)))[0]


def test_unknown_links_are_refused():
    with pytest.raises(InvalidInputError, match="link must be 'probit' or 'logit', got 'cauchit'"):
        positive_probability(Latent(np.zeros(1), np.ones(1)), link="cauchit")
