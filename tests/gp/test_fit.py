"""Fits as functions of arrays: gradients, starts, bounds, forms, heavy weights, many rows."""

import sys

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.stats import norm
from sklearn.datasets import make_classification

from parsimon._checks import finite_matrix
from parsimon.exceptions import InvalidInputError
from parsimon.gp import GPClassifier, GPRegressor, fit_classifier
from parsimon.gp._process_fit import fit_regressor, fit_softmax, stratified_rows
from parsimon.inference import laplace, latent_prior
from parsimon.kernels import Constant, Sigmoid
from parsimon.kernels import SquaredExponential as SE


@pytest.fixture(scope="module")
def table():
    X, codes = make_classification(150, 4, n_informative=3, n_redundant=0, random_state=2)
    return X, 2.0 * codes - 1.0


@pytest.mark.parametrize(
    ("model", "n_fits"),
    [
        (GPClassifier("rbf"), 1),
        (GPClassifier("rbf", inference="laplace"), 1),
        (GPRegressor("rbf"), 1),
        # Five kernels are compared, and the best is written in the table's units.
        (GPClassifier(), 6),
        (GPRegressor(), 6),
    ],
    ids=str,
)
def test_arrays_are_checked_at_the_door_and_not_at_every_evaluation(table, model, n_fits):
    n_checks = 0

    def count(frame, event, _):
        nonlocal n_checks
        n_checks += event == "call" and frame.f_code is finite_matrix.__code__

    sys.setprofile(count)
    try:
        model.set_params(random_state=0).fit(*table)
    finally:
        sys.setprofile(None)
    assert model.n_iter_ > 10
    assert 0 < n_checks <= 10 * n_fits


@pytest.mark.parametrize("inference", ["ep", "laplace"])
def test_the_evidence_is_stationary_at_the_fit(table, inference):
    X, y = table
    kernel = SE((0, 1)) + SE((2, 3))
    fitted = fit_classifier(kernel, X, y, inference=inference)
    low, high = kernel.bounds(X).T
    theta = fitted.kernel.theta

    def evidence(at):
        options = {"inference": inference, "optimise": False}
        return fit_classifier(kernel.with_theta(at), X, y, **options).log_evidence

    slope = approx_fprime(theta, evidence, 1e-4)
    inside = (theta > low + 1e-3) & (theta < high - 1e-3)
    assert fitted.converged
    assert inside.any()
    np.testing.assert_allclose(slope[inside], 0, atol=0.02)
    assert fitted.log_evidence > evidence(kernel.theta) + 1
    assert fitted.posterior.log_evidence == fitted.log_evidence


def test_a_warm_start_reaches_the_same_place_with_less_work(table):
    X, y = table
    cold = fit_classifier(SE(), X, y)
    sites = cold.posterior.sites
    for start in (cold.posterior, sites):
        warm = fit_classifier(cold.kernel, X, y, start=start)
        assert warm.n_evaluations < cold.n_evaluations
        assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-5)
    kept = fit_classifier(cold.kernel, X, y, start=sites, optimise=False)
    assert kept.posterior.n_iterations <= 2
    assert fit_classifier(cold.kernel, X, y, optimise=False).posterior.n_iterations > 2


def test_bounds_and_iterations_are_kept(table):
    X, y = table
    bounds = np.log([[0.5, 0.6], [1.0, 2.0]])
    fitted = fit_classifier(SE(), X, y, bounds=bounds)
    assert (fitted.kernel.theta >= bounds[:, 0]).all()
    assert (fitted.kernel.theta <= bounds[:, 1]).all()
    short = fit_classifier(SE(), X, y, max_iterations=1)
    assert not short.converged
    assert "LIMIT" in short.message


def test_forms_agree_to_a_millionth_for_each_row(table):
    X, y = table
    kernel = SE(0) + SE(1)
    dense, low = (fit_classifier(kernel, X, y, form=form) for form in ("dense", "low_rank"))
    assert low.posterior.prior.pivots is not None
    assert dense.posterior.prior.pivots is None
    assert abs(dense.log_evidence - low.log_evidence) / len(y) < 1e-6


def test_a_kernel_without_free_hyperparameters_is_kept(table):
    X, y = table
    kernel = SE(0, fixed=("lengthscale", "variance"))
    assert fit_classifier(kernel, X, y).kernel == kernel
    fitted = fit_regressor(kernel, X, X[:, 0] - X[:, 0].mean())
    assert fitted.kernel == kernel
    assert fitted.n_evaluations > 1


def test_an_indefinite_kernel_is_refused(table):
    X, y = table
    for fit in (fit_classifier, fit_regressor):
        with pytest.raises(InvalidInputError, match="not positive semi-definite"):
            fit(Sigmoid(), X, y)
    with pytest.raises(InvalidInputError, match='inference must be "ep" or'):
        fit_classifier(SE(), X, y, inference="mcmc")


def test_many_rows_take_their_hyperparameters_from_some(table):
    X, y = table
    kernel = SE().start(X)
    whole = fit_classifier(kernel, X, y, form="dense")
    some = fit_classifier(kernel, X, y, form="dense", n_optimised=60)
    rows = stratified_rows(y, 60)
    part = fit_classifier(kernel, X[rows], y[rows], bounds=kernel.bounds(X), form="dense")
    assert some.kernel == part.kernel
    assert "fitted to 60 of 150 rows" in some.message
    assert len(some.posterior.mean) == 150
    assert whole.log_evidence - 3 < some.log_evidence < whole.log_evidence
    assert some.n_evaluations == part.n_evaluations + 1


def test_many_rows_of_low_rank_are_all_fitted():
    X = np.linspace(0, 10, 400)[:, None]
    y = np.where(np.sin(X[:, 0]) > 0, 1.0, -1.0)
    whole = fit_classifier(SE(0), X, y)
    two_stage = fit_classifier(SE(0), X, y, n_optimised=150)
    assert two_stage.log_evidence == pytest.approx(whole.log_evidence, abs=1e-4)


def test_some_rows_keep_a_rare_class():
    y = np.repeat([-1.0, 1.0], [9999, 1])
    assert y[stratified_rows(y, 100)].max() == 1.0


def test_a_regression_holds_its_noise_or_fits_it(table):
    X, _ = table
    rng = np.random.default_rng(0)
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=150)
    held = fit_regressor(SE(0), X, y, noise_variance=0.3, estimate_noise=False)
    assert held.posterior.noise_variance == pytest.approx(0.3)
    fitted = fit_regressor(SE(0), X, y, noise_variance=0.3)
    assert fitted.posterior.noise_variance == pytest.approx(0.04, rel=0.4)
    assert fitted.log_evidence > held.log_evidence
    again = fit_regressor(fitted.kernel, X, y, start=fitted.posterior, optimise=False)
    assert again.log_evidence == pytest.approx(fitted.log_evidence)
    bounds = np.vstack([SE(0).bounds(X), np.log([0.5, 0.6])])
    bounded = fit_regressor(SE(0), X, y, bounds=bounds)
    assert 0.5 <= bounded.posterior.noise_variance <= 0.6
    with pytest.raises(InvalidInputError, match="noise variance must be positive"):
        fit_regressor(SE(0), X, y, noise_variance=0.0)


def test_restarts_find_a_better_optimum_of_a_regression(table):
    X = np.linspace(0, 10, 60)[:, None]
    y = np.sin(3 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    kernel = SE(0, lengthscale=20.0)
    alone = fit_regressor(kernel, X, y)
    more = fit_regressor(kernel, X, y, n_restarts=4, random_state=0)
    assert more.log_evidence >= alone.log_evidence - 1e-6
    assert more.n_evaluations > alone.n_evaluations


def test_softmax_of_two_classes_is_a_binary_fit_with_twice_the_variance(table):
    """The difference of two independent functions with kernel k has kernel 2 k."""
    X, y = table
    codes = (y > 0).astype(int)
    both = fit_softmax(SE(variance=1.5), X, codes, optimise=False)
    kept = fit_softmax(SE(variance=1.5), X, codes)
    assert kept.log_evidence > both.log_evidence
    binary = laplace(latent_prior(SE(variance=3.0), X, form="dense"), y, link="logit")
    mean = both.posterior.latent(X).mean
    np.testing.assert_allclose(mean[:, 1] - mean[:, 0], binary.mean, atol=1e-4)


def test_a_constant_kernel_knows_the_exact_evidence():
    """For one latent value the evidence is an integral that quadrature gives."""
    y = np.array([1.0, 1.0, -1.0])
    exact = quad(lambda f: norm.cdf(f) ** 2 * norm.cdf(-f) * norm.pdf(f, scale=1.2), -9, 9)[0]
    fitted = fit_classifier(Constant(1.44), np.zeros((3, 1)), y, optimise=False)
    assert fitted.log_evidence == pytest.approx(np.log(exact), abs=2e-3)
