"""Tests of fast sparse Bayesian learning: the evidence, its slopes, and that it never falls."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from parsimon.datasets import make_banana
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import (
    laplace_evidence,
    regression_evidence,
    sparse_classification,
    sparse_regression,
)
from parsimon.inference.sparse_bayes.design import scaled_columns
from parsimon.inference.sparse_bayes.fast import spanning_columns
from parsimon.inference.sparse_bayes.gradients import (
    laplace_design_gradient,
    regression_design_gradient,
)
from parsimon.inference.sparse_bayes.thinned import em_classification, em_regression

FITS = (sparse_regression, sparse_classification)


def problem(seed, n=40, m=12, scale=1.0, copies=0):
    """Return a design with useful and useless columns, numbers and labels."""
    rng = np.random.default_rng(seed)
    design = scale * rng.normal(size=(n, m))
    design = np.hstack([np.ones((n, 1)), design, design[:, :copies]])
    signal = (design[:, 1] - 2.0 * design[:, 2]) / scale
    numbers = signal + 0.3 * rng.normal(size=n)
    labels = (signal + 0.8 * rng.normal(size=n) > 0).astype(float)
    return design, numbers, labels


def targets_of(fit, numbers, labels):
    return numbers if fit in (sparse_regression, em_regression) else labels


def slopes(function, design, step=1e-5):
    """Return derivatives for every entry of the design by central differences."""
    found = np.empty_like(design)
    for place in np.ndindex(design.shape):
        moved = [design.copy(), design.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        found[place] = (function(moved[0]) - function(moved[1])) / (2 * step)
    return found


def test_the_evidence_of_a_regression_is_a_normal_density():
    design, numbers, _ = problem(0, n=9, m=3)
    alpha, weights = np.array([0.5, 2.0, 1.0, 3.0]), np.arange(1.0, 10.0) / 4
    covariance = np.diag(0.3 / weights) + design / alpha @ design.T
    density = multivariate_normal.logpdf(numbers, cov=covariance)
    # A weight is a power of a density, which lacks that power's norm.
    norm = 0.5 * np.sum((1 - weights) * np.log(2 * np.pi * 0.3)) - 0.5 * np.log(weights).sum()
    found = regression_evidence(design, numbers, alpha, 0.3, weights)
    assert found == pytest.approx(density + norm, abs=1e-9)


def test_the_laplace_evidence_is_near_the_integral():
    design, _, labels = problem(1, n=30, m=2)
    design = design[:, :2]
    grid = np.linspace(-12, 12, 801)
    first, second = np.meshgrid(grid, grid)
    scores = first[..., None] * design[:, 0] + second[..., None] * design[:, 1]
    likelihood = -np.logaddexp(0, (1 - 2 * labels) * scores).sum(axis=-1)
    prior = -0.5 * (first**2 + second**2) - np.log(2 * np.pi)
    integral = np.log(np.exp(likelihood + prior).sum() * (grid[1] - grid[0]) ** 2)
    assert laplace_evidence(design, labels, [1.0, 1.0]) == pytest.approx(integral, abs=0.1)


@pytest.mark.parametrize("weighted", [False, True])
def test_slopes_for_the_design(weighted):
    design, numbers, labels = problem(2, n=7, m=2)
    weights = np.array([1.0, 2, 0, 0.5, 1, 3, 1]) if weighted else None
    alpha = np.array([0.3, 1.0, 2.0])
    _, found = regression_design_gradient(design, numbers, alpha, 0.4, weights)
    expected = slopes(lambda d: regression_evidence(d, numbers, alpha, 0.4, weights), design)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    _, found = laplace_design_gradient(design, labels, alpha, weights)
    expected = slopes(lambda d: laplace_evidence(d, labels, alpha, weights), design)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("fit", FITS)
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 30),
    m=st.integers(1, 20),
    scale=st.sampled_from([1e-8, 1.0, 1e8]),
    prior=st.sampled_from(["ard", "smooth"]),
)
def test_the_objective_never_falls(fit, seed, n, m, scale, prior):
    design, numbers, labels = problem(seed, n, m + 1, scale, copies=min(m, 2))
    found = fit(design, targets_of(fit, numbers, labels), prior=prior, max_iter=300)
    assert (np.diff(found.history) >= 0).all()
    assert found.history[-1] == pytest.approx(found.objective, abs=1e-6)
    assert np.isfinite(found.mean).all()
    assert (found.alpha > 0).all()


@pytest.mark.parametrize("fit", FITS)
def test_the_reported_evidence_is_that_of_the_precisions(fit):
    design, numbers, labels = problem(3)
    found = fit(design, targets_of(fit, numbers, labels))
    columns = design[:, found.active]
    if fit is sparse_regression:
        evidence = regression_evidence(columns, numbers, found.alpha, found.noise_variance)
    else:
        evidence = laplace_evidence(columns, labels, found.alpha)
    assert found.log_evidence == pytest.approx(evidence, abs=1e-6)
    assert found.converged
    assert {1, 2} <= set(found.active.tolist())


def best_of_subset(columns, labels):
    def loss(theta):
        return -laplace_evidence(columns, labels, np.exp(theta))

    starts = [np.full(columns.shape[1], value) for value in (-2.0, 1.0)]
    return max(-minimize(loss, start, method="Nelder-Mead").fun for start in starts)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_subset_of_columns_is_better(seed):
    design, _, labels = problem(seed, n=25, m=3)
    found = sparse_classification(design, labels)
    best = max(
        best_of_subset(design[:, list(subset)], labels)
        for size in (1, 2, 3)
        for subset in combinations(range(4), size)
    )
    # A column stays only if it is worth a tenth of a nat.
    assert found.log_evidence > best - 0.1


@pytest.mark.parametrize("fit", FITS)
def test_weights_are_repeated_rows(fit):
    design, numbers, labels = problem(4, n=20, m=4)
    weights = np.random.default_rng(0).integers(0, 3, 20)
    targets = targets_of(fit, numbers, labels)
    weighted = fit(design, targets, row_weights=weights)
    repeated = fit(np.repeat(design, weights, axis=0), np.repeat(targets, weights))
    np.testing.assert_array_equal(weighted.active, repeated.active)
    np.testing.assert_allclose(weighted.mean, repeated.mean, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("width", [3.0, 10.0])
def test_wide_kernels_do_not_end_in_the_empty_model(width):
    x = np.linspace(-1, 1, 60)[:, None]
    design = np.exp(-((x - x.T) ** 2) / (2 * width**2))
    labels = (x[:, 0] > 0.1).astype(float)
    found = sparse_classification(design, labels)
    assert np.mean((design[:, found.active] @ found.mean > 0) == labels) > 0.95


def test_a_smooth_prior_takes_fewer_degrees_of_freedom():
    x = np.random.default_rng(5).uniform(-3, 3, (80, 1))
    design = np.exp(-4.0 * (x - x.T) ** 2)
    labels = (np.random.default_rng(6).random(80) < 0.5 + 0.4 * np.sin(x[:, 0])).astype(float)
    loose, tight = (sparse_classification(design, labels, prior=p) for p in ("ard", "smooth"))
    assert tight.well_determined.sum() <= loose.well_determined.sum()
    freedom = tight.well_determined.sum()
    penalty = 0.5 * np.log(80) * freedom
    assert tight.objective == pytest.approx(tight.log_evidence - penalty, abs=1e-6)


@pytest.mark.parametrize(
    ("fit", "seed"),
    [
        *((fit, seed) for fit in FITS for seed in (1, 2, 3)),
        # Of the slower ascents one table each.
        (em_regression, 1),
        (em_classification, 1),
    ],
)
def test_narrow_columns_that_pay_only_together_are_found_under_a_smooth_prior(fit, seed):
    X, labels = make_banana(100, random_state=seed)
    design = np.exp(-16.0 * np.square(X[:, None] - X).sum(axis=2))
    targets = targets_of(fit, np.sin(5.0 * X[:, 0]), labels)
    found = fit(design, targets, prior="smooth")
    # There are many maxima, and which is found is chance; without a second start 7 to 25 are lost.
    start = fit(design, targets)
    assert found.objective > fit(design, targets, prior="smooth", start=start).objective - 2.0
    if fit in (sparse_classification, em_classification):
        assert np.mean((design[:, found.active] @ found.mean > 0) == labels) > 0.8


@pytest.mark.parametrize("fit", FITS)
def test_a_warm_start_is_not_worse_and_limits_are_stated(fit):
    design, numbers, labels = problem(7)
    targets = targets_of(fit, numbers, labels)
    whole = fit(design, targets)
    assert fit(design, targets, start=whole).objective >= whole.objective - 1e-6
    short = fit(design, targets, max_iter=1)
    assert not short.converged
    assert "max_iter=1" in short.reason


def test_nothing_of_use_leaves_nothing():
    rng = np.random.default_rng(8)
    found = sparse_classification(np.zeros((10, 3)), rng.integers(0, 2, 10))
    assert len(found.active) == 0
    assert found.log_evidence == pytest.approx(-10 * np.log(2))


def test_spanning_columns_span():
    rng = np.random.default_rng(9)
    design = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 20))
    chosen = spanning_columns(scaled_columns(design, np.ones(30)), np.ones(30))
    assert len(chosen) == 4
    rest = design - design[:, chosen] @ np.linalg.lstsq(design[:, chosen], design, rcond=None)[0]
    assert np.abs(rest).max() < 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "flat"}, 'prior must be "ard" or "smooth"'),
        ({"smoothness": "loose", "prior": "smooth"}, 'smoothness must be "aic"'),
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be an integer"),
        ({"row_weights": [-1.0, 1.0]}, "row_weights must not be negative"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        sparse_classification([[1.0], [2.0]], [0, 1], **options)


def test_wrong_tables_are_refused():
    with pytest.raises(InvalidInputError, match="labels must be 0 or 1"):
        sparse_classification([[1.0], [2.0]], [1, 2])
    with pytest.raises(InvalidInputError, match="NaN or infinity"):
        sparse_classification([[np.nan], [2.0]], [0, 1])
    with pytest.raises(InvalidInputError, match="The design has 2 rows"):
        sparse_regression([[1.0], [2.0]], [0.0, 1.0, 2.0])
