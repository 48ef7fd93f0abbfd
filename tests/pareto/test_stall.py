import numpy as np
import pytest
from hypothesis import given

from parsimon.pareto.search import has_improved
from tests.pareto.strategies import tables


def kept(values, violation=0.0):
    values = np.atleast_2d(np.asarray(values, dtype=float))
    return np.column_stack((values, np.full(len(values), violation)))


@given(tables(min_rows=1, min_columns=1))
def test_a_set_does_not_improve_on_itself(values):
    assert not has_improved(kept(values), kept(values), 0.0)


@given(tables(min_rows=1, min_columns=2, max_columns=3))
def test_a_dominating_point_is_an_improvement(values):
    better = kept(values.min(axis=0) - 1)
    assert has_improved(kept(values), better, 0.0)
    assert not has_improved(better, kept(values), 0.0)


def test_filling_a_gap_is_an_improvement():
    assert has_improved(kept([[0, 2], [2, 0]]), kept([[0, 2], [1, 1], [2, 0]]), 0.0)


def test_extending_a_front_is_an_improvement():
    assert has_improved(kept([[0, 0]]), kept([[0, 0], [1, -1]]), 0.0)


@pytest.mark.parametrize(("tol", "improved"), [(0.0, True), (0.05, True), (0.2, False)])
def test_one_objective_must_fall_by_the_tolerance(tol, improved):
    assert has_improved(kept([[10.0]]), kept([[9.0]]), tol) is improved
    assert has_improved(kept([[-10.0]]), kept([[-11.0]]), tol) is improved


@pytest.mark.parametrize(("tol", "improved"), [(0.0, True), (0.1, False)])
def test_hypervolume_must_grow_by_the_tolerance(tol, improved):
    before, after = kept([[0, 1], [1, 0]]), kept([[0, 1], [0.99, 0.9], [1, 0]])
    assert has_improved(before, after, tol) is improved


def test_while_nothing_is_feasible_the_violation_must_fall():
    assert has_improved(kept([[0, 0]], 2.0), kept([[9, 9]], 1.0), 0.0)
    assert not has_improved(kept([[9, 9]], 2.0), kept([[0, 0]], 2.0), 0.0)
    assert has_improved(kept([[0, 0]], 2.0), kept([[9, 9]], 0.0), 0.0)
    assert not has_improved(kept([[0, 0]], 2.0), kept([[9, 9]], 1.9), 0.1)
