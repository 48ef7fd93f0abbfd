"""The yardsticks: dual optima by libsvm and by a bounded minimiser."""

import numpy as np
import pytest
from benchmarks.libsvm import box_optimum, coefficients, dual_value, optimum
from benchmarks.reproduce.mierswa_errata import labelling_rows, simplex_minimum
from sklearn.metrics.pairwise import rbf_kernel


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(40, 2))
    signs = np.where(X[:, 0] + 0.8 * rng.normal(size=40) > 0, 1.0, -1.0)
    return rbf_kernel(X, gamma=0.7), signs


def test_two_points_have_a_known_optimum():
    # Distance 2 on a line: margin 1, w = 1, so half the squared norm is 1/2.
    rows = np.array([[-1.0], [1.0]])
    K, signs = rows @ rows.T, np.array([-1.0, 1.0])
    assert optimum(K, signs, 10.0) == pytest.approx(0.5)
    np.testing.assert_allclose(coefficients(K, signs, 10.0), [-0.5, 0.5])
    # With alpha at most 0.1: 0.2 - 0.5 * 0.2^2.
    assert optimum(K, signs, 0.1) == pytest.approx(0.18)


def test_optimum_is_that_of_a_general_solver(problem):
    from scipy.optimize import minimize

    K, signs = problem
    Q = K * np.outer(signs, signs)
    found = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.zeros(40),
        jac=lambda a: Q @ a - 1.0,
        bounds=[(0.0, 1.0)] * 40,
        constraints={"type": "eq", "fun": lambda a: signs @ a, "jac": lambda _: signs},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert optimum(K, signs, 1.0) == pytest.approx(-found.fun, rel=1e-6)


def test_box_optimum_satisfies_the_conditions_and_is_not_smaller(problem):
    K, signs = problem
    value = box_optimum(K, signs, 1.0)
    assert value > optimum(K, signs, 1.0)
    # Coordinate ascent to convergence, written out.
    Q, alpha = K * np.outer(signs, signs), np.zeros(40)
    for _ in range(3000):
        for i in range(40):
            alpha[i] = np.clip(alpha[i] + (1.0 - Q[i] @ alpha) / Q[i, i], 0.0, 1.0)
    assert value == pytest.approx(dual_value(K, alpha * signs), rel=1e-8)


def test_simplex_minimum_lies_on_one_ray_while_no_bound_is_met(problem):
    K, signs = problem
    Q = K * np.outer(signs, signs)
    small, smaller = (simplex_minimum(K, signs, share) for share in (0.04, 0.02))
    assert small.max() < 1.0
    assert small.sum() == pytest.approx(0.04 * 40)
    np.testing.assert_allclose(small, 2.0 * smaller, atol=1e-5)
    # A minimum on the simplex: the gradient is the same on the support and not less elsewhere.
    slope = Q @ small
    on = small > 1e-6
    np.testing.assert_allclose(slope[on], slope[on].min(), atol=1e-5)
    assert (slope[~on] >= slope[on].max() - 1e-5).all()
    np.testing.assert_array_equal(simplex_minimum(K, signs, 1.0), np.ones(40))


def test_the_right_labelling_of_four_clusters_has_the_least_optimum():
    found = [row.ours for row in labelling_rows()]
    # Half of w^2 with w = 2 / gap: gaps of 8 and of 1.
    assert found[:2] == pytest.approx([1 / 32, 2.0])
    assert min(found) == found[0]
    assert max(found) == found[1]
