"""The dual as data: objective, gradient, gap, bias."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from parsimon.svm._dual import Dual, Solution, solve
from tests.svm.duals import dual_gradient, random_dual

seeds = st.integers(0, 10_000)


@given(seeds, st.booleans(), st.booleans())
def test_the_gradient_is_that_of_the_objective(seed, indefinite, linear):
    dual = random_dual(seed, n=7, indefinite=indefinite, linear=linear)
    alpha = dual.upper * np.random.default_rng(seed).random(7)
    step = 1e-5
    steps = step * np.eye(7)
    # A quadratic function: central differences are exact but for rounding.
    differences = (dual.objective(alpha + steps) - dual.objective(alpha - steps)) / (2 * step)
    np.testing.assert_allclose(dual_gradient(dual, alpha), differences, atol=1e-8)


@given(seeds, st.booleans())
def test_a_population_is_evaluated_as_its_points(seed, linear):
    dual = random_dual(seed, n=6, indefinite=True, linear=linear)
    points = dual.upper * np.random.default_rng(seed).random((4, 6))
    Q = dual.kernel * np.outer(dual.signs, dual.signs)
    p = np.ones(6) if dual.linear is None else dual.linear
    expected = [p @ point - 0.5 * point @ Q @ point for point in points]
    np.testing.assert_allclose(dual.objective(points), expected, rtol=1e-10)
    np.testing.assert_allclose(dual.objective(points[0]), expected[0], rtol=1e-10)


@given(seeds, st.booleans())
def test_the_gap_bounds_what_any_feasible_step_can_gain(seed, equality):
    dual = random_dual(seed, n=8, equality=equality)
    optimum = solve(dual, tol=1e-9)
    assert dual.gap(optimum.alpha) < 1e-8
    start = np.zeros(8)
    assert dual.gap(start) > 0.5
    assert dual.gap(start) == (2.0 if equality else 1.0)


def test_a_variable_at_its_bound_violates_nothing_outwards():
    dual = Dual(np.eye(2), np.array([1.0, -1.0]), np.array([0.5, 0.5]), equality=False)
    assert dual.gap(np.array([0.5, 0.5])) == 0.0
    assert dual.gap(np.array([0.5, 0.25])) == 0.75


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_the_bias_is_that_of_libsvm(C, rng):
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0.3, 1.0, -1.0)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1))
    theirs = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    found = solve(Dual(K, y, np.full(40, C)), tol=1e-8)
    # libsvm keeps the matrix in single precision.
    assert found.bias == pytest.approx(theirs.intercept_[0], abs=1e-4)
    np.testing.assert_allclose(
        Dual(K, y, np.full(40, C)).scores(found.alpha, found.bias),
        theirs.decision_function(K),
        atol=1e-4,
    )


def test_the_bias_without_free_variables_is_the_middle_of_what_the_bounds_leave():
    K = np.array([[1.0, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.0]])
    signs = np.array([1.0, -1.0, -1.0])
    dual = Dual(K, signs, np.array([0.1, 0.05, 0.05]))
    alpha = dual.upper
    theirs = SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(K, signs, sample_weight=alpha)
    np.testing.assert_allclose(np.abs(theirs.dual_coef_[0]).sum(), alpha.sum())
    assert dual.bias(alpha) == pytest.approx(theirs.intercept_[0])


def test_without_the_equality_the_bias_follows_the_reference_rule():
    K = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.0]])
    signs = np.array([1.0, -1.0, 1.0])
    dual = Dual(K, signs, np.ones(3), equality=False)
    for alpha, rows in (([0.5, 0.0, 1.0], [0]), ([1.0, 0.0, 0.0], [1, 2]), ([1.0] * 3, [0, 1, 2])):
        residual = signs - K @ (signs * np.array(alpha))
        assert dual.bias(np.array(alpha)) == pytest.approx(residual[rows].mean())


def test_rows_without_weight_have_no_say_in_the_bias():
    dual = Dual(np.eye(3), np.array([1.0, -1.0, 1.0]), np.array([1.0, 1.0, 0.0]), equality=False)
    assert dual.bias(np.array([1.0, 0.0, 0.0])) == -1.0


def test_a_solution_measures_what_its_dual_says():
    dual = random_dual(3, indefinite=True)
    alpha = 0.3 * dual.upper
    found = Solution.of(dual, alpha, n_steps=4, converged=False)
    assert (found.n_steps, found.converged, found.alpha is alpha) == (4, False, True)
    assert found.objective == pytest.approx(dual.objective(alpha))
    assert found.gap == dual.gap(alpha)
    assert found.bias == dual.bias(alpha)
