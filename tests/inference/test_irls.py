"""The mode of a penalised logistic regression: against a general optimiser, and by identities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from parsimon import _compiled
from parsimon.inference import irls
from parsimon.inference.irls import logistic_mode, logistic_modes, newton_modes, newton_step


@pytest.fixture(params=["numpy", "compiled"])
def loop(request, monkeypatch):
    """Run `logistic_modes` with either of its loops."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setattr(_compiled, "numba_is_installed", lambda: request.param == "compiled")
    return request.param


def problem(seed, n=40, m=5):
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(n, m))
    labels = (rng.random(n) < expit(design[:, 0] - 0.5)).astype(float)
    return design, labels, 10.0 ** rng.uniform(-2, 2, m)


def objective(weights, design, labels, alpha, row_weights):
    scores = design @ weights
    losses = np.logaddexp(0.0, scores) - labels * scores
    return row_weights @ losses + 0.5 * alpha @ weights**2


@pytest.mark.parametrize("seed", range(4))
def test_a_general_optimiser_finds_the_same_mode(seed):
    design, labels, alpha = problem(seed)
    row_weights = np.random.default_rng(seed).integers(0, 4, len(labels)).astype(float)
    arguments = (design, labels, alpha, row_weights)
    best = minimize(objective, np.zeros(5), arguments, method="BFGS", options={"gtol": 1e-9})
    mode = logistic_mode(design, labels, alpha, row_weights=row_weights, tol=1e-14)
    np.testing.assert_allclose(mode.weights, best.x, atol=1e-5)
    assert mode.log_posterior == pytest.approx(-best.fun, abs=1e-9)
    assert mode.converged
    np.testing.assert_allclose(mode.scores, design @ mode.weights, atol=1e-12)


def test_the_gradient_vanishes_at_every_mode_of_several_problems(loop):
    design, labels, alpha = problem(1)
    row_weights = (np.random.default_rng(2).random((3, 40)) < 0.7).astype(float)
    modes = logistic_modes(design, labels, alpha, row_weights)
    residual = (labels - expit(modes.scores)) * row_weights
    np.testing.assert_allclose(residual @ design, alpha * modes.weights, atol=1e-6)
    np.testing.assert_allclose(modes.scores, modes.weights @ design.T, atol=1e-10)
    assert modes.converged.all()


def test_several_problems_have_the_modes_they_have_alone(loop):
    design, labels, alpha = problem(3)
    row_weights = (np.random.default_rng(0).random((4, 40)) < 0.6).astype(float)
    start = np.random.default_rng(1).normal(size=(4, 5))
    together = logistic_modes(design, labels, alpha, row_weights, start=start, tol=1e-12)
    for k in range(4):
        alone = logistic_mode(design, labels, alpha, row_weights=row_weights[k], tol=1e-14)
        np.testing.assert_allclose(together.weights[k], alone.weights, atol=1e-6)


def test_rows_merged_to_a_share_and_a_weight_have_the_mode_of_the_rows_themselves(loop):
    design, labels, alpha = problem(4, n=60)
    design = np.repeat(design[:12], 5, axis=0)
    merged = design[::5]
    share = labels.reshape(12, 5).mean(axis=1)
    counts = np.full((1, 12), 5.0)
    apart = logistic_mode(design, labels, alpha, tol=1e-14)
    several = logistic_modes(merged, share[None], alpha, counts, tol=1e-14)
    single = logistic_mode(merged, share, alpha, row_weights=counts[0], tol=1e-14)
    np.testing.assert_allclose(several.weights[0], apart.weights, atol=1e-7)
    np.testing.assert_allclose(single.weights, apart.weights, atol=1e-7)
    assert single.log_posterior == pytest.approx(apart.log_posterior, abs=1e-10)


@pytest.mark.parametrize("m", [4, 9, 17])
def test_equal_rows_have_equal_scores_to_the_last_bit(loop, m):
    """A matrix product does not give them: it treats the last rows in another way."""
    two, _, alpha = problem(5, n=2, m=m)
    for n in range(5, 24):
        design, labels = np.repeat(two, n, axis=0), np.arange(2.0 * n) % 3 // 2
        for k in (1, 2, 3):
            scores = logistic_modes(design, labels, alpha, np.ones((k, 2 * n))).scores
            assert all(len(np.unique(row)) <= 2 for row in scores)


def test_a_start_at_the_mode_takes_one_step_and_a_bad_start_none_the_worse(loop):
    design, labels, alpha = problem(6)
    row_weights = np.ones((1, 40))
    cold = logistic_modes(design, labels, alpha, row_weights)
    warm = logistic_modes(design, labels, alpha, row_weights, start=cold.weights)
    far = logistic_modes(design, labels, alpha, row_weights, start=np.full(5, 1e6))
    assert cold.n_iter > warm.n_iter == 1
    assert far.n_iter == cold.n_iter  # zero is the better start
    np.testing.assert_allclose(far.weights, cold.weights, atol=1e-6)


def test_a_step_that_overshoots_is_halved(loop):
    """From weight 4 a full Newton step leads to -0.6, where the posterior is lower."""
    design, labels = np.ones((10, 1)), np.append(np.ones(9), 0.0)
    modes = logistic_modes(
        design, labels, np.zeros(1), np.ones((1, 10)), start=np.full((1, 1), 4.0)
    )
    mode = logistic_mode(design, labels, np.zeros(1), start=np.array([4.0]))
    np.testing.assert_allclose(modes.weights[0], np.log(9.0), rtol=1e-6)
    np.testing.assert_allclose(mode.weights, np.log(9.0), rtol=1e-4)
    first = logistic_modes(
        design, labels, np.zeros(1), np.ones((1, 10)), start=np.full((1, 1), 4.0), max_iter=1
    )
    assert 0.0 < first.weights[0, 0] < 4.0


def test_separable_rows_stop_at_the_largest_score(loop):
    design = np.array([[1.0, -1], [1, -2], [1, 1], [1, 2]])
    labels = np.array([0.0, 0, 1, 1])
    alpha = np.full(2, 1e-12)
    modes = logistic_modes(design, labels, alpha, np.ones((1, 4)), largest_score=30.0)
    mode = logistic_mode(design, labels, alpha, largest_score=30.0)
    for scores, converged in ((modes.scores[0], modes.converged[0]), (mode.scores, mode.converged)):
        assert not converged
        assert 30 < np.abs(scores).max() < 100
        np.testing.assert_array_equal(scores > 0, labels > 0)


def test_max_iter_ends_a_climb(loop):
    design, labels, alpha = problem(7)
    modes = logistic_modes(design, labels, alpha, np.ones((1, 40)), max_iter=1, tol=1e-14)
    assert modes.n_iter == 1
    assert not modes.converged.any()
    assert not logistic_mode(design, labels, alpha, max_iter=1, tol=1e-14).converged


@pytest.mark.parametrize("level", [1e-12, 1e-3])
def test_identical_columns_with_hardly_any_prior_share_the_weight(loop, level):
    design, labels, _ = problem(8, m=1)
    doubled = np.hstack([design, design])
    alpha = np.full(2, level)
    one = logistic_mode(design, labels, alpha[:1] / 2)
    two = logistic_modes(doubled, labels, alpha, np.ones((1, 40)))
    np.testing.assert_allclose(two.scores[0], one.scores, atol=1e-5)


def test_many_columns_take_the_matrix_product_and_agree_with_the_loop():
    pytest.importorskip("numba")
    design, labels, alpha = problem(9, n=60, m=irls._MOST_COMPILED + 2)
    many = logistic_modes(design, labels, alpha, np.ones((1, 60)), tol=1e-12)
    weights, scores = np.zeros((1, len(alpha))), np.empty((1, 60))
    arguments = (np.ascontiguousarray(design.T), labels[None], alpha, np.ones((1, 60)))
    newton_modes.machine_code(
        *arguments, weights, scores, np.zeros(1, dtype=bool), 50, 1e-12, np.inf
    )
    np.testing.assert_allclose(many.weights, weights, atol=1e-7)


def test_entries_whose_products_overflow_end_without_hanging(loop):
    design = np.full((4, 2), 1e200)
    with np.errstate(all="ignore"):
        modes = logistic_modes(
            design, np.array([0.0, 1, 0, 1]), np.ones(2), np.ones((1, 4)), max_iter=3
        )
    assert modes.weights.shape == (1, 2)


@given(st.integers(0, 2**32 - 1), st.floats(-6, 6))
def test_no_point_is_better_than_the_mode(seed, level):
    design, labels, _ = problem(seed % 50, n=20, m=3)
    alpha = np.full(3, 10.0**level)
    mode = logistic_mode(design, labels, alpha)
    direction = np.random.default_rng(seed).normal(size=3)
    direction *= 0.1 / np.linalg.norm(direction)
    here = objective(mode.weights, design, labels, alpha, np.ones(20))
    there = objective(mode.weights + direction, design, labels, alpha, np.ones(20))
    assert here <= there


def test_a_singular_system_is_solved_in_the_least_squares_sense():
    hessian = np.ones((2, 2))
    step = newton_step(hessian, np.array([2.0, 2.0]))
    np.testing.assert_allclose(hessian @ step, [2.0, 2.0], atol=1e-12)
