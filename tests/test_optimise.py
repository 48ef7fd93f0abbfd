import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.optimise import minimise, random_starts

WIDE = np.array([[-10.0, 10.0], [-10.0, 10.0]])


class Recorder:
    """An objective that remembers where it was asked."""

    def __init__(self, function):
        self.function = function
        self.points = []

    def __call__(self, x):
        self.points.append(x)
        return self.function(x)


def bowl(centre, weight=1.0):
    def function(x):
        return float(weight * np.sum((x - centre) ** 2)), 2 * weight * (x - centre)

    return function


def rosenbrock(x):
    a, b = x
    value = (1 - a) ** 2 + 100 * (b - a**2) ** 2
    return value, np.array([-2 * (1 - a) - 400 * a * (b - a**2), 200 * (b - a**2)])


def two_wells(x):
    """Return a shallow well at 2 and a deep one at -2."""
    t = x[0]
    return float((t**2 - 4) ** 2 + t), np.array([4 * t * (t**2 - 4) + 1])


@given(
    st.tuples(st.floats(-20, 20), st.floats(-20, 20)),
    st.tuples(st.floats(-9, 9), st.floats(-9, 9)),
    st.floats(0.01, 1000),
)
def test_minimum_of_a_bowl_is_the_nearest_point_of_the_box(centre, start, weight):
    found = minimise(bowl(np.array(centre), weight), np.array(start), WIDE)
    np.testing.assert_allclose(found.x, np.clip(centre, -10, 10), atol=1e-3)
    assert found.converged
    value, gradient = bowl(np.array(centre), weight)(found.x)
    assert found.value == value
    np.testing.assert_array_equal(found.gradient, gradient)


def test_a_curved_valley_is_followed_to_its_end():
    found = minimise(rosenbrock, np.array([-1.2, 1.0]), WIDE)
    np.testing.assert_allclose(found.x, 1, atol=1e-3)


def test_every_call_is_counted_and_none_is_repeated():
    recorder = Recorder(rosenbrock)
    found = minimise(recorder, np.array([-1.2, 1.0]), WIDE)
    assert found.n_evaluations == len(recorder.points)
    assert len(np.unique(recorder.points, axis=0)) == len(recorder.points)
    np.testing.assert_array_equal(recorder.points[0], [-1.2, 1.0])


def test_the_first_step_is_no_jump_to_a_corner():
    recorder = Recorder(bowl(np.array([1.0, -2.0]), weight=500.0))
    minimise(recorder, np.zeros(2), WIDE)
    assert np.max(np.abs(recorder.points[1])) <= 0.5 + 1e-12


def quadratic(matrix, centre):
    def function(x):
        away = x - centre
        return float(0.5 * away @ matrix @ away), matrix @ away

    return function


def test_the_true_curvature_leads_there_in_one_step():
    matrix, centre = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([0.4, -0.3])
    recorder = Recorder(quadratic(matrix, centre))
    found = minimise(recorder, np.zeros(2), WIDE, curvature=matrix)
    assert found.converged
    assert found.n_evaluations == len(recorder.points) == 2
    np.testing.assert_allclose(found.x, centre, atol=1e-12)
    assert minimise(quadratic(matrix, centre), np.zeros(2), WIDE).n_evaluations > 2


@given(
    st.tuples(st.floats(-20, 20), st.floats(-20, 20)),
    st.tuples(st.floats(-9, 9), st.floats(-9, 9)),
    st.tuples(st.floats(-50, 50), st.floats(-50, 50), st.floats(-50, 50)),
)
def test_a_wrong_curvature_only_costs_steps(centre, start, entries):
    a, b, c = entries
    wrong = np.array([[a, b], [b, c]])
    found = minimise(bowl(np.array(centre), 3.0), np.array(start), WIDE, curvature=wrong)
    np.testing.assert_allclose(found.x, np.clip(centre, -10, 10), atol=2e-3)
    assert found.converged


def test_a_curved_valley_is_followed_with_a_curvature_too():
    start = np.array([-1.2, 1.0])
    curvature = np.array([[1330.0, 480.0], [480.0, 200.0]])
    found = minimise(rosenbrock, start, WIDE, curvature=curvature)
    np.testing.assert_allclose(found.x, 1, atol=1e-3)


def test_each_start_has_its_own_curvature():
    bounds = np.array([[-4.0, 4.0]])
    starts, curvature = np.array([[2.2], [-2.2]]), np.full((2, 1, 1), 32.0)
    found = minimise(two_wells, starts, bounds, curvature=curvature, n_restarts=1, random_state=0)
    assert len(found.start_values) == 3
    assert found.x[0] < -1
    with pytest.raises(InvalidInputError, match=r"finite 1 x 1 matrices, got shape \(2, 2\)"):
        minimise(two_wells, starts, bounds, curvature=np.eye(2))
    with pytest.raises(InvalidInputError, match="finite 1 x 1 matrices"):
        minimise(two_wells, starts, bounds, curvature=np.array([[np.nan]]))


def test_steps_with_a_curvature_are_limited():
    short = minimise(rosenbrock, np.array([-1.2, 1.0]), WIDE, curvature=np.eye(2), max_iterations=1)
    assert not short.converged


def test_a_failure_on_the_way_is_a_step_too_far_with_a_curvature_too():
    def cliff(x):
        if x[0] > 1.5:
            raise np.linalg.LinAlgError("over the edge")
        return bowl(np.array([1.0, 0.0]))(x)

    found = minimise(cliff, np.array([0.0, 0.0]), WIDE, curvature=np.diag([0.9, 2.0]))
    np.testing.assert_allclose(found.x, [1, 0], atol=1e-3)
    assert found.converged


def test_a_gradient_that_is_wrong_is_no_convergence():
    """The slope promises a descent that no line search finds."""

    def lying(x):
        return float(np.sum(x**2)), -2 * x + 5.0

    found = minimise(lying, np.zeros(2), WIDE)
    assert not found.converged
    assert "found nothing lower, though the slope promises" in found.message


def test_a_minimum_hidden_by_rounding_is_convergence():
    def grainy(x):
        """Return a bowl whose values are rounded to steps far larger than its tolerance."""
        value, gradient = bowl(np.array([1.0, -2.0]))(x)
        return 1e6 + round(value, 2), gradient

    found = minimise(grainy, np.zeros(2), WIDE, value_tolerance=1e-18)
    np.testing.assert_allclose(found.x, [1, -2], atol=0.2)
    assert found.converged


def test_random_starts_lie_inside_and_are_repeatable():
    bounds = np.array([[0.0, 1.0], [5.0, 5.0]])
    drawn = random_starts(bounds, 20, 3)
    assert ((drawn >= bounds[:, 0]) & (drawn <= bounds[:, 1])).all()
    np.testing.assert_array_equal(drawn[:5], random_starts(bounds, 5, 3))


def test_restarts_find_the_deeper_well():
    bounds = np.array([[-4.0, 4.0]])
    stuck = minimise(two_wells, np.array([2.5]), bounds)
    assert stuck.x[0] > 1
    free = minimise(two_wells, np.array([2.5]), bounds, n_restarts=5, random_state=0)
    assert free.x[0] < -1
    assert len(free.start_values) == 6
    assert free.start_values[0] == pytest.approx(stuck.value)
    assert free.value == min(free.start_values)


def test_several_starts_may_be_given():
    found = minimise(two_wells, np.array([[2.5], [-1.5]]), np.array([[-4.0, 4.0]]))
    assert found.x[0] < -1
    assert len(found.start_values) == 2


def test_same_seed_same_result_and_earlier_starts_do_not_depend_on_later_ones():
    bounds = np.array([[-4.0, 4.0]])

    def values(n_restarts, seed):
        found = minimise(
            two_wells, np.array([2.5]), bounds, n_restarts=n_restarts, random_state=seed
        )
        return found.start_values

    assert values(4, 3) == values(4, 3)
    assert values(4, 3)[:3] == values(2, 3)
    first = Recorder(two_wells)
    second = Recorder(two_wells)
    minimise(first, np.zeros(1), bounds, n_restarts=2, random_state=1)
    minimise(second, np.zeros(1), bounds, n_restarts=2, random_state=2)
    assert not np.array_equal(first.points[-1], second.points[-1])


@pytest.mark.parametrize("failure", ["raise", "nan", "infinite slope"])
def test_a_failing_evaluation_is_a_step_too_far(failure):
    def cliff(x):
        if x[0] > 1.05:
            if failure == "raise":
                raise np.linalg.LinAlgError("over the cliff")
            value = np.nan if failure == "nan" else 0.0
            return value, np.full(2, np.inf)
        return bowl(np.array([1.0, 5.0]))(x)

    # From here the first steps overshoot the cliff on the way to the minimum next to it.
    found = minimise(cliff, np.array([0.0, -8.0]), WIDE)
    np.testing.assert_allclose(found.x, [1, 5], atol=1e-2)


def test_failures_are_counted():
    def cliff(x):
        if x[0] > 0.2:
            raise FloatingPointError("over the cliff")
        return bowl(np.array([1.0, 0.0]))(x)

    found = minimise(cliff, np.zeros(2), WIDE)
    assert found.n_failures > 0
    assert 0.1 < found.x[0] <= 0.2


def test_a_start_that_fails_is_passed_over():
    def half(x):
        if x[0] > 0:
            raise np.linalg.LinAlgError("this half fails")
        return two_wells(x)

    bounds = np.array([[-4.0, 4.0]])
    found = minimise(half, np.array([[3.0], [-3.0]]), bounds)
    assert found.start_values[0] == np.inf
    assert found.x[0] < -1
    with pytest.raises(np.linalg.LinAlgError, match=r"None of 1 evaluations.*this half fails"):
        minimise(half, np.array([3.0]), bounds)


def test_other_errors_are_not_swallowed():
    def broken(x):
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        minimise(broken, np.zeros(2), WIDE)


def test_time_limit_returns_the_best_so_far(monkeypatch):
    clock = iter(np.arange(1000.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    recorder = Recorder(rosenbrock)
    found = minimise(recorder, np.array([-1.2, 1.0]), WIDE, time_limit=6.0, n_restarts=3)
    assert found.message == "The time limit was reached."
    assert not found.converged
    assert 1 < found.n_evaluations < 8
    assert found.value == min(rosenbrock(point)[0] for point in recorder.points)
    assert len(found.start_values) == 1


def test_iterations_and_tolerances_are_obeyed():
    start = np.array([-1.2, 1.0])
    whole = minimise(rosenbrock, start, WIDE)
    short = minimise(rosenbrock, start, WIDE, max_iterations=3)
    assert short.n_evaluations < whole.n_evaluations
    assert not short.converged
    loose = minimise(rosenbrock, start, WIDE, value_tolerance=1e-2)
    assert loose.n_evaluations < whole.n_evaluations
    assert loose.converged
    flat = minimise(rosenbrock, start, WIDE, gradient_tolerance=5.0, value_tolerance=0)
    assert np.max(np.abs(flat.gradient)) <= 5
    assert flat.n_evaluations < whole.n_evaluations
    fine = minimise(rosenbrock, start, WIDE, gradient_tolerance=1e-10, value_tolerance=0)
    assert np.max(np.abs(fine.gradient)) < np.max(np.abs(whole.gradient))


def test_value_tolerance_keeps_its_meaning_whatever_the_slope():
    """Scaling the objective inside must not make a steep start stop early."""
    far = minimise(bowl(np.array([1.0, 2.0]), weight=1e6), np.array([-9.0, 9.0]), WIDE)
    np.testing.assert_allclose(far.x, [1, 2], atol=1e-6)


def test_equal_bounds_hold_a_variable():
    bounds = np.array([[2.0, 2.0], [-10.0, 10.0]])
    found = minimise(bowl(np.zeros(2)), np.array([0.0, 5.0]), bounds)
    np.testing.assert_allclose(found.x, [2, 0], atol=1e-4)
    fixed = minimise(bowl(np.zeros(2)), np.zeros(2), np.array([[2.0, 2.0], [3.0, 3.0]]))
    assert fixed.n_evaluations == 1
    assert fixed.converged
    assert fixed.value == 13


def test_no_variables_at_all_are_one_evaluation():
    found = minimise(lambda x: (1.5, x.copy()), np.zeros(0), np.zeros((0, 2)))
    assert (found.value, found.n_evaluations, found.converged) == (1.5, 1, True)


def test_bad_bounds_are_refused():
    with pytest.raises(InvalidInputError, match=r"lower bound of variable 1 \(3\) is above"):
        minimise(bowl(np.zeros(2)), np.zeros(2), np.array([[0.0, 1.0], [3.0, 2.0]]))
    with pytest.raises(InvalidInputError, match="two columns"):
        minimise(bowl(np.zeros(2)), np.zeros(2), np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="bounds must be finite"):
        minimise(bowl(np.zeros(2)), np.zeros(2), np.array([[0.0, np.inf], [0.0, 1.0]]))


def test_no_evaluation_is_made_once_there_is_enough():
    recorder = Recorder(rosenbrock)
    start = np.array([[-1.2, 1.0], [2.0, 2.0]])
    found = minimise(recorder, start, WIDE, enough=lambda: len(recorder.points) >= 5)
    assert found.n_evaluations == len(recorder.points) == 5
    assert found.message == "The limit of work was reached."
    assert found.value == min(rosenbrock(point)[0] for point in recorder.points)
    once = minimise(rosenbrock, start, WIDE, enough=lambda: True)
    assert once.n_evaluations == 1


def test_a_steep_start_does_not_end_a_descent_early():
    """Tolerances are of the value itself, not of what SciPy is shown of it."""

    def valley(x):
        left, right = 1 - x[0], x[1] - x[0] ** 2
        slope = np.array([-2 * left - 400 * x[0] * right, 200 * right])
        return 1e6 * (left**2 + 100 * right**2), 1e6 * slope

    found = minimise(valley, np.array([-1.2, 1.0]), np.array([[-5.0, 5.0]] * 2))
    assert found.value < 1e-5
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)
