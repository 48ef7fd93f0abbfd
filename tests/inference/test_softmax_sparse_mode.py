"""Modes of several classes that share their prior, and probabilities from their posterior."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from parsimon.inference import softmax_laplace
from parsimon.inference.irls import logistic_mode
from parsimon.inference.posterior import Latent
from parsimon.inference.sparse_bayes.multinomial import class_contrasts, contrast_hessian
from parsimon.inference.sparse_bayes.softmax import (
    softmax_average,
    softmax_given,
    softmax_latent,
    softmax_mode,
    softmax_scores,
)
from parsimon.kernels import Linear


def problem(seed=0, n_rows=40, n_columns=4, n_classes=3):
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(n_rows, n_columns))
    weights = rng.normal(size=(n_classes, n_columns))
    codes = (design @ weights.T + rng.gumbel(size=(n_rows, n_classes))).argmax(axis=1)
    alpha, row_weights = rng.uniform(0.1, 3, n_columns), rng.uniform(0, 2, n_rows)
    return design, codes, alpha, row_weights


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_mode_is_that_of_scikit_learn(n_classes):
    design, codes, _, row_weights = problem(n_classes, 120, 4, n_classes)
    mode = softmax_mode(design, codes, n_classes, np.full(4, 0.8), row_weights=row_weights)
    peer = LogisticRegression(C=1 / 0.8, fit_intercept=False, tol=1e-10, max_iter=10_000)
    expected = peer.fit(design, codes, sample_weight=row_weights).decision_function(design)
    if n_classes == 2:
        # Its binary penalty is on the difference of the two weights, whose variance is double.
        peer = peer.set_params(C=2 / 0.8).fit(design, codes, sample_weight=row_weights)
        difference = peer.decision_function(design)
        expected = np.column_stack([-difference, difference]) / 2
    np.testing.assert_allclose(mode.scores, expected, atol=1e-4)
    assert mode.converged


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 20),
    n_columns=st.integers(1, 6),
    n_classes=st.integers(2, 5),
    weighted=st.booleans(),
)
def test_gradient_vanishes_at_the_mode(seed, n_rows, n_columns, n_classes, weighted):
    design, codes, alpha, row_weights = problem(seed, n_rows, n_columns, n_classes)
    v = row_weights if weighted else None
    mode = softmax_mode(design, codes, n_classes, alpha, row_weights=v)
    residual = np.eye(n_classes)[codes] - softmax(mode.scores, axis=1)
    if weighted:
        residual = residual * row_weights[:, None]
    gradient = residual.T @ design - alpha * mode.weights
    np.testing.assert_allclose(gradient, 0, atol=1e-3)
    np.testing.assert_allclose(mode.weights.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(mode.scores, design @ mode.weights.T, atol=1e-8)
    log_p = log_softmax(mode.scores, axis=1)[np.arange(n_rows), codes]
    expected = row_weights @ log_p if weighted else log_p.sum()
    expected = expected - 0.5 * np.sum(alpha * mode.weights**2)
    np.testing.assert_allclose(mode.log_posterior, expected, atol=1e-9)


def test_two_classes_are_a_logistic_regression_with_half_the_precision():
    design, codes, alpha, _ = problem(3, 50, 4, 2)
    mode = softmax_mode(design, codes, 2, alpha)
    binary = logistic_mode(design, codes.astype(float), alpha / 2)
    np.testing.assert_allclose(mode.weights[1] - mode.weights[0], binary.weights, atol=1e-5)


def test_curvature_is_the_hessian_over_contrasts():
    design, _, alpha, row_weights = problem(1, 9, 3, 4)
    p = softmax(np.random.default_rng(0).normal(size=(9, 4)), axis=1)
    H = class_contrasts(4).matrix
    np.testing.assert_allclose(H.T @ H, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(H.sum(axis=0), 0, atol=1e-12)
    expected = np.kron(np.eye(3), np.diag(alpha))
    for i in range(9):
        B = row_weights[i] * H.T @ (np.diag(p[i]) - np.outer(p[i], p[i])) @ H
        expected += np.kron(B, np.outer(design[i], design[i]))
    np.testing.assert_allclose(
        contrast_hessian(design, p, alpha, row_weights), expected, atol=1e-12
    )


def test_start_and_limits():
    design, codes, alpha, row_weights = problem()
    mode = softmax_mode(design, codes, 3, alpha, row_weights=row_weights)
    again = softmax_mode(design, codes, 3, alpha, row_weights=row_weights, start=mode.weights + 5.0)
    assert again.n_iter == 1
    np.testing.assert_allclose(again.weights, mode.weights, atol=1e-5)
    poor = softmax_mode(design, codes, 3, alpha, row_weights=row_weights, start=1e6 * mode.weights)
    np.testing.assert_allclose(poor.weights, mode.weights, atol=1e-5)
    short = softmax_mode(design, codes, 3, alpha, max_iter=1)
    assert (short.n_iter, short.converged) == (1, False)
    loose = softmax_mode(design, codes, 3, alpha, tol=1.0)
    assert loose.n_iter < softmax_mode(design, codes, 3, alpha).n_iter


def test_separable_classes_hardly_any_prior_and_copies():
    design, _, _, _ = problem(0, 30, 3, 3)
    codes = design.argmax(axis=1)
    copies = np.hstack([design, design, np.zeros((30, 1))])
    for alpha in (np.full(7, 1e-12), np.zeros(7)):
        mode = softmax_mode(copies, codes, 3, alpha)
        assert np.isfinite(mode.weights).all()
        assert (mode.scores.argmax(axis=1) == codes).all()
    bounded = softmax_mode(copies, codes, 3, np.full(7, 1e-12), largest_score=30.0)
    assert not bounded.converged
    assert bounded.n_iter < mode.n_iter


def test_no_columns_and_a_class_without_rows():
    empty = softmax_mode(np.empty((5, 0)), np.array([0, 1, 2, 1, 0]), 3, np.empty(0))
    assert (empty.weights.shape, empty.converged) == ((3, 0), True)
    np.testing.assert_allclose(empty.log_posterior, -5 * np.log(3))
    design, codes, alpha, _ = problem(2, 30, 3, 2)
    three = softmax_mode(design, codes, 3, alpha)
    assert np.isfinite(three.weights).all()


def test_posterior_of_given_precisions_is_that_of_the_process_with_the_same_kernel():
    """Weights with one precision are a Gaussian process with a linear kernel."""
    design, codes, _, _ = problem(4, 25, 2, 3)
    alpha = np.full(2, 0.7)
    result = softmax_given(design, codes, 3, alpha)
    variance = 1 / 0.7
    kernel = Linear(0, variance=variance) + Linear(1, variance=variance)
    process = softmax_laplace(kernel, design, codes, tol=1e-10)
    np.testing.assert_allclose(result.log_evidence, process.log_evidence, rtol=1e-6)
    ours, theirs = softmax_latent(result, design, 3), process.latent(design)
    np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-6)
    np.testing.assert_allclose(ours.variance, theirs.variance, atol=1e-5)


def test_covariance_of_given_precisions_inverts_the_hessian_of_all_weights():
    design, codes, alpha, row_weights = problem(5, 20, 3, 4)
    result = softmax_given(design, codes, 4, alpha, row_weights=row_weights)
    p = softmax(softmax_scores(result, design, 4), axis=1)
    H = np.diag(np.tile(alpha, 4))
    for i in range(20):
        B = row_weights[i] * (np.diag(p[i]) - np.outer(p[i], p[i]))
        H += np.kron(B, np.outer(design[i], design[i]))
    np.testing.assert_allclose(result.covariance, np.linalg.inv(H), atol=1e-7)
    assert result.pairs.shape == (12, 2)
    np.testing.assert_allclose(result.alpha, np.tile(alpha, 4))


def test_a_precision_of_zero_leaves_finite_predictions():
    design, codes, alpha, _ = problem(6, 40, 3, 3)
    result = softmax_given(design, codes, 3, alpha * [0, 1, 1])
    assert result.log_evidence == -np.inf
    nearly = softmax_given(design, codes, 3, np.maximum(alpha * [0, 1, 1], 1e-9))
    np.testing.assert_allclose(
        softmax_average(softmax_latent(result, design, 3)),
        softmax_average(softmax_latent(nearly, design, 3)),
        atol=1e-4,
    )


@pytest.mark.parametrize("n_classes", [2, 3, 4, 6])
def test_averages_agree_with_many_draws(n_classes):
    rng = np.random.default_rng(n_classes)
    mean = 2 * rng.normal(size=(3, n_classes))
    root = rng.normal(size=(3, n_classes, n_classes))
    latent = Latent(mean, root @ root.transpose(0, 2, 1))
    p = softmax_average(latent)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    draws = rng.normal(size=(200_000, n_classes))
    for i in range(3):
        sampled = softmax(mean[i] + draws @ root[i].T, axis=1)
        error = sampled.std(axis=0) / np.sqrt(len(draws))
        assert (np.abs(p[i] - sampled.mean(axis=0)) < 5 * error + 3e-3).all()


def test_averages_against_quadrature():
    mean, covariance = np.array([0.5, -1.0, 0.3]), np.diag([2.0, 0.5, 1.0])
    H = class_contrasts(3).matrix
    centre, spread = H.T @ mean, np.linalg.cholesky(H.T @ covariance @ H)

    def density(b, a, k):
        z = np.array([a, b])
        p = softmax(H @ (centre + spread @ z))[k]
        return p * np.exp(-0.5 * z @ z) / (2 * np.pi)

    expected = [dblquad(density, -8, 8, -8, 8, args=(k,), epsabs=1e-7)[0] for k in range(3)]
    latent = Latent(mean[None], covariance[None])
    np.testing.assert_allclose(softmax_average(latent)[0], expected, atol=2e-3)
    coarse = np.abs(softmax_average(latent, n_points=8)[0] - expected).max()
    fine = np.abs(softmax_average(latent, n_points=8192)[0] - expected).max()
    assert fine < 2e-4 < coarse


def test_two_classes_average_the_logistic_function():
    latent = Latent(np.array([[0.0, 1.5]]), np.array([[[1.0, 0.2], [0.2, 3.0]]]))
    z = np.linspace(-8, 8, 4001)
    values = expit(1.5 + np.sqrt(1.0 + 3.0 - 0.4) * z) * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    expected = np.sum(values) * (z[1] - z[0])
    np.testing.assert_allclose(softmax_average(latent)[0, 1], expected, atol=1e-4)


def test_without_uncertainty_the_average_is_the_softmax():
    mean = np.random.default_rng(0).normal(size=(2500, 3))
    p = softmax_average(Latent(mean, np.zeros((2500, 3, 3))), n_points=1024)
    np.testing.assert_allclose(p, softmax(mean, axis=1), atol=1e-12)


def test_uncertainty_moderates():
    design, codes, alpha, _ = problem(7, 30, 3, 3)
    result = softmax_given(design, codes, 3, alpha)
    far = 50 * design
    plain, moderated = (
        softmax(softmax_scores(result, far, 3), axis=1),
        softmax_average(softmax_latent(result, far, 3)),
    )
    assert moderated.max(axis=1).mean() < plain.max(axis=1).mean() - 0.02
