import numpy as np
import pytest
from scipy.signal import lombscargle

from parsimon.gp import KernelSearch
from parsimon.gp._grammar import with_likely_periods
from parsimon.kernels import Linear, Periodic, SquaredExponential
from parsimon.structures.blocks import likely_period


def test_the_period_is_where_scipy_has_the_peak_of_its_periodogram(rng):
    x = np.sort(rng.uniform(0, 20, 150))
    y = np.sin(2 * np.pi * x / 2.3) + 0.5 * rng.normal(size=150)
    frequencies = 2 * np.pi / np.linspace(0.3, 13, 20000)
    line = np.polynomial.Polynomial.fit(x, y, 1)(x)
    peak = frequencies[np.argmax(lombscargle(x, y - line, frequencies))]
    assert likely_period(x, y) == pytest.approx(2 * np.pi / peak, rel=0.01)


def test_a_trend_does_not_hide_a_period(rng):
    x = rng.uniform(0, 20, 150)
    assert likely_period(x, 30 * x + np.sin(2 * np.pi * x / 2.3)) == pytest.approx(2.3, rel=0.01)


def test_neither_order_nor_place_nor_scale_of_the_rows_matters(rng):
    x = rng.uniform(0, 20, 90)
    y = np.where(np.sin(2 * np.pi * x / 4.0) > 0, 1.0, -1.0)
    period = likely_period(x, y)
    order = rng.permutation(90)
    assert likely_period(x[order], y[order]) == pytest.approx(period)
    assert likely_period(1e4 + 7 * x, 50 + 3 * y) == pytest.approx(7 * period)


def test_even_places_up_to_the_shortest_period_that_they_can_tell():
    x = np.arange(60.0)
    assert likely_period(x, np.cos(2 * np.pi * x / 2.5)) == pytest.approx(2.5, rel=0.01)
    assert likely_period(x, np.cos(np.pi * x)) == pytest.approx(2.0, rel=0.03)


def test_many_rows_are_thinned(rng):
    x = rng.uniform(0, 20, 5000)
    assert likely_period(x, np.sin(2 * np.pi * x / 2.3)) == pytest.approx(2.3, rel=0.01)


def test_too_few_places_show_no_period():
    assert likely_period(np.array([0.0, 1, 2, 3, 4, 4, 4]), np.arange(7.0)) is None


def test_only_periodic_kernels_that_were_not_given_begin_elsewhere(rng):
    x = rng.uniform(0, 20, 90)
    X = np.column_stack([x, rng.integers(0, 2, 90)]).astype(float)
    y = np.sin(2 * np.pi * x / 2.3)
    own = Periodic(0, period=5.0)
    kernels = (Periodic(0, period=9.0), own, Periodic(1), SquaredExponential(0), Linear(0))
    first, second, *others = with_likely_periods(kernels, X, y, given=("per", own))
    assert first.period == pytest.approx(2.3, rel=0.01)
    assert second is own
    assert others == list(kernels[2:])
    assert with_likely_periods((own,), X, y, given=own) == (own,)


@pytest.mark.parametrize("period", [0.8, 1.5, 3.0])
def test_a_search_finds_periods_at_irregular_places(period):
    x = np.sort(np.random.default_rng(0).uniform(0, 8, 60))[:, None]
    wave = np.sin(2 * np.pi * x[:, 0] / period)
    number = wave + 0.2 * np.random.default_rng(1).normal(size=60)
    for y in (wave > 0, number):
        search = KernelSearch("per", depth=1, cv=2, random_state=0).fit(x, y)
        assert search.best_kernel_.period == pytest.approx(period, rel=0.03)


@pytest.mark.parametrize("seed", range(4))
def test_the_period_explains_most_by_least_squares_on_uneven_places(seed):
    """Few places in clusters: sines and cosines are far from orthogonal there."""
    rng = np.random.default_rng(seed)
    x = np.sort(np.concatenate([rng.normal(centre, 0.1, 6) for centre in (0, 0.7, 3)]))
    y = rng.normal(size=18)
    line = np.column_stack([np.ones(18), x])
    rest = y - line @ np.linalg.lstsq(line, y)[0]
    waves, explained = np.arange(1.5, 9.0, 1 / 6), []
    for n_waves in waves:
        angle = 2 * np.pi * n_waves * (x - x.mean()) / np.ptp(x)
        design = np.column_stack([np.ones(18), np.cos(angle), np.sin(angle)])
        left = rest - design @ np.linalg.lstsq(design, rest)[0]
        explained.append(rest @ rest - left @ left)
    found = likely_period(x, y)
    assert found == pytest.approx(np.ptp(x) / waves[int(np.argmax(explained))])


def test_where_waves_are_claimed_the_model_repeats(rng):
    x = np.linspace(0, 10, 200)
    X = np.column_stack([x, rng.normal(size=200)])
    y = np.sin(2 * np.pi * x / 1.7) + 0.5 * rng.normal(size=200)
    search = KernelSearch(grow="supported", random_state=0).fit(X, y)
    assert [one.shape for one in search.claims_ if one.kind == "shape"] == ["periodic"]
    assert isinstance(search.best_kernel_, Periodic)
    assert search.best_kernel_.period == pytest.approx(1.7, rel=0.01)
    # Where none are, nothing is added.
    noise = KernelSearch(grow="supported", random_state=0).fit(X, rng.normal(size=200))
    assert not any(isinstance(one.kernel, Periodic) for one in noise.first_layer_)
