import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.pareto.desirability import (
    HarringtonOneSided,
    HarringtonTwoSided,
    OneSided,
    TwoSided,
    as_desirability,
    desirability_index,
)

functions = [
    OneSided(worst=0, best=2, shape=0.5),
    OneSided(worst=3, best=-1, shape=2),
    TwoSided(low=-1, target=0.5, high=4, shape=1.5),
    HarringtonOneSided(low=0, high=1),
    HarringtonOneSided(low=1, high=-1, low_desirability=0.2, high_desirability=0.7),
    HarringtonTwoSided(low=-1, high=3, shape=4),
]


@pytest.mark.parametrize("function", functions, ids=repr)
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_desirabilities_lie_between_zero_and_one(function, values):
    share = function(np.array(values))
    assert ((share >= 0) & (share <= 1)).all()


@pytest.mark.parametrize(
    ("function", "rising"),
    [(functions[0], True), (functions[1], False), (functions[3], True), (functions[4], False)],
    ids=repr,
)
def test_one_sided_desirabilities_are_monotone(function, rising):
    share = function(np.linspace(-3, 5, 50))
    steps = np.diff(share if rising else share[::-1])
    assert (steps >= 0).all()
    assert steps.max() > 0


def test_harrington_passes_through_the_points_that_define_it():
    function = HarringtonOneSided(low=2, high=5, low_desirability=0.2, high_desirability=0.8)
    np.testing.assert_allclose(function(np.array([2.0, 5.0])), [0.2, 0.8])
    bell = HarringtonTwoSided(low=2, high=6, shape=3)
    np.testing.assert_allclose(bell(np.array([2.0, 4.0, 6.0])), [np.exp(-1), 1, np.exp(-1)])


def test_shape_bends_the_ramp():
    half = np.array([0.5])
    assert OneSided(0, 1, shape=2)(half)[0] == 0.25
    assert TwoSided(0, 1, 3, shape=2)(half)[0] == 0.25


def test_the_index_is_the_weighted_geometric_mean():
    values = np.array([[0.25, 0.64]])
    ramp = OneSided(0, 1)
    np.testing.assert_allclose(desirability_index(values, [ramp, ramp]), [0.4])
    weighted = desirability_index(values, [ramp, ramp], weights=[3, 1])
    np.testing.assert_allclose(weighted, [0.25**0.75 * 0.64**0.25])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OneSided(1, 1), "must differ"),
        (lambda: OneSided(0, 1, shape=0), "shape must be positive"),
        (lambda: TwoSided(0, 0, 1), "low < target < high"),
        (lambda: HarringtonOneSided(1, 1), "must differ"),
        (lambda: HarringtonOneSided(0, 1, 0.9, 0.1), "low_desirability"),
        (lambda: HarringtonTwoSided(2, 1), "low < high"),
        (lambda: as_desirability((1,), "tpr"), "wish for 'tpr'"),
        (lambda: as_desirability(0.5, "tpr"), "wish for 'tpr'"),
        (lambda: desirability_index(np.ones((1, 1)), [OneSided(0, 1)], [-1]), "positive numbers"),
    ],
)
def test_senseless_wishes_are_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()
