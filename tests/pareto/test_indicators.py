import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.pareto import (
    additive_epsilon,
    attainment,
    hypervolume,
    igd_plus,
    nondominated,
    spread,
)
from tests.pareto.strategies import tables


def grid_volume(values, reference):
    """Count the unit cells of an integer grid that the points dominate."""
    corners = np.stack(
        np.meshgrid(*[np.arange(int(r)) for r in reference], indexing="ij"), axis=-1
    ).reshape(-1, len(reference))
    covered = np.zeros(len(corners), dtype=bool)
    for point in values:
        covered |= (corners >= point).all(axis=1)
    return covered.sum()


@given(tables(min_rows=1, max_columns=3))
def test_hypervolume_equals_counting_cells(values):
    reference = np.full(values.shape[1], 6)
    assert hypervolume(values, reference) == grid_volume(values, reference)


@given(tables(min_rows=2), st.integers(0, 5))
def test_hypervolume_is_monotone(values, worse):
    reference = np.full(values.shape[1], 6.0)
    volume = hypervolume(values, reference)
    assert hypervolume(values[:-1], reference) <= volume
    assert hypervolume(values[nondominated(values)], reference) == volume
    assert hypervolume(values + worse, reference) <= volume


def test_points_beyond_the_reference_add_nothing():
    assert hypervolume([[5, 5], [1, 9]], [3, 3]) == 0
    assert hypervolume([[1, 1], [0, 9]], [3, 3]) == 4


@given(tables(min_rows=1, min_columns=2), tables(min_rows=1, min_columns=2))
def test_distances_to_a_reference_front_follow_their_definitions(values, target):
    columns = min(values.shape[1], target.shape[1])
    values, target = values[:, :columns], target[:, :columns]
    worse = np.maximum(values[:, None] - target[None], 0)
    expected = np.linalg.norm(worse, axis=2).min(axis=0).mean()
    np.testing.assert_allclose(igd_plus(values, target), expected, atol=1e-12)
    shift = (values[:, None] - target[None]).max(axis=2).min(axis=0).max()
    np.testing.assert_allclose(additive_epsilon(values, target), shift, atol=1e-12)


def test_spread_is_zero_for_even_gaps_and_ignores_units():
    even = np.column_stack([np.arange(5.0), np.arange(5.0)[::-1]])
    uneven = np.array([[0, 4], [0.1, 3.9], [2, 2], [4, 0.0]])
    assert spread(even) == pytest.approx(0)
    assert spread(uneven) > 0.5
    assert spread(uneven * [100, 0.1]) == pytest.approx(spread(uneven))


def test_attainment_of_two_runs():
    runs = [[[1, 3], [3, 1]], [[2, 2]]]
    all_of_them = attainment(runs, percentile=100)
    assert sorted(map(tuple, all_of_them)) == [(2, 3), (3, 2)]
    any_of_them = attainment(runs, percentile=50)
    assert sorted(map(tuple, any_of_them)) == [(1, 3), (2, 2), (3, 1)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hypervolume([[1, 2]], [3]), "needs 2 values"),
        (lambda: igd_plus([[1, 2]], [[1, 2, 3]]), "equally many objectives"),
        (lambda: additive_epsilon(np.empty((0, 2)), [[1, 2]]), "equally many objectives"),
        (lambda: attainment([]), "at least one run"),
        (lambda: attainment([[[1, 2, 3, 4]]]), "2 or 3 objectives"),
    ],
)
def test_indicators_refuse_what_does_not_fit(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
