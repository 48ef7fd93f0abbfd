"""Posteriors against quadrature, orthants, brute force and other libraries' algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_ndtr, ndtr
from scipy.stats import multivariate_normal

from parsimon.bpm import BayesPointClassifier, gamma_ep, kernel_gamma_ep, kernel_weights
from parsimon.bpm._label_terms import GAUSSIAN, HEAVY_TAILED, LabelTerms, mixture_tilted
from parsimon.bpm._weights import WeightPrior, fit_weights, propagate
from parsimon.inference import expectation_propagation, latent_prior
from parsimon.inference.posterior import Latent
from parsimon.kernels import Constant, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
Y = np.where(X[:, 0] + 0.7 * RNG.normal(size=12) > 0, 1.0, -1.0)
GRID = np.linspace(-6.0, 6.0, 801)


def log_term(f, noise=GAUSSIAN, flip=0.0):
    right = sum(share * ndtr(f / sd) for share, sd in zip(*noise, strict=True))
    return np.log(flip + (1 - 2 * flip) * right)


def quadrature(noise, flip):
    """Return log evidence, mean and covariance of two weights, on a dense grid."""
    first, second = np.meshgrid(GRID, GRID, indexing="ij")
    logs = -0.5 * (first**2 + second**2) - np.log(2 * np.pi)
    for row, y in zip(X, Y, strict=True):
        logs = logs + log_term(y * (row[0] * first + row[1] * second), noise, flip)
    density = np.exp(logs) * (GRID[1] - GRID[0]) ** 2
    mass = density.sum()
    points = np.stack([first.ravel(), second.ravel()])
    share = density.ravel() / mass
    mean = points @ share
    return np.log(mass), mean, (points * share) @ points.T - np.outer(mean, mean)


@pytest.mark.parametrize("noise", [GAUSSIAN, HEAVY_TAILED])
@pytest.mark.parametrize("flip", [0.0, 0.1])
def test_moments_and_evidence_are_those_of_a_dense_grid(noise, flip):
    terms = LabelTerms.of(Y, np.ones(12), flip=flip, noise=noise)
    found = propagate(X, np.ones(2), terms)
    log_evidence, mean, covariance = quadrature(noise, flip)
    assert found.converged
    assert_allclose(found.log_evidence, log_evidence, atol=0.02)
    assert_allclose(found.mean, mean, atol=0.02)
    assert_allclose(found.covariance, covariance, atol=0.03)


def test_the_heavy_tailed_term_has_the_moments_of_its_integral():
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    terms = LabelTerms.of(np.array([-1.0]), np.ones(1), flip=0.05, noise=HEAVY_TAILED)
    for m, v in [(0.3, 0.5), (-2.0, 1.5), (4.0, 0.2)]:
        density = weights / np.sqrt(2 * np.pi)
        f = m + np.sqrt(v) * nodes
        density = density * np.exp(log_term(-f, HEAVY_TAILED, 0.05))
        mass, mean = density.sum(), density @ f / density.sum()
        variance = density @ (f - mean) ** 2 / mass
        logs, tilted = mixture_tilted(Latent(np.array([m]), np.array([v])), terms)
        assert_allclose(logs[0], np.log(mass), rtol=1e-10)
        assert_allclose(m + v * tilted.slope[0], mean, rtol=1e-9)
        assert_allclose(v - v**2 * tilted.curvature[0], variance, rtol=1e-9)


@pytest.mark.parametrize("noise", [GAUSSIAN, HEAVY_TAILED])
def test_slope_and_curvature_are_derivatives(noise):
    terms = LabelTerms.of(np.ones(5), np.ones(5), flip=0.02, noise=noise)
    mean, variance, step = np.linspace(-6, 6, 5), np.full(5, 0.7), 1e-5
    above, here, below = (
        mixture_tilted(Latent(mean + move, variance), terms) for move in (step, 0.0, -step)
    )
    assert_allclose(here[1].slope, (above[0] - below[0]) / (2 * step), rtol=1e-6, atol=1e-9)
    change = (above[1].slope - below[1].slope) / (2 * step)
    assert_allclose(here[1].curvature, -change, rtol=1e-6, atol=1e-9)


def test_far_on_the_wrong_side_a_term_still_pulls():
    terms = LabelTerms.of(np.ones(2), np.ones(2), noise=HEAVY_TAILED)
    logs, tilted = mixture_tilted(Latent(np.array([-60.0, -500.0]), np.ones(2)), terms)
    assert_allclose(tilted.slope, np.array([60.0, 500.0]) / 5.0, rtol=0.01)
    assert np.isfinite(logs).all()


@pytest.mark.parametrize("noise", [GAUSSIAN, HEAVY_TAILED])
@pytest.mark.parametrize("flip", [0.0, 0.05])
@pytest.mark.filterwarnings("error")
def test_a_label_that_nothing_explains_is_wrong_or_pulls_like_a_spring(noise, flip):
    far = np.array([-60.0, -1e3, -1e5])
    terms = LabelTerms.of(np.ones(3), np.ones(3), flip=flip, noise=noise)
    logs, tilted = mixture_tilted(Latent(far, np.ones(3)), terms)
    widest = 1.0 + max(noise.sd) ** 2
    if flip:
        assert_allclose(logs, np.log(flip), rtol=1e-9)
        assert_allclose(tilted.slope, 0.0, atol=1e-9)
    else:
        assert_allclose(logs, -0.5 * far**2 / widest, rtol=0.02)
        assert_allclose(tilted.slope, -far / widest, rtol=0.01)
        assert_allclose(tilted.curvature, 1.0 / widest, rtol=0.01)


def test_evidence_is_an_orthant_probability():
    # Noise makes latent values Gaussian with covariance F F' + I: the labels' probability is that
    # of an orthant.
    few, y = X[:4], Y[:4]
    covariance = few @ few.T + np.eye(4)
    signed = covariance * np.outer(y, y)
    exact = multivariate_normal(cov=signed).cdf(np.zeros(4))
    found = propagate(few, np.ones(2), LabelTerms.of(y, np.ones(4)))
    assert_allclose(found.log_evidence, np.log(exact), atol=2e-3)
    assert_allclose(gamma_ep(few, y).log_evidence, np.log(exact), atol=2e-3)


def test_the_evidence_has_the_slope_that_variances_climb():
    terms, variances, step = LabelTerms.of(Y, np.ones(12), noise=HEAVY_TAILED), np.ones(2), 1e-5
    here = propagate(X, variances, terms, tol=1e-10)
    above, below = (
        propagate(X, variances * np.exp(move), terms, tol=1e-10).log_evidence
        for move in (step, -step)
    )
    squares = here.mean**2 + np.diagonal(here.covariance)
    assert_allclose((above - below) / (2 * step), 0.5 * np.sum(squares - 1.0), rtol=1e-4)


def test_variances_and_flips_are_where_the_evidence_is_greatest():
    rng = np.random.default_rng(1)
    design = np.column_stack([rng.normal(size=(300, 3)), np.ones(300)])
    y = np.where(design @ [2.0, -1.0, 0.0, 0.5] + rng.normal(size=300) > 0, 1.0, -1.0)
    y = np.where(rng.random(300) < 0.1, -y, y)
    terms = LabelTerms.of(y, np.ones(300), noise=HEAVY_TAILED)
    found = fit_weights(design, terms, WeightPrior("evidence", False, "learn"))
    assert 0.03 < found.flip < 0.2

    def evidence(factor, flip):
        variances = found.variances * np.array([factor] * 3 + [1.0])
        return propagate(design, variances, terms.flipped(flip)).log_evidence

    for factor, flip in [(1.2, 1.0), (0.8, 1.0), (1.0, 1.2), (1.0, 0.8)]:
        assert evidence(factor, found.flip * flip) < found.log_evidence + 0.02


def test_gamma_minus_one_is_ep_on_weights_and_on_latent_values():
    ours = expectation_propagation(latent_prior(Constant() + Linear(), X), Y)
    design = np.column_stack([X, np.ones(12)])
    weights = gamma_ep(design, Y, tol=1e-9)
    latent = kernel_gamma_ep(design @ design.T, Y, tol=1e-9)
    assert weights.converged
    assert latent.converged
    for found in (weights, latent):
        assert_allclose(found.log_evidence, ours.log_evidence, atol=1e-6)
        assert_allclose(Y * found.cavity_mean, ours.leave_one_out().mean, atol=1e-4)
    assert_allclose(design @ weights.mean, ours.mean, atol=1e-4)
    assert_allclose(design @ design.T @ kernel_weights(latent, Y), ours.mean, atol=1e-4)
    # The Bayes point is a sum of rows, each with its push: Fearn (2021), after eq 4.20.
    assert_allclose(weights.mean, design.T @ (Y * weights.alpha), atol=1e-6)


def test_another_gamma_has_no_evidence_and_lengthens_the_weights():
    canonical, other = gamma_ep(X, Y), gamma_ep(X, Y, gamma=0.5)
    assert np.linalg.norm(other.mean) > 1.5 * np.linalg.norm(canonical.mean)
    one_pass = [gamma_ep(X, Y, gamma=gamma, max_passes=1).mean for gamma in (-1.0, 0.5)]
    assert_allclose(one_pass[0], one_pass[1])


def test_leave_one_out_is_near_a_fit_without_the_row():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 3))
    y = (rows[:, 0] + 0.8 * rng.normal(size=60) > 0).astype(int)
    model = BayesPointClassifier(noise_sd=1.0, standardise=False).fit(rows, y)
    own = []
    for left in range(60):
        kept = np.arange(60) != left
        without = BayesPointClassifier(noise_sd=1.0, standardise=False).fit(rows[kept], y[kept])
        own.append(without.predict_proba(rows[[left]])[0, y[left]])
    assert_allclose(model.loo_log_loss_, -np.mean(np.log(own)), atol=0.003)
    assert_allclose(model.loo_error_, np.mean(np.array(own) < 0.5), atol=1e-12)


def test_few_rows_left_out_are_near_fits_without_them():
    """Rows that count for much: a cavity that is only nearly right is off by a fifth here."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(14, 3))
    y = (rows[:, 0] + 0.8 * rng.normal(size=14) > 0).astype(int)
    options = {"noise_sd": 1.0, "standardise": False}
    model = BayesPointClassifier(**options).fit(rows, y)
    own = []
    for left in range(14):
        kept = np.arange(14) != left
        without = BayesPointClassifier(**options).fit(rows[kept], y[kept])
        own.append(without.predict_proba(rows[[left]])[0, y[left]])
    assert model.loo_log_loss_ == pytest.approx(-np.mean(np.log(own)), rel=0.05)


def test_probabilities_are_averages_over_the_weights():
    rng = np.random.default_rng(3)
    model = BayesPointClassifier().fit(X, Y)
    draws = rng.multivariate_normal(
        np.append(model._weights[0].mean, []), model._weights[0].covariance, size=200_000
    )
    latent = model._features[0].at(X[:3]).design @ draws.T
    averages = np.exp(log_term(latent, HEAVY_TAILED)).mean(axis=1)
    assert_allclose(model.predict_proba(X[:3])[:, 1], averages, atol=3e-3)


def test_power_ep_tends_to_ep_and_has_powers_of_terms():
    ep = BayesPointClassifier(noise_sd=1.0).fit(X, Y)
    nearly = BayesPointClassifier(inference="power", fraction=0.999, noise_sd=1.0).fit(X, Y)
    assert_allclose(nearly.coef_, ep.coef_, rtol=1e-3)
    half = BayesPointClassifier(inference="power", fraction=0.5, noise_sd=1.0).fit(X, Y)
    assert 1e-4 < np.abs(half.coef_ - ep.coef_).max() < 0.1


def test_a_weight_below_one_is_a_power_by_the_same_quadrature():
    gaussian = LabelTerms.of(Y, np.full(12, 0.4))
    # No wrong labels to all digits, yet the same numbers go through the general quadrature.
    general = LabelTerms.of(Y, np.full(12, 0.4), flip=1e-30)
    hole = Latent(np.linspace(-3, 3, 12), np.linspace(0.1, 4, 12))
    assert_allclose(gaussian.log_normaliser(hole), general.log_normaliser(hole), atol=1e-8)
    assert_allclose(gaussian.match(hole), general.match(hole), atol=1e-6)


def test_log_ndtr_of_a_single_row_is_its_evidence():
    terms = LabelTerms.of(np.ones(1), np.ones(1))
    found = propagate(np.array([[2.0]]), np.ones(1), terms)
    assert_allclose(found.log_evidence, np.log(0.5), atol=1e-6)
    assert log_ndtr(0.0) == pytest.approx(np.log(0.5))
