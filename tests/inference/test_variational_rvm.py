"""Bounds on the evidence with factors for weights, precisions and noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_expit, logsumexp
from scipy.stats import gamma, multivariate_normal, norm

from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes._objectives import (
    BernoulliBound,
    GaussianBound,
    Hyperprior,
    gamma_divergence,
)
from parsimon.inference.sparse_bayes.thinned import (
    em_regression,
    variational_classification,
    variational_regression,
)


def wave(seed=0, n_rows=40):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, n_rows)
    design = np.column_stack([np.ones(n_rows), np.exp(-0.5 * (x[:, None] - x) ** 2)])
    targets = np.sin(x) + 0.1 * rng.normal(size=n_rows)
    labels = (np.sin(x) + rng.normal(size=n_rows) > 0).astype(float)
    design.flags.writeable = targets.flags.writeable = labels.flags.writeable = False
    return design, targets, labels


def one_column(seed):
    """A column of mean square one and targets of mean zero and variance one: the scaled units."""
    rng = np.random.default_rng(seed)
    column = rng.normal(size=6)
    targets = 1.5 * column + rng.normal(size=6)
    targets -= targets.mean()
    return column / np.sqrt(np.mean(column**2)), targets / targets.std(), rng.random(6) < 0.5


def log_gamma_grid(shape, rate, n_points=400):
    """Nodes and log weights for an average over a Gamma distribution, on a logarithmic grid."""
    logs = np.linspace(np.log(1e-8), np.log(1e4), n_points)
    nodes = np.exp(logs)
    density = gamma(shape, scale=1 / rate).logpdf(nodes) + logs
    return nodes, density + np.log(logs[1] - logs[0])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_regression_bound_is_below_the_evidence_by_quadrature(seed):
    column, targets, _ = one_column(seed)
    prior = Hyperprior(1.0, 1.0, 2.0, 1.0)
    result = variational_regression(column[:, None], targets, hyperprior=prior, tol=1e-7)
    alphas, log_alpha = log_gamma_grid(*prior[:2])
    taus, log_tau = log_gamma_grid(*prior[2:])
    # The determinant and the quadratic form of noise plus one column, in closed form.
    square, product = column @ column, column @ targets
    gain = taus[:, None] * square / alphas
    quadratic = taus[:, None] * (targets @ targets) - (taus[:, None] * product) ** 2 / (
        alphas + taus[:, None] * square
    )
    likelihood = 0.5 * (6 * np.log(taus / (2 * np.pi))[:, None] - np.log1p(gain) - quadratic)
    exact = logsumexp(likelihood + log_tau[:, None] + log_alpha)
    assert result.active.tolist() == [0]
    assert result.log_evidence <= exact
    assert result.log_evidence > exact - 0.6


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_classification_bound_is_below_the_evidence_by_quadrature(seed):
    column, _, labels = one_column(seed)
    prior, labels = Hyperprior(2.0, 1.0, 1.0, 1.0), labels.astype(float)
    problem = BernoulliBound(column[:, None], labels, np.ones(6), hyperprior=prior)
    theta = np.append(0.3, np.zeros(6))
    for _ in range(300):
        point = problem.evaluate(theta, None)
        theta = theta + np.log(point.rise / point.fall)
    weights = np.linspace(-60, 60, 24001)
    signs = 2 * labels - 1
    likelihood = log_expit(signs[:, None] * column[:, None] * weights).sum(axis=0)
    alphas, log_alpha = log_gamma_grid(2.0, 1.0, 100)
    prior_density = logsumexp(norm.logpdf(weights[:, None], scale=alphas**-0.5) + log_alpha, axis=1)
    exact = logsumexp(likelihood + prior_density) + np.log(weights[1] - weights[0])
    assert point.objective <= exact
    assert point.objective > exact - 0.6


def test_regression_bound_by_its_definition():
    """Every expectation as an average over draws from the factors."""
    rng = np.random.default_rng(0)
    columns, targets = rng.normal(size=(7, 2)), rng.normal(size=7)
    prior = Hyperprior(1.5, 0.7, 2.0, 0.4)
    theta = np.array([0.2, -0.5, np.log(0.3)])
    point = GaussianBound(columns, targets, 7.0, None, hyperprior=prior).evaluate(theta, None)
    alpha, noise = np.exp(theta[:2]), np.exp(theta[2])
    S = np.linalg.inv(np.diag(alpha) + columns.T @ columns / noise)
    mean = S @ columns.T @ targets / noise
    factors = [gamma(2.0, scale=a / 2.0) for a in alpha]
    tau_factor = gamma(2.0 + 3.5, scale=1 / (noise * 5.5))
    n = 400_000
    w = rng.multivariate_normal(mean, S, n)
    alphas = np.column_stack([factor.rvs(n, random_state=rng) for factor in factors])
    tau = tau_factor.rvs(n, random_state=rng)
    residuals = targets - w @ columns.T
    joint = 3.5 * np.log(tau / (2 * np.pi)) - 0.5 * tau * np.sum(residuals**2, axis=1)
    joint += norm.logpdf(w, scale=alphas**-0.5).sum(axis=1)
    joint += gamma(1.5, scale=1 / 0.7).logpdf(alphas).sum(axis=1)
    joint += gamma(2.0, scale=1 / 0.4).logpdf(tau)
    joint -= multivariate_normal(mean, S).logpdf(w) + tau_factor.logpdf(tau)
    joint -= sum(factor.logpdf(alphas[:, j]) for j, factor in enumerate(factors))
    error = joint.std() / np.sqrt(n)
    assert abs(point.objective - joint.mean()) < 5 * error
    assert error < 0.01


def test_gamma_divergence_against_quadrature():
    first, second = gamma(2.5, scale=1 / 0.7), gamma(1.2, scale=1 / 3.0)

    def integrand(x):
        return first.pdf(x) * (first.logpdf(x) - second.logpdf(x))

    expected, _ = quad(integrand, 0, np.inf)
    np.testing.assert_allclose(gamma_divergence(2.5, 0.7, 1.2, 3.0), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["gaussian", "fixed", "bernoulli"])
def test_updates_are_uphill_for_every_parameter(kind):
    rng = np.random.default_rng(1)
    columns, prior = rng.normal(size=(8, 3)), Hyperprior(0.5, 0.3, 0.5, 0.2)
    if kind == "bernoulli":
        labels = (rng.random(8) > 0.5).astype(float)
        problem = BernoulliBound(columns, labels, rng.uniform(0.5, 2, 8), hyperprior=prior)
        theta = rng.normal(size=11)
    else:
        noise = 0.5 if kind == "fixed" else None
        problem = GaussianBound(columns, rng.normal(size=8), 8.0, noise, hyperprior=prior)
        theta = rng.normal(size=3 if kind == "fixed" else 4)
    point = problem.evaluate(theta, None)
    wanted = np.log(point.rise / point.fall)
    for j in range(len(theta)):
        step = 1e-4 * np.sign(wanted[j]) * (np.arange(len(theta)) == j)
        assert problem.evaluate(theta + step, None).objective > point.objective
    assert problem.evaluate(theta + wanted, None).objective > point.objective


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(2, 12),
    n_columns=st.integers(1, 20),
    weighted=st.booleans(),
)
def test_bound_never_falls(seed, n_rows, n_columns, weighted):
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(n_rows, n_columns))
    targets = design[:, 0] + rng.normal(size=n_rows)
    weights = rng.uniform(0.1, 3, n_rows) if weighted else None
    options = {"row_weights": weights, "max_iter": 60}
    for result in (
        variational_regression(design, targets, **options),
        variational_classification(design, (targets > 0).astype(float), **options),
    ):
        assert (np.diff(result.history) >= 0).all()
        assert result.history[-1] == result.objective == result.log_evidence


def test_factors_agree_with_each_other_at_the_end():
    design, targets, _ = wave()
    prior = Hyperprior(0.01, 0.02, 0.03, 0.04)
    result = variational_regression(design, targets, hyperprior=prior, tol=1e-7, max_iter=3000)
    Phi, unit = design[:, result.active], targets.std()
    scale = np.sqrt(np.mean(Phi**2, axis=0)) / unit
    precision = Phi.T @ Phi / result.noise_variance + np.diag(result.alpha)
    np.testing.assert_allclose(result.covariance, np.linalg.inv(precision), rtol=1e-6)
    np.testing.assert_allclose(
        result.mean, result.covariance @ Phi.T @ targets / result.noise_variance, rtol=1e-6
    )
    second_moment = (result.mean**2 + np.diagonal(result.covariance)) * scale**2
    expected = (0.01 + 0.5) / (0.02 + 0.5 * second_moment)
    np.testing.assert_allclose(result.alpha / scale**2, expected, rtol=1e-4)
    residual = targets - Phi @ result.mean
    squares = (residual @ residual + np.trace(Phi @ result.covariance @ Phi.T)) / unit**2
    expected = (0.04 + 0.5 * squares) / (0.03 + 0.5 * len(targets))
    np.testing.assert_allclose(result.noise_variance / unit**2, expected, rtol=1e-4)


def test_sparse_and_close_to_type_two_maximum_likelihood():
    design, targets, labels = wave(1, 60)
    result, other = variational_regression(design, targets), em_regression(design, targets)
    assert result.converged
    assert len(result.active) <= 12
    fitted = design[:, result.active] @ result.mean
    np.testing.assert_allclose(fitted, design[:, other.active] @ other.mean, atol=0.1)
    np.testing.assert_allclose(result.noise_variance, other.noise_variance, rtol=0.2)
    few = variational_classification(design, labels)
    assert 1 <= len(few.active) <= 6
    assert few.converged


def test_irrelevant_columns_leave():
    rng = np.random.default_rng(1)
    design = rng.normal(size=(150, 20))
    targets = 2 * design[:, 4] - 3 * design[:, 17] + 0.1 * rng.normal(size=150)
    assert {4, 17} <= set(variational_regression(design, targets).active)
    assert len(variational_regression(design, targets).active) < 12
    labels = (targets + rng.normal(size=150) > 0).astype(float)
    assert {4, 17} <= set(variational_classification(design, labels).active)


@pytest.mark.parametrize("function", [variational_regression, variational_classification])
def test_integer_weights_are_repeated_rows_and_zero_leaves_out(function):
    design, targets, labels = wave(4, 20)
    y = targets if function is variational_regression else labels
    counts = np.random.default_rng(0).integers(0, 4, 20)
    spoilt = np.where(counts == 0, 99.0 if function is variational_regression else 1.0 - y, y)
    weighted = function(design, spoilt, row_weights=counts)
    repeated = function(np.repeat(design, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.log_evidence, repeated.log_evidence, rtol=1e-6)
    assert weighted.active.tolist() == repeated.active.tolist()


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_do_not_matter(scale):
    design, targets, labels = wave()
    plain = variational_regression(design, targets)
    scaled = variational_regression(design * scale, targets * 3e7)
    assert plain.active.tolist() == scaled.active.tolist()
    np.testing.assert_allclose(scaled.mean * scale, plain.mean * 3e7, rtol=1e-6)
    shift = len(targets) * np.log(3e7)
    np.testing.assert_allclose(scaled.log_evidence, plain.log_evidence - shift, rtol=1e-9)
    plain = variational_classification(design, labels)
    scaled = variational_classification(design * scale, labels)
    np.testing.assert_allclose(scaled.mean * scale, plain.mean, rtol=1e-4)


def test_noise_start_and_budget_are_options():
    design, targets, labels = wave()
    fixed = variational_regression(design, targets, noise_variance=0.25)
    assert fixed.noise_variance == pytest.approx(0.25, rel=1e-12)
    first = variational_regression(design, targets)
    again = variational_regression(design, targets, start=first)
    np.testing.assert_allclose(again.history[0], first.objective, rtol=1e-6)
    assert again.n_iter <= 3
    short = variational_regression(design, targets, max_iter=2)
    assert (short.converged, short.reason) == (False, "Stopped after max_iter=2 updates.")
    late = variational_classification(design, labels, time_limit=1e-9)
    assert (late.converged, late.reason) == (False, "Stopped at the time limit.")
    strong = variational_classification(design, labels, hyperprior=Hyperprior(500.0, 1.0, 1.0, 1.0))
    free = variational_classification(design, labels)
    assert np.abs(strong.mean).max(initial=0.0) < np.abs(free.mean).max()


HARD = {
    "zero columns": np.zeros((6, 3)),
    "no columns": np.empty((6, 0)),
    "copies": np.ones((6, 4)),
    "more columns than rows": np.random.default_rng(0).normal(size=(6, 200)),
    "dummies and their sum": np.column_stack([np.ones(6), np.eye(3)[[0, 1, 2, 0, 1, 2]]]),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_designs_give_finite_answers(name):
    design, targets = HARD[name], np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
    for y in (targets, np.zeros(6), np.full(6, 7.0)):
        result = variational_regression(design, y)
        assert np.isfinite(result.log_evidence)
        assert result.noise_variance > 0
    for labels in (targets > 1, np.zeros(6), np.ones(6)):
        result = variational_classification(design, np.asarray(labels, dtype=float))
        assert np.isfinite(result.log_evidence)
        assert np.isfinite(result.covariance).all()


def test_options_are_checked():
    for function in (variational_regression, variational_classification):
        with pytest.raises(InvalidInputError, match='prior must be "ard"'):
            function(np.eye(2), [0.0, 1.0], prior="smooth")
        with pytest.raises(InvalidInputError, match="hyperprior must be a positive number"):
            function(np.eye(2), [0.0, 1.0], hyperprior=Hyperprior(0.0, 1.0, 1.0, 1.0))
    with pytest.raises(InvalidInputError, match="labels must be 0 or 1"):
        variational_classification(np.eye(2), [0.0, 2.0])
    with pytest.raises(InvalidInputError, match="noise_variance must be a positive number"):
        variational_regression(np.eye(2), [0.0, 1.0], noise_variance=-1.0)
