import numpy as np
import pytest
from hypothesis import given

from parsimon.exceptions import InvalidInputError
from parsimon.pareto import dominates, nondominated
from parsimon.pareto.dominance import dominance_ranks
from tests.pareto.strategies import brute_force, tables


@given(tables(min_rows=3, max_rows=3))
def test_dominance_is_a_strict_partial_order(values):
    a, b, c = values
    assert not dominates(a, a)
    assert not (dominates(a, b) and dominates(b, a))
    if dominates(a, b) and dominates(b, c):
        assert dominates(a, c)


@pytest.mark.parametrize("ties", ["keep", "first"])
@given(values=tables(min_rows=1))
def test_nondominated_equals_brute_force_under_ties_and_duplicates(values, ties):
    np.testing.assert_array_equal(nondominated(values, ties=ties), brute_force(values, ties))


@given(tables(min_rows=1))
def test_ranks_are_the_levels_found_by_peeling_fronts(values):
    expected = np.full(len(values), -1)
    level = 0
    while (expected < 0).any():
        left = np.flatnonzero(expected < 0)
        expected[left[brute_force(values[left])]] = level
        level += 1
    np.testing.assert_array_equal(dominance_ranks(values), expected)


@given(tables(min_rows=1, min_columns=3, max_columns=3))
def test_feasibility_comes_before_dominance(table):
    values, violation = table[:, :2], np.maximum(table[:, 2] - 2, 0)
    ranks = dominance_ranks(values, violation)
    feasible = violation == 0
    if feasible.any():
        np.testing.assert_array_equal(ranks[feasible], dominance_ranks(values[feasible]))
        assert (ranks[~feasible] > ranks[feasible].max()).all()
    for i in np.flatnonzero(~feasible):
        for j in np.flatnonzero(~feasible):
            assert (ranks[i] < ranks[j]) == (violation[i] < violation[j])


def test_empty_tables_have_an_empty_front():
    assert nondominated(np.empty((0, 3))).shape == (0,)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, np.nan]], "must be finite"),
        ([[1.0, np.inf]], "must be finite"),
        ([["a", 1]], "must be numbers"),
        (np.zeros((2, 2, 2)), "two dimensions"),
    ],
)
def test_bad_values_are_refused(values, message):
    with pytest.raises(InvalidInputError, match=message):
        nondominated(values)


def test_an_unknown_rule_for_ties_is_refused():
    with pytest.raises(InvalidInputError, match='"keep" or "first"'):
        nondominated([[1, 2]], ties="last")
