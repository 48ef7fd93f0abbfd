import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from parsimon.exceptions import InvalidInputError
from parsimon.inference import expectation_propagation, laplace, latent_prior
from parsimon.inference.likelihoods import power_tilted
from parsimon.inference.posterior import Latent, Sites
from parsimon.inference.prior import DensePrior
from parsimon.kernels import Linear, SquaredExponential
from tests.inference.problems import (
    KERNELS,
    SUM,
    central_differences,
    exact_log_evidence,
    table,
    textbook_ep_log_evidence,
)

EXACT = {"tol": 1e-10, "max_iterations": 500}


def fit(kernel, X, y, form="auto", **options):
    return expectation_propagation(latent_prior(kernel, X, form=form), y, **{**EXACT, **options})


@settings(max_examples=50)
@given(
    st.integers(1, 3),
    st.integers(0, 50),
    st.floats(0.1, 3.0),
    st.floats(0.05, 5.0),
)
def test_evidence_is_near_the_exact_orthant_probability(n_rows, seed, lengthscale, variance):
    X, _ = table(n_rows, seed)
    y = np.random.default_rng(seed + 1).choice([-1.0, 1.0], n_rows)
    kernel = SquaredExponential((0, 1, 2)).with_theta(np.log([lengthscale, variance]))
    posterior = fit(kernel, X, y)
    exact = exact_log_evidence(kernel.gram(X), y)
    # One row is exact; the error of expectation propagation grows with rows and variance.
    assert posterior.log_evidence == pytest.approx(exact, abs=1e-10 if n_rows == 1 else 0.02)


@pytest.mark.parametrize("variance", [1.0, 5.0, 25.0])
def test_evidence_is_nearer_to_exact_than_laplace(variance):
    X = np.array([[0.0], [0.5], [2.0]])
    y = np.array([1.0, 1.0, -1.0])
    kernel = SquaredExponential(0).with_theta(np.log([1.0, variance]))
    exact = exact_log_evidence(kernel.gram(X), y)
    other = laplace(latent_prior(kernel, X), y).log_evidence
    assert abs(fit(kernel, X, y).log_evidence - exact) < 0.25 * abs(other - exact)


@pytest.mark.parametrize("name", KERNELS)
def test_evidence_is_the_textbook_formula_at_the_sites(name):
    X, y = table(25)
    gram = KERNELS[name].gram(X) + 0.05 * np.eye(25)
    prior = DensePrior(KERNELS[name], X, gram)
    posterior = expectation_propagation(prior, y, **EXACT)
    assert posterior.converged
    expected = textbook_ep_log_evidence(gram, y, *posterior.sites)
    assert posterior.log_evidence == pytest.approx(expected, abs=1e-7)


def test_marginals_are_the_tilted_moments_at_convergence():
    X, y = table(30)
    posterior = fit(SUM, X, y)
    cavity = posterior.leave_one_out()
    _, (slope, curvature) = power_tilted(cavity, y, np.ones(30))
    np.testing.assert_allclose(posterior.mean, cavity.mean + cavity.variance * slope, atol=1e-8)
    np.testing.assert_allclose(
        posterior.variance, cavity.variance - cavity.variance**2 * curvature, atol=1e-8
    )


@pytest.mark.parametrize("form", ["dense", "low_rank"])
@pytest.mark.parametrize("name", KERNELS)
def test_gradient_is_that_of_central_differences(name, form):
    X, y = table(60)
    kernel = KERNELS[name]
    weights = np.tile([1.0, 2.5, 0.4], 20)

    def value(theta):
        prior = latent_prior(kernel.with_theta(theta), X, form=form, tol=1e-12)
        return expectation_propagation(prior, y, weights=weights, **EXACT).log_evidence

    prior = latent_prior(kernel, X, form=form, tol=1e-12)
    gradient = expectation_propagation(prior, y, weights=weights, **EXACT).evidence_gradient()
    np.testing.assert_allclose(
        gradient, central_differences(value, kernel.theta), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("n_rows", [60, 300])
@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("variance", [0.1, 5.0, 300.0])
@pytest.mark.parametrize("name", ["additive", "isotropic", "linear", "periodic"])
def test_low_rank_equals_dense(name, variance, scale, n_rows):
    X, y = table(n_rows, columns=3)
    kernel = KERNELS[name]
    names = kernel.theta_names
    theta = kernel.theta + [np.log(scale) * ("lengthscale" in each) for each in names]
    theta = theta + [np.log(variance) * each.startswith("variance") for each in names]
    kernel = kernel.with_theta(theta)
    dense = expectation_propagation(latent_prior(kernel, X, form="dense"), y)
    low = expectation_propagation(latent_prior(kernel, X, form="low_rank"), y)
    assert dense.converged
    assert low.converged
    assert abs(low.log_evidence - dense.log_evidence) / n_rows < 1e-6
    np.testing.assert_allclose(low.mean, dense.mean, atol=1e-3 * np.sqrt(kernel.diagonal(X).max()))
    X_star = table(20, seed=9)[0]
    for ours, theirs in zip(low.latent(X_star), dense.latent(X_star), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-3 * (1 + np.abs(theirs).max()))


@pytest.mark.parametrize("form", ["dense", "low_rank"])
def test_integer_weights_equal_duplicated_rows(form):
    X, y = table(40)
    weights = np.tile([1.0, 3.0, 2.0, 1.0], 10)
    repeated = np.repeat(np.arange(40), weights.astype(int))
    weighted = fit(SUM, X, y, form, weights=weights)
    duplicated = fit(SUM, X[repeated], y[repeated], form)
    assert weighted.log_evidence == pytest.approx(duplicated.log_evidence, abs=1e-6)
    np.testing.assert_allclose(
        weighted.evidence_gradient(), duplicated.evidence_gradient(), atol=1e-5
    )
    X_star = table(15, seed=5)[0]
    for one, other in zip(weighted.latent(X_star), duplicated.latent(X_star), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_weight_zero_leaves_a_row_out():
    X, y = table(40)
    weights = np.ones(40)
    weights[::4] = 0.0
    kept = weights > 0
    weighted = fit(SUM, X, y, weights=weights)
    subset = fit(SUM, X[kept], y[kept])
    assert weighted.log_evidence == pytest.approx(subset.log_evidence, abs=1e-9)
    np.testing.assert_allclose(weighted.weights[~kept], 0, atol=1e-12)
    np.testing.assert_allclose(weighted.weights[kept], subset.weights, atol=1e-7)
    stale = fit(SUM, X, y, weights=weights, start=fit(SUM, X, y).sites)
    np.testing.assert_array_equal(stale.sites.precision[~kept], 0)


@pytest.mark.parametrize("weight", [0.05, 0.5, 0.99])
def test_fraction_of_a_term_is_its_power(weight):
    """One row: the evidence is the integral of Phi^w under the prior, exactly."""
    kernel = SquaredExponential(0).with_theta(np.log([1.0, 4.0]))
    posterior = fit(kernel, np.zeros((1, 1)), np.ones(1), weights=np.array([weight]))
    log_normaliser, _ = power_tilted(
        Latent(np.zeros(1), np.full(1, 4.0)), np.ones(1), np.array([weight])
    )
    assert posterior.log_evidence == pytest.approx(log_normaliser[0], abs=1e-10)


def test_evidence_is_continuous_in_the_weights():
    X, y = table(30)
    below, at, above = (
        fit(SUM, X, y, weights=np.full(30, weight)).log_evidence for weight in (0.999, 1.0, 1.001)
    )
    assert below > at > above
    assert below - at == pytest.approx(at - above, rel=0.01)
    assert at == pytest.approx(fit(SUM, X, y).log_evidence, abs=1e-10)


@pytest.mark.parametrize("form", ["dense", "low_rank"])
def test_leave_one_out_is_the_posterior_without_that_site(form):
    X, y = table(30)
    posterior = fit(SUM, X, y, form, weights=np.tile([1.0, 2.0, 0.5], 10))
    loo = posterior.leave_one_out()
    gram = SUM.gram(X)
    for row in range(30):
        precision, shift = (site.copy() for site in posterior.sites)
        precision[row] = shift[row] = 0.0
        covariance = np.linalg.solve(np.eye(30) + gram * precision, gram)
        assert loo.mean[row] == pytest.approx(covariance[row] @ shift, abs=1e-4)
        assert loo.variance[row] == pytest.approx(covariance[row, row], abs=1e-4)


def test_leave_one_out_is_near_a_refit_without_the_row():
    X, y = table(80)
    loo = fit(SUM, X, y).leave_one_out()
    for row in range(0, 80, 8):
        rest = np.arange(80) != row
        mean, variance = fit(SUM, X[rest], y[rest]).latent(X[[row]])
        # The cavity keeps the other sites; refitted, they move a little.
        assert loo.mean[row] == pytest.approx(mean[0], abs=0.05)
        assert loo.variance[row] == pytest.approx(variance[0], rel=0.1)


@pytest.mark.parametrize("form", ["dense", "low_rank"])
def test_sequential_sweeps_find_the_same_sites(form):
    X, y = table(50)
    weights = np.tile([1.0, 0.0, 2.0, 0.3, 1.0], 10)
    parallel = fit(SUM, X, y, form, weights=weights, updates="parallel")
    sequential = fit(SUM, X, y, form, weights=weights, updates="sequential")
    assert sequential.converged
    np.testing.assert_allclose(parallel.sites, sequential.sites, atol=1e-7)
    assert parallel.log_evidence == pytest.approx(sequential.log_evidence, abs=1e-9)


def test_in_a_sweep_every_site_meets_the_posterior_with_those_before_it():
    """Rasmussen and Williams (2006), algorithm 3.5, with a dense inverse for every row."""
    X, y = table(10)
    swept = fit(SUM, X, y, "dense", updates="sequential", max_iterations=1)
    K, T, shift = SUM.gram(X), np.zeros(10), np.zeros(10)
    for row in range(10):
        covariance = np.linalg.solve(np.eye(10) + K * T, K)
        variance, mean = covariance[row, row], covariance[row] @ shift
        hole = 1 / (1 / variance - T[row])
        centre = hole * (mean / variance - shift[row])
        z = y[row] * centre / np.sqrt(1 + hole)
        ratio = norm.pdf(z) / norm.cdf(z)
        tilted = hole - hole**2 * ratio * (z + ratio) / (1 + hole)
        moved = centre + y[row] * hole * ratio / np.sqrt(1 + hole)
        T[row], shift[row] = 1 / tilted - 1 / hole, moved / tilted - centre / hole
    np.testing.assert_allclose(swept.sites.precision, T, rtol=1e-8)
    np.testing.assert_allclose(swept.sites.shift, shift, rtol=1e-8)


def test_sequential_sweeps_take_over_when_parallel_steps_run_out():
    X, y = table(50)
    prior = latent_prior(SUM, X)
    parallel = expectation_propagation(prior, y, updates="parallel", max_iterations=4)
    both = expectation_propagation(prior, y, max_iterations=4)
    assert not parallel.converged
    assert both.converged
    assert both.n_iterations > 4
    whole = expectation_propagation(prior, y)
    assert both.log_evidence == pytest.approx(whole.log_evidence, abs=1e-8)


def test_warm_start_saves_iterations_and_changes_nothing():
    X, y = table(100)
    first = fit(SUM, X, y)
    near = SUM.with_theta(SUM.theta + 0.05)
    cold, warm = fit(near, X, y), fit(near, X, y, start=first.sites)
    assert warm.n_iterations < cold.n_iterations
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-10)
    assert fit(SUM, X, y, start=first.sites).n_iterations == 0


def test_loose_tolerance_costs_little_evidence():
    X, y = table(100)
    prior = latent_prior(SUM, X)
    loose = expectation_propagation(prior, y, tol=1e-3)
    tight = expectation_propagation(prior, y, tol=1e-9)
    assert loose.n_iterations < tight.n_iterations
    assert 0 < abs(loose.log_evidence - tight.log_evidence) < 1e-5


def test_acceleration_stops_the_swinging_of_parallel_steps():
    """Plain parallel steps need more than a hundred here: they overshoot by nine tenths."""
    X, y = table(200, columns=1)
    kernel = SquaredExponential(0).with_theta(np.log([0.03, 800.0]))
    posterior = expectation_propagation(latent_prior(kernel, X), y, updates="parallel")
    assert posterior.converged
    assert posterior.n_iterations < 30


@pytest.mark.parametrize("variance", [1e-8, 1e-2, 1e4, 1e8])
@pytest.mark.parametrize("lengthscale", [1e-3, 0.5, 100.0])
@pytest.mark.parametrize("labels", ["noisy", "separable", "one odd", "contradicting"])
def test_extreme_priors_converge_without_warnings(variance, lengthscale, labels):
    X = np.linspace(-1, 1, 60)[:, None]
    y = {
        "noisy": np.tile([1.0, -1.0, 1.0], 20),
        "separable": np.where(X[:, 0] > 0, 1.0, -1.0),
        "one odd": np.where(np.arange(60) == 30, -1.0, 1.0),
        "contradicting": np.tile([1.0, -1.0], 30),
    }[labels]
    if labels == "contradicting":
        X = np.repeat(X[::2], 2, axis=0)
    kernel = SquaredExponential(0).with_theta(np.log([lengthscale, variance]))
    posterior = expectation_propagation(latent_prior(kernel, X), y)
    assert posterior.converged
    assert posterior.log_evidence < 0
    assert np.isfinite(posterior.evidence_gradient()).all()
    assert np.isfinite(posterior.leave_one_out()).all()
    assert posterior.sites.precision.min() >= 0


@pytest.mark.parametrize("variance", [1.0, 400.0])
@pytest.mark.parametrize("weight", [5.0, 100.0])
def test_heavy_weights_converge_to_repeated_rows_in_parallel(variance, weight):
    """Whole steps diverge here: the sites of all copies move at once."""
    X = np.array([[0.0], [0.7], [1.5], [2.0], [4.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
    weights = np.where(y > 0, weight, 1.0)
    kernel = SquaredExponential(0, variance=variance)
    merged = expectation_propagation(
        latent_prior(kernel, X), y, weights=weights, updates="parallel"
    )
    copies = weights.astype(int)
    repeated = expectation_propagation(
        latent_prior(kernel, np.repeat(X, copies, axis=0), form="dense"), np.repeat(y, copies)
    )
    assert merged.converged
    assert merged.log_evidence == pytest.approx(repeated.log_evidence, rel=1e-7)
    assert merged.inaccuracy <= 1e-5


def test_two_rows_are_enough():
    kernel = SquaredExponential(0)
    posterior = fit(kernel, np.array([[0.0], [1.0]]), np.array([1.0, -1.0]))
    np.testing.assert_allclose(posterior.mean[0], -posterior.mean[1], atol=1e-9)
    assert posterior.mean[0] > 0


def test_a_row_where_the_function_must_be_zero_is_allowed():
    kernel = Linear(0)
    X = np.array([[0.0], [1.0], [-2.0]])
    posterior = fit(kernel, X, np.array([1.0, 1.0, -1.0]))
    assert posterior.mean[0] == 0
    assert posterior.variance[0] == 0
    rest = fit(kernel, X[1:], np.array([1.0, -1.0]))
    assert posterior.log_evidence == pytest.approx(rest.log_evidence + np.log(0.5), abs=1e-9)
    half = fit(kernel, X, np.array([1.0, 1.0, -1.0]), weights=np.array([0.5, 1.0, 1.0]))
    assert half.log_evidence == pytest.approx(rest.log_evidence + 0.5 * np.log(0.5), abs=1e-7)
    assert np.isfinite(half.sites).all()
    assert half.sites.precision[0] < 1


def test_bad_input_is_refused():
    X, y = table(10)
    prior = latent_prior(SUM, X)
    with pytest.raises(InvalidInputError, match="Labels must be -1 and 1 here, got 0"):
        expectation_propagation(prior, np.where(y > 0, 1, 0))
    with pytest.raises(InvalidInputError, match="least is -1, the greatest 1"):
        expectation_propagation(prior, y, weights=y)
    with pytest.raises(InvalidInputError, match="some must be positive"):
        expectation_propagation(prior, y, weights=np.zeros(10))
    with pytest.raises(InvalidInputError, match="10 rows but 9 weights"):
        expectation_propagation(prior, y, weights=np.ones(9))
    with pytest.raises(
        InvalidInputError, match="updates must be auto, parallel or sequential, got 'random'"
    ):
        expectation_propagation(prior, y, updates="random")


@pytest.mark.parametrize("updates", ["auto", "sequential"])
def test_matrices_that_are_not_numbers_are_refused(updates):
    X, y = table(10)
    gram = SUM.gram(X)
    gram[3, 3] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match=r"left the range|not positive semi-definite"):
        expectation_propagation(DensePrior(SUM, X, gram), y, updates=updates)


def test_sites_that_are_not_numbers_are_forgotten():
    X, y = table(10)
    spoilt = Sites(np.full(10, 1.0), np.full(10, np.nan))
    posterior = fit(SUM, X, y, start=spoilt)
    assert posterior.log_evidence == pytest.approx(fit(SUM, X, y).log_evidence, abs=1e-9)
