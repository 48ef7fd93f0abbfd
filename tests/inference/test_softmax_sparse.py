"""Sparse Bayesian learning of several classes with the softmax likelihood."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from parsimon.exceptions import InvalidInputError
from parsimon.inference.irls import logistic_mode
from parsimon.inference.sparse_bayes import sparse_classification
from parsimon.inference.sparse_bayes._softmax_search import SoftmaxProblem
from parsimon.inference.sparse_bayes.design import scaled_columns
from parsimon.inference.sparse_bayes.multinomial import OneHotLabels, pair_curvature, pair_mode
from parsimon.inference.sparse_bayes.softmax import (
    SparseSoftmax,
    softmax_average,
    softmax_latent,
    softmax_scores,
    softmax_sparse,
)


def blobs(seed=0, n_rows=60, n_classes=3):
    """Overlapping clouds and Gaussian bumps at every row, after a column of ones."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n_rows)
    angle = 2 * np.pi * codes / n_classes
    x = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.7 * rng.normal(size=(n_rows, 2))
    gaps = np.sum((x[:, None] - x) ** 2, axis=2)
    design = np.column_stack([np.ones(n_rows), np.exp(-0.5 * gaps)])
    design.flags.writeable = False
    return design, codes


def joint_laplace(design, codes, n_classes, pairs, alpha, row_weights=None):
    """Log evidence of Laplace's method for given pairs, from its definition, without our code."""
    v = np.ones(len(codes)) if row_weights is None else np.asarray(row_weights, dtype=float)

    def scores(w):
        weights = np.zeros((n_classes, design.shape[1]))
        weights[pairs[:, 0], pairs[:, 1]] = w
        return design @ weights.T

    def loss(w):
        log_p = log_softmax(scores(w), axis=1)
        residual = np.exp(log_p) - np.eye(n_classes)[codes]
        gradient = design.T @ (v[:, None] * residual)
        value = -v @ log_p[np.arange(len(codes)), codes] + 0.5 * np.sum(alpha * w**2)
        return value, gradient[pairs[:, 1], pairs[:, 0]] + alpha * w

    def hessian(w):
        p = np.exp(log_softmax(scores(w), axis=1))
        matrix = np.diag(alpha).astype(float)
        for i in range(len(codes)):
            B = v[i] * (np.diag(p[i]) - np.outer(p[i], p[i]))
            row = design[i, pairs[:, 1]]
            matrix += B[np.ix_(pairs[:, 0], pairs[:, 0])] * np.outer(row, row)
        return matrix

    found = minimize(
        loss,
        np.zeros(len(pairs)),
        jac=True,
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-10},
    )
    H = hessian(found.x)
    value = -found.fun + 0.5 * np.sum(np.log(alpha)) - 0.5 * np.linalg.slogdet(H)[1]
    return value, found.x, np.linalg.inv(H)


def test_reports_the_laplace_evidence_and_posterior_of_its_pairs():
    design, codes = blobs()
    result = softmax_sparse(design, codes, 3)
    value, mean, covariance = joint_laplace(design, codes, 3, result.pairs, result.alpha)
    np.testing.assert_allclose(result.log_evidence, value, rtol=1e-8)
    np.testing.assert_allclose(result.mean, mean, rtol=1e-5)
    np.testing.assert_allclose(result.covariance, covariance, rtol=1e-5, atol=1e-8)
    gamma = 1 - result.alpha * np.diagonal(covariance)
    np.testing.assert_allclose(result.well_determined, gamma, atol=1e-6)
    assert result.converged
    assert 2 <= len(result.pairs) <= 20
    assert np.all(np.diff(result.pairs @ [100, 1]) > 0)


def test_no_change_of_one_precision_and_no_single_pair_raises_the_evidence():
    design, codes = blobs(1, 40)
    result = softmax_sparse(design, codes, 3)
    for j in range(len(result.alpha)):
        for factor in (0.9, 1.1):
            alpha = result.alpha * np.where(np.arange(len(result.alpha)) == j, factor, 1.0)
            value, _, _ = joint_laplace(design, codes, 3, result.pairs, alpha)
            assert value < result.log_evidence + 1e-5
    present = {tuple(pair) for pair in result.pairs}
    for k in range(3):
        for column in range(0, 41, 5):
            if (k, column) in present:
                continue
            pairs = np.vstack([result.pairs, [k, column]])
            for precision in (0.01, 0.3, 10.0):
                alpha = np.append(result.alpha, precision)
                value, _, _ = joint_laplace(design, codes, 3, pairs, alpha)
                assert value < result.log_evidence + 2e-3


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(2, 15),
    n_columns=st.integers(1, 12),
    n_classes=st.integers(2, 4),
)
def test_evidence_never_falls(seed, n_rows, n_columns, n_classes):
    rng = np.random.default_rng(seed)
    design, codes = rng.normal(size=(n_rows, n_columns)), rng.integers(0, n_classes, n_rows)
    weights = rng.uniform(0.1, 3, n_rows)
    result = softmax_sparse(design, codes, n_classes, row_weights=weights, max_iter=40)
    assert (np.diff(result.history) >= 0).all()
    assert np.isfinite(result.log_evidence)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_gradient_of_the_evidence_is_exact(n_classes):
    rng = np.random.default_rng(n_classes)
    design, codes = rng.normal(size=(12, 4)), rng.integers(0, n_classes, 12)
    weights = rng.uniform(0.5, 2, 12)
    labels = OneHotLabels(codes, np.eye(n_classes)[codes], weights)
    problem = SoftmaxProblem(scaled_columns(design, weights), labels)
    pairs = np.array([0, 3, 5, 6])
    theta = rng.normal(size=4)

    def fit(at):
        return problem.evaluate(pairs, at, problem.take(pairs), np.zeros(4))

    slopes = [
        (fit(theta + e).log_evidence - fit(theta - e).log_evidence) / 2e-5 for e in 1e-5 * np.eye(4)
    ]
    np.testing.assert_allclose(fit(theta).gradient, slopes, atol=1e-7)


def test_quality_and_sparsity_of_candidates_follow_their_definition():
    rng = np.random.default_rng(0)
    design, codes = rng.normal(size=(15, 5)), rng.integers(0, 3, 15)
    weights = rng.uniform(0.5, 2, 15)
    problem = SoftmaxProblem(
        scaled_columns(design, weights), OneHotLabels(codes, np.eye(3)[codes], weights)
    )
    pairs, theta = np.array([2, 7, 14]), np.array([0.1, -0.3, 0.4])
    fit = problem.evaluate(pairs, theta, problem.take(pairs), np.zeros(3))
    X = problem.take(np.arange(15))
    p = np.eye(3)[codes] - fit.residual / weights[:, None]
    classes = np.arange(15) // 5
    full = np.empty((15, 15))
    for a in range(15):
        for b in range(15):
            B = weights * p[:, classes[a]] * ((classes[a] == classes[b]) - p[:, classes[b]])
            full[a, b] = np.sum(X[:, a] * B * X[:, b])
    Sigma = np.linalg.inv(full[np.ix_(pairs, pairs)] + np.diag(np.exp(theta)))
    cross = full[:, pairs]
    S = np.diagonal(full) - np.einsum("ij,jk,ik->i", cross, Sigma, cross)
    Q = np.sum(X * (weights[:, None] * (np.eye(3)[codes] - p))[:, classes], axis=0)
    np.testing.assert_allclose(pair_curvature(X, classes, weights, p), full, atol=1e-10)
    for pool in (None, np.array([0, 4, 8, 13])):
        chosen = np.arange(15) if pool is None else pool
        sweep = problem.sweep(fit, pool)
        np.testing.assert_allclose(sweep.quality, Q[chosen], atol=1e-9)
        outside = ~np.isin(chosen, pairs)
        np.testing.assert_allclose(sweep.sparsity[outside], S[chosen][outside], rtol=1e-9)
        np.testing.assert_array_equal(sweep.inside, ~outside)


def test_mode_of_two_classes_is_that_of_the_logistic_regression():
    rng = np.random.default_rng(2)
    X, codes = rng.normal(size=(20, 3)), rng.integers(0, 2, 20)
    labels = OneHotLabels(codes, np.eye(2)[codes], np.ones(20))
    mode = pair_mode(X, np.ones(3, dtype=int), labels, np.zeros(3))
    binary = logistic_mode(X, codes.astype(float), np.ones(3), tol=1e-14)
    np.testing.assert_allclose(mode.weights, binary.weights, atol=1e-9)
    np.testing.assert_allclose(mode.probability[:, 1], expit(binary.scores), atol=1e-9)


def test_two_classes_agree_with_the_binary_algorithm():
    design, codes = blobs(3, 80, 2)
    result = softmax_sparse(design, codes, 2)
    binary = sparse_classification(design, codes.astype(float))
    # The same model: one pair with the precisions of the binary result has the same evidence.
    start = SparseSoftmax(
        pairs=np.column_stack([np.ones(len(binary.active), dtype=int), binary.active]),
        alpha=binary.alpha,
        mean=binary.mean,
        covariance=binary.covariance,
        log_evidence=0.0,
        n_iter=0,
        converged=True,
        reason="",
    )
    same = softmax_sparse(design, codes, 2, start=start)
    np.testing.assert_allclose(same.history[0], binary.log_evidence, rtol=1e-9)
    assert result.log_evidence > binary.log_evidence - 1.0
    ours = softmax_scores(same, design, 2)
    difference = ours[:, 1] - ours[:, 0]
    np.testing.assert_allclose(difference, design[:, binary.active] @ binary.mean, atol=0.1)


def test_swapping_two_classes_swaps_their_predictions():
    design, codes = blobs(5, 50, 2)
    first, second = softmax_sparse(design, codes, 2), softmax_sparse(design, 1 - codes, 2)
    np.testing.assert_allclose(
        softmax_average(softmax_latent(first, design, 2)),
        softmax_average(softmax_latent(second, design, 2))[:, ::-1],
        atol=5e-3,
    )


def test_classes_have_columns_of_their_own():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 6))
    scores = np.column_stack([3 * x[:, 1], 3 * x[:, 4], np.zeros(400)])
    codes = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    result = softmax_sparse(x, codes, 3)
    weights = result.weights(3, 6)
    contrast = weights - weights[2]
    np.testing.assert_allclose(contrast[0, 1], 3, atol=0.8)
    np.testing.assert_allclose(contrast[1, 4], 3, atol=0.8)
    # Columns 1 and 4 can be told from two pairs and one shared zero; the rest is noise.
    assert len(result.pairs) <= 6
    assert {1, 4} <= set(result.active)


def test_integer_weights_are_repeated_rows_and_zero_leaves_out():
    design, codes = blobs(2, 30)
    counts = np.random.default_rng(0).integers(0, 4, 30)
    spoilt = np.where(counts == 0, (codes + 1) % 3, codes)
    weighted = softmax_sparse(design, spoilt, 3, row_weights=counts)
    repeated = softmax_sparse(np.repeat(design, counts, axis=0), np.repeat(codes, counts), 3)
    np.testing.assert_allclose(weighted.log_evidence, repeated.log_evidence, rtol=1e-6)
    np.testing.assert_array_equal(weighted.pairs, repeated.pairs)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_do_not_matter(scale):
    design, codes = blobs(2, 40)
    plain, scaled = softmax_sparse(design, codes, 3), softmax_sparse(design * scale, codes, 3)
    np.testing.assert_array_equal(plain.pairs, scaled.pairs)
    np.testing.assert_allclose(scaled.mean * scale, plain.mean, rtol=1e-5)


def test_wide_kernels_are_not_given_up():
    """Every column is nearly constant; from nothing no single one is worth having."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(3), 30)
    x = 2.0 * (codes - 1) + rng.normal(size=90)
    design = np.column_stack([np.ones(90), np.exp(-0.003 * (x[:, None] - x) ** 2)])
    result = softmax_sparse(design, codes, 3)
    assert result.log_evidence > -90 * np.log(3) + 15
    assert np.mean(softmax_scores(result, design, 3).argmax(axis=1) == codes) > 0.7


def test_a_start_and_budgets_are_kept():
    design, codes = blobs()
    first = softmax_sparse(design, codes, 3)
    again = softmax_sparse(design, codes, 3, start=first)
    np.testing.assert_allclose(again.history[0], first.log_evidence, rtol=1e-9)
    assert again.n_iter <= 3
    short = softmax_sparse(design, codes, 3, max_iter=1)
    assert not short.converged
    assert "max_iter=1" in short.reason
    late = softmax_sparse(design, codes, 3, time_limit=1e-9)
    assert (late.converged, late.reason) == (False, "Stopped at the time limit.")
    loose = softmax_sparse(design, codes, 3, tol=1.0)
    assert loose.log_evidence < first.log_evidence


HARD = {
    "zero columns": np.zeros((6, 3)),
    "no columns": np.empty((6, 0)),
    "constant columns": np.ones((6, 4)),
    "more columns than rows": np.random.default_rng(0).normal(size=(6, 100)),
    "copies": np.tile(np.random.default_rng(1).normal(size=(6, 2)), 3),
    "dummies and their sum": np.column_stack([np.ones(6), np.eye(3)[[0, 1, 2, 0, 1, 2]]]),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_designs_give_finite_answers(name):
    design = HARD[name]
    for codes in ([0, 1, 2, 0, 1, 2], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 2]):
        result = softmax_sparse(design, np.array(codes), 3)
        p = softmax_average(softmax_latent(result, design, 3))
        assert np.isfinite(result.log_evidence)
        assert np.isfinite(result.covariance).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_copies_of_a_column_are_used_once():
    design, codes = blobs(1, 40)
    once, twice = (
        softmax_sparse(design, codes, 3),
        softmax_sparse(np.hstack([design, 2 * design]), codes, 3),
    )
    np.testing.assert_array_equal(once.pairs, twice.pairs)


@pytest.mark.parametrize(
    ("codes", "n_classes", "options", "message"),
    [
        ([0, 1], 1, {}, "n_classes must be an integer of at least 2"),
        ([0, 3], 3, {}, "codes must be integers from 0 to 2, got 3"),
        ([0.0, 0.5], 3, {}, "codes must be integers from 0 to 2, got 0.5"),
        (["a", "b"], 2, {}, "codes must be a vector of integers"),
        ([0, 1], 2, {"tol": -1}, "tol must be a positive number"),
        ([0, 1], 2, {"row_weights": [0.0, 0.0]}, "row_weights must not be negative"),
    ],
)
def test_options_are_checked(codes, n_classes, options, message):
    with pytest.raises(InvalidInputError, match=message):
        softmax_sparse(np.eye(2), codes, n_classes, **options)


def test_bad_designs_are_refused():
    with pytest.raises(InvalidInputError, match="design holds NaN"):
        softmax_sparse(np.array([[np.nan], [1.0]]), [0, 1], 2)
    with pytest.raises(InvalidInputError, match="The design has 3 rows"):
        softmax_sparse(np.ones((3, 1)), [0, 1], 2)
