import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.pareto import crowding
from parsimon.pareto.crowding import crowding_distance, neighbour_distance
from tests.pareto.strategies import tables


def gaps_of_one_level(values, normalise):
    """Follow Deb et al. (2002, section III-B) line by line."""
    n, m = values.shape
    distance = np.zeros(n)
    for j in range(m):
        order = sorted(range(n), key=lambda i: (values[i, j], i))
        width = values[order[-1], j] - values[order[0], j]
        width = width if normalise and width > 0 else 1.0
        distance[order[0]] = distance[order[-1]] = np.inf
        for before, here, after in zip(order, order[1:], order[2:], strict=False):
            distance[here] += (values[after, j] - values[before, j]) / width
    return distance


def neighbours_of_one_level(values, m, width):
    scaled = values / width
    n = len(values)
    distance = np.full(n, np.inf)
    for i in range(n):
        others = sorted(np.linalg.norm(scaled[i] - scaled[k]) for k in range(n) if k != i)
        if len(others) >= m and i not in values.argmin(axis=0):
            distance[i] = np.prod(others[:m]) ** (1 / m)
    return distance


@given(st.integers(1, 12), st.integers(1, 3), st.booleans(), st.integers(0, 2**32))
def test_gaps_are_those_of_the_paper_on_every_level(n, m, normalise, seed):
    rng = np.random.default_rng(seed)
    values, levels = rng.random((n, m)) * [1, 10, 100][:m], rng.integers(0, 3, n)
    expected = np.empty(n)
    for level in np.unique(levels):
        rows = levels == level
        expected[rows] = gaps_of_one_level(values[rows], normalise)
    found = crowding_distance(values, levels, normalise=normalise)
    np.testing.assert_allclose(found, expected)


def test_normalised_gaps_do_not_depend_on_units(rng):
    values = rng.random((20, 2))
    scaled = values * [1, 1000]
    np.testing.assert_allclose(crowding_distance(scaled), crowding_distance(values))
    plain = crowding_distance(scaled, normalise=False)
    assert not np.allclose(plain, crowding_distance(values, normalise=False))


@given(tables(min_columns=2), st.booleans())
def test_ties_and_equal_columns_give_no_nan(values, normalise):
    for measure in (crowding_distance, neighbour_distance):
        distance = measure(values, normalise=normalise)
        assert distance.shape == (len(values),)
        assert not np.isnan(distance).any()
        assert (distance >= 0).all()


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("most_rows", [800, 0])
def test_neighbours_are_those_of_all_pairs(normalise, most_rows, rng, monkeypatch):
    monkeypatch.setattr(crowding, "MOST_ROWS_IN_TABLE", most_rows)
    values = rng.random((40, 3)) * [1, 5, 50]
    levels = np.repeat([0, 1, 2], [20, 17, 3])
    width = np.ptp(values, axis=0) if normalise else np.ones(3)
    expected = np.concatenate(
        [neighbours_of_one_level(values[levels == level], 3, width) for level in range(3)]
    )
    found = neighbour_distance(values, levels, normalise=normalise)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert np.isfinite(found).sum() > 25


def test_neighbours_see_a_crowd_that_gaps_do_not():
    # Three points close together on the simplex, whose neighbours along each axis are far away
    # in the other two.
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    ring = np.column_stack((np.cos(angles), np.cos(angles - 2.1), np.cos(angles + 2.1)))
    values = np.concatenate((ring, [[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.01]]))
    assert set(np.argsort(neighbour_distance(values))[:3]) == {12, 13, 14}
