"""Every block against the algebra that its words promise, done another way."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import rankdata

from parsimon.structures import LevelRows
from parsimon.structures.blocks import (
    level_blocks,
    likely_period,
    pairs_of,
    rough_surfaces,
    rough_triples,
    surface,
    triple_product,
    variable_blocks,
    waves_of,
)


def _number(seed, n=80):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=n) ** 1.5 + 3


def _blocks(seed, n=80):
    return variable_blocks(_number(seed, n)[:, None], np.zeros(n), waves=False)


def _scaled(columns):
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def _rest(columns, *told):
    """Return what least squares on a constant and other columns leaves."""
    known = np.hstack([np.ones((len(columns), 1)), *told])
    return columns - known @ np.linalg.lstsq(known, columns, rcond=None)[0]


def _cosine(x, k):
    ranks = (rankdata(x) - 0.5) / len(x)
    return np.sqrt(2) * np.cos(np.pi * k * ranks)


def test_a_line_is_the_standardised_number():
    x = _number(0)
    blocks = _blocks(0)
    np.testing.assert_allclose(blocks.line[:, 0], _scaled(x))
    np.testing.assert_allclose(blocks.number, _scaled(x))
    assert blocks.line.shape == (80, 1)
    assert blocks.wave is None
    assert blocks.n_periods == 1
    assert blocks.has_shape


def test_a_curve_has_the_covariance_of_cosines_and_powers_beyond_the_line():
    x = _number(1)
    line = _scaled(x)[:, None]
    assert line.max() > 3
    clipped = np.clip(line[:, 0], -3, 3)
    parts = [np.exp(-k / 5) * _cosine(x, k) for k in range(1, 7)]
    parts += [0.5 * _scaled(clipped**2), 0.35 * _scaled(clipped**3)]
    beyond = _rest(np.column_stack(parts), line)
    curve = _blocks(1).curve
    np.testing.assert_allclose(curve @ curve.T, beyond @ beyond.T, atol=1e-4)
    np.testing.assert_allclose(line.T @ curve, 0, atol=1e-9)
    np.testing.assert_allclose(curve.sum(axis=0), 0, atol=1e-9)


def test_ranks_of_equal_numbers_are_their_mean():
    x = np.repeat([1.0, 2.0, 4.0, 9.0], [5, 20, 10, 5])
    curve = variable_blocks(x[:, None], np.zeros(40), waves=False).curve
    for value in np.unique(x):
        assert np.ptp(curve[x == value], axis=0) == pytest.approx(0, abs=1e-9)
    assert curve.shape[1] == 2


def test_what_surfaces_are_made_of_is_the_number_and_two_cosines_each_beyond_those_before():
    x = _number(2)
    number = np.clip(_scaled(x), -3, 3)[:, None]
    first, second = _cosine(x, 1)[:, None], _cosine(x, 2)[:, None]
    wanted = [number, _rest(first, number), _rest(second, number, first)]
    found = _blocks(2).leading
    assert found.shape == (80, 3)
    for column, one, weight in zip(found.T, wanted, (1.0, 0.35, 0.5), strict=True):
        scaled = weight * _scaled(one)[:, 0]
        np.testing.assert_allclose(column * np.sign(column @ scaled), scaled, atol=1e-9)


def test_a_cosine_that_the_number_is_already_adds_nothing_to_surfaces():
    x = np.tile([0.0, 1.0, 2.0], 20)
    found = variable_blocks(x[:, None], np.zeros(60), waves=False).leading
    assert (np.linalg.norm(found, axis=0) > 0).tolist() == [True, False, True]


def test_two_values_are_as_far_apart_as_two_deviations_and_have_no_shape():
    x = np.repeat([5.0, 9.0], [10, 30])
    blocks = variable_blocks(x[:, None], np.zeros(40), waves=True)
    np.testing.assert_allclose(blocks.line[:, 0], np.repeat([-1.5, 0.5], [10, 30]))
    np.testing.assert_array_equal(blocks.leading, blocks.line)
    assert (blocks.curve, blocks.wave, blocks.number, blocks.bends) == (None,) * 4
    assert not blocks.has_shape
    np.testing.assert_array_equal(blocks.main, blocks.leading)
    constant = variable_blocks(np.full((7, 1), 3.0), np.zeros(7), waves=True)
    np.testing.assert_array_equal(constant.line, 0.0)


def test_bends_are_hinges_at_quantiles_beyond_the_line():
    x = _number(3)
    line = _scaled(x)[:, None]
    places = np.quantile(line, [0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99])
    wanted = _rest(0.5 * _scaled(np.maximum(line - places, 0.0)), line)
    found = _blocks(3).bends
    np.testing.assert_allclose(found @ found.T, wanted @ wanted.T, atol=1e-4)


def test_all_that_a_variable_says_alone_is_spanned_once():
    one = _blocks(4)
    basis = one.additive
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-9)
    for part in (np.ones((80, 1)), one.line, one.leading, one.curve):
        np.testing.assert_allclose(basis @ (basis.T @ part), part, atol=1e-6)


@pytest.mark.parametrize("places", [None, np.arange(6.0), np.zeros(6)])
def test_levels_are_indicators_with_one_variance_and_a_line_along_their_order(places):
    codes = np.repeat([3, 0, 4, 1, 2, -1], [9, 8, 7, 6, 2, 1])
    given = None if places is None else places[codes]
    shown = (codes[:, None] == [3, 0, 4, 1]).astype(float)
    blocks = level_blocks(shown, LevelRows(codes, given))
    wanted = 2.0 * (codes[:, None] == [3, 0, 4, 1, 2])
    wanted = wanted - wanted.mean(axis=0)
    assert blocks.wave is None
    assert not blocks.has_shape
    np.testing.assert_allclose(blocks.leading, 2 * (shown - shown.mean(axis=0)))
    if places is None or not places.any():
        np.testing.assert_allclose(blocks.line, wanted)
        assert blocks.curve is None
        return
    line = _scaled(given)[:, None]
    np.testing.assert_allclose(blocks.line, line)
    beyond = _rest(wanted, line)
    np.testing.assert_allclose(blocks.curve @ blocks.curve.T, beyond @ beyond.T, atol=1e-6)


def test_at_most_a_hundred_levels_and_at_least_two_are_told_apart():
    codes = np.repeat(np.arange(130), 2)
    none = np.zeros((260, 0))
    columns = np.column_stack([none, np.arange(260) % 2])
    assert level_blocks(columns, LevelRows(codes)).line.shape == (260, 100)
    assert level_blocks(columns, LevelRows(np.arange(260))).line.shape == (260, 2)


def _factorial():
    """Return blocks of three numbers whose values come in all combinations, equally often."""
    values = np.array(list(product([0.0, 1.0, 2.5, 3.0, 5.0], repeat=3)))
    return [variable_blocks(one[:, None], np.zeros(125), waves=False) for one in values.T]


def test_a_surface_is_the_product_beyond_both_variables():
    first, second, _ = _factorial()
    products = np.column_stack([a * b for a in first.leading.T for b in second.leading.T])
    wanted = _rest(products, first.additive, second.additive)
    np.testing.assert_allclose(surface(first, second), wanted, atol=1e-9)
    assert np.linalg.norm(wanted) > 1


def test_a_product_of_three_is_beyond_all_that_one_or_two_say():
    three = [_blocks(seed) for seed in (5, 6, 7)]
    mains = [one.leading[:, :1] for one in three]
    pairs = [a * b for a, b in combinations(mains, 2)]
    wanted = _rest(mains[0] * mains[1] * mains[2], *(one.additive for one in three), *pairs)
    np.testing.assert_allclose(triple_product(*three), wanted, atol=1e-6)


def test_a_rough_look_at_pairs_is_the_squares_of_nine_products():
    rng = np.random.default_rng(8)
    variables = [_blocks(seed) for seed in range(3)]
    variables.append(variable_blocks((rng.random((80, 1)) < 0.3) * 1.0, np.zeros(80), waves=False))
    residual = rng.normal(size=80)
    found = rough_surfaces(variables, residual)
    parts = [one.leading / one.leading.std(axis=0) for one in variables]
    for j, k in product(range(4), repeat=2):
        wanted = sum((residual @ (a * b)) ** 2 for a in parts[j].T for b in parts[k].T) / 80
        assert found[j, k] == pytest.approx(0.0 if j == k else wanted)


def test_a_rough_look_at_triples_is_the_order_of_their_score_tests():
    rng = np.random.default_rng(9)
    variables = [_blocks(seed) for seed in range(4)]
    codes = rng.integers(0, 3, 80)
    variables.append(level_blocks((codes[:, None] == [0, 1, 2]) * 1.0, LevelRows(codes)))
    slack, curvature = rng.normal(size=80), rng.uniform(0.5, 1, size=80)
    tests = {}
    for three in combinations(range(5), 3):
        mains = [variables[one].main.T for one in three]
        products = [a * b * c for a, b, c in product(*mains)]
        tests[three] = max((slack @ one) ** 2 / (curvature @ one**2) for one in products)
    wanted = sorted(tests, key=lambda one: -tests[one])
    assert rough_triples(variables, slack, curvature, 40) == wanted
    few = rough_triples(variables, slack, curvature, 2)
    assert len(few) == 2
    assert few == [one for one in wanted if one in few]


def test_pairs_are_all_of_two():
    assert pairs_of(4).tolist() == [list(one) for one in combinations(range(4), 2)]


@pytest.mark.parametrize("seed", range(4))
def test_the_period_is_that_of_the_best_least_squares_fit(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, size=60))
    y = 0.7 * x + np.sin(2 * np.pi * x / 1.37 + seed) + 0.5 * rng.normal(size=60)
    line = np.polynomial.Polynomial.fit(x, y, 1)
    rest, extent = y - line(x), np.ptp(x)

    def explained(n_waves):
        angle = 2 * np.pi * n_waves * x / extent
        return -np.sum(_rest(rest[:, None], np.column_stack([np.cos(angle), np.sin(angle)])) ** 2)

    for fewest, most, end in ((1.5, np.inf, 30), (3, 5, 5)):
        tried = np.arange(fewest, end, 1 / 6)
        best = extent / max(tried, key=explained)
        found = likely_period(x[::-1], y[::-1], fewest_waves=fewest, most_waves=most)
        assert found == pytest.approx(best)
    assert likely_period(np.arange(5.0), np.arange(5.0)) is None
    assert likely_period(np.arange(6.0), np.arange(6.0), fewest_waves=3) is None


@pytest.mark.parametrize("n", [8, 20])
def test_a_wave_that_vanishes_at_all_evenly_spaced_places_explains_nothing(n):
    x = np.arange(n, dtype=float)
    found = likely_period(x, np.cos(np.pi * x / 2))
    assert found == pytest.approx(4, rel=0.05)


def test_a_turned_wave_is_its_slope_by_the_angle():
    x, period = np.linspace(-1, 2, 31), 0.7
    step = 1e-5 * period / (2 * np.pi)
    slopes = (waves_of(x + step, period) - waves_of(x - step, period)) / 2e-5
    np.testing.assert_allclose(waves_of(x, period, turned=True), slopes, atol=1e-8)


def test_a_wave_has_its_period_and_the_first_overtone():
    x = np.linspace(0, 1, 121)
    y = np.sin(2 * np.pi * 8 * x)
    blocks = variable_blocks(x[:, None], y, waves=True)
    angle = 2 * np.pi * 8 * x
    waves = [np.cos(angle), np.sin(angle), np.cos(2 * angle) / 2, np.sin(2 * angle) / 2]
    wanted = _rest(np.sqrt(2) * np.column_stack(waves), x[:, None])
    np.testing.assert_allclose(blocks.wave @ blocks.wave.T, wanted @ wanted.T, atol=1e-6)
    assert blocks.n_periods == 60
