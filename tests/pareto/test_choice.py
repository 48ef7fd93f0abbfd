import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Front
from parsimon.pareto.criteria import KNEES, segment_borders, unit_scaled
from tests.pareto.strategies import tables

scales = st.floats(1e-3, 1e3)


@pytest.mark.parametrize("method", sorted(KNEES))
@given(values=tables(min_rows=2, min_columns=2, max_columns=2), scale=st.tuples(scales, scales))
def test_the_knee_is_invariant_to_scaling_and_shifting(values, scale, method):
    front = Front(values, 2)
    other = Front(values * np.array(scale) + [3.0, -2.0], 2)
    assume(np.array_equal(front.rows, other.rows))
    assert front.knee(method) == other.knee(method)


@pytest.mark.parametrize("method", ["chord", "tradeoff"])
@given(values=tables(min_rows=2, min_columns=3, max_columns=4), scale=scales)
def test_knees_of_more_objectives_are_invariant_too(values, scale, method):
    front = Front(values, values.shape[1])
    other = Front(values * scale, values.shape[1])
    assume(np.array_equal(front.rows, other.rows))
    assert front.knee(method) == other.knee(method)


@pytest.mark.parametrize("method", sorted(KNEES))
def test_a_sharp_bend_is_the_knee_for_every_method(method):
    sizes = np.arange(1.0, 11)
    error = np.where(sizes <= 4, 1 - 0.2 * sizes, 0.2 - 0.005 * (sizes - 4))
    front = Front(np.column_stack([error, sizes]), ["error", "size"])
    assert front[front.knee(method)].objectives["size"] == 4


def test_the_chord_knee_of_a_quarter_circle_is_its_middle():
    angle = np.linspace(0, np.pi / 2, 91)
    front = Front(1 - np.column_stack([np.sin(angle), np.cos(angle)]), 2)
    assert front.knee("chord") == 45


def test_the_chord_knee_of_an_octant_is_nearest_to_its_middle():
    rng = np.random.default_rng(1)
    directions = np.abs(rng.normal(size=(400, 3)))
    directions = np.vstack([directions, np.eye(3)])
    points = 1 - directions / np.linalg.norm(directions, axis=1, keepdims=True)
    front = Front(points, 3)
    middle = np.full(3, 1 - 1 / np.sqrt(3))
    distance = np.linalg.norm(front.values - middle, axis=1)
    assert front.knee("chord") == distance.argmin()


def test_the_gain_knee_of_a_front_where_nothing_is_worth_its_price_falls_back_to_the_chord():
    concave = Front([[0, 10], [9.5, 5], [10, 0]], ["error", "size"])
    assert concave.knee("gain") == concave.knee("chord")


def test_the_gain_knee_weighs_neighbours_by_hand():
    # Scaled gains of the steps: 5.4, 2.7, 0.5, 0.1; the last worthwhile fall is after size 3.
    front = Front([[0.30, 1], [0.20, 2], [0.15, 3], [0.14, 4], [0.1376, 10]], ["error", "size"])
    assert front[front.knee("gain")].objectives["size"] == 3


def test_the_tradeoff_knee_equals_the_definition_by_hand():
    values = np.array([[0.0, 1.0], [0.3, 0.3], [1.0, 0.0]])
    # Worth of the ends: min loss / gain = 0.3 / 0.7; of the middle: 0.7 / 0.3.
    front = Front(values, 2)
    assert front.knee("tradeoff") == 1


def test_the_tradeoff_knee_is_the_sharpest_bend_and_the_chord_knee_the_largest_bulge():
    steps = np.arange(11)[:, None]
    steep = np.array([0.05, 0.75]) + np.array([-0.01, 0.05]) * steps[:6]
    flat = np.array([0.05, 0.75]) + np.array([0.02, -0.004]) * steps[1:]
    bulge = np.array([[0.30, 0.35], [0.34, 0.305], [0.40, 0.26], [0.5, 0.2], [0.7, 0.1], [1, 0]])
    front = Front(np.vstack([steep, flat, bulge]), 2)
    assert front.values[front.knee("tradeoff")].tolist() == [0.05, 0.75]
    assert front.values[front.knee("chord")].tolist() == [0.34, 0.305]


@pytest.mark.parametrize("method", sorted(KNEES))
def test_knees_of_one_or_two_points_exist(method):
    assert Front([[1, 2]], 2).knee(method) == 0
    assert Front([[1, 2], [2, 1]], 2).knee(method) in {0, 1}


def test_gain_and_segments_need_two_objectives():
    front = Front([[1, 2, 3], [3, 2, 1]], 3)
    with pytest.raises(InvalidInputError, match="gain knee needs two objectives"):
        front.knee("gain")
    with pytest.raises(InvalidInputError, match="Segments need two objectives"):
        front.segments(1)


def test_an_unknown_knee_is_refused():
    with pytest.raises(InvalidInputError, match='"chord" or "gain" or "tradeoff"'):
        Front([[1, 2]], 2).knee("elbow")


def test_segments_mark_the_bends_of_a_polygon():
    corners = np.array([[0.0, 1.0], [0.1, 0.5], [0.9, 0.42], [1.0, 0.0]])
    sides = [np.linspace(corners[i], corners[i + 1], 5)[:-1] for i in range(3)]
    values = np.vstack([*sides, corners[-1:]])
    borders = segment_borders(values, 2)
    assert borders.tolist() == [4, 8]


def test_literal_segments_follow_the_printed_formula():
    values = np.array([[0.0, 5.0], [1.0, 4.0], [1.5, 2.0], [4.0, 1.0]])
    eta = np.arctan(np.diff(values[:, 0]) / np.diff(values[:, 1]))
    change = eta / np.concatenate([[np.pi / 2], eta[:-1]])
    expected = np.sort(np.argsort(-np.abs(change - 1))[:2])
    np.testing.assert_array_equal(segment_borders(values, 2, literal=True), expected)
    assert segment_borders(values, 2).tolist() != expected.tolist()


def test_a_symmetric_front_bends_in_its_middle():
    t = np.linspace(0, 1, 50)
    front = Front(np.column_stack((t**2, (1 - t) ** 2)), 2)
    assert front.segments(4).tolist() == [23, 24, 25, 26]
    assert front.segments(1).tolist() == [24]


def test_corrected_segments_do_not_depend_on_units():
    values = np.array([[0.0, 5.0], [1.0, 4.0], [1.5, 2.0], [4.0, 1.0], [9.0, 0.5]])
    np.testing.assert_array_equal(
        segment_borders(values, 2), segment_borders(values * [1000.0, 0.01], 2)
    )


def test_unit_scaling_of_a_constant_column_is_zero():
    assert unit_scaled(np.array([[1.0, 7.0], [2.0, 7.0]])).tolist() == [[0, 0], [1, 0]]
