import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.pareto.desirability import DesirabilityGuide, OneSided, ReferencePoints

LINE = np.column_stack((np.linspace(0, 1, 11), np.linspace(1, 0, 11)))
ONE_LEVEL = np.zeros(11, dtype=int)


def test_rows_near_a_point_are_preferred_though_it_is_out_of_reach():
    score = ReferencePoints([[0.29, -0.5]])(LINE, ONE_LEVEL)
    assert score.argmax() == 9  # where |(x, 1 - x) - (0.29, -0.5)| is least: x = 0.895


def test_each_of_several_points_has_its_own_best_row():
    score = ReferencePoints([[0.02, 0.97], [0.7, 0.25]])(LINE, ONE_LEVEL)
    assert np.flatnonzero(score == 0).tolist() == [0, 7]


def test_distances_are_measured_in_widths_of_the_objectives():
    point, scale = np.array([[0.25, 0.7]]), np.array([1.0, 1000.0])
    expected = ReferencePoints(point)(LINE, ONE_LEVEL)
    found = ReferencePoints(point * scale)(LINE * scale, ONE_LEVEL)
    np.testing.assert_array_equal(found, expected)


def test_weights_say_which_objective_counts():
    point = [[0.2, 0.2]]
    near_first = ReferencePoints(point, weights=[100, 1])(LINE, ONE_LEVEL)
    near_second = ReferencePoints(point, weights=[1, 100])(LINE, ONE_LEVEL)
    assert LINE[near_first.argmax(), 0] == pytest.approx(0.2)
    assert LINE[near_second.argmax(), 1] == pytest.approx(0.2)


def test_rows_within_epsilon_of_a_preferred_one_are_put_last():
    values = np.array([[0.0, 1], [0.001, 0.999], [0.5, 0.5], [1, 0]])
    levels = np.zeros(4, dtype=int)
    assert np.argsort(-ReferencePoints([[0, 1]], epsilon=0.01)(values, levels)).tolist() == [
        0,
        2,
        3,
        1,
    ]
    assert np.argsort(-ReferencePoints([[0, 1]], epsilon=0)(values, levels)).tolist() == [
        0,
        1,
        2,
        3,
    ]


def test_levels_are_ranked_apart():
    values = np.array([[0.0, 1], [0.4, 1.4], [1, 0], [1.4, 0.4]])
    score = ReferencePoints([[0, 1]])(values, np.array([0, 1, 0, 1]))
    np.testing.assert_array_equal(score, [0, 0, -1, -1])


def test_reference_points_tell_how_far_the_nearest_rows_are():
    guide = ReferencePoints([[0.0, 0.5], [1.0, -0.5]])
    assert guide.shortfall(np.array([[0.0, 1], [1, 0]])) == pytest.approx(np.sqrt(0.125) * 2)


def test_desirability_scores_by_the_weighted_geometric_mean():
    values = np.array([[0.5, 0.5], [0.2, 0.8]])
    levels = np.zeros(2, dtype=int)
    plain = DesirabilityGuide([(1.0, 0.0), OneSided(worst=1.0, best=0.0)])(values, levels)
    np.testing.assert_allclose(plain, [0.5, 0.4])
    weighted = DesirabilityGuide([(1.0, 0.0)] * 2, weights=[3, 1])(values, levels)
    np.testing.assert_allclose(weighted, [0.5, 0.8**0.75 * 0.2**0.25])


def test_desirability_tells_how_far_the_best_is_from_perfect():
    guide = DesirabilityGuide([(1.0, 0.0)] * 2)
    assert guide.shortfall(np.array([[0.5, 0.5], [0.2, 0.8]])) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: ReferencePoints([[np.nan, 1]]), "points must be finite"),
        (lambda: ReferencePoints([[0, 1]], weights=[1]), "2 positive numbers"),
        (lambda: ReferencePoints([[0, 1]], weights=[1, 0]), "2 positive numbers"),
        (lambda: ReferencePoints([[0, 1]], epsilon=-1), "epsilon must be zero or a positive"),
        (lambda: ReferencePoints([[0, 1, 2]])(LINE, ONE_LEVEL), "3 objectives, the search has 2"),
        (lambda: DesirabilityGuide([(0, 1)])(LINE, ONE_LEVEL), "1 wishes for 2 objectives"),
        (lambda: DesirabilityGuide(["best"]), "wish for 'objective 1'"),
    ],
)
def test_impossible_wishes_are_refused(act, message):
    with pytest.raises(InvalidInputError, match=message):
        act()
