import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.pareto.space import Bits, Box, Integers
from parsimon.pareto.variation import (
    SimulatedBinaryCrossover,
    UniformCrossover,
    cross,
    default_crossover,
)

UNIT = Box(0, 1, n_variables=10)


def zeros_and_ones(n, width=10):
    return np.zeros((n, width)), np.ones((n, width))


@given(
    operator=st.sampled_from([UniformCrossover(), UniformCrossover(swap=0.1)]),
    seed=st.integers(0, 2**32),
)
def test_swapping_crossovers_keep_the_two_values_of_every_variable(operator, seed):
    rng = np.random.default_rng(seed)
    first, second = rng.random((2, 7, 10))
    children = operator(first, second, UNIT, rng)
    np.testing.assert_array_equal(np.sort(children, axis=0), np.sort((first, second), axis=0))


@pytest.mark.parametrize("swap", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("rate", [0.0, 0.9, 1.0])
def test_uniform_crossover_swaps_at_its_rates(swap, rate, rng):
    child, _ = UniformCrossover(rate=rate, swap=swap)(*zeros_and_ones(5000), UNIT, rng)
    assert child.mean() == pytest.approx(rate * swap, abs=0.015)
    untouched = (child == 0).all(axis=1).mean()
    assert untouched == pytest.approx(1 - rate + rate * (1 - swap) ** 10, abs=0.03)


def test_simulated_binary_crossover_takes_half_the_variables_of_crossed_pairs(rng):
    first, second = np.full((5000, 10), 0.4), np.full((5000, 10), 0.6)
    child, other = SimulatedBinaryCrossover(rate=0.9)(first, second, UNIT, rng)
    changed = child != first
    assert changed.mean() == pytest.approx(0.45, abs=0.01)
    np.testing.assert_array_equal(changed, other != second)
    assert changed.any(axis=1).mean() == pytest.approx(0.9 * (1 - 0.5**10), abs=0.015)


def test_simulated_binary_crossover_keeps_the_mean_far_from_the_bounds(rng):
    first, second = rng.normal(size=(2, 300, 10))
    wide = Box(-1e6, 1e6, n_variables=10)
    children = SimulatedBinaryCrossover(eta=2)(first, second, wide, rng)
    np.testing.assert_allclose(sum(children), first + second, atol=1e-6)


def test_simulated_binary_crossover_exchanges_children_half_the_time(rng):
    first, second = np.full((20_000, 1), -1.0), np.full((20_000, 1), 1.0)
    wide = Box(-1e6, 1e6, n_variables=1)
    child, _ = SimulatedBinaryCrossover(rate=1)(first, second, wide, rng)
    changed = child[child != first]
    assert (changed > 0).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("eta", [2.0, 15.0])
@pytest.mark.parametrize("room", [0.3, 1e6])
def test_simulated_binary_crossover_has_the_published_quantiles(eta, room, rng):
    box = Box([-1 - room], [1 + room])
    first, second = np.full((400_000, 1), -1.0), np.full((400_000, 1), 1.0)
    child, other = SimulatedBinaryCrossover(eta=eta, rate=1)(first, second, box, rng)
    reach = np.maximum(child, other)[child != first]
    alpha = 2 - (1 + room) ** -(eta + 1)
    for u in (0.05, 0.3, 0.6, 0.95):
        # Deb and Agrawal (1999): the spread as a function of a uniform number.
        if u * alpha <= 1:
            spread = (u * alpha) ** (1 / (eta + 1))
        else:
            spread = (1 / (2 - u * alpha)) ** (1 / (eta + 1))
        assert np.mean(reach <= spread) == pytest.approx(u, abs=0.006)


@given(
    seed=st.integers(0, 2**32),
    eta=st.floats(0, 50),
    width=st.floats(1e-6, 1e12),
    edge=st.sampled_from([0.0, 1e-12, 0.3, 1.0]),
)
def test_simulated_binary_crossover_stays_inside_the_bounds(seed, eta, width, edge):
    rng = np.random.default_rng(seed)
    box = Box(0, width, n_variables=5)
    first, second = width * rng.random((2, 20, 5))
    first[:, 0], second[:, 1] = edge * width, edge * width
    for child in SimulatedBinaryCrossover(eta=eta)(first, second, box, rng):
        assert np.isfinite(child).all()
        assert (child >= -1e-5 * width).all()
        assert (child <= width * (1 + 1e-5)).all()


def test_an_odd_parent_is_copied(rng):
    parents = np.arange(5.0)[:, None] * np.ones(10)
    children = cross(parents, UniformCrossover(rate=1), Box(0, 9, n_variables=10), rng)
    np.testing.assert_array_equal(children[4], parents[4])
    assert (children[0] != parents[0]).any()
    np.testing.assert_array_equal(children[0] + children[2], parents[0] + parents[2])


def test_no_crossover_returns_the_parents(rng):
    parents = rng.random((4, 3))
    np.testing.assert_array_equal(cross(parents, None, Box(0, 1, n_variables=3), rng), parents)


@pytest.mark.parametrize(
    ("space", "kind"),
    [
        (UNIT, SimulatedBinaryCrossover),
        (Bits(3), UniformCrossover),
        (Integers(0, 2, n_variables=3), UniformCrossover),
    ],
)
def test_the_default_suits_the_space(space, kind):
    assert isinstance(default_crossover(space), kind)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: UniformCrossover(rate=2), "rate must be between 0 and 1"),
        (lambda: UniformCrossover(swap=-1), "swap must be between 0 and 1"),
        (lambda: SimulatedBinaryCrossover(eta=-1), "eta must be zero or a positive number"),
        (lambda: SimulatedBinaryCrossover(rate=2), "rate must be between 0 and 1"),
        (
            lambda: cross(np.zeros((2, 3), bool), SimulatedBinaryCrossover(), Bits(3), None),
            "SimulatedBinaryCrossover needs a Box",
        ),
        (
            lambda: cross(np.zeros((2, 3)), lambda a, b, *_: (a, b[:, :1]), Bits(3), None),
            "two children for two parents",
        ),
    ],
)
def test_impossible_options_are_refused(act, message):
    with pytest.raises(InvalidInputError, match=message):
        act()
