"""The objectives of a population, the best bias, and the operators that vary it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.pareto import Box, hypervolume
from parsimon.svm._dual import Dual
from parsimon.svm._front import (
    AscentMutation,
    BlendCrossover,
    MarginProblem,
    VolumeGuide,
    best_bias,
    climb_rows,
    evolve_front,
    hinge_losses,
    interpolate,
    prices,
    removal_order,
    solve_prices,
)


def problem(n=14, *, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2))
    distances = ((rows[:, None] - rows[None]) ** 2).sum(axis=-1)
    signs = np.where(rows[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    weights = rng.uniform(0.3, 3.0, n) if weighted else np.ones(n)
    return MarginProblem(np.exp(-0.5 * distances), signs, weights)


@st.composite
def scored_rows(draw):
    n = draw(st.integers(2, 9))
    numbers = st.floats(-3, 3).map(lambda value: round(value, 1))  # so that kinks coincide
    scores = np.array(draw(st.lists(numbers, min_size=n, max_size=n)))
    signs = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    signs[:2] = 1.0, -1.0
    choices = st.sampled_from([0.1, 0.2, 0.3, 1.0, 2.0])
    weights = np.array(draw(st.lists(choices, min_size=n, max_size=n)))
    return scores, signs, weights if draw(st.booleans()) else np.ones(n)


@given(scored_rows())
def test_the_bias_by_sorting_is_as_good_as_the_best_kink(rows):
    scores, signs, weights = rows
    kinks = signs - scores  # a convex piecewise linear function has its minimum at one of these
    losses = [hinge_losses(scores[None] + kink, signs, weights)[0] for kink in kinks]
    bias = best_bias(scores[None], signs, weights)
    found = hinge_losses(scores[None] + bias[:, None], signs, weights)[0]
    assert found == pytest.approx(min(losses), abs=1e-9)
    best = kinks[np.isclose(losses, min(losses), rtol=0, atol=1e-9)]
    assert bias[0] == pytest.approx(0.5 * (best.min() + best.max()), abs=1e-9)


def test_equal_and_unequal_weights_take_two_ways_to_one_bias():
    training = problem(20)
    scores = training.scores(np.random.default_rng(1).random((5, 20)))
    nearly = np.full(20, 2.0)
    nearly[3] *= 1 + 1e-15
    np.testing.assert_allclose(
        best_bias(scores, training.signs, nearly),
        best_bias(scores, training.signs, np.full(20, 2.0)),
    )


def test_objectives_are_those_of_the_definition():
    training = problem(weighted=True)
    alpha = np.random.default_rng(2).random(14)
    beta = alpha * training.signs
    scores = training.kernel @ beta
    bias = best_bias(scores[None], training.signs, training.weights)[0]
    slack = np.maximum(0, 1 - training.signs * (scores + bias))
    np.testing.assert_allclose(
        training.objectives(alpha[None])[0],
        [0.5 * beta @ training.kernel @ beta, training.weights @ slack],
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_climbing_raises_each_dual_and_stays_in_its_box(weighted):
    training = problem(weighted=weighted)
    price = np.array([0.1, 1.0, 30.0])
    boxes = price[:, None] * training.weights
    start = np.random.default_rng(4).random((3, 14)) * boxes
    ends = [climb_rows(training, start, price, n_steps=k) for k in (0, 1, 5, 400)]
    np.testing.assert_array_equal(ends[0], start)
    values = np.array(
        [
            [
                Dual(training.kernel, training.signs, box).objective(row)
                for row, box in zip(end, boxes, strict=True)
            ]
            for end in ends
        ]
    )
    assert (np.diff(values, axis=0)[:2] > 0).all()
    assert (np.diff(values, axis=0) >= -1e-9).all()
    for end in ends:
        assert (end >= 0).all()
        assert (end <= boxes * (1 + 1e-12)).all()
        np.testing.assert_allclose(end @ training.signs, start @ training.signs)


def test_many_steps_from_zero_reach_the_exact_machine():
    training = problem()
    price = np.array([0.5, 5.0])
    exact = solve_prices(training, price, tol=1e-9)
    found = climb_rows(training, np.zeros((2, 14)), price, n_steps=2000)
    np.testing.assert_allclose(found, exact, atol=1e-5)


def test_children_of_a_blend_lie_under_the_chord_of_neighbours():
    training = problem(20)
    parents = solve_prices(training, np.array([0.1, 0.5, 3.0, 40.0]))
    crossover = BlendCrossover(training.weights, rate=1.0)
    space, rng = Box(0, 100 * training.weights), np.random.default_rng(5)
    first, second = crossover(parents[[3, 0]], parents[[1, 2]], space, rng)
    for pair, children in (((0, 1), (first[0], second[0])), ((2, 3), (first[1], second[1]))):
        np.testing.assert_allclose(children[0] + children[1], parents[list(pair)].sum(axis=0))
        share = (children[0] - parents[pair[0]]).sum() / np.ptp(parents[list(pair)].sum(axis=1))
        ends = training.objectives(parents[list(pair)])
        chord = (1 - abs(share)) * ends[0] + abs(share) * ends[1]
        assert (training.objectives(children[0][None])[0] <= chord + 1e-9).all()
    alone = BlendCrossover(training.weights, rate=0.0)(parents[:2], parents[2:], space, rng)
    np.testing.assert_array_equal(np.concatenate(alone), parents[[0, 2, 1, 3]])


def test_a_mutation_changes_prices_within_their_range_and_switches_rows():
    training = problem(30)
    parents = np.repeat(solve_prices(training, np.array([1.0])), 40, axis=0)
    space = Box(0, 2.0 * training.weights)

    def children(**options):
        mutation = AscentMutation(training, least=0.5, most=2.0, n_steps=0, **options)
        return mutation(parents, space, np.random.default_rng(6))

    moved = prices(children(spread=1.0, sparsity=0.0), training.weights)
    assert moved.min() == pytest.approx(0.5)
    assert moved.max() == pytest.approx(2.0)
    np.testing.assert_allclose(children(spread=0.0, sparsity=0.0), parents)
    switched = ((children(spread=0.0, sparsity=1.0) > 0) != (parents > 0)).sum()
    assert 20 < switched < 70  # one of 30 rows on average


@given(st.integers(2, 12), st.integers(0, 10**6))
def test_the_point_given_up_first_costs_least_volume(n, seed):
    rng = np.random.default_rng(seed)
    values = np.column_stack([np.sort(rng.random(n)), np.sort(rng.random(n))[::-1]])
    values = values[rng.permutation(n)]
    order = removal_order(values)
    assert sorted(order) == list(range(n))
    kept = list(range(n))
    for gone in order[: n - 2]:
        losses = {
            place: -hypervolume(values[[other for other in kept if other != place]], [1, 1])
            for place in kept
            if 0 < np.count_nonzero(values[kept, 0] < values[place, 0]) < len(kept) - 1
        }
        assert losses[gone] == pytest.approx(min(losses.values()), abs=1e-12)
        kept.remove(gone)


def test_the_guide_scores_levels_apart_and_measures_volume():
    guide = VolumeGuide(np.array([0.0, 10.0]), np.array([2.0, 30.0]))
    values = np.array([[0.0, 30.0], [1.0, 20.0], [2.0, 10.0], [1.5, 25.0]])
    scores = guide(values, np.array([0, 0, 0, 1]))
    assert scores.tolist() == [2.0, 0.0, 1.0, 0.0]
    assert guide.shortfall(values[1:2]) == pytest.approx(-0.25)


def test_interpolation_is_linear_in_the_price_and_constant_beyond():
    known, C = np.array([[0.0, 1.0], [4.0, 1.0], [5.0, 0.0]]), np.array([1.0, 5.0, 6.0])
    found = interpolate(known, C, np.array([1.0, 2.0, 5.5, 6.0, 9.0]))
    np.testing.assert_allclose(found, [[0, 1], [1, 1], [4.5, 0.5], [5, 0], [5, 0]])
    np.testing.assert_array_equal(interpolate(known[:1], C[:1], np.array([0.5, 3.0])), [[0, 1]] * 2)


def test_a_population_keeps_the_exact_machines_it_began_with():
    training = problem(25)
    options = {"C_range": (0.01, 10.0), "n_seeds": 5, "n_points": 21}
    start = evolve_front(training, **options, max_iter=0, random_state=0).values
    exact = training.objectives(solve_prices(training, np.geomspace(0.01, 10.0, 5)))
    for point in exact:
        assert np.isclose(start, point, rtol=1e-9).all(axis=1).any()
