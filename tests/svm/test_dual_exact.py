"""Exact steps against libsvm, a quasi-Newton method and enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from parsimon import _compiled
from parsimon.exceptions import InvalidInputError
from parsimon.svm import _dual as smo
from parsimon.svm._dual import Dual, climb_dual, feasible, solve
from tests.svm.duals import dual_gradient, highest_value, random_dual

seeds = st.integers(0, 10_000)


@given(seeds, st.sampled_from([0.1, 2.0, 50.0]))
def test_the_climb_ends_where_libsvm_does(seed, C):
    dual = random_dual(seed, n=30, C=C)
    theirs = solve(dual, tol=1e-6)
    ours = climb_dual(dual, np.zeros(30), tol=1e-6)
    assert ours.converged
    assert dual.objective(ours.alpha) == pytest.approx(theirs.objective, rel=1e-6)
    assert dual.gap(ours.alpha) <= 1e-6


@given(seeds, st.booleans())
def test_the_climb_keeps_the_box_and_the_plane_on_any_kernel(seed, indefinite):
    dual = random_dual(seed, n=15, indefinite=indefinite)
    end = climb_dual(dual, np.zeros(15))
    assert (end.alpha >= 0).all()
    assert (end.alpha <= dual.upper).all()
    assert abs(dual.signs @ end.alpha) < 1e-12
    np.testing.assert_allclose(end.products, dual.scores(end.alpha), atol=1e-10)
    assert dual.gap(end.alpha) < 1e-3


@given(seeds, st.booleans())
def test_every_step_raises_the_objective(seed, equality):
    dual = random_dual(seed, n=10, indefinite=True, equality=equality)
    values = [
        dual.objective(climb_dual(dual, np.zeros(10), max_steps=steps).alpha) for steps in range(8)
    ]
    assert (np.diff(values) >= -1e-12).all()
    assert values[1] > values[0]


@given(seeds, st.booleans())
def test_without_the_equality_it_is_the_maximum_of_the_box(seed, linear):
    dual = random_dual(seed, n=10, equality=False, linear=linear)
    found = solve(dual, tol=1e-8)
    # A line search may give up far from the maximum; from our point it must find nothing better.
    theirs = max(
        -minimize(
            lambda alpha: -dual.objective(alpha),
            start,
            jac=lambda alpha: -dual_gradient(dual, alpha),
            bounds=[(0.0, bound) for bound in dual.upper],
            options={"ftol": 1e-14, "gtol": 1e-10},
        ).fun
        for start in (np.zeros(10), 0.5 * dual.upper, found.alpha)
    )
    assert found.objective == pytest.approx(theirs, rel=1e-7)
    assert found.gap < 1e-8


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("equality", [False, True])
def test_small_problems_are_solved_as_by_enumeration(equality, linear):
    for seed in range(4):
        dual = random_dual(seed, n=5, equality=equality, linear=linear)
        found = solve(dual, tol=1e-9)
        assert found.objective == pytest.approx(highest_value(dual), rel=1e-8)


@given(seeds, st.booleans(), st.booleans())
def test_compiled_and_plain_loops_do_the_same(seed, equality, indefinite):
    dual = random_dual(seed, n=14, equality=equality, indefinite=indefinite)
    name = "climb_on_plane" if equality else "climb_in_box"
    ends = []
    loops = getattr(smo, name)
    for loop in (loops.plain, loops.machine_code):
        low, high = dual.signed_box()
        beta, residual = np.zeros(14), dual.slope.copy()
        n_steps = loop(dual.kernel, low, high, beta, residual, 1e-6, 100_000)
        ends.append((n_steps, beta))
    np.testing.assert_allclose(ends[0][1], ends[1][1], atol=1e-5)
    assert ends[0][0] > 0


def test_the_climb_is_the_same_without_numba(monkeypatch):
    dual = random_dual(1, n=25)
    compiled = climb_dual(dual, np.zeros(25), tol=1e-8)
    monkeypatch.setattr(_compiled, "numba_is_installed", lambda: False)
    plain = climb_dual(dual, np.zeros(25), tol=1e-8)
    np.testing.assert_allclose(plain.alpha, compiled.alpha, atol=1e-6)


def test_a_warm_start_needs_fewer_steps():
    dual = random_dual(0, n=40)
    cold = solve(dual, start=np.zeros(40), tol=1e-6)
    warm = solve(dual, start=cold.alpha, tol=1e-6)
    assert warm.n_steps <= cold.n_steps // 5
    assert warm.objective == pytest.approx(cold.objective)


def test_too_few_steps_are_reported():
    dual = random_dual(0, n=40)
    for start in (None, np.zeros(40)):
        found = solve(dual, start=start, tol=1e-9, max_steps=3)
        assert not found.converged
        assert found.gap > 1e-9
        assert solve(dual, start=start, tol=1e-9).converged


def test_a_deadline_ends_a_climb_after_its_first_chunk(monkeypatch):
    monkeypatch.setattr(smo, "_REFRESH", 2)
    dual = random_dual(0, n=40)
    end = climb_dual(dual, np.zeros(40), deadline=-np.inf)
    assert end.n_steps == 2
    assert not end.converged
    whole = climb_dual(dual, np.zeros(40))
    assert whole.converged
    assert whole.n_steps > 2


@given(seeds)
def test_any_point_is_made_feasible(seed):
    dual = random_dual(seed, n=9)
    points = 3.0 * np.random.default_rng(seed).normal(size=(5, 9))
    made = feasible(dual, points)
    assert (made >= 0).all()
    assert (made <= dual.upper).all()
    np.testing.assert_allclose(made @ dual.signs, 0.0, atol=1e-12)
    np.testing.assert_allclose(feasible(dual, made), made, atol=1e-12)
    assert (made[points <= 0] == 0).all()


def test_one_class_has_only_zero():
    found = solve(Dual(np.eye(3), np.ones(3), np.ones(3)))
    np.testing.assert_array_equal(found.alpha, 0.0)
    assert found.converged


def test_rows_without_room_stay_at_zero():
    dual = random_dual(2, n=10)
    upper = np.where(np.arange(10) < 2, 0.0, dual.upper)
    found = solve(Dual(dual.kernel, dual.signs, upper), tol=1e-8)
    np.testing.assert_array_equal(found.alpha[:2], 0.0)
    rest = Dual(dual.kernel[2:, 2:], dual.signs[2:], upper[2:])
    assert found.objective == pytest.approx(solve(rest, tol=1e-8).objective)


def test_a_singular_kernel_matrix_is_no_obstacle():
    rows = np.repeat([[0.0], [1.0]], 5, axis=0)
    signs = np.repeat([-1.0, 1.0], 5)
    dual = Dual(rows @ rows.T, signs, np.ones(10))
    found = solve(dual, start=np.zeros(10), tol=1e-9)
    assert found.objective == pytest.approx(2.0)
    assert found.objective == pytest.approx(solve(dual, tol=1e-9).objective)


def test_a_huge_scale_ends():
    dual = random_dual(5, n=20)
    huge = Dual(1e14 * dual.kernel, dual.signs, dual.upper)
    found = solve(huge, start=np.zeros(20))
    assert found.converged
    small = Dual(dual.kernel, dual.signs, 1e14 * dual.upper)
    assert 1e14 * found.objective == pytest.approx(
        solve(small, start=np.zeros(20), tol=1e-9).objective, rel=1e-3
    )


def test_wrong_options_are_refused():
    dual = random_dual(0)
    with pytest.raises(InvalidInputError, match="tol must be a positive number"):
        solve(dual, tol=0.0)
