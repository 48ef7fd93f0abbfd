"""Fast sparse Bayesian learning where others fall over, and what its options do."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import ARDRegression

from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import (
    laplace_evidence,
    regression_evidence,
    sparse_classification,
    sparse_regression,
)
from parsimon.inference.sparse_bayes.gradients import sparse_mode


def wave(n=60, noise=0.1, seed=0):
    """Return inputs, a kernel matrix with a column of ones, numbers and labels."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-5, 5, n))
    design = np.column_stack([np.ones(n), np.exp(-0.5 * (x[:, None] - x) ** 2)])
    numbers = np.sin(x) + noise * rng.normal(size=n)
    labels = (rng.random(n) < expit(3 * np.sin(x))).astype(float)
    return x, design, numbers, labels


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_do_not_matter(scale):
    _, design, numbers, labels = wave()
    factors = scale ** np.linspace(-1, 1, design.shape[1])
    plain, other = (sparse_classification(d, labels) for d in (design, design * factors))
    np.testing.assert_array_equal(plain.active, other.active)
    np.testing.assert_allclose(other.mean * factors[other.active], plain.mean, rtol=1e-4)
    np.testing.assert_allclose(other.alpha, plain.alpha * factors[plain.active] ** 2, rtol=1e-3)
    plain, other = sparse_regression(design, numbers), sparse_regression(design, numbers * scale)
    np.testing.assert_array_equal(plain.active, other.active)
    np.testing.assert_allclose(other.mean, plain.mean * scale, rtol=1e-4)
    assert other.noise_variance == pytest.approx(plain.noise_variance * scale**2, rel=1e-3)
    shift = len(numbers) * np.log(scale)
    assert other.log_evidence == pytest.approx(plain.log_evidence - shift, abs=1e-3)


def test_a_design_of_32_bits_gives_the_same_model():
    _, design, _, labels = wave()
    whole = sparse_classification(design.astype(np.float32).astype(float), labels)
    half = sparse_classification(design.astype(np.float32), labels)
    np.testing.assert_array_equal(half.active, whole.active)
    np.testing.assert_allclose(half.mean, whole.mean, rtol=1e-6)


def test_separable_classes_keep_finite_weights():
    x = np.linspace(-1, 1, 40)
    found = sparse_classification(np.column_stack([np.ones(40), x]), x > 0)
    assert found.converged
    scores = np.column_stack([np.ones(40), x])[:, found.active] @ found.mean
    assert ((scores > 0) == (x > 0)).all()
    # The evidence has its maximum inside the limits: sharper scores have less of it.
    scale = np.sqrt(np.mean(x**2))
    assert 1e-7 < found.alpha[-1] / scale**2 < 1e-2
    firm, loose = (laplace_evidence(x[:, None], x > 0, found.alpha * f) for f in (2.0, 0.5))
    assert found.log_evidence > max(firm, loose)


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_class_needs_the_bias_alone(label):
    found = sparse_classification(
        np.column_stack([np.ones(30), np.arange(30) % 2]), np.full(30, label)
    )
    np.testing.assert_array_equal(found.active, [0])
    assert np.sign(found.mean[0]) == 2 * label - 1


def test_two_rows_one_column():
    found = sparse_classification([[-1.0], [1.0]], [0, 1])
    assert found.converged
    assert found.mean[0] > 0
    found = sparse_regression([[-1.0], [1.0]], [-2.0, 2.0])
    assert found.mean[0] == pytest.approx(2, rel=1e-3)


def test_equal_columns_are_taken_once():
    _, design, numbers, labels = wave()
    doubled = np.hstack([design, design, design])
    once, more = sparse_classification(design, labels), sparse_classification(doubled, labels)
    assert len(set(more.active % design.shape[1])) == len(more.active)
    assert more.log_evidence > once.log_evidence - 2
    more = sparse_regression(doubled, numbers)
    assert len(set(more.active % design.shape[1])) == len(more.active)


@pytest.mark.parametrize("targets", [np.zeros(20), np.full(20, 7.0), np.full(20, 1e8)])
def test_constant_targets(targets):
    design = np.column_stack([np.ones(20), np.random.default_rng(0).normal(size=(20, 3))])
    found = sparse_regression(design, targets)
    assert np.isfinite([found.log_evidence, found.noise_variance]).all()
    np.testing.assert_allclose(design[:, found.active] @ found.mean, targets, rtol=1e-6)
    assert set(found.active.tolist()) <= {0}


def test_targets_without_noise_are_fitted():
    _, design, _, _ = wave()
    targets = design[:, [5, 30]] @ [1.0, -2.0]
    found = sparse_regression(design, targets)
    np.testing.assert_allclose(design[:, found.active] @ found.mean, targets, atol=1e-3)
    assert 0 < found.noise_variance < 1e-4


def test_more_columns_than_rows():
    rng = np.random.default_rng(1)
    design = rng.normal(size=(30, 500))
    targets = 3 * design[:, 7] - 2 * design[:, 100] + 0.1 * rng.normal(size=30)
    # The best of 498 useless columns is worth several nats, so that the evidence alone takes many
    # of them; the prior for few degrees of freedom takes none.
    found = sparse_regression(design, targets)
    assert {7, 100} <= set(found.active.tolist())
    assert len(found.active) < 30
    smooth = sparse_regression(design, targets, prior="smooth", smoothness=10.0)
    np.testing.assert_array_equal(smooth.active, [7, 100])


def test_the_evidence_is_not_below_that_of_scikit_learn():
    _, design, numbers, _ = wave(noise=0.2)
    found = sparse_regression(design, numbers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = ARDRegression(fit_intercept=False, max_iter=500).fit(design, numbers)
    kept = peer.coef_ != 0
    theirs = regression_evidence(
        design[:, kept], numbers, peer.lambda_[kept], 1.0 / float(peer.alpha_)
    )
    assert found.log_evidence > theirs


def test_a_known_noise_variance_stays():
    _, design, numbers, _ = wave()
    quiet, loud = (sparse_regression(design, numbers, noise_variance=v) for v in (0.01, 1.0))
    assert (quiet.noise_variance, loud.noise_variance) == pytest.approx((0.01, 1.0))
    assert quiet.well_determined.sum() > loud.well_determined.sum()
    assert sparse_regression(design, numbers).log_evidence > quiet.log_evidence


def test_degrees_of_freedom_fall_with_the_smoothness():
    _, design, numbers, labels = wave(noise=0.5)
    for fit, targets in ((sparse_regression, numbers), (sparse_classification, labels)):
        ard = fit(design, targets)
        none = fit(design, targets, prior="smooth", smoothness=0.0)
        assert none.log_evidence == pytest.approx(ard.log_evidence)
        found = [fit(design, targets, prior="smooth", smoothness=s) for s in ("aic", "bic", "ric")]
        freedom = [one.well_determined.sum() for one in (ard, *found)]
        assert freedom == sorted(freedom, reverse=True)
        factors = (1.0, 0.5 * np.log(60), np.log(60))
        for one, factor in zip(found, factors, strict=True):
            penalty = factor * one.well_determined.sum()
            assert one.objective == pytest.approx(one.log_evidence - penalty, abs=1e-6)


def test_a_time_limit_stops_and_says_so():
    _, design, _, labels = wave()
    found = sparse_classification(design, labels, time_limit=1e-9)
    assert not found.converged
    assert found.reason == "Stopped at the time limit."
    assert found.log_evidence == pytest.approx(-60 * np.log(2))


def test_a_start_is_used_and_checked():
    _, design, numbers, labels = wave()
    whole = sparse_classification(design, labels)
    again = sparse_classification(design, labels, start=whole, max_iter=1)
    assert again.objective >= whole.objective - 1e-9
    with pytest.raises(InvalidInputError, match="but the design has only 1 columns"):
        sparse_classification(design[:, :1], labels, start=whole)
    # Of a start for classes a regression takes the columns, and finds the noise itself.
    crossed = sparse_regression(design, numbers, start=whole)
    assert crossed.converged
    assert 0.001 < crossed.noise_variance < 0.1


def test_the_same_call_gives_the_same_model():
    _, design, _, labels = wave(seed=3)
    one, two = (sparse_classification(design, labels) for _ in range(2))
    np.testing.assert_array_equal(one.active, two.active)
    np.testing.assert_array_equal(one.mean, two.mean)


def test_rows_that_weigh_ten_million_times_more_have_a_mode():
    # A steep column of two rows that hardly count: a tiny step of its weight turns them over.
    design = np.column_stack([np.full(30, 34.0), np.r_[2e6, 5e5, np.zeros(28)]])
    labels = (np.arange(30) < 10).astype(float)
    row_weights = np.where(labels == 1, 1e-4, 1e3)
    mode = sparse_mode(design, labels, row_weights, np.array([-0.42, 1.0]))
    residual = row_weights * (labels - expit(design @ mode.weights))
    gradient = residual @ design - mode.weights
    assert gradient @ mode.covariance @ gradient < 1e-12
