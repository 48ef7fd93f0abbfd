import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.pareto.space import Bits, Box, Integers


@pytest.mark.parametrize("space", [Box([-1, 5], [2, 5]), Integers([-1, 3], 4), Bits(2)])
def test_samples_fill_the_space_and_stay_inside(space, rng):
    drawn = space.sample(2000, rng)
    assert drawn.dtype == space.dtype
    assert drawn.shape == (2000, 2)
    np.testing.assert_array_equal(space.check(drawn), drawn)
    width = np.asarray(space.upper, dtype=float) - np.asarray(space.lower, dtype=float)
    np.testing.assert_allclose(np.ptp(drawn.astype(float), axis=0), width, atol=0.02)


def test_integers_draw_both_bounds_equally_often(rng):
    counts = np.bincount(Integers(0, 3, n_variables=1).sample(40_000, rng)[:, 0])
    np.testing.assert_allclose(counts / 40_000, 0.25, atol=0.01)


def test_bits_have_the_share_of_ones_that_is_asked_for(rng):
    assert Bits(50, share=0.1).sample(1000, rng).mean() == pytest.approx(0.1, abs=0.01)


def test_repair_moves_to_the_nearest_bound():
    box = Box([0, 0], [1, 2])
    np.testing.assert_array_equal(
        box.repair(np.array([[-1.0, 3.0], [0.5, 1.5]])), [[0, 2], [0.5, 1.5]]
    )


def test_bounds_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        Box(0, 1, n_variables=2).lower[0] = 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Box(0, 1), "n_variables must be given"),
        (lambda: Box([0, 1], [1, 2, 3]), "do not fit together"),
        (lambda: Box([0, 2], [1, 1]), "variable 1 has 2 and 1"),
        (lambda: Box([0, np.nan], [1, 1]), "variable 1 has nan"),
        (lambda: Box("a", "b", n_variables=1), "must be numbers"),
        (lambda: Box(0, 1, n_variables=0), "n_variables must be an integer of at least 1"),
        (lambda: Integers(0.5, 2, n_variables=1), "whole numbers"),
        (lambda: Bits(0), "n_variables must be an integer of at least 1"),
        (lambda: Bits(3, share=2), "share must be between 0 and 1"),
        (
            lambda: Box(-np.inf, 1, n_variables=1).sample(3, np.random.default_rng(0)),
            "finite bounds",
        ),
    ],
)
def test_impossible_spaces_are_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


@pytest.mark.parametrize(
    ("space", "start", "message"),
    [
        (Box(0, 1, n_variables=2), [[0, 2]], "row 0, column 1, value 2"),
        (Box(0, 1, n_variables=2), [[0, np.nan]], "row 0, column 1, value nan"),
        (Box(0, 1, n_variables=2), [[0, 1, 1]], "needs 2 columns"),
        (Integers(0, 3, n_variables=1), [[1.5]], "value 1.5"),
        (Bits(2), [[0, 2]], "value 2"),
    ],
)
def test_a_start_outside_the_space_is_refused(space, start, message):
    with pytest.raises(InvalidInputError, match=message):
        space.check(start)


def test_only_equal_spaces_have_the_same_description():
    spaces = [
        Box(0, 1, n_variables=2),
        Box(0, 2, n_variables=2),
        Box(0, 1, n_variables=3),
        Integers(0, 1, n_variables=2),
        Bits(2),
        Bits(2, share=0.1),
    ]
    assert len({space.describe() for space in spaces}) == len(spaces)
    assert Box(0, 1, n_variables=2).describe() == Box([0, 0], [1, 1]).describe()
