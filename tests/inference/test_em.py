"""Sparse Bayesian learning with all columns on at first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from parsimon.exceptions import InvalidInputError
from parsimon.inference.irls import logistic_mode
from parsimon.inference.sparse_bayes._objectives import EMBernoulli, EMGaussian
from parsimon.inference.sparse_bayes.spread import (
    distinct_columns,
    inverse_precision,
    posterior_spread,
)
from parsimon.inference.sparse_bayes.thinned import em_classification, em_regression


def wave(seed=0, n_rows=40):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, n_rows)
    design = np.column_stack([np.ones(n_rows), np.exp(-0.5 * (x[:, None] - x) ** 2)])
    targets = np.sin(x) + 0.1 * rng.normal(size=n_rows)
    labels = (np.sin(x) + rng.normal(size=n_rows) > 0).astype(float)
    design.flags.writeable = targets.flags.writeable = labels.flags.writeable = False
    return design, targets, labels


def direct_log_evidence(design, targets, result):
    Phi = design[:, result.active]
    covariance = result.noise_variance * np.eye(len(targets)) + (Phi / result.alpha) @ Phi.T
    return multivariate_normal(np.zeros(len(targets)), covariance).logpdf(targets)


def laplace(design, labels, alpha, row_weights=None):
    """Evidence by Laplace's method from its definition."""
    weights = np.ones(len(labels)) if row_weights is None else row_weights
    mode = logistic_mode(design, labels, alpha, row_weights=weights, tol=1e-14)
    p = 1 / (1 + np.exp(-mode.scores))
    H = (design * (weights * p * (1 - p))[:, None]).T @ design + np.diag(alpha)
    prior = 0.5 * np.sum(np.log(alpha)) - 0.5 * np.linalg.slogdet(H)[1]
    return mode.log_posterior + prior, mode.weights, np.linalg.inv(H)


def freedom(result):
    return len(result.active) - np.sum(result.alpha * np.diagonal(result.covariance))


@pytest.mark.parametrize("prior", ["ard", "smooth"])
def test_regression_reports_the_evidence_and_posterior_of_its_precisions(prior):
    design, targets, _ = wave()
    result = em_regression(design, targets, prior=prior, smoothness="aic")
    Phi = design[:, result.active]
    precision = Phi.T @ Phi / result.noise_variance + np.diag(result.alpha)
    np.testing.assert_allclose(result.covariance, np.linalg.inv(precision), rtol=1e-6)
    expected = np.linalg.solve(precision, Phi.T @ targets) / result.noise_variance
    np.testing.assert_allclose(result.mean, expected, rtol=1e-6)
    np.testing.assert_allclose(result.log_evidence, direct_log_evidence(design, targets, result))
    penalty = freedom(result) if prior == "smooth" else 0.0
    np.testing.assert_allclose(result.objective, result.log_evidence - penalty)
    assert result.history[-1] == result.objective
    assert result.converged


@pytest.mark.parametrize("prior", ["ard", "smooth"])
def test_classification_reports_the_laplace_evidence_of_its_precisions(prior):
    design, _, labels = wave()
    result = em_classification(design, labels, prior=prior, smoothness=0.5)
    evidence, mean, covariance = laplace(design[:, result.active], labels, result.alpha)
    np.testing.assert_allclose(result.log_evidence, evidence, rtol=1e-7)
    np.testing.assert_allclose(result.mean, mean, rtol=1e-5)
    np.testing.assert_allclose(result.covariance, covariance, rtol=1e-5)
    penalty = 0.5 * freedom(result) if prior == "smooth" else 0.0
    np.testing.assert_allclose(result.objective, result.log_evidence - penalty, rtol=1e-9)


def test_mackays_fixed_point_holds_at_the_end():
    design, targets, _ = wave()
    result = em_regression(design, targets, tol=1e-6, max_iter=5000)
    gamma = result.well_determined
    np.testing.assert_allclose(result.alpha, gamma / result.mean**2, rtol=1e-2)
    residual = targets - design[:, result.active] @ result.mean
    expected = residual @ residual / (len(targets) - gamma.sum())
    np.testing.assert_allclose(result.noise_variance, expected, rtol=1e-4)


@pytest.mark.parametrize("smoothness", [0.0, 0.7])
@pytest.mark.parametrize("n_columns", [3, 12])
@pytest.mark.parametrize("kind", ["gaussian", "fixed", "bernoulli"])
def test_rise_minus_fall_is_twice_the_gradient(kind, n_columns, smoothness):
    rng = np.random.default_rng(3)
    columns, theta = rng.normal(size=(8, n_columns)), rng.normal(size=n_columns)
    if kind == "bernoulli":
        labels, weights = (rng.random(8) > 0.5).astype(float), rng.uniform(0.5, 2, 8)
        problem = EMBernoulli(columns, labels, weights, smoothness=smoothness)
    else:
        noise = 0.3 if kind == "fixed" else None
        targets = rng.normal(size=8)
        problem = EMGaussian(columns, targets, 9.5, noise, smoothness=smoothness)
        theta = theta if kind == "fixed" else np.append(theta, -0.4)
    point = problem.evaluate(theta, None)
    step = 1e-5
    slopes = []
    for j in range(len(theta)):
        shift = step * (np.arange(len(theta)) == j)
        above, below = problem.evaluate(theta + shift, None), problem.evaluate(theta - shift, None)
        slopes.append((above.objective - below.objective) / (2 * step))
    np.testing.assert_allclose((point.rise - point.fall) / 2, slopes, rtol=1e-5, atol=1e-7)
    assert (point.rise >= 0).all()
    assert (point.fall >= 0).all()


@given(seed=st.integers(0, 10**6), n_rows=st.integers(2, 12), n_columns=st.integers(1, 20))
def test_matrices_over_rows_and_columns_give_the_same_posterior(seed, n_rows, n_columns):
    rng = np.random.default_rng(seed)
    X, precision = rng.normal(size=(n_rows, n_columns)), rng.uniform(0, 2, n_rows)
    right = rng.normal(size=n_rows)
    P = np.linalg.inv(np.eye(n_columns) + (X * precision[:, None]).T @ X)
    spread = posterior_spread(X, precision)
    assert spread.wide == (n_columns > 1.25 * n_rows)
    np.testing.assert_allclose(spread.covariance(), P, atol=1e-9)
    np.testing.assert_allclose(spread.determined, 1 - np.diagonal(P), atol=1e-9)
    np.testing.assert_allclose(spread.elastic, np.diagonal(P - P @ P), atol=1e-9)
    np.testing.assert_allclose(spread.shrink(right), P @ X.T @ right, atol=1e-8)
    np.testing.assert_allclose(
        spread.mean(precision, right), P @ X.T @ (precision * right), atol=1e-8
    )
    variances, squares = spread.row_variances()
    np.testing.assert_allclose(variances, np.diagonal(X @ P @ X.T), atol=1e-8)
    np.testing.assert_allclose(squares, np.diagonal(X @ P @ P @ X.T), atol=1e-8)
    np.testing.assert_allclose(spread.log_determinant, -np.linalg.slogdet(P)[1], atol=1e-9)


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(2, 15),
    n_columns=st.integers(1, 25),
    prior=st.sampled_from(["ard", "smooth"]),
    weighted=st.booleans(),
)
def test_objective_never_falls(seed, n_rows, n_columns, prior, weighted):
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(n_rows, n_columns))
    targets = design[:, 0] + rng.normal(size=n_rows)
    weights = rng.uniform(0.1, 3, n_rows) if weighted else None
    options = {"row_weights": weights, "prior": prior, "max_iter": 60}
    for result in (
        em_regression(design, targets, **options),
        em_classification(design, (targets > 0).astype(float), **options),
    ):
        assert (np.diff(result.history) >= 0).all()
        assert np.isfinite(result.objective)


def test_two_columns_reach_the_best_evidence_of_a_general_optimiser():
    rng = np.random.default_rng(5)
    design = rng.normal(size=(25, 2))
    targets = design @ [1.0, -0.5] + 0.3 * rng.normal(size=25)
    labels = (targets + rng.normal(size=25) > 0).astype(float)

    def regression(theta):
        alpha, noise = np.exp(theta[:2]), np.exp(theta[2])
        C = noise * np.eye(25) + (design / alpha) @ design.T
        return -multivariate_normal(np.zeros(25), C).logpdf(targets)

    def classification(theta):
        return -laplace(design, labels, np.exp(theta))[0]

    options = {"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000}
    best = minimize(regression, np.zeros(3), method="Nelder-Mead", options=options)
    result = em_regression(design, targets, tol=1e-6)
    np.testing.assert_allclose(result.log_evidence, -best.fun, rtol=1e-7)
    best = minimize(classification, np.zeros(2), method="Nelder-Mead", options=options)
    result = em_classification(design, labels, tol=1e-6)
    np.testing.assert_allclose(result.log_evidence, -best.fun, rtol=1e-7)
    np.testing.assert_allclose(np.log(result.alpha), best.x, atol=1e-3)


def test_irrelevant_columns_leave():
    rng = np.random.default_rng(1)
    design = rng.normal(size=(200, 30))
    targets = 2 * design[:, 4] - 3 * design[:, 17] + 0.1 * rng.normal(size=200)
    result = em_regression(design, targets)
    assert {4, 17} <= set(result.active)
    assert len(result.active) < 15
    gone = em_regression(design, targets, prior="smooth", smoothness="ric")
    assert gone.active.tolist() == [4, 17]
    labels = (targets + 2 * rng.normal(size=200) > 0).astype(float)
    assert {4, 17} <= set(em_classification(design, labels, prior="smooth").active)


def test_stronger_smoothness_leaves_fewer_degrees_of_freedom():
    design, targets, labels = wave(2, 60)
    counts = [
        freedom(em_regression(design, targets, prior="smooth", smoothness=c))
        for c in (0.0, "aic", "bic", "ric", 30.0)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0] - 1
    weak = em_classification(design, labels, prior="smooth", smoothness=0.01)
    strong = em_classification(design, labels, prior="smooth", smoothness=5.0)
    assert freedom(strong) < freedom(weak) - 0.5


def test_wide_kernels_are_not_given_up():
    """All columns are nearly constant; together they still tell a line."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 80)
    design = np.column_stack([np.ones(80), np.exp(-0.005 * (x[:, None] - x) ** 2)])
    labels = (x + 0.3 * rng.normal(size=80) > 0).astype(float)
    result = em_classification(design, labels)
    assert result.log_evidence > -80 * np.log(2) + 20
    accuracy = np.mean((design[:, result.active] @ result.mean > 0) == (labels > 0))
    assert accuracy > 0.85


@pytest.mark.parametrize("function", [em_regression, em_classification])
def test_integer_weights_are_repeated_rows_and_zero_leaves_out(function):
    design, targets, labels = wave(4, 20)
    y = targets if function is em_regression else labels
    counts = np.random.default_rng(0).integers(0, 4, 20)
    spoilt = np.where(counts == 0, 99.0 if function is em_regression else 1.0 - y, y)
    weighted = function(design, spoilt, row_weights=counts)
    repeated = function(np.repeat(design, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.log_evidence, repeated.log_evidence, rtol=1e-6)
    assert weighted.active.tolist() == repeated.active.tolist()
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-3)


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_units_do_not_matter(scale):
    design, targets, labels = wave()
    plain, scaled = (
        em_regression(design, targets),
        em_regression(design * scale, targets * 3e7),
    )
    assert plain.active.tolist() == scaled.active.tolist()
    np.testing.assert_allclose(scaled.mean * scale, plain.mean * 3e7, rtol=1e-6)
    shift = len(targets) * np.log(3e7)
    np.testing.assert_allclose(scaled.log_evidence, plain.log_evidence - shift, rtol=1e-9)
    plain, scaled = (
        em_classification(design, labels),
        em_classification(design * scale, labels),
    )
    np.testing.assert_allclose(scaled.mean * scale, plain.mean, rtol=1e-3)


def test_fixed_noise_is_kept_and_reported():
    design, targets, _ = wave()
    result = em_regression(design, targets, noise_variance=0.25)
    assert result.noise_variance == pytest.approx(0.25, rel=1e-12)
    assert len(result.active) < len(em_regression(design, targets, noise_variance=1e-4).active)
    np.testing.assert_allclose(result.log_evidence, direct_log_evidence(design, targets, result))


def test_copies_of_a_column_are_one_column():
    design, targets, labels = wave()
    copies = np.hstack([design, design, -3 * design])
    once, thrice = em_regression(design, targets), em_regression(copies, targets)
    np.testing.assert_allclose(once.log_evidence, thrice.log_evidence, rtol=1e-9)
    assert once.active.tolist() == thrice.active.tolist()
    assert distinct_columns(np.array([[1.0, 1.0, 1.0], [1.0, 1.0 + 1e-6, -1.0]])).tolist() == [
        0,
        1,
        2,
    ]
    same = em_classification(copies, labels).active
    assert same.tolist() == em_classification(design, labels).active.tolist()


def test_a_start_continues_from_its_columns():
    design, targets, labels = wave()
    for function, y in ((em_regression, targets), (em_classification, labels)):
        first = function(design, y)
        again = function(design, y, start=first)
        assert set(again.active) <= set(first.active)
        assert again.n_iter < 0.2 * first.n_iter
        np.testing.assert_allclose(again.history[0], first.objective, rtol=1e-9)


def test_budgets_are_kept_and_named():
    design, targets, labels = wave()
    result = em_regression(design, targets, max_iter=3)
    assert (result.n_iter, result.converged) == (3, False)
    assert result.reason == "Stopped after max_iter=3 updates."
    result = em_classification(design, labels, time_limit=1e-9)
    assert (result.converged, result.reason) == (False, "Stopped at the time limit.")
    loose, tight = (em_regression(design, targets, tol=t) for t in (0.5, 1e-5))
    assert loose.n_iter < tight.n_iter
    assert tight.log_evidence > loose.log_evidence


HARD = {
    "zero columns": np.zeros((6, 3)),
    "no columns": np.empty((6, 0)),
    "constant columns": np.ones((6, 4)),
    "more columns than rows": np.random.default_rng(0).normal(size=(6, 200)),
    "dummies and their sum": np.column_stack([np.ones(6), np.eye(3)[[0, 1, 2, 0, 1, 2]]]),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_designs_give_finite_answers(name):
    design, targets = HARD[name], np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
    for y in (targets, np.zeros(6), np.full(6, 7.0), targets + 1e6):
        result = em_regression(design, y)
        assert np.isfinite(result.log_evidence)
        assert result.noise_variance > 0
    for labels in (targets > 1, np.zeros(6), np.ones(6)):
        result = em_classification(design, np.asarray(labels, dtype=float))
        assert np.isfinite(result.log_evidence)
        assert np.isfinite(result.covariance).all()


def test_two_rows_and_separable_classes_are_enough():
    two = em_classification(np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([0.0, 1.0]))
    assert np.isfinite(two.log_evidence)
    x = np.linspace(-1, 1, 20)
    apart = em_classification(np.column_stack([np.ones(20), x]), (x > 0).astype(float))
    assert ((apart.mean[-1] * x > 0) == (x > 0)).all()
    assert np.isfinite(em_regression(np.eye(2), np.array([1.0, 2.0])).log_evidence)


def test_noise_free_targets_are_fitted_exactly():
    x = np.linspace(0, 1, 15)
    result = em_regression(np.column_stack([np.ones(15), x, x**2]), 3 - 2 * x)
    np.testing.assert_allclose(result.mean[:2], [3, -2], atol=1e-3)
    assert 0 < result.noise_variance < 1e-8


def test_precision_matrices_of_any_scale_are_inverted():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    scale = 10.0 ** np.array([-60, -5, 0, 5, 60])
    matrix = (root @ root.T) * scale * scale[:, None]
    inverse, log_determinant = inverse_precision(matrix)
    unscaled = inverse * scale * scale[:, None]
    np.testing.assert_allclose(unscaled @ root @ root.T, np.eye(5), atol=1e-9)
    expected = np.linalg.slogdet(root @ root.T)[1] + 2 * np.log(scale).sum()
    np.testing.assert_allclose(log_determinant, expected)
    assert np.isfinite(inverse_precision(np.ones((3, 3)))[0]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"time_limit": -1}, "time_limit must be a positive number"),
        ({"prior": "flat"}, 'prior must be "ard" or "smooth"'),
        ({"prior": "smooth", "smoothness": "dic"}, "smoothness must be"),
        ({"row_weights": [1.0, -1.0]}, "row_weights must not be negative"),
    ],
)
def test_options_are_checked(options, message):
    for function in (em_regression, em_classification):
        with pytest.raises(InvalidInputError, match=message):
            function(np.eye(2), [0.0, 1.0], **options)


def test_bad_numbers_are_refused():
    with pytest.raises(InvalidInputError, match="noise_variance must be a positive number"):
        em_regression(np.eye(2), [0.0, 1.0], noise_variance=0.0)
    with pytest.raises(InvalidInputError, match="targets must be finite"):
        em_regression(np.eye(2), [0.0, np.nan])
    with pytest.raises(InvalidInputError, match="design holds NaN"):
        em_regression(np.array([[np.nan], [1.0]]), [0.0, 1.0])
    with pytest.raises(InvalidInputError, match="labels must be 0 or 1"):
        em_classification(np.eye(2), [0.0, 2.0])
