import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.pareto.desirability import ReferencePoints
from parsimon.pareto.dominance import (
    crowding_distance,
    dominance_ranks,
    maximin_distance,
    repeated_keys,
    row_keys,
    select_survivors,
)
from tests.pareto.strategies import tables


@given(tables(min_rows=2, min_columns=2), st.data())
def test_no_survivor_is_worse_than_a_row_that_was_dropped(values, data):
    n = len(values)
    violation = data.draw(
        st.lists(st.sampled_from([0.0, 0.0, 0.5, np.inf]), min_size=n, max_size=n)
    )
    violation = np.array(violation)
    n_keep = data.draw(st.integers(1, n))
    values[np.isinf(violation)] = np.inf
    rows, levels, preference = select_survivors(values, violation, n_keep)
    assert len(set(rows.tolist())) == n_keep
    ranks = dominance_ranks(values, violation)
    np.testing.assert_array_equal(levels, ranks[rows])
    dropped = np.setdiff1d(np.arange(n), rows)
    if len(dropped):
        assert ranks[rows].max() <= ranks[dropped].min()
    assert (np.diff(levels) >= 0).all()
    assert not np.isnan(preference).any()


def test_the_last_level_is_cut_by_room():
    values = np.array([[0.0, 4], [0.1, 3.9], [1, 2], [3, 1], [4, 0]])
    kept = select_survivors(values, np.zeros(5), 4).rows
    assert set(kept) == {0, 2, 3, 4}


@pytest.mark.parametrize(
    ("crowding", "measure"), [("gaps", crowding_distance), ("maximin", maximin_distance)]
)
@pytest.mark.parametrize("normalise", [True, False])
def test_preference_is_the_room_that_is_asked_for(crowding, measure, normalise, rng):
    first = rng.random(30)
    values = np.column_stack((first, 100 * (1 - first)))
    rows, _, preference = select_survivors(
        values, np.zeros(30), 12, crowding=crowding, normalise=normalise
    )
    expected = measure(values, normalise=normalise)
    np.testing.assert_allclose(preference, expected[rows])
    assert set(rows) == set(np.argsort(-expected, kind="stable")[:12])
    assert (np.diff(preference[np.isfinite(preference)]) <= 0).all()


def test_feasible_rows_come_before_better_ones_that_break_constraints():
    values = np.array([[0.0, 0], [5, 5], [1, 1], [2, 2]])
    violation = np.array([2.0, 0.0, 1.0, np.inf])
    assert select_survivors(values, violation, 3).rows.tolist() == [1, 2, 0]


def test_repeated_rows_come_last():
    values = np.array([[0.0, 1], [0, 1], [3, 3]])
    duplicates = np.array([False, True, False])
    assert select_survivors(values, np.zeros(3), 2, duplicates=duplicates).rows.tolist() == [0, 2]
    everything = select_survivors(values, np.zeros(3), 3, duplicates=duplicates)
    assert everything.rows.tolist() == [0, 2, 1]


def test_a_guide_decides_within_a_level_and_sees_the_users_signs():
    values = np.array([[0.0, -1], [1, -2], [2, -3], [3, -4]])  # the second is maximised
    guide = ReferencePoints([[3.0, 4.0]])
    kept = select_survivors(values, np.zeros(4), 2, guide=guide, signs=np.array([1.0, -1.0]))
    assert kept.rows.tolist() == [3, 2]
    assert kept.preference[0] > kept.preference[1]


@given(st.sampled_from([np.float64, np.int64, np.bool_]), st.integers(0, 2**32))
def test_repeated_rows_are_those_equal_to_an_earlier_one(dtype, seed):
    rng = np.random.default_rng(seed)
    population = rng.integers(0, 2, size=(40, 4)).astype(dtype)
    seen, expected = set(), []
    for row in map(tuple, population.tolist()):
        expected.append(row in seen)
        seen.add(row)
    np.testing.assert_array_equal(repeated_keys(row_keys(population)), expected)


@pytest.mark.parametrize("scale", [1.0, 1e300, np.inf])
def test_different_rows_of_round_numbers_are_told_apart(scale):
    grid = np.stack(np.meshgrid(*[[0.0, scale]] * 12), axis=-1).reshape(-1, 12)
    assert not repeated_keys(row_keys(grid)).any()
    assert repeated_keys(row_keys(np.concatenate((grid, grid))))[4096:].all()


def test_survivors_are_the_best_levels_and_the_least_crowded():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 3))
    kept = select_survivors(values, np.zeros(60), 25)
    assert len(set(kept.rows.tolist())) == 25
    level = np.full(60, 99)
    left, depth = list(range(60)), 0
    while left:
        best = [i for i in left if not any((values[j] <= values[i]).all() and j != i for j in left)]
        level[best] = depth
        left, depth = [i for i in left if i not in best], depth + 1
    np.testing.assert_array_equal(kept.levels, level[kept.rows])
    np.testing.assert_array_equal(kept.levels, np.sort(level)[:25])
    last = np.flatnonzero(level == kept.levels[-1])
    chosen = np.isin(last, kept.rows)
    room = crowding_distance(values[last])
    assert 0 < chosen.sum() < len(last)
    assert room[chosen].min() >= room[~chosen].max()
