import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.roc import (
    cheapest_threshold,
    expected_cost,
    iso_performance_slope,
    roc_hull,
    roc_points,
)
from parsimon.roc.costs import cheapest_point
from parsimon.roc.curve import RocPoints

rows = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=30).filter(
    lambda pairs: 0 < sum(y for y, _ in pairs) < len(pairs)
)
prices = st.fixed_dictionaries(
    {
        "cost_fp": st.integers(1, 9),
        "cost_fn": st.integers(1, 9),
        "prevalence": st.none() | st.floats(0.05, 0.95),
    }
)
EMPTY = RocPoints(*[np.empty(0)] * 3)


def test_costs_are_the_equations_of_the_source():
    assert expected_cost(0.8, 0.3, cost_fp=2, cost_fn=10) == pytest.approx(0.3 * 2 + 0.2 * 10)
    with_priors = expected_cost(0.8, 0.3, cost_fp=2, cost_fn=10, prevalence=0.1)
    assert with_priors == pytest.approx(0.1 * 0.2 * 10 + 0.9 * 0.3 * 2)
    assert expected_cost(0.8, 0.3) == pytest.approx(0.5)
    np.testing.assert_allclose(expected_cost([[0.5], [1.0]], [0.0, 0.5]), [[0.5, 1.0], [0, 0.5]])


@given(prices, st.floats(0, 0.5), st.floats(0, 0.2), st.floats(0.01, 0.1))
def test_cost_is_constant_along_the_slope(price, tpr, fpr, step):
    slope = iso_performance_slope(**price)
    step = min(step, 0.5 / slope)
    moved = expected_cost(tpr + slope * step, fpr + step, **price)
    assert moved == pytest.approx(expected_cost(tpr, fpr, **price))


@given(rows, prices)
def test_the_cheapest_threshold_is_cheapest_by_counting_errors(pairs, price):
    y, scores = (np.array(column) for column in zip(*pairs, strict=True))
    chosen = cheapest_threshold(y, scores, **price)
    assert chosen.tpr == (scores > chosen.threshold)[y].mean()
    assert chosen.fpr == (scores > chosen.threshold)[~y].mean()
    assert chosen.cost == pytest.approx(expected_cost(chosen.tpr, chosen.fpr, **price))
    for threshold in np.arange(-0.5, 7.5):
        predicted = scores > threshold
        other = expected_cost(predicted[y].mean(), predicted[~y].mean(), **price)
        assert chosen.cost <= other + 1e-9
        if other < chosen.cost + 1e-12:
            assert chosen.fpr <= predicted[~y].mean() + 1e-12


@given(rows, prices)
def test_the_cheapest_point_touches_the_hull(pairs, price):
    y, scores = zip(*pairs, strict=True)
    points = roc_points(y, scores)
    chosen = cheapest_point(points, **price)
    hull = roc_hull(points.fpr, points.tpr)
    line = chosen.tpr + iso_performance_slope(**price) * (hull.fpr - chosen.fpr)
    assert (hull.tpr <= line + 1e-9).all()
    height = np.interp(chosen.fpr, hull.fpr, hull.tpr)
    assert chosen.fpr == 0 or chosen.tpr == pytest.approx(height)


def test_prevalence_moves_the_threshold(binormal):
    y, scores = binormal
    rare, common = (
        cheapest_threshold(y, scores, cost_fn=2, prevalence=p).threshold for p in (0.05, 0.6)
    )
    assert rare > common + 1


def test_ties_in_cost_go_to_fewer_false_positives():
    chosen = cheapest_threshold([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.7])
    assert (chosen.fpr, chosen.tpr, chosen.row) == (0.0, 0.5, 1)
    free = cheapest_threshold([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.7], cost_fn=0)
    assert (free.fpr, free.tpr) == (0.0, 0.5)


def test_ties_in_cost_are_not_broken_by_rounding():
    rates = np.array([0.1, 0.3]), np.array([0.2, 0.4])
    points = RocPoints(*rates, np.array([0.6, 0.5]))
    first, second = expected_cost(points.tpr, points.fpr)
    assert first > second == pytest.approx(first)
    assert cheapest_point(points).row == 0


def test_labels_and_weights_reach_the_curve():
    y, scores = ["b", "a", "b", "a"], [0.1, 0.3, 0.5, 0.7]
    assert cheapest_threshold(y, scores, pos_label="a", cost_fn=9).tpr == 1
    heavy = cheapest_threshold(y, scores, pos_label="a", sample_weight=[1, 9, 1, 1], cost_fn=1)
    assert heavy.tpr == 1


def test_free_false_negatives_make_the_line_upright():
    assert iso_performance_slope(cost_fp=1, cost_fn=0) == np.inf
    assert iso_performance_slope(cost_fp=0, cost_fn=1) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expected_cost(0.5, 0.5, cost_fp=-1), "cost_fp must be zero or more"),
        (lambda: expected_cost(0.5, 0.5, cost_fn=np.inf), "cost_fn must be zero or more"),
        (lambda: expected_cost(0.5, 0.5, cost_fp=0, cost_fn=0), "Neither error costs anything"),
        (lambda: expected_cost(0.5, 0.5, cost_fp=0, prevalence=0), "Neither error costs anything"),
        (lambda: expected_cost(0.5, 0.5, prevalence=1.5), "prevalence must lie between"),
        (lambda: expected_cost(1.5, 0.5), "tpr must lie between 0 and 1"),
        (lambda: expected_cost(0.5, np.nan), "fpr must not hold NaN"),
        (lambda: cheapest_point(EMPTY), "no points to choose from"),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
